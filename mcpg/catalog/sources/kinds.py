"""What a source file is: its content decides, its name only helps."""

from __future__ import annotations

import re
from enum import Enum, auto

from mcpg.catalog.jsontext import parse_json_documents
from mcpg.catalog.sources.clientconfig import is_client_configuration
from mcpg.errors import SourceError

PYTHON = "python:"
"""What a source begins with that is a Python module."""

_MARKDOWN = (".md", ".markdown")
_JSON = (".json", ".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_OPEN = (*_MARKDOWN, *_JSON, *_YAML, ".mdld")
_HINTS = tuple(f"hints{end}" for end in (*_YAML, ".json"))

_FRONT_MATTER = re.compile(r"---[ \t\r]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)")
# Front matter that does not end, or that stands below blank lines, begins with a key at least.
_FRONT_KEY = re.compile(r"(?:[ \t\r]*\n)*---[ \t\r]*\n[A-Za-z_][\w.-]*[ \t]*:")
_TOOL_IDENTITY = re.compile(r"^## Tool Identity[ \t]*\r?$", re.MULTILINE)
_HINTS_YAML = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|---[ \t\r]*\n)*tools[ \t]*:")
_BUNDLE = re.compile(
    r'\s*\{\s*"(?:version"\s*:\s*-?\d+\s*,\s*"documents|documents)"', re.IGNORECASE
)
_OPENAPI = re.compile(r'\s*\{\s*"(?:openapi|swagger)"\s*:')
_OPENAPI_YAML = re.compile(r"""^["']?(?:openapi|swagger)["']?[ \t]*:""", re.MULTILINE)
_MANIFEST = re.compile(r'\s*(?:\[|\{\s*"(?:tools|jsonrpc|result|functions|nextCursor|name|type)")')
_JSON_START = re.compile(r"\s*(?:[\[{]|(?:event|data|id):)")
_REMEDY = "give a tools/list answer, an OpenAPI document, a tool document, or a *.hints.yaml file"
_OPENAPI_KEYS = frozenset({"openapi", "swagger"})
_BUNDLE_KEYS = frozenset({"version", "documents", "mcpg"})


class FileKind(Enum):
    """The kinds of source files."""

    MANIFEST = auto()
    DOCUMENT = auto()
    HINTS = auto()
    BUNDLE = auto()
    OPENAPI = auto()
    CLIENT = auto()


def may_be_source(name: str) -> bool:
    """Tell whether a file of this name, found in a folder, is worth opening."""
    lower = name.casefold()
    return lower.endswith(_OPEN) or _is_hints_name(lower)


def kind_in_folder(name: str, text: str, place: str) -> FileKind | None:
    """Tell what a file found in a folder is; `None` for Markdown that is no tool's document.

    Raises:
        SourceError: It is called like a bundle and is none, as after a cut.
    """
    lower = name.casefold()
    if _is_hints_name(lower):
        return FileKind.HINTS
    if lower.endswith(_YAML):
        return FileKind.OPENAPI if _is_openapi(text) else None
    if lower.endswith(_JSON) or (lower.endswith(".mdld") and _JSON_START.match(text)):
        return _json_kind(text)
    if _is_document(text):
        return FileKind.DOCUMENT
    if lower.endswith(".mdld"):
        message = "is neither a bundle nor a tool document; it may be cut"
        raise SourceError(message, place=place, remedy="build it again, or remove it")
    return None


def kind_of_named(name: str, text: str, place: str) -> FileKind:
    """Tell what a file that the user named is.

    Raises:
        SourceError: It is nothing that holds tools or says something about them.
    """
    lower = name.casefold()
    fault = _fault(lower, text)
    if fault:
        raise SourceError(fault, place=place, remedy=_REMEDY)
    if lower.endswith(_YAML) and not _is_hints_name(lower) and _is_openapi(text):
        return FileKind.OPENAPI
    if lower.endswith((*_MARKDOWN, *_YAML)) or _is_hints_name(lower):
        return FileKind.DOCUMENT if lower.endswith(_MARKDOWN) else FileKind.HINTS
    if lower.endswith(_JSON) or _JSON_START.match(text):
        is_client = not _MANIFEST.match(text) and is_client_configuration(text)
        return FileKind.CLIENT if is_client else _json_kind(text)
    if lower.endswith(".mdld") or _is_document(text):
        return FileKind.DOCUMENT
    if _HINTS_YAML.match(text):
        return FileKind.HINTS
    if _OPENAPI_YAML.search(text):
        return FileKind.OPENAPI
    message = "is neither JSON nor a Markdown-LD document nor a hints file"
    raise SourceError(message, place=place, remedy=_REMEDY)


def _fault(lower: str, text: str) -> str | None:
    if "\0" in text:
        return "holds null characters, so it is no text"
    return None if text.strip() or _is_hints_name(lower) else "is empty"


def _is_hints_name(lower: str) -> bool:
    return lower in _HINTS or lower.endswith(tuple(f".{end}" for end in _HINTS))


def _is_document(text: str) -> bool:
    marks = (_FRONT_MATTER.match, _FRONT_KEY.match, _TOOL_IDENTITY.search)
    return any(mark(text) for mark in marks)


def _is_openapi(text: str) -> bool:
    """Tell an OpenAPI document, YAML or JSON, from other files called YAML."""
    if text.lstrip().startswith("{"):
        return _json_kind(text) is FileKind.OPENAPI
    return bool(_OPENAPI_YAML.search(text))


def _json_kind(text: str) -> FileKind:
    """Tell what a JSON text is, parsing only where its first member leaves that open."""
    if _BUNDLE.match(text):
        return FileKind.BUNDLE
    if _OPENAPI.match(text):
        return FileKind.OPENAPI
    if _MANIFEST.match(text) or not text.lstrip().startswith("{"):
        return FileKind.MANIFEST
    try:
        value = parse_json_documents(text, "")[0]
    except SourceError:
        return FileKind.MANIFEST
    keys = {key.casefold() for key in value} if isinstance(value, dict) else set()
    if "documents" in keys or ("version" in keys and keys <= _BUNDLE_KEYS):
        return FileKind.BUNDLE
    return FileKind.OPENAPI if keys & _OPENAPI_KEYS else FileKind.MANIFEST
