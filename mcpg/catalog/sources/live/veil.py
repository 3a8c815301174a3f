"""Hides what is secret in what servers say of their tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHORTEST = 12
_VEIL = "***"


def veiled(value: Any, secrets: Iterable[str]) -> tuple[Any, bool]:
    """Replace every one of *secrets* in the texts of JSON, keys included.

    Short ones, of fewer than 12 characters, are left: words such as `localhost` stand in the
    descriptions of honest tools.

    Returns:
        The JSON, and whether anything was replaced.
    """
    long = sorted(
        {one for one in secrets if len(one) >= _SHORTEST}, key=lambda one: (-len(one), one)
    )
    if not long:
        return value, False
    pattern = re.compile("|".join(map(re.escape, long)))
    found: list[str] = []

    def hidden(_: re.Match[str]) -> str:
        found.append(_VEIL)
        return _VEIL

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return pattern.sub(hidden, item)
        if isinstance(item, list):
            return [walk(member) for member in item]
        if isinstance(item, dict):
            return {pattern.sub(hidden, key): walk(member) for key, member in item.items()}
        return item

    return walk(value), bool(found)
