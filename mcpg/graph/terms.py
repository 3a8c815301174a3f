"""What triples are made of.

IRIs are plain texts; no node of the graph is blank.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.graph.vocabulary import RDF_JSON, XSD_STRING

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject

_UNPAIRED = re.compile("[\ud800-\udfff]")


class Literal(NamedTuple):
    """A value.

    Attributes:
        text: Its lexical form, without unpaired surrogates.
        datatype: IRI of its type.
        language: Its language tag where the type is that of texts in a language, else "".
    """

    text: str
    datatype: str = XSD_STRING
    language: str = ""


Triple: TypeAlias = tuple[str, str, str | Literal]
"""IRI of a subject, IRI of a predicate, and the IRI or the value of an object."""


def plain(text: str) -> Literal:
    """Give *text* as a value; half of a surrogate pair becomes U+FFFD."""
    return Literal(_UNPAIRED.sub("\ufffd", text))


def json_value(value: JsonObject) -> Literal:
    """Give a JSON object as an rdf:JSON value, its members in the order in which they stand."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Literal(_UNPAIRED.sub("\ufffd", text), RDF_JSON)
