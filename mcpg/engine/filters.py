"""Filters: which tools a search may offer, by their source, their category, and whether they read.

A filter decides before tools are ranked: what it leaves out is no candidate, no related tool, no
next step and no prerequisite. What a query means, such as how rare its words are and what a
misspelt one stands for, is still decided by the whole catalogue.

Names match in any case. Of several sources, or several categories, one is enough; a tool must pass
every kind of condition that is set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mcpg.catalog.model import Tool
from mcpg.engine.results import SearchRequest
from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.layout import READS, WRITES, StaleIndexError

_MOST_NOTED = 16
_MOST_NAMED = 5
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class FilterResult:
    """What the filter of a request leaves of an index, by numbers of tools.

    Attributes:
        passing: The tools that pass, disabled ones too.
        allowed: Those that the search may offer.
        excluded: All others.
        diagnostics: Names of no source or category, and why nothing is left.
    """

    passing: frozenset[int]
    allowed: frozenset[int]
    excluded: frozenset[int]
    diagnostics: tuple[Diagnostic, ...]


def apply_filter(index: Index, request: SearchRequest, disabled: frozenset[int]) -> FilterResult:
    """Apply the filter of *request*; *disabled* tools are those that it leaves out in any case."""
    passing = _passing(index, request)
    allowed = passing - disabled if disabled else passing
    excluded = frozenset(range(len(index))) - allowed
    return FilterResult(passing, allowed, excluded, _notes(index, request, passing, allowed))


def conditions_on(tool: int, index: Index, request: SearchRequest) -> Iterator[str]:
    """Yield the conditions of the filter of *request* that a tool does not meet, in words."""
    source = index.source_id(tool)
    if request.sources and source.casefold() not in _fold_names(request.sources):
        yield f"its source is {_quote_name(source)}, not {_either(request.sources)}"
    if request.categories and tool not in _of_categories(index, request.categories):
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
    passing = _passing(index, request)
    return sorted(passing), _notes(index, request, passing, passing)


def filter_tools(
    tools: Sequence[Tool],
    *,
    sources: Sequence[str] = (),
    categories: Sequence[str] = (),
    read_only: bool = False,
) -> tuple[tuple[Tool, ...], tuple[Diagnostic, ...]]:
    """Return those of *tools* that pass a filter, as that of a search, with its diagnostics."""
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
        *_unknown("source", sources, known, named),
        *_unknown("category", categories, named, known),
    ]
    reads = any(tool.hints.read_only for tool in tools)
    return passing, tuple(_warnings(unknown, passing, passing, lacks_hints=read_only and not reads))


def _passing(index: Index, request: SearchRequest) -> frozenset[int]:
    conditions = []
    if request.sources:
        conditions.append(_of_sources(index, request.sources))
    if request.categories:
        conditions.append(_of_categories(index, request.categories))
    if request.read_only:
        flags = index.read_only_flags()
        conditions.append(frozenset([tool for tool, flag in enumerate(flags) if flag == READS]))
    return frozenset.intersection(*conditions)


def _of_sources(index: Index, names: Iterable[str]) -> frozenset[int]:
    wanted = frozenset(_numbers(names, index.source_ids))
    sources = index.find_source_numbers(range(len(index))) if wanted else ()
    return frozenset([tool for tool, source in enumerate(sources) if source in wanted])


def _of_categories(index: Index, names: Iterable[str]) -> frozenset[int]:
    members = map(index.in_category, _numbers(names, index.categories))
    found = frozenset[int]().union(*members)
    if found and max(found) >= len(index):
        raise StaleIndexError("a category has a tool that is not there")
    return found


def _numbers(names: Iterable[str], known: Iterable[str]) -> list[int]:
    """Return the numbers of the *known* texts that are *names* in any case."""
    wanted = _fold_names(names)
    return [number for number, text in enumerate(known) if text.casefold() in wanted]


def _fold_names(names: Iterable[str]) -> frozenset[str]:
    return frozenset([name.casefold() for name in names])


def _notes(
    index: Index, request: SearchRequest, passing: Collection[int], allowed: Collection[int]
) -> tuple[Diagnostic, ...]:
    """Return what is to be told of the filter of *request*, as `_warnings` does."""
    unknown = [
        *_unknown("source", request.sources, index.source_ids, index.categories),
        *_unknown("category", request.categories, index.categories, index.source_ids),
    ]
    if not unknown and allowed:
        return ()
    lacks_hints = request.read_only and READS not in index.read_only_flags()
    return tuple(_warnings(unknown, passing, allowed, lacks_hints=lacks_hints))


def _warnings(
    unknown: Sequence[str],
    passing: Collection[object],
    allowed: Collection[object],
    *,
    lacks_hints: bool,
) -> Iterator[Diagnostic]:
    """Yield a warning for each *unknown* name, or else one that says why nothing is left.

    Args:
        unknown: What is wrong with each name.
        passing: What passes the filter, disabled tools too.
        allowed: What may be offered.
        lacks_hints: Whether read-only tools are wanted, and no tool has the hint.
    """
    from mcpg.errors import Code, warning  # noqa: PLC0415 - most filters leave something

    for message in unknown[:_MOST_NOTED]:
        yield warning(Code.FILTER_UNKNOWN, message)
    if unknown or allowed:
        return
    reason = "the tools that pass it are disabled by default" if passing else "no tool passes it"
    if lacks_hints:
        reason = "no tool of the catalogue has the hint that it only reads"
    yield warning(Code.FILTER_EMPTY, f"the filter leaves no tool: {reason}")


def _unknown(
    kind: str, names: Sequence[str], known: Iterable[str], others: Iterable[str]
) -> Iterator[str]:
    """Yield a message for each of *names* that none of the *known* has; *others* are close kin."""
    if not names:
        return
    texts = {text.casefold(): text for text in known}
    missing = [name for name in names if name.casefold() not in texts]
    if not missing:
        return
    from mcpg.suggestions import suggest  # noqa: PLC0415 - most names are right

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
            message += f"; the {plural} are {_list_names(list(texts.values()))}"
        yield message


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(map(_quote_name, names[:_MOST_NAMED]))
    return f"{listed} and {more:,} more" if more > 0 else listed


def _either(names: Sequence[str]) -> str:
    *head, last = map(_quote_name, names[:_MOST_NAMED])
    return f"{', '.join(head)} or {last}" if head else last


def _quote_name(name: str) -> str:
    return repr(name[:_LONGEST_SHOWN])
