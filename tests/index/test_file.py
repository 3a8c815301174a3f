from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.errors import OutputError
from mcpg.index import file
from mcpg.index.compile import compile_index
from mcpg.index.file import (
    CACHED,
    IN_MEMORY,
    OPENED,
    WRITTEN,
    OpenedIndex,
    add_section,
    content_key,
    fresh_index,
    index_for,
    open_index,
    write_index,
)
from mcpg.index.layout import StaleIndexError, unpack
from mcpg.index.tables import Section

if TYPE_CHECKING:
    from pathlib import Path


class Builder:
    """Builds the index of a file that holds the name of one tool, and counts how often."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.built = 0

    def __call__(self) -> bytes:
        """Build the index."""
        self.built += 1
        tool = Tool(self.source.read_text(), "s", "name")
        key = content_key(str(self.source))
        return compile_index([ToolDocument(tool, "p", "u")], key=key, recipe=b"r")

    def get(self, cache_dir: Path | None = None, recipe: bytes = b"r") -> OpenedIndex:
        """Ask for the index."""
        cache = None if cache_dir is None else str(cache_dir)
        return index_for(str(self.source), self, recipe=recipe, cache_dir=cache)


@pytest.fixture
def read_whatever_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files be read in blocks as large ones are."""
    monkeypatch.setattr(file, "_MOST_MAPPED", -1)


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    """Return the builder of a source in a folder of its own."""
    source = tmp_path / "graph.mdld"
    source.write_text("one")
    return Builder(source)


def touch(path: Path, seconds: int) -> None:
    """Return a file another time."""
    os.utime(path, (seconds, seconds))


def test_an_index_is_built_once_and_opened_after(builder: Builder) -> None:
    """What was written beside the source is found again."""
    first, second = builder.get(), builder.get()

    assert (first.how, second.how, builder.built) == (WRITTEN, OPENED, 1)
    assert first.path == second.path == f"{builder.source}.idx"
    assert second.index.tool_id(0) == "one"


def test_another_content_is_noticed(builder: Builder) -> None:
    """A source that was changed has its index built anew, even when its size is the same."""
    builder.get()
    builder.source.write_text("two")
    touch(builder.source, 5)

    assert builder.get().index.tool_id(0) == "two"
    assert builder.built == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps no time of a status change")
def test_another_content_of_the_same_size_and_time_is_noticed(builder: Builder) -> None:
    """Where all files have one time, as in a reproducible image, the content still decides."""
    touch(builder.source, 5)
    builder.get()
    builder.source.write_text("two")
    touch(builder.source, 5)
    assert builder.get().index.tool_id(0) == "two"
    builder.source.rename(builder.source.with_name("old"))
    builder.source.write_text("six")
    touch(builder.source, 5)
    assert builder.get().index.tool_id(0) == "six"


def test_another_time_alone_is_no_change(builder: Builder) -> None:
    """A source that was copied or checked out again keeps its index, and is hashed once only."""
    builder.get()
    touch(builder.source, 5)
    again = builder.get()

    assert (again.how, builder.built) == (OPENED, 1)
    assert open_index(f"{builder.source}.idx").header.stamp[:2] == (3, 5_000_000_000)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own on Windows")
def test_no_file_is_overwritten_through_a_link(builder: Builder, tmp_path: Path) -> None:
    """A link beside a bundle is written through to an index, and to nothing else."""
    beside, elsewhere = builder.source.with_name("graph.mdld.idx"), tmp_path / "elsewhere"
    beside.symlink_to(elsewhere)
    assert builder.get().how == IN_MEMORY
    assert not elsewhere.exists()
    elsewhere.write_text("another program's")
    assert builder.get().how == IN_MEMORY
    assert elsewhere.read_text() == "another program's"

    write_index(str(elsewhere), bytes(builder.get().index.data))
    builder.source.write_text("two")
    assert builder.get().how == WRITTEN
    assert builder.get().how == OPENED
    assert open_index(str(elsewhere)).tool_id(0) == "two"


def test_a_time_that_cannot_be_noted_is_no_harm(builder: Builder) -> None:
    """An index that cannot be written to is used as it is."""
    builder.get()
    builder.source.with_suffix(".mdld.idx").chmod(0o444)
    touch(builder.source, 5)

    assert (builder.get().how, builder.built) == (OPENED, 1)
    assert open_index(f"{builder.source}.idx").header.stamp[:2] != (3, 5_000_000_000)


def test_a_source_without_size_and_time_is_told_by_its_content(builder: Builder) -> None:
    """Size and time of nothing are what an index without a stamp bears: they prove nothing."""
    builder.source.write_text("")
    touch(builder.source, 0)

    assert [builder.get().how, builder.get().how] == [WRITTEN, OPENED]
    builder.source.write_text("1")
    assert builder.get().how == WRITTEN


@pytest.mark.parametrize("seconds", [-3600, 9_300_000_000])
def test_a_source_of_any_time_is_indexed(builder: Builder, seconds: int) -> None:
    """A time before 1970, or one that a header has no room for, fails nothing and hides nothing."""
    touch(builder.source, seconds)
    if builder.source.stat().st_mtime != seconds:
        pytest.skip("the file system holds no such time")

    assert [builder.get().how, builder.get().how] == [WRITTEN, OPENED]
    builder.source.write_text("three")
    touch(builder.source, seconds)
    assert builder.get().index.tool_id(0) == "three"


def test_another_recipe_is_noticed(builder: Builder) -> None:
    """An index that was made with other weights is not used."""
    builder.get()
    builder.get(recipe=b"other")

    assert builder.built == 2


@pytest.mark.usefixtures("read_whatever_the_size")
@pytest.mark.parametrize("damage", [b"", b"no index", b"mcpg-idx" * 100])
def test_a_damaged_index_is_not_read_in_blocks(builder: Builder, damage: bytes) -> None:
    """What is no index is refused, however it is read."""
    path = builder.source.with_suffix(".mdld.idx")
    path.write_bytes(damage)

    with pytest.raises(StaleIndexError):
        open_index(str(path), in_blocks=True)


@pytest.mark.parametrize("damage", [b"", b"no index", b"mcpg-idx" * 100])
def test_a_damaged_index_is_replaced(builder: Builder, damage: bytes) -> None:
    """Whatever stands where the index should, it is built anew."""
    builder.source.with_suffix(".mdld.idx").write_bytes(damage)

    assert builder.get().how == WRITTEN
    assert builder.get().how == OPENED


def test_a_section_is_not_added_to_a_damaged_index(builder: Builder) -> None:
    """A file that is written anew has new checksums, and these would hide the damage."""
    builder.get()
    path = builder.source.with_suffix(".mdld.idx")
    data = bytearray(path.read_bytes())
    data[unpack(data)[1]["ids"].start] ^= 0xFF
    path.write_bytes(data)

    add_section(str(builder.source), Section("opening", "B", b"{}"), b"r")

    assert path.read_bytes() == data
    with pytest.raises(StaleIndexError):
        open_index(str(path)).verify()


def test_the_cache_folder_serves_where_nothing_can_be_written(
    builder: Builder, tmp_path: Path
) -> None:
    """An index that cannot stand beside its source stands in the cache folder."""
    builder.source.with_suffix(".mdld.idx").mkdir()
    cache = tmp_path / "cache"
    first, second = builder.get(cache), builder.get(cache)

    assert (first.how, second.how, builder.built) == (CACHED, OPENED, 1)
    assert [str(path) for path in cache.iterdir()] == [first.path] == [second.path]


def test_without_any_place_the_index_stays_in_memory(builder: Builder, tmp_path: Path) -> None:
    """Nothing can be written: the answer is the same, and says how it was come by."""
    builder.source.with_suffix(".mdld.idx").mkdir()
    cache = tmp_path / "cache"
    cache.write_text("a file")
    for opened in (builder.get(), builder.get(cache)):
        assert (opened.how, opened.path) == (IN_MEMORY, None)
        assert opened.index.tool_id(0) == "one"


def test_sources_of_one_name_share_no_cache_file(tmp_path: Path) -> None:
    """Two sources of the same name in different folders have two files in the cache."""
    for folder in ("a", "b"):
        source = tmp_path / folder / "graph.mdld"
        source.with_suffix(".mdld.idx").mkdir(parents=True)
        source.write_text(folder)
        Builder(source).get(tmp_path / "cache")

    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_source_that_changes_meanwhile_is_not_trusted(builder: Builder) -> None:
    """When the source is replaced while its index is built, the next search looks again."""

    def build() -> bytes:
        data = builder()
        builder.source.write_text("newer")
        return data

    index_for(str(builder.source), build, recipe=b"r")

    assert builder.get().index.tool_id(0) == "newer"


def test_an_index_without_a_key_is_not_trusted_for_long(builder: Builder) -> None:
    """An index that does not say what it was built from is used until the source is touched."""

    def build() -> bytes:
        return compile_index([ToolDocument(Tool("x", "s", "n"), "p", "u")], recipe=b"r")

    index_for(str(builder.source), build, recipe=b"r")
    assert builder.get().index.tool_id(0) == "x"
    touch(builder.source, 5)
    assert builder.get().index.tool_id(0) == "one"


def test_errors_of_the_builder_are_passed_on(tmp_path: Path) -> None:
    """A source that is not there is for its reader to report."""
    with pytest.raises(FileNotFoundError):
        Builder(tmp_path / "nothing").get()


@pytest.mark.parametrize("name", ["nothing", ".", "a\0b"])
def test_what_is_no_file_is_not_opened(tmp_path: Path, name: str) -> None:
    """Missing files, folders and impossible names are no index."""
    with pytest.raises(StaleIndexError):
        open_index(str(tmp_path / name))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A named pipe in place of the index is refused, not read."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StaleIndexError, match="regular"):
        open_index(str(tmp_path / "pipe"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_where_the_index_goes_is_left_alone(builder: Builder, tmp_path: Path) -> None:
    """A named pipe is not written to, for its reader may never come; the cache folder serves."""
    os.mkfifo(f"{builder.source}.idx")

    assert builder.get().how == IN_MEMORY
    assert [builder.get(tmp_path / "cache").how for _ in range(2)] == [CACHED, OPENED]
    with pytest.raises(OutputError, match="pipe"):
        write_index(f"{builder.source}.idx", b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_in_place_of_the_source_is_not_read(builder: Builder) -> None:
    """An index whose source has become a named pipe is not checked against what is in it."""
    builder.get()
    builder.source.unlink()
    os.mkfifo(builder.source)

    assert fresh_index(str(builder.source), b"r") is None


@pytest.mark.usefixtures("read_whatever_the_size")
def test_an_index_read_in_blocks_answers_as_one_that_is_mapped(builder: Builder) -> None:
    """A short-lived process reads what it needs, wherever it can read from an offset."""
    builder.get()
    path = str(builder.source) + ".idx"
    mapped, read = open_index(path), open_index(path, in_blocks=True)

    assert read.header == mapped.header
    assert read.tool_id(0) == mapped.tool_id(0) == "one"
    assert read.record(0) == mapped.record(0)
    assert bytes(read.data) == bytes(mapped.data)


@pytest.mark.usefixtures("read_whatever_the_size")
def test_where_nothing_is_read_from_an_offset_blocks_are_mapped(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without such a function, as on Windows, the answers are the same."""
    builder.get()
    monkeypatch.delattr(os, "pread", raising=False)

    assert open_index(str(builder.source) + ".idx", in_blocks=True).tool_id(0) == "one"


@pytest.mark.usefixtures("read_whatever_the_size")
def test_a_file_cut_while_it_is_read_is_refused(builder: Builder) -> None:
    """What is no longer there is noticed when it is asked for."""
    builder.get()
    path = builder.source.with_suffix(".mdld.idx")
    index = open_index(str(path), in_blocks=True)
    os.truncate(path, 4096)

    with pytest.raises(StaleIndexError):
        index.tool_id(0)


@pytest.mark.usefixtures("read_whatever_the_size")
def test_a_file_that_is_read_in_blocks_is_closed_with_its_index(builder: Builder) -> None:
    """Nothing is left open."""
    builder.get()
    path = str(builder.source) + ".idx"
    gc.collect()
    least = os.open(os.devnull, os.O_RDONLY)
    os.close(least)

    index = open_index(path, in_blocks=True)
    assert index.tool_id(0) == "one"
    del index
    gc.collect()

    again = os.open(os.devnull, os.O_RDONLY)
    os.close(again)
    assert again == least


def test_an_open_index_survives_its_replacement(builder: Builder) -> None:
    """A reader keeps what it opened while another process writes a new index."""
    index = builder.get().index
    builder.source.write_text("two")
    touch(builder.source, 5)
    builder.get()

    assert index.tool_id(0) == "one"


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.index.compile import compile_index
from mcpg.index.file import content_key, index_for
source = {source!r}
def build():
    tools = (Tool(f"t{{n:04}}", "s", f"name{{n}}") for n in range(500))
    documents = (ToolDocument(tool, tool.id, tool.id) for tool in tools)
    return compile_index(documents, key=content_key(source))
sys.stdin.read()
opened = index_for(source, build)
opened.index.verify()
print(opened.index.tool_id(499))
"""


def test_ten_processes_may_build_at_once(tmp_path: Path) -> None:
    """All get the right answer, and one whole file is left, beside nothing else."""
    source = tmp_path / "graph.mdld"
    source.write_text("x")
    script = SCRIPT.format(path=sys.path, source=str(source))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(10)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.close()
    outputs = []
    for process in processes:
        assert process.stdout
        with process.stdout:
            outputs.append(process.stdout.read().strip())
        process.wait()

    assert outputs == ["t0499"] * 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.mdld", "graph.mdld.idx"]
    open_index(f"{source}.idx").verify()


def test_writing_into_a_folder_that_is_not_there_makes_it(tmp_path: Path) -> None:
    """The cache folder need not exist."""
    write_index(str(tmp_path / "a" / "b.idx"), compile_index([]))

    assert len(open_index(str(tmp_path / "a" / "b.idx"))) == 0
