"""Rules on relations: dead, circular, to itself; hints that mean no tool; tools without any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from mcpg.errors import Code, Diagnostic, Severity
from mcpg.lint.catalogue import LintContext, make_finding
from mcpg.lint.model import Finding, RelatedTool, Location
from mcpg.relations.edges import EdgeOrigin

_DEAD = {
    Code.RELATION_UNRESOLVED: "L101",
    Code.RELATION_INVALID: "L101",
    Code.HINT_UNMATCHED: "L104",
    Code.DOCUMENT_UNMAPPED: "L104",
}
_RELATED_SHARE = 0.9
_MOST_CIRCLES = 1_000


def check_relations(catalogue: LintContext) -> Iterator[Finding]:
    """Yield what is wrong with relations."""
    for one in catalogue.assembly.diagnostics:
        if is_reported_here(one):
            yield _dead(one)
    yield from _circles(catalogue)


def is_reported_here(diagnostic: Diagnostic) -> bool:
    """Return whether a rule reports *diagnostic*."""
    # A link to a file outside of the sources is a note.
    is_note = diagnostic.severity == Severity.INFO
    return diagnostic.code in _DEAD and not (
        is_note and diagnostic.code == Code.RELATION_UNRESOLVED
    )


def _dead(one: Diagnostic) -> Finding:
    quoted = one.message.rpartition(": ")[2].partition(";")[0].strip()
    name = quoted[1:-1] if quoted[:1] in "'\"" and quoted[:1] == quoted[-1:] else ""
    if not name and "'" in one.message:
        name = one.message.split("'")[1]
    return Finding(
        _DEAD[one.code],
        one.message,
        suggestion="correct the name, or remove it",
        spot=Location(one.place or "", text=name),
    )


def _collect_next_steps(catalogue: LintContext) -> dict[str, list[str]]:
    """Return the next steps that authors state, by the tool that they follow."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for one in catalogue.assembly.catalog.assertions:
        if one.kind == "nextStep":
            found[one.source].setdefault(one.target)
    for document in catalogue.assembly.documents:
        for edge in catalogue.relations.of(document.tool.id).next_steps if document.links else ():
            if edge.origin == EdgeOrigin.AUTHORED:
                found[document.tool.id].setdefault(edge.target)
    return {tool_id: [*targets] for tool_id, targets in found.items()}


def _circles(catalogue: LintContext) -> Iterator[Finding]:
    """Report circles of next steps, each at the first of its tools."""
    steps = _collect_next_steps(catalogue)
    for _ in range(_MOST_CIRCLES):
        try:
            TopologicalSorter(steps).prepare()
        except CycleError as fault:
            # Of its nodes each follows the next one.
            circle = [*reversed(fault.args[1])][:-1]
            first = circle.index(min(circle))
            circle = [*circle[first:], *circle[:first]]
            yield _circle(catalogue, circle)
            steps[circle[-1]].remove(circle[0])
        else:
            return


def _circle(catalogue: LintContext, circle: list[str]) -> Finding:
    first = catalogue.by_id[circle[0]]
    shown = " -> ".join((*circle, circle[0]))
    places = [
        one.place
        for one in catalogue.assembly.catalog.assertions
        if one.kind == "nextStep" and one.source == first.id and one.place
    ]
    found = make_finding(
        "L102",
        first,
        f"next steps run in a circle: {shown}",
        suggestion="remove the step that leads back",
        others=tuple(RelatedTool(one, "is part of the circle") for one in circle[1:]),
    )
    return replace(found, spot=Location(places[0], text=first.id)) if places else found


def find_orphans(catalogue: LintContext) -> Iterator[Finding]:
    """Report tools that nothing is related to, where nearly all others are."""
    relations = catalogue.relations
    joined: set[str] = set()
    for tool in catalogue.tools:
        edges = (*relations.of(tool.id).related, *relations.of(tool.id).next_steps)
        joined.update(edge.target for edge in edges)
        if edges:
            joined.add(tool.id)
    for source_id, tools in catalogue.sources.items():
        alone = [tool for tool in tools if tool.id not in joined]
        if len(tools) - len(alone) >= _RELATED_SHARE * len(tools):
            for tool in alone:
                yield make_finding(
                    "L103",
                    tool,
                    f"{tool.id!r} is related to no tool; the others of source {source_id!r} are",
                    suggestion="state what it belongs to or follows, by `related` or `nextSteps`",
                )
