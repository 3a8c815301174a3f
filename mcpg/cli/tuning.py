"""`mcpg tune` once its options are read: look, fit, judge, write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.bundle import RANKING, Bundle, read_bundle, write_bundle
from mcpg.cli.cachefolder import cache_folder
from mcpg.cli.exits import ExitCode
from mcpg.cli.judgedfile import judgements_of
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.tuneview import tune_text
from mcpg.diagnostics import Code
from mcpg.engine import load
from mcpg.engine.ranking import Ranking, ranking_json, shipped_ranking
from mcpg.errors import InputError, OutputError, UsageError
from mcpg.evaluation.resolved import disabled_tools, resolve
from mcpg.files import is_folder
from mcpg.gateway.answerjson import diagnostics_json
from mcpg.tuning.cases import cases_of, drawn
from mcpg.tuning.report import TuneReport, origin_of_tuning, tune_json
from mcpg.tuning.tune import too_few, tune

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.cli.settings import Settings
    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Engine
    from mcpg.evaluation.judged import Judgements
    from mcpg.tuning.cases import Case

STDOUT = "-"
_REMEDY = "write down more queries and their tools, as people ask them"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be fitted, and where it goes.

    Attributes:
        queries: File of judged queries; `-` is standard input.
        folds: How many parts are held out in turn.
        seed: What draws them.
        include_disabled: Whether tools that are off by default may be found.
        is_dry: Whether nothing is to be written.
        target: The bundle to write, `None` for the one that is read.
        force: Whether to replace a file that is no bundle.
    """

    queries: str
    folds: int
    seed: int
    include_disabled: bool
    is_dry: bool
    target: str | None
    force: bool


def run(asked: Asked, form: OutputFormat, settings: Settings, output: Output) -> int:
    """Tune, tell, write, and give the exit code."""
    path = _bundle_path(settings, asked.target)
    bundle = _read(path)
    given = _whole(judgements_of(asked.queries))
    judgements = drawn(given, asked.seed)
    if judgements is not given:
        used, all_of_them = len(judgements.queries), len(given.queries)
        output.note(f"{used:,} of the {all_of_them:,} queries are used, drawn by the seed")
    engine = load(path, cache_dir=cache_folder())
    cases, noticed = _cases(engine, judgements, asked, output)
    report = _tuned(TuneReport(len(cases), shipped_ranking()), cases, judgements, asked, output)
    target = asked.target or path
    is_written = False
    if report.ranking and not asked.is_dry:
        _check_unchanged(path, bundle)
        is_written = _write(bundle, report.ranking, target, force=asked.force)
    if form is OutputFormat.JSON:
        told = tune_json(report, is_written=is_written)
        output.json(told | {"diagnostics": diagnostics_json(noticed)})
    else:
        output.diagnostics(noticed)
        output.text(tune_text(report))
    return _judged(report, target, asked, output, is_written=is_written)


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
    engine: Engine, judgements: Judgements, asked: Asked, output: Output
) -> tuple[list[Case], list[Diagnostic]]:
    catalog = engine.catalog
    resolved = resolve(judgements, catalog)
    off = [] if asked.include_disabled else disabled_tools(judgements, resolved, catalog)
    index = engine.index
    disabled = frozenset() if asked.include_disabled else frozenset(index.disabled())
    with output.progress("searching"):
        cases = cases_of(resolved, index, disabled=disabled)
    noticed = (*engine.diagnostics, *judgements.diagnostics, *resolved.diagnostics, *off)
    return cases, [one for one in noticed if one.code != Code.RANKING_IGNORED]


def _tuned(
    report: TuneReport,
    cases: Sequence[Case],
    judgements: Judgements,
    asked: Asked,
    output: Output,
) -> TuneReport:
    refusal = too_few(cases, asked.folds)
    if refusal:
        return replace(report, refusal=refusal)
    with output.progress("fitting"):
        tuning = tune(cases, report.shipped.model, folds=asked.folds, seed=asked.seed)
    if not tuning.is_better:
        refusal = "on queries that it has not seen, the fit is no better than chance would make it"
        return replace(report, tuning=tuning, refusal=refusal)
    ranking = Ranking(tuning.model, origin_of_tuning(tuning, judgements))
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


def _judged(
    report: TuneReport, target: str, asked: Asked, output: Output, *, is_written: bool
) -> int:
    if report.ranking is None:
        remedy = _REMEDY if report.tuning is None else "`mcpg eval` shows which answers are bad"
        output.error(f"{report.refusal}: nothing was written", place=asked.queries, remedy=remedy)
        return ExitCode.FINDINGS
    verb = "would write" if asked.is_dry else "wrote" if is_written else "up to date:"
    output.note(f"{verb} {target}: {report.ranking.origin.name}")
    return ExitCode.DONE
