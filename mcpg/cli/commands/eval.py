"""`mcpg eval`."""

from __future__ import annotations

import json
import os.path
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import load_judgements, open_engine, read_chosen_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import STDOUT, Color, Output, check_place, check_replaceable, write_report
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.query import find_fusion, find_strategy, uses_lexicon
from mcpg.cli.render import RecordListing, listing_text, markdown
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import json_safe
from mcpg.errors import Code, InputError, Severity, UsageError
from mcpg.evaluation.report import (
    LATENCY,
    MAX,
    MAX_DROP,
    MIN,
    SCHEMA,
    Bound,
    EvaluationReport,
    compare,
    evaluate,
    judge,
    parse_bounds,
    read_baseline,
    report_json,
)
from mcpg.files import atomic_write
from mcpg.show.blocks import Notices, Section, Table
from mcpg.show.evaluation import eval_blocks, gate_sentence, headline
from mcpg.show.reports import eval_page
from mcpg.values import format_count

EXAMPLES = """\
mcpg eval queries.jsonl
mcpg eval queries.yaml -b real.mdld --worst 20
mcpg eval queries.jsonl --format json -o report.json
mcpg eval queries.jsonl --baseline report.json --max-drop 0.02     # in CI
mcpg eval queries.jsonl --min ndcg@5=0.8 --max ece=0.1
mcpg eval queries.jsonl --strategy auto --fusion learned
mcpg eval queries.jsonl --html report.html
mcpg eval queries.jsonl --format markdown >> "$GITHUB_STEP_SUMMARY\""""

MORE = "docs/how-to/evaluate.md"

_MARKS = (f'{{\n  "schema": "{SCHEMA}"'.encode(), b"## mcpg eval", b"evaluated: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """Options of `mcpg eval`."""

    named: Annotated[
        str | None,
        argument(
            "QUERIES", "File of judged queries, as JSON lines or YAML; - reads standard input."
        ),
    ] = None
    queries_option: options.Queries = None
    bundle: options.BundlePaths = None
    strategy: options.StrategyName = None
    fusion: options.Fusion = None
    embed_with: options.EmbedWith = None
    candidates: options.CandidateSource = None
    rewrite: options.Rewrite = None
    lexicon: options.Lexicon = None
    limit: Annotated[
        int,
        option("--limit -n", "Maximum number of matches per query, 10 to 50.", "N", min=1, max=50),
    ] = 10
    include_disabled: options.IncludeDisabled = False
    form: options.ListFormat = "text"
    target: Annotated[
        str, option("--output -o", "The file to write; - is standard output.", "FILE")
    ] = STDOUT
    baseline: Annotated[
        str | None, option("--baseline", "JSON report of an earlier run to compare with.", "FILE")
    ] = None
    minimum: Annotated[
        list[str] | None,
        option(
            "--min",
            "Exit 1 if a metric is below, such as ndcg@5=0.8. Repeatable.",
            "METRIC=VALUE",
        ),
    ] = None
    maximum: Annotated[
        list[str] | None,
        option(
            "--max",
            "Exit 1 if a metric is above, such as ece=0.1. Repeatable.",
            "METRIC=VALUE",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        option(
            "--max-drop",
            "Exit 1 if a metric, or any ranking metric, drops more since --baseline. Repeatable.",
            "[METRIC=]VALUE",
        ),
    ] = None
    worst: Annotated[int, option("--worst", "Number of worst answers to show.", "N", min=0)] = 5
    every: Annotated[bool, option("--all", "Show every query, in the order of the file.")] = False
    timings: Annotated[bool, option("--timings", "Report search times.")] = False
    strict: Annotated[bool, option("--strict", "Exit 1 on a warning about the queries.")] = False
    html: options.Html = None
    force: options.Force = False

    @property
    def queries(self) -> str:
        return options.choose_queries(self.named, self.queries_option)


def run(output: Output, chosen: EvalOptions) -> int:
    """Measure a bundle by judged queries, and enforce thresholds.

    Metrics to maximize: ndcg@5, ndcg@10, recall@1, recall@5, mrr, hit@1, hit@5, auroc, abstention.
    To minimize: ece, brier, and milliseconds p50 and p95.
    """
    if chosen.drop and chosen.baseline is None:
        remedy = "name an earlier report with --baseline"
        raise UsageError("no earlier report to compare with", place="--max-drop", remedy=remedy)
    given = ((MIN, chosen.minimum), (MAX, chosen.maximum), (MAX_DROP, chosen.drop))
    bounds = tuple(
        bound for kind, texts in given for text in texts or () for bound in parse_bounds(kind, text)
    )
    settings = read_chosen_settings(chosen)
    _check_targets(chosen)
    report = _measure(chosen, bounds, settings, output)
    if chosen.html is not None:
        page = eval_page(report_json(report, timings=chosen.timings))
        write_report(chosen.html, page, output, force=chosen.force)
    if chosen.form != "json":
        output.diagnostics(report.diagnostics)
    text = _render_report(report, chosen, output)
    if chosen.target == STDOUT:
        output.text(text)
    else:
        atomic_write(chosen.target, f"{text}\n".encode("utf-8", "backslashreplace"))
        output.note(f"wrote {chosen.target}: {headline(report_json(report))}")
    return _report_failures(report, chosen, output)


def _measure(
    chosen: EvalOptions, bounds: tuple[Bound, ...], settings: Settings, output: Output
) -> EvaluationReport:
    judgements = load_judgements(chosen.queries)
    before = read_baseline(chosen.baseline) if chosen.baseline else None
    strategy = find_strategy(settings)
    fusion = find_fusion(settings, strategy)
    is_timed = chosen.timings or any(bound.metric in LATENCY for bound in bounds)
    engine = open_engine(settings, output, is_cached=not is_timed)
    if not len(engine.index):
        raise InputError("there is no tool to search", remedy="name other sources with --bundle")
    with output.progress("searching"):
        report = evaluate(
            engine,
            judgements,
            limit=chosen.limit,
            strategy=strategy,
            fusion=fusion,
            rewrite=ServiceFactory(settings).is_rewriting,
            lexicon=uses_lexicon(settings),
            include_disabled=chosen.include_disabled,
        )
    if before is not None:
        depth = min(before.limit, report.limit)
        compared = compare(before.outcomes, report.outcomes, depth)
        report = replace(report, baseline=compared)
    return replace(report, gates=judge(report, bounds))


def _check_targets(chosen: EvalOptions) -> None:
    """Refuse to replace files that are not reports of `mcpg eval` or that the run needs."""
    if chosen.html is not None:
        check_place(chosen.html, force=chosen.force)
        if chosen.target != STDOUT and _is_one_file(chosen.html, chosen.target):
            message = "the report and the page cannot both be written to one file"
            raise UsageError(message, place="--html", remedy="name another file")
    for name, path in (("--output", chosen.target), ("--html", chosen.html)):
        if (
            chosen.baseline
            and path not in {None, STDOUT}
            and _is_one_file(chosen.baseline, str(path))
        ):
            raise UsageError(
                "the baseline cannot be replaced by the new report: the next run would"
                " find no drop",
                place=name,
                remedy="name another file",
            )
    if chosen.target != STDOUT and not chosen.force:
        remedy = "name another file, or use --force"
        check_replaceable(chosen.target, _MARKS, "report of `mcpg eval`", remedy)


def _is_one_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _render_report(report: EvaluationReport, chosen: EvalOptions, output: Output) -> str:
    value: dict[str, Any] = report_json(report, timings=chosen.timings)
    if chosen.form == "json":
        return json_safe(json.dumps(value, ensure_ascii=False, indent=2))
    blocks = eval_blocks(value, worst=None if chosen.every else chosen.worst)
    if chosen.form == "markdown":
        serious = tuple(one for one in value["diagnostics"] if one["severity"] != Severity.INFO)
        section = Section("diagnostics", "Diagnostics", (Notices(serious),))
        return markdown([*blocks, section], "## mcpg eval")
    view = output if chosen.target == STDOUT else Output(color=Color.NEVER)
    if chosen.form == "text":
        return text_of(blocks, view)
    # Only programs read it.
    members = ("id", "query", "rank", "ndcg@5", "topScore", "relevant", "judged", "unknown")
    listing = RecordListing(value["perQuery"], members, "id", Table("Queries", (), ()))
    return listing_text(listing, chosen.form, view)


def _report_failures(report: EvaluationReport, chosen: EvalOptions, output: Output) -> int:
    for gate in report.gates:
        if not gate.passed:
            output.error(gate_sentence(gate.json()), place=f"--{gate.bound.kind}")
    unread = sum(one.code == Code.JUDGED_INVALID for one in report.diagnostics)
    if unread:
        output.error(
            f"{format_count(unread, 'entry', 'entries')} could not be read, metrics are incomplete",
            place=chosen.queries,
            remedy="correct what the messages name",
        )
        return ExitCode.FAILED
    warnings = sum(one.severity != Severity.INFO for one in report.diagnostics)
    if chosen.strict and warnings:
        output.error(f"{warnings} warnings", place="--strict")
        return ExitCode.FINDINGS
    return ExitCode.DONE if all(gate.passed for gate in report.gates) else ExitCode.FINDINGS
