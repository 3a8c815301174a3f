"""Typer commands: made of functions, of shared parameters, and with help as plain text."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum, StrEnum
from functools import wraps
from types import GenericAlias
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mcpg.catalog.model import Tool
from mcpg.cli import parameters
from mcpg.cli.output import Output
from mcpg.cli.parameters import COMMON, LIST_FORMAT, CommandParameter, make_output
from mcpg.cli.terminal import Screen, cut, either, is_terminal, one_line
from mcpg.errors import UsageError
from mcpg.search.results import FUSIONS
from mcpg.text.library_errors import pydantic_expected
from mcpg.text.spelling import suggest

WIDTH = 80
"""Columns of help in a pipe, and on the reference page."""

WIDEST, NARROWEST = 100, 40
"""Most and fewest columns of help on a terminal."""

HEADINGS = {
    "Sources": (
        *("--source-id", "--header", "--allow-private", "--server-timeout"),
        "--allow-missing",
    ),
    "Filters": (
        *("--source", "--category", "--read-only", "--include-disabled", "--min-score"),
        *("--abstain", "--language", "--branch", "--repository", "--path"),
    ),
    "Ranking": (
        *("--strategy", "--fusion", "--embed-with", "--candidates", "--rewrite", "--lexicon"),
        *("--context", "--context-summary", "--context-tool", "--prefer"),
    ),
    "Checks": ("--check", "--diff", "--strict", "--baseline", "--min", "--max", "--max-drop"),
    "HTTP": ("--http", "--stdio", "--allow-host", "--max-requests", "--max-sessions"),
    "Output": (
        *(
            "--output",
            "--format",
            "--full",
            "--input-schema",
            "--as",
            "--deferred",
            "--strict-schemas",
            "--related",
            "--html",
            "--force",
            "--explain",
            "--route",
            "--timings",
        ),
        *("--worst", "--all", "--document", "--jsonl"),
    ),
    "Common options": ("--quiet", "--verbose", "--color", "--debug", "--help"),
}
"""Options by their heading in the help; all others are under `Options`."""

_OTHERS = "Options"
_HEADING_OF = {name: heading for heading, names in HEADINGS.items() for name in names}
# Typer brings these two options; their help must not change with its version.
_TYPERS_OWN = {
    "install_completion": "Install completion for the shell in use.",
    "show_completion": "Show completion for the shell in use, to adapt or copy it.",
}
_INDENT = 26
_NOTE = re.compile(r"\[(?:default|env): [^\]]*\]|`[^`]+`")
# Below this width, the text of an option is under its name.
_TWO_COLUMNS = 72
_STACKED_INDENT = 6


def command_help(command: Any, path: str, columns: int = WIDTH) -> str:
    """Return the help of one command, called by *path* (`mcpg search`)."""
    return _join_sections(
        _usage(command, path, columns),
        _paragraphs(command.help or "", columns),
        section("Arguments", argument_rows(command), columns),
        *option_sections(options_among(command), columns),
        _examples(command.epilog),
    )


def group_help(group: Any, path: str, columns: int = WIDTH) -> str:
    """Return the help of the whole program: its commands and the options before a command."""
    commands = [(name, group.summary(name)) for name in group.commands]
    program, *above = path.split()
    indent = max(len(name) for name, _ in commands) + 5
    return _join_sections(
        f"Usage: {path} [OPTIONS] COMMAND [ARGUMENTS]...",
        _paragraphs(group.help or "", columns),
        section("Commands", commands, columns, indent),
        *option_sections([p for p in group.params if not p.hidden], columns),
        _examples(group.epilog),
        f"More: `{' '.join((program, 'help', *above))} COMMAND`",
    )


def _usage(command: Any, path: str, columns: int) -> str:
    arguments = (p for p in command.params if p.param_type_name == "argument")
    names = (
        f"{one.metavar if one.required else f'[{one.metavar}]'}{'...' if one.nargs != 1 else ''}"
        for one in arguments
    )
    return _fill_text(" ".join([f"Usage: {path} [OPTIONS]", *names]), columns, "    ")


def _join_sections(*sections: str) -> str:
    return "\n\n".join(section for section in sections if section)


def argument_rows(command: Any) -> list[tuple[str, str]]:
    """Return the name and the text of each argument of *command*."""
    arguments = (p for p in command.params if p.param_type_name == "argument")
    return [(f"{p.metavar}{'...' if p.nargs != 1 else ''}", p.help or "") for p in arguments]


def options_among(command: Any) -> list[Any]:
    """Return the options of *command*, without its arguments."""
    return [one for one in command.params if one.param_type_name == "option"]


def option_row(option: Any) -> tuple[str, str]:
    """Return the names of *option*, short first, with its value's name; and its text."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        names = "/".join([names, *option.secondary_opts])
    else:
        names = f"{names} {option.metavar}"
    default = option.default.value if isinstance(option.default, Enum) else option.default
    text = _TYPERS_OWN.get(option.name, option.help or "")
    if option.required:
        text += " [required]"
    elif default not in (None, False, "") and not option.is_flag:
        shown = f"{default:g}" if isinstance(default, float) else default
        text += f" [default: {shown}]"
    return names, text


def option_sections(options: Iterable[Any], columns: int) -> Iterable[str]:
    """Return the rows of *options* below their headings."""
    rows: dict[str, list[tuple[str, str]]] = {_OTHERS: [], **{name: [] for name in HEADINGS}}
    for option in options:
        heading = next((_HEADING_OF[name] for name in option.opts if name in _HEADING_OF), _OTHERS)
        rows[heading].append(option_row(option))
    # Typer adds the help option by itself when it parses.
    rows[_HEADING_OF["--help"]].append(("-h, --help", "Show this help."))
    return [section(heading, ours, columns) for heading, ours in rows.items()]


def section(heading: str, rows: list[tuple[str, str]], columns: int, indent: int = _INDENT) -> str:
    """Return *rows* below their *heading*, or nothing without rows."""
    if not rows:
        return ""
    is_stacked = columns < _TWO_COLUMNS and indent == _INDENT
    margin = " " * (_STACKED_INDENT if is_stacked else indent)
    lines = [f"{heading}:"]
    for name, text in rows:
        lead = f"  {name}"
        if is_stacked or len(lead) >= indent - 1:
            lines += [lead, _fill_text(text, columns, margin, margin)]
        else:
            lines.append(_fill_text(text, columns, margin, lead.ljust(indent)))
    return "\n".join(lines)


def _paragraphs(text: str, columns: int) -> str:
    return "\n\n".join(_fill_text(" ".join(one.split()), columns) for one in text.split("\n\n"))


def _fill_text(text: str, columns: int, margin: str = "", lead: str = "") -> str:
    # A note such as [default: 5] stays in one piece.
    lines = textwrap.wrap(
        _NOTE.sub(lambda note: note[0].replace(" ", "\0"), text),
        columns,
        initial_indent=lead,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


def _examples(epilog: str | None) -> str:
    """Return the examples of an *epilog*, and its further text below an empty line."""
    examples, _, more = (epilog or "").partition("\n\n")
    shown = f"Examples:\n{textwrap.indent(examples, '  ')}" if examples else ""
    return _join_sections(shown, more)


_SHOWN, _LONGEST = 60, 160
_OWN = "Value error, "
_QUOTED = re.compile(r"'([^']*)'")
_CHOICE = re.compile(r"(.*) is not one of (.*)", re.DOTALL)
_PATTERNS = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"Option '(.+?)' requires an argument.*", r"\1 needs a value"),
        (r"Option '(.+?)' requires (\d+) arguments.*", r"\1 needs \2 values"),
        (r"Option '(.+?)' does not take a value.*", r"\1 takes no value"),
        (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)\.?", r"unexpected argument '\1'"),
    )
)
_UNKNOWN_COMMAND = re.compile(r"(No such command '(.*?)')\..*", re.DOTALL)


def command_path(fault: Any) -> str:
    """Return the command that a usage error is about, such as `mcpg search`."""
    context = getattr(fault, "ctx", None)
    return context.command_path if context is not None else "mcpg"


def usage_words(fault: Any) -> tuple[str, str]:
    """Return the mistake in a command line, and the remedy."""
    see_help = f"see `{command_path(fault)} --help`"
    if hasattr(fault, "possibilities"):
        known = [one for it in fault.ctx.command.params for one in (*it.opts, *it.secondary_opts)]
        begun = [one for one in known if one.startswith(fault.option_name)]
        near = begun[:2] or suggest(fault.option_name, known, 2)
        return _sentence(fault.message), f"did you mean {either(near)}?" if near else see_help
    if getattr(fault, "param", None) is not None:
        return _wrong_value(fault, see_help)
    message = one_line(str(fault.format_message()))
    for pattern, words in _PATTERNS:
        if (found := pattern.fullmatch(message)) is not None:
            return cut(found.expand(words), _LONGEST), see_help
    if (found := _UNKNOWN_COMMAND.fullmatch(message)) is not None:
        near = suggest(found[2], fault.ctx.command.list_commands(fault.ctx), 2)
        return _sentence(found[1]), f"did you mean {either(near)}?" if near else see_help
    return _sentence(message), see_help


def _wrong_value(fault: Any, see_help: str) -> tuple[str, str]:
    parameter, message = fault.param, str(fault.message or "")
    is_option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if is_option else parameter.metavar or parameter.name
    if not message:
        return f"missing {'option' if is_option else 'argument'} {name}", see_help
    choice = _CHOICE.fullmatch(message.removeprefix(_OWN))
    if choice is not None:
        value, known = choice[1].strip("'\""), _QUOTED.findall(choice[2])
        near = suggest(value, known)
        advice = f"did you mean {LIST_FORMAT.resolve_synonym(near[0])}?" if near else see_help
        named = [one for one in known if LIST_FORMAT.resolve_synonym(one) not in {*known} - {one}]
        given = repr(cut(one_line(value), _SHOWN))
        what = f"{name} cannot be {given}" if is_option else f"unknown argument {given}"
        return f"{what}: use {either(named)}", advice
    cause = fault.__cause__
    wrong = cause.errors()[0] if hasattr(cause, "errors") else {"type": ""}
    expected = pydantic_expected(wrong)
    if expected:
        found = cut(one_line(str(wrong["input"])), _SHOWN)
        return f"{name} needs {expected}, found {found!r}", see_help
    return f"{name}: {_sentence(message)}", see_help


def _sentence(text: str) -> str:
    text = text.replace(_OWN, "")
    return text[:1].lower() + text[1:].rstrip(".")


class OutputFormat(StrEnum):
    """The format of standard output."""

    TEXT = "text"
    JSON = "json"


HELP_NAMES = {"help_option_names": ["-h", "--help"]}

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
CONTEXT = inspect.Parameter("ctx", _KEYWORD, annotation=typer.Context)
"""The parameter by which Typer hands over its context."""


def choose_queries(argument: str | None, option: str | None) -> str:
    """Return the file of judged queries that an *argument* or else an *option* names."""
    named = [one for one in (argument, option) if one is not None]
    if len(named) == 1:
        return named[0]
    message = f"{'two files' if named else 'no file'} of judged queries"
    raise UsageError(message, place="QUERIES", remedy="name one, as QUERIES or with --queries FILE")


def _complete_from(known: Sequence[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def _complete_from_tools(
    list_names: Callable[[Tool], Iterable[str]],
) -> Callable[[Any, str], list[str]]:
    def complete(ctx: Any, incomplete: str) -> list[str]:
        names = (name for tool in _tools(ctx) for name in list_names(tool))
        return sorted({one_line(name) for name in names if name.startswith(incomplete)})

    return complete


def complete_tool(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return ids and titles of the tools with an id that begins with *incomplete*."""
    tools = _tools(ctx)
    return [(t.id, one_line(t.display_name)) for t in tools if t.id.startswith(incomplete)]


def _tools(ctx: Any) -> Sequence[Tool]:
    """Return the tools of the bundle that a command line names, none if that fails."""
    from mcpg.cli.open_bundle import open_catalog, read_settings  # noqa: PLC0415 - help needs none

    try:
        return open_catalog(read_settings(bundle=list(ctx.params.get("bundle") or ()))).tools
    except Exception:  # noqa: BLE001 - completion must not print errors into the command line
        return ()


PROVIDERS = (
    *("local", "local:english", "local:multilingual"),
    *("fastembed:", "sentence-transformers:", "openai:", "none"),
)

COMPLETIONS: Mapping[str, Callable[..., Any]] = {
    "strategy": _complete_from(("graph", "embeddings", "auto")),
    "fusion": _complete_from(tuple(FUSIONS)),
    "provider": _complete_from(PROVIDERS),
    "tool": complete_tool,
    "source": _complete_from_tools(lambda tool: (tool.source_id,)),
    "category": _complete_from_tools(lambda tool: tool.hints.categories),
}
"""The source of a shell's completions."""


def option(flags: str, text: str, metavar: str | None = None, **more: Any) -> Any:
    """Return the annotation of an option with the names *flags*, which blanks separate."""
    return typer.Option(*flags.split(), help=text, metavar=metavar, show_default=False, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Return the annotation of an argument."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, **more)


def make_annotation(parameter: CommandParameter) -> Any:
    """Return the form of *parameter* in the annotation of a function that Typer calls."""
    complete: Any = COMPLETIONS.get(parameter.completion)
    more = {"min": parameter.least, "max": parameter.most, "autocompletion": complete}
    if not parameter.flags:
        return argument(parameter.metavar, parameter.help, **more)
    return option(" ".join(parameter.flags), parameter.help, parameter.metavar or None, **more)


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
Rewrite = Annotated[bool | None, make_annotation(parameters.REWRITE)]
Lexicon = Annotated[bool | None, make_annotation(parameters.LEXICON)]
IncludeDisabled = Annotated[bool, make_annotation(parameters.INCLUDE_DISABLED)]
BaseIri = Annotated[
    str | None,
    option(
        "--base-iri",
        "Beginning of the IRIs of tools, groups, sources and labels. [default: urn:mcpg:]",
        "IRI",
    ),
]
Sources = Annotated[
    list[str] | None,
    argument(
        "SOURCE",
        "A file or folder, a client configuration, 'stdio:COMMAND ...', https://HOST/PATH, "
        "python:MODULE, code:PATH, or - for standard input. [default: the sources in mcpg.toml]",
    ),
]
SourceBundles = Annotated[
    list[str] | None,
    option("--bundle -b", "Another SOURCE, such as a bundle. Repeatable.", "PATH"),
]
Queries = Annotated[str | None, option("--queries", "The same as QUERIES.", "FILE")]
Header = Annotated[
    list[str] | None,
    option(
        "--header",
        "Header for servers named by https://HOST/PATH; ${VARIABLE} is expanded. Repeatable.",
        "'NAME: VALUE'",
    ),
]
CallHeader = Annotated[
    list[str] | None,
    option(
        "--header",
        "Header for servers named by https://HOST/PATH, or in a lone OpenAPI document; ${VARIABLE}"
        " is expanded. Repeatable.",
        "'NAME: VALUE'",
    ),
]
AllowPrivate = Annotated[
    bool,
    option(
        "--allow-private",
        "Permit private and loopback addresses in OpenAPI documents.",
    ),
]
ServerTimeout = Annotated[
    float | None,
    option("--server-timeout", "Per-server timeout in seconds. [default: 30]", "SECONDS"),
]
Jobs = Annotated[
    int | None,
    option(
        "--jobs -j",
        "Number of processes. [default: one per processor; 1 below 3,000 tools]",
        "N",
        min=1,
    ),
]
SourceId = Annotated[
    str | None, option("--source-id", "Source id of all tools, instead of their own.", "NAME")
]
Strict = Annotated[bool, option("--strict", "Write nothing and exit 1 on a warning or an error.")]
AllowMissing = Annotated[
    bool,
    option(
        "--allow-missing",
        "Drop the tools of failed sources instead of keeping those of the last build.",
    ),
]
Locked = Annotated[
    bool | None,
    option(
        "--locked/--no-locked", "Check the tools against the lock file that `mcpg lock` writes."
    ),
]
GeneratedHints = Annotated[
    bool | None,
    option(
        "--generated-hints/--no-generated-hints",
        "Keep texts of a language model. [default: keep]",
    ),
]
Check = Annotated[bool, option("--check", "Write nothing; exit 1 when the output is out of date.")]
Diff = Annotated[
    bool, option("--diff", "Write nothing; print the changes, and exit 1 when there are any.")
]
Watch = Annotated[bool, make_annotation(parameters.WATCH)]
Force = Annotated[bool, option("--force", "Replace files that mcpg did not write.")]

_SOURCE_BUNDLES = inspect.Parameter(
    "source_bundles", _KEYWORD, default=None, annotation=SourceBundles
)
"""The parameter of every command with sources as its arguments."""


class _ShowsHelp:
    """Shows help as any other output, and has usage errors name the command.

    So a closed pipe is not an error.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as fault:
            if getattr(fault, "ctx", ctx) is None:  # the parser lacks the command
                fault.ctx = ctx  # type: ignore[attr-defined]
            raise

    def get_help(self, ctx: Any) -> str:
        write = group_help if isinstance(self, TyperGroup) else command_help
        is_seen = is_terminal(sys.stdout)
        columns = max(NARROWEST, min(Screen().columns, WIDEST)) if is_seen else WIDTH
        return write(self, ctx.command_path, columns)

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
    """A command with plain text as its help, and examples at its foot."""


def command(
    app: typer.Typer,
    name: str,
    *,
    examples: str,
    more: str = "",
    table: Sequence[CommandParameter] = (),
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command *name* and add the common options.

    The function takes an `Output` first and returns an exit code; its docstring is the help. If
    it also takes a dataclass, the fields of that are the options. *examples* are calls of it,
    one a line, *more* is the page of the documentation that has more about it, and *table* its
    parameters in the order of help; without it, they are the parameters of the annotations.
    """

    def register(function: Callable[..., int]) -> Callable[..., int]:
        kinds: Any = () if table else get_type_hints(function).values()
        chosen: Any = next((one for one in kinds if is_dataclass(one)), None)

        @wraps(function)
        def run(ctx: typer.Context, **values: Any) -> int:
            common = {one.name: values.pop(one.name) for one in COMMON}
            if "form" in values:
                values["form"] = LIST_FORMAT.resolve_synonym(values["form"])
            if bundles := values.pop(_SOURCE_BUNDLES.name, None):
                values["sources"] = [*(values["sources"] or ()), *bundles]
            output = make_output(common, ctx.find_root().params)
            return function(output, chosen(**values)) if chosen else function(output, **values)

        own = [keyword(one) for one in table]
        if not own:
            declaring: Any = chosen or function
            hints = get_type_hints(declaring, include_extras=True)
            own = [
                one.replace(kind=_KEYWORD, annotation=hints[name])
                for name, one in inspect.signature(declaring).parameters.items()
                if hints[name] is not Output
            ]
            if own and own[0].annotation == Sources and "bundle" not in hints:
                own.insert(1, _SOURCE_BUNDLES)
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


def keyword(parameter: CommandParameter) -> inspect.Parameter:
    """Return *parameter* in Typer's form."""
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
    """A group of commands with plain text as its help."""

    def summary(self, name: str) -> str:
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
