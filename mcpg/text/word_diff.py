"""Differences of two texts by words."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAME, REMOVED, ADDED = "same", "removed", "added"
"""The kinds of runs."""

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
# Comparing takes the product of both lengths.
_MOST_COMPARED = 400_000
_CONTEXT = 5


@value
class Run:
    """Words in a row.

    Attributes:
        kind: `SAME`, `REMOVED` or `ADDED`.
        text: The words, with the white space between them.
    """

    kind: str
    text: str


def word_diff(before: str, after: str) -> tuple[Run, ...]:
    """Return the runs of words that two texts share, and that only one of them has.

    White space counts as one blank. Texts that are long and different throughout are not compared
    word by word: what lies between their common beginning and their common end is one run of each.
    """
    old, new = _tokens(before), _tokens(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    inner = _compared(old[head : len(old) - tail], new[head : len(new) - tail])
    runs = [(SAME, old[:head]), *inner, (SAME, old[len(old) - tail :] if tail else [])]
    return tuple(Run(kind, "".join(tokens)) for kind, tokens in runs if tokens)


def diff_text(before: str, after: str, *, context: int = _CONTEXT) -> str:
    """Return the changed words in the format of `git diff --word-diff`.

    Removed words stand in `[-` and `-]`, added ones in `{+` and `+}`; of what both texts share,
    *context* words remain on each side of a change.
    """
    runs = word_diff(before, after)
    marks = {REMOVED: ("[-", "-]"), ADDED: ("{+", "+}")}
    shown = []
    for number, run in enumerate(runs):
        if run.kind == SAME:
            shown.append(_near(run.text, context, number > 0, number < len(runs) - 1))
        else:
            opening, closing = marks[run.kind]
            text = run.text.strip()
            blanks = run.text.partition(text) if text else ("", run.text, "")
            shown.append(f"{blanks[0]}{opening}{blanks[1]}{closing}{blanks[2]}")
    return "".join(shown).strip()


def _tokens(text: str) -> list[str]:
    return [" " if token.isspace() else token for token in _TOKEN.findall(text.strip())]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> Iterator[tuple[str, list[str]]]:
    if len(old) * len(new) > _MOST_COMPARED:
        yield from ((REMOVED, old), (ADDED, new))
        return
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    gone: list[str] = []
    come: list[str] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        # A blank between two changed words belongs to the change.
        if kind == "equal" and gone and come and old[i1:i2] == [" "] and i2 < len(old):
            gone.append(" ")
            come.append(" ")
        elif kind == "equal":
            yield from ((REMOVED, gone), (ADDED, come), (SAME, old[i1:i2]))
            gone, come = [], []
        else:
            gone += old[i1:i2]
            come += new[j1:j2]
    yield from ((REMOVED, gone), (ADDED, come))


def _near(text: str, context: int, is_after: bool, is_before: bool) -> str:
    """Return of *text* the *context* words beside changes, which precede or follow it."""
    words = text.split(" ")
    if not (is_after or is_before) or len(words) <= (is_after + is_before) * context + 2:
        return text
    first = " ".join(words[: context + 1]) if is_after else ""
    last = " ".join(words[-context - 1 :]) if is_before else ""
    return f"{first} ... {last}" if first and last else f"{first} ..." if first else f"... {last}"
