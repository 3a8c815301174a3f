"""What front matter states beyond the tool."""

from __future__ import annotations

from typing import Any

import pytest
from builders import make_tool

from mcpg.catalog.model import SourceDocument
from mcpg.documents.facts import (
    XSD,
    Entity,
    FrontMatterFacts,
    Property,
    StatedEdge,
    means_itself,
    parse_facts,
    read_facts,
)
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.errors import Code

PAGE = """---
title: Cache recovery
about: [RDF, {label: Prompt gate, sameAs: https://example.com/gate}]
entityHints:
  - Extraction cache
  - {name: Atomic move, type: ex:Step, same_as: [urn:a, urn:b]}
graph_entities: {id: "urn:c", label: Corruption report}
author: Release team
graph_edges:
  - {subject: document, predicate: "ex:requires", target: {id: "urn:d"}, reason: it reads it}
rdf_prefixes: {ex: "https://example.com/", "sh:": "urn:sh:"}
rdf_types: ex:Runbook
rdf_properties:
  ex:level: [2, {value: "3", datatype: xsd:integer}, {value: drei, lang: de}]
  ex:owner: {id: "urn:e"}
  ex:live: true
entryType: runbook
source_project: shop
date_published: 2026-04-01
dateModified: 2026-04-02
owner: {team: payments}
---
# Cache recovery

Prose.
"""


def parsed(text: str) -> tuple[ToolDocument, list[tuple[str, str | None, str]]]:
    """Read *text*; give the document and what was noticed."""
    document, found = parse_document(SourceDocument("notes/page.md", text))
    return document, [(one.code, one.place, one.message) for one in found]


def test_every_key_is_read_in_either_spelling() -> None:
    """Texts, mappings and lone items mean the same under snake_case and camelCase keys."""
    document, noticed = parsed(PAGE)
    assert noticed == []
    assert parse_facts(document.further) == FrontMatterFacts(
        about=(
            Entity("RDF"),
            Entity("Prompt gate", same_as=("https://example.com/gate",)),
        ),
        mentions=(
            Entity("Extraction cache"),
            Entity("Atomic move", "", "ex:Step", ("urn:a", "urn:b")),
            Entity("Corruption report", "urn:c"),
        ),
        authors=(Entity("Release team"),),
        statements=(StatedEdge("document", "ex:requires", "urn:d", "it reads it"),),
        prefixes=(("ex", "https://example.com/"), ("sh", "urn:sh:")),
        types=("ex:Runbook",),
        properties=(
            Property("ex:level", "2", datatype=f"{XSD}integer"),
            Property("ex:level", "3", datatype="xsd:integer"),
            Property("ex:level", "drei", language="de"),
            Property("ex:owner", "urn:e", is_iri=True),
            Property("ex:live", "true", datatype=f"{XSD}boolean"),
        ),
        entry_types=("runbook",),
        source_projects=("shop",),
        published="2026-04-01",
        modified="2026-04-02",
    )


def test_keys_of_an_author_survive_rewriting() -> None:
    """What a person added, known or not, stands in the text that is written anew."""
    document, _ = parsed(PAGE)
    again, noticed = parsed(write_document(document))
    assert noticed == []
    assert again.further == document.further
    assert again.further["owner"] == {"team": "payments"}
    assert write_document(again) == write_document(document)


@pytest.mark.parametrize(
    ("front", "line", "words"),
    [
        ("about:\n  - RDF\n  - {type: x}\n", 4, "about[1] names nothing"),
        ("entity_hints: [[]]\n", 2, "entity_hints[0] names nothing"),
        ("graph_edges:\n- {subject: a, predicate: b}\n", 3, "graph_edges[0] has no `object`"),
        ("graphEdges: [{subject: [], predicate: b, object: c}]\n", 2, "has no `subject`"),
        ("graph_edges: word\n", 2, "graph_edges is not a mapping"),
        ("rdf_prefixes: [ex]\n", 2, "is not a mapping of prefixes"),
        ("rdf_prefixes:\n  a: urn:a\n  b: []\n", 4, "has no absolute IRI for 'b'"),
        ("rdf_prefixes:\n  a: vocab#\n", 3, "has no absolute IRI for 'a'"),
        ("rdf_types: [{}]\n", 2, "rdf_types[0] names no type"),
        ("rdf_properties:\n  ex:a: 1\n  ex:b: []\n  ex:c: {}\n", 5, "without a value"),
        ("rdf_properties: word\n", 2, "without a value"),
        ("author: [' ']\n", 2, "authors[0]"),
    ],
)
def test_a_malformed_item_is_passed_over_with_file_and_line(
    front: str, line: int, words: str
) -> None:
    """The rest of the document counts, and the message leads to the item."""
    document, noticed = parsed(f"---\n{front}---\nProse.\n")
    ((code, place, message),) = noticed
    assert (code, place) == (Code.DOCUMENT_INVALID, f"notes/page.md:{line}")
    assert words.replace("authors", "author") in message
    assert document.tool.name == "page"


def test_an_edge_without_a_subject_is_that_of_its_document() -> None:
    """What names no subject, and whatever key names the object, is a statement."""
    edges = [
        {"predicate": "p", "object": "a", "subject": ""},
        {"predicate": "p", "objectId": "b", "object": "B"},
        {"predicate": "p", "target_id": "c", "subject_id": "s"},
    ]
    facts, faults = read_facts({"graph_edges": edges})
    assert not faults
    assert facts.statements == (
        StatedEdge("document", "p", "a"),
        StatedEdge("document", "p", "b"),
        StatedEdge("s", "p", "c"),
    )


def test_kinds_and_projects_may_be_several() -> None:
    """Each counts once, whatever its case."""
    facts = parse_facts(
        {"entry_type": ["a b", "A B", "c"], "source_project": "x", "sourceProject": 1}
    )
    assert (facts.entry_types, facts.source_projects) == (("a b", "c"), ("x", "1"))


def test_a_name_stands_for_a_thing_without_a_label() -> None:
    """Any member that names or locates a thing will do, and numbers are names as well."""
    items: list[Any] = [{"sameAs": "urn:a"}, {"target": "T"}, 2024]
    assert [one.label for one in parse_facts({"about": items}).about] == ["urn:a", "T", "2024"]


def test_repeats_count_once() -> None:
    """A thing that is named twice is one thing."""
    facts, faults = read_facts({"about": ["a", "a"], "rdf_properties": {"p": ["x", "x"]}})
    assert (len(facts.about), len(facts.properties), faults) == (1, 1, [])


def test_a_property_may_be_written_as_a_triple() -> None:
    """A list of predicates with their values says the same as a mapping."""
    facts = parse_facts({"rdf_properties": [{"predicate": "ex:a", "object": "b"}]})
    assert facts.properties == (Property("ex:a", "b"),)


def test_a_document_names_itself() -> None:
    """The words of the .NET library for the document at hand are known."""
    assert all(map(means_itself, ["document", "This  Document", "article", "this article"]))
    assert not means_itself("other")


def test_a_key_that_yaml_would_misread_is_quoted() -> None:
    """Keys that YAML 1.1 takes for truth values, or that are very long, stay text."""
    further: dict[str, Any] = {"no": 1, "a: b": [], "k" * 1100: ["x"], "list": ["a", {"b": None}]}
    document = ToolDocument(make_tool(), "a.md", "urn:a", further=further)
    again, _ = parse_document(SourceDocument("a.md", write_document(document)))
    assert again.further == further


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[(key, ["RDF"]) for key in ("about", "author", "authors", "entity_hints", "entityHints")],
        *[(key, ["RDF"]) for key in ("graph_entities", "graphEntities", "rdf_types", "rdfTypes")],
        *[
            (key, [{"subject": "a", "predicate": "b", "object": "c"}])
            for key in ("graph_edges", "graphEdges")
        ],
        *[
            (key, {"ex": "urn:a"})
            for key in ("rdf_prefixes", "rdfPrefixes", "rdf_properties", "rdfProperties")
        ],
        *[(key, "x") for key in ("entry_type", "entryType", "source_project", "sourceProject")],
        *[
            (key, "2026")
            for key in ("date_published", "datePublished", "date_modified", "dateModified")
        ],
    ],
)
def test_each_key_counts_alone(key: str, value: Any) -> None:
    """Whatever a document states is read, also where it states nothing else."""
    assert parse_facts({"owner": "me", key: value}) != FrontMatterFacts()
