"""The quick way through a plain `mcpg search`.

A cold process spends most of its time importing. A plain search of a bundle whose index is fresh
needs little of what the whole program needs, so it is answered here, by the same engine and the
same view. Whatever is unusual (another command, an option this page does not know, a
configuration file, a mistake, a missing or stale index, anything that fails) is left to the whole
program: nothing has been printed by then.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mcpg.engine.engine import Engine
    from mcpg.engine.results import SearchResult

# SECTION flags: The spellings of the options that a search takes: the one place that both parsers
# read.


BUNDLE = ("--bundle", "-b")
LIMIT = ("--limit", "-n")
STRATEGY = ("--strategy",)
CONTEXT = ("--context",)
CONTEXT_SUMMARY = ("--context-summary",)
INCLUDE_DISABLED = ("--include-disabled",)
FUSION = ("--fusion",)
EMBED_WITH = ("--embed-with",)
CANDIDATES = ("--candidates",)
NORMALIZE = ("--normalize/--no-normalize",)

_VALUES = {
    name: option
    for option, names in (
        ("bundle", BUNDLE),
        ("limit", LIMIT),
        ("strategy", STRATEGY),
        ("context", CONTEXT),
    )
    for name in names
}
_SWITCHES = dict.fromkeys(INCLUDE_DISABLED, "include_disabled")
_DEFAULT_BUNDLE = "graph.mdld"
# What needs vectors needs the whole program to find who makes them.
_WITH_VECTORS = ("embeddings", "auto")
_FOREIGN_VARIABLES = (
    "MCPG_LIMIT",
    "MCPG_STRATEGY",
    "MCPG_FUSION",
    "MCPG_CANDIDATES",
    "MCPG_NORMALIZE",
    "MCPG_TELEMETRY",
    "_MCPG_COMPLETE",
)


class _UnusualError(Exception):
    """Something that the whole program has to look at."""


def quick_search(arguments: Sequence[str]) -> int | None:
    """Answer a plain search and give the exit code; `None` when it is not plain."""
    if arguments[:1] != ["search"] or any(map(os.environ.get, _FOREIGN_VARIABLES)):
        return None
    try:
        asked, options = _parse(arguments[1:])
        engine = _engine(options.pop("bundle", None))
        text, noticed = _lay_out(engine.search(asked or None, **options))
    except Exception:  # noqa: BLE001 - whatever it is, the whole program explains it
        return None
    return _print(text, noticed)


def _parse(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Part query words from options.

    Raises:
        _UnusualError: An option is unknown, given twice, or lacks its value.
    """
    words: list[str] = []
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        name, _, value = argument.partition("=") if argument[:2] == "--" else (argument, "", "")
        if name in _VALUES:
            option = _VALUES[name]
            given: Any = value if "=" in argument else next(rest, None)
        elif argument in _SWITCHES:
            option, given = _SWITCHES[argument], True
        elif argument[:1] == "-":
            raise _UnusualError
        else:
            words.append(argument)
            continue
        is_json = option == "context" and str(given).lstrip()[:1] in ("{", "[")
        if option in options or not given or is_json:
            raise _UnusualError
        options[option] = int(given) if option == "limit" else given
    if options.get("strategy") in _WITH_VECTORS:
        raise _UnusualError
    return " ".join(words).strip(), options


def _engine(named: str | None) -> Engine:
    from mcpg.cli.folders import cache_folder  # noqa: PLC0415 - only once words are understood
    from mcpg.engine.engine import Engine  # noqa: PLC0415
    from mcpg.engine.model import recipe  # noqa: PLC0415 - as above
    from mcpg.index.file import fresh_index  # noqa: PLC0415

    index = fresh_index(_bundle(named), recipe(), cache_folder())
    # Where the bundle's own model is not used, that is told.
    if index is None or index.has_section("model.ignored"):
        raise _UnusualError
    return Engine(index)


def _bundle(named: str | None) -> str:
    """Find the bundle as the settings do, where no configuration file has a say.

    A configuration holds more than the name of a bundle, so it is looked for in any case.

    Raises:
        _UnusualError: A configuration file may have a say, or nothing is found.
    """
    folder, found = os.getcwd(), ""  # noqa: PTH109 - pathlib costs more than the search
    while True:
        if _is_configured(folder):
            raise _UnusualError
        candidate = folder + os.sep + _DEFAULT_BUNDLE
        if not found and os.path.isfile(candidate):  # noqa: PTH113 - as above
            found = candidate
        parent = os.path.dirname(folder)  # noqa: PTH120 - as above
        if parent == folder:
            break
        folder = parent
    bundle = named or os.environ.get("MCPG_BUNDLE") or found
    if not bundle:
        raise _UnusualError
    return bundle


def _is_configured(folder: str) -> bool:
    """Say whether a configuration file in *folder* may say something."""
    if os.path.exists(folder + os.sep + "mcpg.toml"):  # noqa: PTH110 - as above
        return True
    try:
        with open(folder + os.sep + "pyproject.toml", "rb") as file:  # noqa: PTH123 - as above
            project = file.read()
    except FileNotFoundError:
        return False
    # Many a project depends on mcpg without settings for it.
    return b"mcpg" in project and _has_settings(project)


def _has_settings(project: bytes) -> bool:
    import tomllib  # noqa: PLC0415 - few projects mention mcpg

    tools = tomllib.loads(project.decode("utf-8-sig")).get("tool")
    return isinstance(tools, dict) and "mcpg" in tools


def _lay_out(result: SearchResult) -> tuple[str, str]:
    """Return what goes to standard output, and what to standard error.

    Raises:
        _UnusualError: Nothing is found.
    """
    from mcpg.cli.terminal import Screen  # noqa: PLC0415 - as above
    from mcpg.cli.views.matches import search_text  # noqa: PLC0415

    screen = Screen()
    text = search_text(result, screen)
    if not text:
        raise _UnusualError
    return text, "".join(map(screen.diagnostic_line, result.diagnostics))


def _print(text: str, noticed: str) -> int:
    """Print both; from here on a failure is reported, and nothing is answered anew."""
    from mcpg.cli.terminal import prepare_streams, silence  # noqa: PLC0415 - as above

    prepare_streams()
    try:  # noqa: SIM105 - `suppress` costs more than the search
        sys.stderr.write(noticed)
    except (OSError, AttributeError):  # full, or closed by whoever started the program
        pass
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as fault:
        from mcpg.cli.exits import explained  # noqa: PLC0415 - few outputs cannot be written
        from mcpg.cli.output import Output, unwritable  # noqa: PLC0415

        return explained(unwritable(fault), Output())
    return 0
