from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pytest
from bounded import calls_in
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.diffs import ADDED, REMOVED, SAME, Run, diff_text, unified_diff, word_diff

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXTS = st.text(st.sampled_from("ab .,\n"), max_size=60)
LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


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


def test_long_texts_are_compared_in_parts() -> None:
    """In texts too long for one comparison, words that both share are found all the same."""
    before, after = (" ".join([name] * 9_000) for name in ("old", "new"))
    runs = word_diff(f"first {before} middle {before}", f"first {after} middle {after} last")
    assert [(run.kind, run.text[:7]) for run in runs] == [
        *((SAME, " first"), (REMOVED, " old ol"), (ADDED, " new ne")),
        *((SAME, " middle"), (REMOVED, " old ol"), (ADDED, " new ne")),
    ]
    (same,) = word_diff(before, before)
    assert same == Run(SAME, f" {before}")


@pytest.mark.parametrize("size", [500, 20_000])
def test_texts_of_few_words_are_compared_in_few_steps(size: int) -> None:
    """The steps of a comparison grow with the texts, however often words repeat."""
    before, after = f"{'.' * size}a {'.' * size}", f"b{'.,' * size}"
    diff_text(before, after)
    assert calls_in(lambda: diff_text(before, after)) < 50 * size


@given(LINES, LINES)
def test_a_unified_diff_makes_the_new_lines(before: list[str], after: list[str]) -> None:
    """The hunks of a unified diff, put in place of what they name, make the new lines."""
    shown = [*unified_diff(before, after, "a", "b", "")]
    assert bool(shown) == (before != after)
    made, at = list(before), 0
    for line in reversed(shown):
        if line.startswith("@@"):
            start, _, size = line.split()[1].partition(",")
            first = -int(start) - (size != "0")
            made[first : first + int(size or 1)] = [
                one[1:] for one in shown[shown.index(line) + 1 : len(shown) - at] if one[0] != "-"
            ]
            at = len(shown) - shown.index(line)
    assert made == after


@given(LINES, LINES)
def test_a_unified_diff_changes_the_fewest_lines(before: list[str], after: list[str]) -> None:
    """A unified diff never removes and adds more lines than that of `difflib`."""

    def changed(lines: Iterable[str]) -> int:
        return sum(line[0] in "+-" and line[:3] not in {"+++", "---"} for line in lines)

    usual = difflib.unified_diff(before, after, "a", "b", lineterm="")
    assert changed(unified_diff(before, after, "a", "b", "")) <= changed(usual)
