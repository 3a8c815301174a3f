"""Text analysis: folding, words, stop words, stems, spelling."""

from __future__ import annotations

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
