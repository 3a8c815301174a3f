"""The index that `mcpg lint` searches: that of a bundle, one of an earlier run, or a new one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mcpg.bundle import Assembly
from mcpg.cli.environment import cache_folder
from mcpg.documents.model import encode_content
from mcpg.engine.model import recipe
from mcpg.errors import OutputError
from mcpg.index import Index
from mcpg.index.file import SUFFIX, fresh_index, open_index, write_index
from mcpg.index.layout import StaleIndexError
from mcpg.index.reader import hash_recipe
from mcpg.index.word_sections import digest_contents
from mcpg.lint.catalogue import compile_reach_index
from mcpg.sources import SourceBatch

# Fewer tools are compiled in the time that it takes to read an index.
_FEWEST_TOOLS = 200
_MOST_FILES = 16
_ENDING = f".lint{SUFFIX}"


def make_indexer(
    paths: Sequence[str], batch: SourceBatch, source_id: str | None
) -> Callable[[Assembly], Index]:
    """Return what makes the index of the catalogue that was read from *paths*.

    Args:
        paths: The sources.
        batch: What they hold.
        source_id: The source of all tools, where that was stated.
    """
    others = batch.tools or batch.documents or batch.rules or source_id
    if len(paths) == 1 and batch.bundles and not others:
        return lambda assembly: _of_bundle(paths[0]) or _open_or_compile(assembly)
    return _open_or_compile


def _of_bundle(path: str) -> Index | None:
    index = fresh_index(path, recipe(), cache_folder())
    return index if index is not None and _is_sound(index) else None


def _is_sound(index: Index) -> bool:
    try:
        index.verify(records=False)
    except StaleIndexError:
        return False
    return True


def _open_or_compile(assembly: Assembly) -> Index:
    """Return the index of *assembly*, from the cache folder where an earlier run has left it."""
    folder = cache_folder()
    if folder is None or len(assembly.documents) < _FEWEST_TOOLS:
        return Index(compile_reach_index(assembly))
    key = _key(assembly)
    path = Path(folder, f"{key.hex()[:32]}{_ENDING}")
    index = _open_cached(path, key)
    if index is None:
        data = compile_reach_index(assembly, key)
        with suppress(OutputError, OSError):
            write_index(str(path), data)
            _drop_oldest(path.parent)
        index = Index(data)
    return index


def _open_cached(path: Path, key: bytes) -> Index | None:
    with suppress(StaleIndexError, OSError):
        index = open_index(str(path))
        header = index.header
        if header.key == key and header.recipe == hash_recipe(recipe()) and _is_sound(index):
            os.utime(path)
            return index
    return None


def _key(assembly: Assembly) -> bytes:
    documents = sorted(assembly.documents, key=lambda one: one.tool.id)
    ranking = json.dumps(assembly.ranking, sort_keys=True).encode()
    return digest_contents([ranking, *map(encode_content, documents)])


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob(f"*{_ENDING}"), key=lambda file: file.stat().st_mtime_ns)
    for file in files[:-_MOST_FILES]:
        file.unlink(missing_ok=True)
