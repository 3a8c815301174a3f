"""What authors state in front matter, as triples: topics, things, statements, their own RDF."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcpg.documents.facts import facts_of, means_itself
from mcpg.documents.targets import targets_of, with_pages
from mcpg.graph import vocabulary as v
from mcpg.graph.iris import node_iri
from mcpg.graph.terms import Literal, json_value, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from mcpg.documents.facts import Entity, Facts, Property
    from mcpg.documents.model import ToolDocument
    from mcpg.graph.terms import Triple

    # Predicate and object.
    Said: TypeAlias = tuple[str, str | Literal]

ENTRY_TYPES: Mapping[str, str] = {
    "techarticle": f"{v.SCHEMA}TechArticle",
    "scholarlyarticle": f"{v.SCHEMA}ScholarlyArticle",
    "blogposting": f"{v.SCHEMA}BlogPosting",
}
"""The class of a document by what its author calls it, in lower case."""

_PLAIN_NAMES: Mapping[str, str] = {
    "relatedTo": v.KB_RELATED_TO,
    "nextStep": v.KB_NEXT_STEP,
    "memberOf": v.KB_MEMBER_OF,
    "about": v.SCHEMA_ABOUT,
    "mentions": v.SCHEMA_MENTIONS,
    "sameAs": v.SCHEMA_SAME_AS,
}
# As N-Triples has it.
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# The one is written by us alone, the other needs a language.
_NOT_PLAIN = {v.RDF_JSON, v.RDF_LANG_STRING}
_LEXICAL = {
    v.XSD_BOOLEAN: re.compile(r"(?:true|false)\Z"),
    v.XSD_DECIMAL: re.compile(r"-?[0-9]+\.[0-9]+\Z"),
}


@dataclass(slots=True)
class Stated:
    """What a set of documents states, by the node that it is said of.

    Attributes:
        of: What is said of each node, each thing once.
    """

    of: defaultdict[str, dict[Said, None]] = field(default_factory=lambda: defaultdict(dict))

    def about(self, node: str) -> Iterator[Triple]:
        """Give what is stated of *node*, and take it out."""
        for predicate, value in self.of.pop(node, {}):
            yield node, predicate, value

    def rest(self) -> Iterator[Triple]:
        """Give what is stated of the nodes that are left: things that have no document."""
        for node in list(self.of):
            yield from self.about(node)


def stated_by(documents: Sequence[ToolDocument]) -> Stated:
    """Gather what the front matter of *documents* states."""
    stated = Stated()
    stating = [document for document in documents if document.further]
    if not stating:
        return stated
    nodes = _Nodes(documents)
    for document in stating:
        _take(document, nodes, stated)
    return stated


class _Nodes:
    """The nodes that documents mean by the names that they use.

    Attributes:
        tools: Those of tools.
    """

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        described = [document for document in documents if not document.is_page]
        # An id that is not there yet is nobody's name.
        tools = [replace(one.tool, id=one.tool.id or one.uri) for one in described]
        places = ((one.path, one.uri) for one in described)
        addresses = dict(zip((tool.id for tool in tools), places, strict=True))
        pages = [document for document in documents if document.is_page]
        self.tools = {node_iri(document.uri) for document in described}
        self._targets = with_pages(targets_of(tools, addresses), pages)

    def meant(self, name: str, document: ToolDocument, prefixes: Mapping[str, str]) -> str:
        """Return the node that *name* means in *document*."""
        itself = means_itself(name)
        uri = document.uri if itself else self._targets.resolve(name, document.path)
        return _expanded(name, prefixes) if uri is None else node_iri(uri)


def _take(document: ToolDocument, nodes: _Nodes, stated: Stated) -> None:
    node = node_iri(document.uri)
    facts = facts_of(document.further)
    prefixes = {**v.PREFIXES, **dict(facts.prefixes)}
    own = stated.of[node]
    own.update(dict.fromkeys(_of_document(facts, prefixes)))
    own[v.MCPG_FRONT_MATTER, json_value(document.further)] = None
    for predicate, entities in (
        (v.SCHEMA_ABOUT, facts.about),
        (v.SCHEMA_MENTIONS, facts.mentions),
        (v.SCHEMA_AUTHOR, facts.authors),
    ):
        for entity in entities:
            thing = _entity_node(entity, prefixes)
            own[predicate, thing] = None
            is_topic = predicate == v.SCHEMA_ABOUT
            said = _of_entity(entity, node, prefixes, is_topic=is_topic)
            stated.of[thing].update(dict.fromkeys(said))
    for one in facts.statements:
        subject = nodes.meant(one.subject, document, prefixes)
        predicate = _PLAIN_NAMES.get(one.predicate) or _expanded(one.predicate, prefixes)
        # A group of a tool is in the list of its document, by the name that it has there.
        if predicate != v.KB_MEMBER_OF or subject not in nodes.tools:
            stated.of[subject][predicate, nodes.meant(one.object, document, prefixes)] = None


def _of_document(facts: Facts, prefixes: Mapping[str, str]) -> Iterator[Said]:
    kind = ENTRY_TYPES.get(facts.entry_type.replace("_", "").replace("-", "").casefold())
    if kind:
        yield v.RDF_TYPE, kind
    for name in facts.types:
        yield v.RDF_TYPE, _expanded(name, prefixes)
    if facts.entry_type:
        yield v.KB_ENTRY_TYPE, plain(facts.entry_type)
    if facts.source_project:
        yield v.KB_SOURCE_PROJECT, plain(facts.source_project)
    if facts.published:
        yield v.SCHEMA_DATE_PUBLISHED, _date(facts.published)
    if facts.modified:
        yield v.SCHEMA_DATE_MODIFIED, _date(facts.modified)
    for one in facts.properties:
        yield _expanded(one.predicate, prefixes), _value(one, prefixes)


def _of_entity(
    entity: Entity, document: str, prefixes: Mapping[str, str], *, is_topic: bool
) -> Iterator[Said]:
    """Describe a thing: what it is called, what it is, and which document says so."""
    yield v.RDF_TYPE, _expanded(entity.type, prefixes) if entity.type else v.SCHEMA_THING
    if is_topic:
        yield v.RDF_TYPE, v.SKOS_CONCEPT
        yield v.SKOS_PREF_LABEL, plain(entity.label)
    yield v.SCHEMA_NAME, plain(entity.label)
    for address in entity.same_as:
        yield v.SCHEMA_SAME_AS, _expanded(address, prefixes)
    yield v.PROV_DERIVED_FROM, document


def _entity_node(entity: Entity, prefixes: Mapping[str, str]) -> str:
    return _expanded(entity.id or entity.label, prefixes)


def _expanded(name: str, prefixes: Mapping[str, str]) -> str:
    """Give the IRI of *name*: one of a prefix, an IRI as it stands, or that of a label."""
    prefix, colon, local = name.partition(":")
    if colon and prefix in prefixes and not local.startswith("//"):
        return node_iri(f"{prefixes[prefix]}{local}")
    return node_iri(name)


def _value(one: Property, prefixes: Mapping[str, str]) -> str | Literal:
    if one.is_iri:
        return _expanded(one.value, prefixes)
    if _LANGUAGE.match(one.language):
        return Literal(plain(one.value).text, v.RDF_LANG_STRING, one.language.lower())
    if not one.datatype:
        return plain(one.value)
    datatype = _expanded(one.datatype, prefixes)
    form = _LEXICAL.get(datatype)
    if datatype in _NOT_PLAIN or (form is not None and form.match(one.value) is None):
        return plain(one.value)
    return Literal(plain(one.value).text, datatype)


def _date(text: str) -> Literal:
    return Literal(text, v.XSD_DATE) if _DATE.match(text) else plain(text)
