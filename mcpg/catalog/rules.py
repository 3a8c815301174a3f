"""Applying the rules of hints files to the tools that they name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from mcpg.catalog.lookup import ToolLookup
from mcpg.catalog.model import Hints
from mcpg.diagnostics import Code, Diagnostic, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.catalog.model import HintRule, Tool

MAX_TARGETS = 50
"""Most tools to which one rule relates one tool in one way."""

_MAX_SUGGESTED = 50


@dataclass(frozen=True, slots=True)
class Assertion:
    """What an author says about two tools.

    Attributes:
        kind: `related`, or `nextStep` for a tool that one would call afterwards.
        source: Id of the tool that it is said of.
        target: Id of the other tool.
        place: `file:line` of the rule that says so.
    """

    kind: Literal["related", "nextStep"]
    source: str
    target: str
    place: str


def apply_rules(
    tools: Sequence[Tool], rules: Sequence[HintRule]
) -> tuple[tuple[Tool, ...], tuple[Assertion, ...], tuple[Diagnostic, ...]]:
    """Add the hints of *rules* to *tools* and find the tools that they relate.

    A rule that names a tool comes before one that means it by a glob; among such, the earlier
    comes first; what a tool says itself comes last. Lists are joined, of single values the first
    counts.

    Returns:
        The tools in their order, the assertions without repeats, and what was noticed.
    """
    if not rules:
        return tuple(tools), (), ()
    application = _Application(ToolLookup(tools))
    for rule in rules:
        application.add(rule)
    return (
        tuple(application.hinted(tool) for tool in tools),
        tuple(application.assertions.values()),
        tuple(application.noticed),
    )


class _Application:
    """Gathers what rules say, one rule after the other."""

    def __init__(self, lookup: ToolLookup) -> None:
        self._lookup = lookup
        self._named: dict[str, list[Hints]] = defaultdict(list)
        self._globbed: dict[str, list[Hints]] = defaultdict(list)
        self._suggested = 0
        self.assertions: dict[tuple[str, str, str], Assertion] = {}
        self.noticed: list[Diagnostic] = []

    def add(self, rule: HintRule) -> None:
        """Take in one rule."""
        tools = self._lookup.matching(rule.pattern)
        if not tools:
            self._unmatched(Code.HINT_UNMATCHED, "no tool is called", rule.pattern, rule.place)
            return
        gathered = self._named if self._lookup.is_name(rule.pattern) else self._globbed
        for tool in tools:
            gathered[tool.id].append(rule.hints)
        self._relate(rule, tools, "related", rule.related)
        self._relate(rule, tools, "nextStep", rule.next_steps)

    def hinted(self, tool: Tool) -> Tool:
        """Give *tool* with the hints of all rules."""
        parts = (*self._named.get(tool.id, ()), *self._globbed.get(tool.id, ()))
        return replace(tool, hints=Hints.merge(*parts, tool.hints)) if parts else tool

    def _relate(
        self,
        rule: HintRule,
        tools: tuple[Tool, ...],
        kind: Literal["related", "nextStep"],
        patterns: tuple[str, ...],
    ) -> None:
        targets = list(dict.fromkeys(self._targets(rule, patterns)))
        if len(targets) > MAX_TARGETS + 1:
            message = (
                f"{rule.pattern!r} relates to {len(targets)} tools; "
                f"only the first {MAX_TARGETS} count, since more say nothing"
            )
            self.noticed.append(warning(Code.RELATION_INVALID, message, rule.place))
        for tool in tools:
            others = [target for target in targets[: MAX_TARGETS + 1] if target != tool.id]
            for target in others[:MAX_TARGETS]:
                key = (kind, tool.id, target)
                # Globs say the same of thousands of tools over and over.
                if key not in self.assertions:
                    self.assertions[key] = Assertion(*key, rule.place)

    def _targets(self, rule: HintRule, patterns: tuple[str, ...]) -> Iterator[str]:
        for pattern in patterns:
            found = self._lookup.matching(pattern)
            if not found:
                what = f"{rule.pattern!r} is related to a tool that does not exist:"
                self._unmatched(Code.RELATION_UNRESOLVED, what, pattern, rule.place)
            yield from (tool.id for tool in found)

    def _unmatched(self, code: str, what: str, pattern: str, place: str) -> None:
        # A file written for another catalogue misses all its tools; guessing at each is too slow.
        self._suggested += 1
        close = self._lookup.suggest(pattern) if self._suggested <= _MAX_SUGGESTED else ()
        advice = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        self.noticed.append(warning(code, f"{what} {pattern!r}{advice}", place or None))
