"""`mcpg lint`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import typer

from mcpg.cli import options
from mcpg.cli.build import BuildSources, reduced_gc
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.output import Output
from mcpg.cli.settings import Settings
from mcpg.errors import Severity, UsageError
from mcpg.lint import Report, Selection
from mcpg.lint.fixes import FileFix
from mcpg.lint.model import Suppression
from mcpg.values import format_count

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
    from mcpg.cli.lint_index import make_indexer  # noqa: PLC0415 - as above
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
    from mcpg.lint.fixes import fixes  # noqa: PLC0415 - few runs fix

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
    from mcpg.cli.lint_forms import by_rule, summary, write_findings  # noqa: PLC0415 - as above

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
