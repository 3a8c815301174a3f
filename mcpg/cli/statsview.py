"""What a graph is made of, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, one_line, pad
from mcpg.cli.wording import and_pages, counted
from mcpg.gateway.answerjson import diagnostics_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.graph.stats import Spread, Statistics
    from mcpg.jsontypes import JsonObject

_NAME = 40
_TOLD = 10


def stats_text(found: Statistics) -> str:
    """Give everything in blocks: what there is, degrees, parts, hubs, groups."""
    blocks = (_counts(found), _degrees(found), _parts(found), _hubs(found), _groups(found))
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block)


def stats_json(found: Statistics, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Give the object that `graph stats` prints."""
    return {
        "schema": "mcpg/graph-stats/1",
        "tools": found.tools,
        "sources": found.sources,
        "groups": found.groups,
        "things": found.things,
        "pages": found.pages,
        "edges": [asdict(edges) for edges in found.kinds],
        "danglingEdges": found.dangling,
        "degrees": {
            "incoming": _spread_json(found.incoming),
            "outgoing": _spread_json(found.outgoing),
            "total": _spread_json(found.degree),
        },
        "components": {"count": len(found.components), "sizes": list(found.components)},
        "orphans": list(found.orphans),
        "hubs": [
            {"toolId": hub.tool, "incoming": hub.incoming, "outgoing": hub.outgoing}
            for hub in found.hubs
        ],
        "densestGroups": [asdict(group) for group in found.densest],
        "diagnostics": diagnostics_json(noticed),
    }


def _spread_json(spread: Spread) -> JsonObject:
    return asdict(spread)


def _counts(found: Statistics) -> Iterator[str]:
    yield (
        f"{counted(found.tools, 'tool')} of {counted(found.sources, 'source')}, "
        f"{counted(found.groups, 'group')}, {counted(found.things, 'thing')}"
        f"{and_pages(found.pages)}"
    )
    for edges in found.kinds:
        told = f"{edges.authored:,} by authors, mean weight {edges.weight:.2f}"
        yield f"    {pad(edges.kind, 10)} {edges.count:>8,}  {told}"
    if found.dangling:
        yield f"    {pad('dangling', 10)} {found.dangling:>8,}  to tools that are not here"


def _degrees(found: Statistics) -> Iterator[str]:
    yield f"{pad('edges of a tool', 18)}{'least':>8}{'median':>8}{'mean':>8}{'most':>8}"
    for label, spread in (
        ("incoming", found.incoming),
        ("outgoing", found.outgoing),
        ("both", found.degree),
    ):
        figures = f"{spread.smallest:>8,}{spread.median:>8g}{spread.mean:>8.2f}{spread.largest:>8,}"
        yield f"    {pad(label, 14)}{figures}"


def _parts(found: Statistics) -> Iterator[str]:
    joined = [size for size in found.components if size > 1]
    sizes = _listed([f"{size:,}" for size in joined])
    yield f"{counted(len(joined), 'part')} joined by edges{f': {sizes}' if sizes else ''}"
    orphans = _listed([one_line(tool) for tool in found.orphans])
    count = counted(len(found.orphans), "tool")
    yield f"{count} without an edge{f': {orphans}' if orphans else ''}"


def _hubs(found: Statistics) -> Iterator[str]:
    if found.hubs:
        yield f"{pad('hubs', _NAME + 4)}{'in':>8}{'out':>8}"
    for hub in found.hubs:
        yield f"    {_named(hub.tool)}{hub.incoming:>8,}{hub.outgoing:>8,}"


def _groups(found: Statistics) -> Iterator[str]:
    if found.densest:
        yield f"{pad('densest groups', _NAME + 4)}{'tools':>8}{'edges':>8}{'density':>9}"
    for group in found.densest:
        figures = f"{group.members:>8,}{group.edges:>8,}{group.density:>9.3f}"
        yield f"    {_named(group.name)}{figures}"


def _named(name: str) -> str:
    return pad(cut(one_line(name), _NAME), _NAME)


def _listed(names: Sequence[str]) -> str:
    told = ", ".join(names[:_TOLD])
    more = len(names) - _TOLD
    return f"{told} and {more:,} more" if more > 0 else told
