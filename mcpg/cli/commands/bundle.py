"""`mcpg bundle`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcpg import __version__
from mcpg.bundle import (
    Assembly,
    Bundle,
    Encoding,
    build_bundle,
    encode_bundle,
    read_bundle,
    write_encoded,
)
from mcpg.catalog.model import SourceDocument
from mcpg.cli import build, options
from mcpg.cli.build import BuildCacheSession, BuildSources, PreviousBuild
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import LockGuard, change_json, is_locked, lock_path
from mcpg.cli.open_bundle import BuildStamp, build_stamp, read_settings
from mcpg.cli.options import OutputFormat, option
from mcpg.cli.output import STDOUT, Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import lines_kept
from mcpg.cli.watch import Watcher
from mcpg.documents.model import ToolDocument
from mcpg.embeddings.provider import need_numpy
from mcpg.engine.loading import load
from mcpg.errors import Diagnostic, InputError, NotFoundError, OutputError, UsageError
from mcpg.index.file import SUFFIX as INDEX_SUFFIX
from mcpg.index.file import content_key
from mcpg.review.diff import diff_bundles, format_unified_diff
from mcpg.search.observer import BuildFacts, GuardedObserver
from mcpg.show.json import diagnostics_json
from mcpg.text.json_values import JsonObject
from mcpg.vectors import SUFFIX as VECTORS_SUFFIX

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
my-server --list-tools | mcpg bundle - --source-id mine -o -
mcpg bundle app.mdld -o dotnet.mdld --no-code-pages"""

_LOCK_CHANGES = "lockChanges"
NO_CHANGES = {"written": False, "indexWritten": False}


class LockReaction(StrEnum):
    """What follows when tools differ from the lock."""

    FAIL = "fail"
    WARN = "warn"
    HIDE = "hide"


class VectorKind(StrEnum):
    """How the numbers of vectors are kept."""

    FLOAT16 = "float16"
    INT8 = "int8"
    FLOAT32 = "float32"


MORE = "docs/tutorial.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions:
    """Options of `mcpg bundle`."""

    sources: options.Sources = None
    target: Annotated[
        str | None,
        option(
            "--output -o",
            "The bundle to write; - is standard output. [default: the bundle in mcpg.toml, or "
            "graph.mdld]",
            "FILE",
        ),
    ] = None
    check: options.Check = False
    diff: options.Diff = False
    strict: options.Strict = False
    allow_missing: options.AllowMissing = False
    locked: options.Locked = None
    on_change: Annotated[
        LockReaction | None,
        option(
            "--on-change",
            "With --locked, exit 1 on changed tools, describe them as approved, or leave them "
            "out. warn and hide leave out new tools. [default: fail]",
            "fail|warn|hide",
        ),
    ] = None
    force: options.Force = False
    untuned: Annotated[
        bool,
        option("--reset-ranking", "Leave out the ranking of `mcpg tune`."),
    ] = False
    generated_hints: options.GeneratedHints = None
    no_code_pages: Annotated[
        bool,
        option("--no-code-pages", "Leave out the pages of source code."),
    ] = False
    embed: Annotated[
        bool,
        option("--embed", "Also write the vectors of the tools."),
    ] = False
    embed_with: options.EmbedWith = None
    vector_type: Annotated[
        VectorKind,
        option(
            "--vector-type",
            "Number type of the vectors; int8 is the smallest and fastest.",
            "float16|int8|float32",
        ),
    ] = VectorKind.FLOAT16
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    jobs: options.Jobs = None
    watch: options.Watch = False
    form: options.Format = OutputFormat.TEXT

    @property
    def compares(self) -> bool:
        """Whether nothing is written."""
        return self.check or self.diff


def run(output: Output, chosen: BundleOptions) -> int:
    """Build a bundle from files, folders, servers and code.

    The same sources give the same bytes on every machine. A bundle that is up to date is not
    touched.
    """
    target = chosen.target or read_settings().target()
    _check_options(chosen, target)
    if not chosen.watch:
        return _Run(chosen, target, output).build()

    def list_watched_paths() -> Sequence[str]:
        settings = read_settings(locked=chosen.locked)
        locks = (lock_path(settings),) if is_locked(settings) else ()
        return (*BuildSources(chosen.sources, settings).watched_paths, *locks)

    written = [f"{target}{suffix}" for suffix in ("", INDEX_SUFFIX, VECTORS_SUFFIX)]
    watcher = Watcher(list_watched_paths, output, exclude=written)
    return watcher.run(lambda: _Run(chosen, target, output).build())


def _check_options(chosen: BundleOptions, target: str) -> None:
    is_sent = target == STDOUT
    if is_sent and chosen.compares:
        raise UsageError(
            "standard output cannot be compared with anything",
            place="--output",
            remedy="name the bundle to compare with",
        )
    if is_sent and chosen.form is OutputFormat.JSON:
        raise UsageError(
            "standard output cannot take both the bundle and a report",
            place="--format",
            remedy="write the bundle to a file, or leave out --format",
        )
    if chosen.watch and (chosen.compares or is_sent or STDOUT in (chosen.sources or ())):
        raise UsageError(
            "needs a bundle in a file, and sources that can be read again",
            place="--watch",
            remedy="leave out --check, --diff and -",
        )


class _Run:
    """One run: the sources are read and put together, and the bundle is written or compared."""

    def __init__(self, chosen: BundleOptions, target: str, output: Output) -> None:
        self.chosen = chosen
        self.target = target
        self.output = output
        self.embedding = _set_up_embedding(chosen, target)
        self.settings = read_settings(locked=chosen.locked, generated_hints=chosen.generated_hints)
        if chosen.on_change is not None and not is_locked(self.settings):
            message = "nothing is compared with a lock"
            raise UsageError(message, place="--on-change", remedy="add --locked, or leave it out")
        self.guard = LockGuard.by(self.settings, chosen.on_change and chosen.on_change.value)
        self.intake = BuildSources(
            chosen.sources,
            self.settings,
            source_id=chosen.source_id,
            header=chosen.header,
            seconds=chosen.server_timeout,
            keeps_code=not chosen.no_code_pages,
        )

    def build(self) -> int:
        """Build, and return the exit code."""
        chosen, output, guard = self.chosen, self.output, self.guard
        file = None if self.target == STDOUT else self.target
        makes_index = file is not None and not chosen.compares
        memory = BuildCacheSession(file, chosen.jobs, makes_index=makes_index)
        # The lock may differ although the sources do not.
        signature = self.intake.sign(self.target) if makes_index and guard is None else ""
        files = self.intake.sign_files(self.target) if makes_index and guard is None else ""
        last = self.find_last_build(signature)
        if last is not None:
            vectors = self.embed_unchanged(last)
            return self.report_written(last.report, (), NO_CHANGES, vectors)
        with watched_bundle(self.settings, output, makes_index=makes_index) as tell, memory:
            assembly = self.assemble(memory, file)
            is_refused = guard is not None and guard.refuses(
                assembly, output, allows_missing=chosen.allow_missing
            )
            if is_refused or (chosen.strict and build.is_rejected_by_strict(assembly, output)):
                if chosen.form is OutputFormat.JSON and guard is not None:
                    facts = self.list_facts(build_bundle(assembly).content_hash, assembly)
                    output.json(self.make_report(facts, NO_CHANGES, assembly.diagnostics))
                return ExitCode.FINDINGS
            made = build_bundle(assembly)
            if chosen.compares:
                return self.compare(made, assembly)
            if file is None:
                return _send(made, assembly, output)
            if signature and (self.intake.options.asked or signature != self.intake.sign(file)):
                signature = ""  # servers may answer otherwise, or files changed meanwhile
            if files != self.intake.sign_files(file):
                files = ""
            code = self.write(made, assembly, (signature, files), memory)
            tell(assembly)
            return code

    def find_last_build(self, signature: str) -> BuildStamp | None:
        """Return the stamp of the run that made the bundle of the same sources, if one did.

        Diagnostics are not kept with it, so a JSON report that needs them takes a new run.
        """
        chosen = self.chosen
        if not signature or chosen.strict or chosen.force or chosen.untuned:
            return None
        last = build_stamp(self.target)
        if last.signature != signature:
            return None
        return last if chosen.form is OutputFormat.TEXT or not last.noticed else None

    def assemble(self, memory: BuildCacheSession, file: str | None) -> Assembly:
        """Put the sources together; the fitted ranking comes from the bundle that is replaced."""

        def read_present() -> Sequence[SourceDocument]:
            return read_bundle(file).documents if file is not None else ()

        last = PreviousBuild(read_present, self.chosen.allow_missing)
        assembly = build.assemble_sources(
            self.intake, self.output, memory, last, [self.target], self.guard
        )
        if self.chosen.no_code_pages:
            assembly = build.leave_code_out(assembly)
        if self.chosen.untuned:
            assembly = replace(assembly, ranking=None)
        else:
            assembly = build.with_kept_ranking(assembly, file, self.output)
        self.output.diagnostics(assembly.rewritten)
        return replace(assembly, diagnostics=(*assembly.diagnostics, *assembly.rewritten))

    def embed_unchanged(self, last: BuildStamp) -> EmbeddingOutcome | None:
        """Bring the vectors of an unchanged bundle up to date."""
        if self.embedding is None:
            return None
        from mcpg.cli.embedding import VectorTarget, embed  # noqa: PLC0415 - numpy

        def read_documents() -> Iterable[ToolDocument]:
            return load(self.target).documents.values()

        vectors = VectorTarget(self.target, content_key(self.target), last.report["tools"])
        return embed(vectors, read_documents, self.embedding, self.output)

    def write(
        self,
        made: Bundle,
        assembly: Assembly,
        signatures: tuple[str, str],
        memory: BuildCacheSession,
    ) -> int:
        """Write the bundle, its index with the *signatures* of a stamp, and its vectors."""
        data = Encoding(made)
        written = write_encoded(self.target, data, force=self.chosen.force)
        facts = self.list_facts(data.content_hash, assembly) | {"bytes": data.size}
        # Tools that differ from the lock are not approved, and not part of the build.
        kept = {name: one for name, one in facts.items() if name != _LOCK_CHANGES}
        entry = build.cache_entry(*signatures, assembly, kept)
        noticed = assembly.diagnostics
        indexed = False
        try:
            with self.output.progress("compiling the index"):
                indexed = build.write_index_and_cache(
                    entry, self.target, data.key, assembly, memory
                )
        except OutputError as fault:
            failed = build.no_index(fault)
            self.output.diagnostics([failed])
            noticed = (*noticed, failed)
        memory.keep()
        vectors = None
        if self.embedding is not None:
            from mcpg.cli.embedding import VectorTarget, embed  # noqa: PLC0415 - numpy

            place = VectorTarget(self.target, data.key, len(assembly.documents))
            vectors = embed(place, lambda: assembly.documents, self.embedding, self.output)
        changes = {"written": written, "indexWritten": indexed}
        return self.report_written(facts, noticed, changes, vectors)

    def report_written(
        self,
        facts: Mapping[str, Any],
        noticed: Iterable[Diagnostic],
        changes: Mapping[str, bool],
        vectors: EmbeddingOutcome | None,
    ) -> int:
        """Report the written files and the *facts* about the bundle; return the exit code."""
        if self.chosen.form is OutputFormat.JSON:
            found = vectors.facts if vectors else {}
            noticed = (*noticed, *(vectors.diagnostics if vectors else ()))
            self.output.json(self.make_report(facts, {**changes, **found}, noticed))
        verb = "wrote" if changes["written"] else "up to date:"
        index = "; wrote its index" if changes["indexWritten"] else ""
        embedded = vectors.facts_text if vectors else ""
        stale = f", {len(facts['staleTools']):,} stale" if facts.get("staleTools") else ""
        counts = build.format_counts(facts)
        self.output.note(f"{verb} {self.target}: {counts}{stale}{index}{embedded}")
        return ExitCode.FINDINGS if vectors and vectors.missing else ExitCode.DONE

    def compare(self, made: Bundle, assembly: Assembly) -> int:
        """Report how the bundle that is there differs, and return the exit code."""
        path = Path(self.target)
        reasons, text = _find_differences(made, path)
        reasons += [f"? {tool_id}: its source failed" for tool_id in assembly.kept]
        if self.embedding is not None:
            from mcpg.cli.embedding import VectorTarget, staleness  # noqa: PLC0415 - numpy

            key = hashlib.sha256(encode_bundle(made)).digest()
            vectors = VectorTarget(self.target, key, len(assembly.documents))
            reasons += staleness(vectors, self.embedding)
        if self.chosen.form is OutputFormat.JSON:
            changes = {"stale": bool(reasons), "differences": reasons}
            facts = self.list_facts(made.content_hash, assembly)
            report = self.make_report(facts, changes, assembly.diagnostics)
            self.output.json(report | {"path": str(path)})
        elif self.chosen.diff:
            self.output.text(lines_kept(text).rstrip("\n"))
        return build.report_freshness(str(path), reasons, build.summary(assembly), self.output)

    def list_facts(self, content_hash: str, assembly: Assembly) -> dict[str, Any]:
        """Return the facts about a bundle, as JSON has them."""
        facts: dict[str, Any] = {"contentHash": content_hash, "staleTools": list(assembly.stale)}
        if self.guard is not None:
            facts[_LOCK_CHANGES] = [change_json(one) for one in self.guard.changes]
        return build.counts(assembly) | facts

    def make_report(
        self, facts: Mapping[str, Any], changes: Mapping[str, Any], noticed: Iterable[Diagnostic]
    ) -> JsonObject:
        """Return the object that `bundle` prints."""
        return {
            "schema": "mcpg/bundle/1",
            "path": self.target,
            **facts,
            **changes,
            "diagnostics": diagnostics_json(noticed),
        }


def _set_up_embedding(chosen: BundleOptions, target: str) -> EmbeddingSetup | None:
    """Return the maker of the vectors, `None` if none are requested."""
    if not chosen.embed and chosen.embed_with is None:
        return None
    if not chosen.embed:
        raise UsageError(
            "no vectors are made", place="--embed-with", remedy="add --embed, or leave it out"
        )
    if target == STDOUT:
        raise UsageError(
            "vectors are in a file beside the bundle, and standard output has none",
            place="--embed",
            remedy="write the bundle to a file, or leave out --embed",
        )
    settings = read_settings(embed_with=chosen.embed_with)
    is_local = isinstance(ServiceFactory(settings).embedder(), str)
    need_numpy("embeddings" if is_local else "llm")
    from mcpg.cli.embedding import embedding_by  # noqa: PLC0415 - numpy

    return embedding_by(settings, chosen.vector_type.value)


def _send(made: Bundle, assembly: Assembly, output: Output) -> int:
    data = encode_bundle(made)
    output.bytes(data)
    facts = build.counts(assembly) | {"bytes": len(data)}
    output.note(f"wrote standard output: {build.format_counts(facts)}")
    return ExitCode.DONE


def _find_differences(made: Bundle, path: Path) -> tuple[list[str], str]:
    """Return how *path* differs: as short lines, and as a diff of the documents."""
    try:
        present = read_bundle(path)
    except NotFoundError:
        return ["no such file"], format_unified_diff(Bundle(), made)
    except InputError as fault:
        return [fault.message], format_unified_diff(Bundle(), made)
    if path.read_bytes() == encode_bundle(made):
        return [], ""
    diff = diff_bundles(present, made)
    lines = [
        *(f"+ {name}" for name in diff.added),
        *(f"- {name}" for name in diff.removed),
        *(f"~ {one.name}: {', '.join(field.name for field in one.fields)}" for one in diff.changed),
        *(f"~ extension: {name}" for name in diff.extension),
    ]
    return lines or [_explain_bytes(present)], format_unified_diff(present, made)


def _explain_bytes(present: Bundle) -> str:
    """Return why the same documents have other bytes."""
    if present.generator != __version__:
        writer = f"mcpg {present.generator}" if present.generator else "another program"
        return f"the same documents, written by {writer}; this is mcpg {__version__}"
    return "the same documents in other bytes: the file was edited, or an earlier mcpg wrote it"


@contextmanager
def watched_bundle(
    settings: Settings, output: Output, *, makes_index: bool
) -> Iterator[Callable[[Assembly], None]]:
    """Report a build to OpenTelemetry, if *settings* enable that.

    It yields a function that takes the build; a run that makes no index is not reported.
    """
    factory = ServiceFactory(settings)
    if makes_index:
        output.diagnostics(factory.find_diagnostics())
    observer = factory.observer() if makes_index else None
    if observer is None:
        yield lambda _assembly: None
        return
    with GuardedObserver.of(observer).build() as tell:
        yield lambda assembly: tell(_make_build_facts(assembly))
    output.diagnostics(tell.diagnostics)


def _make_build_facts(assembly: Assembly) -> BuildFacts:
    documents = assembly.documents
    groups = [group for document in documents for group in document.groups]
    links = sum(len(document.links) for document in documents)
    nodes, edges = len(documents) + len(set(groups)), links + len(groups)
    return BuildFacts(len(documents), None, nodes, edges)
