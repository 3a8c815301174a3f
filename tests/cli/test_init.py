"""`mcpg init`: from the clients on a machine to a first answer, in one command."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from servers_catalogs import SERVER

from mcpg import files
from mcpg.text.library_errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="places of one system are tried")

SERVERS = str(Path(__file__).parent.parent / "servers.py")
SECRET = "marker-token-1234"
BYTES = re.compile(r"[\d,]+ bytes")
CLAUDE = ".config/Claude/claude_desktop_config.json"


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder."""
    home = folder.parent / f"{folder.name}-home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def program(mode: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a program that behaves by its mode."""
    options = [] if mode == "sdk" else ["-S"]
    return {"command": sys.executable, "args": [*options, SERVERS, mode], **more}


def write(path: Path, key: str = "mcpServers", **servers: dict[str, Any]) -> None:
    """Write the configuration of a client."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({key: servers}), "utf-8")


def files_below(folder: Path) -> dict[str, bytes]:
    """Return all files below *folder* with their contents."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_program_reads_what_was_found(folder: Path, home: Path, run: Callable[..., Run]) -> None:
    """As JSON there are the clients, what was written, and the first answer, without a secret."""
    write(home / CLAUDE, sums=program("sdk", env={"TOKEN": SECRET}))
    write(folder / ".mcp.json", pages=program("pages"))
    looked = run("init", "--dry-run", "--format", "json").json
    assert [(one["servers"], one["isUsed"]) for one in looked["clients"]] == [
        (["sums"], True),
        (["pages"], False),
    ]
    assert (looked["written"], looked["search"]) == ([], None)
    done = run("init", "add", "two", "numbers", "--format", "json")
    assert done.code == 0
    assert done.json["written"] == ["mcpg.toml", "graph.mdld"]
    assert done.json["search"]["schema"] == "mcpg/search/1"
    assert done.json["search"]["matches"]
    assert SECRET not in done.out


def test_one_command_to_an_answer(folder: Path, home: Path, run: Callable[..., Run]) -> None:
    """Configurations are found, named in a small file, bundled and searched; none is changed."""
    write(home / CLAUDE, sums=program("sdk"), pages=program("pages", env={"TOKEN": SECRET}))
    write(home / ".cursor/mcp.json", sums=program("sdk"), more=program("chatty"))
    write(home / ".config/Code/User/settings.json")
    before = files_below(home)
    done = run("init", "add", "two", "numbers")
    assert done.code == 0
    assert done.out.splitlines()[1].split()[2] == "add"
    golden = Path(__file__).parent / "told" / "init.txt"
    told = BYTES.sub("<bytes>", done.err.replace(os.path.relpath(home), "<home>"))
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        golden.write_text(told, "utf-8", newline="\n")
    assert told == golden.read_text("utf-8")
    assert files_below(home) == before
    settings = (folder / "mcpg.toml").read_text("utf-8")
    assert tomllib.loads(settings) == {
        "bundle": "graph.mdld",
        "sources": [{"path": f"~/{CLAUDE}"}, {"path": "~/.cursor/mcp.json"}],
    }
    assert all(
        SECRET not in data.decode("utf-8", "replace") for data in files_below(folder).values()
    )
    assert run("bundle", "--check", "--strict").code == 0
    assert run("search", "add two numbers", "-n1", "--format", "ids").out == "add\n"


def test_without_a_query_tools_are_listed(home: Path, run: Callable[..., Run]) -> None:
    """Without words there is still something to see, and what to do next."""
    write(home / CLAUDE, pages=program("pages"))
    done = run("init")
    assert done.code == 0
    _, *lines = done.out.splitlines()
    assert [line.split()[1] for line in lines] == ["tool_0", "tool_1", "tool_2"]
    assert 'next: mcpg search "your task"' in done.err


@pytest.mark.parametrize("name", ["mcpg.toml", "graph.mdld"])
def test_nothing_is_overwritten(
    folder: Path, home: Path, run: Callable[..., Run], name: str
) -> None:
    """What is there stays, to the byte, unless --force is given."""
    write(home / CLAUDE, pages=program("pages"))
    (folder / name).write_text("# mine\n", "utf-8")
    before = files_below(folder)
    done = run("init")
    assert done.code == 2
    assert f"{name}: exists already" in done.err
    assert files_below(folder) == before
    assert run("init", "--force", "-q").code == 0
    assert (folder / name).read_text("utf-8") != "# mine\n"


def test_a_run_after_a_killed_one_finishes_its_work(
    folder: Path, home: Path, run: Callable[..., Run]
) -> None:
    """A configuration file that the killed run wrote, and nobody edited, is no obstacle."""
    write(home / CLAUDE, pages=program("pages"))
    assert run("init", "-q").code == 0
    whole = files_below(folder)
    for name in ("graph.mdld", "graph.mdld.idx"):
        (folder / name).unlink()
    assert run("init", "-q").code == 0
    assert files_below(folder).keys() == whole.keys()
    (folder / "graph.mdld").unlink()
    (folder / "mcpg.toml").write_text("# mine\n", "utf-8")
    assert run("init", "-q").code == 2


def test_a_folder_that_cannot_be_written(
    home: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is reported; there is nothing to take back, which would fail as well."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    write(home / CLAUDE, pages=program("pages"))
    monkeypatch.setattr(files, "new_file", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    done = run("init")
    assert done.code == 2
    assert "error: mcpg.toml: cannot be written: read-only file system" in done.err


def test_files_of_the_working_folder_are_used_on_request(
    folder: Path, home: Path, run: Callable[..., Run]
) -> None:
    """A configuration that came with a folder starts nothing unless --project is given."""
    proof = folder / "started"
    touch = {"command": "touch", "args": [str(proof)]}
    write(home / CLAUDE, pages=program("pages"))
    write(folder / ".vscode/mcp.json", "servers", touch=touch)
    done = run("init")
    assert done.code == 0
    assert "not used without --project: VS Code: .vscode/mcp.json: 1 server: touch" in done.err
    assert not proof.exists()
    run("init", "--project", "--force")
    assert proof.exists()
    sources = tomllib.loads((folder / "mcpg.toml").read_text("utf-8"))["sources"]
    assert {"path": ".vscode/mcp.json"} in sources


def test_a_dry_run_starts_and_writes_nothing(
    folder: Path, home: Path, run: Callable[..., Run]
) -> None:
    """With --dry-run it only says what it found."""
    write(home / CLAUDE, touch={"command": "touch", "args": [str(folder / "started")]})
    done = run("init", "--dry-run")
    assert (done.code, done.out) == (0, "")
    assert f"found Claude Desktop: ~/{CLAUDE}: 1 server: touch" in done.err
    assert files_below(folder) == {}


def test_a_dry_run_says_why_servers_are_unusable(home: Path, run: Callable[..., Run]) -> None:
    """The reasons that a build would report are reported before it."""
    write(home / CLAUDE, nothing={"args": []})
    done = run("init", "--dry-run")
    assert f"found Claude Desktop: ~/{CLAUDE}: 0 servers, 1 unusable" in done.err
    assert "it names neither a `command` nor a `url`" in done.err


@pytest.mark.usefixtures("home")
def test_nothing_found(folder: Path, run: Callable[..., Run]) -> None:
    """Where no client names a server, it says how to name one, and where it looked."""
    done = run("init", "--verbose")
    assert done.code == 2
    assert "no client configuration with MCP servers was found" in done.err
    assert "name one with --client" in done.err
    assert "`mcpg bundle examples/tools`" in done.err
    assert f"looking for Claude Desktop: ~/{CLAUDE}" in done.err
    assert files_below(folder) == {}


@pytest.mark.usefixtures("home")
def test_a_named_configuration(folder: Path, run: Callable[..., Run]) -> None:
    """A file in another place can be named; a missing one is an error."""
    path = folder / "my\n[x] clients.json"
    write(path, pages=program("pages"))
    assert run("init", "--client", "absent.json").code == 2
    assert run("init", "--client", path.name).code == 0
    sources = tomllib.loads((folder / "mcpg.toml").read_text("utf-8"))["sources"]
    assert sources == [{"path": str(path)}]


@pytest.mark.usefixtures("home")
def test_an_unusable_named_configuration(folder: Path, run: Callable[..., Run]) -> None:
    """The error names the file and the reason, not the places of clients."""
    (folder / "folder").mkdir()
    texts = {"list": "[]", "empty": "", "bare": '{"mcpServers": {}}', "broken": "{broken"}
    off = {"mcpServers": {"a": {"command": "a", "disabled": True}}}
    for name, text in (texts | {"off": json.dumps(off)}).items():
        (folder / name).write_text(text, "utf-8")
    os.mkfifo(folder / "pipe")
    reasons = {
        "folder": "is a folder",
        **dict.fromkeys(("list", "empty", "bare"), "names no servers"),
        "pipe": "is not a regular file",
        "broken": "invalid JSON",
        "off": "disables all its servers",
    }
    for name, reason in reasons.items():
        done = run("init", "--client", name)
        assert (done.code, done.err.count("error")) == (2, 1)
        assert f"error: {name}:" in done.err
        assert reason in done.err


def test_all_servers_fail(folder: Path, home: Path, run: Callable[..., Run]) -> None:
    """Nothing is written then; the address of each server and the cause are reported."""
    gone = {"url": "http://127.0.0.1:9/mcp?key=marker-token-1234"}
    missing = {"command": "/nowhere/absent-server"}
    write(home / CLAUDE, dead=program("dies"), gone=gone, missing=missing)
    done = run("init", "anything")
    assert done.code == 2
    assert "server exited (code 3)" in done.err
    refused = "http://127.0.0.1:9: server cannot be reached: connection refused"
    assert f"{refused} (~/{CLAUDE}: gone)" in done.err.replace(os.path.relpath(home), "~")
    assert "command 'absent-server' cannot be started: no such file or directory" in done.err
    assert "nothing was written" in done.err
    assert SECRET not in done.err
    assert files_below(folder) == {}
    (folder / "mcpg.toml").write_text("# mine\n", "utf-8")
    assert run("init", "--force").code == 2
    assert files_below(folder) == {str(folder / "mcpg.toml"): b"# mine\n"}


def test_inputs_come_from_the_environment(
    folder: Path, home: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value for which an editor asks its user is in the variable that the message names."""
    server = program("secret", env={"TOKEN": "${input:shop-token}"})
    write(home / ".config/Code/User/mcp.json", "servers", shop=server, pages=program("pages"))
    done = run("init")
    assert done.code == 0
    assert "the input `shop-token` has no value (set MCPG_INPUT_SHOP_TOKEN)" in done.err
    monkeypatch.setenv("MCPG_INPUT_SHOP_TOKEN", SECRET)
    done = run("init", "look things up", "--force")
    assert done.code == 0
    assert "secret_lookup" in done.out
    assert SECRET not in done.out + done.err
    assert all(SECRET.encode() not in data for data in files_below(folder).values())


def test_inputs_are_asked_for_on_a_terminal(folder: Path, home: Path) -> None:
    """A password is not shown while it is typed, and nothing is stored."""
    pty = pytest.importorskip("pty")
    server = program("secret", env={"TOKEN": "${input:shop-token}"})
    write(home / ".config/Code/User/mcp.json", "servers", shop=server)
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "mcpg", "init", "look things up"]
    environ = {**os.environ, "HOME": str(home), "TERM": "dumb"}
    process = subprocess.Popen(
        command, cwd=folder, env=environ, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    with process, suppress(OSError):  # Linux reports the end of a terminal as an error
        while data := os.read(person, 65_536):
            shown += data
            if shown.endswith(b"shop-token: "):
                os.write(person, f"{SECRET}\n".encode())
    os.close(person)
    assert process.returncode == 0
    assert b"secret_lookup" in shown
    assert SECRET.encode() not in shown
    assert all(SECRET.encode() not in data for data in files_below(folder).values())


def test_without_the_sdk_nothing_is_written(folder: Path, home: Path) -> None:
    """Where servers cannot be queried, that is said before a file is written."""
    write(home / CLAUDE, pages=program("pages"))
    script = (
        "import sys; sys.modules['mcp'] = None; from mcpg.cli import main; sys.exit(main(['init']))"
    )
    environ = {**os.environ, "HOME": str(home)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False)
    assert done.returncode == 2
    assert install_command("mcp").encode() in done.stderr
    assert files_below(folder) == {}


def test_a_broken_configuration_hinders_no_other(home: Path, run: Callable[..., Run]) -> None:
    """Bad JSON, a link to nowhere and a folder in the place of a file are no reason to stop."""
    write(home / CLAUDE, pages=program("pages"))
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{"mcpServers": {', "utf-8")
    (home / ".codeium/windsurf/mcp_config.json").mkdir(parents=True)
    (home / ".claude.json").symlink_to(home / "nowhere")
    done = run("init")
    assert done.code == 0
    assert "error[source_load_failed]" in done.err
    assert "(~/.cursor/mcp.json:1:" in done.err


def test_a_listed_server_is_added_after_consent(
    folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init --add` prints the entry; it writes one only where that is confirmed."""
    catalog = "catalog.json"
    (folder / catalog).write_text(json.dumps([SERVER]), "utf-8")
    client = folder / "client.json"
    shown = run("init", "--add", SERVER["name"], "-b", catalog)
    assert shown.code == 0
    assert shown.json["mcpServers"]["tide-tables"]["env"]["TIDE_KEY"] == "${TIDE_KEY}"
    assert "set TIDE_KEY: Key" in shown.err
    asked = run("init", "--add", SERVER["name"], "-b", catalog, "--client", str(client))
    assert asked.code == 2
    assert "no terminal" in asked.err
    assert not client.exists()
    done = run("init", "--add", SERVER["name"], "-b", catalog, "--client", str(client), "--yes")
    assert done.code == 0
    assert json.loads(client.read_text("utf-8")) == shown.json
    wrong = run("init", "--yes")
    assert (wrong.code, "--add" in wrong.err) == (2, True)
    assert "already" not in shown.err
    monkeypatch.setenv("TIDE_KEY", SECRET)
    known = run("init", "--add", SERVER["name"], "-b", catalog)
    assert "TIDE_KEY is set here already" in known.err
    assert SECRET not in known.err + known.out
    alone = run("init", "--add", SERVER["name"], "-b", catalog, "--yes")
    assert (alone.code, "--client" in alone.err) == (2, True)
