"""From the text of one source file to what it holds, by its kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from mcpg.catalog.entries import read_manifest
from mcpg.catalog.hintfiles import read_hint_rules
from mcpg.catalog.model import SourceDocument
from mcpg.catalog.sources.batch import RawBundle, SourceBatch
from mcpg.catalog.sources.kinds import FileKind

if TYPE_CHECKING:
    from mcpg.catalog.entries import ManifestTools


class ToolReader(Protocol):
    """Reads the tools in the text of one file."""

    def __call__(
        self, text: str, place: str, *, default_source: str, source_id: str | None
    ) -> ManifestTools:
        """Read them."""


LOCAL_SOURCE = "local"
"""Source id of tools that come from no file with a name."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one source.

    Attributes:
        text: The whole text.
        place: The file as the user would name it, for messages.
        path: Path of a document, relative to the folder that was named.
        source_id: Source id that overrides what a manifest states, or `None`.
        stem_names_source: Whether the file's name can serve as source id.
    """

    text: str
    place: str
    path: str
    source_id: str | None = None
    stem_names_source: bool = True

    def read_as(self, kind: FileKind) -> SourceBatch:
        """Read the text as a source of *kind*.

        Raises:
            SourceError: It is broken.
        """
        if kind is FileKind.MANIFEST:
            return self._tools(read_manifest)
        if kind is FileKind.OPENAPI:
            from mcpg.catalog.openapi import read_openapi  # noqa: PLC0415 - few files are such

            return self._tools(read_openapi)
        if kind is FileKind.HINTS:
            rules, noticed = read_hint_rules(self.text, self.place)
            return SourceBatch(rules=rules, diagnostics=noticed)
        if kind is FileKind.BUNDLE:
            return SourceBatch(bundles=(RawBundle(self.text, self.place),))
        content = self.text.replace("\r\n", "\n").replace("\r", "\n")
        return SourceBatch(documents=(SourceDocument(self.path, content, place=self.place),))

    def _tools(self, read: ToolReader) -> SourceBatch:
        stem = PurePath(self.path).stem.strip() if self.stem_names_source else ""
        found = read(
            self.text,
            self.place,
            default_source=stem or LOCAL_SOURCE,
            source_id=self.source_id,
        )
        return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)
