"""The source files of a folder: what `.gitignore` leaves, and what is worth parsing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcpg.errors import InputError
from mcpg.files import is_file, is_link, read_bytes
from mcpg.sources.code.grammars import language_of_name
from mcpg.sources.code.ignore import IgnoreRule, read_rules

MOST_BYTES = 1024 * 1024
"""Longest source file that is parsed."""

_IGNORE = ".gitignore"
_MOST_IGNORE_BYTES = 64 * 1024
_LONG_LINES = 400
_HEAD = 2048
# The marks of Go, C#, Meta and Google; see https://go.dev/s/generatedcode.
_GENERATED = re.compile(
    rb"Code generated .* DO NOT EDIT|@generated\b|<auto-?generated", re.IGNORECASE
)
_BINARY = b"\0"
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
# Installed packages and build output, where no `.gitignore` names them.
_FOREIGN = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A source file of a folder.

    Attributes:
        location: Where to open it.
        path: Its path relative to the root of the repository, with `/`.
        language: Its language.
    """

    location: Path
    path: str
    language: str


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The rules of one `.gitignore`, and those above it.

    Attributes:
        folder: The folder that it stands in.
        rules: The rules, the last one first.
        above: Those of the folders above, `None` for none.
    """

    folder: Path
    rules: tuple[IgnoreRule, ...]
    above: _Ignored | None

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether *path* is ignored; the last matching rule of the nearest file decides."""
        name = path.relative_to(self.folder).as_posix()
        for rule in self.rules:
            if (is_folder or not rule.is_for_folders) and rule.path.fullmatch(name):
                return rule.ignores
        return self.above is not None and self.above.has(path, is_folder=is_folder)


def source_files(folder: Path, root: Path) -> Iterator[FoundFile]:
    """Find the source files in *folder*, sorted by path.

    Hidden entries, links, and what `.gitignore` files name are passed over. Links are not
    followed, so that circles end and no file outside the folder is read.

    Args:
        folder: Where to search.
        root: The root of its repository, whose `.gitignore` files hold as well.
    """
    above: _Ignored | None = None
    between = folder.relative_to(root).parts
    for depth in range(len(between)):
        above = _with_rules(root.joinpath(*between[:depth]), above)
    stack = [(folder, above)]
    while stack:
        here, outer = stack.pop()
        rules = _with_rules(here, outer)
        entries = _entries(here)
        for entry in entries:
            language = language_of_name(entry.name)
            path = Path(entry.path)
            if language and _is_plain(entry) and not (rules and rules.has(path, is_folder=False)):
                yield FoundFile(path, path.relative_to(root).as_posix(), language)
        stack += [
            (path, rules)
            for path in (Path(one.path) for one in reversed(entries) if _is_folder(one))
            if not (rules and rules.has(path, is_folder=True))
        ]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted((one for one in entries if _is_text(one.name)), key=lambda one: one.name)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.name not in _FOREIGN
    except OSError:
        return False


def _with_rules(folder: Path, above: _Ignored | None) -> _Ignored | None:
    place = folder / _IGNORE
    if is_link(place) or not is_file(place):
        return above
    try:
        text = read_bytes(place, _MOST_IGNORE_BYTES).decode("utf-8-sig", "replace")
    except InputError:
        return above
    return _Ignored(folder, tuple(read_rules(text))[::-1], above)


class SkippedError(Exception):
    """A source file is not parsed; the message is the reason."""


def read_source(location: Path) -> bytes:
    """Read a source file as UTF-8 with LF line ends.

    Raises:
        SkippedError: It cannot be read, or parsing it is of no use.
    """
    try:
        data = read_bytes(location, MOST_BYTES)
    except InputError as fault:
        too_big = "holds more than" in fault.message
        reason = f"larger than {MOST_BYTES:,} bytes" if too_big else fault.message
        raise SkippedError(reason) from fault
    text = _utf8(data)
    lines = text.count(b"\n") + 1
    if len(text) > _LONG_LINES * lines and len(text) > _HEAD:
        raise SkippedError("minified")
    if _GENERATED.search(text, 0, _HEAD):
        raise SkippedError("generated")
    return text


def _utf8(data: bytes) -> bytes:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if _BINARY in data:
            raise SkippedError("binary") from None
        # Every byte is a character of Latin-1, so names in ASCII stay readable.
        text = data.decode("latin-1")
    if "\0" in text:
        raise SkippedError("binary")
    return text.replace("\r\n", "\n").replace("\r", "\n").encode()
