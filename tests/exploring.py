"""The page of `mcpg explore`, served to tests."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcpg
from mcpg.explore.explorer import Explorer, LiveEngine, PageSettings
from mcpg.explore.server import ExploreServer
from mcpg.review.authored import HintsFile, JudgedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = {
    "limit": 5,
    "strategy": "graph",
    "fusion": "",
    "rewrite": False,
    "lexicon": True,
    "include_disabled": False,
    "min_score": 0.0,
    "abstain": False,
    "context": None,
}


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The content as a value."""
        return json.loads(self.content)


@dataclass
class Served:
    """A page that is served."""

    server: ExploreServer
    folder: Path
    live: LiveEngine
    faults: list[Exception] = field(default_factory=list)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self.server.server_port

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request as the page sends it."""
        return {
            "Host": f"127.0.0.1:{self.port}",
            "Origin": f"http://127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.server.token}",
        }

    def request(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> Answer:
        """Send a request with these *headers* and no others that a rule is about."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            skips = "Host" in headers or method == "RAW"
            connection.putrequest(method, path, skip_host=skips, skip_accept_encoding=True)
            if body is not None and "Content-Length" not in headers:
                headers = {**headers, "Content-Length": str(len(body))}
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def post(self, name: str, body: Any = None, **headers: str | None) -> Answer:
        """Ask for an answer as the page does; headers that are `None` are left out."""
        changed = {key.replace("_", "-"): value for key, value in headers.items()}
        sent = {**self.headers, **changed}
        kept = {key: value for key, value in sent.items() if value is not None}
        return self.request("POST", f"/api/{name}", kept, json.dumps(body or {}).encode())


def mcpg_run(*words: str) -> int:
    """Run the program in this process and return its exit code."""
    from mcpg.cli import main  # noqa: PLC0415 - few tests run it

    return main(words)


def opened(folder: Path, bundle: str = "graph.mdld", query: str = "") -> Served:
    """Return the page of *bundle*, which is not yet served."""
    path = str(folder / bundle)
    live = LiveEngine(lambda: mcpg.load(path), lambda: (path,))
    explorer = Explorer(
        live,
        PageSettings(query, ASKED, (bundle,)),
        HintsFile(folder / "hints" / "explore.hints.yaml"),
        JudgedFile(folder / "judged.jsonl"),
    )
    faults: list[Exception] = []
    return Served(ExploreServer(explorer, 0, faults.append), folder, live, faults)


def serving(page: Served) -> Iterator[Served]:
    """Serve *page* and follow its bundle until the test has ended."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=page.server.serve_forever, args=(0.05,), daemon=True),
        threading.Thread(target=page.live.follow, args=(stop,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield page
    finally:
        stop.set()
        page.server.shutdown()
        page.server.server_close()
        for thread in threads:
            thread.join(10)


@contextmanager
def started_command(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `mcpg explore` as a program in *folder*; give the process and the address it prints."""
    command = [sys.executable, "-m", "mcpg", "explore", *words, "--no-browser", "-q"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process, process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()
