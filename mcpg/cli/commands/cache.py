"""`mcpg cache`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from mcpg.cli import options
from mcpg.cli.environment import cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.prompts import confirm
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.settings import Settings
from mcpg.errors import NotFoundError, OutputError, os_reason
from mcpg.files import remove_leftovers
from mcpg.plugins.hooks import Cache
from mcpg.plugins.registry import load_reference, own_items
from mcpg.show.blocks import CodeSpan, Column, Table
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count

# Cached files. A file counts only when it begins as mcpg writes it: others of that name are
# not touched.


class CacheKind(StrEnum):
    """The purpose of a kept file."""

    INDEXES = "indexes"
    VECTORS = "vectors"
    GRAPHS = "graphs"
    TRIPLES = "triples"
    MEMOS = "memos"
    LISTINGS = "listings"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class FileMark:
    """The marks of files of a kind.

    Attributes:
        suffix: How their names end in the cache folder and beside a bundle.
        start: The bytes at *offset*.
        offset: The position of these bytes.
    """

    suffix: str
    start: bytes
    offset: int = 0


MARKS = {
    CacheKind.INDEXES: FileMark(".idx", b"mcpg-idx"),
    CacheKind.VECTORS: FileMark(".vec", b"mcpg-vec"),
    CacheKind.GRAPHS: FileMark(".near", b"mcpgnear"),
    CacheKind.MEMOS: FileMark(".memo", b"mcpgmemo"),
    CacheKind.LISTINGS: FileMark(".tools", b"mcpgtool"),
    # The place of the application id in a SQLite database: https://www.sqlite.org/fileformat.html
    CacheKind.STORE: FileMark(".sqlite", b"mcpg", 68),
}
# Files that SQLite keeps beside a database while it is used, and sometimes after.
_BESIDE_STORE = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class CacheFile:
    """One file, or the folder of a graph.

    Attributes:
        size: Its bytes, with the files that belong to it.
    """

    kind: CacheKind
    path: Path
    size: int


def kept_files(settings: Settings) -> list[CacheFile]:
    """Find the kept files of the bundle that *settings* name, and of the cache folder."""
    places: list[tuple[Path, CacheKind]] = []
    with suppress(NotFoundError):
        places = [
            (Path(f"{bundle.value}{MARKS[kind].suffix}"), kind)
            for bundle in settings.bundles()
            for kind in (CacheKind.INDEXES, CacheKind.VECTORS)
        ]
    store = ServiceFactory(settings).store_path()
    if store is not None:
        places.append((Path(store), CacheKind.STORE))
    found = {kept.path: kept for kept in _in_folder()}
    for path, kind in places:
        found |= {kept.path: kept for kept in _recognize_file(path, kind)}
    kinds = list(CacheKind)
    return sorted(found.values(), key=lambda kept: (kinds.index(kept.kind), str(kept.path)))


def remove(files: Sequence[CacheFile]) -> None:
    """Remove *files*, and the leftovers of killed processes beside them."""
    for kept in files:
        if kept.kind is CacheKind.TRIPLES:
            for one in own_items(Cache):
                load_reference(one.remove)(kept.path)
            if kept.path.exists():
                raise OutputError("cannot be removed: it is in use", place=str(kept.path))
            continue
        for path in _parts(kept.path, kept.kind):
            try:
                path.unlink(missing_ok=True)
            except OSError as fault:
                message = f"cannot be removed: {os_reason(fault)}"
                raise OutputError(message, place=str(path)) from fault
    for folder in {kept.path.parent for kept in files}:
        remove_leftovers(folder)


def shown_size(size: int) -> str:
    """Return *size*, in bytes, for people."""
    number = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:  # noqa: PLR2004 - the step between units
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} GiB"


def _in_folder() -> Iterator[CacheFile]:
    folder = cache_folder()
    try:
        paths = sorted(Path(folder).iterdir()) if folder else []
    except OSError:
        return
    registered = [
        (CacheKind(one.name), load_reference(one.is_entry), load_reference(one.measure))
        for one in own_items(Cache)
    ]
    for path in paths:
        yield from (
            CacheFile(kind, path, measure(path))
            for kind, is_entry, measure in registered
            if is_entry(path)
        )
        for kind, mark in MARKS.items():
            if path.name.endswith(mark.suffix):
                yield from _recognize_file(path, kind)


def _recognize_file(path: Path, kind: CacheKind) -> Iterator[CacheFile]:
    """Return the file at *path* if it is one of ours; links are not followed."""
    mark = MARKS[kind]
    try:
        if path.is_symlink() or not path.is_file():
            return
        with path.open("rb") as file:
            file.seek(mark.offset)
            is_ours = file.read(len(mark.start)) == mark.start
        if is_ours:
            sizes = [part.stat().st_size for part in _parts(path, kind) if part.is_file()]
            yield CacheFile(kind, path, sum(sizes))
    except OSError:
        return


def _parts(path: Path, kind: CacheKind) -> list[Path]:
    beside = _BESIDE_STORE if kind is CacheKind.STORE else ()
    return [path, *(path.with_name(path.name + suffix) for suffix in beside)]


EXAMPLES = """\
mcpg cache
mcpg cache clear
mcpg cache clear --kind store --kind vectors --yes"""


class CacheAction(StrEnum):
    """The action on kept files."""

    LIST = "list"
    CLEAR = "clear"


What = Annotated[
    list[CacheKind] | None,
    option("--kind", "Only caches of this kind. Repeatable.", "|".join(CacheKind)),
]


MORE = "docs/reference/index-file.md"


def run(
    output: Output,
    *,
    action: Annotated[
        CacheAction, argument("list|clear", "List the files, or remove them.")
    ] = CacheAction.LIST,
    what: What = None,
    yes: Annotated[bool, option("--yes", "Remove without confirmation.")] = False,
    bundle: options.BundlePaths = None,
    form: options.ListFormat = "text",
) -> int:
    """List the caches of this machine with their sizes, or clear them.

    Caches are beside the bundle and in the cache folder (MCPG_CACHE_DIR), and recreated when
    needed.
    """
    found = kept_files(read_settings(bundle=bundle))
    chosen = [kept for kept in found if not what or kept.kind in what]
    is_clearing = action is CacheAction.CLEAR and bool(chosen)
    records: list[JsonObject] = [
        {"kind": one.kind.value, "path": str(one.path), "bytes": one.size} for one in chosen
    ]
    if form != "json":
        rows = tuple(
            (one.kind.value, shown_size(one.size), CodeSpan(str(one.path))) for one in chosen
        )
        columns = (Column("kind"), Column("size", is_number=True), Column("path"))
        table = Table("Files", columns, rows, has_heads=True, wraps=True)
        listing = RecordListing(records, ("kind", "path", "bytes"), "path", table)
        write_listing(listing, form, output)
        if not chosen:
            output.note("no caches")
    size = shown_size(sum(one.size for one in chosen))
    files = f"{format_count(len(chosen), 'file')}, {size}"
    if is_clearing and (yes or confirm(f"Remove {files}?", "clear", "add --yes to remove")):
        remove(chosen)
        output.note(f"removed {files}")
    elif is_clearing:
        is_clearing = False
        output.note("nothing is removed")
    if form == "json":
        output.json(
            {
                "schema": "mcpg/cache/1",
                "folder": cache_folder(),
                "files": records,
                "bytes": sum(kept.size for kept in chosen),
                "removed": is_clearing,
            }
        )
    return ExitCode.DONE
