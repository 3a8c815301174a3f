"""Where the fitted model of an index comes from: a name and how it was fitted, kept with it.

Nothing is ranked by these texts, so a search never reads them.
"""

from __future__ import annotations

import json

from mcpg.index import Index
from mcpg.index.layout import Section, StaleIndexError
from mcpg.values import value

SECTION = "model.origin"
"""Name of the section of an index that holds its model's origin, as JSON."""

IGNORED = "model.ignored"
"""Name of the section that says why the model is not the one that the bundle carries. An index has
it only where that is so."""


@value
class ModelProvenance:
    """A model's name, and for people what it was fitted on, how, and how well."""

    name: str
    provenance: str = ""


def provenance_sections(origin: ModelProvenance, ignored: str = "") -> list[Section]:
    """Return the sections that keep in an index where its model comes from.

    *ignored* is why it is not the model that the bundle carries, "" if it is or there is none.
    """
    members = {"name": origin.name, "provenance": origin.provenance}
    sections = [Section(SECTION, "B", json.dumps(members).encode())]
    return [*sections, Section(IGNORED, "B", ignored.encode())] if ignored else sections


def provenance_of(index: Index) -> ModelProvenance:
    """Return where the model of *index* comes from.

    Raises:
        StaleIndexError: The index does not say, or what it says is broken.
    """
    try:
        members = json.loads(bytes(index.section(SECTION)))
        return ModelProvenance(str(members["name"]), str(members["provenance"]))
    except (KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("the origin of its model is broken") from fault


def ignored_of(index: Index) -> str:
    """Explain why the model of *index* is not the one that its bundle carries, "" if it may be."""
    if not index.has_section(IGNORED):
        return ""
    return bytes(index.section(IGNORED)).decode("utf-8", "replace")
