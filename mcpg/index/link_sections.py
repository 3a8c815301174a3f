"""Compiling the links of documents, and all that their tools provide to each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from mcpg.documents.model import ToolDocument
from mcpg.index.layout import COVERAGES, HUNDREDTHS, KINDS, NONE, ORIGINS
from mcpg.index.packing import Section, rows_sections, texts_sections
from mcpg.relations.edges import FieldMapping
from mcpg.relations.provides import Provision, build_field_index

_Mapped: TypeAlias = "tuple[str, tuple[FieldMapping, ...]]"


def relation_sections(
    documents: Sequence[ToolDocument], provisions: Sequence[Sequence[Provision]] | None = None
) -> Iterator[Section]:
    """Return the sections of links and of provisions.

    Args:
        documents: The documents, in the order of their tools' ids.
        provisions: What each tool provides to others, none left out; `None` where not known yet.
    """
    if provisions is None:
        provisions = build_field_index([document.tool for document in documents]).provisions()
    mappings: dict[_Mapped, int] = {}
    yield from _link_sections(documents, mappings)
    yield from _provision_sections(provisions, mappings)
    yield from _mapping_sections(mappings)


def _link_sections(
    documents: Sequence[ToolDocument], mappings: dict[_Mapped, int]
) -> Iterator[Section]:
    """Return the sections of links: to whom, what they say, how strong they are and why."""
    tools = {document.uri: number for number, document in enumerate(documents)}
    links = [link for document in documents for link in document.links]
    reasons = sorted({link.reason for link in links})
    numbers = {reason: number for number, reason in enumerate(reasons)}
    targets = [[tools.get(link.target, NONE) for link in one.links] for one in documents]
    yield from rows_sections("links", targets)
    yield from rows_sections("linked_by", _invert_targets(targets, len(documents)))
    yield Section("links.kind", "B", bytes(KINDS.index(link.kind) for link in links))
    yield Section("links.weight", "d", array("d", (link.weight for link in links)).tobytes())
    reason_of = array("I", (numbers[link.reason] for link in links))
    yield Section("links.reason", "I", reason_of.tobytes())
    yield from texts_sections("reasons", reasons)
    yield Section("links.origin", "B", bytes(ORIGINS.index(link.origin) for link in links))
    mapped = array("I", (_number(link.coverage, link.fields, mappings) for link in links))
    yield Section("links.mapping", "I", mapped.tobytes())


def _provision_sections(
    rows: Sequence[Sequence[Provision]], mappings: dict[_Mapped, int]
) -> Iterator[Section]:
    """Return the sections of what each tool provides to others."""
    found = [provision for row in rows for provision in row]
    targets = [[provision.target for provision in row] for row in rows]
    yield from rows_sections("provides", targets)
    yield from rows_sections("provided_by", _invert_targets(targets, len(rows)))
    weights = bytes(round(one.weight * HUNDREDTHS) for one in found)
    yield Section("provides.weight", "B", weights)
    mapped = array("I", (_number(one.coverage, one.fields, mappings) for one in found))
    yield Section("provides.mapping", "I", mapped.tobytes())


def _invert_targets(targets: Iterable[Iterable[int]], size: int) -> list[list[int]]:
    """Return for each tool the numbers of the items that reach it."""
    found: list[list[int]] = [[] for _ in range(size)]
    numbered = enumerate(target for row in targets for target in row)
    for number, target in numbered:
        if target != NONE:
            found[target].append(number)
    return found


def _number(
    coverage: str | None, fields: tuple[FieldMapping, ...], mappings: dict[_Mapped, int]
) -> int:
    if not coverage and not fields:
        return NONE
    return mappings.setdefault((coverage or "", fields), len(mappings))


def _mapping_sections(mappings: Iterable[_Mapped]) -> Iterator[Section]:
    names = sorted(
        {name for _, fields in mappings for one in fields for name in (one.given, one.argument)}
    )
    numbers = {name: number for number, name in enumerate(names)}
    rows = (
        [
            COVERAGES.index(coverage),
            *(
                number
                for one in fields
                for number in (numbers[one.given], numbers[one.argument], int(one.required))
            ),
        ]
        for coverage, fields in mappings
    )
    yield from texts_sections("fields", names)
    yield from rows_sections("mappings", rows)
