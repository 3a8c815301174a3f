"""Regular expressions that others wrote, tried only where that cannot take long."""

from __future__ import annotations

import re

_LONGEST = 500
_MOST_STEPS = 5_000_000
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_CHOICE = re.compile(r"[*+?|]|\{(?!\d+\})")


def finds(pattern: str, text: str) -> bool | None:
    """Search for *pattern* in *text*, or give `None` where that may take long or cannot be done.

    A pattern that repeats no group makes, at each of the places where it may start, at most as many
    attempts as there are ways to choose a length for each quantifier and a side of each bar; each
    such choice is bounded by the length of the text. What is a quantifier is judged without parsing
    the pattern, so that some harmless ones count as harmful.
    """
    if len(pattern) > _LONGEST or _REPEATED_GROUP.search(pattern):
        return None
    choices = len(_CHOICE.findall(pattern))
    if (len(text) + 2) ** (choices + 1) > _MOST_STEPS:
        return None
    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError, OverflowError):
        return None
