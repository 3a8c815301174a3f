"""The prompts, resources and resource templates of one server, as it lists them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from mcpg.catalog.json_text import repair_surrogates
from mcpg.gateway.calls import CallError
from mcpg.json_types import JsonObject
from mcpg.sources.live.client import MAX_PAGES, is_repeated

RESOURCES, TEMPLATES, PROMPTS = "resources", "resourceTemplates", "prompts"

METHODS = {
    RESOURCES: "resources/list",
    TEMPLATES: "resources/templates/list",
    PROMPTS: "prompts/list",
}
"""The method that lists each kind."""

KEYS = {RESOURCES: "uri", TEMPLATES: "uriTemplate", PROMPTS: "name"}
"""The member that identifies an item of each kind."""

_MAX_ITEMS = {RESOURCES: 20_000, TEMPLATES: 1_000, PROMPTS: 20_000}
_ENVELOPE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_VERSIONS = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)

Send = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends a request to the server, and returns its result."""


@dataclass(frozen=True, slots=True)
class ServerLists:
    """What a server lists beside its tools.

    Attributes:
        resources: Its resources.
        templates: Its resource templates.
        prompts: Its prompts.
    """

    resources: tuple[JsonObject, ...] = ()
    templates: tuple[JsonObject, ...] = ()
    prompts: tuple[JsonObject, ...] = ()


async def list_all(capabilities: JsonObject, send: Send, before: ServerLists) -> ServerLists:
    """Return the lists of a server.

    Args:
        capabilities: What it declares that it can do.
        send: Sends it a request.
        before: What it listed before, of which a list is kept that it fails to send.
    """
    has_resources = "resources" in capabilities
    return ServerLists(
        await _items(RESOURCES, send, before.resources) if has_resources else (),
        await _items(TEMPLATES, send, before.templates) if has_resources else (),
        await _items(PROMPTS, send, before.prompts) if "prompts" in capabilities else (),
    )


async def _items(kind: str, send: Send, before: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Return the valid items of all pages, each once."""
    found: dict[str, JsonObject] = {}
    cursor: Any = None
    known: set[str] = set()
    try:
        for _ in range(MAX_PAGES):
            page = await send(METHODS[kind], {} if cursor is None else {"cursor": cursor})
            stated = page.get(kind)
            items = stated if isinstance(stated, list) else []
            for item in items:
                if isinstance(item, dict) and is_valid(kind, item):
                    repaired: Any = repair_surrogates(item, "", [])
                    found.setdefault(repaired[KEYS[kind]], repaired)
            cursor = page.get("nextCursor")
            is_last = not isinstance(cursor, str) or is_repeated(items, KEYS[kind], known)
            if is_last or len(found) >= _MAX_ITEMS[kind]:
                break
    except CallError as fault:
        # A server that claims a capability and does not have it lists nothing.
        return () if fault.error is not None else before
    return tuple(islice(found.values(), _MAX_ITEMS[kind]))


def is_valid(kind: str, item: JsonObject) -> bool:
    """Return whether clients of all versions accept a list with *item*."""
    try:
        for version in _VERSIONS:
            validate_server_result(METHODS[kind], version, {**_ENVELOPE, kind: [item]})
    except ValidationError:
        return False
    return bool(item.get(KEYS[kind]))
