"""Literals: the parts of a request that are arguments, found by their form.

A path, a date or an order number is what a tool is to work on; it does not describe the tool. What
is recognised is written in a format: that of a URL, an e-mail address, an IP address, a UUID, a
date or a time, a path, a file name, a number, an amount, a version, a phone number, a code of
letters and digits, a handle, a channel, a statement of SQL, or a text in quotation marks. Phone
numbers, codes and amounts may hold spaces. Names of programs are recognised as well where they are
asked for: they say what a tool is called, and no translation has them.

Texts are scanned by the methods of `str` alone, as in `mcpg.text.words`.

Source: kinds after the formats of JSON Schema, "Validation: a vocabulary for structural validation
of JSON", draft 2020-12, section 7.3; month names after RFC 5322, section 3.3; top-level domains
after RFC 1591, section 2; lengths of phone numbers after ITU-T E.164, section 6, of account numbers
after ISO 13616, and the form of postal items after UPU S10.
"""

from __future__ import annotations

import unicodedata
from itertools import chain, compress, islice, repeat, takewhile

from mcpg.text.words import (
    LANGUAGES,
    Remembered,
    fold,
    is_unspaced,
    share_of_texts,
    stop_words_of,
    strip_accents,
)
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

QUOTED = "quoted text"
"""The kind of what stands in quotation marks and has no form of its own."""

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
"""The names by which schemas call what is of each kind; numbers have too many."""

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
_ASCII_MARKS = [*filter(str.isascii, _MARKS)]
_BEFORE = "([{<\"'`\u201c\u2018\u00ab\u201e"
_OPENINGS = f"{_BEFORE}=:,-/\uff1a\uff0c"
_AFTER = ".,;:!?)]}>\"'`\u201d\u2019\u00bb\u2026"
_LONGEST_TOKEN = 2048
# What joins or encloses names in a token, as hyphens do: "get_user()", "main.ts:42".
_SEAMS = str.maketrans(dict.fromkeys("()[]{}<>,;:|*=!?$\"'`\u2019", "-"))

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH_NAMES = frozenset((*_MONTHS, *(month[:3] for month in _MONTHS), "sept"))
_HALVES_OF_DAYS = ("am", "pm", "a.m", "p.m")
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
# The most tokens of a date in words, and of a number or a code with spaces.
_LONGEST_DATE, _MOST_GROUPS = 3, 12
# Digits of phone numbers: with the code of a country, with a leading 0, and in groups of 3, 3, 4.
_INTERNATIONAL, _NATIONAL, _GROUPS_OF_PHONE = range(8, 16), range(9, 13), [3, 3, 4]
_PHONE_SIGNS = "()-./"
# A code with spaces has so many groups and characters; what is shorter may be a list of numbers.
_FEWEST_GROUPS, _SHORTEST_SPACED, _LONGEST_BANK = 3, 12, 4
# A number with hyphens has so many groups and digits.
_FEWEST_HYPHENATED = 8
# The module `string` has them as well, but imports `re`.
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Digits of a postal item, between two letters on each side.
_POSTAL = 9
# What a first token may be, for a number, a code or an amount to go on in the next.
_GOING_ON = frozenset((None, "number", "code", "amount", "hash", "phone number"))
_NUMBERS_OF_ADDRESS, _LAST_BYTE, _LONGEST_GROUP = 4, 255, 4


@value
class Literal:
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


def literals_of(text: str, *, with_names: bool = False) -> tuple[Literal, ...]:
    """Return the literals of *text*, at most 64, in order of place.

    They do not overlap, but for those inside a quoted text.

    Args:
        text: The text.
        with_names: Whether names of programs are literals as well.
    """
    if text.replace(" ", "").isalpha() and "SELECT" not in text and not with_names:
        return ()
    every_quoted = list(islice(_quoted(text), MOST))
    # A text that is one quotation is no argument.
    quoted = [one for one in every_quoted if text[one.start : one.end] != text.strip()]
    rest = blanked(text, [one for one in quoted if one.kind != QUOTED])
    statements = list(_statements(text, rest, every_quoted))
    tokens = _Tokens(blanked(rest, statements), with_names=with_names)
    found = list(islice(_found(tokens), MOST))
    if not (quoted or statements):  # these are in order
        return tuple(found)
    outside = [one for one in quoted if not any(_covers(other, one) for other in statements)]
    every = (*outside, *statements, *found)
    return tuple(sorted(every, key=lambda one: (one.start, -one.end))[:MOST])


def blanked(text: str, literals: Sequence[Literal]) -> str:
    """Return *text* with spaces in the place of *literals*, which are in order."""
    if not literals:
        return text
    kept: list[str] = []
    end = 0
    for literal in literals:
        start = max(literal.start, end)
        kept += [text[end:start], " " * (literal.end - start)]
        end = max(literal.end, end)
    return "".join((*kept, text[end:]))


def _covers(outer: Literal, inner: Literal) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _quoted(text: str) -> Iterator[Literal]:
    """Yield what stands in quotation marks; an apostrophe in or behind a word is none.

    What stands in others is part of these, but for a text that is one quotation.
    """
    end = 0
    unclosed: set[str] = set()
    whole = text.strip()
    marks = [mark for mark in (_ASCII_MARKS if text.isascii() else _MARKS) if mark in text]
    for start, mark in sorted(chain.from_iterable([_places(text, mark) for mark in marks])):
        if start < end or mark in unclosed or not _opens(text, start):
            continue
        close = _closed(text, start + 1, _MARKS[mark])
        if close < 0:
            unclosed.add(mark)
        else:
            end = close + 1 if text[start : close + 1] != whole else end
            inner = text[start + 1 : close]
            yield Literal(_kinds[inner] or QUOTED, inner, start, close + 1)


def _places(text: str, mark: str) -> list[tuple[int, str]]:
    """Return every place of *mark* in *text*, with the mark."""
    places: list[tuple[int, str]] = []
    place = text.find(mark)
    while place >= 0:
        places.append((place, mark))
        place = text.find(mark, place + 1)
    return places


def _opens(text: str, place: int) -> bool:
    before, after = text[max(0, place - 1) : place], text[place + 1 : place + 2]
    if text[place] > "\u2fff":
        return True
    is_free = not before or before.isspace() or before in _OPENINGS or is_unspaced(before)
    return is_free and bool(after) and not after.isspace()


def _closed(text: str, start: int, mark: str) -> int:
    """Return the place of the first *mark* from *start* that can close a quotation, else -1.

    Of two in a row, the first belongs to what is quoted: "'a = 'b''".
    """
    place = text.find(mark, start + 1)
    while place >= 0:
        after = text[place + 1 : place + 2]
        if after != mark and (not after.isalnum() or is_unspaced(after)):
            return place
        place = text.find(mark, place + 1)
    return -1


def _statements(text: str, rest: str, quoted: Sequence[Literal]) -> Iterator[Literal]:
    """Yield a statement of SQL that selects all columns, or is written in capitals.

    It is looked for in *rest*, *text* without its *quoted* literals. It ends with the quotation
    that it stands in, and no semicolon of a quotation within ends it.
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
        end = start + blanked(inner, [*_quoted(inner)]).find(";", middle - start) + 1
        end = end if end > start else most
        yield Literal("SQL statement", text[start:end], start, end)


class _Tokens:
    """The tokens of a text: runs without white space, without the punctuation around them.

    Attributes:
        special: The places of those that a literal may begin with; most texts have none.
        with_names: Whether names of programs are literals; then each token may be one.
    """

    def __init__(self, text: str, *, with_names: bool = False) -> None:
        self._text = text
        self.with_names = with_names
        self._starts: list[int] = []
        self._texts: list[str] = []
        runs = [*_runs(text)]
        self.special = self._places_in(runs)
        if self.special:
            bare = map(str.lstrip, map(str.rstrip, runs, repeat(_AFTER)), repeat(_BEFORE))
            self._texts = [*filter(None, bare)]
            if len(self._texts) < len(runs):
                self.special = self._places_in(self._texts)

    def _places_in(self, runs: Sequence[str]) -> Sequence[int]:
        if self.with_names:
            return range(len(runs))
        return [*compress(range(len(runs)), map(_special_runs.__getitem__, runs))]

    def texts(self, place: int, count: int) -> list[str]:
        """Return *count* tokens from *place* on, or as many as there are."""
        return self._texts[place : place + count]

    def unbroken(self, place: int, count: int) -> list[str]:
        """Return the same up to the first with a sign behind it that ends a part of the text."""
        texts = self.texts(place, count)
        for number in range(1, len(texts)):
            end = self.start(place + number - 1) + len(texts[number - 1])
            if self._text[end : self.start(place + number)].strip(" \t\n()"):
                return texts[:number]
        return texts

    def start(self, place: int) -> int:
        """Return the offset of a token."""
        token = self._texts[place]
        start = self._text.find(token)
        if self._text.find(token, start + 1) < 0:  # most stand nowhere else
            return start
        if not self._starts:
            end = 0
            for text in self._texts:
                self._starts.append(self._text.find(text, end))
                end = self._starts[-1] + len(text)
        return self._starts[place]

    def kind(self, token: str) -> str | None:
        """Return the kind of a token or a part of one, `None` for a word."""
        return _kinds[token] or (NAME if self.with_names and _is_name(token) else None)

    def literal(self, kind: str, first: int, last: int) -> Literal:
        """Return the tokens from *first* to *last* as one literal."""
        start, end = self.start(first), self.start(last) + len(self._texts[last])
        # The parenthesis before the first token was taken off: "(030) 1234".
        is_open = self._text.count(")", start, end) > self._text.count("(", start, end)
        if is_open and self._text[start - 1 : start] == "(":
            start -= 1
        return Literal(kind, " ".join(self._text[start:end].split()), start, end)


def _runs(text: str) -> Iterable[str]:
    return text.split() if text.isascii() else chain.from_iterable(map(_spaced_runs, text.split()))


def _spaced_runs(run: str) -> Iterator[str]:
    """Yield the parts of *run* between the letters of scripts without spaces."""
    if run.isascii():
        yield run
        return
    begin = 0
    for place, character in enumerate(run):
        if is_unspaced(character) or "\u2fff" < character < "\u3040" or character > "\uff00":
            if begin < place:
                yield run[begin:place]
            begin = place + 1
    if begin < len(run):
        yield run[begin:]


def _found(tokens: _Tokens) -> Iterator[Literal]:
    last = -1
    for place in tokens.special:
        if place <= last:
            continue
        free, texts = last + 1, tokens.texts(place, _LONGEST_DATE)
        last = place + _length_of_date(texts) - 1
        if last >= place:
            yield tokens.literal("date", place, last)
        elif _is_time(texts[:2]):
            last = place + 1
            yield tokens.literal("time", place, last)
        elif _may_have_spaces(texts):
            kind, first, last = _spaced(tokens, place, free)
            yield from [tokens.literal(kind, first, last)] if kind else _of_token(tokens, place)
        else:
            yield from _of_token(tokens, place)


def _may_have_spaces(texts: Sequence[str]) -> bool:
    """Return whether a number, a code or an amount may go on from the first of *texts*."""
    if len(texts) == 1 or _kinds[texts[0]] not in _GOING_ON:
        return False
    others = [text for text in texts[:2] if not any(map(str.isdecimal, text))]
    return not others or (len(others) == 1 and not others[0].islower())


def _spaced(tokens: _Tokens, place: int, free: int) -> tuple[str, int, int]:
    """Return the kind of what goes on over several tokens from *place*, and its first and last.

    Tokens before *free* are of other literals.
    """
    texts = tokens.unbroken(place, _MOST_GROUPS)
    if count := _length_of_amount(texts):
        return "amount", place, place + count - 1
    for count in range(len(texts), 1, -1):
        if _is_phone(texts[:count]):
            return "phone number", place, place + count - 1
    if count := _length_of_code(texts):
        return "code", place, place + count - 1
    if count := _length_of_item(tokens.unbroken(place - 1, _MOST_GROUPS) if place > free else ()):
        return "code", place - 1, place + count - 2
    return "", place, place - 1


def _length_of_amount(texts: Sequence[str]) -> int:
    """Return how many of *texts* are an amount with a sign of a currency before or behind it."""
    has_sign = _is_currency(texts[0])
    numbers = [*takewhile(_is_number, texts[has_sign:])]
    # Digits in threes may be apart: "1 200,50".
    while len(numbers) > 1 and (numbers[0][3:] or not all(map(_is_of_three, numbers[1:]))):
        numbers.pop()
    count = has_sign + len(numbers)
    if has_sign or not numbers:
        return count if numbers else 0
    return count + 1 if any(map(_is_currency, texts[count : count + 1])) else 0


def _is_currency(text: str) -> bool:
    """Return whether *text* is a sign of a currency, with letters or not: "US$"."""
    sign = text.strip(_CAPITALS)
    return len(sign) == 1 and unicodedata.category(sign) == "Sc"


def _is_of_three(text: str) -> bool:
    digits = text.replace(",", ".").partition(".")[0]
    return digits.isdecimal() and len(digits) == 3  # noqa: PLR2004 - as the name says


def _is_phone(texts: Sequence[str]) -> bool:
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


def _length_of_code(texts: Sequence[str]) -> int:
    """Return how many of *texts*, from the first on, are the groups of one code."""
    count = next(
        (place for place, text in enumerate(texts) if not _is_group(text, texts[:place])),
        len(texts),
    )
    groups = texts[:count]
    whole = "".join(groups)
    if count < _FEWEST_GROUPS or len(whole) < _SHORTEST_SPACED:
        return 0
    if whole.isdecimal():
        # Numbers of a list have lengths of their own, and years have one.
        lengths = {len(group) for group in groups[:-1]}
        is_regular = len(lengths) == 1 and len(groups[-1]) <= max(lengths)
        return count if is_regular and not all(map(_is_recent, groups)) else 0
    return count if 2 * sum(map(str.isdecimal, whole)) >= len(whole) else 0


def _length_of_item(texts: Sequence[str]) -> int:
    """Return how many of *texts* are the number of a postal item: "RR 123456785 DE"."""
    digits = [*takewhile(str.isdecimal, texts[1:])]
    ends = (*texts[:1], *texts[len(digits) + 1 : len(digits) + 2])
    has_ends = [len(end) for end in ends if end.isupper()] == [2, 2]
    return len(digits) + 2 if has_ends and len("".join(digits)) == _POSTAL else 0


def _is_group(text: str, before: Sequence[str]) -> bool:
    """Return whether *text* goes on a code that has the groups *before*."""
    if not (text.isascii() and text.isalnum() and text == text.upper()):
        return False
    # The letters of a bank stand behind those of a country and two digits.
    is_bank = len(before) == 1 and not before[0].isdecimal() and len(text) == _LONGEST_BANK
    return any(map(str.isdecimal, text)) or is_bank


def _is_recent(text: str) -> bool:
    return _is_year(text) and text[:2] in {"19", "20"}


def _is_special(run: str) -> bool:
    """Return whether a literal may begin with *run*: it is no word, or names a month."""
    token = run.rstrip(_AFTER).lstrip(_BEFORE)
    if token.isalpha() or token.replace("'", "").isalpha():
        return token.lower() in _MONTH_NAMES
    return bool(token)


_special_runs = Remembered(_is_special)


def _of_token(tokens: _Tokens, place: int) -> Iterator[Literal]:
    """Yield the literal that a token is, or those that its parts are.

    Parts are numbers between hyphens; where names are literals, whatever signs join or enclose.
    """
    (token,) = tokens.texts(place, 1)
    if len(token) > _LONGEST_TOKEN:
        return
    if kind := tokens.kind(token):
        yield tokens.literal(kind, place, place)
    elif tokens.with_names or ("-" in token and not token.isalpha()):
        start = tokens.start(place)
        for part in (token.translate(_SEAMS) if tokens.with_names else token).split("-"):
            kind = tokens.kind(part) if tokens.with_names else None
            if kind := "number" if _is_number(part) else kind:
                yield Literal(kind, part, start, start + len(part))
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


def _is_decimal(text: str, longest: int) -> bool:
    return text.isdecimal() and len(text) <= longest


def _is_day(text: str) -> bool:
    number = text[:-2] if text[-2:].lower() in _ORDINALS else text
    return _is_decimal(number, _PART) and 1 <= int(number) <= _LAST_DAY


def _is_year(text: str) -> bool:
    return _is_decimal(text, _YEAR) and len(text) == _YEAR


def _is_time(texts: Sequence[str]) -> bool:
    """Return whether *texts* are a time of two tokens: "9 a.m"."""
    first, *rest = texts
    has_half = bool(rest) and rest[0].lower() in _HALVES_OF_DAYS
    return has_half and all(_is_decimal(part, _PART) for part in first.split(":"))


def _kind(token: str) -> str | None:
    """Return the kind of a *token*, `None` for one that is a word or holds white space."""
    if token.isalpha() or not token or any(map(str.isspace, token)):
        return None
    if token.isdecimal() and token.isascii():
        return "number"
    if not token.isascii() and any(map(is_unspaced, token)):
        return None
    kinds = _KINDS if any(map(str.isdecimal, token)) else _KINDS_WITHOUT_DIGITS
    return next((kind for kind, is_kind in kinds if is_kind(token)), None)


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


def _is_number(token: str) -> bool:
    number = token.lstrip("#+-~").lower()
    number = number[:-2] if number[-2:] in _ORDINALS else number
    return number[:1].isdecimal() and all(sign.isdecimal() or sign in ".,:/'x" for sign in number)


def _is_amount(token: str) -> bool:
    """Return whether *token* is a number with a sign of a currency."""
    if token.isascii() and "$" not in token:
        return False
    signs = [sign for sign in token if unicodedata.category(sign) == "Sc"]
    rest = token.strip("".join(signs)).rstrip("kKmMbB")
    return len(signs) == 1 and _is_number(rest)


def _is_percentage(token: str) -> bool:
    return token[-1] == "%" and _is_number(token[:-1])


def _is_date(token: str) -> bool:
    """Return whether *token* is a date in digits: day, month and year in any order."""
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


def _is_moment(token: str) -> bool:
    date, sign, time = token.partition("T")
    clock = time.removesuffix("Z").split("+")[0].split(".")[0]
    return bool(sign) and _is_date(date) and _is_clock(clock)


def _is_hyphenated(token: str) -> bool:
    """Return whether *token* is a long number in groups, such as an ISBN."""
    groups = token.split("-")
    is_whole = len(groups) >= _FEWEST_GROUPS and all(map(str.isdecimal, groups))
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
    return is_named and (not parts[-1] or any(_is_code_like(part) for part in parts))


def _is_code_like(part: str) -> bool:
    return any(sign.isdecimal() or sign in "._-" for sign in part)


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


def _is_name(token: str) -> bool:
    """Return whether *token* is a name of a program: one with seams, or several with slashes."""
    parts = token.split(".")
    if all(map(str.isidentifier, parts)) and any(map(_has_seam, parts)):
        return True
    steps = token.split("/")
    return len(steps) > 1 and all(map(_is_tag, steps)) and not _are_words(steps)


def _has_seam(part: str) -> bool:
    return "_" in part.strip("_") or (part[:1].islower() and part != part.lower())


def _are_words(parts: Sequence[str]) -> bool:
    """Return whether *parts* are words of one language, as in "red/green"; letters are none."""
    words = [fold(strip_accents(part)) for part in parts]
    return all(word[1:] for word in words) and any(
        all(word in stop_words_of(one) or share_of_texts(word, one) for word in words)
        for one in LANGUAGES
    )


_kinds = Remembered(_kind)

# The first kind that fits counts.
_KINDS = (
    ("url", _is_url),
    ("e-mail address", _is_email),
    ("date and time", _is_moment),
    ("date", _is_date),
    ("time", _is_clock),
    ("IP address", _is_address),
    ("UUID", _is_uuid),
    ("amount", _is_amount),
    ("percentage", _is_percentage),
    ("phone number", lambda token: _is_phone([token])),
    ("code", _is_hyphenated),
    ("version", _is_version),
    ("number", _is_number),
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
