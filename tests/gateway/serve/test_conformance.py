"""The conformance suite of MCP, at a server and a client, with and without a gateway between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import conformance
import pytest

if TYPE_CHECKING:
    from pathlib import Path

LEAST = 38


NEEDED = "needs CONFORMANCE_MODULES to name a node_modules of the suite, and Node 22"
CLIENT_SCENARIOS = ("tools_call", "elicitation-sep1034-client-defaults", "auth/scope-step-up")


def test_nothing_that_passes_at_a_server_fails_behind_the_gateway(tmp_path: Path) -> None:
    """Every scenario of the suite has the same outcome with `mcpg serve` in between."""
    command = conformance.suite()
    if command is None:
        pytest.skip(NEEDED)
    with conformance.served(str(conformance.SERVER), "{port}") as address:
        direct = conformance.run(command, address, tmp_path / "direct")
        with conformance.served(*conformance.behind(address, tmp_path)) as gateway:
            behind = conformance.run(command, gateway, tmp_path / "behind")
    assert sum(passed for passed, _ in direct.values()) >= LEAST
    assert {name: one for name, one in behind.items() if one[1]} == {
        name: one for name, one in direct.items() if one[1]
    }
    assert behind == direct


@pytest.mark.parametrize("scenario", CLIENT_SCENARIOS)
def test_a_client_passes_behind_the_gateway_as_alone(scenario: str, tmp_path: Path) -> None:
    """`mcpg login` and `mcpg serve` pass a scenario that the client of the SDK passes alone."""
    command = conformance.suite()
    if command is None:
        pytest.skip(NEEDED)
    for kind in ("sdk", "mcpg"):
        is_passed, (_, failed) = conformance.run_client(command, kind, scenario, tmp_path)
        assert is_passed, kind
        assert failed == 0
