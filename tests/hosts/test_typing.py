"""What a type checker finds in the program of a host."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """\
from pathlib import Path

import mcpg
from mcpg.search.caches import MemoryCache
from mcpg.embeddings import FunctionEmbeddings, MemoryStore
from mcpg.gateway import FileSource, Gateway, SyncGateway

engine = mcpg.load(Path("graph.mdld"), limit=8, store=MemoryStore(), cache=MemoryCache())
provider = FunctionEmbeddings(lambda texts: [[1.0] for _ in texts], "ones")
services = mcpg.EngineServices(embeddings=provider)
result = engine.search("x", limit=3, strategy="auto", fusion="rrf", context={"user": "ada"})
print(result.matches[0].tool_id, result.to_dict()["matches"][0]["toolId"])

mcpg.load(42)  # wrong: arg-type
mcpg.load("graph.mdld", limt=8)  # wrong: call-arg
mcpg.load("graph.mdld", limit="8")  # wrong: arg-type
mcpg.load("graph.mdld", store=MemoryCache())  # wrong: arg-type
mcpg.load("graph.mdld", cache=MemoryStore())  # wrong: arg-type
mcpg.load("graph.mdld", embeddings=42)  # wrong: arg-type
mcpg.load("graph.mdld", observer=print)  # wrong: arg-type
engine.search(42)  # wrong: arg-type
engine.search("x", limt=3)  # wrong: call-arg
engine.search("x", limit="3")  # wrong: arg-type
engine.search("x", strategy="grahp")  # wrong: arg-type
engine.search("x", strategy="auto", fusion="rff")  # wrong: arg-type
engine.search("x", min_score="high")  # wrong: arg-type
engine.search("x", context_tools=7)  # wrong: arg-type
engine.explain("x", tol="a")  # wrong: call-arg
engine.ask("x", intent="navigate")  # wrong: arg-type
engine.plan("x", strategy="grahp")  # wrong: arg-type
engine.route("x", tols=3)  # wrong: call-arg
result.matches[0].toolid  # wrong: attr-defined
print(result.ranking_mode == "hybird")  # wrong: comparison-overlap
print(result.diagnostics[0].severity == "eror")  # wrong: comparison-overlap
mcpg.EngineServices(embedder=provider)  # wrong: call-arg

SyncGateway(42)  # wrong: arg-type
SyncGateway("mcp.json", limt=3)  # wrong: call-arg
Gateway.from_config({"mcpServers": {}}, limit=3)
Gateway.from_config(42)  # wrong: arg-type
SyncGateway.from_config("mcp.json", limt=3)  # wrong: call-arg
SyncGateway.from_config("mcp.json", limit="3")  # wrong: arg-type
SyncGateway("mcp.json", services=engine)  # wrong: arg-type
with SyncGateway(["mcp.json", Path("tools"), FileSource("a", "b")], limit=8) as gateway:
    gateway.search("x", limit=3, strategy="auto").matches[0].score
    gateway.search("x", limt=3)  # wrong: call-arg
    gateway.search("x", strategy="grahp")  # wrong: arg-type
    gateway.search(42)  # wrong: arg-type
    gateway.explain("x", limit="3")  # wrong: arg-type
    gateway.ask("x", intent="navigate")  # wrong: arg-type
    gateway.plan("x", limt=3)  # wrong: call-arg
    gateway.route("x", tols=3)  # wrong: call-arg
    gateway.invoke("x", {}, timout=3)  # wrong: call-arg
    gateway.describe(42)  # wrong: arg-type
    gateway.add(42)  # wrong: arg-type


async def main() -> None:
    async with Gateway("mcp.json") as gateway:
        found = await gateway.search("x", limit=3)
        found.matchs  # wrong: attr-defined
        await gateway.search("x", limt=3)  # wrong: call-arg
        await gateway.explain("x", strategy="grahp")  # wrong: arg-type
        await gateway.route("x", max_categories="3")  # wrong: arg-type
        gateway.plan("x")  # wrong: unused-coroutine
"""


@pytest.mark.untraced
def test_a_type_checker_finds_each_mistake(tmp_path: Path) -> None:
    """`mypy --strict` reports every mistake in the program of a host, and nothing else."""
    program = tmp_path / "host.py"
    program.write_text(PROGRAM, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    errors = re.findall(r"host\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    lines = enumerate(PROGRAM.splitlines(), start=1)
    wrong = [(str(number), line.partition("# wrong: ")[2]) for number, line in lines]
    assert errors == [(number, code) for number, code in wrong if code]
