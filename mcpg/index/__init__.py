"""The index: what a search reads instead of documents."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpg.index.build import build_index
    from mcpg.index.fields import FIELDS
    from mcpg.index.model import Index, Postings

__all__ = ["FIELDS", "Index", "Postings", "build_index"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: to build takes more than to search."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - a search does without

        for module_name in ("fields", "model", "build"):
            module = import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
