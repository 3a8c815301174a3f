"""Errors of libraries whose next versions use other words."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any

import pytest

from mcpg.text.library_errors import (
    connection_reason,
    json_reason,
    pydantic_choices,
    pydantic_expected,
    sparql_reason,
    toml_reason,
    turtle_reason,
    yaml_reason,
)

NEW = "Words of a later version"
REASONS = {
    "json": json_reason(JSONDecodeError(NEW, '{"a" 1}', 5)),
    "toml": toml_reason(ValueError(NEW), "a = 1\nb"),
    "yaml": yaml_reason(NEW),
    "turtle": turtle_reason(SyntaxError(NEW)),
    "turtle without words": turtle_reason(SyntaxError()),
    "sparql": sparql_reason(NEW, "SELECT ?a"),
    "sparql elsewhere": sparql_reason("error at 9:9", "SELECT ?a"),
}


@pytest.mark.parametrize("name", REASONS)
def test_unknown_words_of_a_library_have_a_reason_and_a_remedy(name: str) -> None:
    """What a library says in new words is still reported in words of mcpg."""
    assert all(REASONS[name])
    assert NEW not in "".join(REASONS[name])


@pytest.mark.parametrize(
    "fault",
    [
        {"type": "of_a_later_version"},
        {"type": "literal_error"},
        {"type": "literal_error", "ctx": None},
        {"type": "enum", "ctx": {"expected": "a or b"}},
        {"type": "less_than", "ctx": {"bound": 3}},
        {"type": "greater_than", "ctx": None},
    ],
)
def test_unknown_errors_of_pydantic_expect_nothing(fault: dict[str, Any]) -> None:
    """An error of pydantic that is not known, or lacks a part, is no error of mcpg."""
    assert pydantic_expected(fault) == ""
    assert pydantic_choices(fault) == []


def test_unknown_errors_of_connections_keep_their_words() -> None:
    """Why a host could not be reached is reported in the words of the library, or by its type."""
    assert connection_reason(OSError(NEW)) == NEW
    assert connection_reason(OSError()) == "OSError"
