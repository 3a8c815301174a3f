"""Tools of a manifest, in the shapes in which lists of tools are met in practice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcpg.catalog.hints import HINT_KEYS, hints_of_tool, states_lists
from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents, repair_surrogates
from mcpg.catalog.model import Hints, SourceKind, Tool
from mcpg.errors import Code, Diagnostic, SourceError, info, warning
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import list_some

_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_SOURCE_KEYS = ("server", "sourceId", "source_id", "serverName", "server_name", "source")
_KIND_KEYS = ("sourceKind", "source_kind")
_HASH_DIGITS = 8
LONGEST_SOURCE = 256
"""Longest source id in a manifest or of a server, in characters."""

INPUT_KEYS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema")
"""Members for the schema of a tool's arguments, in order."""

_SHAPES = "use a tools/list response, or a list of OpenAI, Anthropic or Gemini tools"
_CLIENT = "this is an MCP client configuration, which must be named explicitly to be used"
_FOREIGN = {
    **dict.fromkeys(("mcpServers", "amp.mcpServers", "mcp", "context_servers"), _CLIENT),
    "openapi": "this is an OpenAPI description, not a list of tools",
    "swagger": "this is an OpenAPI description, not a list of tools",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value in a manifest, its path, as in `result.tools[3]`, and its inherited members."""

    value: JsonValue
    place: str
    path: str = ""
    source: str | None = None
    kind: str | None = None
    is_response: bool = False

    def enter(self, page: JsonObject, key: str) -> _Entry:
        """Go down to the member *key* of the value, which is *page*."""
        return _Entry(
            page[key],
            self.place,
            f"{self.path}.{key}".lstrip("."),
            stated_source(page) or self.source,
            stated_kind(page) or self.kind,
            self.is_response or "result" in page,
        )

    def item(self, index: int, value: JsonValue) -> _Entry:
        """Go down to the item at *index* of the value, a list."""
        return replace(self, value=value, path=f"{self.path}[{index}]")

    @property
    def where(self) -> str:
        return f"{self.place}: {self.path}" if self.path else self.place

    def fail(self, message: str, remedy: str = _SHAPES) -> SourceError:
        return SourceError(message, place=self.where, remedy=remedy)


def stated_source(mapping: JsonObject) -> str | None:
    """Return the source id in a tool or manifest, as `bounded_source`, or `None`."""
    for key in _SOURCE_KEYS:
        value = mapping.get(key)
        name = value.get("name") if isinstance(value, dict) else value
        if isinstance(name, str) and name.strip():
            return bounded_source(name)
    return None


def bounded_source(name: str) -> str:
    """Trim *name* and cut it to `LONGEST_SOURCE`; a hash distinguishes names that begin alike.

    It is repeated with every tool and every message about one, so that thousands of tools would
    make a long one gigabytes.
    """
    trimmed = name.strip()
    if len(trimmed) <= LONGEST_SOURCE:
        return trimmed
    digest = hashlib.sha256(trimmed.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{trimmed[: LONGEST_SOURCE - _HASH_DIGITS - 1].rstrip()}_{digest}"


def stated_kind(mapping: JsonObject) -> str | None:
    """Return the source kind in a tool or manifest, or `None`."""
    values = (mapping.get(key) for key in _KIND_KEYS)
    return next((value for value in values if isinstance(value, str)), None)


def _find_tools(entry: _Entry) -> Iterator[_Entry]:
    value = entry.value
    if isinstance(value, dict):
        yield from _find_in_page(value, entry)
    elif isinstance(value, list) and (not value or any(isinstance(item, dict) for item in value)):
        members = _pages_among(value)
        for index, item in members:
            yield from _read_item(entry.item(index, item), is_only=len(members) == 1)
    else:
        raise entry.fail("this JSON is neither a list of tools nor an object with one")


def _read_item(entry: _Entry, *, is_only: bool = False) -> Iterator[_Entry]:
    """Read a member of an array: a tool, or a page of tools.

    Beside others, a message without tools costs no tool; as the only one, it is the answer.
    """
    value = entry.value
    if isinstance(value, dict) and not _is_tool(value):
        is_message = "name" not in value and ("result" in value or "error" in value)
        if _holds_list(value) or _holds_list(value.get("result")) or (is_only and is_message):
            yield from _find_in_page(value, entry)
            return
    yield entry


def _find_in_page(page: JsonObject, entry: _Entry) -> Iterator[_Entry]:
    key = next((key for key in ("result", "pages", *_LISTS) if page.get(key) is not None), None)
    if key is None:
        fault = page.get("error")
        if _is_tool(page):
            yield entry
        elif fault is not None:
            said = fault.get("message") if isinstance(fault, dict) else fault
            raise entry.fail(f"the server answered with an error: {said}", "request the list again")
        else:
            foreign = next((text for key, text in _FOREIGN.items() if key in page), None)
            raise entry.fail(foreign or "this JSON object has no `tools`")
        return
    held = entry.enter(page, key)
    if key in ("result", "pages"):
        yield from _find_tools(held)
        return
    if not isinstance(held.value, list):
        raise held.fail(f"`{key}` is not an array of tools")
    for index, item in enumerate(held.value):
        if key in _DECLARATIONS and isinstance(item, dict):
            yield held.item(index, _lower_types(item))
        else:
            yield from _read_item(held.item(index, item))


def _is_tool(value: JsonObject) -> bool:
    """Return whether an object on its own, in no list of tools, is one."""
    named = isinstance(value.get("name"), str) and any(key in value for key in INPUT_KEYS)
    return named or isinstance(value.get("function"), dict)


def _holds_list(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(isinstance(value.get(key), list) for key in _LISTS)
    return isinstance(value, list)


def _pages_among(values: list[JsonValue]) -> list[tuple[int, JsonValue]]:
    """Leave out messages of a recorded session that have nothing to do with lists of tools."""
    pages = list(enumerate(values))
    kept = [
        (index, value)
        for index, value in pages
        if not isinstance(value, dict)
        or "jsonrpc" not in value
        or (isinstance(result := value.get("result"), dict) and "tools" in result)
    ]
    errors = [page for page in pages if isinstance(page[1], dict) and "error" in page[1]]
    return kept or errors[:1] or pages[:1]


def _has_cursor(value: JsonValue) -> bool:
    """Return whether a page, or the last of several, names a next one.

    An empty cursor counts from the protocol of 2026-07-28 on, whose results have a `resultType`.
    """
    for _ in range(4):
        if isinstance(value, list):
            value = value[-1] if value else None
        if not isinstance(value, dict):
            return False
        cursor = value.get("nextCursor")
        if cursor or (cursor == "" and "resultType" in value):
            return True
        value = value.get("result") or value.get("pages")
    return False


def _lower_types(value: JsonValue) -> JsonValue:
    """Write the type names of Gemini's dialect (`STRING`) as JSON Schema does."""
    if isinstance(value, list):
        return [_lower_types(item) for item in value]
    if not isinstance(value, dict):
        return value
    lowered = {key: _lower_types(member) for key, member in value.items()}
    name = lowered.get("type")
    if isinstance(name, str) and name.isupper():
        lowered["type"] = name.lower()
    return lowered


_OUTPUT_KEYS = ("outputSchema", "output_schema", "response", "responseJsonSchema")
_KEYS_SHOWN = 5
_KEY_SHOWN = 80
_TITLE_KEYS = ("title", "displayName", "display_name")
_KINDS = {one.casefold(): one for one in SourceKind}
# Members of an entry that describe the tool; `mcpg.gateway` runs the tasks of tools.
_READ_KEYS = frozenset(
    (
        *("name", "description", "annotations", "_meta", "function", "execution"),
        *(*INPUT_KEYS, *_OUTPUT_KEYS, *_TITLE_KEYS, *_SOURCE_KEYS, *_KIND_KEYS, *HINT_KEYS),
    )
)


@dataclass(frozen=True, slots=True)
class ManifestTools:
    """The tools of one manifest, without ids, and notices about them."""

    tools: tuple[Tool, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def read_manifest(
    text: str,
    place: str,
    *,
    default_source: str,
    source_id: str | None = None,
    trust_hints: bool = False,
    is_response: bool = False,
) -> ManifestTools:
    """Read the tools of a manifest.

    Known shapes are: the result of MCP `tools/list`, bare or in its JSON-RPC envelope; several such
    pages as an array, as documents that follow each other, or under `pages`; arrays of tools;
    `{"functions": [...]}`; Gemini's `functionDeclarations`; a tool on its own. Messages of another
    kind in a recorded session are skipped.

    Tools without a source id get *default_source*; *source_id* overrides all others. With
    *trust_hints*, lists of hints from a server count as the operator's, unless the manifest itself
    *is_response* of a server.
    """
    noticed: list[Diagnostic] = []
    options = _ReadingOptions(default_source, source_id, trust_hints, is_response)
    values = parse_repaired(text, place, noticed)
    pages = _pages_among(values)
    entries = [
        entry
        for index, value in pages
        for entry in _find_tools(_Entry(value, place, f"[{index}]" if len(values) > 1 else ""))
    ]
    found = [_read_tool(entry, options, noticed) for entry in entries]
    if pages and _has_cursor(pages[-1][1]):
        message = "the last page names a `nextCursor`: more tools follow that are not in this file"
        noticed.append(warning(Code.SOURCE_INCOMPLETE, message, place))
    return ManifestTools(tuple(filter(None, found)), tuple(noticed))


def parse_repaired(text: str, place: str, noticed: list[Diagnostic]) -> list[JsonValue]:
    """Parse JSON documents and make all text in them whole.

    *noticed* gets a diagnostic for keys that are repeated, and one for text that was not whole.
    """
    repeated: set[str] = set()
    values = parse_json_documents(text, place, repeated)
    if repeated:
        shown = list_some([repr(key[:_KEY_SHOWN]) for key in sorted(repeated)], _KEYS_SHOWN)
        message = f"repeated keys in one object, the last value is used: {shown}"
        noticed.append(warning(Code.KEY_REPEATED, message, place))
    if not has_surrogate_escapes(text):
        return values
    paths: list[str] = []
    single = len(values) == 1
    clean = [
        repair_surrogates(value, "" if single else f"[{index}]", paths)
        for index, value in enumerate(values)
    ]
    if paths:
        count = "one text has" if len(paths) == 1 else f"{len(paths)} texts have"
        message = f"{count} a lone surrogate, replaced by U+FFFD"
        noticed.append(warning(Code.TEXT_REPAIRED, message, f"{place}: {paths[0]}"))
    return clean


@dataclass(frozen=True, slots=True)
class _ReadingOptions:
    default_source: str
    source_id: str | None
    trust_hints: bool
    is_response: bool


# Shared by most tools, without a change of any member.
_NOTHING: JsonObject = {}


def _read_tool(found: _Entry, options: _ReadingOptions, noticed: list[Diagnostic]) -> Tool | None:
    where, entry = found.where, found.value
    if not isinstance(entry, dict):
        message = "this entry is not a tool and is ignored"
        noticed.append(warning(Code.TOOL_INVALID, message, where))
        return None
    # OpenAI nests a tool under `function`.
    if (function := _object(entry.get("function"))) is not None:
        entry = {key: value for key, value in entry.items() if key != "function"} | function
    name = _text(entry.get("name"))
    if not name:
        noticed.append(warning(Code.TOOL_INVALID, "this tool has no name and is ignored", where))
        return None
    description = entry.get("description")
    schema = _first_object(entry, INPUT_KEYS)
    kind = (stated_kind(entry) or found.kind or "").strip().casefold()
    stated = (options.source_id or "").strip() or stated_source(entry) or found.source
    listed = _READ_KEYS if options.is_response else entry.keys() - {"icons"}
    return Tool(
        id="",
        source_id=stated or options.default_source,
        name=name,
        title=next((title for key in _TITLE_KEYS if (title := _text(entry.get(key)))), None),
        description=description if isinstance(description, str) else "",
        input_schema={"type": "object", "properties": {}} if schema is None else schema,
        output_schema=_first_object(entry, _OUTPUT_KEYS),
        annotations=_object(entry.get("annotations")) or _NOTHING,
        meta=_object(entry.get("_meta")) or _NOTHING,
        hints=_read_hints(entry, found, options, noticed),
        source_kind=_KINDS.get(kind, SourceKind.LOCAL),
        place=where,
        listed={key: value for key, value in entry.items() if key not in listed} or _NOTHING,
    )


def _read_hints(
    entry: JsonObject, found: _Entry, options: _ReadingOptions, noticed: list[Diagnostic]
) -> Hints:
    """Return the hints of the operator; those beside the name only if no server wrote them."""
    trusts_entry = options.trust_hints or not (options.is_response or found.is_response)
    if not trusts_entry and states_lists(entry):
        message = "the server has hints beside the name, which MCP lacks; they are ignored"
        noticed.append(info(Code.HINT_UNTRUSTED, message, found.where))
    return hints_of_tool(
        entry,
        _object(entry.get("annotations")) or {},
        _object(entry.get("_meta")) or {},
        trusts_entry=trusts_entry,
        trusts_server=options.trust_hints,
    )


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _object(value: JsonValue) -> JsonObject | None:
    return value if isinstance(value, dict) else None


def _first_object(entry: JsonObject, keys: tuple[str, ...]) -> JsonObject | None:
    values = (_object(entry.get(key)) for key in keys)
    return next((value for value in values if value is not None), None)
