"""The description of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.graph import terms as v
from mcpg.graph.schema import NODE, build_schema
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument


def test_everything_is_counted(shop: dict[str, ToolDocument]) -> None:
    """The predicates' counts are the triples, and classes name a node each."""
    found = build_schema(shop.values())
    classes = {one.iri: one for one in found.classes}

    assert found.triples == len(list(make_triples(shop.values())))
    assert found.triples == sum(one.count for one in found.predicates)
    assert classes[v.mcpg.Tool].count == len(shop)
    assert ":tools/" in classes[v.mcpg.Tool].example
    counts = [one.count for one in found.predicates]
    assert counts == sorted(counts, reverse=True)


def test_a_predicate_tells_what_stands_on_either_side(shop: dict[str, ToolDocument]) -> None:
    """Classes of subjects and objects, datatypes of values, and an example."""
    found = {one.iri: one for one in build_schema(shop.values()).predicates}

    assert v.mcpg.Tool in found[v.kb.memberOf].subjects
    assert v.skos.Concept in found[v.kb.memberOf].objects
    assert found[v.schema.name].objects == (v.xsd.string,)
    assert found[v.schema.name].example
    assert found[v.rdf.predicate].objects == (NODE,)


def test_no_document_makes_an_empty_description() -> None:
    """A graph of nothing has prefixes and a profile, and no classes."""
    found = build_schema(())

    assert (found.triples, found.classes, found.predicates) == (0, (), ())
    assert "schema" in found.prefixes
