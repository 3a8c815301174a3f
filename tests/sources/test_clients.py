"""Where clients keep their configurations, and which servers are found in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcpg.errors import Code
from mcpg.sources.clients import ClientFile, client_files, find_clients, named_client

SERVER = {"command": "python3", "args": ["serve.py"], "env": {"TOKEN": "marker-token-1234"}}


def place(client: str, system: str, home: str = "/home/ann", **environ: str) -> list[ClientFile]:
    """Return the places of a client."""
    files = client_files("/work", home, system, environ)
    return [one for one in files if one.client == client]


@pytest.mark.parametrize(
    ("system", "client", "path"),
    [
        ("linux", "Claude Desktop", "~/.config/Claude/claude_desktop_config.json"),
        (
            "darwin",
            "Claude Desktop",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", "Claude Desktop", "~/AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", "VS Code", "~/.config/Code/User/mcp.json"),
        ("darwin", "VS Code", "~/Library/Application Support/Code/User/mcp.json"),
        ("win32", "VS Code", "~/AppData/Roaming/Code/User/mcp.json"),
        ("linux", "Zed", "~/.config/zed/settings.json"),
        ("darwin", "Zed", "~/.config/zed/settings.json"),
        ("win32", "Zed", "~/AppData/Roaming/zed/settings.json"),
        *((system, "Cursor", "~/.cursor/mcp.json") for system in ("linux", "darwin", "win32")),
        *((system, "Claude Code", "~/.claude.json") for system in ("linux", "darwin", "win32")),
    ],
)
def test_the_usual_places(system: str, client: str, path: str) -> None:
    """Each system has its folder for the settings of applications."""
    first = place(client, system)[0]
    assert (first.shown, first.is_local) == (path, False)
    assert first.path == path.replace("~", "/home/ann")


def test_the_environment_names_other_folders() -> None:
    """`XDG_CONFIG_HOME` and `APPDATA` count; a relative path does not."""
    assert (
        place("Zed", "linux", XDG_CONFIG_HOME="/etc/ann")[0].shown == "/etc/ann/zed/settings.json"
    )
    assert place("Zed", "linux", XDG_CONFIG_HOME="here")[0].shown == "~/.config/zed/settings.json"
    roaming = place("Zed", "win32", "C:/Users/ann", APPDATA="C:/Users/ann/Elsewhere")
    assert roaming[0].shown == "~/Elsewhere/zed/settings.json"


def test_files_of_the_working_folder_are_known_as_such() -> None:
    """What lies in the working folder may come from strangers."""
    local = [one for one in client_files("/work", "/home/ann", "linux", {}) if one.is_local]
    assert {one.shown for one in local} >= {".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"}
    assert all(one.path == f"/work/{one.shown}" for one in local)


def write(path: Path, value: object) -> ClientFile:
    """Write a configuration."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return ClientFile(path.stem, str(path), path.name)


def test_every_layout_is_found(tmp_path: Path) -> None:
    """The members of all clients are known, with comments where clients allow them."""
    files = [
        write(tmp_path / "a.json", {"mcpServers": {"one": SERVER}}),
        write(
            tmp_path / "b.json", '{"servers": {"two": {"url": "https://x.example/mcp"}}, // y\n}'
        ),
        write(tmp_path / "c.json", {"editor.tabSize": 2, "mcp": {"servers": {"three": SERVER}}}),
        write(tmp_path / "d.json", {"context_servers": {"four": SERVER}}),
    ]
    found, broken = find_clients(files, {})
    assert [one.servers for one in found] == [("one",), ("two",), ("three",), ("four",)]
    assert broken == ()
    assert "marker-token-1234" not in repr(found)


def test_files_without_servers_are_passed_over(tmp_path: Path) -> None:
    """Settings that name no server, empty files, folders and missing files are nothing to tell."""
    (tmp_path / "folder.json").mkdir()
    files = [
        write(tmp_path / "a.json", {"editor.tabSize": 2}),
        write(tmp_path / "b.json", ""),
        write(tmp_path / "c.json", {"mcpServers": {}}),
        write(tmp_path / "d.json", {"mcpServers": {"off": {**SERVER, "disabled": True}}}),
        write(tmp_path / "e.json", "{ tabSize: 2, nonsense"),
        ClientFile("folder", str(tmp_path / "folder.json"), "folder.json"),
        ClientFile("missing", str(tmp_path / "missing.json"), "missing.json"),
    ]
    assert find_clients(files, {}) == ((), ())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    """A named pipe in the place of a configuration cannot block."""
    os.mkfifo(tmp_path / "mcp.json")
    assert find_clients([named_client(str(tmp_path / "mcp.json"))], {}) == ((), ())


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    """A file that seems to name servers and cannot be read is reported; the others are used."""
    files = [
        write(tmp_path / "a.json", '{"mcpServers": {"one": '),
        write(tmp_path / "b.json", {"mcpServers": {"two": SERVER}}),
    ]
    (tmp_path / "c.json").write_bytes(b'\xff{"mcpServers": {}}')
    files.append(ClientFile("c", str(tmp_path / "c.json"), "c.json"))
    found, broken = find_clients(files, {})
    assert [one.servers for one in found] == [("two",)]
    assert [(one.code, one.place) for one in broken] == [
        (Code.SOURCE_LOAD_FAILED, "a.json:1:24"),
        (Code.SOURCE_LOAD_FAILED, "c.json"),
    ]


def test_unusable_servers_are_counted(tmp_path: Path) -> None:
    """A server that needs what is not there is no reason to leave the file out."""
    file = write(tmp_path / "a.json", {"servers": {"one": {**SERVER, "env": {"A": "${input:a}"}}}})
    ((found,), broken) = find_clients([file], {})
    assert (found.servers, len(found.diagnostics), broken) == ((), 1, ())


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need rights there")
def test_one_file_under_two_names_counts_once(tmp_path: Path) -> None:
    """Settings that are linked from elsewhere are one file."""
    file = write(tmp_path / "a.json", {"mcpServers": {"one": SERVER}})
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    found, _ = find_clients([file, named_client(str(tmp_path / "b.json"))], {})
    assert [one.file.shown for one in found] == ["a.json"]
