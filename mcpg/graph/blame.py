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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.documents.model import ToolDocument
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
        return known or self._things.get(focus)

    def _path(self, result: Result, owner: ToolDocument, front: _Front) -> tuple[str | int, ...]:
        if result.focus in self._things and result.focus not in self._by_node:
            keys = tuple(key for keys in _THINGS.values() for key in keys)
            return front.item(keys, result.focus)
        for link in owner.links:
            part = part_iri(node_iri(owner.uri), link.kind.value, digest(link.target))
            if part == result.focus:
                keys = _EDGES[v.KB_RELATED_TO if link.kind == "related" else v.KB_NEXT_STEP]
                return front.item(keys, link.target)
        return front.item((*_KEYS.get(result.path, ()), *_STATED), result.value, result.path)

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
                for number, item in enumerate(_listed(self._values[key])):
                    if any(_means(name, value) for name in _names(item)):
                        return (key, number)
        return (present[0],) if present and present[0] not in _STATED else ()

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


def _means(name: str, value: str) -> bool:
    """Tell whether an author's *name* is the node or value that a shape calls *value*."""
    ending = f"/{quote(name.rpartition('::')[2], safe='')}/"
    return value in {name, node_iri(name)} or value.endswith(ending)
