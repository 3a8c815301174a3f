"""`mcpg explore`."""

from __future__ import annotations

import threading
import traceback
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.output import Output
from mcpg.cli.parameters import (
    ABSTAIN,
    CONTEXT_TOOLS,
    MIN_SCORE,
    QUERY,
    QUESTION,
    flag,
    switch,
)
from mcpg.cli.query import Question, make_search_arguments
from mcpg.explore.explorer import Explorer, LiveEngine, PageSettings, shown_path
from mcpg.explore.server import ExploreServer
from mcpg.review.authored import DEFAULT_HINTS, DEFAULT_JUDGED, HintsFile, JudgedFile
from mcpg.values import format_count

if TYPE_CHECKING:
    import typer


EXAMPLES = """\
mcpg explore
mcpg explore where is my parcel -b graph.mdld
mcpg explore --hints hints/shop.hints.yaml --queries queries.jsonl
mcpg explore --port 8765 --no-browser"""

BEGINNING = QUERY._replace(help="The query to begin with; - reads it from standard input.")
PARAMETERS = (
    *(BEGINNING if one == QUERY else one for one in QUESTION if one not in {MIN_SCORE, ABSTAIN}),
    CONTEXT_TOOLS,
    flag("--hints", f"Hints file to save to. [default: {DEFAULT_HINTS}]", "FILE"),
    flag(
        "--queries",
        f"File to collect judged queries in, for `mcpg eval`. [default: {DEFAULT_JUDGED}]",
        "FILE",
    ),
    flag(
        "--port",
        "Port of 127.0.0.1 to listen on. [default: any that is free]",
        "N",
        kind=int,
        least=0,
        most=65_535,
    ),
    switch("--no-browser", "Print the address and do not open a browser.", name="stays"),
)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without

    options.command(app, "explore", examples=EXAMPLES, table=PARAMETERS)(run)


def run(
    output: Output,
    *,
    hints: str | None,
    queries: str | None,
    port: int | None,
    stays: bool,
    **asked: Any,
) -> int:
    """Try queries and hints on a page in the browser.

    The page shows matches as you type, explains ranks, and tries hints. It can save hints and
    judged queries. It is served only on this machine. Stop it with Ctrl-C.
    """
    question = Question.of({"min_score": None, **asked})
    arguments = make_search_arguments(question)
    query = arguments.pop("query")
    folder = question.settings.project
    hints_file = HintsFile(Path(hints) if hints else folder / DEFAULT_HINTS)
    judged_file = JudgedFile(Path(queries) if queries else folder / DEFAULT_JUDGED)

    # Read anew, as configuration files may change.
    settings = partial(read_settings, **question.settings.flags)
    live = LiveEngine(
        lambda: open_engine(settings(), output, is_cached=False), lambda: settings().watched_paths()
    )
    names = tuple(shown_path(one.value) for one in question.settings.bundles())
    begun = PageSettings(query or "", arguments, names)
    answering = Explorer(live, begun, hints_file, judged_file)
    with ExploreServer(answering, port or 0, lambda fault: _report(fault, output)) as server:
        output.note_opening(live.current.engine.diagnostics)
        output.text(server.address)
        output.flush()
        output.note(f"{format_count(len(live.current.engine.index), 'tool')}; Ctrl-C ends this")
        is_open = stays
        with suppress(webbrowser.Error, OSError):
            is_open = stays or webbrowser.open(server.address)
        if not is_open:
            output.note("no browser can be opened: open the address above")
        stop = threading.Event()
        threading.Thread(target=live.follow, args=(stop,), name="mcpg-follow", daemon=True).start()
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()
    return ExitCode.DONE


def _report(fault: Exception, output: Output) -> None:
    output.error(f"a request failed unexpectedly: {type(fault).__name__}: {fault}")
    if output.debug:
        output.raw_error("".join(traceback.format_exception(fault)))
