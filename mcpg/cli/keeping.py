"""What mcpg keeps on this machine and can make again: which files, how large, and how they go.

A file counts only when it begins as mcpg writes it: what merely bears such a name is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.cli.cachefolder import cache_folder
from mcpg.cli.equipping import Equipping
from mcpg.errors import NotFoundError, OutputError, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.cli.settings import Settings
    from mcpg.jsontypes import JsonObject


class Kind(StrEnum):
    """What a kept file is for."""

    INDEXES = "indexes"
    VECTORS = "vectors"
    GRAPHS = "graphs"
    MEMOS = "memos"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class Mark:
    """How the files of a kind are known.

    Attributes:
        suffix: How their names end in the cache folder and beside a bundle.
        start: The bytes that stand at *offset*.
        offset: Where these bytes stand.
    """

    suffix: str
    start: bytes
    offset: int = 0


MARKS = {
    Kind.INDEXES: Mark(".idx", b"mcpg-idx"),
    Kind.VECTORS: Mark(".vec", b"mcpg-vec"),
    Kind.GRAPHS: Mark(".near", b"mcpgnear"),
    Kind.MEMOS: Mark(".memo", b"mcpgmemo"),
    # Where a database of SQLite says whose it is: https://www.sqlite.org/fileformat.html
    Kind.STORE: Mark(".sqlite", b"mcpg", 68),
}
# What SQLite keeps beside a database while it is used, and sometimes after.
_BESIDE_STORE = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Kept:
    """One file.

    Attributes:
        kind: What it is for.
        path: Where it lies.
        size: How many bytes it takes, with what belongs to it.
    """

    kind: Kind
    path: Path
    size: int


def kept_files(settings: Settings) -> list[Kept]:
    """Find what is kept for the bundle that *settings* name, and in the cache folder."""
    found = {kept.path: kept for kept in (*_in_folder(), *_beside(settings), *_store(settings))}
    return sorted(found.values(), key=lambda kept: (list(Kind).index(kept.kind), str(kept.path)))


def remove(files: Sequence[Kept]) -> None:
    """Remove *files*.

    Raises:
        OutputError: One cannot be removed.
    """
    for kept in files:
        for path in _parts(kept.path, kept.kind):
            try:
                path.unlink(missing_ok=True)
            except OSError as fault:
                message = f"cannot be removed: {os_reason(fault)}"
                raise OutputError(message, place=str(path)) from fault


def cache_json(files: Sequence[Kept], *, removed: bool) -> JsonObject:
    """Give the object that `cache` prints."""
    return {
        "schema": "mcpg/cache/1",
        "folder": cache_folder(),
        "files": [
            {"kind": kept.kind.value, "path": str(kept.path), "bytes": kept.size} for kept in files
        ],
        "bytes": sum(kept.size for kept in files),
        "removed": removed,
    }


def shown_size(size: int) -> str:
    """Give *size*, in bytes, for people."""
    number = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:  # noqa: PLR2004 - the step between units
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"


def _in_folder() -> Iterator[Kept]:
    folder = cache_folder()
    try:
        paths = sorted(Path(folder).iterdir()) if folder else []
    except OSError:
        return
    for path in paths:
        for kind, mark in MARKS.items():
            if path.name.endswith(mark.suffix):
                yield from _known(path, kind)


def _beside(settings: Settings) -> Iterator[Kept]:
    try:
        bundles = [str(one.value) for one in settings.bundles()]
    except NotFoundError:
        return
    for bundle in bundles:
        for kind in (Kind.INDEXES, Kind.VECTORS):
            yield from _known(Path(bundle + MARKS[kind].suffix), kind)


def _store(settings: Settings) -> Iterator[Kept]:
    path = Equipping(settings).store_path()
    if path is not None:
        yield from _known(Path(path), Kind.STORE)


def _known(path: Path, kind: Kind) -> Iterator[Kept]:
    """Give the file at *path* if it is one of ours; links are not followed."""
    mark = MARKS[kind]
    try:
        if path.is_symlink() or not path.is_file():
            return
        with path.open("rb") as file:
            file.seek(mark.offset)
            is_ours = file.read(len(mark.start)) == mark.start
        if is_ours:
            sizes = [part.stat().st_size for part in _parts(path, kind) if part.is_file()]
            yield Kept(kind, path, sum(sizes))
    except OSError:
        return


def _parts(path: Path, kind: Kind) -> list[Path]:
    beside = _BESIDE_STORE if kind is Kind.STORE else ()
    return [path, *(path.with_name(path.name + suffix) for suffix in beside)]
