"""From what the sources hold to the documents, the catalogue and the graph of one bundle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.bundle.attaching import sort_documents
from mcpg.bundle.codec import RANKING, Bundle, decode_bundle
from mcpg.bundle.finishing import Surroundings, finish
from mcpg.bundle.joining import Places, former_paths, settle
from mcpg.bundle.linking import resolve_links
from mcpg.bundle.placing import documents_by_tool, place_pages, place_tools
from mcpg.bundle.reading import read_documents
from mcpg.bundle.stated import stated_edges, with_stated
from mcpg.catalog.catalog import build_catalog
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.documents.targets import targets_of, with_pages
from mcpg.memo import NO_MEMO, Memo
from mcpg.relations import Relations, authored_edges, relate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcpg.bundle.finishing import Finished
    from mcpg.bundle.reading import ReadDocument
    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import SourceDocument
    from mcpg.catalog.sources import SourceBatch
    from mcpg.documents import ToolDocument
    from mcpg.jsontypes import JsonValue


@dataclass(frozen=True, slots=True)
class Assembly:
    """All that a bundle is made of.

    Attributes:
        documents: The document of every tool, sorted by path, links resolved to URIs.
        texts: Their final texts and those of the pages, sorted by path; none where not asked for.
        catalog: The tools.
        relations: The graph, by tool id.
        diagnostics: What was noticed from the sources up to here.
        ranking: The fitted model that its bundles carry, as they have it; `None` for none.
        pages: Documents of no tool, sorted by path, links resolved: what they state counts, but
            no search of tools finds them.
        documented: Ids of the tools of which a document was among the sources.
    """

    documents: tuple[ToolDocument, ...]
    texts: tuple[SourceDocument, ...]
    catalog: Catalog
    relations: Relations
    diagnostics: tuple[Diagnostic, ...]
    ranking: JsonValue = None
    pages: tuple[ToolDocument, ...] = ()
    documented: frozenset[str] = frozenset()


def assemble(
    batch: SourceBatch,
    *,
    source_id: str | None = None,
    reserved: Collection[str] = (),
    memo: Memo = NO_MEMO,
    texts: bool = True,
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
        memo: What is known from an earlier run; what comes out is the same without it.
        texts: Whether the texts are needed; writing them takes longer than much of the rest.

    Raises:
        BundleError: A bundle among the sources is damaged; no part of it is used.
    """
    bundles = [decode_bundle(raw.text, raw.place) for raw in batch.bundles]
    bundled = (document for bundle in bundles for document in bundle.documents)
    read, found = read_documents(batch.documents, list(bundled), source_id, memo)
    ranking, dropped = _carried(bundles)
    sorted_ = sort_documents(batch.tools, read, reserved)
    described = [*sorted_.tools, *(item.document.tool for item in sorted_.read)]
    catalog = build_catalog(described, batch.rules, reserved=reserved)
    by_tool, left_out = documents_by_tool(sorted_.read, catalog.tools)
    addresses, moved = place_tools(catalog.tools, by_tool)
    pages = place_pages(sorted_.pages, addresses.values())
    places = _places(catalog, by_tool, addresses, pages, source_id)
    by_tool, unresolved = settle(by_tool, places)
    around = _surroundings(catalog, by_tool, pages, places, memo, texts=texts)
    results = [finish(tool, by_tool.get(tool.id), around) for tool in catalog.tools]
    finished = sorted((item for item, _ in results if item), key=lambda item: item.text.path)
    linked = [resolve_links(page, around.targets) for page in pages]
    faults = [fault for _, faults in (*results, *linked) for fault in faults]
    return Assembly(
        documents=tuple(item.document for item in finished),
        texts=_texts(finished, pages) if texts else (),
        catalog=catalog,
        relations=Relations({item.document.tool.id: item.relations for item in finished}),
        diagnostics=(
            *batch.diagnostics,
            *found,
            *sorted_.diagnostics,
            *catalog.diagnostics,
            *left_out,
            *moved,
            *unresolved,
            *faults,
            *around.stated.diagnostics,
            *dropped,
        ),
        ranking=ranking,
        pages=tuple(with_stated(page, around.stated) for page, _ in linked),
        documented=frozenset(by_tool),
    )


def _texts(
    finished: Iterable[Finished], pages: Iterable[ReadDocument]
) -> tuple[SourceDocument, ...]:
    texts = [*(item.text for item in finished), *(page.source for page in pages)]
    return tuple(sorted(texts, key=lambda text: text.path))


def bundle_of(assembly: Assembly) -> Bundle:
    """Make the bundle of *assembly*."""
    ranking = assembly.ranking
    return Bundle(assembly.texts, {} if ranking is None else {RANKING: ranking})


def _carried(bundles: Iterable[Bundle]) -> tuple[JsonValue, list[Diagnostic]]:
    """Give the one ranking that *bundles* carry; where they carry several, none of them counts."""
    carried = [bundle.ranking for bundle in bundles if bundle.ranking is not None]
    if all(one == carried[0] for one in carried):
        return next(iter(carried), None), []
    message = "the bundles carry different rankings, and the shipped one is used"
    return None, [warning(Code.RANKING_IGNORED, message)]


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


def _surroundings(
    catalog: Catalog,
    read: Mapping[str, ReadDocument],
    pages: Iterable[ReadDocument],
    places: Places,
    memo: Memo,
    *,
    texts: bool,
) -> Surroundings:
    stated = {tool_id for tool_id, item in read.items() if item.document.states_relations}
    # A bundle that states everything loads without a look at what tools have in common.
    complete = all(tool.id in stated for tool in catalog.tools)
    return Surroundings(
        addresses=places.addresses,
        targets=places.kept,
        authored=authored_edges(catalog),
        inferred=Relations({}) if complete else relate(catalog, memo),
        stated=stated_edges(read, pages, places.kept),
        memo=memo,
        texts=texts,
    )
