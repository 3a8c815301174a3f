"""Where the documents that a gateway searches come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcpg.catalog.model import SourceDocument, Tool


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    """Documents are made of what the sources say of their tools."""


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Documents are read: a bundle, a folder of documents, or one document.

    Attributes:
        path: Where they are.
    """

    path: str


@dataclass(frozen=True, slots=True)
class CustomGraph:
    """Documents are made by the host.

    Attributes:
        documents: Makes them of the tools, which carry their ids; it runs in a thread of its own,
            whenever the tools have changed. `None` is told as a mistake.
    """

    documents: Callable[[Sequence[Tool]], Iterable[SourceDocument]] | None


GraphSource = GeneratedGraph | FileGraph | CustomGraph

GENERATED = GeneratedGraph()
"""What a gateway does unless it is told otherwise."""
