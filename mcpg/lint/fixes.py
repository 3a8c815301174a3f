"""Safe fixes: edits of files that change nothing but what is meant.

Invisible characters are removed from any file, since nothing is lost by that. A rare spelling of a
label is written like the frequent one, where the file then reads as before but for that label.
Bundles are never edited: they are built again.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from mcpg.catalog.hints import HINT_FIELDS
from mcpg.errors import McpgError, OutputError
from mcpg.files import MAX_BYTES, atomic_write, read_bytes
from mcpg.json_types import JsonValue
from mcpg.lint.hidden import find_removable
from mcpg.lint.locate import Locator, split_place, parse_values
from mcpg.lint.model import Finding, Respelling, Location
from mcpg.text.diffs import unified_diff

# What stands in JSON and in YAML, quoted or not, as it is.
_PLAIN_LABEL = re.compile(
    r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[^\W\d_](?:[\w -]*\w)?", re.IGNORECASE
)
_BUNDLED = re.compile(r"documents\[\d+\]")


@dataclass(frozen=True, slots=True)
class FileFix:
    """The fixed text of a file.

    Attributes:
        path: The file.
        before: Its text as it is.
        after: Its text after the fix.
        count: How many places are fixed.
    """

    path: str
    before: str
    after: str
    count: int

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"{self.path} (now)",
            f"{self.path} (fixed)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def write(self) -> None:
        """Write the file, if it is still what it was.

        Raises:
            OutputError: It has changed, or cannot be written.
        """
        data = read_bytes(self.path, MAX_BYTES)
        mark = _detect_byte_order_mark(data)
        if data != mark + self.before.encode("utf-8"):
            raise OutputError(
                "the file has changed since it was read, or is not UTF-8",
                place=self.path,
                remedy="run the command again",
            )
        atomic_write(Path(self.path), mark + self.after.encode("utf-8"), special=False)


def _detect_byte_order_mark(data: bytes) -> bytes:
    return codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""


def _is_utf8(path: str) -> bool:
    try:
        read_bytes(path, MAX_BYTES).decode("utf-8")
    except (McpgError, UnicodeDecodeError):
        return False
    return True


def fixes(findings: Iterable[Finding], locator: Locator) -> list[FileFix]:
    """Return the fixed files of those *findings* that can be fixed."""
    edits: defaultdict[str, dict[tuple[int, int], str]] = defaultdict(dict)
    for one in findings:
        if one.is_fixable:
            made = (
                _edits(one, locator),
                *(_list_respellings(part, locator) for part in one.respellings),
            )
            for path, span, text in chain.from_iterable(made):
                edits[path][span] = text
    return [
        fix for path, spans in sorted(edits.items()) if (fix := _fix_file(path, spans, locator))
    ]


def _edits(one: Finding, locator: Locator) -> Iterable[tuple[str, tuple[int, int], str]]:
    """Yield the file, the range and the new text of each edit that fixes a finding."""
    if one.respellings or _is_bundled(one.spot):
        return
    for start, end in find_removable(one.spot.text):
        spot = replace(one.spot, start=start, size=end - start)
        found = locator.find_range(spot)
        if found is None:
            continue
        path, *span = found
        text = locator.text(path)
        wanted = one.spot.text[start:end]
        raw = text.text[span[0] : span[1]] if text else ""
        if raw == wanted or (raw.startswith("\\") and _unescape(raw) == wanted):
            yield path, (span[0], span[1]), ""


def _is_bundled(spot: Location) -> bool:
    return _BUNDLED.fullmatch(split_place(spot.place)[1]) is not None


def _list_respellings(
    part: Respelling, locator: Locator
) -> Iterable[tuple[str, tuple[int, int], str]]:
    """Yield the edit that writes a label as it is meant, if nothing else in the file changes."""
    if _is_bundled(part.spot) or not _PLAIN_LABEL.fullmatch(part.text):
        return
    found = locator.find_range(part.spot)
    text = locator.text(found[0]) if found else None
    if found is None or text is None:
        return
    path, start, end = found
    after = f"{text.text[:start]}{part.text}{text.text[end:]}"
    if text.text[start:end] == part.spot.text and _is_exact(text.text, after, part):
        yield path, (start, end), part.text


def _is_exact(before: str, after: str, part: Respelling) -> bool:
    """Return whether two texts of a file hold the same values, but for one label."""
    try:
        changes = [*_changes(parse_values(before), parse_values(after))]
    except McpgError:
        return False
    keys = HINT_FIELDS[part.field].keys
    return len(changes) == 1 and all(
        (one, other) == (part.spot.text, part.text) and not set(keys).isdisjoint(way)
        for way, one, other in changes
    )


def _changes(before: JsonValue, after: JsonValue) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield the ways to values that differ, and both of each."""
    waiting: list[tuple[tuple[str, ...], Any, Any]] = [((), before, after)]
    while waiting:
        way, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict) and [*one] == [*other]:
            waiting += [((*way, key), one[key], other[key]) for key in one]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            waiting += [(way, *pair) for pair in zip(one, other, strict=True)]
        elif type(one) is not type(other) or one != other:
            yield way, one, other


def _unescape(raw: str) -> str:
    try:
        return (
            raw.encode("ascii")
            .decode("unicode-escape")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    except UnicodeError:
        return ""


def _fix_file(path: str, spans: Mapping[tuple[int, int], str], locator: Locator) -> FileFix | None:
    text = locator.text(path)
    if text is None or not _is_utf8(path):
        return None
    parts: list[str] = []
    end = 0
    for (start, stop), new in sorted(spans.items()):
        if start >= end:
            parts += (text.text[end:start], new)
            end = stop
    return FileFix(path, text.text, "".join((*parts, text.text[end:])), len(spans))
