"""An MCP server made with the SDK, whose tools are called in tests: `python sdkserver.py [PORT]`.

With a port it serves over streamable HTTP, else over standard input and output.
"""

import os
import sys
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations

server = MCPServer("sdk server", log_level="CRITICAL")
waiting: list[anyio.Event] = []


def note(line: str) -> None:
    """Note *line* in the file that the environment names."""
    if "NOTE" in os.environ:
        with Path(os.environ["NOTE"]).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Tell of every step."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
async def slow(count: int, pause: float, ctx: Context) -> str:
    """Tell of steps with pauses between."""
    for step in range(count):
        await anyio.sleep(pause)
        await ctx.report_progress(step + 1, count)
    return "done"


@server.tool()
async def wait(ctx: Context) -> str:
    """Wait for ever."""
    try:
        await ctx.report_progress(0, 1, "waiting")
        await anyio.sleep(600)
    except anyio.get_cancelled_exc_class():
        note("cancelled")
        raise
    return "woken"


@server.tool()
async def meet() -> str:
    """Answer when two have called."""
    if waiting:
        waiting.pop().set()
    else:
        waiting.append(anyio.Event())
        await waiting[0].wait()
    return "met"


@server.tool()
def fail(why: str) -> CallToolResult:
    """Fail."""
    said = TextContent(type="text", text=f"{why}: {os.environ.get('TOKEN')}")
    return CallToolResult(content=[said], isError=True)


@server.tool()
def say(text: str, times: int = 1) -> CallToolResult:
    """Say something, or much."""
    return CallToolResult(content=[TextContent(type="text", text=text) for _ in range(times)])


@server.tool()
async def rename(ctx: Context) -> str:
    """Take another name."""

    def renamed() -> str:
        """Be another."""
        return "renamed"

    server.add_tool(renamed)
    await ctx.notify_tools_changed()
    return "done"


@server.tool()
def who() -> int:
    """Tell the process."""
    return os.getpid()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
