"""Whether FastMCP's client gets the same skills behind `mcpg serve` as at FastMCP's servers.

    python benchmarks/bench_served_skills.py FOLDER

FastMCP 4.2.3 is installed into an environment of its own in FOLDER, where the next run finds it.
Two servers have three skills, two of them at the same address. Columns: skills and files that the
client got through the gateway, and how many differ from those at their server, except for the
address of the later of two equal ones. The client itself verifies each digest, size and front
matter.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from bench_clients import Client, installed
from servedskills import compare, write_shops

FASTMCP = Client(("fastmcp==4.2.3",), "fastmcp")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    command = installed(FASTMCP, folder / "fastmcp-4.2.3")
    if command is None:
        print("skipped: fastmcp 4.2.3 cannot be installed")
        return
    write_shops(folder)
    print("transport  skills  files  differing")
    for transport in ("stdio", "http"):
        found = compare(command[0], folder, transport)
        print(f"{transport:9} {found.skills:7} {found.files:6} {len(found.differing):10}")


if __name__ == "__main__":
    main()
