"""Time plans over 2,000 tools, cold and warm.

python benchmarks/bench_plan.py
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import mcpg

_SERVERS, _NOUNS, _VERBS = 50, 8, ("list", "get", "create", "update", "delete")
_ROUNDS = 40


def tools() -> list[dict[str, Any]]:
    """Return 2,000 tools of 50 servers, with arguments and results."""
    return [
        {
            "server": f"server{server}",
            "name": f"{verb}_thing{server}_{noun}",
            "description": f"{verb} the part {noun} of thing {server}.",
            "inputSchema": {
                "type": "object",
                "properties": {f"thing{noun}_id": {"type": "string"}},
                "required": [] if verb == "list" else [f"thing{noun}_id"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {f"thing{noun}_id": {"type": "string"}},
            },
        }
        for server in range(_SERVERS)
        for noun in range(_NOUNS)
        for verb in _VERBS
    ]


def main() -> None:
    """Print the median and the greatest time of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tools.json")
        path.write_text(json.dumps({"tools": tools()}), encoding="utf-8")
        engine = mcpg.load(path)
    goals = [f"update the part {one % _NOUNS} of thing {one}" for one in range(_ROUNDS)]
    for name in ("cold", "warm"):
        times = []
        for goal in goals:
            start = time.perf_counter()
            engine.plan(goal)
            times.append(1e3 * (time.perf_counter() - start))
        print(f"{name}: median {median(times):.1f} ms, greatest {max(times):.1f} ms")


if __name__ == "__main__":
    main()
