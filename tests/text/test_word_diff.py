from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.word_diff import ADDED, REMOVED, SAME, diff_text, word_diff

TEXTS = st.text(st.sampled_from("ab .,\n"), max_size=60)


def joined(before: str, after: str, without: str) -> str:
    """Return the runs of a difference but for one kind."""
    return "".join(run.text for run in word_diff(before, after) if run.kind != without)


@given(TEXTS, TEXTS)
def test_the_runs_make_both_texts(before: str, after: str) -> None:
    """What is the same and what was removed is the old text, with what was added the new one."""
    assert joined(before, after, ADDED).split() == before.split()
    assert joined(before, after, REMOVED).split() == after.split()


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Gets an order.", "Gets an order.", "Gets an order."),
        ("Gets an order.", "Gets a parcel.", "Gets [-an order-]{+a parcel+}."),
        ("", "Gets it", "{+Gets it+}"),
        ("Gets it", "", "[-Gets it-]"),
        ("Deletes it", "Deletes it for ever", "Deletes it {+for ever+}"),
        ("one  two", "one two", "one two"),
    ],
)
def test_changed_words_are_marked(before: str, after: str, shown: str) -> None:
    """Changes stand in the marks of `git diff --word-diff`; white space is none."""
    assert diff_text(before, after) == shown


def test_only_words_near_a_change_are_shown() -> None:
    """Of long texts a few words remain on each side of a change."""
    before = " ".join(f"w{number}" for number in range(40))
    shown = diff_text(before, before.replace("w20", "x"), context=2)
    assert shown == "... w18 w19 [-w20-]{+x+} w21 w22 ..."


def test_long_texts_are_compared_as_far_as_they_agree() -> None:
    """Texts that are long and different share a beginning and an end, and nothing between."""
    before, after = (" ".join([name] * 2_000) for name in ("old", "new"))
    runs = word_diff(f"first {before} last", f"first {after} last")
    assert [run.kind for run in runs] == [SAME, REMOVED, ADDED, SAME]
