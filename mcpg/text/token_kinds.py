"""What kind of literal one token is, known by its form alone.

Texts are scanned by the methods of `str` alone, as in `mcpg.text.words`.

Source: kinds after the formats of JSON Schema, "Validation: a vocabulary for structural validation
of JSON", draft 2020-12, section 7.3; top-level domains after RFC 1591, section 2; lengths of phone
numbers after ITU-T E.164, section 6.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase

from mcpg.text.words import (
    LANGUAGES,
    CachedFunction,
    fold,
    is_unspaced,
    share_of_texts,
    stop_words_of,
    strip_accents,
)

HALVES_OF_DAYS = ("am", "pm", "a.m", "p.m")

FEWEST_GROUPS = 3
"""The fewest groups of a code that is written in groups."""

_ORDINALS = ("st", "nd", "rd", "th")
_DOMAINS = frozenset(("com", "edu", "gov", "int", "mil", "net", "org", "co", "ac"))
_HEXADECIMAL = frozenset("0123456789abcdef")
_CODE_SIGNS = frozenset("={}")
_LENGTHS_OF_UUID = [8, 4, 4, 4, 12]
_SHORTEST_HASH = 7
_LONGEST_EXTENSION = 5
_SHORTEST_SPOKEN = 3
# Digits of a day, a month, an hour, a minute or a second, and of a year.
_PART, _YEAR = 2, 4
_LAST_DAY = 31
_SIGNS_OF_DATE, _PARTS_OF_CLOCK = 2, 3
_NUMBERS_OF_ADDRESS, _LAST_BYTE, _LONGEST_GROUP = 4, 255, 4
# Digits of phone numbers: with the code of a country, with a leading 0, and in groups of 3, 3, 4.
_INTERNATIONAL, _NATIONAL, _GROUPS_OF_PHONE = range(8, 16), range(9, 13), [3, 3, 4]
_PHONE_SIGNS = "()-./"
# Digits of a code with hyphens.
_FEWEST_HYPHENATED = 8


def _kind(token: str) -> str | None:
    if token.isalpha() or not token or any(map(str.isspace, token)):
        return None
    if token.isdecimal() and token.isascii():
        return "number"
    if not token.isascii() and any(map(is_unspaced, token)):
        return None
    kinds = _KINDS if any(map(str.isdecimal, token)) else _KINDS_WITHOUT_DIGITS
    return next((kind for kind, is_kind in kinds if is_kind(token)), None)


def _is_decimal(text: str, longest: int) -> bool:
    return text.isdecimal() and len(text) <= longest


def is_day(text: str) -> bool:
    """Return whether *text* is the day of a month."""
    number = text[:-2] if text[-2:].lower() in _ORDINALS else text
    return _is_decimal(number, _PART) and 1 <= int(number) <= _LAST_DAY


def is_year(text: str) -> bool:
    """Return whether *text* is a year of four digits."""
    return _is_decimal(text, _YEAR) and len(text) == _YEAR


def _is_url(token: str) -> bool:
    scheme, sign, rest = token.partition("://")
    if sign:
        return bool(rest) and scheme[:1].isalpha() and scheme.replace("+", "").isalnum()
    return token[:4].lower() == "www." and "." in token[4:]


def _is_email(token: str) -> bool:
    name, sign, host = token.partition("@")
    return bool(name and sign) and "." in host.strip(".") and "@" not in host and "/" not in name


def _is_uuid(token: str) -> bool:
    parts = token.lower().split("-")
    return [len(part) for part in parts] == _LENGTHS_OF_UUID and _is_hexadecimal("".join(parts))


def _is_hexadecimal(token: str) -> bool:
    return bool(token) and _HEXADECIMAL.issuperset(token.lower())


def _is_hash(token: str) -> bool:
    mixed = not token.isalpha() and not token.isdecimal()
    return len(token) >= _SHORTEST_HASH and mixed and _is_hexadecimal(token)


def _is_address(token: str) -> bool:
    """Return whether *token* is an IP address, with or without a port or a length of prefix."""
    host, *ports = token.partition("/")[0].split(":")
    numbers = host.split(".")
    if len(numbers) == _NUMBERS_OF_ADDRESS and len(ports) <= 1:
        return all(_is_decimal(one, 3) and int(one) <= _LAST_BYTE for one in numbers)
    groups = (host, *ports)
    return len(ports) > 1 and all(
        not one or (len(one) <= _LONGEST_GROUP and _is_hexadecimal(one)) for one in groups
    )


def is_number(token: str) -> bool:
    """Return whether *token* is a number, with signs or not: "#12", "1,234.5", "10th"."""
    number = token.lstrip("#+-~").lower()
    number = number[:-2] if number[-2:] in _ORDINALS else number
    return number[:1].isdecimal() and all(sign.isdecimal() or sign in ".,:/'x" for sign in number)


def _is_amount(token: str) -> bool:
    """Return whether *token* is a number with a sign of a currency."""
    if token.isascii() and "$" not in token:
        return False
    signs = [sign for sign in token if unicodedata.category(sign) == "Sc"]
    rest = token.strip("".join(signs)).rstrip("kKmMbB")
    return len(signs) == 1 and is_number(rest)


def is_currency(text: str) -> bool:
    """Return whether *text* is a sign of a currency, with letters or not: "US$"."""
    sign = text.strip(ascii_uppercase)
    return len(sign) == 1 and unicodedata.category(sign) == "Sc"


def _is_percentage(token: str) -> bool:
    return token[-1] == "%" and is_number(token[:-1])


def _is_date(token: str) -> bool:
    """Return whether *token* is a date in digits: day, month and year in any order."""
    sign = next((sign for sign in "-/." if token.count(sign) == _SIGNS_OF_DATE), "")
    if not sign:
        return False
    short, middle, long = sorted(token.split(sign), key=len)
    has_year = is_year(long) or (sign == "/" and _is_decimal(long, _PART))
    return has_year and _is_decimal(short, _PART) and _is_decimal(middle, _PART)


def is_clock(token: str) -> bool:
    """Return whether *token* is a time of a day: "14:30", "3pm"."""
    lowered = token.lower()
    half = next((half for half in HALVES_OF_DAYS if lowered.endswith(half)), "")
    parts = lowered.removesuffix(half).split(":")
    is_whole = bool(half) or 1 < len(parts) <= _PARTS_OF_CLOCK
    return is_whole and all(_is_decimal(part, _PART) for part in parts)


def _is_moment(token: str) -> bool:
    date, sign, time = token.partition("T")
    clock = time.removesuffix("Z").split("+")[0].split(".")[0]
    return bool(sign) and _is_date(date) and is_clock(clock)


def is_phone(texts: Sequence[str]) -> bool:
    """Return whether *texts* are the groups of a phone number."""
    whole = " ".join(texts)
    for sign in _PHONE_SIGNS:
        whole = whole.replace(sign, " ")
    groups = whole.removeprefix("+").split()
    digits, lengths = "".join(groups), [len(one) for one in groups]
    # A digit apart is the code of an area, or else counts something.
    if not (digits.isdecimal() and digits.isascii()) or 1 in lengths[2:]:
        return False
    if whole[0] == "+":
        return len(digits) in _INTERNATIONAL
    if lengths[-3:] == _GROUPS_OF_PHONE and groups[:-3] in ([], ["1"]):
        return True
    is_grouped = len(groups) > 1 and min(lengths[:2]) > 1 and not any(map(_is_date, texts))
    return digits[0] == "0" and is_grouped and len(digits) in _NATIONAL


def _is_hyphenated(token: str) -> bool:
    """Return whether *token* is a long number in groups, such as an ISBN."""
    groups = token.split("-")
    is_whole = len(groups) >= FEWEST_GROUPS and all(map(str.isdecimal, groups))
    return is_whole and len(token) - len(groups) + 1 >= _FEWEST_HYPHENATED


def _is_numbered(token: str) -> bool:
    """Return whether *token* is an id with slashes in capitals: `INV/2024/0042`."""
    parts = token.split("/")
    is_mixed = any(map(str.isalpha, token)) and any(map(str.isdecimal, token))
    return is_mixed and token == token.upper() and len(parts) > 1 and all(map(str.isalnum, parts))


def _is_version(token: str) -> bool:
    number = token[1:] if token[0] in "vV" else token
    parts = number.split(".")
    fewest = 1 if len(number) < len(token) else 3
    head = parts[:-1] or parts
    return (
        len(parts) >= fewest
        and all(part.isdecimal() for part in head)
        and parts[-1][:1].isdecimal()
        and all(sign.isalnum() or sign in "-+" for sign in parts[-1])
    )


def _is_path(token: str) -> bool:
    if "/" not in token and "\\" not in token:
        return False
    if not any(map(str.isalnum, token)):
        return False
    if token.startswith(("/", "~/", "./", "../", "\\\\")) or token[1:3] in (":\\", ":/"):
        return True
    parts = token.replace("\\", "/").split("/")
    is_named = any(part.replace(".", "").isalpha() for part in parts) or len(parts[2:]) > 0
    is_code_like = any(sign.isdecimal() or sign in "._-" for part in parts for sign in part)
    return is_named and (not parts[-1] or is_code_like)


def _is_pattern(token: str) -> bool:
    is_marked = token[0] == token[-1] == "*"
    return "*" in token and not is_marked and ("." in token or "/" in token)


def _labels(token: str) -> list[str]:
    """Return the parts of a name with dots; none where *token* is no such name."""
    labels = token.split(".")
    is_name = all(label and label.replace("-", "").replace("_", "").isalnum() for label in labels)
    return labels if len(labels) > 1 and is_name and max(map(len, labels)) > 1 else []


def _is_domain(token: str) -> bool:
    labels = _labels(token.lower().split("/")[0])
    return not _DOMAINS.isdisjoint(labels[1:]) and labels[-1].isalpha()


def _is_file(token: str) -> bool:
    if token[0] == "." and token[1:2].isalpha() and token[2:]:
        return token[1:].replace(".", "").replace("-", "").replace("_", "").isalnum()
    labels = _labels(token)
    if not labels:
        return False
    extension = labels[-1]
    is_extension = extension.isalnum() and len(extension) <= _LONGEST_EXTENSION
    return is_extension and not extension.istitle() and not extension.isdecimal()


def _is_handle(token: str) -> bool:
    """Return whether *token* is the name of a user, with or without a server: `@jane@example`."""
    name, _, server = token[1:].partition("@")
    return token[0] == "@" and _is_tag(name) and (not server or _is_tag(server))


def _is_channel(token: str) -> bool:
    return token[0] == "#" and _is_tag(token[1:]) and not token[1:].isdecimal()


def _is_tag(text: str) -> bool:
    return text[:1].isalnum() and all(sign.isalnum() or sign in "._-/" for sign in text)


def _is_mixed(token: str) -> bool:
    """Return whether *token* is of letters and digits and holds no word in small letters."""
    if not any(map(str.isdecimal, token)):
        return bool(token[1:-1]) and not _CODE_SIGNS.isdisjoint(token[1:-1])
    if not any(map(str.isalpha, token)):
        return not _CODE_SIGNS.isdisjoint(token)
    if "'" in token or "\u2019" in token:
        return False
    small = 0
    for sign in token:
        small = small + 1 if sign.islower() else 0
        if small == _SHORTEST_SPOKEN:
            return not _CODE_SIGNS.isdisjoint(token)
    return True


def is_name(token: str) -> bool:
    """Return whether *token* is a name of a program: one with seams, or several with slashes."""
    parts = token.split(".")
    seams = ("_" in one.strip("_") or (one[:1].islower() and one != one.lower()) for one in parts)
    if all(map(str.isidentifier, parts)) and any(seams):
        return True
    steps = token.split("/")
    return len(steps) > 1 and all(map(_is_tag, steps)) and not _are_words(steps)


def _are_words(parts: Sequence[str]) -> bool:
    """Return whether *parts* are words of one language, as in "red/green"; letters are none."""
    words = [fold(strip_accents(part)) for part in parts]
    return all(word[1:] for word in words) and any(
        all(word in stop_words_of(one) or share_of_texts(word, one) for word in words)
        for one in LANGUAGES
    )


token_kinds = CachedFunction(_kind)
"""The kind of each token, `None` for one that is a word or holds white space."""

# The first kind that fits counts.
_KINDS = (
    ("url", _is_url),
    ("e-mail address", _is_email),
    ("date and time", _is_moment),
    ("date", _is_date),
    ("time", is_clock),
    ("IP address", _is_address),
    ("UUID", _is_uuid),
    ("amount", _is_amount),
    ("percentage", _is_percentage),
    ("phone number", lambda token: is_phone([token])),
    ("code", _is_hyphenated),
    ("version", _is_version),
    ("number", is_number),
    ("file pattern", _is_pattern),
    ("domain", _is_domain),
    ("code", _is_numbered),
    ("path", _is_path),
    ("file name", _is_file),
    ("hash", _is_hash),
    ("handle", _is_handle),
    ("channel", _is_channel),
    ("code", _is_mixed),
)
_WITHOUT_DIGITS = frozenset(
    (
        "url",
        "e-mail address",
        "IP address",
        "file pattern",
        "domain",
        "path",
        "file name",
        "handle",
        "channel",
        "code",
    )
)
_KINDS_WITHOUT_DIGITS = tuple([one for one in _KINDS if one[0] in _WITHOUT_DIGITS])
