"""Skills by SEP-2640 through the gateway: of servers over both transports, and of bundles."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from conformance import served as serving_http
from forking import forked
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import RootModel
from skillfolders import write_skill

from mcpg.errors import Code
from mcpg.gateway import FileSource, Gateway, Selection, ServerSource, View, prompts_and_resources
from mcpg.gateway.serve import META_TOOLS, READ_SKILL, SEARCH, ServingOptions
from mcpg.gateway.serve.prompts_and_resources import SOURCES_META_KEY
from mcpg.gateway.serve.server import GatewayServer
from mcpg.gateway.skills import EXTENSION, read_entry
from mcpg.gateway.views import ItemKind
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer
from mcpg.sources.live.server_requests import RawRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from mcpg.gateway import Source

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "skillserver.py"
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=60)
INVALID = -32602


class Result(RootModel[dict[str, Any]]):
    """A result as it is."""


def shop(name: str = "shop", paths: str = "refunds", **env: str) -> ServerSource:
    """A server with the skills at *paths*."""
    env = {"NAME": name, "PATHS": paths, **env}
    server = StdioServer(f"mcp.json: {name}", name, sys.executable, forked(PROGRAM), env)
    return ServerSource(name, server)


@asynccontextmanager
async def served(
    *sources: Source, view: View | None = None, mode: str = "auto"
) -> AsyncIterator[tuple[Client, Gateway]]:
    """Connect a client to a gateway to *sources*."""
    async with Gateway(sources, live=LIVE, reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(view) if view is not None else gateway
        server = GatewayServer(shown, ServingOptions())
        async with server.running(), Client(server.sdk, mode=mode, cache=None) as client:
            yield client, shown


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Return the result of a request, with all of its members."""
    request = RawRequest(method=method, params=params)
    found: Any = await client.session.send_request(request, Result)
    return dict(found.root)


async def list_skills(client: Client) -> dict[str, dict[str, Any]]:
    """Return the skills on all pages by their addresses."""
    found: dict[str, dict[str, Any]] = {}
    params: dict[str, Any] = {}
    while True:
        page = await ask(client, "skills/list", **params)
        found |= {one["uri"]: one for one in page["skills"]}
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


async def read(client: Client, uri: str) -> bytes:
    """Return the bytes of a file."""
    (content,) = (await ask(client, "resources/read", uri=uri))["contents"]
    assert content["uri"] == uri
    return content["text"].encode() if "text" in content else base64.b64decode(content["blob"])


async def check_files(client: Client, skills: Iterable[dict[str, Any]]) -> dict[str, bytes]:
    """Read the files of all *skills*, each as its skill promises."""
    found = {}
    for one in (file for skill in skills for file in skill["resources"]):
        data = found[one["uri"]] = await read(client, one["uri"])
        assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (
            one["size"],
            one["digest"],
        )
    return found


async def converse(client: Client) -> list[Any]:
    """Return all that a client gets of skills."""
    skills = await list_skills(client)
    got = {uri: (await ask(client, "skills/get", uri=uri))["skill"] for uri in skills}
    files = await check_files(client, skills.values())
    return [skills, got, files]


async def test_a_client_gets_what_the_server_has() -> None:
    """Lists, entries and bytes equal those at the server itself, over both transports."""
    paths = "refunds acme/billing/late-fees acme/billing/late-fees/abroad"
    source, env = shop(paths=paths), {"NAME": "shop", "PATHS": paths}
    with serving_http(str(PROGRAM), "{port}", **env) as url:
        async with Client(streamable_http_client(url), cache=None) as client:
            assert client.server_capabilities.extensions == {EXTENSION: {}}
            direct = await converse(client)
        over_http = ServerSource("shop", HttpServer("mcp.json: shop", "shop", url))
        for one in (source, over_http):
            async with served(one) as (client, gateway):
                assert await converse(client) == direct
                assert not gateway.diagnostics
                listed = await ask(client, "skills/list")
                assert listed["_meta"][SOURCES_META_KEY] == dict.fromkeys(direct[0], "shop")
    assert len(direct[0]) == 3
    assert len(direct[2]) == 12
    first = direct[0]["skill://refunds/SKILL.md"]
    assert first["frontmatter"]["metadata"] == {"n": 1.5}
    assert b"\r\n" in direct[2]["skill://refunds/SKILL.md"]


async def test_the_extension_is_declared_where_a_server_has_it() -> None:
    """It is declared until it is known that no server has it, and so are its settings."""
    for fault, expected in (
        ("", {EXTENSION: {}}),
        ("directories", {EXTENSION: {"directoryRead": True}}),
        ("plain", None),
    ):
        async with served(shop(FAULT=fault)) as (client, _):
            assert client.server_capabilities.extensions == {EXTENSION: {"directoryRead": True}}
            await list_skills(client)
            declared = (await ask(client, "server/discover"))["capabilities"]
            assert declared.get("extensions") == expected


async def test_clients_of_the_older_protocol_are_served() -> None:
    """Servers have the extension for clients of later versions only: they have no skills."""
    async with served(shop(), mode="legacy") as (client, _):
        assert client.server_capabilities.extensions is None
        assert not await list_skills(client)
        assert b"# shop" in await read(client, "skill://refunds/SKILL.md")


async def test_no_skill_hides_another() -> None:
    """Of equal addresses the later is renamed, with its files, and each is read from its server."""
    async with served(shop("one"), shop("two"), shop("three", "eu/refunds")) as (client, _):
        skills, got, files = await converse(client)
        moved = "mcpg://two/skill://refunds/SKILL.md"
        assert [*skills] == [
            "skill://refunds/SKILL.md",
            moved,
            "skill://eu/refunds/SKILL.md",
        ]
        assert got == skills
        assert [one["frontmatter"]["description"] for one in skills.values()] == [
            f"Handles refunds of {name}." for name in ("one", "two", "three")
        ]
        for uri, skill in skills.items():
            root = uri.removesuffix("SKILL.md")
            assert skill["frontmatter"]["name"] == root.split("/")[-2]
            assert all(one["uri"].startswith(root) for one in skill["resources"])
            assert read_entry(skill) == skill
        assert b"# two" in files[moved]
        assert files["mcpg://two/skill://refunds/templates/mail.md"].startswith(b"Dear two")
        resources = {one.uri for one in (await client.list_resources()).resources}
        assert resources == {*skills}


@pytest.mark.parametrize("first", ["outer", "inner", "listed"])
async def test_no_file_of_a_skill_is_read_from_another_server(first: str) -> None:
    """A skill in or around that of an earlier server is renamed, as is a resource in one."""
    outer, inner = shop("outer", "acme"), shop("inner", "acme/refunds")
    listed = shop("listed", "other", URIS="skill://acme/notes.md SKILL://ACME/refunds/x")
    sources = {"outer": outer, "inner": inner, "listed": listed}
    ordered = [sources.pop(first), *sources.values()]
    async with served(*ordered) as (client, gateway):
        await gateway.build_index()  # which starts the servers
        skills, _, files = await converse(client)
        resources = {one.uri for one in (await client.list_resources()).resources}
        assert len(skills) == 3
        for uri, skill in skills.items():
            owner = skill["frontmatter"]["description"].removesuffix(".").split()[-1]
            assert (not uri.startswith("mcpg://")) == (owner in (first, "listed")), uri
            root = uri.removesuffix("SKILL.md")
            assert files[f"{root}templates/mail.md"].startswith(f"Dear {owner}".encode())
        # Only a skill that has kept its address takes the addresses in its folder.
        is_taken = {"skill://acme/notes.md": first == "outer"}
        is_taken["SKILL://ACME/refunds/x"] = first != "listed"
        for uri, is_moved in is_taken.items():
            assert (uri in resources) == (not is_moved)
            assert (f"mcpg://listed/{uri}" in resources) == is_moved


async def test_a_skill_is_got_without_a_list() -> None:
    """A skill that no list has is got by its address, and its files are read from its server."""
    hidden = {"UNLISTED": "secret/handshake top"}
    async with served(
        shop("plain", FAULT="plain"), shop("one", "top/refunds"), shop("two", **hidden)
    ) as (
        client,
        _,
    ):
        uri = "skill://secret/handshake/SKILL.md"
        assert uri not in await list_skills(client)
        skill = (await ask(client, "skills/get", uri=uri))["skill"]
        files = await check_files(client, [skill])
        assert b"# two" in files[uri]
        for unknown in (
            "skill://none/SKILL.md",
            "skill://top/SKILL.md",  # whose folder has a skill of another server
            "skill://refunds/templates/SKILL.md",
            "x",
            "mcpg://",
        ):
            with pytest.raises(MCPError) as caught:
                await ask(client, "skills/get", uri=unknown)
            assert caught.value.error.code == INVALID


async def test_folders_are_read() -> None:
    """Those of a server without the setting are known by the files of its skills."""
    for fault in ("directories", ""):
        async with served(shop("one"), shop("two", FAULT=fault)) as (client, _):
            await list_skills(client)
            root = "mcpg://two/skill://refunds"
            listed = await ask(client, "resources/directory/read", uri=root)
            found = {one["uri"]: one.get("mimeType") for one in listed["resources"]}
            assert [*found] == [f"{root}/{name}" for name in ("SKILL.md", "templates", "pixel.png")]
            assert found[f"{root}/templates"] == "inode/directory"
            below = await ask(client, "resources/directory/read", uri=f"{root}/templates")
            names = [(one["name"], one["uri"]) for one in below["resources"]]
            assert names == [(one, f"{root}/templates/{one}") for one in ("mail.md", "eu")]
            for uri in (f"{root}/SKILL.md", "skill://nothing", f"{root}/templates/"):
                with pytest.raises(MCPError) as caught:
                    await ask(client, "resources/directory/read", uri=uri)
                assert caught.value.error.code == INVALID


async def test_generated_skills_have_no_files_to_verify() -> None:
    """They are listed as they are, and their folders by the resources of the server."""
    async with served(shop(FAULT="dynamic")) as (client, gateway):
        (skill,) = (await list_skills(client)).values()
        assert skill["resources"] == "dynamic"
        assert b"# shop" in await read(client, skill["uri"])
        listed = await ask(client, "resources/directory/read", uri="skill://refunds")
        assert [one["uri"] for one in listed["resources"]] == [skill["uri"]]
        assert not gateway.diagnostics


@pytest.mark.parametrize(
    ("fault", "count", "message"),
    [
        ("odd", 1, "left out"),
        ("fails", 0, "did not list its skills: out of order (error -32603)"),
        ("hangs", 0, "did not list its skills in time"),
        ("endless", 300, "skills"),
        ("repeats", 1, ""),
    ],
)
async def test_a_server_that_lies_spoils_no_list(
    fault: str, count: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its skills are left out with a diagnostic; those of others, and its resources, are listed."""
    if fault == "hangs":
        monkeypatch.setattr(prompts_and_resources, "LISTING_SECONDS", 6.0)
    monkeypatch.setattr("mcpg.gateway.directory.MAX_PAGES", 300)
    async with served(shop("liar", "returns", FAULT=fault), shop("good")) as (client, gateway):
        await gateway.build_index()  # which starts the servers
        skills = await list_skills(client)
        assert "skill://refunds/SKILL.md" in skills
        assert all(read_entry(one) == one for one in skills.values())
        assert len(skills) == 1 + count
        resources = {one.uri for one in (await client.list_resources()).resources}
        assert {"skill://returns/SKILL.md", "skill://refunds/SKILL.md"} <= resources
        noticed = [one for one in gateway.diagnostics if one.code == Code.SKILL_LEFT_OUT]
        assert bool(noticed) == bool(message)
        assert {one.place for one in noticed} <= {"liar"}
        if fault == "odd":
            assert len(noticed) == 21
            assert noticed[-1].message == "5 more skills are left out"
        if noticed:
            assert message in noticed[0].message
            assert all(len(one.message) < 500 for one in noticed)


async def test_a_digest_that_does_not_match_is_reported() -> None:
    """Clients get the bytes, which they refuse, and the operator a diagnostic."""
    async with served(shop(FAULT="lies"), shop("good", "returns")) as (client, gateway):
        skills = await list_skills(client)
        await check_files(client, [skills["skill://returns/SKILL.md"]])
        assert b"# shop" in await read(client, "skill://refunds/SKILL.md")
        await list_skills(client)
        (noticed,) = gateway.diagnostics
        assert noticed.code == Code.SKILL_DIGEST_MISMATCH
        assert "'skill://refunds/SKILL.md'" in noticed.message
        with pytest.raises(MCPError):
            await ask(client, "skills/get", uri="skill://refunds/SKILL")
    async with served(shop(paths="refunds other", FAULT="confuses")) as (client, _):
        with pytest.raises(MCPError, match="another skill"):
            await ask(client, "skills/get", uri="skill://refunds/SKILL.md")


async def test_a_description_that_the_skill_lacks_is_reported() -> None:
    """A skill is chosen by its entry, so that its `SKILL.md` has to have the same description."""
    async with served(shop(FAULT="misstates")) as (client, gateway):
        (skill,) = (await list_skills(client)).values()
        await check_files(client, [skill])
        (noticed,) = gateway.diagnostics
        assert noticed.code == Code.SKILL_DIGEST_MISMATCH
        given = {"name": READ_SKILL, "arguments": {"skillId": skill["uri"]}}
        refused = await ask(client, "tools/call", **given)
        assert refused["isError"]
        assert "another 'SKILL.md' than its list" in refused["content"][0]["text"]
        given["arguments"]["path"] = "templates/mail.md"
        assert not (await ask(client, "tools/call", **given)).get("isError")


async def test_a_change_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of skills is one of resources, also if it comes while the gateway warms up."""
    is_published = anyio.Event()

    async def warm_up(_: Gateway) -> None:
        await is_published.wait()

    monkeypatch.setattr(Gateway, "warm_up", warm_up)
    async with served(shop()) as (client, gateway):
        assert len(await list_skills(client)) == 1
        async with client.listen(resources_list_changed=True) as changes:
            await gateway.invoke("publish_shop")
            is_published.set()
            with anyio.fail_after(60):
                await anext(aiter(changes))
        assert "skill://late/SKILL.md" in await list_skills(client)


async def test_views_show_skills_by_server_and_kind() -> None:
    """What a view hides does not exist: no entry, no file, no folder, no extension."""
    sources = shop("one"), shop("two", URIS="note://two")
    file, other = "skill://refunds/templates/mail.md", "note://two"
    for view, skills, readable in (
        (View("two", Selection(servers=("two",))), 1, {file: b"Dear two", other: b"two"}),
        (View("skills", kinds=frozenset({ItemKind.SKILL})), 2, {file: b"Dear one"}),
        (View("notes", kinds=frozenset({ItemKind.RESOURCE})), 0, {other: b"two"}),
        (View("tools", Selection(tools=("publish_*",))), 0, {}),
    ):
        async with served(*sources, view=view) as (client, gateway):
            assert len(await list_skills(client)) == skills
            declared = (await ask(client, "server/discover"))["capabilities"]
            assert ("extensions" in declared) == bool(skills)
            for uri in (file, other, f"mcpg://two/{file}", "mcpg://two/skill://ref%75nds/SKILL.md"):
                is_own = uri in readable or (skills and uri.startswith("mcpg://two"))
                if is_own and "%" not in uri:
                    (content,) = (await ask(client, "resources/read", uri=uri))["contents"]
                    assert content["text"].startswith(readable.get(uri, b"Dear two").decode())
                elif not skills:
                    with pytest.raises(MCPError, match="no server has the resource"):
                        await read(client, uri)
            resources = {one.uri for one in (await client.list_resources()).resources}
            assert (other in resources) == (other in readable)
            assert ("skill://refunds/SKILL.md" in resources) == bool(skills)
            if not skills:
                for method in ("skills/get", "resources/directory/read"):
                    for uri in ("skill://refunds/SKILL.md", "skill://refunds"):
                        with pytest.raises(MCPError, match="no server has"):
                            await ask(client, method, uri=uri)
                assert not gateway.diagnostics


async def test_models_find_and_read_skills_of_servers() -> None:
    """They are found beside those of bundles, and read from their server with its name."""

    async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
        return await ask(client, "tools/call", name=name, arguments=arguments)

    async with served(shop("one"), shop("two"), shop("liar", "returns", FAULT="lies")) as (
        client,
        gateway,
    ):
        await gateway.build_index()
        await list_skills(client)
        await client.list_tools()
        for query, source in (("handles refunds of two", "two"), ("refunds of one", "one")):
            found = await call(client, SEARCH, query=query, kinds=["skill"])
            best = found["structuredContent"]["skills"][0]
            assert best["sourceId"] == source
            prefix = "mcpg://two/" if source == "two" else ""
            assert best["skillId"] == f"{prefix}skill://refunds/SKILL.md"
            note, content = (await call(client, READ_SKILL, skillId=best["skillId"]))["content"]
            assert f"of the skill refunds from {source}" in note["text"]
            assert "templates/eu/mail.md (0 bytes)" in note["text"]
            assert f"# {source}" in content["resource"]["text"]
            path = {"skillId": best["skillId"], "path": "templates/mail.md"}
            _, content = (await call(client, READ_SKILL, **path))["content"]
            assert content["resource"]["text"].startswith(f"Dear {source}")
            for odd in ("templates/mial.md", "../x", "/etc/passwd"):
                refused = await call(client, READ_SKILL, skillId=best["skillId"], path=odd)
                assert refused["isError"]
                assert "has no file" in refused["content"][0]["text"]
        refused = await call(client, READ_SKILL, skillId="skill://returns/SKILL.md")
        assert refused["isError"]
        assert "another 'SKILL.md' than its list" in refused["content"][0]["text"]
        found = await call(client, SEARCH, query="handles refunds of two")
        assert "skills" not in found["structuredContent"]


TEXT = "description: Ties knots. Use it for ropes.\nlicense: MIT\n---\n\nBowline.\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> FileSource:
    """A source of skills in a folder."""
    files: dict[str, str | bytes] = {
        "references/ropes.md": "# Ropes\r\n",
        "chart.png": b"\x89PNG\xff",
        "a b.txt": "x",
    }
    write_skill(tmp_path / "boats/skills", "knots", TEXT, files)
    write_skill(tmp_path / "boats/skills", "Odd Name", "description: Odd.\n---\n")
    return FileSource("boats", f"skills:{tmp_path / 'boats/skills'}")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_skills_of_folders_are_served(folder: FileSource, tmp_path: Path, mode: str) -> None:
    """They are listed, got and read with the bytes of their files, with and without servers."""
    uri = "skill://boats/knots/SKILL.md"
    for sources in ((folder,), (shop("one", "boats/knots"), folder)):
        async with served(*sources, mode=mode) as (client, gateway):
            assert client.server_capabilities.resources is not None
            await gateway.build_index()
            skills, got, files = await converse(client)
            of_server = ["mcpg://one/skill://boats/knots/SKILL.md"] * (len(sources) - 1)
            assert [*skills] == [uri, *(of_server if mode == "auto" else ())]
            assert got == skills
            assert skills[uri]["frontmatter"] == {
                "name": "knots",
                "description": "Ties knots. Use it for ropes.",
                "license": "MIT",
            }
            own = {uri: data for uri, data in files.items() if not uri.startswith("mcpg:")}
            root = tmp_path / "boats/skills/knots"
            names = {"SKILL.md", "references/ropes.md", "chart.png", "a b.txt"}
            read_from = {f"skill://boats/knots/{name.replace(' ', '%20')}": name for name in names}
            assert own == {one: (root / name).read_bytes() for one, name in read_from.items()}
            below = await ask(
                client, "resources/directory/read", uri="skill://boats/knots/references"
            )
            assert [one["name"] for one in below["resources"]] == ["ropes.md"]
            for unknown in ("skill://boats/knots/../x", "skill://boats/Odd%20Name/SKILL.md"):
                with pytest.raises(MCPError):
                    await read(client, unknown)
            listed = [one.uri for one in (await client.list_resources()).resources]
            assert not [one for one in listed if one.startswith("skill://")]


async def test_without_skills_nothing_is_declared(tmp_path: Path) -> None:
    """A gateway of files without skills has the capabilities that it had."""
    (tmp_path / "tools.json").write_text('[{"name": "a", "description": "Does a."}]', "utf-8")
    async with served(FileSource("tools", str(tmp_path / "tools.json"))) as (client, _):
        assert client.server_capabilities.extensions is None
        assert client.server_capabilities.resources is None
        with pytest.raises(MCPError, match="Method not found"):
            await ask(client, "skills/list")
