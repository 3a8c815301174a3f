"""Settings from options, the environment and configuration files, each with its origin."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.environment import (
    KEY_VARIABLE,
    KEYS,
    POSTGRES_VARIABLE,
    SOURCES,
    VIEWS,
    SettingKey,
    flatten_sections,
    holds_password,
    may_be_key,
)
from mcpg.cli.old_names import replace_settings
from mcpg.cli.terminal import either
from mcpg.errors import InputError, NotFoundError, UsageError
from mcpg.files import atomic_write, exists, is_file, read_bytes
from mcpg.text.json_values import read_float
from mcpg.text.library_errors import toml_reason

if TYPE_CHECKING:
    from mcpg.cli.setting_models import ViewTable
    from mcpg.cli.source_settings import ConfiguredSource

CONFIG_FILE = "mcpg.toml"
PROJECT_FILE = "pyproject.toml"
DEFAULT_BUNDLE = "graph.mdld"
"""Name of the bundle that mcpg uses when nothing names one."""

PUBLISHED = "postgres:"
"""The bundle that is the catalog published last in the database."""

_PATHS = frozenset(
    {
        "bundle",
        "store.path",
        "postgres.sslrootcert",
        "learn.output",
        "lock.file",
        "serve.record_calls",
    }
)
_CONFIG_LIMIT = 1024 * 1024
_TABLES: dict[str, tuple[str, ...]] = {CONFIG_FILE: (), PROJECT_FILE: ("tool", "mcpg")}
# Lines of one value, such as a list; the line of a longer one is not worth the time.
_LONGEST_STATEMENT = 400


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its origin.

    Attributes:
        value: The value; a path of a file is already relative to the working folder.
        origin: The option, variable or `file: key` that sets it.
    """

    value: Any
    origin: str


class Settings:
    """All settings; precedence: option, environment, `mcpg.toml`, `pyproject.toml`.

    Attributes:
        flags: Values of the options that were given, by parameter.
    """

    def __init__(
        self,
        folder: Path | str,
        environment: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = os.fspath(folder)
        self.environment, self.flags = environment or {}, flags or {}
        self._read: dict[str, ConfigFile | None] = {}

    def find(self, name: str) -> Setting | None:
        """Return the setting called *name*, one of `KEYS`; `None` when nothing sets it."""
        key = KEYS[name]
        value = self.flags.get(key.parameter) if key.option else None
        if value not in (None, []):
            return Setting(value, key.option)
        text = self.environment.get(key.variable, "") if key.variable else ""
        if text:
            return Setting(_parse_value(key, text), key.variable)
        for file in self._files():
            if name in file.values:
                return Setting(file.values[name], f"{file.path}: {file.renamed.get(name, name)}")
        return None

    def bundles(self) -> tuple[Setting, ...]:
        """Return the bundles, folders or manifests to work on; an option may name several.

        Of several, some may be missing.
        """
        named = self.find("bundle")
        if named is None:
            for folder in self._folders():
                if is_file(folder / DEFAULT_BUNDLE):
                    return (Setting(str(folder / DEFAULT_BUNDLE), "discovered"),)
            raise NotFoundError(
                f"no bundle: no {DEFAULT_BUNDLE} here or in a parent folder",
                remedy="name one with --bundle, MCPG_BUNDLE or mcpg.toml, "
                "or make one with `mcpg bundle SOURCE... -o graph.mdld`",
            )
        paths = [named.value] if isinstance(named.value, str) else named.value
        if PUBLISHED in paths:
            raise UsageError(
                f"{PUBLISHED} is a published catalog, which is only searched and explained",
                place=named.origin,
                remedy="name it alone, for `mcpg search`; other commands need a bundle",
            )
        if not any(map(exists, paths)):
            names = either([repr(path) for path in paths])
            message = f"no bundle, folder or manifest is called {names}"
            remedy = "check the path, or make the bundle with `mcpg bundle SOURCE... -o FILE`"
            raise NotFoundError(message, place=named.origin, remedy=remedy)
        return tuple(Setting(path, named.origin) for path in paths)

    @property
    def project(self) -> Path:
        file = next(self._files(), None)
        return Path(file.path).parent if file else Path(self.folder)

    def write(self, name: str, value: str, path: str | None = None) -> str:
        """Set the setting *name* to the TOML *value* in a file, and return its path.

        It is the file at *path*, the project's file, or a new `mcpg.toml`. All else in it stays.
        """
        file = next(self._files(), None) if path is None else None
        target = path or (file.path if file else str(Path(self.folder) / CONFIG_FILE))
        above = _TABLES.get(Path(target).name, ())
        keys, text = (*above, *name.split(".")), ""
        if is_file(target):
            read_config(target, above)  # which refuses any other file
            text = read_bytes(target, _CONFIG_LIMIT).decode("utf-8-sig")
        changed = set_value(text, keys, value)
        if changed is None:
            raise UsageError(
                f"{name!r} cannot be set in this file",
                place=target,
                remedy=f"set {keys[-1]} = {value} in the section [{'.'.join(keys[:-1])}]",
            )
        atomic_write(target, changed.encode())
        return target

    def target(self) -> str:
        """Return the bundle to write if nothing names one: the bundle in the project's file.

        `MCPG_BUNDLE`, which may name a bundle of another project, is only for reading.
        """
        values = (file.values["bundle"] for file in self._files() if "bundle" in file.values)
        named = next(values, None)
        path = named if isinstance(named, str) else ""
        if not path.casefold().endswith(".mdld"):
            return DEFAULT_BUNDLE
        folder = Path(self.folder).absolute()
        is_below = Path(path).is_relative_to(folder)
        return str(Path(path).relative_to(folder)) if is_below else path

    def watched_paths(self) -> tuple[str, ...]:
        """Return the paths to watch for changes: configuration files and bundles."""
        files = (file.path for file in self._files())
        return (*files, *(str(one.value) for one in self.bundles()))

    def sources(self) -> tuple[ConfiguredSource, ...] | None:
        """Return the sources that a configuration file names, `None` if none names any."""
        for file in self._files():
            if file.sources is None:
                continue
            # Sources may start programs, and someone may have left the file in a folder above. The
            # owner of the working folder is trusted.
            if hasattr(os, "geteuid"):
                trusted = {0, os.geteuid(), Path(self.folder).stat().st_uid}
                if Path(file.path).stat().st_uid not in trusted:
                    message = "belongs to another user, and its sources may start programs"
                    remedy = "name the sources on the command line, or copy the file"
                    raise UsageError(message, place=f"{file.path}: {SOURCES}", remedy=remedy)
            from mcpg.cli.source_settings import read_entries  # noqa: PLC0415 - pydantic

            fail = partial(file.error, at=(SOURCES,))
            return read_entries(file.sources, Path(file.path), fail)
        return None

    def views(self) -> dict[str, ViewTable]:
        """Return the views that a configuration file defines, by their names."""
        for file in self._files():
            if file.views is not None:
                from mcpg.cli.setting_models import check_views  # noqa: PLC0415 - pydantic

                return check_views(file.views, partial(file.error, at=(VIEWS,)))
        return {}

    def _files(self) -> Iterator[ConfigFile]:
        for name, above in _TABLES.items():
            if name not in self._read:
                paths = (folder / name for folder in self._folders())
                read = (read_config(str(path), above) for path in paths if is_file(path))
                self._read[name] = next(filter(None, read), None)
            if (file := self._read[name]) is not None:
                yield file

    def _folders(self) -> Sequence[Path]:
        folder = Path(self.folder).absolute()
        return (folder, *folder.parents)


def _parse_value(key: SettingKey, text: str) -> Any:
    if key.plain is str:
        return text
    if key.plain is int and text.isdecimal():
        return int(text)
    from mcpg.cli.setting_models import check_settings  # noqa: PLC0415 - pydantic

    section, _, last = key.name.rpartition(".")
    values: dict[str, Any] = {section: {last: text}} if section else {last: text}
    found = check_settings(
        values,
        lambda message, remedy, *_: UsageError(message, place=key.variable, remedy=remedy),
        are_texts=True,
    )
    return flatten_sections(found)[key.name]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file that was read.

    Attributes:
        above: The keys of the table with the settings, none for the whole file.
        values: Settings by name; paths begin with the file's folder.
        sources: Value of `sources`, not yet checked, so that a mistake in it only stops its users
            of it; `None` for none.
        views: Value of `views`, not yet checked either.
        renamed: Former names of settings in the file by the present ones.
    """

    path: str
    text: str
    above: tuple[str, ...]
    values: Mapping[str, Any]
    sources: Any = None
    views: Any = None
    renamed: Mapping[str, str] = field(default_factory=dict)

    def error(
        self, message: str, remedy: str, *path: str | int, at: Sequence[str] = ()
    ) -> UsageError:
        """Return the error of the value at *path* below *at* in the settings, with its line."""
        from mcpg.cli.setting_models import shown_path  # noqa: PLC0415 - pydantic

        # With the name as the file has it.
        former = self.renamed.get(".".join(map(str, path)), "")
        full = (*self.above, *at, *(former.split(".") if former else path))
        line = find_line(self.text, full)
        place = f"{self.path}{f':{line}' if line else ''}: {shown_path(full)}"
        return UsageError(message, place=place, remedy=remedy)


def read_config(path: str, above: tuple[str, ...]) -> ConfigFile | None:
    """Return the settings in the table *above* of a file, `None` if it has no such table."""
    try:
        text = read_bytes(path, _CONFIG_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        place = f"{path}: byte {fault.start}"
        raise InputError("is not UTF-8", place=place, remedy="save it as UTF-8") from fault
    if above and not may_be_key(above[-1], text):
        return None  # a project file of others may even be broken
    try:
        # An environment variable `3.10` is not `3.1`.
        table: Any = tomllib.loads(text, parse_float=read_float)
    except (ValueError, RecursionError) as fault:
        problem, remedy, at = toml_reason(fault, text)
        message = f"invalid TOML: {problem}"
        raise InputError(message, place=f"{path}:{at}", remedy=remedy) from fault
    for key in above:
        table = table.get(key) if isinstance(table, dict) else None
    if table is None:
        return None
    file = ConfigFile(path, text, above, {})
    if not isinstance(table, dict):
        name = ".".join(above)
        raise file.error(f"{name!r} is not a table", f"write [{name}]")
    sources, views = table.pop(SOURCES, None), table.pop(VIEWS, None)
    file = replace(file, renamed=replace_settings(table, path))
    values, folder = _check_values(table, file), Path(path).parent
    paths = {name: values[name] for name in _PATHS & values.keys() if values[name] != PUBLISHED}
    values |= {name: str(folder / path) for name, path in paths.items()}
    return replace(file, values=values, sources=sources, views=views)


def _check_values(table: dict[str, Any], file: ConfigFile) -> dict[str, Any]:
    values = flatten_sections(table)
    for name, held in values.items():
        texts = held if isinstance(held, list) else [held]
        if any(isinstance(text, str) and holds_password(text) for text in texts):
            remedy = (
                f"remove it from the file, and set the variable {POSTGRES_VARIABLE} to the "
                f"database, or {KEY_VARIABLE} to the key"
            )
            raise file.error(f"{name!r} contains a password", remedy, *name.split("."))
    if all(name in KEYS and KEYS[name].is_plain(held) for name, held in values.items()):
        return values
    from mcpg.cli.setting_models import check_settings  # noqa: PLC0415 - pydantic

    return flatten_sections(check_settings(table, file.error))


def set_value(text: str, keys: Sequence[str], value: str) -> str | None:
    """Return a TOML document with a *value* at *keys* and all else as it is, `None` if it fails."""
    wanted: Any = tomllib.loads(text)
    lines, statement, tries = text.split("\n"), f"{keys[-1]} = {value}", list[list[str]]()
    section = reduce(lambda table, key: table.setdefault(key, {}), keys[:-1], wanted)
    if keys[-1] in section and (held := find_line(text, keys)):
        ends = range(held, min(held + _LONGEST_STATEMENT, len(lines)) + 1)
        tries = [[*lines[: held - 1], statement, *lines[end:]] for end in ends]
    elif section and (place := find_line(text, keys[:-1])):
        tries = [[*lines[:place], statement, *lines[place:]]]
    section[keys[-1]] = tomllib.loads(statement)[keys[-1]]
    tries.append([*(lines if text else ()), f"[{'.'.join(keys[:-1])}]", statement, ""])
    for changed in map("\n".join, tries):
        with suppress(ValueError):
            if tomllib.loads(changed) == wanted:
                return changed
    return None


def find_line(text: str, path: Sequence[str | int]) -> int | None:
    """Return the line, from 1, of the statement of a TOML document that first names the key *path*.

    A number in it, from 0, is the place in a list, such as an array of tables.

    The parser itself finds it: of all beginnings of the document that end with a statement, it is
    the last statement of the shortest that has the key. `None` if statements are too long.
    """
    # The lines of TOML end with a line feed; other signs that end lines may be in comments.
    lines = text.split("\n")
    low, high, begin = 0, len(lines), 0
    table: Any
    while low < high:
        middle = (low + high) // 2
        for end in range(middle, min(middle + _LONGEST_STATEMENT, len(lines)) + 1):
            with suppress(ValueError):
                table = tomllib.loads("\n".join(lines[:end]) + "\n")
                break
        else:
            return None
        try:
            reduce(getitem, path, table)
            high = middle
        except (KeyError, IndexError, TypeError):
            low, begin = end + 1, end
    # Blank lines or comments may precede the statement.
    filled = (n for n in range(begin, len(lines)) if lines[n].strip()[:1] not in ("", "#"))
    return next(filled, begin) + 1
