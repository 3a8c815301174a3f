from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpg.cli.output import ASCII, BLOCKS, wrapped
from mcpg.cli.terminal import width


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
    lines = list(wrapped(parts, columns))
    assert " ".join(lines).split() == parts
    assert all(width(line) <= columns or " " not in line for line in lines)
