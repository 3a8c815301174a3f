"""The documents of a batch of sources, parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.bundle.codec import decode_bundle
from mcpg.diagnostics import Code, Diagnostic, error
from mcpg.documents import parse_document
from mcpg.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import SourceDocument
    from mcpg.catalog.sources import SourceBatch
    from mcpg.documents import ToolDocument


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as it stands, and what it says.

    Attributes:
        source: The text and where it stands.
        document: What it says.
    """

    source: SourceDocument
    document: ToolDocument


def read_documents(
    batch: SourceBatch, source_id: str | None
) -> tuple[list[ReadDocument], list[Diagnostic]]:
    """Parse the documents of *batch*, those of its bundles too.

    A document that cannot be read is reported, and the others go on; one that stands twice with
    the same path and content counts once.

    Args:
        batch: What the sources hold.
        source_id: The server of documents that name none.

    Raises:
        BundleError: A bundle is damaged; no part of it is used.
    """
    bundled = [decode_bundle(raw.text, raw.place).documents for raw in batch.bundles]
    sources = [*batch.documents, *(source for bundle in bundled for source in bundle)]
    read: list[ReadDocument] = []
    diagnostics: list[Diagnostic] = []
    for source in _each_once(sources):
        try:
            document, found = parse_document(source, source_id=source_id)
        except DocumentError as fault:
            diagnostics.append(_invalid(fault, source))
        else:
            read.append(ReadDocument(source, document))
            diagnostics += found
    return read, diagnostics


def _each_once(sources: Iterable[SourceDocument]) -> list[SourceDocument]:
    ordered = sorted(sources, key=_sort_key)
    return list({(source.path, source.content): source for source in reversed(ordered)}.values())[
        ::-1
    ]


def _sort_key(source: SourceDocument) -> tuple[str, str, str, str]:
    return source.path, source.content, source.canonical_uri or "~", source.place


def _invalid(fault: DocumentError, source: SourceDocument) -> Diagnostic:
    advice = f"; {fault.remedy}" if fault.remedy else ""
    message = f"the document is left out: {fault.message}{advice}"
    return error(Code.DOCUMENT_INVALID, message, fault.place or source.place or source.path)
