"""Where findings are: from the members of tools to lines and columns of files.

Files are read again, because their readers keep only values. In JSON a member is found by decoding
the text before it, which the decoder in C does at the speed of reading; in YAML and Markdown a
line is known from the parser's events, and the column by the text of the line.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from mcpg.catalog.hints import HINT_FIELDS
from mcpg.catalog.manifest import INPUT_KEYS
from mcpg.errors import McpgError, OutputError, SourceError
from mcpg.files import MAX_BYTES, atomic_write, is_file, read_bytes
from mcpg.lint.deception import find_removable
from mcpg.lint.model import Finding, Location, Place, Respelling
from mcpg.sources.model import decode
from mcpg.text.diffs import unified_diff
from mcpg.text.json_values import JsonValue
from mcpg.text.safeyaml import load_yaml, load_yaml_with_lines

Step = str | int
Span = tuple[int, int]

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "inputSchema": INPUT_KEYS,
    "outputSchema": ("outputSchema", "output_schema", "response", "responseJsonSchema"),
    "title": ("title", "displayName", "display_name"),
    "description": ("description", "summary"),
    "name": ("name", "toolName", "tool_name", "operationId"),
    **{name: field.keys for name, field in HINT_FIELDS.items()},
}
_HOLDERS: tuple[tuple[Step, ...], ...] = ((), ("function",), ("hints",), ("annotations",))
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)|\.")
_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_NEEDLE = 60
_WIDTHS = (60, 16, 5)  # a line of a file may end, or be escaped, near a part of a text
_LONGEST_SNIPPET = 1_000


class Locator:
    """Finds places; each file is read once, the last few are kept."""

    def __init__(self) -> None:
        self._open = lru_cache(maxsize=64)(_open_text)

    def place(self, spot: Location) -> Place | None:
        """Return the place of *spot*, `None` if it is not in a file."""
        path, inner = split_place(spot.place)
        if not path:
            return None
        text = self._open(path)
        span = text.span(inner, spot) if text else None
        return text.place(span) if text and span else Place(path)

    def lines(self, place: Place | None) -> Sequence[str]:
        """Return the lines of *place*, none if they are unknown."""
        text = self._open(place.file) if place and place.line else None
        if place is None or place.line is None or text is None:
            return ()
        last = place.end_line or place.line
        return [text.line(number) for number in range(place.line, last + 1)]

    def snippet(self, place: Place | None) -> str:
        """Return the lines that *place* is on; of long ones, such as a file of one line, "".

        As many findings as there are tools would otherwise quote all tools each.
        """
        text = self._open(place.file) if place and place.line else None
        if place is None or place.line is None or text is None:
            return ""
        size = text.start(place.end_line or place.line, after=True) - text.start(place.line)
        return "" if size > _LONGEST_SNIPPET else "\n".join(self.lines(place))

    def find_range(self, spot: Location) -> tuple[FileText, int, int] | None:
        """Return the file of *spot*, and the range of the text in it."""
        path, inner = split_place(spot.place)
        text = self._open(path) if path else None
        span = text.span(inner, spot) if text else None
        return (text, *span) if text and span else None


@lru_cache(maxsize=4096)
def split_place(place: str) -> tuple[str, str]:
    """Return the file that *place* names, "" for none, and the place in it."""
    if not place:
        return "", ""
    if is_file(place):
        return place, ""
    for found in re.finditer(r": |:(?=\d+(?::\d+)?\Z)", place):
        if is_file(place[: found.start()]):
            return place[: found.start()], place[found.end() :]
    return "", ""


def _open_text(path: str) -> FileText | None:
    try:
        return FileText(path, decode(read_bytes(path, MAX_BYTES), path))
    except McpgError:  # it has changed since it was read
        return None


class FileText:
    """The text of a file, with its lines and the places of its values.

    Attributes:
        text: All of it, without a byte order mark.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._json = JsonSpans(text) if text.lstrip()[:1] in ("{", "[") else None

    def line(self, number: int) -> str:
        """Return a line, counted from 1, without its end; "" for a missing line."""
        if not 0 < number <= len(self._starts):
            return ""
        return self.text[self.start(number) : self.start(number, after=True)].rstrip("\r\n")

    def start(self, line: int, *, after: bool = False) -> int:
        """Return where a *line* begins, or the next line if *after*."""
        if after and line >= len(self._starts):
            return len(self.text)
        return self._starts[min(max(line, 1), len(self._starts)) - (not after)]

    def place(self, span: Span) -> Place:
        """Return the place of a range of characters."""
        start, end = span
        line, last = bisect_right(self._starts, start), bisect_right(self._starts, max(start, end))
        return Place(
            self.path,
            line,
            start - self._starts[line - 1] + 1,
            last,
            max(start, end) - self._starts[last - 1] + 1,
        )

    def span(self, inner: str, spot: Location) -> Span | None:
        """Return the range of *spot*, which is at *inner* in the file."""
        if inner.isdigit():
            return self._find_text(self.start(self._find_line_in_entry(int(inner), spot)), spot)
        if self._json is not None:
            entry = parse_steps(inner)
            whole = self._json.value(entry)
            if not whole:
                return None
            ways = map(self._json.value, ((*entry, *way) for way in _iter_ways(spot.member)))
            if found := next(filter(None, ways), None):
                return self._narrow(found, spot)
            names = map(self._json.value, ((*entry, *way) for way in _iter_ways(("name",))))
            return next(filter(None, names), whole)
        if _FRONT_MATTER.match(self.text) is None and inner:
            line = self._yaml_lines.get(parse_steps(inner))
            return self._find_text(self.start(line or 1), spot)
        return self._find_in_document(spot)

    def _find_line_in_entry(self, line: int, spot: Location) -> int:
        lines = self._yaml_lines if spot.member else {}
        entries = [way for way, at in lines.items() if at == line]
        for way in _iter_ways(spot.member):
            for entry in entries:
                found = lines.get((*entry, *way)) or lines.get((*entry, *way[:-1]))
                if found is not None:
                    return found
        return line

    def _narrow(self, span: Span, spot: Location) -> Span:
        """Return the part of the string at *span* that *spot* covers, or the whole value."""
        start, end = span
        if self.text[start] != '"':
            return (start, start + 1) if self.text[start] in "{[" else span
        if not spot.size:
            return span
        places = [start + 1]
        for sign in _ESCAPE.finditer(self.text, start + 1, end - 1):
            places.append(sign.end())
            if len(places) > spot.start + spot.size:
                break
        last = len(places) - 1
        return places[min(spot.start, last)], places[min(spot.start + spot.size, last)]

    def _find_in_document(self, spot: Location) -> Span:
        """Return the range in a Markdown document: by the key of its front matter, or by text."""
        first, *inner = spot.member or ("",)
        heading = {"inputSchema": "Input Schema", "outputSchema": "Output Schema"}.get(str(first))
        fence = rf"^##[ \t]+{heading}\s+(?:```|~~~)\w*\s*"
        block = re.search(fence, self.text, re.MULTILINE) if heading else None
        if block:
            span = JsonSpans(self.text, block.end()).value(inner)
            if span:
                return self._narrow(span, spot)
        for way in _iter_ways(spot.member):
            line = self._yaml_lines.get(way)
            if line is not None:
                return self._find_text(self.start(line), spot)
        return self._find_text(0, spot)

    @cached_property
    def _yaml_lines(self) -> Mapping[tuple[Step, ...], int]:
        matter = _FRONT_MATTER.match(self.text.replace("\r\n", "\n"))
        text, first = (matter[1], 2) if matter else (self.text, 1)
        try:
            return load_yaml_with_lines(text, self.path, first_line=first)[1]
        except McpgError:  # a document without front matter
            return {}

    def _find_text(self, start: int, spot: Location) -> Span:
        whole = spot.text[spot.start : spot.start + spot.size] if spot.size else spot.text
        at = self._find_in_context(start, spot) if spot.size else None
        if at is not None:
            return at, at + spot.size
        needle = whole.split("\n", 1)[0][:_LONGEST_NEEDLE].strip()
        if any(map(str.isalnum, needle)):  # other signs may be anywhere
            alone = re.compile(rf"(?<![\w-]){re.escape(needle)}(?![\w-])")
            match = alone.search(self.text, start) or alone.search(self.text)
            at = match.start() if match else self.text.find(needle, start)
            if at >= 0:
                is_whole = self.text.startswith(whole, at)
                return at, at + len(whole if is_whole else needle)
        line = self.line(bisect_right(self._starts, start))
        indent = len(line) - len(line.lstrip())
        return start + indent, start + max(len(line), indent)

    def _find_in_context(self, start: int, spot: Location) -> int | None:
        """Return the place of the part of *spot* from *start* on, known by the text around it."""
        text, end = spot.text, spot.start + spot.size
        for width in _WIDTHS:
            before = text[max(0, spot.start - width) : spot.start].rsplit("\n", 1)[-1].lstrip()
            after = text[end : end + width].split("\n", 1)[0].rstrip()
            if any(map(str.isalnum, before + after)):
                at = self.text.find(f"{before}{text[spot.start : end]}{after}", start)
                if at >= 0:
                    return at + len(before)
        return None


def _iter_ways(member: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Yield the ways that may lead to a *member* of a tool in the entry of a manifest."""
    if not member:
        return
    first, *rest = member
    for holder in _HOLDERS:
        for spelling in _SPELLINGS.get(str(first), (first,)):
            yield (*holder, spelling, *rest)


@lru_cache(maxsize=4096)
def parse_steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path as readers of sources write it, such as `tools[3].name`."""
    found: list[Step] = []
    for step in _STEP.finditer(path):
        if step[1] is not None:
            found.append(int(step[1]))
        elif step[2] is not None:
            found.append(step[2])
    return tuple(found)


class JsonSpans:
    """Finds values in a text of JSON documents; keeps the members of values that it passes."""

    def __init__(self, text: str, start: int = 0) -> None:
        self._text = text
        self._start = start
        self._members: dict[int, dict[Step, Span]] = {}

    def value(self, steps: Sequence[Step]) -> Span | None:
        """Return the range of the value at the end of *steps*, `None` for none."""
        rest = list(steps)
        if len(self._documents) > 1:
            first = rest.pop(0) if rest else None
            if not isinstance(first, int) or first >= len(self._documents):
                return None
            span = self._documents[first]
        elif self._documents:
            span = self._documents[0]
        else:
            return None
        while rest:
            if span[0] not in self._members:
                self._members[span[0]] = self._read_members(span[0])
            members = self._members[span[0]]
            # A name with dots in it, such as a path of OpenAPI, was cut at these.
            keys = [rest[0], *(".".join(map(str, rest[:n])) for n in range(2, len(rest) + 1))]
            size = next((n for n, key in enumerate(keys, 1) if key in members), 0)
            if not size:
                return None
            span = members[keys[size - 1]]
            del rest[:size]
        return span

    @cached_property
    def _documents(self) -> list[Span]:
        found: list[Span] = []
        at = self._skip_blank(self._start)
        while at < len(self._text) and (end := self._find_end(at)) is not None:
            found.append((at, end))
            at = self._skip_blank(end)
            if self._start:  # a block within another text
                break
        return found

    def _skip_blank(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def _find_end(self, at: int) -> int | None:
        try:
            return _DECODER.raw_decode(self._text, at)[1]
        except (ValueError, RecursionError):
            return None

    def _read_members(self, start: int) -> dict[Step, Span]:
        opening = self._text[start]
        found: dict[Step, Span] = {}
        if opening not in "{[":
            return found
        at = self._skip_blank(start + 1)
        while at < len(self._text) and self._text[at] not in "}]":
            key: Step = len(found)
            if opening == "{":
                name, at = _DECODER.raw_decode(self._text, at)
                key = str(name)
                at = self._skip_blank(self._skip_blank(at) + 1)
            end = self._find_end(at)
            if end is None:
                break
            found[key] = (at, end)
            at = self._skip_blank(end)
            if self._text[at : at + 1] == ",":
                at = self._skip_blank(at + 1)
        return found


# Text that is the same in JSON and in YAML, quoted or not.
_PLAIN_LABEL = re.compile(
    r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[^\W\d_](?:[\w -]*\w)?", re.IGNORECASE
)
_BUNDLED = re.compile(r"documents\[\d+\]")


@dataclass(frozen=True, slots=True)
class FileFix:
    """The fixed text of a file."""

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
        """Write the file, if it has not changed."""
        data = read_bytes(self.path, MAX_BYTES)
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        if data != mark + self.before.encode("utf-8"):
            raise OutputError(
                "the file has changed since it was read, or is not UTF-8",
                place=self.path,
                remedy="run the command again",
            )
        atomic_write(Path(self.path), mark + self.after.encode("utf-8"), special=False)


_Edit = tuple[FileText, Span, str]
"""The file, the range and the new text of a fix."""


def fixes(findings: Iterable[Finding], locator: Locator) -> list[FileFix]:
    """Return the fixed files of those *findings* that can be fixed."""
    files: dict[str, FileText] = {}
    edits: defaultdict[str, dict[Span, str]] = defaultdict(dict)
    for one in findings:
        if one.is_fixable:
            respelt = (_list_respellings(part, locator) for part in one.respellings)
            removed = () if one.respellings else _list_removals(one.spot, locator)
            for file, span, text in chain(removed, *respelt):
                files[file.path] = file
                edits[file.path][span] = text
    found: list[FileFix] = []
    for path, spans in sorted(edits.items()):
        try:
            read_bytes(path, MAX_BYTES).decode("utf-8")
        except (McpgError, UnicodeDecodeError):
            continue
        before = files[path].text
        parts: list[str] = []
        end = 0
        for (start, stop), new in sorted(spans.items()):
            if start >= end:
                parts += (before[end:start], new)
                end = stop
        found.append(FileFix(path, before, "".join((*parts, before[end:])), len(spans)))
    return found


def _list_removals(spot: Location, locator: Locator) -> Iterator[_Edit]:
    if _BUNDLED.fullmatch(split_place(spot.place)[1]):
        return
    for start, end in find_removable(spot.text):
        found = locator.find_range(replace(spot, start=start, size=end - start))
        if found is None:
            continue
        file, *span = found
        wanted, raw = spot.text[start:end], file.text[span[0] : span[1]]
        if raw == wanted or (raw.startswith("\\") and _unescape(raw) == wanted):
            yield file, (span[0], span[1]), ""


def _unescape(raw: str) -> str:
    try:
        escaped = raw.encode("ascii").decode("unicode-escape")
        return escaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeError:
        return ""


def _list_respellings(part: Respelling, locator: Locator) -> Iterator[_Edit]:
    """Yield the edit that corrects a label, if nothing else in the file changes."""
    if _BUNDLED.fullmatch(split_place(part.spot.place)[1]) or not _PLAIN_LABEL.fullmatch(part.text):
        return
    found = locator.find_range(part.spot)
    if found is None:
        return
    file, start, end = found
    if file.text[start:end] != part.spot.text:
        return
    after = f"{file.text[:start]}{part.text}{file.text[end:]}"
    try:
        changes = [*_find_changes(_parse_values(file.text), _parse_values(after))]
    except McpgError:
        return
    keys = HINT_FIELDS[part.field].keys
    wanted = (part.spot.text, part.text)
    if len(changes) == 1 and changes[0][1:] == wanted and not set(keys).isdisjoint(changes[0][0]):
        yield file, (start, end), part.text


def _parse_values(text: str) -> JsonValue:
    if text.lstrip()[:1] in ("{", "["):
        try:
            found: JsonValue = json.loads(text, strict=False)
        except (ValueError, RecursionError) as fault:
            raise SourceError(f"is not JSON: {fault}") from fault
        return found
    matter = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    return load_yaml(matter[1] if matter else text, "")


def _find_changes(
    before: JsonValue, after: JsonValue
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
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
