"""Facts about a tool as `prefix:value` tags, the .NET gateway's way of stating them.

Such tags are facts about a tool, never text to search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, Tier, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcpg.catalog.model import Tool
    from mcpg.jsontypes import JsonValue

GENERATED_TAG = "mcp-gateway-tool"
"""The tag that every generated document carries."""

_SOURCE, _KIND, _ARGUMENT, _ENABLED = "source", "kind", "argument", "enabled"
_LISTS = {
    "alias": "aliases",
    "keyword": "keywords",
    "category": "categories",
    "tag": "tags",
    "data-source": "data_sources",
}
_FLAGS = {
    "read-only": "read_only",
    "idempotent": "idempotent",
    "destructive": "destructive",
    "open-world": "open_world",
}
_TIERS = {"cost-tier": "cost_tier", "latency-tier": "latency_tier"}


@dataclass(frozen=True, slots=True)
class Facets:
    """What the tags of a document say.

    Attributes:
        generated: Whether the tags are those of a generated document, and so complete.
        source_id: The server, or "".
        kind: How the server is reached, or "".
        hints: The author's hints; tags without a known prefix are the tool's own tags.
    """

    generated: bool
    source_id: str
    kind: str
    hints: Hints


def tags_of(tool: Tool) -> list[str]:
    """State what is known about *tool* as tags, in the .NET gateway's order."""
    return [GENERATED_TAG, *_facets(tool)]


def read_facets(tags: Iterable[str]) -> Facets:
    """Take facts and the tool's own tags from the tags of a document."""
    known: dict[str, list[str]] = {}
    for tag in tags:
        prefix, colon, value = tag.partition(":")
        if colon and prefix in _PREFIXES:
            known.setdefault(prefix, []).append(value)
        elif tag != GENERATED_TAG:
            known.setdefault("tag", []).append(tag)
        else:
            known.setdefault(GENERATED_TAG, [])
    return Facets(
        generated=GENERATED_TAG in known,
        source_id=known.get(_SOURCE, [""])[0].strip(),
        kind=known.get(_KIND, [""])[0].strip(),
        hints=_hints(known),
    )


def read_flag(text: str) -> bool | None:
    """Read `true` or `false` in any case; anything else says nothing."""
    return {"true": True, "false": False}.get(text.strip().lower())


def read_tier(text: str) -> Tier | None:
    """Read the name of a tier in any case; anything else says nothing."""
    return _TIERS_BY_NAME.get(text.strip().lower())


def read_enabled(text: str) -> bool | None:
    """Read whether a tool is enabled; being so is the rule, hence says nothing."""
    return False if read_flag(text) is False else None


def text_items(value: JsonValue) -> list[str]:
    """Give the texts and numbers of a YAML list, or of a lone value, as text."""
    items = value if isinstance(value, list) else [value]
    return [
        str(item)
        for item in items
        if isinstance(item, str | int | float) and not isinstance(item, bool)
    ]


_TIERS_BY_NAME = {tier.lower(): tier for tier in Tier}
_PREFIXES = {_SOURCE, _KIND, _ARGUMENT, _ENABLED, *_LISTS, *_FLAGS, *_TIERS}


def _facets(tool: Tool) -> Iterator[str]:
    hints = tool.hints
    yield f"{_SOURCE}:{tool.source_id}"
    yield f"{_KIND}:{tool.source_kind}"
    yield from (f"{_ARGUMENT}:{name}" for name in tool.required_arguments)
    for prefix, attribute in _LISTS.items():
        yield from (f"{prefix}:{value}" for value in getattr(hints, attribute))
    for prefix, attribute in _FLAGS.items():
        flag = getattr(hints, attribute)
        if flag is not None:
            yield f"{prefix}:{str(flag).lower()}"
    for prefix, attribute in _TIERS.items():
        tier = getattr(hints, attribute)
        if tier is not None:
            yield f"{prefix}:{tier}"
    yield f"{_ENABLED}:{str(tool.enabled).lower()}"


def _hints(known: Mapping[str, list[str]]) -> Hints:
    lists = {name: unique(known.get(prefix, ())) for prefix, name in _LISTS.items()}
    flags = {name: read_flag(_first(known, prefix)) for prefix, name in _FLAGS.items()}
    tiers = {name: read_tier(_first(known, prefix)) for prefix, name in _TIERS.items()}
    enabled = read_enabled(_first(known, _ENABLED))
    return Hints(**lists, **flags, **tiers, enabled_by_default=enabled)  # type: ignore[arg-type]


def _first(known: Mapping[str, list[str]], prefix: str) -> str:
    return known.get(prefix, [""])[0]
