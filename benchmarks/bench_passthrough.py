"""What real servers answer behind `mcpg serve`, against what they answer directly.

    PEER_MODULES=node_modules [PEER_PYTHON=python] [PEER_CHROMIUM=chromium] \
        python benchmarks/bench_passthrough.py [SERVER...]

Needs `npm install @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
@modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking
@playwright/mcp`, and `pip install mcp-server-time mcp-server-git mcp-server-fetch` for the
environment of PEER_PYTHON; servers that are not installed are left out.

The same client, which takes requests for sampling, elicitation and roots, lists all and then calls
tools, prompts, resources and completions of each server: directly, behind `mcpg serve --expose all`
over standard input and output, and behind the same over HTTP. What servers send beside (progress,
log messages, requests) is recorded as well. Printed are the steps whose outcomes differ, after the
differences that `docs/how-to/serve.md` names are removed: the name of the source in `_meta` and in
questions, and the tools of mcpg itself.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import anyio
import conformance
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from pydantic import ConfigDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

Step = tuple[str, dict[str, Any]]
"""A method, and its parameters."""

PAGE = "data:text/html,<title>Shop</title><button>Buy</button>"
DIFFERENT = "different"
OWN_META = ("sourceId", "toolId", "toolName")
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?|\d+:\d\d:\d\d [AP]M|\d\d:\d\d:\d\d"
    r"|\(\d+ms\)|page-[\dT:-]+Z?|[0-9a-f]{7,40}"
)
"""Texts that differ from one run to the next, such as times."""

LOGS = "log messages outside of calls"
OUTSIDE = re.compile(r"Roots updated|Received (?:Uns|S)ubscribe Resource request")
"""Log messages that server-everything sends on its own account, for no request under way."""

SETTLING = 1.0
SECONDS = 120


@dataclass(frozen=True)
class Peer:
    """A server, and the steps that are compared.

    Attributes:
        command: The command line.
        steps: Requests after the lists, in their order.
        roots: Whether the client has a root, the folder of the server.
        ignored: Texts of results that differ between two direct runs.
    """

    command: list[str]
    steps: list[Step]
    roots: bool = False
    ignored: re.Pattern[str] = CHANGING


@dataclass
class Record:
    """What has happened beside the responses."""

    events: list[str] = field(default_factory=list)

    def add(self, kind: str, value: Any) -> None:
        """Record an event."""
        self.events.append(f"{kind} {json.dumps(value, sort_keys=True)}")


def call(name: str, /, **arguments: Any) -> Step:
    """Call a tool."""
    return "tools/call", {"name": name, "arguments": arguments}


def read(uri: str) -> Step:
    """Read a resource."""
    return "resources/read", {"uri": uri}


def prompt(name: str, /, **arguments: str) -> Step:
    """Get a prompt."""
    return "prompts/get", {"name": name, "arguments": arguments}


def complete(ref: dict[str, str], name: str, value: str) -> Step:
    """Complete an argument."""
    return "completion/complete", {"ref": ref, "argument": {"name": name, "value": value}}


def everything() -> list[Step]:
    """Return steps for `@modelcontextprotocol/server-everything`."""
    return [
        call("echo", message="héllo 🙂"),
        call("echo"),
        call("get-annotated-message", messageType="error", includeImage=True),
        call("get-annotated-message", messageType="none"),
        call("get-resource-links", count=4),
        call("get-resource-reference", resourceType="Blob", resourceId=2),
        call("get-resource-reference", resourceType="Text", resourceId=-1),
        call("get-structured-content", location="Chicago"),
        call("get-structured-content", location="Nowhere"),
        call("get-sum", a=1, b=2.5),
        call("get-sum", a="one", b=2),
        call("get-tiny-image"),
        call("gzip-file-as-resource", name="a.gz", data="data:text/plain,hello"),
        call("trigger-long-running-operation", duration=1, steps=4),
        call("simulate-research-query", topic="tools"),
        call("get-roots-list"),
        call("trigger-sampling-request", prompt="Say hello", maxTokens=20),
        call("trigger-elicitation-request"),
        call("trigger-url-elicitation"),
        call("no-such-tool"),
        read("demo://resource/static/document/features.md"),
        read("demo://resource/dynamic/text/3"),
        read("demo://resource/dynamic/blob/3"),
        read("demo://resource/dynamic/text/none"),
        read("demo://nothing"),
        ("resources/subscribe", {"uri": "demo://resource/dynamic/text/1"}),
        ("resources/unsubscribe", {"uri": "demo://resource/dynamic/text/1"}),
        prompt("simple-prompt"),
        prompt("args-prompt", city="Rome", state="Lazio"),
        prompt("args-prompt"),
        prompt("completable-prompt", department="Sales", name="David"),
        prompt("resource-prompt", resourceType="Text", resourceId="1"),
        prompt("resource-prompt", resourceType="Neither", resourceId="1"),
        complete({"type": "ref/prompt", "name": "completable-prompt"}, "department", "S"),
        complete({"type": "ref/prompt", "name": "simple-prompt"}, "none", ""),
        complete(
            {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"},
            "resourceId",
            "1",
        ),
        ("logging/setLevel", {"level": "debug"}),
    ]


def filesystem(folder: Path) -> list[Step]:
    """Return steps for `@modelcontextprotocol/server-filesystem`."""
    file, made = str(folder / "a b é.txt"), str(folder / "made")
    return [
        call("list_allowed_directories"),
        call("write_file", path=file, content="one\ntwo\nthree\n"),
        call("read_text_file", path=file),
        call("read_text_file", path=file, head=1),
        call("read_text_file", path=file, head=1, tail=1),
        call("read_media_file", path=str(folder / "pixel.png")),
        call("read_multiple_files", paths=[file, str(folder / "missing")]),
        call("edit_file", path=file, edits=[{"oldText": "two", "newText": "2"}], dryRun=True),
        call("create_directory", path=made),
        call("move_file", source=file, destination=f"{made}/b.txt"),
        call("directory_tree", path=str(folder)),
        call("list_directory", path=str(folder)),
        call("list_directory_with_sizes", path=str(folder)),
        call("search_files", path=str(folder), pattern="**/*.txt"),
        call("read_text_file", path="/etc/passwd"),
        call("read_text_file", path=str(folder / "missing")),
        call("read_text_file"),
    ]


def memory() -> list[Step]:
    """Return steps for `@modelcontextprotocol/server-memory`."""
    one = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    two = {"name": "Engine", "entityType": "machine", "observations": []}
    return [
        call("create_entities", entities=[one, two]),
        call(
            "create_relations",
            relations=[{"from": "Ada", "to": "Engine", "relationType": "programmed"}],
        ),
        call("add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}]),
        call("search_nodes", query="program"),
        call("open_nodes", names=["Ada"]),
        call("read_graph"),
        read("memory://knowledge-graph"),
        call("delete_entities", entityNames=["Engine"]),
        call("read_graph"),
    ]


def thinking() -> list[Step]:
    """Return steps for `@modelcontextprotocol/server-sequential-thinking`."""
    given = {"thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": True}
    return [
        call("sequentialthinking", thought="Begin.", **given),
        call("sequentialthinking", thought="Go on.", **{**given, "thoughtNumber": 2}),
        call("sequentialthinking", thought=""),
    ]


def browser() -> list[Step]:
    """Return steps for `@playwright/mcp`."""
    return [
        call("browser_snapshot"),
        call("browser_navigate", url=PAGE),
        call("browser_snapshot"),
        call("browser_click", element="Buy", target="e2"),
        call("browser_evaluate", function="() => document.title"),
        call("browser_evaluate", function="() => { throw new Error('failed') }"),
        call("browser_take_screenshot", type="png"),
        call("browser_console_messages"),
        call("browser_tabs", action="new"),
        call("browser_tabs", action="list"),
        call("browser_click", element="nothing", target="e999"),
        call("browser_close"),
    ]


def clock() -> list[Step]:
    """Return steps for `mcp-server-time`."""
    return [
        call("get_current_time", timezone="Europe/Rome"),
        call(
            "convert_time",
            source_timezone="Europe/Rome",
            time="12:30",
            target_timezone="Asia/Tokyo",
        ),
        call("get_current_time", timezone="Nowhere/None"),
    ]


def git(folder: Path) -> list[Step]:
    """Return steps for `mcp-server-git`."""
    path = str(folder)
    return [
        call("git_status", repo_path=path),
        call("git_log", repo_path=path, max_count=3),
        call("git_diff_unstaged", repo_path=path),
        call("git_branch", repo_path=path, branch_type="local"),
        call("git_show", repo_path=path, revision="HEAD"),
        call("git_show", repo_path=path, revision="nothing"),
        call("git_status", repo_path="/nonexistent"),
    ]


def fetch() -> list[Step]:
    """Return steps for `mcp-server-fetch`."""
    return [
        call("fetch", url="http://127.0.0.1:9/"),
        call("fetch", url="none"),
        prompt("fetch", url="http://127.0.0.1:9/"),
        prompt("fetch"),
    ]


def peers(folder: Path) -> dict[str, Peer]:
    """Return the servers that are installed, with *folder* as their place."""
    modules = Path(os.environ.get("PEER_MODULES", "/nonexistent")) / ".bin"
    python = os.environ.get("PEER_PYTHON", "")
    chromium = os.environ.get("PEER_CHROMIUM") or shutil.which("chromium") or ""
    arguments = ["--headless", "--no-sandbox", "--isolated", "--executable-path", chromium]
    found = {
        "everything": Peer([str(modules / "mcp-server-everything")], everything(), roots=True),
        "filesystem": Peer(
            [str(modules / "mcp-server-filesystem")], filesystem(folder), roots=True
        ),
        "memory": Peer([str(modules / "mcp-server-memory")], memory()),
        "thinking": Peer([str(modules / "mcp-server-sequential-thinking")], thinking()),
        "playwright": Peer([str(modules / "playwright-mcp"), *arguments], browser()),
        "time": Peer([python, "-m", "mcp_server_time", "--local-timezone", "UTC"], clock()),
        "git": Peer([python, "-m", "mcp_server_git"], git(folder), roots=True),
        "fetch": Peer([python, "-m", "mcp_server_fetch", "--ignore-robots-txt"], fetch()),
    }
    return {
        name: one
        for name, one in found.items()
        if Path(one.command[0]).is_file() and (name != "playwright" or chromium)
    }


@asynccontextmanager
async def connected(
    transport: AbstractAsyncContextManager[Any], peer: Peer, folder: Path, record: Record
) -> AsyncIterator[Client]:
    """Connect with all capabilities of a client; what the server sends is recorded."""

    async def sampled(_: Any, params: Any) -> types.CreateMessageResult:
        record.add("sampling", shown(params))
        text = types.TextContent(type="text", text="Hello.")
        return types.CreateMessageResult(role="assistant", content=text, model="fixed")

    async def elicited(_: Any, params: Any) -> types.ElicitResult:
        record.add("elicitation", shown(params))
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def roots(_: Any) -> types.ListRootsResult:
        root = types.Root.model_validate({"uri": folder.as_uri(), "name": "work"})
        return types.ListRootsResult(roots=[root])

    async def received(message: object) -> None:
        if isinstance(message, types.LoggingMessageNotification):
            record.add("log", shown(message.params))

    async with Client(
        transport,
        mode="legacy",
        cache=None,
        sampling_callback=sampled,
        elicitation_callback=elicited,
        list_roots_callback=roots if peer.roots else None,
        message_handler=received,
    ) as client:
        yield client


def shown(model: Any) -> Any:
    """Return a value of the protocol as JSON."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def outcomes(client: Client, peer: Peer, record: Record) -> dict[str, Any]:
    """Return the outcome of each step."""
    found = await lists(client)
    for number, (method, params) in enumerate(peer.steps):
        begun = len(record.events)
        with anyio.fail_after(SECONDS):
            result = await outcome(client, method, params, record)
        await anyio.sleep(SETTLING if "subscribe" in method else 0)
        name = f"{number:02} {method} {json.dumps(params, ensure_ascii=False)[:90]}"
        found[name] = {"result": result, "beside": record.events[begun:]}
    return found


async def lists(client: Client) -> dict[str, Any]:
    """Return all lists of a server, by name; those that it does not have are empty."""
    declared = client.server_capabilities
    found: dict[str, Any] = {"prompts": [], "resources": [], "templates": []}
    found["tools"] = [shown(one) for one in (await client.list_tools()).tools]
    if declared.prompts is not None:
        found["prompts"] = [shown(one) for one in (await client.list_prompts()).prompts]
    if declared.resources is not None:
        found["resources"] = [shown(one) for one in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        found["templates"] = [shown(one) for one in templates]
    await anyio.sleep(SETTLING)
    return found


async def outcome(client: Client, method: str, params: dict[str, Any], record: Record) -> Any:
    """Return the response to a request, or its error."""

    async def progress(done: float, total: float | None, message: str | None) -> None:
        record.add("progress", [done, total, message])

    request = types.Request[dict[str, Any], str](method=method, params=params)
    if method == "tools/call" and params["name"] == "simulate-research-query":
        params = {**params, "task": {}}
    try:
        result = await client.session.send_request(request, Anything, progress_callback=progress)
    except MCPError as fault:
        return {"error": shown(fault.error)}
    return result.model_dump(mode="json")


class Anything(types.Result):
    """A result of any method."""

    model_config = ConfigDict(extra="allow")


def normal(value: Any, peer: Peer, name: str) -> Any:
    """Return *value* without what differs from run to run, and what mcpg is documented to add."""
    if isinstance(value, list):
        return [normal(one, peer, name) for one in value if not is_own(one)]
    if isinstance(value, dict):
        members = {key: normal(one, peer, name) for key, one in value.items()}
        if isinstance(members.get("_meta"), dict):
            members["_meta"] = {k: v for k, v in members["_meta"].items() if k not in OWN_META}
        if isinstance(value.get("blob"), str):
            members["blob"] = normal(decoded(value["blob"]), peer, name)
        members.pop("execution", None)  # tasks are not offered
        return {key: one for key, one in members.items() if key != "_meta" or one}
    if isinstance(value, str):
        text = value.replace(f'"{name}: ', '"').replace(f', "_meta": {{"sourceId": "{name}"}}', "")
        text = text.replace(f'"_meta": {{"sourceId": "{name}"}}, ', "")
        return peer.ignored.sub("…", text)
    return value


def decoded(blob: str) -> str:
    """Return the text in *blob*, or itself if it is none."""
    try:
        return base64.b64decode(blob).decode()
    except ValueError:
        return blob


def is_log(event: str) -> bool:
    """Return whether *event* is a log message."""
    return event.startswith("log ")


def is_own(item: Any) -> bool:
    """Return whether *item* is a tool of mcpg itself."""
    name = item.get("name") if isinstance(item, dict) else None
    return isinstance(name, str) and name.startswith("gateway_")


def renamed(found: Mapping[str, Any], direct: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return outcomes behind mcpg, with tools by the names and in the order of the server."""
    ids = {f"{name}:{one['name']}": one["name"] for one in direct["tools"]}
    tools = [{**one, "name": ids.get(one["name"], one["name"])} for one in found["tools"]]
    order = [one["name"] for one in direct["tools"]]
    tools.sort(key=lambda one: order.index(one["name"]) if one["name"] in order else len(order))
    return {**found, "tools": tools}


async def behind_ids(client: Client, peer: Peer, name: str) -> Peer:
    """Return *peer* with tools by their names behind mcpg."""
    names = [one.name for one in (await client.list_tools()).tools]
    steps = []
    for method, params in peer.steps:
        own = f"{name}:{params.get('name')}"
        given = {**params, "name": own} if method == "tools/call" and own in names else params
        steps.append((method, given))
    return Peer(peer.command, steps, peer.roots, peer.ignored)


def fresh(folder: Path, *, is_repository: bool) -> None:
    """Make the content of the folder of servers anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "pixel.png").write_bytes(b"\x89PNG\r\n")
    if not is_repository:
        return
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    (folder / "pixel.png").write_bytes(b"\x89PNG\r\n\n")


async def compare(name: str, peer: Peer, folder: Path) -> Counter[str]:
    """Print the steps of a server that differ; return how many, and why others do."""
    env = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    config = folder.parent / f"{name}.json"
    place = str(folder.parent)
    entry = {"command": peer.command[0], "args": peer.command[1:], "env": env, "cwd": place}
    config.write_text(json.dumps({"mcpServers": {name: entry}}), "utf-8")
    words = ("-m", "mcpg", "serve", str(config), "--expose", "all")
    own = {**get_default_environment(), **env}
    direct = await recorded(stdio(peer.command, own, folder.parent), peer, folder)
    ways = {"again": await recorded(stdio(peer.command, own, folder.parent), peer, folder)}
    gateway = stdio([sys.executable, *words], {**os.environ}, folder.parent)
    ways["stdio"] = await recorded(gateway, peer, folder, name)
    with conformance.served(*words, "--http", "{port}") as address:
        ways["HTTP"] = await recorded(streamable_http_client(address), peer, folder, name)
    found: Counter[str] = Counter()
    for way, outcomes in ways.items():
        for step, other in zip(direct, renamed(outcomes, direct, name).values(), strict=True):
            one, two = (normal(value, peer, name) for value in (direct[step], other))
            if one == two:
                continue
            reason = explanation(one, two)
            found[reason or DIFFERENT] += 1
            if not reason:
                print(f"  {way}: {step}\n    - {brief(one, two)}\n    + {brief(two, one)}")
    return found


def explanation(direct: Any, behind: Any) -> str:
    """Return the documented reason of a difference, empty for none."""
    one, two = json.dumps(direct), json.dumps(behind)
    if isinstance(direct, dict) and direct["result"] == behind["result"]:
        return LOGS if differ_in_logs_alone(direct["beside"], behind["beside"]) else ""
    if "arguments_invalid" in two and '"isError": true' in one:
        return "arguments checked by mcpg"
    if "unknown tool" in two and "not found" in one.lower():
        return "unknown tool"
    if "requires task augmentation" in one and '"isError": true' not in two:
        return "run as a task"
    return ""


def differ_in_logs_alone(direct: list[str], behind: list[str]) -> bool:
    """Return whether log messages outside of a call are the only events that differ.

    Log messages that a server sends outside of calls reach all clients of the gateway, with the
    name of the source as their logger, or at another time. Other events, and their order, count.
    """
    others = [[one for one in events if not is_log(one)] for events in (direct, behind)]
    if others[0] != others[1]:
        return False
    differing = Counter(map(datum, filter(is_log, direct)))
    differing.subtract(Counter(map(datum, filter(is_log, behind))))
    return all(OUTSIDE.search(one) for one, count in differing.items() if count)


def datum(event: str) -> str:
    """Return the log message *event* without its logger, which the gateway adds."""
    members = json.loads(event.removeprefix("log "))
    members.pop("logger", None)
    return json.dumps(members, sort_keys=True)


def brief(value: Any, other: Any) -> str:
    """Return *value* from shortly before where it differs from *other*."""
    one, two = (json.dumps(each, ensure_ascii=False, sort_keys=True) for each in (value, other))
    start = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), 0)
    return one[max(0, start - 100) : start + 200]


async def recorded(
    transport: AbstractAsyncContextManager[Any], peer: Peer, folder: Path, name: str = ""
) -> dict[str, Any]:
    """Return the outcomes over *transport*, behind mcpg if *name* is given."""
    fresh(folder, is_repository="mcp_server_git" in peer.command)
    record = Record()
    async with connected(transport, peer, folder, record) as client:
        used = await behind_ids(client, peer, name) if name else peer
        return await outcomes(client, used, record)


def stdio(command: list[str], env: dict[str, str], place: Path) -> AbstractAsyncContextManager[Any]:
    """Start a program in the folder *place*."""
    started = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=place)
    return stdio_client(started, errlog=Path(os.devnull).open("w"))


def main(names: list[str]) -> None:
    """Print the differences of each server."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "work")
        found = peers(folder)
        if not found:
            print("skipped: PEER_MODULES names no node_modules of the servers")
        for name, peer in found.items():
            if names and name not in names:
                continue
            print(f"{name}: {len(peer.steps)} steps", flush=True)
            counts = anyio.run(compare, name, peer, folder)
            for reason, count in sorted(counts.items()):
                print(f"  {count} {reason}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
