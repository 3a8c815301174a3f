"""Literals: the parts of a query that mean themselves, and must survive a rewrite as they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.text import fold, function_words_of, strip_accents
from mcpg.text.words import is_unspaced
from mcpg.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 32
"""The most literals of a query that are looked after."""

LONGEST_QUOTE = 80
"""What is quoted at greater length is a text to work on, not a name."""

_TRAILING = ".,;:!?)]}"
_MARKS = ('""', "\u201c\u201d", "\u00ab\u00bb", "\u300c\u300d", "``", "\u2018\u2019")


def _quoted() -> str:
    """Give the pattern of what stands in quotation marks; apostrophes are none within a word."""
    inner = f"[^{{0}}{{1}}\\n]{{{{1,{LONGEST_QUOTE}}}}}"
    pairs = [f"{one[0]}({inner.format(one[0], one[1])}){one[1]}" for one in _MARKS]
    single = f"(?<![^\\W_])'({inner.format(chr(39), chr(39))})'(?![^\\W_])"
    return "|".join((*pairs, single))


_ASCII, _ANY_CASE = re.ASCII, re.ASCII | re.IGNORECASE
_CODE = r"[A-Za-z0-9]{1,64}(?:[-_][A-Za-z0-9]{1,64}){0,8}"
# Letters and digits are those of ASCII: in scripts without spaces a name is glued to its sentence.
# The first kind that fits takes the characters, so that a URL is no path as well.
_KINDS = (
    ("quoted", _quoted(), 0),
    ("url", r"\b[a-z][a-z0-9+.-]{0,20}://[^\s<>\"'`\u201c\u201d\u00ab\u00bb]{1,500}", _ANY_CASE),
    ("e-mail", r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", _ASCII),
    ("path", r"(?<![\w/.~])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*/?", _ASCII),
    ("path", r"\b[A-Z]:[\\/][\w.@+-]+(?:[\\/][\w.@+-]+)*", _ANY_CASE),
    ("cve", r"\bCVE-\d{4}-\d{4,19}\b", _ANY_CASE),
    ("repository", r"(?<![\w/.@-])[\w.-]{1,100}/[\w.-]{1,100}(?![\w/])", _ASCII),
    ("number", r"(?<![\w.])v?\d+(?:[.:/-]\d+)+(?:[-+][\w.]{1,40})?(?!\w)", _ASCII),
    ("file", r"(?<![\w.@-])[\w-]{1,100}(?:\.[\w-]{1,100}){0,4}\.[a-z][a-z0-9]{0,5}\b", _ASCII),
    ("code", rf"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z]){_CODE}(?![\w-])", _ASCII),
    ("number", r"#\d+\b|(?<!\w)\+?\d{4,64}(?!\w)", _ASCII),
    ("identifier", r"(?<!\w)(?:[A-Za-z]\w{0,64}_\w{1,64}|[a-z]{1,64}[A-Z]\w{0,64})(?!\w)", _ASCII),
)
_PATTERNS = tuple((kind, re.compile(pattern, flags)) for kind, pattern, flags in _KINDS)
_QUOTED = _PATTERNS[0][1]
_SHORTEST = 2


@value
class Literal:
    """A part of a query that means itself.

    Attributes:
        kind: `quoted`, `url`, `e-mail`, `path`, `cve`, `repository`, `file`, `code` (letters and
            digits mixed), `number` (a long one, a version, a date), or `identifier`.
        text: The part, without quotation marks.
    """

    kind: str
    text: str


def literals_of(text: str) -> tuple[Literal, ...]:
    """Give the literals of *text*, at most 32, in order of place."""
    text = _unquoted(text)
    found = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            literal = _literal(kind, match)
            if literal is not None:
                found.append((match.start(), literal))
        # What has been taken can be no part of another one.
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    found.sort(key=lambda one: one[0])
    distinct = {literal.text: literal for _, literal in found}
    return tuple(distinct.values())[:MOST]


def without(text: str, literals: Iterable[Literal]) -> str:
    """Return *text* with a space for each of *literals* that it holds as a whole."""
    for literal in sorted(literals, key=lambda one: -len(one.text)):
        kept, end = [], 0
        for start in _places(text, literal.text):
            kept.append(text[end:start])
            end = start + len(literal.text)
        text = " ".join((*kept, text[end:]))
    return text


def lost(literals: Iterable[Literal], rewrite: str) -> tuple[Literal, ...]:
    """Give those of *literals* that *rewrite* does not hold."""
    folded = fold(rewrite)
    return tuple(literal for literal in literals if not _holds(folded, fold(literal.text)))


def restored(rewrite: str, missing: Iterable[Literal]) -> str:
    """Give *rewrite* with the *missing* literals behind it."""
    return " ".join((rewrite, *(literal.text for literal in missing)))


def _unquoted(text: str) -> str:
    """Return *text* without quotation marks around all of it, which set nothing apart."""
    whole = _QUOTED.fullmatch(text.strip())
    return text if whole is None else next(filter(None, whole.groups()))


def _literal(kind: str, match: re.Match[str]) -> Literal | None:
    if kind == "quoted":
        text = next(group for group in match.groups() if group is not None).strip()
        return Literal(kind, text) if text else None
    text = match.group().rstrip(_TRAILING)
    is_none = len(text) < _SHORTEST or (kind == "repository" and _is_plain(text))
    return None if is_none else Literal(kind, text)


def _is_plain(text: str) -> bool:
    """Tell whether *text* joins words that name nothing, such as and/or."""
    return function_words_of("english").issuperset(text.lower().split("/"))


def _holds(text: str, part: str) -> bool:
    return next(_places(text, part), None) is not None


def _places(text: str, part: str) -> Iterator[int]:
    """Return where *text* holds *part*, not as a piece of a longer word or number."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if _joins(text[start - 1 : start], part[0]) or _joins(part[-1], text[end : end + 1]):
            end = start + 1
        else:
            yield start
        start = text.find(part, end)


def _joins(left: str, right: str) -> bool:
    """Return whether two characters are of one word; scripts may meet without a space."""
    if not (left.isalnum() and right.isalnum()) or is_unspaced(left) or is_unspaced(right):
        return False
    return strip_accents(left).isascii() == strip_accents(right).isascii()
