"""Where the fitted model of an index comes from: a name and how it was fitted, kept with it.

Nothing is ranked by these texts, so a search never reads them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcpg.index.layout import Section, StaleIndexError
from mcpg.values import value

if TYPE_CHECKING:
    from mcpg.index import Index

SECTION = "model.origin"
"""Name of the section of an index that holds its model's origin, as JSON."""


@value
class ModelOrigin:
    """Where a model comes from.

    Attributes:
        name: What the model is called.
        provenance: What it was fitted on, how, and how well; for people.
    """

    name: str
    provenance: str = ""


def origin_section(origin: ModelOrigin) -> Section:
    """Give the section that keeps *origin* in an index."""
    members = {"name": origin.name, "provenance": origin.provenance}
    return Section(SECTION, "B", json.dumps(members).encode())


def origin_of(index: Index) -> ModelOrigin:
    """Give where the model of *index* comes from.

    Raises:
        StaleIndexError: The index does not say, or what it says is broken.
    """
    try:
        members = json.loads(bytes(index.section(SECTION)))
        return ModelOrigin(str(members["name"]), str(members["provenance"]))
    except (KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("the origin of its model is broken") from fault
