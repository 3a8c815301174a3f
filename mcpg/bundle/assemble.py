"""Assemble the documents, catalog and graph of a bundle from its sources."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from itertools import compress
from operator import attrgetter
from pathlib import PurePosixPath

from mcpg.bundle import codec, links, metadata
from mcpg.bundle.dotnet_texts import portable_texts, rewritten_pieces
from mcpg.bundle.merge import LocatedDocuments, locate_documents, names_no_tool, sort_documents
from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache
from mcpg.catalog.catalog import Catalog, build_catalog
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import NO_HINTS, HintRule, SourceDocument, Tool
from mcpg.documents.markdown import LinkTargets
from mcpg.documents.model import ToolDocument, document_for, encode_content
from mcpg.documents.writer import (
    DRAFTED,
    can_be_written,
    draft_document,
    with_compact_schemas,
    with_indented_schemas,
    write_document,
)
from mcpg.errors import Code, Diagnostic, DocumentError, error, warning
from mcpg.relations.edges import Edge, EdgeKind, Relations, ToolRelations
from mcpg.relations.infer import InferredRelations, authored_edges, infer
from mcpg.relations.provisions import Provision
from mcpg.sources import RawFile, SourceBatch
from mcpg.sources.model import FailedSource
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import joined_name
from mcpg.values import format_count, list_some


@dataclass(frozen=True, slots=True)
class BundleContext:
    """The context that documents are completed in.

    Attributes:
        addresses: Path and URI of every tool, by id.
        authored: Edges from hints, by tool id and kind, then by target.
        inferred: Inferred relations of tools whose document declares none; `None` if not inferred.
        stated: Relations in documents outside their lists of links.
        texts: Whether the texts of documents are needed.
        observed: Observed edges of each tool, `None` if no source has any.
    """

    addresses: Mapping[str, tuple[str, str]]
    targets: LinkTargets
    authored: Mapping[tuple[str, EdgeKind], Mapping[str, Edge]]
    inferred: InferredRelations | None
    stated: links.StatedRelations
    memo: BuildCache
    texts: bool
    observed: links.ObservedEdges | None = None


def _finish_document(
    tool: Tool, read: codec.ReadDocument | None, context: BundleContext
) -> tuple[ToolDocument, SourceDocument] | Diagnostic:
    """Return the document of *tool*, links resolved to URIs, and its text; or why it has none.

    *read* is its settled source document; `None` for a tool of a manifest.
    """
    document = _complete_document(tool, read.document if read else None, context)
    is_kept = read is not None and read.keeps_text
    if is_kept and read is not None:
        said = read.document
        # A document without an id gets the same one wherever it is read with the same others.
        own = document.tool if said.tool.id else replace(document.tool, id="")
        is_kept = (said.groups, said.links, said.tool) == (document.groups, document.links, own)
    if context.observed is not None:
        seen = links.with_observed(document, context.observed, context.addresses)
        is_kept = is_kept and seen is document
        document = seen
    try:
        content = _make_text(document, read if is_kept else None, context)
    except DocumentError as fault:
        advice = f"; {fault.remedy}" if fault.remedy else ""
        message = f"the tool is left out: {fault.message}{advice}"
        return error(Code.DOCUMENT_INVALID, message, tool.place or tool.id)
    text = SourceDocument(document.path, content, document.uri, tool.place)
    return links.with_stated(document, context.stated), text


def _make_text(
    document: ToolDocument, kept: codec.ReadDocument | None, context: BundleContext
) -> str:
    """Return the text of *kept* as in a folder, or else write *document*.

    It is not written if nothing needs its text and it is sure to have one.
    """
    if kept is not None:
        content = kept.source.content
        is_changed = kept.is_bundled and context.texts
        return with_indented_schemas(content, kept.document.tool) if is_changed else content
    if not context.texts and can_be_written(document):
        return ""
    draft = context.memo.recall(
        DRAFTED, partial(encode_content, document), partial(draft_document, document)
    )
    return write_document(document, draft)


def _complete_document(
    tool: Tool, said: ToolDocument | None, context: BundleContext
) -> ToolDocument:
    if said is not None and said.states_relations:
        path, uri = context.addresses[tool.id]
        asserted = {kind: context.authored[tool.id, kind].values() for kind in EdgeKind}
        own = replace(said, tool=tool, path=path, uri=uri)
        return links.with_asserted(own, asserted, context.addresses)
    related = context.inferred.relations.of(tool.id) if context.inferred else ToolRelations()
    made = document_for(tool, related, context.addresses)
    if said is None:
        # An explicit lack of relations need not be inferred again.
        return replace(made, states_relations=True)
    return replace(
        made,
        links=links.joined_links(said.links, made.links)
        if said.links or said.groups
        else made.links,
        groups=tuple(dict.fromkeys((*said.groups, *made.groups))),
        body=said.body,
        further=said.further,
        written=said.written,
    )


@dataclass(frozen=True, slots=True)
class Assembly:
    """All parts of a bundle.

    Attributes:
        documents: The document of every tool, sorted by path, links resolved to URIs.
        texts: Their final texts and those of the pages, sorted by path; empty if not requested.
        by_uri: Tool ids by the canonical URI of their document, "" for a page's.
        ranking: The fitted model that its bundles carry, as they have it; `None` for none.
        pages: Documents of no tool, sorted by path, links resolved: their statements count, but
            no search of tools finds them.
        documented: Ids of the tools with a document among the sources.
        stale: Ids of the tools whose source failed, now or when a bundle among the sources was
            built.
        kept: Ids of the tools kept from the last build, because their source failed now.
        unread: Paths of documents that could not be read.
        definitions: Definitions from servers of tools whose documents may differ.
        provisions: For each tool, in the order of ids, what it provides to others; `None` if that
            was not needed.
        given: The tools of manifests and servers, as these give them.
        read: The documents of tools, as in the sources.
        rewritten: Differences of its bundles from the documents, for other readers.
    """

    documents: tuple[ToolDocument, ...]
    texts: Sequence[SourceDocument]
    catalog: Catalog
    by_uri: Mapping[str, str] = field(compare=False)
    diagnostics: tuple[Diagnostic, ...]
    ranking: JsonValue = None
    pages: tuple[ToolDocument, ...] = ()
    documented: frozenset[str] = frozenset()
    stale: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    definitions: metadata.Definitions = field(default_factory=dict)
    provisions: Sequence[Sequence[Provision]] | None = field(default=None, compare=False)
    given: tuple[Tool, ...] = field(default=(), compare=False)
    read: tuple[codec.ReadDocument, ...] = field(default=(), compare=False)
    rules: tuple[HintRule, ...] = field(default=(), compare=False)
    rewritten: tuple[Diagnostic, ...] = ()

    @property
    def relations(self) -> Relations:
        """The graph, by tool id, built from the documents on each access."""
        named = ((document.tool.id, document) for document in self.documents)
        return Relations(
            {name: links.read_relations(one, name, self.by_uri) for name, one in named}
        )

    def __repr__(self) -> str:
        found = format_count(len(self.documents), "tool"), format_count(len(self.pages), "page")
        return f"<Assembly: {found[0]}, {found[1]}>"


LookAhead = Callable[[Iterator[bytes]], AbstractContextManager[Iterator[bytes]]]
"""Passes on the contents of the documents of all tools, in the order of ids, see `encode_content`;
hardly any document gets another content later. Work that needs all of them starts at the end,
because the texts of documents are needed first."""


def assemble(  # noqa: PLR0913 - each is one thing that a caller may need
    batch: SourceBatch,
    *,
    source_id: str | None = None,
    reserved: Collection[str] = (),
    earlier: Iterable[Tool] = (),
    memo: BuildCache = NO_BUILD_CACHE,
    texts: bool = True,
    ahead: LookAhead | None = None,
    hosted: bool = False,
    infers: bool = True,
    generated: bool = True,
) -> Assembly:
    """Put manifests, hints, documents and bundles together.

    A document wins over a manifest's entry for the same tool. Relations in a document are kept; a
    tool without any gets inferred ones. The text of a document stays as its author wrote it, to
    the byte, unless hints, its id or inferred relations change its content: then it is
    rewritten, with the author's own prose.

    Documents that name no server are of *source_id*. No tool gets an id that is *reserved*, in any
    case, and the *earlier* tools keep theirs. Two things take most of the time and may be left out:
    *texts* of documents, and inferred relations (*infers*). *ahead* looks at the contents of all
    documents before tools are related, *memo* has results of an earlier run; neither changes the
    outcome. *hosted* is as for `sort_documents`. *generated* keeps texts of a language model.

    Raises:
        BundleError: A bundle among the sources is damaged; no part of it is used.
    """
    bundles = [codec.decode_bundle(raw.text, raw.place) for raw in batch.bundles]
    ranking, dropped = metadata.read_ranking(bundles)
    bundled = [document for bundle in bundles for document in bundle.documents]
    read, found = codec.read_documents(batch.documents, bundled, source_id, memo)
    if not generated:
        read, batch = [*map(_without_generated, read)], _without_generated_rules(batch)
    tools, too_deep = _leave_out_deep(batch.tools)
    sorted_ = sort_documents(tools, read, reserved, hosted=hosted)
    known = (*too_deep, *found, *sorted_.diagnostics)
    described = [*sorted_.tools, *(item.document.tool for item in sorted_.read)]
    catalog = build_catalog(described, batch.rules, reserved=reserved, earlier=earlier)
    placed = locate_documents(catalog, sorted_, source_id)
    _look_ahead(catalog, placed, memo if texts else NO_BUILD_CACHE, ahead)
    observed, doubtful = links.observed_edges(batch.observed, catalog.tools)
    context = _make_context(catalog, placed, batch, memo, texts=texts, infers=infers)
    context = replace(context, observed=observed)
    documents, pages, finished, faults = _finish_documents(catalog, placed, context)
    stale = metadata.still_stale(bundles, batch.documents, tools, source_id)
    inferred = context.inferred if len(documents) == len(catalog.tools) else None
    # A mistake that is reported is not reported again in another form.
    mistakes = {one.place for one in known if one.code in _MISTAKES}
    rewritten = rewritten_pieces((*placed.by_tool.values(), *placed.pages))
    return Assembly(
        documents=documents,
        texts=finished,
        catalog=catalog,
        by_uri=context.targets.by_uri,
        diagnostics=(
            *(*batch.diagnostics, *known, *catalog.diagnostics),
            *(*placed.diagnostics, *faults, *context.stated.diagnostics),
            *(*dropped, *doubtful, *_report_ignored(batch.passed_over, catalog)),
        ),
        ranking=ranking,
        pages=pages,
        documented=frozenset(placed.by_tool),
        stale=tuple(tool.id for tool in catalog.tools if tool.key in stale),
        unread=frozenset({one.path for one in batch.documents} - {one.source.path for one in read}),
        definitions=metadata.definitions_beside(sorted_.read, tools, sorted_.superseded, bundles),
        provisions=inferred.provisions if inferred else None,
        given=tuple(tools),
        rules=tuple(batch.rules),
        read=sorted_.read,
        rewritten=tuple(one for one in rewritten if one.place not in mistakes),
    )


def _without_generated(item: codec.ReadDocument) -> codec.ReadDocument:
    """Return the document of a tool without generated texts, to be rewritten if it had any."""
    tool = item.document.tool
    if tool.generated == NO_HINTS:
        return item
    document = replace(item.document, tool=replace(tool, generated=NO_HINTS))
    return replace(item, document=document, keeps_text=False)


def _without_generated_rules(batch: SourceBatch) -> SourceBatch:
    rules = tuple(rule for rule in batch.rules if rule.written_for is None)
    tools = tuple(replace(tool, generated=NO_HINTS) for tool in batch.tools)
    return replace(batch, rules=rules, tools=tools)


_MISTAKES = (Code.DOCUMENT_INVALID, Code.PREFIX_UNKNOWN, Code.VALUE_INVALID)


def _report_ignored(
    passed_over: Iterable[SourceDocument], catalog: Catalog
) -> Iterator[Diagnostic]:
    """Report Markdown that is not a document, though its file is named like a tool."""
    names = {joined_name(tool.name): tool for tool in catalog.tools} if passed_over else {}
    for item in passed_over:
        tool = names.get(joined_name(PurePosixPath(item.path).stem))
        if tool is not None:
            message = (
                f"this file is called like the tool {tool.name!r}, and is ignored:"
                f" begin it with front matter, such as `tool: {tool.name}` between two lines of"
                " three hyphens"
            )
            yield warning(Code.DOCUMENT_IGNORED, message, f"{item.place}:1")


def _finish_documents(
    catalog: Catalog, placed: LocatedDocuments, context: BundleContext
) -> tuple[
    tuple[ToolDocument, ...], tuple[ToolDocument, ...], Sequence[SourceDocument], list[Diagnostic]
]:
    """Return the documents of tools, the pages, the texts of both, and diagnostics.

    All are in the order of their paths; texts are missing if they are not needed.
    """
    documents: list[ToolDocument] = []
    faults: dict[str, Diagnostic] = {}

    def finish_tools() -> Iterator[SourceDocument]:
        for tool in sorted(catalog.tools, key=lambda tool: context.addresses[tool.id][0]):
            finished = _finish_document(tool, placed.by_tool.get(tool.id), context)
            if isinstance(finished, Diagnostic):
                faults[tool.id] = finished
            else:
                documents.append(finished[0])
                yield finished[1]

    texts: Sequence[SourceDocument] = ()
    if context.texts:
        pages = (page.source for page in placed.pages)
        texts = metadata.hold_texts(merge(finish_tools(), pages, key=attrgetter("path")))
    else:
        deque(finish_tools(), maxlen=0)
    suggest = placed.places.suggest
    linked = [links.resolve_links(page, context.targets, suggest) for page in placed.pages]
    found = [faults[tool.id] for tool in catalog.tools if tool.id in faults]
    found += [fault for _, faults_of_page in linked for fault in faults_of_page]
    return (
        tuple(documents),
        tuple(links.with_stated(page, context.stated) for page, _ in linked),
        texts,
        found,
    )


def _look_ahead(
    catalog: Catalog, placed: LocatedDocuments, memo: BuildCache, ahead: LookAhead | None
) -> None:
    """Let others begin with work that does not depend on relations between tools.

    The text of a document that was read is hardly ever written.
    """
    addresses, read = placed.places.addresses, placed.by_tool

    documents = (
        replace(read[tool.id].document, tool=tool)
        if tool.id in read
        else ToolDocument(tool, *addresses[tool.id])
        for tool in catalog.tools
    )
    with (ahead or nullcontext)(map(encode_content, documents)) as contents:
        unread = compress(contents, (tool.id not in read for tool in catalog.tools))
        memo.ahead([DRAFTED], unread, shares=ahead is not None)


def _leave_out_deep(tools: Sequence[Tool]) -> tuple[Sequence[Tool], list[Diagnostic]]:
    """Leave out the *tools* with schemas too deep to be read back, which programs can make."""
    kept: list[Tool] = []
    faults: list[Diagnostic] = []
    advice = f"nests deeper than {MAX_DEPTH} levels: flatten its schemas, annotations and _meta"
    for tool in tools:
        members = tool.input_schema, tool.output_schema, tool.annotations, tool.meta
        if is_deeper(members, MAX_DEPTH):
            message = f"the tool {tool.name[:80]!r} is left out: it {advice}"
            faults.append(warning(Code.TOOL_INVALID, message, tool.place))
        else:
            kept.append(tool)
    return kept, faults


def build_bundle(assembly: Assembly) -> codec.Bundle:
    """Make the bundle of *assembly*, with texts that every reader takes."""
    extension: JsonObject = {} if assembly.ranking is None else {codec.RANKING: assembly.ranking}
    if assembly.stale:
        extension[codec.STALE] = list(assembly.stale)
    texts = {text.path: text.content for text in assembly.texts} if assembly.definitions else {}
    if definitions := metadata.encode_definitions(assembly.definitions, assembly.documents, texts):
        extension[metadata.DEFINITIONS] = definitions
    has_authors = bool(assembly.documented or assembly.pages)
    tools = {document.path: document.tool for document in assembly.documents}
    compact = metadata.hold_texts(
        replace(
            text,
            content=with_compact_schemas(
                text.content, tool, is_fresh=tool.id not in assembly.documented
            ),
        )
        if (tool := tools.get(text.path))
        else text
        for text in assembly.texts
    )
    parts = compact, assembly.documents, assembly.pages
    return codec.Bundle(portable_texts(*parts) if has_authors else compact, extension)


def _make_context(
    catalog: Catalog,
    placed: LocatedDocuments,
    batch: SourceBatch,
    memo: BuildCache,
    *,
    texts: bool,
    infers: bool,
) -> BundleContext:
    read, targets = placed.by_tool, placed.places.kept
    others = [item.path for item in batch.passed_over]
    stated = {tool_id for tool_id, item in read.items() if item.document.states_relations}
    # A bundle whose documents all declare their relations loads without inference.
    complete = all(tool.id in stated for tool in catalog.tools)
    return BundleContext(
        addresses=placed.places.addresses,
        targets=targets,
        authored=authored_edges(catalog),
        inferred=None if complete or not infers else infer(catalog, memo),
        stated=links.stated_edges(read, placed.pages, targets, others, placed.places.suggest),
        memo=memo,
        texts=texts,
    )


MOST_NAMED = 12
"""How many tools of a source that failed are named in a message."""


def missing_documents(
    last: Iterable[SourceDocument], assembly: Assembly, failed: Collection[FailedSource]
) -> tuple[codec.ReadDocument, ...]:
    """Return the documents of the *last* bundle that are missing because sources failed.

    If a failed source does not name its tools, these are all tools of the last bundle whose
    source no tool of the others has: rather too many than too few.
    """
    tools = assembly.catalog.tools
    present = {tool.key for tool in tools}
    answered = {tool.source_id for tool in tools}
    silent = {one.kind for one in failed if not one.is_named}
    read, _ = codec.read_documents(last, (), None, NO_BUILD_CACHE)
    return tuple(
        item
        for item, tool in ((one, one.document.tool) for one in read)
        if tool.key not in present
        and not names_no_tool(item)
        and (
            item.source.path in assembly.unread
            or any(tool.source_id in one.names for one in failed)
            or (tool.source_id not in answered and silent & {None, tool.source_kind})
        )
    )


def with_missing(
    batch: SourceBatch,
    missing: Sequence[codec.ReadDocument],
    assemble: Callable[[SourceBatch], Assembly],
) -> Assembly:
    """Return the assembly of *batch* with the *missing* tools, which are marked stale."""
    data = codec.encode_bundle(codec.Bundle(tuple(item.source for item in missing)))
    bundles = (*batch.bundles, RawFile(data.decode(), "last build"))
    assembly = assemble(replace(batch, bundles=bundles))
    keys = {item.document.tool.key for item in missing}
    tools = assembly.catalog.tools
    kept = tuple(tool.id for tool in tools if tool.key in keys)
    stale = tuple(tool.id for tool in tools if tool.id in {*kept, *assembly.stale})
    failed = "tools are kept from the last build, because their source failed"
    noticed = (
        warning(Code.TOOLS_STALE, f"{failed}: {list_some(names, MOST_NAMED)}", source_id)
        for source_id, names in names_by_source(missing).items()
    )
    return replace(assembly, stale=stale, kept=kept, diagnostics=(*assembly.diagnostics, *noticed))


def names_by_source(missing: Iterable[codec.ReadDocument]) -> Mapping[str, list[str]]:
    """Return the names of *missing* tools by their source id."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for source_id, name in sorted(item.document.tool.key for item in missing):
        names[source_id].append(name)
    return names
