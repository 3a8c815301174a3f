"""Answer questions about the catalog by its facts: hints, operations, sources and categories.

What a tool does is what it states (`readOnlyHint`, `destructiveHint`), or else what the verbs of
its name and description say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mcpg.ask.catalog_questions import (
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
from mcpg.text import fold, lexicon, split_words, stem, stop_words_of
from mcpg.values import format_count, join_choices

Search = Callable[[str, int], Sequence[Match]]
"""Searches: the best tools for a text."""

_DOES = 0.5
"""The share of its kinds from which a tool does something."""

_LEAST_OF_BEST = 0.25
_MOST_NAMED = 3


class CatalogAnswers(NamedTuple):
    """The answers to a question about the catalog, a sentence that counts them, and notes."""

    answers: list[Answer]
    summary: str
    diagnostics: tuple[Diagnostic, ...] = ()


def answer_catalog_question(
    question: CatalogQuestion, tools: ToolAnswers, allowed: Collection[int], search: Search
) -> CatalogAnswers:
    """Answer *question* by the facts of the *allowed* tools; *search* finds what is about words."""
    return _Facts(question, tools, allowed).answer(search)


class _Facts:
    """What is known of the tools that a question may be about."""

    def __init__(
        self, question: CatalogQuestion, tools: ToolAnswers, allowed: Collection[int]
    ) -> None:
        self._question, self._tools, self._index = question, tools, tools.index
        is_of_disabled = question.state == DISABLED and not question.is_denied
        left_out = frozenset() if is_of_disabled else tools.disabled
        self._all = [tool for tool in sorted(allowed) if tool not in left_out]
        self._flags = tools.index.read_only_flags()
        self._disabled = frozenset(tools.index.iter_disabled_tools())

    def answer(self, search: Search) -> CatalogAnswers:
        question, index = self._question, self._index
        found = self._select(search)
        if not found and question.kinds == _CHANGING:
            # To change something may be to create or to delete.
            self._question = question._replace(kinds=WRITING)
            found = self._select(search)
        if question.listed == Listing.TOOLS:
            answers = [self._tools.answer(tool, "tool", *fact) for tool, fact in found.items()]
            if not question.about:
                answers.sort(key=lambda one: -one.score)
            total, nouns = len(self._all), ("tool", "tools")
        elif question.listed == Listing.SOURCES:
            sizes = Counter(map(index.source_id, self._all))
            answers = self._list_groups("source", sizes, found, lambda one: [index.source_id(one)])
            total, nouns = len(sizes), ("source", "sources")
        else:
            members = index.rows("categories.tools")
            of_tool: dict[int, list[str]] = {}
            for number, name in enumerate(index.categories):
                for tool in members[number]:
                    of_tool.setdefault(tool, []).append(name)
            sizes = Counter(name for tool in self._all for name in of_tool.get(tool, ()))
            answers = self._list_groups("category", sizes, found, lambda one: of_tool.get(one, []))
            total, nouns = len(sizes), ("category", "categories")
        counted = format_count(total, *nouns)
        if len(answers) < total:
            counted = f"{len(answers)} of {counted}"
        summary = " ".join((counted, *self._describe_conditions()))
        return CatalogAnswers(answers, summary, tuple(self._describe_unknown()))

    def _select(self, search: Search) -> dict[int, tuple[float, tuple[str, ...]]]:
        """Return the tools that meet the conditions, each with a score and the reasons."""
        question, index = self._question, self._index
        request = SearchRequest(sources=question.sources, categories=question.categories)
        passing = apply_filter(index, request, _NONE).passing
        if question.unknown and not (question.sources or question.categories):
            passing = _NONE
        pool = [tool for tool in self._all if tool in passing]
        found = {tool: fact for tool in pool if (fact := self._judge(tool)) is not None}
        if not question.about:
            return found
        words = (question.verb, *question.about, *question.sources, *question.categories)
        matches = search(" ".join(dict.fromkeys(words)), MAX_LIMIT)
        return dict(_keep_matches(matches, found, question.about, index))

    def _judge(self, tool: int) -> tuple[float, tuple[str, ...]] | None:
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
                reasons.append(f"does not state destructiveHint; {why}")
            else:
                reasons.append(f"states destructiveHint: {str(states).lower()}")
            if states == question.is_denied:
                return None
        if question.kinds:
            kinds = question.kinds
            if question.is_denied and not question.state:
                kinds = READING if kinds & WRITING else WRITING
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
            return float((flag == READS) == (kinds == READING)), f"states {hint}"
        done = self._index.operations([tool])[0]
        share = sum(done[kind] for kind in kinds) / max(1, sum(done))
        if hint and (flag == READS) != bool(kinds & READING):
            share = 0.0
        words = split_words(self._index.tool_name(tool)), split_words(self._index.summary(tool))[:1]
        for told, where in zip(words, ("its name", "its description"), strict=True):
            for word in told:
                if word not in _STOP_WORDS and find_kinds(stem(word)) & kinds:
                    return share, f"{where} says {word!r}"
        return share, f"states {hint}" if hint else ""

    def _list_groups(
        self,
        kind: str,
        sizes: Mapping[str, int],
        found: Collection[int],
        groups_of: Callable[[int], Sequence[str]],
    ) -> list[Answer]:
        """Return the groups of tools that have what is asked for, those with most tools first."""
        held: dict[str, list[int]] = {}
        for tool in found:
            for group in groups_of(tool):
                held.setdefault(group, []).append(tool)
        is_whole = self._question.is_only or self._question.is_denied
        has_condition = bool(self._question.kinds or self._question.state or self._question.about)
        answers = []
        for name, tools in held.items():
            if is_whole and len(tools) < sizes[name]:
                continue
            size = format_count(sizes[name], "tool")
            shown = ", ".join(map(self._index.tool_name, tools[:_MOST_NAMED]))
            more = ", ..." if len(tools) > _MOST_NAMED else ""
            docs = (
                f"{len(tools)} of {size}: {shown}{more}"
                if has_condition
                else f"{size}: {shown}{more}"
            )
            answers.append(Answer("", "", 1.0, kind, name, kind, docs=docs))
        return sorted(answers, key=lambda one: (-len(held[one.symbol]), one.symbol))

    def _describe_conditions(self) -> Iterator[str]:
        """Yield the conditions, in words."""
        question = self._question
        if question.state:
            yield f"that are {'not ' if question.is_denied else ''}{question.state}"
        if question.kinds:
            kinds = sorted(question.kinds)
            does = join_choices(
                dict.fromkeys(lexicon.OPERATION_KINDS[one].split()[0] for one in kinds)
            )
            is_denied = question.is_denied and not question.state
            how = "do not " if is_denied else "only " if question.is_only else ""
            yield f"that {how}{does}"
        for what, named in (("source", question.sources), ("category", question.categories)):
            if named:
                yield f"of {what} {join_choices(map(repr, named))}"
        if question.about:
            yield f"about {' '.join(question.about)!r}"

    def _describe_unknown(self) -> Iterator[Diagnostic]:
        known = {
            Listing.SOURCES: self._index.source_ids,
            Listing.CATEGORIES: self._index.categories,
        }
        for name, listed in self._question.unknown:
            others = known[Listing.CATEGORIES if listed == Listing.SOURCES else Listing.SOURCES]
            kind = "source" if listed == Listing.SOURCES else "category"
            for message in describe_unknown(kind, [name], known[listed], others):
                yield warning(Code.FILTER_UNKNOWN, message)


_NONE = frozenset[int]()
_STOP_WORDS = stop_words_of("english")
_CHANGING, _DELETING = (
    Kinds((lexicon.OPERATION_KINDS.index(one),)) for one in ("change", "delete")
)


def _keep_matches(
    matches: Iterable[Match],
    found: Mapping[int, tuple[float, tuple[str, ...]]],
    about: Sequence[str],
    index: Index,
) -> Iterator[tuple[int, tuple[float, tuple[str, ...]]]]:
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
        if count == most and match.score >= _LEAST_OF_BEST * best:
            score, reasons = found[tool]
            words = ", ".join(match.evidence.terms)
            yield tool, (min(score, match.score), (*reasons, f"matches {words}"))
