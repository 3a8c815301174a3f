"""Where each tool's document stands in the bundle: a path and a URI that no other has."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.bundle.checks import normal_path, path_fault, path_key
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.documents import uris_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcpg.bundle.reading import ReadDocument
    from mcpg.catalog.model import Tool


def documents_by_tool(
    read: Iterable[ReadDocument], tools: Iterable[Tool]
) -> dict[str, ReadDocument]:
    """Find the document of each tool that has one, by tool id.

    A document whose tool the catalogue left out, as a repeat of another, is left out as well.
    """
    places = {(tool.source_id, tool.name, tool.place): tool.id for tool in tools}
    found: dict[str, ReadDocument] = {}
    for item in read:
        tool = item.document.tool
        owner = places.get((tool.source_id, tool.name, tool.place))
        if owner is not None:
            found.setdefault(owner, item)
    return found


def place_tools(
    tools: Sequence[Tool], read: Mapping[str, ReadDocument]
) -> tuple[dict[str, tuple[str, str]], list[Diagnostic]]:
    """Give every tool a path and a URI, by tool id.

    A document keeps its own, any other tool gets the standard ones. Where two would share one, the
    later in order of tool id gives way, with a diagnostic when it is a document.
    """
    standard = uris_for(tools)
    paths: set[str] = set()
    uris: set[str] = set()
    addresses: dict[str, tuple[str, str]] = {}
    diagnostics: list[Diagnostic] = []
    for tool in sorted(tools, key=lambda tool: (tool.id not in read, tool.id)):
        wanted = _own(read[tool.id]) if tool.id in read else standard[tool.id]
        path = _free(_paths(wanted[0], standard[tool.id][0]), paths)
        uri = _free(_uris(wanted[1], standard[tool.id][1]), uris)
        addresses[tool.id] = (path, uri)
        if tool.id in read and wanted != (path, uri):
            diagnostics.append(_moved(wanted, (path, uri), tool))
    return addresses, diagnostics


def place_pages(
    pages: Iterable[ReadDocument], addresses: Iterable[tuple[str, str]]
) -> list[ReadDocument]:
    """Give *pages* each a path and a URI that no tool and no other page has, in order of paths."""
    taken = list(addresses)
    paths = {path_key(path) for path, _ in taken}
    uris = {path_key(uri) for _, uri in taken}
    placed: list[ReadDocument] = []
    for page in sorted(pages, key=lambda page: (page.document.path, page.source.content)):
        path, uri = _own(page)
        path = _free(_paths(path, "pages/page.md"), paths)
        uri = _free(_uris(uri, f"{uri.rstrip('/')}/page/"), uris)
        document = replace(page.document, path=path, uri=uri)
        source = replace(page.source, path=path, canonical_uri=uri)
        placed.append(replace(page, source=source, document=document))
    return placed


def _own(item: ReadDocument) -> tuple[str, str]:
    return normal_path(item.document.path), item.document.uri


def _free(candidates: Iterator[str], taken: set[str]) -> str:
    found = next(text for text in candidates if path_key(text) not in taken)
    taken.add(path_key(found))
    return found


def _paths(wanted: str, standard: str) -> Iterator[str]:
    if path_fault(wanted) is None:
        yield wanted
    yield standard
    stem = standard.removesuffix(".md")
    yield from (f"{stem}-{number}.md" for number in itertools.count(2))


def _uris(wanted: str, standard: str) -> Iterator[str]:
    yield wanted
    yield standard
    yield from (f"{standard}{number}/" for number in itertools.count(2))


def _moved(wanted: tuple[str, str], given: tuple[str, str], tool: Tool) -> Diagnostic:
    pairs = zip(("path", "URI"), wanted, given, strict=True)
    changes = [
        f"its {what} {old!r} is taken or unsafe, so it gets {new!r}"
        for what, old, new in pairs
        if old != new
    ]
    return warning(Code.DOCUMENT_INVALID, "; ".join(changes), tool.place or None)
