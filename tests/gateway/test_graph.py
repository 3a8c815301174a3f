"""Graphs that were made elsewhere: mapped to the tools that there are, and never in the way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest
from builders import ids

from mcpg.bundle import Bundle, apply_plan, assemble, build_bundle, plan_folder, write_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import tool_uri
from mcpg.errors import Code, UsageError
from mcpg.gateway import CustomDocuments, FileSource, Gateway, ReviewedDocuments
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcpg.bundle import Assembly
    from mcpg.catalog.model import Tool
    from mcpg.gateway import DocumentSource

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio


@pytest.fixture
def source(manifest: Manifest) -> FileSource:
    """Return a source of two tools."""
    return manifest("mail", mail_send="Send a mail", mail_drop="Drop a mail")


def assembled(*sources: FileSource) -> Assembly:
    """Put sources together as `mcpg bundle` does."""
    return assemble(read_sources([source.path for source in sources]))


async def noticed(
    source: FileSource, graph: DocumentSource, query: str
) -> tuple[list[str], set[str]]:
    """Return what is found for *query* and which diagnostics a gateway has."""
    async with Gateway([source], graph=graph) as gateway:
        found = ids((await gateway.search(query)).matches)
        assert len(await gateway.list_tools()) == 2
        return found, {one.code for one in gateway.diagnostics}


async def test_a_bundle_of_the_same_tools_is_opened_as_it_is(
    source: FileSource, tmp_path: Path
) -> None:
    """A graph that fits is searched through its own index, which is written beside it."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assembled(source)))
    assert await noticed(source, ReviewedDocuments(str(path)), "drop") == (["mail_drop"], set())
    assert (tmp_path / "graph.mdld.idx").exists()


async def test_a_folder_and_one_document_are_graphs(source: FileSource, tmp_path: Path) -> None:
    """Documents are read from a folder or a file; a tool without one is found all the same."""
    folder = tmp_path / "documents"
    apply_plan(plan_folder(folder, assembled(source).texts))
    assert await noticed(source, ReviewedDocuments(str(folder)), "drop") == (["mail_drop"], set())
    document = next(folder.rglob("*mail_send*.md"))
    found = await noticed(source, ReviewedDocuments(str(document)), "drop")
    assert found == (["mail_drop"], {Code.GRAPH_TOOL_UNDOCUMENTED})


async def test_documents_of_other_tools_are_never_offered(
    source: FileSource, manifest: Manifest, tmp_path: Path
) -> None:
    """A document of a tool that no source has is left out, with a warning."""
    path = tmp_path / "graph.mdld"
    other = manifest("parcels", parcel_status="Tell where a parcel is")
    write_bundle(path, build_bundle(assembled(source, other)))
    graph = ReviewedDocuments(str(path))
    assert await noticed(source, graph, "parcel") == ([], {Code.GRAPH_DOCUMENT_UNMAPPED})
    assert (await noticed(source, graph, "drop"))[0] == ["mail_drop"]


async def test_a_file_called_like_a_tool_is_about_it(source: FileSource, tmp_path: Path) -> None:
    """Prose without any front matter is mapped by its name."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "mail_send.md").write_text(
        "---\ntool: mail_send\n---\n# Letters\n\nPost a missive.\n"
    )
    found, codes = await noticed(source, ReviewedDocuments(str(folder)), "post a missive")
    assert found[0] == "mail_send"
    assert Code.DOCUMENT_ATTACHED in codes


@pytest.mark.parametrize(
    ("graph", "code"),
    [
        (ReviewedDocuments(""), Code.GRAPH_PATH_MISSING),
        (ReviewedDocuments("no/such/graph.mdld"), Code.GRAPH_PATH_MISSING),
        (CustomDocuments(None), Code.GRAPH_FACTORY_MISSING),
        (CustomDocuments(lambda _: 1 / 0), Code.GRAPH_BUILD_FAILED),  # type: ignore[arg-type, return-value]
        (CustomDocuments(lambda _: ["no document"]), Code.GRAPH_BUILD_FAILED),  # type: ignore[list-item]
    ],
)
async def test_a_graph_that_cannot_be_had_breaks_nothing(
    source: FileSource, graph: DocumentSource, code: str
) -> None:
    """What the sources say is searched instead, and a diagnostic tells why."""
    assert await noticed(source, graph, "drop") == (["mail_drop"], {code})


async def test_a_broken_bundle_breaks_nothing(source: FileSource, tmp_path: Path) -> None:
    """A graph file that is damaged is told, and searches go on."""
    path = tmp_path / "graph.mdld"
    path.write_text('{"version": 1, "documents": [{"path": "../../up.md", "content": 3}]}')
    found = await noticed(source, ReviewedDocuments(str(path)), "drop")
    assert found == (["mail_drop"], {Code.GRAPH_BUILD_FAILED})


async def test_a_host_makes_its_own_documents(source: FileSource) -> None:
    """The documents that a host's function makes of the tools are what is searched."""

    def made(tools: Sequence[Tool]) -> list[SourceDocument]:
        names = [tool.id for tool in tools]
        assert names == ["mail_drop", "mail_send"]
        return [
            SourceDocument(f"{name}.md", f"---\ntool: {name}\n---\nAbout merge trains.\n")
            for name in names[:1]
        ]

    found, codes = await noticed(source, CustomDocuments(made), "merge trains")
    assert found == ["mail_drop"]
    assert codes == {Code.DOCUMENT_ATTACHED, Code.GRAPH_TOOL_UNDOCUMENTED}


async def test_a_host_may_make_its_documents_asynchronously(source: FileSource) -> None:
    """An asynchronous function runs on the event loop of the gateway."""
    loop = asyncio.get_running_loop()

    async def made(tools: Sequence[Tool]) -> list[SourceDocument]:
        assert asyncio.get_running_loop() is loop
        return [SourceDocument(f"{tools[0].id}.md", "About merge trains.\n")]

    assert (await noticed(source, CustomDocuments(made), "merge trains"))[0] == ["mail_drop"]


async def test_a_gateway_closes_while_documents_are_awaited(source: FileSource) -> None:
    """Closing cancels the function of the host."""
    started, ended = anyio.Event(), anyio.Event()

    async def made(_: Sequence[Tool]) -> list[SourceDocument]:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def search(gateway: Gateway) -> None:
        with suppress(UsageError):
            await gateway.search("merge trains")

    opening = Gateway([source], graph=CustomDocuments(made))
    async with anyio.create_task_group() as group, opening as gateway:
        group.start_soon(search, gateway)
        await started.wait()
    await ended.wait()


@pytest.mark.parametrize("kind", ["file", "custom", "foreign"])
async def test_relations_that_hints_state_hold_beside_a_graph(
    kind: str, source: FileSource, tmp_path: Path
) -> None:
    """What a hints file relates is related whether or not the graph has a document of the tool."""
    hints = tmp_path / "a.hints.yaml"
    hints.write_text(
        "tools:\n"
        "  mail_drop: {aliases: [stripes], nextSteps: [mail_send]}\n"
        "  mail_send: {aliases: [lanterns], related: [mail_drop]}\n"
        "  nobody: {aliases: [none]}\n"
    )
    document = SourceDocument("mail_send.md", "---\ntool: mail_send\n---\nPost a missive.\n")
    (tmp_path / document.path).write_text(document.content)
    other = SourceDocument("other.md", "---\ntitle: gone\nsource: away\nname: gone\n---\nGone.\n")
    graph: DocumentSource = ReviewedDocuments(str(tmp_path / document.path))
    if kind != "file":
        made = [document, other] if kind == "foreign" else [document]
        graph = CustomDocuments(lambda _: made)
    async with Gateway([source, FileSource("hints", str(hints))], graph=graph) as gateway:
        without = await gateway.search("stripes")
        documented = await gateway.search("lanterns")
        codes = [one.code for one in gateway.diagnostics]
    assert ids(without.matches) == ["mail_drop"]
    assert ids(without.next_step_matches) == ["mail_send"]
    assert ids((*documented.prerequisites, *documented.related_matches)) == ["mail_drop"]
    assert codes.count(Code.HINT_UNMATCHED) == 1
    assert (Code.GRAPH_DOCUMENT_UNMAPPED in codes) == (kind == "foreign")


async def test_the_address_of_a_document_counts_before_its_path(
    source: FileSource, tmp_path: Path
) -> None:
    """A text that names no tool is about the one whose URI it has, in a bundle or from a host."""
    uri = tool_uri("mail", "mail_send")
    text = "# Letters\n\nPost a missive.\n"
    other = "---\nname: letters\nsource: desk\n---\n\nPost a missive.\n"
    for path, content in (("mail_drop.md", text), ("letters.md", text), ("desk.md", other)):
        document = SourceDocument(path, content, canonical_uri=uri)
        file = tmp_path / f"{path}.json"
        write_bundle(file, Bundle((document,)))
        for graph in (CustomDocuments(lambda _, one=document: [one]), ReviewedDocuments(str(file))):
            found, codes = await noticed(source, graph, "post a missive")
            assert found[0] == "mail_send"
            assert Code.DOCUMENT_ATTACHED in codes
            assert Code.GRAPH_DOCUMENT_UNMAPPED not in codes


async def test_any_document_is_about_the_only_tool(manifest: Manifest) -> None:
    """Where there is one tool, what people write is about it, not documents of other tools."""
    only = manifest("mail", mail_send="Send a mail")
    texts = ("Post a missive.", "---\nname: letters\nsource: desk\n---\nPost a missive.")
    for text in texts:
        documents = [SourceDocument("notes/letters.md", text)]
        async with Gateway(
            [only], graph=CustomDocuments(lambda _, made=documents: made)
        ) as gateway:
            assert ids((await gateway.search("post a missive")).matches) == ["mail_send"]
            codes = {one.code for one in gateway.diagnostics}
            assert Code.GRAPH_DOCUMENT_UNMAPPED not in codes
    generated = [*assembled(manifest("desk", post="Post a missive")).texts]
    async with Gateway([only], graph=CustomDocuments(lambda _: generated)) as gateway:
        await gateway.search("send")
        codes = {one.code for one in gateway.diagnostics}
        assert Code.GRAPH_DOCUMENT_UNMAPPED in codes
