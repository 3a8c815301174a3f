"""`mcpg lint`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mcpg import __version__
from mcpg.bundle import Assembly
from mcpg.cli import options
from mcpg.cli.build import BuildSources, reduced_gc
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import json_text, lines_kept, one_line
from mcpg.documents.model import encode_content
from mcpg.errors import OutputError, Severity, UsageError
from mcpg.index import Index
from mcpg.index.file import SUFFIX, fresh_index, open_index, write_index
from mcpg.index.layout import StaleIndexError
from mcpg.index.recipe import hash_recipe
from mcpg.index.word_sections import digest_contents
from mcpg.lint import RULES, Finding, Report, Selection
from mcpg.lint.context import compile_reach_index
from mcpg.lint.locate import FileFix
from mcpg.lint.model import Suppression
from mcpg.lint.sarif import sarif_log, sarif_result
from mcpg.search.model import recipe
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.show.json import diagnostics_json
from mcpg.sources import SourceBatch
from mcpg.values import format_count

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_ANNOTATIONS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_EXCERPT_COLUMNS = 88
_PER_WRITE = 200
_MEMBERS = ("code", "rule", "severity", "message", "toolId", "sourceId", "member", "suggestion")


def write_findings(report: Report, form: str, limit: int, output: Output) -> None:
    """Write the findings of *report* in a *form*, for people at most *limit* of them (0: all)."""
    shown = report.findings[:limit] if limit else report.findings
    if form == "json":
        _stream(_json_head(report), "findings", map(finding_json, report.findings), output)
    elif form == "sarif":
        snippet = report.locator.snippet
        results = (sarif_result(one, snippet(one.place)) for one in report.findings)
        _stream(sarif_log(__version__, report.diagnostics), "results", results, output)
    elif form == "text":
        _in_parts((_text(one, report, output) for one in shown), "\n\n", output)
    elif form == "github":
        _in_parts(map(_annotation, shown), "\n", output)
    else:
        records = [finding_json(one) for one in report.findings]
        rows = shown if form == "markdown" else report.findings
        write_listing(
            RecordListing(records, _MEMBERS, "toolId", lambda: _table(rows)), form, output
        )


def finding_json(one: Finding) -> dict[str, Any]:
    """Return a finding as a member of the JSON of the command."""
    found = one.to_dict()
    first = {
        "code": one.code,
        "rule": RULES[one.code].name,
        "severity": one.severity,
        "message": one.message,
        "toolId": one.tool_id or None,
        "sourceId": one.source_id or None,
        "member": one.member or None,
    }
    return {**first, **{key: part for key, part in found.items() if key not in first}}


def _json_head(report: Report) -> Mapping[str, Any]:
    counts = Counter(one.code for one in report.findings)
    return {
        "schema": "mcpg/lint/1",
        "tools": report.tools,
        "errors": report.counts[Severity.ERROR],
        "warnings": report.counts[Severity.WARNING],
        "infos": report.counts[Severity.INFO],
        "suppressed": report.suppressed,
        "rules": [
            {"count": counts[name], **rule.to_dict()}
            for name, rule in RULES.items()
            if counts[name]
        ],
        "findings": [],
        "diagnostics": diagnostics_json(report.diagnostics),
    }


def _stream(
    whole: Mapping[str, Any], name: str, members: Iterable[Mapping[str, Any]], output: Output
) -> None:
    """Write JSON with *members* in its empty list *name*, without holding all of it as text."""
    head, mark, tail = json_text(whole).partition(f'"{name}": []')
    margin = head[head.rfind("\n") :]
    output.document(f"{head}{mark[:-1]}")
    written = 0
    for chunk in _chunks(members):
        texts = (json_text(one).replace("\n", f"{margin}  ") for one in chunk)
        lines = ",".join(f"{margin}  {text}" for text in texts)
        output.document(f"{',' if written else ''}{lines}")
        written += len(chunk)
    output.document(f"{margin if written else ''}]{tail}\n")


def _chunks(members: Iterable[Any]) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for one in members:
        chunk.append(one)
        if len(chunk) == _PER_WRITE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _in_parts(parts: Iterable[str], gap: str, output: Output) -> None:
    is_first = True
    for chunk in _chunks(parts):
        output.text(("" if is_first else gap[:-1]) + gap.join(chunk))
        is_first = False


# Text, as compilers show it: what is wrong, where, the line, and what to do.


def _text(one: Finding, report: Report, output: Output) -> str:
    rule = RULES[one.code]
    label = output.paint(f"{one.severity}[{one.code}]", _STYLES[one.severity])
    lines = [f"{label} {output.paint(rule.name, 'bold')}: {one_line(one.message)}"]
    number = len(str(one.place.line)) if one.place and one.place.line else 1
    margin = " " * number
    if one.place is not None:
        lines.append(f"{margin}--> {one_line(str(one.place))}")
        lines += _excerpt(one, report, margin, output)
    lines += (f"{margin} = {one_line(_other(other))}" for other in one.others[:3])
    if one.suggestion:
        lines.append(f"{margin} = help: {one_line(one.suggestion)}")
    return "\n".join(lines)


def _other(other: Any) -> str:
    where = f" ({other.place})" if other.place else ""
    return f"note: {other.tool_id} {other.note}{where}"


def _excerpt(one: Finding, report: Report, margin: str, output: Output) -> Iterator[str]:
    place = one.place
    lines = report.locator.lines(place) if place else ()
    if not lines or place is None or place.line is None:
        return
    column = (place.column or 1) - 1
    line = lines[0].replace("\t", " ")
    end = (place.end_column or column + 1) - 1 if place.end_line == place.line else len(line)
    size = max(1, end - column)
    # A manifest is often a single line.
    start = max(0, column - 24) if len(line) > _EXCERPT_COLUMNS else 0
    part = line[start : start + _EXCERPT_COLUMNS]
    before = lines_kept(part[: column - start])
    marked = lines_kept(part[column - start : column - start + size])
    lead = "..." if start else ""
    trail = "..." if start + _EXCERPT_COLUMNS < len(line) else ""
    rest = lines_kept(part[column - start + size :])
    yield f"{margin} |"
    yield f"{place.line} | {lead}{before}{marked}{rest}{trail}"
    carets = output.paint("^" * max(1, len(marked)), _STYLES[one.severity])
    yield f"{margin} | {' ' * len(lead + before)}{carets}"


# Annotations of GitHub Actions, see "Workflow commands" in their documentation.


def _annotation(one: Finding) -> str:
    place = one.place
    members = {"title": f"{one.code} {RULES[one.code].name}"}
    if place is not None:
        members["file"] = place.file
        if place.line:
            members |= {"line": str(place.line), "endLine": str(place.end_line or place.line)}
            if place.end_line == place.line:
                members |= {"col": str(place.column), "endColumn": str(place.end_column)}
    shown = ",".join(f"{key}={_property(text)}" for key, text in members.items())
    advice = f" ({one.suggestion})" if one.suggestion else ""
    return f"::{_ANNOTATIONS[one.severity]} {shown}::{_data(f'{one.message}{advice}')}"


def _data(text: str) -> str:
    # What could begin a command or steer a terminal becomes visible, the rest is escaped.
    safe = one_line(text)
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _table(findings: Iterable[Finding]) -> Table:
    columns = (
        Column("severity"),
        Column("rule", is_whole=True),
        Column("tool", is_whole=True),
        Column("place"),
        Column("finding"),
    )
    rows = tuple(
        (
            Styled(CodeSpan(one.severity), _STYLES[one.severity]),
            CodeSpan(one.code),
            CodeSpan(one.tool_id or one.source_id),
            CodeSpan(str(one.place) if one.place else ""),
            CodeSpan(f"{one.message} ({one.suggestion})" if one.suggestion else one.message),
        )
        for one in findings
    )
    return Table("Findings", columns, rows, has_heads=True)


def summary(report: Report) -> str:
    """Return how much was found, as words."""
    counts = report.counts
    parts = [
        format_count(counts[name], noun)
        for name, noun in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.INFO, "note"),
        )
        if counts[name]
    ]
    found = ", ".join(parts) or "nothing found"
    fixable = sum(one.is_fixable for one in report.findings)
    suppressed = f"; {report.suppressed:,} suppressed" if report.suppressed else ""
    more = f"; {fixable:,} fixable with --fix" if fixable else ""
    return f"{found} in {format_count(report.tools, 'tool')}{suppressed}{more}"


def by_rule(report: Report) -> Iterator[str]:
    """Yield a line for each rule with the number of its findings, the most frequent first."""
    for name, count in Counter(one.code for one in report.findings).most_common():
        yield f"{count:>7,} {name} {RULES[name].name}"


# Fewer tools are compiled in the time that it takes to read an index.
_FEWEST_TOOLS = 200
_MOST_FILES = 16
_ENDING = f".lint{SUFFIX}"


def make_indexer(
    paths: Sequence[str], batch: SourceBatch, source_id: str | None
) -> Callable[[Assembly], Index]:
    """Return what makes the index of the catalogue that was read from *paths*.

    Args:
        paths: The sources.
        batch: What they hold.
        source_id: The source of all tools, where that was stated.
    """
    others = batch.tools or batch.documents or batch.rules or source_id
    if len(paths) == 1 and batch.bundles and not others:
        return lambda assembly: _of_bundle(paths[0]) or _open_or_compile(assembly)
    return _open_or_compile


def _of_bundle(path: str) -> Index | None:
    index = fresh_index(path, recipe(), cache_folder())
    return index if index is not None and _is_sound(index) else None


def _is_sound(index: Index) -> bool:
    try:
        index.verify(records=False)
    except StaleIndexError:
        return False
    return True


def _open_or_compile(assembly: Assembly) -> Index:
    """Return the index of *assembly*, from the cache folder where an earlier run has left it."""
    folder = cache_folder()
    if folder is None or len(assembly.documents) < _FEWEST_TOOLS:
        return Index(compile_reach_index(assembly))
    key = _key(assembly)
    path = Path(folder, f"{key.hex()[:32]}{_ENDING}")
    index = _open_cached(path, key)
    if index is None:
        data = compile_reach_index(assembly, key)
        with suppress(OutputError, OSError):
            write_index(str(path), data)
            _drop_oldest(path.parent)
        index = Index(data)
    return index


def _open_cached(path: Path, key: bytes) -> Index | None:
    with suppress(StaleIndexError, OSError):
        index = open_index(str(path))
        header = index.header
        if header.key == key and header.recipe == hash_recipe(recipe()) and _is_sound(index):
            os.utime(path)
            return index
    return None


def _key(assembly: Assembly) -> bytes:
    documents = sorted(assembly.documents, key=lambda one: one.tool.id)
    ranking = json.dumps(assembly.ranking, sort_keys=True).encode()
    return digest_contents([ranking, *map(encode_content, documents)])


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob(f"*{_ENDING}"), key=lambda file: file.stat().st_mtime_ns)
    for file in files[:-_MOST_FILES]:
        file.unlink(missing_ok=True)


EXAMPLES = """\
mcpg lint manifests/
mcpg lint                                     # the sources of mcpg.toml, or graph.mdld
mcpg lint manifests/ --select D,P --ignore D108
mcpg lint manifests/ --fix
mcpg lint manifests/ --format sarif > lint.sarif
mcpg lint manifests/ --format json | jq '.findings[0]'"""

SHOWN = 100
ORPHANS = "L103"
"""The rule that needs relations that nobody states."""

Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODE",
        help="Check these rules only: codes, their beginnings, or ALL. Repeatable, or with commas.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE",
        help="Do not check these rules. Repeatable, or with commas.",
    ),
]
Fix = Annotated[
    bool,
    typer.Option("--fix", help="Fix in the files what can be fixed safely; report the rest."),
]
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Write nothing; print what --fix would change."),
]
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit 0 whatever is found, as before an upload.")
]
Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        metavar="N",
        min=0,
        help="Maximum number of findings in text, markdown and github; 0 for all.",
    ),
]
Form = Annotated[
    Literal["text", "json", "jsonl", "csv", "ids", "markdown", "md", "sarif", "github"],
    typer.Option(
        "--format",
        metavar="text|json|jsonl|csv|ids|markdown|sarif|github",
        help="Output format; sarif is SARIF 2.1.0, github annotates files in GitHub Actions.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "lint", examples=EXAMPLES, more="docs/how-to/lint.md")(lint)


def lint(
    output: Output,
    *,
    sources: options.Sources = None,
    select: Select = None,
    ignore: Ignore = None,
    fix: Fix = False,
    diff: Diff = False,
    exit_zero: ExitZero = False,
    limit: Limit = SHOWN,
    source_id: options.SourceId = None,
    header: options.Header = None,
    server_timeout: options.ServerTimeout = None,
    watch: options.Watch = False,
    form: Form = "text",
) -> int:
    """Check tools by rules: descriptions, schemas, names, reach, poisoning.

    Exits 1 when there is an error or a warning. `mcpg rule CODE` explains a rule.
    """
    if fix and diff:
        raise UsageError("--fix writes and --diff does not", place="--diff", remedy="omit one")
    settings = read_settings()
    wanted = _LintRequest(
        sources=_sources(sources, settings),
        selection=_selection(settings, select, ignore),
        suppressed=_read_suppressed(settings),
        fix=fix,
        diff=diff,
        exit_zero=exit_zero,
        limit=limit,
        source_id=source_id,
        header=header,
        server_timeout=server_timeout,
        form=form,
    )
    if not watch:
        return _run(output, settings, wanted)
    if fix or "-" in (sources or ()):
        raise UsageError(
            "only files that this command does not write can be watched",
            place="--watch",
            remedy="omit --fix and -",
        )
    from mcpg.cli.watch import Watcher  # noqa: PLC0415 - few runs watch

    watcher = Watcher(lambda: BuildSources(wanted.sources, settings).watched_paths, output)
    return watcher.run(partial(_run, output, settings, wanted))


@dataclass(frozen=True, slots=True)
class _LintRequest:
    """The options of a run; see `lint`."""

    sources: Sequence[str] | None
    selection: Selection
    suppressed: Sequence[Suppression]
    fix: bool
    diff: bool
    exit_zero: bool
    limit: int
    source_id: str | None
    header: Sequence[str] | None
    server_timeout: float | None
    form: str


def _sources(named: Sequence[str] | None, settings: Settings) -> Sequence[str] | None:
    """Return what is linted: what is *named*, else the sources in mcpg.toml, else the bundle."""
    if named or settings.sources():
        return named
    return [str(one.value) for one in settings.bundles()]


def _selection(
    settings: Settings, select: Sequence[str] | None, ignore: Sequence[str] | None
) -> Selection:
    from mcpg.lint import Selection  # noqa: PLC0415 - help needs none of it

    stated = {name: settings.find(f"lint.{name}") for name in ("select", "ignore")}
    given = {"select": select, "ignore": ignore}
    texts = {
        name: tuple(given[name] or (one.value if (one := stated[name]) else ()))
        for name in ("select", "ignore")
    }
    origins = {
        name: f"--{name}" if given[name] else (one.origin if (one := stated[name]) else "")
        for name in ("select", "ignore")
    }
    return Selection.of(texts["select"], texts["ignore"], origins=origins)


def _read_suppressed(settings: Settings) -> Sequence[Suppression]:
    from mcpg.lint.model import Suppression  # noqa: PLC0415 - as above

    found = settings.find("lint.tools")
    if found is None:
        return ()
    file = found.origin.rpartition(": ")[0]
    return [
        Suppression(pattern, tuple(codes), file) for pattern, codes in dict(found.value).items()
    ]


def _run(output: Output, settings: Settings, wanted: _LintRequest) -> int:
    report = _report(output, settings, wanted)
    if wanted.diff:
        return _show_fixes(report, output)
    if wanted.fix:
        fixed = _fixes(report)
        for one in fixed:
            one.write()
        count = sum(one.count for one in fixed)
        if count:
            files = format_count(len(fixed), "file")
            output.note(f"fixed {format_count(count, 'place')} in {files}")
            report = _report(output, settings, wanted)
    return _tell(report, wanted, output)


@reduced_gc()
def _report(output: Output, settings: Settings, wanted: _LintRequest) -> Report:
    """Read the sources and check the rules, showing progress."""
    from mcpg.bundle import assemble  # noqa: PLC0415 - help needs none of it
    from mcpg.engine.loading import with_graphs_read  # noqa: PLC0415 - as above
    from mcpg.lint import lint as check  # noqa: PLC0415 - as above

    intake = BuildSources(
        wanted.sources,
        settings,
        source_id=wanted.source_id,
        header=wanted.header,
        seconds=wanted.server_timeout,
    )
    intake.tell(output)
    with output.counting("reading sources") as tell:
        batch = with_graphs_read(intake.read(tell, ()))
    with output.progress("putting the graph together"):
        infers = ORPHANS in wanted.selection
        assembly = assemble(batch, source_id=wanted.source_id, texts=False, infers=infers)
    with output.counting("checking") as tell:
        return check(
            assembly,
            batch.rules,
            selection=wanted.selection,
            suppressed=wanted.suppressed,
            index=make_indexer(intake.paths, batch, wanted.source_id),
            tell=lambda _what, done, total: tell(done, total),
        )


def _fixes(report: Report) -> list[FileFix]:
    from mcpg.lint.locate import fixes  # noqa: PLC0415 - few runs fix

    return fixes(report.findings, report.locator)


def _show_fixes(report: Report, output: Output) -> int:
    fixed = _fixes(report)
    for one in fixed:
        output.document(one.diff)
    count = sum(one.count for one in fixed)
    output.note(
        f"--fix would change {format_count(count, 'place')} in {format_count(len(fixed), 'file')}"
    )
    return ExitCode.FINDINGS if fixed else ExitCode.DONE


def _tell(report: Report, wanted: _LintRequest, output: Output) -> int:
    """Write the findings, what was noticed, and the sums; return the exit code."""
    if wanted.form != "json":
        output.note_opening(report.diagnostics)
    write_findings(report, wanted.form, wanted.limit, output)
    is_cut = wanted.form in ("text", "markdown", "github")
    left = len(report.findings) - wanted.limit if wanted.limit and is_cut else 0
    if left > 0:
        output.note(f"... and {left:,} more; --limit 0 shows all, --format jsonl writes all")
        for line in by_rule(report):
            output.item(line)
    output.note(summary(report))
    has_failed = any(one.severity == Severity.ERROR for one in report.diagnostics)
    is_finding = (report.fails or has_failed) and not wanted.exit_zero
    return ExitCode.FINDINGS if is_finding else ExitCode.DONE
