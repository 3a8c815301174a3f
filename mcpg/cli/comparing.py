"""`mcpg explain --compare`: one query asked of two catalogues."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.cli.compareview import Compared, Side, compare_json, compare_markdown, compare_text
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, ReportFormat
from mcpg.cli.querying import arguments_of
from mcpg.engine.comparison import compare
from mcpg.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.cli.querying import Question, Showing
    from mcpg.cli.settings import Settings
    from mcpg.engine import Engine


def answer_compare(
    question: Question,
    settings: Settings,
    paths: tuple[str, str],
    shown: Showing,
    output: Output,
) -> int:
    """Ask both catalogues and print what moved.

    Raises:
        UsageError: Nothing is asked, or an option is given that makes no sense for two catalogues.
    """
    refuse(
        {
            "--bundle": settings.flags.get("bundle"),
            "--html": shown.html,
            "--min-score": question.min_score is not None,
            "--abstain": question.abstain,
            "--timings": shown.shows_times,
        }
    )
    arguments = arguments_of(question, settings)
    if not (arguments["query"] or arguments["context"]):
        raise UsageError(
            "without a query there are no ranks to compare",
            place="--compare",
            remedy="add a query, or use `mcpg bundle --diff` to compare catalogues",
        )
    then, now = (_opened(path, settings, output) for path in paths)
    compared = Compared(
        compare(then, now, **arguments),
        Side(paths[0], then.diagnostics),
        Side(paths[1], now.diagnostics),
    )
    if shown.form == ReportFormat.JSON:
        output.json(compare_json(compared))
    elif shown.form == ReportFormat.MD:
        output.text(compare_markdown(compared))
    else:
        output.text(compare_text(compared, output))
    return ExitCode.DONE


def _opened(path: str, settings: Settings, output: Output) -> Engine:
    """Load one of the two catalogues.

    Raises:
        McpgError: There is none at *path*, or it cannot be used.
    """
    try:
        return open_engine(replace(settings, flags={**settings.flags, "bundle": [path]}), output)
    except NotFoundError as fault:
        raise NotFoundError(fault.message, place="--compare", remedy=fault.remedy) from fault


def refuse(given: Mapping[str, object]) -> None:
    """Refuse what was *given*, by flag, of options that are about a single catalogue.

    Raises:
        UsageError: One was given.
    """
    for flag in filter(given.get, given):
        raise UsageError(
            "it says nothing about two catalogues",
            place=flag,
            remedy="leave it out: --compare names both and always exits with 0",
        )
