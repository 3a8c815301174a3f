"""`mcpg explore`: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json
import signal
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from exploring import mcpg_run, started_command
from shop import MANIFEST

from mcpg.explore.server import ExploreServer

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a manifest."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    return tmp_path


def ask(address: str, name: str) -> Any:
    """Ask the page at *address* for an answer."""
    base, _, token = address.partition("#")
    request = urllib.request.Request(
        f"{base}api/{name}",
        b"{}",
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_the_address_answers_until_ctrl_c(shop: Path) -> None:
    """The only data is the address; the page begins with the query; Ctrl-C ends it with 0."""
    words = ("where", "is it", "-b", "shop.json", "-n", "7", "--queries", "j.yaml")
    with started_command(shop, *words) as (process, address):
        state = ask(address, "state")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert address.startswith("http://127.0.0.1:")
    assert (process.returncode, out, err) == (0, "", "")
    assert (state["query"], state["limit"], state["bundle"]) == ("where is it", 7, ["shop.json"])
    assert state["tools"] == len(MANIFEST["tools"])
    assert (state["hintsFile"], state["judgedFile"]) == ("hints/explore.hints.yaml", "j.yaml")


def test_files_stand_beside_the_configuration(shop: Path) -> None:
    """In a folder of a project, hints and judged queries are those of the project."""
    (shop / "mcpg.toml").write_text('bundle = "shop.json"\n', "utf-8")
    inner = shop / "docs"
    inner.mkdir()
    with started_command(inner) as (_, address):
        state = ask(address, "state")
    assert state["hintsFile"] == str(Path("../hints/explore.hints.yaml"))
    assert state["judgedFile"] == str(Path("../queries.jsonl"))


def test_a_change_of_the_configuration_is_followed(shop: Path) -> None:
    """When the configuration names another bundle, that is the one that is searched."""
    (shop / "mcpg.toml").write_text('bundle = "shop.json"\n', "utf-8")
    one = {"server": "one", "tools": [{"name": "only", "description": "The only one."}]}
    (shop / "one.json").write_text(json.dumps(one), "utf-8")
    with started_command(shop) as (_, address):
        (shop / "mcpg.toml").write_text('bundle = "one.json"\n', "utf-8")
        end = time.monotonic() + 60
        while (state := ask(address, "state"))["generation"] == 1 and time.monotonic() < end:
            time.sleep(0.05)
    assert state["tools"] == 1


def ending_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server end as by Ctrl-C as soon as it serves."""

    def serve(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExploreServer, "serve_forever", serve)


@pytest.mark.parametrize(
    ("opens", "told"),
    [
        (lambda _: True, ""),
        (lambda _: False, "no browser can be opened"),
        (lambda _: (_ for _ in ()).throw(webbrowser.Error("none")), "no browser can be opened"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_the_browser_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, opens: Callable[[str], bool], told: str
) -> None:
    """The address that is printed is opened; without a browser, it is only printed."""
    ending_at_once(monkeypatch)
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: seen.append(url) or opens(url))
    assert mcpg_run("explore", "-b", "shop.json") == 0
    printed = capsys.readouterr()
    assert seen == [printed.out.strip()]
    assert told in printed.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-b", "none.mdld"), "none.mdld"),
        (("-b", "shop.json", "--port", "70000"), "--port"),
        (("-b", "shop.json", "--port", "-1"), "--port"),
        (("-b", "shop.json", "--hints", "notes.txt"), ".hints.yaml"),
        (("-b", "shop.json", "--queries", "notes.txt"), ".jsonl"),
        (("-b", "shop.json", "-n", "0"), "limit"),
        (("-b", "shop.json", "--strategy", "magic"), "magic"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_what_makes_no_sense_is_refused(capsys: Any, words: tuple[str, ...], told: str) -> None:
    """Bad options end the command at once with 2 and a message; nothing is served."""
    assert mcpg_run("explore", "--no-browser", *words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err


def test_a_failing_request_is_reported(shop: Path) -> None:
    """A fault of one request is answered, and the server goes on."""
    (shop / "queries.jsonl").mkdir()
    with started_command(shop, "-b", "shop.json") as (_, address):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            ask(address, "judged")
        refusal.value.close()
        assert refusal.value.code == 400
        assert ask(address, "state")["generation"] == 1
