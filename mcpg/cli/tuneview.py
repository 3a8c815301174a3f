"""What `mcpg tune` found, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.features import FEATURES
from mcpg.engine.model import INPUTS
from mcpg.engine.ranking import FITTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.model import Model
    from mcpg.tuning.report import TuneReport
    from mcpg.tuning.tune import Figure, Part, Tuning

_COLUMN = 16
_INDENT = "    "


def tune_text(report: TuneReport) -> str:
    """Give a report as text; "" when there was too little to learn from."""
    tuning = report.tuning
    if tuning is None:
        return ""
    blocks = [[_summary(tuning)], list(_held_out(tuning)), list(_verdicts(tuning))]
    if report.ranking:
        shipped, tuned = report.shipped.model, report.ranking.model
        blocks.append([_row("", ("shipped", "now"))])
        if tuning.weights.is_kept:
            blocks[-1] += _weights(shipped, tuned)
        if tuning.calibration.is_kept:
            blocks[-1] += _coefficients(shipped, tuned)
    return "\n\n".join("\n".join(block) for block in blocks)


def _summary(tuning: Tuning) -> str:
    return (
        f"fitted: {tuning.answerable} queries with an answer, {tuning.answerless} without, in"
        f" {tuning.groups} groups; {tuning.folds} folds, seed {tuning.seed}"
    )


def _held_out(tuning: Tuning) -> Iterator[str]:
    yield _row("on what was held out", ("before", "after", ""))
    for part in (tuning.weights, tuning.calibration):
        for name, figure in part.figures.items():
            yield _row(name, _cells(figure))


def _cells(figure: Figure) -> tuple[str, str, str]:
    return (
        f"{figure.before:.4f} ±{figure.spread_before:.3f}",
        f"{figure.after:.4f} ±{figure.spread_after:.3f}",
        f"{figure.after - figure.before:+.4f}",
    )


def _verdicts(tuning: Tuning) -> Iterator[str]:
    yield _verdict("weights", tuning.weights)
    yield _verdict("calibration", tuning.calibration)


def _verdict(name: str, part: Part) -> str:
    chance = f"p {part.p:.4f}"
    found = "fitted, " if part.is_kept else "as shipped: no gain beyond chance, "
    return f"{name:<13}{found}{chance}"


def _weights(shipped: Model, tuned: Model) -> Iterator[str]:
    for name, before, now in zip(FEATURES, shipped.weights, tuned.weights, strict=True):
        if name in FITTED:
            yield _row(name, (f"{before:g}", f"{now:g}"))


def _coefficients(shipped: Model, tuned: Model) -> Iterator[str]:
    yield _row("intercept", (f"{shipped.intercept:g}", f"{tuned.intercept:g}"))
    for name, before, now in zip(INPUTS, shipped.coefficients, tuned.coefficients, strict=True):
        yield _row(name, (f"{before:g}", f"{now:g}"))


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{_INDENT}{name:<24}{''.join(f'{cell:>{_COLUMN}}' for cell in cells)}".rstrip()
