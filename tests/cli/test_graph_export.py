from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")


def tools_in(data: str) -> list[str]:
    """Name the tools in a Turtle document."""
    store = pyoxigraph.Store()
    store.load(data.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    query = "SELECT ?id { ?tool <urn:mcpg:vocab:toolId> ?id } ORDER BY ?id"
    found = store.query(query)
    assert isinstance(found, pyoxigraph.QuerySolutions)
    return [row[0].value for row in found]


def test_the_whole_graph_goes_to_standard_output(run: Callable[..., Run]) -> None:
    """Without options all tools come as Turtle."""
    done = run("graph", "export")

    assert (done.code, done.err) == (0, "")
    assert "shipment_status" in tools_in(done.out)
    assert len(tools_in(done.out)) == len(run("list", "--format", "json").json["tools"])


def test_the_same_tools_give_the_same_bytes(run: Callable[..., Run], folder: Path) -> None:
    """A bundle and the sources that it was made of export alike, to a file as to a pipe."""
    done = run("graph", "export", "-o", "graph.ttl")

    assert done.out == ""
    assert done.err.startswith("wrote graph.ttl: ")
    written = (folder / "graph.ttl").read_text("utf-8")
    assert run("graph", "export").out == written
    assert run("graph", "export", "-b", "tools").out == written


def test_the_name_of_the_file_says_the_format(run: Callable[..., Run], folder: Path) -> None:
    """An extension stands for a format; --format goes first."""
    assert run("graph", "export", "-o", "graph.nq").code == 0
    assert (folder / "graph.nq").read_text("utf-8") == run("graph", "export", "--format=nquads").out
    assert run("graph", "export", "-o", "graph.txt", "--format", "turtle").code == 0

    refused = run("graph", "export", "-o", "graph.docx")

    assert refused.code == 2
    assert "add --format" in refused.err


def test_json_ld_flat_and_framed(run: Callable[..., Run]) -> None:
    """Flat, every node stands once; framed, a tool holds its parts."""
    flat = run("graph", "export", "--format", "json-ld").json
    framed = run("graph", "export", "--format", "json-ld", "--framed").json
    tools = [node for node in flat["@graph"] if "Tool" in node["type"]]
    (status,) = (one for one in framed["@graph"] if one.get("toolId") == "shipment_status")

    assert [one["id"] for one in framed["@graph"] if "Tool" in one["type"]] == [
        one["id"] for one in tools
    ]
    assert [one["name"] for one in status["parameters"]] == ["shipment_id", "carrier"]


def test_framed_json_ld_has_every_statement(run: Callable[..., Run]) -> None:
    """Each node of the flat form is in the framed form, with the same members."""
    flat, framed = (
        run("graph", "export", "--format", "json-ld", *options).json["@graph"]
        for options in ((), ("--framed",))
    )
    found: dict[str, dict[str, Any]] = {}
    left = [*framed]
    while left:
        node = left.pop()
        nested = [one for value in node.values() for one in _nodes_in(value)]
        left += nested
        found[node["id"]] = {key: _referred(value) for key, value in node.items()}
    assert found == {node["id"]: node for node in flat}


def _nodes_in(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, dict) and len(one) > 1 and "id" in one]


def _referred(value: Any) -> Any:
    """Return *value* with nested nodes as references."""
    if isinstance(value, list):
        return [*map(_referred, value)]
    return value["id"] if _nodes_in(value) else value


@pytest.mark.parametrize(
    ("extension", "opening"),
    [
        ("ttl", "# A graph of tools"),
        ("jsonld", '{\n  "@context": {'),
        ("nq", "# A graph of tools"),
        ("graphml", "<?xml version="),
        ("mmd", "%% A graph of tools"),
        ("gv", "// A graph of tools"),
        ("html", "<!doctype html>"),
    ],
)
def test_every_format_is_written_and_may_be_renewed(
    run: Callable[..., Run], folder: Path, extension: str, opening: str
) -> None:
    """Two runs give one file, which begins as files of mcpg do."""
    file = folder / f"graph.{extension}"
    assert run("graph", "export", "-o", file.name).code == 0
    first = file.read_bytes()
    assert run("graph", "export", "-o", file.name, "--around", "shipment_status").code == 0
    assert run("graph", "export", "-o", file.name).code == 0

    assert file.read_bytes() == first
    assert first.startswith(opening.encode())
    assert b"\r" not in first


def test_a_part_around_a_tool(run: Callable[..., Run]) -> None:
    """A tool, and those that some edges lead to or from."""
    alone = tools_in(run("graph", "export", "--around", "shipment_status", "--depth", "0").out)
    near = tools_in(run("graph", "export", "--around", "shipment_status").out)

    assert alone == ["shipment_status"]
    assert set(alone) < set(near)


def test_a_part_that_a_search_finds(run: Callable[..., Run]) -> None:
    """What a search gives, primaries and what edges bring in, is what is exported."""
    found = run("search", "track a shipment", "--format", "json").json
    lists = ("matches", "prerequisites", "relatedMatches", "nextStepMatches")
    expected = {one["toolId"] for name in lists for one in found[name]}
    done = run("graph", "export", "--query", "track a shipment")

    assert set(tools_in(done.out)) == expected


def test_edges_that_leave_the_part_are_left_out(run: Callable[..., Run]) -> None:
    """A part of the graph names no tool that it does not hold."""
    done = run("graph", "export", "--around", "shipment_status", "--depth", "0")

    assert "kb:relatedTo" not in done.out
    assert "kb:nextStep" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--framed",), "add --format json-ld"),
        (("--depth", "2"), "add --around or --query"),
        (("--around", "nothing"), "nothing"),
        (("--format", "pdf"), "pdf"),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Callable[..., Run], arguments: tuple[str, ...], message: str
) -> None:
    """Options are checked before anything is written."""
    done = run("graph", "export", *arguments)

    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_files_of_others_are_not_overwritten(run: Callable[..., Run], folder: Path) -> None:
    """A file that mcpg did not write stays unless --force is given; its own may be renewed."""
    file = folder / "mine.ttl"
    file.write_text("<urn:a> <urn:b> <urn:c> .\n")
    refused = run("graph", "export", "-o", "mine.ttl")

    assert refused.code == 2
    assert "is not overwritten" in refused.err
    assert file.read_text() == "<urn:a> <urn:b> <urn:c> .\n"
    assert run("graph", "export", "-o", "mine.ttl", "--force").code == 0
    assert run("graph", "export", "-o", "mine.ttl").code == 0


def test_the_group_shows_its_commands(run: Callable[..., Run]) -> None:
    """By itself the group says what it can do."""
    assert run("graph") == run("graph", "--help")
    assert "  export " in run("graph").out


@pytest.mark.parametrize("extension", ["ttl", "trig", "n3", "nq", "nt", "rdf", "owl", "jsonld"])
def test_a_graph_is_a_source(run: Callable[..., Run], folder: Path, extension: str) -> None:
    """What is exported is bundled again, with the same tools, edges and documents."""
    name = f"graph.{extension}"
    assert run("graph", "export", "-o", name).code == 0

    done = run("bundle", name, "-o", "again.mdld", "--strict")
    exports = [run("graph", "export", "-b", one).out for one in ("graph.mdld", "again.mdld")]

    assert done.code == 0
    assert exports[0] == exports[1]
    assert (folder / "again.mdld").is_file()
    assert run("bundle", name, "-o", "again.mdld", "--check").code == 0


def test_a_graph_is_read_where_a_bundle_is(run: Callable[..., Run]) -> None:
    """`-b graph.ttl` searches the tools of the graph."""
    run("graph", "export", "-o", "graph.ttl")
    found = [
        run("search", "where is my parcel", "-b", one, "--format", "ids").out
        for one in ("graph.mdld", "graph.ttl")
    ]
    assert found[0] == found[1] != ""


def test_a_broken_graph_is_an_error_with_its_line(run: Callable[..., Run], folder: Path) -> None:
    """The message names file, line and remedy, and nothing is written."""
    (folder / "broken.ttl").write_text("@prefix x: <urn:x:> .\nx:a y:b 1 .\n")
    done = run("bundle", "broken.ttl", "-o", "none.mdld")

    assert done.code == 2
    assert "broken.ttl:2" in done.err
    assert "the prefix 'y' is not declared" in done.err
    assert not (folder / "none.mdld").exists()


def test_graphs_in_a_folder_are_not_read(run: Callable[..., Run], folder: Path) -> None:
    """An export beside the tools that it was made of does not repeat them."""
    run("graph", "export", "-o", "tools/graph.ttl")
    run("graph", "export", "-o", "graph.jsonld")
    (folder / "tools/graph.json").write_text((folder / "graph.jsonld").read_text("utf-8"))
    done = run("bundle", "tools", "-o", "all.mdld", "-v")

    assert done.code == 0
    assert "source_skipped" in done.err
    assert (folder / "all.mdld").read_bytes() == (folder / "graph.mdld").read_bytes()


def test_rdf_xml_tells_what_it_cannot_hold(run: Callable[..., Run], folder: Path) -> None:
    """A control character becomes visible, and a warning counts it."""
    tools = '[{"name": "bell", "description": "Ring \\u0007"}]'
    (folder / "bell.json").write_text(tools)
    done = run("graph", "export", "-b", "bell.json", "-o", "bell.rdf")

    assert done.code == 0
    assert "XML cannot represent 1 statement" in done.err


BASE_IRI = "https://graph.example/"


def test_a_base_iri_stands_in_exports_and_answers(run: Callable[..., Run], folder: Path) -> None:
    """An option, a variable or a setting gives the graph an address of the project's own."""
    query = 'SELECT ?tool { ?tool mcpg:toolId "shipment_status" }'
    option = ("--base-iri", BASE_IRI)
    (row,) = run("graph", "sparql", query, "--format", "json", *option).json["results"]["bindings"]
    expected = row["tool"]["value"]

    assert expected.startswith(f"{BASE_IRI}tools/")
    assert f"<{expected}>" in run("graph", "export", *option).out
    classes = run("graph", "schema", "--format", "json", *option).json["classes"]
    assert any(one["example"].startswith(BASE_IRI) for one in classes)
    found = run("graph", "search", "shipment status", "--format", "json", *option).json
    match = found["matches"][0]
    assert (match["node"].startswith(BASE_IRI), bool(match["toolId"])) == (True, True)

    (folder / "mcpg.toml").write_text(f'[graph]\nbase_iri = "{BASE_IRI}"\n', encoding="utf-8")
    assert f"<{expected}>" in run("graph", "export").out


def test_a_graph_with_a_base_is_bundled_as_the_same(run: Callable[..., Run], folder: Path) -> None:
    """Nobody needs to state the base again."""
    run("graph", "export", "-o", "own.ttl", "--base-iri", BASE_IRI)
    run("graph", "export", "-o", "usual.ttl")
    for name in ("own", "usual"):
        run("bundle", f"{name}.ttl", "-o", f"{name}.mdld")
    assert (folder / "own.mdld").read_bytes() == (folder / "usual.mdld").read_bytes()


def test_a_base_that_is_none_is_refused(run: Callable[..., Run]) -> None:
    """The message names what sets it, and shows one that is right."""
    done = run("graph", "export", "--base-iri", "https://graph.example/tools")
    assert done.code == 2
    assert "ends in neither a slash nor a colon" in done.err


def test_the_vocabulary_can_be_printed(run: Callable[..., Run]) -> None:
    """Ontology and context come as the package has them."""
    store = pyoxigraph.Store()
    ontology = run("graph", "ontology")
    store.load(ontology.out.encode(), format=pyoxigraph.RdfFormat.TURTLE)

    assert store.query("ASK { <urn:mcpg:vocab:> <http://www.w3.org/2002/07/owl#versionInfo> ?v }")
    assert run("graph", "context").json["@context"]["toolId"] == "mcpg:toolId"
