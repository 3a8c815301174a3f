"""`mcpg bundle`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpg import __version__
from mcpg.bundle import Assembly, Bundle, BundleDiff
from mcpg.cli import build, options
from mcpg.cli.build import Intake, LastBuild, Memory
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import BuildStamp, build_stamp, settings_of
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept
from mcpg.documents.model import ToolDocument
from mcpg.errors import Diagnostic, InputError, NotFoundError, OutputError, UsageError
from mcpg.gateway.json import diagnostics_json

if TYPE_CHECKING:
    from mcpg.catalog.model import SourceDocument
    from mcpg.cli.embedding import Embedded, Embedding
    from mcpg.json_types import JsonObject
    from mcpg.telemetry import BuildFacts

EXAMPLES = """\
mcpg bundle manifests/ -o graph.mdld
mcpg bundle tools.json extra.hints.yaml docs/ -o graph.mdld
mcpg bundle manifests/ -o graph.mdld --check --diff     # in CI
mcpg bundle manifests/ -o graph.mdld --embed            # and its vectors
mcpg bundle manifests/ -o graph.mdld --watch            # again at every change
mcpg bundle --check                                     # the sources of mcpg.toml
my-server --list-tools | mcpg bundle - --source-id mine -o -"""

STDOUT = "-"
NO_CHANGES = {"written": False, "indexWritten": False}


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
    from mcpg.bundle import bundle_of  # noqa: PLC0415 - help needs none of it

    target = target or settings_of().target()
    compares = check or diff
    _check_options(target, form, compares=compares)
    if watch:
        _check_watch(sources, target, compares=compares)
        from mcpg.cli.watch import Watcher  # noqa: PLC0415 - few runs watch

        again = partial(
            bundle,
            output,
            sources=sources,
            target=target,
            strict=strict,
            allow_missing=allow_missing,
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
        return Watcher(
            lambda: Intake(sources, settings_of()).watched, output, exclude=[target]
        ).run(again)
    embedding = _embedding(embed_with, vector_type, target, is_wanted=embed)
    settings = settings_of()
    intake = Intake(sources, settings, source_id=source_id, header=header, seconds=server_timeout)
    signature = "" if compares or target == STDOUT else intake.sign(target)
    last = None if strict or force or untuned else _last_run(target, signature, form)
    if last is not None:
        vectors = _vectors_of_last(target, last, embedding, output)
        return _tell(target, last.report, (), vectors=vectors, form=form, output=output)
    makes_index = not compares and target != STDOUT
    remembered = Memory(None if target == STDOUT else target, jobs, makes_index=makes_index)
    with watched_bundle(settings, output, makes_index=makes_index) as tell, remembered as memory:
        last_build = build.LastBuild(partial(_present, target), allow_missing)
        assembly = _assembled(intake, memory, target, last_build, output, keeps_ranking=not untuned)
        if strict and build.refused(assembly, output):
            return ExitCode.FINDINGS
        made = bundle_of(assembly)
        if compares:
            return _compare(
                made, assembly, target, embedding, shows_diff=diff, form=form, output=output
            )
        if target == STDOUT:
            return _send(made, assembly, output)
        if intake.options.asked or signature != intake.sign(target):
            signature = ""  # servers may answer otherwise, or files changed while they were read
        code = _write(
            made,
            assembly,
            target,
            signature,
            memory,
            embedding,
            force=force,
            form=form,
            output=output,
        )
        tell(assembly)
        return code


def _last_run(target: str, signature: str, form: OutputFormat) -> BuildStamp | None:
    """Return the stamp of the run that made *target* of the same sources, `None` if none did.

    Diagnostics are not kept with it, so a JSON report that needs them takes a new run.
    """
    last = build_stamp(target) if signature else None
    if last is None or last.signature != signature:
        return None
    return last if form is OutputFormat.TEXT or not last.noticed else None


def _present(target: str) -> tuple[SourceDocument, ...]:
    """Return the documents of the bundle that is there now."""
    from mcpg.bundle import read_bundle  # noqa: PLC0415 - only where a source failed

    return () if target == STDOUT else read_bundle(target).documents


def _assembled(
    intake: Intake,
    memory: Memory,
    target: str,
    last: LastBuild,
    output: Output,
    *,
    keeps_ranking: bool,
) -> Assembly:
    """Put the sources together; the fitted ranking is that of the bundle that is replaced."""
    assembly = build.assembled(intake, output, memory, last, [target])
    if not keeps_ranking:
        return replace(assembly, ranking=None)
    return build.with_kept_ranking(assembly, None if target == STDOUT else target, output)


def _embedding(
    spec: str | None, kind: VectorKind, target: str, *, is_wanted: bool
) -> Embedding | None:
    if not is_wanted and spec is None:
        return None
    if not is_wanted:
        raise UsageError(
            "no vectors are made", place="--embed-with", remedy="add --embed, or leave it out"
        )
    if target == STDOUT:
        raise UsageError(
            "vectors stand in a file beside the bundle, and standard output has none",
            place="--embed",
            remedy="write the bundle to a file, or leave out --embed",
        )
    from mcpg.cli.providers import ServiceFactory  # noqa: PLC0415 - most runs make no vectors
    from mcpg.embeddings.provider import need_numpy  # noqa: PLC0415 - as above

    settings = settings_of(embed_with=spec)
    is_local = isinstance(ServiceFactory(settings).embedder(), str)
    need_numpy("embeddings" if is_local else "llm")
    from mcpg.cli.embedding import embedding_by  # noqa: PLC0415 - as above

    return embedding_by(settings, kind.value)


def _vectors_of_last(
    target: str, last: BuildStamp, embedding: Embedding | None, output: Output
) -> Embedded | None:
    """Bring the vectors of an unchanged bundle up to date."""
    if embedding is None:
        return None
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415 - as above
    from mcpg.index.file import content_key  # noqa: PLC0415

    bundle = embeddings.Target(target, content_key(target), last.report["tools"])
    return embeddings.embed(bundle, partial(_documents_of, target), embedding, output)


def _documents_of(target: str) -> Iterable[ToolDocument]:
    from mcpg.engine.loading import load  # noqa: PLC0415 - as above

    return load(target).documents.values()


def _vectors(
    target: str, key: bytes, assembly: Assembly, embedding: Embedding | None, output: Output
) -> Embedded | None:
    """Bring the vectors of a new bundle up to date."""
    if embedding is None:
        return None
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415 - as above

    bundle = embeddings.Target(target, key, len(assembly.documents))
    return embeddings.embed(bundle, lambda: assembly.documents, embedding, output)


def _check_options(target: str, form: OutputFormat, *, compares: bool) -> None:
    if target == STDOUT and compares:
        raise UsageError(
            "standard output cannot be compared with anything",
            place="--output",
            remedy="name the bundle to compare with",
        )
    if target == STDOUT and form is OutputFormat.JSON:
        raise UsageError(
            "standard output cannot take both the bundle and a report",
            place="--format",
            remedy="write the bundle to a file, or leave out --format",
        )


def _check_watch(sources: Iterable[str] | None, target: str, *, compares: bool) -> None:
    if compares or STDOUT in (target, *(sources or ())):
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
    output.note(f"wrote standard output: {build.told(facts)}")
    return ExitCode.DONE


def _write(
    made: Bundle,
    assembly: Assembly,
    target: str,
    signature: str,
    memory: Memory,
    embedding: Embedding | None,
    *,
    force: bool,
    form: OutputFormat,
    output: Output,
) -> int:
    from mcpg.bundle import encode_bundle, write_encoded  # noqa: PLC0415

    data = encode_bundle(made)
    written = write_encoded(target, data, force=force)
    facts = _facts(made, assembly) | {"bytes": len(data)}
    key = hashlib.sha256(data).digest()
    del data  # a large catalogue needs the memory for its index
    run = build.this_run(signature, assembly, facts)
    noticed = assembly.diagnostics
    indexed = False
    try:
        with output.progress("compiling the index"):
            indexed = build.leave(run, target, key, assembly, memory.memo)
    except OutputError as fault:
        failed = build.no_index(fault)
        output.diagnostics([failed])
        noticed = (*noticed, failed)
    memory.keep()
    vectors = _vectors(target, key, assembly, embedding, output)
    changes = {"written": written, "indexWritten": indexed}
    return _tell(target, facts, noticed, changes=changes, vectors=vectors, form=form, output=output)


def _tell(
    target: str,
    facts: Mapping[str, Any],
    noticed: Iterable[Diagnostic],
    *,
    changes: Mapping[str, bool] = NO_CHANGES,
    vectors: Embedded | None,
    form: OutputFormat,
    output: Output,
) -> int:
    """Report what was written, and the *facts* about the bundle; return the exit code."""
    if form is OutputFormat.JSON:
        found = vectors.facts if vectors else {}
        noticed = (*noticed, *(vectors.diagnostics if vectors else ()))
        output.json(_report(target, facts, {**changes, **found}, noticed))
    verb = "wrote" if changes["written"] else "up to date:"
    index = "; wrote its index" if changes["indexWritten"] else ""
    embedded = vectors.told if vectors else ""
    stale = f", {len(facts['staleTools']):,} stale" if facts.get("staleTools") else ""
    output.note(f"{verb} {target}: {build.told(facts)}{stale}{index}{embedded}")
    return ExitCode.FINDINGS if vectors and vectors.missing else ExitCode.DONE


def _compare(
    made: Bundle,
    assembly: Assembly,
    target: str,
    embedding: Embedding | None,
    *,
    shows_diff: bool,
    form: OutputFormat,
    output: Output,
) -> int:
    path = Path(target)
    reasons, text = _differences(made, path)
    reasons += [f"? {tool_id}: its source failed" for tool_id in assembly.kept]
    reasons += _stale_vectors(made, len(assembly.documents), target, embedding)
    if form is OutputFormat.JSON:
        changes = {"stale": bool(reasons), "differences": reasons}
        output.json(_report(str(path), _facts(made, assembly), changes, assembly.diagnostics))
    elif shows_diff:
        output.text(lines_kept(text).rstrip("\n"))
    return build.judged(str(path), reasons, build.summary(assembly), output)


def _stale_vectors(made: Bundle, tools: int, target: str, embedding: Embedding | None) -> list[str]:
    if embedding is None:
        return []
    from mcpg.bundle import encode_bundle  # noqa: PLC0415 - as above
    from mcpg.cli import embedding as embeddings  # noqa: PLC0415

    key = hashlib.sha256(encode_bundle(made)).digest()
    return embeddings.staleness(embeddings.Target(target, key, tools), embedding)


def _differences(made: Bundle, path: Path) -> tuple[list[str], str]:
    """Return how *path* differs: as short lines, and as a diff of the documents."""
    from mcpg.bundle import Bundle, diff_bundles, encode_bundle, read_bundle, unified_text  # noqa: PLC0415

    try:
        present = read_bundle(path)
    except NotFoundError:
        return ["there is no such file"], unified_text(Bundle(), made)
    except InputError as fault:
        return [fault.message], unified_text(Bundle(), made)
    if path.read_bytes() == encode_bundle(made):
        return [], ""
    lines = _told(diff_bundles(present, made))
    return lines or [_same_content(present)], unified_text(present, made)


def _told(diff: BundleDiff) -> list[str]:
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
    return "the same documents in other bytes: the file was edited"


def _facts(made: Bundle, assembly: Assembly) -> dict[str, Any]:
    facts = {"contentHash": made.content_hash, "staleTools": list(assembly.stale)}
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
        output.diagnostics(factory.noticed())
    observer = factory.observer() if makes_index else None
    if observer is None:
        yield _nothing
        return
    from mcpg.telemetry import GuardedObserver  # noqa: PLC0415 - most runs tell nobody

    with GuardedObserver.of(observer).build() as tell:
        yield lambda assembly: tell(facts_of(assembly))
    output.diagnostics(tell.diagnostics)


def facts_of(assembly: Assembly) -> BuildFacts:
    """Return what is told of the index of *assembly*."""
    from mcpg.telemetry import BuildFacts  # noqa: PLC0415 - as above

    documents = assembly.documents
    groups = [group for document in documents for group in document.groups]
    links = sum(len(document.links) for document in documents)
    nodes, edges = len(documents) + len(set(groups)), links + len(groups)
    return BuildFacts(len(documents), None, nodes, edges)


def _nothing(_: Assembly) -> None:
    pass
