"""The graph cache: loaded graphs and their descriptions, kept between runs in a folder.

A graph is known by a digest of everything that it is made of, so no entry can be stale. An entry is
a folder of sealed parts: the store, which Oxigraph opens in milliseconds, the description of the
graph, and the tables that a search of it reads. The seal of a part has the SHA-256 of its files,
which are checked before they are opened: RocksDB reads a log of changes that was cut short as a
store with fewer triples.

Parts are made under another name and renamed, so that any number of processes may do this at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyoxigraph

from mcpg import __version__
from mcpg.documents.addresses import BASE
from mcpg.documents.model import ToolDocument
from mcpg.errors import Diagnostic, McpgError
from mcpg.files import (
    atomic_write,
    read_bytes,
    read_last_use,
    remove_folder,
    remove_leftovers,
    temporary_folder,
    temporary_name,
)
from mcpg.graph.terms import Triple
from mcpg.graph.triples import distinct_documents, make_triples
from mcpg.search.caches import add_digest, check_digest
from mcpg.values import to_json

# How the name of an entry ends, and how a sealed file begins.
SUFFIX, MAGIC = ".triples", b"mcpgtrip"
# The parts of an entry: the folder of the store, with its seal, the description, and the tables
# that searches of the graph read, by words and by distance.
STORE, SEAL, DESCRIPTION, SEARCH, DISTANCES = "store", "seal", "description", "search", "distances"
FEWEST_DOCUMENTS = 200
"""Smaller graphs are not kept: they are loaded in the time that it takes to open a store."""

MOST_GRAPHS = 8
MOST_BYTES = 1024 * 1024 * 1024
"""Bounds of the kept graphs; the last one used is kept whatever its size."""

_DATA = "data"
_LOG = "LOG"
_DIGITS = 32
_LARGEST_PART = 256 * 1024 * 1024


class GraphCache:
    """Entries in a folder; an entry that cannot be written is not kept."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)

    def entry(self, *parts: bytes) -> CacheEntry:
        """Return the entry of the graph that is made of *parts*, which need not exist."""
        digest = hashlib.sha256(_program())
        for part in parts:
            digest.update(hashlib.sha256(part).digest())
        return CacheEntry(self, self._folder / f"{digest.hexdigest()[:_DIGITS]}{SUFFIX}")

    def drop_oldest(self) -> None:
        """Drop the least recently used entries, and the remains of killed processes."""
        entries = sorted(self._folder.glob(f"*{SUFFIX}"), key=read_last_use, reverse=True)
        room = MOST_BYTES
        for place, entry in enumerate(entries):
            room -= measure_entry(entry)
            if place and (place >= MOST_GRAPHS or room < 0):
                remove_entry(entry)
                with suppress(OSError):  # a killed process may have left an empty folder
                    entry.rmdir()
        remove_leftovers(self._folder)


class CacheEntry:
    """The kept parts of one graph, in the folder *path*, which need not exist."""

    def __init__(self, cache: GraphCache, path: Path) -> None:
        self._cache, self.path, self._key = cache, path, path.name

    def store(self) -> tuple[str, Any] | None:
        """Return the path of the store and the note kept with it; `None` unless it is whole."""
        folder = self.path / STORE
        found = self.part(f"{STORE}/{SEAL}")
        if not isinstance(found, dict) or found["files"] != _digests(folder / _DATA):
            return None
        self._mark_use()
        return str(folder / _DATA), found["note"]

    def keep_store(self, data: bytes, note: Any) -> None:
        """Make a store of *data*, in Turtle, and keep it with *note*, a JSON value."""
        with suppress(McpgError, OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary_folder(self.path.parent) as work:
                store = pyoxigraph.Store(work / _DATA)
                store.bulk_load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
                store.flush()
                # Closed before it is renamed, as Windows requires.
                del store
                (work / _DATA / _LOG).unlink(missing_ok=True)
                sealed = {"files": _digests(work / _DATA), "note": note}
                (work / SEAL).write_bytes(self._seal_value(sealed))
                self.path.mkdir(exist_ok=True)
                if self.store() is None:
                    _remove(self.path / STORE, self.path.parent)
                # If another process was first, this fails and the store of that process stays.
                work.rename(self.path / STORE)
                self._mark_use()
                self._cache.drop_oldest()

    def part(self, name: str) -> Any:
        """Return the JSON value of the part *name*; `None` unless it is whole."""
        with suppress(McpgError):
            found = read_bytes(self.path / name, _LARGEST_PART)
            payload = check_digest(found.removeprefix(MAGIC), self._key)
            if found.startswith(MAGIC) and payload is not None:
                self._mark_use()
                return json.loads(payload)
        return None

    def keep_part(self, name: str, value: Any) -> None:
        """Keep *value*, a JSON value, as the part *name*."""
        with suppress(McpgError, OSError):
            atomic_write(self.path / name, self._seal_value(value), sync=False, special=False)
            self._mark_use()
            self._cache.drop_oldest()

    def _seal_value(self, value: Any) -> bytes:
        return MAGIC + add_digest(json.dumps(value).encode(), self._key)

    def _mark_use(self) -> None:
        with suppress(OSError):
            os.utime(self.path)


class CachedGraph:
    """The graph of some documents, perhaps with its loaded form in a cache.

    The documents are read only if the cache lacks the requested part. *base* is the beginning of
    the IRIs of the graph, `None` for `BASE`.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[ToolDocument]],
        entry: CacheEntry | None = None,
        base: str | None = None,
    ) -> None:
        """Keep the reader of the documents, and the entry of their graph, one for each base."""
        self._read, self._entry, self.base = read, entry, base
        self._noticed: list[dict[str, Any]] | None = None

    @cached_property
    def documents(self) -> tuple[ToolDocument, ...]:
        """The documents of the graph, no two with the same node."""
        documents, noticed = distinct_documents(self._read())
        self._noticed = [to_json(one) for one in noticed]
        return tuple(documents)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Notices about the documents."""
        if self._noticed is None:
            _ = self.documents
        return tuple(Diagnostic(**one) for one in self._noticed or ())

    def triples(self) -> Iterator[Triple]:
        return make_triples(self.documents, self.base or BASE)

    def turtle(self) -> bytes:
        """Return the graph in Turtle."""
        from mcpg.graph.exports import turtle  # noqa: PLC0415 - a circle, by way of the search

        return "".join(turtle(self.triples())).encode()

    @cached_property
    def store(self) -> str | None:
        """The path of the store on disk, made if it is missing; `None` if it cannot be."""
        if self._entry is None:
            return None
        found = self._entry.store()
        if found is None and len(self.documents) >= FEWEST_DOCUMENTS:
            self._entry.keep_store(self.turtle(), self._noticed)
            found = self._entry.store()
        path, self._noticed = found or (None, self._noticed)
        return path

    def drop_store(self) -> None:
        """Continue without a store on disk, and remove the open one."""
        if self._entry is not None:
            _remove(self._entry.path / STORE, self._entry.path.parent)
        self.store = None

    def is_damaged(self) -> bool:
        """Return whether the store that was opened is no longer whole."""
        return self._entry is not None and self.store is not None and self._entry.store() is None

    def recall(self, name: str, work: Callable[[], Any]) -> Any:
        """Return the result of *work*, a JSON value, from the cache if it is kept as *name*."""
        known = self._entry.part(name) if self._entry else None
        if known is None:
            value = work()
            if self._entry and len(self.documents) >= FEWEST_DOCUMENTS:
                self._entry.keep_part(name, {"value": value, "noticed": self._noticed})
            return value
        self._noticed = known["noticed"]
        return known["value"]


def is_entry(path: Path) -> bool:
    """Return whether *path* is an entry of a graph cache, and no other folder."""
    if path.is_symlink() or not path.name.endswith(SUFFIX):
        return False
    for name in (f"{STORE}/{SEAL}", DESCRIPTION, SEARCH, DISTANCES):
        with suppress(OSError), (path / name).open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return True
    return False


def measure_entry(path: Path) -> int:
    """Return how many bytes the files of the entry at *path* take."""
    return sum(file.stat().st_size for file in _list_files(path))


def remove_entry(path: Path) -> None:
    """Remove the entry at *path*; an entry in use may stay."""
    if is_entry(path):
        _remove(path, path.parent)


def _remove(folder: Path, parent: Path) -> None:
    """Remove *folder*, moved to *parent* first, so that no reader finds it half removed."""
    away = temporary_name(parent)
    with suppress(OSError):
        folder.rename(away)
        remove_folder(away)


def _list_files(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _digests(folder: Path) -> Mapping[str, str]:
    found = {}
    with suppress(OSError):
        for path in _list_files(folder):
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


@cache
def _program() -> bytes:
    """Return a digest of the programs that make a graph of documents and store it."""
    # The version does not change with edits of this package.
    digest = hashlib.sha256(f"{__version__} {pyoxigraph.__version__}".encode())
    for folder in (files("mcpg.graph"), files("mcpg.graph") / "search"):
        for file in sorted(folder.iterdir(), key=lambda one: one.name):
            if file.is_file() and not file.name.endswith(".pyc"):
                digest.update(file.read_bytes())
    return digest.digest()
