"""Typer commands: made of functions, of shared parameters, and with help as plain text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import wraps
from types import GenericAlias
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mcpg.catalog.model import Tool
from mcpg.cli import parameters
from mcpg.cli.help_text import command_help, group_help, help_columns
from mcpg.cli.parameters import COMMON, LIST_FORMAT, CommandParameter, make_output
from mcpg.cli.terminal import one_line
from mcpg.engine.results import FUSIONS


class OutputFormat(StrEnum):
    """What standard output carries."""

    TEXT = "text"
    JSON = "json"


HELP_NAMES = {"help_option_names": ["-h", "--help"]}

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
CONTEXT = inspect.Parameter("ctx", _KEYWORD, annotation=typer.Context)
"""The parameter by which Typer hands over its context."""


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
    tools = _tools(ctx)
    return [(t.id, one_line(t.display_name)) for t in tools if t.id.startswith(incomplete)]


def complete_source(ctx: Any, incomplete: str) -> list[str]:
    """Return the sources that begin with *incomplete*."""
    return _beginning(incomplete, (tool.source_id for tool in _tools(ctx)))


def complete_category(ctx: Any, incomplete: str) -> list[str]:
    """Return the categories that begin with *incomplete*."""
    return _beginning(incomplete, (name for tool in _tools(ctx) for name in tool.hints.categories))


def _tools(ctx: Any) -> Sequence[Tool]:
    """Return the tools of the bundle that a command line names, none where that fails."""
    from mcpg.cli.open_bundle import open_catalog, read_settings  # noqa: PLC0415 - help needs none

    try:
        return open_catalog(read_settings(bundle=list(ctx.params.get("bundle") or ()))).tools
    except Exception:  # noqa: BLE001 - completion must not print errors into the command line
        return ()


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted({one_line(name) for name in names if name.startswith(incomplete)})


COMPLETIONS = {
    "strategy": complete_strategy,
    "fusion": complete_fusion,
    "provider": complete_provider,
    "tool": complete_tool,
    "source": complete_source,
    "category": complete_category,
}
"""What a shell completes values from."""


def make_annotation(parameter: CommandParameter) -> Any:
    """Return what stands for *parameter* in the annotation of a function that Typer calls."""
    shared: Any = {
        "metavar": parameter.metavar or None,
        "help": parameter.help,
        "min": parameter.least,
        "max": parameter.most,
        "autocompletion": COMPLETIONS.get(parameter.completion),
        "show_default": False,
    }
    return typer.Option(*parameter.flags, **shared) if parameter.flags else typer.Argument(**shared)


BundlePaths = Annotated[list[str] | None, make_annotation(parameters.BUNDLE)]
Format = Annotated[OutputFormat, make_annotation(parameters.FORMAT)]
ListFormat = Annotated[
    Literal["text", "json", "jsonl", "csv", "ids", "markdown", "md"],
    make_annotation(parameters.LIST_FORMAT),
]
Html = Annotated[str | None, make_annotation(parameters.HTML)]
StrategyName = Annotated[str | None, make_annotation(parameters.STRATEGY)]
Fusion = Annotated[str | None, make_annotation(parameters.FUSION)]
EmbedWith = Annotated[str | None, make_annotation(parameters.EMBED_WITH)]
CandidateSource = Annotated[
    Literal["local", "postgres"] | None, make_annotation(parameters.CANDIDATES)
]
Normalize = Annotated[bool | None, make_annotation(parameters.NORMALIZE)]
Lexicon = Annotated[bool | None, make_annotation(parameters.LEXICON)]
IncludeDisabled = Annotated[bool, make_annotation(parameters.INCLUDE_DISABLED)]
BaseIri = Annotated[
    str | None,
    typer.Option(
        "--base-iri",
        metavar="IRI",
        show_default=False,
        help="What the IRIs of tools, groups, sources and labels begin with. [default: urn:mcpg:]",
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="A file or folder, a client configuration, 'stdio:COMMAND ...', https://HOST/PATH, "
        "python:MODULE, code:PATH, or - for standard input. [default: the sources in mcpg.toml]",
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="A header for servers named by https://HOST/PATH; ${VARIABLE} in it is filled in "
        "from the environment. Repeatable.",
    ),
]
CallHeader = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="A header for servers named by https://HOST/PATH, or for the server that the one "
        "OpenAPI document names; ${VARIABLE} in it is filled in from the environment. Repeatable.",
    ),
]
AllowPrivate = Annotated[
    bool,
    typer.Option(
        "--allow-private",
        help="Call loopback, private and link-local addresses that OpenAPI documents name.",
    ),
]
ServerTimeout = Annotated[
    float | None,
    typer.Option(
        "--server-timeout",
        metavar="SECONDS",
        help="Per-server timeout in seconds. [default: 30]",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        help="Number of processes. [default: one per processor; 1 below 3,000 tools]",
    ),
]
SourceId = Annotated[
    str | None,
    typer.Option(
        "--source-id",
        metavar="NAME",
        help="Source id of all tools, in place of their own.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Write nothing and exit 1 on a warning or an error."),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Leave out the tools of sources that fail, in place of keeping those of the last "
        "build.",
    ),
]
Locked = Annotated[
    bool | None,
    typer.Option(
        "--locked/--no-locked",
        help="Hold the tools to the lock file, which `mcpg lock` writes.",
    ),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Write nothing; exit 1 when the output is out of date."),
]
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Write nothing; print the changes, and exit 1 when there are any."),
]
Watch = Annotated[bool, make_annotation(parameters.WATCH)]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that mcpg did not write."),
]


class _ShowsHelp:
    """Shows help as any other output, and has usage errors name the command.

    So a reader who goes away is no error.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as fault:
            if getattr(fault, "ctx", ctx) is None:  # the parser does not know the command
                fault.ctx = ctx  # type: ignore[attr-defined]
            raise

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.callback = _show_help
        return option


def _show_help(ctx: typer.Context, _option: Any, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        make_output().text(ctx.get_help())
        raise typer.Exit


class HelpfulCommand(_ShowsHelp, TyperCommand):
    """A command whose help is plain text with examples at its foot."""

    def get_help(self, ctx: Any) -> str:
        return command_help(self, ctx.command_path, help_columns())


def command(
    app: typer.Typer,
    name: str,
    *,
    examples: str,
    more: str = "",
    table: Sequence[CommandParameter] = (),
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and add the common options.

    The function takes an `Output` first and returns an exit code; its docstring is the help.

    Args:
        app: Where it is registered.
        name: Name of the command.
        examples: Calls of it, one a line.
        more: The page of the documentation that has more about it.
        table: What it takes, in the order of help; without it, what its annotations declare.
    """

    def register(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(ctx: typer.Context, **values: Any) -> int:
            common = {one.name: values.pop(one.name) for one in COMMON}
            if "form" in values:
                values["form"] = LIST_FORMAT.resolve_synonym(values["form"])
            return function(make_output(common, ctx.find_root().params), **values)

        own = [keyword(one) for one in table] or _read_parameters(function)
        declare(run, (CONTEXT, *own, *map(keyword, COMMON)))
        app.command(
            name,
            cls=HelpfulCommand,
            help=inspect.getdoc(function),
            epilog=inspect.cleandoc(examples) + (f"\n\nMore: {more}" if more else ""),
            context_settings=HELP_NAMES,
        )(run)
        return function

    return register


def declare(function: Callable[..., Any], own: Sequence[inspect.Parameter]) -> None:
    """Have Typer read *own* as the parameters of *function*."""
    function.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in own}


def _read_parameters(function: Callable[..., int]) -> list[inspect.Parameter]:
    """Return the parameters of *function* after the first, with their annotations evaluated."""
    hints = get_type_hints(function, include_extras=True)
    _output, *own = inspect.signature(function).parameters.values()
    return [one.replace(kind=_KEYWORD, annotation=hints[one.name]) for one in own]


def keyword(parameter: CommandParameter) -> inspect.Parameter:
    """Return *parameter* as one that Typer reads."""
    kind: Any = Literal[parameter.accepted_texts] if parameter.choices else parameter.kind
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
        annotation=Annotated[kind, make_annotation(parameter)],
    )


class HelpfulGroup(_ShowsHelp, TyperGroup):
    """A group of commands whose help is plain text."""

    def get_help(self, ctx: Any) -> str:
        return group_help(self, ctx.command_path, help_columns())

    def summary(self, name: str) -> str:
        """Return the first line of the help of the command *name*."""
        return (self.commands[name].help or "").partition("\n")[0]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that *args* name; `help COMMAND` is `COMMAND --help`."""
        if args[:1] != ["help"]:
            return super().resolve_command(ctx, args)
        words = [word for word in args[1:] if word not in HELP_NAMES["help_option_names"]]
        if words in ([], ["help"]):
            make_output(ctx.find_root().params).text(ctx.get_help())
            raise typer.Exit
        name, found, rest = super().resolve_command(ctx, words)
        return name, found, [*rest, "--help"]


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
            make_output(ctx.find_root().params).text(ctx.get_help())

    return app
