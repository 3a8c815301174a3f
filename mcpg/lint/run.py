"""A run: rules over a catalog, without suppressed findings, each finding with its place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter

from mcpg.bundle import Assembly
from mcpg.catalog.catalog import Catalog
from mcpg.catalog.hints import LINT_IGNORE, read_texts
from mcpg.catalog.model import HintRule, Tool
from mcpg.errors import Diagnostic, Severity
from mcpg.index import Index
from mcpg.lint import deception, findability, wording
from mcpg.lint.context import LintContext, list_hints
from mcpg.lint.deception import ToolText, list_texts
from mcpg.lint.locate import Locator
from mcpg.lint.model import (
    FAILING,
    LONGEST_EXCERPT,
    RULES,
    Finding,
    Location,
    Place,
    Selection,
    Suppression,
    find_codes,
)
from mcpg.lint.wording import RESPELT
from mcpg.plugins.registry import call_item_kinds, list_item_kinds


class _Suppressions:
    """The suppressions for each tool; notes which of them have suppressed something."""

    def __init__(
        self,
        catalogue: LintContext,
        further: Iterable[Suppression],
        catalogs: Sequence[Catalog],
    ) -> None:
        hinted = [
            Suppression(rule.pattern, rule.lint_ignore, rule.place)
            for rule in catalogue.rules
            if rule.lint_ignore
        ]
        found = [
            (one, [tool.id for each in catalogs for tool in each.matching(one.pattern)])
            for one in (*hinted, *further)
        ]
        for document in catalogue.assembly.documents:
            tool = document.tool
            for key in LINT_IGNORE:
                codes = read_texts(document.further[key]) if key in document.further else None
                if codes:
                    found.append((Suppression(tool.id, codes, tool.place), [tool.id]))
        self._stated = [one for one, _ in found]
        self._by_tool: defaultdict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        for number, (one, ids) in enumerate(found):
            meant = frozenset(code for pattern in one.codes for code in find_codes(pattern))
            for tool_id in ids:
                self._by_tool[tool_id].append((number, meant))
        self._used: set[int] = set()

    def suppresses(self, finding: Finding) -> bool:
        """Return whether *finding* is suppressed for its tool, or for all tools it is about."""
        ids = finding.tool_ids or ((finding.tool_id,) if finding.tool_id else ())
        by_tool = [
            {number for number, codes in self._by_tool.get(one, ()) if finding.code in codes}
            for one in ids
        ]
        self._used.update(*by_tool)
        return bool(by_tool) and all(by_tool)

    def check(self) -> Iterator[Finding]:
        for one in self._stated:
            for code in one.codes:
                if not find_codes(code):
                    yield Finding(
                        "M101",
                        f"{code[:80]!r}, suppressed for {one.pattern!r}, is not a rule",
                        suggestion="see `mcpg rule`",
                        spot=Location(one.place, text=code),
                    )
        for number, one in enumerate(self._stated):
            if number not in self._used and any(map(find_codes, one.codes)):
                codes = ", ".join(one.codes)
                yield Finding(
                    "M102",
                    f"{codes} is suppressed for {one.pattern!r}, but not found there",
                    suggestion="remove it",
                    spot=Location(one.place, text=one.codes[0]),
                )


Tell = Callable[[str, int, int], None]


def _check_texts(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the faults of single texts, each of which is read once."""
    sound: set[tuple[str, bool, str]] = set()  # schemas repeat their texts
    texts = ((tool, text) for tool in catalogue.tools for text in list_texts(tool))
    for tool, text in chain(texts, _list_generated(catalogue)):
        key = (text.text, text.is_key, text.holder)
        if key in sound:
            continue
        found = [*deception.find_hidden_text(tool, text), *deception.find_poisoning(tool, text)]
        if not found:
            sound.add(key)
        yield from found


def _list_generated(catalogue: LintContext) -> Iterator[tuple[Tool, ToolText]]:
    """Yield the texts that a language model wrote, each with the first of its tools."""
    for rule in catalogue.rules:
        tools = catalogue.find_matching(rule.pattern) if rule.written_for is not None else ()
        if tools:
            for field, at, text in list_hints(rule.hints):
                yield tools[0], ToolText((field, at), text)


_CHECKS: Mapping[str, tuple[tuple[str, ...], Callable[[LintContext], Iterator[Finding]]]] = {
    "descriptions": (("D10",), wording.check_descriptions),
    "markup": (("D107", "D108"), wording.check_markup),
    "parameters": (("P",), wording.check_parameters),
    "schemas": (("S",), wording.check_tool_schemas),
    "names": (("N",), wording.check_names),
    "hidden text and poisoning": (("H", "X"), _check_texts),
    "categories and tags": (("T", "K"), wording.check_labels),
    "relations": (("L101", "L102", "L104"), findability.check_relations),
    "orphans": (("L103",), findability.find_orphans),
    "confusion": (("C",), findability.check_confusion),
}


_CHECKS_OF_ITEMS = ("descriptions", "markup", "hidden text and poisoning", "confusion")
"""The checks that items other than tools go through."""


def _open_items(assembly: Assembly, chosen: Selection) -> Iterator[tuple[str, LintContext]]:
    """Yield a catalog for the items of each kind that is checked, and the name of an item."""
    nouns = {one.name: one.noun for one in list_item_kinds() if one.check}
    for name, documents in call_item_kinds("documents", assembly.pages):
        if name in nouns:
            catalog = Catalog(tuple(one.tool for one in documents), (), ())
            own = Assembly(documents, (), catalog, {}, ())
            yield nouns[name], LintContext(own, (), chosen)


def _check_items(
    assembly: Assembly, items: Iterable[LintContext], chosen: Selection
) -> Iterator[Finding]:
    for context in items:
        for name in _CHECKS_OF_ITEMS:
            beginnings, check = _CHECKS[name]
            if chosen.has_any(beginnings):
                yield from check(context)
    for _, found in call_item_kinds("check", assembly.pages):
        yield from found


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run.

    Attributes:
        findings: The findings, by file and line, then by tool and code.
        tools: How many tools were checked.
        items: How many items of other kinds were checked, by the name of an item.
        diagnostics: Problems from reading the sources that no rule reports.
    """

    findings: Sequence[Finding]
    tools: int
    items: Mapping[str, int]
    suppressed: int
    diagnostics: tuple[Diagnostic, ...]
    locator: Locator

    @property
    def counts(self) -> Mapping[str, int]:
        """How many findings there are of each severity."""
        found = Counter(str(one.severity) for one in self.findings)
        return {name: found[name] for name in (Severity.ERROR, Severity.WARNING, Severity.INFO)}

    @property
    def fails(self) -> bool:
        """Whether there is an error or a warning."""
        return any(one.severity in FAILING for one in self.findings)


def lint(
    assembly: Assembly,
    rules: Sequence[HintRule] = (),
    *,
    selection: Selection | None = None,
    suppressed: Iterable[Suppression] = (),
    index: Callable[[Assembly], Index] | None = None,
    tell: Tell = lambda _what, _done, _total: None,
) -> Report:
    """Check the rules of *selection*, by default the default ones, over a catalog.

    The *rules* of its hints files may suppress codes. *index* returns the index of the catalog for
    rules on reach, which is compiled otherwise; *tell* receives the activity, how much is done, and
    of how much.
    """
    chosen = selection or Selection.of()
    catalogue = LintContext(assembly, rules, chosen, index)
    items = dict(_open_items(assembly, chosen))
    catalogs = [assembly.catalog, *(one.assembly.catalog for one in items.values())]
    suppressions = _Suppressions(catalogue, suppressed, catalogs)
    found = [*_check_items(assembly, items.values(), chosen)]
    for number, (what, (beginnings, check)) in enumerate(_CHECKS.items()):
        if chosen.has_any(beginnings):
            tell(what, number, len(_CHECKS))
            found += check(catalogue)
    if chosen.has_any(("R",)):
        found += findability.check_reach(
            catalogue, lambda done, total: tell("searching for tools", done, total)
        )
    found = [one for one in found if one.code in chosen]
    kept = [one for one in found if not suppressions.suppresses(one)]
    of_suppressions = [one for one in suppressions.check() if one.code in chosen]
    locator = Locator()
    nowhere = Place("")
    ranked: list[tuple[tuple[str, int, int, str, str], Finding]] = []
    for one in (*kept, *of_suppressions):
        placed = _place_finding(one, catalogue, locator)
        at = placed.place or nowhere
        key = (at.file, at.line or 0, at.column or 0, one.code, one.tool_id)
        ranked.append((key, placed))
    ranked.sort(key=itemgetter(0))
    return Report(
        [placed for _, placed in ranked],
        len(catalogue.tools),
        {noun: len(one.tools) for noun, one in items.items() if one.tools},
        len(found) - len(kept),
        tuple(one for one in assembly.diagnostics if not findability.is_reported_here(one)),
        locator,
    )


def _place_finding(one: Finding, catalogue: LintContext, locator: Locator) -> Finding:
    rule = RULES[one.code]
    spot = catalogue.spot(one.spot, one.tool_id)
    others = tuple(
        replace(other, place=locator.place(other.spot)) if other.spot else other
        for other in one.others
    )
    return replace(
        one,
        severity=rule.severity,
        spot=spot,
        place=locator.place(spot),
        excerpt=one.excerpt[:LONGEST_EXCERPT],
        others=others,
        is_fixable=rule.is_fixable and (bool(one.respellings) or one.code not in RESPELT),
        respellings=tuple(
            replace(part, spot=catalogue.spot(part.spot, part.tool_id)) for part in one.respellings
        ),
    )
