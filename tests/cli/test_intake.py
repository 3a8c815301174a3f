"""`bundle` and `generate` without a source: those of the configuration file are read."""

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


def source(**entry: Any) -> str:
    """Write an entry; a `mode` is a server of that mode."""
    if "mode" in entry:
        entry |= {"command": sys.executable, "args": ["-S", SERVERS, entry.pop("mode")]}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    return f"[[sources]]\n{lines}"


@pytest.fixture
def configure(folder: Path) -> Callable[..., None]:
    """Write the configuration file of the folder."""

    def call(*entries: str) -> None:
        (folder / "mcpg.toml").write_text("\n".join(entries), "utf-8")

    return call


def test_one_file_says_it_all(
    sources: Path, run: Callable[..., Run], configure: Callable[..., None]
) -> None:
    """Files and servers of the configuration make the bundle; in CI it is checked likewise."""
    configure(source(path="tools"), source(id="mine", mode="pages"), source(mode="toolless"))
    done = run("bundle", "--strict", "-v")
    assert done.code == 0
    assert "reading 3 sources of mcpg.toml" in done.err
    first = (sources.parent / "graph.mdld").read_bytes()
    named = {tool["sourceId"] for tool in run("list", "--format", "json").json["tools"]}
    assert named == {"shop", "mine"}
    assert run("bundle", "--check").code == 0
    assert "up to date" in run("bundle").err
    assert (sources.parent / "graph.mdld").read_bytes() == first
    (sources / "shop.json").unlink()
    assert run("bundle", "--check").code == 1


def test_from_a_folder_below(
    sources: Path,
    run: Callable[..., Run],
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Paths and programs are found from the file, wherever below it the program runs."""
    (sources.parent / "serve.py").write_text(Path(SERVERS).read_text("utf-8"), "utf-8")
    configure(
        source(path="tools"),
        source(id="mine", command=sys.executable, args=["-S", "serve.py", "pages"]),
    )
    monkeypatch.chdir(sources)
    done = run("generate", "-o", "../docs", "--format", "json")
    assert done.code == 0
    assert done.json["tools"] == 7
    assert f"of {Path('..', 'mcpg.toml')}" in done.err


def test_files_that_have_not_changed_are_not_read_again(
    sources: Path, run: Callable[..., Run], configure: Callable[..., None]
) -> None:
    """Without servers a run that finds nothing new stops early; ids count as well as files."""
    configure(source(path="tools"))
    assert "wrote graph.mdld" in run("bundle").err
    again = run("bundle")
    assert "up to date: graph.mdld" in again.err
    assert "reading" not in again.err
    configure(source(path="tools", id="other"))
    assert "wrote graph.mdld" in run("bundle").err
    assert {tool["sourceId"] for tool in run("list", "--format", "json").json["tools"]} == {"other"}
    named = run("bundle", str(sources), "--source-id", "third")
    assert "wrote graph.mdld" in named.err
    assert "reading" not in named.err


@pytest.mark.usefixtures("sources")
def test_a_source_that_is_switched_off_or_on_is_noticed(
    run: Callable[..., Run], configure: Callable[..., None]
) -> None:
    """Switching a source changes the bundle; one that is off is neither read nor in the way."""

    def names() -> set[str]:
        return {tool["sourceId"] for tool in run("list", "--format", "json").json["tools"]}

    tools, more = source(id="a", path="tools"), source(id="b", path="tools/shop.json")
    configure(tools, more)
    assert "wrote graph.mdld" in run("bundle").err
    assert names() == {"a", "b"}
    configure(tools, source(id="b", path="tools/shop.json", enabled=False))
    assert run("bundle", "--check").code == 1
    done = run("bundle")
    assert "wrote graph.mdld" in done.err
    assert "reading 1 source of" in done.err
    assert names() == {"a"}
    assert "up to date: graph.mdld" in run("bundle").err
    configure(tools, more)
    assert "wrote graph.mdld" in run("bundle").err
    assert names() == {"a", "b"}
    off = source(id="c", path="absent.json", enabled=False), source(mode="toolless", enabled=False)
    configure(tools, *off)
    assert "wrote graph.mdld" in run("bundle").err
    again = run("bundle")
    assert "up to date: graph.mdld" in again.err
    assert "reading" not in again.err


@pytest.mark.usefixtures("sources")
def test_switching_between_two_sources_of_one_file_is_noticed(
    run: Callable[..., Run], configure: Callable[..., None]
) -> None:
    """The same files are read, but the tools belong to the other source."""
    for used in ("a", "b", "a"):
        configure(*(source(id=one, path="tools", enabled=one == used) for one in "ab"))
        assert "wrote graph.mdld" in run("bundle").err
        assert {tool["sourceId"] for tool in run("list", "--format", "json").json["tools"]} == {
            used
        }


def test_options_go_before_the_file(
    run: Callable[..., Run], configure: Callable[..., None]
) -> None:
    """A source id and a time of the command line hold for every source."""
    configure(source(id="a", mode="pages"), source(id="b", mode="silent", timeout=0.4))
    done = run("bundle", "--format", "json")
    late = "no response within 0.4 s (raise its `timeout`, or --server-timeout)"
    assert [one["message"] for one in done.json["diagnostics"]] == [late]
    assert done.json["diagnostics"][0]["place"] == "mcpg.toml: b"
    done = run("bundle", "--server-timeout", "0.6", "--format", "json", "--source-id", "c")
    assert "within 0.6 s" in done.err
    assert "wrote" in done.err
    assert {tool["sourceId"] for tool in run("list", "--format", "json").json["tools"]} == {"c"}


def test_a_failing_source_and_secrets(
    folder: Path,
    run: Callable[..., Run],
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that fails is told, and under `--strict` nothing is written; no secret comes out."""
    environment = {"TOKEN": "${MCPG_TEST_TOKEN}"}
    monkeypatch.setenv("MCPG_TEST_TOKEN", TOKEN)
    configure(
        source(id="good", mode="secret", env=environment).replace('{"TOKEN":', "{ TOKEN ="),
        source(id="bad", command="/no/such/program"),
        source(id="unset", command="uvx", args=["${MCPG_TEST_MISSING}"]),
        source(path="tools.json", enabled=False),
    )
    done = run("bundle", "--strict", "--debug", "-v")
    assert done.code == 1
    assert not (folder / "graph.mdld").exists()
    done = run("bundle", "--debug", "-v", "--format", "json")
    assert done.code == 0
    assert {(one["code"], one["place"]) for one in done.json["diagnostics"]} == {
        ("text_repaired", "mcpg.toml: good"),
        ("source_load_failed", "mcpg.toml: bad"),
        ("source_load_failed", "mcpg.toml: unset"),
        ("source_skipped", "mcpg.toml: tools"),
    }
    written = b"".join(path.read_bytes() for path in folder.glob("graph*"))
    assert TOKEN not in f"{done} {written!r}"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        ("", [], "no source is named"),
        ("sources = []", [], "no source is named"),
        ("[[sources]]\npath = 'a'\nenabled = false", [], "every source is disabled"),
        ("[[sources]]\npath = 'a'", [], "mcpg.toml: a: no such file or folder"),
        ("[[sources]]\npath = 'a'", ["--header", "A: b"], "exactly one server"),
        ("[[sources]]\npth = 'a'", [], "mcpg.toml:2: sources[0].pth: unknown key 'pth'"),
    ],
)
def test_what_cannot_be_read(
    text: str,
    arguments: list[str],
    says: str,
    run: Callable[..., Run],
    configure: Callable[..., None],
) -> None:
    """Without any source, or with a mistake in one, the run ends with what to do about it."""
    configure(text)
    for command in (["bundle"], ["generate", "-o", "docs"]):
        done = run(*command, *arguments)
        assert done.code == 2
        assert says in done.err
