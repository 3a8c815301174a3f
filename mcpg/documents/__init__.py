"""Tools and their relations as Markdown-LD documents, and back."""

from __future__ import annotations

from mcpg.documents.build import document_for
from mcpg.documents.descriptor import descriptor_text
from mcpg.documents.identity import tool_path, tool_uri, uris_for
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import can_be_written, write_document

__all__ = [
    "Link",
    "ToolDocument",
    "can_be_written",
    "descriptor_text",
    "document_for",
    "parse_document",
    "tool_path",
    "tool_uri",
    "uris_for",
    "write_document",
]
