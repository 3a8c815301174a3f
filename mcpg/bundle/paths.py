"""Where documents go in a bundle: the path and the URI of each, and whose document it is."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcpg.bundle.codec import ReadDocument, path_fault
from mcpg.bundle.links import NameSuggester
from mcpg.bundle.merge import DocumentGroups, DocumentPlaces, former_paths, settle
from mcpg.catalog.catalog import Catalog, content_key
from mcpg.catalog.model import Hints, Tool
from mcpg.documents.addresses import normal_path, path_key, uris_for
from mcpg.documents.markdown import collect_targets, with_pages
from mcpg.documents.reader import parse_document
from mcpg.errors import Code, Diagnostic, warning


@dataclass(frozen=True, slots=True)
class LocatedDocuments:
    """Documents where they go.

    Attributes:
        by_tool: The document of each tool that has one, by tool id, settled.
        places: Where documents go, and what leads to them.
        pages: Documents of no tool.
        diagnostics: What was found.
    """

    by_tool: Mapping[str, ReadDocument]
    places: DocumentPlaces
    pages: Sequence[ReadDocument]
    diagnostics: Sequence[Diagnostic]


def locate_documents(
    catalog: Catalog, sorted_: DocumentGroups, source_id: str | None
) -> LocatedDocuments:
    """Give every document its place in the bundle.

    Args:
        catalog: The tools.
        sorted_: The documents, by what they are of.
        source_id: The server of documents that name none.
    """
    by_tool, left_out = documents_by_tool(sorted_.read, catalog.tools)
    addresses, moved = assign_paths(catalog.tools, by_tool)
    pages = place_pages(sorted_.pages, addresses.values())
    own_pages = [page.document for page in pages]
    kept = with_pages(collect_targets(catalog.tools, addresses), own_pages)
    former = former_paths(by_tool, addresses)
    counts = Counter(tool.name for tool in catalog.tools)
    places = DocumentPlaces(
        addresses=addresses,
        kept=kept,
        written=kept.with_paths(former) if former else kept,
        namesakes={name for name, count in counts.items() if count > 1},
        source_id=source_id,
        suggest=NameSuggester(catalog.suggest, own_pages),
    )
    by_tool, unresolved = settle(by_tool, places)
    return LocatedDocuments(by_tool, places, pages, (*left_out, *moved, *unresolved))


class _UniqueNames:
    """Paths or URIs, none given twice.

    Args:
        suffix: What stands behind the number of one that is numbered.
        taken: Those that are given already.
    """

    def __init__(self, suffix: str, taken: Iterable[str] = ()) -> None:
        self._suffix = suffix
        self._taken = {path_key(text) for text in taken}
        self._numbers: dict[str, Iterator[int]] = {}

    def take(self, wanted: Iterable[str], standard: str, joint: str = "") -> str:
        """Return the first that is free: of *wanted*, *standard*, or *standard* with a number."""
        for text in itertools.chain(wanted, (standard,)):
            if self._is_taken_now(text):
                return text
        # What was taken stays so: a number that was tried once need not be tried again.
        numbers = self._numbers.setdefault(path_key(standard), itertools.count(2))
        stem = standard.removesuffix(self._suffix) if joint else standard
        numbered = (f"{stem}{joint}{number}{self._suffix}" for number in numbers)
        return next(filter(self._is_taken_now, numbered))

    def _is_taken_now(self, text: str) -> bool:
        """Take *text*, and return whether it was free."""
        key = path_key(text)
        was_free = key not in self._taken
        self._taken.add(key)
        return was_free


def documents_by_tool(
    read: Iterable[ReadDocument], tools: Sequence[Tool]
) -> tuple[dict[str, ReadDocument], list[Diagnostic]]:
    """Find the document of each tool that has one, by tool id.

    A document whose tool the catalogue left out, as a repeat of another, is left out as well, with
    a diagnostic when its words are other ones.
    """
    counts = Counter(tool.key for tool in tools)

    def key(tool: Tool) -> tuple[str, str, str]:
        """Return what a tool and its document have in common, whatever hints others add."""
        is_one = counts[tool.key] <= 1
        return *tool.key, "" if is_one else content_key(replace(tool, hints=Hints()))

    described = {key(tool): tool.id for tool in tools}
    places = {(*key(tool), tool.place): tool.id for tool in tools}
    found: dict[str, ReadDocument] = {}
    left_out: list[tuple[ReadDocument, str]] = []
    for item in read:
        content = key(item.document.tool)
        owner = places.get((*content, item.document.tool.place))
        if owner is None or found.setdefault(owner, item) is not item:
            left_out.append((item, owner or described[content]))
    pairs = ((item, found.get(owner)) for item, owner in left_out)
    return found, [one for pair in pairs for one in _report_left_out(*pair)]


def _report_left_out(item: ReadDocument, kept: ReadDocument | None) -> Iterator[Diagnostic]:
    """Report a document, unless it holds the same text as that of its tool, and relates alone."""
    tool = item.document.tool
    said = item.document.body, item.document.further
    if said != ((kept.document.body, kept.document.further) if kept else ("", {})):
        message = (
            f"this document describes the tool {tool.name!r} of {tool.source_id!r} as"
            f" {kept.place if kept else 'a manifest'} does, but its text differs and is left out:"
            f" join the texts, or name the tool by the key `tool` alone"
        )
        yield warning(Code.TEXT_LEFT_OUT, message, item.place)


def assign_paths(
    tools: Sequence[Tool], read: Mapping[str, ReadDocument]
) -> tuple[dict[str, tuple[str, str]], list[Diagnostic]]:
    """Return every tool a path and a URI, by tool id.

    A document keeps its own, any other tool gets the standard ones. Where two would share one, the
    later in order of tool id gives way, with a diagnostic when it is a document.
    """
    standard = uris_for(tools)
    paths, uris = _UniqueNames(".md"), _UniqueNames("/")
    addresses: dict[str, tuple[str, str]] = {}
    diagnostics: list[Diagnostic] = []
    for tool in sorted(tools, key=lambda tool: (tool.id not in read, tool.id)):
        usual = standard[tool.id]
        if tool.id not in read:
            addresses[tool.id] = paths.take((), usual[0], "-"), uris.take((), usual[1])
            continue
        own = read[tool.id].document
        wanted = normal_path(own.path), own.uri
        path = paths.take([] if path_fault(wanted[0]) else [wanted[0]], usual[0], "-")
        uri = uris.take([wanted[1]], usual[1])
        addresses[tool.id] = (path, uri)
        if wanted != (path, uri):
            pairs = zip(("path", "URI"), wanted, (path, uri), strict=True)
            changes = [
                f"its {what} {old!r} is taken or unsafe; using {new!r}"
                for what, old, new in pairs
                if old != new
            ]
            # A path has no line.
            place = read[tool.id].find_place(wanted[1]) if wanted[1] != uri else tool.place
            diagnostics.append(warning(Code.DOCUMENT_INVALID, "; ".join(changes), place or None))
    return addresses, diagnostics


def place_pages(
    pages: Iterable[ReadDocument], addresses: Iterable[tuple[str, str]]
) -> list[ReadDocument]:
    """Return *pages* each a path and a URI that no tool and no other page has, in order of paths.

    A page stays in its folder, so that its links lead where they led. It is read again where it
    goes: its text stays, and what it is called there is what whoever reads the bundle will see.
    """
    taken = list(addresses)
    paths = _UniqueNames(".md", (path for path, _ in taken))
    uris = _UniqueNames("/", (uri for _, uri in taken))
    placed: list[ReadDocument] = []
    for page in sorted(pages, key=lambda page: (page.document.path, page.source.content)):
        path, uri = normal_path(page.document.path), page.document.uri
        path = paths.take((), "pages/page.md" if path_fault(path) else path, "-")
        uri = uris.take([uri], f"{uri.rstrip('/')}/page/")
        source = replace(page.source, path=path, canonical_uri=uri)
        document = replace(parse_document(source)[0], is_page=True)
        placed.append(replace(page, source=source, document=document))
    return sorted(placed, key=lambda page: page.document.path)
