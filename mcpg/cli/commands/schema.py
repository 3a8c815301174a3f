"""`mcpg schema`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
_ONE_LINE = {"$ref": f"{_REFERENCE}{LINE}"}


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
            raise UsageError(f"{schema['title']} has no lines", place="--line")
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


MARKER = (
    "<!-- Generated from the schemas by `python -m mcpg.cli.reference`: "
    "do not edit below this line. -->"
)

Definitions = Mapping[str, Any]


def refreshed_formats(page: str) -> str:
    """Return *page* with its part on the schemas brought up to date."""
    written = page.partition(MARKER)[0].rstrip()
    return "\n\n".join([written, MARKER, *_list_sections()]) + "\n"


def _list_sections() -> Iterator[str]:
    for name in format_names():
        schema = json_schema(name)
        yield f"## {schema['title']}"
        yield str(schema["description"])
        definitions: Any = schema.get("$defs", {})
        if LINE in definitions:
            members: Any = schema["properties"]
            lines = next(key for key, one in members.items() if one.get("items") == _ONE_LINE)
            yield f"A line of `--format jsonl` is one object of `{lines}`."
        yield _draw_table(schema, definitions)
    yield "## Shared objects"
    shared: Any = common_definitions()
    for name, one in shared.items():
        if "properties" in one:
            yield f"### {_make_title(name)}"
            bases = [_make_title(_read_name(base["$ref"])) for base in one.get("allOf", ())]
            added = (f" It has the members of a {_link(base)}, and:" for base in bases)
            yield f"{one['description']}{''.join(added)}"
            yield _draw_table(one, shared)


def _draw_table(part: Any, definitions: Definitions) -> str:
    rows = (f"| {' | '.join(row)} |" for row in _list_rows(part, "", definitions))
    return "\n".join(["| member | type | meaning |", "|---|---|---|", *rows])


def _list_rows(part: Any, path: str, definitions: Definitions) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each member of the object *part*, and of the objects within it."""
    required = part.get("required", ())
    for name, one in part.get("properties", {}).items():
        shown = f"{path}{name}"
        kind = _name_type(one, definitions) + ("" if name in required else ", optional")
        yield f"`{shown}`", kind, _describe(one, definitions)
        yield from _list_inner_rows(one, shown, definitions)


def _list_inner_rows(
    one: Any, path: str, definitions: Definitions
) -> Iterator[tuple[str, str, str]]:
    if "items" in one:
        yield from _list_inner_rows(one["items"], f"{path}[]", definitions)
    elif isinstance(one.get("additionalProperties"), dict):
        yield from _list_inner_rows(one["additionalProperties"], f"{path}.*", definitions)
    elif "anyOf" in one:
        for choice in one["anyOf"]:
            if len(one["anyOf"]) > _NULLABLE and "$ref" in choice:
                found = definitions[_read_name(choice["$ref"])]
                yield f"`{path}`", "object", found["description"]
            yield from _list_inner_rows(choice, path, definitions)
    elif "$ref" in one:
        if not _has_section(one["$ref"]):
            yield from _list_inner_rows(definitions[_read_name(one["$ref"])], path, definitions)
    else:
        yield from _list_rows(one, f"{path}.", definitions)


_NULLABLE = 2


def _name_type(one: Any, definitions: Definitions) -> str:
    """Return the type of a member: JSON types, or the section that describes its objects."""
    match one:
        case {"$ref": reference} if _has_section(reference):
            kind = _link(_make_title(_read_name(reference)))
        case {"$ref": reference}:
            kind = _name_type(definitions[_read_name(reference)], definitions)
        case {"anyOf": choices}:
            kind = " or ".join(dict.fromkeys(_name_type(part, definitions) for part in choices))
        case {"allOf": [base, *_]}:
            kind = f"{_name_type(base, definitions)} with more members"
        case {"items": part}:
            kind = f"list of {_name_type(part, definitions)}"
        case {"additionalProperties": dict(part)}:
            kind = f"object of {_name_type(part, definitions)}"
        case _:
            kinds = one.get("type", "string" if "const" in one else "any")
            kind = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return kind


def _describe(one: Any, definitions: Definitions) -> str:
    described = definitions[_read_name(one["$ref"])] if "$ref" in one else one
    text = str(one.get("description", described.get("description")))
    values = [f"`{choice}`" for choice in described.get("enum", ()) if choice]
    if values:
        text += f" One of {', '.join(values)}."
    if "const" in described and described["const"] is not True:
        text += f" Always `{described['const']}`."
    if "examples" in described:
        text += f" For example {', '.join(f'`{choice}`' for choice in described['examples'])}."
    return text


def _has_section(reference: str) -> bool:
    found: Any = common_definitions().get(_read_name(reference), {})
    return "properties" in found


def _read_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _make_title(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: f" {found[1].lower()}", name).capitalize()


def _link(title: str) -> str:
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


EXAMPLES = """\
mcpg schema
mcpg schema search > search.schema.json
mcpg schema list --line
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
            "A schema by its name or by that of its format, such as mcpg/search/1. [default: "
            "list them]",
            autocompletion=lambda incomplete: [
                n for n in schema_names() if n.startswith(incomplete)
            ],
        ),
    ] = None,
    line: Annotated[bool, option("--line", "Print the schema of one line of JSON Lines.")] = False,
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
