"""Documents about a tool, and pages of none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import make_tool

from mcpg.bundle import Assembly, assemble, build_bundle, encode_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.errors import Code
from mcpg.sources import RawFile, SourceBatch

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = tuple(
    replace(tool, id="")
    for tool in (
        make_tool("weather", source_id="sky", description="Tells the sky.", input_schema=SCHEMA),
        make_tool("tide", source_id="sea", description="Tells the sea."),
    )
)


def joined(*documents: tuple[str, str]) -> Assembly:
    """Assemble the tools with documents given as path and text."""
    sources = tuple(SourceDocument(path, text, place=path) for path, text in documents)
    return assemble(SourceBatch(tools=TOOLS, documents=sources))


def codes(found: Assembly) -> list[str]:
    """Return the codes of what was noticed."""
    return [one.code for one in found.diagnostics]


def tool_ids(found: Assembly) -> list[str]:
    """Return the ids of the tools."""
    return sorted(tool.id for tool in found.catalog.tools)


def reread(found: Assembly) -> Assembly:
    """Write the bundle and assemble it again."""
    data = encode_bundle(build_bundle(found)).decode()
    return assemble(SourceBatch(bundles=(RawFile(data, "graph.mdld"),)))


def test_a_file_called_like_a_tool_is_about_it() -> None:
    """Its prose, hints and relations join the tool, which keeps its schema and description."""
    text = (
        "---\nsummary: When it rains.\nkeywords: [drizzle]\nabout: [Meteorology]\n"
        "graph_related: [tide]\n---\n# Notes\n\nLook *up*.\n"
    )
    found = joined(("docs/weather.md", text))
    assert tool_ids(found) == ["tide", "weather"]
    assert codes(found) == [Code.DOCUMENT_ATTACHED]
    (document,) = [one for one in found.documents if one.tool.id == "weather"]
    assert document.path == "docs/weather.md"
    assert (document.tool.description, document.tool.input_schema) == ("Tells the sky.", SCHEMA)
    assert document.tool.hints.keywords == ("drizzle",)
    assert document.body == "# Notes\n\nWhen it rains.\n\nLook *up*."
    assert document.further == {"about": ["Meteorology"]}
    assert [edge.target for edge in found.relations.of("weather").related] == ["tide"]
    assert encode_bundle(build_bundle(reread(found))) == encode_bundle(build_bundle(found))


def test_the_key_names_the_tool_and_several_texts_join() -> None:
    """Documents called anything may be about one tool; lists of keys are joined."""
    found = joined(
        ("a.md", "---\ntool: sky::weather\nabout: [A]\nowner: x\n---\nFirst.\n"),
        ("b.md", "---\ntool: weather\nabout: [A, B]\nowner: y\ngraph_groups: [G]\n---\nSecond.\n"),
    )
    (document,) = [one for one in found.documents if one.tool.id == "weather"]
    assert document.body == "First.\n\nSecond."
    assert document.further == {"about": ["A", "B"], "owner": "x"}
    assert document.groups[0] == "G"
    assert tool_ids(found) == ["tide", "weather"]
    assert encode_bundle(build_bundle(reread(found))) == encode_bundle(build_bundle(found))


def test_a_text_joins_the_document_that_a_tool_has() -> None:
    """The document's own words, relations and place come first."""
    found = joined(
        ("own.md", "---\nname: ant\nsource: zoo\ngraph_related: [tide]\n---\nAn ant.\n"),
        ("more.md", "---\ntool: ant\ngraph_related: [tide, weather]\n---\nIt bites.\n"),
    )
    (document,) = [one for one in found.documents if one.tool.name == "ant"]
    assert (document.path, document.body) == ("own.md", "An ant.\n\nIt bites.")
    assert [edge.target for edge in found.relations.of("ant").related] == ["tide", "weather"]


def test_a_document_that_names_itself_stays_a_tool() -> None:
    """A name, a source, a schema or a generated section makes a document a tool of its own."""
    for front in ("name: weather", "source: docs", "input_schema: {type: object}"):
        found = joined(("docs/weather.md", f"---\n{front}\n---\nText.\n"))
        assert len(found.catalog.tools) == 3, front
    both = joined(
        ("a/bee.md", "---\ntitle: x\n---\nA.\n"), ("b/bee.md", "---\ntitle: y\n---\nB.\n")
    )
    assert len(both.catalog.tools) == 4


def test_a_page_states_but_is_not_found() -> None:
    """A document of no tool stays in the bundle to the byte, and its statements count."""
    text = (
        "---\ntool: false\ngraph_edges:\n"
        "  - {subject: weather, predicate: nextStep, object: tide, reason: wind moves water}\n"
        "---\nText.\n"
    )
    found = joined(("pages/about.md", text))
    assert tool_ids(found) == ["tide", "weather"]
    assert [page.path for page in found.pages] == ["pages/about.md"]
    assert [one.content for one in found.texts if one.path == "pages/about.md"] == [text]
    (edge,) = found.relations.of("weather").next_steps
    assert (edge.target, edge.reason) == ("tide", "wind moves water")
    assert codes(found) == []
    assert reread(found).relations == found.relations
    assert encode_bundle(build_bundle(reread(found))) == encode_bundle(build_bundle(found))


def test_links_of_pages_lead_to_tools_and_pages() -> None:
    """What a page calls related is a tool by any of its names, or a page by its path or URI."""
    text = "---\ntool: false\ngraph_related: [sky::weather, other.md, nowhere]\n---\nText.\n"
    found = joined(("pages/a.md", text), ("pages/other.md", "---\ntool: false\n---\nMore.\n"))
    page, other = found.pages
    (weather,) = [one for one in found.documents if one.tool.id == "weather"]

    assert page.is_page
    assert other.is_page
    assert [link.target for link in page.links] == [weather.uri, other.uri, "nowhere"]
    assert codes(found) == [Code.RELATION_UNRESOLVED]
    assert not any(one.is_page for one in found.documents)
    assert [replace(one, tool=page.tool) for one in reread(found).pages[:1]] == [page]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("key", ["graph_related", "graph_groups", "graphNextSteps"])
def test_an_empty_list_in_a_page_says_none(own: bool, key: str) -> None:
    """Where a page about a tool has empty lists of relations, none are inferred for the tool."""
    words = "Books a flight to a city for a traveller."
    tools = [make_tool(name, description=words) for name in ("fly_out", "fly_back", "fly_round")]
    said = SourceDocument("a.md", f"---\ntool: fly_out\n{key}: []\n---\nMore.\n", place="a.md")
    unsaid = replace(said, content="---\ntool: fly_out\n---\nMore.\n")
    front = f"---\nname: fly_out\nsource: commerce\ndescription: {words}\n---\n"
    document = SourceDocument("own.md", front, place="own.md")

    def related(page: SourceDocument) -> int:
        texts = (document, page) if own else (page,)
        found = assemble(SourceBatch(tools=tuple(tools[own:]), documents=texts))
        again = reread(found)
        assert again.relations.of("fly_out") == found.relations.of("fly_out")
        of_tool = found.relations.of("fly_out")
        return len(of_tool.related) + len(of_tool.next_steps) + len(of_tool.groups)

    assert related(unsaid) > 0
    assert related(said) == 0


def test_prose_of_a_page_leads_to_tools_and_pages() -> None:
    """A link in a page's text is an edge, of half the weight; one that leads nowhere is told."""
    text = "---\ntool: false\n---\n[[weather]], [more](other.md), [gone](no/way.md).\n"
    found = joined(("pages/a.md", text), ("pages/other.md", "---\ntool: false\n---\nMore.\n"))
    page, other = found.pages
    (weather,) = [one for one in found.documents if one.tool.id == "weather"]

    assert [(link.target, link.weight) for link in page.links] == [
        (weather.uri, 0.5),
        (other.uri, 0.5),
    ]
    assert codes(found) == [Code.RELATION_UNRESOLVED]
    assert [one.links for one in reread(found).pages] == [page.links, ()]


def test_a_link_to_a_page_is_an_edge_of_the_graph_alone() -> None:
    """A tool's link to a page is resolved, and makes no relation between tools."""
    text = "---\ntool: weather\ngraph_related: [other.md]\n---\nText.\n"
    found = joined(("pages/a.md", text), ("pages/other.md", "---\ntool: false\n---\nMore.\n"))
    (weather,) = [one for one in found.documents if one.tool.id == "weather"]

    assert found.pages[0].uri in [link.target for link in weather.links]
    assert codes(found) == [Code.DOCUMENT_ATTACHED]
    assert {edge.target for edge in found.relations.of("weather").related} <= {"tide"}
    assert [one.links for one in reread(found).documents] == [one.links for one in found.documents]


def test_a_page_gives_way_to_tools() -> None:
    """Path and URI of a page never hide a tool's."""
    text = "---\ntool: false\nname: weather\nsource: sky\n---\nText.\n"
    found = joined(("tools/sky/weather.md", text))
    assert len({one.path for one in found.texts}) == 3
    assert len({one.canonical_uri for one in found.texts}) == 3


def test_a_document_about_nothing_known_is_told() -> None:
    """It stays as a page, with a warning that names it."""
    found = joined(("a.md", "---\ntool: wether\n---\nText.\n"))
    (noticed,) = found.diagnostics
    assert (noticed.code, noticed.place) == (Code.DOCUMENT_UNMAPPED, "a.md:2")
    assert "'wether'" in noticed.message
    assert len(found.pages) == 1
