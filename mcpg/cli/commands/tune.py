"""`mcpg tune`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from mcpg.bundle import RANKING, Bundle, read_bundle, write_bundle
from mcpg.cli import options
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import load_judgements, read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.query import uses_lexicon
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.engine import Engine, load
from mcpg.engine.loading import CONTEXTUAL, FITTED, Ranking, ranking_json, shipped_ranking
from mcpg.errors import Code, Diagnostic, InputError, OutputError, UsageError
from mcpg.evaluation.fit import Case, build_cases, draw_judgements
from mcpg.evaluation.judged import Judgements, disabled_tools, resolve
from mcpg.evaluation.tune import TuneReport, Tuning, provenance_of_tuning, too_few, tune, tune_json
from mcpg.files import is_folder
from mcpg.search.model import FEATURES, INPUTS, Model
from mcpg.show.blocks import Block, Column, FactList, Paragraph, Section, Table
from mcpg.show.json import diagnostics_json

EXAMPLES = """\
mcpg tune queries.jsonl
mcpg tune queries.yaml -b graph.mdld --dry-run
mcpg tune queries.jsonl -b graph.mdld -o tuned.mdld --folds 10
mcpg bundle tools/ -o graph.mdld --untuned     # back to the shipped ranking"""

QueriesFile = Annotated[
    str,
    typer.Argument(
        metavar="QUERIES",
        help="File of judged queries, of which at least 50 have an answer; - reads standard input.",
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        "--folds",
        metavar="N",
        min=2,
        max=20,
        help="Number of folds of the cross-validation, 2 to 20.",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, help="Seed of the folds."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing; exit as a real run would.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="The bundle to write. [default: the one that is read]",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "tune", examples=EXAMPLES, more="docs/how-to/tune.md")(tune_bundle)


def tune_bundle(
    output: Output,
    *,
    queries: QueriesFile,
    bundle: options.BundlePaths = None,
    folds: Folds = 5,
    seed: Seed = 0,
    lexicon: options.Lexicon = None,
    include_disabled: options.IncludeDisabled = False,
    dry_run: DryRun = False,
    target: Target = None,
    form: options.Format = OutputFormat.TEXT,
    force: options.Force = False,
) -> int:
    """Fit the ranking to judged queries, and store it in the bundle.

    A fit is kept only if it beats the built-in model on held-out queries by more than chance;
    otherwise nothing is written and the exit code is 1.
    """
    settings = read_settings(bundle=bundle, lexicon=lexicon)
    chosen = TuneOptions(
        queries=queries,
        folds=folds,
        seed=seed,
        lexicon=uses_lexicon(settings),
        include_disabled=include_disabled,
        is_dry=dry_run,
        target=target,
        force=force,
    )
    return run(chosen, form, settings, output)


# What `mcpg tune` found, as blocks


def tune_blocks(report: TuneReport) -> Iterator[Block]:
    """Return what was fitted, and what came of it; nothing when there was too little to fit."""
    tuning = report.tuning
    if tuning is None:
        return
    yield Paragraph(
        f"fitted: {tuning.answerable} queries with an answer, {tuning.answerless} without, in"
        f" {tuning.groups} groups; {tuning.folds} folds, seed {tuning.seed}"
    )
    parts = {"weights": tuning.weights, "calibration": tuning.calibration}
    metrics = [
        (
            name,
            f"{metric.before:.4f} ±{metric.spread_before:.3f}",
            f"{metric.after:.4f} ±{metric.spread_after:.3f}",
            f"{metric.after - metric.before:+.4f}",
        )
        for part in parts.values()
        for name, metric in part.figures.items()
    ]
    yield _numbers("On what was held out", ("metric", "before", "after", "change"), metrics)
    verdicts = {True: "fitted", False: "as shipped: no gain beyond chance"}
    yield FactList(
        tuple((name, f"{verdicts[part.is_kept]}, p {part.p:.4f}") for name, part in parts.items())
    )
    if report.ranking:
        rows = _parameters(tuning, report.shipped.model, report.ranking.model)
        yield _numbers("Parameters", ("name", "shipped", "now"), rows)


def _parameters(tuning: Tuning, shipped: Model, tuned: Model) -> Iterator[tuple[str, str, str]]:
    """Return the parameters that were fitted, before and after."""
    if tuning.weights.is_kept:
        for name, before, now in zip(FEATURES, shipped.weights, tuned.weights, strict=True):
            if name in FITTED or (name in CONTEXTUAL and now != before):
                yield name, f"{before:g}", f"{now:g}"
    if tuning.calibration.is_kept:
        names = ("intercept", *INPUTS)
        old = (shipped.intercept, *shipped.coefficients)
        new = (tuned.intercept, *tuned.coefficients)
        for name, before, now in zip(names, old, new, strict=True):
            yield name, f"{before:g}", f"{now:g}"


def _numbers(title: str, heads: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Section:
    columns = tuple(Column(head, is_number=bool(place)) for place, head in enumerate(heads))
    return Section(heads[0], title, (Table(title, columns, tuple(rows), has_heads=True),))


# `mcpg tune` once its options are read: look, fit, judge, write.


STDOUT = "-"
_REMEDY = "write down more queries and their tools, as people ask them"


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What is to be fitted, and where it goes.

    Attributes:
        queries: File of judged queries; `-` is standard input.
        folds: How many parts are held out in turn.
        seed: What draws them.
        lexicon: Whether words also match related words and translations.
        include_disabled: Whether tools that are off by default may be found.
        is_dry: Whether nothing is to be written.
        target: The bundle to write, `None` for the one that is read.
        force: Whether to replace a file that is no bundle.
    """

    queries: str
    folds: int
    seed: int
    lexicon: bool
    include_disabled: bool
    is_dry: bool
    target: str | None
    force: bool


def run(chosen: TuneOptions, form: OutputFormat, settings: Settings, output: Output) -> int:
    """Tune, report, write, and return the exit code."""
    path = _bundle_path(settings, chosen.target)
    bundle = _read(path)
    given = _whole(load_judgements(chosen.queries))
    judgements = draw_judgements(given, chosen.seed)
    if judgements is not given:
        used, all_of_them = len(judgements.queries), len(given.queries)
        output.note(f"{used:,} of the {all_of_them:,} queries are used, drawn by the seed")
    engine = load(path, cache_dir=cache_folder())
    cases, diagnostics = _cases(engine, judgements, chosen, output)
    report = _fit_ranking(
        TuneReport(len(cases), shipped_ranking()), cases, judgements, chosen, output
    )
    target = chosen.target or path
    is_written = False
    if report.ranking and not chosen.is_dry:
        _check_unchanged(path, bundle)
        is_written = _write(bundle, report.ranking, target, force=chosen.force)
    if form is OutputFormat.JSON:
        data = tune_json(report, target, is_written=is_written)
        output.json(data | {"diagnostics": diagnostics_json(diagnostics)})
    else:
        output.diagnostics(diagnostics)
        output.text(text_of(tune_blocks(report), output))
    return _report_outcome(report, target, chosen, output, is_written=is_written)


def _bundle_path(settings: Settings, target: str | None) -> str:
    if target == STDOUT:
        raise UsageError(
            "standard output takes the figures, not a bundle",
            place="--output",
            remedy="name a file",
        )
    found = settings.bundles()
    if len(found) > 1:
        raise UsageError(
            "several bundles were named, and one is tuned at a time",
            place=found[0].origin,
            remedy="name one, or join them with `mcpg bundle` first",
        )
    return str(found[0].value)


def _read(path: str) -> Bundle:
    """Read the bundle that is to carry what is fitted.

    Raises:
        McpgError: It is none, or damaged.
    """
    advice = f"bundle it first: `mcpg bundle {path} -o graph.mdld`"
    if is_folder(path):
        raise InputError("a folder cannot carry a ranking", place=path, remedy=advice)
    try:
        return read_bundle(path)
    except InputError as fault:
        raise InputError(
            f"only a bundle can carry a ranking: {fault.message}", place=fault.place, remedy=advice
        ) from fault


def _whole(judgements: Judgements) -> Judgements:
    broken = [one for one in judgements.diagnostics if one.code == Code.JUDGED_INVALID]
    if broken:
        more = f" (and {len(broken) - 1} more like it)" if len(broken) > 1 else ""
        raise InputError(
            f"a judged query cannot be read: {broken[0].message}{more}",
            place=broken[0].place,
            remedy="correct it: what is learned from half a file is half learned",
        )
    return judgements


def _cases(
    engine: Engine, judgements: Judgements, chosen: TuneOptions, output: Output
) -> tuple[list[Case], list[Diagnostic]]:
    catalog = engine.catalog
    resolved = resolve(judgements, catalog)
    off = [] if chosen.include_disabled else disabled_tools(judgements, resolved, catalog)
    index = engine.index
    disabled = frozenset() if chosen.include_disabled else frozenset(index.iter_disabled_tools())
    with output.progress("searching"):
        cases = build_cases(resolved, index, disabled=disabled, uses_lexicon=chosen.lexicon)
    found = (*engine.diagnostics, *judgements.diagnostics, *resolved.diagnostics, *off)
    return cases, [one for one in found if one.code != Code.RANKING_IGNORED]


def _fit_ranking(
    report: TuneReport,
    cases: Sequence[Case],
    judgements: Judgements,
    chosen: TuneOptions,
    output: Output,
) -> TuneReport:
    refusal = too_few(cases, chosen.folds)
    if refusal:
        return replace(report, refusal=refusal)
    with output.progress("fitting"):
        tuning = tune(cases, report.shipped.model, folds=chosen.folds, seed=chosen.seed)
    if not tuning.is_better:
        refusal = "on queries that it has not seen, the fit is no better than chance would make it"
        return replace(report, tuning=tuning, refusal=refusal)
    ranking = Ranking(tuning.model, provenance_of_tuning(tuning, judgements))
    return replace(report, tuning=tuning, ranking=ranking)


def _check_unchanged(path: str, bundle: Bundle) -> None:
    """See that nobody has written the *bundle* since it was read, so that nothing is put back.

    Raises:
        McpgError: Somebody has, or it is gone.
    """
    if _read(path) != bundle:
        raise OutputError(
            "the bundle was changed while it was being tuned, so nothing is written",
            place=path,
            remedy="run `mcpg tune` again",
        )


def _write(bundle: Bundle, ranking: Ranking, target: str, *, force: bool) -> bool:
    """Write *bundle* with *ranking*, and its index; say whether the bundle changed."""
    extension = bundle.extension | {RANKING: ranking_json(ranking)}
    is_written = write_bundle(target, Bundle(bundle.documents, extension), force=force)
    load(target, cache_dir=cache_folder())
    return is_written


def _report_outcome(
    report: TuneReport, target: str, chosen: TuneOptions, output: Output, *, is_written: bool
) -> int:
    if report.ranking is None:
        remedy = _REMEDY if report.tuning is None else "`mcpg eval` shows which answers are bad"
        output.error(f"{report.refusal}: nothing was written", place=chosen.queries, remedy=remedy)
        return ExitCode.FINDINGS
    verb = "would write" if chosen.is_dry else "wrote" if is_written else "up to date:"
    output.note(f"{verb} {target}: {report.ranking.origin.name}")
    return ExitCode.DONE
