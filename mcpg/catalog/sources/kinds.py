"""What a source file is: its content decides, its name only helps."""

from __future__ import annotations

import re
from enum import Enum, auto

from mcpg.catalog.jsontext import parse_json_documents
from mcpg.errors import SourceError

_MARKDOWN = (".md", ".markdown")
_JSON = (".json", ".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_OPEN = (*_MARKDOWN, *_JSON, ".mdld")
_HINTS = tuple(f"hints{end}" for end in (*_YAML, ".json"))

_FRONT_MATTER = re.compile(r"---[ \t\r]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)")
_TOOL_IDENTITY = re.compile(r"^## Tool Identity[ \t]*\r?$", re.MULTILINE)
_HINTS_YAML = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|---[ \t\r]*\n)*tools[ \t]*:")
_BUNDLE = re.compile(
    r'\s*\{\s*"(?:version"\s*:\s*-?\d+\s*,\s*"documents|documents)"', re.IGNORECASE
)
_MANIFEST = re.compile(r'\s*(?:\[|\{\s*"(?:tools|jsonrpc|result|functions|nextCursor|name|type)")')
_JSON_START = re.compile(r"\s*(?:[\[{]|(?:event|data|id):)")
_REMEDY = "give a tools/list answer, a document with front matter, or a *.hints.yaml file"
_BUNDLE_KEYS = frozenset({"version", "documents", "mcpg"})


class FileKind(Enum):
    """The kinds of source files."""

    MANIFEST = auto()
    DOCUMENT = auto()
    HINTS = auto()
    BUNDLE = auto()


def may_be_source(name: str) -> bool:
    """Tell whether a file of this name, found in a folder, is worth opening."""
    lower = name.casefold()
    return lower.endswith(_OPEN) or _is_hints_name(lower)


def kind_in_folder(name: str, text: str) -> FileKind | None:
    """Tell what a file found in a folder is; `None` for Markdown that is no tool's document."""
    lower = name.casefold()
    if _is_hints_name(lower):
        return FileKind.HINTS
    if lower.endswith(_JSON) or (lower.endswith(".mdld") and _JSON_START.match(text)):
        return FileKind.BUNDLE if _is_bundle(text) else FileKind.MANIFEST
    return FileKind.DOCUMENT if _is_document(text) else None


def kind_of_named(name: str, text: str, place: str) -> FileKind:
    """Tell what a file that the user named is.

    Raises:
        SourceError: It is nothing that holds tools or says something about them.
    """
    lower = name.casefold()
    if not text.strip() and not _is_hints_name(lower):
        raise SourceError("is empty", place=place, remedy=_REMEDY)
    if lower.endswith((*_MARKDOWN, *_YAML)) or _is_hints_name(lower):
        return FileKind.DOCUMENT if lower.endswith(_MARKDOWN) else FileKind.HINTS
    if lower.endswith(_JSON) or _JSON_START.match(text):
        return FileKind.BUNDLE if _is_bundle(text) else FileKind.MANIFEST
    if lower.endswith(".mdld") or _is_document(text):
        return FileKind.DOCUMENT
    if _HINTS_YAML.match(text):
        return FileKind.HINTS
    message = "is neither JSON nor a Markdown-LD document nor a hints file"
    raise SourceError(message, place=place, remedy=_REMEDY)


def _is_hints_name(lower: str) -> bool:
    return lower in _HINTS or lower.endswith(tuple(f".{end}" for end in _HINTS))


def _is_document(text: str) -> bool:
    return bool(_FRONT_MATTER.match(text) or _TOOL_IDENTITY.search(text))


def _is_bundle(text: str) -> bool:
    """Tell a bundle from a manifest, parsing only where the first member leaves it open."""
    if _BUNDLE.match(text):
        return True
    if _MANIFEST.match(text) or not text.lstrip().startswith("{"):
        return False
    try:
        value = parse_json_documents(text, "")[0]
    except SourceError:
        return False
    keys = {key.casefold() for key in value} if isinstance(value, dict) else set()
    return "documents" in keys or ("version" in keys and keys <= _BUNDLE_KEYS)
