"""Differences of two texts, by words and by lines, in bounded time and memory."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rapidfuzz.distance import MatchingBlock

SAME, REMOVED, ADDED = "same", "removed", "added"
"""The kinds of runs."""

# A token has the white space before it, so that no run consists of white space.
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])")
# Comparing takes a bit for each pair of tokens: 8 MB at most, and about 10 ms.
_MOST_COMPARED = 64_000_000
_CONTEXT = 5


@value
class Run:
    """Words in a row.

    Attributes:
        kind: `SAME`, `REMOVED` or `ADDED`.
        text: The words, with the white space before each.
    """

    kind: str
    text: str


def word_diff(before: str, after: str) -> tuple[Run, ...]:
    """Return the runs of words that two texts share, and that only one of them has.

    White space counts as one blank, and the texts begin with one. Parts that are long and different
    throughout are not compared word by word.
    """
    old, new = _tokens(before), _tokens(after)
    runs: list[tuple[str, list[str]]] = []
    at = other = 0
    for start, match, size in (*matching_blocks(old, new), (len(old), len(new), 0)):
        runs += (REMOVED, old[at:start]), (ADDED, new[other:match])
        at, other = start + size, match + size
        runs.append((SAME, old[start:at]))
    return tuple(Run(kind, "".join(tokens)) for kind, tokens in runs if tokens)


def diff_text(before: str, after: str, *, context: int = _CONTEXT) -> str:
    """Return the changed words in the format of `git diff --word-diff`.

    Removed words stand in `[-` and `-]`, added ones in `{+` and `+}`; of what both texts share,
    *context* words remain on each side of a change.
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
        found = matching_blocks(self.a, self.b)
        return [*map(difflib.Match._make, found), difflib.Match(len(self.a), len(self.b), 0)]


def _range(start: int, stop: int) -> str:
    """Return a range of lines as a unified diff has it: an empty one by the line before it."""
    size = stop - start
    return f"{start + 1}" if size == 1 else f"{start + (size > 0)},{size}"


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield what two sequences share: its start in *old*, its start in *new*, and its length.

    The blocks are a longest common subsequence. In sequences too long for that, the items that both
    have once are matched first; what lies between two of them and is still too long is not matched.
    """
    numbers: dict[str, int] = {}
    one, other = ([numbers.setdefault(item, len(numbers)) for item in side] for side in (old, new))
    at = match = size = 0
    for block in _blocks(one, other):
        if block[:2] == (at + size, match + size):
            size += block[2]
            continue
        if size:
            yield at, match, size
        at, match, size = block
    if size:
        yield at, match, size


def _blocks(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield what two sequences share, in blocks that may adjoin or be empty."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    yield 0, 0, head
    at = match = head
    stop, end = len(old) - tail, len(new) - tail
    anchors = _anchors(old[head:stop], new[head:end])
    fixed = [*((head + one, head + other, 1) for one, other in anchors), (stop, end, tail)]
    for start, place, size in fixed:
        for block in _subsequence(old[at:start], new[match:place]):
            yield at + block.a, match + block.b, block.size
        yield start, place, size
        at, match = start + size, place + size


def _common(old: Sequence[int], new: Sequence[int]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _is_short(old: Sequence[int], new: Sequence[int]) -> bool:
    return len(old) * len(new) <= _MOST_COMPARED


def _anchors(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return the places of items that two long sequences have once each and in the same order.

    They are the longest increasing subsequence of these places, as in patience sorting.
    """
    if _is_short(old, new):
        return []
    counts, others = Counter(old), Counter(new)
    places = {item: place for place, item in enumerate(new) if others[item] == counts[item] == 1}
    pairs = [(at, places[item]) for at, item in enumerate(old) if item in places]
    ends: list[int] = []  # the least end of a subsequence of each length, and its pair
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _subsequence(old: list[int], new: list[int]) -> Sequence[MatchingBlock]:
    """Return the blocks of a longest common subsequence, none of sequences that are too long."""
    if not (old and new and _is_short(old, new)):
        return ()
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 - most commands compare nothing

    return LCSseq.editops(old, new).as_matching_blocks()


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
