from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.cli.terminal import (
    cut,
    either,
    json_safe,
    lines_kept,
    one_line,
    one_lines,
    pad,
    width,
    widths,
)

HARMFUL = "\x00\x07\x1b\x7f\x9b\u061c\u200b\u202e\u2066\u2028\ufeff\U000e0041\ud800"


class TestOneLine:
    """Text of strangers on one line of a table."""

    @pytest.mark.parametrize("character", HARMFUL)
    def test_harmful_characters_become_visible(self, character: str) -> None:
        """What could steer a terminal or hide text is shown as an escape."""
        assert one_line(f"a{character}b") in {
            f"a\\x{ord(character):02x}b",
            f"a\\u{{{ord(character):x}}}b",
            "a b",  # U+2028 is white space
        }

    def test_white_space_becomes_one_space(self) -> None:
        """Line ends cannot fake another row of a table."""
        assert one_line("  one\n\n two\tthree\r\n") == "one two three"

    def test_joiners_stay(self) -> None:
        """Scripts and emoji need the joiners."""
        assert one_line("می\u200cخواهم") == "می\u200cخواهم"

    @given(st.text())
    def test_nothing_harmful_is_left(self, text: str) -> None:
        """No text brings a control character through."""
        assert not set(one_line(text)) & set(HARMFUL)


@given(st.lists(st.text() | st.text("a \n\t大\x1b", max_size=5)))
def test_many_texts_are_treated_as_each_is(texts: list[str]) -> None:
    """A column of texts becomes the same lines, of the same widths, as its texts one by one."""
    assert one_lines(texts) == [*map(one_line, texts)]
    assert widths(texts) == [*map(width, texts)]


def test_lines_kept_keeps_lines_and_tabs() -> None:
    """Longer text keeps its lines, and nothing else that moves the cursor."""
    assert lines_kept("a\tb\r\nc\rd\x1b[2J") == "a\tb\nc\\x0dd\\x1b[2J"


class TestJsonSafe:
    """JSON that a terminal may show."""

    @given(st.text())
    def test_the_value_is_the_same(self, text: str) -> None:
        """Escaping changes how JSON looks, never what it says."""
        written = json_safe(json.dumps({"text": text}, ensure_ascii=False, indent=2))
        assert json.loads(written) == {"text": text}
        assert not set(written) & set(HARMFUL)

    def test_letters_stay_readable(self) -> None:
        """Text in any script is written as it is."""
        assert json_safe('"стан 注文 🚚"') == '"стан 注文 🚚"'


class TestWidth:
    """Columns as a terminal counts them."""

    def test_wide_and_combining_characters(self) -> None:
        """Columns are counted as a terminal shows them."""
        assert [width("abc"), width("注文"), width("e\u0301"), width("")] == [3, 4, 1, 0]

    def test_cut_marks_the_cut(self) -> None:
        """Cut text fits and says that it was cut."""
        assert [cut("shipment", 8), cut("shipment", 5), cut("注文注文", 5), cut("abc", 0)] == [
            "shipment",
            "ship…",
            "注文…",
            "",
        ]

    @given(st.text(), st.integers(1, 30))
    def test_cut_text_fits(self, text: str, columns: int) -> None:
        """Cut text never takes more than the columns given."""
        assert width(cut(one_line(text), columns)) <= columns

    def test_pad_fills_columns(self) -> None:
        """Padding counts wide characters twice."""
        assert pad("注", 4) == "注  "


def test_either_joins_alternatives() -> None:
    """Alternatives read as in a sentence."""
    assert [either(["a"]), either(["a", "b"]), either(["a", "b", "c"])] == [
        "a",
        "a or b",
        "a, b or c",
    ]
