"""The JSON-LD context: how predicates are called in JSON, and what kind of value each has."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpg.graph.vocabulary import PREFIXES, XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTEXT_IRI = "urn:mcpg:context"
"""The name by which a JSON-LD document may refer to the context instead of holding it."""

REFERENCE = "@id"
"""The kind of value that is no datatype: an IRI."""

_FOLDER = files("mcpg.graph") / "data"


class Term(NamedTuple):
    """How JSON calls a predicate.

    Attributes:
        name: The key.
        kind: `REFERENCE`, or the IRI of the datatype of its values.
        is_set: Whether its values always stand in an array.
    """

    name: str
    kind: str
    is_set: bool


@cache
def context_text() -> str:
    """Give the file of the context, a JSON object with the one key `@context`."""
    return (_FOLDER / "context.jsonld").read_text("utf-8")


@cache
def context() -> Mapping[str, Any]:
    """Give the content of the context; treat it as read-only."""
    members: Mapping[str, Any] = json.loads(context_text())["@context"]
    return members


@cache
def terms() -> Mapping[str, Term]:
    """Give the key of each predicate, by IRI."""
    return {
        expanded(entry["@id"]): Term(name, _kind(entry), entry.get("@container") == "@set")
        for name, entry in _entries()
    }


@cache
def class_names() -> Mapping[str, str]:
    """Give the key of each class, by IRI."""
    named = {name: iri for name, iri in context().items() if name[:1].isupper()}
    return {expanded(iri): name for name, iri in named.items()}


def expanded(name: str) -> str:
    """Give the IRI that *name* abbreviates, or *name* when it has no prefix of ours."""
    prefix, colon, local = name.partition(":")
    is_short = colon and prefix in PREFIXES and not local.startswith("//")
    return f"{PREFIXES[prefix]}{local}" if is_short else name


def compacted(iri: str) -> str:
    """Give *iri* with its prefix, or as it is when none of ours fits."""
    if iri.startswith(_NAMESPACES):
        for prefix, namespace in PREFIXES.items():
            local = iri.removeprefix(namespace)
            # What follows a prefix never begins with two slashes: that is an IRI of its own.
            if local not in {iri, ""} and not local.startswith("//"):
                return f"{prefix}:{local}"
    return iri


_NAMESPACES = tuple(PREFIXES.values())


def _entries() -> list[tuple[str, Any]]:
    """Give the keys of predicates, the short form of each made long."""
    found = {
        name: {"@id": entry} if isinstance(entry, str) else entry
        for name, entry in context().items()
        if name not in PREFIXES and name[:1].islower()
    }
    return [(name, entry) for name, entry in found.items() if not entry["@id"].startswith("@")]


def _kind(entry: Mapping[str, Any]) -> str:
    kind = entry.get("@type", XSD_STRING)
    return kind if kind.startswith("@") else expanded(kind)
