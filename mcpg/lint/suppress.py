"""Suppressions: codes that hints, settings or documents say not to report for some tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from mcpg.catalog.hints import LINT_IGNORE, read_texts
from mcpg.lint.catalogue import LintContext
from mcpg.lint.model import Finding, Location, Suppression
from mcpg.lint.registry import find_codes


class Suppressions:
    """What is suppressed for which tool; notes what has suppressed something."""

    def __init__(self, stated: Sequence[tuple[Suppression, Sequence[str]]]) -> None:
        """Take what is *stated*, each with the ids of the tools that it is for."""
        self._stated = [one for one, _ in stated]
        self._by_tool: defaultdict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        for number, (one, ids) in enumerate(stated):
            codes = frozenset(code for pattern in one.codes for code in find_codes(pattern))
            for tool_id in ids:
                self._by_tool[tool_id].append((number, codes))
        self._used: set[int] = set()

    @classmethod
    def of(cls, catalogue: LintContext, further: Iterable[Suppression]) -> Suppressions:
        """Return what hints files and documents of *catalogue* suppress, and *further* ones."""
        matching = catalogue.assembly.catalog.matching
        hinted = (
            Suppression(rule.pattern, rule.lint_ignore, rule.place)
            for rule in catalogue.rules
            if rule.lint_ignore
        )
        stated = [(one, [tool.id for tool in matching(one.pattern)]) for one in (*hinted, *further)]
        return cls([*stated, *_of_documents(catalogue)])

    def has(self, finding: Finding) -> bool:
        """Return whether *finding* is suppressed for its tool, or for all tools it stands for."""
        ids = finding.tool_ids or ((finding.tool_id,) if finding.tool_id else ())
        return bool(ids) and all([*map(partial(self._covers, finding.code), ids)])

    def _covers(self, code: str, tool_id: str) -> bool:
        covering = [number for number, codes in self._by_tool.get(tool_id, ()) if code in codes]
        self._used.update(covering)
        return bool(covering)

    def findings(self) -> Sequence[Finding]:
        """Return what is wrong with the suppressions; call it after all others."""
        return [*self._unknown(), *self._find_unused()]

    def _unknown(self) -> Iterator[Finding]:
        for one in self._stated:
            for code in one.codes:
                if not find_codes(code):
                    yield Finding(
                        "M101",
                        f"{code[:80]!r}, suppressed for {one.pattern!r}, is no rule",
                        suggestion="see `mcpg rule`",
                        spot=Location(one.place, text=code),
                    )

    def _find_unused(self) -> Iterator[Finding]:
        for number, one in enumerate(self._stated):
            if number not in self._used and any(map(find_codes, one.codes)):
                codes = ", ".join(one.codes)
                yield Finding(
                    "M102",
                    f"{codes} is suppressed for {one.pattern!r}, where it is not found",
                    suggestion="remove it",
                    spot=Location(one.place, text=one.codes[0]),
                )


def _of_documents(catalogue: LintContext) -> Iterator[tuple[Suppression, Sequence[str]]]:
    for document in catalogue.assembly.documents:
        for key in LINT_IGNORE:
            codes = read_texts(document.further[key]) if key in document.further else None
            if codes:
                tool = document.tool
                yield Suppression(tool.id, codes, tool.place), (tool.id,)
