"""`mcpg schema`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Annotated, Any

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.output import Output
from mcpg.cli.render import RecordListing, write_listing
from mcpg.errors import NotFoundError, UsageError
from mcpg.show.blocks import CodeSpan, Column, Styled, Table
from mcpg.text.json_values import JsonObject
from mcpg.text.suggestions import suggest

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
        from mcpg.cli.source_settings import settings_schema  # noqa: PLC0415 - imports pydantic

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


EXAMPLES = """\
mcpg schema
mcpg schema search > search.schema.json
mcpg schema list --line
mcpg schema hints-file > hints.schema.json
mcpg schema --format ids"""


def complete_name(incomplete: str) -> list[str]:
    """Return the schemas whose names begin with *incomplete*."""
    return [name for name in schema_names() if name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A schema by its name or by that of its format, such as mcpg/search/1. [default: "
        "list them]",
        autocompletion=complete_name,
        show_default=False,
    ),
]
Line = Annotated[bool, typer.Option("--line", help="Print the schema of one line of JSON Lines.")]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "schema", examples=EXAMPLES, more="docs/reference/json-formats.md")(run)


def run(
    output: Output,
    *,
    name: Name = None,
    line: Line = False,
    form: options.ListFormat = "text",
) -> int:
    """Print the JSON Schema of the output of a command, or of a file.

    Within a version of a format, members may be added: ignore those that you do not know. The
    schemas settings (mcpg.toml), hints-file and judged-queries are for editors.
    """
    if name is not None:
        if form not in ("text", "json"):
            raise UsageError("a schema is JSON", place="--format", remedy="leave it out")
        output.json(json_schema(name, line=line))
        return ExitCode.DONE
    schemas = [*_records()]
    if form == "json":
        output.json({"schema": "mcpg/schema/1", "schemas": schemas})
    else:
        write_listing(_listing(schemas), form, output)
    return ExitCode.DONE


def _records() -> Iterable[JsonObject]:
    for name in schema_names():
        schema = json_schema(name)
        definitions = schema.get("$defs")
        yield {
            "name": name,
            "title": schema["title"],
            "id": schema["$id"],
            "hasLines": isinstance(definitions, dict) and LINE in definitions,
            "description": schema["description"],
        }


def _listing(schemas: list[JsonObject]) -> RecordListing:
    rows = tuple(
        (
            Styled(CodeSpan(str(one["name"])), "cyan"),
            CodeSpan(_first_sentence(str(one["description"]))),
        )
        for one in schemas
    )
    columns = (Column("schema", is_whole=True), Column("description"))
    members = ("name", "title", "id", "hasLines", "description")
    return RecordListing(schemas, members, "name", Table("Schemas", columns, rows, has_heads=True))


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].removesuffix('.')}."
