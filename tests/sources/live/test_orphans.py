"""Programs of a gateway that was killed do not go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from processes import guards, is_alive, is_gone

from mcpg.sources.client_config import ServerAccess, StdioServer
from mcpg.sources.live import query_servers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")

# A server that never looks at its standard input again, with a child that does not either.
_BUSY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    time.sleep(0.05)
"""

_GATEWAY = """
import sys
from mcpg.sources.client_config import ServerAccess, StdioServer
from mcpg.sources.live import query_servers
server = StdioServer("busy", "busy", sys.executable, ("-c", sys.argv[1], sys.argv[2]))
query_servers([server], ServerAccess(timeout=300))
"""


def test_a_killed_process_leaves_no_busy_program(tmp_path: Path) -> None:
    """A program that ignores its standard input, and its child, end after a SIGKILL of ours."""
    told = tmp_path / "pids"
    ours = subprocess.Popen([sys.executable, "-c", _GATEWAY, _BUSY, str(told)])
    try:
        for _ in range(600):
            if told.exists():
                break
            time.sleep(0.05)
        pids = [int(word) for word in told.read_text("utf-8").split()]
        assert all(is_alive(pid) for pid in pids)
    finally:
        ours.kill()
        ours.wait()
    left = [pid for pid in pids if not is_gone(pid, 30)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_a_guard_goes_with_its_program(tmp_path: Path) -> None:
    """After an ordinary end, nothing is left of what would have ended the program."""
    before = guards()
    server = StdioServer("short", "short", sys.executable, ("-c", "pass"), cwd=str(tmp_path))
    query_servers([server], ServerAccess(timeout=30))
    assert guards() == before
