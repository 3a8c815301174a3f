from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dotnet_rules import refusal_of
from fronts import fronts, objects
from generated import texts
from hypothesis import example, given
from hypothesis import strategies as st

from mcpg.documents import dotnet
from mcpg.documents.dotnet import portable_values
from mcpg.documents.facts import parse_facts
from mcpg.graph.terms import PREFIXES

if TYPE_CHECKING:
    from mcpg.text.json_values import JsonObject, JsonValue


@given(fronts)
@example({"rdf_types": ["skos:Concept"], "rdfPrefixes": {"ex": "urn:ex:"}})
@example({"rdf_prefixes": {"http": "urn:ex:"}, "rdf_types": ["http://ex.test/"]})
@example({"rdf_prefixes": {"ex:": "urn:ex:"}, "rdf_types": ["ex:A"]})
def test_no_front_matter_is_refused(front: JsonObject) -> None:
    """Whatever an author declares, names and states, what is written instead is read."""
    values, changes = portable_values(front)
    assert refusal_of(values) is None
    assert refusal_of(front) is None or changes
    assert values.keys() >= front.keys()


@given(fronts)
def test_what_is_portable_stays(front: JsonObject) -> None:
    """Portable front matter has nothing to be changed."""
    values, _ = portable_values(front)
    assert portable_values(values) == (values, [])


@given(fronts)
def test_nothing_is_changed_without_a_reason(front: JsonObject) -> None:
    """What differs has a change that tells why, and nothing else does."""
    values, changes = portable_values(front)
    assert (values == front) == (not changes)
    assert all(change.reason and change.path[0] in front for change in changes)


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        # A known prefix is declared.
        (
            {"rdf_types": ["skos:Concept"]},
            {"rdf_types": ["skos:Concept"], "rdf_prefixes": {"skos": PREFIXES["skos"]}},
        ),
        # Where the author's prefix means something else elsewhere, its IRIs are written out.
        (
            {"rdf_prefixes": {"schema": "http://schema.org/"}, "rdf_types": ["schema:HowTo"]},
            {"rdf_prefixes": {}, "rdf_types": ["http://schema.org/HowTo"]},
        ),
        # What nobody can resolve is left out, and the rest stays.
        (
            {"rdf_types": ["nobody:Knows", "schema:HowTo"]},
            {"rdf_types": ["schema:HowTo"]},
        ),
        ({"rdf_properties": {"level": 3}}, {"rdf_properties": {}}),
        # A value that mcpg reads is written where others look for it.
        (
            {"rdf_properties": {"schema:audience": {"label": "Drivers"}}},
            {"rdf_properties": {"schema:audience": {"value": "Drivers", "label": "Drivers"}}},
        ),
        # An address that others do not resolve is written as a text.
        (
            {"rdf_properties": {"schema:email": [{"id": "mailto:a@ex.test"}, 3]}},
            {"rdf_properties": {"schema:email": ["mailto:a@ex.test", 3]}},
        ),
        (
            {"rdf_properties": [{"predicate": "schema:x", "value": "a"}]},
            {"rdf_properties": {"schema:x": [{"value": "a"}]}},
        ),
        (
            {"rdf_properties": {"schema:x": {"value": "a", "datatype": "nobody:knows"}}},
            {"rdf_properties": {"schema:x": {"value": "a"}}},
        ),
        ({"rdf_prefixes": None}, {"rdf_prefixes": {}}),
    ],
)
def test_what_is_written_instead(front: JsonObject, expected: JsonValue) -> None:
    """Only what hurts is written otherwise, and it says the same wherever that can be said."""
    values, changes = portable_values(front)
    assert values == expected
    assert changes


@given(st.dictionaries(texts, objects, max_size=3))
def test_other_keys_are_nobodys_business(front: JsonObject) -> None:
    """Front matter without names of RDF is returned as it is."""
    values, changes = portable_values({f"x_{key}": value for key, value in front.items()})
    assert values == {f"x_{key}": value for key, value in front.items()}
    assert not changes


def test_prefixes_are_those_of_the_graph() -> None:
    """A name means to others what it means in the graph."""
    assert PREFIXES == {**dotnet.BUILT_IN, **dotnet.ONLY_IN_RULES, "mcpg": "urn:mcpg:vocab:"}


def test_a_hundred_thousand_prefixes() -> None:
    """However many prefixes there are, each is looked at once."""
    front: JsonObject = {
        "rdf_prefixes": {f"p{number}": f"urn:ex:{number}:" for number in range(100_000)},
        "rdf_types": ["p99999:A", "nobody:B"],
    }
    values, changes = portable_values(front)
    assert parse_facts(values).types == ("p99999:A",)
    assert [change.path for change in changes] == [("rdf_types", 1)]
