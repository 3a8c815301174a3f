"""`mcpg tune`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from mcpg.bundle import RANKING, Bundle, read_bundle, write_bundle
from mcpg.cli import options
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.items import TOOL, find_item_kind
from mcpg.cli.open_bundle import load_judgements, open_engine, read_settings
from mcpg.cli.options import OutputFormat, argument, option
from mcpg.cli.output import STDOUT, Output
from mcpg.cli.query import uses_lexicon
from mcpg.cli.render import text as text_of
from mcpg.cli.settings import Settings
from mcpg.engine import Engine, load
from mcpg.engine.loading import CONTEXTUAL, FITTED, Ranking, ranking_json, shipped_ranking
from mcpg.errors import Code, Diagnostic, InputError, OutputError, UsageError
from mcpg.evaluation.fit import Case, build_cases, draw_judgements
from mcpg.evaluation.judged import Judgements, disabled_tools, resolve
from mcpg.evaluation.tune import (
    ItemTuning,
    TunedPart,
    TuneReport,
    Tuning,
    item_tuning_json,
    provenance_of_tuning,
    too_few,
    tune,
    tune_json,
)
from mcpg.files import is_folder
from mcpg.plugins.registry import load_reference
from mcpg.search.model import FEATURES, INPUTS, Model
from mcpg.search.results import Strategy
from mcpg.show.blocks import Block, Column, FactList, Paragraph, Section, Table
from mcpg.show.json import diagnostics_json

EXAMPLES = """\
mcpg tune queries.jsonl
mcpg tune queries.yaml -b graph.mdld --dry-run
mcpg tune queries.jsonl -b graph.mdld -o tuned.mdld --folds 10
mcpg tune symbols.jsonl -b app.mdld --kind symbol
mcpg bundle tools/ -o graph.mdld --reset-ranking     # back to the shipped ranking"""

MORE = "docs/how-to/tune.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Options of `mcpg tune`."""

    named: Annotated[
        str | None,
        argument(
            "QUERIES",
            "File of judged queries, at least 50 with an answer; - reads standard input.",
        ),
    ] = None
    queries_option: options.Queries = None
    bundle: options.BundlePaths = None
    kind: Annotated[
        str,
        option(
            "--kind",
            "What the queries find: tools, or symbols of source code, to fit the weights of words "
            "and vectors in `mcpg ask`.",
            "KIND",
        ),
    ] = TOOL
    embed_with: options.EmbedWith = None
    folds: Annotated[
        int,
        option("--folds", "Number of folds of the cross-validation, 2 to 20.", "N", min=2, max=20),
    ] = 5
    seed: Annotated[int, option("--seed", "Seed of the folds.", "N", min=0)] = 0
    lexicon: options.Lexicon = None
    include_disabled: options.IncludeDisabled = False
    is_dry: Annotated[bool, option("--dry-run", "Write nothing; exit as a real run would.")] = False
    target: Annotated[
        str | None,
        option(
            "--output -o",
            "The file to write: a bundle, or with --kind settings. [default: the input]",
            "FILE",
        ),
    ] = None
    form: options.Format = OutputFormat.TEXT
    force: options.Force = False

    @property
    def queries(self) -> str:
        return options.choose_queries(self.named, self.queries_option)


def run(output: Output, chosen: TuneOptions) -> int:
    """Fit the ranking to judged queries, and store it in the bundle.

    A fit is kept only if it beats the built-in model on held-out queries by more than chance;
    otherwise exits 1 and writes nothing.
    """
    if chosen.kind != TOOL:
        return _tune_items(output, chosen)
    settings = read_settings(bundle=chosen.bundle, lexicon=chosen.lexicon)
    if chosen.target == STDOUT:
        message = "standard output takes the figures, not a bundle"
        raise UsageError(message, place="--output", remedy="name a file")
    found, *others = settings.bundles()
    if others:
        message = "several bundles were named, and one is tuned at a time"
        remedy = "name one, or join them with `mcpg bundle` first"
        raise UsageError(message, place=found.origin, remedy=remedy)
    path = str(found.value)
    bundle = _read(path)
    judgements = _read_judgements(chosen, output)
    engine = load(path, cache_dir=cache_folder())
    with output.progress("searching"):
        cases, diagnostics = _search_cases(engine, judgements, settings, chosen)
    report = _fit_ranking(cases, judgements, chosen, output)
    target = chosen.target or path
    is_written = False
    if report.ranking and not chosen.is_dry:
        if _read(path) != bundle:  # a file of another process is not put back
            message = "the bundle was changed while it was being tuned, so nothing is written"
            raise OutputError(message, place=path, remedy="run `mcpg tune` again")
        extension = bundle.extension | {RANKING: ranking_json(report.ranking)}
        tuned = Bundle(bundle.documents, extension)
        is_written = write_bundle(target, tuned, force=chosen.force)
        load(target, cache_dir=cache_folder())  # which writes its index
    if chosen.form is OutputFormat.JSON:
        data = tune_json(report, target, is_written=is_written)
        output.json(data | {"diagnostics": diagnostics_json(diagnostics)})
    else:
        output.diagnostics(diagnostics)
        output.text(text_of(tune_blocks(report), output))
    if report.ranking is None:
        remedy = "`mcpg eval` shows which answers are bad"
        if report.tuning is None:
            remedy = "write down more queries and their tools, as people ask them"
        output.error(f"{report.refusal}: nothing was written", place=chosen.queries, remedy=remedy)
        return ExitCode.FINDINGS
    verb = "would write" if chosen.is_dry else "wrote" if is_written else "up to date:"
    output.note(f"{verb} {target}: {report.ranking.origin.name}")
    return ExitCode.DONE


def _tune_items(output: Output, chosen: TuneOptions) -> int:
    """Fit a setting of the search of items beside tools, and write it to the settings."""
    settings = read_settings(
        bundle=chosen.bundle, embed_with=chosen.embed_with, strategy=Strategy.AUTO
    )
    kind, engine = find_item_kind(chosen.kind), open_engine(settings, output)
    if not kind.tune:
        message = f"the search for items of the kind {chosen.kind!r} has nothing to tune"
        raise UsageError(message, place="--kind")
    judgements = _read_judgements(chosen, output)
    with output.progress("searching"):
        tuning: ItemTuning = load_reference(kind.tune)(
            engine, judgements, chosen.folds, chosen.seed
        )
    name = f"{tuning.section}.{tuning.key}"
    value = str(list(tuning.tuned or ()))
    is_written = bool(tuning.tuned) and not chosen.is_dry
    target = settings.write(name, value, chosen.target) if is_written else chosen.target or ""
    diagnostics = (*engine.diagnostics, *judgements.diagnostics, *tuning.diagnostics)
    if chosen.form is OutputFormat.JSON:
        data = item_tuning_json(tuning, target, is_written=is_written)
        output.json(data | {"diagnostics": diagnostics_json(diagnostics)})
    else:
        output.diagnostics(diagnostics)
        output.text(text_of(_item_blocks(tuning), output))
    if tuning.tuned is None:
        output.error(f"{tuning.refusal}: nothing was written", place=chosen.queries)
        return ExitCode.FINDINGS
    output.note(f"{f'wrote {target}' if is_written else 'would set'}: {name} = {value}")
    return ExitCode.DONE


def _read(path: str) -> Bundle:
    """Read the bundle that receives the fitted ranking."""
    advice = f"bundle it first: `mcpg bundle {path} -o graph.mdld`"
    if is_folder(path):
        raise InputError("a folder cannot store a ranking", place=path, remedy=advice)
    try:
        return read_bundle(path)
    except InputError as fault:
        raise InputError(
            f"only a bundle can store a ranking: {fault.message}", place=fault.place, remedy=advice
        ) from fault


def _read_judgements(chosen: TuneOptions, output: Output) -> Judgements:
    given = load_judgements(chosen.queries)
    broken = [one for one in given.diagnostics if one.code == Code.JUDGED_INVALID]
    if broken:
        more = f" (and {len(broken) - 1} more like it)" if len(broken) > 1 else ""
        message = f"a judged query cannot be read: {broken[0].message}{more}"
        remedy = "correct it: half a file would bias the fit"
        raise InputError(message, place=broken[0].place, remedy=remedy)
    judgements = draw_judgements(given, chosen.seed)
    if judgements is not given:
        used, all_of_them = len(judgements.queries), len(given.queries)
        output.note(f"{used:,} of the {all_of_them:,} queries are used, drawn by the seed")
    return judgements


def _search_cases(
    engine: Engine, judgements: Judgements, settings: Settings, chosen: TuneOptions
) -> tuple[list[Case], list[Diagnostic]]:
    resolved, off, disabled = resolve(judgements, engine.catalog), [], frozenset[int]()
    if not chosen.include_disabled:
        off = disabled_tools(judgements, resolved, engine.catalog)
        disabled = frozenset(engine.index.iter_disabled_tools())
    cases = build_cases(
        resolved, engine.index, disabled=disabled, uses_lexicon=uses_lexicon(settings)
    )
    found = (*engine.diagnostics, *judgements.diagnostics, *resolved.diagnostics, *off)
    return cases, [one for one in found if one.code != Code.RANKING_IGNORED]


def _fit_ranking(
    cases: Sequence[Case], judgements: Judgements, chosen: TuneOptions, output: Output
) -> TuneReport:
    report = TuneReport(len(cases), shipped_ranking())
    refusal = too_few(cases, chosen.folds)
    if refusal:
        return replace(report, refusal=refusal)
    with output.progress("fitting"):
        tuning = tune(cases, report.shipped.model, folds=chosen.folds, seed=chosen.seed)
    if not tuning.is_better:
        refusal = "on unseen queries, the gain of the fit is not beyond chance"
        return replace(report, tuning=tuning, refusal=refusal)
    ranking = Ranking(tuning.model, provenance_of_tuning(tuning, judgements))
    return replace(report, tuning=tuning, ranking=ranking)


def tune_blocks(report: TuneReport) -> Iterator[Block]:
    """Return the fitted parts and their effect; nothing when there was too little to fit."""
    tuning = report.tuning
    if tuning is None:
        return
    yield Paragraph(
        f"fitted: {tuning.answerable} queries with an answer, {tuning.answerless} without, in"
        f" {tuning.groups} groups; {tuning.folds} folds, seed {tuning.seed}"
    )
    yield from _part_blocks({"weights": tuning.weights, "calibration": tuning.calibration})
    if report.ranking:
        rows = _parameters(tuning, report.shipped.model, report.ranking.model)
        yield _numbers("Parameters", ("name", "shipped", "now"), rows)


def _item_blocks(tuning: ItemTuning) -> Iterator[Block]:
    if tuning.part is not None:
        yield from _part_blocks({tuning.key: tuning.part})
    if tuning.tuned:
        now = f"{list(tuning.shipped)} shipped, {list(tuning.tuned)} now"
        yield FactList(((f"{tuning.section}.{tuning.key}", now),))


def _part_blocks(parts: Mapping[str, TunedPart]) -> Iterator[Block]:
    """Return the metrics of *parts* on held-out queries, and whether each is kept."""
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
    yield _numbers("On held-out queries", ("metric", "before", "after", "change"), metrics)
    verdicts = {True: "fitted", False: "as shipped: no gain beyond chance"}
    yield FactList(
        tuple((name, f"{verdicts[part.is_kept]}, p {part.p:.4f}") for name, part in parts.items())
    )


def _parameters(tuning: Tuning, shipped: Model, tuned: Model) -> Iterator[tuple[str, str, str]]:
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
