"""Literals: the parts of a request that are arguments, found by their form.

A path, a date or an order number is what a tool is to work on; it does not describe the tool. What
is recognised is written in a format: that of a URL, an e-mail address, an IP address, a UUID, a
date or a time, a path, a file name, a number, an amount, a version, a phone number, a code of
letters and digits, a handle, a channel, a statement of SQL, or a text in quotation marks. Phone
numbers, codes and amounts may hold spaces. Names of programs are recognised as well where they are
asked for: they say what a tool is called, and no translation has them.

Texts are scanned by the methods of `str` alone, as in `mcpg.text.words`.

Source: month names after RFC 5322, section 3.3; lengths of account numbers after ISO 13616, and the
form of postal items after UPU S10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice, repeat, takewhile
from typing import NamedTuple

from mcpg.text.token_kinds import (
    FEWEST_GROUPS,
    HALVES_OF_DAYS,
    is_clock,
    is_currency,
    is_day,
    is_name,
    is_number,
    is_phone,
    is_year,
    token_kinds,
)
from mcpg.text.words import CachedFunction, is_unspaced

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
_EVERY_MARK = re.compile(f"[{''.join(_MARKS)}]")
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
# The most tokens of a date in words, and of a number or a code with spaces.
_LONGEST_DATE, _MOST_GROUPS = 3, 12
# What a first token may be, for a number, a code or an amount to go on in the next.
_GOING_ON = frozenset((None, "number", "code", "amount", "hash", "phone number"))
_THOUSAND = 3
# A code with spaces has so many characters; what is shorter may be a list of numbers.
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

    They do not overlap, but for those inside a quoted text.

    Args:
        text: The text.
        with_names: Whether names of programs are literals as well.
    """
    if text.replace(" ", "").isalpha() and "SELECT" not in text and not with_names:
        return ()
    every_quoted = list(islice(_find_quotations(text), MOST))
    # A text that is one quotation is no argument.
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
    if not literals:
        return text
    kept: list[str] = []
    end = 0
    for literal in literals:
        start = max(literal.start, end)
        kept += [text[end:start], " " * (literal.end - start)]
        end = max(literal.end, end)
    return "".join((*kept, text[end:]))


def _find_quotations(text: str) -> Iterator[TextLiteral]:
    """Yield what stands in quotation marks; an apostrophe in or behind a word is none.

    What stands in others is part of these, but for a text that is one quotation.
    """
    end = 0
    unclosed: set[str] = set()
    whole = text.strip()
    for found in _EVERY_MARK.finditer(text):
        start, mark = found.start(), found[0]
        if start < end or mark in unclosed or not _opens(text, start):
            continue
        close = _find_closing_mark(text, start + 1, _MARKS[mark])
        if close < 0:
            unclosed.add(mark)
        else:
            end = close + 1 if text[start : close + 1] != whole else end
            inner = text[start + 1 : close]
            yield TextLiteral(token_kinds[inner] or QUOTED, inner, start, close + 1)


def _opens(text: str, place: int) -> bool:
    before, after = text[max(0, place - 1) : place], text[place + 1 : place + 2]
    if text[place] > "\u2fff":
        return True
    is_free = not before or before.isspace() or before in _OPENINGS or is_unspaced(before)
    return is_free and bool(after) and not after.isspace()


def _find_closing_mark(text: str, start: int, mark: str) -> int:
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


def _statements(text: str, rest: str, quoted: Sequence[TextLiteral]) -> Iterator[TextLiteral]:
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
        end = (
            start + blank_literals(inner, [*_find_quotations(inner)]).find(";", middle - start) + 1
        )
        end = end if end > start else most
        yield TextLiteral("SQL statement", text[start:end], start, end)


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
        tokens = text.split()
        runs = tokens if text.isascii() else [*chain.from_iterable(map(_spaced_runs, tokens))]
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

    def texts_before_break(self, place: int, count: int) -> list[str]:
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
        return token_kinds[token] or (NAME if self.with_names and is_name(token) else None)

    def literal(self, kind: str, first: int, last: int) -> TextLiteral:
        """Return the tokens from *first* to *last* as one literal."""
        start, end = self.start(first), self.start(last) + len(self._texts[last])
        # The parenthesis before the first token was taken off: "(030) 1234".
        is_open = self._text.count(")", start, end) > self._text.count("(", start, end)
        if is_open and self._text[start - 1 : start] == "(":
            start -= 1
        return TextLiteral(kind, " ".join(self._text[start:end].split()), start, end)


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


def _find_token_literals(tokens: _Tokens) -> Iterator[TextLiteral]:
    last = -1
    for place in tokens.special:
        if place <= last:
            continue
        texts = tokens.texts(place, _LONGEST_DATE)
        last = place + _length_of_date(texts) - 1
        if last >= place:
            yield tokens.literal("date", place, last)
        elif texts[1:] and texts[1].lower() in HALVES_OF_DAYS and is_clock("".join(texts[:2])):
            last = place + 1
            yield tokens.literal("time", place, last)
        else:
            kind, count = _match_spaced(tokens, place) if _may_have_spaces(texts) else ("", 0)
            last = place + count - 1
            yield from (
                [tokens.literal(kind, place, last)]
                if kind
                else _split_token_literals(tokens, place)
            )


def _may_have_spaces(texts: Sequence[str]) -> bool:
    """Return whether a number, a code or an amount may go on from the first of *texts*."""
    if len(texts) == 1 or token_kinds[texts[0]] not in _GOING_ON:
        return False
    others = [text for text in texts[:2] if not any(map(str.isdecimal, text))]
    return not others or (len(others) == 1 and not others[0].islower())


def _match_spaced(tokens: _Tokens, place: int) -> tuple[str, int]:
    """Return the kind of what goes on over several tokens from *place*, and their number."""
    texts = tokens.texts_before_break(place, _MOST_GROUPS)
    if count := _length_of_amount(texts):
        return "amount", count
    for count in range(len(texts), 1, -1):
        if is_phone(texts[:count]):
            return "phone number", count
    count = _length_of_code(texts) or _length_of_item(texts)
    return ("code" if count else "", count)


def _length_of_amount(texts: Sequence[str]) -> int:
    """Return how many of *texts* are an amount with a sign of a currency before or behind it."""
    has_sign = is_currency(texts[0])
    first, *others = texts[has_sign:] or [""]
    if not is_number(first):
        return 0
    # Digits in threes may be apart: "1 200,50".
    thousands = takewhile(_is_thousand, others if len(first) <= _THOUSAND else ())
    count = has_sign + 1 + len([*thousands])
    if has_sign:
        return count
    return count + 1 if any(map(is_currency, texts[count : count + 1])) else 0


def _is_thousand(text: str) -> bool:
    digits = text.replace(",", ".").partition(".")[0]
    return digits.isdecimal() and len(digits) == _THOUSAND and is_number(text)


def _length_of_code(texts: Sequence[str]) -> int:
    """Return how many of *texts*, from the first on, are the groups of one code."""
    count = next(
        (place for place, text in enumerate(texts) if not _is_group(text, texts[:place])),
        len(texts),
    )
    groups = texts[:count]
    whole = "".join(groups)
    if count < FEWEST_GROUPS or len(whole) < _SHORTEST_SPACED:
        return 0
    if whole.isdecimal():
        # Numbers of a list have lengths of their own, and years have one.
        lengths = {len(group) for group in groups[:-1]}
        is_regular = len(lengths) == 1 and len(groups[-1]) <= max(lengths)
        are_years = all(is_year(group) and group[:2] in {"19", "20"} for group in groups)
        return count if is_regular and not are_years else 0
    return count if 2 * sum(map(str.isdecimal, whole)) >= len(whole) else 0


def _length_of_item(texts: Sequence[str]) -> int:
    """Return how many of *texts* are the number of a postal item: "RR 123456785 DE"."""
    digits = [*takewhile(str.isdecimal, texts[1:])]
    count = len(digits) + 2
    has_ends = _is_end(texts[0]) and any(map(_is_end, texts[count - 1 : count]))
    return count if has_ends and len("".join(digits)) == _POSTAL else 0


def _is_end(text: str) -> bool:
    return len(text) == _END and text.isalpha() and text.isupper()


def _is_group(text: str, before: Sequence[str]) -> bool:
    """Return whether *text* goes on a code that has the groups *before*."""
    if not (text.isascii() and text.isalnum() and text == text.upper()):
        return False
    # The letters of a bank stand behind those of a country and two digits.
    is_bank = len(before) == 1 and not before[0].isdecimal() and len(text) == _LONGEST_BANK
    return any(map(str.isdecimal, text)) or is_bank


def _is_special(run: str) -> bool:
    """Return whether a literal may begin with *run*: it is no word, or a month or country."""
    token = run.rstrip(_AFTER).lstrip(_BEFORE)
    if token.isalpha() or token.replace("'", "").isalpha():
        return token.lower() in _MONTH_NAMES or _is_end(token)
    return bool(token)


_special_runs = CachedFunction(_is_special)


def _split_token_literals(tokens: _Tokens, place: int) -> Iterator[TextLiteral]:
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
            other = tokens.kind(part) if tokens.with_names else None
            if kind := "number" if is_number(part) else other:
                yield TextLiteral(kind, part, start, start + len(part))
            start += len(part) + 1


def _length_of_date(texts: Sequence[str]) -> int:
    """Return how many of *texts*, of which there are up to three, are a date, from the first on."""
    first, *after = texts
    is_month = first.lower() in _MONTH_NAMES
    if is_month and after and (is_day(after[0]) or is_year(after[0])):
        return 2 + (len(after) > 1 and not is_year(after[0]) and is_year(after[1]))
    if after and after[0].lower() in _MONTH_NAMES and is_day(first):
        return 2 + (len(after) > 1 and is_year(after[1]))
    return 0
