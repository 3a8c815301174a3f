"""Code that `generate` and `bundle` share: put sources together, count, apply `--strict`."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from mcpg.bundle import RANKING, Assembly, assemble, decode_bundle
from mcpg.bundle.assemble import MOST_NAMED, missing_documents, names_by_source, with_missing
from mcpg.caching.build_cache import (
    NO_BUILD_CACHE,
    BuildCache,
    StoredBuildCache,
    load_build_cache,
    save_build_cache,
)
from mcpg.caching.build_pool import COLLECTED_AFTER, Workers, processors
from mcpg.catalog.model import SourceDocument, SourceKind, Tool
from mcpg.cli.environment import SOURCES, cache_folder, relative_path
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.locks import LockGuard
from mcpg.cli.open_bundle import BuildStamp, build_stamp
from mcpg.cli.output import Output
from mcpg.cli.settings import Settings
from mcpg.cli.source_settings import ServerOptions, open_entries
from mcpg.cli.terminal import standard_input
from mcpg.documents.model import ToolDocument, encode_content
from mcpg.documents.writer import DRAFTED
from mcpg.engine.loading import (
    assembly_sections,
    choose_ranking,
    load,
    ranking_json,
    report_ignored_model,
    with_graphs_read,
)
from mcpg.errors import (
    Code,
    Diagnostic,
    McpgError,
    NotFoundError,
    OutputError,
    Severity,
    SourceError,
    UsageError,
    info,
)
from mcpg.files import (
    MAX_BYTES,
    file_holds,
    read_bytes,
    read_last_use,
    remove_leftovers,
    text_of_path,
)
from mcpg.index.document_terms import analyse_documents
from mcpg.index.file import cached_path, write_index_beside
from mcpg.index.word_sections import (
    WordSections,
    WorkerFiles,
    digest_contents,
    make_cached_sections,
    make_sections,
)
from mcpg.plugins.registry import is_item, package_plugins
from mcpg.search.model import pack_notices
from mcpg.sources import SourceBatch, is_failure, read_sources, source_signature
from mcpg.sources.client_config import ServerAccess
from mcpg.sources.live import query_servers
from mcpg.sources.model import FailedSource
from mcpg.sources.read import FILE, FOLDER, REGISTERED, find_kind
from mcpg.sources.registry import FileSource, ServerSource
from mcpg.values import format_count, list_some

_MOST_REASONS = 10


@contextmanager
def reduced_gc() -> Iterator[None]:
    """Look for unreachable circles less often for as long as the block runs."""
    thresholds = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@reduced_gc()
def assemble_sources(
    intake: BuildSources,
    output: Output,
    memory: BuildCacheSession,
    last: PreviousBuild,
    exclude: Collection[str | Path] = (),
    guard: LockGuard | None = None,
) -> Assembly:
    """Read the sources of *intake* and put them together, showing progress.

    Diagnostics are reported. Tools of sources that failed are kept from the last build.
    """
    intake.tell(output)
    with output.counting("reading sources") as tell:
        batch = with_graphs_read(intake.read(tell, exclude, memory.open_for(intake.paths)))
    with output.progress("putting the graph together"):
        put_together = partial(
            assemble,
            source_id=intake.source_id,
            generated=intake.keeps_generated,
            memo=memory.open(batch),
            ahead=memory.words_ahead if memory.makes_index else None,
        )
        assembly = put_together(batch)
        if guard is not None:
            batch, assembly = guard.enforce_lock(batch, assembly, put_together)
        if (batch.failed or assembly.unread) and assembly.catalog.tools:
            assembly = last.add_missing_tools(assembly, batch, put_together, output)
        if guard is not None:
            assembly = guard.report_changes(assembly)
    output.diagnostics((*package_plugins().diagnostics, *assembly.diagnostics))
    note_failures(batch, assembly.diagnostics, output)
    if not assembly.catalog.tools:
        has_items = any(map(is_item, batch.documents))
        is_broken = any(item.severity == Severity.ERROR for item in assembly.diagnostics)
        if is_broken and (batch.failed or assembly.unread or not has_items):
            # A graph of tools is not replaced by an empty one because all its sources are broken.
            message = "no tool could be read from the sources: nothing was written"
            raise SourceError(message, remedy="fix the issues above")
        if not has_items:
            output.note("no tool was found in the sources")
    return assembly


def note_failures(batch: SourceBatch, noticed: Iterable[Diagnostic], output: Output) -> None:
    """Report how many of several sources in *batch* failed, by the *noticed* diagnostics."""
    failed = len({item.place for item in noticed if is_failure(item)})
    sources = max(batch.sources, failed)  # a file that was read may have parts that cannot be used
    if failed and sources > 1:
        output.note(f"{failed:,} of {sources:,} sources failed")


@dataclass(frozen=True, slots=True)
class PreviousBuild:
    """The previous build of the same output, and the fate of its tools if their sources fail.

    Attributes:
        read: Reads its documents.
        allows_missing: Whether such tools are left out, instead of kept and marked stale.
    """

    read: Callable[[], Iterable[SourceDocument]]
    allows_missing: bool = False

    def add_missing_tools(
        self,
        assembly: Assembly,
        batch: SourceBatch,
        assemble: Callable[[SourceBatch], Assembly],
        output: Output,
    ) -> Assembly:
        """Return *assembly*, which is made of *batch*, with the tools of failed sources."""
        try:
            documents = self.read()
        except NotFoundError:
            documents = ()
        except McpgError as fault:
            if not self.allows_missing:
                raise SourceError(
                    "a source failed, and its tools cannot be kept from the last build:"
                    f" {fault.message}",
                    place=fault.place,
                    remedy="fix the source, or use --allow-missing",
                ) from None
            documents = ()
        missing = missing_documents(documents, assembly, batch.failed)
        if missing and not self.allows_missing:
            return with_missing(batch, missing, assemble)
        for source_id, names in names_by_source(missing).items():
            output.note(f"left out, because {source_id} failed: {list_some(names, MOST_NAMED)}")
        return assembly


def is_rejected_by_strict(assembly: Assembly, output: Output) -> bool:
    """Return whether `--strict` refuses a diagnostic, and report that."""
    findings = sum(item.severity != Severity.INFO for item in assembly.diagnostics)
    if findings:
        message = f"{format_count(findings, 'finding')} under --strict: nothing was written"
        output.error(message, remedy="fix the issues above, or leave out --strict")
    return bool(findings)


def counts(assembly: Assembly) -> dict[str, int]:
    """Return how much there is of everything."""
    return {
        "tools": len(assembly.catalog.tools),
        "documents": len(assembly.texts),
        "edges": sum(len(document.links) for document in (*assembly.documents, *assembly.pages)),
    }


def summary(assembly: Assembly) -> str:
    """Return the counts as words."""
    return format_counts(counts(assembly))


def format_counts(facts: Mapping[str, Any]) -> str:
    """Return the counts among the *facts* as words."""
    return ", ".join(
        format_count(number, noun.removesuffix("s"))
        for noun, number in facts.items()
        if isinstance(number, int)
    )


def report_freshness(place: str, reasons: Sequence[str], fresh: str, output: Output) -> int:
    """Report whether *place* is up to date, or the first *reasons* why not; return the code."""
    if not reasons:
        output.note(f"up to date: {place}: {fresh}")
        return ExitCode.DONE
    output.note(f"stale: {place}")
    for reason in reasons[:_MOST_REASONS]:
        output.item(reason)
    if len(reasons) > _MOST_REASONS:
        output.item(f"... and {len(reasons) - _MOST_REASONS} more")
    return ExitCode.FINDINGS


# The data that building keeps from one run to the next, in the user's cache folder.


SUFFIX = ".memo"
WORDS_SUFFIX = ".words.memo"
"""The suffixes of the two files: the second has the words of documents."""

MOST_FILES = 16
"""How many outputs are remembered, those that were built last."""

# Fewer tools are put together in the time that it takes to remember them.
_FEWEST_TOOLS = 200

# It takes a process as long to start as to look at so many.
_FEWEST_FOR_PROCESSES = 3000


class BuildCacheSession:
    """The remembered steps to one output, a bundle or a folder of documents.

    Without a set number of processes, there are as many as processors, if the sources contain
    enough for that to pay.

    Attributes:
        memo: The remembered data; empty until `open` has found that it pays, and without a cache
            folder.
        makes_index: Whether the output has an index.
    """

    def __init__(
        self, target: str | None, jobs: int | None = None, *, makes_index: bool = False
    ) -> None:
        folder = cache_folder() if target else None
        self._path = Path(cached_path(target, folder, SUFFIX)) if target and folder else None
        self._words_path = self._path and self._path.with_suffix(WORDS_SUFFIX)
        if folder:  # of a run that was killed at its end, after which this one may write nothing
            remove_leftovers(folder)
        self._jobs = jobs
        self._workers: Workers | None = None
        self._handovers: dict[bytes, WorkerFiles] = {}
        self._files = ExitStack()
        self.memo = BuildCache()
        self.makes_index = makes_index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End processes that are still at work, and remove temporary files."""
        with self._files:  # also if an interrupt ends the wait for the processes
            self.memo.close()

    def open(self, batch: SourceBatch) -> BuildCache:
        """Look up remembered data, if the sources contain much."""
        size = len(batch.tools) + len(batch.documents)
        is_much = size >= _FEWEST_TOOLS or batch.bundles
        if self._path and is_much and not isinstance(self.memo, StoredBuildCache):
            self.memo = load_build_cache(self._path)
        jobs = self._jobs or (processors() if size >= _FEWEST_FOR_PROCESSES else 1)
        if isinstance(self.memo, StoredBuildCache) and jobs > 1:
            self._workers = Workers(jobs, self._path and self._path.parent)
            self.memo.workers = self._workers
            if self.makes_index and DRAFTED.make is not None:
                # Processes start while this one finds their work.
                self._workers.prepare(partial(make_sections, None), DRAFTED.make)
        return self.memo

    def open_for(self, sources: Sequence[str]) -> BuildCache:
        """Look up remembered data before *sources* are read, if plugins read any of them."""
        if self._path and any(find_kind(source).name == REGISTERED for source in sources):
            self.memo = load_build_cache(self._path)
        return self.memo

    @contextmanager
    def words_ahead(self, contents: Iterator[bytes]) -> Iterator[Iterator[bytes]]:
        """Pass on *contents* of documents, in the order of ids.

        At the end, a process begins to make the index's data on their words.
        """
        if self._workers is None or self._words_path is None:
            yield contents
            return
        try:
            handover = WorkerFiles(self._words_path.parent)
        except OSError:  # then this process makes it
            yield contents
            return
        self._files.callback(handover.close)
        noted = handover.write_contents(contents)
        yield noted
        with suppress(OSError):  # as above
            deque(noted, maxlen=0)
            given = handover.pack_arguments()
            if self._handovers.setdefault(handover.key, handover) is handover:
                make = partial(make_sections, self._words_path)
                self._workers.start([make], [([handover.key], given)], handover.keep)

    def word_sections(self, documents: Sequence[ToolDocument]) -> WordSections:
        """Return the index's data on the words of *documents*, in the order of ids."""
        if self._workers is not None and self._handovers:
            key = digest_contents(map(encode_content, documents))
            if (handover := self._handovers.get(key)) is not None:
                self._workers.wait_for(key, handover.keep)
                if (made := handover.sections()) is not None:
                    return made
        path = self._words_path if isinstance(self.memo, StoredBuildCache) else None
        return make_cached_sections(path, partial(analyse_documents, documents))

    def keep(self) -> None:
        """Save the remembered data; forget them if that fails."""
        if self._path and isinstance(self.memo, StoredBuildCache):
            # A file that was cut short meanwhile is a ValueError.
            with suppress(OutputError, OSError, ValueError):
                save_build_cache(self._path, self.memo)
                folder = self._path.parent
                times: dict[str, float] = {}
                for file in folder.glob(f"*{SUFFIX}"):
                    name = file.name.removesuffix(WORDS_SUFFIX).removesuffix(SUFFIX)
                    times[name] = max(read_last_use(file), times.get(name, 0.0))
                for name in sorted(times, key=times.__getitem__)[:-MOST_FILES]:
                    for suffix in (SUFFIX, WORDS_SUFFIX):
                        (folder / f"{name}{suffix}").unlink(missing_ok=True)


# The number of the form in which bundles are written: one of another form is made anew.
_LAYOUT = 2


def cache_entry(
    signature: str, files: str, assembly: Assembly, report: Mapping[str, Any]
) -> BuildStamp:
    """Return the record that this run leaves."""
    noticed = assembly.diagnostics
    severities = {item.severity for item in noticed}
    signature = signature if severities <= {Severity.INFO} else ""
    files = "" if Severity.ERROR in severities else files
    return BuildStamp(signature, len(noticed), report, files)


@reduced_gc()
def write_index_and_cache(
    run: BuildStamp, bundle: str, key: bytes, assembly: Assembly, memory: BuildCacheSession
) -> bool:
    """Write the index of *assembly*, and the *run*'s record, beside the *bundle*.

    Returns:
        Whether the index was written; an index with the same content is not touched.
    """
    if build_stamp(bundle) == run:
        return False
    # Diagnostics about sources are not diagnostics about the bundle.
    opening = [] if run.noticed else [pack_notices(bundle, ())]
    extra = [run.section(), *opening]
    parts = assembly_sections(assembly, key, extra, memory.memo, memory.word_sections)
    write_index_beside(bundle, *parts)
    return True


def no_index(fault: OutputError) -> Diagnostic:
    """Return the diagnostic of an index that could not be written."""
    message = f"the index {fault.message}: the first search makes it anew, if need be every time"
    return info(Code.INDEX_IN_MEMORY, message, fault.place)


def with_kept_ranking(assembly: Assembly, target: str | None, output: Output) -> Assembly:
    """Return *assembly* with the ranking of the bundle at *target*, or else of its sources.

    A ranking that this mcpg cannot use is left out and reported.
    """
    present = None
    # Within a document's text its quotes would be escaped.
    if target and file_holds(target, f'"{RANKING}"'.encode()):
        with suppress(McpgError):  # a damaged bundle carries nothing, and will be replaced
            present = decode_bundle(read_bytes(target, MAX_BYTES), text_of_path(target)).ranking
    carried, place = (present, target) if present is not None else (assembly.ranking, None)
    ranking, reason = choose_ranking(carried)
    if reason:
        told = report_ignored_model(reason, place)
        output.diagnostics([told])
        return replace(assembly, ranking=None, diagnostics=(*assembly.diagnostics, told))
    return replace(assembly, ranking=None if carried is None else ranking_json(ranking))


def leave_code_out(assembly: Assembly) -> Assembly:
    """Return *assembly* without the pages of source code."""
    code = {text.path for text in assembly.texts if is_item(text, "code")}
    return replace(
        assembly,
        texts=tuple(text for text in assembly.texts if text.path not in code),
        pages=tuple(page for page in assembly.pages if page.path not in code),
    )


class BuildSources:
    """The sources of one run: the named sources, else the sources of a configuration file.

    Attributes:
        paths: The files and folders among the sources, and whatever else is named.
        keeps_generated: Whether texts that a language model wrote are kept.
        keeps_code: Whether pages of source code are kept.
    """

    def __init__(
        self,
        sources: Sequence[str] | None,
        settings: Settings,
        *,
        source_id: str | None = None,
        header: Sequence[str] | None = None,
        seconds: float | None = None,
        keeps_code: bool = True,
    ) -> None:
        """Find the sources; nothing is opened yet."""
        self.source_id = source_id
        self._entries = () if sources else settings.sources() or ()
        self._used = tuple(one for one in self._entries if one.entry.enabled)
        if not (sources or self._entries):
            remedy = f"name a file, a folder or a server, or write [[{SOURCES}]] into mcpg.toml"
            raise UsageError("no source is named", place="SOURCE", remedy=remedy)
        if not (sources or self._used):
            message = "every source is disabled"
            remedy = "take out 'enabled = false', or name a source on the command line"
            raise UsageError(message, place=f"{self._entries[0].file}: {SOURCES}", remedy=remedy)
        kept = settings.find("generated_hints")
        self.keeps_generated = kept is None or bool(kept.value)
        self.keeps_code = keeps_code
        self.options = ServerOptions(sources or (), header, seconds)
        self.paths = tuple(sources or (one.argument for one in self._used if not one.is_server))

    @classmethod
    def of(cls, chosen: Any, settings: Settings) -> Self:
        """Return the sources that the options of a command name, or else the *settings*."""
        return cls(
            chosen.sources,
            settings,
            source_id=chosen.source_id,
            header=chosen.header,
            seconds=chosen.server_timeout,
        )

    def sign(self, target: str) -> str:
        """Sign the sources of the bundle *target*, "" when they cannot be signed."""
        if any(one.is_server for one in self._used):
            return ""
        given = self.source_id
        if self._entries:
            entries = ((one.name, one.entry) for one in self._entries)
            kept = [(name, one.id, one.enabled, one.trust_hints) for name, one in entries]
            given = repr((given, kept))
        if not self.keeps_generated:
            given = repr((given, "without generated hints"))
        if not self.keeps_code:
            given = repr((given, "without pages of source code"))
        signature = source_signature(self.paths, source_id=given, exclude=[target])
        return f"{signature} {_LAYOUT}" if signature else ""

    def sign_files(self, target: str) -> str:
        """Sign the files that decide on the tools of servers in the bundle *target*.

        It is "" without a configuration file, and when something cannot be signed.
        """
        if not self._used:
            return ""
        given = repr((self.source_id, [(one.name, one.entry) for one in self._used]))
        paths = [one for one in self.paths if find_kind(one).name in {FILE, FOLDER}]
        return source_signature(paths, source_id=given, exclude=[target]) or ""

    def find_built_tools(self, bundle: str) -> tuple[Tool, ...]:
        """Return the tools of servers in *bundle*, none unless it was built of the same files."""
        signature = self.sign_files(bundle)
        if not signature or build_stamp(bundle).files != signature:
            return ()
        live = {SourceKind.STDIO_MCP, SourceKind.HTTP_MCP}
        return tuple(one for one in load(bundle).catalog.tools if one.source_kind in live)

    @property
    def watched_paths(self) -> tuple[str, ...]:
        files = dict.fromkeys(str(one.file) for one in self._entries)
        return (*files, *self.paths)

    def tell(self, output: Output) -> None:
        """Report which configuration file names the sources, for it may start programs."""
        if self._entries:
            count = format_count(len(self._used), "source")
            output.note(f"reading {count} of {relative_path(str(self._entries[0].file))}")

    def read(
        self,
        tell: Callable[[int, int], None],
        exclude: Collection[str | Path],
        memo: BuildCache = NO_BUILD_CACHE,
        built: Sequence[Tool] = (),
    ) -> SourceBatch:
        """Read all sources; progress with servers goes to *tell*.

        Servers of a configuration file are not queried if their tools are *built* already.
        """
        live = self.options.live(tell)
        if self._entries:
            return self._read_configured(live, exclude, memo, built)
        # One byte more than is accepted, so that too much is noticed without reading it all.
        return read_sources(
            self.paths,
            source_id=self.source_id,
            stdin=partial(standard_input, MAX_BYTES + 1),
            exclude=exclude,
            live=live,
            imports=True,
            memo=memo,
        )

    def _read_configured(
        self,
        live: ServerAccess,
        exclude: Collection[str | Path],
        memo: BuildCache,
        built: Sequence[Tool],
    ) -> SourceBatch:
        sources, noticed = open_entries(
            [one.as_read() for one in self._entries],
            live,
            source_id=self.source_id,
            timeout=self.options.seconds,
        )
        files = [one for one in sources if isinstance(one, FileSource)]
        servers = [one for one in sources if isinstance(one, ServerSource)]
        failed = self._find_unusable(noticed, servers)
        parts = [SourceBatch(diagnostics=noticed, failed=failed, sources=len(failed))]
        for (source_id, is_trusted), group in groupby(
            files, lambda one: (one.source_id, one.trust_hints)
        ):
            found = read_sources(
                [one.path for one in group],
                source_id=source_id,
                exclude=exclude,
                imports=True,
                trust_hints=is_trusted,
                memo=memo,
            )
            parts.append(found)
        if built:
            read = {tool.key for part in parts for tool in part.tools}
            kept = tuple(tool for tool in built if tool.key not in read)
            parts.append(SourceBatch(tools=kept, sources=len(servers)))
        else:
            timeouts = [one.timeout for one in servers]
            parts.append(query_servers([one.server for one in servers], live, timeouts=timeouts))
        return SourceBatch.join(parts)

    def _find_unusable(
        self, noticed: Iterable[Diagnostic], servers: Collection[ServerSource]
    ) -> tuple[FailedSource, ...]:
        """Return the entries and servers of configurations that could not even be opened."""
        ids = {one.place: self.source_id or one.entry.id for one in self._entries}
        # Of several servers of one name the first is opened, and has that name's tools.
        opened = {one.server.name for one in servers if one.server.name}
        found: list[FailedSource] = []
        for place in (one.place or "" for one in noticed if is_failure(one)):
            name = ids.get(place) if place in ids else place.rpartition(": ")[2]
            if name not in opened:
                names = frozenset(filter(None, [name]))
                found.append(FailedSource(place, names, is_named=name is not None))
        return tuple(found)
