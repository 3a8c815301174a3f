"""Orders of tools in descriptions, read by the grammar of clauses.

A mention is the name of a tool in the description of another. Its governor makes it an order: a
preposition (*after B*, *returned by B*), a verb such as *use* or *call* with an adverb or a heading
(*first call B*, *next steps*), a list of steps, or an arrow. A name that is negated, compared or
offered for another case (*for X use B instead*) is not an order. The words of
`data/relation_words.txt` have kinds by language; the rules only use kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from mcpg.relations.vocabulary import singular
from mcpg.text import detect_language, fold, lexicon, split_words, stem

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_TOKEN = re.compile(r"->|→|=>|[^\W\d_][\w'-]*|[.!?](?=\W|$)|[,;:()\u2013\u2014]")
_ARROWS = frozenset({"->", "→", "=>"})
_BREAKS = frozenset({*".!?;,:", "\u2013", "\u2014", *_ARROWS})
_ITEM = re.compile(r"\s*(?:[-*•]|(\d+)[.)])\s")
_HEADING = re.compile(r"\s*(?:#+\s|\*\*[^*]+\*\*:?\s*$)")
_LONGEST_HEADING = 8
# The most words between a governor and its name.
_REACH = 6
_CHINESE = "chinese"
# Bounds to the work: longer ones are cut, and further mentions are not read.
_LONGEST_SENTENCE = 120
_MOST_TEXT = 8_000
_MOST_MENTIONS = 64


class _Token(NamedTuple):
    """A word or mark.

    Attributes:
        kinds: Its kinds in `data/relation_words.txt`.
        place: The place of the tool it names, else -1.
    """

    text: str
    kinds: AbstractSet[str] = frozenset()
    place: int = -1


class _Sentence(NamedTuple):
    """A sentence and its position.

    Attributes:
        heading: The kinds of the words in the heading above it or before its colon.
        step: Its number among the numbered items of a list, 0 outside of one.
    """

    tokens: Sequence[_Token]
    heading: AbstractSet[str]
    step: int


class MentionReader:
    """Reads which tools the descriptions of one server name, and in what order.

    Attributes:
        names: The place of each tool, by its casefolded name.
    """

    def __init__(self, names: Mapping[str, int]) -> None:
        self.names = names

    def read(
        self,
        text: str,
        own: int,
        *,
        needs: AbstractSet[str] = frozenset(),
        is_argument: bool = False,
    ) -> list[tuple[int, int]]:
        """Return the pairs of tools that *text* orders, the earlier first.

        The *text* describes the tool at the place *own*, or one of its arguments (*is_argument*),
        whose value comes from the named tool. *needs* are the stems of the names of its arguments:
        a tool that provides one comes before.
        """
        language = _CHINESE if _UNSPACED.search(text) else detect_language(split_words(text))
        sentences = [*self._iter_sentences(text[:_MOST_TEXT], own, language)]
        votes: Counter[int] = Counter()
        found: list[tuple[int, int]] = []
        mentions = (
            (number, sentence, at)
            for number, sentence in enumerate(sentences)
            for at, token in enumerate(sentence.tokens)
            if token.place not in {-1, own}
        )
        for number, sentence, at in islice(mentions, _MOST_MENTIONS):
            reading = _MentionReading(sentence, at, needs, is_argument=is_argument)
            order = reading.find_order(sentences[:number], sentences[number + 1 :])
            votes[sentence.tokens[at].place] += order
        for sentence in sentences:
            found += _find_chain(sentence.tokens)
        ordered = {place: vote for place, vote in votes.items() if vote}
        found += [(own, place) if vote > 0 else (place, own) for place, vote in ordered.items()]
        return [*dict.fromkeys(pair for pair in found if pair[0] != pair[1])]

    def _iter_sentences(self, text: str, own: int, language: str | None) -> Iterator[_Sentence]:
        heading: AbstractSet[str] = frozenset()
        for line in _join_lines(text):
            item = _ITEM.match(line)
            tokens = self._cut_tokens(line[item.end() :] if item else line, own, language)
            if _HEADING.match(line):
                heading = _join_kinds(tokens)
                continue
            if not item:
                heading = frozenset()
            above = heading
            colon = next((at for at, one in enumerate(tokens) if one.text == ":"), -1)
            if 0 <= colon <= _LONGEST_HEADING and all(one.place < 0 for one in tokens[:colon]):
                above = heading | _join_kinds(tokens[:colon])
                tokens = tokens[colon + 1 :]
                heading = heading if item else above
            for part in filter(None, _cut_sentences(tokens)):
                yield _Sentence(part, above, int(item[1]) if item and item[1] else 0)

    def _cut_tokens(self, line: str, own: int, language: str | None) -> list[_Token]:
        spaced = _UNSPACED.sub(lambda run: f" {' '.join(lexicon.segment(run[0], _CHINESE))} ", line)
        found: list[_Token] = []
        for text in _TOKEN.findall(spaced):
            place = self.names.get(text.casefold().rstrip("'-"), -1)
            kinds = _find_kinds(text, language) if place < 0 else frozenset()
            found.append(_Token(text, frozenset({"self"}) if place == own else kinds, place))
        return found


class _MentionReading:
    """One mention in its sentence."""

    def __init__(
        self, sentence: _Sentence, at: int, needs: AbstractSet[str], *, is_argument: bool
    ) -> None:
        self._tokens, self._heading, self._step = sentence
        self._at, self._needs, self._is_argument = at, needs, is_argument
        self._start = self._find_clause_start()

    def find_order(self, earlier: Sequence[_Sentence], later: Sequence[_Sentence]) -> int:
        """Return -1 if the named tool comes before the described one, 1 if after it, else 0."""
        if self._has("than", self._start, self._at):  # quicker than to do it with B
            return 0
        at = self._find_governor()
        kinds = self._tokens[at].kinds if at >= 0 else frozenset[str]()
        beside = _join_kinds(self._tokens[self._at + 1 : self._at + 2])
        if not kinds or beside & {"past", "ahead"}:
            return self._judge_subject()
        if kinds & {"call", "with", "next"}:
            return self._judge_call(at, earlier, later)
        return self._judge_preposition(at, kinds)

    def _find_clause_start(self) -> int:
        for at in range(self._at - 1, 0, -1):
            text = self._tokens[at].text
            if text in _BREAKS and not (text == "," and self._tokens[at - 1].place >= 0):
                return at + 1
        return 0

    def _find_governor(self) -> int:
        """Return the place of the word that governs the name, -1 for none in its clause."""
        passed = 0
        for at in range(self._at - 1, self._start - 1, -1):
            kinds = self._tokens[at].kinds
            if kinds & _GOVERNORS:
                if "call" in kinds and not self._tokens[at - 1].kinds:  # before the end with B
                    return at
                # After calling B, antes de B.
                outer = range(at, max(self._start, at - 3) - 1, -1)
                time = {"before", "after"}
                return next((one for one in outer if self._tokens[one].kinds & time), at)
            passed += self._tokens[at].place < 0 and self._tokens[at].text not in "(,"
            if passed > _REACH:
                break
        return -1

    def _has(self, kind: str, start: int = 0, end: int | None = None) -> bool:
        return any(kind in token.kinds for token in self._tokens[start:end])

    def _is_ruled_out(self) -> bool:
        """Return whether the heading is one such as *do not use for*."""
        return self._heading >= {"negation", "call"}

    def _is_negated(self) -> bool:
        return self._is_ruled_out() or self._has("negation", self._start, self._at)

    def _judge_preposition(self, at: int, kinds: AbstractSet[str]) -> int:
        """Judge a name after a preposition or the like."""
        near = _join_kinds(self._tokens[max(self._start, at - 2) : at])
        if (kinds | near) & {"contrast", "compare"}:  # unlike B, similar to B
            return 0
        if "before" in kinds:
            return -1 if self._is_negated() else 1
        if self._is_negated():
            return -1 if self._is_ruled_out() and self._has("before", 0, at) else 0
        is_given = "given" in near and bool(kinds & {"of", "target"})  # the result of B
        is_used = "agent" in kinds and "call" in near  # values used by B
        is_first = is_given or (kinds & {"after", "source", "first", "need"} and not is_used)
        # As in B, to B instead.
        is_other = "as" in near or self._has("contrast")
        return -1 if is_first else int(not is_other)

    def _judge_subject(self) -> int:
        """Judge a name without a governor: *B returns* means that B is called before."""
        if self._has("contrast", self._start, self._at + 3) or self._is_negated():
            return 0
        further = [one for one in self._tokens[self._at + 1 :] if one.text not in "()"]
        following = _join_kinds(further[:2])
        if following & {"given", "past"}:
            return -1
        if following & {"need", "ahead"}:  # B requires what this one returns
            return 1
        if self._has("if", self._start, self._at) and self._has("self", self._at):
            return -1
        return self._judge_heading() or -int(self._is_argument)

    def _judge_heading(self) -> int:
        if self._heading & {"first", "need", "before"}:
            return -1
        return int(bool(self._heading & {"next", "after"}))

    def _judge_call(self, at: int, earlier: Sequence[_Sentence], later: Sequence[_Sentence]) -> int:
        """Judge a name that one is to call, or to do something with."""
        if self._is_negated():
            # Not without calling B, not before calling B.
            clause = self._tokens[self._start : self._at]
            doubly = sum("negation" in token.kinds for token in clause) > 1
            return -int(doubly or (self._is_ruled_out() and self._has("before")))
        near = self._tokens[max(self._start, at - 2) : at]
        if "compare" in _join_kinds(near):
            return 0  # the same as calling B
        if near and "pronoun" in near[-1].kinds and "if" in near[0].kinds:
            return 0  # even if you called B
        if self._tokens[at - 1].kinds & {"source", "given"} and at > self._start:
            return -1  # obtained by calling B, found with B
        is_other = self._has("contrast") or "contrast" in self._heading
        if is_other or (self._has("fail") and self._has("if")):
            return -int(self._has("first", self._start, self._at + 3))
        return (
            self._judge_clauses()
            or self._judge_adverbs(earlier)
            or self._judge_steps(earlier, later)
            or self._judge_heading()
            or self._judge_purpose(at, earlier[-1] if earlier else None)
        )

    def _judge_clauses(self) -> int:
        """Judge by a clause of time or of a condition beside the name."""
        start, at = self._start, self._at
        if self._has("pronoun", start, at):  # afterwards you can work on it with B
            start = at
        if "before" in self._tokens[start].kinds:  # before it was worked on with B
            return 1
        if self._has("before") or self._has("after", start, at):
            return -1
        if self._has("after", 0, start) or self._has("after", at):
            return -1 if self._has("first", start) else 1
        return -int(self._has("if", 0, start) and self._has("lacking", 0, start))

    def _judge_adverbs(self, earlier: Sequence[_Sentence]) -> int:
        """Judge by words such as *first* and *then*, and by where the described tool is named."""
        start, at = self._start, self._at
        is_next = self._has("next", start, at)
        if self._has("self", 0, at) and (is_next or self._has("first", 0, at)):
            return 1
        if self._has("first", start):
            return -1
        if is_next:
            others = [*self._tokens[:start]]
            if self._step and earlier and earlier[-1].step:
                others += earlier[-1].tokens
            is_led = any(one.place >= 0 and "self" not in one.kinds for one in others)
            return -1 if is_led or self._has("self", at) else 1
        return -int(self._has("self", at) and self._has("next", at))

    def _judge_steps(self, earlier: Sequence[_Sentence], later: Sequence[_Sentence]) -> int:
        """Judge a step of a list by where the list names the tool that is described."""
        if not self._step:
            return 0
        for sentences, order in ((earlier[::-1], 1), (later, -1)):
            for sentence in sentences:
                if not sentence.step:
                    break
                if any("self" in token.kinds for token in sentence.tokens):
                    return order
        return 0

    def _judge_purpose(self, at: int, before: _Sentence | None) -> int:
        """Judge by the purpose of the call: to find the value of an argument, or to continue."""
        first = self._tokens[0].kinds
        rest = [one for one in self._tokens[self._at + 1 :] if one.text not in "()"]
        # Not for images: use B. For larger files, use B. Use B when it is so.
        is_ruled_out = before is not None and _join_kinds(before.tokens) >= _RULED_OUT
        is_ruled_out |= self._has("negation", 0, self._start)
        is_case = "case" in first and self._start > 0
        if is_ruled_out or is_case or (rest and rest[0].kinds & {"case", "if"}):
            return 0
        if self._is_argument:
            return -1
        if "with" in self._tokens[at].kinds:  # with B, which returns it
            return -1 if _join_kinds(rest[:5]) >= {"relative", "given"} else 1
        aim = [*takewhile(lambda one: not one.kinds & _ADDING, rest[1:])] if rest else []
        words = {word for one in aim if one.place < 0 for word in split_words(fold(one.text))}
        is_needed = not self._needs.isdisjoint(singular(stem(word)) for word in words)
        return -1 if is_needed or "lacking" in _join_kinds(aim) else 1


_RULED_OUT = frozenset({"negation", "call", "self"})
_ADDING = frozenset({"target", "source", "with", "case"})
_GOVERNORS = frozenset(
    {"before", "after", "first", "need", "next", "contrast", "compare", "negation"}
    | {"source", "target", "with", "of", "call"}
)


def _join_kinds(tokens: Sequence[_Token]) -> AbstractSet[str]:
    return frozenset[str]().union(*(one.kinds for one in tokens))


def _join_lines(text: str) -> Iterator[str]:
    """Join lines that a text was wrapped into: not items, nor what follows a full stop or colon."""
    whole = ""
    for line in text.splitlines():
        is_new = not line.strip() or _ITEM.match(line) or _HEADING.match(line)
        if whole and (is_new or whole.endswith((".", "!", "?", ":")) or _HEADING.match(whole)):
            yield whole
            whole = ""
        whole = f"{whole} {line.strip()}" if whole else line.rstrip()
    yield whole


def _cut_sentences(tokens: Sequence[_Token]) -> Iterator[Sequence[_Token]]:
    start = 0
    for at, token in enumerate(tokens):
        if token.text in {".", "!", "?"} or at - start == _LONGEST_SENTENCE:
            yield tokens[start:at]
            start = at + 1
    yield tokens[start:]


def _find_chain(tokens: Sequence[_Token]) -> list[tuple[int, int]]:
    """Return the pairs of names with only an arrow between them."""
    named = [one for one in tokens if one.place >= 0 or one.text not in "()"]
    return [
        (one.place, other.place)
        for one, arrow, other in zip(named, named[1:], named[2:], strict=False)
        if arrow.text in _ARROWS and one.place >= 0 and other.place >= 0
    ]


@cache
def _read_kinds() -> Mapping[str, Mapping[str, AbstractSet[str]]]:
    """Return for each language the kinds of each word; English ones by their stems."""
    lines = (Path(__file__).parent / "data" / "relation_words.txt").read_text("utf-8").splitlines()
    found: dict[str, dict[str, frozenset[str]]] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        kind, language, *words = line.split()
        kinds = found.setdefault(language, {})
        for word in words:
            key = stem(word) if language == lexicon.ENGLISH else word
            kinds[key] = kinds.get(key, frozenset()) | {kind}
    return found


def _find_kinds(text: str, language: str | None) -> AbstractSet[str]:
    known = _read_kinds()
    if language is None or language not in known:
        language = lexicon.ENGLISH
    word, _, ending = fold(text).partition("'")
    if ending == "t":  # cannot, in short
        return frozenset({"negation"})
    return known[language].get(stem(word) if language == lexicon.ENGLISH else word, frozenset())
