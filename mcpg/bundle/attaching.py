"""Documents that are not a tool's own: pages beside the tools, and texts about one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, Tool
from mcpg.diagnostics import Code, Diagnostic, info, warning
from mcpg.documents import tool_uri
from mcpg.documents.frontmatter import split_front_matter
from mcpg.documents.reader import NAMING_KEYS
from mcpg.relations import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.bundle.reading import ReadDocument
    from mcpg.documents import Link, ToolDocument
    from mcpg.jsontypes import JsonObject, JsonValue

TOOL_KEY = "tool"
"""The front-matter key that says which tool a document is about, `false` for none."""

_GENERATED = ("## Tool Identity", "## Execution Contract")


@dataclass(frozen=True, slots=True)
class Sorted:
    """Documents by what they are.

    Attributes:
        tools: Tools of manifests that no document is about.
        read: The documents of tools, those about a tool joined with it.
        pages: Documents of no tool.
        diagnostics: What was noticed.
    """

    tools: tuple[Tool, ...]
    read: tuple[ReadDocument, ...]
    pages: tuple[ReadDocument, ...]
    diagnostics: tuple[Diagnostic, ...]


def sort_documents(tools: Sequence[Tool], read: Sequence[ReadDocument]) -> Sorted:
    """Tell apart documents of tools, documents about a tool, and pages.

    A document is about a tool when its key `tool` names one, or when it names none itself and its
    file is called like exactly one tool of the others. Its prose, hints, links and statements then
    become the tool's. It is a page when its key `tool` is `false` or names nothing that is there.

    Args:
        tools: The tools of manifests.
        read: All documents.
    """
    claims = {number: _claim(item) for number, item in enumerate(read)}
    own = [item for number, item in enumerate(read) if claims[number] is None]
    names = _Names(tools, own)
    taken: dict[int, ReadDocument] = {}
    kept: list[ReadDocument] = []
    pages: list[ReadDocument] = []
    noticed: list[Diagnostic] = []
    for number, item in enumerate(read):
        claim = claims[number]
        tool = names.meant(claim, item) if claim else names.called_like(item)
        if tool is not None:
            key = id(tool)
            taken[key] = _joined(item, tool, taken.get(key) or names.document_of(tool))
            noticed.append(_attached(item, tool))
        elif claim is None:
            kept.append(item)
        else:
            pages.append(item)
            noticed += _unmapped(claim, item)
    return Sorted(
        tuple(tool for tool in tools if id(tool) not in taken),
        (*(item for item in kept if id(item.document.tool) not in taken), *taken.values()),
        tuple(pages),
        tuple(noticed),
    )


def _claim(item: ReadDocument) -> str | None:
    """Give the tool that a document says it is about, "" for none, `None` without the key."""
    further = item.document.further
    if TOOL_KEY not in further:
        return None
    value = further[TOOL_KEY]
    return value.strip() if isinstance(value, str) else ""


class _Names:
    """What tools are called, for documents about them."""

    def __init__(self, tools: Iterable[Tool], own: Sequence[ReadDocument]) -> None:
        self._documents = {id(item.document.tool): item for item in own}
        self._nameless: dict[int, bool] = {}
        self._by_name: dict[str, list[Tool]] = {}
        self._by_key: dict[str, list[Tool]] = {}
        # A document stands for the manifest's entry of the same tool.
        described = [item.document.tool for item in own]
        known = {(tool.source_id, tool.name): tool for tool in (*tools, *described)}
        for (source, name), tool in known.items():
            self._by_name.setdefault(name, []).append(tool)
            for key in {tool.id, f"{source}::{name}", name} - {""}:
                self._by_key.setdefault(key, []).append(tool)

    def meant(self, claim: str, item: ReadDocument) -> Tool | None:
        """Give the one tool that *claim* names, `None` for none or several."""
        found = self._by_key.get(claim, [])
        return found[0] if len(found) == 1 and found[0] is not item.document.tool else None

    def called_like(self, item: ReadDocument) -> Tool | None:
        """Give the one other tool that has the name which only the file gives *item*."""
        if not self._is_nameless(item):
            return None
        tool = item.document.tool
        others = [
            other
            for other in self._by_name.get(tool.name, ())
            if other.source_id != tool.source_id and not self._is_called_by_file(other)
        ]
        return others[0] if len(others) == 1 else None

    def _is_called_by_file(self, tool: Tool) -> bool:
        item = self.document_of(tool)
        return item is not None and self._is_nameless(item)

    def _is_nameless(self, item: ReadDocument) -> bool:
        key = id(item.document.tool)
        if key not in self._nameless:
            self._nameless[key] = _is_nameless(item)
        return self._nameless[key]

    def document_of(self, tool: Tool) -> ReadDocument | None:
        """Give the document that *tool* was read from, `None` for one of a manifest."""
        return self._documents.get(id(tool))


def _is_nameless(item: ReadDocument) -> bool:
    """Tell whether nothing in the text of a document names a tool or describes its arguments."""
    content = item.source.content.removeprefix("\ufeff")
    if TOOL_KEY in item.document.further or any(mark in content for mark in _GENERATED):
        return False
    front = split_front_matter(content, item.source.path).values
    bare = Tool("", "", "x")
    has_schema = item.document.tool.input_schema != bare.input_schema
    return not has_schema and NAMING_KEYS.isdisjoint(front)


def _joined(item: ReadDocument, tool: Tool, base: ReadDocument | None) -> ReadDocument:
    """Join a document about *tool* with the tool, and with the document that it has already."""
    about = item.document
    document = replace(
        base.document if base else _first_document(about, tool),
        body=_prose(base.document.body if base else "", about),
        further=_merged(base.document.further if base else {}, about.further),
    )
    if base is not None:
        document = replace(
            document,
            groups=tuple(dict.fromkeys((*base.document.groups, *about.groups))),
            links=tuple(
                {(x.kind, x.target): x for x in (*about.links, *base.document.links)}.values()
            ),
        )
    hints = Hints.merge(about.tool.hints, document.tool.hints)
    document = replace(document, tool=replace(document.tool, hints=hints))
    source = base.source if base else item.source
    return replace(item, source=source, document=document, keeps_text=False)


def _links(first: ToolDocument, second: ToolDocument) -> tuple[Link, ...]:
    """Join the links of two documents, by kind; of two to the same target the first counts."""
    joined = (*first.links, *second.links)
    links: dict[tuple[EdgeKind, str], Link] = {}
    for link in sorted(joined, key=lambda link: list(EdgeKind).index(link.kind)):
        links.setdefault((link.kind, link.target), link)
    return tuple(links.values())


def _first_document(about: ToolDocument, tool: Tool) -> ToolDocument:
    """Give the document of a tool that has none yet, in place of the one that is about it."""
    standard = tool_uri(about.tool.source_id, about.tool.name)
    uri = tool_uri(tool.source_id, tool.name) if about.uri == standard else about.uri
    # What the page says of relations is added to what is inferred.
    return replace(about, tool=tool, uri=uri, states_relations=False)


def _prose(before: str, about: ToolDocument) -> str:
    """Put what a document says after what was said *before*."""
    told = about.tool.description
    lead = "" if told in about.body else told
    return "\n\n".join(filter(None, (before, lead, about.body)))


def _merged(first: JsonObject, second: JsonObject) -> JsonObject:
    """Join front-matter keys: lists one after the other, else the first that is said."""
    merged: dict[str, JsonValue] = dict(first)
    for key, value in second.items():
        held = merged.get(key)
        if key == TOOL_KEY:
            continue
        if isinstance(held, list) and isinstance(value, list):
            merged[key] = [*held, *(one for one in value if one not in held)]
        else:
            merged.setdefault(key, value)
    return merged


def _attached(item: ReadDocument, tool: Tool) -> Diagnostic:
    message = f"this document is about the tool {tool.name!r} of {tool.source_id!r}, and joins it"
    return info(Code.DOCUMENT_ATTACHED, message, item.document.tool.place or None)


def _unmapped(claim: str, item: ReadDocument) -> list[Diagnostic]:
    if not claim:
        return []
    message = f"no single tool here is called {claim!r}, so this document cannot be found"
    return [warning(Code.DOCUMENT_UNMAPPED, message, item.document.tool.place or None)]
