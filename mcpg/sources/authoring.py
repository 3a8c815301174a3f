"""Mark Python functions as tools, with hints: the source `python:package.module` reads them.

Example:
    >>> from mcpg.sources.authoring import tool
    >>> @tool(aliases=["where is my parcel"], read_only=True)
    ... def shipment_status(tracking_number: str) -> str:
    ...     '''Tell where a shipment is.'''
    ...     return f"{tracking_number} is on its way"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

__all__ = ["tool"]

MARK = "__mcpg_tool__"
"""Attribute of a marked function: a mapping with its author's hints."""

_Function = TypeVar("_Function", bound="Callable[..., Any]")


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    **hints: Any,
) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    **hints: Any,
) -> _Function | Callable[[_Function], _Function]:
    """Mark a function as a tool; the function itself stays as it is.

    Args:
        function: The function, if `@tool` has no brackets.
        name: Name of the tool, instead of the function's.
        title: A name for people.
        description: Its description, instead of the docstring.
        hints: Hints by the keys of hints files in lower case: `aliases`, `keywords`, `categories`,
            `tags`, `data_sources`, `examples`, `read_only`, `idempotent`, `destructive`,
            `open_world`, `cost_tier`, `latency_tier`, `enabled_by_default`.
    """
    said = {"name": name, "title": title, "description": description, **hints}

    def mark(marked: _Function) -> _Function:
        setattr(marked, MARK, {key: value for key, value in said.items() if value is not None})
        return marked

    return mark if function is None else mark(function)


def read_mark(function: object) -> Mapping[str, Any] | None:
    """Return the options that `tool` recorded for *function*, `None` if it was not marked."""
    mark = getattr(function, MARK, None)
    return mark if isinstance(mark, dict) else None
