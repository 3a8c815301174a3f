from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from bounded import output_of
from generated import canonical, documents
from hypothesis import HealthCheck, given, settings
from pyld import jsonld

from mcpg.catalog.model import NO_HINTS
from mcpg.errors import DocumentError
from mcpg.graph.exports import framed_json_ld, json_ld
from mcpg.graph.jsonld import from_jsonld, to_jsonld
from mcpg.graph.terms import CONTEXT_IRI, context
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.documents.model import ToolDocument

wide = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def refused(iri: str, _: Any) -> Any:
    """Load nothing."""
    raise AssertionError(iri)


OFFLINE = {"documentLoader": refused}


SHAPES: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda data: data,
    "as text": json.dumps,
    "expanded": lambda data: jsonld.expand(data, OFFLINE),
    "compacted": lambda data: jsonld.compact(jsonld.expand(data, OFFLINE), context(), OFFLINE),
    "compacted without a context": lambda data: jsonld.compact(data, {}, OFFLINE),
    "flattened": lambda data: jsonld.flatten(data, None, OFFLINE),
    "framed": lambda data: jsonld.frame(
        data, {"@context": context(), "type": "Tool", "@embed": "@always"}, OFFLINE
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_survives_every_shape(rich: ToolDocument, shape: str) -> None:
    """Whatever a JSON-LD processor makes of it, the same document is read back."""
    assert from_jsonld(SHAPES[shape](to_jsonld(rich))) == [rich]


@wide
@given(documents().map(canonical))
def test_nothing_is_lost_by_compaction_and_framing(document: ToolDocument) -> None:
    """Document, JSON-LD, compaction, framing, document: all but generated texts comes out."""
    document = replace(document, tool=replace(document.tool, generated=NO_HINTS))
    data = to_jsonld(document)
    compact = jsonld.compact(jsonld.expand(data, OFFLINE), context(), OFFLINE)

    assert from_jsonld(compact) == [document]
    assert from_jsonld(data) == [document]


def with_keyword(value: Any) -> Any:
    """Write `@type` in full in values, as rdflib needs it."""
    if isinstance(value, list):
        return [with_keyword(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "@value" in value:
        return {"@type" if key == "type" else key: one for key, one in value.items()}
    return {key: with_keyword(one) for key, one in value.items()}


@wide
@given(documents().map(canonical))
def test_what_is_written_is_compacted_already(document: ToolDocument) -> None:
    """Our compaction is that of the processor, and so is our framing."""
    data = to_jsonld(document)
    flat = json.loads("".join(json_ld(make_triples([document]))))

    assert with_keyword(jsonld.compact(data, context(), OFFLINE)) == data
    assert with_keyword(jsonld.compact(flat, context(), OFFLINE)["@graph"]) == flat["@graph"]
    frame = {"@context": context(), "@embed": "@never", "type": "Tool"}
    tool, *_ = json.loads("".join(framed_json_ld(make_triples([document]))))["@graph"]
    assert jsonld.frame(flat, frame, OFFLINE)["id"] == data["id"]
    assert {"@context": data["@context"], **tool} == data


def test_parts_that_share_parts_are_read_in_linear_time() -> None:
    """Forty parts, each of which has the next one twice, are no 2^40 parts."""
    program = (
        "from mcpg.graph.jsonld import from_jsonld\n"
        "def part(n, side):\n"
        "    below = [f'urn:x:{n + 1}{one}' for one in 'ab']\n"
        "    return {'id': f'urn:x:{n}{side}', 'type': 'Parameter', 'parameters': below}\n"
        "nodes = [part(n, side) for n in range(40) for side in 'ab']\n"
        "nodes[0] |= {'type': 'Tool', 'toolName': 'x'}\n"
        "data = {'@context': 'urn:mcpg:context', '@graph': nodes}\n"
        "print(*[one.tool.name for one in from_jsonld(data)])\n"
    )
    assert output_of(program) == "x\n"


def test_the_exports_hold_every_document(shop: Mapping[str, ToolDocument]) -> None:
    """Flat and framed, a whole catalogue is read back."""
    expected = list(shop.values())
    for export in (json_ld, framed_json_ld):
        text = "".join(export(make_triples(expected)))
        found = {document.uri: document for document in from_jsonld(text)}
        assert [found[document.uri] for document in expected] == expected


def test_flat_json_ld_says_what_the_triples_say(rich: ToolDocument) -> None:
    """A processor reads the same statements out of it."""
    flat = json.loads("".join(json_ld(make_triples([rich]))))
    dataset = jsonld.to_rdf(flat, OFFLINE)
    found = {
        (one["subject"]["value"], one["predicate"]["value"], meant(one["object"]))
        for one in dataset["@default"]
    }

    assert found == {
        (subject, predicate, value if isinstance(value, str) else meant(value._asdict()))
        for subject, predicate, value in make_triples([rich])
    }


def meant(value: Mapping[str, Any]) -> Any:
    """Return the value that a term stands for."""
    if value.get("type") == "IRI":
        return value["value"]
    text = value.get("value", value.get("text"))
    return text, value["datatype"], value.get("language", "")


def test_our_context_may_be_referred_to(rich: ToolDocument) -> None:
    """A document need not hold the context, and a host may add contexts of its own."""
    data = to_jsonld(rich)
    assert from_jsonld({**data, "@context": CONTEXT_IRI}) == [rich]

    own = {"https://host.example/context": {"@context": context()}}
    assert from_jsonld({**data, "@context": next(iter(own))}, contexts=own) == [rich]


def test_contexts_are_never_fetched(rich: ToolDocument) -> None:
    """A reference to anything else is an error, not a request."""
    data = {**to_jsonld(rich), "@context": "http://127.0.0.1:9/context"}
    with pytest.raises(DocumentError, match=r"127.*/context' is not available"):
        from_jsonld(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "JSON"),
        ("{} {}", "several JSON values"),
        ({"@context": {"@version": 2}}, "cannot be read as JSON-LD"),
        ({"@context": {"a": {"@id": 1}}, "a": 1}, "cannot be read as JSON-LD"),
        ({"@id": ["x"], "@type": "urn:mcpg:vocab:Tool"}, "cannot be read as JSON-LD"),
        ({"@id": "urn:a", "@type": "urn:mcpg:vocab:Tool"}, "nothing names the tool"),
        (
            {"@context": CONTEXT_IRI, "type": "Tool", "name": "a", "costTier": "Free"},
            "its `costTier` is 'Free'",
        ),
        (
            {"@context": CONTEXT_IRI, "type": "Tool", "name": "a", "meta": "[1, 2]"},
            "its `meta` is not a JSON object",
        ),
        (
            {
                "@context": CONTEXT_IRI,
                "type": "Tool",
                "name": "a",
                "relations": {
                    "predicate": "kb:relatedTo",
                    "object": "urn:b",
                    "confidence": "much",
                },
            },
            "the confidence 'much' of an edge is invalid",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(data: Any, message: str) -> None:
    """Broken JSON, broken JSON-LD and impossible tools are told apart."""
    with pytest.raises(DocumentError, match=re.escape(message)):
        from_jsonld(data)


def test_json_ld_that_is_nested_too_deeply_is_refused() -> None:
    """Depth ends in a message, not in a crash."""
    data: Any = {"@id": "urn:a"}
    for _ in range(3000):
        data = {"urn:p": data}
    with pytest.raises(DocumentError, match="nested too deeply"):
        from_jsonld(data)


def test_hand_written_json_ld_needs_little() -> None:
    """A type and a name make a tool; edges and groups may stand without statements."""
    data = {
        "@context": CONTEXT_IRI,
        "type": "Tool",
        "name": "track",
        "source": "urn:mcpg:source:shop",
        "readOnly": {"@value": "true", "type": "xsd:boolean"},
        "groups": "domain:parcel",
        "related": ["urn:b"],
        "nextSteps": {"id": "urn:c"},
    }
    (document,) = from_jsonld(data)

    assert (document.tool.name, document.tool.source_id) == ("track", "shop")
    assert document.path == "tools/shop/track.md"
    assert document.groups == ("domain:parcel",)
    assert [(link.kind.value, link.target) for link in document.links] == [
        ("related", "urn:b"),
        ("nextStep", "urn:c"),
    ]
    assert document.tool.hints.read_only is True


def test_json_may_stand_as_json(rich: ToolDocument) -> None:
    """What another program writes as `@json` is read with every null in its arrays."""
    data = {
        "@context": [CONTEXT_IRI, {"annotations": {"@id": "mcpg:annotations", "@type": "@json"}}],
        **{key: value for key, value in to_jsonld(rich).items() if key != "@context"},
        "annotations": rich.tool.annotations,
    }
    assert from_jsonld(data) == [rich]


def test_other_nodes_are_no_tools() -> None:
    """What is no tool is passed over."""
    assert from_jsonld({"@id": "urn:a", "https://schema.org/name": "x"}) == []
    assert from_jsonld([]) == []
