"""Hints of a server that nobody reviewed weigh no more than a description."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import mcpg
from mcpg.errors import Code
from mcpg.gateway import FileSource, Gateway, ServerSource
from mcpg.sources.client_config import StdioServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

SERVERS = str(Path(__file__).parent.parent / "servers.py")
ARGS = ["-S", SERVERS, "stuffed"]
QUERY = "track my parcel"


def configured(folder: Path, where: str, *, trusts: bool) -> list[str]:
    """Configure the server in `mcpg.toml` or as a client does; return what `bundle` is given."""
    if where == "mcpg.toml":
        lines = [f"command = {json.dumps(sys.executable)}", f"args = {json.dumps(ARGS)}"]
        text = "\n".join(["[[sources]]", 'id = "post"', *lines, f"trust_hints = {trusts}".lower()])
        (folder / where).write_text(text, "utf-8")
        return []
    entry: dict[str, Any] = {"command": sys.executable, "args": ARGS}
    entry |= {"mcpg": {"trustHints": True}} if trusts else {}
    (folder / where).write_text(json.dumps({"mcpServers": {"post": entry}}), "utf-8")
    return [where]


def found(run: Callable[..., Run], *arguments: str) -> list[str]:
    """Return the names of the tools that a search finds."""
    result = run("search", *arguments, "--format", "json")
    return [match["toolName"] for match in json.loads(result.out)["matches"]]


@pytest.mark.parametrize("where", ["mcpg.toml", "mcp.json"])
def test_a_server_is_trusted_by_its_entry(
    where: str, folder: Path, run: Callable[..., Run]
) -> None:
    """By default its hints are text; `trust_hints` makes them hints, of which a bundle has them."""
    built = run("bundle", *configured(folder, where, trusts=False), "-o", "graph.mdld")
    assert built.code == 0
    assert f"warning[{Code.HINT_UNTRUSTED}]" in built.err
    assert "'helper'" in built.err
    assert found(run, QUERY)[0] == "parcel_track"
    assert found(run, "umbrella") == ["modest"]
    shown = json.loads(run("show", "helper", "--format", "json").out)["tool"]
    assert shown["aliases"] == shown["keywords"] == []
    assert (shown["claims"][:2], shown["isReadOnly"]) == (["track my parcel", "ship"], True)
    assert "stated by the server" in run("show", "helper").out

    built = run("bundle", *configured(folder, where, trusts=True), "-o", "graph.mdld")
    assert (built.code, Code.HINT_UNTRUSTED in built.err) == (0, False)
    assert found(run, QUERY)[0] == "helper"
    shown = json.loads(run("show", "helper", "--format", "json").out)["tool"]
    assert shown["aliases"] == ["track my parcel"]
    assert "stray" in shown["keywords"]
    assert shown["claims"] == []


def test_a_recorded_list_counts_like_the_server(folder: Path, run: Callable[..., Run]) -> None:
    """A file or folder of `[[sources]]` is trusted alone, and a changed setting builds anew."""
    (folder / "lists").mkdir()
    tools = [
        {"name": "parcel_track", "description": "Track a parcel by its number."},
        {"name": "helper", "_meta": {"searchAliases": [QUERY]}},
    ]
    recorded = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    (folder / "lists" / "post.json").write_text(json.dumps(recorded), "utf-8")
    for trusts, first in ((False, "parcel_track"), (True, "helper"), (False, "parcel_track")):
        setting = f"trust_hints = {trusts}".lower()
        (folder / "mcpg.toml").write_text(f'[[sources]]\npath = "lists"\n{setting}\n', "utf-8")
        assert run("bundle", "-o", "graph.mdld").code == 0
        assert found(run, QUERY)[0] == first


def test_a_bundle_of_a_bundle_keeps_what_was_trusted(folder: Path, run: Callable[..., Run]) -> None:
    """Documents state hints that were trusted as hints, and claims only as `_meta`."""
    for trusts in (True, False):
        given = configured(folder, "mcp.json", trusts=trusts)
        assert run("bundle", *given, "-o", "first.mdld").code == 0
        assert run("generate", "first.mdld", "-o", "docs", "--prune").code == 0
        assert run("bundle", "docs", "-o", "second.mdld").code == 0
        assert (found(run, QUERY, "-b", "second.mdld")[0] == "helper") is trusts
        engine = mcpg.load("second.mdld")
        tool = engine.catalog.find_named("helper")
        assert (tool.hints.aliases == (QUERY,)) is trusts
        assert tool.meta["searchAliases"] == [QUERY]


def test_explain_names_claims(folder: Path, run: Callable[..., Run]) -> None:
    """A word that only the server states is explained by the field `claims`."""
    run("bundle", *configured(folder, "mcp.json", trusts=False), "-o", "graph.mdld")
    explained = json.loads(run("explain", "umbrella", "--format", "json").out)
    assert '"claims"' in json.dumps(explained["matches"])


@pytest.mark.parametrize(
    "wrong", [{"mcpg": True}, {"mcpg": {"trustHints": "yes"}}, {"mcpg": {"trust": True}}]
)
def test_a_wrong_setting_of_a_client_is_an_error(
    wrong: dict[str, Any], folder: Path, run: Callable[..., Run]
) -> None:
    """An object `mcpg` that makes no sense trusts nobody: its server is not used."""
    entry = {"command": sys.executable, "args": ARGS, **wrong}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"post": entry}}), "utf-8")
    built = run("bundle", "mcp.json", "-o", "graph.mdld")
    assert built.code != 0
    assert "trustHints" in built.err


@pytest.mark.parametrize("trusts", [False, True])
def test_a_gateway_trusts_by_source(folder: Path, trusts: bool) -> None:
    """Sources of a host say which hints count: of a server, and of a list in a file."""
    tools = [
        {"name": "letter_send", "description": "Send a letter by post."},
        {"name": "friend", "_meta": {"searchAliases": ["send a letter"]}},
    ]
    (folder / "letters.json").write_text(json.dumps({"tools": tools}), "utf-8")
    server = StdioServer("post", "post", sys.executable, tuple(ARGS), trust_hints=trusts)
    file = FileSource("letters", "letters.json", trust_hints=trusts)

    async def first_of(query: str, *sources: FileSource | ServerSource) -> str:
        async with Gateway(sources) as gateway:
            return (await gateway.search(query)).matches[0].tool_name

    both = ServerSource("post", server), file
    assert (anyio.run(first_of, QUERY, *both) == "helper") is trusts
    for sources in (both, (file,)):
        assert (anyio.run(first_of, "send a letter", *sources) == "friend") is trusts
