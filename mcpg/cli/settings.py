"""Settings: from flags, the environment and configuration files, each with where it was said."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.sanitise import either
from mcpg.errors import InputError, NotFoundError, UsageError
from mcpg.files import exists, is_file, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

DEFAULT_BUNDLE = "graph.mdld"
"""Name of the bundle that is looked for when nothing names one."""

CONFIG_FILE = "mcpg.toml"
PROJECT_FILE = "pyproject.toml"

_CONFIG_LIMIT = 1024 * 1024
_KEYS: dict[str, type] = {"bundle": str, "limit": int, "strategy": str}
_KINDS = {str: "a text", int: "a whole number"}


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
        environment: Variables, `MCPG_*` of which are settings.
        flags: Values of flags that were given, by key.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)

    def find(self, key: str) -> Setting | None:
        """Give the setting called *key*, `None` when nobody says it.

        Raises:
            UsageError: A variable or a configuration file says something that makes no sense.
            InputError: A configuration file cannot be read.
        """
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

    def _flag(self, key: str) -> Setting | None:
        value = self.flags.get(key)
        return None if value in (None, []) else Setting(value, f"--{key}")

    def _variable(self, key: str) -> Setting | None:
        name = f"MCPG_{key.upper()}"
        text = self.environment.get(name, "")
        if not text:
            return None
        if _KEYS[key] is int:
            return Setting(_whole_number(text, name), name)
        return Setting(text, name)

    def _configured(self, key: str) -> Setting | None:
        for read in (_read_config, _read_project):
            found = _nearest(self.folder, read)
            if found is not None and key in found[1]:
                file, table = found
                value = str(file.parent / table[key]) if key == "bundle" else table[key]
                return Setting(value, f"{file}: {key}")
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
    folder: Path, read: Callable[[Path], dict[str, Any] | None]
) -> tuple[Path, dict[str, Any]] | None:
    name = CONFIG_FILE if read is _read_config else PROJECT_FILE
    for parent in _with_parents(folder):
        file = parent / name
        if is_file(file) and (table := read(file)) is not None:
            return file, table
    return None


def _read_config(file: Path) -> dict[str, Any]:
    return _checked(_parse(file, _read_text(file)), file, "")


def _read_project(file: Path) -> dict[str, Any] | None:
    text = _read_text(file)
    if "mcpg" not in text:
        # Somebody else's project file is none of our business, even when it is broken.
        return None
    tool = _parse(file, text).get("tool", {})
    table = tool.get("mcpg") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UsageError("'tool.mcpg' is no table", place=str(file), remedy="write [tool.mcpg]")
    return _checked(table, file, "tool.mcpg.")


def _checked(table: dict[str, Any], file: Path, prefix: str) -> dict[str, Any]:
    for key, value in table.items():
        place = f"{file}: {prefix}{key}"
        if key not in _KEYS:
            raise UsageError(f"unknown key {key!r}", place=place, remedy=_key_advice(key))
        wanted = _KEYS[key]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(
                f"{key!r} is {value!r}", place=place, remedy=f"give it {_KINDS[wanted]}"
            )
    return table


def _key_advice(key: str) -> str:
    near = difflib.get_close_matches(key, _KEYS, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(_KEYS)}"


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
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise InputError(
            f"is no TOML: {fault}", place=str(file), remedy="correct the file"
        ) from fault


def _whole_number(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is no whole number", place=name, remedy="give it a number such as 5"
        ) from None


def _with_parents(folder: Path) -> Iterator[Path]:
    absolute = folder.absolute()
    yield absolute
    yield from absolute.parents
