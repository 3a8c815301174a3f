"""What kind of work a tool does: finding things, looking at one, or changing one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.text import split_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import Tool


class Operation(StrEnum):
    """The kind of work a tool does."""

    DISCOVER = "discover"
    INSPECT = "inspect"
    ACT = "act"
    OTHER = "other"


VERBS: dict[Operation, tuple[str, ...]] = {
    Operation.DISCOVER: ("browse", "discover", "find", "list", "query", "search"),
    Operation.INSPECT: (
        "detail",
        "details",
        "fetch",
        "get",
        "inspect",
        "lookup",
        "read",
        "retrieve",
        "show",
        "status",
    ),
    Operation.ACT: (
        "add",
        "create",
        "delete",
        "execute",
        "invoke",
        "post",
        "remove",
        "run",
        "send",
        "set",
        "update",
        "write",
    ),
}
"""The words that name an operation: the .NET gateway's table, kept so that both agree.

They only tell the kind of work; how well a tool answers a query never depends on them.
"""

FOLLOWED_BY = {Operation.DISCOVER: Operation.INSPECT, Operation.INSPECT: Operation.ACT}
"""What one does next with what a tool of this kind gave: look at it, then act on it."""

_BY_WORD = {word: operation for operation, words in VERBS.items() for word in words}
_BY_STEM = {
    operation: frozenset(stem(word) for word in words) for operation, words in VERBS.items()
}


def names_operation(word: str) -> bool:
    """Whether the folded *word* names an operation, and so says nothing about the subject."""
    return word in _BY_WORD


def operation_of(tool: Tool) -> Operation:
    """Tell the kind of work of *tool*.

    The first word of the name, else of the display name, that names an operation decides; where
    neither holds one, the description is searched for discovery, inspection and action in this
    order; where it is silent too, the author's hint that a tool changes things makes it an action.
    """
    for name in (tool.name, tool.display_name):
        for word in split_words(name):
            if word in _BY_WORD:
                return _BY_WORD[word]
    return _described(split_words(tool.description)) or _hinted(tool)


def _described(words: Iterable[str]) -> Operation | None:
    stems = {stem(word) for word in words}
    return next((kind for kind, verbs in _BY_STEM.items() if stems & verbs), None)


def _hinted(tool: Tool) -> Operation:
    changes = tool.hints.read_only is False or tool.hints.destructive is True
    return Operation.ACT if changes else Operation.OTHER
