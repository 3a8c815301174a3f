"""The tools that a client's searches have found, which are listed to it as tools of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from mcpg.catalog.model import Tool
from mcpg.errors import McpgError
from mcpg.gateway.serve import INVOKE, PROMPT, READ, SEARCH
from mcpg.json_types import JsonObject

MOST_FOUND = 8
"""Maximum number of found tools in a list."""

_FINDING = ("matches", "prerequisites")
_READERS = {"resources": READ, "prompts": PROMPT}


class FoundTools:
    """The found tools of one client, in the order of its list.

    Where there is no room, the tools that were found or called longest ago make room. The others
    keep their order, and new ones are added at the end, so that prompt caches can reuse what
    precedes the first that has changed.
    """

    def __init__(self) -> None:
        """Begin without tools."""
        self._listed: tuple[str, ...] = ()
        self._recent: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        """Yield the names in the order of the list."""
        return iter(self._listed)

    def add(self, names: Iterable[str], exists: Callable[[str], bool]) -> bool:
        """Add what a search has found, and return whether the list has changed.

        Args:
            names: The names, best first; those beyond the maximum are ignored.
            exists: Whether a name is that of a tool that can be listed.
        """
        new = [*islice((name for name in dict.fromkeys(names) if exists(name)), MOST_FOUND)]
        if not new:
            return False
        for name in filter(exists, self._listed):
            self._recent.setdefault(name)
        for name in reversed(new):
            self._renew(name)
        kept = [*filter(exists, self._recent)][-MOST_FOUND:]
        before, self._recent = self._listed, dict.fromkeys(kept)
        self._listed = tuple(name for name in dict.fromkeys((*before, *new)) if name in kept)
        return self._listed != before

    def note_call(self, name: str) -> None:
        """Note that a tool is called, so that others make room before it."""
        if name in self._recent:
            self._renew(name)

    def _renew(self, name: str) -> None:
        self._recent.pop(name, None)
        self._recent[name] = None


class ClientView:
    """What a client sees of the tools.

    Attributes:
        found: The tools that its searches have found; `None` for a client that cannot be
            recognized in its next request.
        sent: Hashes of the lists that it was sent since it was last notified of a change.
    """

    def __init__(self, found: FoundTools | None) -> None:
        """Begin with a client that has listed nothing."""
        self.found = found
        self.sent: set[int] = set()

    async def is_stale(self, current: Callable[[ClientView], Awaitable[int]]) -> bool:
        """Return whether the client has another list than the *current* one; forget it if so."""
        if not self.sent or not self.sent - {await current(self)}:
            return False
        self.sent.clear()
        return True


async def called_name(
    name: str, arguments: dict[str, Any], describe: Callable[[str], Awaitable[Tool]]
) -> str:
    """Return the name of the tool that a call is for: with the tool that calls, the other one.

    Args:
        name: The name of the tool that is called.
        arguments: Its arguments.
        describe: Returns a tool of the gateway; raises `McpgError` for unknown names.
    """
    other = arguments.get("toolId")
    if name == INVOKE and isinstance(other, str):
        with suppress(McpgError):
            return (await describe(other)).id
    return name


def found_names(name: str, result: JsonObject) -> list[str]:
    """Return what the *result* of calling the tool *name* lets its client see, best first.

    A search finds its matches and what they require to run first. The tools that read resources
    and prompts are found with the first resource, prompt or link.
    """
    if name != SEARCH:
        content: Any = result.get("content") or ()
        is_linked = any(block.get("type") == "resource_link" for block in content)
        return [READ] if is_linked else []
    answer: Any = result.get("structuredContent") or {}
    readers = [reader for member, reader in _READERS.items() if member in answer]
    return readers + [one["toolId"] for member in _FINDING for one in answer.get(member, ())]
