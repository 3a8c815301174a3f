"""Assemble the documents, catalogue and graph of a bundle from its sources."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcpg.build_cache import NO_MEMO, Kind, Memo
from mcpg.bundle.carried import carried_ranking, still_stale
from mcpg.bundle.codec import (
    RANKING,
    STALE,
    Bundle,
    ReadDocument,
    decode_bundle,
    path_fault,
    read_documents,
)
from mcpg.bundle.definitions import DEFINITIONS, Definitions, definitions_beside, extension_of
from mcpg.bundle.links import (
    Stated,
    joined_links,
    relations_of,
    resolve_links,
    stated_edges,
    with_asserted,
    with_stated,
)
from mcpg.bundle.merge import Places, former_paths, settle, sort_documents
from mcpg.bundle.observations import observed_edges, with_observed
from mcpg.catalog.catalog import Catalog, build_catalog, content_key
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import Hints, SourceDocument, Tool
from mcpg.documents.markdown import Targets, targets_of, with_pages
from mcpg.documents.model import (
    ToolDocument,
    document_for,
    encode_content,
    normal_path,
    path_key,
    uris_for,
)
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import DRAFTED, can_be_written, draft_document, write_document
from mcpg.errors import Code, Diagnostic, DocumentError, error, warning
from mcpg.relations.infer import Inferred, authored_edges, infer
from mcpg.relations.model import Edge, EdgeKind, Relations, ToolRelations
from mcpg.values import counted

if TYPE_CHECKING:
    from mcpg.json_types import JsonObject, JsonValue
    from mcpg.relations.provides import Provision
    from mcpg.sources import SourceBatch


@dataclass(frozen=True, slots=True)
class BundleContext:
    """What a document has to be seen with.

    Attributes:
        addresses: Path and URI of every tool, by id.
        targets: What links can reach.
        authored: What hints assert, by tool id and kind, then by target.
        inferred: What is inferred of tools whose document states no relations, `None` if none does.
        stated: What documents state outside their lists of links.
        memo: What is known of documents that were written before.
        texts: Whether the texts of documents are needed.
        observed: What was observed of each tool, `None` where no source says.
    """

    addresses: Mapping[str, tuple[str, str]]
    targets: Targets
    authored: Mapping[tuple[str, EdgeKind], Mapping[str, Edge]]
    inferred: Inferred | None
    stated: Stated
    memo: Memo
    texts: bool
    observed: Mapping[str, Sequence[Edge]] | None = None


@dataclass(frozen=True, slots=True)
class FinalDocument:
    """A document ready for the bundle.

    Attributes:
        document: What it says, links resolved to URIs.
        text: How it says it.
        relations: Its groups and links, as edges between tools.
    """

    document: ToolDocument
    text: SourceDocument
    relations: ToolRelations


def finalise(
    tool: Tool, read: ReadDocument | None, context: BundleContext
) -> tuple[FinalDocument | None, list[Diagnostic]]:
    """Make the final document of *tool*.

    Args:
        tool: The tool as the catalogue has it, hints and id included.
        read: The document that it was read from, settled; `None` for one of a manifest.
        context: What it is seen with.

    Returns:
        The document, `None` when the tool cannot be written as one, and diagnostics.
    """
    if read is None:
        made = document_for(tool, _inferred(tool, context), context.addresses)
        # Said once that there are no relations, nobody has to look for them again.
        document = replace(made, states_relations=True)
        is_kept = False
    else:
        document = _completed(tool, read.document, context)
        is_kept = read.keeps_text and _says_the_same(read.document, document)
    if context.observed is not None:
        seen = with_observed(document, context.observed.get(tool.id, ()), context.addresses)
        is_kept = is_kept and seen is document
        document = seen
    try:
        content = read.source.content if read and is_kept else _written(document, context)
    except DocumentError as fault:
        advice = f"; {fault.remedy}" if fault.remedy else ""
        message = f"the tool is left out: {fault.message}{advice}"
        return None, [error(Code.DOCUMENT_INVALID, message, tool.place or tool.id)]
    text = SourceDocument(document.path, content, document.uri, tool.place)
    document = with_stated(document, context.stated)
    relations = relations_of(document, tool.id, context.targets)
    return FinalDocument(document, text, relations), []


def _written(document: ToolDocument, context: BundleContext) -> str:
    """Write *document*, unless nobody needs its text and it is sure to have one."""
    if not context.texts and can_be_written(document):
        return ""
    draft = context.memo.recall(
        DRAFTED, partial(encode_content, document), partial(draft_document, document)
    )
    return write_document(document, draft)


def _completed(tool: Tool, said: ToolDocument, context: BundleContext) -> ToolDocument:
    if not said.states_relations:
        made = document_for(tool, _inferred(tool, context), context.addresses)
        return replace(_joined(said, made), body=said.body, further=said.further)
    path, uri = context.addresses[tool.id]
    asserted = {kind: context.authored[tool.id, kind].values() for kind in EdgeKind}
    return with_asserted(replace(said, tool=tool, path=path, uri=uri), asserted, context.addresses)


def _inferred(tool: Tool, context: BundleContext) -> ToolRelations:
    return context.inferred.relations.of(tool.id) if context.inferred else ToolRelations()


def _joined(said: ToolDocument, made: ToolDocument) -> ToolDocument:
    """Put what a document about the tool says of relations before what is inferred."""
    if not (said.links or said.groups):
        return made
    groups = dict.fromkeys((*said.groups, *made.groups))
    return replace(made, links=joined_links(said.links, made.links), groups=tuple(groups))


def _says_the_same(said: ToolDocument, document: ToolDocument) -> bool:
    # A document that states no id gets the same one wherever it is read with the same others.
    tool = document.tool if said.tool.id else replace(document.tool, id="")
    relations = (said.groups, said.links) == (document.groups, document.links)
    return relations and said.tool == tool


@dataclass(frozen=True, slots=True)
class Assembly:
    """All that a bundle is made of.

    Attributes:
        documents: The document of every tool, sorted by path, links resolved to URIs.
        texts: Their final texts and those of the pages, sorted by path; none where not asked for.
        catalog: The tools.
        relations: The graph, by tool id.
        diagnostics: Those of the sources up to here.
        ranking: The fitted model that its bundles carry, as they have it; `None` for none.
        pages: Documents of no tool, sorted by path, links resolved: what they state counts, but
            no search of tools finds them.
        documented: Ids of the tools of which a document was among the sources.
        stale: Ids of the tools whose source failed, now or when a bundle among the sources was
            built.
        kept: Ids of those that are kept from the last build, because their source failed now.
        unread: Paths of documents that could not be read.
        definitions: What servers state of tools whose documents may say otherwise.
        provisions: For each tool, in the order of ids, what it provides to others; `None` where
            that was not needed.
    """

    documents: tuple[ToolDocument, ...]
    texts: tuple[SourceDocument, ...]
    catalog: Catalog
    relations: Relations
    diagnostics: tuple[Diagnostic, ...]
    ranking: JsonValue = None
    pages: tuple[ToolDocument, ...] = ()
    documented: frozenset[str] = frozenset()
    stale: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    definitions: Definitions = field(default_factory=dict)
    provisions: Sequence[Sequence[Provision]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        found = counted(len(self.documents), "tool"), counted(len(self.pages), "page")
        return f"<Assembly: {found[0]}, {found[1]}>"


def assemble(
    batch: SourceBatch,
    *,
    source_id: str | None = None,
    reserved: Collection[str] = (),
    earlier: Iterable[Tool] = (),
    memo: Memo = NO_MEMO,
    texts: bool = True,
    ahead: Sequence[Kind[Any]] = (),
) -> Assembly:
    """Put manifests, hints, documents and bundles together.

    A document wins over a manifest's entry for the same tool. Relations that a document states
    stand; where a tool has none stated they are inferred. The text of a document stays as its
    author wrote it, to the byte, unless hints, its id or inferred relations change what it says:
    then it is written anew, with the author's own prose.

    Args:
        batch: What the sources hold.
        source_id: The server of documents that name none.
        reserved: Ids that no tool may get, in any case.
        earlier: Tools with the ids that they had before, and keep.
        memo: What is known from an earlier run; what comes out is the same without it.
        texts: Whether the texts are needed; writing them takes longer than much of the rest.
        ahead: What the caller will ask the memo for of each document, by its content.

    Raises:
        BundleError: A bundle among the sources is damaged; no part of it is used.
    """
    bundles = [decode_bundle(raw.text, raw.place) for raw in batch.bundles]
    bundled = (document for bundle in bundles for document in bundle.documents)
    read, found = read_documents(batch.documents, list(bundled), source_id, memo)
    unread = {item.path for item in batch.documents} - {item.source.path for item in read}
    ranking, dropped = carried_ranking(bundles)
    tools, too_deep = _of_bounded_depth(batch.tools)
    sorted_ = sort_documents(tools, read, reserved)
    described = [*sorted_.tools, *(item.document.tool for item in sorted_.read)]
    catalog = build_catalog(described, batch.rules, reserved=reserved, earlier=earlier)
    by_tool, left_out = documents_by_tool(sorted_.read, catalog.tools)
    addresses, moved = assign_paths(catalog.tools, by_tool)
    pages = place_pages(sorted_.pages, addresses.values())
    places = _places(catalog, by_tool, addresses, pages, source_id)
    by_tool, unresolved = settle(by_tool, places)
    observed, doubtful = (
        observed_edges(batch.observed, catalog.tools) if batch.observed else (None, [])
    )
    _look_ahead(catalog, by_tool, addresses, memo, [DRAFTED, *ahead] if texts else ahead)
    context = _context(catalog, by_tool, pages, places, memo, texts=texts)
    context = replace(context, observed=observed)
    results = [finalise(tool, by_tool.get(tool.id), context) for tool in catalog.tools]
    finished = sorted((item for item, _ in results if item), key=lambda item: item.text.path)
    linked = [resolve_links(page, context.targets) for page in pages]
    faults = [fault for _, faults in (*results, *linked) for fault in faults]
    stale = still_stale(bundles, batch.documents, tools, source_id)
    final = [*(item.text for item in finished), *(page.source for page in pages)]
    return Assembly(
        documents=tuple(item.document for item in finished),
        texts=tuple(sorted(final, key=lambda text: text.path)) if texts else (),
        catalog=catalog,
        relations=Relations({item.document.tool.id: item.relations for item in finished}),
        diagnostics=(
            *(*batch.diagnostics, *too_deep, *found, *sorted_.diagnostics, *catalog.diagnostics),
            *(
                *left_out,
                *moved,
                *unresolved,
                *faults,
                *context.stated.diagnostics,
                *dropped,
                *doubtful,
            ),
        ),
        ranking=ranking,
        pages=tuple(with_stated(page, context.stated) for page, _ in linked),
        documented=frozenset(by_tool),
        stale=tuple(tool.id for tool in catalog.tools if (tool.source_id, tool.name) in stale),
        unread=frozenset(unread),
        definitions=definitions_beside(sorted_.read, tools, sorted_.superseded, bundles),
        provisions=context.inferred.provisions
        if context.inferred and len(finished) == len(catalog.tools)
        else None,
    )


def _look_ahead(
    catalog: Catalog,
    read: Mapping[str, ReadDocument],
    addresses: Mapping[str, tuple[str, str]],
    memo: Memo,
    kinds: Sequence[Kind[Any]],
) -> None:
    """Let *memo* know what will be asked for, which does not depend on what tools have in common.

    The text of a document that was read is hardly ever written.
    """
    made = (
        encode_content(ToolDocument(tool, *addresses[tool.id]))
        for tool in catalog.tools
        if tool.id not in read
    )
    kept = (
        encode_content(replace(read[tool.id].document, tool=tool))
        for tool in catalog.tools
        if tool.id in read
    )
    memo.ahead(kinds, made)
    memo.ahead([kind for kind in kinds if kind is not DRAFTED], kept)


def _of_bounded_depth(tools: Sequence[Tool]) -> tuple[Sequence[Tool], list[Diagnostic]]:
    """Leave out the *tools* whose schemas could not be read back, which programs can make."""
    deep = [
        tool
        for tool in tools
        if is_deeper(
            (tool.input_schema, tool.output_schema, tool.annotations, tool.meta), MAX_DEPTH
        )
    ]
    if not deep:
        return tools, []
    left_out = set(map(id, deep))
    advice = f"nests deeper than {MAX_DEPTH} levels: flatten its schemas, annotations and _meta"
    faults = [
        warning(
            Code.TOOL_INVALID, f"the tool {tool.name[:80]!r} is left out: it {advice}", tool.place
        )
        for tool in deep
    ]
    return [tool for tool in tools if id(tool) not in left_out], faults


def bundle_of(assembly: Assembly) -> Bundle:
    """Make the bundle of *assembly*."""
    extension: JsonObject = {} if assembly.ranking is None else {RANKING: assembly.ranking}
    if assembly.stale:
        extension[STALE] = list(assembly.stale)
    texts = {text.path: text.content for text in assembly.texts} if assembly.definitions else {}
    if definitions := extension_of(assembly.definitions, assembly.documents, texts):
        extension[DEFINITIONS] = definitions
    return Bundle(assembly.texts, extension)


def _places(
    catalog: Catalog,
    by_tool: Mapping[str, ReadDocument],
    addresses: Mapping[str, tuple[str, str]],
    pages: Iterable[ReadDocument],
    source_id: str | None,
) -> Places:
    tools = targets_of(catalog.tools, addresses)
    kept = with_pages(tools, [page.document for page in pages])
    former = former_paths(by_tool, addresses)
    counts = Counter(tool.name for tool in catalog.tools)
    return Places(
        addresses=addresses,
        kept=kept,
        written=kept.with_paths(former) if former else kept,
        namesakes={name for name, count in counts.items() if count > 1},
        source_id=source_id,
    )


def _context(
    catalog: Catalog,
    read: Mapping[str, ReadDocument],
    pages: Iterable[ReadDocument],
    places: Places,
    memo: Memo,
    *,
    texts: bool,
) -> BundleContext:
    stated = {tool_id for tool_id, item in read.items() if item.document.states_relations}
    # A bundle that states everything loads without a look at what tools have in common.
    complete = all(tool.id in stated for tool in catalog.tools)
    return BundleContext(
        addresses=places.addresses,
        targets=places.kept,
        authored=authored_edges(catalog),
        inferred=None if complete else infer(catalog, memo),
        stated=stated_edges(read, pages, places.kept),
        memo=memo,
        texts=texts,
    )


class _Unique:
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
        # What was taken stays so: a number that was tried once need not be tried again.
        numbers = self._numbers.setdefault(path_key(standard), itertools.count(2))
        stem = standard.removesuffix(self._suffix) if joint else standard
        numbered = (f"{stem}{joint}{number}{self._suffix}" for number in numbers)
        candidates = itertools.chain(wanted, (standard,), numbered)
        found = next(text for text in candidates if path_key(text) not in self._taken)
        self._taken.add(path_key(found))
        return found


def documents_by_tool(
    read: Iterable[ReadDocument], tools: Sequence[Tool]
) -> tuple[dict[str, ReadDocument], list[Diagnostic]]:
    """Find the document of each tool that has one, by tool id.

    A document whose tool the catalogue left out, as a repeat of another, is left out as well, with
    a diagnostic when its words are other ones.
    """
    counts = Counter((tool.source_id, tool.name) for tool in tools)

    def key(tool: Tool) -> tuple[str, str, str]:
        """Return what a tool and its document have in common, whatever hints others add."""
        own = tool.source_id, tool.name
        return *own, content_key(replace(tool, hints=Hints())) if counts[own] > 1 else ""

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
    return found, [_left_out(*pair) for pair in pairs if not _is_same_text(*pair)]


def _is_same_text(item: ReadDocument, kept: ReadDocument | None) -> bool:
    """Return whether two documents of one tool hold the same text, whatever they are related to."""
    said = (item.document.body, item.document.further)
    return said == ((kept.document.body, kept.document.further) if kept else ("", {}))


def _left_out(item: ReadDocument, kept: ReadDocument | None) -> Diagnostic:
    tool = item.document.tool
    message = (
        f"this document describes the tool {tool.name!r} of {tool.source_id!r} as"
        f" {kept.place if kept else 'a manifest'} does, but its text differs and is left out:"
        f" join the texts, or name the tool by the key `tool` alone"
    )
    return warning(Code.TEXT_LEFT_OUT, message, item.place)


def assign_paths(
    tools: Sequence[Tool], read: Mapping[str, ReadDocument]
) -> tuple[dict[str, tuple[str, str]], list[Diagnostic]]:
    """Return every tool a path and a URI, by tool id.

    A document keeps its own, any other tool gets the standard ones. Where two would share one, the
    later in order of tool id gives way, with a diagnostic when it is a document.
    """
    standard = uris_for(tools)
    paths, uris = _Unique(".md"), _Unique("/")
    addresses: dict[str, tuple[str, str]] = {}
    diagnostics: list[Diagnostic] = []
    for tool in sorted(tools, key=lambda tool: (tool.id not in read, tool.id)):
        wanted = _own(read[tool.id]) if tool.id in read else standard[tool.id]
        path = paths.take(_safe(wanted[0]), standard[tool.id][0], "-")
        uri = uris.take([wanted[1]], standard[tool.id][1])
        addresses[tool.id] = (path, uri)
        if tool.id in read and wanted != (path, uri):
            pairs = zip(("path", "URI"), wanted, (path, uri), strict=True)
            changes = [
                f"its {what} {old!r} is taken or unsafe; using {new!r}"
                for what, old, new in pairs
                if old != new
            ]
            diagnostics.append(
                warning(Code.DOCUMENT_INVALID, "; ".join(changes), tool.place or None)
            )
    return addresses, diagnostics


def place_pages(
    pages: Iterable[ReadDocument], addresses: Iterable[tuple[str, str]]
) -> list[ReadDocument]:
    """Return *pages* each a path and a URI that no tool and no other page has, in order of paths.

    A page stays in its folder, so that its links lead where they led. It is read again where it
    goes: its text stays, and what it is called there is what whoever reads the bundle will see.
    """
    taken = list(addresses)
    paths = _Unique(".md", (path for path, _ in taken))
    uris = _Unique("/", (uri for _, uri in taken))
    placed: list[ReadDocument] = []
    for page in sorted(pages, key=lambda page: (page.document.path, page.source.content)):
        path, uri = _own(page)
        path = paths.take((), next(iter(_safe(path)), "pages/page.md"), "-")
        uri = uris.take([uri], f"{uri.rstrip('/')}/page/")
        source = replace(page.source, path=path, canonical_uri=uri)
        document = replace(parse_document(source)[0], is_page=True)
        placed.append(replace(page, source=source, document=document))
    return sorted(placed, key=lambda page: page.document.path)


def _own(item: ReadDocument) -> tuple[str, str]:
    return normal_path(item.document.path), item.document.uri


def _safe(path: str) -> list[str]:
    return [path] if path_fault(path) is None else []
