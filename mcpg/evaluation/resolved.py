"""Judged queries met with a catalogue: which tools the names mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, warning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.evaluation.judged import JudgedQuery, Judgements

_NAMED = 3
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A judged query with the ids of its tools.

    Attributes:
        judged: As it stands in the file.
        relevant: Ids of the tools that answer it.
        unknown: Names that mean no tool, or several: nothing can find what they stand for.
    """

    judged: JudgedQuery
    relevant: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    @property
    def is_answerless(self) -> bool:
        """Whether a person said that no tool answers it."""
        return not self.judged.relevant

    @property
    def relevant_count(self) -> int:
        """How many tools answer it, those that cannot be found among them."""
        return len(self.relevant) + len(self.unknown)


@dataclass(frozen=True, slots=True)
class Resolved:
    """All queries of a file, resolved.

    Attributes:
        queries: In the order of the file.
        diagnostics: One for each name that means no tool or several.
    """

    queries: tuple[ResolvedQuery, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def resolve(judgements: Judgements, catalog: Catalog) -> Resolved:
    """Look up in *catalog* every tool that *judgements* name; of an engine, `engine.catalog`."""
    resolver = _Resolver(catalog, judgements.place)
    queries = tuple(map(resolver.query, judgements.queries))
    return Resolved(queries, tuple(resolver.diagnostics))


def disabled_tools(
    judgements: Judgements, resolved: Resolved, catalog: Catalog
) -> list[Diagnostic]:
    """Tell of every judged tool that is off by default, at the first query that names it."""
    lines: dict[str, int] = {}
    for one in resolved.queries:
        for tool_id in one.relevant:
            lines.setdefault(tool_id, one.judged.line)
    tools = [tool for tool_id in lines if (tool := catalog.get(tool_id)) and not tool.enabled]
    return [
        warning(
            Code.JUDGED_TOOL_DISABLED,
            f"{tool.id!r} is off by default, so nothing finds it: include disabled tools",
            f"{judgements.place}:{lines[tool.id]}",
        )
        for tool in tools
    ]


class _Resolver:
    """Looks up names, each once, and tells of those that it does not know at their first line."""

    def __init__(self, catalog: Catalog, place: str) -> None:
        self._catalog = catalog
        self._place = place
        self._known: dict[str, str | None] = {}
        self.diagnostics: list[Diagnostic] = []

    def query(self, judged: JudgedQuery) -> ResolvedQuery:
        """Look up the tools of one query."""
        found = {name: self._tool_id(name, judged.line) for name in judged.relevant}
        known = dict.fromkeys(tool_id for tool_id in found.values() if tool_id is not None)
        unknown = tuple(name for name, tool_id in found.items() if tool_id is None)
        return ResolvedQuery(judged, tuple(known), unknown)

    def _tool_id(self, name: str, line: int) -> str | None:
        if name not in self._known:
            tools = _meant(name, self._catalog.matching(name))
            self._known[name] = tools[0].id if len(tools) == 1 else None
            if len(tools) != 1:
                self._tell(name, tools, f"{self._place}:{line}")
        return self._known[name]

    def _tell(self, name: str, tools: list[Tool], place: str) -> None:
        shown = repr(name[:_SHOWN])
        if tools:
            one_of = _either(tool.id for tool in tools[:_NAMED])
            message = f"{shown} is the name of {len(tools)} tools: use {one_of}"
            self.diagnostics.append(warning(Code.JUDGED_TOOL_AMBIGUOUS, message, place))
            return
        near = self._catalog.suggest(name)
        advice = f"did you mean {_either(near)}?" if near else "see `mcpg list`"
        message = f"no tool is called {shown}: {advice}"
        self.diagnostics.append(warning(Code.JUDGED_TOOL_UNKNOWN, message, place))


def _meant(name: str, tools: Iterable[Tool]) -> list[Tool]:
    """Give of *tools* those that *name* calls by name, in this very case where there is one.

    A pattern is no judgement, so tools that a wildcard finds are left out.
    """
    keys = [((tool.id, f"{tool.source_id}::{tool.name}", tool.name), tool) for tool in tools]
    exact = [tool for names, tool in keys if name in names]
    folded = name.casefold()
    return exact or [tool for names, tool in keys if folded in map(str.casefold, names)]


def _either(names: Iterable[str]) -> str:
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last
