"""From the JSON text of a manifest to tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.hintkeys import hints_of_tool
from mcpg.catalog.jsontext import has_surrogate_escapes, parse_json_documents, repair_surrogates
from mcpg.catalog.model import SourceKind, Tool
from mcpg.catalog.toolshapes import INPUT_KEYS, FoundEntry, find_entries, stated_kind, stated_source
from mcpg.diagnostics import Code, Diagnostic, warning

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject, JsonValue

_OUTPUT_KEYS = ("outputSchema", "output_schema", "response", "responseJsonSchema")
_KEYS_TOLD = 5
_KEY_SHOWN = 80
_TITLE_KEYS = ("title", "displayName", "display_name")


@dataclass(frozen=True, slots=True)
class ManifestTools:
    """The tools of one manifest, without ids, and what was noticed about them."""

    tools: tuple[Tool, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def read_manifest(
    text: str, place: str, *, default_source: str, source_id: str | None = None
) -> ManifestTools:
    """Read the tools of a manifest in any of the known shapes.

    Args:
        text: The whole manifest.
        place: Its file, for messages.
        default_source: Source id of tools for which nothing states one.
        source_id: Source id that overrides whatever is stated.

    Raises:
        SourceError: The text is no JSON or holds no list of tools.
    """
    diagnostics: list[Diagnostic] = []
    values = parse_repaired(text, place, diagnostics)
    found = find_entries(values, place)
    tools: list[Tool] = []
    for entry in found.entries:
        tool = _tool(entry, place, default_source, source_id)
        if isinstance(tool, Tool):
            tools.append(tool)
        else:
            diagnostics.append(tool)
    if found.unfinished:
        message = "the last page names a `nextCursor`: more tools follow that are not in this file"
        diagnostics.append(warning(Code.SOURCE_INCOMPLETE, message, place))
    return ManifestTools(tuple(tools), tuple(diagnostics))


def parse_repaired(text: str, place: str, noticed: list[Diagnostic]) -> list[JsonValue]:
    """Parse JSON documents and make all text in them whole.

    Args:
        text: The documents.
        place: Their file, for messages.
        noticed: Gets a diagnostic for keys that are repeated, and one for text that was not whole.

    Raises:
        SourceError: The text is no JSON.
    """
    repeated: set[str] = set()
    values = parse_json_documents(text, place, repeated)
    if repeated:
        noticed.append(_repeated(repeated, place))
    return _repaired(values, place, noticed) if has_surrogate_escapes(text) else values


def _repeated(keys: set[str], place: str) -> Diagnostic:
    shown = ", ".join(repr(key[:_KEY_SHOWN]) for key in sorted(keys)[:_KEYS_TOLD])
    more = f" and {len(keys) - _KEYS_TOLD} more" if len(keys) > _KEYS_TOLD else ""
    message = f"stands more than once in one object, where the last one counts: {shown}{more}"
    return warning(Code.KEY_REPEATED, message, place)


def _repaired(values: list[JsonValue], place: str, noticed: list[Diagnostic]) -> list[JsonValue]:
    """Make all text whole, noting where it was not."""
    paths: list[str] = []
    single = len(values) == 1
    clean = [
        repair_surrogates(value, "" if single else f"[{index}]", paths)
        for index, value in enumerate(values)
    ]
    if paths:
        count = "one text holds" if len(paths) == 1 else f"{len(paths)} texts hold"
        message = f"{count} half a character (a lone surrogate), which became U+FFFD"
        noticed.append(warning(Code.TEXT_REPAIRED, message, f"{place}: {paths[0]}"))
    return clean


def _tool(
    found: FoundEntry, place: str, default_source: str, source_id: str | None
) -> Tool | Diagnostic:
    where = f"{place}: {found.path}" if found.path else place
    if not isinstance(found.value, dict):
        return warning(Code.TOOL_INVALID, "this is no tool but plain JSON; it is left out", where)
    entry = _flattened(found.value)
    name = _text(entry.get("name"))
    if not name:
        return warning(Code.TOOL_INVALID, "this tool has no name; it is left out", where)
    annotations = _object(entry.get("annotations")) or {}
    meta = _object(entry.get("_meta")) or {}
    description = entry.get("description")
    schema = _first_object(entry, INPUT_KEYS)
    stated = stated_source(entry) or found.source or default_source
    return Tool(
        id="",
        source_id=(source_id or "").strip() or stated,
        name=name,
        title=next((title for key in _TITLE_KEYS if (title := _text(entry.get(key)))), None),
        description=description if isinstance(description, str) else "",
        input_schema={"type": "object", "properties": {}} if schema is None else schema,
        output_schema=_first_object(entry, _OUTPUT_KEYS),
        annotations=annotations,
        meta=meta,
        hints=hints_of_tool(entry, annotations, meta),
        source_kind=_source_kind(stated_kind(entry) or found.kind),
        place=where,
    )


def _flattened(entry: JsonObject) -> JsonObject:
    """Lift what OpenAI nests under `function` beside the members around it."""
    function = entry.get("function")
    if not isinstance(function, dict):
        return entry
    return {key: value for key, value in entry.items() if key != "function"} | function


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _object(value: JsonValue) -> JsonObject | None:
    return value if isinstance(value, dict) else None


def _first_object(entry: JsonObject, keys: tuple[str, ...]) -> JsonObject | None:
    values = (_object(entry.get(key)) for key in keys)
    return next((value for value in values if value is not None), None)


def _source_kind(stated: str | None) -> SourceKind:
    wanted = (stated or "").strip().casefold()
    return next((kind for kind in SourceKind if kind.casefold() == wanted), SourceKind.LOCAL)
