"""The command line floor: the only code that prints, exits and reads the environment."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from mcpg.cli.exit_codes import run_guarded
from mcpg.cli.fast_path import quick_run
from mcpg.cli.old_names import replace_arguments, replace_variables
from mcpg.cli.output import COLORS, Color, Output
from mcpg.cli.terminal import prepare_streams

__all__ = ["main"]

_INTERRUPTED = 130
_RARELY = 100_000
_COMPLETION_VARIABLE = "_MCPG_COMPLETE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; see `mcpg.cli.exit_codes.ExitCode`."""
    try:
        if argv is not None:
            arguments = _replace_old_names(argv)
            code = quick_run(arguments)
            return _run_guarded(arguments) if code is None else code
        # Looking for unreachable circles takes a sixth of a short process, and finds next to none.
        thresholds = gc.get_threshold()
        gc.set_threshold(_RARELY)
        arguments = _replace_old_names(sys.argv[1:])
        code = quick_run(arguments)
        if code is None:
            gc.set_threshold(*thresholds)
            code = _run_guarded(arguments)
        gc.freeze()  # the end of the process does not look for any either
    except KeyboardInterrupt:  # before or after everything that reports an interruption
        return _INTERRUPTED
    return code


def _replace_old_names(given: Sequence[str]) -> list[str]:
    """Return the arguments *given* with present names, having reported former ones."""
    arguments, notes = replace_arguments(given)
    notes += replace_variables(os.environ)
    if notes:
        prepare_streams()
        output = Output(quiet=not {"-q", "--quiet"}.isdisjoint(arguments))
        for note in notes:
            output.note(note)
    return arguments


def _run_guarded(arguments: list[str]) -> int:
    prepare_streams()
    return run_guarded(lambda: _run(arguments), _output_of_errors(arguments))


def _output_of_errors(arguments: list[str]) -> Output:
    """Return the output for errors, which may arise before the options are parsed."""
    color: str = Color.AUTO
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        flag, _, joined = word.partition("=")
        if flag == "--color" and (joined or following) in COLORS:
            color = joined or following
    return Output(debug="--debug" in arguments, color=color)


def _run(arguments: list[str]) -> int:
    from typer.main import get_command  # noqa: PLC0415 - inside, so that its failures are reported

    from mcpg.cli.app import app  # noqa: PLC0415

    program = get_command(app)
    if os.environ.get(_COMPLETION_VARIABLE):
        program.main(arguments, "mcpg")  # answers the shell and exits
    with program.make_context("mcpg", arguments) as context:
        return int(program.invoke(context) or 0)
