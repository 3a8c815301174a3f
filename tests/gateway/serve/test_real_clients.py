"""Clients of the SDKs list, search, call, read and ask behind the gateway as at the server."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import realclients
from drivers import python_client

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Any]]:
    """Serve directly and behind a gateway."""
    with realclients.servers(tmp_path_factory.mktemp("clients"), ["gateway"]) as found:
        yield found


def typescript() -> list[str]:
    """Return the command of the driver of the TypeScript SDK."""
    modules = Path(os.environ.get("CONFORMANCE_MODULES", "/nonexistent"))
    own = modules / ".bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None or not (modules / "@modelcontextprotocol" / "sdk").is_dir():
        pytest.skip("needs CONFORMANCE_MODULES to name a node_modules with the TypeScript SDK")
    return [node, str(realclients.TYPESCRIPT_DRIVER), str(modules)]


def outcomes(language: str, server: Any, mode: str) -> list[Any]:
    """Return what the steps came to."""
    if language == "typescript":
        return realclients.outcomes(typescript(), server, mode)
    return asyncio.run(python_client.main("mcp2", realclients.job(server, mode)))


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_client_gets_what_the_server_gives(
    servers: dict[tuple[str, str], Any], language: str
) -> None:
    """Every outcome is that of the server, by the names of tools and by the meta-tools.

    `benchmarks/bench_clients.py` has further clients, and each way with each transport.
    """
    direct = outcomes(language, servers["stdio", "direct"], "direct")
    for transport, mode in (("stdio", "all"), ("http", "gateway")):
        behind = outcomes(language, servers[transport, mode], mode)
        found = realclients.compared(direct, behind, mode)
        assert [step for step in found if not step.is_right] == []
        assert {step.kind for step in found if step.is_supported} == {*realclients.KINDS}
