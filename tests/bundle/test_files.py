from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcpg.bundle import Bundle, encode_bundle, read_bundle, write_bundle, write_encoded
from mcpg.catalog.model import SourceDocument
from mcpg.errors import BundleError, NotFoundError, OutputError
from mcpg.files import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BUNDLE = Bundle((SourceDocument("a.md", "# A\n", "https://example.org/a/"),))


def test_written_bundle_is_read_back(tmp_path: Path) -> None:
    """What was written is read, whatever the extension of the file."""
    path = tmp_path / "new" / "graph.anything"
    assert write_bundle(path, BUNDLE) is True
    assert read_bundle(path) == BUNDLE
    assert path.read_bytes() == encode_bundle(BUNDLE)


def test_equal_file_is_not_touched(tmp_path: Path) -> None:
    """A file that holds these bytes already keeps its time stamp."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, BUNDLE)
    os.utime(path, (1, 1))
    assert write_bundle(path, BUNDLE) is False
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize(
    "present",
    [
        b"",
        encode_bundle(Bundle()),
        encode_bundle(BUNDLE)[:50],
        encode_bundle(BUNDLE).replace(b"# A", b"<<<<<<< HEAD"),
        b'{"Documents": [], "Version": 1}',
    ],
    ids=["empty", "older", "cut short", "edited", "foreign"],
)
def test_bundles_are_replaced(tmp_path: Path, present: bytes) -> None:
    """An older, a damaged and a foreign bundle are replaced, and so is an empty file."""
    path = tmp_path / "graph.mdld"
    path.write_bytes(present)
    assert write_bundle(path, BUNDLE) is True
    assert read_bundle(path) == BUNDLE


@pytest.mark.parametrize(
    "present",
    [b"my notes", b'{"tools": []}', b'{"version":2,"documents":[]}', b"\xff\xfe"],
    ids=["text", "manifest", "newer", "binary"],
)
def test_other_files_are_not_replaced(tmp_path: Path, present: bytes) -> None:
    """A file that is no bundle of this version is only replaced by force."""
    path = tmp_path / "graph.mdld"
    path.write_bytes(present)
    with pytest.raises(OutputError, match="not a bundle") as caught:
        write_bundle(path, BUNDLE)
    assert "--force" in (caught.value.remedy or "")
    assert path.read_bytes() == present
    assert write_bundle(path, BUNDLE, force=True) is True


def test_file_that_cannot_be_checked_is_not_replaced(tmp_path: Path) -> None:
    """A file too big to be looked at is left alone."""
    path = tmp_path / "graph.mdld"
    path.touch()
    os.truncate(path, MAX_BYTES + 1)  # takes no room on most file systems
    with pytest.raises(OutputError, match="cannot be checked"):
        write_bundle(path, BUNDLE)


def test_folder_is_no_target(tmp_path: Path) -> None:
    """A folder is refused with the remedy."""
    with pytest.raises(OutputError, match="folder"):
        write_bundle(tmp_path, BUNDLE)


def test_reading_names_the_file(tmp_path: Path) -> None:
    """A missing and a damaged file are told apart and named."""
    with pytest.raises(NotFoundError):
        read_bundle(tmp_path / "none.mdld")
    path = tmp_path / "graph.mdld"
    path.write_text("{}", "utf-8")
    with pytest.raises(BundleError) as caught:
        read_bundle(path)
    assert caught.value.place == str(path)


def parts_of(data: bytes, size: int) -> Iterator[bytes]:
    """Return *data* in parts of that *size*, which can be read once."""
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"# A", b"# B"),
        lambda data: data[:-9],
        lambda data: data + b" ",
        lambda _: b"",
    ],
    ids=["other text", "shorter", "longer", "empty"],
)
def test_parts_that_are_made_once_replace_a_bundle(
    tmp_path: Path, change: Callable[[bytes], bytes], size: int
) -> None:
    """Wherever the file that stands there differs, the new one holds all parts."""
    path, data = tmp_path / "graph.mdld", encode_bundle(BUNDLE)
    path.write_bytes(change(data))

    assert write_encoded(path, parts_of(data, size)) is True
    assert path.read_bytes() == data
    assert write_encoded(path, parts_of(data, size)) is False


def test_a_file_that_is_written_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """The new bundle never holds what another program has put into the old one."""
    path, data = tmp_path / "graph.mdld", encode_bundle(BUNDLE)
    path.write_bytes(data + b" ")
    edited = data.replace(b"# A", b"# B")

    def parts() -> Iterator[bytes]:
        yield data
        path.write_bytes(edited)
        yield b"\n"

    with pytest.raises(OutputError, match="it is being written"):
        write_encoded(path, parts())
    assert path.read_bytes() == edited
