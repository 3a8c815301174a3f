"""The formats in which a graph is written, and the files that may be replaced by one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcpg.cli.replacing import check_replaceable
from mcpg.errors import UsageError
from mcpg.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.cli.output import Output
    from mcpg.documents.model import ToolDocument

STDOUT = "-"


class GraphFormat(StrEnum):
    """What a graph is written as; by rdflib's names where it has one."""

    TURTLE = "turtle"
    JSON_LD = "json-ld"
    NQUADS = "nquads"


EXTENSIONS = {
    ".ttl": GraphFormat.TURTLE,
    ".turtle": GraphFormat.TURTLE,
    ".jsonld": GraphFormat.JSON_LD,
    ".nq": GraphFormat.NQUADS,
    ".nt": GraphFormat.NQUADS,
}
"""The format that the end of a file's name stands for."""

_MARK = "A graph of tools, made by mcpg"
_OPENINGS = {
    GraphFormat.TURTLE: f"# {_MARK}\n",
    GraphFormat.JSON_LD: '{\n  "@context": {\n    "@version": 1.1,\n    "kb": "urn:managedcode:',
    GraphFormat.NQUADS: f"# {_MARK}\n",
}
"""How the files of each format begin that mcpg wrote."""


def format_for(target: str, stated: GraphFormat | None) -> GraphFormat:
    """Give the format that is *stated*, or the one that the name of the file *target* ends in.

    Raises:
        UsageError: Neither says which.
    """
    if stated is not None:
        return stated
    if target == STDOUT:
        return GraphFormat.TURTLE
    found = EXTENSIONS.get(PurePath(target).suffix.lower())
    if found is None:
        raise UsageError(
            "the name of the file does not say in which format to write",
            place=f"--output {target}",
            remedy=f"add --format, or end the name in one of {', '.join(EXTENSIONS)}",
        )
    return found


def written_graph(
    documents: Sequence[ToolDocument], form: GraphFormat, *, is_framed: bool = False
) -> str:
    """Write what *documents* say as *form*; JSON-LD *is_framed* where asked for."""
    from mcpg.graph.exports import json_ld, nquads, turtle  # noqa: PLC0415 - help needs no graph
    from mcpg.graph.triples import triples_of  # noqa: PLC0415

    triples = triples_of(documents)
    if form is GraphFormat.JSON_LD:
        write = json_ld.framed_json_ld if is_framed else json_ld.json_ld
        return "".join(write(triples))
    writers = {GraphFormat.TURTLE: turtle.turtle, GraphFormat.NQUADS: nquads.nquads}
    return "".join((_OPENINGS[form], *writers[form](triples)))


def write_graph(target: str, text: str, form: GraphFormat, output: Output, *, force: bool) -> int:
    """Write *text* to the file *target*, or to standard output, and give its size in bytes.

    Raises:
        OutputError: The file holds something else than an export of mcpg, or cannot be written.
    """
    data = text.encode()
    if target == STDOUT:
        output.document(text)
        return len(data)
    if not force:
        check_replaceable(
            target,
            (_OPENINGS[form].encode(),),
            "graph that mcpg wrote in this format",
            "name another file, or add --force",
        )
    atomic_write(target, data)
    return len(data)
