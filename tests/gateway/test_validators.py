"""Bounded validators, beside those of another library."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import SchemaError
from jsonschema.validators import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)

from mcpg.gateway.serve import INVOKE, SEARCH
from mcpg.gateway.serve.tools import invalid_arguments
from mcpg.gateway.validation import bounded_validator

DRAFTS: dict[str, Any] = {
    "http://json-schema.org/draft-04/schema#": Draft4Validator,
    "http://json-schema.org/draft-06/schema#": Draft6Validator,
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
}
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


@given(SCHEMAS, VALUES, st.sampled_from(sorted(DRAFTS)))
def test_the_verdict_is_that_of_every_draft(schema: Any, value: Any, name: str) -> None:
    """A value is valid by each draft as another library says, where the schema is valid in it."""
    schema = {"$schema": name, **schema}
    validator = bounded_validator(schema)
    try:
        DRAFTS[name].check_schema(schema)
    except SchemaError:
        assert validator is None
        return
    assert validator is not None
    assert validator.is_valid(value) is DRAFTS[name](schema).is_valid(value)
    assert validator.accepts_at_once(value) <= validator.is_valid(value)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (SEARCH, {"query": "x", "limit": 50, "contextTools": ["a"], "readOnly": True}),
        (SEARCH, {"query": "", "sources": [], "categories": ["a"]}),
        (INVOKE, {"toolId": "a", "arguments": {"any": [1]}, "timeout": 0.5}),
    ],
)
def test_usual_arguments_are_valid(name: str, arguments: dict[str, Any]) -> None:
    """Good arguments of meta-tools are accepted."""
    assert invalid_arguments(name, arguments) is None


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
    """Arguments of the wrong type or out of bounds, missing and unknown ones are refused."""
    assert invalid_arguments(name, arguments) is not None
