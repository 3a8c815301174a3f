"""The findings of `mcpg lint` in each output format, written as they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcpg import __version__
from mcpg.cli.listing import RecordListing, write_listing
from mcpg.cli.output import Output
from mcpg.cli.terminal import json_text, lines_kept, one_line
from mcpg.errors import Severity
from mcpg.gateway.json import diagnostics_json
from mcpg.lint import RULES, Finding, Report
from mcpg.lint.sarif import sarif_log, sarif_result
from mcpg.reports.blocks import CodeSpan, Column, Styled, Table
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
