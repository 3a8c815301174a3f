"""Text analysis: folding, words, stop words, stems, spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from mcpg.text.words import (
        Word,
        fold,
        iter_words,
        joined,
        language_by,
        language_of,
        language_votes,
        split_words,
        stem,
        stop_words_in,
        stop_words_of,
        strip_accents,
    )

__all__ = [
    "Word",
    "fold",
    "iter_words",
    "joined",
    "language_by",
    "language_of",
    "language_votes",
    "split_words",
    "stem",
    "stop_words_in",
    "stop_words_of",
    "strip_accents",
]


def __getattr__(name: str) -> Any:
    """Import the analysis when it is first asked for: what only reads JSON does without."""
    if name in __all__:
        from mcpg.text import words  # noqa: PLC0415 - as above

        return vars(words)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
