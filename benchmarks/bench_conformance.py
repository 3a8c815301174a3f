"""What of MCP reaches a client behind `mcpg serve`: the conformance suite, scenario by scenario.

    CONFORMANCE_MODULES=node_modules python benchmarks/bench_conformance.py [URL]

Needs `npm install @modelcontextprotocol/conformance@0.1.16 node@22`, and skips itself without. URL
is a running server, such as the example server of the suite's repository
(https://github.com/modelcontextprotocol/conformance, `examples/servers/typescript`); without it the
server of the tests is run. Columns: checks passed and failed at the server itself, and with
`mcpg serve --http --expose all` in between.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import conformance


def main(address: str | None) -> None:
    """Print the table."""
    command = conformance.suite()
    if command is None:
        print("skipped: CONFORMANCE_MODULES names no node_modules of the suite")
        return
    own = conformance.served(str(conformance.SERVER), "{port}")
    with tempfile.TemporaryDirectory() as name, nullcontext(address) if address else own as url:
        folder = Path(name)
        direct = conformance.run(command, url, folder / "direct")
        with conformance.served(*conformance.behind(url, folder)) as gateway:
            behind = conformance.run(command, gateway, folder / "behind")
    print(f"{'scenario':36}  {'direct':>8}  {'behind':>8}")
    total = dict.fromkeys(("direct", "behind"), (0, 0))
    for scenario, counts in direct.items():
        others = behind.get(scenario, (0, 0))
        print(f"{scenario:36}  {_shown(counts):>8}  {_shown(others):>8}")
        for column, (passed, failed) in (("direct", counts), ("behind", others)):
            total[column] = (total[column][0] + passed, total[column][1] + failed)
    print(f"{'total':36}  {_shown(total['direct']):>8}  {_shown(total['behind']):>8}")


def _shown(counts: tuple[int, int]) -> str:
    passed, failed = counts
    return f"{passed} / {failed}"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
