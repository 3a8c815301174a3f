"""What kind of work a tool does: by a table of verbs, and as probabilities of counted kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

from mcpg.catalog.model import Tool
from mcpg.text import iter_words, operations, split_words, stem


class ToolOperation(StrEnum):
    """The kind of work a tool does."""

    DISCOVER = "discover"
    INSPECT = "inspect"
    ACT = "act"
    OTHER = "other"


VERBS: dict[ToolOperation, tuple[str, ...]] = {
    ToolOperation.DISCOVER: ("browse", "discover", "find", "list", "query", "search"),
    ToolOperation.INSPECT: (
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
    ToolOperation.ACT: (
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

FOLLOWED_BY = {
    ToolOperation.DISCOVER: ToolOperation.INSPECT,
    ToolOperation.INSPECT: ToolOperation.ACT,
}
"""What one does next with what a tool of this kind gave: look at it, then act on it."""

_BY_WORD = {word: operation for operation, words in VERBS.items() for word in words}
_BY_STEM = {
    operation: frozenset(stem(word) for word in words) for operation, words in VERBS.items()
}


def names_operation(word: str) -> bool:
    """Whether the folded *word* names an operation, and so says nothing about the subject."""
    return word in _BY_WORD


def classify_operation(tool: Tool) -> ToolOperation:
    """Return the kind of work of *tool*.

    The first word of the name, else of the display name, that names an operation decides; where
    neither holds one, the description is searched for discovery, inspection and action in this
    order; where it is silent too, the author's hint that a tool changes things makes it an action.
    """
    for name in (tool.name, tool.display_name):
        for word in split_words(name):
            if word in _BY_WORD:
                return _BY_WORD[word]
    return _classify_words(split_words(tool.description)) or _classify_hints(tool)


def _classify_words(words: Iterable[str]) -> ToolOperation | None:
    stems = {stem(word) for word in words}
    return next((kind for kind, verbs in _BY_STEM.items() if stems & verbs), None)


def _classify_hints(tool: Tool) -> ToolOperation:
    changes = tool.hints.read_only is False or tool.hints.destructive is True
    return ToolOperation.ACT if changes else ToolOperation.OTHER


# The first words of a name tell what a tool does; that of a description may be of another kind.
_TELLING_NAME_WORDS = 2
_CREDIT_OF_DESCRIPTION = 0.5
_OPENING = 300
# Few verbs open the names and the descriptions of most tools.
_MOST_REMEMBERED = 4096


def weigh_kinds(tool: Tool, words: Sequence[str]) -> tuple[float, ...]:
    """Return the probability of each of `operations.KINDS`; nothing where nothing tells.

    Args:
        tool: The tool, for its description and its hints.
        words: The words of its name, without those that only name its server.
    """
    opening = (word.text for word in iter_words(tool.description[:_OPENING]) if not word.whole)
    first = next(opening, "")
    return _weigh_cached_kinds((*words[:_TELLING_NAME_WORDS],), first, tool.hints.read_only)


@lru_cache(_MOST_REMEMBERED)
def _weigh_cached_kinds(
    words: tuple[str, ...], opening: str, read_only: bool | None
) -> tuple[float, ...]:
    evidence = [(operations.find_ratios(stem(word)), 1.0) for word in words]
    if opening:
        evidence.append((operations.find_ratios(stem(opening)), _CREDIT_OF_DESCRIPTION))
    if read_only is not None:
        evidence.append((operations.ratios_of_hint(read_only), 1.0))
    return operations.shares_by(evidence)


def likely_kinds(tool: Tool, words: Sequence[str]) -> tuple[float, ...]:
    """Return the probability of each kind; where nothing tells, how usual each is.

    Without the table of operations all are alike.
    """
    count = len(operations.KINDS)
    usual = ((0.0,) * count, 0.0)
    return weigh_kinds(tool, words) or operations.shares_by([usual]) or (1 / count,) * count
