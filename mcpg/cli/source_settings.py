"""The `[[sources]]` of a configuration file: their names, and how they are opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from mcpg.cli.source_models import (
    CommandSource,
    PathSource,
    PythonSource,
    SourceTable,
    UrlSource,
    check_sources,
)
from mcpg.errors import Code, Diagnostic, McpgError, error, info
from mcpg.gateway.opening import Opening, free_name
from mcpg.gateway.sources import Addressing, Source
from mcpg.sources.client_config import (
    Live,
    Server,
    StdioServer,
    expand,
    host_of,
    server_of,
    without_variables,
)
from mcpg.sources.model import PYTHON

_VARIABLE = "variable"
_DISABLED = "this source is disabled; it is skipped"


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """An entry, whose variables are expanded when it is used.

    Attributes:
        name: Its id, or a name derived from what it is; unique among the entries.
        entry: What the file says.
        file: The file.
    """

    name: str
    entry: SourceTable = field(repr=False)
    file: Path

    @property
    def place(self) -> str:
        """How messages name it; contains neither a secret nor a folder."""
        return f"{self.file.name}: {self.name}"

    @property
    def is_server(self) -> bool:
        """Whether it is a server; a path may still lead to the configuration of a client."""
        return isinstance(self.entry, CommandSource | UrlSource)

    @property
    def argument(self) -> str:
        """Its name on the command line: a path from the working folder, or a module."""
        if isinstance(self.entry, PythonSource):
            return f"{PYTHON}{self.entry.python}"
        path = _below(self.file.parent, self._own["path"])
        try:
            return os.path.relpath(path)
        except ValueError:  # on another drive
            return path

    @property
    def _own(self) -> dict[str, Any]:
        """The keys that are set of those that go with its kind."""
        return self.entry.model_dump(exclude_unset=True, exclude={*SourceTable.model_fields})

    def server(self, environ: Mapping[str, str]) -> Server:
        """Return the server, with variables expanded from *environ*.

        Raises:
            SourceError: A variable is not set, or the expanded entry is invalid.
        """
        kind = "http" if isinstance(self.entry, UrlSource) else "stdio"
        members: dict[str, Any] = {"transport": kind, **self._own}
        if members.get("oauth", {}) is None:
            members["oauth"] = False
        server = replace(server_of(self.name, members, self.place, environ), name=self.entry.id)
        if not isinstance(server, StdioServer):
            return server
        return replace(server, cwd=_below(self.file.parent.absolute(), server.cwd or "."))

    def addressing(self, environ: Mapping[str, str]) -> Addressing | None:
        """Return where the operations of a document are called, with variables expanded.

        Raises:
            McpgError: A variable is not set, or the expanded entry is invalid.
        """
        own = self._own
        if "base_url" not in own:
            return None
        used: list[str] = []

        def expanded(value: Any) -> str:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            return expand(text, environ, self.place, used)

        headers = {name: expanded(value) for name, value in own.get("headers", {}).items()}
        return Addressing(expanded(own["base_url"]).strip(), headers, tuple(used))

    def as_read(self) -> ConfiguredSource:
        """Return it without what only calls need."""
        if not isinstance(self.entry, PathSource):
            return self
        given = self.entry.model_dump(exclude_unset=True, exclude={"base_url", "headers"})
        return replace(self, entry=PathSource(**given))


def read_entries(
    value: Any, file: Path, fail: Callable[..., McpgError]
) -> tuple[ConfiguredSource, ...]:
    """Read *value*, which *file* has under `sources`.

    Args:
        value: The value.
        file: The file.
        fail: Makes the error that is raised where an entry is invalid, from a message, a remedy,
            and the keys and indices that lead to the value.
    """
    entries = check_sources(value, fail)
    taken = {entry.id.casefold() for entry in entries if entry.id}
    return tuple(
        ConfiguredSource(entry.id or free_name(_derived_name(entry), taken), entry, file)
        for entry in entries
    )


def open_entries(
    entries: Iterable[ConfiguredSource],
    live: Live,
    *,
    source_id: str | None = None,
    timeout: float | None = None,
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources of *entries*, and diagnostics of those that are disabled or unusable.

    Args:
        entries: The entries.
        live: The environment from which variables are expanded.
        source_id: Source id of all tools; takes precedence over that of the entries.
        timeout: Timeout of each server in seconds; takes precedence over that of the entries.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file does not contain tools.
    """
    opening = Opening(live)
    for one in entries:
        open_entry(one, opening, live, source_id=source_id, timeout=timeout)
    return opening.sources, opening.diagnostics


def open_entry(
    one: ConfiguredSource,
    opening: Opening,
    live: Live,
    *,
    source_id: str | None = None,
    timeout: float | None = None,
) -> None:
    """Add the sources of *one* entry to *opening*; see `open_entries`."""
    if not one.entry.enabled:
        opening.report([info(Code.SOURCE_SKIPPED, _DISABLED, one.place)])
        return
    is_fixed, timeout = one.entry.id is not None, timeout or one.entry.timeout
    source_id = source_id or one.entry.id
    try:
        if one.is_server:
            server = replace(one.server(live.environ), name=source_id)
            opening.server(server, one.name, timeout, is_fixed=is_fixed)
            return
        addressing = one.addressing(live.environ)
    except McpgError as fault:
        message = f"{fault.message} ({fault.remedy})"
        opening.report([error(Code.SOURCE_LOAD_FAILED, message, one.place)])
        return
    try:
        opening.named(one.argument, source_id=source_id, timeout=timeout, addressing=addressing)
    except McpgError as fault:
        place = ": ".join(part for part in (one.place, fault.place) if part)
        raise type(fault)(fault.message, place=place, remedy=fault.remedy) from None


def _derived_name(entry: SourceTable) -> str:
    match entry:
        case UrlSource(url=url):
            host = host_of(without_variables(url, _VARIABLE)) if url[0] != "$" else _VARIABLE
            return entry.kind if _VARIABLE in host else host
        case CommandSource(command=command):
            return PurePath(command).name
        case PathSource(path=path):
            return PurePath(path).stem or path
        case PythonSource(python=name):
            return name
    return entry.kind


def _below(folder: Path, path: str) -> str:
    return os.path.normpath(folder / os.path.expanduser(path))  # noqa: PTH111 - `Path` may raise
