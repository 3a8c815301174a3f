"""Configuration files: read strictly, every mistake with its line."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mcpg.cli.settingkeys import KEYS, PATHS, SECTIONS, SOURCES, check_value, unknown_key
from mcpg.errors import InputError, UsageError
from mcpg.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcpg.cli.configsources import ConfiguredSource

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
    from mcpg.cli.configsources import read_entries  # noqa: PLC0415 - a search needs no sources
    from mcpg.cli.sourcekeys import EntryError  # noqa: PLC0415

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
