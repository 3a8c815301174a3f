from __future__ import annotations

import pytest
from bounded import output_of

from mcpg.documents.page import read_page


@pytest.mark.parametrize(
    "text",
    [
        "'# a' + ' ' * 250_000 + 'b ' + '\\t' * 10",
        "'# a' + ' #' * 120_000 + 'b'",
        "'\\n' * 120_000 + '#\\n' * 60_000",
    ],
    ids=["blanks", "marks", "empty-headings"],
)
def test_reading_takes_time_in_proportion_to_the_text(text: str) -> None:
    """A page of 250 kB is read in one pass, whatever its headings hold."""
    page = "from mcpg.documents.page import read_page\n"
    assert output_of(f"{page}print(len(read_page({text}, 1, 'a.md').body))") == "0\n"


def test_a_long_example_is_read_in_linear_time() -> None:
    """Each line that goes on with an example costs as much as the first."""
    program = (
        "from mcpg.documents.page import read_examples\n"
        "lines = ['Usage examples:', 'Input: a', *['b'] * 1_500_000]\n"
        "print(len(read_examples(lines)[0].input))\n"
    )
    assert output_of(program) == "3000001\n"


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# a", "a"),
        ("   ###### \t a b \t", "a b"),
        ("# a ##", "a"),
        ("# a#", "a#"),
        ("# a # b #", "a # b"),
        ("#\ta\t#", "a"),
        ("#", ""),
        ("#a", ""),
        ("####### a", ""),
        ("    # a", ""),
    ],
)
def test_a_heading_is_what_commonmark_takes_for_one(line: str, heading: str) -> None:
    """Up to three blanks, one to six marks, and a text that blanks part from both sides' marks."""
    assert read_page(line, 1, "a.md").heading == heading
