"""What was noticed when a bundle was read, kept in its index for those who read that alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcpg.errors import Diagnostic
from mcpg.index.reader import Index
from mcpg.text.plain_json import read_json, write_json
from mcpg.values import to_json

if TYPE_CHECKING:
    from mcpg.index.packing import Section


OPENING = "opening"
"""The section of an index for what was noticed when its bundle was read."""


def pack_notices(path: str, diagnostics: Iterable[Diagnostic]) -> Section:
    """Return the section for what was noticed when the bundle at *path* was read."""
    from mcpg.index.packing import Section  # noqa: PLC0415 - what only reads needs none

    # Places below the bundle are kept without its path, which others may write differently.
    noticed = [
        to_json(one) | {"place": [one.place.removeprefix(path)]}
        if one.place and one.place.startswith(path)
        else to_json(one)
        for one in diagnostics
    ]
    return Section(OPENING, "B", write_json(noticed).encode("utf-8", "surrogatepass"))


def read_notices(index: Index, path: str) -> tuple[Diagnostic, ...] | None:
    """Return what was noticed when the bundle of *index*, at *path*, was read.

    `None` where that is not known.
    """
    if not index.has_section(OPENING):
        return None
    rows = read_json(str(index.section(OPENING), "utf-8", "surrogatepass"))
    below = [row for row in rows if isinstance(row["place"], list)]
    for row in below:
        row["place"] = path + row["place"][0]
    return tuple(Diagnostic(**row) for row in rows)
