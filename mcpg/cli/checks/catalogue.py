"""The settings, the folder for caches, the bundle, its index and its vectors."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from mcpg.cli.cachefolder import cache_folder
from mcpg.cli.checks.check import Check, Status, timed
from mcpg.cli.settingkeys import KEYS
from mcpg.errors import McpgError, NotFoundError

if TYPE_CHECKING:
    from mcpg.cli.equipping import Equipping
    from mcpg.cli.settings import Settings
    from mcpg.embeddings.provider import EmbeddingProvider
    from mcpg.engine import Engine

_EMBED = "make them with `mcpg bundle SOURCE... -o FILE --embed`"
_REBUILD = "make it anew with `mcpg bundle SOURCE... -o FILE`"


def check_settings(settings: Settings) -> Check:
    """Read every setting."""
    from mcpg.cli.querying import strategy_of  # noqa: PLC0415 - help needs no engine

    strategy_of(settings)
    settings.sources()
    found = {key: setting for key in KEYS if (setting := settings.find(key))}
    origins = {key: setting.origin for key, setting in found.items()}
    told = ", ".join(f"{key} ({origin})" for key, origin in origins.items())
    message = f"set: {told}" if told else "nothing is set: the defaults hold"
    return Check("settings", Status.OK, message, details=dict(origins))


def check_cache_folder() -> Check:
    """Write a file into the folder for caches."""
    folder = cache_folder()
    name = "cache folder"
    remedy = "name one that can be written by MCPG_CACHE"
    if folder is None:
        return Check(name, Status.NOTE, "there is none: nothing is kept between runs", remedy)
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - a text is what we have
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"mcpg doctor")
    except OSError as fault:
        reason = (fault.strerror or type(fault).__name__).lower()
        return Check(name, Status.FAILED, f"{folder} cannot be written: {reason}", remedy)
    return Check(name, Status.OK, f"{folder} can be written", details={"path": folder})


def check_bundle(settings: Settings) -> tuple[Check, Engine | None]:
    """Find and load what is searched."""
    name = "bundle"
    try:
        paths = [str(one.value) for one in settings.bundles()]
    except NotFoundError as fault:
        is_named = settings.find("bundle") is not None
        status = Status.FAILED if is_named else Status.OFF
        return Check(name, status, fault.message, fault.remedy), None
    try:
        engine, took = timed(lambda: _loaded(paths))
    except McpgError as fault:
        where = f"{fault.place}: " if fault.place else ""
        return Check(name, Status.FAILED, f"{where}{fault.message}", fault.remedy), None
    told = ", ".join(paths)
    count = len(engine.index)
    details = {"paths": [*paths], "tools": count, "durationMs": took}
    if not count:
        return Check(name, Status.FAILED, f"{told} holds no tool", _REBUILD, details), engine
    message = f"{told} holds {count:,} tools, loaded in {took:g} ms"
    return Check(name, Status.OK, message, details=details), engine


def check_index(settings: Settings) -> Check:
    """Look whether a fresh index is kept; loading has just made one where that is possible."""
    from mcpg.engine.defaults import recipe  # noqa: PLC0415 - help needs no index
    from mcpg.files import is_file  # noqa: PLC0415 - as above
    from mcpg.index.file import fresh_index  # noqa: PLC0415 - as above

    name = "index"
    paths = [str(one.value) for one in settings.bundles()]
    if len(paths) > 1 or not is_file(paths[0]):
        message = "sources are searched as they are, so an index is made in memory by every run"
        return Check(name, Status.NOTE, message, "bundle them with `mcpg bundle`")
    index = fresh_index(paths[0], recipe(), cache_folder())
    if index is None:
        message = "no index is kept: it is made anew in memory by every run"
        remedy = "search a bundle, and let mcpg write beside it or into the cache folder"
        return Check(name, Status.NOTE, message, remedy)
    index.verify()
    size = len(index.data)
    message = f"fresh and undamaged, {size:,} bytes"
    return Check(name, Status.OK, message, details={"bytes": size})


def check_vectors(engine: Engine, equipping: Equipping) -> Check:
    """Look whether the vectors that are kept of the bundle are those that would be made now."""
    name = "vectors"
    given = engine.equipment.vectors if engine.equipment else None
    if not isinstance(given, str):
        message = "only a bundle has vectors beside it"
        return Check(name, Status.OFF, message, "bundle the sources with `mcpg bundle`")
    provider = _provider(equipping)
    if provider is None:
        return Check(name, Status.OFF, "nobody makes vectors")
    from mcpg.cli.embedding import Target  # noqa: PLC0415 - graph searches need no vectors
    from mcpg.vectors.opening import find_vectors  # noqa: PLC0415 - as above

    target = Target(given, engine.index.header.key, len(engine.index))
    found = find_vectors(target.places, target.key, target.tools, provider)
    if found.file is None:
        told = "; ".join(f"{one.place}: {one.message}" for one in found.diagnostics)
        status = Status.NOTE if told or equipping.needs_vectors else Status.OFF
        message = told or f"there is no {target.places[0]}"
        return Check(name, status, f"{message}; a search that needs vectors makes them", _EMBED)
    details = {
        "path": found.path,
        "fingerprint": found.file.fingerprint,
        "tools": len(found.file.vectors),
        "missing": found.file.vectors.missing,
    }
    if not found.is_fresh:
        message = f"{found.path} is not of this bundle: what has changed is embedded by searches"
        return Check(name, Status.NOTE, message, _EMBED, details)
    message = f"{found.path} holds the vectors of {target.tools:,} tools"
    return Check(name, Status.OK, message, details=details)


def _provider(equipping: Equipping) -> EmbeddingProvider | None:
    """Give who makes vectors; that nobody does is told by a check of its own."""
    from mcpg.embeddings.provider import EmbeddingError  # noqa: PLC0415 - as above

    try:
        return equipping.provider()
    except EmbeddingError:
        return None


def _loaded(paths: list[str]) -> Engine:
    from mcpg.engine import load  # noqa: PLC0415 - as above

    return load(paths, cache_dir=cache_folder())
