"""Answers of normalisers: which of them may stand beside a query, told by their form alone.

What an answer means cannot be checked here, and need not: a query is searched as it was given too,
and the rewrite counts only as far as it can be trusted. What is refused here is what does not look
like a search query at all: prose, lists, code, orders to somebody, other languages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcpg.engine.normalization.language import read_language
from mcpg.engine.normalization.literals import without
from mcpg.text import fold, function_words_of, split_words
from mcpg.text.unsafe import UNSAFE
from mcpg.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcpg.engine.normalization.literals import Literal

LONGEST = 480
"""The most characters of a rewrite."""

MOST_TIMES_LONGER = 4
"""A rewrite has at most this many times the query's characters, or `ALWAYS_ALLOWED`."""

ALWAYS_ALLOWED = 160
PROSE = 0.5
"""From this share of function words on, a sentence is prose."""

_SHORTEST_PROSE = 5
_QUOTES = (
    *('""', "''", "``", "\u201c\u201d", "\u2018\u2019"),
    *("\u00ab\u00bb", "\u300c\u300d", "\u201e\u201c", "\u00bb\u00ab"),
)
_MARKUP = re.compile(r"[<>{}|\\]|\*\*|__|\]\(|\);|==|^\s*(?:[#*•-]|\d+[.)])\s")
_LABEL = re.compile(r"^\W*[^\W\d_][\w ]{0,30}:(?:\s|$)")
_SENTENCE_END = re.compile("[.!?\u2026](?=\\s+\\S)|[\u3002\uff01\uff1f](?=\\S)")
_CLOSES = re.compile("[.!\u2026]$")


@value
class Verdict:
    """What became of an answer.

    Attributes:
        text: The rewrite; "" when there is none.
        reason: Why the answer is refused; "" when it is not. Without text or reason, the answer
            says no more than the query.
    """

    text: str = ""
    reason: str = ""


def judge(query: str, answer: str, literals: Iterable[Literal] = ()) -> Verdict:
    """Accept or refuse *answer* as a rewrite of *query*, which has these *literals*."""
    text = unquoted(answer)
    if fold(text) == fold(query.strip()):
        return Verdict()
    bare = without(text, literals)
    for is_refused, reason in _TESTS:
        if is_refused(query, text, bare):
            return Verdict(reason=reason)
    return Verdict(" ".join(text.split()))


def unquoted(text: str) -> str:
    """Give *text* without white space and quotation marks around it."""
    text = text.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text.strip("`").strip()


def _is_blank(_query: str, text: str, _bare: str) -> bool:
    return not any(map(str.isalnum, text))


def _has_lines(_query: str, text: str, _bare: str) -> bool:
    return len(text.splitlines()) > 1


def _is_long(query: str, text: str, _bare: str) -> bool:
    return len(text) > min(LONGEST, max(ALWAYS_ALLOWED, MOST_TIMES_LONGER * len(query)))


def _has_controls(_query: str, text: str, _bare: str) -> bool:
    return UNSAFE.search(text.replace("\t", " ")) is not None


def _has_markup(_query: str, _text: str, bare: str) -> bool:
    return _MARKUP.search(bare) is not None


def _has_label(query: str, _text: str, bare: str) -> bool:
    found = _LABEL.match(bare)
    return found is not None and fold(found.group().strip()) not in fold(query)


def _has_sentences(query: str, text: str, _bare: str) -> bool:
    return len(_SENTENCE_END.findall(text)) > len(_SENTENCE_END.findall(query))


def _is_prose(query: str, text: str, bare: str) -> bool:
    """Tell whether a whole sentence of its own words is mostly words that name nothing."""
    if _CLOSES.search(text) is None:
        return False
    words = set(split_words(bare)) - set(split_words(query))
    named = words - function_words_of("english")
    return len(words) >= _SHORTEST_PROSE and len(named) <= (1 - PROSE) * len(words)


def _is_foreign(_query: str, _text: str, bare: str) -> bool:
    read = read_language(bare)
    is_beaten = read.other > read.english and read.english < PROSE
    return not read.is_latin or (is_beaten and read.words > 1)


if TYPE_CHECKING:
    _Test = Callable[[str, str, str], bool]

_TESTS: tuple[tuple[_Test, str], ...] = (
    (_is_blank, "it is blank"),
    (_has_lines, "it has several lines"),
    (_is_long, "it is too long for a query"),
    (_has_controls, "it holds control or hidden characters"),
    (_has_markup, "it looks like markup, a list or code"),
    (_has_label, "it begins with a label or a role"),
    (_has_sentences, "it has more sentences than the query"),
    (_is_prose, "it reads as a reply, not as a query"),
    (_is_foreign, "it is not in English"),
)
