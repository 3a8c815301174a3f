"""`mcpg bundle`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpg import __version__
from mcpg.bundle import Assembly, Bundle
from mcpg.catalog.model import SourceDocument
from mcpg.cli import build, options
from mcpg.cli.build import BuildCacheSession, BuildSources, PreviousBuild
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import LockGuard
from mcpg.cli.open_bundle import BuildStamp, build_stamp, read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept
from mcpg.documents.model import ToolDocument
from mcpg.errors import Diagnostic, InputError, NotFoundError, OutputError, UsageError
from mcpg.review.diff import BundleDiff
from mcpg.search.observer import BuildFacts, GuardedObserver
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject

if TYPE_CHECKING:
    from mcpg.cli.embedding import EmbeddingOutcome, EmbeddingSetup

EXAMPLES = """\
mcpg bundle manifests/ -o graph.mdld
mcpg bundle tools.json extra.hints.yaml docs/ -o graph.mdld
mcpg bundle manifests/ -o graph.mdld --check --diff     # in CI
mcpg bundle manifests/ -o graph.mdld --embed            # and its vectors
mcpg bundle manifests/ -o graph.mdld --watch            # again at every change
mcpg bundle --check                                     # the sources of mcpg.toml
mcpg bundle --locked                                    # refuse what mcpg.lock lacks
my-server --list-tools | mcpg bundle - --source-id mine -o -"""

STDOUT = "-"
_LOCK_CHANGES = "lockChanges"
NO_CHANGES = {"written": False, "indexWritten": False}


class LockReaction(StrEnum):
    """What follows when tools differ from the lock."""

    REFUSE = "refuse"
    WARN = "warn"
    HIDE = "hide"


class VectorKind(StrEnum):
    """How the numbers of vectors are kept."""

    FLOAT16 = "float16"
    INT8 = "int8"
    FLOAT32 = "float32"


Target = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The bundle to write; - is standard output. [default: the bundle in mcpg.toml, or "
        "graph.mdld]",
    ),
]
Untuned = Annotated[
    bool,
    typer.Option(
        "--untuned",
        help="Leave out the ranking that `mcpg tune` stored in the bundle.",
    ),
]

OnChange = Annotated[
    LockReaction | None,
    typer.Option(
        "--on-change",
        metavar="refuse|warn|hide",
        show_default=False,
        help="With --locked, what becomes of changed tools: exit 1 and write nothing, describe "
        "them as approved, or leave them out. warn and hide leave out new tools. [default: refuse]",
    ),
]
Embed = Annotated[
    bool,
    typer.Option(
        "--embed",
        help="Also embed the tools, and write the vectors beside the bundle.",
    ),
]
VectorType = Annotated[
    VectorKind,
    typer.Option(
        "--vector-type",
        metavar="float16|int8|float32",
        help="Number type of the vectors; int8 is the smallest and fastest.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "bundle", examples=EXAMPLES, more="docs/tutorial.md")(bundle)


def bundle(
    output: Output,
    *,
    sources: options.Sources = None,
    target: Target = None,
    check: options.Check = False,
    diff: options.Diff = False,
    strict: options.Strict = False,
    allow_missing: options.AllowMissing = False,
    locked: options.Locked = None,
    on_change: OnChange = None,
    force: options.Force = False,
    untuned: Untuned = False,
    embed: Embed = False,
    embed_with: options.EmbedWith = None,
    vector_type: VectorType = VectorKind.FLOAT16,
    source_id: options.SourceId = None,
    header: options.Header = None,
    server_timeout: options.ServerTimeout = None,
    jobs: options.Jobs = None,
    watch: options.Watch = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Build a bundle from files, folders, servers and code.

    The same sources give the same bytes on every machine. A bundle that is up to date is not
    touched.
    """
    wanted = _BundleRequest(
        sources=sources,
        target=target or read_settings().target(),
        check=check,
        diff=diff,
        strict=strict,
        allow_missing=allow_missing,
        locked=locked,
        on_change=on_change,
        force=force,
        untuned=untuned,
        embed=embed,
        embed_with=embed_with,
        vector_type=vector_type,
        source_id=source_id,
        header=header,
        server_timeout=server_timeout,
        jobs=jobs,
        form=form,
    )
    _check_options(wanted)
    if not watch:
        return _build(output, wanted)
    _check_watch(wanted)
    from mcpg.cli.watch import Watcher  # noqa: PLC0415 - few runs watch
    from mcpg.index.file import SUFFIX as INDEX_SUFFIX  # noqa: PLC0415 - as above
    from mcpg.vectors import SUFFIX as VECTORS_SUFFIX  # noqa: PLC0415 - as above

    written = [f"{wanted.target}{suffix}" for suffix in ("", INDEX_SUFFIX, VECTORS_SUFFIX)]
    watcher = Watcher(partial(_list_watched_paths, wanted), output, exclude=written)
    return watcher.run(partial(_build, output, wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BundleRequest:
    """The options of a run; see `bundle`."""

    sources: Sequence[str] | None
    target: str
    check: bool
    diff: bool
    strict: bool
    allow_missing: bool
    locked: bool | None
    on_change: LockReaction | None
    force: bool
    untuned: bool
    embed: bool
    embed_with: str | None
    vector_type: VectorKind
    source_id: str | None
    header: Sequence[str] | None
    server_timeout: float | None
    jobs: int | None
    form: OutputFormat

    @property
    def compares(self) -> bool:
        """Whether nothing is written."""
        return self.check or self.diff

    @property
    def file(self) -> str | None:
        """The bundle file, `None` for standard output."""
        return None if self.target == STDOUT else self.target

    @property
    def makes_index(self) -> bool:
        """Whether an index is written beside the bundle."""
        return self.file is not None and not self.compares


def _build(output: Output, wanted: _BundleRequest) -> int:
    """Read the sources, put them together, and write or compare the bundle."""
    from mcpg.bundle import bundle_of  # noqa: PLC0415 - help needs none of it

    embedding = _embedding(wanted)
    settings = read_settings(locked=wanted.locked)
    guard = _guard(settings, wanted)
    intake = BuildSources(
        wanted.sources,
        settings,
        source_id=wanted.source_id,
        header=wanted.header,
        seconds=wanted.server_timeout,
    )
    # The lock may differ where the sources do not.
    is_signed = wanted.makes_index and guard is None
    signature = intake.sign(wanted.target) if is_signed else ""
    last = _last_run(wanted, signature)
    if last is not None:
        vectors = _vectors_of_last(wanted.target, last, embedding, output)
        return _tell(wanted, last.report, (), vectors=vectors, output=output)
    remembered = BuildCacheSession(wanted.file, wanted.jobs, makes_index=wanted.makes_index)
    with watched_bundle(settings, output, makes_index=wanted.makes_index) as tell, remembered:
        assembly = _assemble_target(intake, remembered, wanted, output, guard)
        output.diagnostics(assembly.rewritten)
        noticed = (*assembly.diagnostics, *assembly.rewritten)
        assembly = replace(assembly, diagnostics=noticed)
        is_refused = guard is not None and guard.refuses(
            assembly, output, allows_missing=wanted.allow_missing
        )
        if is_refused or (wanted.strict and build.is_rejected_by_strict(assembly, output)):
            if wanted.form is OutputFormat.JSON and guard is not None:
                facts = _facts(bundle_of(assembly).content_hash, assembly, guard)
                output.json(_report(wanted.target, facts, NO_CHANGES, assembly.diagnostics))
            return ExitCode.FINDINGS
        made = bundle_of(assembly)
        if wanted.compares:
            return _compare(made, assembly, wanted, embedding, output, guard)
        if wanted.file is None:
            return _send(made, assembly, output)
        if signature and (intake.options.asked or signature != intake.sign(wanted.target)):
            signature = ""  # servers may answer otherwise, or files changed while they were read
        code = _write(made, assembly, signature, remembered, wanted, embedding, output, guard)
        tell(assembly)
        return code


def _list_watched_paths(wanted: _BundleRequest) -> Sequence[str]:
    """Return what is looked at for changes: the sources, and the lock that holds the build."""
    from mcpg.cli.locks import is_locked, lock_path  # noqa: PLC0415 - few runs watch

    settings = read_settings(locked=wanted.locked)
    locks = (lock_path(settings),) if is_locked(settings) else ()
    return (*BuildSources(wanted.sources, settings).watched_paths, *locks)


def _last_run(wanted: _BundleRequest, signature: str) -> BuildStamp | None:
    """Return the stamp of the run that made the bundle of the same sources, `None` if none did.

    Diagnostics are not kept with it, so a JSON report that needs them takes a new run.
    """
    if wanted.strict or wanted.force or wanted.untuned:
        return None
    last = build_stamp(wanted.target) if signature else None
    if last is None or last.signature != signature:
        return None
    return last if wanted.form is OutputFormat.TEXT or not last.noticed else None


def _present(target: str) -> Sequence[SourceDocument]:
    """Return the documents of the bundle that is there now."""
    from mcpg.bundle import read_bundle  # noqa: PLC0415 - only where a source failed

    return () if target == STDOUT else read_bundle(target).documents


def _guard(settings: Settings, wanted: _BundleRequest) -> LockGuard | None:
    """Return what holds the build to a lock, if anything does."""
    from mcpg.cli.locks import LockGuard, is_locked  # noqa: PLC0415 - most runs have no lock

    if wanted.on_change is not None and not is_locked(settings):
        message = "nothing is compared with a lock"
        raise UsageError(message, place="--on-change", remedy="add --locked, or leave it out")
    return LockGuard.by(settings, wanted.on_change and wanted.on_change.value)


def _assemble_target(
    intake: BuildSources,
    memory: BuildCacheSession,
    wanted: _BundleRequest,
    output: Output,
    guard: LockGuard | None,
) -> Assembly:
    """Put the sources together; the fitted ranking is that of the bundle that is replaced."""
    last = PreviousBuild(partial(_present, wanted.target), wanted.allow_missing)
    assembly = build.assemble_sources(intake, output, memory, last, [wanted.target], guard)
    if wanted.untuned:
        return replace(assembly, ranking=None)
    return build.with_kept_ranking(assembly, wanted.file, output)


def _embedding(wanted: _BundleRequest) -> EmbeddingSetup | None:
    if not wanted.embed and wanted.embed_with is None:
        return None
    if not wanted.embed:
        raise UsageError(
            "no vectors are made", place="--embed-with", remedy="add --embed, or leave it out"
        )
    if wanted.file is None:
        raise UsageError(
            "vectors stand in a file beside the bundle, and standard output has none",
            place="--embed",
            remedy="write the bundle to a file, or leave out --embed",
        )
    from mcpg.cli.providers import ServiceFactory  # noqa: PLC0415 - most runs make no vectors
    from mcpg.embeddings.provider import need_numpy  # noqa: PLC0415 - as above

    settings = read_settings(embed_with=wanted.embed_with)
    is_local = isinstance(ServiceFactory(settings).embedder(), str)
    need_numpy("embeddings" if is_local else "llm")
    from mcpg.cli.embedding import embedding_by  # noqa: PLC0415 - as above

    return embedding_by(settings, wanted.vector_type.value)


def _vectors_of_last(
    target: str, last: BuildStamp, embedding: EmbeddingSetup | None, output: Output
) -> EmbeddingOutcome | None:
    """Bring the vectors of an unchanged bundle up to date."""
    if embedding is None:
        return None
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415 - as above
    from mcpg.index.file import content_key  # noqa: PLC0415

    bundle = embeddings.VectorTarget(target, content_key(target), last.report["tools"])
    return embeddings.embed(bundle, partial(_load_documents, target), embedding, output)


def _load_documents(target: str) -> Iterable[ToolDocument]:
    from mcpg.engine.loading import load  # noqa: PLC0415 - as above

    return load(target).documents.values()


def _vectors(
    target: str, key: bytes, assembly: Assembly, embedding: EmbeddingSetup | None, output: Output
) -> EmbeddingOutcome | None:
    """Bring the vectors of a new bundle up to date."""
    if embedding is None:
        return None
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415 - as above

    bundle = embeddings.VectorTarget(target, key, len(assembly.documents))
    return embeddings.embed(bundle, lambda: assembly.documents, embedding, output)


def _check_options(wanted: _BundleRequest) -> None:
    if wanted.file is None and wanted.compares:
        raise UsageError(
            "standard output cannot be compared with anything",
            place="--output",
            remedy="name the bundle to compare with",
        )
    if wanted.file is None and wanted.form is OutputFormat.JSON:
        raise UsageError(
            "standard output cannot take both the bundle and a report",
            place="--format",
            remedy="write the bundle to a file, or leave out --format",
        )


def _check_watch(wanted: _BundleRequest) -> None:
    if wanted.compares or STDOUT in (wanted.target, *(wanted.sources or ())):
        raise UsageError(
            "only a bundle in a file can be kept up to date, from sources that can be read again",
            place="--watch",
            remedy="leave out --check, --diff and -",
        )


def _send(made: Bundle, assembly: Assembly, output: Output) -> int:
    from mcpg.bundle import encode_bundle  # noqa: PLC0415

    data = encode_bundle(made)
    output.bytes(data)
    facts = build.counts(assembly) | {"bytes": len(data)}
    output.note(f"wrote standard output: {build.format_counts(facts)}")
    return ExitCode.DONE


def _write(
    made: Bundle,
    assembly: Assembly,
    signature: str,
    memory: BuildCacheSession,
    wanted: _BundleRequest,
    embedding: EmbeddingSetup | None,
    output: Output,
    guard: LockGuard | None,
) -> int:
    """Write the bundle, its index and its vectors."""
    from mcpg.bundle import Encoding, write_encoded  # noqa: PLC0415

    data = Encoding(made)
    written = write_encoded(wanted.target, data, force=wanted.force)
    facts = _facts(data.content_hash, assembly, guard) | {"bytes": data.size}
    # What differs from the lock is not approved, and no part of what was built.
    kept = {name: one for name, one in facts.items() if name != _LOCK_CHANGES}
    run = build.cache_entry(signature, assembly, kept)
    noticed = assembly.diagnostics
    indexed = False
    try:
        with output.progress("compiling the index"):
            indexed = build.write_index_and_cache(run, wanted.target, data.key, assembly, memory)
    except OutputError as fault:
        failed = build.no_index(fault)
        output.diagnostics([failed])
        noticed = (*noticed, failed)
    memory.keep()
    vectors = _vectors(wanted.target, data.key, assembly, embedding, output)
    changes = {"written": written, "indexWritten": indexed}
    return _tell(wanted, facts, noticed, changes=changes, vectors=vectors, output=output)


def _tell(
    wanted: _BundleRequest,
    facts: Mapping[str, Any],
    noticed: Iterable[Diagnostic],
    *,
    changes: Mapping[str, bool] = NO_CHANGES,
    vectors: EmbeddingOutcome | None,
    output: Output,
) -> int:
    """Report what was written, and the *facts* about the bundle; return the exit code."""
    target = wanted.target
    if wanted.form is OutputFormat.JSON:
        found = vectors.facts if vectors else {}
        noticed = (*noticed, *(vectors.diagnostics if vectors else ()))
        output.json(_report(target, facts, {**changes, **found}, noticed))
    verb = "wrote" if changes["written"] else "up to date:"
    index = "; wrote its index" if changes["indexWritten"] else ""
    embedded = vectors.facts_text if vectors else ""
    stale = f", {len(facts['staleTools']):,} stale" if facts.get("staleTools") else ""
    output.note(f"{verb} {target}: {build.format_counts(facts)}{stale}{index}{embedded}")
    return ExitCode.FINDINGS if vectors and vectors.missing else ExitCode.DONE


def _compare(
    made: Bundle,
    assembly: Assembly,
    wanted: _BundleRequest,
    embedding: EmbeddingSetup | None,
    output: Output,
    guard: LockGuard | None,
) -> int:
    path = Path(wanted.target)
    reasons, text = _differences(made, path)
    reasons += [f"? {tool_id}: its source failed" for tool_id in assembly.kept]
    reasons += _stale_vectors(made, len(assembly.documents), wanted.target, embedding)
    if wanted.form is OutputFormat.JSON:
        changes = {"stale": bool(reasons), "differences": reasons}
        facts = _facts(made.content_hash, assembly, guard)
        output.json(_report(str(path), facts, changes, assembly.diagnostics))
    elif wanted.diff:
        output.text(lines_kept(text).rstrip("\n"))
    return build.report_freshness(str(path), reasons, build.summary(assembly), output)


def _stale_vectors(
    made: Bundle, tools: int, target: str, embedding: EmbeddingSetup | None
) -> list[str]:
    if embedding is None:
        return []
    from mcpg.bundle import encode_bundle  # noqa: PLC0415 - as above
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415

    key = hashlib.sha256(encode_bundle(made)).digest()
    return embeddings.staleness(embeddings.VectorTarget(target, key, tools), embedding)


def _differences(made: Bundle, path: Path) -> tuple[list[str], str]:
    """Return how *path* differs: as short lines, and as a diff of the documents."""
    from mcpg.bundle import Bundle, encode_bundle, read_bundle  # noqa: PLC0415
    from mcpg.review.diff import diff_bundles, unified_text  # noqa: PLC0415

    try:
        present = read_bundle(path)
    except NotFoundError:
        return ["there is no such file"], unified_text(Bundle(), made)
    except InputError as fault:
        return [fault.message], unified_text(Bundle(), made)
    if path.read_bytes() == encode_bundle(made):
        return [], ""
    lines = _format_changes(diff_bundles(present, made))
    return lines or [_same_content(present)], unified_text(present, made)


def _format_changes(diff: BundleDiff) -> list[str]:
    return [
        *(f"+ {name}" for name in diff.added),
        *(f"- {name}" for name in diff.removed),
        *(f"~ {one.name}: {', '.join(field.name for field in one.fields)}" for one in diff.changed),
        *(f"~ extension: {name}" for name in diff.extension),
    ]


def _same_content(present: Bundle) -> str:
    if present.generator != __version__:
        writer = f"mcpg {present.generator}" if present.generator else "another program"
        return f"the same documents, written by {writer}; this is mcpg {__version__}"
    return "the same documents in other bytes: the file was edited, or an earlier mcpg wrote it"


def _facts(content_hash: str, assembly: Assembly, guard: LockGuard | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"contentHash": content_hash, "staleTools": list(assembly.stale)}
    if guard is not None:
        from mcpg.cli.locks import change_json  # noqa: PLC0415 - as above

        facts[_LOCK_CHANGES] = [change_json(one) for one in guard.changes]
    return build.counts(assembly) | facts


def _report(
    path: str,
    facts: Mapping[str, Any],
    changes: Mapping[str, Any],
    noticed: Iterable[Diagnostic],
) -> JsonObject:
    return {
        "schema": "mcpg/bundle/1",
        "path": path,
        **facts,
        **changes,
        "diagnostics": diagnostics_json(noticed),
    }


# Telling OpenTelemetry, where a setting asks for that, of a bundle that is made.


@contextmanager
def watched_bundle(
    settings: Settings, output: Output, *, makes_index: bool
) -> Iterator[Callable[[Assembly], None]]:
    """Report a build to the observer; yield a function that takes what was built.

    Args:
        settings: Say whether anybody is told.
        output: Where it is told that this cannot be done.
        makes_index: Whether an index is made; nothing is told of a run that only compares.

    Raises:
        UsageError: A setting makes no sense.
    """
    factory = ServiceFactory(settings)
    if makes_index:
        output.diagnostics(factory.find_diagnostics())
    observer = factory.observer() if makes_index else None
    if observer is None:
        yield _nothing
        return
    with GuardedObserver.of(observer).build() as tell:
        yield lambda assembly: tell(make_build_facts(assembly))
    output.diagnostics(tell.diagnostics)


def make_build_facts(assembly: Assembly) -> BuildFacts:
    """Return what is told of the index of *assembly*."""
    documents = assembly.documents
    groups = [group for document in documents for group in document.groups]
    links = sum(len(document.links) for document in documents)
    nodes, edges = len(documents) + len(set(groups)), links + len(groups)
    return BuildFacts(len(documents), None, nodes, edges)


def _nothing(_: Assembly) -> None:
    pass
