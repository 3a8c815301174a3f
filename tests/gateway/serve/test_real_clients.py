"""Clients of the SDKs list, search, call, read and ask behind the gateway as at the server."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import realclients

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Any]]:
    """Serve directly and behind a gateway."""
    with realclients.servers(tmp_path_factory.mktemp("clients")) as found:
        yield found


def client(language: str) -> list[str]:
    """Return the command of the driver of a language."""
    if language == "python":
        return [sys.executable, str(realclients.PYTHON_DRIVER), "mcp2"]
    modules = Path(os.environ.get("CONFORMANCE_MODULES", "/nonexistent"))
    own = modules / ".bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None or not (modules / "@modelcontextprotocol" / "sdk").is_dir():
        pytest.skip("needs CONFORMANCE_MODULES to name a node_modules with the TypeScript SDK")
    return [node, str(realclients.TYPESCRIPT_DRIVER), str(modules)]


@pytest.mark.parametrize("transport", realclients.TRANSPORTS)
@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_client_gets_what_the_server_gives(
    servers: dict[tuple[str, str], Any], language: str, transport: str
) -> None:
    """Every outcome is that of the server, by the names of tools and by the meta-tools."""
    command = client(language)
    direct = realclients.outcomes(command, servers[transport, "direct"], "direct")
    for mode in realclients.MODES:
        behind = realclients.outcomes(command, servers[transport, mode], mode)
        found = realclients.compared(direct, behind, mode)
        assert [step for step in found if not step.is_right] == []
        assert {step.kind for step in found if step.is_supported} == {*realclients.KINDS}
