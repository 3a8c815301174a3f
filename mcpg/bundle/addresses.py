"""Relations as addresses, for readers of a bundle that find a document by nothing else.

The .NET library takes the target of a relation for the address of a document, or for the label of
a thing of its own; it makes no relations of links in prose. So the documents of a bundle state
targets as addresses, whatever their authors wrote, and links in prose as relations. The author's
own lines are kept beside them, and are what this package reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mcpg.bundle.definitions import is_generated
from mcpg.bundle.links import MEMBER, PROSE_REASON, parse_predicate
from mcpg.documents.facts import TARGET_KEYS, StatedEdge, parse_facts, means_itself, pick_text
from mcpg.documents.front_matter import one_line
from mcpg.documents.markdown import collect_targets, with_pages
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import GRAPH_KEYS, LINK_KEYS, SPELLINGS
from mcpg.json_types import JsonObject, JsonValue
from mcpg.relations.edges import EdgeKind, EdgeOrigin

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
