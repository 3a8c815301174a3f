"""Changes of JSON Schemas, and whether they break those who rely on the former one.

A caller relies on an input schema to accept all that it accepted, so it may only become wider. A
reader relies on an output schema to promise all that it promised, so it may only become narrower:
arguments are contravariant, results covariant.

Whether one schema accepts all that another does is hard to decide for all of JSON Schema (Habib et
al., "Finding data compatibility bugs with JSON subschema checks", ISSTA 2021). Here keywords are
compared one by one; a change of keywords whose interplay is not followed is reported as undecided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING

from mcpg.catalog.model import resolve
from mcpg.text.word_diff import diff_text
from mcpg.values import value

if TYPE_CHECKING:
    from typing import TypeAlias

    from mcpg.json_types import JsonObject, JsonValue

    Change: TypeAlias = "tuple[str, _Effect, str, tuple[str, ...]]"


class Verdict(StrEnum):
    """What a change means to those who rely on a schema."""

    BREAKING = "breaking"
    UNDECIDED = "undecided"
    COMPATIBLE = "compatible"


@value
class SchemaChange:
    """One change of a schema.

    Attributes:
        path: Where, as in `order.lines[].sku`; "" for the schema as a whole.
        verdict: What it means to those who rely on the schema.
        what: What changed, in words of ours.
        values: What of the schemas these words speak of, each cut short.
    """

    path: str
    verdict: Verdict
    what: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.path, self.what, ", ".join(self.values))))


class _Effect(Flag):
    """What a change makes of the values that a schema accepts."""

    NONE = 0
    NARROWER = auto()
    WIDER = auto()
    UNKNOWN = auto()


MOST_CHANGES = 100
"""The most changes that are listed of one schema."""

_MOST_COMPARED = 5_000
_DEEPEST = 60
_MOST_BRANCHES = 24
_MOST_HOPS, _MOST_UNIONS = 16, 3
_SHOWN, _NAMED = 120, 8
_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_LEAST = {
    **dict.fromkeys(("minimum", "exclusiveMinimum"), "number"),
    **dict.fromkeys(("minLength",), "string"),
    **dict.fromkeys(("minItems",), "array"),
    **dict.fromkeys(("minProperties",), "object"),
}
_MOST = {name.replace("min", "max").replace("Min", "Max"): of for name, of in _LEAST.items()}
_COUNTS = ("minLength", "minItems", "minProperties")
# To add one refuses values, to remove one accepts more; both at once is not followed.
_ASSERTIONS = (
    *("pattern", "multipleOf", "not", "propertyNames", "contains"),
    *("dependentRequired", "dependentSchemas", "dependencies"),
)
_INVOLVED = (
    *("format", "if", "then", "else", "patternProperties", "$dynamicRef"),
    *("unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"),
)
_UNIONS = ("anyOf", "oneOf")
_TEXTS = ("title", "description", "$comment", "examples", "default", "$defs", "definitions")
_JOINED = ("properties", "required")
_NOTHING: JsonObject = {"not": {}}
_ANYTHING: JsonObject = {}


def input_changes(before: JsonObject, after: JsonObject) -> tuple[SchemaChange, ...]:
    """Return how the schema of arguments changed, what breaks callers first."""
    return _changes(before, after, is_read=False)


def output_changes(before: JsonObject | None, after: JsonObject | None) -> tuple[SchemaChange, ...]:
    """Return how the schema of results changed, what breaks readers first; `None` is no schema."""
    if before is None or after is None:
        if before is after:
            return ()
        verdict = Verdict.COMPATIBLE if before is None else Verdict.BREAKING
        return (SchemaChange("", verdict, "is new" if before is None else "is gone"),)
    return _changes(before, after, is_read=True)


def _changes(before: JsonObject, after: JsonObject, *, is_read: bool) -> tuple[SchemaChange, ...]:
    if _written(before) == _written(after):
        return ()
    breaking = _Effect.WIDER if is_read else _Effect.NARROWER
    found = [
        SchemaChange(path, _verdict(effect, breaking), what, values)
        for path, effect, what, values in _Comparison(before, after, is_read).whole()
    ]
    order = list(Verdict)
    found.sort(key=lambda change: (order.index(change.verdict), change.path))
    return tuple(dict.fromkeys(found))[:MOST_CHANGES]


def _verdict(effect: _Effect, breaking: _Effect) -> Verdict:
    if breaking in effect:
        return Verdict.BREAKING
    return Verdict.UNDECIDED if _Effect.UNKNOWN in effect else Verdict.COMPATIBLE


class _Reader:
    """Reads the schemas below one root: references followed, conjunctions joined."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        # By identity, which is theirs for as long as the schema itself is kept.
        self._read: dict[int, tuple[JsonValue, JsonObject]] = {}
        self._branches: dict[int, tuple[JsonObject, list[JsonObject]]] = {}

    def plain(self, schema: JsonValue) -> JsonObject:
        """Return *schema* with what it refers to and the parts of `allOf` joined into one object.

        Of parts that say different things under one key, what remains stays in `allOf`.
        """
        if isinstance(schema, bool):
            return _ANYTHING if schema else _NOTHING
        if not isinstance(schema, dict):
            return _ANYTHING
        known = self._read.get(id(schema))
        if known is None:
            known = self._read[id(schema)] = schema, self._joined(schema)
        return known[1]

    def _joined(self, schema: JsonObject, hops: int = 0) -> JsonObject:
        joined = {key: one for key, one in schema.items() if key not in ("$ref", "allOf")}
        stated = schema.get("allOf")
        parts = list(stated) if isinstance(stated, list) else []
        if "$ref" in schema:
            parts.append(resolve(schema["$ref"], self._root) or {"$ref": schema["$ref"]})
        rest: list[JsonValue] = []
        for part in parts:
            own: JsonObject = part if isinstance(part, dict) else {}
            if hops < _MOST_HOPS and part != {"$ref": schema.get("$ref")}:
                own = self._joined(own, hops + 1)
            if _is_joinable(joined, own):
                joined = _join(joined, own)
            else:
                rest.append(own)
        return joined | ({"allOf": rest} if rest else {})

    def branches(self, schema: JsonObject) -> list[JsonObject]:
        """Return the plain schemas of which a value has to match one.

        What stands beside a union holds for each of its branches; several types, or values, are
        branches as well.
        """
        known = self._branches.get(id(schema))
        if known is None:
            known = self._branches[id(schema)] = schema, self._unfolded(schema)
        return known[1]

    def _unfolded(self, schema: JsonObject, hops: int = 0) -> list[JsonObject]:
        union = next((key for key in _UNIONS if isinstance(schema.get(key), list)), None)
        if union is None or hops == _MOST_UNIONS:
            return list(_alternatives(schema))
        beside = {key: one for key, one in schema.items() if key not in (union, *_TEXTS)}
        stated = schema[union]
        branches = [self.plain(one) for one in stated] if isinstance(stated, list) else []
        joined = (_combined(beside, one) for one in branches[:_MOST_BRANCHES])
        return [found for one in joined for found in self._unfolded(one, hops + 1)]


def _is_joinable(one: JsonObject, other: JsonObject) -> bool:
    """Return whether no key says different things in both, but for those that can be joined."""
    return all(
        key in _JOINED or one[key] == other[key] for key in one.keys() & other.keys() - {*_TEXTS}
    )


def _combined(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return a schema that asks for what both ask for, in `allOf` where these differ."""
    if not one:
        return other
    return _join(one, other) if _is_joinable(one, other) else {**other, "allOf": [one]}


def _join(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return a schema that asks for what both ask for; what describes is taken from the first."""
    joined = other | one
    properties = dict(_members(other))
    for name, part in _members(one).items():
        known = properties.get(name, part)
        properties[name] = part if known == part else {"allOf": [part, known]}
    if properties:
        joined["properties"] = properties
    required = [*_texts(other.get("required")), *_texts(one.get("required"))]
    if required:
        joined["required"] = [*dict.fromkeys(required)]
    return joined


def _alternatives(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield *schema* once for each of its values, or else for each of its types."""
    values = _values(schema)
    types = schema.get("type")
    if values is not None and len(values) <= _MOST_BRANCHES:
        bare = {key: one for key, one in schema.items() if key not in ("enum", "const", "type")}
        yield from (bare | {"const": one} for one in values)
    elif isinstance(types, list):
        yield from (schema | {"type": one} for one in types)
    else:
        yield schema


class _Comparison:
    """Compares two schemas keyword by keyword, each within its own root."""

    def __init__(self, before: JsonObject, after: JsonObject, is_read: bool) -> None:
        self._roots = before, after
        self._old, self._new = _Reader(before), _Reader(after)
        self._is_read = is_read
        self._within: set[tuple[int, int]] = set()
        self._left = _MOST_COMPARED

    def whole(self) -> Iterator[Change]:
        """Yield all changes, as path, effect, words, and the values that these speak of."""
        assumed: JsonObject = {} if self._is_read else {"type": "object"}
        before, after = (assumed | root for root in self._roots)
        yield from self._schemas(before, after, "")
        if self._left < 0:
            yield "", _Effect.UNKNOWN, "is too large to be compared as a whole", ()

    def _schemas(self, before: JsonValue, after: JsonValue, path: str) -> Iterator[Change]:
        old, new = self._old.plain(before), self._new.plain(after)
        pair = id(old), id(new)
        self._left -= 1
        # What a schema holds of itself has changed as it has.
        if pair in self._within or self._left < 0:
            return
        if len(self._within) > _DEEPEST:
            yield path, _Effect.UNKNOWN, "nests too deeply to be compared", ()
            return
        self._within.add(pair)
        try:
            yield from self._texts(old, new, path)
            if any(key in schema for schema in (old, new) for key in _UNIONS):
                yield from self._unions(old, new, path)
            else:
                yield from self._keywords(old, new, path)
        finally:
            self._within.discard(pair)

    def _effect(self, before: JsonObject, after: JsonObject) -> _Effect:
        effect = _Effect.NONE
        for _, one, _, _ in self._schemas(before, after, ""):
            effect |= one
        return effect

    def _texts(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        for key in ("title", "description"):
            before, after = old.get(key, ""), new.get(key, "")
            if (
                isinstance(before, str)
                and isinstance(after, str)
                and before.split() != after.split()
            ):
                yield path, _Effect.NONE, f"has another {key}:", (diff_text(before, after),)
        if _default(old) != _default(new):
            values = (f"{_default(new)}, was {_default(old)}",)
            yield path, _Effect.NONE, "has another default:", values

    def _unions(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        """Compare branches: each of the one schema should be within a branch of the other."""
        before, after = self._old.branches(old), self._new.branches(new)
        if max(len(before), len(after)) > _MOST_BRANCHES:
            if _written(old) != _written(new):
                yield path, _Effect.UNKNOWN, "has alternatives too many to be compared", ()
            return
        effects = [[self._effect(one, other) for other in after] for one in before]
        columns = [list(column) for column in zip(*effects, strict=True)]
        lost, gained = _uncovered(effects, _Effect.NARROWER), _uncovered(columns, _Effect.WIDER)
        for at in tuple(lost):
            partner = _partner(before[at], before, after)
            if partner is not None:
                yield from self._schemas(before[at], after[partner], path)
                lost.remove(at)
                gained = [one for one in gained if one != partner]
        yield from self._branches(lost, before, effects, _Effect.NARROWER, path)
        yield from self._branches(gained, after, columns, _Effect.WIDER, path)

    def _branches(
        self,
        places: Sequence[int],
        branches: Sequence[JsonObject],
        effects: Sequence[Sequence[_Effect]],
        fault: _Effect,
        path: str,
    ) -> Iterator[Change]:
        """Describe the *branches* at *places*, which no branch of the other schema is sure to hold.

        Those that one of them may hold are undecided.
        """
        unsure = [at for at in places if any(fault not in one for one in effects[at])]
        gone = [at for at in places if at not in unsure]
        words = self._lost if fault is _Effect.NARROWER else self._gained
        if gone:
            yield path, fault, words, _listed([_name(branches[at]) for at in gone])
        if unsure:
            named = _listed([_name(branches[at]) for at in unsure])
            yield path, _Effect.UNKNOWN, "may treat differently:", named

    def _keywords(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        yield from self._kinds(old, new, path)
        shared = _types(old) & _types(new)
        for key, kind in (_LEAST | _MOST).items():
            if kind in shared or (kind == "number" and "integer" in shared):
                yield from _limit(key, old, new, path)
        if "object" in shared:
            yield from self._objects(old, new, path)
        if "array" in shared:
            yield from self._arrays(old, new, path)
        yield from _assertions(old, new, path)

    def _kinds(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        """Compare the values that are listed, or else the types."""
        before, after = _values(old), _values(new)
        if before is not None and after is not None:
            lost, gained = _without(before, after), _without(after, before)
        elif after is not None:
            words = self._words("accepts nothing but", "is always one of")
            yield path, _Effect.NARROWER, words, _listed([*map(_shown, after)])
            lost, gained = [], []
        elif before is not None:
            words = self._words("accepts other values than", "may be other than")
            yield path, _Effect.WIDER, words, _listed([*map(_shown, before)])
            lost, gained = [], []
        else:
            lost, gained = _types_lost(_types(old), _types(new))
        if lost:
            yield path, _Effect.NARROWER, self._lost, _listed([*map(_shown, lost)])
        if gained:
            yield path, _Effect.WIDER, self._gained, _listed([*map(_shown, gained)])

    def _objects(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        before, after = _members(old), _members(new)
        were, are = set(_texts(old.get("required"))), set(_texts(new.get("required")))
        for name in dict.fromkeys((*after, *before, *sorted(were | are))):
            inner = f"{path}.{name}" if path else name
            if name in before and name in after:
                yield from self._schemas(before[name], after[name], inner)
            elif name in after:
                effect = _Effect.NARROWER if name in are else _Effect.NONE
                yield inner, effect, "is new and required" if name in are else "is new", ()
                continue
            elif name in before:
                yield from self._gone(before[name], new, inner)
                continue
            if name in are and name not in were:
                yield inner, _Effect.NARROWER, self._words("is now required", "is always there"), ()
            elif name in were and name not in are:
                yield inner, _Effect.WIDER, self._words("is now optional", "may be missing"), ()
        yield from self._further(old, new, path)

    def _gone(self, schema: JsonValue, new: JsonObject, path: str) -> Iterator[Change]:
        """Describe a property that no longer is one of the properties."""
        further = new.get("additionalProperties")
        if self._is_read:
            yield path, _Effect.WIDER, "is gone", ()
        elif further is False:
            yield path, _Effect.NARROWER, "is gone, and no longer accepted", ()
        elif isinstance(further, dict):
            yield path, _Effect.NONE, "is now one of the further properties", ()
            yield from self._schemas(schema, further, path)
        else:
            yield path, _Effect.UNKNOWN, "is gone: it may be ignored", ()

    def _further(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        before, after = (one.get("additionalProperties", True) for one in (old, new))
        if (before is False) is (after is False):
            if isinstance(before, dict) or isinstance(after, dict):
                yield from self._schemas(before, after, f"{path}.*" if path else "*")
        elif after is False:
            words = self._words("accepts no further properties", "has no further properties")
            yield path, _Effect.NARROWER, words, ()
        else:
            # A reader is free to pass over what it does not know.
            effect = _Effect.UNKNOWN if self._is_read else _Effect.WIDER
            words = self._words("accepts further properties", "may have further properties")
            yield path, effect, words, ()

    def _arrays(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        inner = f"{path}[]"
        before, after = (one.get("prefixItems", []) for one in (old, new))
        items = old.get("items", True), new.get("items", True)
        if any(isinstance(one, list) for one in items):  # tuples of drafts before 2020-12
            if _written([*items]) and _written(items[0]) != _written(items[1]):
                yield inner, _Effect.UNKNOWN, "has other items", ()
        else:
            yield from self._schemas(items[0], items[1], inner)
        if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            for at, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from self._schemas(one, other, f"{path}[{at}]")
        elif _written(before) != _written(after):
            yield inner, _Effect.UNKNOWN, "has other leading items", ()
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            is_stated = bool(new.get("uniqueItems"))
            effect = _Effect.NARROWER if is_stated else _Effect.WIDER
            yield path, effect, "must not repeat items" if is_stated else "may repeat items", ()

    @property
    def _lost(self) -> str:
        return self._words("no longer accepts", "no longer is")

    @property
    def _gained(self) -> str:
        return self._words("also accepts", "may now be")

    def _words(self, of_input: str, of_output: str) -> str:
        return of_output if self._is_read else of_input


def _uncovered(effects: Sequence[Sequence[_Effect]], fault: _Effect) -> list[int]:
    """Return the rows of which every effect has the *fault*, or could not be decided."""
    return [
        at for at, row in enumerate(effects) if all(one & (fault | _Effect.UNKNOWN) for one in row)
    ]


def _partner(
    branch: JsonObject, before: Sequence[JsonObject], after: Sequence[JsonObject]
) -> int | None:
    """Return the branch in *after* that *branch* became: the only one of the same types."""
    if "const" in branch:
        return None
    types = _types(branch)
    alike = [at for at, one in enumerate(after) if _types(one) == types]
    is_alone = sum(_types(one) == types for one in before) == 1
    return alike[0] if is_alone and len(alike) == 1 else None


def _limit(key: str, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    is_least = key in _LEAST
    none = 0.0 if key in _COUNTS else float("-inf") if is_least else float("inf")
    before, after = (_number(one.get(key), none) for one in (old, new))
    if before != after:
        effect = _Effect.NARROWER if (after > before) is is_least else _Effect.WIDER
        yield path, effect, f"has another {key}:", _changed(old, new, key)


def _assertions(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    """Compare keywords by whether they are stated, and otherwise as a whole."""
    for key in (*_ASSERTIONS, *_INVOLVED, "allOf", "$ref"):
        if _written(old.get(key)) == _written(new.get(key)):
            continue
        effect, words = _Effect.UNKNOWN, f"has another {key}:"
        if key in _ASSERTIONS and key not in old:
            effect, words = _Effect.NARROWER, f"has a new {key}:"
        elif key in _ASSERTIONS and key not in new:
            effect, words = _Effect.WIDER, f"no longer has a {key}:"
        yield path, effect, words, _changed(old, new, key)


def _changed(old: JsonObject, new: JsonObject, key: str) -> tuple[str, ...]:
    before, after = old.get(key), new.get(key)
    if before is None or after is None:
        return (_shown(before if after is None else after),)
    return (f"{_shown(after)}, was {_shown(before)}",)


def _types(schema: JsonObject) -> frozenset[str]:
    """Return the types that a value may have; an integer is a number."""
    stated = schema.get("type")
    names = frozenset(_texts(stated if isinstance(stated, list) else [stated])) & _TYPES
    if stated is None:
        values = _values(schema)
        names = _TYPES if values is None else frozenset(map(_type_of, values))
    if schema.get("nullable") is True:  # of OpenAPI 3.0
        names |= {"null"}
    return names | {"integer"} if "number" in names else names


def _types_lost(
    before: frozenset[str], after: frozenset[str]
) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the types that are gone, and those that are new."""
    lost, gained = sorted(before - after), sorted(after - before)
    for names in (lost, gained):
        if {"number", "integer"} <= set(names):
            names.remove("integer")
    return [*lost], [*gained]


def _type_of(one: JsonValue) -> str:
    kinds = {bool: "boolean", str: "string", list: "array", dict: "object", int: "integer"}
    return "null" if one is None else kinds.get(type(one), "number")


def _values(schema: JsonObject) -> list[JsonValue] | None:
    """Return the values that *schema* lists, `None` where it lists none."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None


def _members(schema: JsonObject) -> Mapping[str, JsonValue]:
    stated = schema.get("properties")
    return stated if isinstance(stated, dict) else {}


def _without(values: Sequence[JsonValue], others: Sequence[JsonValue]) -> list[JsonValue]:
    known = set(map(_written, others))
    return [one for one in values if _written(one) not in known]


def _texts(stated: JsonValue) -> list[str]:
    return [one for one in stated if isinstance(one, str)] if isinstance(stated, list) else []


def _number(stated: JsonValue, none: float) -> float:
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if is_number else none  # type: ignore[return-value]


def _name(schema: JsonObject) -> str:
    """Return what a branch is called in a message: its value, its title or its type."""
    if "const" in schema:
        return _shown(schema["const"])
    title, kind = schema.get("title"), schema.get("type")
    return title[:_SHOWN] if isinstance(title, str) and title else _shown(kind or "any value")


def _default(schema: JsonObject) -> str:
    return _shown(schema["default"]) if "default" in schema else "none"


def _listed(values: Sequence[str]) -> tuple[str, ...]:
    rest = len(values) - _NAMED
    return (*values[:_NAMED], f"{rest} more") if rest > 0 else tuple(values)


def _shown(one: JsonValue) -> str:
    text = one if isinstance(one, str) and one else json.dumps(one, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _written(one: JsonValue) -> str:
    # Python takes 1 and true for equal.
    return json.dumps(one, sort_keys=True)
