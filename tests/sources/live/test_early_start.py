"""Programs start while the SDK is being imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import servers

_RUN = """
import sys, time
from pathlib import Path
from mcpg.sources.client_config import ServerAccess, StdioServer
from mcpg.sources.live import query_each

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp.client":
            end = time.monotonic() + 60
            while not up.exists() and time.monotonic() < end:
                time.sleep(0.01)
            print("started" if up.exists() else "not started")

up = Path(sys.argv[1])
sys.meta_path.insert(0, Slow())
start = "from pathlib import Path; import runpy, sys; Path(sys.argv.pop(1)).touch(); "
start += "sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
words = ("-c", start, sys.argv[1], sys.argv[2], "pages")
server = StdioServer("early", "early", sys.executable, words)
broken = StdioServer("broken", "broken", "/no/such/program", ())
lost = StdioServer("lost", "lost", sys.executable, (), cwd="/no/such/folder")
for one in query_each([server, broken, lost, server], ServerAccess(timeout=60, environ={})):
    print(len(one.batch.tools), *(item.message for item in one.batch.diagnostics))
"""


def test_programs_start_before_the_sdk_is_imported(tmp_path: Path) -> None:
    """The import waits for the program; one that cannot be started is reported once."""
    words = (sys.executable, "-c", _RUN, str(tmp_path / "up"), servers.__file__)
    run = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    broken = "0 command 'program' cannot be started: no such file or directory"
    lost = "in the folder '/no/such/folder': no such file or directory"
    told, first, second, third, last = run.stdout.splitlines()
    assert (told, first, second, last) == ("started", "3", broken, "3")
    assert third.endswith(lost)
