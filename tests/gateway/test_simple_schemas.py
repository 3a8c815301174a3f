"""The check of values by schemas of simple keywords, beside the library's validators."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import SchemaError
from jsonschema.validators import (
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)

from mcpg.gateway.serve import INVOKE, SEARCH
from mcpg.gateway.serve.schemas import INPUTS
from mcpg.gateway.simple_schemas import accepts

DRAFTS: list[Any] = [
    Draft3Validator,
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
]
_NAMES = st.sampled_from(["a", "b", "c"])
_SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 0.5, 1.0, "", "a", "ab", "ünï"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_LIMITS = st.sampled_from([0, 1, 2, 0.5, True])
_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=2, unique=True),
        "properties": st.dictionaries(_NAMES, inner, max_size=2),
        "required": st.lists(_NAMES, min_size=1, max_size=2, unique=True) | st.booleans(),
        "additionalProperties": st.booleans() | inner,
        "items": inner | st.lists(inner, min_size=1, max_size=2),
        "enum": st.lists(_SCALARS, min_size=1, max_size=3),
        "const": _SCALARS,
        "not": inner,
        "title": st.just("a"),
        **dict.fromkeys(_BOUNDS, _LIMITS),
    }
    return st.fixed_dictionaries({}, optional=keywords)


SCHEMAS = st.recursive(_schemas(st.just({})), _schemas, max_leaves=4)


@given(SCHEMAS, VALUES)
def test_what_it_accepts_is_valid_by_every_draft(schema: Any, value: Any) -> None:
    """Nothing is accepted that a draft in which the schema is valid refuses."""
    if not accepts(schema, value):
        return
    for draft in DRAFTS:
        with suppress(SchemaError):
            draft.check_schema(schema)
            assert draft(schema).is_valid(value), draft


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (SEARCH, {"query": "x", "limit": 50, "contextTools": ["a"], "readOnly": True}),
        (SEARCH, {"query": "", "sources": [], "categories": ["a"]}),
        (INVOKE, {"toolId": "a", "arguments": {"any": [1]}, "timeout": 0.5}),
    ],
)
def test_usual_arguments_need_no_validator(name: str, arguments: dict[str, Any]) -> None:
    """Good arguments of meta-tools are accepted."""
    assert accepts(INPUTS[name], arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (SEARCH, {}),
        (SEARCH, {"query": None}),
        (SEARCH, {"query": "x", "limit": 51}),
        (SEARCH, {"query": "x", "limit": 0}),
        (SEARCH, {"query": "x", "limit": True}),
        (SEARCH, {"query": "x", "limit": "5"}),
        (SEARCH, {"query": "x", "sources": ["a", 1]}),
        (SEARCH, {"query": "x", "more": 1}),
        (INVOKE, {"toolId": "a", "timeout": 0}),
        (INVOKE, []),
    ],
)
def test_wrong_arguments_are_not_accepted(name: str, arguments: Any) -> None:
    """Arguments of the wrong type or out of bounds, missing and unknown ones are left to others."""
    assert not accepts(INPUTS[name], arguments)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a"},
        {"$ref": "#"},
        {"anyOf": [{}]},
        {"enum": ["a"] * 1000},
        {"required": "a"},
        {"properties": 1},
        {"maxLength": "1"},
        {"type": {}},
        {"enum": "a"},
        True,
        None,
    ],
)
def test_other_schemas_accept_nothing(schema: Any) -> None:
    """Other keywords, long lists and malformed schemas are left to a validator."""
    assert not accepts(schema, "a")
