"""From documents to triples: what each document says, in names that others know.

A tool and its document are one node, as in the .NET library. What hangs on a document alone (its
parameters, examples, edges) has an IRI below the document's own, so that no node is blank.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from mcpg.catalog.schema import walk_parameters
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.graph import vocabulary as v
from mcpg.graph.iris import digest, node_iri, part_iri, source_iri
from mcpg.graph.stated import Stated, stated_by
from mcpg.graph.terms import Literal, json_value, plain
from mcpg.relations.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcpg.catalog.model import Hints, Tool, ToolExample
    from mcpg.catalog.schema import Parameter
    from mcpg.documents.model import Link, ToolDocument
    from mcpg.graph.terms import Triple

PREDICATES: Mapping[EdgeKind, str] = {
    EdgeKind.RELATED: v.KB_RELATED_TO,
    EdgeKind.NEXT_STEP: v.KB_NEXT_STEP,
}
"""The predicate of each kind of edge."""

TEXTS: Mapping[str, str] = {
    "aliases": v.SCHEMA_ALTERNATE_NAME,
    "keywords": v.MCPG_KEYWORD,
    "categories": v.MCPG_CATEGORY,
    "tags": v.MCPG_TAG,
    "data_sources": v.MCPG_DATA_SOURCE,
}
"""The predicate of each list among the hints, by its attribute."""

FLAGS: Mapping[str, str] = {
    "read_only": v.MCPG_READ_ONLY,
    "idempotent": v.MCPG_IDEMPOTENT,
    "destructive": v.MCPG_DESTRUCTIVE,
    "open_world": v.MCPG_OPEN_WORLD,
    "enabled_by_default": v.MCPG_ENABLED_BY_DEFAULT,
}
"""The predicate of each yes-or-no hint, by its attribute."""

TIERS: Mapping[str, str] = {"cost_tier": v.MCPG_COST_TIER, "latency_tier": v.MCPG_LATENCY_TIER}
"""The predicate of each price, by its attribute."""

_TRUE, _FALSE = Literal("true", v.XSD_BOOLEAN), Literal("false", v.XSD_BOOLEAN)


def triples_of(documents: Iterable[ToolDocument]) -> Iterator[Triple]:
    """Give what *documents* say, subject after subject, each triple once.

    All triples of a subject come together, in the order in which the document states things; groups
    and sources are described before the first tool that names them.

    Args:
        documents: No two with the same node, see `distinct_documents`.
    """
    described: set[str] = set()
    documents = list(documents)
    stated = stated_by(documents)
    for document in documents:
        yield from _shared(document, described, stated)
        yield from _with_stated(_document(document), node_iri(document.uri), stated)
    yield from stated.rest()


def distinct_documents(
    documents: Iterable[ToolDocument],
) -> tuple[list[ToolDocument], list[Diagnostic]]:
    """Leave out documents whose node another one has already, and say so.

    Two addresses can come to one node when one of them is no valid IRI.
    """
    kept: dict[str, ToolDocument] = {}
    found: list[Diagnostic] = []
    for document in documents:
        first = kept.setdefault(node_iri(document.uri), document)
        if first is not document:
            message = (
                f"the graph leaves out this document, because {first.path!r} has the same"
                f" IRI {node_iri(document.uri)!r}; give it another canonical_url"
            )
            found.append(warning(Code.DOCUMENT_INVALID, message, document.path))
    return list(kept.values()), found


def truth(value: bool) -> Literal:
    """Give a truth value."""
    return _TRUE if value else _FALSE


def number(value: float) -> Literal:
    """Give a number as an xsd:decimal in its canonical form, which has no exponent."""
    return Literal(format(Decimal(repr(value)).normalize(), "f"), v.XSD_DECIMAL)


def _with_stated(triples: Iterable[Triple], node: str, stated: Stated) -> Iterator[Triple]:
    """Put what authors state of *node* among *triples*, beside what these say of it."""
    if node not in stated.of:
        yield from triples
        return
    known = list(triples)
    own = (triple for triple in known if triple[0] == node)
    yield from dict.fromkeys((*own, *stated.about(node)))
    yield from (triple for triple in known if triple[0] != node)


def _shared(document: ToolDocument, described: set[str], stated: Stated) -> Iterator[Triple]:
    """Describe the groups and the source of *document* that are not *described* yet."""
    source = source_iri(document.tool.source_id)
    if source not in described and not document.is_page:
        described.add(source)
        yield source, v.RDF_TYPE, v.MCPG_SOURCE
        yield source, v.SCHEMA_NAME, plain(document.tool.source_id)
    for name in document.groups:
        group = node_iri(name)
        if group not in described:
            is_first = v.GROUP_SCHEME not in described
            yield from _with_stated(_group(group, name, is_first=is_first), group, stated)
            described |= {group, v.GROUP_SCHEME}


def _group(group: str, name: str, *, is_first: bool) -> Iterator[Triple]:
    if is_first:
        yield v.GROUP_SCHEME, v.RDF_TYPE, v.SKOS_CONCEPT_SCHEME
        yield v.GROUP_SCHEME, v.SCHEMA_NAME, Literal("Groups of tools")
    label = plain(name)
    yield group, v.RDF_TYPE, v.SCHEMA_DEFINED_TERM
    yield group, v.RDF_TYPE, v.SKOS_CONCEPT
    yield group, v.SCHEMA_NAME, label
    yield group, v.SKOS_PREF_LABEL, label
    yield group, v.SKOS_IN_SCHEME, v.GROUP_SCHEME


def _document(document: ToolDocument) -> Iterator[Triple]:
    """Describe a tool, or a page by what can be said of both."""
    node, tool = node_iri(document.uri), document.tool
    is_tool = not document.is_page
    yield node, v.RDF_TYPE, v.SCHEMA_ARTICLE
    yield node, v.RDF_TYPE, v.KB_MARKDOWN_DOCUMENT
    if is_tool:
        yield node, v.RDF_TYPE, v.MCPG_TOOL
    yield from _names(node, tool)
    if is_tool:
        yield from _identity(node, tool)
    yield node, v.MCPG_PATH, plain(document.path)
    if node != document.uri:
        yield node, v.MCPG_STATED_URI, plain(document.uri)
    yield from _hints(node, tool.hints)
    if is_tool:
        yield from _schemas(node, tool)
    if document.body:
        yield node, v.SCHEMA_ARTICLE_BODY, plain(document.body)
    if is_tool and not document.states_relations:
        yield node, v.MCPG_STATES_RELATIONS, _FALSE
    yield from _memberships(node, document.groups)
    yield from _edges(node, document)
    yield node, v.PROV_DERIVED_FROM, node
    yield from _parts(node, document)


def _edges(node: str, document: ToolDocument) -> Iterator[Triple]:
    for kind, predicate in PREDICATES.items():
        targets = [node_iri(link.target) for link in document.links if link.kind is kind]
        yield from ((node, predicate, target) for target in dict.fromkeys(targets))


def _memberships(node: str, names: tuple[str, ...]) -> Iterator[Triple]:
    groups = [node_iri(name) for name in names]
    yield from ((node, v.KB_MEMBER_OF, group) for group in dict.fromkeys(groups))
    if tuple(groups) != names:
        # All of them, since their order is to be read back as well.
        yield from ((node, v.MCPG_STATED_GROUP, plain(name)) for name in names)


def _names(node: str, tool: Tool) -> Iterator[Triple]:
    yield node, v.SCHEMA_NAME, plain(tool.display_name)
    if tool.description:
        yield node, v.SCHEMA_DESCRIPTION, plain(tool.description)


def _identity(node: str, tool: Tool) -> Iterator[Triple]:
    if tool.id:
        yield node, v.MCPG_TOOL_ID, plain(tool.id)
    yield node, v.MCPG_TOOL_NAME, plain(tool.name)
    if tool.title is not None:
        yield node, v.MCPG_TITLE, plain(tool.title)
    yield node, v.MCPG_HAS_SOURCE, source_iri(tool.source_id)
    yield node, v.MCPG_SOURCE_KIND, Literal(tool.source_kind.value)


def _hints(node: str, hints: Hints) -> Iterator[Triple]:
    for text in dict.fromkeys((*hints.keywords, *hints.tags)):
        yield node, v.SCHEMA_KEYWORDS, plain(text)
    for attribute, predicate in TEXTS.items():
        for text in getattr(hints, attribute):
            yield node, predicate, plain(text)
    for attribute, predicate in FLAGS.items():
        flag = getattr(hints, attribute)
        if flag is not None:
            yield node, predicate, truth(flag)
    for attribute, predicate in TIERS.items():
        tier = getattr(hints, attribute)
        if tier is not None:
            yield node, predicate, Literal(tier.value)


def _schemas(node: str, tool: Tool) -> Iterator[Triple]:
    yield node, v.MCPG_INPUT_SCHEMA, json_value(tool.input_schema)
    if tool.output_schema is not None:
        yield node, v.MCPG_OUTPUT_SCHEMA, json_value(tool.output_schema)
    if tool.annotations:
        yield node, v.MCPG_ANNOTATIONS, json_value(tool.annotations)
    if tool.meta:
        yield node, v.MCPG_META, json_value(tool.meta)


def _parts(node: str, document: ToolDocument) -> Iterator[Triple]:
    """Describe what hangs on a document alone: parameters, examples, edges."""
    parameters = {
        part_iri(node, "parameter", parameter.path): parameter
        for parameter in walk_parameters(document.tool.input_schema)
    }
    examples = {
        part_iri(node, "example", str(place)): example
        for place, example in enumerate(document.tool.hints.examples, start=1)
    }
    relations = {
        part_iri(node, link.kind.value, digest(link.target)): link for link in document.links
    }
    yield from ((node, v.MCPG_HAS_PARAMETER, part) for part in parameters)
    yield from ((node, v.MCPG_HAS_EXAMPLE, part) for part in examples)
    yield from ((node, v.MCPG_HAS_RELATION, part) for part in relations)
    for part, parameter in parameters.items():
        yield from _parameter(part, parameter)
    for part, example in examples.items():
        yield from _example(part, example)
    for part, link in relations.items():
        yield from _relation(part, node, link)


def _parameter(part: str, parameter: Parameter) -> Iterator[Triple]:
    yield part, v.RDF_TYPE, v.MCPG_PARAMETER
    yield part, v.SCHEMA_NAME, plain(parameter.path)
    if parameter.description:
        yield part, v.SCHEMA_DESCRIPTION, plain(parameter.description)
    for kind in (parameter.type or "").split("|"):
        if kind:
            yield part, v.MCPG_JSON_TYPE, plain(kind)
    for text in dict.fromkeys(parameter.values):
        yield part, v.MCPG_ALLOWED_VALUE, plain(text)
    yield part, v.SCHEMA_VALUE_REQUIRED, truth(parameter.required)


def _example(part: str, example: ToolExample) -> Iterator[Triple]:
    yield part, v.RDF_TYPE, v.MCPG_EXAMPLE
    yield part, v.MCPG_INPUT, plain(example.input)
    if example.output is not None:
        yield part, v.MCPG_OUTPUT, plain(example.output)
    if example.description is not None:
        yield part, v.SCHEMA_DESCRIPTION, plain(example.description)


def _relation(part: str, node: str, link: Link) -> Iterator[Triple]:
    """Describe an edge as a statement: who says so, how surely, and why."""
    target = node_iri(link.target)
    yield part, v.RDF_TYPE, v.RDF_STATEMENT
    yield part, v.RDF_SUBJECT, node
    yield part, v.RDF_PREDICATE, PREDICATES[link.kind]
    yield part, v.RDF_OBJECT, target
    yield part, v.KB_CONFIDENCE, number(link.weight)
    if link.reason:
        yield part, v.MCPG_REASON, plain(link.reason)
    yield part, v.MCPG_ORIGIN, Literal(link.origin.value)
    if target != link.target:
        yield part, v.MCPG_STATED_TARGET, plain(link.target)
