"""Text analysis: folding, words, function words, stems, spelling."""

from __future__ import annotations

from mcpg.text.words import (
    Word,
    fold,
    function_words_in,
    function_words_of,
    iter_words,
    joined,
    language_of,
    split_words,
    stem,
    strip_accents,
)

__all__ = [
    "Word",
    "fold",
    "function_words_in",
    "function_words_of",
    "iter_words",
    "joined",
    "language_of",
    "split_words",
    "stem",
    "strip_accents",
]
