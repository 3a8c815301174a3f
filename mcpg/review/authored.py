"""Files of authors, edited in place: hints, and judged queries as `mcpg eval` reads them."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import yaml

from mcpg.catalog.hints import HINT_FIELDS, read_hint_rules, read_texts
from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents
from mcpg.catalog.model import Hints
from mcpg.documents.front_matter import flow, quote_scalar
from mcpg.errors import InputError, OutputError, UsageError
from mcpg.evaluation.judged import Judgements, parse_judged
from mcpg.files import MAX_BYTES, atomic_write, exists, locked_folder, read_bytes
from mcpg.sources.model import decode
from mcpg.text.diffs import unified_diff
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.safeyaml import YamlPath, load_yaml

_STEP = 2
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Keys that a reader of YAML 1.1 does not take for text."""


class YamlText:
    """A YAML document as text, with its value, which is `None` if it is empty.

    Each edit raises an `OutputError` if the text cannot be edited without a change to something
    else.
    """

    def __init__(self, text: str, place: str) -> None:
        """Parse *text*; *place* is its file, for messages."""
        self.text = text
        self.value = load_yaml(text, place)
        self._place = place
        # The parser in Python: its marks count characters.
        self._root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        self._line_end = "\r\n" if "\r\n" in text else "\n"

    def with_member(self, path: YamlPath, key: str, value: JsonValue) -> YamlText:
        """Return the text with a further member of the mapping at *path*, which may be empty."""
        expected = copy.deepcopy(self.value)
        if path:
            parent = _at(expected, path[:-1])
            parent[path[-1]] = {**(parent[path[-1]] or {}), key: value}
        else:
            expected = {**(expected if isinstance(expected, dict) else {}), key: value}
        holder, node = self._node(path)
        if node is None or (isinstance(node, yaml.ScalarNode) and not path and not node.value):
            # Only comments.
            gap = "" if not self.text or self.text.endswith("\n") else self._line_end
            text = self.text + gap + self._block(key, value, 0)
        elif isinstance(node, yaml.MappingNode) and node.value:
            end = _end(node)
            if node.flow_style:
                more = f", {quote_scalar(key)}: {flow(value)}"
                text = self.text[:end] + more + self.text[end:]
            else:
                block = self._block(key, value, node.value[0][0].start_mark.column)
                text = self._insert_lines(self._line_after(end), block)
        elif node.start_mark.index == node.end_mark.index and holder is not None:
            block = self._block(key, value, holder.start_mark.column + _STEP)
            text = self._insert_lines(self._line_after(holder.end_mark.index), block)
        else:
            text = self._replace_value(path, {key: value})
        return self._check_edit(text, expected)

    def with_items(self, path: YamlPath, items: Sequence[JsonValue]) -> YamlText:
        """Return the text with *items* after the value at *path*; a single value becomes a list."""
        expected = copy.deepcopy(self.value)
        whole = [*(_as_list(_at(expected, path)) or ()), *items]
        if path:
            _at(expected, path[:-1])[path[-1]] = whole
        else:
            expected = whole
        node = self._node(path)[1]
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            text = self._replace_value(path, whole)
        elif node.flow_style:
            more = "".join(f", {flow(item)}" for item in items)
            text = self.text[: (end := _end(node))] + more + self.text[end:]
        else:
            margin = " " * node.start_mark.column
            lines = (f"{margin}- {flow(item)}{self._line_end}" for item in items)
            text = self._insert_lines(self._line_after(_end(node)), "".join(lines))
        return self._check_edit(text, expected)

    def with_value(self, path: YamlPath, value: JsonValue) -> YamlText:
        """Return the text with another value at *path*."""
        expected = copy.deepcopy(self.value)
        _at(expected, path[:-1])[path[-1]] = value
        return self._check_edit(self._replace_value(path, value), expected)

    def without(self, path: YamlPath) -> YamlText:
        """Return the text without the member or item at *path*."""
        expected = copy.deepcopy(self.value)
        parent = _at(expected, path[:-1])
        del parent[path[-1]]
        if not self._node(path[:-1])[1].flow_style and parent:
            key, node = self._node(path)
            start = self.text.rfind("\n", 0, (key or node).start_mark.index) + 1
            text = self.text[:start] + self.text[self._line_after(_end(node)) :]
        elif path[:-1]:
            text = self._replace_value(path[:-1], parent)
        else:
            text = flow(parent) + self._line_end
        return self._check_edit(text, expected)

    def _check_edit(self, text: str, expected: JsonValue) -> YamlText:
        try:
            edited = YamlText(text, self._place)
        except InputError:
            edited = None
        if edited is None or edited.value != expected:
            raise OutputError(
                "its layout cannot be edited without a change to something else",
                place=self._place,
                remedy="add the lines by hand, or choose another file",
            )
        return edited

    def _node(self, path: YamlPath) -> tuple[Any, Any]:
        """Return the nodes of the key, `None` for an item, and of the value at *path*."""
        key, node = None, self._root
        for step in path:
            if isinstance(step, int):
                key, node = None, node.value[step]
            else:
                key, node = next(pair for pair in node.value if pair[0].value == step)
        return key, node

    def _replace_value(self, path: YamlPath, value: JsonValue) -> str:
        node = self._node(path)[1]
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            end = _end(node)
        gap = " " if start == end else ""
        return f"{self.text[:start]}{gap}{flow(value)}{self.text[end:]}"

    def _insert_lines(self, place: int, lines: str) -> str:
        gap = "" if not place or self.text[place - 1] == "\n" else self._line_end
        return self.text[:place] + gap + lines + self.text[place:]

    def _block(self, key: str, value: JsonValue, column: int) -> str:
        """Return a member as lines: a mapping with a line for each member, the rest on one."""
        margin = " " * column
        name = key if _PLAIN.fullmatch(key) and key.lower() not in _WORDS else quote_scalar(key)
        if not isinstance(value, dict) or not value:
            return f"{margin}{name}: {flow(value)}{self._line_end}"
        parts = (self._block(one, part, column + _STEP) for one, part in value.items())
        return f"{margin}{name}:{self._line_end}{''.join(parts)}"

    def _line_after(self, place: int) -> int:
        if place and self.text[place - 1] == "\n":  # behind a block scalar
            return place
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found + 1


def _end(node: Any) -> int:
    """Return the end of the last value in *node*, for the mark of a block is behind comments."""
    if isinstance(node, yaml.MappingNode) and node.value:
        last = node.value[-1][1]
    elif isinstance(node, yaml.SequenceNode) and node.value:
        last = node.value[-1]
    else:
        return int(node.end_mark.index)
    is_block = isinstance(last, yaml.CollectionNode) and not last.flow_style
    return _end(last) if is_block else int(last.end_mark.index)


def _at(value: JsonValue, path: YamlPath) -> Any:
    found: Any = value
    for step in path:
        found = found[step]
    return found


DEFAULT_HINTS = "hints/explore.hints.yaml"
"""The hints file of a project for which none is named."""

_ENDINGS = tuple(f"hints.{kind}" for kind in ("yaml", "yml", "json"))
_LISTS = ("aliases", "keywords", "examples")
"""The fields of `Hints` that can be added to."""


@dataclass(frozen=True, slots=True)
class HintsEdit:
    """The effect of a save: the content before, `None` without a file, and after it."""

    path: Path
    before: bytes | None
    after: bytes

    @property
    def version(self) -> str:
        """SHA-256 of the content that the file must still have when it is saved, "" for no file."""
        return "" if self.before is None else hashlib.sha256(self.before).hexdigest()

    @property
    def diff(self) -> str:
        """The change as a unified diff, empty if the file has all of it."""
        old, new = ((one or b"").decode("utf-8", "replace") for one in (self.before, self.after))
        name = self.path.name
        lines = unified_diff(
            old.splitlines(), new.splitlines(), f"{name} (now)", f"{name} (saved)", ""
        )
        return "\n".join(lines)


class HintsFile:
    """A hints file in YAML or JSON, which need not exist yet.

    Edits raise an `McpgError` if the file cannot be read or is not a hints file, if its layout
    cannot be edited, and if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; a name that hints files do not have is a `UsageError`."""
        if not path.name.casefold().endswith(_ENDINGS):
            raise UsageError(
                "hints would not be read from a file with this name",
                place=str(path),
                remedy="give it a name that ends with .hints.yaml",
            )
        self.path = path

    def edit(self, tool_id: str, hints: Hints) -> HintsEdit:
        """Return the effect of adding *hints* to the entry of a tool."""
        before = _read_content(self.path)
        text = decode(before, str(self.path)) if before else ""
        if text.strip():
            read_hint_rules(text, str(self.path))
        write = _add_to_json if self.path.suffix.casefold() == ".json" else _add_to_yaml
        after = write(text, str(self.path), tool_id, hints).encode("utf-8")
        return HintsEdit(self.path, before, after)

    def save(self, tool_id: str, hints: Hints, version: str) -> HintsEdit:
        """Add *hints* to the entry of a tool and write the file.

        *version* is from the edit that was shown; a file that has changed since is a
        `ChangedFileError`.
        """
        with locked_folder(self.path.parent):
            edit = self.edit(tool_id, hints)
            if edit.version != version:
                raise ChangedFileError(
                    "the file has changed since its changes were shown",
                    place=str(self.path),
                    remedy="look at the changes again, then save",
                )
            if edit.after != edit.before:
                atomic_write(self.path, edit.after, special=False)
        return edit


class ChangedFileError(OutputError):
    """A file has changed since its changes were shown."""


def _add_to_yaml(text: str, place: str, tool_id: str, hints: Hints) -> str:
    document = YamlText(text, place)
    value: Any = document.value
    tools = (value or {}).get("tools") or {}
    entry = _find_entry(tools, tool_id, place)
    members = _missing_members(entry, hints)
    if not members:
        return text
    if value is None:
        return document.with_member((), "tools", {tool_id: members}).text
    if tool_id not in tools:
        return document.with_member(("tools",), tool_id, members).text
    for key, added in members.items():
        path = "tools", tool_id, key
        if key not in entry:
            document = document.with_member(path[:-1], key, added)
        elif isinstance(added, list):
            document = document.with_items(path, added)
        else:
            document = document.with_value(path, added)
    return document.text


def _add_to_json(text: str, place: str, tool_id: str, hints: Hints) -> str:
    whole: Any = (parse_json_documents(text, place)[0] if text.strip() else None) or {}
    whole["tools"] = tools = whole.get("tools") or {}
    tools[tool_id] = entry = _find_entry(tools, tool_id, place)
    members = _missing_members(entry, hints)
    if not members:
        return text
    for key, value in members.items():
        old = _as_list(entry.get(key)) or ()
        entry[key] = [*old, *value] if isinstance(value, list) else value
    # Halves of characters can only be written as escapes.
    return json.dumps(whole, ensure_ascii=has_surrogate_escapes(text), indent=2) + "\n"


def _find_entry(tools: JsonObject, tool_id: str, place: str) -> JsonObject:
    entry = tools.get(tool_id)
    if entry is None:
        return {}
    if not isinstance(entry, dict):
        raise OutputError(
            f"the entry {tool_id!r} is not a mapping of hints",
            place=place,
            remedy="remove it, or write hints below it",
        )
    return entry


def _missing_members(entry: JsonObject, hints: Hints) -> JsonObject:
    missing: JsonObject = {}
    for name in _LISTS:
        texts = [one.input for one in hints.examples]
        wanted = texts if name == "examples" else getattr(hints, name)
        key = _field_key(entry, name)
        items = value if isinstance(value := entry.get(key), list) else [value]
        inputs = [one.get("input") if isinstance(one, dict) else one for one in items]
        known = {text.casefold() for one in inputs for text in read_texts(one) or ()}
        added: Sequence[JsonValue] = [text for text in wanted if text.casefold() not in known]
        if added:
            missing[key] = list(added)
    if hints.enabled_by_default is not None:
        key = _field_key(entry, "enabled_by_default")
        if entry.get(key) != hints.enabled_by_default:
            missing[key] = hints.enabled_by_default
    return missing


def _field_key(entry: JsonObject, name: str) -> str:
    """Return the key by which *entry* has a field, or the plain one of hints files."""
    field = HINT_FIELDS[name]
    plain = {"enabled_by_default": "enabledByDefault"}.get(name, name)
    return next((key for key in field.keys if field.find({key: entry.get(key)}) is not None), plain)


_Tools: TypeAlias = list[JsonValue] | None
"""The tools that answer a query; `None` without a judgment of it."""

_Change: TypeAlias = Callable[[_Tools], _Tools]

DEFAULT_JUDGED = "queries.jsonl"
"""The file of a project for which none is named."""

_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class QueryVerdict:
    """A person's verdict on a query.

    Attributes:
        tool_id: The tool that answers it; `None` if no tool does.
        names: All names of that tool under which the file may have it.
        holds: Whether it applies; otherwise the verdict is withdrawn.
    """

    query: str
    tool_id: str | None
    names: frozenset[str] = frozenset()
    holds: bool = True


class JudgedFile:
    """A file of judged queries, JSON lines or YAML, which need not exist yet.

    Changes raise an `McpgError` if the file cannot be read, edited or written.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; a name with another ending is a `UsageError`."""
        if path.suffix.casefold() not in (*_YAML, *_LINES):
            raise UsageError(
                "judged queries cannot be written to a file with this name",
                place=str(path),
                remedy="give it a name that ends with .jsonl or .yaml",
            )
        self.path = path
        self._is_yaml = path.suffix.casefold() in _YAML

    def read(self) -> Judgements | None:
        """Return the judged queries, `None` if there are none yet."""
        data = _read_content(self.path) or b""
        place = str(self.path)
        if not data.strip() or (self._is_yaml and not load_yaml(decode(data, place), place)):
            return None
        return parse_judged(data, place)

    def record(self, verdict: QueryVerdict) -> bool:
        """Write *verdict*, or take it back; return whether the file has changed."""
        return self._change(verdict.query, lambda tools: _apply_verdict(tools, verdict))

    def forget(self, query: str) -> bool:
        """Remove *query* with all its verdicts; return whether the file has changed."""
        return self._change(query, lambda _: None)

    def _change(self, query: str, change: _Change) -> bool:
        with locked_folder(self.path.parent):
            before = _read_content(self.path)
            text = decode(before, str(self.path)) if before else ""
            edit = _edit_yaml if self._is_yaml else _edit_lines
            after = edit(text, str(self.path), query, change)
            if after == text:
                return False
            atomic_write(self.path, after.encode("utf-8"), special=False)
            return True


def _read_content(path: Path) -> bytes | None:
    return read_bytes(path, MAX_BYTES) if exists(path) else None


def _edit_lines(text: str, place: str, query: str, change: _Change) -> str:
    lines = text.split("\n")
    about: dict[int, JsonObject] = {}
    for number, line in enumerate(lines):
        with suppress(InputError):
            values = parse_json_documents(line, place) if line.strip() else []
            if len(values) == 1 and _is_about(values[0], query):
                about[number] = values[0]
    for number, entry in reversed(about.items()):
        known = _as_list(entry["relevant"])
        changed = change(known)
        if changed is None:
            del lines[number]
        elif changed != known:
            # The halves of characters that the line has as escapes can only be written so.
            line, end = lines[number], "\r" if lines[number].endswith("\r") else ""
            edited = entry | {"relevant": changed}
            lines[number] = json.dumps(edited, ensure_ascii=has_surrogate_escapes(line)) + end
    tools = None if about else change(None)
    if tools is None:
        return "\n".join(lines)
    gap = "" if not text or text.endswith("\n") else "\n"
    entry = {"query": query, "relevant": tools}
    return f"{text}{gap}{json.dumps(entry, ensure_ascii=False)}\n"


def _edit_yaml(text: str, place: str, query: str, change: _Change) -> str:
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
            "contains neither a list of judged queries nor a mapping from queries to tools",
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
    known = _as_list(_at(document.value, path))
    changed = change(known)
    if changed is None:
        return document.without(entry)
    if changed == known:
        return document
    if known and changed[: len(known)] == known:
        return document.with_items(path, changed[len(known) :])
    return document.with_value(path, changed)


def _apply_verdict(known: _Tools, verdict: QueryVerdict) -> _Tools:
    """Return the tools that answer a query after *verdict*; *known* did before."""
    if verdict.tool_id is None:
        return [] if verdict.holds else known or None
    names = verdict.names | {verdict.tool_id}
    others = [name for name in known or () if str(name).strip() not in names]
    is_known = known is not None and len(others) < len(known)
    if verdict.holds:
        return known if is_known else [*others, verdict.tool_id]
    return others or None if is_known else known


def _as_list(value: JsonValue) -> _Tools:
    return value if isinstance(value, list) or value is None else [value]


def _is_about(entry: JsonValue, query: str) -> TypeGuard[JsonObject]:
    """Return whether *entry* judges *query*, with no tools in use."""
    if not isinstance(entry, dict) or "relevant" not in entry or entry.get("contextTools"):
        return False
    asked = entry.get("query")
    return isinstance(asked, str) and asked.strip() == query
