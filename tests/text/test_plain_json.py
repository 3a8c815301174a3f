from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.json_values import read_json, write_json

TEXTS = st.text(st.characters(), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXTS | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=12,
)


def test_characters_are_written_as_they_are() -> None:
    """No letter is escaped, and numbers and blanks are as `json` has them."""
    assert write_json({"ä": [1.0, None]}) == '{"ä": [1.0, null]}'
    assert write_json({"ä": [1]}, indent=2) == '{\n  "ä": [\n    1\n  ]\n}'


def test_what_json_does_not_write_is_refused() -> None:
    """A value without a type in JSON is a mistake, as for `json`."""
    with pytest.raises(TypeError):
        write_json({"set": {1, 2}})


@given(VALUES)
def test_texts_are_read_as_json_reads_them(value: Any) -> None:
    """Whatever `json` wrote is read as `json` reads it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    assert repr(read_json(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,]", '{"a" 1}', "1 2", "{}x", "'a'", '"a', '"\n"', "nul", "\ufeff{}"],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """A damaged text is no value."""
    with pytest.raises(ValueError):  # noqa: PT011 - its words are of no use
        read_json(text)


def test_a_text_that_is_nested_too_deeply_is_refused() -> None:
    """The depth of a text of others ends no process."""
    with pytest.raises(RecursionError):
        read_json("[" * 100_000)
