"""The JSON Schemas of what mcpg prints, and of files that people write, in the folder `schemas`.

The schemas are hand-written, because a format is a contract and not the shape of some class; tests
compare them with real output in both directions. Definitions that several formats share stand in
`common.json`, and are copied into each schema that refers to them, so that a schema needs no other
file. The schema of `mcpg.toml` alone is made of the models that check that file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from mcpg.errors import NotFoundError, UsageError
from mcpg.json_types import JsonObject
from mcpg.suggestions import suggest

DIALECT = "https://json-schema.org/draft/2020-12/schema"
LINE = "line"
"""Name of the definition of one line of JSON Lines."""

SETTINGS = "settings"
FILES = ("hints-file", "judged-queries", "lock-file", "observed-file", SETTINGS)
"""Names of the schemas of files, which people write or keep."""

_COMMON = "common"
_FOLDER = files("mcpg.cli") / "schemas"
_REFERENCE = "#/$defs/"


def format_names() -> list[str]:
    """Return the names of the schemas of what commands print, in alphabetical order."""
    stems = (file.name.removesuffix(".json") for file in _FOLDER.iterdir())
    return sorted(name for name in stems if name not in (*FILES, _COMMON))


def schema_names() -> list[str]:
    """Return the names of all schemas, those of files last."""
    return [*format_names(), *FILES]


def json_schema(name: str, *, line: bool = False) -> JsonObject:
    """Return the schema *name*, such as `search` or `graph-stats`, with all that it refers to.

    Args:
        name: One of `schema_names()`, or the name of its format, such as `mcpg/search/1`.
        line: Whether to return the schema of one line of JSON Lines instead.

    Raises:
        NotFoundError: No schema has that name.
        UsageError: The format has no lines.
    """
    schema = _read(_stem(name))
    own = schema.pop("$defs", {})
    if line:
        if LINE not in own:
            raise UsageError(f"{schema['title']} has no lines", place="--line")
        schema = {
            "$id": f"{schema['$id']}:{LINE}",
            "title": f"{schema['title']}, one line",
            "$ref": _REFERENCE + LINE,
        }
    needed = _select_definitions(schema, common_definitions() | own)
    definitions = {"$defs": needed} if needed else {}
    return {"$schema": DIALECT, **schema, **definitions}


def common_definitions() -> JsonObject:
    """Return the definitions that several schemas share, by name."""
    found: JsonObject = _read(_COMMON)["$defs"]
    return found


def _stem(name: str) -> str:
    known = schema_names()
    titled = {f"mcpg/{schema}/1": schema for schema in format_names()}
    if name in (*known, *titled):
        return titled.get(name, name)
    near = suggest(name, known)
    remedy = f"did you mean {near[0]!r}?" if near else "list them with `mcpg schema`"
    raise NotFoundError(f"no schema is called {name!r}", remedy=remedy)


def _read(stem: str) -> Any:
    if stem == SETTINGS:
        from mcpg.cli.settings_schema import settings_schema  # noqa: PLC0415 - imports pydantic

        return settings_schema()
    return json.loads((_FOLDER / f"{stem}.json").read_text("utf-8"))


def _select_definitions(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """Return those of *definitions* that *schema* refers to, directly or through each other."""
    found: dict[str, None] = {}
    waiting = [*_references(schema)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += _references(definitions[name])
    return {name: one for name, one in definitions.items() if name in found}


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix(_REFERENCE)
        for one in part.values():
            yield from _references(one)
    elif isinstance(part, list):
        for one in part:
            yield from _references(one)
