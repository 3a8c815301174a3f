from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.errors import Code, NotFoundError, Severity, SourceError, UsageError
from mcpg.files import MAX_BYTES
from mcpg.gateway import open_sources
from mcpg.sources import RawFile, SourceBatch, read_sources
from mcpg.sources.client_config import ServerAccess

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANIFEST = '{"tools": [{"name": "find"}]}'
_DOCUMENT = '---\r\ntitle: "Find"\r\n---\r\n\r\n# Find\r\n'
_BUNDLE = '{"version": 1, "documents": []}'
_HINTS = "tools:\n  find:\n    aliases: [seek]\n"

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _kinds(batch: SourceBatch) -> dict[str, int]:
    counts = {
        "tools": len(batch.tools),
        "rules": len(batch.rules),
        "documents": len(batch.documents),
        "bundles": len(batch.bundles),
    }
    return {kind: count for kind, count in counts.items() if count}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", _MANIFEST, "tools"),
        ("a.txt", _MANIFEST, "tools"),
        ("a", _MANIFEST, "tools"),
        ("a.jsonl", '{"result": {"tools": [{"name": "a"}]}}\n', "tools"),
        ("a.log", 'event: message\ndata: {"tools": [{"name": "a"}]}\n\n', "tools"),
        ("a.json", '{"version": "2", "tools": [{"name": "a"}]}', "tools"),
        ("a.json", '{"$schema": "x", "version": 1, "tools": [{"name": "a"}]}', "tools"),
        ("a.md", _DOCUMENT, "documents"),
        ("a.md", "# Find\n", "documents"),
        ("a.markdown", "text", "documents"),
        ("a.mdld", _DOCUMENT, "documents"),
        ("a.mdld", "# Find\n", "documents"),
        ("a.txt", _DOCUMENT, "documents"),
        ("a.txt", "# Find\n\n## Tool Identity\n- Tool id: find\n", "documents"),
        ("a.json", _BUNDLE, "bundles"),
        ("a.mdld", _BUNDLE, "bundles"),
        ("a", '\n{ "documents" : [', "bundles"),
        ("a.mdld", '{"mcpg": {}, "Version": 1, "Documents": []}', "bundles"),
        ("a.json", '{"mcpg": {}, "version": 1}', "bundles"),
        ("a.hints.yaml", _HINTS, "rules"),
        ("A.Hints.YML", _HINTS, "rules"),
        ("hints.yaml", _HINTS, "rules"),
        ("a.hints.json", '{"tools": {"find": {"aliases": "seek"}}}', "rules"),
        ("a.yaml", _HINTS, "rules"),
        ("a.conf", f"# hints\n\n---\n{_HINTS}", "rules"),
    ],
)
def test_the_content_of_a_named_file_decides(
    here: Path, name: str, content: str, kind: str
) -> None:
    """A manifest, document, bundle or hints file is known under any fitting name."""
    _write({name: content})
    batch = read_sources([here / name])
    assert _kinds(batch) == {kind: 1}
    assert batch.diagnostics == ()


@pytest.mark.parametrize(
    ("fence", "count"),
    [("```", 0), ("~~~~", 0), ("  ```", 0), ("    ```", 1), ("``", 1), ("", 1)],
)
def test_a_document_that_is_shown_in_a_fence_is_none(here: Path, fence: str, count: int) -> None:
    """Other Markdown may show what a document looks like."""
    text = f"# Format\n\n{fence}\n## Tool Identity\n- Tool id: a\n{fence}\n"
    _write({"docs/format.md": text, "docs/b.md": f"{text}\n## Tool Identity\n- Tool id: b\n"})
    places = [one.place for one in read_sources([here / "docs"]).documents]
    assert places == [str(here / "docs/b.md"), str(here / "docs/format.md")][: count + 1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "content", "place", "says"),
    [
        ("a.txt", "hello", "a.txt", "neither JSON"),
        ("a.txt", "", "a.txt", "empty"),
        ("a.json", "", "a.json", "empty"),
        ("graph.mdld", "\0" * 2000, "graph.mdld", "null characters"),
        ("a.md", "# A\n\0\n", "a.md", "null characters"),
        ("a.json", "hello", "a.json:1:1", "invalid JSON"),
        ("a.json", '{"version": 1, "x": [', "a.json:1:22", "invalid JSON"),
        ("a.json", "[" * 100_000, "a.json:1:101", "deeper"),
        ("a.json", b'{"tools": "\xff"}', "a.json", "byte 0xff at offset 11"),
        ("a.json", b"\xef\xbb\xbf\xff", "a.json", "UTF-8 text: byte 0xff at offset 3"),
        ("a.json", b"\xff\xfe\x00\xd8", "a.json", "UTF-16-LE text: byte 0x00 at offset 2"),
        ("a.yaml", "x: 1", "a.yaml", "no mapping `tools`"),
        ("a.hints.yaml", "tools: &a {}", "a.hints.yaml:1", "anchors"),
    ],
)
def test_a_named_file_that_cannot_be_used_is_an_error(
    name: str, content: str | bytes, place: str, says: str
) -> None:
    """What the user named must be usable; the error says where and what to do."""
    _write({name: content})
    with pytest.raises(SourceError) as caught:
        read_sources([name])
    assert caught.value.place == place
    assert says in caught.value.message
    assert caught.value.remedy or "YAML" in caught.value.message


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_byte_order_marks_are_honoured(encoding: str) -> None:
    """UTF-8 with or without a mark is read, and UTF-16 with one."""
    text = '{"tools": [{"name": "знайти"}]}'
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    _write({"a.json": (mark + text).encode(encoding)})
    assert [tool.name for tool in read_sources(["a.json"]).tools] == ["знайти"]


@pytest.mark.usefixtures("here")
def test_source_ids_come_from_file_names() -> None:
    """The stem of the file is the source of tools that state none."""
    _write({"My Server.json": _MANIFEST, "in/shop.tools.json": _MANIFEST})
    batch = read_sources(["My Server.json", "in"])
    assert [tool.source_id for tool in batch.tools] == ["My Server", "shop.tools"]
    assert {tool.source_id for tool in read_sources(["in"], source_id="x").tools} == {"x"}


@pytest.mark.usefixtures("here")
def test_a_folder_is_read_in_order_of_paths() -> None:
    """Sources of all kinds are found at any depth; hidden and other files are passed over."""
    _write(
        {
            "in/z.json": '{"tools": [{"name": "z"}]}',
            "in/b/x.json": '{"tools": [{"name": "x"}]}',
            "in/a.json": '{"tools": [{"name": "a"}]}',
            "in/tools/shop/find.md": _DOCUMENT,
            "in/b/made.mdld": _BUNDLE,
            "in/b/made.mdld.idx": b"\xff",
            "in/x.hints.yaml": _HINTS,
            "in/other.yaml": "a: 1",
            "in/README.md": "# Read me\n",
            "in/badge.md": "[![badge](x)](y)\n",
            "in/notes.txt": "hello",
            "in/.hidden/a.json": _MANIFEST,
            "in/.hidden.json": _MANIFEST,
        }
    )
    batch = read_sources(["in"])
    assert [tool.place for tool in batch.tools] == [
        "in/a.json: tools[0]",
        "in/b/x.json: tools[0]",
        "in/z.json: tools[0]",
    ]
    content = '---\ntitle: "Find"\n---\n\n# Find\n'
    assert batch.documents == (SourceDocument("tools/shop/find.md", content),)
    assert batch.documents[0].place == "in/tools/shop/find.md"
    assert batch.bundles == (RawFile(_BUNDLE, "in/b/made.mdld"),)
    assert [rule.place for rule in batch.rules] == ["in/x.hints.yaml:2"]
    assert batch.diagnostics == ()


def test_the_working_folder_gives_bare_places(here: Path) -> None:
    """Places never show more of the disk than the user named."""
    _write({"a.json": _MANIFEST})
    assert read_sources(["."]).tools[0].place == "a.json: tools[0]"
    assert read_sources(["./"]).tools[0].place == "a.json: tools[0]"
    named = read_sources([f"{here}/"]).tools[0].place
    assert named == f"{here.as_posix()}/a.json: tools[0]"


@pytest.mark.usefixtures("here")
def test_a_bad_file_in_a_folder_stops_nothing() -> None:
    """Each file that cannot be used is an error diagnostic with its place; the rest are read."""
    _write(
        {
            "in/a.json": "{",
            "in/b.json": b"\xff",
            "in/c.hints.yaml": "tools: *a",
            "in/package.json": '{"name": "x", "version": "1.0.0", "description": "y"}',
            "in/z.json": _MANIFEST,
        }
    )
    batch = read_sources(["in"])
    assert [tool.name for tool in batch.tools] == ["find"]
    assert {(item.code, item.severity) for item in batch.diagnostics} == {
        (Code.SOURCE_LOAD_FAILED, Severity.ERROR)
    }
    assert [item.place for item in batch.diagnostics] == [
        "in/a.json:1:2",
        "in/b.json",
        "in/c.hints.yaml:1",
        "in/package.json",
    ]


@pytest.mark.usefixtures("here")
def test_a_broken_document_or_bundle_in_a_folder_is_reported() -> None:
    """Front matter that does not end or stands below blank lines, and cut bundles, are noticed."""
    _write(
        {
            "in/below.md": "\n\n---\nname: below\n---\nProse.\n",
            "in/empty.mdld": "",
            "in/cut.mdld": 'cuments": [',
            "in/null.mdld": "\0" * 2000,
            "in/open.md": "---\nname: open\n\nProse.\n",
            "in/readme.md": "---\n\nA rule and prose.\n",
        }
    )
    assembly = assemble(read_sources(["in"]))
    assert [one.tool.name for one in assembly.documents] == ["below"]
    said = {item.place for item in assembly.diagnostics if item.severity is Severity.ERROR}
    assert {place.partition(":")[0] for place in said} == {
        "in/empty.mdld",
        "in/cut.mdld",
        "in/null.mdld",
        "in/open.md",
    }


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_documents_in_a_folder(end: str) -> None:
    """Whatever ends its lines, a document is one, and what looks like one is reported."""
    Path("docs").mkdir()
    good, bad = "---\nname: count\n---\n# Count\n", "----\nname: sum\n----\n# Sum\n"
    for name, text in (("good", good), ("bad", bad)):
        Path(f"docs/{name}.md").write_bytes(text.replace("\n", end).encode())
    batch = read_sources(["docs"])
    assert [one.path for one in batch.documents] == ["good.md"]
    noticed = [(one.code, one.place) for one in batch.diagnostics]
    assert noticed == [(Code.DOCUMENT_IGNORED, "docs/bad.md:1")]


@pytest.mark.usefixtures("here")
def test_a_file_is_read_once() -> None:
    """Reached through two arguments, a file counts for the first."""
    _write({"in/a.json": _MANIFEST, "in/find.md": _DOCUMENT})
    batch = read_sources(["in/find.md", "in", "in/a.json", "in/../in/a.json", "in"])
    assert _kinds(batch) == {"tools": 1, "documents": 1}
    assert batch.documents[0].path == "find.md"


@pytest.mark.usefixtures("here")
def test_excluded_files_are_no_sources_of_a_folder() -> None:
    """The output that lies among its sources is not read, unless it is named."""
    _write({"in/a.json": _MANIFEST, "in/graph.mdld": _BUNDLE})
    assert _kinds(read_sources(["in"], exclude=["in/graph.mdld"])) == {"tools": 1}
    named = read_sources(["in/graph.mdld"], exclude=[Path("in/graph.mdld")])
    assert _kinds(named) == {"bundles": 1}


@pytest.mark.usefixtures("here")
@posix_only
def test_symbolic_links() -> None:
    """Linked folders are not entered; links out of the folder and broken ones are noticed."""
    _write({"out/secret.json": _MANIFEST, "in/a.json": _MANIFEST, "in/notes.txt": "x"})
    Path("in/linked").symlink_to("../out")
    Path("in/leaves.json").symlink_to("../out/secret.json")
    Path("in/leaves.txt").symlink_to("../out/secret.json")
    Path("in/stays.json").symlink_to("a.json")
    Path("in/z_broken.json").symlink_to("nowhere.json")
    batch = read_sources(["in"])
    assert [tool.place for tool in batch.tools] == ["in/a.json: tools[0]"]
    assert [(item.code, item.place) for item in batch.diagnostics] == [
        (Code.SOURCE_SKIPPED, "in/leaves.json"),
        (Code.SOURCE_SKIPPED, "in/leaves.txt"),
        (Code.SOURCE_LOAD_FAILED, "in/z_broken.json"),
    ]
    Path("way").symlink_to("in")
    assert _kinds(read_sources(["way"])) == {"tools": 1}


@pytest.mark.usefixtures("here")
@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are no Unicode")
def test_names_that_are_no_text_are_passed_over() -> None:
    """A document's path must be text, so a file with a broken name is noticed and left."""
    _write({"in/a.json": _MANIFEST})
    Path(os.fsdecode(b"in/\xff.json")).write_text(_MANIFEST, encoding="utf-8")
    batch = read_sources(["in"])
    assert _kinds(batch) == {"tools": 1}
    assert [(item.code, item.place) for item in batch.diagnostics] == [
        (Code.SOURCE_SKIPPED, r"in/\udcff.json")
    ]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ("tols.json", "did you mean 'tools.json'?"),
        ("in/tols.json", "did you mean 'in/tools.json'?"),
        ("nothing", "check the path"),
        ("no/such/folder", "check the path"),
        (
            "https://example.com/tools.json",
            "files are not fetched: save it first; a server is named as https://HOST/PATH",
        ),
        ("", "check the path"),
    ],
)
def test_missing_sources(argument: str, remedy: str) -> None:
    """A path that does not exist is an error that guesses what was meant."""
    _write({"tools.json": _MANIFEST, "in/tools.json": _MANIFEST})
    with pytest.raises(NotFoundError) as caught:
        read_sources([argument])
    assert caught.value.remedy == remedy


def test_standard_input() -> None:
    """`-` is read once, by content, and its tools are local."""
    calls: list[int] = []

    def stdin() -> bytes:
        calls.append(1)
        return _MANIFEST.encode()

    batch = read_sources(["-", "-"], stdin=stdin)
    assert [(tool.source_id, tool.place) for tool in batch.tools] == [
        ("local", "standard input: tools[0]")
    ]
    assert calls == [1]
    assert _kinds(read_sources(["-"], stdin=_HINTS.encode)) == {"rules": 1}
    assert _kinds(read_sources(["-"], stdin=_DOCUMENT.encode)) == {"documents": 1}
    with pytest.raises(SourceError, match="standard input"):
        read_sources(["-"], stdin=lambda: b"hello")
    with pytest.raises(UsageError):
        read_sources(["-"])


@pytest.mark.usefixtures("here")
def test_the_size_of_a_source_is_bounded() -> None:
    """A file or standard input beyond the bound is refused."""
    _write({"a.json": _MANIFEST})
    os.truncate("a.json", MAX_BYTES + 1)
    with pytest.raises(SourceError, match=f"larger than {MAX_BYTES:,} bytes"):
        read_sources(["a.json"])
    with pytest.raises(SourceError, match=f"larger than {MAX_BYTES:,} bytes"):
        read_sources(["-"], stdin=lambda: bytes(MAX_BYTES + 1))


@pytest.mark.usefixtures("here")
@posix_only
def test_a_pipe_names_no_source() -> None:
    """Tools from a named pipe are local: its name says nothing about them."""
    reading, writing = os.pipe()
    os.write(writing, _MANIFEST.encode())
    os.close(writing)
    try:
        batch = read_sources([f"/dev/fd/{reading}"])
    finally:
        os.close(reading)
    assert [tool.source_id for tool in batch.tools] == ["local"]


@pytest.mark.usefixtures("here")
def test_real_shapes_of_several_pages_in_one_folder() -> None:
    """Pages of one server in several files join when they state their server."""
    pages = [{"server": "shop", "tools": [{"name": f"t{i}"}]} for i in range(3)]
    _write({f"in/page{i}.json": json.dumps(page) for i, page in enumerate(pages)})
    batch = read_sources(["in"])
    assert [(tool.source_id, tool.name) for tool in batch.tools] == [
        ("shop", "t0"),
        ("shop", "t1"),
        ("shop", "t2"),
    ]


@pytest.mark.usefixtures("here")
@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_folders_without_permission() -> None:
    """A folder below that cannot be read is noticed; one that was named is an error."""
    _write({"in/a.json": _MANIFEST, "in/shut/b.json": _MANIFEST})
    Path("in/shut").chmod(0)
    try:
        batch = read_sources(["in"])
        with pytest.raises(SourceError, match="cannot be read"):
            read_sources(["in/shut"])
        with pytest.raises(SourceError, match="cannot be read"):
            read_sources(["in/shut/b.json"])
    finally:
        Path("in/shut").chmod(0o700)
    assert _kinds(batch) == {"tools": 1}
    assert [(item.code, item.place) for item in batch.diagnostics] == [
        (Code.SOURCE_LOAD_FAILED, "in/shut")
    ]


@pytest.mark.usefixtures("here")
def test_a_folder_that_vanishes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file system refuses while a folder is walked is told by place."""
    _write({"in/a.json": _MANIFEST, "in/shut/b.json": _MANIFEST})
    scan = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    batch = read_sources(["in"])
    assert [(item.code, item.place) for item in batch.diagnostics] == [
        (Code.SOURCE_LOAD_FAILED, "in/shut")
    ]
    with pytest.raises(SourceError, match="cannot be read"):
        read_sources(["in/shut"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("argument", ["x" * 5000, "a\0b"])
def test_impossible_paths(argument: str) -> None:
    """A path that no file can have is an error like others."""
    with pytest.raises((SourceError, NotFoundError)):
        read_sources([argument])


@pytest.mark.usefixtures("here")
@posix_only
def test_a_pipe_in_a_folder_is_passed_over() -> None:
    """A pipe among the files of a folder is noticed and never waited for."""
    _write({"in/a.json": _MANIFEST})
    os.mkfifo("in/b.json")
    batch = read_sources(["in"])
    assert _kinds(batch) == {"tools": 1}
    assert [(item.code, item.place) for item in batch.diagnostics] == [
        (Code.SOURCE_SKIPPED, "in/b.json")
    ]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["a.json", "a.md", "a.mdld", "a.txt", "a"])
def test_an_empty_file_that_was_named_is_refused(name: str) -> None:
    """A file without content is no source, whatever its name promises."""
    _write({name: " \n"})
    with pytest.raises(SourceError, match="is empty"):
        read_sources([name])


@pytest.mark.usefixtures("here")
def test_tools_that_the_caller_holds(here: Path) -> None:
    """Objects are read as a manifest, `Tool`s are taken; a source id counts for both."""
    find = {"name": "find", "description": "Find it", "inputSchema": {"type": "object"}}
    function = MappingProxyType({"type": "function", "function": {"name": "drop"}})
    _write({"a.json": _MANIFEST})
    (tool,) = assemble(read_sources([find])).catalog.tools
    assert (tool.id, tool.source_id, tool.description) == ("find", "local", "Find it")
    batch = read_sources([function, "a.json", tool, {"tools": [find]}], source_id="mine")
    assert sorted(one.name for one in batch.tools) == ["drop", "find", "find", "find"]
    assert {one.source_id for one in batch.tools} == {"mine"}
    assert write_bundle(here / "b.mdld", build_bundle(assemble(read_sources([find]))))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "a source is of type int"),
        (None, "a source is of type NoneType"),
        ([{"name": "find"}], "a source is of type list"),
        ({"name": object()}, "is not JSON"),
        ({"name": "find", "tags": {"ab", "cd"}}, "is not JSON: a value of type set"),
    ],
)
def test_what_is_no_source_is_refused(given: Any, message: str) -> None:
    """A value of another type is an error that names the type."""
    with pytest.raises(UsageError, match=message) as caught:
        read_sources([given])
    assert caught.value.remedy


@pytest.mark.parametrize("given", ["a.json", b"a.json", Path("a.json"), {"name": "find"}, None])
def test_sources_are_a_list(given: Any) -> None:
    """One source that is not in a list is an error; a text is not read by its letters."""
    message = f"the sources are of type {type(given).__name__}"
    with pytest.raises(UsageError, match=message):
        read_sources(given)
    with pytest.raises(UsageError, match=message):
        open_sources(given, ServerAccess())


@pytest.mark.usefixtures("here")
def test_sources_may_be_an_iterator() -> None:
    """Sources that can be read only once are all used."""
    _write({"a.json": _MANIFEST})
    given: Any = iter([{"name": "find", "inputSchema": {}}, "a.json"])
    assert sorted(one.name for one in read_sources(given).tools) == ["find", "find"]


def test_a_source_id_is_unicode() -> None:
    """Half a character cannot name a source."""
    with pytest.raises(UsageError, match="not valid Unicode"):
        read_sources(["a.json"], source_id="s\udcff")


@pytest.mark.usefixtures("here")
@posix_only
def test_a_name_that_is_no_unicode_names_a_source_in_part() -> None:
    """What of a file's name is no UTF-8 becomes U+FFFD in the source id."""
    _write({"a.json": _MANIFEST})
    strange = os.fsdecode(b"a\xff.json")
    try:
        Path("a.json").rename(strange)
    except OSError:
        pytest.skip("this file system has Unicode names only")
    assert [tool.source_id for tool in read_sources([strange]).tools] == ["a\ufffd"]
