"""Exit codes, and the one place where what went wrong becomes one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from mcpg.cli.output import ClosedPipeError, Output
from mcpg.cli.terminal import either, silence
from mcpg.errors import McpgError, NotFoundError

_LIKENESS = 0.7


class ExitCode(IntEnum):
    """What the exit code of `mcpg` says."""

    DONE = 0
    """Done; also when the reader of a pipe went away."""
    FINDINGS = 1
    """Nothing found, stale, different, a finding under `--strict`, or below a gate."""
    FAILED = 2
    """Bad usage, bad input, a bad setting, or a fault in mcpg itself."""
    INTERRUPTED = 130
    """Stopped from the keyboard."""


def guarded(run: Callable[[], int], output: Output) -> int:
    """Run *run* and give its exit code; every exception becomes a message and a code."""
    try:
        code = _judged(run, output)
        output.flush()
    except ClosedPipeError:
        silence()
        return ExitCode.DONE
    except McpgError as fault:  # from the flush: standard output cannot be written
        return explained(fault, output)
    return code


def _judged(run: Callable[[], int], output: Output) -> int:
    try:
        return run()
    except ClosedPipeError:
        raise
    except KeyboardInterrupt:
        output.error("interrupted")
        return ExitCode.INTERRUPTED
    except McpgError as fault:
        return explained(fault, output)
    except Exception as fault:  # noqa: BLE001 - the last defence against a bare traceback
        return _foreign(fault, output)


def explained(fault: McpgError, output: Output) -> int:
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
        message, remedy = _usage(fault)
        output.error(message, place=_command_path(fault), remedy=remedy)
        return ExitCode.FAILED
    if isinstance(fault, FileNotFoundError) and not _has_folder():
        message = "the folder in which mcpg runs does not exist any more"
        return explained(NotFoundError(message, remedy="change to one that does"), output)
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


def _command_path(fault: Any) -> str:
    context = getattr(fault, "ctx", None)
    return context.command_path if context is not None else "mcpg"


def _usage(fault: Any) -> tuple[str, str]:
    """Split a usage error of Typer into what is wrong and what to do about it."""
    known = getattr(fault, "possibilities", None) or ()
    if hasattr(fault, "option_name") and known:
        import difflib  # noqa: PLC0415 - only for mistakes

        near = difflib.get_close_matches(fault.option_name, known, n=2, cutoff=_LIKENESS)
        advice = f"did you mean {either(near)}?" if near else _see_help(fault)
        return _sentence(fault.message), advice
    told = _in_our_words(fault.format_message())
    message, _, suggestion = told.partition(". Did you mean ")
    if suggestion:
        near = suggestion.rstrip("?").replace("'", "").split(", ")
        return _sentence(message), f"did you mean {either(near)}?"
    return _sentence(message), _see_help(fault)


# What a library says of a value that its type refuses, and how mcpg says it.
_REFUSALS = {
    r"Input should be a valid integer[^\n]*": "it is not a whole number",
    r"Input should be a valid number[^\n]*": "it is not a number",
    r"Input should be a finite number": "it is not a finite number",
    r"Input should be less than or equal to": "it is greater than",
    r"Input should be greater than or equal to": "it is less than",
}


def _in_our_words(message: str) -> str:
    """Return a *message* about a value without the terms of the library that checked it."""
    import re  # noqa: PLC0415 - only for mistakes

    for theirs, ours in _REFUSALS.items():
        message = re.sub(theirs, ours, message)
    return message


def _see_help(fault: Any) -> str:
    return f"see `{_command_path(fault)} --help`"


def _sentence(text: str) -> str:
    text = text.replace("Value error, ", "")
    return text[:1].lower() + text[1:].rstrip(".")
