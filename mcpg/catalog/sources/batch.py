"""What reading sources yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import HintRule, SourceDocument, Tool
    from mcpg.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class RawBundle:
    """The text of a bundle file, not yet parsed.

    Attributes:
        text: The whole file.
        place: Its path, for messages.
    """

    text: str
    place: str


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """All that was read from one or more sources.

    Attributes:
        tools: Tools of manifests, without ids.
        rules: Rules of hints files.
        documents: Markdown-LD documents, not yet parsed.
        bundles: Bundle files, not yet parsed.
        diagnostics: What was noticed.
    """

    tools: tuple[Tool, ...] = ()
    rules: tuple[HintRule, ...] = ()
    documents: tuple[SourceDocument, ...] = ()
    bundles: tuple[RawBundle, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @classmethod
    def join(cls, parts: Iterable[SourceBatch]) -> SourceBatch:
        """Put batches one after another."""
        batches = tuple(parts)
        return cls(
            tools=tuple(item for batch in batches for item in batch.tools),
            rules=tuple(item for batch in batches for item in batch.rules),
            documents=tuple(item for batch in batches for item in batch.documents),
            bundles=tuple(item for batch in batches for item in batch.bundles),
            diagnostics=tuple(item for batch in batches for item in batch.diagnostics),
        )
