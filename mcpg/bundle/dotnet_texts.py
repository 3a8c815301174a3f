"""What the .NET library makes of the documents of a bundle or a folder.

It reads a bundle as a whole or not at all, finds documents by their addresses alone, and makes one
node of labels that differ in letters which it drops.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from mcpg.bundle.links import MEMBER, PROSE_REASON, parse_predicate
from mcpg.bundle.metadata import hold_texts, is_generated
from mcpg.catalog.model import SourceDocument
from mcpg.documents import dotnet
from mcpg.documents.addresses import BASE_URI
from mcpg.documents.dotnet_front_matter import (
    NamedNode,
    distinct_ids,
    named_nodes,
    names_rdf,
    number_items,
    portable_values,
    shared_nodes,
    with_ids,
)
from mcpg.documents.facts import TARGET_KEYS, StatedEdge, means_itself, parse_facts, pick_text
from mcpg.documents.front_matter import (
    EXTRAS_KEY,
    FrontMatter,
    front_matter_text,
    one_line,
    split_front_matter,
)
from mcpg.documents.front_matter_edits import MAX_REWRITTEN, is_disputed, is_hidden, rewritten_text
from mcpg.documents.markdown import LinkTargets, collect_targets, with_pages
from mcpg.documents.model import LineNumbers, Link, ToolDocument
from mcpg.documents.reader import GRAPH_KEYS, LINK_KEYS, SPELLINGS, URI_KEYS
from mcpg.errors import Code, Diagnostic, DocumentError, Severity, SeverityName, warning
from mcpg.plugins.items import is_item
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.text.json_values import JsonObject, JsonValue

if TYPE_CHECKING:
    from mcpg.bundle.codec import ReadDocument


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


class DocumentAddresses:
    """The documents of a bundle, by whatever an author calls them.

    Args:
        documents: The documents of its tools and its pages, links resolved, those of prose
            included.
    """

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        pages = [document for document in documents if document.is_page]
        tools = [document for document in documents if not document.is_page]
        addresses = {one.tool.id: (one.path, one.uri) for one in tools}
        self.targets = with_pages(collect_targets((one.tool for one in tools), addresses), pages)
        self.titles = {one.uri: one_line(one.tool.display_name) for one in documents}

    def values(self, front: JsonObject, document: ToolDocument) -> JsonObject:
        """Return the front matter of *document* with addresses as targets."""
        return _AddressWriter(self, document).values(front)


def states_targets(content: str, document: ToolDocument) -> bool:
    """Return whether *content* has to be read to see whether all of its targets are addresses."""
    states = not document.further.keys().isdisjoint((*_EDGES, *_THINGS))
    if states or not is_generated(content):
        return True
    return any(link.target not in content or _is_prose(link) for link in document.links)


def _is_prose(link: Link) -> bool:
    return link.reason == PROSE_REASON and link.origin is EdgeOrigin.AUTHORED


def relates(front: JsonObject) -> bool:
    """Return whether a front matter states relations or things."""
    return not front.keys().isdisjoint((*GRAPH_KEYS, *_EDGES, *_ENTITIES))


class _AddressWriter:
    """Puts addresses into the front matter of one document."""

    def __init__(self, known: DocumentAddresses, document: ToolDocument) -> None:
        self._document = document
        self._known = known

    def values(self, front: JsonObject) -> JsonObject:
        """Return the values of *front* with addresses, and what prose and predicates add."""
        changes: list[tuple[Iterable[str], Callable[[JsonValue], JsonValue]]] = [
            (_LINKS, self._target),
            (_ENTITIES, self._entity),
            (_THINGS, self._apart),
            (_EDGES, self._edge),
        ]
        values = dict(front)
        for keys, change in changes:
            for key in keys:
                if key in values:
                    values[key] = _change_each(values[key], change)
        related = SPELLINGS[LINK_KEYS[EdgeKind.RELATED]]
        _append(values, related, [*self._list_prose_targets(values)])
        _append(values, _EDGES, [*self._add_implied_edges(front)])
        return values

    def _uri(self, name: str) -> str | None:
        return self._known.targets.resolve(name, self._document.path) if name else None

    def _target(self, item: JsonValue) -> JsonValue:
        uri = self._uri(pick_text(item, TARGET_KEYS))
        return item if uri is None or pick_text(item, _NODE_KEYS) == uri else uri

    def _entity(self, item: JsonValue) -> JsonValue:
        """Return an entity that names a document as that document, which keeps its name."""
        members = item if isinstance(item, dict) else {}
        label, same = pick_text(item, _LABEL_KEYS), _same_as(members)
        if members.get("id"):
            uri = self._uri(pick_text(item, ("id",)))
        elif same:
            uri = next(filter(None, map(self._uri, same)), None)
        else:
            uri = None if members.get("type") else self._uri(label)
            label = ""
        if uri is None or pick_text(members, _NODE_KEYS) == uri:
            return item
        others = {key: value for key, value in members.items() if key not in _NODE_KEYS}
        named = label or self._known.titles[uri]
        return {"id": uri, "label": named, "type": "schema:Article", **others}

    def _apart(self, item: JsonValue) -> JsonValue:
        """Return a thing that is not the same as a document, whose relations it would take over."""
        if not isinstance(item, dict) or not any(map(self._is_address, _same_as(item))):
            return item
        kept: list[JsonValue] = [one for one in _same_as(item) if not self._is_address(one)]
        thing = {key: value for key, value in item.items() if key not in _SAME_AS}
        return {**thing, _SAME_AS[0]: kept} if kept else thing

    def _is_address(self, text: str) -> bool:
        return text in self._known.targets.by_uri

    def _edge(self, item: JsonValue) -> JsonValue:
        """Return a statement with the addresses of its ends."""
        statement = _statement(item)
        if statement is None or not isinstance(item, dict):
            return item
        is_member = parse_predicate(statement.predicate) == MEMBER
        target = statement.object if is_member else self._resolve_or_itself(statement.object)
        parts: list[tuple[str, str, str, Sequence[str]]] = [
            (
                "subject",
                statement.subject,
                self._resolve_or_itself(statement.subject),
                _SUBJECT_KEYS,
            ),
            ("predicate", statement.predicate, statement.predicate, ("predicate",)),
            ("object", statement.object, target, _OBJECT_KEYS),
        ]
        edge = dict(item)
        for part, name, meant, keys in parts:
            read = _end(item, keys)
            is_itself = means_itself(name) and read.casefold() in _ITSELF
            if read != (meant or name) and not is_itself:
                edge = {key: value for key, value in edge.items() if key not in keys}
                edge[part] = meant or name
        return edge

    def _list_prose_targets(self, values: JsonObject) -> Iterator[JsonValue]:
        """Return the targets of links in prose that no list of *values* has."""
        items = (item for key in _LINKS for item in _list_items(values.get(key)))
        known = {pick_text(item, _NODE_KEYS) for item in items}
        links = (link for link in self._document.links if _is_prose(link))
        yield from (link.target for link in links if link.target not in known)

    def _add_implied_edges(self, front: JsonObject) -> Iterator[JsonValue]:
        """Return statements of edges that are stated by predicates of another name."""
        for item in (item for key in _EDGES for item in _list_items(front.get(key))):
            statement = _statement(item)
            if statement is None:
                continue
            meaning = parse_predicate(statement.predicate)
            subject = self._resolve_or_itself(statement.subject)
            is_member = meaning == MEMBER
            target = statement.object if is_member else self._resolve_or_itself(statement.object)
            is_edge = subject and target and target != subject
            if is_edge and self._known.targets.by_uri[subject] and not _is_read_as(statement):
                yield {"subject": subject, "predicate": _PREDICATES[meaning], "object": target}

    def _resolve_or_itself(self, name: str) -> str:
        return self._document.uri if means_itself(name) else self._uri(name) or ""


def _statement(item: JsonValue) -> StatedEdge | None:
    found = parse_facts({_EDGES[0]: [item]}).statements
    return found[0] if found else None


def _end(item: JsonObject, keys: Sequence[str]) -> str:
    """Return the text of a part of a statement as the .NET library reads it: no mapping."""
    held = next((item[key] for key in keys if item.get(key)), "")
    return held.strip() if isinstance(held, str) else ""


def _is_read_as(statement: StatedEdge) -> bool:
    """Return whether the .NET library takes a predicate for the edge that this package reads."""
    wanted = _PREDICATES[parse_predicate(statement.predicate)].removeprefix("kb:")
    prefix, colon, name = statement.predicate.rpartition(":")
    is_known = not colon or f"{prefix.casefold()}:" in {"kb:", _VOCABULARY}
    return is_known and name.casefold() == wanted.casefold()


def _same_as(item: JsonObject) -> list[str]:
    held = (one for key in _SAME_AS for one in _list_items(item.get(key)))
    return [one.strip() for one in held if isinstance(one, str) and one.strip()]


def _list_items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def _change_each(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def _append(values: JsonObject, keys: Sequence[str], items: list[JsonValue]) -> None:
    """Add *items* to the list under the first of *keys* that there is."""
    if items:
        key = next((key for key in keys if key in values), keys[0])
        values[key] = [*_list_items(values.get(key)), *items]


# Groups that are made of what tools have in common, each an address of its own.
_GENERATED = ("domain:", "source-domain:", "category:")


def portable_texts(
    texts: Sequence[SourceDocument],
    documents: Iterable[ToolDocument],
    pages: Iterable[ToolDocument],
) -> Sequence[SourceDocument]:
    """Return *texts* as every reader takes them.

    Args:
        texts: The texts of a bundle.
        documents: The documents of its tools, links resolved, those of prose included.
        pages: Its documents of no tool, likewise.
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
    """Return what bundles have otherwise than *documents*, since other readers would reject it."""
    for read in documents:
        for item in (read, *read.about):
            if names_rdf(item.document.further):
                content = item.source.content.replace("\r\n", "\n").replace("\r", "\n")
                front = split_front_matter(content.removeprefix("\ufeff"), item.place)
                lines = LineNumbers(front.text, item.place, front.text_line)
                for change in portable_values(front.values)[1]:
                    place = lines.at(*change.path)
                    yield warning(Code.DOCUMENT_REWRITTEN, change.message, place)


class _PortableWriter:
    """Makes texts of a bundle portable.

    Args:
        documents: What they say.
    """

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self._documents = documents
        self._ids = _distinct_ids(documents)

    @cached_property
    def _addresses(self) -> DocumentAddresses:
        return DocumentAddresses(self._documents)

    def make_portable(self, text: SourceDocument, document: ToolDocument) -> SourceDocument:
        """Return *text*, which says *document*, as every reader takes it."""
        uri = text.canonical_uri
        has_uri = uri is None or uri.startswith(BASE_URI) or dotnet.is_uri(uri)
        if has_uri and (is_item(text) or not self._may_change(text.content, document)):
            return text
        content = text.content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            front = split_front_matter(content.removeprefix("\ufeff"), document.path)
        except DocumentError:
            return text  # longer than any that can be read, since it was written
        stated = front.values
        if not has_uri:
            # Where other readers find none that they take, they make one of the path.
            stated = _with_uri(stated, str(uri))
            text = replace(text, canonical_uri=None)
        addressed = with_ids(self._addresses.values(stated, document), self._ids)
        try:
            return _with_values(text, content, front, portable_values(addressed)[0])
        except DocumentError:  # too long with addresses, without which it is read all the same
            return _with_values(text, content, front, portable_values(stated)[0])

    def _may_change(self, content: str, document: ToolDocument) -> bool:
        if states_targets(content, document) or names_rdf(document.further):
            return True
        if document.written and is_disputed(document.written):
            return True
        if not self._ids:
            return False
        stated = (one.name for one in named_nodes(document.further))
        targets = (link.target for link in document.links)
        return any(name in self._ids for name in (*document.groups, *stated, *targets))


def _distinct_ids(documents: Sequence[ToolDocument]) -> Mapping[str, str]:
    """Return identifiers for groups, things and topics; a target that nobody bears has none."""
    groups = {group for document in documents for group in document.groups}
    stated = [
        one for document in documents if document.further for one in named_nodes(document.further)
    ]
    names = {(group, True) for group in groups}
    names.update((one.name, one.is_concept) for one in stated if not one.is_target)
    own = {name for name, _ in names}
    if all(name.startswith(_GENERATED) and name == name.casefold() for name in own):
        return {}
    targets = {link.target for document in documents for link in document.links}
    targets.update(one.name for one in stated if one.is_target)
    uris = {document.uri for document in documents}
    return distinct_ids(names, uris | (targets - own))


def _with_values(
    text: SourceDocument, content: str, front: FrontMatter, values: JsonObject
) -> SourceDocument:
    """Return *text*, which is *content* with the front matter *front*, with other *values*.

    Raises:
        DocumentError: The front matter would be too long.
    """
    if values == front.values and not _is_misread(content, front):
        return text
    if not isinstance(values.get(EXTRAS_KEY, {}), dict):
        values = {key: value for key, value in values.items() if key != EXTRAS_KEY}
    return replace(text, content=rewritten_text(content, values))


def _with_uri(values: JsonObject, uri: str) -> JsonObject:
    """Return front matter that states the address of its document."""
    if any(values.get(key) == uri for key in URI_KEYS):
        return values
    others = {key: value for key, value in values.items() if key not in URI_KEYS}
    return {URI_KEYS[0]: uri, **others}


def _is_misread(content: str, front: FrontMatter) -> bool:
    """Return whether other readers refuse, or miss, front matter of which nothing changes."""
    return is_disputed(front.text) or (relates(front.values) and is_hidden(content))


_ISO = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_DATES = frozenset({"date_published", "datepublished", "date_modified", "datemodified"})
_PROPERTIES = frozenset({"rdf_properties", "rdfproperties"})
_TOPICS = frozenset({"about", "author"})
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReaderFinding:
    """Something that another reader refuses, or reads otherwise.

    Attributes:
        severity: `error` where it loads nothing, `warning` where something is lost or falls
            together, `info` where it reads something else on purpose.
        rule: What is wrong: `name`, `refused`, `unresolved`, `together`, `unread` or `differs`.
        place: The file, and the line where there is one.
        message: What becomes of it.
    """

    severity: SeverityName
    rule: str
    place: str
    message: str


def named_findings(file: str) -> Sequence[ReaderFinding]:
    """Return what keeps the .NET gateway from reading *file* as a bundle: its name."""
    if file.lower().endswith(".json"):
        return ()
    message = (
        "a file whose name does not end in .json is read as one text, and searches find nothing:"
        f" write the bundle to {file}.json"
    )
    return (ReaderFinding(Severity.ERROR, "name", file, message),)


def reader_findings(
    documents: Iterable[SourceDocument], targets: LinkTargets
) -> Sequence[ReaderFinding]:
    """Return what the .NET library makes of *documents* that their authors may not expect.

    Args:
        documents: The documents, as the file has them.
        targets: What mcpg takes the names of their relations for.
    """
    found: list[ReaderFinding] = []
    names: defaultdict[str, list[tuple[NamedNode, str]]] = defaultdict(list)
    for document in documents:
        front = _front(document, found)
        if front is None:
            continue
        lines = LineNumbers(front.text, document.place or document.path, front.text_line)
        found += _refusals(document, front, lines)
        found += _differences(front.values, lines)
        for one in named_nodes(front.values):
            found += _find_unresolved(one, document, lines, targets)
            names[one.name].append((one, lines.at(*one.path)))
    return [*found, *_together(names)]


def _front(document: SourceDocument, found: list[ReaderFinding]) -> FrontMatter | None:
    """Return the front matter of *document*, `None` where it cannot be read."""
    place = document.place or document.path
    content = document.content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        front = split_front_matter(content, place, MAX_REWRITTEN)
    except DocumentError as fault:
        at = fault.place or place
        text = front_matter_text(content)
        if text is not None and dotnet.reads_yaml(text):
            found.append(_differs(f"it is read, though mcpg refuses it: {fault.message}", at))
        else:
            message = f"the whole bundle is refused: {fault.message}"
            found.append(ReaderFinding(Severity.ERROR, "refused", at, message))
        return None
    if content.startswith((" ", "\t", "\n")) and front.line > 1:
        message = "below an empty line, front matter is prose"
        found.append(ReaderFinding(Severity.WARNING, "unread", f"{place}:1", message))
        return None
    return front


def _refusals(
    document: SourceDocument, front: FrontMatter, lines: LineNumbers
) -> Iterator[ReaderFinding]:
    uri = document.canonical_uri
    if uri is not None and not dotnet.is_uri(uri):
        message = f"the whole bundle is refused: {uri!r} is not an absolute URI"
        yield ReaderFinding(Severity.ERROR, "refused", lines.place, message)
    for change in portable_values(front.values)[1]:
        message = f"the whole bundle is refused: {change.reason}"
        yield ReaderFinding(Severity.ERROR, "refused", lines.at(*change.path), message)


def _find_unresolved(
    named: NamedNode, document: SourceDocument, lines: LineNumbers, targets: LinkTargets
) -> Iterator[ReaderFinding]:
    if not named.is_target or dotnet.is_uri(named.name):
        return
    uri = targets.resolve(named.name, document.path)
    if uri is not None:
        message = f"{named.name!r} is taken for a thing of that name; mcpg resolves it to {uri}"
        yield ReaderFinding(Severity.WARNING, "unresolved", lines.at(*named.path), message)


def _together(names: Mapping[str, Sequence[tuple[NamedNode, str]]]) -> Iterator[ReaderFinding]:
    kinds = ((one.name, one.is_concept) for places in names.values() for one, _ in places)
    for shared in shared_nodes(kinds):
        shown = ", ".join(map(repr, shared[:_MOST_SHOWN]))
        more = f" and {len(shared) - _MOST_SHOWN} more" if len(shared) > _MOST_SHOWN else ""
        message = f"these names are one node: {shown}{more}"
        yield ReaderFinding(Severity.WARNING, "together", names[shared[0]][0][1], message)


def _differences(values: JsonObject, lines: LineNumbers) -> Iterator[ReaderFinding]:
    """Return what is read otherwise than mcpg reads it, where mcpg does so on purpose."""
    for key, held in values.items():
        for path, message in _find_differences(key, held):
            yield _differs(message, lines.at(*path))


def _find_differences(key: str, held: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    kind = key.strip().lower()
    if kind == "authors":
        yield (key,), "`authors` is ignored; `author` is read"
    elif kind in _DATES and isinstance(held, str) and held and not _ISO.match(held):
        yield (key,), f"the date {held!r} depends on the culture of the machine, or is a text"
    elif kind in _TOPICS:
        found = ((path, item) for path, item in number_items((key,), held) if isinstance(item, str))
        labels = ((path, item) for path, item in found if dotnet.is_uri(item))
        yield from ((path, f"the IRI {item!r} is taken for a label") for path, item in labels)
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


def _differs(message: str, place: str) -> ReaderFinding:
    return ReaderFinding(Severity.INFO, "differs", place, message)
