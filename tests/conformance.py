"""Runs the conformance suite of MCP, an npm package, against a server or a client.

`CONFORMANCE_MODULES` names a `node_modules` with `@modelcontextprotocol/conformance` and, since the
suite needs Node 22, perhaps `node`.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = Path(__file__).parent / "conformanceserver.py"
CLIENT = Path(__file__).parent / "conformanceclient.py"
_LISTED = re.compile(r"^  - (\S+)", re.MULTILINE)
_CHECKS = re.compile(r"^Passed: (\d+)/\d+, (\d+) failed", re.MULTILINE)
_CLIENTS = "Client scenarios"
_SCENARIO = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


def suite() -> list[str] | None:
    """Return the command of the suite, `None` where it is not installed."""
    modules = Path(os.environ.get("CONFORMANCE_MODULES", "/nonexistent"))
    script = modules / "@modelcontextprotocol/conformance/dist/index.js"
    own = modules / ".bin/node"
    node = str(own) if own.exists() else shutil.which("node")
    return [node, str(script)] if node and script.is_file() else None


def run(command: list[str], address: str, folder: Path) -> dict[str, tuple[int, int]]:
    """Return how many checks of each scenario have passed and failed at *address*."""
    words = [*command, "server", "--url", address, "--suite", "all", "-o", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    found = {name: (int(ok), int(bad)) for name, ok, bad in _SCENARIO.findall(done.stdout)}
    if not found:
        raise RuntimeError(done.stderr[-2000:] or done.stdout[-2000:])
    return found


def client_scenarios(command: list[str]) -> list[str]:
    """Return the scenarios for clients."""
    done = subprocess.run([*command, "list"], capture_output=True, text=True, check=True)
    return _LISTED.findall(done.stdout.partition(_CLIENTS)[2])


def run_client(
    command: list[str], kind: str, scenario: str, folder: Path
) -> tuple[bool, tuple[int, int]]:
    """Return whether a client passes *scenario*, and how many checks have passed and failed.

    Scenarios are run one by one: those that measure time fail where all run at once.
    """
    client = f"{sys.executable} {CLIENT} {kind}"
    words = [*command, "client", "--command", client, "--scenario", scenario, "-o", str(folder)]
    words += ["--timeout", "120000"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    found = _CHECKS.search(done.stderr)
    if found is None:
        raise RuntimeError(done.stderr[-2000:] or done.stdout[-2000:])
    return "OVERALL: PASSED" in done.stderr, (int(found[1]), int(found[2]))


@contextmanager
def served(*words: str, python: str = sys.executable, **env: str) -> Iterator[str]:
    """Run a program with the port that it is to serve at, and give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [python, *(word.format(port=port) for word in words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    try:
        _wait(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(120)


def behind(address: str, folder: Path) -> tuple[str, ...]:
    """Return the command line that serves the server at *address* behind a gateway."""
    config = folder / "mcp.json"
    config.write_text(f'{{"mcpServers": {{"everything": {{"url": "{address}"}}}}}}', "utf-8")
    return ("-m", "mcpg", "serve", str(config), "--http", "{port}", "--expose", "all")


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1800):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {process.returncode}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server does not start")
