from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.errors import DocumentError, InputError, SourceError
from mcpg.text.safeyaml import load_yaml, load_yaml_with_lines, mask_pairs


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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 'x\u2028y\u2029z'\nb: [\nc: d\n", 2),
        ("a: 'x\x85y'\nb: 1\nb: 2\n", 3),
        ("a: 'x\u2028\u2028\u2028'\nname:b\nc: d\n", 2),
        ("a: 1\rname:b\rc: d\r", 2),
        ("a: 1\r\nname:b\r\nc: d\r\n", 2),
        ("a: 1\rb: \x01\r", 2),
    ],
)
def test_a_slip_is_on_the_line_that_an_editor_shows(text: str, line: int) -> None:
    """The parser counts more line ends than an editor does, and a file may have any of them."""
    with pytest.raises(InputError) as caught:
        load_yaml(text, "x.yaml")
    assert caught.value.place == f"x.yaml:{line}"


def test_members_below_other_line_ends_have_their_line() -> None:
    """A separator within a text moves no line."""
    _, lines = load_yaml_with_lines("a: 'x\u2028\x85y'\nb: 1\n", "h.yaml")
    assert lines == {("a",): 1, ("b",): 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\uDE00"', "\U0001f600"),
        (r"'\ud83d\ude00'", r"\ud83d\ude00"),
        (r"\ud83d\uDE00", r"\ud83d\uDE00"),
        (r'"\\\ud83d\ude00\ue000"', "\\\U0001f600\ue000"),
        ("|\n  \ue000 \\ud83d\\ude00", "\ue000 \\ud83d\\ude00"),
    ],
)
def test_an_escaped_pair_is_one_character_where_there_are_escapes(text: str, value: str) -> None:
    """JSON writes a character beyond U+FFFF as two escapes; in other texts they are no escapes."""
    assert load_yaml(f"a: {text}", "x.yaml") == {"a": value}


def test_looking_for_a_character_that_a_text_lacks_has_an_end() -> None:
    """A text with all private characters is searched a bounded number of times."""

    class Text(str):
        __slots__ = ("searches",)

        def __contains__(self, part: object) -> bool:
            self.searches += 1
            return super().__contains__(part)

    text = Text("".join(map(chr, range(0xE000, 0xF900))) + r"\ud83d\ude00")
    text.searches = 0
    assert mask_pairs(text) == (text, None)
    assert text.searches <= 256


@pytest.mark.parametrize("text", [r'"\ud83d"', r'"\ude00\ud83d"', r'"\\ud83d\ude00"'])
def test_half_a_character_is_refused(text: str) -> None:
    """The remedy keeps the text."""
    with pytest.raises(InputError, match="half of one") as caught:
        load_yaml(text, "x.yaml")
    assert caught.value.remedy == "write the character itself"


_text = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"))
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _text,
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
