from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.errors import DocumentError, InputError, SourceError
from mcpg.text.safeyaml import load_yaml, load_yaml_with_lines


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
        ("[true, false, True]", [True, False, True]),
        ("[yes, no, on, off, 'true']", ["yes", "no", "on", "off", "true"]),
        ("2024-01-01", "2024-01-01"),
        ("[1, -2, 1.5, 1e3]", [1, -2, 1.5, 1000.0]),
        ("[007, 0x10, .inf, 1e999, 12:30]", ["007", "0x10", ".inf", "1e999", "12:30"]),
        ("yes: 1\n404: 2\nnull: 3", {"yes": 1, "404": 2, "null": 3}),
        ("- - - a\n- {b: [c]}", [[["a"]], {"b": ["c"]}]),
        ('"\\u00e9\\n"', "é\n"),
        ("a: |\n  x & *y !z\n", {"a": "x & *y !z\n"}),
        ("\ufeffa: b", {"a": "b"}),
    ],
)
def test_plain_values(text: str, value: object) -> None:
    """Values are those of JSON; dates, words such as `yes` and odd numbers stay text."""
    assert load_yaml(text, "x.yaml") == value


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: &x 2", 2, "anchors and aliases"),
        ("a: 1\nb: *x", 2, "anchors and aliases"),
        ("a: !!python/object/apply:os.system [ls]", 1, "tag"),
        ("a: ! b", 1, "tag"),
        ("a: 1\n\na: 2", 3, "twice"),
        ("? [a]\n: b", 1, "plain text"),
        ("a: 1\n---\nb: 2", 2, "second YAML document"),
        ("a: 1\nb: [", 2, "invalid YAML"),
        ("'a", 1, "invalid YAML"),
        ("a: b\nc: \x01", 2, "U+0001"),
        ("a: \ud800", 1, "U+D800"),
        ("- " * 200, 1, "nested deeper"),
        ("[" * 100_000, 1, "nested deeper"),
        ("x" * (16 * 1024 * 1024 + 1), 1, "longer than"),
    ],
)
def test_refusals(text: str, line: int, says: str) -> None:
    """What could grow, run or mislead is refused, naming file and line."""
    with pytest.raises(InputError, match=r"x\.yaml") as caught:
        load_yaml(text, "x.yaml")
    assert says in caught.value.message
    assert caught.value.place is not None
    assert abs(int(caught.value.place.removeprefix("x.yaml:")) - line) <= 1


def test_place_counts_from_the_first_line_given() -> None:
    """A front matter's line is the file's line, and the caller chooses the error's class."""
    with pytest.raises(DocumentError) as caught:
        load_yaml("a: 1\nb: *x", "d.md", first_line=2, error=DocumentError)
    assert caught.value.place == "d.md:3"


def test_lines_of_members() -> None:
    """Each member is found by its path, on the line of its key."""
    value, lines = load_yaml_with_lines("tools:\n  a:\n    x: [1,\n 2]\n  b: {}\n", "h.yaml")
    assert value == {"tools": {"a": {"x": [1, 2]}, "b": {}}}
    assert lines == {
        ("tools",): 1,
        ("tools", "a"): 2,
        ("tools", "a", "x"): 3,
        ("tools", "a", "x", 0): 3,
        ("tools", "a", "x", 1): 4,
        ("tools", "b"): 5,
    }


def test_lines_keep_the_error_class() -> None:
    """Reading with lines raises the error asked for."""
    with pytest.raises(SourceError):
        load_yaml_with_lines("a: *b", "h.yaml", error=SourceError)


_ascii = st.text(st.characters(codec="ascii"))
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _ascii,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_", max_size=4), inner),
    max_leaves=12,
)


@given(_json)
def test_json_is_yaml(value: object) -> None:
    """What JSON writes is read as the same value."""
    assert load_yaml(json.dumps(value), "x.yaml") == value


@given(st.text(st.characters() | st.sampled_from("-:[]{}&*!|>'\"#%@\n ")))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail in another way than by its own error."""
    try:
        load_yaml(text, "x.yaml")
    except InputError as error:
        assert error.place is not None  # noqa: PT017
