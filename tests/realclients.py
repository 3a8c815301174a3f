"""Real MCP clients, which do the same steps at a server and behind `mcpg serve`.

The drivers in `drivers/` run in the environment of their client. The server is
`everykindserver.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import conformance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
SERVER = HERE / "everykindserver.py"
PYTHON_DRIVER = HERE / "drivers" / "python_client.py"
TYPESCRIPT_DRIVER = HERE / "drivers" / "typescript_client.mjs"
TOKEN = "a-token-of-clients-0123456789"
KINDS = ("list", "search", "call", "ask", "error", "resource", "prompt")
MODES = ("all", "gateway")
TRANSPORTS = ("stdio", "http")
_SERVE = ("-m", "mcpg", "serve")
_META = ("_meta", "meta", "metadata")

CITY = {"city": "Turin"}
CALLS: dict[str, list[tuple[str, Any]]] = {
    "call": [
        ("measure_temperature", CITY),
        ("forecast_text", {}),
        ("draw_map", {}),
        ("attach_note", {}),
        ("count_down", {}),
    ],
    "ask": [("ask_city", {}), ("ask_model", {})],
    "error": [("measure_humidity", CITY), ("measure_wind", CITY), ("break_down", {})],
}
OTHERS: dict[str, list[list[Any]]] = {
    "resource": [
        ["resources"],
        ["templates"],
        ["read", "note://manual"],
        ["read", "note://logo"],
        ["read", "station:///7/report"],
        ["read", "note://missing"],
    ],
    "prompt": [["prompts"], ["prompt", "greet", {"name": "Ada"}], ["prompt", "show_map", {}]],
}
# Calls of meta-tools, each with what its outcome holds, in whatever shape. Some clients find out
# themselves that the query is missing.
SEARCHES: dict[str, list[Any]] = {
    "requiredArguments": ["call", "gateway_tools_search", {"query": "temperature of a city"}],
    "query": ["call", "gateway_tools_search", {}],
    "outputSchema": ["call", "gateway_tool_describe", {"toolId": "measure_temperature"}],
    "at note://manual": ["call", "gateway_resource_read", {"uri": "note://manual"}],
    "Hello Ada": ["call", "gateway_prompt_get", {"name": "greet", "arguments": {"name": "Ada"}}],
}
ERRORS = dict.fromkeys(("measure_humidity", "measure_wind"), "The station of Turin is offline.")
ERRORS["break_down"] = "The station is broken."


class ClientError(Exception):
    """A client does not run."""


def steps(mode: str) -> list[tuple[str, list[Any]]]:
    """Return the steps, each with its kind.

    Args:
        mode: `direct`, `all` for tools by their names behind the gateway, `meta` for calls through
            its meta-tool.
    """
    found: list[tuple[str, list[Any]]] = [("list", ["tools"])]
    for kind, calls in CALLS.items():
        for name, arguments in calls:
            step = ["call", name, arguments]
            if mode == "gateway":
                step = ["call", "gateway_tool_invoke", {"toolId": name, "arguments": arguments}]
            found.append((kind, step))
    found += [(kind, step) for kind, group in OTHERS.items() for step in group]
    if mode != "direct":
        found += [("search", step) for step in SEARCHES.values()]
    return found


def job(server: Any, mode: str) -> dict[str, Any]:
    """Return the input of a driver."""
    return {"server": server, "steps": [step for _, step in steps(mode)]}


def outcomes(command: list[str], server: Any, mode: str) -> list[Any]:
    """Return what the steps came to.

    Args:
        command: Runs the driver.
        server: The entry of the server in `mcpServers`.
        mode: As for `steps`.
    """
    done = subprocess.run(
        command,
        input=json.dumps(job(server, mode)),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "MCP_USE_ANONYMIZED_TELEMETRY": "false"},
    )
    try:
        found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise ClientError((done.stderr or done.stdout)[-600:]) from None
    return found


@dataclass(frozen=True)
class Step:
    """A step and what it came to.

    Attributes:
        kind: One of `KINDS`.
        step: The step.
        direct: Its outcome at the server, `None` for a meta-tool.
        behind: Its outcome behind the gateway.
    """

    kind: str
    step: list[Any]
    direct: Any
    behind: Any

    @property
    def is_supported(self) -> bool:
        """Whether the client has such a request."""
        return "unsupported" not in self.behind

    @property
    def is_right(self) -> bool:
        """Whether the outcome is that of the server, but for what only a gateway adds.

        A search and an error have a certain text instead: an error is a result if a meta-tool
        calls, and some clients refuse at a server what a gateway makes readable.
        """
        if self.kind == "search":
            text = next(text for text, step in SEARCHES.items() if step == self.step)
            return text in json.dumps(self.behind)
        if self.kind == "error":
            name = self.step[2].get("toolId", self.step[1])
            if ERRORS[name] in json.dumps(self.behind):
                return True
        if self.kind == "list" and "ok" in self.behind and not bare(self.behind["ok"]):
            return True  # the meta-tools alone
        return bool(bare(self.direct) == bare(self.behind))


def compared(direct: list[Any], behind: list[Any], mode: str) -> list[Step]:
    """Return the steps of *mode* with both outcomes."""
    padded = [*direct, *[None] * len(SEARCHES)]
    return [
        Step(kind, step, one, other)
        for (kind, step), one, other in zip(steps(mode), padded, behind, strict=True)
    ]


def bare(value: Any) -> Any:
    """Return *value* without metadata and the gateway's own tools; lists of named things sorted."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key not in _META}
    if isinstance(value, list):
        kept = [one for one in value if not _name(one).startswith("gateway_")]
        return [bare(one) for one in sorted(kept, key=_name)]
    return value


def _name(value: Any) -> str:
    return str(value.get("name", "")) if isinstance(value, dict) else ""


@contextmanager
def servers(
    folder: Path, over_http: Iterable[str] = ("direct", *MODES)
) -> Iterator[dict[tuple[str, str], Any]]:
    """Run the servers *over_http*, and give the entry of each, by transport and mode."""
    config = folder / "mcp.json"
    entry = {"command": sys.executable, "args": [str(SERVER)]}
    config.write_text(json.dumps({"mcpServers": {"weather": entry}}), "utf-8")
    with ExitStack() as stack:
        found: dict[tuple[str, str], Any] = {("stdio", "direct"): entry}
        for mode in MODES:
            words = [*_SERVE, str(config), "--expose", mode]
            found["stdio", mode] = {"command": sys.executable, "args": words}
        for mode in over_http:
            words = found["stdio", mode]["args"]
            port = ["{port}"] if mode == "direct" else ["--http", "{port}"]
            http = conformance.served(*words, *port, MCPG_SERVE_TOKEN=TOKEN)
            headers = {"Authorization": f"Bearer {TOKEN}"}
            found["http", mode] = {"url": stack.enter_context(http), "headers": headers}
        yield found
