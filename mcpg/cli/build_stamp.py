"""What `mcpg bundle` leaves in an index: of which sources it is made, and how much was reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mcpg.engine.model import recipe
from mcpg.index.file import fresh_index
from mcpg.index.layout import Section, StaleIndexError
from mcpg.index.reader import Index

_SECTION = "lastrun"


@dataclass(frozen=True, slots=True)
class BuildStamp:
    """What a build made of which sources.

    Attributes:
        signature: Signature of the sources; empty when they have none, or when a warning about
            them is to be repeated every time.
        noticed: Number of diagnostics.
        report: The facts that were reported about the bundle.
    """

    signature: str = ""
    noticed: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Section:
        """Return the section of an index that holds this stamp."""
        return Section(_SECTION, "B", json.dumps(asdict(self)).encode())


def stamped_index(bundle: str) -> tuple[Index, BuildStamp] | None:
    """Open the index beside *bundle*, checked as a whole, with its stamp.

    Returns:
        Both; `None` where the index is missing, stale, damaged or made by something else.
    """
    index = fresh_index(bundle, recipe())
    if index is None:
        return None
    try:
        index.verify()
        return index, BuildStamp(**json.loads(bytes(index.section(_SECTION))))
    except (StaleIndexError, TypeError, ValueError):
        return None


def build_stamp(bundle: str) -> BuildStamp:
    """Return the stamp in the index beside *bundle*, an empty one where there is none."""
    found = stamped_index(bundle)
    return found[1] if found else BuildStamp()
