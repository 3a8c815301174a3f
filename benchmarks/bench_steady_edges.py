"""Whether edges and groups stand still while the rest of the catalogue grows.

    python benchmarks/bench_steady_edges.py [MANIFEST] [--others MANIFEST] [--times 27]

Each server of MANIFEST (`examples/tools` by default) is related alone, then among `--times` as many
tools: those of `--others`, else made ones. A row has, of the edges and groups that a server has
alone, the share that it has there too, weight and reason included. Then one unrelated tool is
added, in a server of its own and in each server in turn, and the other documents that change are
counted.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
from measuring import row

from mcpg.bundle.assemble import assemble
from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.model import Tool
from mcpg.relations.infer import infer
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.sources import SourceBatch

EXAMPLES = Path(__file__).parents[1] / "examples" / "tools"
KINDS = ("next steps", "related", "groups")
UNRELATED = Tool("", "harbor", "measure_tide", description="Measure how high the sea stands.")

Found = Mapping[str, Mapping[str, set[object]]]
"""By server and kind, what its tools have."""


def relate(tools: Iterable[Tool]) -> Found:
    """Return the edges within each server, and the groups of its tools."""
    catalog = build_catalog(list(tools))
    keys = {tool.id: tool.key for tool in catalog.tools}
    found: defaultdict[str, dict[str, set[object]]]
    found = defaultdict(lambda: {kind: set() for kind in KINDS})
    for tool_id, one in infer(catalog).relations.by_tool.items():
        server, _ = key = keys[tool_id]
        for kind, edges in zip(KINDS, (one.next_steps, one.related), strict=False):
            found[server][kind] |= {
                (key, keys[edge.target], edge.weight, edge.reason)
                for edge in edges
                if keys[edge.target][0] == server
            }
        found[server]["groups"] |= {(key, group) for group in one.groups}
    return found


def measure_kept(tools: Sequence[Tool], others: Sequence[Tool]) -> list[str]:
    """Return rows of the shares of what each server keeps among *others*."""
    among = relate([*tools, *others])
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for server in sorted({tool.source_id for tool in tools}):
        alone = relate(tool for tool in tools if tool.source_id == server)[server]
        for kind, one in alone.items():
            for name in (server, "all"):
                counts[name][kind] += len(one)
                counts[name][f"{kind} kept"] += len(one & among[server][kind])
    rows = sorted(counts.items(), key=lambda item: (item[0] == "all", item[0]))
    return [
        row(name, *(share(found[f"{kind} kept"], found[kind]) for kind in KINDS), width=12)
        for name, found in rows
    ]


def share(part: int, whole: int) -> float | str:
    """Return the share, or a dash where there is nothing."""
    return part / whole if whole else "-"


def count_rewritten(batch: SourceBatch) -> list[str]:
    """Return rows of how many documents change with one more tool."""
    before = {text.path: text.content for text in assemble(batch).texts}
    servers = sorted({tool.source_id for tool in batch.tools})
    rows: list[str] = []
    for server in (UNRELATED.source_id, *servers):
        more = replace(batch, tools=(*batch.tools, replace(UNRELATED, source_id=server)))
        after = {text.path: text.content for text in assemble(more).texts}
        changed = sum(after.get(path) != content for path, content in before.items())
        rows.append(row(f"one more tool in {server}", changed, f"of {len(before)}", width=12))
    return rows


def make_others(count: int) -> list[Tool]:
    """Make *count* tools of other servers."""
    return [
        Tool(
            *("", made["server"], made["name"]),
            description=made["description"],
            input_schema=made["inputSchema"],
        )
        for made in catalogues.make_tools(count)
    ]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("manifest", type=Path, nargs="?", default=EXAMPLES)
    parser.add_argument("--others", type=Path)
    parser.add_argument("--times", type=int, default=27)
    options = parser.parse_args()
    batch = read_sources([str(options.manifest)])
    count = options.times * len(batch.tools)
    others = read_sources([str(options.others)]).tools if options.others else make_others(count)
    known = {tool.source_id for tool in batch.tools}
    others = [tool for tool in others if tool.source_id not in known][:count]
    print(row(f"kept among {len(others)} other tools", *KINDS, width=12))
    print(*measure_kept(batch.tools, others), sep="\n")
    print(row("documents rewritten by", "", "", width=12), *count_rewritten(batch), sep="\n")


if __name__ == "__main__":
    main()
