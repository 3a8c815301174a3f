"""What of MCP reaches a client behind `mcpg serve`: the conformance suite, scenario by scenario.

    CONFORMANCE_MODULES=node_modules python benchmarks/bench_conformance.py [URL]
    CONFORMANCE_MODULES=node_modules python benchmarks/bench_conformance.py --client

Needs `npm install @modelcontextprotocol/conformance@0.1.16 node@22`, and skips itself without. URL
is a running server, such as the example server of the suite's repository
(https://github.com/modelcontextprotocol/conformance, `examples/servers/typescript`); without it the
server of the tests is run. Columns: checks passed and failed at the server itself, and with
`mcpg serve --http --expose all` in between; with `--client`, those of the client of the SDK alone,
and of the same client behind `mcpg serve`, logged in by `mcpg login`.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import conformance

Counts = tuple[int, int]


def main(argument: str | None) -> None:
    """Print the table."""
    command = conformance.suite()
    if command is None:
        print("skipped: CONFORMANCE_MODULES names no node_modules of the suite")
    elif argument == "--client":
        _compare_clients(command)
    else:
        _compare_servers(command, argument)


def _compare_servers(command: list[str], address: str | None) -> None:
    own = conformance.served(str(conformance.SERVER), "{port}")
    with tempfile.TemporaryDirectory() as name, nullcontext(address) if address else own as url:
        folder = Path(name)
        direct = conformance.run(command, url, folder / "direct")
        with conformance.served(*conformance.behind(url, folder)) as gateway:
            behind = conformance.run(command, gateway, folder / "behind")
    _row("scenario", "direct", "behind")
    total = dict.fromkeys(("direct", "behind"), (0, 0))
    for scenario, counts in direct.items():
        others = behind.get(scenario, (0, 0))
        _row(scenario, _shown(counts), _shown(others))
        for column, (passed, failed) in (("direct", counts), ("behind", others)):
            total[column] = (total[column][0] + passed, total[column][1] + failed)
    _row("total", _shown(total["direct"]), _shown(total["behind"]))


def _compare_clients(command: list[str]) -> None:
    _row("scenario", "SDK", "mcpg")
    passed = [0, 0]
    scenarios = conformance.client_scenarios(command)
    with tempfile.TemporaryDirectory() as name:
        for scenario in scenarios:
            cells = []
            for column, kind in enumerate(("sdk", "mcpg")):
                is_passed, counts = conformance.run_client(command, kind, scenario, Path(name))
                passed[column] += is_passed
                cells.append(_shown(counts) + ("" if is_passed else " !"))
            _row(scenario, *cells)
    _row(f"scenarios passed, of {len(scenarios)}", *map(str, passed))


def _row(*cells: str) -> None:
    print(f"{cells[0]:42}  {cells[1]:>10}  {cells[2]:>10}", flush=True)


def _shown(counts: Counts) -> str:
    passed, failed = counts
    return f"{passed} / {failed}"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
