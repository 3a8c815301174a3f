"""Numbers as their author wrote them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, decode_record, encode_record
from mcpg.text.json_values import read_float, without_spelling, write_exact_json
from mcpg.text.safeyaml import load_yaml

NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][-+]?[0-9]{1,2})?", fullmatch=True
)
WRITTEN = st.recursive(
    NUMBERS | st.text(max_size=4).map(json.dumps) | st.sampled_from(("null", "true")),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.dictionaries(st.text(max_size=3).map(json.dumps), inner, max_size=3).map(
            lambda items: f"{{{','.join(f'{key}:{value}' for key, value in items.items())}}}"
        )
    ),
    max_leaves=6,
)


@given(WRITTEN)
def test_json_comes_back_to_the_letter(text: str) -> None:
    """Each number is written as it was read, wherever it stands, but is equal to the number."""
    value = json.loads(text, parse_float=read_float)
    assert json.loads(write_exact_json(value), parse_float=str) == json.loads(text, parse_float=str)
    assert value == without_spelling(value) == json.loads(text)


@given(NUMBERS)
def test_a_record_keeps_numbers_as_written(number: str) -> None:
    """What an author writes in a key of their own, a record has to the letter."""
    value = load_yaml(number, "a.md")
    document = ToolDocument(Tool("a", "b", "c"), "a.md", "urn:a", further={"version": value})
    read, _ = decode_record(encode_record(document))
    assert str(read.further["version"]) == str(value)
