"""An index that is written without being in memory."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING
from weakref import ref

import pytest
from builders import make_tool

from mcpg.documents.model import ToolDocument
from mcpg.errors import OutputError
from mcpg.index import tables
from mcpg.index.compile import compile_index, index_sections
from mcpg.index.file import content_key, open_index, write_index_beside
from mcpg.index.layout import NO_STAMP, Header, restamp_index
from mcpg.index.tables import Section, pack, spool_sections

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENTS = [
    ToolDocument(make_tool(f"t_{number}", id=f"t{number}"), f"{number}.md", f"u:{number}")
    for number in range(40)
]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a file that an index stands beside."""
    path = tmp_path / "graph.mdld"
    path.write_text("content")
    return path


def test_a_streamed_index_has_the_bytes_of_one_in_memory(bundle: Path) -> None:
    """However an index is written, it has the same content; beside its source it has a stamp."""
    key = content_key(str(bundle))
    path = write_index_beside(str(bundle), *index_sections(DOCUMENTS, key=key))

    data = open_index(path).data
    assert restamp_index(data, NO_STAMP) == compile_index(DOCUMENTS, key=key)
    assert open_index(path).header.stamp != NO_STAMP


def test_an_index_of_another_content_gets_no_stamp(bundle: Path) -> None:
    """A bundle that changed while its index was made is not taken for the one that was indexed."""
    path = write_index_beside(str(bundle), *index_sections(DOCUMENTS, key=b"k" * 32))

    assert bytes(open_index(path).data) == compile_index(DOCUMENTS, key=b"k" * 32)


def test_more_than_fits_into_memory_goes_through_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sections are longer than is kept in memory, the bytes are the same."""
    monkeypatch.setattr(tables, "_IN_MEMORY", 10)
    sections = [
        Section("a", "B", b"x" * 9000),
        Section("b", "I", b"y" * 12),
        Section("c", "B", b""),
    ]

    with spool_sections(iter(sections), str(tmp_path)) as parts:
        written = b"".join(parts(Header(b"k" * 32)))

    assert written == pack(sections, Header(b"k" * 32))
    assert [*tmp_path.iterdir()] == []


def test_a_section_is_released_before_the_next_is_made(tmp_path: Path) -> None:
    """Of the sections one at a time is in memory."""

    class Data:
        """Pieces of data that tell when they are released."""

        def __init__(self) -> None:
            made.append(ref(self))

        def __len__(self) -> int:
            return 8

        def __iter__(self) -> Iterator[bytes]:
            return iter((b"1234", b"5678"))

    made: list[ref[Data]] = []

    def sections() -> Iterator[Section]:
        for number in range(3):
            gc.collect()
            assert not any(one() for one in made)
            yield Section(f"s{number}", "B", Data())

    with spool_sections(sections(), str(tmp_path)):
        assert len(made) == 3


def test_a_fault_half_way_leaves_the_old_index(bundle: Path) -> None:
    """An index that cannot be made to its end changes nothing and leaves no other file."""
    key = content_key(str(bundle))
    path = write_index_beside(str(bundle), *index_sections(DOCUMENTS, key=key))
    before = bytes(open_index(path).data)
    sections, header = index_sections(DOCUMENTS[:1], key=key)

    def broken(fault: Exception) -> Iterator[Section]:
        yield next(sections)
        raise fault

    with pytest.raises(OutputError, match="cannot be written"):
        write_index_beside(str(bundle), broken(OSError(28, "no room")), header)
    with pytest.raises(KeyError):
        write_index_beside(str(bundle), broken(KeyError("fault")), header)

    assert bytes(open_index(path).data) == before
    assert sorted(one.name for one in bundle.parent.iterdir()) == ["graph.mdld", "graph.mdld.idx"]
