"""The lists of several servers as one: names and addresses that no two servers share.

A name or an address stays as its server gives it, unless a source before has the same one. Then it
gets the name of its source: `source_name` for a prompt, `mcpg://source/ADDRESS` for a resource.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.gateway.primitives.lists import ServerLists
from mcpg.gateway.sources import ServerSource
from mcpg.json_types import JsonObject

SCHEME = "mcpg://"
_MOST_LINKS = 10_000
# Comparing an address with a template takes time by its length.
_MOST_MATCHES, _LONGEST_MATCHED = 10_000, 2000


@dataclass(frozen=True, slots=True)
class ServerItem:
    """A prompt or a resource on its server.

    Attributes:
        source: The server.
        key: Its name or address there.
    """

    source: ServerSource
    key: str


@dataclass(frozen=True)
class Directory:
    """The prompts and resources of all servers.

    Attributes:
        resources: Resources as entries of `resources/list`, by their addresses.
        templates: Templates as entries of `resources/templates/list`, by their texts.
        prompts: Prompts as entries of `prompts/list`, by their names.
        located: Where each is, by its kind and key.
        sources: The servers, by the names that stand in addresses.
    """

    resources: dict[str, JsonObject] = field(default_factory=dict)
    templates: dict[str, JsonObject] = field(default_factory=dict)
    prompts: dict[str, JsonObject] = field(default_factory=dict)
    located: dict[tuple[str, str], ServerItem] = field(default_factory=dict)
    sources: dict[str, ServerSource] = field(default_factory=dict)

    @cached_property
    def _matchers(self) -> list[tuple[UriTemplate, ServerItem]]:
        found = []
        for text in self.templates:
            try:
                template = UriTemplate.parse(text)
            except InvalidUriTemplate:
                continue
            found.append((template, self.located["templates", text]))
        return found

    def resource(self, uri: str) -> ServerItem | None:
        """Return where the resource at *uri* is, as lists and templates tell."""
        known = self.located.get(("resources", uri)) or self._find_by_prefix(uri)
        if known is not None:
            return known
        for template, place in self._matchers:
            if template.match(uri, max_uri_length=_LONGEST_MATCHED) is not None:
                return ServerItem(place.source, uri)
        return None

    def find_changes(self, before: Directory) -> list[str]:
        """Return which of `prompts` and `resources` differ from those *before*."""
        is_same = {
            "prompts": self.prompts == before.prompts,
            "resources": (self.resources, self.templates) == (before.resources, before.templates),
        }
        return [kind for kind in is_same if not is_same[kind]]

    def template(self, text: str) -> ServerItem | None:
        """Return where the template *text*, or the resource of this address, is."""
        return self.located.get(("templates", text)) or self.resource(text)

    def prompt(self, name: str) -> ServerItem | None:
        """Return where the prompt *name* is."""
        return self.located.get(("prompts", name))

    def prefix_uri(self, source: ServerSource, uri: str) -> str:
        """Return *uri* with the name of *source*."""
        name = next((name for name, one in self.sources.items() if one.id == source.id), "")
        return f"{SCHEME}{name}/{uri}" if name else uri

    def _find_by_prefix(self, uri: str) -> ServerItem | None:
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        if not uri.startswith(SCHEME) or name not in self.sources or not rest:
            return None
        return ServerItem(self.sources[name], rest)


NOTHING = Directory()
"""The directory before anything was listed."""


def build_directory(lists: Iterable[tuple[ServerSource, ServerLists]]) -> Directory:
    """Return the directory of servers in their order, which decides whose names stay."""
    found = Directory()
    listed = list(lists)
    for source, _ in listed:
        name = number = normalize(source.id, SOURCE_FALLBACK)
        count = 1
        while number in found.sources:
            count += 1
            number = f"{name}-{count}"
        found.sources[number] = source
    for (source, one), name in zip(listed, found.sources, strict=True):
        for item in one.resources:
            _add(found, "resources", found.resources, source, item, "uri", name)
        for item in one.templates:
            _add(found, "templates", found.templates, source, item, "uriTemplate", name)
        for item in one.prompts:
            _add(found, "prompts", found.prompts, source, item, "name", name)
    return found


def _add(
    found: Directory,
    kind: str,
    items: dict[str, JsonObject],
    source: ServerSource,
    item: JsonObject,
    member: str,
    name: str,
) -> None:
    key = shown = str(item[member])
    # An address that begins like ours could pass for one of another server.
    is_ours = key.startswith(SCHEME) and kind != "prompts"
    if key in items or is_ours:
        shown = f"{name}_{key}" if kind == "prompts" else f"{SCHEME}{name}/{key}"
    number = 1
    while shown in items:
        number += 1
        shown = f"{name}_{key}_{number}"
    given = item.get("_meta")
    meta: JsonObject = {**(given if isinstance(given, dict) else {}), "sourceId": source.id}
    items[shown] = {**item, member: shown, "_meta": meta}
    found.located[kind, shown] = ServerItem(source, key)


class ResourceLinks:
    """Addresses that servers have given out without listing them, the latest ones."""

    def __init__(self) -> None:
        """Begin without any."""
        self._owners: OrderedDict[str, ServerSource] = OrderedDict()

    def owner(self, uri: str) -> ServerSource | None:
        """Return the server that has given out *uri*."""
        return self._owners.get(uri)

    def rewrite_addresses(
        self, result: JsonObject, source: ServerSource, directory: Directory
    ) -> JsonObject:
        """Return a result of *source* with addresses by which clients can read its resources.

        If there are too many to compare all with templates, all have the name of *source*.
        """
        changed = dict(result)
        for member in ("content", "contents", "messages"):
            items = result.get(member)
            if isinstance(items, list):
                address = partial(self._address, source, directory)
                if len(items) * len(directory.templates) > _MOST_MATCHES:
                    address = partial(directory.prefix_uri, source)
                changed[member] = [_item(one, address) for one in items]
        return changed if changed != result else result

    def _address(self, source: ServerSource, directory: Directory, uri: str) -> str:
        place = directory.resource(uri)
        if place is not None:
            is_own = (place.source.id, place.key) == (source.id, uri)
            return uri if is_own else directory.prefix_uri(source, uri)
        owner = self._owners.setdefault(uri, source)
        self._owners.move_to_end(uri)
        while len(self._owners) > _MOST_LINKS:
            self._owners.popitem(last=False)
        return uri if owner.id == source.id else directory.prefix_uri(source, uri)


def _item(item: Any, address: Callable[[str], str]) -> Any:
    """Return an item of a result with the *address* of the resource that it has or links to."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("content"), dict):  # a message of a prompt
        return {**item, "content": _item(item["content"], address)}
    if isinstance(item.get("resource"), dict) and item.get("type") == "resource":
        return {**item, "resource": _rewrite_uri(item["resource"], address)}
    return _rewrite_uri(item, address) if item.get("type") in {None, "resource_link"} else item


def _rewrite_uri(item: JsonObject, address: Callable[[str], str]) -> JsonObject:
    uri = item.get("uri")
    if not isinstance(uri, str) or (shown := address(uri)) == uri:
        return item
    return {**item, "uri": shown}
