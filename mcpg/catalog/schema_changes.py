"""Changes of JSON Schemas, and whether they break users of the former one.

A caller relies on an input schema to accept all that it accepted, so it may only become wider. A
reader relies on an output schema to keep all its promises, so it may only become narrower:
arguments are contravariant, results covariant.

Whether one schema accepts all that another does is hard to decide for all of JSON Schema (Habib et
al., "Finding data compatibility bugs with JSON subschema checks", ISSTA 2021). Here keywords are
compared one by one; a change of keywords whose interplay is not modeled is reported as undecided.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from functools import reduce
from operator import or_
from typing import NamedTuple, TypeAlias, TypeVar

from mcpg.catalog.flat_schema import (
    MOST_BRANCHES,
    NOTHING,
    TYPES,
    UNIONS,
    SchemaReader,
    allowed_types,
    allowed_values,
    are_disjoint,
    bare_types,
    canonical_text,
    only_texts,
    property_schemas,
    value_type,
    with_plain_numbers,
)
from mcpg.text.diffs import diff_text
from mcpg.text.json_values import JsonObject, JsonValue

Item = TypeVar("Item")
Change: TypeAlias = "tuple[str, _Effect, str, tuple[str, ...] | _TextPair]"


class Compatibility(StrEnum):
    """The meaning of a change for users of a schema."""

    BREAKING = "breaking"
    UNDECIDED = "undecided"
    COMPATIBLE = "compatible"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change of a schema.

    Attributes:
        path: Its place, as in `order.lines[].sku`; "" for the schema as a whole.
        what: The change, in words of ours.
        values: The parts of the schemas that these words are about, each cut short.
    """

    path: str
    verdict: Compatibility
    what: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.path, self.what, ", ".join(self.values))))


class _TextPair(NamedTuple):  # compared word by word only if the change is listed
    before: str
    after: str


class _TooLargeError(Exception):
    """More is compared than two schemas of their size should need."""


class _Effect(Flag):
    """The effect of a change on the values that a schema accepts."""

    NONE = 0
    NARROWER = auto()
    WIDER = auto()
    UNKNOWN = auto()
    NEW = auto()
    """A property comes that was not described, which callers are taken not to send."""


MOST_CHANGES = 100
"""The most changes that are listed of one schema."""

_LOSS, _GAIN = ("no longer accepts", "no longer is"), ("also accepts", "may now be")
_DEEPEST = 60
_SHOWN, _NAMED = 120, 8
_LONGEST_PATH, _LONGEST_TEXT = 300, 1_000
_COUNTS = {
    "minLength": "string",
    "maxLength": "string",
    "minItems": "array",
    "maxItems": "array",
    "minProperties": "object",
    "maxProperties": "object",
}
_BOUNDS = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
# To add one refuses values, to remove one accepts more; both at once is not followed.
_ASSERTIONS = (
    *("pattern", "multipleOf", "not", "propertyNames", "contains"),
    *("dependentRequired", "dependentSchemas", "dependencies"),
)
# The meaning of a change of these depends on other keywords, or on the reader.
_INVOLVED = (
    *("format", "if", "then", "else", "patternProperties", "unevaluatedProperties"),
    *("unevaluatedItems", "minContains", "maxContains", "contentEncoding", "contentMediaType"),
    *("contentSchema", "readOnly", "writeOnly", "allOf", "$ref", "$dynamicRef"),
)
_AS_WRITTEN = (*_ASSERTIONS, *_INVOLVED)
_WITHIN = frozenset(
    ("properties", "additionalProperties", "items", "prefixItems", "$defs", "definitions", *UNIONS)
)
_COMPARED = frozenset(
    (
        *("type", "nullable", "enum", "const", "properties", "required", "additionalProperties"),
        *("items", "prefixItems", "additionalItems", "uniqueItems", *UNIONS),
        *("title", "description", "default", "definitions", "id", "$comment"),
        *(*_COUNTS, *_BOUNDS.keys(), *_BOUNDS.values(), *_AS_WRITTEN),
    )
)


def input_changes(
    before: JsonObject, after: JsonObject, most: int = MOST_CHANGES
) -> tuple[SchemaChange, ...]:
    """Return up to *most* changes of the schema of arguments, first those that break callers."""
    return _changes(before, after, most, is_read=False)


def output_changes(
    before: JsonObject | None, after: JsonObject | None, most: int = MOST_CHANGES
) -> tuple[SchemaChange, ...]:
    """Return up to *most* changes of the schema of results, first those that break readers.

    A schema may be `None` if there is none.
    """
    if before is None or after is None:
        if before is after:
            return ()
        verdict = Compatibility.COMPATIBLE if before is None else Compatibility.BREAKING
        return (SchemaChange("", verdict, "is new" if before is None else "is gone"),)
    return _changes(before, after, most, is_read=True)


def _changes(
    before: JsonObject, after: JsonObject, most: int, *, is_read: bool
) -> tuple[SchemaChange, ...]:
    if canonical_text(before) == canonical_text(after):
        return ()
    before, after = (
        {key: with_plain_numbers(one) for key, one in root.items()} for root in (before, after)
    )
    breaking = _Effect.WIDER if is_read else _Effect.NARROWER

    def judge(effect: _Effect) -> Compatibility:
        if breaking in effect:
            return Compatibility.BREAKING
        return Compatibility.UNDECIDED if _Effect.UNKNOWN in effect else Compatibility.COMPATIBLE

    found = {
        (path, judge(effect), what, values): None
        for path, effect, what, values in _Comparison(before, after, is_read).whole()
    }
    order = list(Compatibility)
    shown = sorted(found, key=lambda change: (order.index(change[1]), change[0]))[:most]
    # References let many changes have the same texts.
    compared = {values: values for values in {one[-1] for one in shown}}
    for pair in (one for one in compared if isinstance(one, _TextPair)):
        compared[pair] = (_cut(diff_text(*pair), _LONGEST_TEXT),)
    return tuple(
        SchemaChange(_cut(path, _LONGEST_PATH), verdict, what, compared[values])
        for path, verdict, what, values in shown
    )


class _Comparison:
    """Compares two schemas keyword by keyword, each within its own root."""

    def __init__(self, before: JsonObject, after: JsonObject, is_read: bool) -> None:
        self._roots = before, after
        self._old, self._new = SchemaReader(before), SchemaReader(after)
        self._is_read = is_read
        self._within: set[tuple[int, int]] = set()
        self._sizes: dict[int, int] = {}
        # References and alternatives multiply the comparisons.
        size = sum(len(canonical_text(root)) for root in self._roots)
        self._pairs_left = min(2_000 + size // 50, 5_000)
        self._text_left = 300_000 + 5 * size

    def whole(self) -> Iterator[Change]:
        """Yield all changes, as path, effect, words, and the values that these speak of."""
        assumed: JsonObject = {} if self._is_read else {"type": "object"}
        before, after = (assumed | root for root in self._roots)
        try:
            yield from self._compare_schemas(before, after, "")
        except _TooLargeError:
            yield "", _Effect.UNKNOWN, "is too large to be compared as a whole", ()

    def _spend(self, size: int) -> None:
        self._pairs_left -= 1
        self._text_left -= size
        if self._pairs_left < 0 or self._text_left < 0:
            raise _TooLargeError

    def _own_size(self, plain: JsonObject) -> int:
        """Return how many characters *plain* has beside the schemas within it."""
        # By identity: the readers keep the schemas that they have made plain.
        if id(plain) not in self._sizes:
            texts = (canonical_text(one) for key, one in plain.items() if key not in _WITHIN)
            self._sizes[id(plain)] = sum(map(len, texts))
        return self._sizes[id(plain)]

    def _compare_schemas(self, before: JsonValue, after: JsonValue, path: str) -> Iterator[Change]:
        old, new = self._old.plain(before), self._new.plain(after)
        pair = id(old), id(new)
        self._spend(self._own_size(old) + self._own_size(new))
        # The parts of a schema within itself have changed as it has.
        if pair in self._within:
            return
        if len(self._within) > _DEEPEST:
            yield path, _Effect.UNKNOWN, "nests too deeply to be compared", ()
            return
        self._within.add(pair)
        try:
            yield from _compare_annotations(old, new, path)
            if NOTHING in (old, new):
                if new != NOTHING:
                    words = self._words("is now accepted", "may now be there")
                    yield path, _Effect.WIDER, words, ()
                elif old != NOTHING:
                    words = self._words("is no longer accepted", "is never there")
                    yield path, _Effect.NARROWER, words, ()
            elif any(key in schema for schema in (old, new) for key in UNIONS):
                yield from self._compare_unions(old, new, path)
            else:
                yield from self._compare_keywords(old, new, path)
        finally:
            self._within.discard(pair)

    def _compare_unions(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        """Compare branches: each should be within a branch of its counterpart."""
        before, after = self._old.branches(old), self._new.branches(new)
        if max(len(before), len(after)) > MOST_BRANCHES:
            if canonical_text(old) != canonical_text(new):
                yield path, _Effect.UNKNOWN, "has alternatives too many to be compared", ()
            return
        cells = [[[*self._compare_schemas(one, other, path)] for other in after] for one in before]
        effects = [
            [reduce(or_, (one[1] for one in cell), _Effect.NONE) for cell in row] for row in cells
        ]
        columns = [[row[at] for row in effects] for at in range(len(after))]
        lost = _find_uncovered(effects, _Effect.NARROWER)
        gained = _find_uncovered(columns, _Effect.WIDER)
        is_same = len(before) == len(after) and all(
            _Effect.NONE in line for line in (*effects, *columns)
        )
        for at, other in _find_partners(before, after, effects, lost, gained):
            yield from cells[at][other]
            lost = [one for one in lost if one != at]
            gained = [one for one in gained if one != other]
        for at, row in enumerate(cells):
            pairs = zip(row, effects[at], strict=True)
            equal = [cell for cell, effect in pairs if effect in _Effect.NEW]
            yield from min(equal, key=len, default=())
        yield from self._describe_branches(lost, before, after, effects, _Effect.NARROWER, path)
        yield from self._describe_branches(gained, after, before, columns, _Effect.WIDER, path)
        are_exclusive = self._old.is_exclusive(old), self._new.is_exclusive(new)
        if any(are_exclusive) and not (is_same and all(are_exclusive)):
            yield path, _Effect.UNKNOWN, "has alternatives of which only one may match", ()

    def _describe_branches(
        self,
        places: Sequence[int],
        branches: Sequence[JsonObject],
        others: Sequence[JsonObject],
        effects: Sequence[Sequence[_Effect]],
        fault: _Effect,
        path: str,
    ) -> Iterator[Change]:
        """Describe the *branches* at *places*, which none of the *others* is sure to contain."""
        unsure = [at for at in places if any(fault not in one for one in effects[at])]
        sure = [branches[at] for at in places if at not in unsure]
        is_loss = fault is _Effect.NARROWER
        words = self._words(*(_LOSS if is_loss else _GAIN))
        amount = f"{self._words('accepts', 'has')} {'fewer' if is_loss else 'more'} values of:"
        whole = [one for one in sure if all(are_disjoint(one, other) for other in others)]
        part = [one for one in sure if one not in whole]
        doubtful = [branches[at] for at in unsure]
        for effect, text, some in (
            (fault, words, whole),
            (fault, amount, part),
            (_Effect.UNKNOWN, "may treat differently:", doubtful),
        ):
            if some:
                yield path, effect, text, _list_first(some, _name)

    def _compare_keywords(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        yield from self._compare_kinds(old, new, path)
        shared, keys = allowed_types(old) & allowed_types(new), old.keys() | new.keys()
        for key in (key for key, kind in _COUNTS.items() if key in keys and kind in shared):
            is_least = key.startswith("min")
            before, after = (
                (0.0 if is_least else math.inf) if (one := _number(each.get(key))) is None else one
                for each in (old, new)
            )
            if before != after:
                effect = _Effect.NARROWER if (after > before) is is_least else _Effect.WIDER
                yield path, effect, *_describe_keyword(key, old, new)
        if "integer" in shared:
            for key, exclusive in _BOUNDS.items():
                if key in keys or exclusive in keys:
                    yield from _compare_bounds(key, old, new, path, is_whole="number" not in shared)
        if "object" in shared:
            yield from self._compare_objects(old, new, path)
        if "array" in shared:
            yield from self._compare_arrays(old, new, path)
        yield from _compare_assertions(old, new, path)
        yield from self._compare_references(old, new, path)

    def _compare_references(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        """Compare the targets of keywords that are compared as they are written."""
        for key in _AS_WRITTEN:
            if key in old and key in new and not _differs(key, old, new):
                before, after = (
                    canonical_text(reader.collect_references(schema[key]))
                    for reader, schema in ((self._old, old), (self._new, new))
                )
                self._spend(len(before) + len(after))
                if before != after:
                    yield path, _Effect.UNKNOWN, f"refers to other schemas in {key}", ()

    def _compare_kinds(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        """Compare the values that are listed, or else the types."""
        before, after = allowed_values(old), allowed_values(new)
        lost: list[JsonValue]
        gained: list[JsonValue]
        if before is not None and after is not None:
            lost, gained = _without(before, after), _without(after, before)
        elif after is not None:
            words = self._words("accepts only", "is always one of")
            yield path, _Effect.NARROWER, words, _list_first(after, _format_value)
            lost, gained = [], [one for one in after if value_type(one) not in allowed_types(old)]
        elif before is not None:
            words = self._words("accepts other values than", "may be other than")
            yield path, _Effect.WIDER, words, _list_first(before, _format_value)
            lost, gained = [one for one in before if value_type(one) not in allowed_types(new)], []
        else:
            were, are = allowed_types(old), allowed_types(new)
            lost, gained = [*bare_types(were - are)], [*bare_types(are - were)]
        if lost:
            yield path, _Effect.NARROWER, self._words(*_LOSS), _list_first(lost, _format_value)
        if gained:
            yield path, _Effect.WIDER, self._words(*_GAIN), _list_first(gained, _format_value)

    def _compare_objects(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        before, after = property_schemas(old), property_schemas(new)
        were, are = set(only_texts(old.get("required"))), set(only_texts(new.get("required")))
        demanded, released = are - were, were - are
        for name in dict.fromkeys((*after, *before, *sorted(were | are))):
            inner = f"{path}.{name}" if path else name
            self._text_left -= len(inner)
            if name in before and name in after:
                yield from self._compare_schemas(before[name], after[name], inner)
            elif name in after:
                self._spend(0)
                further, is_required = _further_schema(old), name in demanded
                effect = _Effect.NARROWER if is_required else _Effect.NEW
                if self._is_read and further is False:
                    # A reader may refuse unknown properties.
                    effect |= _Effect.UNKNOWN
                yield inner, effect, "is new and required" if is_required else "is new", ()
                if isinstance(further, dict):
                    yield from self._compare_schemas(further, after[name], inner)
            elif name in before:
                self._spend(0)
                yield from self._describe_removed(before[name], new, inner)
            if name in demanded and (name in before or name not in after):
                yield inner, _Effect.NARROWER, self._words("is now required", "is always there"), ()
            elif name in released:
                yield inner, _Effect.WIDER, self._words("is now optional", "may be missing"), ()
        yield from self._compare_further(old, new, path)

    def _describe_removed(self, schema: JsonValue, new: JsonObject, path: str) -> Iterator[Change]:
        further = _further_schema(new)
        if self._is_read:
            yield path, _Effect.WIDER, "is gone", ()
        elif further is False and new.get("patternProperties"):
            yield path, _Effect.UNKNOWN, "is gone: it may no longer be accepted", ()
        elif further is False:
            yield path, _Effect.NARROWER, "is gone, and no longer accepted", ()
        elif isinstance(further, dict):
            yield path, _Effect.NONE, "is now one of the further properties", ()
            yield from self._compare_schemas(schema, further, path)
        else:
            yield path, _Effect.UNKNOWN, "is gone: it may be ignored", ()

    def _compare_further(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        before, after = (one.get("additionalProperties", True) for one in (old, new))
        if (before is False) is (after is False):
            if isinstance(before, dict) or isinstance(after, dict):
                yield from self._compare_schemas(before, after, f"{path}.*" if path else "*")
        elif after is False:
            words = self._words("accepts no further properties", "has no further properties")
            yield path, _Effect.NARROWER, words, ()
        else:
            # A reader is free to ignore unknown properties.
            effect = _Effect.UNKNOWN if self._is_read else _Effect.WIDER
            words = self._words("accepts further properties", "may have further properties")
            yield path, effect, words, ()

    def _compare_arrays(self, old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
        (before, rest), (after, others) = _items(old), _items(new)
        for at in range(max(len(before), len(after))):
            one, other = (
                items[at] if at < len(items) else last
                for items, last in ((before, rest), (after, others))
            )
            yield from self._compare_schemas(one, other, f"{path}[{at}]")
        yield from self._compare_schemas(rest, others, f"{path}[]")
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            is_stated = bool(new.get("uniqueItems"))
            effect = _Effect.NARROWER if is_stated else _Effect.WIDER
            yield path, effect, "must not repeat items" if is_stated else "may repeat items", ()

    def _words(self, of_input: str, of_output: str) -> str:
        return of_output if self._is_read else of_input


def _find_uncovered(effects: Sequence[Sequence[_Effect]], fault: _Effect) -> list[int]:
    """Return the rows in which every effect has the *fault*, or is undecided."""
    return [
        at for at, row in enumerate(effects) if all(one & (fault | _Effect.UNKNOWN) for one in row)
    ]


def _find_partners(
    before: Sequence[JsonObject],
    after: Sequence[JsonObject],
    effects: Sequence[Sequence[_Effect]],
    lost: Sequence[int],
    gained: Sequence[int],
) -> Iterator[tuple[int, int]]:
    """Yield the branches that became others: those of one name, of one type, or the last ones.

    A branch that other branches also contain only has a partner that adds no fault to it.
    """
    olds, news = ([*map(_name, side)] for side in (before, after))
    kinds = [[allowed_types(one) for one in side] for side in (before, after)]
    free = {*range(len(after))}
    for at in range(len(before)):
        others = [
            other
            for other in sorted(free)
            if "const" not in before[at]
            and kinds[0][at] == kinds[1][other]
            and (at in lost or other in gained)
            and (at in lost or _Effect.NARROWER not in effects[at][other])
            and (other in gained or _Effect.WIDER not in effects[at][other])
        ]
        named = [other for other in others if olds[at] == news[other]]
        is_alone = kinds[0].count(kinds[0][at]) == kinds[1].count(kinds[0][at]) == 1
        is_left = len(lost) == len(gained) == 1 and others == [*gained] and at in lost
        found = named if olds.count(olds[at]) == len(named) == 1 else others
        if len(found) == 1 and (found is named or is_alone or is_left):
            free.discard(found[0])
            yield at, found[0]


def _compare_annotations(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    """Compare keywords that refuse no value: texts, defaults, and unknown ones."""
    for key in ("title", "description"):
        before, after = old.get(key, ""), new.get(key, "")
        if isinstance(before, str) and isinstance(after, str) and before.split() != after.split():
            yield path, _Effect.NONE, f"has another {key}:", _TextPair(before, after)
    for key in ("default", *sorted((old.keys() | new.keys()) - _COMPARED)):
        if not key.startswith("$") and _differs(key, old, new):
            yield path, _Effect.NONE, *_describe_keyword(key, old, new)


def _compare_bounds(
    key: str, old: JsonObject, new: JsonObject, path: str, *, is_whole: bool
) -> Iterator[Change]:
    """Compare the least or greatest number, by both of its keywords."""
    before, after = (_read_bound(key, one, is_whole=is_whole) for one in (old, new))
    if before == after:
        return
    sign, beyond = (1, "above") if key == "minimum" else (-1, "below")
    stated: list[JsonObject] = [
        {} if one is None else {key: f"{beyond} {one[0]}" if one[1] else one[0]}
        for one in (before, after)
    ]
    narrower = before is None or (
        after is not None and (sign * after[0], after[1]) > (sign * before[0], before[1])
    )
    yield path, _Effect.NARROWER if narrower else _Effect.WIDER, *_describe_keyword(key, *stated)


def _read_bound(key: str, schema: JsonObject, *, is_whole: bool) -> tuple[float, bool] | None:
    """Return the bound, and whether it is exclusive; in draft 4, that is a flag."""
    sign = 1 if key == "minimum" else -1
    other = schema.get(_BOUNDS[key])
    stated = [(_number(schema.get(key)), other is True), (_number(other), True)]
    found = [(sign * one, is_beyond) for one, is_beyond in stated if one is not None]
    if not found:
        return None
    least, is_beyond = max(found)
    if is_whole and math.isfinite(least):
        return sign * (math.floor(least) + 1 if is_beyond else math.ceil(least)), False
    return sign * least, is_beyond


def _compare_assertions(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    """Compare keywords by whether they are there, and otherwise as a whole."""
    for key in _AS_WRITTEN:
        if not _differs(key, old, new):
            continue
        before, after = old.get(key), new.get(key)
        effect = _Effect.UNKNOWN
        if key in _ASSERTIONS and (key not in old or key not in new):
            effect = _Effect.WIDER if key in old else _Effect.NARROWER
        elif (
            key == "multipleOf"
            and isinstance(before, int)
            and isinstance(after, int)
            and min(before, after) > 0
        ):
            narrower = _Effect.NARROWER if after % before == 0 else _Effect.NONE
            wider = _Effect.WIDER if before % after == 0 else _Effect.NONE
            effect = narrower or wider or _Effect.NARROWER | _Effect.WIDER
        yield path, effect, *_describe_keyword(key, old, new)


def _differs(key: str, old: JsonObject, new: JsonObject) -> bool:
    if key not in old or key not in new:
        return key in old or key in new
    return canonical_text(old[key]) != canonical_text(new[key])


def _describe_keyword(key: str, old: JsonObject, new: JsonObject) -> tuple[str, tuple[str, ...]]:
    if key not in old:
        return f"has a new {key}:", (_format_value(new[key]),)
    if key not in new:
        return f"no longer has a {key}:", (_format_value(old[key]),)
    return f"has another {key}:", (f"{_format_value(new[key])}, was {_format_value(old[key])}",)


def _further_schema(schema: JsonObject) -> JsonValue:
    is_stated = "additionalProperties" in schema
    return schema.get("additionalProperties" if is_stated else "unevaluatedProperties", True)


def _items(schema: JsonObject) -> tuple[list[JsonValue], JsonValue]:
    """Return the schemas of the first items, and of the others; drafts differ in keywords."""
    items, leading = schema.get("items", True), schema.get("prefixItems")
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return leading if isinstance(leading, list) else [], items


def _without(values: Sequence[JsonValue], others: Sequence[JsonValue]) -> list[JsonValue]:
    known = set(map(canonical_text, others))
    return [one for one in values if canonical_text(one) not in known]


def _number(stated: JsonValue) -> float | None:
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if is_number else None  # type: ignore[return-value]


def _name(schema: JsonObject) -> str:
    """Return the name of a branch in a message: its value or title, or else its properties.

    These are the properties that have one value, or else the required ones.
    """
    if "const" in schema:
        return _format_value(schema["const"])
    title, kind = schema.get("title"), schema.get("type")
    if isinstance(title, str) and title:
        return title[:_SHOWN]
    fixed = [
        f"{name} {_format_value(one['const'])}"
        for name, one in property_schemas(schema).items()
        if isinstance(one, dict) and "const" in one
    ]
    members = _list_first(fixed or only_texts(schema.get("required")), str)
    named = _format_value(kind or "any value")
    return f"{named} with {', '.join(members)}"[:_SHOWN] if members else named


def _list_first(values: Sequence[Item], show: Callable[[Item], str]) -> tuple[str, ...]:
    rest = len(values) - _NAMED
    return (*map(show, values[:_NAMED]), *([f"{rest} more"] if rest > 0 else ()))


def _format_value(one: JsonValue) -> str:
    """Return a value on a few words: a text bare, unless it reads as another value."""
    if isinstance(one, str) and one not in TYPES and one and len(one) <= _SHOWN:
        with suppress(ValueError):
            json.loads(one)
            return _cut(json.dumps(one, ensure_ascii=False))
    return _cut(one if isinstance(one, str) and one else json.dumps(one, ensure_ascii=False))


def _cut(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
