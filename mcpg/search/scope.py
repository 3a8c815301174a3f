"""Filters: the tools that a search may offer, by source, category, and whether they only read.

A filter applies before ranking: a tool that it leaves out is not a candidate, related tool, next
step or prerequisite. The meaning of a query, such as the rarity of its words and corrections of
spelling, still depends on the whole catalog.

Names match in any case. Of several sources, or several categories, one is enough; a tool must pass
every kind of condition that is set.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import log
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.errors import Code, Diagnostic, warning
from mcpg.index import Index
from mcpg.index.layout import ABSENT, READS, WRITES, StaleIndexError
from mcpg.search.results import SearchRequest
from mcpg.text import join_words, split_words, stem
from mcpg.text.spelling import suggest
from mcpg.values import DECIMALS, join_choices

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool


Nearness: TypeAlias = tuple[float, float, float]
"""The features `contextEdge`, `contextWalk` and `contextSource` of a tool, each in [0, 1]."""

MOST_TOOLS = 64
"""The most context tools of a request over MCP, and the most unknown names that are reported."""

# A similar tool is weaker evidence of the next call than a next step.
_RELATED_CREDIT = 0.5
_RETURN = 0.2
_LEAST_LEFT = 1e-3
_MOST_PUSHES = 2_000
_MOST_ADDED = 10
_LONGEST_TOOL_SHOWN = 100
# Unknown names are compared with the ids that share their rarest words.
_MOST_SHARING = 48
_MOST_HOLDERS = 256
_MOST_CLOSE = 16


class ContextGraph:
    """How near the tools of an index are to those in use."""

    def __init__(self, tools: Sequence[int], index: Index) -> None:
        self.tools = tools
        self._in_use = frozenset(tools)
        self._index = index
        self._adjacent: dict[int, dict[int, float]] = {}
        # By the strongest edge that joins each tool to one in use.
        self._edges: dict[int, float] = {}
        for tool in tools:
            for _, other, kind, weight in (*index.edges(tool), *index.edges_to(tool)):
                credited = weight * (_RELATED_CREDIT if kind == "related" else 1.0)
                if credited > self._edges.get(other, 0.0) and other not in self._in_use:
                    self._edges[other] = credited
        self._walked = self._walk()
        # The smaller a source in use, the more it counts.
        size, sources = index.population, sorted(set(index.find_source_numbers(tools)))
        counts = zip(sources, index.count_tools(sources), strict=True)
        self._sources = {
            source: log((size + 1) / (count + 1)) / log(size + 1) for source, count in counts
        }

    def nearness(self, tools: Sequence[int]) -> list[Nearness]:
        """Return how near each of *tools* is; a tool that is in use itself is not."""
        return [
            (0.0, 0.0, 0.0)
            if tool in self._in_use
            else (
                self._edges.get(tool, 0.0),
                self._walked.get(tool, 0.0),
                self._sources.get(source, 0.0),
            )
            for tool, source in zip(tools, self._index.find_source_numbers(tools), strict=True)
        ]

    def neighbours(self) -> list[int]:
        """Return the tools that an edge joins to one in use, the strongest edges first."""
        ordered = sorted((-weight, tool) for tool, weight in self._edges.items())
        return [tool for _, tool in ordered[:_MOST_ADDED]]

    def _walk(self) -> dict[int, float]:
        """Return where a walk from the tools in use is, as shares of the greatest."""
        left = dict.fromkeys(self.tools, 1 / max(1, len(self.tools)))
        stayed: dict[int, float] = {}
        queue = deque(self.tools)
        for _ in range(_MOST_PUSHES):
            if not queue:
                break
            tool = queue.popleft()
            passed = left.pop(tool, 0.0)
            stayed[tool] = stayed.get(tool, 0.0) + _RETURN * passed
            around = self._around(tool)
            mass, degree = (1 - _RETURN) * passed, sum(around.values()) or 1.0
            for other, weight in around.items():
                before = left.get(other, 0.0)
                left[other] = before + mass * weight / degree
                # Tools with enough of it are queued.
                least = _LEAST_LEFT * max(1, len(self._around(other)))
                if before < least <= left[other]:
                    queue.append(other)
        near = {
            tool: share / (sum(self._around(tool).values()) or 1.0)
            for tool, share in stayed.items()
            if tool not in self._in_use
        }
        greatest = max(near.values(), default=0.0)
        return {tool: round(share / greatest, DECIMALS) for tool, share in near.items()}

    def _around(self, tool: int) -> dict[int, float]:
        """Return the tools that an edge joins to *tool*, with the greatest weight of any."""
        known = self._adjacent.get(tool)
        if known is None:
            known = self._adjacent[tool] = {}
            for _, other, _, weight in (*self._index.edges(tool), *self._index.edges_to(tool)):
                if other != tool and weight > known.get(other, 0.0):
                    known[other] = weight
        return known


def context_numbers(names: Iterable[str], index: Index) -> tuple[dict[int, str], list[str]]:
    """Return the tools called *names*, ids or `source::name`, and the names of no tool.

    The tools are by their numbers, with their ids, in order.
    """
    found: dict[int, str] = {}
    unknown = []
    for name in dict.fromkeys(names):
        number = index.find_tool(name)
        source, _, tool_name = name.partition("::")
        if number == ABSENT and tool_name:
            named = (
                one
                for one in index.exact(join_words(tool_name))
                if (index.source_id(one), index.tool_name(one)) == (source, tool_name)
            )
            number = next(named, ABSENT)
        if number == ABSENT:
            unknown.append(name)
        else:
            found[number] = index.tool_id(number)
    return dict(sorted(found.items())), unknown


def unknown_tools(names: Sequence[str], index: Index) -> tuple[Diagnostic, ...]:
    """Return a warning for each of *names*, which no tool has, with the ids close to it."""
    reported = names[:MOST_TOOLS]
    found = []
    for name in reported:
        shown = name[:_LONGEST_TOOL_SHOWN]
        close = suggest(shown, map(index.tool_id, _find_sharing_words(shown, index)), 3)
        hint = f"; close: {', '.join(close)}" if close else ""
        message = f"no tool is called {shown!r}{hint}: it is not used as context"
        found.append(warning(Code.CONTEXT_TOOL_UNKNOWN, message))
    if len(names) > len(reported):
        more = f"no tool is called by {len(names) - len(reported):,} further names"
        found.append(warning(Code.CONTEXT_TOOL_UNKNOWN, f"{more}: they are not used as context"))
    return tuple(found)


def _find_sharing_words(name: str, index: Index) -> list[int]:
    """Return the few tools whose names share the rarest words with *name*."""
    terms: set[int] = set()
    for word in split_words(name):
        term = index.find_stem(stem(word))
        # If no tool has the word, those that are spelt like it.
        alike = index.nearest(word)[1] if term == ABSENT else ()
        terms.update(index.term_of_word(index.find_word(other)) for other in alike)
        if term != ABSENT:
            terms.add(term)
    rarest = sorted((index.document_frequency(term), term) for term in terms)
    shared = dict.fromkeys(index.exact(join_words(name)), 1.0)
    for holders, term in rarest:
        if len(shared) >= _MOST_SHARING:
            break
        for tool in islice(index.find_holders(term, "name"), _MOST_HOLDERS):
            shared[tool] = shared.get(tool, 0.0) + 1 / holders
    return heapq.nsmallest(_MOST_CLOSE, shared, key=lambda tool: (-shared[tool], tool))


_MOST_NOTED = 16
_MOST_NAMED = 5
_LONGEST_SHOWN = 80


class FilterResult(NamedTuple):
    """What the filter of a request leaves of an index, by numbers of tools.

    Attributes:
        passing: The tools that pass, disabled ones too.
        allowed: Those that the search may offer.
        diagnostics: Names of no source or category, and why nothing is left.
    """

    passing: frozenset[int]
    allowed: frozenset[int]
    excluded: frozenset[int]
    diagnostics: tuple[Diagnostic, ...]


def apply_filter(index: Index, request: SearchRequest, disabled: frozenset[int]) -> FilterResult:
    """Apply the filter of *request*; *disabled* tools are those that it leaves out in any case."""
    conditions = []
    if request.sources:
        wanted = frozenset(_numbers(request.sources, index.source_ids))
        sources = index.find_source_numbers(range(len(index))) if wanted else ()
        conditions.append(frozenset([n for n, source in enumerate(sources) if source in wanted]))
    if request.categories:
        conditions.append(_find_in_categories(index, request.categories))
    if request.read_only:
        flags = index.read_only_flags()
        conditions.append(frozenset([tool for tool, flag in enumerate(flags) if flag == READS]))
    passing = frozenset(range(len(index))).intersection(*conditions)
    allowed = passing - disabled if disabled else passing
    excluded = frozenset(range(len(index))) - allowed
    unknown = [
        *describe_unknown("source", request.sources, index.source_ids, index.categories),
        *describe_unknown("category", request.categories, index.categories, index.source_ids),
    ]
    if not unknown and allowed:
        return FilterResult(passing, allowed, excluded, ())
    lacks_hints = request.read_only and READS not in index.read_only_flags()
    warnings = _warn_of_filter(unknown, passing, allowed, lacks_hints=lacks_hints)
    return FilterResult(passing, allowed, excluded, tuple(warnings))


def find_unmet(tool: int, index: Index, request: SearchRequest) -> Iterator[str]:
    """Yield the conditions of the filter of *request* that a tool does not meet, in words."""
    source = index.source_id(tool)
    if request.sources and source.casefold() not in _fold_names(request.sources):
        yield f"its source is {_quote_name(source)}, not {_either(request.sources)}"
    if request.categories and tool not in _find_in_categories(index, request.categories):
        yield f"it is not in the category {_either(request.categories)}"
    if request.read_only and index.read_only_flags()[tool] != READS:
        writes = index.read_only_flags()[tool] == WRITES
        yield "it does not only read" if writes else "it has no hint that it only reads"


def filter_index(
    index: Index,
    *,
    sources: Sequence[str] = (),
    categories: Sequence[str] = (),
    read_only: bool = False,
) -> tuple[list[int], tuple[Diagnostic, ...]]:
    """Return those tools of *index* that pass a filter, in order, with its diagnostics."""
    request = SearchRequest(
        sources=tuple(sources), categories=tuple(categories), read_only=read_only
    )
    found = apply_filter(index, request, frozenset())
    return sorted(found.passing), found.diagnostics


def filter_tools(
    tools: Sequence[Tool],
    *,
    sources: Sequence[str] = (),
    categories: Sequence[str] = (),
    read_only: bool = False,
) -> tuple[tuple[Tool, ...], tuple[Diagnostic, ...]]:
    """Return the *tools* that pass a filter, as in a search, with its diagnostics."""
    wanted, among = _fold_names(sources), _fold_names(categories)
    passing = tuple(
        tool
        for tool in tools
        if (not wanted or tool.source_id.casefold() in wanted)
        and not (among and among.isdisjoint(_fold_names(tool.hints.categories)))
        and (not read_only or tool.hints.read_only)
    )
    known = sorted({tool.source_id for tool in tools})
    named = sorted({name for tool in tools for name in tool.hints.categories})
    unknown = [
        *describe_unknown("source", sources, known, named),
        *describe_unknown("category", categories, named, known),
    ]
    reads = any(tool.hints.read_only for tool in tools)
    warnings = _warn_of_filter(unknown, passing, passing, lacks_hints=read_only and not reads)
    return passing, tuple(warnings)


def _find_in_categories(index: Index, names: Iterable[str]) -> frozenset[int]:
    numbers = _numbers(names, index.categories)
    found = frozenset[int]().union(*(index.rows("categories.tools")[one] for one in numbers))
    if found and max(found) >= len(index):
        raise StaleIndexError("a category has a tool that is not there")
    return found


def _numbers(names: Iterable[str], known: Iterable[str]) -> list[int]:
    wanted = _fold_names(names)
    return [number for number, text in enumerate(known) if text.casefold() in wanted]


def _fold_names(names: Iterable[str]) -> frozenset[str]:
    return frozenset([name.casefold() for name in names])


def _warn_of_filter(
    unknown: Sequence[str],
    passing: Collection[object],
    allowed: Collection[object],
    *,
    lacks_hints: bool,
) -> Iterator[Diagnostic]:
    """Yield a warning for each *unknown* name, or else a warning why nothing is left.

    *passing* tools pass the filter, disabled ones too, *allowed* ones may be offered; it
    *lacks_hints* if read-only tools are wanted, and no tool has the hint.
    """
    for message in unknown[:_MOST_NOTED]:
        yield warning(Code.FILTER_UNKNOWN, message)
    if unknown or allowed:
        return
    reason = "the tools that pass it are disabled by default" if passing else "no tool passes it"
    if lacks_hints:
        reason = "no tool of the catalog is marked as read-only"
    yield warning(Code.FILTER_EMPTY, f"the filter leaves no tool: {reason}")


def describe_unknown(
    kind: str, names: Sequence[str], known: Iterable[str], others: Iterable[str]
) -> Iterator[str]:
    """Yield a message for each of *names* that none of the *known* has; *others* are close kin."""
    if not names:
        return
    texts = {text.casefold(): text for text in known}
    missing = [name for name in names if name.casefold() not in texts]
    if not missing:
        return
    other_kind = "category" if kind == "source" else "source"
    elsewhere = _fold_names(others)
    for name in missing[:_MOST_NOTED]:
        message = f"no {kind} is called {_quote_name(name)}"
        close = suggest(name, texts.values(), 3)
        if name.casefold() in elsewhere:
            message += f"; a {other_kind} is"
        elif close:
            message += f"; did you mean {_either(close)}?"
        elif texts:
            plural = "categories" if kind == "category" else "sources"
            message += f"; the {plural} are "
            message += ", ".join(map(_quote_name, islice(texts.values(), _MOST_NAMED)))
            more = len(texts) - _MOST_NAMED
            message += f" and {more:,} more" if more > 0 else ""
        yield message


def _either(names: Sequence[str]) -> str:
    return join_choices(map(_quote_name, names[:_MOST_NAMED]))


def _quote_name(name: str) -> str:
    return repr(name[:_LONGEST_SHOWN])
