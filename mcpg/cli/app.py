"""The program: its commands, imported when they are named, and its own options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_group

from mcpg import __version__
from mcpg.cli.options import CONTEXT, HELP_NAMES, HelpfulGroup, command, declare, keyword
from mcpg.cli.parameters import COMMON, FREQUENT, make_output

EXAMPLES = """\
mcpg init "what is the weather in Oslo"
mcpg bundle manifests/ -o graph.mdld
mcpg search shipment status
mcpg explain shipment status"""

COMMANDS = {
    "init": "Bundle the servers of the MCP clients on this machine, and search.",
    "generate": "Write a Markdown-LD document for each tool, to read and to edit.",
    "bundle": "Build a bundle from files, folders, servers and code.",
    "lock": "Approve the definitions of tools, and find what has changed since.",
    "lint": "Check tools by rules: descriptions, schemas, names, reach, poisoning.",
    "rule": "Explain a rule of `mcpg lint`, or list all rules.",
    "search": "Find the tools for a request.",
    "explain": "Search, and explain the ranking.",
    "explore": "Try queries and hints on a page in the browser.",
    "ask": "Answer a question about tools, fields or source code.",
    "route": "Find categories of tools for a request, and the best tools.",
    "plan": "Plan which tools serve a goal, and in which order.",
    "list": "List the tools of a bundle, disabled ones included.",
    "show": "Show one tool: arguments, hints, edges, origin.",
    "validate": "Check a bundle against SHACL shapes, or for another reader.",
    "diff": "Compare two catalogues, and what searches find in them.",
    "eval": "Measure a bundle by judged queries, and enforce thresholds.",
    "tune": "Fit the ranking to judged queries, and store it in the bundle.",
    "learn": "Learn from recorded calls which tools follow each other.",
    "publish": "Write the words and vectors of a bundle to PostgreSQL.",
    "invoke": "Call a tool and show its result.",
    "serve": "Serve the tools of many servers as one MCP server.",
    "login": "Log in to a server that requires OAuth.",
    "logout": "Remove a login that `mcpg login` stored.",
    "doctor": "Check every configured part, and suggest fixes.",
    "cache": "Show the caches of this machine with their sizes, or clear them.",
    "schema": "Print the JSON Schema of the output of a command, or of a file.",
    "graph": "Export, search, query and validate the tools as linked data.",
}
"""The commands with the first line of their help.

Each stands in a module of `mcpg.cli.commands` that bears its name: its function `run`, its
`EXAMPLES`, the page `MORE`, and its `PARAMETERS` where no dataclass declares them.
"""

# These register themselves.
_MODULES = {
    "explore": "mcpg.explore.command",
    "graph": "mcpg.graph.commands",
    "invoke": "mcpg.gateway.invoke_command",
    "publish": "mcpg.postgres.command",
    "serve": "mcpg.gateway.serve_command",
    "validate": "mcpg.graph.validate_command",
}


class _Commands(Mapping[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        module = import_module(_MODULES.get(name, f"mcpg.cli.commands.{name}"))
        app = typer.Typer()
        if hasattr(module, "register"):
            module.register(app)
        else:
            table: Any = FREQUENT.get(name) or getattr(module, "PARAMETERS", ())
            more = getattr(module, "MORE", "")
            command(app, name, examples=module.EXAMPLES, more=more, table=table)(module.run)
        return get_group(app).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Program(HelpfulGroup):
    """The program, which shows the help of its commands without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def summary(self, name: str) -> str:
        return COMMANDS[name]


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
    """Show the help when no command is named."""
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
