"""Words of a command line to sources of a gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.errors import Code, McpgError, NotFoundError, Severity, SourceError, UsageError
from mcpg.gateway import FileSource, ServerSource, open_sources
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer
from mcpg.sources.registry import Addressing, SourceCollector

if TYPE_CHECKING:
    from mcpg.gateway import Source

MANIFEST = '{"tools": [{"name": "ping"}]}'
LIVE = ServerAccess({"TOKEN": "marker-token-1234"}, {"X-Key": "${TOKEN}"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(path: Path, **servers: Any) -> None:
    """Write a client's configuration."""
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")


def opened(*arguments: str, source_id: str | None = None) -> tuple[Source, ...]:
    """Return the sources, of which nothing is to be noticed."""
    sources, noticed = open_sources(arguments, LIVE, source_id=source_id)
    assert noticed == ()
    return sources


def test_each_kind_of_words(folder: Path) -> None:
    """Files, folders, modules, commands and addresses are one source each, in their order."""
    (folder / "tools.json").write_text(MANIFEST, "utf-8")
    (folder / "docs").mkdir()
    url = "https://example.com/mcp?key=1"
    sources = opened("tools.json", "docs", "python:shop.tools", "stdio:uvx mine --fast", url)
    assert [source.id for source in sources] == [
        "tools",
        "docs",
        "shop.tools",
        "stdio:uvx",
        "https://example.com",
    ]
    file, docs, module, program, web = sources
    assert file == FileSource("tools", "tools.json")
    assert docs == FileSource("docs", "docs")
    assert module == FileSource("shop.tools", "python:shop.tools")
    assert isinstance(program, ServerSource)
    assert isinstance(program.server, StdioServer)
    assert (program.server.args, program.server.name) == (("mine", "--fast"), None)
    assert isinstance(web, ServerSource)
    assert isinstance(web.server, HttpServer)
    assert web.server.headers == {"X-Key": "marker-token-1234"}
    assert "marker" not in repr(sources)


def test_source_code_is_one_source(folder: Path) -> None:
    """`code:PATH` is a source by itself, and once, however its path is written."""
    (folder / "src").mkdir()
    assert opened("code:src", "code:./src") == (FileSource("src", "code:src"),)


def test_a_configuration_is_a_source_for_each_server(folder: Path) -> None:
    """Servers keep their names; what is called alike gives way, wherever it stands."""
    configure(folder / "mcp.json", time={"command": "uvx"}, web={"url": "https://example.com/mcp"})
    (folder / "time.json").write_text(MANIFEST, "utf-8")
    (folder / "Time").mkdir()
    sources = opened("time.json", "mcp.json", "Time")
    assert [source.id for source in sources] == ["time-2", "time", "web", "Time-3"]
    assert isinstance(sources[1], ServerSource)
    assert sources[1].server.name == "time"


def test_what_is_given_twice_counts_once(folder: Path) -> None:
    """The same file by two paths, or the same address, is one source."""
    (folder / "tools.json").write_text(MANIFEST, "utf-8")
    configure(folder / "mcp.json", time={"command": "uvx"})
    again = ["./tools.json", "mcp.json", "./mcp.json", "stdio:a", "stdio:a", ".", str(folder)]
    sources = opened("tools.json", *again)
    assert [source.id for source in sources] == ["tools", "time", "stdio:a", folder.name]
    assert [source.id for source in opened("stdio:a b", "stdio:a c")] == ["stdio:a", "stdio:a-2"]


def test_one_source_id_for_all_tools(folder: Path) -> None:
    """The source id goes to the tools of every source, and ids stay unique."""
    configure(folder / "mcp.json", time={"command": "uvx"})
    (folder / "tools.json").write_text(MANIFEST, "utf-8")
    sources = opened("tools.json", "mcp.json", "stdio:a", "stdio:b", source_id="mine")
    assert [source.id for source in sources] == ["mine", "time", "mine-2", "mine-3"]
    assert sources[0] == FileSource("mine", "tools.json", "mine")
    names = [one.server.name for one in sources if isinstance(one, ServerSource)]
    assert names == ["mine"] * 3


def test_servers_that_cannot_be_used_are_noticed(folder: Path) -> None:
    """One that is switched off is information; one without its variable, or its name, an error."""
    configure(
        folder / "a.json",
        off={"command": "uvx", "disabled": True},
        unset={"command": "uvx", "args": ["${MISSING}"]},
        mine={"command": "uvx"},
    )
    configure(folder / "b.json", mine={"command": "npx"})
    sources, noticed = open_sources(["a.json", "b.json"], LIVE)
    assert [source.id for source in sources] == ["mine"]
    assert [(one.code, one.severity, one.place) for one in noticed] == [
        (Code.SOURCE_SKIPPED, Severity.INFO, "a.json: off"),
        (Code.SOURCE_LOAD_FAILED, Severity.ERROR, "a.json: unset"),
        (Code.SOURCE_LOAD_FAILED, Severity.ERROR, "b.json: mine"),
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("argument", "kind", "says"),
    [
        ("none.json", NotFoundError, "no such file or folder"),
        ("", NotFoundError, "no such file or folder"),
        ("-", UsageError, "standard input"),
        ("stdio:", UsageError, "no command"),
        ("broken.txt", SourceError, "neither JSON nor"),
    ],
)
def test_words_that_make_no_sense(argument: str, kind: type[McpgError], says: str) -> None:
    """A mistake in the words is an error at once, before anything is started."""
    Path("broken.txt").write_text("nothing of the kind", "utf-8")
    with pytest.raises(kind, match=says):
        open_sources([argument], LIVE)


def test_only_a_document_is_addressed(folder: Path) -> None:
    """An address for calls goes with an OpenAPI document and with nothing else."""
    (folder / "tools.json").write_text(MANIFEST, "utf-8")
    (folder / "api.json").write_text('{"openapi": "3.1.0", "paths": {}}', "utf-8")
    addressing = Addressing("https://host/v1", {"X-Key": "a"}, ("b",))
    opening = SourceCollector(LIVE)
    opening.add_named("api.json", addressing=addressing)
    (source,) = opening.sources
    expected = FileSource("api", "api.json", None, "https://host/v1", {"X-Key": "a"}, ("b",))
    assert source == expected
    for other in ("tools.json", ".", "python:shop", "https://host/mcp", "-"):
        with pytest.raises(SourceError, match="only OpenAPI documents"):
            opening.add_named(other, addressing=addressing)
    with pytest.raises(NotFoundError):
        opening.add_named("none.json", addressing=addressing)


def test_calls_have_the_time_of_their_source(folder: Path) -> None:
    """A time for calls holds for the servers of a configuration that state none, and for files."""
    configure(folder / "mcp.json", slow={"command": "x", "timeout": 300}, other={"command": "y"})
    (folder / "tools.json").write_text(MANIFEST, "utf-8")
    opening = SourceCollector(LIVE)
    for name in ("mcp.json", "tools.json"):
        opening.add_named(name, call_timeout=7)
    slow, other, file = opening.sources
    assert isinstance(slow, ServerSource)
    assert isinstance(other, ServerSource)
    assert isinstance(file, FileSource)
    assert (slow.server.timeout, other.server.timeout, file.timeout) == (300, 7, 7)
