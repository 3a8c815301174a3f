"""Where in a document an author wrote what a shape finds wrong."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcpg.documents.facts import LABEL_KEYS, TARGET_KEYS, text_of
from mcpg.documents.frontmatter import split_front_matter
from mcpg.documents.marks import Marks
from mcpg.errors import DocumentError
from mcpg.graph import vocabulary as v
from mcpg.graph.iris import digest, node_iri, part_iri
from mcpg.graph.triples import PREDICATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.documents.model import Link, ToolDocument
    from mcpg.graph.shacl import Result
    from mcpg.jsontypes import JsonObject, JsonValue

_THINGS = {
    v.SCHEMA_ABOUT: ("about",),
    v.SCHEMA_MENTIONS: ("entity_hints", "entityHints", "graph_entities", "graphEntities"),
    v.SCHEMA_AUTHOR: ("authors", "author"),
}
_EDGES = {
    v.KB_RELATED_TO: ("graph_related", "graphRelated"),
    v.KB_NEXT_STEP: ("graph_next_steps", "graphNextSteps"),
    v.KB_MEMBER_OF: ("graph_groups", "graphGroups"),
}
_KEYS = {
    **_THINGS,
    **_EDGES,
    v.RDF_TYPE: ("rdf_types", "rdfTypes", "entry_type", "entryType"),
    v.SCHEMA_NAME: ("title", "displayName", "display_name", "name"),
    v.SCHEMA_DESCRIPTION: ("description", "summary"),
    v.SCHEMA_KEYWORDS: ("keywords", "tags"),
    v.SCHEMA_ALTERNATE_NAME: ("aliases",),
    v.SCHEMA_DATE_PUBLISHED: ("date_published", "datePublished"),
    v.SCHEMA_DATE_MODIFIED: ("date_modified", "dateModified"),
    v.KB_ENTRY_TYPE: ("entry_type", "entryType"),
    v.KB_SOURCE_PROJECT: ("source_project", "sourceProject"),
    v.PROV_DERIVED_FROM: ("canonical_url", "canonicalUrl"),
    v.MCPG_TOOL_NAME: ("name", "toolName", "tool_name"),
    v.MCPG_HAS_SOURCE: ("source", "server", "sourceId", "source_id"),
}
_STATED = ("rdf_properties", "rdfProperties", "graph_edges", "graphEdges")


class Blame:
    """Finds the document and the line of what is wrong."""

    def __init__(
        self, documents: Iterable[ToolDocument], originals: Mapping[str, tuple[str, str]]
    ) -> None:
        """Take the documents, and the texts that their authors wrote.

        Args:
            documents: The documents that the graph was made of.
            originals: Place and text of what was written, by path of the document,
                and by its place where its path is another in the bundle.
        """
        self._documents = list(documents)
        self._originals = originals
        self._fronts: dict[str, _Front] = {}
        self._links: dict[str, Mapping[str, Link]] = {}

    def place_of(self, result: Result) -> str | None:
        """Give `file:line` of what *result* is about, or as much of it as is known."""
        owner = self._owner(result.focus)
        if owner is None:
            return None
        front = self._front(owner.path) or self._front(owner.tool.place)
        if front is None:
            return owner.tool.place or owner.path
        return front.at(*self._path(result, owner, front))

    def _owner(self, focus: str) -> ToolDocument | None:
        """Give the document that says something of the node *focus*."""
        whole, _, _ = focus.rpartition("#")
        known = self._by_node.get(focus) or self._by_node.get(whole)
        # Where the document's own IRI has a fragment, its parts stand below that.
        return known or self._things.get(focus) or self._by_node.get(focus.rsplit("/", 2)[0])

    def _path(self, result: Result, owner: ToolDocument, front: _Front) -> tuple[str | int, ...]:
        if result.focus in self._things and result.focus not in self._by_node:
            keys = tuple(key for keys in _THINGS.values() for key in keys)
            return front.item(keys, result.focus)
        link = self._statements(owner).get(result.focus)
        if link is not None:
            return front.item(_EDGES[PREDICATES[link.kind]], link.target)
        return front.item((*_KEYS.get(result.path, ()), *_STATED), result.value, result.path)

    def _statements(self, owner: ToolDocument) -> Mapping[str, Link]:
        """Return the links of *owner* by the nodes that describe them."""
        if owner.path not in self._links:
            node = node_iri(owner.uri)
            self._links[owner.path] = {
                part_iri(node, link.kind.value, digest(link.target)): link for link in owner.links
            }
        return self._links[owner.path]

    @cached_property
    def _by_node(self) -> dict[str, ToolDocument]:
        return {node_iri(document.uri): document for document in self._documents}

    @cached_property
    def _things(self) -> dict[str, ToolDocument]:
        """For each thing that a document names, the first such document."""
        found: dict[str, ToolDocument] = {}
        for document in self._documents:
            for keys in _THINGS.values() if document.further else ():
                for key in keys:
                    for item in _listed(document.further.get(key)):
                        for name in _names(item):
                            found.setdefault(node_iri(name), document)
        return found

    def _front(self, path: str) -> _Front | None:
        if path not in self._fronts and path in self._originals:
            place, content = self._originals[path]
            self._fronts[path] = _Front(content, place)
        return self._fronts.get(path)


class _Front:
    """The front matter of a text, as its author wrote it."""

    def __init__(self, content: str, place: str) -> None:
        self._place = place
        self._values: JsonObject = {}
        self._meanings: dict[str, dict[str, int]] = {}
        self._marks = Marks("", place, 1)
        try:
            matter = split_front_matter(content.removeprefix("\ufeff"), place)
        except DocumentError:
            return
        self._values = matter.values
        self._marks = Marks(matter.text, place, matter.text_line)

    def item(self, keys: tuple[str, ...], *values: str) -> tuple[str | int, ...]:
        """Give the path of the item under one of *keys* that means one of *values*, or its key."""
        present = [key for key in keys if key in self._values]
        for value in filter(None, values):
            for key in present:
                numbers = self._numbers(key)
                found = [numbers[one] for one in (value, _ending(value)) if one in numbers]
                if found:
                    return (key, min(found))
        return (present[0],) if present and present[0] not in _STATED else ()

    def _numbers(self, key: str) -> Mapping[str, int]:
        """Return the number of the first item under *key* that means a node or value, by that."""
        if key not in self._meanings:
            found = self._meanings[key] = {}
            for number, item in enumerate(_listed(self._values[key])):
                for name in _names(item):
                    for meaning in (name, node_iri(name), _last(name)):
                        found.setdefault(meaning, number)
        return self._meanings[key]

    def at(self, *path: str | int) -> str:
        """Give `file:line` of the value under *path*; of the first line without one."""
        return self._marks.at(*path) if path else f"{self._place}:1"


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _names(item: JsonValue) -> list[str]:
    """Give all that an item can be called by."""
    members = item if isinstance(item, dict) else {}
    nested = (members.get(key) for key in ("object", "target", "predicate"))
    texts = [text_of(item, TARGET_KEYS), text_of(item, LABEL_KEYS)]
    texts += [text_of(one, TARGET_KEYS) for one in nested]
    texts += [key for key in members if ":" in key]
    return list(filter(None, texts))


def _last(name: str) -> str:
    """Return how the URI of a tool ends that an author calls *name*."""
    return f"/{quote(name.rpartition('::')[2], safe='')}/"


def _ending(value: str) -> str:
    """Return the last segment of an address that ends with a slash, with the slashes; else ""."""
    last = value.removesuffix("/").rpartition("/")[2]
    return f"/{last}/" if value.endswith("/") else ""
