"""What FastMCP's client gets of skills at FastMCP's servers, and with a gateway in between."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import conformance
from skillfolders import write_skill

DRIVER = Path(__file__).parent / "drivers" / "fastmcp_skills.py"
SHOPS = "books", "bikes"
FILES: dict[str, str | bytes] = {
    "references/rules.md": "§ 1\u2028\r\nNo \ud7ff.\n",
    "scripts/deep/er/count.py": "print(1)\n",
    "assets/pixel.png": bytes(range(256)),
    "assets/empty.txt": "",
}
FRONT = (
    "description: Refunds %s.\nlicense: MIT\nmetadata:\n  version: 1.50\n  tags: [a, é]\n---\n\n%s"
)


class Comparison(NamedTuple):
    """How many skills and files a client got, and the addresses of what differed.

    Attributes:
        transport: How the gateway and the servers were reached.
        skills: The number of skills.
        files: The number of their files.
        differing: Addresses whose entries or files are not those of the server.
    """

    transport: str
    skills: int
    files: int
    differing: tuple[str, ...]


def write_shops(folder: Path) -> None:
    """Write the skills of two servers, of which one has the same address at both."""
    for shop in SHOPS:
        write_skill(folder / shop, "refunds", FRONT % (shop, "# Refunds\r\n"), FILES)
    write_skill(folder / SHOPS[0] / "acme/billing", "late-fees", FRONT % ("fees", "x" * 100_000))


def compare(python: str, folder: Path, transport: str) -> Comparison:
    """Compare over *transport*, `stdio` or `http`; *python* is that of FastMCP's environment."""
    with ExitStack() as stack:
        servers: dict[str, Any] = {}
        for shop in SHOPS:
            words = str(DRIVER), "serve", str(folder / shop)
            servers[shop] = {"command": python, "args": [*words]}
            if transport == "http":
                url = stack.enter_context(conformance.served(*words, "{port}", python=python))
                servers[shop] = {"url": url}
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        gateway: dict[str, Any] = {"command": sys.executable, "args": ["-m", "mcpg", "serve"]}
        gateway["args"].append(str(config))
        if transport == "http":
            served = conformance.served("-m", "mcpg", "serve", str(config), "--http", "{port}")
            gateway = {"url": stack.enter_context(served)}
        behind = _read(python, {"gateway": gateway}, 3)
        return _compare(
            transport, {shop: _read(python, {shop: servers[shop]}, 1) for shop in SHOPS}, behind
        )


def _compare(transport: str, direct: dict[str, Any], behind: dict[str, Any]) -> Comparison:
    expected: dict[str, Any] = {"list": {}, "get": {}, "files": {}}
    for shop, found in direct.items():
        for uri in found["list"]:
            shown = f"mcpg://{shop}/{uri}" if uri in expected["list"] else uri
            prefix = shown.removesuffix(uri)
            for kind in ("list", "get"):
                entry = found[kind][uri]
                for one in (entry, *entry["resources"]):
                    one["uri"] = f"{prefix}{one['uri']}"
                expected[kind][shown] = entry
            expected["files"][shown] = found["files"][uri]
    uris = {*expected["list"], *behind["list"]}
    differing = {
        uri
        for kind, found in expected.items()
        for uri in uris
        if found.get(uri) != behind[kind].get(uri)
    }
    files = sum(len(one) for one in behind["files"].values())
    return Comparison(transport, len(behind["list"]), files, tuple(sorted(differing)))


def _read(python: str, servers: dict[str, Any], count: int) -> dict[str, Any]:
    words = [python, str(DRIVER), "read", str(count)]
    done = subprocess.run(
        words, input=json.dumps(servers), capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found
