"""Settings: from flags, the environment and configuration files, each with where it was said."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.setting_keys import (
    KEYS,
    PATHS,
    SECTIONS,
    SOURCES,
    check_value,
    read_value,
    unknown_key,
)
from mcpg.cli.terminal import either
from mcpg.errors import InputError, NotFoundError, UsageError
from mcpg.files import exists, is_file, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcpg.cli.setting_keys import Key
    from mcpg.cli.source_settings import ConfiguredSource

# SECTION configfile: Configuration files: read strictly, every mistake with its line.


CONFIG_FILE = "mcpg.toml"
PROJECT_FILE = "pyproject.toml"

_CONFIG_LIMIT = 1024 * 1024
_PROJECT_TABLE = ("tool", "mcpg")
# Lines of one value, such as a list; what is longer is not worth the time of a message.
_LONGEST_STATEMENT = 400


def read_config(file: Path) -> dict[str, Any]:
    """Give the settings of a `mcpg.toml` by their names; paths begin with the file's folder.

    Under `sources` stands what reads and checks these: only who uses them pays for that, and is
    stopped by a mistake in them.

    Raises:
        InputError: It is no TOML.
        UsageError: A key is unknown, or its value makes no sense.
    """
    text = _read_text(file)
    return _settings(_parse(file, text), file, text, ())


def read_project(file: Path) -> dict[str, Any] | None:
    """Give the settings of `[tool.mcpg]` in a `pyproject.toml`, `None` where there are none.

    Sources are as `read_config` gives them.

    Raises:
        InputError: It speaks of mcpg and is no TOML.
        UsageError: A key is unknown, or its value makes no sense.
    """
    text = _read_text(file)
    if "mcpg" not in text:
        # Somebody else's project file is none of our business, even when it is broken.
        return None
    tool = _parse(file, text).get("tool", {})
    table = tool.get("mcpg") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        place = _place(file, text, _PROJECT_TABLE)
        raise UsageError("'tool.mcpg' is no table", place=place, remedy="write [tool.mcpg]")
    return _settings(table, file, text, _PROJECT_TABLE)


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """Give the line, from 1, of the statement of a TOML document that first names the key *path*.

    A number in it, from 0, is the place in a list, such as an array of tables.

    The parser itself finds it: of all beginnings of the document that end with a statement, it is
    the last statement of the shortest that has the key. `None` where statements are too long.
    """
    # The lines of TOML end with a line feed; other signs that end lines may stand in comments.
    lines = text.split("\n")
    low, high, begin = 0, len(lines), 0
    while low < high:
        middle = (low + high) // 2
        end, table = _read_from(lines, middle)
        if table is None:
            return None
        if _has(table, path):
            high = middle
        else:
            low, begin = end + 1, end
    return _first_filled(lines, begin) + 1


def _read_from(lines: list[str], end: int) -> tuple[int, dict[str, Any] | None]:
    """Read the first *end* lines, or as many more as it takes to end with a statement."""
    for longer in range(end, min(end + _LONGEST_STATEMENT, len(lines)) + 1):
        with suppress(ValueError):
            return longer, tomllib.loads("\n".join(lines[:longer]) + "\n")
    return end, None


def _has(table: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        if isinstance(part, int):
            is_there = isinstance(table, list) and part < len(table)
        else:
            is_there = isinstance(table, dict) and part in table
        if not is_there:
            return False
        table = table[part]
    return True


def _first_filled(lines: list[str], begin: int) -> int:
    """Give the first line from *begin* on that is neither blank nor a comment."""
    filled = (n for n in range(begin, len(lines)) if lines[n].strip()[:1] not in ("", "#"))
    return next(filled, begin)


def _settings(
    table: dict[str, Any], file: Path, text: str, above: tuple[str, ...]
) -> dict[str, Any]:
    found = {}
    for path, value in _flat(table):
        if path == (SOURCES,):
            found[SOURCES] = partial(_sources, value, file, text, above)
            continue
        try:
            found[".".join(path)] = _value(path, value, file)
        except UsageError as fault:
            place = _place(file, text, (*above, *path))
            raise UsageError(fault.message, place=place, remedy=fault.remedy) from None
    return found


def _sources(
    value: Any, file: Path, text: str, above: tuple[str, ...]
) -> tuple[ConfiguredSource, ...]:
    from mcpg.cli.source_settings import (  # noqa: PLC0415 - a search needs no sources
        EntryError,
        read_entries,
    )

    try:
        return read_entries(value, file)
    except EntryError as fault:
        place = _place(file, text, (*above, SOURCES, *fault.path))
        raise UsageError(fault.message, place=place, remedy=fault.remedy) from None


def _value(path: tuple[str, ...], value: Any, file: Path) -> Any:
    name = ".".join(path)
    if name in SECTIONS:
        raise UsageError(f"{name!r} is a section", remedy=f"write [{name}], and its keys below")
    if name not in KEYS:
        raise unknown_key(name)
    checked = check_value(KEYS[name], value)
    return str(file.parent / checked) if name in PATHS else checked


def _flat(table: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give the values of *table* and of the sections in it, each with its keys."""
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            yield from (((key, name), part) for name, part in value.items())
        else:
            yield (key,), value


def _place(file: Path, text: str, path: tuple[str | int, ...]) -> str:
    line = line_of(text, path)
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"{file}{f':{line}' if line else ''}: {''.join(parts).removeprefix('.')}"


def _read_text(file: Path) -> str:
    try:
        return read_bytes(file, _CONFIG_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(
            "is not UTF-8", place=f"{file}: byte {fault.start}", remedy="save it as UTF-8"
        ) from fault


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(
            f"is no TOML: {fault}", place=str(file), remedy="correct the file"
        ) from fault


DEFAULT_BUNDLE = "graph.mdld"
"""Name of the bundle that is looked for when nothing names one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it was said.

    Attributes:
        value: The value; a path is already relative to the right folder.
        origin: The flag, variable or `file: key` that said it.
    """

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Answers which value a setting has: flag > environment > `mcpg.toml` > `pyproject.toml`.

    Attributes:
        folder: The folder the program runs in.
        environment: Variables, those of which `KEYS` speaks are settings.
        flags: Values of flags that were given, by parameter.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Setting | None:
        """Give the setting called *name*, one of `KEYS`; `None` when nobody says it.

        Raises:
            UsageError: A variable or a configuration file says something that makes no sense.
            InputError: A configuration file cannot be read.
        """
        key = KEYS[name]
        return self._flag(key) or self._variable(key) or self._configured(key)

    def bundles(self) -> tuple[Setting, ...]:
        """Give the paths of the bundle, folder or manifest to work on; a flag may name several.

        Of several, some may be missing.

        Raises:
            NotFoundError: Nothing names one and none lies around, or nothing named is there.
            UsageError: See `find`.
            InputError: See `find`.
        """
        named = self.find("bundle")
        if named is None:
            return (self._discovered(),)
        paths = [named.value] if isinstance(named.value, str) else named.value
        if not any(exists(path) for path in paths):
            names = either([repr(path) for path in paths])
            raise NotFoundError(
                f"there is no bundle, folder or manifest called {names}",
                place=named.origin,
                remedy="check the path, or make the bundle with `mcpg bundle SOURCE... -o FILE`",
            )
        return tuple(Setting(path, named.origin) for path in paths)

    def sources(self) -> tuple[ConfiguredSource, ...] | None:
        """Give the sources that a configuration file names, `None` where none names any.

        Raises:
            UsageError: See `find`; or the file is a stranger's.
            InputError: See `find`.
        """
        found = self._in_files(SOURCES)
        if found is None:
            return None
        file, read = found
        self._check_owner(file)
        sources: tuple[ConfiguredSource, ...] = read()
        return sources

    def _check_owner(self, file: Path) -> None:
        """Keep a file that somebody left in a folder above, such as `/tmp`, from starting programs.

        Whoever works in a folder of somebody else's has chosen that; so its owner is trusted.
        """
        if not hasattr(os, "geteuid"):
            return
        trusted = {0, os.geteuid(), self.folder.stat().st_uid}
        if file.stat().st_uid not in trusted:
            raise UsageError(
                "belongs to another user, and its sources may start programs",
                place=f"{file}: {SOURCES}",
                remedy="name the sources on the command line, or copy the file",
            )

    def _flag(self, key: Key) -> Setting | None:
        value = self.flags.get(key.parameter) if key.option else None
        return None if value in (None, []) else Setting(value, key.option)

    def _variable(self, key: Key) -> Setting | None:
        text = self.environment.get(key.variable, "") if key.variable else ""
        if not text:
            return None
        try:
            return Setting(read_value(key, text), key.variable)
        except UsageError as fault:
            raise UsageError(fault.message, place=key.variable, remedy=fault.remedy) from None

    def _configured(self, key: Key) -> Setting | None:
        found = self._in_files(key.name)
        return None if found is None else Setting(found[1], f"{found[0]}: {key.name}")

    def _in_files(self, name: str) -> tuple[Path, Any] | None:
        for file_name, read in ((CONFIG_FILE, read_config), (PROJECT_FILE, read_project)):
            found = _nearest(self.folder, file_name, read)
            if found is not None and name in found[1]:
                return found[0], found[1][name]
        return None

    def _discovered(self) -> Setting:
        for folder in _with_parents(self.folder):
            candidate = folder / DEFAULT_BUNDLE
            if is_file(candidate):
                return Setting(str(candidate), "discovered")
        raise NotFoundError(
            f"no bundle: there is no {DEFAULT_BUNDLE} here or in a parent folder",
            remedy="name one with --bundle, MCPG_BUNDLE or mcpg.toml, "
            "or make one with `mcpg bundle SOURCE... -o graph.mdld`",
        )


def _nearest(
    folder: Path, name: str, read: Callable[[Path], dict[str, Any] | None]
) -> tuple[Path, dict[str, Any]] | None:
    for parent in _with_parents(folder):
        file = parent / name
        if is_file(file) and (table := read(file)) is not None:
            return file, table
    return None


def _with_parents(folder: Path) -> Iterator[Path]:
    absolute = folder.absolute()
    yield absolute
    yield from absolute.parents
