"""The `[[sources]]` of a configuration file: kept as they stand, filled in when they are used."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mcpg.catalog.sources.addresses import host_of
from mcpg.catalog.sources.clientconfig import server_of
from mcpg.catalog.sources.kinds import PYTHON
from mcpg.catalog.sources.servers import StdioServer
from mcpg.catalog.sources.variables import expand, without_variables
from mcpg.cli.sourcekeys import KINDS, TRANSPORTS, check_entries, kind_of
from mcpg.diagnostics import Code, Diagnostic, error, info
from mcpg.errors import McpgError, SourceError
from mcpg.gateway.opening import Opening, free_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mcpg.catalog.sources.servers import Live, Server
    from mcpg.gateway.addressing import Addressing
    from mcpg.gateway.sources import Source

_VARIABLE = "variable"
_SWITCHED_OFF = "this source is switched off; it is not used"


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """One entry, of which nothing is filled in yet.

    Attributes:
        kind: One of `KINDS`.
        name: How it is called: its id, else what can be told from it; unique among the entries.
        entry: The entry as it stands in the file.
        file: The file.
    """

    kind: str
    name: str
    entry: Mapping[str, Any] = field(repr=False)
    file: Path

    @property
    def id(self) -> str | None:
        """The id that the file gives it."""
        return self.entry.get("id")

    @property
    def place(self) -> str:
        """How messages name it; holds neither a secret nor a folder."""
        return f"{self.file.name}: {self.name}"

    @property
    def timeout(self) -> float | None:
        """Seconds that it has, `None` for what is usual."""
        return self.entry.get("timeout")

    @property
    def is_enabled(self) -> bool:
        """Whether it is used."""
        return bool(self.entry.get("enabled", True))

    @property
    def is_server(self) -> bool:
        """Whether it names a server; a path may still lead to the configuration of a client."""
        return self.kind in {"command", "url"}

    @property
    def argument(self) -> str:
        """What would name it on the command line: a path, from where we are, or a module."""
        if self.kind == "python":
            return f"{PYTHON}{self.entry['python']}"
        path = _below(self.file.parent, self.entry["path"])
        try:
            return os.path.relpath(path)
        except ValueError:  # on another drive
            return path

    def server(self, environ: Mapping[str, str]) -> Server:
        """Give the server, with variables filled in from *environ*.

        Raises:
            SourceError: A variable is not set, or what is filled in makes no sense.
        """
        given = {
            key: self.entry[key] for key in (self.kind, *KINDS[self.kind]) if key in self.entry
        }
        transport = given.pop("transport", TRANSPORTS[0]) if self.kind == "url" else "stdio"
        server = server_of(self.name, {"type": transport, **given}, self.place, environ)
        if isinstance(server, StdioServer):
            folder = _below(self.file.parent.absolute(), server.cwd or ".")
            return replace(server, name=self.id, cwd=folder)
        return replace(server, name=self.id)

    def addressing(self, environ: Mapping[str, str]) -> Addressing | None:
        """Give where the operations of a document are called, with variables filled in.

        Raises:
            McpgError: A variable is not set, or what is filled in makes no sense.
        """
        if "base_url" not in self.entry:
            return None
        # Few sources have one, and reading documents is none of the others' affair.
        from mcpg.gateway.addressing import Addressing  # noqa: PLC0415

        used: list[str] = []
        headers = {
            name: expand(_plain(value), environ, self.place, used)
            for name, value in self.entry.get("headers", {}).items()
        }
        base = expand(self.entry["base_url"], environ, self.place, used)
        return Addressing(base.strip(), headers, tuple(used))

    def as_read(self) -> ConfiguredSource:
        """Give the same for those who read it and call nothing: what only a call needs is out."""
        if self.is_server:
            return self
        kept = {key: one for key, one in self.entry.items() if key not in KINDS["path"]}
        return replace(self, entry=kept)


def read_entries(value: Any, file: Path) -> tuple[ConfiguredSource, ...]:
    """Read what stands under `sources` in *file*.

    Raises:
        EntryError: Something makes no sense.
    """
    check_entries(value)
    taken = {entry["id"].casefold() for entry in value if "id" in entry}
    return tuple(_read(entry, file, taken) for entry in value)


def open_entries(
    entries: Iterable[ConfiguredSource],
    live: Live,
    *,
    source_id: str | None = None,
    timeout: float | None = None,
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Give the sources that *entries* name, as `mcpg.gateway.open_sources` does of words.

    What cannot be used, because a variable is not set, becomes a diagnostic; what is switched off,
    an information.

    Args:
        entries: What the file says.
        live: The environment from which variables are filled in.
        source_id: Source id of all tools, whatever the file says.
        timeout: Seconds that each server has, whatever the file says.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file is nothing that holds tools.
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
    """Add what *one* entry names to *opening*; see `open_entries`."""
    if not one.is_enabled:
        opening.noticed([info(Code.SOURCE_SKIPPED, _SWITCHED_OFF, one.place)])
    elif one.is_server:
        _open_server(one, opening, live, source_id, timeout)
    else:
        _open_path(one, opening, live, source_id, timeout)


def _open_server(
    one: ConfiguredSource,
    opening: Opening,
    live: Live,
    source_id: str | None,
    timeout: float | None,
) -> None:
    try:
        server = one.server(live.environ)
    except SourceError as fault:
        opening.noticed([_unusable(fault, one)])
        return
    if source_id is not None:
        server = replace(server, name=source_id)
    opening.server(server, one.name, timeout or one.timeout, is_fixed=one.id is not None)


def _open_path(
    one: ConfiguredSource,
    opening: Opening,
    live: Live,
    source_id: str | None,
    timeout: float | None,
) -> None:
    try:
        addressing = one.addressing(live.environ)
    except McpgError as fault:
        opening.noticed([_unusable(fault, one)])
        return
    try:
        opening.named(
            one.argument,
            source_id=source_id or one.id,
            timeout=timeout or one.timeout,
            addressing=addressing,
        )
    except McpgError as fault:
        place = ": ".join(part for part in (one.place, fault.place) if part)
        raise type(fault)(fault.message, place=place, remedy=fault.remedy) from None


def _unusable(fault: McpgError, one: ConfiguredSource) -> Diagnostic:
    return error(Code.SOURCE_LOAD_FAILED, f"{fault.message} ({fault.remedy})", one.place)


def _plain(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(entry: Mapping[str, Any], file: Path, taken: set[str]) -> ConfiguredSource:
    kind = kind_of(entry)
    name = entry.get("id") or free_name(_derived(kind, entry[kind]), taken)
    return ConfiguredSource(kind, name, entry, file)


def _derived(kind: str, text: str) -> str:
    if kind == "url":
        host = host_of(without_variables(text, _VARIABLE)) if text[:1] != "$" else _VARIABLE
        return kind if _VARIABLE in host else host
    if kind == "command":
        return PurePath(text).name
    return text if kind == "python" else PurePath(text).stem or text


def _below(folder: Path, path: str) -> str:
    return os.path.normpath(folder / os.path.expanduser(path))  # noqa: PTH111 - `Path` may raise
