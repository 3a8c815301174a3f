"""Definitions that servers state of tools whose documents may say otherwise.

A generated document repeats the definition of its tool. A document that a person has written
replaces it, and so the bundle carries the definition beside the document: a gateway compares it
with what the server states later.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from mcpg.bundle.codec import Bundle, ReadDocument
from mcpg.catalog.definitions import Key, is_same_definition
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.json_types import JsonObject, JsonValue

Definitions = Mapping[Key, tuple[Tool, ...]]
"""Tools as their servers define them, by identity; none where no definition is known."""

DEFINITIONS = "definitions"
"""Name of the member of the `mcpg` object that lists them."""

_MARKS = ("## Tool Identity", "## Execution Contract")

# The .NET gateway reads no JSON of more than 64 levels, and these stand in three others.
_MOST_LEVELS = 60
_AS_TEXT = "definition"


def is_generated(text: str) -> bool:
    """Return whether the *text* of a document has the generated layout."""
    return any(mark in text for mark in _MARKS)


def definitions_beside(
    read: Iterable[ReadDocument],
    tools: Sequence[Tool],
    superseded: Iterable[Tool],
    bundles: Iterable[Bundle],
) -> Definitions:
    """Return the definitions of tools whose documents may say otherwise.

    Args:
        read: The documents of tools.
        tools: The tools of manifests and servers.
        superseded: Those of them that a document replaces.
        bundles: The bundles among the sources. A tool that a source has now is not looked up there.
    """
    given = {_key(tool) for tool in tools}
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for bundle in bundles:
        for key, carried in carried_definitions(bundle).items():
            if key not in given:
                found[key] += carried
    for tool in superseded:
        found[_key(tool)].append(tool)
    for item in read:
        key = _key(item.document.tool)
        if key not in given and key not in found and not is_generated(item.source.content):
            found[key] = []
    return {key: tuple(one) for key, one in found.items()}


def definitions_in(bundle: Bundle, documents: Iterable[ToolDocument]) -> Definitions:
    """Return the definitions of the tools of *bundle*, which has *documents*."""
    carried = carried_definitions(bundle)
    texts = {source.path: source.content for source in bundle.documents}
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for document in documents:
        known = found[_key(document.tool)]
        if _key(document.tool) not in carried and is_generated(texts.get(document.path, "")):
            known.append(document.tool)
    return {key: tuple(known) for key, known in (found | carried).items()}


def collect_definitions(documents: Iterable[ToolDocument], beside: Definitions) -> Definitions:
    """Return the definitions of the tools of *documents*; those *beside* them come first."""
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for document in documents:
        if _key(document.tool) not in beside:
            found[_key(document.tool)].append(document.tool)
    return {key: tuple(known) for key, known in (found | dict(beside)).items()}


def encode_definitions(
    definitions: Definitions, documents: Iterable[ToolDocument], texts: Mapping[str, str]
) -> list[JsonValue]:
    """Return what a bundle carries of *definitions*: those that its documents don't repeat.

    Args:
        definitions: The definitions.
        documents: The documents of the bundle.
        texts: Their texts, by path.
    """
    needed: dict[Key, tuple[Tool, ...]] = {}
    for document in documents if definitions else ():
        key, text = _key(document.tool), texts.get(document.path, "")
        if key not in definitions:
            continue
        known, repeats = definitions[key], is_generated(text)
        is_repeated = len(known) == 1 and is_same_definition(known[0], document.tool)
        # A text of a person alone states nothing of its server's.
        if (known and not (repeats and is_repeated)) or (not known and repeats):
            needed[key] = known
    entries: list[JsonValue] = []
    for (source_id, name), known in sorted(needed.items()):
        named: JsonObject = {"source": source_id, "name": name}
        entries += [named | _flatten_deep(_members(tool)) for tool in known] or [named]
    return entries


def _flatten_deep(members: JsonObject) -> JsonObject:
    """Return *members*, as a text in JSON where they nest too deeply for other readers."""
    if not is_deeper([members], _MOST_LEVELS):
        return members
    return {_AS_TEXT: json.dumps(members, ensure_ascii=False, separators=(",", ":"))}


def carried_definitions(bundle: Bundle) -> dict[Key, list[Tool]]:
    """Return the definitions that *bundle* carries; what is no definition is ignored."""
    stated = bundle.extension.get(DEFINITIONS)
    found: dict[Key, list[Tool]] = {}
    for one in stated if isinstance(stated, list) else ():
        entry = _restore_deep(one)
        if entry is None or is_deeper([entry], MAX_DEPTH):
            continue
        source_id, name = entry.get("source"), entry.get("name")
        if isinstance(source_id, str) and isinstance(name, str):
            known = found.setdefault((source_id, name), [])
            known += [_tool(source_id, name, entry)] if "inputSchema" in entry else []
    return found


def _restore_deep(entry: JsonValue) -> JsonObject | None:
    """Return *entry* with what it states as a text, `None` where it is no entry."""
    if not isinstance(entry, dict) or _AS_TEXT not in entry:
        return entry if isinstance(entry, dict) else None
    try:
        members = json.loads(str(entry[_AS_TEXT]))
    except (ValueError, RecursionError):
        return None
    return {**members, **entry} if isinstance(members, dict) else None


def _key(tool: Tool) -> Key:
    return tool.source_id, tool.name


_SCHEMAS = ("inputSchema", "outputSchema")


def _members(tool: Tool) -> JsonObject:
    members: JsonObject = {
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }
    return {
        name: one for name, one in members.items() if one or (name in _SCHEMAS and one is not None)
    }


def _tool(source_id: str, name: str, entry: JsonObject) -> Tool:
    title, description = entry.get("title"), entry.get("description")
    schema, output = entry.get("inputSchema"), entry.get("outputSchema")
    annotations = entry.get("annotations")
    return Tool(
        id="",
        source_id=source_id,
        name=name,
        title=title if isinstance(title, str) else None,
        description=description if isinstance(description, str) else "",
        input_schema=schema if isinstance(schema, dict) else {},
        output_schema=output if isinstance(output, dict) else None,
        annotations=annotations if isinstance(annotations, dict) else {},
    )
