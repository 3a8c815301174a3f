"""The formats in which a graph is written, and the files that may be replaced by one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcpg.cli.replacing import check_replaceable
from mcpg.errors import UsageError
from mcpg.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.cli.output import Output
    from mcpg.documents.model import ToolDocument
    from mcpg.graph.terms import Triple

STDOUT = "-"


class GraphFormat(StrEnum):
    """What a graph is written as; by rdflib's names where it has one."""

    TURTLE = "turtle"
    JSON_LD = "json-ld"
    NQUADS = "nquads"
    GRAPHML = "graphml"
    MERMAID = "mermaid"
    DOT = "dot"
    HTML = "html"


EXTENSIONS = {
    ".ttl": GraphFormat.TURTLE,
    ".turtle": GraphFormat.TURTLE,
    ".jsonld": GraphFormat.JSON_LD,
    ".nq": GraphFormat.NQUADS,
    ".nt": GraphFormat.NQUADS,
    ".graphml": GraphFormat.GRAPHML,
    ".mmd": GraphFormat.MERMAID,
    ".mermaid": GraphFormat.MERMAID,
    ".dot": GraphFormat.DOT,
    ".gv": GraphFormat.DOT,
    ".html": GraphFormat.HTML,
    ".htm": GraphFormat.HTML,
}
"""The format that the end of a file's name stands for."""

_MARK = "A graph of tools, made by mcpg"
_OPENINGS = {
    GraphFormat.TURTLE: f"# {_MARK}\n",
    GraphFormat.JSON_LD: '{\n  "@context": {\n    "@version": 1.1,\n    "kb": "urn:managedcode:',
    GraphFormat.NQUADS: f"# {_MARK}\n",
    GraphFormat.GRAPHML: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {_MARK} -->\n',
    GraphFormat.MERMAID: f"%% {_MARK}\n",
    GraphFormat.DOT: f"// {_MARK}\n",
    GraphFormat.HTML: '<!doctype html>\n<html lang="en" data-mcpg-report=',
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
    from mcpg.graph.triples import triples_of  # noqa: PLC0415 - help needs no graph

    if form is GraphFormat.HTML:
        from mcpg.reports import graph_page  # noqa: PLC0415

        return graph_page(documents)
    pieces = _pieces(triples_of(documents), form, is_framed=is_framed)
    # JSON has no comments.
    opening = () if form is GraphFormat.JSON_LD else (_OPENINGS[form],)
    return "".join((*opening, *pieces))


def _pieces(triples: Iterator[Triple], form: GraphFormat, *, is_framed: bool) -> Iterator[str]:
    from mcpg.graph.exports import (  # noqa: PLC0415
        dot,
        graphml,
        json_ld,
        mermaid,
        nquads,
        turtle,
    )
    from mcpg.graph.network import network_of  # noqa: PLC0415

    statements = {
        GraphFormat.TURTLE: turtle.turtle,
        GraphFormat.NQUADS: nquads.nquads,
        GraphFormat.JSON_LD: json_ld.framed_json_ld if is_framed else json_ld.json_ld,
    }
    drawings = {
        GraphFormat.GRAPHML: graphml.graphml,
        GraphFormat.MERMAID: mermaid.mermaid,
        GraphFormat.DOT: dot.dot,
    }
    if form in statements:
        return statements[form](triples)
    return drawings[form](network_of(triples))


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
