"""Frequent commands without a command-line library, which takes longer to import than they run.

The parser reads the same declarations as Typer. Arguments that it does not accept (another command,
`--help`, an unknown option, a wrong value) go to the whole program, which reports mistakes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from mcpg.cli.exit_codes import run_guarded
from mcpg.cli.parameters import COMMON, FREQUENT, CommandParameter, make_output
from mcpg.cli.terminal import prepare_streams


class _UnusualArgumentsError(Exception):
    """Something that is left to the whole program."""


def quick_run(arguments: Sequence[str]) -> int | None:
    """Run a frequent command and return its exit code; `None` for the whole program to run it."""
    name = arguments[0] if arguments else ""
    if name not in FREQUENT or os.environ.get("_MCPG_COMPLETE"):
        return None
    table = (*FREQUENT[name], *COMMON)
    try:
        given = parse(arguments[1:], table)
    except (_UnusualArgumentsError, ValueError):
        return None
    if name == "search":
        from mcpg.cli.plain_search import plain_search  # noqa: PLC0415 - other commands do without

        code = plain_search(given)
        if code is not None:
            return code
    run = import_module(f"mcpg.cli.commands.{name}").run
    values = {one.name: given.get(one.name, one.default) for one in table}
    prepare_streams()
    output = make_output({one.name: values.pop(one.name) for one in COMMON})
    return run_guarded(lambda: int(run(output, **values)), output)


def parse(arguments: Iterable[str], table: Sequence[CommandParameter]) -> dict[str, Any]:
    """Return by name the values of the given parameters of *table*.

    Raises:
        _UnusualArgumentsError: Something is unknown, missing, not accepted, or given twice.
        ValueError: A value is not a number, but the parameter takes one.
    """
    flags = {flag: one for one in table for names in one.flags for flag in names.split("/")}
    given: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument[:1] != "-" or argument == "-":
            words.append(argument)
            continue
        flag, is_joined, joined = argument.partition("=")
        one = flags.get(flag)
        if one is None or (is_joined and (one.kind is bool or one.arity > 1 or flag[:2] != "--")):
            raise _UnusualArgumentsError
        if one.name in given and not one.repeats:
            raise _UnusualArgumentsError
        if one.kind is bool:
            given[one.name] = flag[:5] != "--no-"
            continue
        texts = [joined] if is_joined else [next(rest, "") for _ in range(one.arity)]
        values = [_convert_text(one, text) for text in texts]
        if one.repeats:
            given.setdefault(one.name, []).extend(values)
        else:
            given[one.name] = tuple(values) if one.arity > 1 else values[0]
    return given | _arguments(words, table)


def _convert_text(parameter: CommandParameter, text: str) -> Any:
    """Return the value that *text* is for *parameter*."""
    # A word that begins with a dash may be the next option, if a value was forgotten.
    if text[:1] in ("", "-") or (parameter.choices and text not in parameter.accepted_texts):
        raise _UnusualArgumentsError
    # Python reads the digits of every script, the whole program only ASCII digits.
    if parameter.kind is not str and not text.isascii():
        raise _UnusualArgumentsError
    value = parameter.resolve_synonym(parameter.kind(text))
    is_enough = parameter.least is None or value >= parameter.least
    if not (is_enough and (parameter.most is None or value <= parameter.most)):
        raise _UnusualArgumentsError
    return value


def _arguments(words: list[str], table: Iterable[CommandParameter]) -> dict[str, Any]:
    """Return the *words* that are not options, as the value of the argument in *table*."""
    arguments = [one for one in table if not one.flags]
    if not arguments:
        if words:
            raise _UnusualArgumentsError
        return {}
    (argument,) = arguments
    if argument.repeats:
        return {argument.name: words} if words else {}
    if len(words) != 1:
        raise _UnusualArgumentsError
    return {argument.name: words[0]}
