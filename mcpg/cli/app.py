"""The program: its commands, imported when they are named, and its own options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_group

from mcpg import __version__
from mcpg.cli.options import CONTEXT, HELP_NAMES, HelpfulGroup, command, declare, keyword
from mcpg.cli.parameters import COMMON, FREQUENT, make_output
from mcpg.errors import Diagnostic
from mcpg.plugins.hooks import Command
from mcpg.plugins.registry import Registered, own_items, package_plugins

EXAMPLES = """\
mcpg init "what is the weather in Oslo"
mcpg bundle manifests/ -o graph.mdld
mcpg search shipment status
mcpg explain shipment status"""

COMMANDS = {
    "init": "Bundle the servers of the MCP clients on this machine, and search.",
    "generate": "Write a Markdown-LD document for each tool, to read and to edit.",
    "enrich": "Write search texts for tools with a language model.",
    "bundle": "Build a bundle from files, folders, servers and code.",
    "lock": "Approve the definitions of tools, and find changes since.",
    "lint": "Check tools by rules: descriptions, schemas, names, reach, poisoning.",
    "rule": "Explain a rule of `mcpg lint`, or list all rules.",
    "search": "Find the tools for a request.",
    "explain": "Search, and explain the ranking.",
    "ask": "Answer a question about tools, fields or source code.",
    "route": "Find categories of tools for a request, and the best tools.",
    "plan": "Plan which tools serve a goal, and in which order.",
    "list": "List the tools of a bundle, disabled ones included, or other items.",
    "show": "Show one tool: arguments, hints, edges, origin.",
    "diff": "Compare two catalogs, and what searches find in them.",
    "eval": "Measure a bundle by judged queries, and enforce thresholds.",
    "tune": "Fit the ranking to judged queries, and store it in the bundle.",
    "learn": "Learn from recorded calls which tools follow each other.",
    "login": "Log in to a server that requires OAuth.",
    "logout": "Remove a login that `mcpg login` stored.",
    "doctor": "Check every configured part, and suggest fixes.",
    "cache": "List the caches of this machine with their sizes, or clear them.",
    "schema": "Print the JSON Schema of the output of a command, or of a file.",
}
"""The commands of the core with the first line of their help.

Each has a module of its name in `mcpg.cli.commands` with its function `run`, its
`EXAMPLES`, the page `MORE`, and its `PARAMETERS` if no dataclass declares them.
"""


class _Commands(Mapping[str, Any]):
    """The commands by name, each imported when it is looked up.

    Attributes:
        diagnostics: Plugins that failed, until they are reported.
    """

    def __init__(self) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> Any:
        if name in COMMANDS:
            return _load(name, f"mcpg.cli.commands.{name}")
        for own in own_items(Command):
            if own.name == name:
                return _load(name, own.module)
        for one in self._from_packages():
            if one.item.name == name:
                found = one.attempt(partial(_load, name, one.item.module))
                if not isinstance(found, Diagnostic):
                    return found
                self.diagnostics = (*self.diagnostics, found)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries())

    def __len__(self) -> int:
        return len(self.summaries())

    def summaries(self) -> dict[str, str]:
        """Return the first line of help of every command, in the order in which they are listed."""
        listed = list(COMMANDS.items())
        for one in own_items(Command):
            names = [name for name, _ in listed]
            place = names.index(one.after) + 1 if one.after in names else len(names)
            listed.insert(place, (one.name, one.summary))
        found = dict(listed)
        for other in self._from_packages():
            found.setdefault(other.item.name, other.item.summary)
        return found

    def _from_packages(self) -> list[Registered[Command]]:
        found = package_plugins()
        self.diagnostics = found.diagnostics
        return found.items(Command)


def _load(name: str, path: str) -> Any:
    module, app = import_module(path), typer.Typer()
    if hasattr(module, "register"):
        module.register(app)
    else:
        table: Any = FREQUENT.get(name) or getattr(module, "PARAMETERS", ())
        more = getattr(module, "MORE", "")
        command(app, name, examples=module.EXAMPLES, more=more, table=table)(module.run)
    return get_group(app).commands[name]


class _Program(HelpfulGroup):
    """The program, which shows the help of its commands without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands()

    def summary(self, name: str) -> str:
        return str(self.commands.summaries()[name])

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as Typer calls it
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:
        text = super().get_help(ctx)
        self._report(ctx)
        return text

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        self._report(ctx)
        return found

    def _report(self, ctx: Any) -> None:
        noticed, self.commands.diagnostics = self.commands.diagnostics, ()
        make_output(ctx.params).diagnostics(noticed)


app = typer.Typer(
    name="mcpg",
    cls=_Program,
    help="Bundle the tools of MCP servers into one graph file, find the right ones, see why.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        make_output().text(f"mcpg {__version__}")
        raise typer.Exit


def _program(ctx: typer.Context, **common: Any) -> None:
    if ctx.invoked_subcommand is None:
        make_output(common).text(ctx.get_help())


_VERSION = inspect.Parameter(
    "version",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ],
)
declare(_program, (CONTEXT, _VERSION, *map(keyword, COMMON)))
app.callback(invoke_without_command=True)(_program)
