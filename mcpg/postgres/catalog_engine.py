"""Searches a catalog that is in PostgreSQL: this process has its vocabulary, and no tools.

A search looks up the postings of its words, retrieves the tools that hold most of them as any
search does, reads these, and ranks them by the searcher of every other engine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcpg.caching.build_cache import NO_BUILD_CACHE
from mcpg.engine.engine import Engine
from mcpg.errors import Code, Diagnostic, OutputError, PostgresError, UsageError, warning
from mcpg.files import atomic_write
from mcpg.index.document_terms import analyse_documents
from mcpg.index.file import open_index
from mcpg.index.layout import Buffer, StaleIndexError
from mcpg.index.partial import CandidateIndex, LookupIndex, PartialTool, Vocabulary
from mcpg.index.recipe import hash_recipe
from mcpg.postgres.catalogs import CatalogRow, PublishedCatalog
from mcpg.postgres.connection import Database
from mcpg.search.features import named_exactly
from mcpg.search.guards import SOURCE_RESET_SECONDS, CircuitBreaker
from mcpg.search.query import Analysis, analyse
from mcpg.search.rerank import DEPTH
from mcpg.search.results import (
    DEFAULT_LIMIT,
    NONE,
    EngineServices,
    Match,
    SearchRequest,
    SearchResult,
    check_request,
    check_texts,
)
from mcpg.search.retrieval import depth, retrieve_for_each, widen_analysis
from mcpg.text import join_words
from mcpg.values import format_count

if TYPE_CHECKING:
    from mcpg.search.trace import Explanation

MOST_POSTINGS = 250_000
"""Postings that a search reads: the lists of its rarest words, as far as they go."""

MOST_KEPT = 1_024
"""Tools that are kept after a search, for the next, and for those without the database."""

# Tools are read beyond those that are ranked, because a part has mean lengths of its own.
_FURTHER = 20
_MOST_NAMED = 64
_MOST_ROUNDS = 8
_MOST_WITHOUT_DATABASE = 128
_LISTS = ("context_tools", "sources", "categories")
_BY_SERVICES = frozenset({"rerank", "rewrite", "normalize"})
_MOST_MOVES = 3
_MOST_CACHED = 4
_CACHED = "catalog-{}.idx"


class _Kept(NamedTuple):
    """A tool with what a search needs of it, and the numbers of the targets of its links."""

    tool: PartialTool
    links: tuple[int, ...]


class Snapshot:
    """One published catalog: its vocabulary, and the tools that were read last."""

    def __init__(self, catalog: PublishedCatalog, vocabulary: Vocabulary) -> None:
        self.catalog = catalog
        self.vocabulary = vocabulary
        self.disabled = catalog.list_disabled()
        self.ends = [*accumulate(catalog.sizes)]
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._lock = Lock()

    def read(self, numbers: Iterable[int]) -> list[_Kept]:
        """Return the tools with these *numbers*, from the database if they are not kept."""
        wanted = dict.fromkeys(numbers)
        with self._lock:
            known = {number: self._kept[number] for number in wanted if number in self._kept}
        missing = [number for number in wanted if number not in known]
        rows = [_rename(row, self) for row in self.catalog.read_tools(missing)]
        words = analyse_documents((row.document for row in rows), NO_BUILD_CACHE)
        for row, counted in zip(rows, words, strict=True):
            tool = PartialTool(row.number, row.document, counted, row.meaning)
            known[row.number] = _Kept(tool, row.links)
        with self._lock:
            for number, kept in known.items():
                self._kept[number] = kept
                self._kept.move_to_end(number)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return list(known.values())

    def recent(self) -> list[_Kept]:
        with self._lock:
            return list(islice(reversed(self._kept.values()), _MOST_WITHOUT_DATABASE))


def _rename(row: CatalogRow, snapshot: Snapshot) -> CatalogRow:
    """Return a tool whose id is distinct, with the source if several parts have its id.

    If they also have it of the same source, the place of the part follows that.
    """
    doubled, document = snapshot.vocabulary.doubled, row.document
    if not doubled:
        return row
    tool = document.tool
    if tool.id in doubled:
        named = f"{tool.source_id}::{tool.id}"
        if named in doubled:
            place = bisect_right(snapshot.ends, row.number) + 1
            named = f"{tool.source_id}.{place}::{tool.id}"
        tool = replace(tool, id=named)
    # Tools of different parts may have the same URI, and links lead to tools by theirs.
    links = tuple(
        link if number < 0 else replace(link, target=f"{link.target}#{number}")
        for link, number in zip(document.links, row.links, strict=True)
    )
    uri = f"{document.uri}#{row.number}"
    return row._replace(document=replace(document, tool=tool, uri=uri, links=links))


class PublishedEngine(Engine):
    """Searches and explains over the catalog that was published last in a database.

    It goes on with its catalog while that is kept, see `mcpg publish --keep`, and then opens the
    newest. Without the database, it searches the tools that it used last, with a diagnostic. May be
    shared between threads.
    """

    def __init__(
        self,
        database: Database,
        *,
        limit: int = DEFAULT_LIMIT,
        cache_dir: str | None = None,
        services: EngineServices | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Open the catalog; *cache_dir* is a folder that keeps its vocabulary between processes.

        Of the *services*, the observer and the reranker serve. Others need an index of all tools.

        Raises:
            PostgresError: There is no catalog, it was published by another version of mcpg, or the
                database cannot be reached.
        """
        self._database = database
        self._cache_dir = cache_dir
        self._breaker: CircuitBreaker[PostgresError] = CircuitBreaker(clock, SOURCE_RESET_SECONDS)
        self._snapshot = self._open_newest()
        if services is not None:
            services = NONE._replace(observer=services.observer, reranker=services.reranker)
        super().__init__(self._snapshot.vocabulary, services=services, limit=limit)

    def search(self, query: str | None, **options: Any) -> SearchResult:
        """Find the tools for *query*, with the options of `Engine.search`.

        Raises:
            UsageError: As there; or the query is empty.
            PostgresError: The database cannot be reached, and no tool was read before.
        """
        options = _list_texts(options)
        found = self._add_links(self._prepare(query, options), query, options)
        result = found.result or found.engine.search(query, **options)
        return result._replace(diagnostics=(*found.noticed, *result.diagnostics))

    def explain(self, query: str | None, **options: Any) -> Explanation:
        """Search as `search` does, and explain every part of the answer, except one tool's rank."""
        if options.get("tool") is not None:
            self._refuse("the rank of one tool")
        options = _list_texts({name: one for name, one in options.items() if name != "tool"})
        found = self._add_links(self._prepare(query, options), query, options)
        explanation = found.engine.explain(query, **options)
        result = explanation.result
        diagnostics = (*found.noticed, *result.diagnostics)
        return explanation._replace(result=result._replace(diagnostics=diagnostics))

    def ask(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("a question")

    def route(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("routing")

    def plan(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("a plan")

    def items(self, name: str) -> NoReturn:
        self._refuse(f"a search for items such as {name!r}")

    def kind_engine(self, name: str) -> NoReturn:
        self._refuse(f"a search for items such as {name!r}")

    def with_hints(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("a trial of hints")

    @property
    def documents(self) -> NoReturn:
        self._refuse("a list of all tools")

    tools = enabled_by_id = catalog = pages = documents

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(
            f"{what} needs a bundle: a published catalog is only searched",
            remedy="name the bundle that has the tools, such as --bundle graph.mdld",
        )

    def _open_newest(self) -> Snapshot:
        catalog = PublishedCatalog.newest(self._database)
        try:
            vocabulary = self._open_vocabulary(catalog)
        except StaleIndexError as fault:
            raise PostgresError(
                f"the published catalog cannot be used: {fault}",
                place=self._database.address,
                remedy="publish it again with `mcpg publish --whole`",
            ) from fault
        return Snapshot(catalog, vocabulary)

    def _open_vocabulary(self, catalog: PublishedCatalog) -> Vocabulary:
        """Return the vocabulary, from the cache folder if it is there.

        Raises:
            StaleIndexError: It is damaged, or made by another version.
        """
        path = self._cache_dir and Path(self._cache_dir, _CACHED.format(catalog.digest[:16]))
        if path:
            with suppress(StaleIndexError, OSError):
                return _check_vocabulary(open_index(str(path)).data)
        data = catalog.read_vocabulary()
        vocabulary = _check_vocabulary(data)
        if path:
            with suppress(OutputError, OSError):
                atomic_write(str(path), data)
                _drop_vocabularies(path.parent)
        return vocabulary

    def _prepare(self, query: str | None, options: Mapping[str, Any]) -> _Prepared:
        """Return an engine of the tools that may answer *query*.

        If the database fails, these are tools that were read before.
        """
        request = self._read_request(query, options)
        failure = self._breaker.reason
        if failure is None:
            try:
                return self._prepare_from_newest(request)
            except PostgresError as fault:
                self._breaker.open(fault)
                failure = fault
        return self._prepare_without(failure)

    def _prepare_from_newest(self, request: SearchRequest, left: int = _MOST_MOVES) -> _Prepared:
        """Return an engine of the catalog; it moves to the newest if its own is gone.

        That may be replaced at once, so it moves up to *left* times.
        """
        snapshot = self._snapshot
        try:
            return self._prepare_from(snapshot, request)
        except PostgresError:
            newest = PublishedCatalog.newest(self._database)
            if not left or newest.number == snapshot.catalog.number:
                raise
            self._snapshot = self._open_newest()
        return self._prepare_from_newest(request, left - 1)

    def _read_request(self, query: str | None, options: Mapping[str, Any]) -> SearchRequest:
        names = ("strategy", "include_disabled", "lexicon", "read_only", *_LISTS)
        given = {name: options[name] for name in names if name in options}
        limit = options.get("limit")
        asked = SearchRequest(
            "",
            "",
            self.limit if limit is None else limit,
            **given,
        )
        request, _ = check_request(query, options.get("context"), asked)
        if request.is_browsing:
            self._refuse("a list of all tools")
        return request

    def _prepare_from(self, snapshot: Snapshot, request: SearchRequest) -> _Prepared:
        lookup = LookupIndex(snapshot.vocabulary)
        try:
            return self._make_engine(snapshot, lookup, _choose(snapshot, request, lookup))
        except (StaleIndexError, LookupError, ValueError) as fault:
            raise snapshot.catalog.report_damage(str(fault)) from fault

    def _prepare_without(self, failure: PostgresError) -> _Prepared:
        """Return an engine of the tools that were read before, the last ones first."""
        snapshot = self._snapshot
        recent = snapshot.recent()
        if not recent:
            raise failure
        message = (
            f"the database failed: {failure}; searched the "
            f"{format_count(len(recent), 'tool')} that this process used last"
        )
        noticed = (warning(Code.CANDIDATES_FAILED, message),)
        return self._make_engine(snapshot, LookupIndex(snapshot.vocabulary), recent, noticed)

    def _make_engine(
        self,
        snapshot: Snapshot,
        lookup: LookupIndex,
        read: Sequence[_Kept],
        noticed: tuple[Diagnostic, ...] = (),
    ) -> _Prepared:
        index = CandidateIndex(lookup, [one.tool for one in read])
        engine = Engine(index, services=self.services, limit=self.limit)
        return _Prepared(engine, index, snapshot, lookup, read, noticed)

    def _add_links(
        self, found: _Prepared, query: str | None, options: Mapping[str, Any]
    ) -> _Prepared:
        """Return an engine that also has the tools that links of the matches lead to.

        Services of the caller are only asked in the search after this one, if they have a part.
        """
        if found.noticed:
            return found
        plain = {name: one for name, one in options.items() if name not in _BY_SERVICES}
        if options.get("rerank"):  # any of them may come first
            plain["limit"] = max(plain.get("limit") or self.limit, DEPTH)
        is_whole = self.services in (None, NONE) and len(plain) == len(options)
        engine = found.engine if is_whole else Engine(found.index, limit=self.limit)
        result = engine.search(query, **plain)
        missing = _list_links(found, result.matches)
        if not missing:
            return found._replace(result=result) if is_whole else found
        try:
            read = found.snapshot.read(missing)
        except PostgresError as fault:
            message = f"the database failed: {fault}; related tools are left out"
            return found._replace(noticed=(warning(Code.CANDIDATES_FAILED, message),))
        return self._make_engine(found.snapshot, found.lookup, [*found.read, *read])


class _Prepared(NamedTuple):
    """The engine for one query, what it was made of, and its result if it was asked."""

    engine: Engine
    index: CandidateIndex  # type: ignore[assignment]  # no one looks an item up by `tuple.index`
    snapshot: Snapshot
    lookup: LookupIndex
    read: Sequence[_Kept]
    noticed: tuple[Diagnostic, ...]
    result: SearchResult | None = None


def _drop_vocabularies(folder: Path) -> None:
    """Drop all vocabularies in *folder* but the newest: each publication has another."""
    found = sorted(folder.glob(_CACHED.format("*")), key=lambda path: path.stat().st_mtime)
    for path in found[:-_MOST_CACHED]:
        path.unlink(missing_ok=True)


def _list_texts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return *options* whose lists can be read more than once."""
    lists = {name: check_texts(name, options[name]) for name in _LISTS if name in options}
    return {**options, **lists}


def _check_vocabulary(data: Buffer) -> Vocabulary:
    vocabulary = Vocabulary(data)
    vocabulary.verify()
    if vocabulary.header.recipe != hash_recipe(b""):
        raise StaleIndexError("another version of mcpg published it")
    return vocabulary


def _choose(snapshot: Snapshot, request: SearchRequest, lookup: LookupIndex) -> list[_Kept]:
    """Return the tools that may answer *request*, and those that it names.

    Raises:
        PostgresError: The database failed.
        StaleIndexError, LookupError, ValueError: Postings in it are damaged.
    """
    catalog = snapshot.catalog
    analysis = _analyse(request, lookup, catalog)
    excluded = frozenset[int]() if request.include_disabled else snapshot.disabled
    passing = None
    if request.is_filtered:
        conditions = request.sources, request.categories
        passing = catalog.list_passing(*conditions, read_only=request.read_only)
    widened = widen_analysis(analysis)
    _look_up(widened, lookup, catalog)
    size = depth(request.limit) + _FURTHER
    numbers = retrieve_for_each(widened, lookup, excluded=excluded, size=size, among=passing)
    named = sorted(named_exactly(analysis, lookup))[:_MOST_NAMED]
    pinned = [one for key in _name_keys(request) for one in lookup.exact(key)][:_MOST_NAMED]
    # Without any tool that passes, a search would not say that nothing matches.
    some = () if numbers else islice(range(len(lookup)) if passing is None else passing, 1)
    return snapshot.read((*numbers, *named, *pinned, *some))


def _analyse(request: SearchRequest, lookup: LookupIndex, catalog: PublishedCatalog) -> Analysis:
    """Analyze the query, and look up the rare terms and the names that this takes."""
    keys, rounds = _name_keys(request), _MOST_ROUNDS
    while True:
        analysis = analyse(
            request.query or request.context,
            lookup,
            context=request.context if request.query else "",
            uses_lexicon=request.lexicon,
        )
        named_exactly(analysis, lookup)
        for key in keys:
            lookup.exact(key)
        rounds -= 1
        if not (rounds and (lookup.lacking_terms or lookup.lacking_names)):
            return analysis
        if lookup.lacking_terms:
            lookup.learn_terms(catalog.find_terms(lookup.lacking_terms))
        if lookup.lacking_names:
            lookup.learn_names(catalog.find_names(lookup.lacking_names))


def _name_keys(request: SearchRequest) -> list[str]:
    """Return the joined names of the tools in use that *request* names."""
    names = (*request.context_tools, *request.context.split()[:_MOST_NAMED])
    return [join_words(name.rpartition("::")[2]) for name in names]


def _look_up(analysis: Analysis, lookup: LookupIndex, catalog: PublishedCatalog) -> None:
    """Look up the postings of the terms of *analysis*, the shortest lists first."""
    terms = {term for clause in analysis.clauses for term, _ in clause.variants}
    wanted: list[str] = []
    left = MOST_POSTINGS
    for term in sorted(terms, key=lambda term: (lookup.document_frequency(term), term)):
        left -= lookup.document_frequency(term)
        text = lookup.term(term)
        if (left >= 0 or not wanted) and text not in lookup.answers:
            wanted.append(text)
    # Also without any, for this notices that the catalog is gone.
    lookup.learn_terms(catalog.find_terms(wanted))


def _list_links(found: _Prepared, matches: Sequence[Match]) -> list[int]:
    """Return the tools that the strongest links of *matches* lead to and that were not read."""
    known = {one.tool.number: one for one in found.read}
    shown = [found.index.numbers[found.index.find_tool(match.tool_id)] for match in matches]
    edges: dict[str, list[tuple[float, int]]] = {}
    for match, number in zip(matches, shown, strict=True):
        kept = known[number]
        for link, target in zip(kept.tool.document.links, kept.links, strict=True):
            if target >= 0 and target not in shown:
                edges.setdefault(link.kind, []).append((-match.score * link.weight, target))
    strongest: list[int] = []
    for of_kind in edges.values():
        targets = dict.fromkeys(target for _, target in sorted(of_kind))
        strongest += list(targets)[: 2 * len(matches)]
    return [target for target in dict.fromkeys(strongest) if target not in known]
