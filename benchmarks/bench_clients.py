"""What real MCP clients get from `mcpg serve`, against the same clients at the server itself.

    python benchmarks/bench_clients.py FOLDER [CLIENT ...] [--details]

Each client is a package that is installed into an environment of its own in FOLDER, where the next
run finds it: Python packages by pip, others by npm (Node 22 or later). One that cannot be installed
is skipped. It lists, searches, calls, and reads resources and prompts of the server
`tests/everykindserver.py`, over standard input and output and over HTTP with a token. Columns:
outcomes that are right, of all, with `serve --expose all` and by the meta-tools alone. A call, a
resource or a prompt is right if it equals the one at the server itself; an error, if it has the
message of the server; a search, if it has the tool.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import realclients
from realclients import KINDS, MODES, TRANSPORTS, ClientError

SDK, SDK2 = "@modelcontextprotocol/sdk", "@modelcontextprotocol/client"
SHOWN = 1500


@dataclass(frozen=True)
class Client:
    """A client.

    Attributes:
        packages: What is installed, each with its version.
        driver: Its name in `tests/drivers/python_client.py`, `sdk` or `inspector`.
    """

    packages: tuple[str, ...]
    driver: str


CLIENTS = {
    "typescript-1.20": Client((f"{SDK}@1.20.2",), "sdk"),
    "typescript-1.32": Client((f"{SDK}@1.32.0",), "sdk"),
    "typescript-1": Client((f"{SDK}@1.32.2",), "sdk"),
    "typescript-2": Client((f"{SDK2}@2.4.0",), "sdk"),
    "inspector": Client(("@modelcontextprotocol/inspector@2.12.0",), "inspector"),
    "python-1": Client(("mcp==1.30.0",), "mcp1"),
    "python-2.0": Client(("mcp==2.0.0",), "mcp2"),
    "python-2": Client(("mcp==2.3.0",), "mcp2"),
    "fastmcp-2": Client(("fastmcp==2.14.7",), "fastmcp"),
    "fastmcp-3": Client(("fastmcp==3.4.10",), "fastmcp"),
    "fastmcp-4": Client(("fastmcp==4.1.2",), "fastmcp"),
    "langchain": Client(("langchain-mcp-adapters==0.3.2",), "langchain"),
    "mcp-use": Client(("mcp-use==1.7.1",), "mcp-use"),
    "openai-agents": Client(("openai-agents==0.24.0",), "openai"),
    "pydantic-ai-1": Client(("pydantic-ai-slim[mcp]==1.107.10",), "pydantic1"),
    "pydantic-ai-2": Client(("pydantic-ai-slim[mcp]==2.68.0",), "pydantic"),
}
INSPECTOR = {
    "call": "tools/call",
    "read": "resources/read",
    "prompt": "prompts/get",
    "tools": "tools/list",
    "resources": "resources/list",
    "templates": "resources/templates/list",
    "prompts": "prompts/list",
}


def installed(client: Client, folder: Path) -> list[str] | None:
    """Return the command of the driver of *client*, `None` where it cannot be installed."""
    done = folder / "done"
    is_python = client.driver not in ("sdk", "inspector")
    python = str(folder / "bin" / "python")
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
        work = [[*npm, *client.packages]]
        if is_python:
            pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            work = [[sys.executable, "-m", "venv", str(folder)], [*pip, *client.packages]]
        if not all(_succeeds(command) for command in work):
            return None
        done.touch()
    if is_python:
        return [python, str(realclients.PYTHON_DRIVER), client.driver]
    if client.driver == "inspector":
        # Its usual limit for a connection is 15 s, too short for a busy machine.
        script = folder / "node_modules" / ".bin" / "mcp-inspector"
        return [str(script), "--cli", "--connect-timeout", "0"]
    return ["node", str(realclients.TYPESCRIPT_DRIVER), str(folder / "node_modules")]


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def outcomes(client: Client, command: list[str], server: Any, mode: str) -> list[Any]:
    """Return what the steps came to."""
    if client.driver == "inspector":
        return [inspected(command, server, step) for _, step in realclients.steps(mode)]
    return realclients.outcomes(command, server, mode)


def inspected(command: list[str], server: Any, step: list[Any]) -> Any:
    """Return what the command line of Inspector prints for *step*."""
    words = inspector_words(step)
    for name, value in server.get("headers", {}).items():
        words += ["--header", f"{name}: {value}"]
    if "url" in server:
        target = [server["url"], "--transport", "http", *words]
    else:
        target = [*words, "--", server["command"], *server["args"]]
    done = subprocess.run(
        [*command, *target], capture_output=True, text=True, timeout=600, check=False
    )
    try:
        value = json.loads(done.stdout)
    except ValueError:
        return {"error": (done.stderr or done.stdout)[-600:]}
    lists = ("tools", "resources", "resourceTemplates", "prompts")
    return {"ok": next((value[name] for name in lists if name in value), value)}


def inspector_words(step: list[Any]) -> list[str]:
    """Return the options of Inspector for *step*."""
    method, *given = step
    words = ["--method", INSPECTOR[method]]
    if method == "read":
        return [*words, "--uri", given[0]]
    if method in ("call", "prompt"):
        named, pair = ("--tool-name", "--tool-arg")
        if method == "prompt":
            named, pair = ("--prompt-name", "--prompt-args")
        words += [named, given[0]]
        for name, value in given[1].items():
            words += [pair, f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def shown(client: Client, command: list[str], servers: Any, *, details: bool) -> None:
    """Print the rows of one client."""
    for transport in TRANSPORTS:
        direct = outcomes(client, command, servers[transport, "direct"], "direct")
        for mode in MODES:
            behind = outcomes(client, command, servers[transport, mode], mode)
            counts = {kind: [0, 0] for kind in KINDS}
            for step in realclients.compared(direct, behind, mode):
                counts[step.kind][0] += step.is_right and step.is_supported
                counts[step.kind][1] += step.is_supported
                if details and not (step.is_right and step.kind not in ("search", "error")):
                    print(f"    {step.kind} {step.step}")
                    print(f"      direct {json.dumps(step.direct)[:SHOWN]}")
                    print(f"      behind {json.dumps(step.behind)[:SHOWN]}")
            cells = (f"{good}/{total}" if total else "-" for good, total in counts.values())
            print(row(transport, mode, *cells), flush=True)


def row(*cells: str) -> str:
    """Return a row of the table."""
    return "  " + " ".join(f"{cell:>8}" for cell in cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("clients", nargs="*", default=list(CLIENTS))
    parser.add_argument("--details", action="store_true", help="print errors and what is not right")
    given = parser.parse_args()
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with realclients.servers(folder) as servers:
        print(row("", "", *KINDS))
        for name in given.clients:
            client = CLIENTS[name]
            command = installed(client, folder / name)
            packages = " ".join(client.packages)
            print(f"{name}: {packages}{'' if command else ': skipped, cannot be installed'}")
            if command is None:
                continue
            try:
                shown(client, command, servers, details=given.details)
            except ClientError as error:
                print(f"  failed: {error}")


if __name__ == "__main__":
    main()
