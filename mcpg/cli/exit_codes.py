"""Exit codes, and the one place where what went wrong becomes one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from mcpg.cli.output import ClosedPipeError, Output
from mcpg.cli.terminal import silence
from mcpg.errors import McpgError, NotFoundError


class ExitCode:
    """What the exit code of `mcpg` says."""

    DONE: Final = 0
    """Done; also when the reader of a pipe went away."""
    FINDINGS: Final = 1
    """Nothing found, stale, different, a finding under `--strict`, or below a gate."""
    FAILED: Final = 2
    """Bad usage, bad input, a bad setting, or a fault in mcpg itself."""
    INTERRUPTED: Final = 130
    """Stopped from the keyboard."""


def run_guarded(run: Callable[[], int], output: Output) -> int:
    """Run *run* and give its exit code; every exception becomes a message and a code."""
    try:
        code = _run_reporting(run, output)
        output.flush()
    except ClosedPipeError:
        silence()
        return ExitCode.DONE
    except McpgError as fault:  # from the flush: standard output cannot be written
        return report_error(fault, output)
    return code


def _run_reporting(run: Callable[[], int], output: Output) -> int:
    try:
        return run()
    except ClosedPipeError:
        raise
    except KeyboardInterrupt:
        output.error("interrupted")
        return ExitCode.INTERRUPTED
    except McpgError as fault:
        return report_error(fault, output)
    except Exception as fault:  # noqa: BLE001 - the last defence against a bare traceback
        return _foreign(fault, output)


def report_error(fault: McpgError, output: Output) -> int:
    """Print what went wrong and give the exit code."""
    _trace(fault, output)
    output.error(fault.message, place=fault.place, remedy=fault.remedy)
    return ExitCode.FAILED


def _foreign(fault: Exception, output: Output) -> int:
    """Judge an exception that is not ours: Typer's exit, its usage errors, a fault of mcpg."""
    typer = sys.modules.get("typer")  # without it, its exceptions cannot have been raised
    if typer is not None and isinstance(fault, typer.Exit):
        return int(fault.exit_code)
    if hasattr(fault, "format_message"):
        from mcpg.cli.options import command_path, usage_words  # noqa: PLC0415 - only for mistakes

        message, remedy = usage_words(fault)
        output.error(message, place=command_path(fault), remedy=remedy)
        return ExitCode.FAILED
    if isinstance(fault, FileNotFoundError) and not _has_folder():
        message = "the folder in which mcpg runs does not exist any more"
        return report_error(NotFoundError(message, remedy="change to one that does"), output)
    _trace(fault, output)
    detail = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    remedy = "report the traceback above" if output.debug else "run again with --debug"
    output.error(f"mcpg failed unexpectedly: {detail}", remedy=remedy)
    return ExitCode.FAILED


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109 - the question is whether it can be asked
    except FileNotFoundError:
        return False


def _trace(fault: Exception, output: Output) -> None:
    if output.debug:
        import traceback  # noqa: PLC0415 - only for errors

        output.raw_error("".join(traceback.format_exception(fault)))
