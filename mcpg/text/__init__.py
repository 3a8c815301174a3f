"""Text analysis: folding, words, stop words, stems, spelling."""

from __future__ import annotations

from mcpg.text.words import (
    Word,
    detect_language,
    fold,
    get_stop_words,
    iter_words,
    join_words,
    language_by,
    language_votes,
    split_words,
    stem,
    stop_words_in,
    strip_accents,
)

__all__ = [
    "Word",
    "detect_language",
    "fold",
    "get_stop_words",
    "iter_words",
    "join_words",
    "language_by",
    "language_votes",
    "split_words",
    "stem",
    "stop_words_in",
    "strip_accents",
]
