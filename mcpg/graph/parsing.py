"""Parse RDF of any format into triples, within bounds, since it may come from strangers.

Oxigraph parses; nothing is fetched. Contexts of JSON-LD that a document refers to are put in place
beforehand, if they are known. Oxigraph's JSON-LD parser reads in one pass; if it refuses the order
of the keys, PyLD reads the document.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import Any

import pyoxigraph

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import SourceError
from mcpg.graph import terms as v
from mcpg.graph.terms import CONTEXT_IRI, RdfLiteral, Triple, context
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import rdf_reason

MAX_TRIPLES = 3_000_000
"""The most triples of a graph that is read: about 40,000 tools."""

MAX_LITERAL = 16 * 1024 * 1024
"""Longest value that is read, in characters."""

# The most characters to which the entities of an RDF/XML document may expand, and of the contexts
# that a JSON-LD document refers to, each as often as it is.
MAX_ENTITIES, MAX_CONTEXTS = 16 * 1024 * 1024, 64 * 1024 * 1024

ANONYMOUS = "_:"
"""The beginning of the name of a blank node."""


class RdfFormat(StrEnum):
    """The formats of RDF that are read, by the names that Oxigraph gives them."""

    TURTLE = "turtle"
    N_TRIPLES = "ntriples"
    N_QUADS = "nquads"
    TRIG = "trig"
    N3 = "n3"
    RDF_XML = "rdf-xml"
    JSON_LD = "json-ld"


EXTENSIONS: Mapping[str, RdfFormat] = {
    ".ttl": RdfFormat.TURTLE,
    ".turtle": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".n3": RdfFormat.N3,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}
"""The format of each file name extension."""

_JSON = re.compile(r"\s*[\[{]")
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|!--|rdf:RDF)")
# With a term for the graph after the object.
_QUAD = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:<[^<>]*>|_:\S+)\s+<[^<>]*>\s+\S.*\s(?:<[^<>]*>|_:\S+)\s*\."
)


def detect_format(place: str, text: str) -> RdfFormat:
    """Return the format of *text*: by the extension of *place*, else by its beginning."""
    ends = (form for end, form in EXTENSIONS.items() if place.casefold().endswith(end))
    stated = next(ends, None)
    # OWL is written in any format.
    if stated is not None and not place.casefold().endswith(".owl"):
        return stated
    if _JSON.match(text):
        return RdfFormat.JSON_LD
    if _XML.match(text):
        return RdfFormat.RDF_XML
    return RdfFormat.N_QUADS if _QUAD.match(text) else RdfFormat.TURTLE


def triples_in(
    text: str, form: RdfFormat, place: str, contexts: Mapping[str, Any] | None = None
) -> Iterator[Triple]:
    """Return the triples of *text* in its order, also those of named graphs.

    Blank nodes are numbered in the order in which they come. *place* is what to call the text in
    messages, and *contexts* the documents of contexts that JSON-LD may refer to, by IRI. A text
    that is broken, or beyond a bound, is a `SourceError`.
    """
    if form is RdfFormat.JSON_LD:
        value, *more = parse_json_documents(text, place)
        if more:
            raise _make_error("has several JSON values", place, "put them into one array")
        return _limit_triples(_parse_json_ld(value, text, place, contexts or {}), place)
    if form is RdfFormat.RDF_XML:
        _check_entities(text, place)
    return _limit_triples(_parse_other(text, form, place), place)


def triples_of_json_ld(
    data: JsonValue, place: str, contexts: Mapping[str, Any] | None = None
) -> Iterator[Triple]:
    """Return the triples of the parsed JSON-LD *data*; see `triples_in`."""
    return _limit_triples(_parse_json_ld(data, "", place, contexts or {}), place)


def _limit_triples(triples: Iterable[Triple], place: str) -> Iterator[Triple]:
    for count, triple in enumerate(triples):
        value = triple[2]
        if count >= MAX_TRIPLES:
            raise _make_error(f"has more than {MAX_TRIPLES:,} triples", place, "split the graph")
        if isinstance(value, RdfLiteral) and len(value.text) > MAX_LITERAL:
            message = f"has a value of more than {MAX_LITERAL:,} characters"
            raise _make_error(message, place, "shorten it")
        yield triple


def _parse_other(text: str, form: RdfFormat, place: str) -> Iterator[Triple]:
    try:
        yield from _run_oxigraph(text, form)
    except SyntaxError as fault:
        reason, line = rdf_reason(fault)
        remedy = "check it with any RDF tool, or export the graph again"
        raise _make_error(reason, f"{place}:{line}" if line else place, remedy) from fault


def _run_oxigraph(text: str, form: RdfFormat) -> Iterator[Triple]:
    known: dict[str, str] = {}
    data = text.encode("utf-8", "surrogatepass")
    for quad in pyoxigraph.parse(input=data, format=getattr(pyoxigraph.RdfFormat, form.name)):
        subject, value = _name_node(quad.subject, known), quad.object
        if isinstance(value, pyoxigraph.Literal):
            datatype = v.rdf.langString if value.language else value.datatype.value
            datatype = known.setdefault(datatype, datatype)
            found: str | RdfLiteral = RdfLiteral(
                value.value, datatype, (value.language or "").lower()
            )
        else:
            found = _name_node(value, known)
        yield subject, _name_node(quad.predicate, known), found


def _name_node(term: Any, known: dict[str, str]) -> str:
    if isinstance(term, pyoxigraph.NamedNode):
        return known.setdefault(term.value, term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        name = f"{ANONYMOUS}{term.value}"
        return known.setdefault(name, f"{ANONYMOUS}b{len(known)}")
    raise SyntaxError("a triple within a triple, or a variable, is not a statement of documents")


_ENTITY = re.compile(r"<!ENTITY\s+([\w.:-]+)\s+(?:\"([^\"]*)\"|'([^']*)')\s*>")
_ANY_ENTITY = re.compile(r"<!ENTITY")
_REFERENCE = re.compile(r"&([\w.:-]+);")
# A character by its number, and the names that every XML document may use.
_HARMLESS = re.compile(r"&(?:#[0-9]+|#x[0-9A-Fa-f]+|amp|lt|gt|quot|apos);")


def _check_entities(text: str, place: str) -> None:
    remedy = "write the values out"
    entities = {found[1]: found[2] or found[3] or "" for found in _ENTITY.finditer(text)}
    if len(_ANY_ENTITY.findall(text)) != len(entities):
        message = "declares an entity that is external, repeated or not a text"
        raise _make_error(message, place, remedy)
    if any("&" in _HARMLESS.sub("", value) for value in entities.values()):
        raise _make_error("declares an entity that refers to another", place, remedy)
    expanded = sum(len(entities.get(found[1], "")) for found in _REFERENCE.finditer(text))
    if expanded > MAX_ENTITIES:
        message = f"has entities that expand to more than {MAX_ENTITIES:,} characters"
        raise _make_error(message, place, remedy)


def _parse_json_ld(
    data: JsonValue, text: str, place: str, contexts: Mapping[str, Any]
) -> Iterator[Triple]:
    """Return the triples of *data*, which is the JSON-LD document *text* if that is given."""
    known = {CONTEXT_IRI: {"@context": context()}, **contexts}
    try:
        whole = _ContextFiller(known).fill(data)
        written = text if text and whole is data else json.dumps(whole, ensure_ascii=False)
    except _ContextError as fault:
        raise _make_json_ld_error(str(fault), place) from None
    except (RecursionError, ValueError) as fault:
        raise _make_json_ld_error("it is nested too deeply", place) from fault
    try:
        yield from _run_oxigraph(written, RdfFormat.JSON_LD)
    except SyntaxError as fault:
        if len(written) > MAX_LITERAL:
            raise _make_json_ld_error(rdf_reason(fault)[0], place) from fault
        # Triples that came before the fault come again, which does no harm.
        yield from _run_pyld(whole, place)


class _ContextError(Exception):
    """A context that is not at hand, or too many."""


class _ContextFiller:
    """Puts contexts that a document refers to in their places, so many characters of them."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known, self._room = known, MAX_CONTEXTS

    def fill(self, data: JsonValue) -> JsonValue:
        if isinstance(data, list):
            new = [self.fill(one) for one in data]
            return data if all(map(operator.is_, data, new)) else new
        if not isinstance(data, dict):
            return data
        changed: JsonObject = {}
        for key, value in data.items():
            whole = self._resolve(value) if key == "@context" else self.fill(value)
            if whole is not value:
                changed[key] = whole
        return {**data, **changed} if changed else data

    def _resolve(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            new = [self._resolve(one) for one in value]
            return value if all(map(operator.is_, value, new)) else new
        if isinstance(value, str):
            if value not in self._known:
                raise _ContextError(f"the context {value!r} is not available")
            found: JsonValue = self._known[value].get("@context", {})
            self._room -= len(json.dumps(found))
            if self._room < 0:
                raise _ContextError(f"its contexts come to more than {MAX_CONTEXTS:,} characters")
            return self._resolve(found)
        if isinstance(value, dict) and "@import" in value:
            raise _ContextError(f"the context {value['@import']!r} is not available")
        return self.fill(value)


def _run_pyld(data: JsonValue, place: str) -> Iterator[Triple]:
    from pyld import jsonld  # noqa: PLC0415 - hardly ever needed

    faults = (jsonld.JsonLdError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
    found: list[Triple] = []
    try:
        dataset = jsonld.to_rdf(data, {"documentLoader": _refuse_context})
        for triple in chain.from_iterable(dataset.values()):
            value = triple["object"]
            term: str | RdfLiteral = value["value"]
            if value["type"] == "literal":
                language = value.get("language", "")
                datatype = v.rdf.langString if language else value.get("datatype", v.xsd.string)
                term = RdfLiteral(value["value"], datatype, language.lower())
            found.append((triple["subject"]["value"], triple["predicate"]["value"], term))
    except faults as fault:
        cause: BaseException = fault
        while isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        text = str(cause.args[0] if cause.args else type(cause).__name__).removesuffix(".")
        is_deep = isinstance(cause, RecursionError)
        reason = "it is nested too deeply" if is_deep else text
        raise _make_json_ld_error(reason, place) from fault
    yield from found


def _refuse_context(iri: str, _: Any) -> Any:
    raise ValueError(f"the context {iri!r} is not available")


def _make_json_ld_error(reason: str, place: str) -> SourceError:
    return _make_error(
        f"cannot be read as JSON-LD: {reason}",
        place,
        "check it with any JSON-LD processor; contexts are never fetched, so a document has its"
        f" own or refers to {CONTEXT_IRI!r}",
    )


def _make_error(message: str, place: str, remedy: str) -> SourceError:
    return SourceError(message, place=place, remedy=remedy)
