"""Triples as N-Quads: one statement a line, all in the default graph."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from mcpg.graph.terms import Literal
from mcpg.graph.vocabulary import XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.graph.terms import Triple


def nquads(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the lines of an N-Quads document."""
    for subject, predicate, value in triples:
        yield f"<{subject}> <{predicate}> {_written(value)} .\n"


def _written(value: str | Literal) -> str:
    if not isinstance(value, Literal):
        return f"<{value}>"
    # The escapes of JSON are escapes of N-Quads, too.
    text = encode_basestring(value.text)
    if value.language:
        return f"{text}@{value.language}"
    return text if value.datatype == XSD_STRING else f"{text}^^<{value.datatype}>"
