"""The catalogue: all tools of a host, each with its id, hints and what authors say of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.catalog.lookup import ToolLookup
from mcpg.catalog.naming import assign_ids
from mcpg.catalog.repeats import drop_repeats
from mcpg.catalog.rules import Assertion, apply_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcpg.catalog.model import HintRule, Tool
    from mcpg.diagnostics import Diagnostic

__all__ = ["Assertion", "Catalog", "build_catalog"]


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

    def suggest(self, reference: str) -> tuple[str, ...]:
        """Give up to three ids that *reference* may be a slip of, the likeliest first."""
        return self._lookup.suggest(reference)


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
