"""How large the lists of tools are: servers by themselves, and behind `mcpg serve`.

    python benchmarks/bench_listing.py mcp.json [QUERY ...]

`mcp.json` is a client's configuration, whose servers are started. Rows: the servers by themselves;
`mcpg serve`; `--expose on-demand` before a search and after a search for each QUERY in one
session; and `--expose all`. Columns: tools; bytes of the complete `tools/list` responses as compact
JSON; bytes of what hosts show to a model (name, description, input schema); and the same in tokens,
at four bytes each. The protocol is that of 2025-11-25.
"""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from measuring import environment, program

from mcpg.sources.client_config import StdioServer, read_client_configuration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

SHOWN = {"name", "description", "inputSchema"}
QUERIES = ("show the commit history of a repository", "read a file", "what time is it in Tokyo")


@asynccontextmanager
async def connected(command: Sequence[str], env: dict[str, str]) -> AsyncIterator[Client]:
    """Run a server, and connect to it."""
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=env)
    async with Client(stdio_client(parameters), mode="legacy") as client:
        yield client


async def listed(client: Client) -> list[dict[str, Any]]:
    """Return the tools that a server lists."""
    result = await client.list_tools()
    return [
        tool.model_dump(by_alias=True, exclude_unset=True, mode="json") for tool in result.tools
    ]


async def find(client: Client, query: str) -> None:
    """Search for tools."""
    await client.call_tool("gateway_tools_search", {"query": query})


def size(value: object) -> int:
    """Return the bytes of *value* as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def show(name: str, *lists: list[dict[str, Any]]) -> None:
    """Print a row."""
    tools = [tool for tools in lists for tool in tools]
    whole = sum(size({"tools": tools}) for tools in lists)
    model = sum(size({key: tool[key] for key in tool if key in SHOWN}) for tool in tools)
    print(f"{name:48}{len(tools):>6}{whole:>9,}{model:>9,}{model / 4:>8,.0f}", flush=True)


async def measure(config: str, text: str, queries: Sequence[str]) -> None:
    """Print the table for the configuration *config*, which holds *text*."""
    env = dict(environment())
    lists = []
    for server in read_client_configuration(text, config, env)[0]:
        if isinstance(server, StdioServer):
            async with connected([server.command, *server.args], {**env, **server.env}) as client:
                lists.append(await listed(client))
    print(f"{'':48}{'tools':>6}{'bytes':>9}{'shown':>9}{'tokens':>8}")
    show(f"{len(lists)} servers by themselves", *lists)
    for expose in ("gateway", "on-demand", "all"):
        async with connected([*program(), "serve", config, "--expose", expose], env) as client:
            await find(client, "zzyzx")  # finds nothing, when all servers have been read
            show(f"mcpg serve --expose {expose}", await listed(client))
            for query in queries if expose == "on-demand" else ():
                await find(client, query)
                show(f"  after {query!r}", await listed(client))


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    anyio.run(measure, str(path), path.read_text(encoding="utf-8"), sys.argv[2:] or QUERIES)
