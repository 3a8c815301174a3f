"""The document of a tool as the bundle shall hold it: joined, and meaning there what it means here.

What an author wrote is read where it stood: a link leads from the folder of its own file. The
bundle holds it elsewhere, perhaps joined with other texts, and whoever reads it there knows neither
that place nor the options of this run. So links become addresses that hold in the whole bundle, and
a text stays as it is only if it says the same there.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.bundle.attaching import names_no_tool
from mcpg.bundle.linking import joined_links, resolve_links
from mcpg.bundle.stated import LINK_MARKS, meanings
from mcpg.catalog.model import SourceDocument
from mcpg.documents import parse_document
from mcpg.documents.facts import TARGET_KEYS, text_of
from mcpg.documents.markdown import read_markdown
from mcpg.documents.paths import normal_path, path_key
from mcpg.documents.reader import TOOL_KEY
from mcpg.documents.retargeting import retarget
from mcpg.documents.scalars import one_line
from mcpg.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcpg.bundle.reading import ReadDocument
    from mcpg.diagnostics import Diagnostic
    from mcpg.documents import ToolDocument
    from mcpg.documents.markdown import Reference
    from mcpg.documents.targets import Targets
    from mcpg.jsontypes import JsonObject, JsonValue

_STATEMENT_KEYS = ("graph_edges", "graphEdges")
_STATED_ENDS = ("subject", "object", "target")


@dataclass(frozen=True, slots=True)
class Places:
    """Where documents go, and what leads to them.

    Attributes:
        addresses: Path and URI of every tool, by id.
        kept: What links mean in the bundle.
        written: What links mean where they were written: paths from before lead on as well.
        namesakes: Names that several tools have.
        source_id: The source of documents that name none.
    """

    addresses: Mapping[str, tuple[str, str]]
    kept: Targets
    written: Targets
    namesakes: Collection[str]
    source_id: str | None


def settle(
    by_tool: Mapping[str, ReadDocument], places: Places
) -> tuple[dict[str, ReadDocument], list[Diagnostic]]:
    """Join the documents of each tool into one, which holds wherever the bundle is read.

    Args:
        by_tool: The document of each tool that has one, by tool id.
        places: Where they go.

    Returns:
        The documents in order of their paths, links and all as in the bundle; what was noticed.
    """
    settled: dict[str, ReadDocument] = {}
    diagnostics: list[Diagnostic] = []
    for tool_id in sorted(by_tool, key=places.addresses.__getitem__):
        item = by_tool[tool_id]
        document, noticed = _joined(item, places.addresses[tool_id], places)
        keeps = item.keeps_text and _reads_back(item, document, places)
        settled[tool_id] = replace(item, document=document, keeps_text=keeps)
        diagnostics += noticed
    return settled, diagnostics


def former_paths(
    by_tool: Mapping[str, ReadDocument], addresses: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Return the URIs to which the paths of documents lead that stand elsewhere in the bundle."""
    found: dict[str, set[str]] = {}
    for tool_id, item in by_tool.items():
        path, uri = addresses[tool_id]
        for one in (item, *item.about):
            key = path_key(normal_path(one.document.path))
            if key != path_key(path):
                found.setdefault(key, set()).add(uri)
    return {key: uris.pop() for key, uris in found.items() if len(uris) == 1}


def _joined(
    item: ReadDocument, address: tuple[str, str], places: Places
) -> tuple[ToolDocument, list[Diagnostic]]:
    path, uri = address
    document, diagnostics = _moved(item, path, places)
    pages: list[ToolDocument] = []
    for page in item.about:
        prose = replace(page.document, body=_prose(page.document))
        about, noticed = _moved(replace(page, document=prose), path, places)
        pages.append(about)
        diagnostics += noticed
    if pages:
        parts = (document, *pages)
        document = replace(
            document,
            groups=tuple(dict.fromkeys(group for part in parts for group in part.groups)),
            links=joined_links(document.links, (link for page in pages for link in page.links)),
            body="\n\n".join(part.body for part in parts if part.body),
            further=_merged(document.further, [page.further for page in pages]),
        )
    return replace(document, path=path, uri=uri), diagnostics


def _prose(about: ToolDocument) -> str:
    """Return what a document about a tool says to its readers: title, description, text."""
    title = f"# {one_line(about.tool.title)}" if about.tool.title else ""
    is_headed = title == one_line(about.body.partition("\n")[0])
    lead = "" if about.tool.description in about.body else about.tool.description
    return "\n\n".join(filter(None, ("" if is_headed else title, lead, about.body)))


def _merged(first: JsonObject, further: Iterable[JsonObject]) -> JsonObject:
    """Join front-matter keys: lists one after the other, else the first that is said."""
    merged = dict(first)
    lists: dict[str, list[JsonValue]] = {}
    for key, value in (item for members in further for item in members.items()):
        if key == TOOL_KEY:
            continue
        held = merged.setdefault(key, value)
        if isinstance(held, list) and isinstance(value, list):
            lists.setdefault(key, list(held)).extend(value)
    return merged | {key: _each_once(items) for key, items in lists.items()}


def _each_once(items: Iterable[JsonValue]) -> list[JsonValue]:
    # What is equal as JSON has one text; lists and mappings cannot be keys themselves.
    known: dict[str, JsonValue] = {}
    for item in items:
        known.setdefault(json.dumps(item, sort_keys=True), item)
    return list(known.values())


def _reads_back(item: ReadDocument, document: ToolDocument, places: Places) -> bool:
    """Return whether the text of *item* says *document* to whoever reads it in the bundle."""
    if item.document.tool.name in places.namesakes and names_no_tool(item):
        # Where documents stand in a folder, it would be about one of the others.
        return False
    is_moved = document.path != item.document.path or places.written is not places.kept
    if not is_moved and item.document.tool.source_id != places.source_id:
        return True
    text = SourceDocument(document.path, item.source.content, document.uri)
    try:
        again, _ = parse_document(text)
    except DocumentError:
        return False
    return resolve_links(replace(item, document=again), places.kept)[0] == document


def _moved(item: ReadDocument, path: str, places: Places) -> tuple[ToolDocument, list[Diagnostic]]:
    """Return the document of *item* with links that mean the same at *path* in the bundle."""
    document, diagnostics = resolve_links(item, places.written)
    if document.path == path and places.written is places.kept:
        return document, diagnostics
    move = _Move(document.path, path, places)
    links = tuple(
        replace(link, target=move.target([link.target]) or link.target) for link in document.links
    )
    body, further = move.prose(document.body), move.statements(document.further)
    return replace(document, links=links, body=body, further=further), diagnostics


@dataclass(frozen=True, slots=True)
class _Move:
    """A text that moves from the place where it was written to one in the bundle."""

    old: str
    new: str
    places: Places

    def target(self, meant: list[str]) -> str | None:
        """Return a target that means in the bundle what *meant* means here, `None` for the same."""
        uri = self._first(meant, self.places.written, self.old)
        if not meant or uri == self._first(meant, self.places.kept, self.new):
            return None
        return uri or "/" + normal_path(
            posixpath.normpath(posixpath.join(posixpath.dirname(self.old), meant[0]))
        )

    def prose(self, body: str) -> str:
        """Return *body* with links that mean the same."""
        if not any(mark in body for mark in LINK_MARKS):
            return body
        targets: dict[Reference, str] = {}
        for reference in dict.fromkeys(read_markdown(body).references):
            target = self.target(list(meanings(reference)))
            if target is not None:
                targets[reference] = target + reference.suffix
        return retarget(body, targets) if targets else body

    def statements(self, further: JsonObject) -> JsonObject:
        """Return front matter whose statements are about the same tools."""
        moved = {key: self._stated(further[key]) for key in _STATEMENT_KEYS if key in further}
        return {**further, **moved} if moved else further

    def _stated(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._stated(item) for item in value]
        if not isinstance(value, dict):
            return value
        return value | {key: self._end(value[key]) for key in _STATED_ENDS if key in value}

    def _end(self, value: JsonValue) -> JsonValue:
        words = text_of(value, TARGET_KEYS)
        uri = self.places.written.resolve(words, self.old)
        if uri is None or uri == self.places.kept.resolve(words, self.new):
            return value
        return {**value, TARGET_KEYS[0]: uri} if isinstance(value, dict) else uri

    @staticmethod
    def _first(meant: Iterable[str], targets: Targets, path: str) -> str | None:
        return next(filter(None, (targets.resolve(one, path) for one in meant)), None)
