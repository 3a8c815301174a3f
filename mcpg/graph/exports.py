"""Triples as text (Turtle, N-Quads, RDF/XML, JSON-LD, drawings) and as graphs of libraries.

Turtle is written here and not by a library: its bytes must be the same under every version of one,
and making an object of each triple takes longer than all the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from json.encoder import encode_basestring
from operator import itemgetter
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph

from mcpg.documents.model import ToolDocument
from mcpg.graph import terms as v
from mcpg.graph.schema import GROUP, PAGE, SYMBOL, THING, TOOL, Network, NetworkEdge, NetworkNode
from mcpg.graph.terms import PREFIXES, RdfLiteral, Triple, abbreviate_iri, context_text
from mcpg.graph.triples import Node as NodeObject
from mcpg.graph.triples import framed_documents, make_triples, node_objects
from mcpg.text.markup import NO_XML, escape_visibly, mermaid_label, quoted_dot
from mcpg.text.safeyaml import UNSAFE, json_form, turtle_form, visible_form

if TYPE_CHECKING:
    import rdflib


_SHAPES = {TOOL: "box", PAGE: "note", GROUP: "ellipse", SYMBOL: "component", THING: "hexagon"}
_STYLES = {v.kb.relatedTo: "solid", v.kb.nextStep: "bold", v.kb.memberOf: "dotted"}


def dot(network: Network) -> Iterator[str]:
    """Write *network* as the lines of a directed graph in DOT."""
    yield "digraph tools {\n  rankdir=LR;\n"
    for place, node in enumerate(network.nodes):
        texts = (
            f"label={quoted_dot(node.label)}, tooltip={quoted_dot(node.description or node.title)}"
        )
        yield f"  n{place} [shape={_SHAPES[node.kind]}, {texts}];\n"
    for edge in network.edges:
        style = _STYLES.get(edge.predicate, "dashed")
        texts = f"label={quoted_dot(edge.name)}, tooltip={quoted_dot(edge.reason or edge.name)}"
        yield f"  n{edge.source} -> n{edge.target} [style={style}, {texts}];\n"
    yield "}\n"


_KEYS = {
    "node": ("iri", "kind", "label", "title", "description", "source"),
    "edge": ("predicate", "label", "weight", "reason", "origin"),
}


def graphml(network: Network) -> Iterator[str]:
    """Write *network* as the pieces of a GraphML document, after its XML declaration."""
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for owner, keys in _KEYS.items():
        for name in keys:
            kind = "double" if name == "weight" else "string"
            mark = f'id="{owner}-{name}" for="{owner}" attr.name="{name}" attr.type="{kind}"'
            yield f"  <key {mark}/>\n"
    yield '  <graph id="tools" edgedefault="directed">\n'
    for place, node in enumerate(network.nodes):
        yield f'    <node id="n{place}">{_format_data("node", node)}</node>\n'
    for edge in network.edges:
        ends = f'source="n{edge.source}" target="n{edge.target}"'
        yield f"    <edge {ends}>{_format_data('edge', edge)}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _format_data(owner: str, one: NetworkNode | NetworkEdge) -> str:
    names = {"label": "name"} if owner == "edge" else {}
    values = {name: str(getattr(one, names.get(name, name))) for name in _KEYS[owner]}
    return "".join(
        f'<data key="{owner}-{name}">{escape(escape_visibly(text))}</data>'
        for name, text in values.items()
        if text
    )


_OPENING = f'{context_text().rstrip().removesuffix("}").rstrip()},\n  "@graph": ['


def json_ld(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the pieces of a JSON-LD document in which every node occurs once."""
    return _document(node_objects(triples))


def framed_json_ld(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as a JSON-LD document of tools and pages that contain their parts."""
    return _document(framed_documents(triples))


def _document(nodes: Iterable[NodeObject]) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    yield _OPENING
    comma = ""
    for node in nodes:
        text = encode(node)
        yield f"{comma}\n    {text if text.isprintable() else UNSAFE.sub(json_form, text)}"
        comma = ","
    yield "\n  ]\n}\n"


_BRACKETS = {
    TOOL: ("[", "]"),
    PAGE: ("[/", "/]"),
    GROUP: ("([", "])"),
    SYMBOL: ("[[", "]]"),
    THING: ("{{", "}}"),
}
_ARROWS = {v.kb.relatedTo: "-->", v.kb.nextStep: "==>", v.kb.memberOf: "-.->"}


def mermaid(network: Network) -> Iterator[str]:
    """Write *network* as the lines of a Mermaid flowchart."""
    yield "flowchart LR\n"
    for place, node in enumerate(network.nodes):
        before, after = _BRACKETS[node.kind]
        yield f'  n{place}{before}"{mermaid_label(node.label)}"{after}\n'
    for edge in network.edges:
        arrow = _ARROWS.get(edge.predicate, "-->")
        yield f'  n{edge.source} {arrow}|"{mermaid_label(edge.name)}"| n{edge.target}\n'


def nquads(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the lines of an N-Quads document."""
    for subject, predicate, value in triples:
        term = f"<{value}>"
        if isinstance(value, RdfLiteral):
            kind = "" if value.datatype == v.xsd.string else f"^^<{value.datatype}>"
            term = f"{_quote(value.text)}{f'@{value.language}' if value.language else kind}"
        yield f"<{subject}> <{predicate}> {term} .\n"


def _quote(text: str) -> str:
    # The escapes of JSON are also escapes of Turtle and N-Quads; nothing can steer a terminal.
    string = encode_basestring(text)
    return string if string.isprintable() else UNSAFE.sub(turtle_form, string)


# A predicate is an element of XML: its namespace, and a name (productions [4] and [4a]).
_START = (
    r"A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LONGEST_NAME = 100
_INNER = rf"[{_START}0-9.\xb7\u0300-\u036f\u203f\u2040-]"
# Signs that are neither letters nor digits are names only since the fifth edition.
_LOCAL = re.compile(rf"(?=[^\W\d])[{_START}](?:(?=[\w.-]){_INNER})*\Z")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def rdf_xml(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the pieces of an RDF/XML document, after its XML declaration.

    XML has no room for control characters, which become visible escapes, nor for predicates that
    end in no name, which are left out: see `beyond_xml`.
    """
    spaces = "".join(f'\n    xmlns:{name}="{escape(iri)}"' for name, iri in PREFIXES.items())
    yield f"<rdf:RDF{spaces}>\n"
    for subject, group in groupby(triples, itemgetter(0)):
        facts = "".join(_element(predicate, value) for _, predicate, value in group)
        yield f"  <rdf:Description rdf:about={quoteattr(subject)}>\n{facts}  </rdf:Description>\n"
    yield "</rdf:RDF>\n"


def _match_local_name(predicate: str) -> re.Match[str] | None:
    return _LOCAL.search(predicate, max(0, len(predicate) - _LONGEST_NAME))


def beyond_xml(triples: Iterable[Triple]) -> int:
    """Return how many of *triples* RDF/XML cannot represent as they are."""
    return sum(
        _match_local_name(predicate) is None
        or (isinstance(value, RdfLiteral) and _NOT_XML.search(value.text) is not None)
        for _, predicate, value in triples
    )


def _element(predicate: str, value: str | RdfLiteral) -> str:
    local = _match_local_name(predicate)
    if local is None:
        return ""
    name = _abbreviate_iri(predicate)
    space = ""
    if name.startswith("<"):
        name, space = f"ns:{local[0]}", f" xmlns:ns={quoteattr(predicate[: local.start()])}"
    if not isinstance(value, RdfLiteral):
        return f"    <{name}{space} rdf:resource={quoteattr(value)}/>\n"
    kind = "" if value.datatype == v.xsd.string else f" rdf:datatype={quoteattr(value.datatype)}"
    if value.language:
        kind = f" xml:lang={quoteattr(value.language)}"
    text = escape(value.text)
    if not text.isprintable():
        # Nothing in it can steer a terminal.
        text = UNSAFE.sub(_xml_form, text).translate(NO_XML)
    return f"    <{name}{space}{kind}>{text}</{name}>\n"


def _xml_form(found: re.Match[str]) -> str:
    character = found.group()
    if character in "\n\t":
        return character
    # By its number even a carriage return stays one.
    return visible_form(found) if _NOT_XML.match(character) else f"&#{ord(character)};"


_NAMESPACES = tuple(PREFIXES.values())


def turtle(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the pieces of a Turtle document.

    Triples of one subject, and within them of one predicate, are joined if they follow each other.
    """
    for prefix, namespace in PREFIXES.items():
        yield f"@prefix {prefix}: <{namespace}> .\n"
    names = _TurtleNames()
    verbs = _TurtleNames({v.rdf.type: "a"})
    for subject, group in groupby(triples, itemgetter(0)):
        facts = " ;\n    ".join(
            f"{verbs[predicate]} {', '.join([_turtle_term(one[2], names) for one in same])}"
            for predicate, same in groupby(group, itemgetter(1))
        )
        yield f"\n{names[subject]} {facts} .\n"


class _TurtleNames(dict[str, str]):
    """IRIs as Turtle writes them, with their prefix if they are in a vocabulary."""

    def __missing__(self, iri: str) -> str:
        if iri.startswith(_NAMESPACES):
            self[iri] = name = _abbreviate_iri(iri)
            return name
        return f"<{iri}>"


def _abbreviate_iri(iri: str) -> str:
    return abbreviate_iri(iri, lambda local: local.isascii() and local.isalpha()) or f"<{iri}>"


# Literals that Turtle writes without quotes.
_SHORT = {
    v.xsd.boolean: re.compile(r"(?:true|false)\Z"),
    v.xsd.decimal: re.compile(r"[+-]?[0-9]*\.[0-9]+\Z"),
    v.xsd.integer: re.compile(r"[+-]?[0-9]+\Z"),
}


def _turtle_term(value: str | RdfLiteral, names: _TurtleNames) -> str:
    if not isinstance(value, RdfLiteral):
        return names[value]
    text, datatype, language = value
    form = _SHORT.get(datatype)
    if form is not None and form.match(text):
        return text
    quoted = _quote(text)
    if language:
        return f"{quoted}@{language}"
    return quoted if datatype == v.xsd.string else f"{quoted}^^{names[datatype]}"


def build_graph(documents: Iterable[ToolDocument]) -> rdflib.Graph:
    """Return *documents*, no two with the same node, as a graph with all prefixes."""
    import rdflib  # noqa: PLC0415 - texts need no library
    from oxrdflib import OxigraphStore  # noqa: PLC0415
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID  # noqa: PLC0415

    store = OxigraphStore(store=oxigraph_store(make_triples(documents)))
    # Only under this name does a graph of rdflib read the default graph of Oxigraph.
    graph = rdflib.Graph(store, DATASET_DEFAULT_GRAPH_ID, bind_namespaces="none")
    for prefix, namespace in PREFIXES.items():
        graph.bind(prefix, namespace)
    return graph


def oxigraph_store(triples: Iterable[Triple]) -> pyoxigraph.Store:
    """Return a store in memory with *triples* in its default graph."""
    store = pyoxigraph.Store()
    # To parse text is twice as fast as to make an object of each triple. The text is known to be
    # valid, so it need not be checked.
    data = "".join(turtle(triples)).encode()
    store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    return store
