"""The file that judged queries are collected in, as `mcpg eval` reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents
from mcpg.errors import InputError, UsageError
from mcpg.evaluation.judged import Judgements, parse_judged
from mcpg.explore.yaml_edit import YamlText
from mcpg.files import MAX_BYTES, atomic_write, exists, locked_folder, read_bytes
from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources.model import decode
from mcpg.text.safeyaml import YamlPath, load_yaml

_Tools: TypeAlias = list[JsonValue] | None
"""The tools that answer a query; `None` where nothing is said of it."""

_Change: TypeAlias = Callable[[_Tools], _Tools]

DEFAULT_JUDGED = "queries.jsonl"
"""The file of a project for which none is named."""

_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class QueryVerdict:
    """What a person says of a query.

    Attributes:
        query: The query.
        tool_id: The tool that answers it; `None` says that no tool does.
        names: All names of that tool under which the file may have it.
        holds: Whether it is so; otherwise the verdict is taken back.
    """

    query: str
    tool_id: str | None
    names: frozenset[str] = frozenset()
    holds: bool = True


class JudgedFile:
    """A file of judged queries, JSON lines or YAML, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        """Name the file.

        Raises:
            UsageError: Its name does not end as that of such a file.
        """
        if path.suffix.casefold() not in (*_YAML, *_LINES):
            raise UsageError(
                "judged queries cannot be written to a file with this name",
                place=str(path),
                remedy="give it a name that ends with .jsonl or .yaml",
            )
        self.path = path

    def read(self) -> Judgements | None:
        """Return the judged queries, `None` where there are none yet.

        Raises:
            InputError: The file cannot be read.
        """
        data = self._content()
        place = str(self.path)
        if not data.strip() or (self._is_yaml and not load_yaml(decode(data, place), place)):
            return None
        return parse_judged(data, place)

    def record(self, verdict: QueryVerdict) -> bool:
        """Write *verdict*, or take it back; return whether the file has changed.

        Raises:
            McpgError: The file cannot be read, edited or written.
        """
        return self._change(verdict.query, lambda tools: _apply_verdict(tools, verdict))

    def forget(self, query: str) -> bool:
        """Take *query* out with all that is said of it; return whether the file has changed.

        Raises:
            McpgError: See `record`.
        """
        return self._change(query, lambda _: None)

    def _change(self, query: str, change: _Change) -> bool:
        with locked_folder(self.path.parent):
            before = self._content()
            text = decode(before, str(self.path)) if before else ""
            edit = _in_yaml if self._is_yaml else _in_lines
            after = edit(text, str(self.path), query, change)
            if after == text:
                return False
            atomic_write(self.path, after.encode("utf-8"), special=False)
            return True

    @property
    def _is_yaml(self) -> bool:
        return self.path.suffix.casefold() in _YAML

    def _content(self) -> bytes:
        return read_bytes(self.path, MAX_BYTES) if exists(self.path) else b""


def _in_lines(text: str, place: str, query: str, change: _Change) -> str:
    lines = text.split("\n")
    entries = {number: _parse_entry(line, place) for number, line in enumerate(lines)}
    about = {number: entry for number, entry in entries.items() if _is_about(entry, query)}
    for number, entry in reversed(about.items()):
        known = _names(entry["relevant"])
        changed = change(known)
        if changed is None:
            del lines[number]
        elif changed != known:
            end = "\r" if lines[number].endswith("\r") else ""
            lines[number] = _line(entry | {"relevant": changed}, lines[number]) + end
    tools = None if about else change(None)
    if tools is None:
        return "\n".join(lines)
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{_line({'query': query, 'relevant': tools})}\n"


def _parse_entry(line: str, place: str) -> JsonValue:
    """Return the value of *line*, `None` where it holds none or several."""
    try:
        values = parse_json_documents(line, place) if line.strip() else []
    except InputError:
        return None
    return values[0] if len(values) == 1 else None


def _line(entry: JsonObject, before: str = "") -> str:
    """Write *entry*, with the halves of characters that *before* has as escapes."""
    return json.dumps(entry, ensure_ascii=has_surrogate_escapes(before))


def _in_yaml(text: str, place: str, query: str, change: _Change) -> str:
    document = YamlText(text, place)
    value: Any = document.value
    if isinstance(value, dict) and not {"query", "relevant"} <= value.keys():
        paths: list[tuple[YamlPath, YamlPath]] = [
            ((key,), (key,)) for key in value if key.strip() == query
        ]
    elif isinstance(value, list) or value is None:
        paths = [
            ((number,), (number, "relevant"))
            for number, entry in enumerate(value or ())
            if _is_about(entry, query)
        ]
    else:
        raise InputError(
            "holds neither a list of judged queries nor a mapping from queries to tools",
            place=place,
            remedy="see docs/reference/judged-queries.md",
        )
    for entry, tools in reversed(paths):
        document = _edit_entry(document, entry, tools, change)
    added = None if paths else change(None)
    if added is None:
        return document.text
    if isinstance(value, list):
        return document.with_items((), [{"query": query, "relevant": added}]).text
    return document.with_member((), query, added).text


def _edit_entry(document: YamlText, entry: YamlPath, path: YamlPath, change: _Change) -> YamlText:
    """Change the tools at *path*, or take out the *entry* that holds them."""
    found: Any = document.value
    for step in path:
        found = found[step]
    known = _names(found)
    changed = change(known)
    if changed is None:
        return document.without(entry)
    if changed == known:
        return document
    if known and changed[: len(known)] == known:
        return document.with_items(path, changed[len(known) :])
    return document.with_value(path, changed)


def _apply_verdict(known: _Tools, verdict: QueryVerdict) -> _Tools:
    """Return the tools that answer a query by *verdict* where *known* did."""
    if verdict.tool_id is None:
        return [] if verdict.holds else known or None
    names = verdict.names | {verdict.tool_id}
    others = [name for name in known or () if str(name).strip() not in names]
    is_known = known is not None and len(others) < len(known)
    if verdict.holds:
        return known if is_known else [*others, verdict.tool_id]
    return others or None if is_known else known


def _names(value: JsonValue) -> _Tools:
    return value if isinstance(value, list) or value is None else [value]


def _is_about(entry: JsonValue, query: str) -> TypeGuard[JsonObject]:
    """Return whether *entry* judges *query*, with no tools in use."""
    if not isinstance(entry, dict) or "relevant" not in entry or entry.get("contextTools"):
        return False
    asked = entry.get("query")
    return isinstance(asked, str) and asked.strip() == query
