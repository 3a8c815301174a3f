"""The options that commands share, each declared once."""

from __future__ import annotations

import inspect
import os
import textwrap
from enum import Enum, StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mcpg.cli import quick
from mcpg.cli.output import Color, Output, OutputFormat, ReportFormat
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import one_line
from mcpg.engine.results import FUSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

# SECTION completion: What the shell completes: names of strategies and providers, ids of tools.


def complete_strategy(incomplete: str) -> list[str]:
    """Give the strategies that begin with *incomplete*."""
    return [name for name in ("graph", "embeddings", "auto") if name.startswith(incomplete)]


def complete_fusion(incomplete: str) -> list[str]:
    """Give the fusions that begin with *incomplete*."""
    return [name for name in FUSIONS if name.startswith(incomplete)]


def complete_provider(incomplete: str) -> list[str]:
    """Give the embedding providers, or the beginnings of their names, that begin so."""
    known = (
        *("local", "local:english", "local:multilingual"),
        *("fastembed:", "sentence-transformers:", "openai:", "none"),
    )
    return [name for name in known if name.startswith(incomplete)]


def complete_tool(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Give ids and titles of the tools whose id begins with *incomplete*."""
    from mcpg.cli.open_bundle import open_catalog  # noqa: PLC0415 - keeps completion of options quick

    try:
        tools = open_catalog(settings_of(bundle=list(ctx.params.get("bundle") or ()))).tools
    except Exception:  # noqa: BLE001 - a shell that completes must not be shouted at
        return []
    return [(t.id, one_line(t.display_name)) for t in tools if t.id.startswith(incomplete)]


# SECTION helptext: Help as plain text, one layout for the terminal and for the reference.


WIDTH = 88
"""Columns of help."""

_INDENT = 26
# Typer brings these two options; their help must not change with its version.
_TYPERS_OWN = {
    "install_completion": "Install completion for the shell in use.",
    "show_completion": "Show completion for the shell in use, to adapt or copy it.",
}


def command_help(command: Any, path: str) -> str:
    """Give the help of one command, called by *path* (`mcpg search`)."""
    options = [p for p in command.params if p.param_type_name == "option"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    sections = [
        _filled(f"Usage: {path} {_usage(arguments)}", "    "),
        command.help or "",
        _section("Arguments", [(_argument_name(p), p.help or "") for p in arguments]),
        *_option_sections(options),
        _examples(command.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def group_help(group: Any, path: str) -> str:
    """Give the help of the whole program: its commands and the options before a command."""
    commands = [(name, first_line(group.commands[name])) for name in group.commands]
    sections = [
        f"Usage: {path} [OPTIONS] COMMAND [ARGUMENTS]...",
        group.help or "",
        _section("Commands", commands),
        *_option_sections([p for p in group.params if not p.hidden]),
        _examples(group.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def first_line(command: Any) -> str:
    """Give the first line of a command's help."""
    return (command.help or "").partition("\n")[0]


def option_names(option: Any) -> str:
    """Give an option's names, short first, with the name of its value."""
    names = ", ".join(sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {option.metavar}"


def _option_sections(options: list[Any]) -> list[str]:
    headings: dict[str, list[tuple[str, str]]] = {"Options": []}
    for option in options:
        heading = getattr(option, "rich_help_panel", None) or "Options"
        headings.setdefault(heading, []).append((option_names(option), _option_text(option)))
    # Typer adds the help option by itself when it parses.
    headings[list(headings)[-1]].append(("-h, --help", "Show this help."))
    return [_section(heading, rows) for heading, rows in headings.items()]


def _option_text(option: Any) -> str:
    default = option.default.value if isinstance(option.default, Enum) else option.default
    shown = default not in (None, False, "") and not option.is_flag
    notes = "  [required]" if option.required else f"  [default: {default}]" if shown else ""
    return f"{_TYPERS_OWN.get(option.name, option.help or '')}{notes}"


def _usage(arguments: list[Any]) -> str:
    parts = ["[OPTIONS]"]
    for argument in arguments:
        name = _argument_name(argument)
        parts.append(name if argument.required else f"[{name}]")
    return " ".join(parts)


def _argument_name(argument: Any) -> str:
    return f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"


def _section(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    return "\n".join([f"{heading}:", *(_row(name, text) for name, text in rows)])


def _row(name: str, text: str) -> str:
    lead = f"  {name}"
    margin = " " * _INDENT
    if len(lead) >= _INDENT - 1:
        return f"{lead}\n{_filled(text, margin, margin)}"
    return _filled(text, margin, lead.ljust(_INDENT))


def _filled(text: str, margin: str, lead: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _examples(epilog: str | None) -> str:
    return f"Examples:\n{textwrap.indent(epilog, '  ')}" if epilog else ""


COMMON_PANEL = "Common options"
"""Heading under which help shows the options that every command has."""

HELP_NAMES = {"help_option_names": ["-h", "--help"]}

BundlePaths = Annotated[
    list[str] | None,
    typer.Option(
        *quick.BUNDLE,
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
        *quick.LIMIT,
        metavar="N",
        help="The most matches to give, from 1 to 50. Otherwise MCPG_LIMIT, the configuration "
        "file, or 5.",
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        *quick.STRATEGY,
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
        *quick.FUSION,
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
        *quick.EMBED_WITH,
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
        *quick.CANDIDATES,
        metavar="local|postgres",
        help="Who chooses the tools that are looked at closely: the index, or the database of "
        "MCPG_POSTGRES, where `mcpg publish` has put the bundle. Otherwise MCPG_CANDIDATES, the "
        "configuration file, or local.",
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        *quick.NORMALIZE,
        help="Have a language model rewrite the query in English, and search that as well. "
        "Otherwise MCPG_NORMALIZE, the configuration file, or no.",
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        *quick.CONTEXT,
        metavar="TEXT",
        help="What else is known, as text or as a JSON object; it counts less than the query.",
    ),
]
ContextSummary = Annotated[
    str | None,
    typer.Option(
        *quick.CONTEXT_SUMMARY,
        metavar="TEXT",
        help="What the conversation is about, beside --context; it counts less than the query.",
    ),
]
IncludeDisabled = Annotated[
    bool,
    typer.Option(*quick.INCLUDE_DISABLED, help="Offer tools that are disabled by default, too."),
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


# SECTION loginoptions: What `login` and `logout` are told.


LoginServer = Annotated[
    str,
    typer.Argument(
        metavar="SERVER",
        help="Its address, or what it is called in CONFIG or in [[sources]] of mcpg.toml.",
    ),
]
LoginConfiguration = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        show_default=False,
        help="The configuration file of a client that names the server.",
    ),
]

# SECTION routeoptions: The options that concern routing.


class Preferred(StrEnum):
    """Which kind of tool to prefer."""

    READ_ONLY = "read-only"
    WRITE = "write"
    NONE = "none"


Prefer = Annotated[
    Preferred | None,
    typer.Option(
        "--prefer",
        metavar="read-only|write|none",
        show_default=False,
        help="Prefer tools that read, tools that write, or neither. Otherwise the words of the "
        "query decide, by the tools of the catalogue that they stand in.",
    ),
]

# SECTION groups: Commands that hold commands.


class HelpfulGroup(TyperGroup):
    """A group of commands whose help is plain text."""

    def get_help(self, ctx: Any) -> str:
        return group_help(self, ctx.command_path)


def group(name: str, *, text: str, examples: str) -> typer.Typer:
    """Make the group of commands called *name*, which by itself shows its help.

    Args:
        name: What it is called by.
        text: What its commands are for.
        examples: Calls of its commands, one a line.
    """
    app = typer.Typer(
        name=name,
        cls=HelpfulGroup,
        help=text,
        epilog=examples,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )

    @app.callback(invoke_without_command=True)
    def show_help(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            output_of(ctx.find_root().params).text(ctx.get_help())

    return app
