"""Typer commands: made of functions, of shared parameters, and with help as plain text."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from enum import Enum
from functools import wraps
from types import GenericAlias
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mcpg.cli import parameters
from mcpg.cli.output import OutputFormat
from mcpg.cli.parameters import COMMON, Parameter, output_of
from mcpg.cli.terminal import one_line
from mcpg.engine.results import FUSIONS

WIDTH = 88
"""Columns of help."""

COMMON_PANEL = "Common options"
"""Heading under which help shows the options that every command has."""

HELP_NAMES = {"help_option_names": ["-h", "--help"]}

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
CONTEXT = inspect.Parameter("ctx", _KEYWORD, annotation=typer.Context)
"""The parameter by which Typer hands over its context."""

_INDENT = 26
# Typer brings these two options; their help must not change with its version.
_TYPERS_OWN = {
    "install_completion": "Install completion for the shell in use.",
    "show_completion": "Show completion for the shell in use, to adapt or copy it.",
}


def complete_strategy(incomplete: str) -> list[str]:
    """Return the strategies that begin with *incomplete*."""
    return [name for name in ("graph", "embeddings", "auto") if name.startswith(incomplete)]


def complete_fusion(incomplete: str) -> list[str]:
    """Return the fusion schemes that begin with *incomplete*."""
    return [name for name in FUSIONS if name.startswith(incomplete)]


def complete_provider(incomplete: str) -> list[str]:
    """Return the embedding providers that begin with *incomplete*."""
    known = (
        *("local", "local:english", "local:multilingual"),
        *("fastembed:", "sentence-transformers:", "openai:", "none"),
    )
    return [name for name in known if name.startswith(incomplete)]


def complete_tool(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return ids and titles of the tools whose id begins with *incomplete*."""
    from mcpg.cli.open_bundle import open_catalog, settings_of  # noqa: PLC0415 - help needs none

    try:
        tools = open_catalog(settings_of(bundle=list(ctx.params.get("bundle") or ()))).tools
    except Exception:  # noqa: BLE001 - completion must not print errors into the command line
        return []
    return [(t.id, one_line(t.display_name)) for t in tools if t.id.startswith(incomplete)]


COMPLETIONS = {
    "strategy": complete_strategy,
    "fusion": complete_fusion,
    "provider": complete_provider,
    "tool": complete_tool,
}
"""What a shell completes values from."""


def typed(parameter: Parameter) -> Any:
    """Return what stands for *parameter* in the annotation of a function that Typer calls."""
    shared: Any = {
        "metavar": parameter.metavar or None,
        "help": parameter.help,
        "min": parameter.least,
        "max": parameter.most,
        "autocompletion": COMPLETIONS.get(parameter.completion),
        "show_default": False,
        "rich_help_panel": COMMON_PANEL if parameter.is_common else None,
    }
    return typer.Option(*parameter.flags, **shared) if parameter.flags else typer.Argument(**shared)


BundlePaths = Annotated[list[str] | None, typed(parameters.BUNDLE)]
Format = Annotated[OutputFormat, typed(parameters.FORMAT)]
Html = Annotated[str | None, typed(parameters.HTML)]
StrategyName = Annotated[str | None, typed(parameters.STRATEGY)]
Fusion = Annotated[str | None, typed(parameters.FUSION)]
EmbedWith = Annotated[str | None, typed(parameters.EMBED_WITH)]
CandidateSource = Annotated[Literal["local", "postgres"] | None, typed(parameters.CANDIDATES)]
Normalize = Annotated[bool | None, typed(parameters.NORMALIZE)]
Lexicon = Annotated[bool | None, typed(parameters.LEXICON)]
IncludeDisabled = Annotated[bool, typed(parameters.INCLUDE_DISABLED)]
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Manifests, OpenAPI and Markdown-LD documents, hints files, bundles, or folders of "
        "these; - reads a manifest from standard input. Or servers to query: the configuration "
        "file "
        "of an MCP client, 'stdio:COMMAND ARGUMENT ...', or https://HOST/PATH. Or a Python module "
        "to import: python:MODULE. Or source code: code:PATH. Otherwise what [[sources]] in "
        "mcpg.toml name.",
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
        help="Per-server timeout in seconds. Otherwise the one in mcpg.toml, or 30.",
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
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Leave out the tools of sources that fail; otherwise they are kept from the last "
        "build, and marked stale.",
    ),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Write nothing; exit 1 when what is there is stale."),
]
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Write nothing; print what would change, exit 1 when it would."),
]
Watch = Annotated[bool, typed(parameters.WATCH)]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace what mcpg did not write."),
]


class _ShowsHelp:
    """Shows help as any other output, so that a reader who goes away is no error."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.callback = _show_help
        return option


def _show_help(ctx: typer.Context, _option: Any, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        output_of().text(ctx.get_help())
        raise typer.Exit


class HelpfulCommand(_ShowsHelp, TyperCommand):
    """A command whose help is plain text with examples at its foot."""

    def get_help(self, ctx: Any) -> str:
        return command_help(self, ctx.command_path)


def command(
    app: typer.Typer, name: str, *, examples: str, table: Sequence[Parameter] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and add the common options.

    The function takes an `Output` first and returns an exit code; its docstring is the help.

    Args:
        app: Where it is registered.
        name: Name of the command.
        examples: Calls of it, one a line.
        table: What it takes, in the order of help; without it, what its annotations declare.
    """

    def register(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(ctx: typer.Context, **values: Any) -> int:
            common = {one.name: values.pop(one.name) for one in COMMON}
            return function(output_of(common, ctx.find_root().params), **values)

        own = [keyword(one) for one in table] or _annotated(function)
        declare(run, (CONTEXT, *own, *map(keyword, COMMON)))
        app.command(
            name,
            cls=HelpfulCommand,
            help=inspect.getdoc(function),
            epilog=inspect.cleandoc(examples),
            context_settings=HELP_NAMES,
        )(run)
        return function

    return register


def declare(function: Callable[..., Any], own: Sequence[inspect.Parameter]) -> None:
    """Have Typer read *own* as the parameters of *function*."""
    function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in own}


def _annotated(function: Callable[..., int]) -> list[inspect.Parameter]:
    """Return the parameters of *function* after the first, with their annotations evaluated."""
    hints = get_type_hints(function, include_extras=True)
    _output, *own = inspect.signature(function).parameters.values()
    return [one.replace(kind=_KEYWORD, annotation=hints[one.name]) for one in own]


def keyword(parameter: Parameter) -> inspect.Parameter:
    """Return *parameter* as one that Typer reads."""
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.kind
    if parameter.repeats:
        kind = GenericAlias(list, (kind,))
    elif parameter.arity > 1:
        kind = GenericAlias(tuple, (kind,) * parameter.arity)
    if parameter.default is None and not parameter.is_required:
        kind |= None
    return inspect.Parameter(
        parameter.name,
        _KEYWORD,
        default=inspect.Parameter.empty if parameter.is_required else parameter.default,
        annotation=Annotated[kind, typed(parameter)],
    )


class HelpfulGroup(_ShowsHelp, TyperGroup):
    """A group of commands whose help is plain text."""

    def get_help(self, ctx: Any) -> str:
        return group_help(self, ctx.command_path)

    def summary(self, name: str) -> str:
        """Return the first line of the help of the command *name*."""
        return (self.commands[name].help or "").partition("\n")[0]


def group(name: str, *, text: str, examples: str) -> typer.Typer:
    """Return the group of commands *name*, which by itself shows its help."""
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


def command_help(command: Any, path: str) -> str:
    """Return the help of one command, called by *path* (`mcpg search`)."""
    options = [p for p in command.params if p.param_type_name == "option"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    sections = [
        _filled(f"Usage: {path} {_usage(arguments)}", "    "),
        command.help or "",
        _section("Arguments", [(f"{p.metavar}{_repeats(p)}", p.help or "") for p in arguments]),
        *_option_sections(options),
        _examples(command.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def group_help(group: Any, path: str) -> str:
    """Return the help of the whole program: its commands and the options before a command."""
    commands = [(name, group.summary(name)) for name in group.commands]
    sections = [
        f"Usage: {path} [OPTIONS] COMMAND [ARGUMENTS]...",
        group.help or "",
        _section("Commands", commands),
        *_option_sections([p for p in group.params if not p.hidden]),
        _examples(group.epilog),
    ]
    return "\n\n".join(section for section in sections if section)


def option_names(option: Any) -> str:
    """Return an option's names, short first, with the name of its value."""
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
        name = argument.metavar if argument.required else f"[{argument.metavar}]"
        parts.append(f"{name}{_repeats(argument)}")
    return " ".join(parts)


def _repeats(argument: Any) -> str:
    return "..." if argument.nargs != 1 else ""


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
