"""What a server that was asked replied, beside its tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.catalog.sources.batch import SourceBatch


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking one server.

    Attributes:
        batch: Its tools, or the diagnostic that says why there are none.
        seconds: How long it took, from its start to its last tool.
        has_answered: Whether it told its tools, be they none.
        name: What it calls itself, "" for nothing; values of its configuration are hidden.
        version: Its version, likewise.
        protocol: The version of the protocol that it speaks, "" where it did not answer.
    """

    batch: SourceBatch
    seconds: float
    has_answered: bool
    name: str = ""
    version: str = ""
    protocol: str = ""
