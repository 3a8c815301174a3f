"""`mcpg schema`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.json_schemas import LINE, json_schema, schema_names
from mcpg.cli.listing import RecordListing, write_listing
from mcpg.cli.output import Output
from mcpg.errors import UsageError
from mcpg.json_types import JsonObject
from mcpg.reports.blocks import CodeSpan, Column, Styled, Table

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
