from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

SERVERS = str(Path(__file__).parent.parent / "servers.py")
TOKEN = "marker-token-1234"


def configuration(path: Path, **servers: Any) -> str:
    """Write a client's configuration with servers of the given modes."""
    entries = {
        name: {"command": sys.executable, "args": ["-S", SERVERS, mode], "env": {"TOKEN": TOKEN}}
        for name, mode in servers.items()
    }
    path.write_text(json.dumps({"mcpServers": entries}), "utf-8")
    return path.name


def test_servers_of_a_configuration(folder: Path, run: Callable[..., Run]) -> None:
    """A configuration is bundled by asking its servers, every time, with the same bytes."""
    name = configuration(folder / "mcp.json", mine="pages")
    assert run("bundle", name).code == 0
    first = (folder / "graph.mdld").read_bytes()
    assert run("bundle", name, "--check").code == 0
    again = run("bundle", name)
    assert "up to date" in again.err
    assert (folder / "graph.mdld").read_bytes() == first
    # The same file, but its server has something else to tell.
    changed = json.loads((folder / "mcp.json").read_text("utf-8"))
    assert run("search", "tool_2", "--format", "json").json["matches"]
    script = folder / "serve.py"
    script.write_text(Path(SERVERS).read_text("utf-8"), "utf-8")
    changed["mcpServers"]["mine"]["args"][1] = str(script)
    (folder / "mcp.json").write_text(json.dumps(changed), "utf-8")
    assert run("bundle", name).code == 0
    script.write_text(script.read_text("utf-8").replace('"tool_{number}"', '"other_{number}"'))
    assert "wrote graph.mdld" in run("bundle", name).err


def test_generate_asks_as_well(folder: Path, run: Callable[..., Run]) -> None:
    """`generate` takes a server named by its command, under the name it has for itself."""
    source = f"stdio:'{sys.executable}' -S '{SERVERS}' pages"
    assert run("generate", source, "-o", "docs").code == 0
    assert sorted(path.name for path in folder.glob("docs/**/tool_*.md")) == [
        "tool_0.md",
        "tool_1.md",
        "tool_2.md",
    ]


def test_one_that_fails(folder: Path, run: Callable[..., Run]) -> None:
    """A server that fails is told and left out; `--strict` writes nothing; secrets stay."""
    name = configuration(folder / "mcp.json", good="secret", bad="error")
    strict = run("bundle", name, "--strict", "--debug", "-v")
    assert strict.code == 1
    assert not (folder / "graph.mdld").exists()
    done = run("bundle", name, "--debug", "-v", "--format", "json")
    assert done.code == 0
    assert "error[source_load_failed]" in done.err
    assert done.json["tools"] == 1
    assert run("bundle", configuration(folder / "mcp.json", bad="error"), "--debug").code == 2
    written = b"".join(path.read_bytes() for path in folder.glob("graph*"))
    assert TOKEN not in f"{strict} {done} {written!r}"


def test_a_name_in_two_configurations(folder: Path, run: Callable[..., Run]) -> None:
    """Two servers of one name would be mixed up; the second is refused, unless it is the same."""
    names = [configuration(folder / f"{mode}.json", mine=mode) for mode in ("pages", "chatty")]
    done = run("bundle", *names, "--format", "json")
    assert done.json["tools"] == 3
    (failed,) = done.json["diagnostics"]
    assert (failed["code"], failed["place"]) == ("source_load_failed", "chatty.json: mine")
    same = configuration(folder / "same.json", mine="pages")
    done = run("bundle", names[0], same, "--format", "json", "--strict")
    (told,) = done.json["diagnostics"]
    assert (told["severity"], told["place"]) == ("info", "same.json: mine")


def test_a_folder_starts_nothing(folder: Path, run: Callable[..., Run]) -> None:
    """A configuration that lies in a folder is no reason to start programs."""
    (folder / "in").mkdir()
    configuration(folder / "in" / "mcp.json", mine="pages")
    done = run("bundle", "in")
    assert done.code == 2
    assert "must be named explicitly" in done.err


def test_reading_commands_start_nothing(folder: Path, run: Callable[..., Run]) -> None:
    """A search does not start programs."""
    done = run("search", "x", "-b", configuration(folder / "mcp.json", mine="pages"))
    assert done.code == 2
    assert "bundle their tools first" in done.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tools", "--header", "A: b"], "exactly one server"),
        (
            ["https://a.example/mcp", "https://b.example/mcp", "--header", "A: b"],
            "exactly one server",
        ),
        (["https://a.example/mcp", "--header", f"no {TOKEN}"], "invalid header"),
        (["https://a.example/mcp", "--header", f"A: ${{MISSING}}{TOKEN}"], "MISSING"),
        (["tools", "--server-timeout", "0"], "0 is not a valid"),
        (["tools", "--server-timeout", "nan"], "nan is not a valid"),
        (["stdio:"], "no command follows"),
    ],
)
def test_options_that_make_no_sense(
    arguments: list[str], says: str, run: Callable[..., Run]
) -> None:
    """A mistake in the options is told, without what may be secret."""
    done = run("bundle", *arguments)
    assert done.code == 2
    assert says in done.err
    assert TOKEN not in done.err
