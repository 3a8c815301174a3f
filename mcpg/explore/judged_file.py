"""The file that judged queries are collected in, as `mcpg eval` reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.catalog.json_text import parse_json_documents
from mcpg.errors import InputError, UsageError
from mcpg.evaluation.judged import Judgements, parse_judged
from mcpg.explore.yaml_edit import YamlText
from mcpg.files import MAX_BYTES, atomic_write, exists, locked_folder, read_bytes
from mcpg.sources.model import decode

if TYPE_CHECKING:
    from mcpg.json_types import JsonObject, JsonValue

DEFAULT_JUDGED = "queries.jsonl"
"""The file of a project for which none is named."""

_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Verdict:
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
        return parse_judged(data, str(self.path)) if data.strip() else None

    def record(self, verdict: Verdict) -> bool:
        """Write *verdict*, or take it back; return whether the file has changed.

        Raises:
            McpgError: The file cannot be read, edited or written.
        """
        with locked_folder(self.path.parent):
            before = self._content()
            text = decode(before, str(self.path)) if before else ""
            edit = _in_yaml if self.path.suffix.casefold() in _YAML else _in_lines
            after = edit(text, str(self.path), verdict)
            if after == text:
                return False
            atomic_write(self.path, after.encode("utf-8"), special=False)
            return True

    def _content(self) -> bytes:
        return read_bytes(self.path, MAX_BYTES) if exists(self.path) else b""


def _in_lines(text: str, place: str, verdict: Verdict) -> str:
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        entry = _entry_of(line, place)
        if entry is None or not _is_about(entry, verdict.query):
            continue
        known = _names(entry["relevant"])
        changed = _judged(known, verdict)
        if changed == known:
            return text
        end = line[len(line.rstrip("\r\n")) :]
        lines[number] = "" if changed is None else _line(entry | {"relevant": [*changed]}) + end
        return "".join(lines)
    if not verdict.holds:
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    entry = {"query": verdict.query, "relevant": [verdict.tool_id] if verdict.tool_id else []}
    return f"{text}{gap}{_line(entry)}\n"


def _entry_of(line: str, place: str) -> JsonObject | None:
    """Return the judged query that *line* is, `None` where it is none."""
    try:
        values = parse_json_documents(line, place) if line.strip() else []
    except InputError:
        return None
    return values[0] if len(values) == 1 and isinstance(values[0], dict) else None


def _line(entry: JsonObject) -> str:
    return json.dumps(entry, ensure_ascii=False)


def _in_yaml(text: str, place: str, verdict: Verdict) -> str:
    document = YamlText(text, place)
    if isinstance(document.value, dict) and not {"query", "relevant"} <= document.value.keys():
        return _in_mapping(document, verdict).text
    if isinstance(document.value, list) or document.value is None:
        return _in_list(document, verdict).text
    raise InputError(
        "holds neither a list of judged queries nor a mapping from queries to tools",
        place=place,
        remedy="see docs/reference/judged-queries.md",
    )


def _in_mapping(document: YamlText, verdict: Verdict) -> YamlText:
    value: Any = document.value
    query = next((key for key in value if key.strip() == verdict.query), None)
    if query is None:
        right = [verdict.tool_id] if verdict.tool_id else []
        return document.with_member((), verdict.query, [*right]) if verdict.holds else document
    return _edited(document, (query,), (query,), verdict)


def _in_list(document: YamlText, verdict: Verdict) -> YamlText:
    entries: Any = document.value or []
    for number, entry in enumerate(entries):
        if isinstance(entry, dict) and _is_about(entry, verdict.query):
            return _edited(document, (number,), (number, "relevant"), verdict)
    if not verdict.holds:
        return document
    right: list[JsonValue] = [verdict.tool_id] if verdict.tool_id else []
    if document.value is None:
        return document.with_member((), verdict.query, right)
    return document.with_items((), [{"query": verdict.query, "relevant": right}])


def _edited(
    document: YamlText, entry: tuple[str | int, ...], path: tuple[str | int, ...], verdict: Verdict
) -> YamlText:
    found: Any = document.value
    for step in path:
        found = found[step]
    known = _names(found)
    changed = _judged(known, verdict)
    if changed == known:
        return document
    if changed is None:
        return document.without(entry)
    if changed[: len(known)] == known and known:
        return document.with_items(path, changed[len(known) :])
    return document.with_value(path, [*changed])


def _judged(known: list[JsonValue], verdict: Verdict) -> list[JsonValue] | None:
    """Return the tools that answer a query by *verdict*, `None` where nothing is said any more."""
    if verdict.tool_id is None:
        return [] if verdict.holds else known or None
    names = verdict.names | {verdict.tool_id}
    others = [name for name in known if str(name).strip() not in names]
    if verdict.holds:
        return known if len(others) < len(known) else [*known, verdict.tool_id]
    return known if len(others) == len(known) else others or None


def _names(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _is_about(entry: JsonObject, query: str) -> bool:
    """Return whether *entry* judges *query*, with no tools in use."""
    asked = entry.get("query")
    is_same = isinstance(asked, str) and asked.strip() == query
    return is_same and "relevant" in entry and not entry.get("contextTools")
