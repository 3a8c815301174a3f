"""The documents of a batch of sources, parsed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, error
from mcpg.documents import parse_document
from mcpg.documents.records import decode_record, encode_record
from mcpg.errors import DocumentError
from mcpg.memo import Kind, Memo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcpg.catalog.model import SourceDocument
    from mcpg.documents import ToolDocument


Parsed = tuple["ToolDocument", tuple[Diagnostic, ...]]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as it stands, and what it says.

    Attributes:
        source: The text and where it stands.
        document: What it says.
        is_bundled: Whether it is of a bundle, in which documents about a tool are joined already.
        keeps_text: Whether the text can stand as it is; not so for one joined with another.
        about: Further documents that are about the same tool.
    """

    source: SourceDocument
    document: ToolDocument
    is_bundled: bool = False
    keeps_text: bool = True
    about: tuple[ReadDocument, ...] = ()

    @property
    def place(self) -> str:
        """Where the text stands, for messages."""
        return self.source.place or self.source.path

    def place_of(self, *words: str) -> str:
        """Return `file:line` of the first line that holds one of *words*, the file if none does."""
        for one in words:
            for item in (self, *self.about):
                text = item.source.content
                at = text.find(one)
                if at >= 0:
                    return f"{item.place}:{text.count(chr(10), 0, at) + 1}"
        return self.place


def _encode(parsed: Parsed) -> bytes | None:
    # What was noticed names the place of the document, which is no part of its content.
    document, noticed = parsed
    return None if noticed else encode_record(document)


def _decode(data: bytes) -> Parsed:
    return decode_record(data)[0], ()


_PARSED = Kind("parsed", _encode, _decode)


def read_documents(
    sources: Iterable[SourceDocument],
    bundled: Collection[SourceDocument],
    source_id: str | None,
    memo: Memo,
) -> tuple[list[ReadDocument], list[Diagnostic]]:
    """Parse documents.

    A document that cannot be read is reported, and the others go on; one that stands twice with
    the same path and content counts once.

    Args:
        sources: Documents of their own.
        bundled: Documents of bundles.
        source_id: The server of documents that name none.
        memo: What is known of documents that were read before.
    """
    read: list[ReadDocument] = []
    diagnostics: list[Diagnostic] = []
    of_bundles = set(bundled)
    for source in _each_once([*sources, *bundled]):
        try:
            document, found = _parsed(source, source_id, memo)
        except DocumentError as fault:
            diagnostics.append(_invalid(fault, source))
        else:
            read.append(ReadDocument(source, document, source in of_bundles))
            diagnostics += found
    return read, diagnostics


def _parsed(source: SourceDocument, source_id: str | None, memo: Memo) -> Parsed:
    def given() -> bytes:
        members = source.path, source.content, source.canonical_uri, source_id
        return json.dumps(members).encode()

    document, found = memo.recall(
        _PARSED, given, lambda: parse_document(source, source_id=source_id)
    )
    tool = replace(document.tool, place=source.place or source.path)
    return replace(document, tool=tool), found


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
