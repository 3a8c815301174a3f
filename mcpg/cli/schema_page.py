"""The generated part of the reference page of JSON formats: the members of every schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcpg.cli.json_schemas import LINE, common_definitions, format_names, json_schema

MARKER = (
    "<!-- Generated from the schemas by `python -m mcpg.cli.reference`: "
    "do not edit below this line. -->"
)

Definitions = Mapping[str, Any]


def refreshed_formats(page: str) -> str:
    """Return *page* with its part on the schemas brought up to date."""
    written = page.partition(MARKER)[0].rstrip()
    return "\n\n".join([written, MARKER, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    for name in format_names():
        schema = json_schema(name)
        yield f"## {schema['title']}"
        yield str(schema["description"])
        definitions: Any = schema.get("$defs", {})
        if LINE in definitions:
            kept = schema["properties"]
            yield f"A line of `--format jsonl` is one object of {_lines(kept)}."
        yield _table(schema, definitions)
    yield "## Shared objects"
    shared = common_definitions()
    for name, one in shared.items():
        if _is_object(one):
            yield f"### {_title(name)}"
            yield _introduction(one)
            yield _table(one, shared)


def _lines(properties: Any) -> str:
    """Name the list whose objects are the lines of JSON Lines."""
    reference = {"$ref": f"#/$defs/{LINE}"}
    return next(f"`{name}`" for name, one in properties.items() if one.get("items") == reference)


def _introduction(part: Any) -> str:
    bases = [_title(_name(one["$ref"])) for one in part.get("allOf", ())]
    added = "".join(f" It has the members of a {_link(base)}, and:" for base in bases)
    return f"{part['description']}{added}"


def _table(part: Any, definitions: Definitions) -> str:
    rows = (f"| {' | '.join(row)} |" for row in _rows(part, "", definitions))
    return "\n".join(["| member | type | meaning |", "|---|---|---|", *rows])


def _rows(part: Any, path: str, definitions: Definitions) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each member of the object *part*, and of the objects within it."""
    required = part.get("required", ())
    for name, one in part.get("properties", {}).items():
        shown = f"{path}{name}"
        kind = _type(one, definitions) + ("" if name in required else ", optional")
        yield f"`{shown}`", kind, _meaning(one, definitions)
        yield from _rows_within(one, shown, definitions)


def _rows_within(one: Any, path: str, definitions: Definitions) -> Iterator[tuple[str, str, str]]:
    if "items" in one:
        yield from _rows_within(one["items"], f"{path}[]", definitions)
    elif isinstance(one.get("additionalProperties"), dict):
        yield from _rows_within(one["additionalProperties"], f"{path}.*", definitions)
    elif "anyOf" in one:
        for choice in one["anyOf"]:
            if len(one["anyOf"]) > _NULLABLE and "$ref" in choice:
                found = definitions[_name(choice["$ref"])]
                yield f"`{path}`", "object", found["description"]
            yield from _rows_within(choice, path, definitions)
    elif "$ref" in one:
        if not _has_section(one["$ref"]):
            yield from _rows_within(definitions[_name(one["$ref"])], path, definitions)
    else:
        yield from _rows(one, f"{path}.", definitions)


_NULLABLE = 2


def _type(one: Any, definitions: Definitions) -> str:
    """Return the type of a member: JSON types, or the section that describes its objects."""
    if "$ref" in one:
        name = _name(one["$ref"])
        return (
            _link(_title(name))
            if _has_section(one["$ref"])
            else _format_named_type(name, definitions)
        )
    if "anyOf" in one:
        kinds = dict.fromkeys(_type(choice, definitions) for choice in one["anyOf"])
        return " or ".join(kinds)
    if "allOf" in one:
        return f"{_type(one['allOf'][0], definitions)} with more members"
    if "items" in one:
        return f"list of {_type(one['items'], definitions)}"
    if isinstance(one.get("additionalProperties"), dict):
        return f"object of {_type(one['additionalProperties'], definitions)}"
    kinds = one.get("type", "string" if "const" in one else "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _format_named_type(name: str, definitions: Definitions) -> str:
    return _type(definitions[name], definitions)


def _meaning(one: Any, definitions: Definitions) -> str:
    described = definitions[_name(one["$ref"])] if "$ref" in one else one
    text = str(one.get("description", described.get("description")))
    values = [f"`{choice}`" for choice in described.get("enum", ()) if choice]
    if values:
        text += f" One of {', '.join(values)}."
    if "const" in described and described["const"] is not True:
        text += f" Always `{described['const']}`."
    if "examples" in described:
        text += f" For example {', '.join(f'`{choice}`' for choice in described['examples'])}."
    return text


def _is_object(definition: Any) -> bool:
    return "properties" in definition


def _has_section(reference: str) -> bool:
    found = common_definitions().get(_name(reference))
    return found is not None and _is_object(found)


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _title(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f" {found[1].lower()}", name).capitalize()


def _link(title: str) -> str:
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
