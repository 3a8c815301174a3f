from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.cli.output import ASCII, BLOCKS, wrap_parts
from mcpg.cli.render import text
from mcpg.cli.terminal import NEVER, Screen, width
from mcpg.show.blocks import Bar, Column, Table


@given(st.floats(-1, 2), st.integers(1, 40))
def test_a_bar_takes_its_columns(share: float, columns: int) -> None:
    """Bars are padded to their columns, show something of what is above 0, and fill at 1."""
    for glyphs in (ASCII, BLOCKS):
        bar = glyphs.bar(share, columns)
        assert len(bar) == columns
        assert bool(bar.strip()) == (share > 0)
        assert (bar == glyphs.steps[-1] * columns) or share < 1


def test_a_pipe_gets_ascii() -> None:
    """All that is drawn in a pipe is ASCII; a terminal gets finer bars."""
    drawn = ASCII.bar(0.5, 8) + ASCII.arrow + ASCII.dash + ASCII.cut("abcdefgh", 5)
    assert drawn == "####    ->-ab..."
    assert BLOCKS.bar(0.3, 4) == "█▎  "


@given(st.lists(st.text("ab漢", min_size=1, max_size=8), max_size=20), st.integers(1, 30))
def test_wrapping_loses_nothing(parts: list[str], columns: int) -> None:
    """Every part stands in some line, in order; only a part too wide makes a line too wide."""
    lines = list(wrap_parts(parts, columns))
    assert " ".join(lines).split() == parts
    assert all(width(line) <= columns or " " not in line for line in lines)


class Narrow(Screen):
    """A view of few columns."""

    columns = row_columns = 40


@pytest.mark.parametrize("most", [10, 44])
def test_a_bar_is_drawn_to_scale_where_there_is_little_room(most: int) -> None:
    """A bar in a narrow column is shortened, not cut, so that bars can be compared."""
    columns = (Column("metric"), Column("bar", most=most), Column("what"))
    rows = (("one", Bar(1.0), "x" * 20), ("half", Bar(0.5), "y" * 20))
    first, second = text([Table("", columns, rows)], Narrow(NEVER)).split("\n")
    assert "..." not in first + second
    assert first.count("#") == 2 * second.count("#") > 0


def test_a_wrapped_column_without_room_stands_below() -> None:
    """Text is wrapped below its row where the row leaves it fewer columns than it reads in."""
    columns = (Column("name"), Column("kind"), Column("what"))
    rows = (("n" * 12, "k" * 12, "so many words that they need some room"),)
    assert text([Table("", columns, rows, wraps=True)], Narrow(NEVER)) == "\n".join(
        (f"{'n' * 12}  {'k' * 12}", "    so many words that they need some", "    room")
    )
