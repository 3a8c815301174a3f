"""Literals: the parts of a request that are arguments, found by their form.

A tool works on a path, a date or an order number, which does not describe the tool. These are
recognized by their format: a URL, an e-mail address, an IP address, a UUID, a date or a time, a
path, a file name, a number, an amount, a version, a phone number, a code of letters and digits, a
handle, a channel, a statement of SQL, or a text in quotation marks. Phone numbers, codes and
amounts may contain spaces. Names of programs are recognized on request: they name tools, and no
translation has them.

Texts are scanned only by methods of `str`, as in `mcpg.text.words`.

Source: kinds after the formats of JSON Schema, "Validation: a vocabulary for structural validation
of JSON", draft 2020-12, section 7.3; top-level domains after RFC 1591, section 2; month names after
RFC 5322, section 3.3; lengths of phone numbers after ITU-T E.164, section 6, and of account numbers
after ISO 13616; the form of postal items after UPU S10.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import compress, groupby, islice, repeat, takewhile
from string import ascii_uppercase
from typing import NamedTuple

from mcpg.text.words import (
    LANGUAGES,
    CachedFunction,
    fold,
    get_stop_words,
    is_unspaced,
    share_of_texts,
    strip_accents,
)

_HALVES_OF_DAYS = ("am", "pm", "a.m", "p.m")
_ORDINALS = ("st", "nd", "rd", "th")
_DOMAINS = frozenset(("com", "edu", "gov", "int", "mil", "net", "org", "co", "ac"))
_HEXADECIMAL = frozenset("0123456789abcdef")
_CODE_SIGNS = frozenset("={}")
_LENGTHS_OF_UUID = [8, 4, 4, 4, 12]
_SHORTEST_HASH, _LONGEST_EXTENSION, _SHORTEST_SPOKEN = 7, 5, 3
# Digits of a day, a month, an hour, a minute or a second, and of a year.
_PART, _YEAR, _LAST_DAY = 2, 4, 31
_SIGNS_OF_DATE, _PARTS_OF_CLOCK = 2, 3
_NUMBERS_OF_ADDRESS, _LAST_BYTE, _LONGEST_GROUP = 4, 255, 4
# Digits of phone numbers: with the code of a country, with a leading 0, and in groups of 3, 3, 4.
_INTERNATIONAL, _NATIONAL, _GROUPS_OF_PHONE = range(8, 16), range(9, 13), [3, 3, 4]
_PHONE_SIGNS = "()-./"
# Digits of a code with hyphens, and groups of a code in groups.
_FEWEST_HYPHENATED, _FEWEST_GROUPS = 8, 3


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


def _is_day(text: str) -> bool:
    number = text[:-2] if text[-2:].lower() in _ORDINALS else text
    return _is_decimal(number, _PART) and 1 <= int(number) <= _LAST_DAY


def _is_year(text: str) -> bool:
    return _is_decimal(text, _YEAR) and len(text) == _YEAR


def _is_url(token: str) -> bool:
    scheme, sign, rest = token.partition("://")
    if sign:
        return bool(rest) and scheme[:1].isalpha() and scheme.replace("+", "").isalnum()
    return token[:4].lower() == "www." and "." in token[4:]


def _is_hexadecimal(token: str) -> bool:
    return bool(token) and _HEXADECIMAL.issuperset(token.lower())


def _is_address(token: str) -> bool:
    host, *ports = token.partition("/")[0].split(":")
    numbers = host.split(".")
    if len(numbers) == _NUMBERS_OF_ADDRESS and len(ports) <= 1:
        return all(_is_decimal(one, 3) and int(one) <= _LAST_BYTE for one in numbers)
    groups = (host, *ports)
    return len(ports) > 1 and all(
        not one or (len(one) <= _LONGEST_GROUP and _is_hexadecimal(one)) for one in groups
    )


def _is_number(token: str) -> bool:
    number = token.lstrip("#+-~").lower()
    number = number[:-2] if number[-2:] in _ORDINALS else number
    return number[:1].isdecimal() and all(sign.isdecimal() or sign in ".,:/'x" for sign in number)


def _is_amount(token: str) -> bool:
    if token.isascii() and "$" not in token:
        return False
    signs = [sign for sign in token if unicodedata.category(sign) == "Sc"]
    rest = token.strip("".join(signs)).rstrip("kKmMbB")
    return len(signs) == 1 and _is_number(rest)


def _is_currency(text: str) -> bool:
    sign = text.strip(ascii_uppercase)
    return len(sign) == 1 and unicodedata.category(sign) == "Sc"


def _is_date(token: str) -> bool:
    sign = next((sign for sign in "-/." if token.count(sign) == _SIGNS_OF_DATE), "")
    if not sign:
        return False
    short, middle, long = sorted(token.split(sign), key=len)
    has_year = _is_year(long) or (sign == "/" and _is_decimal(long, _PART))
    return has_year and _is_decimal(short, _PART) and _is_decimal(middle, _PART)


def _is_clock(token: str) -> bool:
    lowered = token.lower()
    half = next((half for half in _HALVES_OF_DAYS if lowered.endswith(half)), "")
    parts = lowered.removesuffix(half).split(":")
    is_whole = bool(half) or 1 < len(parts) <= _PARTS_OF_CLOCK
    return is_whole and all(_is_decimal(part, _PART) for part in parts)


def _is_phone(texts: Sequence[str]) -> bool:
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


def _is_version(token: str) -> bool:
    number = token[1:] if token[0] in "vV" else token
    parts = number.split(".")
    fewest = 1 if len(number) < len(token) else 3
    head = parts[:-1] or parts
    is_counted = len(parts) >= fewest and all(part.isdecimal() for part in head)
    is_whole = all(sign.isalnum() or sign in "-+" for sign in parts[-1])
    return is_counted and parts[-1][:1].isdecimal() and is_whole


def _is_path(token: str) -> bool:
    if ("/" not in token and "\\" not in token) or not any(map(str.isalnum, token)):
        return False
    if token.startswith(("/", "~/", "./", "../", "\\\\")) or token[1:3] in (":\\", ":/"):
        return True
    parts = token.replace("\\", "/").split("/")
    is_named = any(part.replace(".", "").isalpha() for part in parts) or len(parts[2:]) > 0
    is_code_like = any(sign.isdecimal() or sign in "._-" for part in parts for sign in part)
    return is_named and (not parts[-1] or is_code_like)


def _labels(token: str) -> list[str]:
    """Return the parts of a name with dots; none if *token* is not such a name."""
    labels = token.split(".")
    _is_name = all(label and label.replace("-", "").replace("_", "").isalnum() for label in labels)
    return labels if len(labels) > 1 and _is_name and max(map(len, labels)) > 1 else []


def _is_file(token: str) -> bool:
    if token[0] == "." and token[1:2].isalpha() and token[2:]:
        return token[1:].replace(".", "").replace("-", "").replace("_", "").isalnum()
    extension = (_labels(token) or [""])[-1]
    is_extension = extension.isalnum() and len(extension) <= _LONGEST_EXTENSION
    return is_extension and not extension.istitle() and not extension.isdecimal()


def _is_tag(text: str) -> bool:
    return text[:1].isalnum() and all(sign.isalnum() or sign in "._-/" for sign in text)


def _is_mixed(token: str) -> bool:
    """Return whether *token* is of letters and digits and contains no word in lower case."""
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


def _is_name(token: str) -> bool:
    """Return whether *token* is a name of a program: one with seams, or several with slashes."""
    parts = token.split(".")
    seams = ("_" in one.strip("_") or (one[:1].islower() and one != one.lower()) for one in parts)
    if all(map(str.isidentifier, parts)) and any(seams):
        return True
    steps = token.split("/")
    if len(steps) == 1 or not all(map(_is_tag, steps)):
        return False
    # Not words of one language, as in "red/green"; single letters are not words.
    words = [fold(strip_accents(step)) for step in steps]
    return not all(word[1:] for word in words) or not any(
        all(word in get_stop_words(one) or share_of_texts(word, one) for word in words)
        for one in LANGUAGES
    )


# `None` for a token that is a word or contains white space.
_token_kinds = CachedFunction(_kind)

# The first kind that fits counts.
_KINDS = (
    ("url", _is_url),
    ("e-mail address", re.compile(r"[^@/]+@\.*[^.@]+\.[^@]*[^.@]\.*").fullmatch),
    (
        "date and time",
        lambda token: (
            "T" in token
            and _is_date(token.partition("T")[0])
            and _is_clock(
                re.split("[+.]", token.partition("T")[2].removesuffix("Z"), maxsplit=1)[0]
            )
        ),
    ),
    ("date", _is_date),
    ("time", _is_clock),
    ("IP address", _is_address),
    (
        "UUID",
        lambda token: (
            [*map(len, token.split("-"))] == _LENGTHS_OF_UUID
            and _is_hexadecimal(token.replace("-", ""))
        ),
    ),
    ("amount", _is_amount),
    ("percentage", lambda token: token[-1] == "%" and _is_number(token[:-1])),
    ("phone number", lambda token: _is_phone([token])),
    (
        "code",
        lambda token: (
            token.count("-") >= _FEWEST_GROUPS - 1
            and all(map(str.isdecimal, token.split("-")))
            and len(token.replace("-", "")) >= _FEWEST_HYPHENATED
        ),
    ),
    ("version", _is_version),
    ("number", _is_number),
    (
        "file pattern",
        lambda token: (
            token[0] + token[-1] != "**" and "*" in token and ("." in token or "/" in token)
        ),
    ),
    (
        "domain",
        lambda token: (
            not _DOMAINS.isdisjoint((labels := _labels(token.lower().split("/")[0]))[1:])
            and labels[-1].isalpha()
        ),
    ),
    (
        "code",  # an id with slashes in capitals: INV/2024/0042
        lambda token: (
            "/" in token
            and token == token.upper()
            and any(map(str.isalpha, token))
            and any(map(str.isdecimal, token))
            and all(map(str.isalnum, token.split("/")))
        ),
    ),
    ("path", _is_path),
    ("file name", _is_file),
    ("hash", lambda token: len(token) >= _SHORTEST_HASH and _is_hexadecimal(token)),
    ("handle", re.compile(r"@[^\W_][\w./-]*(@([^\W_][\w./-]*)?)?").fullmatch),
    ("channel", lambda token: token[0] == "#" and _is_tag(token[1:]) and not token[1:].isdecimal()),
    ("code", _is_mixed),
)
_WITHOUT_DIGITS = frozenset(
    (
        *("url", "e-mail address", "IP address", "file pattern", "domain"),
        *("path", "file name", "handle", "channel", "code"),
    )
)
_KINDS_WITHOUT_DIGITS = tuple([one for one in _KINDS if one[0] in _WITHOUT_DIGITS])


QUOTED = "quoted text"
"""The kind of quoted text without another format."""

NAME = "name"
"""The kind of names of programs: `get_user`, `orderId`, `acme/shop`."""

WORDS_OF_KINDS = {
    "url": ("url", "uri", "link"),
    "domain": ("domain", "url", "website"),
    "e-mail address": ("email", "address"),
    "IP address": ("ip", "address"),
    "UUID": ("uuid", "id"),
    "hash": ("hash", "sha", "id"),
    "path": ("path", "file", "directory"),
    "file name": ("file", "name"),
    "file pattern": ("pattern", "glob", "file"),
    "date": ("date",),
    "time": ("time",),
    "date and time": ("date", "time"),
    "amount": ("amount", "price"),
    "percentage": ("percentage",),
    "phone number": ("phone", "telephone", "mobile"),
    "version": ("version",),
    "handle": ("user", "handle"),
    "channel": ("channel", "hashtag"),
    "code": ("id", "code"),
    "SQL statement": ("sql", "query"),
}
"""The usual names of each kind in schemas; numbers have too many."""

MOST = 64
"""The most literals of a text."""

_MARKS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u201e": "\u201c",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
_EVERY_MARK = re.compile(f"[{''.join(_MARKS)}]")
_BEFORE = "([{<\"'`\u201c\u2018\u00ab\u201e"
_OPENINGS = f"{_BEFORE}=:,-/\uff1a\uff0c"
_AFTER = ".,;:!?)]}>\"'`\u201d\u2019\u00bb\u2026"
_LONGEST_TOKEN = 2048
# What joins or encloses names in a token, as hyphens do: "get_user()", "main.ts:42".
_SEAMS = str.maketrans(dict.fromkeys("()[]{}<>,;:|*=!?$\"'`\u2019", "-"))

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH_NAMES = frozenset((*_MONTHS, *(month[:3] for month in _MONTHS), "sept"))
# The most tokens of a date in words, and of a number or a code with spaces.
_LONGEST_DATE, _MOST_GROUPS = 3, 12
# What a first token may be, for a number, a code or an amount to go on in the next.
_GOING_ON = frozenset((None, "number", "code", "amount", "hash", "phone number"))
_THOUSAND = 3
# The least characters of a code with spaces; a shorter text may be a list of numbers.
_SHORTEST_SPACED, _LONGEST_BANK = 12, 4
# Digits of a postal item, and letters on each side of them.
_POSTAL, _END = 9, 2


class TextLiteral(NamedTuple):
    """A part of a text that is an argument.

    Attributes:
        kind: `QUOTED`, `NAME`, `number` or a key of `WORDS_OF_KINDS`.
        text: The part, without quotation marks.
        start: Offset of its first character, or of the mark before it.
        end: Offset after its last character, or after the mark behind it.
    """

    kind: str
    text: str
    start: int
    end: int


def find_literals(text: str, *, with_names: bool = False) -> tuple[TextLiteral, ...]:
    """Return the literals of *text*, at most 64, in order of place.

    They do not overlap, except inside a quoted text. With *with_names*, names of programs are also
    literals.
    """
    if text.replace(" ", "").isalpha() and "SELECT" not in text and not with_names:
        return ()
    every_quoted = list(islice(_find_quotations(text), MOST))
    # A text that is one quotation is not an argument.
    quoted = [one for one in every_quoted if text[one.start : one.end] != text.strip()]
    rest = blank_literals(text, [one for one in quoted if one.kind != QUOTED])
    statements = list(_statements(text, rest, every_quoted))
    tokens = _Tokens(blank_literals(rest, statements), with_names=with_names)
    found = list(islice(_find_token_literals(tokens), MOST))
    if not (quoted or statements):  # these are in order
        return tuple(found)
    outside = [
        one
        for one in quoted
        if not any(other.start <= one.start and one.end <= other.end for other in statements)
    ]
    every = (*outside, *statements, *found)
    return tuple(sorted(every, key=lambda one: (one.start, -one.end))[:MOST])


def blank_literals(text: str, literals: Sequence[TextLiteral]) -> str:
    """Return *text* with spaces in the place of *literals*, which are in order."""
    kept: list[str] = []
    end = 0
    for literal in literals:
        start = max(literal.start, end)
        kept += [text[end:start], " " * (literal.end - start)]
        end = max(literal.end, end)
    return "".join((*kept, text[end:]))


def _find_quotations(text: str) -> Iterator[TextLiteral]:
    """Yield quoted texts; an apostrophe in or after a word is not a quotation mark.

    Nested quotations are part of the outer one, unless that is the whole text.
    """
    end = 0
    unclosed: set[str] = set()
    whole = text.strip()
    for found in _EVERY_MARK.finditer(text):
        start, mark = found.start(), found[0]
        if start < end or mark in unclosed:
            continue
        before, after = text[max(0, start - 1) : start], text[start + 1 : start + 2]
        is_free = not before or before.isspace() or before in _OPENINGS or is_unspaced(before)
        opens = mark > "\u2fff" or (is_free and bool(after) and not after.isspace())
        if not opens:
            continue
        close = _find_closing_mark(text, start + 1, _MARKS[mark])
        if close < 0:
            unclosed.add(mark)
        else:
            end = close + 1 if text[start : close + 1] != whole else end
            inner = text[start + 1 : close]
            yield TextLiteral(_token_kinds[inner] or QUOTED, inner, start, close + 1)


def _find_closing_mark(text: str, start: int, mark: str) -> int:
    """Return the place of the first *mark* from *start* that can close a quotation, else -1.

    Of two in a row, the first belongs to the quoted text: "'a = 'b''".
    """
    place = text.find(mark, start + 1)
    while place >= 0:
        after = text[place + 1 : place + 2]
        if after != mark and (not after.isalnum() or is_unspaced(after)):
            return place
        place = text.find(mark, place + 1)
    return -1


def _statements(text: str, rest: str, quoted: Sequence[TextLiteral]) -> Iterator[TextLiteral]:
    """Yield a statement of SQL that selects all columns, or is written in capitals.

    It is searched in *rest*, *text* without its *quoted* literals. It ends with the quotation
    around it, and a semicolon in a quotation does not end it.
    """
    lowered = rest.lower()
    start = lowered.find("select ")
    middle = lowered.find(" from ", start) if start >= 0 else -1
    if middle < 0 or len(lowered) != len(rest):  # some letters have no small one of their length
        return
    columns = rest[start + len("select ") : middle].strip()
    if columns == "*" or rest[start : start + 6] + rest[middle + 1 : middle + 5] == "SELECTFROM":
        around = (one.end - 1 for one in quoted if one.start < start < one.end)
        most = min(around, default=len(text.rstrip(".?! ")))
        inner = text[start:most]
        blank = blank_literals(inner, [*_find_quotations(inner)])
        end = start + blank.find(";", middle - start) + 1
        end = end if end > start else most
        yield TextLiteral("SQL statement", text[start:end], start, end)


class _Tokens:
    """The tokens of a text: runs without white space, without the punctuation around them.

    Attributes:
        special: The places of those that a literal may begin with; most texts have none.
        texts: The tokens; none where no literal begins with any.
        with_names: Whether names of programs are literals; then each token may be one.
    """

    def __init__(self, text: str, *, with_names: bool = False) -> None:
        self._text = text
        self.with_names = with_names
        self._starts: list[int] = []
        self.texts: list[str] = []
        tokens = text.split()
        runs = tokens
        if not text.isascii():  # the parts between the letters of scripts without spaces
            runs = [
                "".join(letters)
                for token in tokens
                for is_apart, letters in groupby(
                    token,
                    lambda one: is_unspaced(one) or "\u2fff" < one < "\u3040" or one > "\uff00",
                )
                if not is_apart
            ]
        self.special = self._places_in(runs)
        if self.special:
            bare = map(str.lstrip, map(str.rstrip, runs, repeat(_AFTER)), repeat(_BEFORE))
            self.texts = [*filter(None, bare)]
            if len(self.texts) < len(runs):
                self.special = self._places_in(self.texts)

    def _places_in(self, runs: Sequence[str]) -> Sequence[int]:
        if self.with_names:
            return range(len(runs))
        return [*compress(range(len(runs)), map(_special_runs.__getitem__, runs))]

    def texts_before_break(self, place: int, count: int) -> list[str]:
        """Return *count* tokens, or fewer if a sign after one of them ends a part of the text."""
        texts = self.texts[place : place + count]
        for number in range(1, len(texts)):
            end = self.start(place + number - 1) + len(texts[number - 1])
            if self._text[end : self.start(place + number)].strip(" \t\n()"):
                return texts[:number]
        return texts

    def start(self, place: int) -> int:
        token = self.texts[place]
        start = self._text.find(token)
        if self._text.find(token, start + 1) < 0:  # most occur only once
            return start
        if not self._starts:
            end = 0
            for text in self.texts:
                self._starts.append(self._text.find(text, end))
                end = self._starts[-1] + len(text)
        return self._starts[place]

    def kind(self, token: str) -> str | None:
        return _token_kinds[token] or (NAME if self.with_names and _is_name(token) else None)

    def literal(self, kind: str, first: int, last: int) -> TextLiteral:
        """Return the tokens from *first* to *last* as one literal."""
        start, end = self.start(first), self.start(last) + len(self.texts[last])
        # The parenthesis before the first token was taken off: "(030) 1234".
        is_open = self._text.count(")", start, end) > self._text.count("(", start, end)
        if is_open and self._text[start - 1 : start] == "(":
            start -= 1
        return TextLiteral(kind, " ".join(self._text[start:end].split()), start, end)


def _find_token_literals(tokens: _Tokens) -> Iterator[TextLiteral]:
    last = -1
    for place in tokens.special:
        if place <= last:
            continue
        texts = tokens.texts[place : place + _LONGEST_DATE]
        last = place + _length_of_date(texts) - 1
        if last >= place:
            yield tokens.literal("date", place, last)
        elif texts[1:] and texts[1].lower() in _HALVES_OF_DAYS and _is_clock("".join(texts[:2])):
            last = place + 1
            yield tokens.literal("time", place, last)
        else:
            kind, count = _match_spaced(tokens, place)
            last = place + count - 1
            yield from (
                [tokens.literal(kind, place, last)]
                if kind
                else _split_token_literals(tokens, place)
            )


def _match_spaced(tokens: _Tokens, place: int) -> tuple[str, int]:
    """Return the kind of the literal of several tokens from *place*, and their number."""
    first, *second = tokens.texts[place : place + 2]
    others = [text for text in (first, *second) if not any(map(str.isdecimal, text))]
    may_go_on = second and len(others) <= 1 and not any(map(str.islower, others))
    if not may_go_on or _token_kinds[first] not in _GOING_ON:
        return "", 0
    texts = tokens.texts_before_break(place, _MOST_GROUPS)
    if count := _length_of_amount(texts):
        return "amount", count
    for count in range(len(texts), 1, -1):
        if _is_phone(texts[:count]):
            return "phone number", count
    if count := _length_of_code(texts):
        return "code", count
    # The number of a postal item: "RR 123456785 DE".
    digits = [*takewhile(str.isdecimal, texts[1:])]
    is_item = len("".join(digits)) == _POSTAL and _is_end(texts[0])
    is_item = is_item and any(map(_is_end, texts[len(digits) + 1 : len(digits) + 2]))
    return ("code", len(digits) + 2) if is_item else ("", 0)


def _length_of_amount(texts: Sequence[str]) -> int:
    """Return how many of *texts* are an amount with a sign of a currency before or behind it."""
    has_sign = _is_currency(texts[0])
    first, *others = texts[has_sign:] or [""]
    if not _is_number(first):
        return 0
    count = has_sign + 1
    for text in others if len(first) <= _THOUSAND else ():
        # Digits in threes may be apart: "1 200,50".
        digits = text.replace(",", ".").partition(".")[0]
        if not (digits.isdecimal() and len(digits) == _THOUSAND and _is_number(text)):
            break
        count += 1
    if has_sign:
        return count
    return count + 1 if any(map(_is_currency, texts[count : count + 1])) else 0


def _length_of_code(texts: Sequence[str]) -> int:
    """Return how many of *texts*, from the first on, are the groups of one code."""
    count = 0
    for text in texts:
        # The letters of a bank come after the letters of a country and two digits.
        is_bank = count == 1 and not texts[0].isdecimal() and len(text) == _LONGEST_BANK
        has_form = text.isascii() and text.isalnum() and text == text.upper()
        if not (has_form and (is_bank or any(map(str.isdecimal, text)))):
            break
        count += 1
    groups = texts[:count]
    whole = "".join(groups)
    if count < _FEWEST_GROUPS or len(whole) < _SHORTEST_SPACED:
        return 0
    if whole.isdecimal():
        # Numbers of a list differ in length, and years do not.
        lengths = {len(group) for group in groups[:-1]}
        is_regular = len(lengths) == 1 and len(groups[-1]) <= max(lengths)
        are_years = all(_is_year(group) and group[:2] in {"19", "20"} for group in groups)
        return count if is_regular and not are_years else 0
    return count if 2 * sum(map(str.isdecimal, whole)) >= len(whole) else 0


def _is_end(text: str) -> bool:
    return len(text) == _END and text.isalpha() and text.isupper()


_special_runs = CachedFunction[bool](
    lambda run: (
        bool(token := run.rstrip(_AFTER).lstrip(_BEFORE))
        and (
            not token.replace("'", "").isalpha() or token.lower() in _MONTH_NAMES or _is_end(token)
        )
    )
)


def _split_token_literals(tokens: _Tokens, place: int) -> Iterator[TextLiteral]:
    """Yield the literal that a token is, or the literals that its parts are.

    Parts are numbers between hyphens; if names are literals, also texts that signs join or enclose.
    """
    token = tokens.texts[place]
    if len(token) > _LONGEST_TOKEN:
        return
    if kind := tokens.kind(token):
        yield tokens.literal(kind, place, place)
    elif tokens.with_names or ("-" in token and not token.isalpha()):
        start = tokens.start(place)
        for part in (token.translate(_SEAMS) if tokens.with_names else token).split("-"):
            other = tokens.kind(part) if tokens.with_names else None
            if kind := "number" if _is_number(part) else other:
                yield TextLiteral(kind, part, start, start + len(part))
            start += len(part) + 1


def _length_of_date(texts: Sequence[str]) -> int:
    """Return how many of *texts*, of which there are up to three, are a date, from the first on."""
    first, *after = texts
    is_month = first.lower() in _MONTH_NAMES
    if is_month and after and (_is_day(after[0]) or _is_year(after[0])):
        return 2 + (len(after) > 1 and not _is_year(after[0]) and _is_year(after[1]))
    if after and after[0].lower() in _MONTH_NAMES and _is_day(first):
        return 2 + (len(after) > 1 and _is_year(after[1]))
    return 0
