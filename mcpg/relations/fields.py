"""The named fields that a tool's schemas ask for and give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.catalog.schema import walk_parameters
from mcpg.text import split_words, stem

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.catalog.schema import Parameter

_DEEPEST = 4
_MOST = 256
_SHORTEST = 2
# Marks of list elements and unnamed members, and the dots between the steps of a path.
_STEPS = re.compile(r"(?:\[\]|\.\*)*\.|(?:\[\]|\.\*)+$")
_WIDER = {
    "number": {"integer"},
    "string": {"boolean", "integer", "number"},
}

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
    """

    name: str
    key: FieldKey
    types: frozenset[str]
    owner: FieldKey = ()


def field_key(name: str) -> FieldKey:
    """Give the stems of *name*, sorted, without repeats."""
    return tuple(sorted({singular(stem(word)) for word in split_words(name)}))


def singular(term: str) -> str:
    """Take the plural ending off a stem that kept it because it is short, as in `ids`.

    Keys are only ever compared with keys, so a word such as `status` may lose its ending as well.
    """
    is_plural = len(term) > _SHORTEST and term.endswith("s") and not term.endswith("ss")
    return term[:-1] if is_plural else term


def given_fields(tool: Tool) -> list[Field]:
    """List the fields of the structured result of *tool*, of lists and objects the innermost."""
    if not tool.output_schema:
        return []
    found = walk_parameters(tool.output_schema, max_depth=_DEEPEST, max_parameters=_MOST)
    holders = {_steps(parameter)[:-1] for parameter in found}
    # Who asks for a name or a number cannot take a record: its own fields are what flows.
    return [_field(parameter) for parameter in found if _steps(parameter) not in holders]


def needed_fields(tool: Tool) -> list[Field]:
    """List the required arguments of *tool*."""
    if not tool.required_arguments:
        return []
    found = walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST)
    return [_field(parameter) for parameter in found if parameter.required]


def accepts(needed: frozenset[str], given: frozenset[str]) -> bool:
    """Whether a value of one of the *given* types can stand where *needed* ones are asked for.

    A list fits everything, for one takes an element out of it or puts one into it.
    """
    if not needed or not given or "array" in needed | given:
        return True
    wider = needed.union(*(_WIDER.get(kind, ()) for kind in needed))
    return not wider.isdisjoint(given)


def _steps(parameter: Parameter) -> tuple[str, ...]:
    return tuple(step for step in _STEPS.split(parameter.path) if step)


def _field(parameter: Parameter) -> Field:
    *owners, name = _steps(parameter)
    types = frozenset(parameter.type.split("|")) if parameter.type else frozenset[str]()
    return Field(name, field_key(name), types, field_key(owners[-1]) if owners else ())
