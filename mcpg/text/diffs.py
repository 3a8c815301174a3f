"""Differences of two texts, by words and by lines, in bounded time and memory."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SAME, REMOVED, ADDED = "same", "removed", "added"
"""The kinds of runs."""

# A token has the white space before it, so that no run consists of white space.
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])")
# To compare takes a bit for each pair of items of two parts: 8 MB, and about 10 ms.
_PART = 8_000
_CONTEXT = 5


@dataclass(frozen=True, slots=True)
class Run:
    """Words in a row, with the white space before each; `SAME`, `REMOVED` or `ADDED`."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> tuple[Run, ...]:
    """Return the runs of words that two texts share, and that only one of them has.

    White space counts as one blank, and the texts begin with one.
    """
    old, new = _tokens(before), _tokens(after)
    runs: list[tuple[str, list[str]]] = []
    at = other = 0
    for start, match, size in matching_blocks(old, new):
        runs += (REMOVED, old[at:start]), (ADDED, new[other:match])
        at, other = start + size, match + size
        runs.append((SAME, old[start:at]))
    return tuple(Run(kind, "".join(tokens)) for kind, tokens in runs if tokens)


def diff_text(before: str, after: str, *, context: int = _CONTEXT) -> str:
    """Return the changed words in the format of `git diff --word-diff`.

    Removed words are in `[-` and `-]`, added words in `{+` and `+}`; *context* words of the common
    text remain on each side of a change.
    """
    runs = word_diff(before, after)
    marks = {REMOVED: ("[-", "-]"), ADDED: ("{+", "+}")}
    shown: list[str] = []
    for number, run in enumerate(runs):
        if run.kind == SAME:
            shown.append(_near(run.text, context, number > 0, number < len(runs) - 1))
            continue
        opening, closing = marks[run.kind]
        text = run.text.lstrip()
        replaces = run.kind == ADDED and number > 0 and runs[number - 1].kind == REMOVED
        blank = " " if text != run.text and not replaces else ""
        shown.append(f"{blank}{opening}{text}{closing}")
    return "".join(shown).strip()


def unified_diff(
    before: Sequence[str], after: Sequence[str], old_name: str, new_name: str, end: str = "\n"
) -> Iterator[str]:
    """Yield the lines of a unified diff, as `difflib.unified_diff` does; *end* closes its own."""
    groups = _Matcher(before, after).get_grouped_opcodes()
    for number, group in enumerate(groups):
        if number == 0:
            yield f"--- {old_name}{end}"
            yield f"+++ {new_name}{end}"
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@{end}"
        for kind, start, stop, first, last in group:
            if kind == "equal":
                yield from (f" {line}" for line in before[start:stop])
            else:
                yield from (f"-{line}" for line in before[start:stop])
                yield from (f"+{line}" for line in after[first:last])


class _Matcher(difflib.SequenceMatcher[str]):
    """Groups changes as `difflib` does, which would take cubic time to find them."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__()
        self.a, self.b = before, after

    def get_matching_blocks(self) -> list[difflib.Match]:
        return matching_blocks(self.a, self.b)


def _range(start: int, stop: int) -> str:
    """Return a range of lines as a unified diff has it: an empty one by the line before it."""
    size = stop - start
    return f"{start + 1}" if size == 1 else f"{start + (size > 0)},{size}"


def matching_blocks(before: Sequence[str], after: Sequence[str]) -> list[difflib.Match]:
    """Return what two sequences share, as `difflib.SequenceMatcher.get_matching_blocks` does.

    The blocks are a longest common subsequence. Long sequences are compared in parts, and each part
    begins where the last block ends.
    """
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 - most commands compare nothing

    numbers: dict[str, int] = {}
    old, new = (
        [numbers.setdefault(item, len(numbers)) for item in side] for side in (before, after)
    )
    found = [difflib.Match(0, 0, 0)]
    at = match = 0
    while at < len(old) and match < len(new):
        edits = LCSseq.editops(old[at : at + _PART], new[match : match + _PART])
        for block in edits.as_matching_blocks():
            last, first, other = found[-1], at + block.a, match + block.b
            if (last.a + last.size, last.b + last.size) == (first, other):  # the block adjoins it
                found[-1] = last._replace(size=last.size + block.size)
            elif block.size:
                found.append(difflib.Match(first, other, block.size))
        last = found[-1]
        end = last.a + last.size, last.b + last.size
        at, match = end if end > (at, match) else (at + _PART, match + _PART)
    return [*found, difflib.Match(len(old), len(new), 0)]


def _tokens(text: str) -> list[str]:
    stripped = text.strip()
    found = _TOKEN.findall(f" {stripped}") if stripped else []
    return [f" {token.lstrip()}" if token[0].isspace() else token for token in found]


def _near(text: str, context: int, is_after: bool, is_before: bool) -> str:
    """Return of *text* the *context* words beside changes, which precede or follow it."""
    words = text.split(" ")
    if not (is_after or is_before) or len(words) <= (is_after + is_before) * context + 2:
        return text
    first = " ".join(words[: context + 1]) if is_after else ""
    last = " ".join(words[len(words) - context :]) if is_before else ""
    return f"{first} ... {last}".rstrip()
