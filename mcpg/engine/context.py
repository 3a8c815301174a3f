"""Context tools: what the graph says of other tools once some are in use.

Who has used a tool most often goes on with one that an edge joins to it, or with another of the
same server. Beyond the direct edges, a random walk that keeps coming back to the tools in use finds
which tools lie near them, and between them (personalised PageRank).

The walk is computed by local pushes: what is too little to matter is not passed on, so the work
does not grow with the catalogue. What it leaves at a tool is divided by the weight of the tool's
edges, or tools that many others lead to would be near to everything.

Source: Andersen, Chung & Lang, "Local graph partitioning using PageRank vectors", FOCS 2006.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import log
from typing import TypeAlias

from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.layout import ABSENT
from mcpg.text import joined, split_words, stem
from mcpg.values import DECIMALS

Nearness: TypeAlias = tuple[float, float, float]
"""The features `contextEdge`, `contextWalk` and `contextSource` of a tool, each in [0, 1]."""

MOST_TOOLS = 64
"""The most context tools of a request over MCP, and the most unknown ones that are reported."""

# To do a similar job says less of what comes next than to come next.
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
    """How near the tools of an index are to those in use.

    Attributes:
        tools: Numbers of the tools in use.
    """

    def __init__(self, tools: Sequence[int], index: Index) -> None:
        self.tools = tools
        self._in_use = frozenset(tools)
        self._index = index
        self._adjacent: dict[int, dict[int, float]] = {}
        self._edges = self._direct()
        self._walked = self._walk()
        self._sources = self._rarities()

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

    def _direct(self) -> dict[int, float]:
        strongest: dict[int, float] = {}
        for tool in self.tools:
            for _, other, kind, weight in (*self._index.edges(tool), *self._index.edges_to(tool)):
                credited = weight * (_RELATED_CREDIT if kind == "related" else 1.0)
                if credited > strongest.get(other, 0.0) and other not in self._in_use:
                    strongest[other] = credited
        return strongest

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
            self._push(tool, (1 - _RETURN) * passed, left, queue)
        near = {
            tool: share / self._degree(tool)
            for tool, share in stayed.items()
            if tool not in self._in_use
        }
        greatest = max(near.values(), default=0.0)
        return {tool: round(share / greatest, DECIMALS) for tool, share in near.items()}

    def _push(self, tool: int, mass: float, left: dict[int, float], queue: deque[int]) -> None:
        """Pass the *mass* of *tool* on along its edges; what has enough of it is queued."""
        degree = self._degree(tool)
        for other, weight in self._around(tool).items():
            before = left.get(other, 0.0)
            left[other] = before + mass * weight / degree
            least = _LEAST_LEFT * max(1, len(self._around(other)))
            if before < least <= left[other]:
                queue.append(other)

    def _degree(self, tool: int) -> float:
        return sum(self._around(tool).values()) or 1.0

    def _around(self, tool: int) -> dict[int, float]:
        """Return the tools that an edge joins to *tool*, with the greatest weight of any."""
        known = self._adjacent.get(tool)
        if known is None:
            known = self._adjacent[tool] = {}
            for _, other, _, weight in (*self._index.edges(tool), *self._index.edges_to(tool)):
                if other != tool and weight > known.get(other, 0.0):
                    known[other] = weight
        return known

    def _rarities(self) -> dict[int, float]:
        """Return how much it says of a tool that it is of one of the sources in use.

        It is the rarity of the source: where all tools are of one source, that says nothing.
        """
        size = len(self._index)
        everything = self._index.find_source_numbers(range(size))
        sources = sorted(set(self._index.find_source_numbers(self.tools)))
        return {
            source: log((size + 1) / (everything.count(source) + 1)) / log(size + 1)
            for source in sources
        }


def context_numbers(names: Iterable[str], index: Index) -> tuple[dict[int, str], list[str]]:
    """Return the tools called *names*, ids or `source::name`, and the names of no tool.

    The tools are by their numbers, with their ids, in order.
    """
    found: dict[int, str] = {}
    unknown = []
    for name in dict.fromkeys(names):
        number = index.find_tool(name)
        if number == ABSENT:
            number = _by_source(name, index)
        if number == ABSENT:
            unknown.append(name)
        else:
            found[number] = index.tool_id(number)
    return dict(sorted(found.items())), unknown


def _by_source(name: str, index: Index) -> int:
    source, _, tool_name = name.partition("::")
    if not tool_name:
        return ABSENT
    named = (
        number
        for number in index.exact(joined(tool_name))
        if index.tool_name(number) == tool_name and index.source_id(number) == source
    )
    return next(named, ABSENT)


def unknown_tools(names: Sequence[str], index: Index) -> tuple[Diagnostic, ...]:
    """Return a warning for each of *names*, which no tool has, with the ids close to it."""
    from mcpg.errors import Code, warning  # noqa: PLC0415 - most names are right
    from mcpg.suggestions import suggest  # noqa: PLC0415 - as above

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
    terms = {term for word in split_words(name) for term in _find_terms(word, index)}
    rarest = sorted((index.document_frequency(term), term) for term in terms)
    shared = dict.fromkeys(index.exact(joined(name)), 1.0)
    for holders, term in rarest:
        if len(shared) >= _MOST_SHARING:
            break
        for tool in islice(index.find_holders(term, "name"), _MOST_HOLDERS):
            shared[tool] = shared.get(tool, 0.0) + 1 / holders
    return heapq.nsmallest(_MOST_CLOSE, shared, key=lambda tool: (-shared[tool], tool))


def _find_terms(word: str, index: Index) -> Iterator[int]:
    """Yield the term of *word*; if no tool has it, those of the words that are spelt like it."""
    term = index.find_stem(stem(word))
    if term == ABSENT:
        for other in index.nearest(word)[1]:
            yield index.term_of_word(index.find_word(other))
    else:
        yield term
