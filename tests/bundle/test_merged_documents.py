"""What documents say stays what they say: from where they were written to the bundle and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from bounded import output_of
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import (
    Assembly,
    Bundle,
    apply_plan,
    assemble,
    build_bundle,
    encode_bundle,
    plan_folder,
)
from mcpg.catalog.model import SourceDocument
from mcpg.errors import Code, Severity
from mcpg.sources import RawFile, SourceBatch, read_sources

if TYPE_CHECKING:
    import random
    from pathlib import Path

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = replace(
    make_tool("weather", source_id="sky", description="Tells the sky.", input_schema=SCHEMA), id=""
)
TIDE = replace(make_tool("tide", source_id="sea", description="Tells the sea."), id="")
NONE = "graph_groups: []"


def made(*documents: tuple[str, str], tools: Any = (), source_id: str | None = None) -> Assembly:
    """Assemble documents, given as path and text, with *tools*."""
    sources = tuple(
        SourceDocument(path, text, place=f"{number}/{path}")
        for number, (path, text) in enumerate(documents)
    )
    return assemble(SourceBatch(tools=tuple(tools), documents=sources), source_id=source_id)


def reread(*assemblies: Assembly) -> Assembly:
    """Write bundles and assemble them again, as one."""
    texts = [encode_bundle(build_bundle(one)).decode() for one in assemblies]
    return assemble(SourceBatch(bundles=tuple(RawFile(text, "graph.mdld") for text in texts)))


def said(assembly: Assembly) -> Any:
    """Return all that a search could find: tools, edges, prose, statements, pages."""
    return (
        assembly.catalog.tools,
        assembly.relations,
        [(one.path, one.uri, one.body, one.further) for one in assembly.documents],
        assembly.pages,
    )


def check(assembly: Assembly) -> None:
    """Check that the bundle says what was assembled, and that its own bundle is the same."""
    again = reread(assembly)
    assert said(again) == said(assembly)
    assert encode_bundle(build_bundle(again)) == encode_bundle(build_bundle(assembly))


def related(assembly: Assembly, tool_id: str) -> list[str]:
    """Return the tools to which a tool is related."""
    return [edge.target for edge in assembly.relations.of(tool_id).related]


def test_the_source_that_was_asked_for_stays() -> None:
    """A text that names no source is written anew where the source of the run is another."""
    text = f"---\nname: ant\n{NONE}\n---\nAn ant.\n"
    found = made(("docs/ant.md", text), source_id="shop")
    assert [tool.source_id for tool in found.catalog.tools] == ["shop"]
    check(found)
    same = made(("local/ant.md", text), source_id="local")
    assert [one.content for one in same.texts] == [text]


def test_nameless_namesakes_stay_two_tools(tmp_path: Path) -> None:
    """Two files of one name that name no tool are two tools in bundle and folder alike."""
    found = made(
        ("billing/overview.md", "# Bills\n\nHow bills are paid.\n"),
        ("shipping/overview.md", f"---\n{NONE}\n---\n# Parcels\n\nHow parcels travel.\n"),
    )
    assert len(found.catalog.tools) == 2
    check(found)
    apply_plan(plan_folder(tmp_path, found.texts))
    assert said(assemble(read_sources([tmp_path]))) == said(found)


@pytest.mark.parametrize(
    "front",
    [
        "",
        f"---\n{NONE}  # none\n---\n",
        f"---\n{{{NONE}}}\n---\n",
        f"---\n{NONE}\ncanonical_url: ants\n---\n",
        "\n---\ntool: false\n---\n",
    ],
)
@pytest.mark.parametrize("uri", ["https://shop.example/ants/", None])
def test_a_folder_says_what_its_bundle_says(tmp_path: Path, front: str, uri: str | None) -> None:
    """A generated folder has each document of the bundle, with the URI that the bundle gives it."""
    links = f"---\nname: bee\ngraph_related: ['{uri}']\n---\nA bee.\n"
    bundle = Bundle(
        (
            SourceDocument("zoo/ant.md", f"{front}# Ants\n\nAn ant.\n", uri),
            SourceDocument("zoo/bee.md", links),
        )
    )
    found = assemble(SourceBatch(bundles=(RawFile(encode_bundle(bundle).decode(), "graph"),)))
    apply_plan(plan_folder(tmp_path, found.texts))
    again = assemble(read_sources([tmp_path]))
    assert said(again) == said(found)
    written = (tmp_path / "zoo/ant.md").read_text("utf-8")
    assert written.endswith("# Ants\n\nAn ant.\n" if front else "An ant.\n")
    assert ("# none" in written) == ("# none" in front)
    assert plan_folder(tmp_path, again.texts).is_current


def test_bundles_are_joined_tool_by_tool() -> None:
    """A tool of one bundle never takes in a namesake of another that its text does not name."""
    bills = made(("billing/overview.md", "---\nname: overview\n---\nHow bills are paid.\n"))
    parcels = made(("shipping/overview.md", f"---\n{NONE}\n---\nHow parcels travel.\n"))
    assert len(reread(bills, parcels).catalog.tools) == 2


@pytest.mark.parametrize(
    "paths",
    [
        ("pages/weather.md", "pages/weather.md"),
        ("x/Read.md", "x/read.md"),
        ("re fund\\x.md", "y.md"),
        ("C:x.md", "y.md"),
    ],
)
def test_a_text_that_moves_keeps_name_source_and_links(paths: tuple[str, str]) -> None:
    """Whatever path a kept text gets, it says there what it said where it stood."""
    links = f"---\n{NONE}\n---\nSee [it](../pages/ant.md), [that](bee.md).\n"
    found = made(
        (paths[0], links + "A.\n"),
        (paths[1], links + "B.\n"),
        (paths[0], links + "C.\n"),
        ("pages/ant.md", f"---\n{NONE}\n---\nAn ant.\n"),
        ("x/bee.md", f"---\n{NONE}\n---\nA bee.\n"),
    )
    assert len(found.catalog.tools) == 5
    check(found)


def test_a_page_of_one_path_stays_in_its_folder() -> None:
    """Of two pages with one path the second stays in the folder from which its words lead."""
    front = (
        "---\ntool: false\ngraph_edges:\n- {subject: weather, predicate: nextStep, object: %s}\n"
    )
    found = made(
        ("docs/about.md", front % "ant.md" + "---\nA.\n"),
        ("docs/about.md", front % "./ant.md" + "---\nB.\n"),
        ("docs/ant.md", f"---\n{NONE}\n---\nAn ant.\n"),
        tools=[WEATHER],
    )
    assert [page.path for page in found.pages] == ["docs/about-2.md", "docs/about.md"]
    assert [edge.target for edge in found.relations.of("weather").next_steps] == ["ant"]
    check(found)


def test_a_text_that_is_left_out_is_reported() -> None:
    """Of two documents that describe a tool alike one counts; the other's words are reported."""
    front = f"---\nname: ant\nsource: zoo\ndescription: An ant.\n{NONE}\n"
    one, two = f"{front}---\nIt bites.\n", f"{front}owner: me\n---\nIt bites.\n"
    for other, codes in ((one, 0), (two, 1), (f"{front}---\nIt works.\n", 1)):
        found = made(("a.md", one), ("b.md", other))
        assert [document.body for document in found.documents] == ["It bites."]
        warned = [item for item in found.diagnostics if item.severity == Severity.WARNING]
        assert [(item.code, item.place) for item in warned] == [(Code.TEXT_LEFT_OUT, "1/b.md")][
            :codes
        ]


def test_documents_of_one_name_and_place_keep_their_words() -> None:
    """Where two documents have one path and name two tools alike, each tool has its own words."""
    texts = [f"---\nname: ant\ndescription: {word}\n{NONE}\n---\nIn {word}.\n" for word in "AB"]
    documents = tuple(SourceDocument("a.md", text) for text in texts)
    found = assemble(SourceBatch(documents=documents))
    assert sorted((one.tool.description, one.body) for one in found.documents) == [
        ("A", "In A."),
        ("B", "In B."),
    ]


@pytest.mark.parametrize("path", ["sky/weather.md", "docs/weather.md", "weather.md"])
@pytest.mark.parametrize("source_id", [None, "sky"])
def test_a_page_joins_the_tool_of_its_own_source(path: str, source_id: str | None) -> None:
    """Prose called like a tool joins it, wherever it lies; the tool keeps all that it is."""
    found = made((path, "When it rains.\n"), tools=[WEATHER, TIDE], source_id=source_id)
    tool = found.catalog.get("weather")
    assert tool is not None
    assert (tool.source_id, tool.description) == ("sky", "Tells the sky.")
    assert tool.input_schema == SCHEMA
    assert [one.body for one in found.documents if one.tool.id == "weather"] == ["When it rains."]
    assert [one.code for one in found.diagnostics] == [Code.DOCUMENT_ATTACHED]
    check(found)


def test_of_several_namesakes_a_page_joins_the_one_of_its_folder() -> None:
    """The folder decides which of two tools of one name is meant; without it neither is."""
    other = replace(WEATHER, source_id="sea")
    found = made(("sea/weather.md", "Waves.\n"), tools=[WEATHER, other])
    bodies = {one.tool.source_id: one.body for one in found.documents}
    assert bodies == {"sky": "", "sea": "Waves."}
    apart = made(("docs/weather.md", "Waves.\n"), tools=[WEATHER, other])
    assert len(apart.catalog.tools) == 3
    check(apart)


def test_a_page_replaces_none_of_two_tools_of_one_name_and_source() -> None:
    """Where a source has two different tools of one name, a page called so is about neither."""
    twin = replace(WEATHER, description="Tells another sky.")
    for text in ("Rain.\n", "---\ntool: weather\n---\nRain.\n"):
        found = made(("sky/weather.md", text), tools=[WEATHER, twin])
        kept = {tool.description for tool in found.catalog.tools if tool.input_schema == SCHEMA}
        assert kept == {"Tells the sky.", "Tells another sky."}


def test_pages_of_one_name_do_not_hide_the_tool() -> None:
    """A page that names the tool and one that is called like it are both about it."""
    found = made(
        ("a/notes.md", "---\ntool: weather\n---\nFirst.\n"),
        ("b/weather.md", "Second.\n"),
        tools=[WEATHER, TIDE],
    )
    assert [tool.name for tool in found.catalog.tools] == ["tide", "weather"]
    assert [one.body for one in found.documents if one.body] == ["First.\n\nSecond."]
    check(found)


def test_the_key_may_hold_an_id() -> None:
    """Where two tools have one name, the key `tool` may name one by its id."""
    other = replace(WEATHER, source_id="sea")
    found = made(("a.md", "---\ntool: sea_weather\n---\nWaves.\n"), tools=[WEATHER, other])
    assert {one.tool.id: one.body for one in found.documents} == {
        "sea_weather": "Waves.",
        "sky_weather": "",
    }


def test_links_of_a_page_lead_from_its_own_folder() -> None:
    """Links of a page mean the files beside it, not those beside the tool's document."""
    tool = f"---\nname: %s\nsource: %s\n{NONE}\n---\nText.\n"
    found = made(
        ("own/weather.md", tool % ("weather", "sky")),
        ("own/order.md", tool % ("order", "wrong")),
        ("pages/order.md", tool % ("order", "right")),
        ("own/refund.md", tool % ("refund", "wrong")),
        ("pages/refund.md", tool % ("refund", "right")),
        ("own/later.md", tool % ("later", "wrong")),
        ("pages/later.md", tool % ("later", "right")),
        ("own/never.md", tool % ("never", "wrong")),
        (
            "pages/notes.md",
            (
                "---\ntool: weather\ngraph_related: [./order.md]\ngraph_edges:\n"
                "- {subject: document, predicate: nextStep, object: ./later.md}\n---\n"
                "See [this](refund.md#top), but [that](never.md) is gone.\n"
            ),
        ),
    )
    relations = found.relations.of("weather")
    assert [edge.target for edge in relations.related] == ["right_order", "right_refund"]
    assert [edge.target for edge in relations.next_steps] == ["right_later"]
    (noticed,) = [one for one in found.diagnostics if one.code == Code.RELATION_UNRESOLVED]
    assert noticed.place == "8/pages/notes.md:7"
    check(found)


def test_links_to_a_page_lead_to_its_tool() -> None:
    """A link to the file of a page that joined a tool leads to the tool, here and in the bundle."""
    found = made(
        ("own/weather.md", f"---\nname: weather\nsource: sky\n{NONE}\n---\nText.\n"),
        ("pages/rain.md", "---\ntool: weather\n---\nRain.\n"),
        ("pages/ant.md", f"---\n{NONE}\n---\nNot in [the rain](rain.md), `[x](rain.md)`.\n"),
        ("pages/bee.md", "---\ngraph_related: [rain.md]\n---\nA bee.\n"),
    )
    assert related(found, "ant") == related(found, "bee") == ["weather"]
    check(found)


def test_a_documents_own_links_stand_before_those_of_pages() -> None:
    """Of two links to one tool the document's own counts, and it comes first."""
    found = made(
        (
            "own.md",
            "---\nname: ant\ngraph_related: [bee, {target: cow, reason: mine}]\n---\nAn ant.\n",
        ),
        (
            "page.md",
            "---\ntool: ant\ngraph_related: [{target: cow, reason: no}, dog]\n---\nMore.\n",
        ),
        *((f"{name}.md", f"---\n{NONE}\n---\nText.\n") for name in ("bee", "cow", "dog")),
    )
    edges = [(edge.target, edge.reason) for edge in found.relations.of("ant").related]
    assert edges == [("bee", ""), ("cow", "mine"), ("dog", "")]


def test_title_and_heading_of_a_page_are_prose() -> None:
    """What a page about a tool is headed with stays, before its text."""
    for front, head, body in (
        ("", "Paying back", "# Paying back\n\nText."),
        ("title: Money\n", "Paying back", "# Money\n\n# Paying back\n\nText."),
        ("title: Money\n", "Money", "# Money\n\nText."),
        ("tool: weather\n", "notes", "# notes\n\nText."),
        ("tool: weather\ntitle: Money\n", "Back", "# Money\n\n# Back\n\nText."),
    ):
        path = "a/notes.md" if "tool" in front else "a/weather.md"
        found = made((path, f"---\n{front}---\n# {head}\n\nText.\n"), tools=[WEATHER, TIDE])
        assert [one.body for one in found.documents if one.body] == [body], front
        check(found)


def test_long_lists_of_pages_join_in_linear_time() -> None:
    """The keys of pages about one tool are joined without comparing each item with each."""
    program = (
        "from mcpg.bundle import assemble\n"
        "from mcpg.catalog.model import SourceDocument\n"
        "from mcpg.sources import SourceBatch\n"
        "lists = [','.join(f'{letter}{n}' for n in range(35_000)) for letter in 'abc']\n"
        "pages = [f'---\\ntool: ant\\nabout: [{items}]\\n---\\n' for items in lists]\n"
        "texts = ['---\\nname: ant\\n---\\nAn ant.\\n', *pages]\n"
        "documents = [SourceDocument(f'{n}.md', text) for n, text in enumerate(texts)]\n"
        "print(len(assemble(SourceBatch(documents=tuple(documents))).diagnostics))\n"
    )
    # Together they are too long for one document, which is the last thing noticed.
    assert output_of(program) == "4\n"


NAMES = ["weather", "tide", "Read", "read", "overview", "a b"]
FOLDERS = ["", "pages/", "sky/", "sea/", "x/y/", "tools/sky/", "re fund\\", "C:", "../"]
LINKS = [
    *("[[weather]]", "[t](tide.md)", "[w](../sky/weather.md#a)", "[r](Read.md)", "[[tide|t]]"),
    *("[[pages/tide]]", "[o](/overview.md)", "[b](<a b.md>)", "[q](x/y/read.md)", "[z](nix.md)"),
    *("| [[read]] |\n|-|", "```\n[t](tide.md)\n```", "[d]: tide.md\n\nsee [d]"),
]
FRONTS = [
    *("name: tide", "source: sky", NONE, "graph_related: [tide.md, read]", "title: T"),
    *("graph_related: [./weather.md]", "tool: weather", "tool: sky::tide", "tool: false"),
    *("tool: overview", "about: [A]", "keywords: [k]", "canonical_url: https://x.y/1/"),
    "graph_edges: [{subject: document, predicate: nextStep, object: tide.md}]",
    "graph_edges: [{subject: weather.md, predicate: nextStep, object: {id: ./tide.md}}]",
]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a document as path and text."""
    fronts = draw(st.lists(st.sampled_from(FRONTS), max_size=3))
    front = {line.partition(":")[0]: line for line in fronts}.values()
    links = draw(st.lists(st.sampled_from(LINKS), max_size=3, unique=True))
    head = draw(st.sampled_from(["# H", "# weather", "Text."]))
    matter = "".join(("---\n", *(f"{line}\n" for line in front), "---\n")) if front else ""
    path = draw(st.sampled_from(FOLDERS)) + draw(st.sampled_from(NAMES)) + ".md"
    return path, matter + "\n\n".join((head, draw(st.sampled_from(["One.", "Two."])), *links))


TOOLS = st.builds(
    make_tool,
    st.sampled_from(NAMES),
    id=st.just(""),
    source_id=st.sampled_from(["sky", "sea", "local", "pages"]),
    description=st.sampled_from(["", "Does it."]),
    input_schema=st.just(SCHEMA),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(texts(), min_size=1, max_size=7),
    st.lists(TOOLS, max_size=5),
    st.sampled_from([None, "shop", "sky"]),
    st.randoms(use_true_random=False),
)
def test_a_bundle_says_what_its_sources_say(
    documents: list[tuple[str, str]],
    tools: list[Any],
    source_id: str | None,
    shuffler: random.Random,
) -> None:
    """Whatever people write and wherever, the bundle read back says the same, in any order."""
    found = made(*documents, tools=tools, source_id=source_id)
    check(found)
    shuffled = shuffler.sample(documents, len(documents))
    assert made(*shuffled, tools=tools, source_id=source_id).texts == found.texts
