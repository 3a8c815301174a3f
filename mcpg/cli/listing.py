"""Lists as every command prints them: as a table for people, and one record a line for programs."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpg.cli.matches import TextView
from mcpg.cli.output import Output
from mcpg.cli.terminal import is_terminal, json_safe, lines_kept, one_line
from mcpg.reports.blocks import Table
from mcpg.text.plain_json import write_json

_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class RecordListing:
    """A list that a command prints.

    Attributes:
        records: The members of the list in the JSON of the command, in order.
        members: Names of the members of a record that are columns of CSV; a dotted name leads
            into an object.
        identity: Name of the member that identifies a record.
        table: The list for people, or what makes it.
    """

    records: Sequence[Mapping[str, Any]]
    members: tuple[str, ...]
    identity: str
    table: Table | Callable[[], Table]


def write_listing(listing: RecordListing, form: str, output: Output) -> None:
    """Write *listing* in the *form* `text`, `jsonl`, `csv`, `ids` or `markdown`."""
    output.text(listing_text(listing, form, output))


def listing_text(listing: RecordListing, form: str, output: TextView) -> str:
    """Return *listing* in the *form* `text`, `jsonl`, `csv`, `ids` or `markdown`."""
    match form:
        case "jsonl":
            return "\n".join(map(_json_line, listing.records))
        case "csv":
            return _csv(listing)
        case "ids":
            found = (_cell(_member(record, listing.identity)) for record in listing.records)
            return "\n".join(map(one_line, found))
        case "markdown":
            from mcpg.cli.markdown import markdown  # noqa: PLC0415 - only for this format

            return markdown([make_table(listing)])
        case _:
            return table_text(make_table(listing), output)


def make_table(listing: RecordListing) -> Table:
    """Return the list for people."""
    return listing.table() if callable(listing.table) else listing.table


def table_text(table: Table, output: TextView) -> str:
    """Return *table* as text: drawn by rich on a terminal, in whole aligned rows in a pipe."""
    from mcpg.cli.text import TextLayout, text  # noqa: PLC0415 - other formats do without

    if not is_terminal(sys.stdout):
        return text([table], output)
    from rich import box  # noqa: PLC0415 - slow to import, and only to be looked at
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    layout = TextLayout(output)
    columns, places = layout.select_columns(table)
    cells = [[layout.spans(row[place]) for place in places] for row in table.cells]
    heads = [layout.spans(column.head) for column in columns]
    drawn = Drawn(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, size in zip(columns, layout.sizes(columns, [heads, *cells]), strict=True):
        drawn.add_column(
            column.head,
            justify="right" if column.is_number else "left",
            no_wrap=not (column.is_whole or table.wraps),
            overflow="fold" if column.is_whole else "ellipsis",
            width=None if table.wraps else size,
        )
    for row in cells:
        drawn.add_row(*(Text.assemble(*cell) for cell in row))
    console = Console(
        file=io.StringIO(),
        width=output.columns,
        force_terminal=output.is_colored(sys.stdout),
        color_system="standard" if output.is_colored(sys.stdout) else None,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _json_line(record: Mapping[str, Any]) -> str:
    return json_safe(write_json(record))


def _csv(listing: RecordListing) -> str:
    import csv  # noqa: PLC0415 - only for this format

    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(listing.members)
    writer.writerows(_cells(listing))
    return written.getvalue().rstrip("\n")


def _cells(listing: RecordListing) -> Iterator[list[str]]:
    for record in listing.records:
        yield [_no_formula(_member(record, name)) for name in listing.members]


def _no_formula(member: Any) -> str:
    """Return *member* as a cell that a spreadsheet reads as text, unless it is a number.

    Source: OWASP, "CSV Injection".
    """
    cell = lines_kept(_cell(member))
    is_number = isinstance(member, int | float)
    return cell if is_number or not cell.startswith(_FORMULA_SIGNS) else f"'{cell}"


def _member(record: Mapping[str, Any], name: str) -> Any:
    """Return the member of *record* at the dotted *name*, `None` where there is none."""
    found: Any = record
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _cell(member: Any) -> str:
    """Return *member* as text: a list by its members, what has a structure as JSON."""
    match member:
        case None:
            return ""
        case str():
            return member
        case bool():
            return "true" if member else "false"
        case list() if not any(isinstance(one, dict | list) for one in member):
            return "; ".join(map(_cell, member))
        case _:
            return write_json(member)
