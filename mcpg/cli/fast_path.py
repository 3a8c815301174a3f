"""Frequent commands without a command-line library, which takes longer to import than they run.

The parser reads the same declarations as Typer does. Whatever it does not accept (another command,
`--help`, an unknown option, a wrong value) is left to the whole program, which reports mistakes.

A plain search of a bundle with a fresh index needs even less: neither settings nor those modules of
the standard library that take longer to import than the search takes. Should anything be in its
way, nothing has been printed yet, and the command runs as any other.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from mcpg.cli.environment import cache_folder, may_be_key, plain_settings
from mcpg.cli.exit_codes import report_error, run_guarded
from mcpg.cli.matches import nothing_found_text
from mcpg.cli.output import Output, unwritable
from mcpg.cli.parameters import COMMON, FREQUENT, CommandParameter, make_output
from mcpg.cli.search_output import result_text
from mcpg.cli.terminal import AUTO, Screen, prepare_streams, silence
from mcpg.engine.engine import Engine
from mcpg.files import is_file
from mcpg.index.file import fresh_index
from mcpg.search.model import recipe
from mcpg.search.results import SearchResult

_DEFAULT_BUNDLE = "graph.mdld"
_PLAIN = {
    *("query", "bundle", "limit", "strategy", "context", "include_disabled", "lexicon"),
    *("sources", "in_categories", "read_only", "related", "min_score", "abstain"),
    *("form", "input_schema", "quiet", "color", "context_tools", "context_summary"),
}
# Of these, the ones that are no arguments of a search.
_OTHERS = (
    *("query", "bundle", "related", "in_categories"),
    *("form", "input_schema", "quiet", "color", "context_summary"),
)
# What needs vectors needs settings to find the embedding provider.
_WITH_VECTORS = ("embeddings", "auto")
_WITH_SCHEMAS = ("json", "jsonl")
# Of more diagnostics some are folded.
_MOST_TOLD = 10


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
    code = plain_search(given) if name == "search" else None
    if code is not None:
        return code
    run = import_module(f"mcpg.cli.commands.{name}").run
    values = {one.name: given.get(one.name, one.default) for one in table}
    prepare_streams()
    output = make_output({one.name: values.pop(one.name) for one in COMMON})
    return run_guarded(lambda: int(run(output, **values)), output)


def parse(arguments: Iterable[str], table: Sequence[CommandParameter]) -> dict[str, Any]:
    """Return by name the values of those parameters of *table* that are given.

    Raises:
        _UnusualArgumentsError: Something is unknown, missing, not accepted, or given twice.
        ValueError: A value is no number where the parameter takes one.
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
    # What begins with a dash may be the next option, where a value was forgotten.
    if text[:1] in ("", "-") or (parameter.choices and text not in parameter.accepted_texts):
        raise _UnusualArgumentsError
    # Python reads the digits of every script, the whole program only those of ASCII.
    if parameter.kind is not str and not text.isascii():
        raise _UnusualArgumentsError
    value = parameter.resolve_synonym(parameter.kind(text))
    is_enough = parameter.least is None or value >= parameter.least
    if not (is_enough and (parameter.most is None or value <= parameter.most)):
        raise _UnusualArgumentsError
    return value


def _arguments(words: list[str], table: Iterable[CommandParameter]) -> dict[str, Any]:
    """Return the *words* that are no options, as the value of the argument in *table*."""
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


def plain_search(given: Mapping[str, Any]) -> int | None:
    """Answer a search that needs the index of one bundle alone, and print the matches.

    Returns:
        The exit code; `None` where more is asked for, or anything fails.
    """
    bundles, context = given.get("bundle", ()), given.get("context", "")
    query = " ".join(given.get("query", ())).strip()
    is_gated = given.get("abstain") or "min_score" in given
    if (
        not given.keys() <= _PLAIN
        or len(bundles) > 1
        or given.get("strategy") in _WITH_VECTORS
        or query == "-"
        or (is_gated and not query and not context and not given.get("context_summary"))
        or context.lstrip()[:1] in ("{", "[")
        or (given.get("input_schema") and given.get("form") not in _WITH_SCHEMAS)
    ):
        return None
    try:
        settled = {**_read_plain_settings(), **given}
        named = settled["bundle"]
        engine = _engine(named if isinstance(named, str) else named[0])
        result = engine.search(query or None, **_options(settled))
        if not given.get("related", True):
            result = result.without_related()
        printed = _laid_out(result, given)
    except Exception:  # noqa: BLE001 - whatever it is, the whole program explains it
        return None
    code = 0 if result.matches else 1
    return _print(*printed, code, given.get("color"))


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a search among the values *given* of parameters."""
    options = {name: one for name, one in given.items() if name not in _OTHERS}
    if "in_categories" in given:
        options["categories"] = given["in_categories"]
    if "context_summary" in given:
        options["context"] = [given["context_summary"], given.get("context")]
    return options


def _engine(path: str) -> Engine:
    index = fresh_index(path, recipe(), in_blocks=True)
    if index is None:  # most stand beside
        index = fresh_index(path, recipe(), cache_folder(), in_blocks=True)
    # Where the bundle's own model is not used, that is told.
    if index is None or index.has_section("model.ignored"):
        raise _UnusualArgumentsError
    return Engine(index)


def _read_plain_settings() -> dict[str, Any]:
    """Return what the environment and configuration files set, as values of parameters.

    Raises:
        _UnusualArgumentsError: A project file has settings.
        NotPlainError: Settings ask for more than a plain search.
    """
    configured, found = "", ""
    here = Path.cwd()
    for folder in (here, *here.parents):
        project = folder / "pyproject.toml"
        # Many a project depends on mcpg without settings for it; opening a pipe would wait.
        if is_file(project) and b"mcpg" in (content := project.read_bytes()):
            text = content.decode("utf-8-sig")
            tools = tomllib.loads(text).get("tool") if may_be_key("mcpg", text) else None
            if isinstance(tools, dict) and "mcpg" in tools:
                raise _UnusualArgumentsError
        if not configured and is_file(folder / "mcpg.toml"):
            configured = str(folder / "mcpg.toml")
        if not found and is_file(folder / _DEFAULT_BUNDLE):
            found = str(folder / _DEFAULT_BUNDLE)
    settled = {"bundle": found} if found else {}
    if configured or any(name[:5] == "MCPG_" for name in os.environ):
        settled |= plain_settings(configured, os.environ)
    return settled


def _laid_out(result: SearchResult, given: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what goes to standard output, and what to standard error before and after it."""
    screen, form = Screen(given.get("color", AUTO)), given.get("form", "text")
    text = result_text(result, form, screen, schemas=given.get("input_schema", False))
    if form == "json":  # which holds the diagnostics
        return text, "", ""
    is_quiet = given.get("quiet", False)
    told = [one for one in result.diagnostics if not (is_quiet and one.severity == "info")]
    if len(told) > _MOST_TOLD:
        raise _UnusualArgumentsError
    advice = ""
    if not (result.matches or is_quiet):
        is_filtered = any(map(given.get, ("sources", "in_categories", "read_only")))
        abstain, gate = given.get("abstain", False), given.get("min_score")
        advice = nothing_found_text(gate, abstain=abstain, is_filtered=is_filtered) + "\n"
    return text, "".join(map(screen.diagnostic_line, told)), advice


def _print(text: str, noticed: str, advice: str, code: int, color: str | None) -> int:
    """Print all, and return *code*; a failure is reported now, and nothing is answered anew."""
    prepare_streams()
    _tell(noticed)
    try:
        sys.stdout.write(f"{text}\n" if text else "")
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        return 0
    except OSError as fault:
        return report_error(unwritable(fault), Output(color=color or AUTO))
    _tell(advice)
    return code


def _tell(text: str) -> None:
    with suppress(OSError, AttributeError):  # full, or closed by whoever started the program
        sys.stderr.write(text)
