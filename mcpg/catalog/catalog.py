"""The catalogue: all tools of a host, each with its id, hints and what authors say of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.catalog.lookup import ToolLookup
from mcpg.catalog.naming import assign_ids
from mcpg.catalog.repeats import drop_repeats
from mcpg.catalog.rules import Assertion, apply_rules
from mcpg.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mcpg.catalog.model import HintRule, Tool
    from mcpg.diagnostics import Diagnostic

__all__ = ["Assertion", "Catalog", "build_catalog"]

# What is said of a name that is no one's: so many tools, so many characters.
_NAMED = 5
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Catalog:
    """Tools with unique ids.

    Attributes:
        tools: The tools, sorted by id.
        assertions: What authors say about pairs of tools, in the order of their rules.
        diagnostics: What was noticed while the catalogue was made.
    """

    tools: tuple[Tool, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    _lookup: ToolLookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lookup", ToolLookup(self.tools))

    def get(self, tool_id: str) -> Tool | None:
        """Give the tool of this id, in any case, or `None`."""
        return self._lookup.get(tool_id)

    def matching(self, pattern: str) -> tuple[Tool, ...]:
        """Give the tools that a pattern means, in any case, sorted by id.

        Args:
            pattern: A tool id, `source::name`, a raw name, or a glob over any of these;
                `source::*` means all tools of a source.
        """
        return self._lookup.matching(pattern)

    def named(self, name: str) -> Tool:
        """Give the one tool that *name* means: an id, `source::name`, a raw name or a glob.

        Raises:
            NotFoundError: No tool is called so, or several are.
        """
        found = self.matching(name)
        if len(found) == 1:
            return found[0]
        if found:
            names = _either([tool.id for tool in found[:_NAMED]])
            message = f"{name[:_SHOWN]!r} is the name of {len(found)} tools"
            raise NotFoundError(message, remedy=f"use {names}")
        near = self.suggest(name)
        advice = f"did you mean {_either(near)}?" if near else "see `mcpg list`"
        raise NotFoundError(f"no tool is called {name[:_SHOWN]!r}", remedy=advice)

    def suggest(self, reference: str) -> tuple[str, ...]:
        """Give up to three ids that *reference* may be a slip of, the likeliest first."""
        return self._lookup.suggest(reference)


def _either(names: Sequence[str]) -> str:
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def build_catalog(
    tools: Iterable[Tool], rules: Iterable[HintRule] = (), *, reserved: Collection[str] = ()
) -> Catalog:
    """Make a catalogue: drop repeats, assign ids, add hints, find the tools that rules relate.

    Args:
        tools: Tools in any order; the ids that they carry are not looked at.
        rules: Hints for them. What rules say comes before what tools say themselves.
        reserved: Ids that no tool may get, in any case.
    """
    distinct, repeats = drop_repeats(tools)
    named, clashes = assign_ids(distinct, reserved)
    hinted, assertions, unmatched = apply_rules(named, tuple(rules))
    return Catalog(hinted, assertions, (*repeats, *clashes, *unmatched))
