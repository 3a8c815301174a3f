"""The options that commands share, each declared once."""

from __future__ import annotations

import inspect
import os
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from mcpg.cli import flags
from mcpg.cli.completion import complete_fusion, complete_provider, complete_strategy
from mcpg.cli.helptext import command_help
from mcpg.cli.output import Color, Output, OutputFormat, ReportFormat
from mcpg.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

COMMON_PANEL = "Common options"
"""Heading under which help shows the options that every command has."""

HELP_NAMES = {"help_option_names": ["-h", "--help"]}

BundlePaths = Annotated[
    list[str] | None,
    typer.Option(
        *flags.BUNDLE,
        metavar="PATH",
        show_default=False,
        help="Bundle, folder or manifest to work on; give it again to join several, of which some "
        "may be missing. Otherwise MCPG_BUNDLE, mcpg.toml, [tool.mcpg] in pyproject.toml, or "
        "graph.mdld here or in the nearest parent folder.",
    ),
]
Format = Annotated[
    OutputFormat,
    typer.Option("--format", metavar="text|json", help="What to write to standard output."),
]
Html = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        show_default=False,
        help="Write a report to look at in a browser, too: one HTML file that needs no network.",
    ),
]
Report = Annotated[
    ReportFormat,
    typer.Option(
        "--format",
        metavar="text|json|md",
        help="What to write to standard output; md is Markdown for a comment on an issue.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        *flags.LIMIT,
        metavar="N",
        help="The most matches to give, from 1 to 50. Otherwise MCPG_LIMIT, the configuration "
        "file, or 5.",
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        *flags.STRATEGY,
        metavar="NAME",
        autocompletion=complete_strategy,
        help="How to rank: graph (or markdown-ld), without a model; embeddings, by vectors alone; "
        "auto, by vectors with what the graph adds. Otherwise MCPG_STRATEGY, the configuration "
        "file, or graph.",
    ),
]
Fusion = Annotated[
    str | None,
    typer.Option(
        *flags.FUSION,
        metavar="NAME",
        autocompletion=complete_fusion,
        help="With --strategy auto, make one list of what the graph and the vectors find: learned, "
        "or rrf (reciprocal ranks). Otherwise MCPG_FUSION, the configuration file, or the order of "
        "the vectors.",
    ),
]
EmbedWith = Annotated[
    str | None,
    typer.Option(
        *flags.EMBED_WITH,
        metavar="SPEC",
        autocompletion=complete_provider,
        help="Who makes vectors: local, local:multilingual, fastembed:NAME, "
        "sentence-transformers:NAME, openai:MODEL at an endpoint, or none. Otherwise "
        "MCPG_EMBED_WITH, the configuration file, or local.",
    ),
]


class CandidateKind(StrEnum):
    """Who chooses the tools that are looked at closely."""

    LOCAL = "local"
    POSTGRES = "postgres"


CandidateSource = Annotated[
    CandidateKind | None,
    typer.Option(
        *flags.CANDIDATES,
        metavar="local|postgres",
        help="Who chooses the tools that are looked at closely: the index, or the database of "
        "MCPG_POSTGRES, where `mcpg publish` has put the bundle. Otherwise MCPG_CANDIDATES, the "
        "configuration file, or local.",
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        *flags.NORMALIZE,
        help="Have a language model rewrite the query in English, and search that as well. "
        "Otherwise MCPG_NORMALIZE, the configuration file, or no.",
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        *flags.CONTEXT,
        metavar="TEXT",
        help="What else is known, as text or as a JSON object; it counts less than the query.",
    ),
]
ContextSummary = Annotated[
    str | None,
    typer.Option(
        *flags.CONTEXT_SUMMARY,
        metavar="TEXT",
        help="What the conversation is about, beside --context; it counts less than the query.",
    ),
]
IncludeDisabled = Annotated[
    bool,
    typer.Option(*flags.INCLUDE_DISABLED, help="Offer tools that are disabled by default, too."),
]
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Manifests, OpenAPI and Markdown-LD documents, hints files, bundles, or folders of "
        "these; - reads a manifest from standard input. Or servers to ask: the configuration file "
        "of an MCP client, 'stdio:COMMAND ARGUMENT ...', or https://HOST/PATH. Or a Python module "
        "to import: python:MODULE. Otherwise what [[sources]] in mcpg.toml name.",
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="A header for a server named by https://HOST/PATH; ${VARIABLE} in it is filled in "
        "from the environment, which keeps tokens off the command line. Repeatable.",
    ),
]
ServerTimeout = Annotated[
    float | None,
    typer.Option(
        "--server-timeout",
        metavar="SECONDS",
        help="Time that each server has, from its start to its last tool. Otherwise what mcpg.toml "
        "says of it, or 30.",
    ),
]
SourceId = Annotated[
    str | None,
    typer.Option(
        "--source-id",
        metavar="NAME",
        help="Source of every tool, in place of what manifests say or are called.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Write nothing and exit 1 when there is a warning or an error."),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Write nothing; exit 1 when what is there is stale."),
]
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Write nothing; print what would change, exit 1 when it would."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace what mcpg did not write."),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=COMMON_PANEL, help="Write only data and errors."),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", rich_help_panel=COMMON_PANEL, help="Say what is done, and all warnings."
    ),
]
ColorChoice = Annotated[
    Color | None,
    typer.Option(
        "--color",
        metavar="auto|always|never",
        rich_help_panel=COMMON_PANEL,
        help="When to colour; NO_COLOR and FORCE_COLOR are heeded, too.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", rich_help_panel=COMMON_PANEL, help="Show the traceback of an error."),
]

_COMMON = {"quiet": Quiet, "verbose": Verbose, "color": ColorChoice, "debug": Debug}
_EMPTY_DEFAULTS = {"quiet": False, "verbose": False, "color": None, "debug": False}


class HelpfulCommand(TyperCommand):
    """A command whose help is plain text with examples at its foot."""

    def get_help(self, ctx: Any) -> str:
        return command_help(self, ctx.command_path)


def command(
    app: typer.Typer, name: str, *, examples: str
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and give it the common options.

    The function takes an `Output` first and returns an exit code; its docstring is the help.
    """

    def register(function: Callable[..., int]) -> Callable[..., int]:
        app.command(
            name,
            cls=HelpfulCommand,
            help=inspect.getdoc(function),
            epilog=inspect.cleandoc(examples),
            context_settings=HELP_NAMES,
        )(_with_common_options(function))
        return function

    return register


def _with_common_options(function: Callable[..., int]) -> Callable[..., int]:
    @wraps(function)
    def run(ctx: typer.Context, **values: Any) -> int:
        said = {key: values.pop(key) for key in _COMMON}
        return function(output_of(said, ctx.find_root().params), **values)

    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        *(p.replace(kind=keyword, annotation=hints[p.name]) for p in own),
        *(
            inspect.Parameter(key, keyword, annotation=kind, default=_EMPTY_DEFAULTS[key])
            for key, kind in _COMMON.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def output_of(*said: dict[str, Any]) -> Output:
    """Make the output that the first of *said* to speak about each common option asks for."""
    chosen = {key: next((s[key] for s in said if s.get(key)), None) for key in _COMMON}
    return Output(
        quiet=bool(chosen["quiet"]),
        verbose=bool(chosen["verbose"]),
        debug=bool(chosen["debug"]),
        color=chosen["color"] or Color.AUTO,
    )


def settings_of(**flags: Any) -> Settings:
    """Give the settings of this run: *flags* first, then environment and files."""
    return Settings(Path.cwd(), os.environ, flags)
