"""Tools and their relations as Markdown-LD documents, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpg.documents.model import (
        Link,
        ToolDocument,
        document_for,
        tool_path,
        tool_uri,
        uris_for,
    )
    from mcpg.documents.page import descriptor_text
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

# In this order a value object is found before anything that reads or writes is imported.
_MODULES = ("model", "page", "reader", "writer")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: an index needs the values alone."""
    if name in __all__:
        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
