"""`mcpg init`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mcpg.cli import options
from mcpg.cli.commands.bundle import BundleOptions
from mcpg.cli.commands.bundle import run as run_bundle
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.items import answer_items
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.options import OutputFormat, argument, option
from mcpg.cli.output import Output
from mcpg.cli.prompts import confirm, find_asker
from mcpg.cli.query import Question, answer_search, exit_code, refuse
from mcpg.cli.settings import CONFIG_FILE, DEFAULT_BUNDLE
from mcpg.cli.terminal import one_line
from mcpg.errors import NotFoundError, OutputError, SourceError, UsageError
from mcpg.files import atomic_write, exists, is_file, is_folder
from mcpg.show.json import result_json
from mcpg.sources.client_entries import make_client_entry, write_entry
from mcpg.sources.clients import (
    FoundClient,
    FoundSkills,
    client_files,
    find_clients,
    find_skill_folders,
    named_client,
    skill_folders,
)
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
SKILL = "skill"
"""The kind of items that is shown for a catalog without tools."""

MORE = "docs/tutorial.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """Options of `mcpg init`."""

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
        bool, option("--dry-run", "Report the sources found; write and start nothing.")
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
    clients = _find_clients(chosen.client, output)
    skills = () if chosen.client else _find_skills(output)
    with_project = chosen.project or bool(chosen.client)
    used = _select_clients(clients, skills, output, with_project=with_project)
    folders = tuple(one for one in skills if chosen.project or not one.file.is_local)
    found = _FoundSources(clients, used, skills, folders)
    if not chosen.dry_run:
        return _bundle_and_search(found, chosen, output)
    # Otherwise `bundle` reports them.
    output.diagnostics(diagnostic for one in used for diagnostic in one.diagnostics)
    if chosen.form is OutputFormat.JSON:
        output.json(found.make_report((), None))
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _FoundSources:
    """The configurations and skills on this machine, and which of them are used."""

    clients: Sequence[FoundClient]
    used: Sequence[FoundClient]
    skills: Sequence[FoundSkills]
    folders: Sequence[FoundSkills]

    def make_report(self, written: Sequence[str], search: JsonObject | None) -> JsonObject:
        report = _make_report(self.clients, self.used, written, search)
        return report | _report_skills(self.skills, self.folders)


def _bundle_and_search(found: _FoundSources, chosen: InitOptions, output: Output) -> int:
    if found.used:
        require_sdk(found.used[0].file.shown)
    with _writing_configuration(found, force=chosen.force):
        made = BundleOptions(
            target=DEFAULT_BUNDLE, force=chosen.force, server_timeout=chosen.server_timeout
        )
        run_bundle(output, made)
    count = len(found.used) + len(found.folders)
    output.note(f"wrote {CONFIG_FILE}: {format_count(count, 'source')}")
    settings, words = read_settings(bundle=[DEFAULT_BUNDLE]), tuple(chosen.query or ())
    is_json = chosen.form is OutputFormat.JSON
    if not (found.used or is_json):
        given = {"bundle": [DEFAULT_BUNDLE], "form": chosen.form.value, "limit": None}
        return answer_items(SKILL, " ".join(words) or None, given, output, {})
    if is_json:
        engine = open_engine(settings, output)
        result = engine.search(" ".join(words) or None)
        members = result_json(result, engine.diagnostics)
        output.json(found.make_report((CONFIG_FILE, DEFAULT_BUNDLE), members))
        return exit_code(result)
    code = answer_search(Question(settings, words), "text", output)
    asked = json.dumps(" ".join(words), ensure_ascii=False) if words else '"your task"'
    output.note(f"next: mcpg search {asked}, mcpg explain {asked}, or mcpg bundle to refresh")
    return code


def _add_server(name: str, chosen: InitOptions, output: Output) -> int:
    """Print the entry of a listed server; write it into the named client."""
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


def _report_skills(found: Iterable[FoundSkills], used: Collection[FoundSkills]) -> JsonObject:
    """Return the member `skills` of the report, empty for none."""
    folders: list[JsonValue] = [
        {
            "client": one.file.client,
            "path": one.file.shown,
            "skills": one.count,
            "isUsed": one in used,
        }
        for one in found
    ]
    return {"skills": folders} if folders else {}


def _find_skills(output: Output) -> tuple[FoundSkills, ...]:
    """Find the folders in which clients keep skills."""
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path` may raise
    folders = skill_folders(os.getcwd(), home)  # noqa: PTH109 - a text
    for one in folders:
        output.detail(f"looking for skills of {one.client}: {one.shown}")
    return find_skill_folders(folders)


def _find_clients(named: Sequence[str] | None, output: Output) -> tuple[FoundClient, ...]:
    """Find the configurations that are there, or read those that the user named."""
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path` may raise
    if named:
        files = tuple(map(named_client, named))
        for file in files:
            if not exists(file.path):
                raise NotFoundError("no such file", place=file.shown, remedy="check the path")
            if not (is_file(file.path) or is_folder(file.path)):
                message = f"is not a regular file, and {CONFIG_FILE} would name it for later runs"
                raise SourceError(message, place=file.shown, remedy="save it as a file")
    else:
        files = client_files(os.getcwd(), home, sys.platform, os.environ)  # noqa: PTH109 - a text
        for file in files:
            output.detail(f"looking for {file.client}: {file.shown}")
    can_ask = find_asker() is not None
    found, broken = find_clients(files, os.environ, can_ask=can_ask, are_named=bool(named))
    output.diagnostics(broken)
    return found


def _select_clients(
    found: Iterable[FoundClient],
    skills: Iterable[FoundSkills],
    output: Output,
    *,
    with_project: bool,
) -> tuple[FoundClient, ...]:
    """Report the *found* configurations, and return those that are used."""
    used: list[FoundClient] = []
    has_skills = False
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
    for folder in skills:
        count = format_count(folder.count, "skill")
        told = f"{folder.file.client}: {folder.file.shown}: {count}"
        is_left_out = folder.file.is_local and not with_project
        has_skills |= not is_left_out
        output.note(f"{'not used without --project:' if is_left_out else 'found'} {told}")
    if not (used or has_skills):
        raise NotFoundError(
            "no client configuration with MCP servers was found",
            remedy="name one with --client, bundle any source with `mcpg bundle SOURCE...`, or try"
            " the examples in a copy of the project: `mcpg bundle examples/tools`;"
            " --verbose shows the places of configurations",
        )
    return tuple(used)


@contextmanager
def _writing_configuration(found: _FoundSources, *, force: bool) -> Iterator[None]:
    """Write the configuration file that names the configurations and skills that are used.

    It has only their paths: entries of servers, and secrets in them, stay where they are. If the
    block fails, the file is as it was before.
    """
    parts = [f"bundle = {_quote_toml(DEFAULT_BUNDLE)}\n"]
    for key, file in (
        *(("path", one.file) for one in found.used),
        *(("skills", one.file) for one in found.folders),
    ):
        path = file.shown if file.shown.startswith("~/") or file.is_local else file.path
        parts.append(f"\n# {one_line(file.client)}\n[[sources]]\n{key} = {_quote_toml(path)}\n")
    try:
        data = "".join(parts).encode()
    except UnicodeEncodeError:
        message = "the path of a client configuration is not Unicode"
        raise SourceError(message, remedy="rename its folder") from None
    target = Path(CONFIG_FILE)
    before = target.read_bytes() if exists(CONFIG_FILE) else None
    for name in (CONFIG_FILE, DEFAULT_BUNDLE):
        # A run that was killed leaves the file without a bundle.
        is_same = name == CONFIG_FILE and before == data
        if not (force or is_same) and exists(name):
            remedy = "use `mcpg bundle` and `mcpg search`, another folder, or --force"
            raise OutputError("exists already, and is not overwritten", place=name, remedy=remedy)
    atomic_write(target, data)
    try:
        yield
    except BaseException:
        if before is None:
            target.unlink(missing_ok=True)
        else:
            atomic_write(target, before)
        raise


def _quote_toml(text: str) -> str:
    """Return *text* as a basic string of TOML, which has the same escapes as JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
