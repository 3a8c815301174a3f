"""Items of a bundle beside tools, such as pages of source code, as plugins know them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from mcpg.plugins.hooks import ItemKind
from mcpg.plugins.registry import load_reference, own_items, package_plugins


@cache
def _item_tests() -> tuple[Callable[[Any], bool], ...]:
    return tuple(one.test for one in own_items(ItemKind))


def is_item(document: Any) -> bool:
    """Return whether a `SourceDocument` is an item that some plugin knows, without parsing it."""
    if any(test(document) for test in _item_tests()):
        return True
    found = (
        one.attempt(lambda one=one: one.item.test(document))  # type: ignore[misc]
        for one in package_plugins().items(ItemKind)
    )
    return any(one is True for one in found)


def open_items(name: str, pages: Iterable[Any]) -> Any:
    """Return what searches the items *name* among the *pages* of a bundle.

    Raises:
        LookupError: No plugin has items of this name.
    """
    kinds = [*own_items(ItemKind)]
    if all(one.name != name for one in kinds):
        kinds += [one.item for one in package_plugins().items(ItemKind)]
    for one in kinds:
        if one.name == name:
            return load_reference(one.open)(pages)
    raise LookupError(name)
