from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.json_text import has_surrogate_escapes, parse_json_documents, repair_surrogates
from mcpg.errors import SourceError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (' {"a": 1} ', [{"a": 1}]),
        ('{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ("[1][2] 3", [[1], [2], 3]),
        ('event: message\ndata: {"a": 1}\n\n: ping\n\ndata: {"b": 2}\n\n', [{"a": 1}, {"b": 2}]),
        (
            'data: {"a": "\u2028\u2029\x85"}\r\rdata: {"b":\r\ndata: 2}',
            [{"a": "\u2028\u2029\x85"}, {"b": 2}],
        ),
        ('{"a": 1, "a": 2}', [{"a": 2}]),
    ],
)
def test_documents(text: str, values: list[Any]) -> None:
    """One document, several, or those of a stream of server-sent events are read in order."""
    assert parse_json_documents(text, "f.json") == values


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "f.json", "empty"),
        (" \n", "f.json", "empty"),
        ('{"a":\n tru}', "f.json:2:2", "invalid JSON"),
        ('{"a": 1} x', "f.json:1:10", "invalid JSON"),
        ('["NaN",\n NaN]', "f.json:2:2", "number"),
        ("[1, -Infinity]", "f.json:1:5", "number"),
        ("1-2 NaN", "f.json:1:5", "number"),
        ("[1, 1e999]", "f.json:1:5", "number"),
        ("[2, " + "1" * 5000 + "]", "f.json:1:5", "number"),
        ("[" * 101 + "]" * 101, "f.json:1:101", "deeper"),
        ('["[", {"a": ' + "[" * 99 + "]" * 99 + "}]", "f.json:1:111", "deeper"),
        ("[" * 200_000, "f.json:1:101", "deeper"),
    ],
)
def test_refusals(text: str, place: str, says: str) -> None:
    """What is no JSON, no number or too deep is refused with line and column."""
    with pytest.raises(SourceError) as caught:
        parse_json_documents(text, "f.json")
    assert (caught.value.place, says in caught.value.message) == (place, True)


def test_depth_up_to_the_bound() -> None:
    """A hundred levels are read."""
    assert parse_json_documents("[" * 100 + "]" * 100, "f.json")


def test_half_characters_are_replaced() -> None:
    """Lone surrogates become U+FFFD, in keys too, and their places are told; pairs stay."""
    text = r'{"a": ["\ud83d\ude00", "x\ud83d"], "\udc00": {"b": 1}}'
    assert has_surrogate_escapes(text)
    repaired: list[str] = []
    value = repair_surrogates(parse_json_documents(text, "f")[0], "", repaired)
    assert value == {"a": ["😀", "x\ufffd"], "\ufffd": {"b": 1}}
    assert repaired == ["a[1]", ""]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_round_trip(value: Any) -> None:
    """What `json` writes is read back unchanged."""
    assert parse_json_documents(json.dumps(value), "f.json") == [value]


@given(st.text(st.sampled_from('{}[]",:0123456789.eE-ntrufalsNI\\ \n'), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the parser fail in another way than by its own error."""
    try:
        parse_json_documents(text, "f.json")
    except SourceError as error:
        assert error.place is not None  # noqa: PT017


def test_repeated_keys_are_told() -> None:
    """Every key that is repeated in one object is gathered, wherever the object is."""
    repeated: set[str] = set()
    text = '[{"a": 1, "b": {"c": 1, "c": 2, "a": 1}, "a": 3}, {"d": 1}]'
    values = parse_json_documents(text, "f.json", repeated)
    assert values == [[{"a": 3, "b": {"c": 2, "a": 1}}, {"d": 1}]]
    assert repeated == {"a", "c"}
