"""The hints file that tried hints are saved to: what a save would change, and the save itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpg.catalog.hints import HINT_FIELDS, read_hint_rules, read_texts
from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents
from mcpg.catalog.model import Hints
from mcpg.errors import OutputError, UsageError
from mcpg.explore.yaml_edit import YamlText
from mcpg.files import MAX_BYTES, atomic_write, exists, locked_folder, read_bytes
from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources.model import decode
from mcpg.text.diffs import unified_diff

DEFAULT_HINTS = "hints/explore.hints.yaml"
"""The hints file of a project for which none is named."""

_ENDINGS = tuple(f"hints.{kind}" for kind in ("yaml", "yml", "json"))
_LISTS = ("aliases", "keywords", "examples")
"""The fields of `Hints` that can be added to."""


@dataclass(frozen=True, slots=True)
class HintsEdit:
    """What a save would write.

    Attributes:
        path: The file.
        before: Its content; `None` where there is no file.
        after: Its content after the save.
    """

    path: Path
    before: bytes | None
    after: bytes

    @property
    def version(self) -> str:
        """What the file must still be when it is saved."""
        return _version(self.before)

    @property
    def diff(self) -> str:
        """The change as a unified diff, empty where the file has all of it."""
        old, new = ((one or b"").decode("utf-8", "replace") for one in (self.before, self.after))
        name = self.path.name
        lines = unified_diff(
            old.splitlines(), new.splitlines(), f"{name} (now)", f"{name} (saved)", ""
        )
        return "\n".join(lines)


class HintsFile:
    """A hints file in YAML or JSON, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        """Name the file.

        Raises:
            UsageError: It is not called as a hints file is.
        """
        if not path.name.casefold().endswith(_ENDINGS):
            raise UsageError(
                "hints would not be read from a file with this name",
                place=str(path),
                remedy="give it a name that ends with .hints.yaml",
            )
        self.path = path

    def edit(self, tool_id: str, hints: Hints) -> HintsEdit:
        """Return what adding *hints* to the entry of a tool would write.

        Raises:
            McpgError: The file cannot be read or is no hints file, or its layout cannot be edited.
        """
        before = read_bytes(self.path, MAX_BYTES) if exists(self.path) else None
        text = decode(before, str(self.path)) if before else ""
        if text.strip():
            read_hint_rules(text, str(self.path))
        write = _json_with if self.path.suffix.casefold() == ".json" else _yaml_with
        after = write(text, str(self.path), tool_id, hints).encode("utf-8")
        return HintsEdit(self.path, before, after)

    def save(self, tool_id: str, hints: Hints, version: str) -> HintsEdit:
        """Add *hints* to the entry of a tool and write the file.

        Args:
            tool_id: Id of the tool.
            hints: What is added.
            version: The version of the edit that was shown.

        Raises:
            ChangedFileError: The file has changed since.
            McpgError: See `edit`; or the file cannot be written.
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
    """A file is not what it was when its changes were shown."""


def _version(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _yaml_with(text: str, place: str, tool_id: str, hints: Hints) -> str:
    document = YamlText(text, place)
    value: Any = document.value
    tools = (value or {}).get("tools") or {}
    entry = _entry(tools, tool_id, place)
    members = _members(entry, hints)
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


def _json_with(text: str, place: str, tool_id: str, hints: Hints) -> str:
    whole: Any = (parse_json_documents(text, place)[0] if text.strip() else None) or {}
    whole["tools"] = tools = whole.get("tools") or {}
    tools[tool_id] = entry = _entry(tools, tool_id, place)
    members = _members(entry, hints)
    if not members:
        return text
    for key, value in members.items():
        old = entry.get(key)
        known = old if isinstance(old, list) else [] if old is None else [old]
        entry[key] = [*known, *value] if isinstance(value, list) else value
    # Halves of characters can only be written as escapes.
    return json.dumps(whole, ensure_ascii=has_surrogate_escapes(text), indent=2) + "\n"


def _entry(tools: JsonObject, tool_id: str, place: str) -> JsonObject:
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


def _members(entry: JsonObject, hints: Hints) -> JsonObject:
    """Return what *entry* lacks of *hints*, by the keys that it uses."""
    missing: JsonObject = {}
    for name in _LISTS:
        texts = [one.input for one in hints.examples] if name == "examples" else None
        wanted = texts if texts is not None else getattr(hints, name)
        key = _field_key(entry, name)
        known = {text.casefold() for text in _read_entry_texts(entry.get(key))}
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


def _read_entry_texts(value: JsonValue) -> list[str]:
    items = value if isinstance(value, list) else [value]
    inputs = [one.get("input") if isinstance(one, dict) else one for one in items]
    return [text for one in inputs for text in read_texts(one) or ()]
