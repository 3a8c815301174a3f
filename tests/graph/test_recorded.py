"""What the graph says of recorded documents, beside what the .NET library says of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import pytest

from mcpg.bundle import assemble
from mcpg.bundle.codec import decode_bundle
from mcpg.documents.addresses import BASE_URI
from mcpg.graph.terms import PREFIXES, RdfLiteral, Triple
from mcpg.graph.triples import distinct_documents, make_triples
from mcpg.sources.model import SourceBatch

RECORDED = Path(__file__).parents[1] / "interop"
SHORT = {**PREFIXES, "d": BASE_URI}
"""Prefixes of the recording, that of the documents among them."""

Statement: TypeAlias = tuple[str, str, str]


class Reason(NamedTuple):
    """Why some statements are made by one side alone.

    Attributes:
        side: `-` for those of the .NET library, `+` for those of mcpg.
        subject: Pattern of the whole subject, and so on.
    """

    side: str
    subject: str = ".*"
    predicate: str = ".*"
    object: str = ".*"

    def explains(self, side: str, statement: Statement) -> bool:
        """Return whether this is why only *side* makes *statement*."""
        return side == self.side and all(
            re.fullmatch(pattern, term, re.DOTALL)
            for pattern, term in zip(self[1:], statement, strict=True)
        )


EDGES = "<kb:(relatedTo|nextStep)>"
GENERATED = "<(source-)?domain:.*>"
NAMED = "<(rdf:type|schema:name|schema:sameAs)>"
REASONS: dict[str, tuple[Reason, ...]] = {
    "the library has a scheme, a label and a weight for every node": (
        Reason("-", predicate="<(rdfs:label|skos:prefLabel|skos:exactMatch|kb:confidence)>"),
        Reason("-", predicate="<skos:(inScheme|topConceptOf|hasTopConcept)>"),
        Reason("-", predicate="<rdf:type>", object="<(kb:KnowledgeConcept|skos:Concept)>"),
    ),
    "the library derives every node from the documents that name it": (
        Reason("-", predicate="<prov:wasDerivedFrom>"),
    ),
    "groups are a thesaurus, with readable labels": (
        Reason("+", predicate="<skos:.*>"),
        Reason("+", subject="<d:groups>"),
        Reason("+", predicate="<rdf:type>", object="<skos:Concept>"),
    ),
    "edges have their weight and reason at a statement": (
        Reason("+", subject="<.*[#/](related|nextStep)/[0-9a-f]{8}>"),
    ),
    "a document has its text, its sections, and a description from its prose": (
        Reason("+", predicate="<schema:(articleBody|hasPart|position)>"),
        Reason("+", subject="<.*[#/]section/.*>"),
        Reason("+", subject="<(d:(?!id/)|file:|https?:).*>", predicate="<schema:description>"),
    ),
    "tools have sources, and groups made of their names": (
        Reason("+", subject="<d:source/.*>"),
        Reason("+", predicate="<kb:memberOf>", object=GENERATED),
        Reason("+", subject=GENERATED),
    ),
    "relations between tools are inferred": (
        Reason("+", "<d:(guides|tools)/.*>", "<kb:relatedTo>", "<d:(guides|tools)/.*>"),
    ),
    "links in prose are relations": (
        Reason("+", "<d:guides/(link-yard|wiki-yard|deep/er/link-well)/>", "<kb:relatedTo>"),
    ),
    "a target with a sameAs is that address": (
        Reason("-", "<d:tools/label_print/>", EDGES, "<d:id/customs-form>"),
        Reason("+", "<d:tools/label_print/>", EDGES, "<https://larkspur.example/forms/customs>"),
    ),
    "targets by path, title, name or id are resolved": (
        Reason("-", predicate=EDGES, object="<(d:id/.*|depot::stock_peek|file:.*)>"),
        Reason("-", predicate=EDGES, object="<d:tools/parcel_trace/>"),
        Reason("+", predicate=EDGES, object="<d:(tools|pages|runbooks)/.*/>"),
    ),
    "what is only pointed at is not described": (
        Reason("-", "<(d:id/.*|lark:.*|https://larkspur.example/printers/.*)>", NAMED),
        Reason("-", "<d:tools/(queue_drain|rollout_start)/>", "<(rdf:type|schema:name)>"),
    ),
    "a document with a doubled key or a forced type is left out, with a diagnostic": (
        Reason("-", subject="<d:(runbooks/twice-told|pages/plain-values)/>"),
    ),
    "a list or mapping where a text belongs is reported, and no name of a .NET type": (
        Reason("-", object='(<d:id/system.*>|"System\\..*")'),
    ),
    "numbers, truth values and languages keep their kind; a text is no address": (
        Reason("-", "<d:tools/(dock_slot|rollout_start|rollout_undo)/>", "<https?:.*>"),
        Reason("+", "<d:tools/(dock_slot|rollout_start|rollout_undo)/>", "<(https?|LARK):.*>"),
    ),
    "both spellings of a key count": (Reason("+", "<d:tools/dock_slot/>"),),
    "dates are taken as they are written": (
        Reason("-", "<d:pages/(summer|winter)-calendar/>", "<schema:date.*>"),
        Reason("+", "<d:pages/(summer|winter)-calendar/>", "<schema:date.*>"),
    ),
    "a heading in a code block is no title, one under a line is; marks are left out": (
        Reason("-", "<d:guides/(fenced|late|no-front|set_ext).*>", "<schema:name>"),
        Reason("+", "<d:guides/(fenced|late|no-front|set_ext).*>", "<schema:name>"),
    ),
    "an empty line above front matter, or spaces before it, are overlooked": (
        Reason("-", "<d:guides/dashes-inside/>", "<schema:description>"),
        Reason("+", "<d:guides/late-fence/>", "<kb:memberOf>"),
        Reason("+", "<d:id/never-read>"),
    ),
    "keys in another case are reported, and not read": (
        Reason("-", subject="<d:guides/shouting-keys/>"),
    ),
    "two documents with one address, or one but for its case, are two": (
        Reason("-", "<(d:guides/packing/|d:pages/spring%20sale/|https://larkspur.*)>"),
        Reason("+", "<.*/page/>"),
    ),
    "a description is the tool's own, before a summary": (
        Reason("-", "<d:tools/stock_peek/>", "<schema:description>"),
    ),
    "keywords differ by case": (Reason("+", "<d:tools/stock_peek/>", "<schema:keywords>"),),
    "things that are the same are linked, and not made one": (
        Reason("-", "<(d:pages/yard-map|d:runbooks/carrier-names)/>"),
        Reason("-", "<(d:id/plan-on-paper|https://carriers.example/Grey-Ferry)>"),
        Reason("+", "<d:runbooks/carrier-names/>"),
        Reason("+", "<(d:id/swift-heron.*|https://carriers.example/.*)>"),
        Reason("+", "<d:pages/yard-plan/>", "<kb:(memberOf|nextStep)>"),
    ),
    "a group or thing called article or document is that, and not the document itself": (
        Reason("-", "<d:runbooks/night-freeze/(#exceptions)?>"),
        Reason("+", "<d:runbooks/night-freeze/>"),
        Reason("+", "<d:id/(article|document|this-article)>"),
    ),
    "what hints, entities and topics name is mentioned, and described": (
        Reason("+", predicate="<(schema:mentions|prov:wasDerivedFrom)>"),
        Reason("+", "<(d:id/.*|schema:.*|https://larkspur.example/.*)>", NAMED),
    ),
    "topics and authors may be addresses, or several": (
        Reason("-", "<d:pages/(glossary|desk-rota|many-hands)/>"),
        Reason("+", "<d:pages/(glossary|desk-rota|many-hands)/>"),
    ),
    "labels of other scripts, and letters with marks, are kept apart": (
        Reason("-", "<(d:pages/%D8.*|d:runbooks/cold-chain/)>", "<kb:.*>"),
        Reason("+", "<(d:pages/%D8.*|d:runbooks/cold-chain/)>", "<kb:.*>"),
    ),
    "addresses are kept as they are written": (
        Reason("-", "<http://larkspur.*>", EDGES),
        Reason("+", "<http://larkspur.*>", EDGES),
        Reason("-", "<d:tools/refund_open/>", EDGES, "<(https|note):.*>"),
        Reason("+", "<d:tools/refund_open/>", EDGES),
    ),
    "predicates may have the document's prefixes, or be words": (
        Reason("-", "<d:runbooks/lost-parcel/>", "<lark:.*>"),
        Reason("+", "<d:runbooks/lost-parcel/>", "<(urn:mcpg:id/|https://larkspur).*>"),
    ),
}
"""Patterns of the statements that one side alone makes, by the reason; the first one counts."""


def recorded() -> set[Statement]:
    """Return what the .NET library says of the documents, less what every graph of it has."""
    lines = (RECORDED / "dev.statements.tsv").read_text("utf-8").splitlines()
    return {alike((subject, predicate, value)) for subject, predicate, value in map(_split, lines)}


def stated() -> set[Statement]:
    """Return what mcpg says of them, less what its own vocabulary says."""
    file = RECORDED / "dev.bundle.json"
    documents = decode_bundle(file.read_bytes(), file.name).documents
    found = assemble(SourceBatch(documents=tuple(documents)))
    kept, _ = distinct_documents((*found.documents, *found.pages))
    statements = map(written, make_triples(kept, BASE_URI))
    own = (one for one in statements if "<mcpg:" not in f"{one[1]}{one[2]}")
    return {alike(one) for one in own}


def _split(line: str) -> list[str]:
    return line.split("\t")


def written(triple: Triple) -> Statement:
    """Return *triple* as the recording has it."""
    subject, predicate, value = triple
    if not isinstance(value, RdfLiteral):
        return short(subject), short(predicate), short(value)
    text = value.text.replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    kind = "" if value.datatype.endswith("#string") else f"^^{short(value.datatype)}"
    end = f"@{value.language}" if value.language else kind
    return short(subject), short(predicate), f'"{text}"{end}'


def short(iri: str) -> str:
    """Return *iri* between angle brackets, with a prefix where it has one."""
    for prefix, namespace in SHORT.items():
        if iri.startswith(namespace):
            return f"<{prefix}:{iri.removeprefix(namespace)}>"
    return f"<{iri}>"


def alike(statement: Statement) -> Statement:
    """Return *statement* with the nodes of labels and groups as both sides write them.

    The library keeps Latin letters, digits and hyphens of a label; mcpg adds a digest where it
    leaves anything out.
    """
    subject, predicate, value = map(_alike, statement)
    return subject, predicate, value


def _alike(term: str) -> str:
    if not term.startswith("<d:id/"):
        return term.replace("<d:groups/", "<")
    name = re.sub(r"-[0-9a-f]{8}$", "", unquote(term[6:-1]))
    return f"<d:id/{re.sub('[^a-z0-9-]', '', name)}>"


@pytest.fixture(scope="module")
def differences() -> list[tuple[str, Statement]]:
    """Statements that one side alone makes, with the side."""
    theirs, ours = recorded(), stated()
    return [
        *(("-", one) for one in sorted(theirs - ours)),
        *(("+", one) for one in sorted(ours - theirs)),
    ]


def test_every_difference_has_a_reason(differences: list[tuple[str, Statement]]) -> None:
    """What one side alone says of the documents is on the list of reasons."""
    rules = [rule for rules in REASONS.values() for rule in rules]
    left = [one for one in differences if not any(rule.explains(*one) for rule in rules)]
    assert left == []


def test_every_reason_explains_a_difference(differences: list[tuple[str, Statement]]) -> None:
    """Nothing is on the list that no longer differs."""
    rules = [rule for rules in REASONS.values() for rule in rules]
    used = {next((rule for rule in rules if rule.explains(*one)), None) for one in differences}
    assert [rule for rule in rules if rule not in used] == []


def test_statements_are_the_same_where_nothing_differs() -> None:
    """The reasons are not so wide that nothing is left to compare."""
    assert len(recorded() & stated()) > 500
