"""Pages, which are documents of no tool, in the commands of the graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import mcpg
from mcpg.graph.jsonld import from_jsonld

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

PAGE = """---
tool: false
title: Parcels that get lost
canonical_url: https://shop.example/runbooks/lost/
summary: What to do about a vanished consignment.
author: Nadia Holm
about: [{label: Ombudsman, id: "urn:x:ombudsman"}]
date_published: 2026-04-01
entry_type: tech_article
graph_related: [shipment_status, pages/insurance.md]
rdf_prefixes: {ex: "https://shop.example/vocab/"}
rdf_types: ["ex:Runbook"]
rdf_properties: {"ex:level": {value: drei, lang: de}}
graph_edges:
  - {subject: shipment_create, predicate: "ex:requires", object: shipment_status}
  - {subject: document, predicate: "ex:needs", object: shipment_create}
  - {subject: "urn:x:ombudsman", predicate: "ex:hears", object: document}
---
Stay calm.

## Tool Identity
- Tool id: phantom

## When the carrier says nothing

Call.
"""
OTHER = "---\ntool: false\ndate_published: some day\n---\n# Insurance\n\nPays in the end.\n"
NODE = "https://shop.example/runbooks/lost/"


@pytest.fixture(params=["a bundle", "a folder"])
def place(request: pytest.FixtureRequest, sources: Path, run: Callable[..., Run]) -> str:
    """The shop with two pages, as a folder of sources or as a bundle without its index."""
    (sources / "pages").mkdir()
    (sources / "pages" / "lost.md").write_text(PAGE, "utf-8")
    (sources / "pages" / "insurance.md").write_text(OTHER, "utf-8")
    if request.param == "a folder":
        return str(sources)
    assert run("bundle", str(sources), "-q").code == 0
    return str(sources.parent / "graph.mdld")


def asked(run: Callable[..., Run], place: str, query: str) -> list[dict[str, str]]:
    """Return the rows that answer *query*, as texts."""
    prefixes = "PREFIX ex: <https://shop.example/vocab/> "
    done = run("graph", "sparql", prefixes + query, "-b", place, "--format", "json")
    assert done.code == 0, done.err
    rows = done.json["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in rows]


def test_what_a_page_states_is_asked_for_in_sparql(run: Callable[..., Run], place: str) -> None:
    """Topics, authors, dates, types, properties, statements, links: all of a page is there."""
    query = f"""
    SELECT ?name ?author ?about ?level ?related ?needs {{
        <{NODE}> a schema:Article, schema:TechArticle, kb:MarkdownDocument, ex:Runbook ;
            schema:name ?name ; schema:author/schema:name ?author ; schema:about ?about ;
            schema:datePublished "2026-04-01"^^xsd:date ; ex:level ?level ;
            ex:needs/mcpg:toolId ?needs ; kb:relatedTo/schema:name ?related .
        ?about ex:hears <{NODE}>
        FILTER(LANG(?level) = "de")
    }} ORDER BY ?related"""
    rows = asked(run, place, query)

    assert [row.pop("related") for row in rows] == ["Insurance", "Track a shipment"]
    assert (
        rows[0]
        == rows[1]
        == {
            "name": "Parcels that get lost",
            "author": "Nadia Holm",
            "about": "urn:x:ombudsman",
            "level": "drei",
            "needs": "shipment_create",
        }
    )


def test_a_page_states_edges_between_others(run: Callable[..., Run], place: str) -> None:
    """An edge from tool to tool that a page writes out is a statement of the graph."""
    query = "ASK { ?s <https://shop.example/vocab/requires> ?o . ?o mcpg:toolId 'shipment_status' }"
    assert run("graph", "sparql", query, "-b", place).out == "true\n"


def test_sections_of_a_page_are_parts_of_it(run: Callable[..., Run], place: str) -> None:
    """Headings are sections in order, one like those of generated documents among them."""
    query = f"""SELECT ?name {{ <{NODE}> schema:hasPart ?part .
        ?part a schema:CreativeWork ; schema:name ?name ; schema:position ?at }} ORDER BY ?at"""
    names = [row["name"] for row in asked(run, place, query)]
    drawn = run("graph", "export", "-b", place, "--format", "mermaid").out

    assert names == ["Tool Identity", "When the carrier says nothing"]
    assert names[1] not in drawn


def test_a_page_is_no_tool(run: Callable[..., Run], place: str) -> None:
    """Nothing that is said of tools is said of a page, and no search of tools finds it."""
    said = f"{{ <{NODE}> a mcpg:Tool }} UNION {{ <{NODE}> mcpg:toolName|mcpg:source ?x }}"
    listed = run("list", "-b", place, "--format", "json").json["tools"]
    found = run("search", "vanished consignment", "-b", place, "--format", "json").json["matches"]

    assert asked(run, place, f"SELECT * {{ {said} }}") == []
    assert len(asked(run, place, "SELECT ?t { ?t a mcpg:Tool }")) == len(listed)
    assert {match["toolId"] for match in found} <= {tool["toolId"] for tool in listed}


@pytest.mark.parametrize(
    "form", ["turtle", "json-ld", "nquads", "graphml", "mermaid", "dot", "html"]
)
def test_every_export_has_the_pages(
    run: Callable[..., Run], folder: Path, place: str, form: str
) -> None:
    """Each format holds the pages, and tools are counted as before."""
    done = run("graph", "export", "-b", place, "--format", form, "-o", "written")
    text = (folder / "written").read_text("utf-8")

    assert "4 tools, 2 pages, " in done.err
    assert "Parcels that get lost" in text
    assert "Ombudsman" in text


def test_frames_hold_pages_and_are_read_back_as_tools(run: Callable[..., Run], place: str) -> None:
    """A page is a document of its own in framed JSON-LD, and no tool when that is read."""
    text = run("graph", "export", "-b", place, "--format", "json-ld", "--framed").out
    (page,) = (one for one in json.loads(text)["@graph"] if one["id"] == NODE)

    assert page["type"][:2] == ["Article", "MarkdownDocument"]
    assert "Tool" not in page["type"]
    assert len(page["relations"]) == 2
    assert len(from_jsonld(text)) == 4


def test_a_part_of_the_graph_has_the_pages_near_it(run: Callable[..., Run], place: str) -> None:
    """A page that links to a tool is one edge from it, and the page beside that is two."""
    options = ("graph", "export", "-b", place, "--around", "shipment_status")
    alone = run(*options, "--depth", "0").out
    near = run(*options).out
    far = run(*options, "--depth", "2").out
    found = run("graph", "export", "-b", place, "--query", "shipment_status", "--depth", "1").out

    assert "Parcels that get lost" not in alone
    assert "Parcels that get lost" in near
    assert '"Insurance"' not in near
    assert '"Insurance"' in far
    assert "Parcels that get lost" in found


def test_a_tool_leads_to_the_pages_that_it_links_to(
    run: Callable[..., Run], sources: Path, place: str
) -> None:
    """A link to a page is an edge of the graph from a list and from prose, and dangles nowhere."""
    text = "---\ntool: shipment_create\ngraph_related: [insurance.md]\n---\nSee [it](lost.md).\n"
    (sources / "pages" / "more.md").write_text(text, "utf-8")
    if place != str(sources):
        done = run("bundle", str(sources), "-o", place)
        assert "relation_unresolved" not in done.err
    query = (
        "SELECT ?name { ?t mcpg:toolId 'shipment_create' ; kb:relatedTo ?p . ?p schema:name ?name"
    )
    rows = asked(run, place, query + " FILTER NOT EXISTS { ?p a mcpg:Tool } } ORDER BY ?name")
    counts = run("graph", "stats", "-b", place, "--format", "json").json
    around = run("graph", "export", "-b", place, "--around", "shipment_create").out

    assert [row["name"] for row in rows] == ["Insurance", "Parcels that get lost"]
    assert counts["danglingEdges"] == 0
    assert '"Insurance"' in around


def test_pages_are_found_as_pages(run: Callable[..., Run], place: str) -> None:
    """A search of the graph finds a page by its words, without a tool's id."""
    for mode in ("schema-aware", "token-distance"):
        options = ("--mode", mode, "--format", "json", "-b", place)
        matches = run("graph", "search", "vanished consignment", *options).json["matches"]
        assert (matches[0]["label"], matches[0]["toolId"]) == ("Parcels that get lost", None)


def test_pages_are_described_counted_and_validated(run: Callable[..., Run], place: str) -> None:
    """The schema has what pages say, statistics count them, and shapes find their faults."""
    schema = run("graph", "schema", "-b", place, "--format", "json").json
    counts = run("graph", "stats", "-b", place, "--format", "json").json
    checked = run("graph", "validate", "-b", place)

    assert "https://shop.example/vocab/needs" in {one["iri"] for one in schema["predicates"]}
    assert (counts["tools"], counts["pages"], counts["things"]) == (4, 2, 1)
    assert "things 1 pages 2" in " ".join(run("graph", "stats", "-b", place).out.split())
    assert checked.code == 1
    assert ":3: violation[Datatype]: `date_published` is not a date" in checked.out
    assert "4 tools, 2 pages, " in checked.out


def test_edges_are_counted_alike_everywhere(run: Callable[..., Run], place: str) -> None:
    """Builds, statistics, exports and the map count the edges of tools and pages."""
    counts = run("graph", "stats", "-b", place, "--format", "json").json
    count = sum(one["count"] for one in counts["edges"])
    built = run("bundle", place, "-o", "again.mdld")
    exported = run("graph", "export", "-b", place, "-o", "map.html")
    page = run("graph", "export", "-b", place, "--format", "html").out
    turtle = run("graph", "export", "-b", place).out
    assert f" {count} edges, " in built.err
    assert f" {count} edges, " in exported.err
    assert f"<dt>Edges</dt><dd>{count}</dd>" in page
    assert turtle.count("rdf:predicate kb:") == count


def test_hints_leave_the_pages_as_they_are(place: str) -> None:
    """An engine with further hints to one tool has the same pages."""
    engine = mcpg.load(place)
    hinted = engine.with_hints("shipment_create", mcpg.Hints(keywords=("parcel",)))

    assert len(engine.pages) == 2
    assert hinted.pages == engine.pages
