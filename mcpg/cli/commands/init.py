"""`mcpg init`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mcpg.cli import options
from mcpg.cli.commands.bundle import BundleOptions
from mcpg.cli.commands.bundle import run as run_bundle
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.options import OutputFormat, argument, option
from mcpg.cli.output import Output
from mcpg.cli.prompts import confirm, find_asker
from mcpg.cli.query import Question, answer_search, exit_code, refuse
from mcpg.cli.settings import CONFIG_FILE, DEFAULT_BUNDLE
from mcpg.cli.terminal import one_line
from mcpg.errors import NotFoundError, OutputError, SourceError, UsageError
from mcpg.files import atomic_write, exists
from mcpg.show.json import result_json
from mcpg.sources.client_entries import make_client_entry, write_entry
from mcpg.sources.clients import FoundClient, client_files, find_clients, named_client
from mcpg.sources.live import require_sdk
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count

EXAMPLES = """\
mcpg init
mcpg init "what is the weather in Oslo"
mcpg init --dry-run                   # what would be used
mcpg init --client ~/work/mcp.json
mcpg init --dry-run --format json | jq -r '.clients[].servers[]'
mcpg init --add io.github.acme/weather -b registry.json
mcpg init --add io.github.acme/weather --client ~/.cursor/mcp.json"""

SCHEMA = "mcpg/init/1"

MORE = "docs/tutorial.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """Which configurations are used, and what is searched."""

    query: Annotated[
        list[str] | None,
        argument("QUERY", "A request to search for. Without it, the first tools are listed."),
    ] = None
    client: Annotated[
        list[str] | None,
        option(
            "--client",
            "Use this client configuration. Repeatable. With --add, add the server to it.",
            "FILE",
        ),
    ] = None
    add: Annotated[
        str | None,
        option(
            "--add",
            "Print the client entry of a server in a catalog.",
            "NAME",
        ),
    ] = None
    bundle: options.BundlePaths = None
    yes: Annotated[bool, option("--yes", "With --client, add without confirmation.")] = False
    project: Annotated[
        bool,
        option(
            "--project",
            "Also use configurations of this folder, such as .mcp.json, which start programs: "
            "trust it.",
        ),
    ] = False
    dry_run: Annotated[
        bool, option("--dry-run", "Report what is found; write and start nothing.")
    ] = False
    force: Annotated[bool, option("--force", f"Replace {CONFIG_FILE} and {DEFAULT_BUNDLE}.")] = (
        False
    )
    server_timeout: options.ServerTimeout = None
    form: options.Format = OutputFormat.TEXT


def run(output: Output, chosen: InitOptions) -> int:
    """Bundle the servers of the MCP clients on this machine, and search.

    Reads the configurations of desktop and editor clients, starts the servers to list their tools,
    and writes mcpg.toml and graph.mdld.
    """
    if chosen.add is not None:
        return _add_server(chosen.add, chosen, output)
    refuse(
        {"--bundle": chosen.bundle, "--yes": chosen.yes}, "is an option of --add", "remove {flag}"
    )
    found = _find_clients(chosen.client, output)
    used = _select_clients(found, output, with_project=chosen.project or bool(chosen.client))
    if not chosen.dry_run:
        return _bundle_and_search(found, used, chosen, output)
    # Otherwise `bundle` reports them.
    output.diagnostics(diagnostic for one in used for diagnostic in one.diagnostics)
    if chosen.form is OutputFormat.JSON:
        output.json(_make_report(found, used, (), None))
    return ExitCode.DONE


def _bundle_and_search(
    found: Sequence[FoundClient],
    used: Sequence[FoundClient],
    chosen: InitOptions,
    output: Output,
) -> int:
    require_sdk(used[0].file.shown)
    with _writing_configuration(used, force=chosen.force):
        made = BundleOptions(
            target=DEFAULT_BUNDLE, force=chosen.force, server_timeout=chosen.server_timeout
        )
        run_bundle(output, made)
    output.note(f"wrote {CONFIG_FILE}: {format_count(len(used), 'source')}")
    settings, words = read_settings(bundle=[DEFAULT_BUNDLE]), tuple(chosen.query or ())
    if chosen.form is OutputFormat.JSON:
        engine = open_engine(settings, output)
        result = engine.search(" ".join(words) or None)
        members = result_json(result, engine.diagnostics)
        output.json(_make_report(found, used, (CONFIG_FILE, DEFAULT_BUNDLE), members))
        return exit_code(result)
    code = answer_search(Question(settings, words), "text", output)
    asked = json.dumps(" ".join(words), ensure_ascii=False) if words else '"what you want to do"'
    output.note(f"next: mcpg search {asked}, mcpg explain {asked}, or mcpg bundle to refresh")
    return code


def _add_server(name: str, chosen: InitOptions, output: Output) -> int:
    """Print the entry of a listed server; write it into the one client that is named."""
    others = {"--project": chosen.project, "--dry-run": chosen.dry_run, "--force": chosen.force}
    refuse(others | {"QUERY": chosen.query}, "it has no effect with --add", "leave {flag} out")
    clients = chosen.client or ()
    if not clients:
        refuse({"--yes": chosen.yes}, "it has no effect without --client", "leave {flag} out")
    if len(clients) > 1:
        raise UsageError("a server is added to one client", place="--client", remedy="name one")
    engine = open_engine(read_settings(bundle=chosen.bundle), output)
    output.note_opening(engine.diagnostics)
    server = engine.items("server").find_named(name)
    entry = make_client_entry(server)
    output.json({"mcpServers": {entry.name: entry.members}})
    output.note(f"{server.display_name} {server.version}: by {entry.via}")
    if server.status:
        output.note(f"its catalog marks it as {server.status}")
    for variable, purpose in entry.variables.items():
        output.note(f"set {variable}" + (f": {purpose}" if purpose else ""))
        if variable in os.environ:  # the catalog has chosen the name
            output.note(f"{variable} is set here already: the server would get its value")
    if entry.left_out:
        output.note(f"optional, left out: {', '.join(entry.left_out)}")
    for client in clients:
        file = named_client(client)
        question = f"Add {entry.name} to {file.shown}?"
        if not (chosen.yes or confirm(question, "--client", "add --yes to add it")):
            return ExitCode.FINDINGS
        write_entry(file.path, file.shown, entry)
        output.note(f"added {entry.name} to {file.shown}")
    return ExitCode.DONE


def _make_report(
    found: Iterable[FoundClient],
    used: Sequence[FoundClient],
    written: Sequence[str],
    search: JsonObject | None,
) -> JsonObject:
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
    found, broken = find_clients(files, os.environ, can_ask=find_asker() is not None)
    output.diagnostics(broken)
    return found


def _select_clients(
    found: Iterable[FoundClient], output: Output, *, with_project: bool
) -> tuple[FoundClient, ...]:
    used: list[FoundClient] = []
    for one in found:
        names = f": {', '.join(one.servers)}" if one.servers else ""
        unusable = f", {len(one.diagnostics):,} unusable" if one.diagnostics else ""
        servers = f"{format_count(len(one.servers), 'server')}{names}{unusable}"
        told = f"{one.file.client}: {one.file.shown}: {servers}"
        if one.file.is_local and not with_project:
            output.note(f"not used without --project: {told}")
        else:
            output.note(f"found {told}")
            used.append(one)
    if not used:
        raise NotFoundError(
            "no client configuration with MCP servers was found",
            remedy="name one with --client, bundle any source with `mcpg bundle SOURCE...`, or try"
            " the examples in a copy of the project: `mcpg bundle examples/tools`;"
            " --verbose shows the places of configurations",
        )
    return tuple(used)


@contextmanager
def _writing_configuration(used: Sequence[FoundClient], *, force: bool) -> Iterator[None]:
    """Write the configuration file that names the configurations that are *used*.

    It has only their paths: entries of servers, and secrets in them, stay where they are. If the
    block fails, the file is as it was before.
    """
    for name in (CONFIG_FILE, DEFAULT_BUNDLE):
        if not force and exists(name):
            remedy = "use `mcpg bundle` and `mcpg search`, another folder, or --force"
            raise OutputError("exists already, and is not overwritten", place=name, remedy=remedy)
    parts = [f"bundle = {_quote_toml(DEFAULT_BUNDLE)}\n"]
    for one in used:
        file = one.file
        path = file.shown if file.shown.startswith("~/") or file.is_local else file.path
        parts.append(f"\n# {one_line(file.client)}\n[[sources]]\npath = {_quote_toml(path)}\n")
    try:
        data = "".join(parts).encode()
    except UnicodeEncodeError:
        message = "the path of a client configuration is not Unicode"
        raise SourceError(message, remedy="rename its folder") from None
    target = Path(CONFIG_FILE)
    before = target.read_bytes() if exists(CONFIG_FILE) else None
    try:
        atomic_write(target, data)
        yield
    except BaseException:
        if before is None:
            target.unlink(missing_ok=True)
        else:
            atomic_write(target, before)
        raise


def _quote_toml(text: str) -> str:
    """Return *text* as a basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
