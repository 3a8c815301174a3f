"""Triples as Turtle, in the order in which they come.

Written here and not by a library because the bytes are to be the same under every version of one,
and because making an object of each triple takes longer than all the rest.
"""

from __future__ import annotations

from itertools import groupby
from json.encoder import encode_basestring
from operator import itemgetter
from typing import TYPE_CHECKING

from mcpg.graph.terms import Literal
from mcpg.graph.vocabulary import PREFIXES, RDF_TYPE, XSD_BOOLEAN, XSD_DECIMAL, XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.graph.terms import Triple

_SUBJECT, _PREDICATE = itemgetter(0), itemgetter(1)
_NAMESPACES = tuple(PREFIXES.values())


def turtle(triples: Iterable[Triple]) -> Iterator[str]:
    """Write *triples* as the pieces of a Turtle document.

    Triples of one subject, and among them those of one predicate, are joined where they come one
    after the other.
    """
    for prefix, namespace in PREFIXES.items():
        yield f"@prefix {prefix}: <{namespace}> .\n"
    names = _Names()
    verbs = _Names({RDF_TYPE: "a"})
    for subject, group in groupby(triples, _SUBJECT):
        facts = " ;\n    ".join(
            f"{verbs[predicate]} {', '.join([_written(one[2], names) for one in same])}"
            for predicate, same in groupby(group, _PREDICATE)
        )
        yield f"\n{names[subject]} {facts} .\n"


class _Names(dict[str, str]):
    """IRIs as Turtle writes them, those of the vocabularies with their prefix."""

    def __missing__(self, iri: str) -> str:
        if iri.startswith(_NAMESPACES):
            self[iri] = name = _prefixed(iri)
            return name
        return f"<{iri}>"


def _prefixed(iri: str) -> str:
    for prefix, namespace in PREFIXES.items():
        local = iri.removeprefix(namespace)
        if local != iri and local.isascii() and local.isalpha():
            return f"{prefix}:{local}"
    return f"<{iri}>"


def _written(value: str | Literal, names: _Names) -> str:
    if not isinstance(value, Literal):
        return names[value]
    text, datatype, language = value
    if datatype == XSD_BOOLEAN or (datatype == XSD_DECIMAL and "." in text):
        return text
    # The escapes of JSON are escapes of Turtle, too.
    quoted = encode_basestring(text)
    if language:
        return f"{quoted}@{language}"
    return quoted if datatype == XSD_STRING else f"{quoted}^^{names[datatype]}"
