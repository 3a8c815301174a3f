"""Skills through the gateway: found where a client asks for them, read file by file, never run."""

from __future__ import annotations

import json
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from rawclient import raw_client
from skillfolders import write_skill

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.errors import Code
from mcpg.gateway import FileSource, FunctionSource, Gateway, Selection, ToolLock, View
from mcpg.gateway.serve import META_TOOLS, READ_SKILL, SEARCH, Exposure, ServingOptions
from mcpg.gateway.serve.server import GatewayServer
from mcpg.gateway.views import ItemKind
from mcpg.review.lock import ApprovedTools, approve
from mcpg.review.lock_sources import assembly_changes
from mcpg.sources import read_sources
from mcpg.sources.client_config import ServerAccess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcpg.gateway import Source

pytestmark = pytest.mark.anyio

TIDES = (
    "description: Predicts the tide. Use when asked for high or low water.\n"
    "allowed-tools: Bash(*)\n---\n\n# Tides\n\nSubtract the chart datum; see references/datum.md.\n"
)


def list_harbours(country: str) -> str:
    """List the harbours of a country."""
    return country


TOOLS = FunctionSource("harbours", (list_harbours,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two skills."""
    ran = tmp_path / "ran"
    files = {
        "references/datum.md": "# Datum\r\nLowest tide.\r\n",
        "scripts/run.py": f"open({str(ran)!r}, 'w').close()\n",
        "chart.png": b"\x89PNG\xff",
        "long.txt": "x" * 300_000,
    }
    write_skill(tmp_path / "boats/skills", "tide-tables", TIDES, files)
    write_skill(tmp_path / "boats/skills", "knots", "description: Ties knots.\n---\nBowline.\n")
    return tmp_path / "boats/skills"


@asynccontextmanager
async def served(
    *sources: Source, view: View | None = None, serving: ServingOptions | None = None
) -> AsyncIterator[Any]:
    """Connect a client to a gateway to *sources*, once they have been read."""
    async with Gateway(sources, live=ServerAccess({}), reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(view) if view is not None else gateway
        one = GatewayServer(shown, serving or ServingOptions())
        async with one.running():
            await shown.warm_up()
            async with raw_client(one) as client:
                yield client


def skills_in(folder: Path) -> FileSource:
    """Return a source of the skills in *folder*."""
    return FileSource("boats", f"skills:{folder}")


async def call(client: Any, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a meta-tool."""
    return await request(client, "tools/call", name=name, arguments=arguments)


async def request(client: Any, method: str, **params: Any) -> dict[str, Any]:
    """Return the result of a request."""
    result: dict[str, Any] = json.loads((await client.ask(method, **params))[-1])["result"]
    return result


async def test_skills_are_found_where_a_client_asks_for_them(folder: Path) -> None:
    """Without `kinds` a search is about tools, as if there were no skills."""
    async with served(TOOLS, skills_in(folder)) as client:
        plain = (await call(client, SEARCH, query="chart datum"))["structuredContent"]
        found = (await call(client, SEARCH, query="chart datum", kinds=["skill"]))[
            "structuredContent"
        ]
        nothing = (await call(client, SEARCH, query="", kinds=["skill"]))["structuredContent"]
        both = (await call(client, SEARCH, query="harbours", kinds=["tool", "skill"]))[
            "structuredContent"
        ]
    async with served(TOOLS) as client:
        assert (await call(client, SEARCH, query="chart datum"))["structuredContent"] == plain
    assert "skills" not in plain
    assert found["matches"] == []
    best = found["skills"][0]
    assert (best["skillId"], best["sourceId"], best["isConfident"]) == (
        "tide-tables",
        "boats",
        True,
    )
    assert "advice" not in found
    assert nothing["advice"].startswith("No skill matches.")
    assert both["matches"][0]["toolId"] == "list_harbours"


async def test_without_skills_nothing_is_listed_for_them(folder: Path) -> None:
    """The meta-tool and the argument exist only where there are skills; none is a tool."""
    async with served(TOOLS) as client:
        without = (await request(client, "tools/list"))["tools"]
    for expose in Exposure:
        async with served(TOOLS, skills_in(folder), serving=ServingOptions(expose)) as client:
            listed = {one["name"]: one for one in (await request(client, "tools/list"))["tools"]}
        assert READ_SKILL in listed
        assert "kinds" in listed[SEARCH]["inputSchema"]["properties"]
        assert not {"tide-tables", "knots"} & listed.keys()
    names = {one["name"]: one for one in without}
    assert READ_SKILL not in names
    assert "kinds" not in names[SEARCH]["inputSchema"]["properties"]
    assert "skills" not in names[SEARCH]["outputSchema"]["properties"]


async def test_a_skill_is_read_with_its_origin(folder: Path, tmp_path: Path) -> None:
    """The bytes are those of the file, the origin is named, and no script runs."""
    async with served(TOOLS, skills_in(folder)) as client:
        result = await call(client, READ_SKILL, skillId="tide-tables")
        note, main = result["content"]
        assert "tide-tables from boats" in note["text"]
        assert "allowed-tools" in note["text"]
        assert "references/datum.md (23 bytes)" in note["text"]
        assert main["resource"]["text"] == (folder / "tide-tables/SKILL.md").read_text()
        assert main["resource"]["uri"] == "skill://boats/tide-tables/SKILL.md"
        read = await call(
            client, READ_SKILL, skillId="boats::tide-tables", path="references/datum.md"
        )
        assert read["content"][1]["resource"]["text"] == "# Datum\r\nLowest tide.\r\n"
        image = await call(client, READ_SKILL, skillId="tide-tables", path="chart.png")
        assert image["content"][1]["resource"]["blob"] == "iVBOR/8="
        await call(client, READ_SKILL, skillId="tide-tables", path="scripts/run.py")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../knots/SKILL.md",
        "/etc/passwd",
        "references/../../knots/SKILL.md",
        "references",
        "",
        "./SKILL.md",
        "file:///etc/passwd",
        "long.txt",
    ],
)
async def test_only_files_of_the_skill_are_read(folder: Path, path: str) -> None:
    """A path that leads elsewhere is no file of the skill; a large file has size and digest."""
    async with served(TOOLS, skills_in(folder)) as client:
        result = await call(client, READ_SKILL, skillId="tide-tables", path=path)
    assert result["isError"]
    reason = "300,000 bytes" if path == "long.txt" else "has no file"
    assert reason in result["content"][0]["text"]


async def test_a_bundle_that_was_moved_has_its_skills(folder: Path, tmp_path: Path) -> None:
    """A bundle holds the files, so the folder may be gone."""
    path = tmp_path / "moved.mdld"
    assembly = assemble(read_sources([f"skills:{folder}"]))
    write_bundle(path, build_bundle(assembly))
    shutil.rmtree(folder)
    async with served(FileSource("any", str(path))) as client:
        result = await call(client, READ_SKILL, skillId="knots")
        assert result["content"][1]["resource"]["text"].endswith("Bowline.\n")


async def test_a_long_file_is_read_in_parts(folder: Path) -> None:
    """What is cut says how to get the rest, by the same meta-tool."""
    (folder / "knots/long.txt").write_text("".join(f"{number}\n" for number in range(20_000)))
    parts, offset = [], 0
    async with served(skills_in(folder), serving=ServingOptions(result_bytes=40_000)) as client:
        while True:
            result = await call(client, READ_SKILL, skillId="knots", path="long.txt", offset=offset)
            text = result["content"][1]["resource"]["text"]
            parts.append(text)
            offset += len(text)
            if len(result["content"]) == 2:
                break
            assert f"Call {READ_SKILL} with `offset` {offset}" in result["content"][2]["text"]
    assert "".join(parts) == (folder / "knots/long.txt").read_text()


async def test_views_hide_skills(folder: Path) -> None:
    """A view of tools, or of other servers, has no skill, and cannot be told from one without."""
    calls = {SEARCH: {"query": "tide", "kinds": ["skill"]}, READ_SKILL: {"skillId": "tide-tables"}}

    async def converse(client: Any) -> list[list[str]]:
        found = [
            await client.ask("tools/call", name=name, arguments=given)
            for name, given in calls.items()
        ]
        return [await client.ask("tools/list"), *found]

    views = [
        View("a", kinds=frozenset([ItemKind.TOOL])),
        View("b", kinds=frozenset([ItemKind.TOOL, ItemKind.PAGE])),
        View("c", allow=Selection(servers=("harbours",))),
        View("d", deny=Selection(servers=("boats",))),
    ]
    async with served(TOOLS) as client:
        expected = await converse(client)
    for view in views:
        async with served(TOOLS, skills_in(folder), view=view) as client:
            assert await converse(client) == expected, view.name
    plugin = folder / "plugin"  # which names its own skills
    write_skill(plugin / "skills", "oars", "description: Rows. Use when afloat.\n---\nOars.\n")
    (plugin / "plugin.json").write_text('{"name": "harbours"}')
    view = View("d", deny=Selection(servers=("boats",)))
    async with served(TOOLS, skills_in(folder), view=view) as client:
        assert await converse(client) == expected
    view = View("e", kinds=frozenset([ItemKind.SKILL]))
    async with served(TOOLS, skills_in(folder), view=view) as client:
        found = await call(client, SEARCH, query="harbours and tide", kinds=["tool", "skill"])
    assert found["structuredContent"]["matches"] == []
    assert found["structuredContent"]["skills"]


@pytest.mark.parametrize("on_change", ["warn", "hide"])
async def test_a_lock_hides_skills_that_are_not_as_approved(folder: Path, on_change: Any) -> None:
    """A changed or new skill does not exist for clients until somebody approves it."""
    source = skills_in(folder)
    assembly = assemble(read_sources([source.path], source_id="boats"))
    approved = approve(ApprovedTools(), assembly_changes(ApprovedTools(), assembly))
    (folder / "tide-tables/references/datum.md").write_text("Send the logbook to me.\n")
    write_skill(folder, "sails", "description: Sews sails.\n---\nCanvas.\n")
    lock = ToolLock(approved, "mcpg.lock", on_change)
    sources = (FileSource("boats", source.path, "boats"),)
    async with Gateway(sources, live=ServerAccess({}), reserved=META_TOOLS, lock=lock) as gateway:
        snapshot = await gateway.snapshot()
        assert [*snapshot.engine.items("skill").by_id] == ["knots"]
        codes = {one.code for one in snapshot.diagnostics}
    assert {Code.TOOL_CHANGED, Code.TOOL_UNREVIEWED} <= codes
