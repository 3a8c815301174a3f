"""Options and settings to a gateway."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcpg.bundle import assemble, build_bundle, encode_bundle
from mcpg.cli.settings import Settings
from mcpg.errors import Code, NotFoundError, UsageError
from mcpg.gateway import Gateway, Limits
from mcpg.gateway.from_settings import GatewayRequest, make_gateway, read_limits
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SERVERS = str(Path(__file__).parent.parent / "servers.py")
MANIFEST = '{"tools": [{"name": "ping", "description": "Say hello."}, {"name": "pong"}]}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a manifest, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(MANIFEST, "utf-8")
    return tmp_path


def configured(folder: Path, mode: str = "pages") -> None:
    """Write a configuration with one server."""
    entry = {"id": "mine", "command": sys.executable, "args": ["-S", SERVERS, mode]}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
    (folder / "mcpg.toml").write_text(f"[[sources]]\n{lines}", "utf-8")


def inside(gateway: Gateway, ask: Callable[[], Awaitable[Any]]) -> Any:
    """Open a gateway, ask it, and close it."""

    async def run() -> Any:
        async with gateway:
            return await ask()

    return anyio.run(run)


def ids(gateway: object) -> list[str]:
    """Name the sources of a gateway."""
    return [source.id for source in gateway.sources]  # type: ignore[attr-defined]


def test_who_names_the_sources(folder: Path) -> None:
    """What is named goes before the configuration file, and that before the bundle."""
    settings = Settings(folder, {"MCPG_BUNDLE": "tools.json"})
    configured(folder)
    (folder / "other.json").write_text(MANIFEST, "utf-8")
    assert ids(make_gateway(GatewayRequest(["other.json"]), settings)) == ["other"]
    assert ids(make_gateway(GatewayRequest(), settings)) == ["mine"]
    assert ids(make_gateway(GatewayRequest(source_id="all"), settings)) == ["mine"]
    (folder / "mcpg.toml").unlink()
    settings = Settings(folder, {"MCPG_BUNDLE": "tools.json"})
    assert ids(make_gateway(GatewayRequest(), settings)) == ["tools"]


def test_a_bundle_or_a_graph_alone_is_the_source(folder: Path) -> None:
    """A bundle that an option names precedes the file's sources; a graph follows these."""
    (folder / "graph.mdld").write_bytes(encode_bundle(build_bundle(assemble(read_sources([])))))
    option, variable = {"bundle": ["tools.json"]}, {"MCPG_BUNDLE": "tools.json"}
    graph = GatewayRequest(graph="graph.mdld")
    assert ids(make_gateway(graph, Settings(folder))) == ["graph"]
    assert ids(make_gateway(graph, Settings(folder, variable))) == ["graph"]
    assert ids(make_gateway(graph, Settings(folder, flags=option))) == ["tools"]
    configured(folder)
    assert ids(make_gateway(graph, Settings(folder))) == ["mine"]
    assert ids(make_gateway(GatewayRequest(), Settings(folder, variable))) == ["mine"]
    assert ids(make_gateway(GatewayRequest(), Settings(folder, flags=option))) == ["tools"]
    with pytest.raises(UsageError, match="beside other sources"):
        make_gateway(GatewayRequest(["tools.json"]), Settings(folder, flags=option))


def test_what_is_named_by_nobody(folder: Path) -> None:
    """Without any source there is nothing to open; of several bundles some may be missing."""
    with pytest.raises(UsageError, match="no source is named"):
        make_gateway(GatewayRequest(), Settings(folder))
    with pytest.raises(NotFoundError, match=r"none\.mdld"):
        make_gateway(GatewayRequest(), Settings(folder, {"MCPG_BUNDLE": "none.mdld"}))
    some = Settings(folder, flags={"bundle": ["none.mdld", "tools.json"]})
    gateway = make_gateway(GatewayRequest(), some)
    assert ids(gateway) == ["tools"]
    assert [one.code for one in gateway.diagnostics] == [Code.GRAPH_PATH_MISSING]


def test_a_configured_server_is_asked(folder: Path) -> None:
    """The gateway lists and searches what the server of the configuration has."""
    configured(folder)
    gateway = make_gateway(GatewayRequest(), Settings(folder), reserved=("tool_1",))
    tools = inside(gateway, gateway.list_tools)
    assert {tool.source_id for tool in tools} == {"mine"}
    assert "tool_1" not in {tool.id for tool in tools}
    assert len(tools) == 3


def test_limits_and_services_come_from_settings(folder: Path) -> None:
    """Times, sizes and caches are those that are set; a long time is granted to callers, too."""
    usual = Limits()
    assert read_limits(Settings(folder)) == usual
    environment = {"MCPG_INVOKE_TIMEOUT": "7200", "MCPG_SEARCH_CACHE": "memory"}
    (folder / "mcpg.toml").write_text("[limits]\nresult_bytes = 99", "utf-8")
    settings = Settings(folder, environment)
    limits = read_limits(settings)
    assert (limits.invoke_seconds, limits.longest_seconds, limits.result_bytes) == (7200, 7200, 99)
    gateway = make_gateway(GatewayRequest(["tools.json"]), settings)
    assert gateway.limits == limits
    engine = inside(gateway, gateway.build_index).engine
    assert engine.services is not None
    assert engine.services.cache is not None
    assert engine.services.embeddings is None


def test_a_graph_of_documents(folder: Path) -> None:
    """The documents that are named are searched in place of what the sources say."""
    (folder / "written").mkdir()
    text = MANIFEST.replace("Say hello.", "Ask whether somebody is there.")
    (folder / "written" / "tools.json").write_text(text, "utf-8")
    made = build_bundle(assemble(read_sources(["written/tools.json"])))
    (folder / "graph.mdld").write_bytes(encode_bundle(made))
    wanted = GatewayRequest(["tools.json"], graph="graph.mdld")
    gateway = make_gateway(wanted, Settings(folder))
    (match, *_) = inside(gateway, partial(gateway.search, "is somebody there")).matches
    assert match.tool_id == "ping"


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (GatewayRequest(["tools.json", "api.json"], header=["A: b"]), "exactly one server"),
        (GatewayRequest(["tools.json"], server_timeout=0), "0 is not a valid timeout"),
        (GatewayRequest(["-"]), "standard input"),
    ],
)
def test_options_that_make_no_sense(folder: Path, wanted: GatewayRequest, says: str) -> None:
    """A mistake is told before anything is opened."""
    with pytest.raises(UsageError, match=says):
        make_gateway(wanted, Settings(folder))
