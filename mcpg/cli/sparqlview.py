"""Answers to SPARQL queries: as a table for people, in the W3C's formats for programs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.cli.sanitise import cut, one_line, pad, width
from mcpg.cli.stdin import standard_input
from mcpg.errors import InputError, UsageError
from mcpg.files import is_file, read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.cli.output import Output
    from mcpg.graph.sparql import Answer

_LARGEST = 1024 * 1024
_WIDEST_COLUMN = 72
_GAP = "  "


class ResultFormat(StrEnum):
    """What the answer to a query is written as."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TTL = "ttl"


def query_of(argument: str) -> str:
    """Give the query that *argument* is, or that stands in the file of that name; - is stdin.

    Raises:
        InputError: The file cannot be read, or is no UTF-8.
    """
    if argument == "-":
        data, place = standard_input(_LARGEST), "standard input"
    elif "{" not in argument and is_file(argument):
        data, place = read_bytes(argument, _LARGEST), argument
    else:
        return argument
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(
            "is not UTF-8", place=f"{place}: byte {fault.start}", remedy="save it as UTF-8"
        ) from fault


def write_answer(answer: Answer, form: ResultFormat | None, output: Output) -> None:
    """Write *answer* to *output* in the format *form*, or in the one that suits it.

    Raises:
        UsageError: The answer has no such form.
    """
    is_graph = answer.form == "graph"
    form = form or (ResultFormat.TTL if is_graph else ResultFormat.TABLE)
    if is_graph != (form is ResultFormat.TTL):
        told = ("triples", "ttl") if is_graph else ("rows", "table, json or csv")
        raise UsageError(
            f"the answer has {told[0]}, which {form} cannot hold",
            place="--format",
            remedy=f"use {told[1]}, or leave it out",
        )
    if is_graph:
        output.document(answer.turtle())
    elif form is ResultFormat.JSON:
        output.json(answer.json())
    elif answer.form == "ask":
        output.text(str(answer.truth).lower())
    elif form is ResultFormat.CSV:
        output.document(answer.csv())
    else:
        output.text(_table(answer, output))


def _table(answer: Answer, output: Output) -> str:
    from mcpg.graph.sparql.answer import shown  # noqa: PLC0415 - help needs no graph

    names = answer.variables
    rows = [[one_line(shown(row.get(name))) for name in names] for row in answer.rows]
    columns = [
        min(_WIDEST_COLUMN, max(map(width, (name, *(row[place] for row in rows)))))
        for place, name in enumerate(names)
    ]
    head = output.paint(_line(names, columns), "bold")
    return "\n".join((head, *(_line(row, columns) for row in rows)))


def _line(cells: Sequence[str], columns: Sequence[int]) -> str:
    pairs = zip(cells, columns, strict=True)
    return _GAP.join(pad(cut(cell, column), column) for cell, column in pairs).rstrip()
