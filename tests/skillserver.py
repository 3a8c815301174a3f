"""An MCP server of skills by SEP-2640: `python skillserver.py [PORT]`.

With a port it serves over streamable HTTP, else over standard input and output. `NAME` is in all of
its texts, `PATHS` are the paths of its skills, `UNLISTED` of those that it does not list, `URIS`
addresses of resources that it lists besides. With `FAULT` it does not do what it claims to.
"""

import base64
import hashlib
import os
import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged
from mcp.shared.exceptions import MCPError

NAME, FAULT = os.environ.get("NAME", "shop"), os.environ.get("FAULT", "")
PATHS = os.environ.get("PATHS", "refunds").split()
UNLISTED = os.environ.get("UNLISTED", "").split()
URIS = os.environ.get("URIS", "").split()
SCHEME = os.environ.get("SCHEME", "skill")
BLOB = bytes(range(256))
bus = InMemorySubscriptionBus()


def address(path: str, file: str = "SKILL.md") -> str:
    """Return the address of a file of the skill at *path*."""
    return f"{SCHEME}://{path}/{file}"


def files_of(path: str) -> dict[str, bytes]:
    """Return the files of the skill at *path*, nested skills among them."""
    name = path.rpartition("/")[2]
    front = f"name: {name}\ndescription: Handles {name} of {NAME}.\nmetadata:\n  n: 1.50\n"
    own = {
        "SKILL.md": f"---\n{front}---\n# {NAME}\r\nRead templates/mail.md\n".encode(),
        "templates/mail.md": f"Dear {NAME}\u2028é\n".encode(),
        "templates/eu/mail.md": b"",
        "pixel.png": BLOB,
    }
    for other in (*PATHS, *UNLISTED):
        if other.startswith(f"{path}/"):
            own |= {
                f"{other[len(path) + 1 :]}/{name}": one for name, one in files_of(other).items()
            }
    return own


def entry_of(path: str) -> dict[str, Any]:
    """Return the entry of the skill at *path*."""
    name = path.rpartition("/")[2]
    text = "Handles all." if FAULT == "misstates" else f"Handles {name} of {NAME}."
    front = {"name": name, "description": text, "metadata": {"n": 1.5}}
    files: Any = [
        {
            "uri": address(path, file),
            "digest": f"sha256:{hashlib.sha256(b'?' if FAULT == 'lies' else data).hexdigest()}",
            "size": len(data),
        }
        for file, data in files_of(path).items()
    ]
    entry = {"uri": address(path), "frontmatter": front, "resources": files}
    return entry | {"resources": "dynamic"} if FAULT == "dynamic" else entry


def odd_entries() -> list[Any]:
    """Return entries that the specification does not allow."""
    odd: list[Any] = [7, {}]
    changes: tuple[dict[str, Any], ...] = (
        {"uri": "skill://other/SKILL.md"},
        {"uri": "skill://odd/README.md"},
        {"uri": "skill://a/../odd/SKILL.md"},
        {"uri": "skill://./odd/SKILL.md"},
        {"uri": "skill://a%2F..%2Fodd/%2e%2e/odd/SKILL.md"},
        {"uri": "odd/SKILL.md"},
        {"uri": f"skill://{'a/' * 100}odd/SKILL.md"},
        {"resources": None},
        {"resources": "static"},
        {"resources": []},
        {"resources": [{"uri": address("odd")}]},
        {"frontmatter": {"name": "odd"}},
        {"frontmatter": {"name": "odd", "description": "x" * 1025}},
        {"frontmatter": {"name": "odd", "description": "x", "license": 7}},
        {"frontmatter": {"name": "odd", "description": "x", "notes": "n" * 2**20}},
    )
    odd += [{**entry_of("odd"), **change} for change in changes]
    for uri, digest, size in (
        ("skill://elsewhere/a.md", "0" * 64, 1),
        ("file:///etc/passwd", "0" * 64, 1),
        ("skill://odd/../other/a.md", "0" * 64, 1),
        ("skill://odd/%2e%2e/a.md", "0" * 64, 1),
        ("skill://odd/a.md", "0" * 63, 1),
        ("skill://odd/a.md", "0" * 64, -1),
        ("skill://odd/a.md", "0" * 64, 2**30),
        (address("odd"), "0" * 64, 1),
    ):
        one = entry_of("odd")
        one["resources"].append({"uri": uri, "digest": f"sha256:{digest}", "size": size})
        odd.append(one)
    return odd


async def list_skills(_: Any, params: types.PaginatedRequestParams) -> dict[str, Any]:
    """List the skills, one on a page."""
    number = int(params.cursor or 0)
    if FAULT == "hangs":
        await anyio.sleep(600)
    if FAULT == "fails":
        raise MCPError(-32603, "out of order")
    if FAULT == "odd":
        return {"skills": [*odd_entries(), *map(entry_of, PATHS)]}
    if FAULT == "endless":
        return {"skills": [entry_of(f"n{number}")], "nextCursor": str(number + 1)}
    if FAULT == "repeats":
        return {"skills": [entry_of(PATHS[0])], "nextCursor": str(number + 1)}
    more = {"nextCursor": str(number + 1)} if number + 1 < len(PATHS) else {}
    envelope = {"resultType": "complete", "ttlMs": 7000, "cacheScope": "public"}
    return {**envelope, "skills": [entry_of(PATHS[number])], **more}


class Address(types.PaginatedRequestParams):
    """Parameters with an address."""

    uri: str


async def get_skill(_: Any, params: Address) -> dict[str, Any]:
    """Return a skill."""
    for path in (*PATHS, *UNLISTED):
        if params.uri == address(path):
            found = "other" if FAULT == "confuses" else path
            return {"skill": entry_of(found), "ttlMs": 7000, "cacheScope": "public"}
    raise MCPError(-32602, f"no skill of {NAME} at {params.uri}")


async def read_directory(_: Any, params: Address) -> dict[str, Any]:
    """Return the files and folders in a folder."""
    found: dict[str, Any] = {}
    for path in PATHS:
        for file in files_of(path):
            uri = address(path, file)
            if uri.startswith(f"{params.uri}/"):
                name, is_below, _ = uri[len(params.uri) + 1 :].partition("/")
                kind = {"mimeType": "inode/directory"} if is_below else {"title": NAME}
                found[name] = {"uri": f"{params.uri}/{name}", "name": name, **kind}
    if not found:
        raise MCPError(-32602, f"{params.uri} is not a directory resource")
    return {"resources": [*found.values(), {"odd": 1}]}


async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    """List the `SKILL.md` of each skill, and other resources."""
    uris = [*(address(path) for path in PATHS), *URIS]
    return types.ListResourcesResult(resources=[types.Resource(uri=one, name=NAME) for one in uris])


async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> dict[str, Any]:
    """Read a file of a skill, or another resource."""
    known = {
        address(path, file): data
        for path in (*PATHS, *UNLISTED)
        for file, data in files_of(path).items()
    }
    known |= {one: f"{NAME} {one}".encode() for one in URIS}
    data = known.get(params.uri)
    if data is None:
        raise MCPError(-32602, f"{NAME} has no {params.uri}")
    content: dict[str, Any] = {"uri": params.uri}
    if data == BLOB:
        content["blob"] = base64.b64encode(data).decode()
    else:
        content["text"] = data.decode()
    return {"contents": [content], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """List the tool that adds a skill."""
    return types.ListToolsResult(
        tools=[types.Tool(name=f"publish_{NAME}", input_schema={"type": "object"})]
    )


async def call_tool(context: Any, _: Any) -> types.CallToolResult:
    """Add a skill, and announce it."""
    PATHS.append("late")
    await bus.publish(ResourcesListChanged())
    await context.session.send_resource_list_changed()
    return types.CallToolResult(content=[types.TextContent(type="text", text="published")])


server: Server[Any] = Server(
    NAME,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_read_resource=read_resource,  # type: ignore[arg-type]
    on_subscriptions_listen=ListenHandler(bus),
)
if FAULT != "plain":
    settings = {"directoryRead": True} if FAULT == "directories" else {}
    server.extensions["io.modelcontextprotocol/skills"] = settings
    server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", Address, get_skill)
if FAULT == "directories":
    server.add_request_handler("resources/directory/read", Address, read_directory)


async def main() -> None:
    """Serve one client over standard input and output."""
    options = server.create_initialization_options(NotificationOptions(True, True, True))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, options)


if sys.argv[1:]:
    app = server.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
else:
    anyio.run(main)
