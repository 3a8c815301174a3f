"""Self-contained JSON Schemas made of the schemas of an OpenAPI document.

A schema that is made here accepts at least what the document's does. So whatever cannot be kept
(references without a target, endless circles, parts over the limit) is left out without harm:
negating keywords such as `not` are dropped, and `oneOf` becomes `anyOf`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from mcpg.errors import Code, Diagnostic, warning
from mcpg.text.json_values import JsonObject, JsonValue

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_TEXTS = ("title", "description", "format", "pattern")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_FLAGS = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_MAX_ENUM = 500
_MAX_EXAMPLES = 10
_MAX_VALUE = 500
_ORDINARY = 200

_OUTSIDE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80
_MOST_PARTS = 200
_COMBINED = ("allOf", "anyOf", "oneOf")
_NAMING = frozenset({"$ref", "properties", "required", *_COMBINED})
_NONE: frozenset[str] = frozenset()
_LONGEST_CHAIN = 20
_SHOWN = 120


def shallow(value: JsonValue) -> JsonObject:
    """Return only type, title and description of a schema."""
    if not isinstance(value, dict):
        return {}
    texts: JsonObject = {
        key: text for key in ("title", "description") if isinstance(text := value.get(key), str)
    }
    return {**_type(value), **texts}


def plain_keywords(value: JsonObject) -> JsonObject:
    """Copy the keywords without schemas, in JSON Schema 2020-12; ill-typed ones are dropped."""
    kept = _type(value)
    kept.update((key, text) for key in _TEXTS if isinstance(text := value.get(key), str))
    for key in (*_NUMBERS, *_COUNTS):
        number = value.get(key)
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if is_number and (key in _NUMBERS or (isinstance(number, int) and number >= 0)):
            kept[key] = number
    kept.update((key, flag) for key in _FLAGS if (flag := value.get(key)) is True)
    for exclusive, bound in _BOUNDS:
        if value.get(exclusive) is True and bound in kept:
            kept[exclusive] = kept.pop(bound)
    if "file" in (value.get("type"), value.get("format")) and "format" not in kept:
        kept["format"] = "binary"
    return {**kept, **_values(value)}


def weight(kept: JsonObject) -> int:
    """Return the size that *kept* adds to a schema, in sub-schemas of ordinary size."""
    values = kept.get("enum")
    named = values if isinstance(values, list) else []
    texts = (kept.get(key) for key in (*_TEXTS, "const"))
    return 1 + len(named) // 8 + weight_of_texts((*named, *texts))


def weight_of_texts(texts: Iterable[JsonValue]) -> int:
    """Return the size that long texts add to a schema, in sub-schemas of ordinary size."""
    return sum(len(text) // _ORDINARY for text in texts if isinstance(text, str))


def _type(value: JsonObject) -> JsonObject:
    stated = value.get("type")
    names = [
        "string" if name == "file" else name
        for name in (stated if isinstance(stated, list) else [stated])
        if isinstance(name, str)
    ]
    if not names or not _TYPES.issuperset(names):
        return {}
    if value.get("nullable") is True:
        names.append("null")
    names = list(dict.fromkeys(names))
    return {"type": names[0] if len(names) == 1 else list(names)}


def _values(value: JsonObject) -> JsonObject:
    """Copy the values of a schema: those it allows, its default, its examples."""
    kept: JsonObject = {}
    allowed = value.get("enum")
    examples = value.get("examples", [value["example"]] if "example" in value else [])
    samples = list(examples) if isinstance(examples, list) else []
    values = allowed if isinstance(allowed, list) else []
    if values and not any(isinstance(one, dict | list) for one in values):
        if len(values) > _MAX_ENUM:
            samples = values
        else:
            null = [None] if value.get("nullable") is True and None not in values else []
            kept["enum"] = [*values, *null]
    if "const" in value and not isinstance(value["const"], dict | list):
        kept["const"] = value["const"]
    if "default" in value and len(json.dumps(value["default"])) <= _MAX_VALUE:
        kept["default"] = value["default"]
    shown: list[JsonValue] = [
        one for one in samples if not isinstance(one, dict | list) and len(str(one)) <= _MAX_VALUE
    ]
    return {**kept, "examples": shown[:_MAX_EXAMPLES]} if shown else kept


@dataclass(slots=True)
class CopyBudget:
    """How much may still be copied, and the references of the copies.

    Attributes:
        left: Sub-schemas that may still be copied; below 0, the rest is left out.
        names: Names of the definitions that are referred to, in order.
        in_place: Those that describe the same value as the schema that refers to them.
    """

    left: int
    where: str
    names: dict[str, None] = field(default_factory=dict)
    in_place: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CopiedDefinition:
    """A copied definition, its size, and its references."""

    schema: JsonObject
    weight: int
    room: CopyBudget


@dataclass(frozen=True, slots=True)
class _PropertyNames:
    """Names of properties, hidden and required, among all that a schema combines."""

    hidden: frozenset[str] = _NONE
    required: frozenset[str] = _NONE


@dataclass(eq=False, slots=True)
class SchemaCopier:
    """Copies schemas of one document for one direction.

    Attributes:
        hidden: The keyword of properties that this direction does not have: `readOnly` for
            requests, `writeOnly` for responses.
        limit: How many sub-schemas one finished schema has at most.
        siblings: Whether keywords beside `$ref` count, as they do from OpenAPI 3.1 on.
    """

    references: ReferenceResolver
    hidden: str
    limit: int
    siblings: bool
    _named: dict[tuple[str, frozenset[str]], str] = field(default_factory=dict)
    _hiding: dict[str, frozenset[str]] = field(default_factory=dict)
    _names_of: dict[str, _PropertyNames] = field(default_factory=dict)
    _hidden_refs: dict[str, bool] = field(default_factory=dict)
    _targets: dict[str, JsonValue] = field(default_factory=dict)
    _definitions: dict[str, _CopiedDefinition] = field(default_factory=dict)

    def copy(
        self,
        value: JsonValue,
        room: CopyBudget,
        *,
        in_place: bool = False,
        hidden: frozenset[str] | None = None,
    ) -> JsonObject:
        """Copy the schema *value*; an invalid schema becomes a schema that accepts everything.

        It describes the same value as the definition that is being copied if it is *in_place*.
        *hidden* has the properties that this value does not have in this direction, `None` when
        only *value* describes it.
        """
        if value is False:
            return {"not": {}}
        room.left -= 1
        if not isinstance(value, dict) or room.left < 0:
            return shallow(value)
        if hidden is None:
            hidden = self._names(value, room).hidden
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return self._copy(value, room, in_place=in_place, hidden=hidden)
        name = self._name(reference, room, hidden)
        kept = shallow(value)
        if self.siblings:
            kept = self._copy(value, room, in_place=in_place, hidden=hidden)
        if name is None:
            return kept
        room.names[name] = None
        if in_place:
            room.in_place[name] = None
        return {"$ref": f"#/$defs/{name}", **kept}

    def add_definitions(self, schema: JsonObject, room: CopyBudget) -> JsonObject:
        """Add to *schema* the definitions that it needs, as far as there is room."""
        definitions: dict[str, JsonValue] = {}
        edges: dict[str, Iterable[str]] = {}
        waiting = deque(room.names)
        left, left_for_texts = room.left, self.limit
        while waiting:
            name = waiting.popleft()
            if name in definitions:
                continue
            found = self._definitions.get(name)
            if found is None:
                own, hidden = CopyBudget(self.limit, room.where), self._hiding[name]
                copied = self.copy(self._targets[name], own, in_place=True, hidden=hidden)
                found = _CopiedDefinition(copied, self.limit - own.left, own)
                self._definitions[name] = found
            if found.weight > left:
                about = shallow(self._targets[name])
                left_for_texts -= weight(about) - 1
                definitions[name] = about if left_for_texts >= 0 else {}
                continue
            left -= found.weight
            definitions[name] = found.schema
            edges[name] = found.room.in_place
            waiting.extend(found.room.names)
        for name in self._without_end(edges, room):
            definitions[name] = shallow(self._targets[name])
        return {**schema, "$defs": definitions} if definitions else schema

    def _without_end(self, edges: dict[str, Iterable[str]], room: CopyBudget) -> list[str]:
        """Return the definitions that refer to themselves without descending into a value."""
        found: list[str] = []
        while True:
            try:
                TopologicalSorter(edges).prepare()
            except CycleError as fault:
                circle = sorted(set(fault.args[1]))
                self.references.note(
                    f"{circle[0]!r} refers to itself endlessly; that part is omitted", room.where
                )
                found.extend(circle)
                edges = {name: () if name in circle else to for name, to in edges.items()}
            else:
                return found

    def _name(self, reference: str, room: CopyBudget, hidden: frozenset[str]) -> str | None:
        """Return the name of the definition that *reference* leads to, `None` if it leads nowhere.

        Where the definition requires properties that only its surroundings hide, it is another
        definition than elsewhere.
        """
        target = self.references.target(reference, room.where)
        if target is None:
            return None
        names = self._names_behind(reference, room)
        further = _NONE if hidden is names.hidden else (hidden & names.required) - names.hidden
        key = reference, further
        if key not in self._named:
            last = _OUTSIDE_NAME.sub("_", unquote(reference).rpartition("/")[2])[-_LONGEST_NAME:]
            name, number = last or "_", 1
            while name in self._targets:
                number += 1
                name = f"{last}_{number}"
            self._named[key] = name
            self._targets[name] = target
            self._hiding[name] = names.hidden | key[1]
        return self._named[key]

    def _names(
        self, value: JsonObject, room: CopyBudget, *, follows: bool = False
    ) -> _PropertyNames:
        """Gather the names of properties from *value*, what it refers to and what it combines.

        Those behind its references are known, unless it *follows* them itself.
        """
        naming, alone = _NAMING & value.keys(), value.get("$ref")
        if not naming:
            return _PropertyNames()
        if len(naming) == 1 and isinstance(alone, str) and not follows:
            return self._names_behind(alone, room)
        hidden: set[str] = set()
        required: set[str] = set()
        for part in self._parts(value, _COMBINED, room, follows=follows):
            reference = part.get("$ref")
            if isinstance(reference, str) and not follows:
                found = self._names_behind(reference, room)
                hidden |= found.hidden
                required |= found.required
            if "$ref" in part and not self.siblings:
                continue
            properties, names = part.get("properties"), part.get("required")
            if isinstance(properties, dict):
                hidden |= {name for name, one in properties.items() if self._is_hidden(one, room)}
            if isinstance(names, list):
                required |= {name for name in names if isinstance(name, str)}
        return _PropertyNames(frozenset(hidden), frozenset(required))

    def _names_behind(self, reference: str, room: CopyBudget) -> _PropertyNames:
        known = self._names_of.get(reference)
        if known is None:
            known = self._names({"$ref": reference}, room, follows=True)
            self._names_of[reference] = known
        return known

    def _is_hidden(self, value: JsonValue, room: CopyBudget) -> bool:
        """Return whether a property, or what it refers to, is not there in this direction."""
        if not isinstance(value, dict):
            return False
        if "$ref" not in value and "allOf" not in value:
            return value.get(self.hidden) is True
        for part in self._parts(value, ("allOf",), room, follows=False):
            if part.get(self.hidden) is True:
                return True
            reference = part.get("$ref")
            if not isinstance(reference, str):
                continue
            if reference not in self._hidden_refs:
                behind = self._parts({"$ref": reference}, ("allOf",), room)
                is_hidden = any(one.get(self.hidden) is True for one in behind)
                self._hidden_refs[reference] = is_hidden
            if self._hidden_refs[reference]:
                return True
        return False

    def _parts(
        self, value: JsonObject, keys: tuple[str, ...], room: CopyBudget, *, follows: bool = True
    ) -> Iterator[JsonObject]:
        """Yield *value*, values at *keys* and, if it *follows*, behind references, each once."""
        seen: set[int] = set()
        waiting: list[JsonValue] = [value]
        while waiting and len(seen) < _MOST_PARTS:
            part = waiting.pop()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            reference = part.get("$ref")
            if isinstance(reference, str) and follows:
                waiting.append(self.references.target(reference, room.where))
            if not isinstance(reference, str) or self.siblings:
                for key in keys:
                    branches = part.get(key)
                    waiting.extend(branches if isinstance(branches, list) else ())

    def _copy(
        self, value: JsonObject, room: CopyBudget, *, in_place: bool, hidden: frozenset[str]
    ) -> JsonObject:
        kept = plain_keywords(value)
        room.left -= weight(kept) - 1
        kept.update(self._copy_properties(value, room, hidden))
        # The schemas of a list's items, by position and for the rest, if there is room.
        first, items = value.get("prefixItems"), value.get("items")
        lists: JsonObject = {}
        if isinstance(first, list) and first:
            lists["prefixItems"] = [self.copy(one, room) for one in first]
        if isinstance(items, dict):
            lists["items"] = self.copy(items, room)
        if "prefixItems" not in lists or room.left >= 0:
            kept.update(lists)
        kept.update(self._copy_combined(value, room, in_place=in_place, hidden=hidden))
        # A combination may also be null, though no type allows it.
        if value.get("nullable") is True and "type" not in kept:
            some = kept.get("anyOf")
            if isinstance(some, list):
                return {**kept, "anyOf": [*some, {"type": "null"}]}
            if "allOf" in kept and "anyOf" not in kept:
                every = kept.pop("allOf")
                return {**kept, "anyOf": [{"allOf": every}, {"type": "null"}]}
        return kept

    def _copy_properties(
        self, value: JsonObject, room: CopyBudget, hidden: frozenset[str]
    ) -> JsonObject:
        kept: JsonObject = {}
        given = value.get("properties")
        shown = {
            name: one
            for name, one in (given.items() if isinstance(given, dict) else ())
            if not self._is_hidden(one, room)
        }
        room.left -= weight_of_texts(shown)
        properties: JsonObject = {}
        for name, one in shown.items():
            if room.left < 0:
                break
            properties[name] = self.copy(one, room)
        if isinstance(given, dict):
            kept["properties"] = properties
        gone = (given.keys() if isinstance(given, dict) else set()) - properties.keys()
        required = value.get("required")
        if isinstance(required, list):
            names = dict.fromkeys(name for name in required if isinstance(name, str))
            room.left -= weight_of_texts(names) + max(0, len(names) - len(shown)) // 8
            unasked = hidden | gone
            kept["required"] = [name for name in names if name not in unasked]
        # The schema of properties without a name counts unless patterns also restrict them.
        others = value.get("additionalProperties")
        if len(properties) == len(shown) and "patternProperties" not in value:
            if isinstance(others, bool):
                kept["additionalProperties"] = others
            elif isinstance(others, dict):
                kept["additionalProperties"] = self.copy(others, room)
        return kept

    def _copy_combined(
        self, value: JsonObject, room: CopyBudget, *, in_place: bool, hidden: frozenset[str]
    ) -> JsonObject:
        """Copy the schemas of which a value satisfies all, or some."""
        branches: dict[str, list[JsonValue]] = {}
        for key in _COMBINED:
            given = value.get(key)
            branches[key] = [
                self.copy(one, room, in_place=in_place, hidden=hidden)
                for one in (given if isinstance(given, list) else ())
            ]
        every = branches["allOf"]
        some = [branches[key] for key in ("anyOf", "oneOf") if branches[key]]
        if room.left < 0:
            return {}
        if len(some) > 1:
            every.extend({"anyOf": found} for found in some)
        kept: JsonObject = {"anyOf": some[0]} if len(some) == 1 else {}
        return {**kept, "allOf": every} if every else kept


class ReferenceResolver:
    """Resolves references within one document, with a diagnostic for each that leads nowhere.

    Nothing outside the document is ever read: neither files nor addresses.
    """

    def __init__(self, document: JsonObject, place: str) -> None:
        from referencing import Registry, Specification, exceptions  # noqa: PLC0415 - most sources need none

        resource = Specification.OPAQUE.create_resource(document)
        registry: Registry[Any] = Registry().with_resource("", resource)
        self._resolver = registry.resolver()
        self._unresolvable = exceptions.Unresolvable
        self._known: dict[str, JsonValue] = {}
        self._place = place
        self.diagnostics: list[Diagnostic] = []

    def note(self, message: str, where: str) -> None:
        """Report that a part of the schema of the operation *where* is left out."""
        place = f"{self._place}: {where}" if where else self._place
        self.diagnostics.append(warning(Code.SCHEMA_INCOMPLETE, message, place))

    def target(self, reference: str, where: str) -> JsonValue:
        """Return the target of *reference*, `None` without one."""
        if reference in self._known:
            return self._known[reference]
        shown, found = repr(reference[:_SHOWN]), None
        if not reference.startswith("#"):
            message = f"{shown} points outside the document and is not followed"
            remedy = "to join the files, use `redocly bundle`"
            self.note(f"{message}; that part is omitted ({remedy})", where)
        else:
            with suppress(self._unresolvable, LookupError, TypeError, ValueError, AttributeError):
                found = self._resolver.lookup(reference).contents
            if not isinstance(found, dict | bool):
                self.note(f"{shown} cannot be resolved; that part is omitted", where)
                found = None
        self._known[reference] = found
        return found

    def follow(self, value: JsonValue, where: str) -> JsonObject | None:
        """Return *value* or, if it is a reference, its final target, if an object."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(value, dict):
                return None
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self.target(reference, where)
        self.note("a chain of references is circular; that part is omitted", where)
        return None
