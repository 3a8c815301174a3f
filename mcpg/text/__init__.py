"""Text analysis: folding, words, function words, stems, spelling."""

from __future__ import annotations

from mcpg.text.folding import fold, strip_accents
from mcpg.text.function_words import function_words_in, function_words_of, language_of
from mcpg.text.stems import stem
from mcpg.text.words import Word, iter_words, joined, split_words

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
