"""Documents as triples, and triples as JSON-LD nodes.

A tool and its document are one node, as in the .NET library. Parts that belong only to a document
(parameters, examples, edges) have an IRI below the document's own, so that no node is blank.
JSON-LD nodes equal those of a JSON-LD processor's compaction except for `@type` within values, and
are made fifty times as fast.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, TypeAlias

from mcpg.catalog.model import Hints, Parameter, Tool, walk_parameters
from mcpg.code.model import ENTRY_TYPE as CODE_ENTRY_TYPE
from mcpg.documents.addresses import BASE, digest, slug
from mcpg.documents.facts import Entity, FrontMatterFacts, Property, means_itself, parse_facts
from mcpg.documents.front_matter_edits import values_as_written
from mcpg.documents.markdown import collect_targets, read_markdown, with_pages
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import mapping_json
from mcpg.errors import Code, Diagnostic, warning
from mcpg.graph import terms as v
from mcpg.graph.code import file_triples, link_tools, read_files
from mcpg.graph.terms import (
    GROUP_SCHEME,
    RdfLiteral,
    Triple,
    broader_group,
    class_names,
    compact_iri,
    document_uri,
    group_label,
    json_value,
    node_iri,
    part_iri,
    plain,
    rebase_triples,
    source_iri,
    terms,
)
from mcpg.relations.edges import EdgeKind

Said: TypeAlias = tuple[str, str | RdfLiteral]
Node: TypeAlias = dict[str, Any]


ENTRY_TYPES: Mapping[str, str] = {
    "techarticle": f"{v.SCHEMA}TechArticle",
    "scholarlyarticle": f"{v.SCHEMA}ScholarlyArticle",
    "blogposting": f"{v.SCHEMA}BlogPosting",
}
"""The class of a document by its author's name for it, in lower case."""

_PLAIN_NAMES: Mapping[str, str] = {
    iri.rpartition(":" if iri.startswith(v.KB) else "/")[2].casefold(): iri
    for iri in (
        *(v.kb.relatedTo, v.kb.nextStep, v.kb.memberOf, v.schema.about, v.schema.mentions),
        *(v.schema.sameAs, v.schema.author, v.schema.description, v.schema.keywords),
        *(f"{v.SCHEMA}creator", f"{v.SCHEMA}hasPart"),
    )
}
# IRIs of the .NET library, which reads them in any case.
_IN_ANY_CASE = {iri.casefold(): iri for iri in _PLAIN_NAMES.values()}
# As N-Triples has it.
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# Only this package writes the first, the second needs a language.
_NOT_PLAIN = {v.rdf.JSON, v.rdf.langString}


def gather_stated(documents: Sequence[ToolDocument]) -> defaultdict[str, dict[Said, None]]:
    """Gather the statements in the front matter of *documents*, by node, each once."""
    stated: defaultdict[str, dict[Said, None]] = defaultdict(dict)
    stating = [document for document in documents if document.further or document.written]
    if stating:
        nodes = _NodeResolver(documents)
        for document in stating:
            _gather_document(document, nodes, stated)
    return stated


class _NodeResolver:
    """The nodes of names in documents; *tools* are the nodes of tools."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        described = [document for document in documents if not document.is_page]
        # Without an id, a tool gets a name that no document uses.
        tools = [replace(one.tool, id=one.tool.id or one.uri) for one in described]
        places = ((one.path, one.uri) for one in described)
        addresses = dict(zip((tool.id for tool in tools), places, strict=True))
        pages = [document for document in documents if document.is_page]
        self.tools = {node_iri(document.uri) for document in described}
        self._targets = with_pages(collect_targets(tools, addresses), pages)

    def resolve_name(self, name: str, document: ToolDocument, prefixes: Mapping[str, str]) -> str:
        """Return the node that *name* means in *document*."""
        itself = means_itself(name)
        uri = document.uri if itself else self._targets.resolve(name, document.path)
        return _expand_name(name, prefixes) if uri is None else node_iri(uri)

    def named_by(self, entity: Entity, document: ToolDocument) -> str | None:
        """Return the node of the document that *entity* names: by its id, or by a bare label."""
        is_thing = not entity.id and (entity.type or entity.same_as)
        name = entity.id or entity.label
        uri = None if is_thing else self._targets.resolve(name, document.path)
        return None if uri is None else node_iri(uri)


def _gather_document(
    document: ToolDocument, nodes: _NodeResolver, stated: defaultdict[str, dict[Said, None]]
) -> None:
    node = node_iri(document.uri)
    facts = parse_facts(values_as_written(document.further, document.written))
    prefixes = {**v.PREFIXES, **dict(facts.prefixes)}
    own = stated[node]
    own.update(dict.fromkeys(_document_facts(facts, prefixes)))
    if document.further:
        own[v.mcpg.frontMatter, json_value(document.further)] = None
    if document.written:
        own[v.mcpg.frontMatterText, plain(document.written)] = None
    for predicate, entities in (
        (v.schema.about, facts.about),
        (v.schema.mentions, facts.mentions),
        (v.schema.author, facts.authors),
    ):
        for entity in entities:
            is_mention = predicate == v.schema.mentions
            named = nodes.named_by(entity, document) if is_mention else None
            thing = named or _expand_name(entity.id or entity.label, prefixes)
            own[predicate, thing] = None
            if named and not entity.id:
                continue  # a document has a name and a class of its own
            is_topic = predicate == v.schema.about
            said = _entity_facts(entity, node, prefixes, is_topic=is_topic)
            stated[thing].update(dict.fromkeys(said))
    for one in facts.statements:
        subject = nodes.resolve_name(one.subject, document, prefixes)
        predicate = _expand_predicate(one.predicate, prefixes)
        # A group of a tool is in the list of its document, by the name that it has there.
        if predicate != v.kb.memberOf or subject not in nodes.tools:
            stated[subject][predicate, nodes.resolve_name(one.object, document, prefixes)] = None


def _expand_predicate(name: str, prefixes: Mapping[str, str]) -> str:
    plain_name = _PLAIN_NAMES.get(name.strip().casefold())
    if plain_name:
        return plain_name
    prefix, colon, local = name.partition(":")
    known = prefix if prefix in prefixes else prefix.casefold()
    iri = _expand_name(f"{known}{colon}{local}" if known in prefixes else name, prefixes)
    return _IN_ANY_CASE.get(iri.casefold(), iri)


def _document_facts(facts: FrontMatterFacts, prefixes: Mapping[str, str]) -> Iterator[Said]:
    for name in facts.entry_types:
        local = name.removeprefix(v.SCHEMA).removeprefix("schema:")
        kind = ENTRY_TYPES.get(re.sub(r"[\s_-]+", "", local).casefold())
        if kind:
            yield v.rdf.type, kind
    for name in facts.types:
        yield v.rdf.type, _expand_name(name, prefixes)
    yield from ((v.kb.entryType, plain(name)) for name in facts.entry_types)
    yield from ((v.kb.sourceProject, plain(name)) for name in facts.source_projects)
    dates = {v.schema.datePublished: facts.published, v.schema.dateModified: facts.modified}
    for predicate, text in dates.items():
        if text:
            is_date = _DATE.match(text)
            yield predicate, RdfLiteral(text, v.xsd.date) if is_date else plain(text)
    for one in facts.properties:
        yield _expand_name(one.predicate, prefixes), _make_value(one, prefixes)


def _entity_facts(
    entity: Entity, document: str, prefixes: Mapping[str, str], *, is_topic: bool
) -> Iterator[Said]:
    """Describe a thing: its label, its class, and the document it comes from."""
    yield v.rdf.type, _expand_name(entity.type, prefixes) if entity.type else v.schema.Thing
    if is_topic:
        yield v.rdf.type, v.skos.Concept
        yield v.skos.prefLabel, plain(entity.label)
    yield v.schema.name, plain(entity.label)
    for address in entity.same_as:
        yield v.schema.sameAs, _expand_name(address, prefixes)
    yield v.prov.wasDerivedFrom, document


def _expand_name(name: str, prefixes: Mapping[str, str]) -> str:
    """Return the IRI of *name*: a prefixed name, an IRI as it is, or a label."""
    prefix, colon, local = name.partition(":")
    if colon and prefix in prefixes and not local.startswith("//"):
        return node_iri(f"{prefixes[prefix]}{local}")
    return node_iri(name)


def _make_value(one: Property, prefixes: Mapping[str, str]) -> str | RdfLiteral:
    if one.is_iri:
        return _expand_name(one.value, prefixes)
    if _LANGUAGE.match(one.language):
        return RdfLiteral(plain(one.value).text, v.rdf.langString, one.language.lower())
    if not one.datatype:
        return plain(one.value)
    datatype = _expand_name(one.datatype, prefixes)
    return RdfLiteral(plain(one.value).text, v.xsd.string if datatype in _NOT_PLAIN else datatype)


PREDICATES: Mapping[EdgeKind, str] = {
    EdgeKind.RELATED: v.kb.relatedTo,
    EdgeKind.NEXT_STEP: v.kb.nextStep,
}
"""The predicate of each kind of edge."""

TEXTS: Mapping[str, str] = {
    "aliases": v.schema.alternateName,
    "keywords": v.mcpg.keyword,
    "categories": v.mcpg.category,
    "tags": v.mcpg.tag,
    "data_sources": v.mcpg.dataSource,
}
"""The predicate of each list among the hints, by its attribute."""

FLAGS: Mapping[str, str] = {
    "read_only": v.mcpg.readOnly,
    "idempotent": v.mcpg.idempotent,
    "destructive": v.mcpg.destructive,
    "open_world": v.mcpg.openWorld,
    "enabled_by_default": v.mcpg.enabledByDefault,
}
"""The predicate of each yes-or-no hint, by its attribute."""

TIERS: Mapping[str, str] = {"cost_tier": v.mcpg.costTier, "latency_tier": v.mcpg.latencyTier}
"""The predicate of each price, by its attribute."""

_TRUE, _FALSE = RdfLiteral("true", v.xsd.boolean), RdfLiteral("false", v.xsd.boolean)


def make_triples(documents: Iterable[ToolDocument], base: str = BASE) -> Iterator[Triple]:
    """Return *documents* as triples, subject after subject, each triple once.

    All triples of a subject come together, in the order of the document; groups and sources are
    described before the first tool that names them. No two documents have the same node, see
    `distinct_documents`; the IRIs that are the project's own begin with *base*.
    """
    kept = list(documents)
    stated, found = gather_stated(kept), _describe(kept)
    if stated:
        found = _with_stated(found, stated)
    return found if base == BASE else rebase_triples(found, base)


def _describe(documents: Sequence[ToolDocument]) -> Iterator[Triple]:
    described: set[str] = set()
    groups = dict.fromkeys(name for document in documents for name in document.groups)
    if groups:
        yield GROUP_SCHEME, v.rdf.type, v.skos.ConceptScheme
        yield GROUP_SCHEME, v.schema.name, RdfLiteral("Groups of tools")
        tops = (node_iri(name) for name in groups if broader_group(name) not in groups)
        yield from ((GROUP_SCHEME, v.skos.hasTopConcept, top) for top in dict.fromkeys(tops))
    files = read_files(documents)
    handlers = link_tools(documents, files.values()) if files else {}
    for document in documents:
        source = source_iri(document.tool.source_id)
        if source not in described and not document.is_page:
            described.add(source)
            yield source, v.rdf.type, v.mcpg.Source
            yield source, v.schema.name, plain(document.tool.source_id)
        for name in document.groups:
            group = node_iri(name)
            if group in described:
                continue
            described.add(group)
            yield group, v.rdf.type, v.schema.DefinedTerm
            yield group, v.rdf.type, v.skos.Concept
            yield group, v.schema.name, plain(name)
            yield group, v.skos.prefLabel, plain(group_label(name))
            yield group, v.skos.inScheme, GROUP_SCHEME
            broader = broader_group(name)
            if broader is not None and broader in groups:
                yield group, v.skos.broader, node_iri(broader)
            else:
                yield group, v.skos.topConceptOf, GROUP_SCHEME
        yield from _document(document, handlers.get(document.uri, ()))
        if document.uri in files:
            yield from file_triples(node_iri(document.uri), files[document.uri])


def distinct_documents(
    documents: Iterable[ToolDocument],
) -> tuple[list[ToolDocument], list[Diagnostic]]:
    """Leave out documents with the node of an earlier one, with diagnostics.

    Two addresses can become one node if one of them is not a valid IRI.
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


def number(value: float) -> RdfLiteral:
    """Return a number as an xsd:decimal in its canonical form, which has no exponent."""
    return RdfLiteral(format(Decimal(repr(value)).normalize(), "f"), v.xsd.decimal)


def _with_stated(
    triples: Iterable[Triple], stated: dict[str, dict[Said, None]]
) -> Iterator[Triple]:
    """Add the statements of authors about each node to its *triples*, and then the rest."""
    for node, own in groupby(triples, itemgetter(0)):
        yield from dict.fromkeys((*own, *((node, *said) for said in stated.pop(node, ()))))
    # Things that have no document.
    for node, facts in stated.items():
        yield from ((node, *said) for said in facts)


def _document(document: ToolDocument, handlers: Iterable[str]) -> Iterator[Triple]:
    node, tool = node_iri(document.uri), document.tool
    is_tool = not document.is_page
    yield node, v.rdf.type, v.schema.Article
    yield node, v.rdf.type, v.kb.MarkdownDocument
    if is_tool:
        yield node, v.rdf.type, v.mcpg.Tool
    yield node, v.schema.name, plain(tool.display_name)
    if tool.description:
        yield node, v.schema.description, plain(tool.description)
    if is_tool:
        yield from _identity(node, tool)
    yield node, v.mcpg.path, plain(document.path)
    if document_uri(node) != document.uri:
        yield node, v.mcpg.statedUri, plain(document.uri)
    yield from _hints(node, tool.hints)
    if is_tool:
        yield from _schemas(node, tool)
    if document.body:
        yield node, v.schema.articleBody, plain(document.body)
    if is_tool and not document.states_relations:
        yield node, v.mcpg.statesRelations, _FALSE
    groups = tuple(map(node_iri, document.groups))
    yield from ((node, v.kb.memberOf, group) for group in dict.fromkeys(groups))
    if groups != document.groups:
        # All of them, since their order must also be read back.
        yield from ((node, v.mcpg.statedGroup, plain(name)) for name in document.groups)
    for kind, predicate in PREDICATES.items():
        targets = [node_iri(link.target) for link in document.links if link.kind is kind]
        yield from ((node, predicate, target) for target in dict.fromkeys(targets))
    yield node, v.prov.wasDerivedFrom, node
    yield from ((node, v.mcpg.implementedBy, handler) for handler in handlers)
    yield from _parts(node, document)


def _identity(node: str, tool: Tool) -> Iterator[Triple]:
    if tool.id:
        yield node, v.mcpg.toolId, plain(tool.id)
    yield node, v.mcpg.toolName, plain(tool.name)
    if tool.title is not None:
        yield node, v.mcpg.title, plain(tool.title)
    yield node, v.mcpg.source, source_iri(tool.source_id)
    yield node, v.mcpg.sourceKind, RdfLiteral(tool.source_kind.value)


def _hints(node: str, hints: Hints) -> Iterator[Triple]:
    for text in dict.fromkeys((*hints.keywords, *hints.tags)):
        yield node, v.schema.keywords, plain(text)
    for attribute, predicate in TEXTS.items():
        for text in getattr(hints, attribute):
            yield node, predicate, plain(text)
    for attribute, predicate in FLAGS.items():
        flag = getattr(hints, attribute)
        if flag is not None:
            yield node, predicate, _TRUE if flag else _FALSE
    for attribute, predicate in TIERS.items():
        tier = getattr(hints, attribute)
        if tier is not None:
            yield node, predicate, RdfLiteral(tier.value)


def _schemas(node: str, tool: Tool) -> Iterator[Triple]:
    yield node, v.mcpg.inputSchema, json_value(tool.input_schema)
    if tool.output_schema is not None:
        yield node, v.mcpg.outputSchema, json_value(tool.output_schema)
    for predicate, members in (v.mcpg.annotations, tool.annotations), (v.mcpg.meta, tool.meta):
        if members:
            yield node, predicate, json_value(members)


def _parts(node: str, document: ToolDocument) -> Iterator[Triple]:
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
    sections = dict(_sections(node, document))
    yield from ((node, v.schema.hasPart, part) for part in sections)
    yield from ((node, v.mcpg.parameter, part) for part in parameters)
    yield from ((node, v.mcpg.example, part) for part in examples)
    yield from ((node, v.mcpg.relation, part) for part in relations)
    for position, (part, heading) in enumerate(sections.items(), start=1):
        yield part, v.rdf.type, v.schema.CreativeWork
        yield part, v.rdf.type, v.mcpg.Section
        yield part, v.schema.name, plain(heading)
        yield part, v.schema.position, RdfLiteral(str(position), v.xsd.integer)
    for part, parameter in parameters.items():
        yield from _parameter(part, parameter)
    for part, example in examples.items():
        yield part, v.rdf.type, v.mcpg.Example
        yield part, v.mcpg.input, plain(example.input)
        if example.output is not None:
            yield part, v.mcpg.output, plain(example.output)
        if example.description is not None:
            yield part, v.schema.description, plain(example.description)
    for part, link in relations.items():
        yield from _relation(part, node, link)


def _sections(node: str, document: ToolDocument) -> Iterator[tuple[str, str]]:
    """Return IRI and heading of each section of the prose of *document*.

    A heading that only repeats the name of the document is not a section; pages of source files,
    whose sections are the same in all, have none.
    """
    is_code = document.further.get("entry_type") == CODE_ENTRY_TYPE
    if is_code or ("#" not in document.body and "\n" not in document.body):
        return
    found: Counter[str] = Counter()
    for heading in read_markdown(document.body).headings:
        if found or heading != document.tool.display_name:
            name = slug(heading)
            found[name] += 1
            again = f"-{found[name]}" if found[name] > 1 else ""
            yield part_iri(node, "section", f"{name}{again}"), heading


def _parameter(part: str, parameter: Parameter) -> Iterator[Triple]:
    yield part, v.rdf.type, v.mcpg.Parameter
    yield part, v.schema.name, plain(parameter.path)
    if parameter.description:
        yield part, v.schema.description, plain(parameter.description)
    for kind in (parameter.type or "").split("|"):
        if kind:
            yield part, v.mcpg.jsonType, plain(kind)
    for text in dict.fromkeys(parameter.values):
        yield part, v.mcpg.allowedValue, plain(text)
    yield part, v.schema.valueRequired, _TRUE if parameter.required else _FALSE


def _relation(part: str, node: str, link: Link) -> Iterator[Triple]:
    """Describe an edge as a statement, with its weight, reason and origin."""
    target = node_iri(link.target)
    yield part, v.rdf.type, v.rdf.Statement
    yield part, v.rdf.subject, node
    yield part, v.rdf.predicate, PREDICATES[link.kind]
    yield part, v.rdf.object, target
    yield part, v.kb.confidence, number(link.weight)
    if link.reason:
        yield part, v.mcpg.reason, plain(link.reason)
    yield part, v.mcpg.origin, RdfLiteral(link.origin.value)
    if link.coverage is not None:
        yield part, v.mcpg.coverage, RdfLiteral(link.coverage.value)
    if link.fields:
        yield part, v.mcpg.mapping, json_value({"fields": list(map(mapping_json, link.fields))})
    if document_uri(target) != link.target:
        yield part, v.mcpg.statedTarget, plain(link.target)


# The keys of a document whose nodes are embedded in it in framed form.
_EMBEDDED = frozenset(
    terms()[one].name
    for one in (
        *(v.mcpg.source, v.kb.memberOf, v.schema.hasPart),
        *(v.mcpg.parameter, v.mcpg.example, v.mcpg.relation),
    )
)

_DOCUMENT = class_names()[v.kb.MarkdownDocument]


def node_objects(triples: Iterable[Triple]) -> Iterator[Node]:
    """Return the node object of each subject of *triples*, nodes referred to by `id`.

    The triples of a subject must follow each other.
    """
    keys = terms()
    for subject, group in groupby(triples, itemgetter(0)):
        node: Node = {"id": compact_iri(subject)}
        for _, predicate, value in group:
            if predicate == v.rdf.type and isinstance(value, str):
                node.setdefault("type", []).append(class_names().get(value) or compact_iri(value))
                continue
            term = keys.get(predicate)
            kind, language = v.REFERENCE, ""
            if isinstance(value, RdfLiteral):
                kind, language = value.datatype, value.language
            # A boolean may be written as anything.
            is_in_json = kind != v.xsd.boolean or value in (_TRUE, _FALSE)
            if term is not None and term.kind == kind and is_in_json:
                plain_value: Any = (
                    value.text if isinstance(value, RdfLiteral) else compact_iri(value)
                )
                plain_value = plain_value == "true" if kind == v.xsd.boolean else plain_value
                _add(node, term.name, plain_value, is_set=term.is_set)
            elif term is not None and term.kind == v.xsd.string and language:
                _add(node, term.name, _format_explicit(value), is_set=term.is_set)
            else:
                _add(node, compact_iri(predicate), _format_explicit(value), is_set=False)
        yield node


def framed_documents(triples: Iterable[Triple]) -> Iterator[Node]:
    """Return the tools and pages of *triples*, each with its groups, parameters and so on.

    References to other documents stay references. Nodes that are in no tool or page follow.
    """
    of: defaultdict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        of[triple[0]].append(triple)
    parts = {node["id"]: node for node in node_objects(chain.from_iterable(of.values()))}
    documents = [node for node in parts.values() if _DOCUMENT in node.get("type", ())]
    for node in documents:
        del parts[node["id"]]
    placed: set[str] = set()
    for node in documents:
        whole = dict(node)
        for key in _EMBEDDED & node.keys():
            value = node[key]
            placed.update([value] if isinstance(value, str) else value)
            if isinstance(value, list):
                whole[key] = [parts.get(one, one) for one in value]
            else:
                whole[key] = parts.get(value, value)
        yield whole
    yield from (node for name, node in parts.items() if name not in placed)


def _format_explicit(value: str | RdfLiteral) -> Any:
    if not isinstance(value, RdfLiteral):
        return {"id": compact_iri(value)}
    if value.datatype == v.xsd.string:
        return value.text
    if value.language:
        return {"@language": value.language, "@value": value.text}
    # The keyword, not our alias for it, which rdflib does not accept within a value.
    return {"@type": compact_iri(value.datatype), "@value": value.text}


def _add(node: Node, key: str, value: Any, *, is_set: bool) -> None:
    if is_set:
        node.setdefault(key, []).append(value)
    elif key not in node:
        node[key] = value
    elif isinstance(node[key], list):
        node[key].append(value)
    else:
        node[key] = [node[key], value]
