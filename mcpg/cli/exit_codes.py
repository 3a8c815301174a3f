"""Exit codes, and the only place that turns errors into them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mcpg.cli.output import ClosedPipeError, Output
from mcpg.cli.terminal import silence
from mcpg.errors import McpgError, NotFoundError


class ExitCode:
    """The exit codes of `mcpg`."""

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
        try:
            code = run()
        except ClosedPipeError:
            raise
        except KeyboardInterrupt:
            output.error("interrupted")
            code = ExitCode.INTERRUPTED
        except McpgError as fault:
            code = report_error(fault, output)
        except Exception as fault:  # noqa: BLE001 - the last defence against a bare traceback
            code = _report_foreign(fault, output)
        output.flush()
    except ClosedPipeError:
        silence()
        return ExitCode.DONE
    except McpgError as fault:  # from the flush: standard output cannot be written
        return report_error(fault, output)
    return code


def report_error(fault: McpgError, output: Output) -> int:
    """Print the error and return the exit code."""
    _show_traceback(fault, output)
    output.error(fault.message, place=fault.place, remedy=fault.remedy)
    return ExitCode.FAILED


def _show_traceback(fault: BaseException, output: Output) -> None:
    if output.debug:
        import traceback  # noqa: PLC0415 - few runs are debugged

        output.raw_error("".join(traceback.format_exception(fault)))


def _report_foreign(fault: Exception, output: Output) -> int:
    """Report an exception that is not ours: Typer's exit, its usage errors, a fault of mcpg."""
    typer = sys.modules.get("typer")  # without it, its exceptions cannot have been raised
    if typer is not None and isinstance(fault, typer.Exit):
        return int(fault.exit_code)
    if hasattr(fault, "format_message"):
        from mcpg.cli.options import command_path, usage_words  # noqa: PLC0415 - only for mistakes

        message, remedy = usage_words(fault)
        output.error(message, place=command_path(fault), remedy=remedy)
        return ExitCode.FAILED
    if isinstance(fault, FileNotFoundError):
        try:
            Path.cwd()
        except FileNotFoundError:
            message = "the folder in which mcpg runs does not exist any more"
            return report_error(NotFoundError(message, remedy="enter an existing folder"), output)
    _show_traceback(fault, output)
    detail = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    remedy = "report the traceback above" if output.debug else "run again with --debug"
    output.error(f"mcpg failed unexpectedly: {detail}", remedy=remedy)
    return ExitCode.FAILED
