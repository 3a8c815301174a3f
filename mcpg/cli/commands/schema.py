"""`mcpg schema`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Annotated, Any

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.cli.source_settings import settings_schema
from mcpg.errors import NotFoundError, UsageError
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest

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
    """Return the names of the schemas of commands' output, in alphabetical order."""
    stems = (file.name.removesuffix(".json") for file in _FOLDER.iterdir())
    return sorted(name for name in stems if name not in (*FILES, _COMMON))


def schema_names() -> list[str]:
    """Return the names of all schemas, schemas of files last."""
    return [*format_names(), *FILES]


def json_schema(name: str, *, line: bool = False) -> JsonObject:
    """Return the schema *name*, such as `search` or `graph-stats`, with all that it refers to.

    Args:
        name: One of `schema_names()`, or the name of its format, such as `mcpg/search/1`.
        line: Whether to return the schema of one line of JSON Lines instead.
    """
    known = schema_names()
    stem = {f"mcpg/{one}/1": one for one in format_names()}.get(name, name)
    if stem not in known:
        near = suggest(name, known)
        remedy = f"did you mean {near[0]!r}?" if near else "list them with `mcpg schema`"
        raise NotFoundError(f"no schema is called {name!r}", remedy=remedy)
    schema = _read(stem)
    own = schema.pop("$defs", {})
    if line:
        if LINE not in own:
            raise UsageError(f"{schema['title']} has no lines", place="--jsonl")
        schema = {
            "$id": f"{schema['$id']}:{LINE}",
            "title": f"{schema['title']}, one line",
            "$ref": _REFERENCE + LINE,
        }
    available = common_definitions() | own
    needed: set[str] = set()
    waiting = {*_find_references(schema)}
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= {*_find_references(available[name])} - needed
    found = {one: part for one, part in available.items() if one in needed}
    definitions = {"$defs": found} if found else {}
    return {"$schema": DIALECT, **schema, **definitions}


def common_definitions() -> JsonObject:
    """Return the definitions that several schemas share, by name."""
    found: JsonObject = _read(_COMMON)["$defs"]
    return found


def _read(stem: str) -> Any:
    if stem == SETTINGS:
        return settings_schema()
    return json.loads((_FOLDER / f"{stem}.json").read_text("utf-8"))


def _find_references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].removeprefix(_REFERENCE)
        for one in part.values():
            yield from _find_references(one)
    elif isinstance(part, list):
        for one in part:
            yield from _find_references(one)


EXAMPLES = """\
mcpg schema
mcpg schema search > search.schema.json
mcpg schema list --jsonl
mcpg schema hints-file > hints.schema.json
mcpg schema --format ids"""
MORE = "docs/reference/json-formats.md"


def run(
    output: Output,
    *,
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "Name of a schema or format, such as mcpg/search/1. [default: list them]",
            autocompletion=lambda incomplete: [
                n for n in schema_names() if n.startswith(incomplete)
            ],
        ),
    ] = None,
    line: Annotated[bool, option("--jsonl", "Print the schema of one line of JSON Lines.")] = False,
    form: options.ListFormat = "text",
) -> int:
    """Print the JSON Schema of the output of a command, or of a file.

    Ignore unknown members: a version can add some. The schemas settings (mcpg.toml),
    hints-file and judged-queries are for editors.
    """
    if name is not None:
        if form not in ("text", "json"):
            raise UsageError("a schema is JSON", place="--format", remedy="leave it out")
        output.json(json_schema(name, line=line))
        return ExitCode.DONE
    schemas = []
    for stem, schema in ((one, json_schema(one)) for one in schema_names()):
        about = {"name": stem, "title": schema["title"], "id": schema["$id"]}
        definitions: Any = schema.get("$defs", ())
        about |= {"hasLines": LINE in definitions, "description": schema["description"]}
        schemas.append(about)
    if form == "json":
        output.json({"schema": "mcpg/schema/1", "schemas": schemas})
        return ExitCode.DONE
    rows = []
    for one in schemas:
        sentence = str(one["description"]).partition(". ")[0].removesuffix(".")
        rows.append((Styled(CodeSpan(str(one["name"])), "cyan"), CodeSpan(f"{sentence}.")))
    columns = (Column("schema", is_whole=True), Column("description"))
    members = ("name", "title", "id", "hasLines", "description")
    table = Table("Schemas", columns, tuple(rows), has_heads=True)
    write_listing(RecordListing(schemas, members, "name", table), form, output)
    return ExitCode.DONE
