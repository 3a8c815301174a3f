"""A plain search: of one bundle with a fresh index, without settings and providers.

If anything prevents it, nothing has been printed yet, and the command runs as any other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcpg.cli.environment import cache_folder, may_be_key, plain_settings
from mcpg.cli.exit_codes import report_error
from mcpg.cli.matches import nothing_found_text, result_text
from mcpg.cli.output import Output, unwritable
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
    *("form", "full", "input_schema", "quiet", "color", "context_tools", "context_summary"),
}
# Of these, the options that are not arguments of a search.
_OTHERS = (
    *("query", "bundle", "related", "in_categories"),
    *("form", "full", "input_schema", "quiet", "color", "context_summary"),
)
# Options that need vectors need settings to find the embedding provider.
_WITH_VECTORS = ("embeddings", "auto")
_WITH_SCHEMAS = ("json", "jsonl")
# Of more diagnostics some are folded.
_MOST_TOLD = 10


class _UnusualSearchError(Exception):
    """Something that is left to the whole program."""


def plain_search(given: Mapping[str, Any]) -> int | None:
    """Answer a search that needs only the index of one bundle, and print the matches.

    Returns:
        The exit code; `None` if more is requested, or anything fails.
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
    except Exception:  # noqa: BLE001 - the whole program explains it
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
    if index is None:  # most are beside
        index = fresh_index(path, recipe(), cache_folder(), in_blocks=True)
    # If there is no tool, or the bundle's own model is not used, mcpg reports that.
    if index is None or not len(index) or index.has_section("model.ignored"):
        raise _UnusualSearchError
    return Engine(index)


def _read_plain_settings() -> dict[str, Any]:
    """Return the settings of the environment and configuration files, as parameters' values.

    Raises:
        _UnusualSearchError: A project file has settings.
        NotPlainError: Settings need more than a plain search.
    """
    configured, found = "", ""
    here = Path.cwd()
    for folder in (here, *here.parents):
        project = folder / "pyproject.toml"
        # Many a project depends on mcpg without settings for it; opening a pipe would wait.
        if is_file(project) and b"mcpg" in (content := project.read_bytes()):
            text = content.decode("utf-8-sig")
            if may_be_key("mcpg", text):
                import tomllib  # noqa: PLC0415 - few projects mention mcpg

                tools = tomllib.loads(text).get("tool")
                if isinstance(tools, dict) and "mcpg" in tools:
                    raise _UnusualSearchError
        if not configured and is_file(folder / "mcpg.toml"):
            configured = str(folder / "mcpg.toml")
        if not found and is_file(folder / _DEFAULT_BUNDLE):
            found = str(folder / _DEFAULT_BUNDLE)
    settled = {"bundle": found} if found else {}
    if configured or any(name[:5] == "MCPG_" for name in os.environ):
        settled |= plain_settings(configured, os.environ)
    return settled


def _laid_out(result: SearchResult, given: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the text for standard output, and texts for standard error before and after it."""
    screen, form = Screen(given.get("color", AUTO)), given.get("form", "text")
    screen.shows_all = given.get("full", False)
    text = result_text(result, form, screen, schemas=given.get("input_schema", False))
    if form == "json":  # which has the diagnostics
        return text, "", ""
    is_quiet = given.get("quiet", False)
    told = [one for one in result.diagnostics if not (is_quiet and one.severity == "info")]
    if len(told) > _MOST_TOLD:
        raise _UnusualSearchError
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
    with suppress(OSError, AttributeError):  # full, or closed by the parent process
        sys.stderr.write(text)
