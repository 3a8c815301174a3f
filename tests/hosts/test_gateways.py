"""A gateway that is made from paths, not open, or closed."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpg.engine import Engine
from mcpg.errors import McpgError, NotFoundError, SourceError, UsageError
from mcpg.gateway import (
    FileSource,
    FunctionSource,
    Gateway,
    ServerAccess,
    SyncGateway,
    open_sources,
)

SERVER = Path(__file__).parents[1] / "sdkserver.py"
TOOLS = '{"tools": [{"name": "ping", "description": "Check that a machine answers."}]}'
CALLS: dict[str, Callable[[Any], Any]] = {
    "sources": lambda gateway: gateway.sources,
    "diagnostics": lambda gateway: gateway.diagnostics,
    "add": lambda gateway: gateway.add(FunctionSource("f", ())),
    "remove": lambda gateway: gateway.remove("f"),
    "invalidate": lambda gateway: gateway.invalidate("f"),
    "on_change": lambda gateway: gateway.on_change(print),
    "build_index": lambda gateway: gateway.build_index(),
    "warm_up": lambda gateway: gateway.warm_up(),
    "snapshot": lambda gateway: gateway.snapshot(),
    "list_tools": lambda gateway: gateway.list_tools(),
    "describe": lambda gateway: gateway.describe("x"),
    "search": lambda gateway: gateway.search("x"),
    "ask": lambda gateway: gateway.ask("x"),
    "explain": lambda gateway: gateway.explain("x"),
    "plan": lambda gateway: gateway.plan("x"),
    "route": lambda gateway: gateway.route("x"),
    "invoke": lambda gateway: gateway.invoke("x", {}),
    "end_session": lambda gateway: gateway.end_session("x"),
}
# Parts of an asynchronous gateway that are asynchronous themselves.
PARTS = {"sessions", "primitives"}
# What servers of an asynchronous gateway use.
FOR_SERVERS = {
    *("narrow", "read_graph", "sure_names", "is_narrowed", "shows"),
    *("early_snapshot", "reads_files"),
}
# Other constructors.
CONSTRUCTORS = {"from_config"}
NEEDS_NO_LOOP = {"sources", "diagnostics", "add", "remove", "invalidate", "on_change"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a manifest and the configuration of a client, in which the test runs."""
    (tmp_path / "tools.json").write_text(TOOLS, "utf-8")
    config = {"mcpServers": {"shop": {"command": sys.executable, "args": [str(SERVER)]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(config), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_method_is_tried_here() -> None:
    """The table of calls has every public name of both gateways."""
    for kind, others in ((Gateway, PARTS | FOR_SERVERS), (SyncGateway, set())):
        named = {name for name in vars(kind) if not name.startswith("_")}
        assert named == CALLS.keys() | others | CONSTRUCTORS


@pytest.mark.parametrize("name", CALLS)
def test_a_gateway_that_is_not_open_says_so(name: str) -> None:
    """Without `with`, every method of a synchronous gateway is a usage error."""
    with pytest.raises(UsageError, match=r"not open.*context manager"):
        CALLS[name](SyncGateway())


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_gateway_says_so(name: str) -> None:
    """After the `with` block as well."""
    with SyncGateway() as gateway:
        pass
    with pytest.raises(UsageError, match="not open"):
        CALLS[name](gateway)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - NEEDS_NO_LOOP))
@pytest.mark.parametrize("is_closed", [False, True])
def test_an_asynchronous_gateway_says_so_too(name: str, is_closed: bool) -> None:
    """Outside of `async with`, what needs the gateway to run is a usage error."""

    async def use() -> None:
        gateway = Gateway()
        if is_closed:
            async with gateway:
                pass
        await CALLS[name](gateway)

    with pytest.raises(UsageError, match=r"not open.*context manager"):
        anyio.run(use)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_parts_of_a_gateway_that_is_not_open_say_so(name: str) -> None:
    """Its sessions are there once it is open."""
    with pytest.raises(UsageError, match="not open"):
        getattr(Gateway(), name)


@pytest.mark.parametrize("name", sorted(NEEDS_NO_LOOP - {"remove"}))
def test_sources_are_known_before_a_gateway_is_open(name: str) -> None:
    """The list of sources can be read and changed at any time."""
    CALLS[name](Gateway())


def test_a_configuration_is_opened_by_its_path(folder: Path) -> None:
    """The path of a client configuration starts its servers, by the environment of the process."""
    with SyncGateway("mcp.json") as gateway:
        assert [source.id for source in gateway.sources] == ["shop"]
        assert {tool.source_id for tool in gateway.list_tools()} == {"shop"}
        assert [one for one in gateway.diagnostics if one.severity == "error"] == []
    with SyncGateway(folder / "tools.json") as gateway:
        assert gateway.search("does the machine answer").matches[0].tool_id == "ping"


def test_paths_and_sources_stand_together(folder: Path) -> None:
    """Sources of every kind are given at once; the ids of those that are opened make way."""
    sources = ["tools.json", FileSource("tools", "mcp.json"), folder / "mcp.json"]
    assert [one.id for one in Gateway(sources).sources] == ["tools-2", "tools", "shop"]


@pytest.mark.usefixtures("folder")
def test_the_result_of_open_sources_is_given_to_a_gateway() -> None:
    """As the documentation has it."""
    sources, diagnostics = open_sources(["mcp.json", "tools.json"], ServerAccess({}))
    gateway = Gateway(sources, diagnostics=diagnostics)
    assert [one.id for one in gateway.sources] == ["shop", "tools"]


@pytest.mark.parametrize("given", [42, None, [42], [["tools.json"]], b"mcp.json", {"a": 1}.items()])
@pytest.mark.parametrize("kind", [Gateway, SyncGateway])
def test_what_is_no_source_is_a_usage_error(kind: Any, given: Any) -> None:
    """The error says what a source is."""
    with pytest.raises(UsageError, match=r"not a source .*FileSource"):
        kind(given)


@pytest.mark.parametrize("given", [{"mcpServers": {}}, b"mcp.json"])
def test_an_error_names_the_type_that_was_given(given: Any) -> None:
    """A configuration in place of its path is named as what it is, and not by its keys."""
    with pytest.raises(UsageError, match=f"{type(given).__name__} is not a source"):
        Gateway(given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(
            (name, 42)
            for name in ("graph", "live", "services", "limits", "record_calls", "cache_dir")
        ),
        *(("services", None), ("live", {}), ("limits", {"invoke_seconds": 1}), ("graph", ["a"])),
        *(("reserved", 42), ("reserved", "search"), ("diagnostics", 42)),
    ],
)
@pytest.mark.parametrize("kind", [Gateway, SyncGateway])
def test_what_a_gateway_is_made_of_is_checked(kind: Any, name: str, given: Any) -> None:
    """An argument of a wrong type is a usage error that names it, before anything starts."""
    with pytest.raises(UsageError, match=name):
        kind(**{name: given})


def test_the_kinds_of_an_argument_are_named_as_hosts_import_them() -> None:
    """A remedy has the public names, without modules."""
    graph: Any = 42
    with pytest.raises(UsageError) as caught:
        Gateway(graph=graph)
    assert caught.value.remedy == "use GeneratedDocuments or ReviewedDocuments or CustomDocuments"


@pytest.mark.usefixtures("folder")
def test_a_program_ends_though_its_gateway_is_not_closed() -> None:
    """An open gateway is closed with its servers when the interpreter exits."""
    program = (
        "from mcpg.gateway import SyncGateway\n"
        "gateway = SyncGateway('mcp.json').__enter__()\n"
        "print(len(gateway.list_tools()) > 0)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


FORKED = """
import os, sys
from mcpg.errors import UsageError
from mcpg.gateway import SyncGateway

def child():
    for use in (SyncGateway.list_tools, lambda one: one.sources, lambda one: one.invoke("x", {})):
        try:
            use(gateway)
        except UsageError as fault:
            print(fault.message, flush=True)
    with SyncGateway("mcp.json") as other:
        print(len(other.list_tools()) > 0, flush=True)

gateway = SyncGateway("mcp.json").__enter__()
tools = gateway.list_tools()
forked = os.fork()
if not forked:
    child()
    LEAVE
else:
    print(os.waitpid(forked, 0)[1], gateway.list_tools() == tools)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("leave", ["sys.exit()", "gateway.__exit__(None, None, None)"])
@pytest.mark.usefixtures("folder")
def test_a_forked_process_waits_for_no_gateway_of_its_parent(leave: str) -> None:
    """Its methods raise there, its end does nothing, and the parent goes on with it."""
    command = [sys.executable, "-c", FORKED.replace("LEAVE", leave)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    told = "the gateway was opened before this process was forked\n"
    assert (done.returncode, done.stdout) == (0, f"{told * 3}True\n0 True\n")


@pytest.mark.parametrize(
    ("method", "words", "options"),
    [
        *((name, (42,), {}) for name in ("describe", "remove", "invalidate", "invoke")),
        *((name, (None,), {}) for name in ("remove", "invalidate")),
        ("invoke", ("x", {}), {"timeout": "3"}),
        ("invoke", (), {"source_id": 42, "name": "x"}),
    ],
)
def test_what_a_gateway_is_asked_is_checked(
    method: str, words: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Names are texts, and times are numbers."""

    def list_tools() -> None:
        """List the tools."""

    def x() -> None:
        """Do something else."""

    with (
        SyncGateway(FunctionSource("f", (list_tools, x))) as gateway,
        pytest.raises(UsageError, match="of type"),
    ):
        getattr(gateway, method)(*words, **options)


def test_a_graph_is_named_by_its_path(folder: Path) -> None:
    """A path stands for the documents in it."""
    with SyncGateway("tools.json", graph=folder / "tools.json") as gateway:
        assert gateway.search("does the machine answer").matches[0].tool_id == "ping"
        assert [one for one in gateway.diagnostics if one.severity != "info"] == []


@pytest.mark.parametrize("given", [42, None, "mcp.json", ["tools.json"]])
def test_what_is_added_is_a_source(given: Any) -> None:
    """A path is opened first."""
    with pytest.raises(UsageError, match="not a source"):
        Gateway().add(given)
    with SyncGateway() as gateway, pytest.raises(UsageError, match="not a source"):
        gateway.add(given)


@pytest.mark.usefixtures("folder")
def test_a_path_that_does_not_exist_is_not_found() -> None:
    """It is not taken for a word."""
    with pytest.raises(NotFoundError, match=r"nothing\.json"):
        SyncGateway("nothing.json")
    with pytest.raises(McpgError):
        SyncGateway("")


@pytest.mark.parametrize("name", ["search", "ask", "explain", "plan"])
def test_gateways_have_the_parameters_of_an_engine(name: str) -> None:
    """What an engine takes, both gateways take, by the same names and defaults."""
    wanted = inspect.signature(getattr(Engine, name)).parameters
    for kind in (Gateway, SyncGateway):
        method = getattr(kind, name)
        assert inspect.signature(method).parameters == wanted
        assert method.__doc__ == getattr(Engine, name).__doc__


def test_the_synchronous_gateway_has_the_parameters_of_the_other() -> None:
    """Both are made from the same arguments, and called with the same."""
    for name in (*CALLS, "__init__"):
        one, other = getattr(Gateway, name), getattr(SyncGateway, name)
        if callable(one):
            assert inspect.signature(one).parameters == inspect.signature(other).parameters, name


def test_gateways_show_what_they_are() -> None:
    """The representation has the number of sources, and whether the gateway is open."""
    sources = [FunctionSource("f", ())]
    assert repr(Gateway(sources)) == "<Gateway: 1 source, not open>"
    with SyncGateway(sources) as gateway:
        assert repr(gateway) == "<SyncGateway: 1 source, open>"
    assert repr(gateway) == "<SyncGateway: 1 source, not open>"


@pytest.mark.parametrize("kind", [Gateway, SyncGateway])
def test_a_gateway_is_made_from_a_configuration(
    folder: Path, kind: type[Gateway | SyncGateway]
) -> None:
    """`from_config` takes a path or the object, passes options on and starts nothing."""
    given = json.loads((folder / "mcp.json").read_text("utf-8"))
    for configuration in ("mcp.json", Path("mcp.json"), given):
        gateway = kind.from_config(configuration, limit=3)
        assert repr(gateway) == f"<{kind.__name__}: 1 source, not open>"


def test_a_gateway_from_a_configuration_calls_its_servers(folder: Path) -> None:
    """The servers of an object are started, and what is wrong with others is reported."""
    given = json.loads((folder / "mcp.json").read_text("utf-8"))
    given["mcpServers"]["odd"] = {"type": "carrier pigeon"}
    with SyncGateway.from_config(given) as gateway:
        assert [source.id for source in gateway.sources] == ["shop"]
        assert gateway.list_tools()
        places = [one.place for one in gateway.diagnostics if one.severity == "error"]
        assert places == ["the configuration: odd"]


@pytest.mark.parametrize(
    ("configuration", "kind", "message"),
    [
        ("none.json", NotFoundError, "none.json"),
        ("tools.json", SourceError, "names no servers"),
        ({}, SourceError, "names no servers"),
        ({"mcpServers": {"a": {1, 2}}}, UsageError, "not JSON"),
        (42, UsageError, "configuration is of type int"),
        (["mcp.json"], UsageError, "configuration is of type list"),
    ],
)
def test_what_is_no_configuration_is_refused(
    folder: Path, configuration: Any, kind: type[McpgError], message: str
) -> None:
    """Only the configuration of a client makes a gateway by `from_config`."""
    with pytest.raises(kind, match=message):
        Gateway.from_config(configuration)
    assert folder.is_dir()


@pytest.mark.parametrize("option", ["live", "diagnostics", "limit"])
def test_an_option_of_the_wrong_type_is_refused(option: str) -> None:
    """`from_config` checks options as the constructor does."""
    wrong: Any = {option: 1.5}
    with pytest.raises(UsageError, match=f"{option} is of type float"):
        Gateway(**wrong)
    with pytest.raises(UsageError, match=f"{option} is of type float"):
        Gateway.from_config({"mcpServers": {}}, **wrong)
