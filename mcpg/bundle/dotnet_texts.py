"""The documents of a bundle or a folder as the .NET library reads them.

It reads a bundle as a whole or not at all, finds documents only by their addresses, and makes one
node of labels that differ in letters which it drops.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from mcpg.bundle.codec import ReadDocument
from mcpg.bundle.links import MEMBER, PROSE_REASON, parse_predicate
from mcpg.bundle.metadata import hold_texts, is_generated
from mcpg.catalog.model import SourceDocument
from mcpg.documents import dotnet, facts, front_matter
from mcpg.documents.addresses import BASE_URI
from mcpg.documents.front_matter_edits import MAX_REWRITTEN, is_disputed, is_hidden, rewritten_text
from mcpg.documents.markdown import LinkTargets, collect_targets, with_pages
from mcpg.documents.model import LineNumbers, Link, ToolDocument
from mcpg.documents.reader import GRAPH_KEYS, LINK_KEYS, SPELLINGS, URI_KEYS
from mcpg.errors import Code, Diagnostic, DocumentError, Severity, SeverityName, warning
from mcpg.plugins.registry import is_item
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import list_some

_EDGES = ("graph_edges", "graphEdges")
_ENTITIES = ("graph_entities", "graphEntities")
_LINKS = tuple(spelling for key in LINK_KEYS.values() for spelling in SPELLINGS[key])
_THINGS = (*GRAPH_KEYS, *_ENTITIES, "entity_hints", "entityHints")
_SAME_AS = ("sameAs", "same_as")
_ID_KEYS = ("id", "targetId", "target_id", "objectId", "object_id")
_LABEL_KEYS = ("label", "name", "value", "target", "object")
_NODE_KEYS = (*_ID_KEYS, *_LABEL_KEYS)
_SUBJECT_KEYS = ("subjectId", "subject_id", "subject")
_OBJECT_KEYS = ("objectId", "object_id", "targetId", "target_id", "object", "target")
_ITSELF = frozenset({"", "article", "this article", "document"})
_VOCABULARY = "urn:managedcode:markdown-ld-kb:vocab:"
_PREDICATES: Mapping[EdgeKind | str, str] = {
    EdgeKind.RELATED: "kb:relatedTo",
    EdgeKind.NEXT_STEP: "kb:nextStep",
    MEMBER: "kb:memberOf",
}


class _AddressWriter:
    """Puts addresses into the front matter of documents of tools and of pages, links resolved."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        pages = [document for document in documents if document.is_page]
        tools = [document for document in documents if not document.is_page]
        addresses = {one.tool.id: (one.path, one.uri) for one in tools}
        self._targets = with_pages(collect_targets((one.tool for one in tools), addresses), pages)
        self._titles = {one.uri: front_matter.one_line(one.tool.display_name) for one in documents}

    def values(self, front: JsonObject, document: ToolDocument) -> JsonObject:
        changes: list[tuple[Iterable[str], Callable[[JsonValue], JsonValue]]] = [
            (_LINKS, partial(self._target, document.path)),
            (_ENTITIES, partial(self._entity, document.path)),
            (_THINGS, self._thing),
            (_EDGES, partial(self._edge, document)),
        ]
        values = dict(front)
        for keys, change in changes:
            for key in values.keys() & set(keys):
                held = values[key]
                values[key] = [*map(change, held)] if isinstance(held, list) else change(held)
        links = (item for key in _LINKS for item in _list_items(values.get(key)))
        known = {facts.pick_text(item, _NODE_KEYS) for item in links}
        prose: list[JsonValue] = [
            one.target for one in document.links if _is_prose(one) and one.target not in known
        ]
        _append(values, SPELLINGS[LINK_KEYS[EdgeKind.RELATED]], prose)
        stated = (item for key in _EDGES for item in _list_items(front.get(key)))
        implied = (self._implied_edge(item, document) for item in stated)
        _append(values, _EDGES, [one for one in implied if one is not None])
        return values

    def _find_uri(self, name: str, path: str) -> str | None:
        return self._targets.resolve(name, path) if name else None

    def _target(self, path: str, item: JsonValue) -> JsonValue:
        uri = self._find_uri(facts.pick_text(item, facts.TARGET_KEYS), path)
        return item if uri is None or facts.pick_text(item, _NODE_KEYS) == uri else uri

    def _entity(self, path: str, item: JsonValue) -> JsonValue:
        """Return an entity that names a document as that document, which keeps its name."""
        members = item if isinstance(item, dict) else {}
        label, same = facts.pick_text(item, _LABEL_KEYS), _same_as(members)
        if members.get("id"):
            uri = self._find_uri(facts.pick_text(item, ("id",)), path)
        elif same:
            uri = next(filter(None, (self._find_uri(one, path) for one in same)), None)
        else:
            uri = None if members.get("type") else self._find_uri(label, path)
            label = ""
        if uri is None or facts.pick_text(members, _NODE_KEYS) == uri:
            return item
        others = {key: value for key, value in members.items() if key not in _NODE_KEYS}
        return {"id": uri, "label": label or self._titles[uri], "type": "schema:Article", **others}

    def _thing(self, item: JsonValue) -> JsonValue:
        """Return a thing without `sameAs` of documents, whose relations it would take over."""
        same = _same_as(item) if isinstance(item, dict) else []
        kept: list[JsonValue] = [one for one in same if one not in self._targets.by_uri]
        if not isinstance(item, dict) or len(kept) == len(same):
            return item
        thing = {key: value for key, value in item.items() if key not in _SAME_AS}
        return {**thing, _SAME_AS[0]: kept} if kept else thing

    def _ends(self, statement: facts.StatedEdge, document: ToolDocument) -> tuple[str, str]:
        """Return the addresses of both ends, "" for none; a group is named as it is."""
        subject, target = (
            document.uri if facts.means_itself(name) else self._find_uri(name, document.path) or ""
            for name in (statement.subject, statement.object)
        )
        is_member = parse_predicate(statement.predicate) == MEMBER
        return subject, statement.object if is_member else target

    def _edge(self, document: ToolDocument, item: JsonValue) -> JsonValue:
        statement = _statement(item)
        if statement is None or not isinstance(item, dict):
            return item
        subject, target = self._ends(statement, document)
        parts: list[tuple[str, str, str, Sequence[str]]] = [
            ("subject", statement.subject, subject, _SUBJECT_KEYS),
            ("predicate", statement.predicate, statement.predicate, ("predicate",)),
            ("object", statement.object, target, _OBJECT_KEYS),
        ]
        edge = dict(item)
        for part, name, meant, keys in parts:
            # The .NET library uses the first value, and reads no mapping.
            held = next((item[key] for key in keys if item.get(key)), "")
            read = held.strip() if isinstance(held, str) else ""
            is_itself = facts.means_itself(name) and read.casefold() in _ITSELF
            if read != (meant or name) and not is_itself:
                edge = {key: value for key, value in edge.items() if key not in keys}
                edge[part] = meant or name
        return edge

    def _implied_edge(self, item: JsonValue, document: ToolDocument) -> JsonObject | None:
        """Return the edge of a predicate with another name, `None` for none."""
        statement = _statement(item)
        if statement is None:
            return None
        subject, target = self._ends(statement, document)
        is_edge = subject and target and target != subject and self._targets.by_uri[subject]
        predicate = _PREDICATES[parse_predicate(statement.predicate)]
        # The .NET library takes some predicates for the edge that this package reads.
        prefix, colon, name = statement.predicate.rpartition(":")
        is_known = not colon or f"{prefix.casefold()}:" in {"kb:", _VOCABULARY}
        is_read = is_known and name.casefold() == predicate.removeprefix("kb:").casefold()
        if not is_edge or is_read:
            return None
        return {"subject": subject, "predicate": predicate, "object": target}


def _is_prose(link: Link) -> bool:
    return link.reason == PROSE_REASON and link.origin is EdgeOrigin.AUTHORED


def _statement(item: JsonValue) -> facts.StatedEdge | None:
    found = facts.parse_facts({_EDGES[0]: [item]}).statements
    return found[0] if found else None


def _same_as(item: JsonObject) -> list[str]:
    held = (one for key in _SAME_AS for one in _list_items(item.get(key)))
    return [one.strip() for one in held if isinstance(one, str) and one.strip()]


def _list_items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def _append(values: JsonObject, keys: Sequence[str], items: list[JsonValue]) -> None:
    if items:
        key = next((key for key in keys if key in values), keys[0])
        values[key] = [*_list_items(values.get(key)), *items]


# Groups that are made of common features of tools, each an address of its own.
_GENERATED = ("domain:", "source-domain:", "category:")


def portable_texts(
    texts: Sequence[SourceDocument],
    documents: Iterable[ToolDocument],
    pages: Iterable[ToolDocument],
) -> Sequence[SourceDocument]:
    """Return the *texts* of a bundle as every reader takes them.

    The *documents* are of its tools, the *pages* of none; links are resolved, also in prose.
    """
    found = {document.path: document for document in (*documents, *pages)}
    portable = _PortableWriter(list(found.values()))
    changed: dict[str, SourceDocument] = {}
    for text in texts:
        document = found.get(text.path)
        made = text if document is None else portable.make_portable(text, document)
        if made is not text:
            changed[text.path] = made
    return hold_texts(changed.get(text.path, text) for text in texts) if changed else texts


def rewritten_pieces(documents: Iterable[ReadDocument]) -> Iterator[Diagnostic]:
    """Report the parts of *documents* that bundles change, since other readers reject them."""
    for read in documents:
        for item in (read, *read.about):
            if dotnet.names_rdf(item.document.further):
                content = item.source.content.replace("\r\n", "\n").replace("\r", "\n")
                front = front_matter.split_front_matter(content.removeprefix("\ufeff"), item.place)
                lines = LineNumbers(front.text, item.place, front.text_line)
                for change in dotnet.portable_values(front.values)[1]:
                    place = lines.at(*change.path)
                    yield warning(Code.DOCUMENT_REWRITTEN, change.message, place)


class _PortableWriter:
    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self._documents = documents
        self._ids = _distinct_ids(documents)

    @cached_property
    def _addresses(self) -> _AddressWriter:
        return _AddressWriter(self._documents)

    def make_portable(self, text: SourceDocument, document: ToolDocument) -> SourceDocument:
        uri = text.canonical_uri
        has_uri = uri is None or uri.startswith(BASE_URI) or dotnet.is_uri(uri)
        if has_uri and (is_item(text) or not self._may_change(text.content, document)):
            return text
        content = text.content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            front = front_matter.split_front_matter(content.removeprefix("\ufeff"), document.path)
        except DocumentError:
            return text  # longer than any that can be read, since it was written
        stated = front.values
        if not has_uri:
            # Other readers that find no name make one of the path.
            if all(stated.get(key) != uri for key in URI_KEYS):
                others = {key: value for key, value in stated.items() if key not in URI_KEYS}
                stated = {URI_KEYS[0]: uri, **others}
            text = replace(text, canonical_uri=None)
        addressed = dotnet.with_ids(self._addresses.values(stated, document), self._ids)
        try:
            return _with_values(text, content, front, dotnet.portable_values(addressed)[0])
        except DocumentError:  # too long with addresses, without which it is read all the same
            return _with_values(text, content, front, dotnet.portable_values(stated)[0])

    def _may_change(self, content: str, document: ToolDocument) -> bool:
        """Return whether *content* has to be read to see whether it is portable as it is."""
        if (
            not document.further.keys().isdisjoint((*_EDGES, *_THINGS))
            or not is_generated(content)
            or any(link.target not in content or _is_prose(link) for link in document.links)
            or dotnet.names_rdf(document.further)
            or is_disputed(document.written)
        ):
            return True
        if not self._ids:
            return False
        stated = (one.name for one in dotnet.named_nodes(document.further))
        targets = (link.target for link in document.links)
        return any(name in self._ids for name in (*document.groups, *stated, *targets))


def _distinct_ids(documents: Sequence[ToolDocument]) -> Mapping[str, str]:
    """Return identifiers for groups, things and topics; an unknown target has none."""
    groups = {group for document in documents for group in document.groups}
    stated = [
        one
        for document in documents
        if document.further
        for one in dotnet.named_nodes(document.further)
    ]
    names = {(group, True) for group in groups}
    names.update((one.name, one.is_concept) for one in stated if not one.is_target)
    own = {name for name, _ in names}
    if all(name.startswith(_GENERATED) and name == name.casefold() for name in own):
        return {}
    targets = {link.target for document in documents for link in document.links}
    targets.update(one.name for one in stated if one.is_target)
    uris = {document.uri for document in documents}
    return dotnet.distinct_ids(names, uris | (targets - own))


def _with_values(
    text: SourceDocument, content: str, front: front_matter.FrontMatter, values: JsonObject
) -> SourceDocument:
    """Return *text*, which is *content* with the front matter *front*, with other *values*."""
    relates = not front.values.keys().isdisjoint((*GRAPH_KEYS, *_EDGES, *_ENTITIES))
    # Other readers refuse, or miss, front matter in which nothing changes.
    is_misread = is_disputed(front.text) or (relates and is_hidden(content))
    if values == front.values and not is_misread:
        return text
    if not isinstance(values.get(front_matter.EXTRAS_KEY, {}), dict):
        values = {key: value for key, value in values.items() if key != front_matter.EXTRAS_KEY}
    return replace(text, content=rewritten_text(content, values))


_ISO = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_DATES = frozenset({"date_published", "datepublished", "date_modified", "datemodified"})
_PROPERTIES = frozenset({"rdf_properties", "rdfproperties"})
_TOPICS = frozenset({"about", "author"})
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReaderFinding:
    """Something that another reader refuses, or reads differently.

    Attributes:
        severity: `error` if it loads nothing, `warning` if something is lost or falls
            together, `info` if it reads something differently on purpose.
        rule: The kind: `name`, `refused`, `unresolved`, `together`, `unread` or `differs`.
        place: The file, and the line if there is one.
        message: The effect.
    """

    severity: SeverityName
    rule: str
    place: str
    message: str


def named_findings(file: str) -> Sequence[ReaderFinding]:
    """Return the reason why the .NET gateway cannot read *file* as a bundle: its name."""
    message = (
        "a file whose name does not end in .json is read as one text, and searches find nothing:"
        f" write the bundle to {file}.json"
    )
    is_json = file.lower().endswith(".json")
    return () if is_json else (ReaderFinding(Severity.ERROR, "name", file, message),)


def reader_findings(
    documents: Iterable[SourceDocument], targets: LinkTargets
) -> Sequence[ReaderFinding]:
    """Return the readings of *documents* by the .NET library that their authors may not expect.

    The documents are as the file has them; mcpg takes the names of their relations for *targets*.
    """
    found: list[ReaderFinding] = []
    names: defaultdict[str, list[tuple[dotnet.NamedNode, str]]] = defaultdict(list)
    for document in documents:
        front = _front(document, found)
        if front is None:
            continue
        lines = LineNumbers(front.text, document.place or document.path, front.text_line)
        if document.canonical_uri is not None and not dotnet.is_uri(document.canonical_uri):
            message = f"{document.canonical_uri!r} is not an absolute URI"
            found.append(_report_refusal(message, lines.place))
        refused = dotnet.portable_values(front.values)[1]
        found += (_report_refusal(change.reason, lines.at(*change.path)) for change in refused)
        for key, held in front.values.items():
            found += (_differs(text, lines.at(*path)) for path, text in _differences(key, held))
        for one in dotnet.named_nodes(front.values):
            place = lines.at(*one.path)
            names[one.name].append((one, place))
            is_open = one.is_target and not dotnet.is_uri(one.name)
            uri = targets.resolve(one.name, document.path) if is_open else None
            if uri is not None:
                message = (
                    f"{one.name!r} is taken for a thing of that name; mcpg resolves it to {uri}"
                )
                found.append(ReaderFinding(Severity.WARNING, "unresolved", place, message))
    kinds = ((one.name, one.is_concept) for places in names.values() for one, _ in places)
    for shared in dotnet.shared_nodes(kinds):
        shown = list_some([*map(repr, shared)], _MOST_SHOWN)
        message = f"these names are one node: {shown}"
        place = names[shared[0]][0][1]
        found.append(ReaderFinding(Severity.WARNING, "together", place, message))
    return found


def _front(document: SourceDocument, found: list[ReaderFinding]) -> front_matter.FrontMatter | None:
    place = document.place or document.path
    content = document.content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        front = front_matter.split_front_matter(content, place, MAX_REWRITTEN)
    except DocumentError as fault:
        at = fault.place or place
        text = front_matter.front_matter_text(content)
        if text is not None and dotnet.reads_yaml(text):
            found.append(_differs(f"it is read, though mcpg refuses it: {fault.message}", at))
        else:
            found.append(_report_refusal(fault.message, at))
        return None
    if content.startswith((" ", "\t", "\n")) and front.line > 1:
        message = "below an empty line, front matter is prose"
        found.append(ReaderFinding(Severity.WARNING, "unread", f"{place}:1", message))
        return None
    return front


def _differences(key: str, held: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the parts of *held* that are deliberately read otherwise than by mcpg, and how."""
    kind = key.strip().lower()
    if kind == "authors":
        yield (key,), "`authors` is ignored; `author` is read"
    elif kind in _DATES and isinstance(held, str) and held and not _ISO.match(held):
        yield (key,), f"the date {held!r} depends on the culture of the machine, or is a text"
    elif kind in _TOPICS:
        for path, item in dotnet.number_items((key,), held):
            if isinstance(item, str) and dotnet.is_uri(item):
                yield path, f"the IRI {item!r} is taken for a label"
    elif kind in _PROPERTIES and isinstance(held, dict):
        for name, stated in held.items():
            yield from (((key, name), message) for message in _literals(stated))


def _literals(stated: JsonValue) -> Iterator[str]:
    if isinstance(stated, list):
        for item in stated:
            yield from _literals(item)
    elif isinstance(stated, dict) and "id" not in stated:
        if stated.get("lang") or stated.get("language"):
            yield "the language of the text is dropped"
        if isinstance(stated.get("value"), list):
            yield "a list under `value` becomes the text System.Object[]"
    elif isinstance(stated, int | float):
        yield f"the number or truth value {stated!r} is a plain text"


def _report_refusal(reason: str, place: str) -> ReaderFinding:
    message = f"the whole bundle is refused: {reason}"
    return ReaderFinding(Severity.ERROR, "refused", place, message)


def _differs(message: str, place: str) -> ReaderFinding:
    return ReaderFinding(Severity.INFO, "differs", place, message)
