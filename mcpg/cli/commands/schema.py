"""`mcpg schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.json_schemas import json_schema, schema_names
from mcpg.cli.output import Output
from mcpg.cli.text import text
from mcpg.reports.blocks import Code, Column, Styled, Table

EXAMPLES = """\
mcpg schema
mcpg schema search
mcpg schema list --line
mcpg search "where is my parcel" --format json > found.json
mcpg schema search > search.schema.json"""

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A schema by its name or by that of its format, such as mcpg/search/1. Without it, "
        "the names are listed.",
        autocompletion=lambda incomplete: [
            name for name in schema_names() if name.startswith(incomplete)
        ],
        show_default=False,
    ),
]
Line = Annotated[
    bool, typer.Option("--line", help="Print the schema of one line of --format jsonl.")
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "schema", examples=EXAMPLES)(run)


def run(output: Output, *, name: Name = None, line: Line = False) -> int:
    """Print the JSON Schema of the output of a command.

    Each schema is self-contained, and says what every member means. The member `schema` of an
    object names its format and version: within a version, members may be added, so readers must
    ignore those that they do not know.
    """
    if name is None:
        output.text(text([_names()], output))
    else:
        output.json(json_schema(name, line=line))
    return ExitCode.DONE


def _names() -> Table:
    rows = []
    for name in schema_names():
        schema = json_schema(name)
        about = str(schema["description"])
        rows.append((Styled(Code(name), "cyan"), Code(str(schema["title"])), Code(about)))
    columns = (Column("name"), Column("format"), Column("describes"))
    return Table("Schemas", columns, tuple(rows))
