"""Settings: from flags, the environment and configuration files, each with where it was said."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.configfile import CONFIG_FILE, PROJECT_FILE, read_config, read_project
from mcpg.cli.sanitise import either
from mcpg.cli.settingkeys import KEYS, SOURCES, read_value
from mcpg.errors import NotFoundError, UsageError
from mcpg.files import exists, is_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcpg.cli.configsources import ConfiguredSource
    from mcpg.cli.settingkeys import Key

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
