"""The parameters that a JSON Schema describes, nested ones included."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcpg.catalog.model import unique

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.jsontypes import JsonObject, JsonValue

_MAX_PARTS = 32
_MAX_HOLDERS = 8
_NODES_PER_PARAMETER = 4
_POSITION = re.compile(r"[0-9]{1,6}\Z")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool.

    Attributes:
        path: Its name; within objects and lists the way to it, as in `order.lines[].sku`.
        description: What it means; "" when the schema does not say.
        type: JSON types joined by `|`, `null` left out, or `None` when the schema does not say.
        values: The texts that it may or typically does take.
        required: Whether its object must have it.
    """

    path: str
    description: str
    type: str | None
    values: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema to look into.

    Attributes:
        schema: The schema.
        path: What goes before the names of its properties.
        depth: How many objects and lists it lies in.
        trail: Identities of the schemas it lies in, to notice a circle.
    """

    schema: JsonObject
    path: str
    depth: int
    trail: frozenset[int]


def walk_parameters(
    schema: JsonObject, *, max_depth: int = 6, max_parameters: int = 400
) -> tuple[Parameter, ...]:
    """List the parameters of a schema, outer ones first, each level in the schema's order.

    Properties are found through local `$ref`, `allOf`, `anyOf`, `oneOf`, array items and
    `additionalProperties`. Whatever is not a schema is passed over.

    Args:
        schema: JSON Schema of an object.
        max_depth: How many levels of properties are listed, at least 1.
        max_parameters: How many parameters are listed at most.
    """
    return tuple(_Walk(schema, max_depth, max_parameters).run().values())


class _Walk:
    """One walk through a schema; each schema in it is unfolded once."""

    def __init__(self, root: JsonObject, max_depth: int, max_parameters: int) -> None:
        self._root = root
        self._max_depth = max_depth
        self._max_parameters = max_parameters
        self._unfolded: dict[int, list[tuple[JsonObject, bool]]] = {}

    def run(self) -> dict[str, Parameter]:
        """List the parameters by path, outer ones first."""
        found: dict[str, Parameter] = {}
        queue = deque([_Node(self._root, "", 1, frozenset())])
        # Schemas that lead to the same paths over and over must come to an end as well.
        for _ in range(_NODES_PER_PARAMETER * self._max_parameters):
            if not queue:
                break
            node = queue.popleft()
            for name, member, required in self._properties(node.schema):
                path = f"{node.path}{name}"
                if path not in found and len(found) < self._max_parameters:
                    found[path] = self._parameter(path, member, required)
                    queue.extend(self._inner(node, member, path))
        return found

    def _properties(self, schema: JsonObject) -> Iterator[tuple[str, JsonObject, bool]]:
        """Give name, schema and "is required" of every property, each name once."""
        parts = self._parts(schema)
        required = {name for part, certain in parts if certain for name in _required(part)}
        seen: set[str] = set()
        for part, _ in parts:
            properties = part.get("properties")
            for name, member in properties.items() if isinstance(properties, dict) else ():
                if name not in seen:
                    seen.add(name)
                    yield name, member if isinstance(member, dict) else {}, name in required

    def _inner(self, node: _Node, member: JsonObject, path: str) -> Iterator[_Node]:
        """Give the schemas within *member* that have properties of their own."""
        holders = [(member, path)]
        trail = node.trail | {id(part) for part, _ in self._parts(node.schema)}
        for depth in range(node.depth + 1, self._max_depth + 1):
            inner: list[tuple[JsonObject, str]] = []
            for holder, at in holders[:_MAX_HOLDERS]:
                parts = [part for part, _ in self._parts(holder)]
                if any(id(part) in trail for part in parts):
                    continue
                if any(isinstance(part.get("properties"), dict) for part in parts):
                    yield _Node(holder, f"{at}.", depth, trail)
                inner.extend((item, at + mark) for part in parts for item, mark in _items(part))
            holders = inner

    def _parameter(self, path: str, schema: JsonObject, required: bool) -> Parameter:
        parts = [part for part, _ in self._parts(schema)]
        texts = (part.get("description") for part in parts)
        description = next((text.strip() for text in texts if isinstance(text, str)), "")
        items = [item for part in parts for item, mark in _items(part) if mark == "[]"]
        nested = [part for item in items[:_MAX_HOLDERS] for part, _ in self._parts(item)]
        values = unique(value for part in (*parts, *nested) for value in _values(part))
        return Parameter(path, description, _type(parts), values, required)

    def _parts(self, schema: JsonObject) -> list[tuple[JsonObject, bool]]:
        """Unfold a schema into itself and what it refers to or combines.

        Each part comes with whether it always holds: a branch of `anyOf` or `oneOf` need not.
        """
        known = self._unfolded.get(id(schema))
        if known is None:
            known = self._unfolded[id(schema)] = _unfold(schema, self._root)
        return known


def _unfold(schema: JsonObject, root: JsonObject) -> list[tuple[JsonObject, bool]]:
    parts: list[tuple[JsonObject, bool]] = []
    seen: set[int] = set()
    waiting = [(schema, True)]
    while waiting and len(parts) < _MAX_PARTS:
        part, certain = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            parts.append((part, certain))
            combined = [(branch, certain and always) for branch, always in _combined(part, root)]
            waiting.extend(reversed(combined))
    return parts


def _required(part: JsonObject) -> Iterator[str]:
    names = part.get("required")
    return (
        (name for name in names if isinstance(name, str)) if isinstance(names, list) else iter(())
    )


def _items(part: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """Give the schemas of a list's items and of a mapping's unnamed values."""
    for key, mark in (("items", "[]"), ("prefixItems", "[]"), ("additionalProperties", ".*")):
        value = part.get(key)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield item, mark


def _type(parts: list[JsonObject]) -> str | None:
    names: dict[str, None] = {}
    for part in parts:
        value = part.get("type")
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name != "null":
                names[name] = None
    return "|".join(names) or None


def _values(part: JsonObject) -> Iterator[str]:
    for key in ("enum", "const", "examples"):
        value = part.get(key)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield item


def _combined(part: JsonObject, root: JsonObject) -> Iterator[tuple[JsonObject, bool]]:
    target = resolve(part.get("$ref"), root)
    if target is not None:
        yield target, True
    for key in ("allOf", "anyOf", "oneOf"):
        branches = part.get(key)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, dict):
                yield branch, key == "allOf"


def resolve(reference: JsonValue, root: JsonObject) -> JsonObject | None:
    """Follow a local reference such as `#/$defs/address`; `None` when it leads to no schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    here: JsonValue = root
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here.get(name)
        elif isinstance(here, list) and _POSITION.match(name) and int(name) < len(here):
            here = here[int(name)]
        else:
            return None
    return here if isinstance(here, dict) else None
