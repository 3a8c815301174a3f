"""Answer questions about the catalog by its facts: hints, operations, sources and categories.

The hints `readOnlyHint` and `destructiveHint` decide on the operations of a tool, or else the
verbs of its name and description.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from mcpg.ask.catalog_questions import (
    ALL,
    CHANGING,
    DESTRUCTIVE,
    DISABLED,
    ENABLED,
    READING,
    WRITING,
    CatalogQuestion,
    Kinds,
    find_kinds,
)
from mcpg.ask.model import Answer, Listing
from mcpg.ask.tools import ToolAnswers
from mcpg.errors import Code, Diagnostic, warning
from mcpg.index import Index
from mcpg.index.layout import READS, WRITES
from mcpg.search.results import MAX_LIMIT, Match, SearchRequest
from mcpg.search.scope import apply_filter, describe_unknown
from mcpg.text import fold, get_stop_words, lexicon, split_words, stem
from mcpg.values import format_count, join_choices

Search = Callable[[str, int], Sequence[Match]]
"""Searches: the best tools for a text."""

_DOES = 0.5
"""The share of its kinds from which a tool does something."""

_LEAST_OF_BEST, _LEAST_SCORE = 0.25, 0.01
_MOST_NAMED = 3
_GROUPS = {Listing.SOURCES: ("source", "sources"), Listing.CATEGORIES: ("category", "categories")}

_Fact = tuple[float, tuple[str, ...]]
"""How surely a tool meets the conditions, in [0, 1], and why."""


class CatalogAnswers(NamedTuple):
    """The answers to a question about the catalog, a sentence that counts them, and notes."""

    answers: list[Answer]
    summary: str
    diagnostics: tuple[Diagnostic, ...] = ()


def answer_catalog_question(
    question: CatalogQuestion, tools: ToolAnswers, allowed: Collection[int], search: Search
) -> CatalogAnswers:
    """Answer *question* by the facts of the *allowed* tools; *search* finds tools for words."""
    return _Facts(question, tools, allowed).answer(search)


class _Facts:
    """The facts about the tools that a question may be about."""

    def __init__(
        self, question: CatalogQuestion, tools: ToolAnswers, allowed: Collection[int]
    ) -> None:
        self._question, self._tools, self._index = question, tools, tools.index
        self._disabled = frozenset(tools.index.iter_disabled_tools())
        is_of_disabled = question.state == DISABLED and not question.is_denied
        left_out = _NONE if is_of_disabled else tools.disabled
        self._all = [tool for tool in sorted(allowed) if tool not in left_out]
        self._left_out = [tool for tool in sorted(allowed) if tool in left_out]
        self._flags = tools.index.read_only_flags()

    def answer(self, search: Search) -> CatalogAnswers:
        found = self._select(search)
        if not found and self._question.kinds == CHANGING:
            # To change something may be to create or to delete.
            self._question = self._question._replace(kinds=WRITING, verb="")
            found = self._select(search)
        if self._question.listed == Listing.TOOLS:
            answers = [self._tools.answer(tool, "tool", *fact) for tool, fact in found.items()]
            if not self._question.about:
                answers.sort(key=lambda one: -one.score)
            counted, total = format_count(len(self._all), "tool"), len(self._all)
        else:
            groups = self._group(self._all)
            answers = self._list_groups(groups, self._group(found))
            nouns = _GROUPS[self._question.listed]
            counted, total = format_count(len(groups), *nouns), len(groups)
        summary = counted if len(answers) == total else f"{len(answers)} of {counted}"
        summary = " ".join((summary, *self._describe_conditions()))
        hidden = len(self._meet(self._left_out)) if not self._question.about else 0
        if hidden:
            disabled = format_count(hidden, "disabled tool is", "disabled tools are")
            summary = f"{summary}; {disabled} left out"
        return CatalogAnswers(answers, summary, tuple(self._describe_unknown()))

    def _select(self, search: Search) -> dict[int, _Fact]:
        """Return the tools that meet the conditions, and are about the words."""
        question, found = self._question, self._meet(self._all)
        if not question.about:
            return found
        scope = () if question.is_outside else (*question.sources, *question.categories)
        words = (question.verb, *question.about, *scope)
        matches = search(" ".join(dict.fromkeys(words)), MAX_LIMIT)
        return dict(_keep_matches(matches, found, question.about, self._index))

    def _meet(self, tools: Sequence[int]) -> dict[int, _Fact]:
        """Return the *tools* that meet the conditions, with how surely, and why."""
        question = self._question
        if question.unknown and not (question.sources or question.categories):
            return {}
        request = SearchRequest(sources=question.sources, categories=question.categories)
        passing = apply_filter(self._index, request, _NONE).passing
        kept = (tool for tool in tools if (tool in passing) != question.is_outside)
        facts = ((tool, self._judge(tool)) for tool in kept)
        return {tool: fact for tool, fact in facts if fact is not None}

    def _judge(self, tool: int) -> _Fact | None:
        """Return how surely a *tool* meets the conditions, and why; `None` if it does not."""
        question = self._question
        score, reasons = 1.0, list[str]()
        if question.state in {DISABLED, ENABLED}:
            is_met = (tool in self._disabled) == (question.state == DISABLED)
            if is_met == question.is_denied:
                return None
            reasons.append("is disabled" if tool in self._disabled else "is enabled")
        elif question.state == DESTRUCTIVE:
            states = self._index.record(tool).tool.hints.destructive
            if states is None:
                deletes, why = self._weigh_kinds(tool, _DELETING)
                states, score = deletes >= _DOES, max(deletes, 1 - deletes)
                reasons += ["no destructiveHint", why]
            else:
                reasons.append(f"destructiveHint: {str(states).lower()}")
            if states == question.is_denied:
                return None
        kinds = question.kinds - question.denied
        if question.denied and not question.kinds:
            # Tools that do not change anything do not create or delete either.
            kinds = READING if question.denied & CHANGING else ALL - question.denied
        if kinds:
            share, why = self._weigh_kinds(tool, kinds)
            if share < _DOES:
                return None
            score, reasons = min(score, share), [*reasons, why]
        reasons = [*filter(None, reasons)] or [f"is of source {self._index.source_id(tool)!r}"]
        return score, tuple(reasons)

    def _weigh_kinds(self, tool: int, kinds: Kinds) -> tuple[float, str]:
        """Return how surely a *tool* does operations of *kinds*, and why."""
        flag = self._flags[tool]
        hint = "" if flag not in {READS, WRITES} else f"readOnlyHint: {str(flag == READS).lower()}"
        if hint and kinds in {READING, WRITING}:
            return float((flag == READS) == (kinds == READING)), hint
        done = self._index.operations([tool])[0]
        # A hint rules out the operations of the other side.
        likely = (READING if flag == READS else WRITING) if hint else ALL
        share = sum(done[one] for one in kinds & likely) / max(1, sum(done[one] for one in likely))
        words = split_words(self._index.tool_name(tool)), split_words(self._index.summary(tool))[:1]
        for told, where in zip(words, ("its name", "its description"), strict=True):
            for word in told:
                meant = find_kinds(stem(word))
                if word not in _STOP_WORDS and meant & kinds:
                    # A name with a clear verb outweighs all other words of a tool.
                    is_clear = where == "its name" and meant <= kinds and share > 0
                    return max(share, _DOES if is_clear else 0.0), f"{where} has {word!r}"
        return share, hint

    def _group(self, tools: Iterable[int]) -> dict[str, list[int]]:
        """Return *tools* by the listed things: their sources, or their categories."""
        index, found = self._index, dict[str, list[int]]()
        if self._question.listed == Listing.SOURCES:
            for tool in tools:
                found.setdefault(index.source_id(tool), []).append(tool)
            return found
        among = frozenset(tools)
        for number, name in enumerate(index.categories):
            members = [tool for tool in index.rows("categories.tools")[number] if tool in among]
            found |= {name: members} if members else {}
        return found

    def _list_groups(
        self, whole: Mapping[str, Sequence[int]], found: Mapping[str, Sequence[int]]
    ) -> list[Answer]:
        """Return the groups with tools that were *found*, those with most of them first."""
        question = self._question
        kinds, denied = question.kinds, question.denied
        is_whole = question.is_only or question.is_denied or bool(denied and not kinds)
        has_condition = bool(kinds or denied or question.state or question.about)
        barred = self._group(
            tool
            for tool in chain.from_iterable(whole.values())
            if denied and kinds and self._weigh_kinds(tool, denied)[0] >= _DOES
        )
        kind, answers = _GROUPS[question.listed][0], []
        for name in sorted(found, key=lambda one: (-len(found[one]), one)):
            tools, size = found[name], format_count(len(whole[name]), "tool")
            if name in barred or (is_whole and len(tools) < len(whole[name])):
                continue
            shown = ", ".join(map(self._index.tool_name, tools[:_MOST_NAMED]))
            more = ", ..." if len(tools) > _MOST_NAMED else ""
            share = f"{len(tools)} of {size}" if has_condition else size
            answers.append(Answer("", "", 1.0, kind, name, kind, docs=f"{share}: {shown}{more}"))
        return answers

    def _describe_conditions(self) -> Iterator[str]:
        """Yield the conditions, in words."""
        question = self._question
        if question.state:
            yield f"that are {'not ' if question.is_denied else ''}{question.state}"
        for how, kinds in (("", question.kinds), ("do not ", question.denied)):
            if kinds:
                names = (lexicon.OPERATION_KINDS[one].split()[0] for one in sorted(kinds))
                only = "only " if question.is_only and not how else ""
                that = "and" if how and question.kinds else "that"
                yield f"{that} {how}{only}{join_choices(dict.fromkeys(names))}"
        for what, named in (("source", question.sources), ("category", question.categories)):
            if named:
                not_ = "not " if question.is_outside else ""
                yield f"{not_}of {what} {join_choices(map(repr, named))}"
        if question.about:
            yield f"about {' '.join(question.about)!r}"

    def _describe_unknown(self) -> Iterator[Diagnostic]:
        sources, categories = self._index.source_ids, self._index.categories
        for name, listed in self._question.unknown:
            known, others = sources, categories
            if listed == Listing.CATEGORIES:
                known, others = others, known
            for message in describe_unknown(_GROUPS[listed][0], [name], known, others):
                yield warning(Code.FILTER_UNKNOWN, message)


_NONE = frozenset[int]()
_STOP_WORDS = get_stop_words("english")
_DELETING = Kinds((lexicon.OPERATION_KINDS.index("delete"),))


def _keep_matches(
    matches: Iterable[Match],
    found: Mapping[int, _Fact],
    about: Sequence[str],
    index: Index,
) -> Iterator[tuple[int, _Fact]]:
    """Yield those *found* that match most of the words *about* something, the best first."""
    wanted = frozenset(stem(fold(word)) for word in about)
    rows = []
    for match in matches:
        tool = index.find_tool(match.tool_id)
        matched = wanted.intersection(map(stem, match.evidence.terms))
        if tool in found and matched:
            rows.append((len(matched), tool, match))
    most = max((row[0] for row in rows), default=0)
    best = max((row[2].score for row in rows), default=0.0)
    for count, tool, match in rows:
        if count == most and match.score >= max(_LEAST_SCORE, _LEAST_OF_BEST * best):
            score, reasons = found[tool]
            words = ", ".join(match.evidence.terms)
            yield tool, (min(score, match.score), (*reasons, f"matches {words}"))
