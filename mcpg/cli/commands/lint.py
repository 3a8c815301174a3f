"""`mcpg lint`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from mcpg import __version__
from mcpg.bundle import Assembly, assemble
from mcpg.cli import options
from mcpg.cli.build import BuildSources, reduced_gc
from mcpg.cli.commands.rule import write_rules
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import option
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import json_text, lines_kept, one_line
from mcpg.cli.watch import Watcher
from mcpg.documents.model import encode_content
from mcpg.engine.loading import with_graphs_read
from mcpg.errors import OutputError, Severity, UsageError
from mcpg.files import read_last_use
from mcpg.index import Index
from mcpg.index.file import SUFFIX, fresh_index, open_index, write_index
from mcpg.index.layout import StaleIndexError
from mcpg.index.recipe import hash_recipe
from mcpg.index.word_sections import digest_contents
from mcpg.lint import RULES, Finding, Report, Selection, lint
from mcpg.lint.context import compile_reach_index
from mcpg.lint.locate import fixes
from mcpg.lint.model import Suppression
from mcpg.lint.sarif import sarif_log, sarif_result
from mcpg.search.model import recipe
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.show.json import diagnostics_json
from mcpg.sources import SourceBatch
from mcpg.values import format_count

EXAMPLES = """\
mcpg lint manifests/
mcpg lint                                     # the sources of mcpg.toml, or graph.mdld
mcpg lint --live                              # query the servers again
mcpg lint manifests/ --select D,P --ignore D108
mcpg lint manifests/ --fix
mcpg lint manifests/ --format sarif > lint.sarif
mcpg lint manifests/ --format json | jq '.findings[0]'"""

MORE = "docs/how-to/lint.md"

ORPHANS = "L103"
"""The rule that needs inferred relations."""

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_ANNOTATIONS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_EXCERPT_COLUMNS = 88
_PER_WRITE = 200
_MEMBERS = ("code", "rule", "severity", "message", "toolId", "sourceId", "member", "suggestion")


# Fewer tools are compiled in the time that it takes to read an index.
_FEWEST_TOOLS = 200
_MOST_FILES = 16
_ENDING = f".lint{SUFFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """Options of `mcpg lint`."""

    sources: options.Sources = None
    select: Annotated[
        list[str] | None,
        option(
            "--select",
            "Rules to check: codes, their beginnings, or ALL. Repeatable, or comma-separated.",
            "CODE",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        option("--ignore", "Rules not to check. Repeatable, or comma-separated.", "CODE"),
    ] = None
    explain: Annotated[
        str | None,
        option("--explain", "Explain this rule by its code or name, and check nothing.", "CODE"),
    ] = None
    fix: Annotated[bool, option("--fix", "Fix what can be fixed safely.")] = False
    diff: Annotated[bool, option("--diff", "Write nothing; print what --fix would change.")] = False
    exit_zero: Annotated[bool, option("--exit-zero", "Exit 0 despite findings.")] = False
    limit: Annotated[
        int,
        option(
            "--limit -n",
            "Maximum number of findings in text, markdown and github; 0 for all.",
            "N",
            min=0,
        ),
    ] = 100
    live: Annotated[
        bool,
        option("--live", "Query the servers in mcpg.toml, even if the bundle is up to date."),
    ] = False
    source_id: options.SourceId = None
    header: options.Header = None
    server_timeout: options.ServerTimeout = None
    watch: options.Watch = False
    form: Annotated[
        Literal["text", "json", "jsonl", "csv", "ids", "markdown", "md", "sarif", "github"],
        option(
            "--format",
            "Output format; sarif is SARIF 2.1.0, github annotates files in GitHub Actions.",
            "text|json|jsonl|csv|ids|markdown|sarif|github",
        ),
    ] = "text"


def run(output: Output, chosen: LintOptions) -> int:
    """Check tools by rules: descriptions, schemas, names, reach, poisoning.

    Exits 1 when there is an error or a warning. `--explain CODE` explains a rule.
    """
    if chosen.explain is not None:
        return write_rules(output, chosen.explain, chosen.form)
    if chosen.fix and chosen.diff:
        raise UsageError("--fix writes and --diff does not", place="--diff", remedy="omit one")
    settings = read_settings()
    if not (chosen.sources or settings.sources()):  # the bundle is checked
        chosen = replace(chosen, sources=[str(one.value) for one in settings.bundles()])
    texts: dict[str, Sequence[str]] = {}
    origins: dict[str, str] = {}
    for name, given in (("select", chosen.select), ("ignore", chosen.ignore)):
        stated = settings.find(f"lint.{name}")
        texts[name] = tuple(given or (stated.value if stated else ()))
        origins[name] = f"--{name}" if given else stated.origin if stated else ""
    selection = Selection.of(texts["select"], texts["ignore"], origins=origins)
    found = settings.find("lint.tools")
    suppressed = []
    if found is not None:
        file = found.origin.rpartition(": ")[0]
        members = dict(found.value).items()
        suppressed = [Suppression(pattern, tuple(codes), file) for pattern, codes in members]

    check = partial(_check, chosen, settings, selection, suppressed, output)
    if not chosen.watch:
        return _answer(check, chosen, output)
    if chosen.fix or "-" in (chosen.sources or ()):
        message = "only files that this command does not write can be watched"
        raise UsageError(message, place="--watch", remedy="omit --fix and -")
    watcher = Watcher(lambda: BuildSources(chosen.sources, settings).watched_paths, output)
    return watcher.run(lambda: _answer(check, chosen, output))


@reduced_gc()
def _check(
    chosen: LintOptions,
    settings: Settings,
    selection: Selection,
    suppressed: Sequence[Suppression],
    output: Output,
) -> Report:
    intake = BuildSources.of(chosen, settings)
    intake.tell(output)
    target = settings.target()
    built = () if chosen.live else intake.find_built_tools(target)
    if built:
        output.note(f"tools of servers are those in {target}; --live queries the servers again")
    with output.counting("reading sources") as tell:
        batch = with_graphs_read(intake.read(tell, (), built=built))
    with output.progress("putting the graph together"):
        infers = ORPHANS in selection
        assembly = assemble(
            batch, source_id=chosen.source_id, texts=False, infers=infers, generated=False
        )
    with output.counting("checking") as tell:
        return lint(
            assembly,
            batch.rules,
            selection=selection,
            suppressed=suppressed,
            index=make_indexer(intake.paths, batch, chosen.source_id),
            tell=lambda _what, done, total: tell(done, total),
        )


def _answer(check: Callable[[], Report], chosen: LintOptions, output: Output) -> int:
    report = check()
    fixed = fixes(report.findings, report.locator) if chosen.diff or chosen.fix else []
    count, files = sum(one.count for one in fixed), format_count(len(fixed), "file")
    if chosen.diff:
        for one in fixed:
            output.document(one.diff)
        output.note(f"--fix would change {format_count(count, 'place')} in {files}")
        return ExitCode.FINDINGS if fixed else ExitCode.DONE
    for one in fixed:
        one.write()
    if count:
        output.note(f"fixed {format_count(count, 'place')} in {files}")
        report = check()
    if chosen.form != "json":
        output.note_opening(report.diagnostics)
    write_findings(report, chosen.form, chosen.limit, output)
    is_cut = chosen.form in ("text", "markdown", "github")
    left = len(report.findings) - chosen.limit if chosen.limit and is_cut else 0
    if left > 0:
        output.note(f"... and {left:,} more; --limit 0 shows all, --format jsonl writes all")
        for code, number in Counter(one.code for one in report.findings).most_common():
            output.item(f"{number:>7,} {code} {RULES[code].name}")
    output.note(summary(report))
    has_failed = any(one.severity == Severity.ERROR for one in report.diagnostics)
    is_finding = (report.fails or has_failed) and not chosen.exit_zero
    return ExitCode.FINDINGS if is_finding else ExitCode.DONE


def write_findings(report: Report, form: str, limit: int, output: Output) -> None:
    """Write the findings of *report* in a *form*, for people at most *limit* of them (0: all)."""
    shown = report.findings[:limit] if limit else report.findings
    if form == "json":
        _stream(_make_head(report), "findings", map(finding_json, report.findings), output)
    elif form == "sarif":
        snippet = report.locator.snippet
        results = (sarif_result(one, snippet(one.place)) for one in report.findings)
        _stream(sarif_log(__version__, report.diagnostics), "results", results, output)
    elif form == "text":
        _write_parts((_render_finding(one, report, output) for one in shown), "\n\n", output)
    elif form == "github":
        _write_parts(map(_annotate, shown), "\n", output)
    else:
        records = [finding_json(one) for one in report.findings]
        rows = shown if form == "markdown" else report.findings
        write_listing(
            RecordListing(records, _MEMBERS, "toolId", lambda: _draw_findings(rows)), form, output
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


def _make_head(report: Report) -> Mapping[str, Any]:
    counts = Counter(one.code for one in report.findings)
    return {
        "schema": "mcpg/lint/1",
        "tools": report.tools,
        **({"items": report.items} if report.items else {}),
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
    """Write JSON with *members* in its empty list *name*, without all of it in memory as text."""
    head, mark, tail = json_text(whole).partition(f'"{name}": []')
    margin = head[head.rfind("\n") :]
    output.document(f"{head}{mark[:-1]}")
    written, rest = 0, iter(members)
    while chunk := [*islice(rest, _PER_WRITE)]:
        texts = (json_text(one).replace("\n", f"{margin}  ") for one in chunk)
        lines = ",".join(f"{margin}  {text}" for text in texts)
        output.document(f"{',' if written else ''}{lines}")
        written += len(chunk)
    output.document(f"{margin if written else ''}]{tail}\n")


def _write_parts(parts: Iterable[str], gap: str, output: Output) -> None:
    is_first, rest = True, iter(parts)
    while chunk := [*islice(rest, _PER_WRITE)]:
        output.text(("" if is_first else gap[:-1]) + gap.join(chunk))
        is_first = False


# Text, as compilers show it: the fault, its place, the line, and the remedy.


def _render_finding(one: Finding, report: Report, output: Output) -> str:
    rule = RULES[one.code]
    label = output.paint(f"{one.severity}[{one.code}]", _STYLES[one.severity])
    lines = [f"{label} {output.paint(rule.name, 'bold')}: {one_line(one.message)}"]
    number = len(str(one.place.line)) if one.place and one.place.line else 1
    margin = " " * number
    if place := _name_place(one):
        lines.append(f"{margin}--> {one_line(place)}")
        lines += _excerpt(one, report, margin, output)
    for other in one.others[:3]:
        where = f" ({other.place})" if other.place else ""
        lines.append(f"{margin} = {one_line(f'note: {other.tool_id} {other.note}{where}')}")
    if one.suggestion:
        lines.append(f"{margin} = help: {one_line(one.suggestion)}")
    return "\n".join(lines)


def _name_place(one: Finding) -> str:
    """Return the place of a finding; without a line, the server of its tool is part of it."""
    place = str(one.place) if one.place else ""
    if one.place is not None and one.place.line:
        return place
    return ": ".join(part for part in (place, one.source_id) if part)


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
    if trail and not (before or rest):
        return  # such as the line of a whole document in a bundle: nothing in it is marked
    yield f"{margin} |"
    yield f"{place.line} | {lead}{before}{marked}{rest}{trail}"
    carets = output.paint("^" * max(1, len(marked)), _STYLES[one.severity])
    yield f"{margin} | {' ' * len(lead + before)}{carets}"


# Annotations of GitHub Actions, see "Workflow commands" in their documentation.


def _annotate(one: Finding) -> str:
    place = one.place
    members = {"title": f"{one.code} {RULES[one.code].name}"}
    if place is not None:
        members["file"] = place.file
        if place.line:
            members |= {"line": str(place.line), "endLine": str(place.end_line or place.line)}
            if place.end_line == place.line:
                members |= {"col": str(place.column), "endColumn": str(place.end_column)}
    # A property also escapes the separators of properties.
    texts = {
        key: _escape(text).replace(":", "%3A").replace(",", "%2C") for key, text in members.items()
    }
    shown = ",".join(f"{key}={text}" for key, text in texts.items())
    advice = f" ({one.suggestion})" if one.suggestion else ""
    server = "" if place is not None and place.line else f"{one.source_id}: "
    message = f"{server if one.source_id else ''}{one.message}{advice}"
    return f"::{_ANNOTATIONS[one.severity]} {shown}::{_escape(message)}"


def _escape(text: str) -> str:
    # Signs that could begin a command or steer a terminal become visible, the rest is escaped.
    safe = one_line(text)
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _draw_findings(findings: Iterable[Finding]) -> Table:
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
            CodeSpan(_name_place(one)),
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
    checked = [format_count(count, noun) for noun, count in report.items.items()]
    if report.tools or not checked:
        checked = [format_count(report.tools, "tool"), *checked]
    return f"{found} in {' and '.join(checked)}{suppressed}{more}"


def make_indexer(
    paths: Sequence[str], batch: SourceBatch, source_id: str | None
) -> Callable[[Assembly], Index]:
    """Return a maker of the index of the catalog that was read from *paths* as *batch*.

    The index of a bundle serves if nothing else was read and *source_id* renames nothing.
    """
    others = batch.tools or batch.documents or batch.rules or source_id
    is_bundle = len(paths) == 1 and batch.bundles and not others

    def make_index(assembly: Assembly) -> Index:
        index = fresh_index(paths[0], recipe(), cache_folder()) if is_bundle else None
        return index if index and _is_sound(index) else _open_or_compile(assembly)

    return make_index


def _is_sound(index: Index) -> bool:
    try:
        index.verify(records=False)
    except StaleIndexError:
        return False
    return True


def _open_or_compile(assembly: Assembly) -> Index:
    """Return the index of *assembly*, from the cache folder if an earlier run has left it."""
    folder = cache_folder()
    if folder is None or len(assembly.documents) < _FEWEST_TOOLS:
        return Index(compile_reach_index(assembly))
    documents = sorted(assembly.documents, key=lambda one: one.tool.id)
    ranking = json.dumps(assembly.ranking, sort_keys=True).encode()
    key = digest_contents([ranking, *map(encode_content, documents)])
    path = Path(folder, f"{key.hex()[:32]}{_ENDING}")
    with suppress(StaleIndexError, OSError):
        index = open_index(str(path))
        header = index.header
        if header.key == key and header.recipe == hash_recipe(recipe()) and _is_sound(index):
            os.utime(path)
            return index
    data = compile_reach_index(assembly, key)
    with suppress(OutputError, OSError):
        write_index(str(path), data)
        kept = sorted(path.parent.glob(f"*{_ENDING}"), key=read_last_use)
        for file in kept[:-_MOST_FILES]:
            file.unlink(missing_ok=True)
    return Index(data)
