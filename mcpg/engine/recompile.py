"""An index compiled anew with further hints to one tool, as a hints file would have it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, SourceDocument
from mcpg.documents import parse_document, write_document
from mcpg.engine.origin import SECTION
from mcpg.index.compile import compile_index
from mcpg.index.layout import Section
from mcpg.index.reader import Index

if TYPE_CHECKING:
    from mcpg.documents import ToolDocument


def recompiled(index: Index, tool: int, hints: Hints) -> Index:
    """Give the index of the same catalogue with *hints* put before those of one tool.

    Its document is written and read again, as a bundle is made and loaded.

    Raises:
        DocumentError: Its document becomes too long to be written.
    """
    documents = [index.record(number) for number in range(len(index))]
    documents[tool] = _rewritten(_hinted(documents[tool], hints))
    origin = Section(SECTION, "B", bytes(index.section(SECTION)))
    model, pages = index.section("model"), index.pages()
    return Index(compile_index(documents, model=model, pages=pages, extra=[origin]))


def _hinted(document: ToolDocument, hints: Hints) -> ToolDocument:
    tool = document.tool
    return replace(document, tool=replace(tool, hints=Hints.merge(hints, tool.hints)))


def _rewritten(document: ToolDocument) -> ToolDocument:
    source = SourceDocument(document.path, write_document(document), document.uri)
    return parse_document(source)[0]
