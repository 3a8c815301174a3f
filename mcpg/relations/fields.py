"""The fields of tools: what their results give, what their arguments take, and which of them fit.

A field is compared by the stems of its name, so that spelling, word order and plural part nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mcpg.catalog.model import Parameter, Tool, walk_parameters
from mcpg.text import split_words, stem

_DEEPEST = 4
_MOST = 256
_SHORTEST_PLURAL = 2
_MOST_KEYS, _LONGEST_REMEMBERED = 16_384, 64
# Marks of list elements and unnamed members, and the dots between the steps of a path.
_STEPS = re.compile(r"(?:\[\]|\.\*)*\.|(?:\[\]|\.\*)+$")
_WIDER = {"number": {"integer"}, "string": {"boolean", "integer", "number"}}
# Formats of JSON Schema and OpenAPI that a value of the other one can stand for.
_FORMATS = (
    ("date-time", "datetime", "timestamp"),
    ("email", "idn-email"),
    ("guid", "uuid"),
    ("hostname", "idn-hostname"),
    ("iri", "iri-reference", "uri", "uri-reference", "uri-template", "url"),
    ("decimal", "double", "float", "int32", "int64", "integer", "number", "uint32", "uint64"),
)
_FAMILIES = {name: family[0] for family in _FORMATS for name in family}

FieldKey = tuple[str, ...]
"""The stems of a field's name, sorted: `orderId` and `id_of_order` are one field."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema.

    Attributes:
        name: As the schema writes it.
        key: The stems of its name.
        types: JSON types that its value may have; empty when the schema does not say.
        owner: The stems of the name of the field that holds it; empty at the top.
        path: The way to it, as in `orders[].id`.
        format: The format of its value, or "".
        required: Whether its object must have it.
    """

    name: str
    key: FieldKey
    types: frozenset[str]
    owner: FieldKey = ()
    path: str = ""
    format: str = ""
    required: bool = True


def field_key(name: str) -> FieldKey:
    """Return the stems of *name*, sorted, without repeats."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else _make_key(name)


def _make_key(name: str) -> FieldKey:
    return tuple(sorted({singular(stem(word)) for word in split_words(name)}))


# Tools of one server share many names of arguments.
_remembered = lru_cache(_MOST_KEYS)(_make_key)


def singular(term: str) -> str:
    """Take the plural ending off a stem that kept it because it is short, as in `ids`.

    Keys are only ever compared with keys, so a word such as `status` may lose its ending as well.
    """
    is_plural = len(term) > _SHORTEST_PLURAL and term.endswith("s") and not term.endswith("ss")
    return term[:-1] if is_plural else term


def given_fields(tool: Tool) -> list[Field]:
    """List the fields of the structured result of *tool*, of lists and objects the innermost."""
    if not tool.output_schema:
        return []
    found = walk_parameters(tool.output_schema, max_depth=_DEEPEST, max_parameters=_MOST)
    holders = {_steps(parameter)[:-1] for parameter in found}
    # An argument that is a name or a number cannot take a record: its own fields are what flows.
    return [_field(parameter) for parameter in found if _steps(parameter) not in holders]


def taken_fields(tool: Tool) -> list[Field]:
    """List the arguments of *tool*."""
    return list(map(_field, walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST)))


def qualify_field(field: Field, subjects: Sequence[str]) -> Iterator[tuple[FieldKey, bool]]:
    """Name a field of one word in full: the `id` of an order is an `order_id` to others.

    Args:
        field: The field.
        subjects: The stems of what its tool works on.

    Yields:
        Each name, and whether it is made of all that is known.
    """
    if len(field.key) != 1:
        return
    if field.owner:
        yield _join_keys(field.key, field.owner), True
    if subjects:
        yield _join_keys(field.key, tuple(subjects)), not field.owner
    if len(subjects) > 1:
        yield from ((_join_keys(field.key, (subject,)), False) for subject in subjects)


def fits(needed: Field, given: Field) -> bool:
    """Return whether a value of *given* can stand where *needed* is asked for."""
    return accepts(needed.types, given.types) and _accepts_format(needed.format, given.format)


def accepts(needed: frozenset[str], given: frozenset[str]) -> bool:
    """Whether a value of one of the *given* types can stand where *needed* ones are asked for.

    A list fits everything, for one takes an element out of it or puts one into it.
    """
    if not needed or not given or "array" in needed | given:
        return True
    wider = needed.union(*(_WIDER.get(kind, ()) for kind in needed))
    return not wider.isdisjoint(given)


def _accepts_format(needed: str, given: str) -> bool:
    if not needed or not given:
        return True
    needed, given = needed.lower(), given.lower()
    return _FAMILIES.get(needed, needed) == _FAMILIES.get(given, given)


def _join_keys(key: FieldKey, owner: FieldKey) -> FieldKey:
    return tuple(sorted({*key, *owner}))


def _steps(parameter: Parameter) -> tuple[str, ...]:
    return tuple(step for step in _STEPS.split(parameter.path) if step)


def _field(parameter: Parameter) -> Field:
    *owners, name = _steps(parameter) or ("",)
    types = frozenset(parameter.type.split("|")) if parameter.type else frozenset[str]()
    owner = field_key(owners[-1]) if owners else ()
    form, required = parameter.format, parameter.required
    return Field(name, field_key(name), types, owner, parameter.path, form, required)
