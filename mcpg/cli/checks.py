"""The checks of `mcpg doctor`: settings, extras, bundle, providers, stores, telemetry."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from mcpg.bundle import assemble, read_bundle
from mcpg.bundle.metadata import definitions_in
from mcpg.catalog.definitions import Key
from mcpg.catalog.model import Tool
from mcpg.cli.environment import KEYS, POSTGRES_VARIABLE, cache_folder
from mcpg.cli.locks import FAIL, change_json, is_locked, lock_path, open_lock
from mcpg.cli.providers import NONE, ServiceFactory
from mcpg.cli.query import find_strategy
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import name_some
from mcpg.embeddings.provider import EmbeddingError, EmbeddingKey, embed_query
from mcpg.engine import Engine, load
from mcpg.errors import Diagnostic, McpgError, NotFoundError, find_remedy
from mcpg.files import exists, is_file
from mcpg.index.file import fresh_index
from mcpg.review.lock import LockChangeKind, lock_changes
from mcpg.review.lock_sources import OnChange, ReviewedGraph, review_tools, stated_in
from mcpg.search.caches import QUERY, make_key
from mcpg.search.model import recipe
from mcpg.sources.model import SourceBatch
from mcpg.text.library_errors import install_command
from mcpg.values import format_count


class Status(StrEnum):
    """The result of a check."""

    OK = "ok"
    """It works."""
    NOTE = "note"
    """It works or is not needed now, with a remark."""
    OFF = "off"
    """No setting enables it, so it was not checked."""
    FAILED = "failed"
    """It is configured, and does not work."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        message: The finding, in one sentence without a secret.
        remedy: The remedy, `None` for none.
        details: Values by name in camelCase.
    """

    name: str
    status: Status
    message: str
    remedy: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def failure(name: str, fault: McpgError) -> Check:
    """Return the check of a part that cannot be used because of *fault*."""
    where = f"{fault.place}: " if fault.place else ""
    return Check(name, Status.FAILED, f"{where}{fault.message}", fault.remedy)


def run_check(name: str, trial: Callable[[], Any]) -> Check:
    """Return the result of *trial*; an error that it raises or returns is a failure."""
    try:
        found = trial()
    except McpgError as fault:
        return failure(name, fault)
    except Exception as fault:  # noqa: BLE001 - the text of an unknown error may contain a secret
        return Check(name, Status.FAILED, f"it failed with {type(fault).__name__}")
    if isinstance(found, Check):
        return found
    return Check(name, Status.FAILED, f"it failed with {TypeError.__name__}")


def time_call(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of *work*, and the milliseconds it took."""
    start = time.perf_counter()
    done = work()
    return done, round((time.perf_counter() - start) * 1000, 1)


_EMBED = "make them with `mcpg bundle SOURCE... -o FILE --embed`"
_REBUILD = "make it anew with `mcpg bundle SOURCE... -o FILE`"


def check_settings(settings: Settings) -> Check:
    """Read every setting."""
    find_strategy(settings)
    settings.sources()
    found = {key: setting for key in KEYS if (setting := settings.find(key))}
    origins = {key: setting.origin for key, setting in found.items()}
    listed = ", ".join(f"{key} ({origin})" for key, origin in origins.items())
    message = f"set: {listed}" if listed else "using defaults"
    return Check("settings", Status.OK, message, details=dict(origins))


def check_cache_folder() -> Check:
    """Write a file into the folder for caches."""
    folder = cache_folder()
    name = "cache folder"
    remedy = "set MCPG_CACHE_DIR to a writable folder"
    if folder is None:
        return Check(name, Status.NOTE, "there is none: nothing is kept between runs", remedy)
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - the path is a text
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"mcpg doctor")
    except OSError as fault:
        reason = (fault.strerror or type(fault).__name__).lower()
        return Check(name, Status.FAILED, f"{folder} cannot be written: {reason}", remedy)
    return Check(name, Status.OK, f"{folder} can be written", details={"path": folder})


def check_bundle(settings: Settings) -> tuple[Check, Engine | None]:
    """Find and load the searched bundle or sources."""
    name = "bundle"
    try:
        paths = [str(one.value) for one in settings.bundles()]
    except NotFoundError as fault:
        is_named = settings.find("bundle") is not None
        status = Status.FAILED if is_named else Status.OFF
        return Check(name, status, fault.message, fault.remedy), None
    try:
        engine, took = time_call(lambda: load(paths, cache_dir=cache_folder()))
    except McpgError as fault:
        return failure(name, fault), None
    names = ", ".join(paths)
    count = len(engine.index)
    details = {"paths": [*paths], "tools": count, "durationMs": took}
    if not count:
        return Check(name, Status.FAILED, f"{names} contains no tools", _REBUILD, details), engine
    message = f"{names} contains {count:,} tools, loaded in {took:g} ms"
    stale = 0  # tools that bundles keep from an earlier build
    for path in paths:
        with suppress(McpgError):
            stale += len(read_bundle(path).stale)
    if stale:
        message += f"; {stale:,} stale, because their source failed when it was built"
        remedy = "fix the source, and run `mcpg bundle` again"
        return Check(name, Status.NOTE, message, remedy, details | {"stale": stale}), engine
    return Check(name, Status.OK, message, details=details), engine


def check_index(settings: Settings) -> Check:
    """Check for a fresh index; loading has just made one if that is possible."""
    name = "index"
    paths = [str(one.value) for one in settings.bundles()]
    if len(paths) > 1 or not is_file(paths[0]):
        message = "sources are searched as they are, so an index is made in memory by every run"
        return Check(name, Status.NOTE, message, "bundle them with `mcpg bundle`")
    index = fresh_index(paths[0], recipe(), cache_folder())
    if index is None:
        message = "no index is kept: it is made anew in memory by every run"
        remedy = "search a bundle, and let mcpg write beside it or into the cache folder"
        return Check(name, Status.NOTE, message, remedy)
    index.verify()
    size = index.size
    message = f"fresh and undamaged, {size:,} bytes"
    return Check(name, Status.OK, message, details={"bytes": size})


def check_vectors(engine: Engine, factory: ServiceFactory) -> Check:
    """Look whether the vectors that are kept of the bundle are those that would be made now."""
    name = "vectors"
    given = engine.services.vectors if engine.services else None
    if not isinstance(given, str):
        message = "only a bundle has vectors beside it"
        return Check(name, Status.OFF, message, "bundle the sources with `mcpg bundle`")
    provider = None
    with suppress(EmbeddingError):  # a check of its own reports why there is none
        provider = factory.provider()
    if provider is None:
        return Check(name, Status.OFF, "no embedding provider")

    from mcpg.cli.embedding import VectorTarget  # noqa: PLC0415 - an extra
    from mcpg.vectors.file import find_vectors  # noqa: PLC0415 - an extra

    target = VectorTarget(given, engine.index.header.key, len(engine.index))
    found = find_vectors(target.places, target.key, target.tools, provider)
    if found.file is None:
        reasons = "; ".join(f"{one.place}: {one.message}" for one in found.diagnostics)
        status = Status.NOTE if reasons or factory.needs_vectors else Status.OFF
        message = reasons or f"{target.places[0]} is missing"
        return Check(name, status, f"{message}; a search that needs vectors makes them", _EMBED)
    details = {
        "path": found.path,
        "fingerprint": found.file.fingerprint,
        "tools": len(found.file.vectors),
        "missing": found.file.vectors.missing,
    }
    if not found.is_fresh:
        message = f"{found.path} is not of this bundle: searches embed changed tools"
        return Check(name, Status.NOTE, message, _EMBED, details)
    message = f"{found.path} contains the vectors of {target.tools:,} tools"
    return Check(name, Status.OK, message, details=details)


EXTRAS = {
    "code": (
        "tree_sitter",
        "tree_sitter_c_sharp",
        "tree_sitter_go",
        "tree_sitter_java",
        "tree_sitter_javascript",
        "tree_sitter_python",
        "tree_sitter_rust",
        "tree_sitter_typescript",
    ),
    "embeddings": ("numpy", "onnxruntime", "tokenizers"),
    "faiss": ("faiss", "numpy"),
    "llm": ("httpx", "numpy"),
    "mcp": ("filelock", "jsonschema_rs", "mcp"),
    "postgres": ("numpy", "pgvector", "psycopg", "psycopg_pool"),
    "python": ("docstring_parser", "pydantic"),
    "shacl": ("pyshacl",),
    "telemetry": ("opentelemetry",),
}
"""The modules that must be importable for each extra."""

_DISTRIBUTIONS = {"faiss": "faiss-cpu", "opentelemetry": "opentelemetry-api"}


def check_extra(extra: str) -> Check:
    """Look whether the packages of *extra* are installed."""
    name = f"extra {extra}"
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        message = f"not installed: {', '.join(missing)}"
        return Check(name, Status.OFF, message, install_command(extra), {"missing": [*missing]})
    found: dict[str, str] = {}
    for module in EXTRAS[extra]:
        try:
            found[module] = version(_DISTRIBUTIONS.get(module, module.replace("_", "-")))
        except PackageNotFoundError:
            found[module] = "of unknown version"
    versions = ", ".join(f"{module} {number}" for module, number in found.items())
    return Check(name, Status.OK, f"installed: {versions}", details=found)


TEXT = "track a shipment"
FOREIGN_TEXT = "wo ist meine Sendung"


def check_provider(settings: Settings, factory: ServiceFactory) -> Check:
    """Embed one text."""
    name = "embeddings"
    is_wanted = factory.needs_vectors or settings.find("embeddings.provider") is not None
    try:
        provider = factory.provider()
        if provider is None:
            return Check(name, Status.OFF, "no embedding provider is configured")
        vector, took = time_call(lambda: embed_query(provider, TEXT))
    except EmbeddingError as fault:
        if is_wanted or fault.kind != "missing":
            raise
        return Check(name, Status.OFF, fault.message, fault.remedy or install_command("embeddings"))
    details = {"fingerprint": provider.fingerprint, "dimensions": len(vector), "durationMs": took}
    message = f"{provider.fingerprint!r} embeds: {len(vector)} dimensions, {took:g} ms"
    return Check(name, Status.OK, message, details=details)


def check_rewriter(settings: Settings, factory: ServiceFactory) -> Check:
    """Rewrite one query."""
    name = "query rewriting"
    is_set = settings.find("rewrite.model") is not None
    if not (is_set or factory.is_rewriting):
        return Check(name, Status.OFF, "no language model is set to rewrite queries")
    rewriter = factory.rewriter()
    if rewriter is None:
        remedy = "set MCPG_LLM_MODEL, and MCPG_LLM_URL or MCPG_LLM_API_KEY"
        return Check(name, Status.FAILED, "it is enabled, but no model is named", remedy)
    answer, took = time_call(lambda: rewriter.rewrite(FOREIGN_TEXT))
    details = {"fingerprint": rewriter.fingerprint, "durationMs": took}
    if not answer.strip():
        message = f"{rewriter.fingerprint!r} returned an empty response"
        return Check(name, Status.FAILED, message, "name another model", details)
    message = f"{rewriter.fingerprint!r} responded in {took:g} ms"
    if not factory.is_rewriting:
        remedy = "enable it with --rewrite or MCPG_REWRITE"
        return Check(name, Status.NOTE, f"{message}, but it is not enabled", remedy, details)
    return Check(name, Status.OK, message, details=details)


_MARK = "mcpg doctor"
_MEMORY = "memory"


def check_store(settings: Settings, factory: ServiceFactory) -> Check:
    """Put a vector into the store and read it back."""
    name, found = "store", settings.find("store.kind")
    kind, path = (found.value if found else "sqlite"), factory.store_path()
    is_set = found is not None or settings.find("store.path") is not None
    if not (is_set or factory.needs_vectors or (path and os.path.exists(path))):  # noqa: PTH110
        return Check(name, Status.OFF, "no search needs vectors yet")
    if kind != NONE and find_spec("numpy") is None:
        # The cache folder may have the file of another installation.
        status = Status.FAILED if is_set or factory.needs_vectors else Status.OFF
        message = "vectors need numpy, which is not installed"
        return Check(name, status, message, install_command("embeddings"))
    store = factory.store()
    if store is None:
        return Check(name, Status.OFF, "vectors are not kept between runs")
    import numpy as np  # noqa: PLC0415 - help needs no vectors

    key, vector = EmbeddingKey(_MARK, _MARK, _MARK), np.ones(2, dtype=np.float32)

    def trip() -> Any:
        store.put({key: vector})
        return store.get([key]).get(key)

    back, took = time_call(trip)
    store.close()
    where = {"sqlite": path, "postgres": f"PostgreSQL, by {POSTGRES_VARIABLE}"}.get(kind, kind)
    if back is None or not np.array_equal(back, vector):
        return Check(name, Status.FAILED, f"{where} does not return a stored value")
    message = f"{where} is written and read in {took:g} ms"
    return Check(name, Status.OK, message, details={"kind": kind, "durationMs": took})


def check_cache(settings: Settings, factory: ServiceFactory) -> Check:
    """Put an entry into the search cache and read it back."""
    name, found = "search cache", settings.find("cache.kind")
    cache = factory.cache()
    if cache is None or found is None:
        return Check(name, Status.OFF, "search results are not cached")
    key, value = make_key(_MARK), _MARK.encode()

    def trip() -> bytes | None:
        cache.put(QUERY, key, value)
        return cache.get(QUERY, key)

    back, took = time_call(trip)
    cache.close()
    if back != value:
        return Check(name, Status.FAILED, "it does not return a stored value")
    details = {"kind": found.value, "durationMs": took}
    message = f"{found.value}: written and read in {took:g} ms"
    if found.value == _MEMORY:
        message = f"{message}; it ends with the process, so it serves hosts, not single runs"
        return Check(name, Status.NOTE, message, details=details)
    return Check(name, Status.OK, message, details=details)


_NAME, _NEW, _LOCK = "review", "new tools", "lock"
_REVIEW = "review the changes with `mcpg lock`, and approve with `mcpg lock --approve TOOL`"
_SHOWN = 10


def check_review(settings: Settings, tools: Sequence[Tool]) -> Iterator[Check]:
    """Yield a check for each bundle that has some of *tools*, as their sources define them now.

    Another check names the tools that no bundle has.

    The bundle's reviewer has not seen tools that differ; see ADR 24.
    """
    paths: list[str] = []
    with suppress(McpgError):  # the check of the bundle reports it
        paths = [str(one.value) for one in settings.bundles()]
    bundled: set[Key] | None = None
    for path in paths if tools else ():
        with suppress(McpgError):  # as above; other sources are searched as they are
            bundle = read_bundle(path)
            documents = [*load(path, cache_dir=cache_folder()).documents.values()]
            bundled = (bundled or set()) | {one.tool.key for one in documents}
            definitions = definitions_in(bundle, documents)
            reviewed = ReviewedGraph(tuple(one.tool for one in documents), definitions)
            live = [tool for tool in tools if definitions.get(tool.key)]
            if live:
                yield run_check(_NAME, partial(_compare_reviewed, reviewed, live, path))
    new = [] if bundled is None else [one for one in tools if one.key not in bundled]
    if new:
        names = name_some(["::".join(one.key) for one in new], _SHOWN)
        share = f"{len(new):,} of {format_count(len(tools), 'tool')}"
        message = f"the bundle does not have {share}: {names}"
        details = {"tools": len(tools), "new": len(new)}
        yield Check(_NEW, Status.NOTE, message, "run `mcpg bundle` again", details)


def _compare_reviewed(reviewed: ReviewedGraph, live: Sequence[Tool], path: str) -> Check:
    found = review_tools(reviewed, live, OnChange.WARN, path).diagnostics
    details = {"tools": len(live), "changed": len(found), "warnings": warnings_json(found)}
    if not found:
        message = f"{format_count(len(live), 'tool')} as reviewed in {path}"
        return Check(_NAME, Status.OK, message, details=details)
    messages = name_some([one.message for one in found], _SHOWN, "; ", "; and ")
    remedy = find_remedy(found[0].code)
    return Check(_NAME, Status.NOTE, f"{path}: {messages}", remedy, details)


def warnings_json(found: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Return the first of the diagnostics *found*, as details have them."""
    return [{"code": x.code, "message": x.message, "place": x.place} for x in found[:_SHOWN]]


def check_lock(settings: Settings, batches: Sequence[SourceBatch]) -> Iterator[Check]:
    """Yield a check of the tools in *batches* against the lock file, if there is one, or should be.

    It fails if a build under the lock would.
    """
    path, is_held = lock_path(settings), is_locked(settings)
    if not (is_held or exists(path)):
        return
    reaction = settings.find("lock.on_change")
    is_refused = is_held and (reaction is None or reaction.value == FAIL)

    def compare() -> Check:
        lock = open_lock(path)
        stated, _ = stated_in(SourceBatch.join(batches), partial(assemble, texts=False))
        # The tools of sources that failed are not known.
        responding = {one.tool.source_id for one in stated}
        changes = [
            one
            for one in lock_changes(lock, stated)
            if one.kind is not LockChangeKind.MISSING or one.key[0] in responding
        ]
        details = {"path": path, "tools": len(lock.statements), "locked": is_held}
        details |= {"changes": [change_json(one) for one in changes]}
        if not changes:
            message = f"{format_count(len(lock.statements), 'tool')} as approved in {path}"
            return Check(_LOCK, Status.OK, message, details=details)
        told = [
            f"{one.kind} {one.name}" + (f": {'; '.join(map(str, one.parts))}" if one.parts else "")
            for one in changes
        ]
        status = Status.FAILED if is_refused else Status.NOTE
        message = f"{path}: {name_some(told, _SHOWN, '; ', '; and ')}"
        return Check(_LOCK, status, message, _REVIEW, details)

    yield run_check(_LOCK, compare)
