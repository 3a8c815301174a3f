"""What triples are made of.

IRIs are plain texts; no node of the graph is blank.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from mcpg.graph.vocabulary import XSD_STRING


class Literal(NamedTuple):
    """A value.

    Attributes:
        text: Its lexical form, without unpaired surrogates.
        datatype: IRI of its type.
    """

    text: str
    datatype: str = XSD_STRING


Triple: TypeAlias = tuple[str, str, str | Literal]
"""IRI of a subject, IRI of a predicate, and the IRI or the value of an object."""
