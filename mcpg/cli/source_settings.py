"""The `[[sources]]` of a configuration file: kept as they stand, filled in when they are used."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcpg.cli.setting_keys import LONGEST, SOURCES
from mcpg.errors import Code, Diagnostic, McpgError, SourceError, error, info
from mcpg.gateway.opening import Opening, free_name
from mcpg.net.addresses import is_header_name
from mcpg.sources.client_config import (
    StdioServer,
    check_variables,
    expand,
    host_of,
    read_oauth,
    server_of,
    without_variables,
)
from mcpg.sources.model import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mcpg.gateway.sources import Addressing, Source
    from mcpg.sources.client_config import Live, Server

# SECTION sourcekeys: The keys of `[[sources]]`: what an entry may hold, and what is wrong with one
# that does not.


KINDS: dict[str, tuple[str, ...]] = {
    "path": ("base_url", "headers"),
    "command": ("args", "env", "cwd"),
    "url": ("headers", "transport", "oauth"),
    "python": (),
}
"""What an entry may be, each with the keys that go with it."""

COMMON = ("id", "timeout", "enabled")
"""Keys of every entry."""

TRANSPORTS = ("http", "sse")
OAUTH_KEYS = (
    "grant",
    "client_id",
    "client_secret",
    "scope",
    "issuer",
    "auth_method",
    "redirect_uri",
    "callback_port",
)

_KNOWN = (*KINDS, *(key for keys in KINDS.values() for key in keys), *COMMON)
_HEADING = f"write [[{SOURCES}]] before each source, and its keys below"
_VARIABLE_of_sourcekeys = "write ${NAME} in its place, and set that variable"
_LONGEST_ID = 200
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@|password\s*=\s*[^\s&;]", re.IGNORECASE)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::[^\W\d]\w*(?:\.[^\W\d]\w*)*)?")
_TYPES = ((bool, "true or false"), (int | float, "a number"), (str, "a text"), (list, "a list"))


class EntryError(Exception):
    """A mistake in the entries.

    Attributes:
        message: What is wrong; holds no value that may be secret.
        remedy: What to do about it.
        path: Where in the entries: the number of one, a key of it, a key in that.
    """

    def __init__(self, message: str, remedy: str, *path: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.path = path


def check_entries(value: Any) -> None:
    """Check what stands under `sources` in a file.

    Raises:
        EntryError: Something makes no sense.
    """
    if not isinstance(value, list):
        raise EntryError(f"{SOURCES!r} is {_type(value)}", _HEADING)
    seen: dict[str, int] = {}
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise EntryError(f"a source is {_type(entry)}", _HEADING, number)
        _check_entry(entry, number)
        if "id" in entry and seen.setdefault(entry["id"].casefold(), number) != number:
            message = f"another source has the id {entry['id']!r}"
            raise EntryError(
                message, "give each its own; upper and lower case are one", number, "id"
            )


def kind_of(entry: Mapping[str, Any]) -> str:
    """Give which of `KINDS` a checked *entry* is."""
    return next(kind for kind in KINDS if kind in entry)


def _check_entry(entry: Mapping[str, Any], number: int) -> None:
    for key in entry:
        if key not in _KNOWN:
            raise EntryError(f"unknown key {key!r}", _advice(key, _KNOWN), number, key)
    kind = _only_kind(entry, number)
    for key, value in entry.items():
        if key not in (kind, *KINDS[kind], *COMMON):
            owners = " or ".join(repr(one) for one, keys in KINDS.items() if key in keys)
            message = f"{key!r} goes with {owners}, and this source has {kind!r}"
            raise EntryError(message, f"take {key!r} out", number, key)
        try:
            _CHECKS[key](key, value)
        except EntryError as fault:
            raise EntryError(fault.message, fault.remedy, number, key, *fault.path) from None
    if kind == "path" and "headers" in entry and "base_url" not in entry:
        message = "there are 'headers', and no 'base_url' that they go to"
        raise EntryError(message, "add 'base_url'", number, "headers")


def _only_kind(entry: Mapping[str, Any], number: int) -> str:
    kinds = [key for key in entry if key in KINDS]
    if len(kinds) > 1:
        message = f"this source has both {kinds[0]!r} and {kinds[1]!r}"
        raise EntryError(message, f"write a [[{SOURCES}]] for each", number, kinds[1])
    if kinds:
        return kinds[0]
    for kind, keys in reversed(KINDS.items()):
        if any(key in keys for key in entry):
            raise EntryError(f"this source has no {kind!r}", f"add {kind!r}", number)
    raise EntryError("this source names nothing", f"give it one of {', '.join(KINDS)}", number)


def _text(key: str, value: Any) -> str:
    """Check that *value* is a text that may stand in a file."""
    if not isinstance(value, str):
        raise EntryError(f"{key!r} is {_type(value)}", "give it a text")
    if not value.strip():
        raise EntryError(f"{key!r} is empty", "give it a text")
    _check_characters(key, value)
    return value


def _check_characters(key: str, text: str) -> None:
    if "\0" in text:
        raise EntryError(f"{key!r} holds a null character", "remove it")
    try:
        check_variables(text, key)
    except McpgError as fault:
        raise EntryError(fault.message, str(fault.remedy)) from None
    if _PASSWORD.search(without_variables(text)):
        raise EntryError(f"{key!r} holds a password", _VARIABLE_of_sourcekeys)


def _check_path(key: str, value: Any) -> None:
    if "${" in _text(key, value):
        raise EntryError(
            "a path is taken as it stands: `${` is not filled in",
            "give the path as it is from the file's folder, or begin it with ~/",
        )


def _check_command(key: str, value: Any) -> None:
    if isinstance(value, list):
        raise EntryError(f"{key!r} is a list", "name the program, and give the others in 'args'")
    _text(key, value)


def _check_args(key: str, value: Any) -> None:
    if not isinstance(value, list):
        raise EntryError(f"{key!r} is {_type(value)}", 'give it a list of texts, as in ["--fast"]')
    for number, item in enumerate(value):
        _check_scalar(key, item, number)


def _check_env(key: str, value: Any) -> None:
    for name, item in _table(key, value):
        if not name or "=" in name or "\0" in name:
            raise EntryError(f"{name!r} is no name of a variable", "correct it", name)
        _check_scalar(f"{key}.{name}", item, name)


def _check_headers(key: str, value: Any) -> None:
    for name, item in _table(key, value):
        if not is_header_name(name):
            raise EntryError(f"{name!r} is no name of a header", "correct it", name)
        _check_scalar(f"{key}.{name}", item, name)
        text = str(item)
        if "\r" in text or "\n" in text:
            raise EntryError(f"'{key}.{name}' holds a line break", "remove it", name)
        if name.casefold() in _SECRET_HEADERS and without_variables(text) == text:
            raise EntryError(f"'{key}.{name}' holds a secret", _VARIABLE_of_sourcekeys, name)


def _table(key: str, value: Any) -> Sequence[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise EntryError(f"{key!r} is {_type(value)}", 'give it a table, as in { NAME = "text" }')
    return tuple(value.items())


def _check_scalar(key: str, value: Any, at: str | int) -> None:
    if not isinstance(value, str | int | float):
        raise EntryError(f"{key!r} holds {_type(value)}", "give it texts", at)
    _check_in(at, str(value), key)


def _check_url(key: str, value: Any) -> None:
    text = _text(key, value)
    if text.startswith("${"):
        return  # what is filled in is looked at when it is
    if not text.casefold().startswith(("http://", "https://")):
        raise EntryError(f"{key!r} is no address of a server", "write https://HOST/PATH")
    try:
        host_of(without_variables(text, "1"))
    except McpgError:
        raise EntryError(f"{key!r} is no address", "write https://HOST/PATH") from None


def _check_base_url(key: str, value: Any) -> None:
    _check_url(key, value)
    if "@" in urlsplit(without_variables(value, "1")).netloc:
        remedy = "give user and password in the header Authorization"
        raise EntryError(f"{key!r} names a user", remedy)


def _check_transport(key: str, value: Any) -> None:
    if _text(key, value) not in TRANSPORTS:
        raise EntryError(f"{key!r} is {value!r}", _advice(value, TRANSPORTS))


def _check_oauth(key: str, value: Any) -> None:
    if value is False:
        return
    for name, item in _table(key, value):
        if name not in OAUTH_KEYS:
            raise EntryError(f"unknown key {name!r}", _advice(name, OAUTH_KEYS), name)
        texts = item if isinstance(item, list) else [item]
        for text in (text for text in texts if isinstance(text, str)):
            _check_in(name, text, f"{key}.{name}")
        if name == "client_secret" and without_variables(str(item)) == item:
            raise EntryError(f"'{key}.{name}' holds a secret", _VARIABLE_of_sourcekeys, name)

    def fail(message: str, remedy: str) -> SourceError:
        # Keys are written otherwise here than in the configuration of a client.
        named = re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", message)
        return SourceError(named.replace("its `oauth`", f"{key!r}"), remedy=remedy)

    try:
        read_oauth({"oauth": value}, str, fail)
    except SourceError as fault:
        raise EntryError(fault.message, str(fault.remedy)) from None


def _check_in(at: str | int, text: str, key: str) -> None:
    """Check a text that stands at *at* in a value."""
    try:
        _check_characters(key, text)
    except EntryError as fault:
        raise EntryError(fault.message, fault.remedy, at) from None


def _check_python(key: str, value: Any) -> None:
    if not _MODULE.fullmatch(_text(key, value)):
        message = f"{key!r} is no name of a module"
        raise EntryError(message, "write package.module, or package.module:attribute")


def _check_id(key: str, value: Any) -> None:
    text = _text(key, value)
    if text != text.strip() or not text.isprintable() or len(text) > _LONGEST_ID:
        remedy = f"give it up to {_LONGEST_ID} visible characters, without blanks around them"
        raise EntryError(f"{key!r} is no name of a source", remedy)


def _check_timeout(key: str, value: Any) -> None:
    remedy = f"give it a number of seconds above 0, up to {LONGEST}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EntryError(f"{key!r} is {_type(value)}", remedy)
    if not 0 < value <= LONGEST:
        raise EntryError(f"{key!r} is {value:g}", remedy)


def _check_enabled(key: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise EntryError(f"{key!r} is {_type(value)}", "give it true or false")


def _type(value: Any) -> str:
    """Name what *value* is; the value itself may be secret."""
    if isinstance(value, dict):
        return "a table"
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "a date or a time")


def _advice(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "path": _check_path,
    "base_url": _check_base_url,
    "command": _check_command,
    "args": _check_args,
    "env": _check_env,
    "cwd": _text,
    "url": _check_url,
    "headers": _check_headers,
    "transport": _check_transport,
    "oauth": _check_oauth,
    "python": _check_python,
    "id": _check_id,
    "timeout": _check_timeout,
    "enabled": _check_enabled,
}

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
        from mcpg.gateway.sources import Addressing  # noqa: PLC0415

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
