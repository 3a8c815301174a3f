"""`mcpg init`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.settings import CONFIG_FILE, DEFAULT_BUNDLE
from mcpg.cli.terminal import one_line
from mcpg.errors import NotFoundError, OutputError, SourceError
from mcpg.files import atomic_write, exists
from mcpg.sources.clients import FoundClient
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count

EXAMPLES = """\
mcpg init
mcpg init "what is the weather in Oslo"
mcpg init --dry-run                   # what would be used
mcpg init --client ~/work/mcp.json
mcpg init --dry-run --format json | jq -r '.clients[].servers[]'"""

SCHEMA = "mcpg/init/1"

Query = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY",
        help="A request to search for. Without it, the first tools are listed.",
    ),
]
Client = Annotated[
    list[str] | None,
    typer.Option(
        "--client",
        metavar="FILE",
        help="Client configuration to use, in place of those that are found. Repeatable.",
    ),
]
Project = Annotated[
    bool,
    typer.Option(
        "--project",
        help="Also use configurations of this folder, such as .mcp.json. They may start programs: "
        "trust the folder.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Report what is found; write and start nothing."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help=f"Replace {CONFIG_FILE} and {DEFAULT_BUNDLE}."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "init", examples=EXAMPLES, more="docs/tutorial.md")(init)


def init(
    output: Output,
    *,
    query: Query = None,
    client: Client = None,
    project: Project = False,
    dry_run: DryRun = False,
    force: Force = False,
    server_timeout: options.ServerTimeout = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Bundle the servers of the MCP clients on this machine, and search.

    Finds the configurations of desktop and editor clients, and never changes them. Writes
    mcpg.toml, starts the servers to list their tools, and writes graph.mdld.
    """
    from mcpg.cli.commands.bundle import bundle  # noqa: PLC0415 - help needs none of it
    from mcpg.sources.live import require_sdk  # noqa: PLC0415 - as above

    found = _find_clients(client, output)
    used = _select_clients(found, output, with_project=project or bool(client))
    if dry_run:
        # Otherwise `bundle` reports them.
        output.diagnostics(diagnostic for one in used for diagnostic in one.diagnostics)
        if form is OutputFormat.JSON:
            output.json(_report(found, used, (), None))
        return ExitCode.DONE
    require_sdk(used[0].file.shown)
    _check_free((CONFIG_FILE, DEFAULT_BUNDLE), force=force)
    atomic_write(Path(CONFIG_FILE), _configuration(used).encode())
    output.note(f"wrote {CONFIG_FILE}: {format_count(len(used), 'source')}")
    code = bundle(output, target=DEFAULT_BUNDLE, force=force, server_timeout=server_timeout)
    if code or form is OutputFormat.TEXT:
        return code or _answer(query or (), output)
    from mcpg.cli.open_bundle import open_engine  # noqa: PLC0415 - as above
    from mcpg.cli.query import exit_code  # noqa: PLC0415 - as above
    from mcpg.show.json import result_json  # noqa: PLC0415 - as above

    engine = open_engine(read_settings(bundle=[DEFAULT_BUNDLE]), output)
    result = engine.search(" ".join(query or ()) or None)
    members = result_json(result, engine.diagnostics)
    output.json(_report(found, used, (CONFIG_FILE, DEFAULT_BUNDLE), members))
    return exit_code(result)


def _report(
    found: Iterable[FoundClient],
    used: Sequence[FoundClient],
    written: Sequence[str],
    search: JsonObject | None,
) -> JsonObject:
    """Return what the command writes as JSON."""
    clients: list[JsonValue] = [
        {
            "client": one.file.client,
            "path": one.file.shown,
            "servers": list(one.servers),
            "unusable": len(one.diagnostics),
            "isUsed": one in used,
        }
        for one in found
    ]
    return {"schema": SCHEMA, "clients": clients, "written": list(written), "search": search}


def _find_clients(named: Sequence[str] | None, output: Output) -> tuple[FoundClient, ...]:
    """Find the configurations that are there, or read those that the user named."""
    from mcpg.sources.clients import client_files, find_clients, named_client  # noqa: PLC0415

    home = os.path.expanduser("~")  # noqa: PTH111 - `Path` may raise
    if named:
        files = tuple(map(named_client, named))
        for file in files:
            if not exists(file.path):
                raise NotFoundError(
                    "there is no such file", place=file.shown, remedy="check the path"
                )
    else:
        files = client_files(os.getcwd(), home, sys.platform, os.environ)  # noqa: PTH109 - a text
        for file in files:
            output.detail(f"looking for {file.client}: {file.shown}")
    found, broken = find_clients(files, os.environ)
    output.diagnostics(broken)
    return found


def _select_clients(
    found: Iterable[FoundClient], output: Output, *, with_project: bool
) -> tuple[FoundClient, ...]:
    """Report what was *found*, and return what is used of it.

    Raises:
        NotFoundError: Nothing is.
    """
    used: list[FoundClient] = []
    for one in found:
        told = f"{one.file.client}: {one.file.shown}: {_servers(one)}"
        if one.file.is_local and not with_project:
            output.note(f"not used without --project: {told}")
        else:
            output.note(f"found {told}")
            used.append(one)
    if not used:
        raise NotFoundError(
            "no client configuration with MCP servers was found",
            remedy="name one with --client, or bundle any source: mcpg bundle SOURCE...;"
            " --verbose shows where it was looked for",
        )
    return tuple(used)


def _servers(found: FoundClient) -> str:
    names = f": {', '.join(found.servers)}" if found.servers else ""
    unusable = f", {len(found.diagnostics):,} unusable" if found.diagnostics else ""
    return f"{format_count(len(found.servers), 'server')}{names}{unusable}"


def _check_free(names: Iterable[str], *, force: bool) -> None:
    """Refuse to overwrite a file, unless *force* is given.

    Raises:
        OutputError: One of the files is there.
    """
    for name in names:
        if not force and exists(name):
            raise OutputError(
                "exists already, and is not overwritten",
                place=name,
                remedy="use `mcpg bundle` and `mcpg search`, another folder, or --force",
            )


def _configuration(used: Iterable[FoundClient]) -> str:
    """Return the configuration file that names the configurations that are *used*.

    It holds their paths alone: what they say of servers, and secrets among that, stays with them.

    Raises:
        SourceError: A path is no Unicode.
    """
    parts = [f"bundle = {_toml(DEFAULT_BUNDLE)}\n"]
    for one in used:
        file = one.file
        path = file.shown if file.shown.startswith("~/") or file.is_local else file.path
        parts.append(f"\n# {one_line(file.client)}\n[[sources]]\npath = {_toml(path)}\n")
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "the path of a client configuration is not Unicode"
        raise SourceError(message, remedy="rename its folder") from None
    return text


def _toml(text: str) -> str:
    """Return *text* as a basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _answer(words: Sequence[str], output: Output) -> int:
    from mcpg.cli.query import Question, answer_search  # noqa: PLC0415 - help needs none of it

    question = Question(read_settings(bundle=[DEFAULT_BUNDLE]), tuple(words))
    code = answer_search(question, "text", output)
    shown = json.dumps(" ".join(words), ensure_ascii=False) if words else '"what you want to do"'
    output.note(f"next: mcpg search {shown}, mcpg explain {shown}, or mcpg bundle to refresh")
    return code
