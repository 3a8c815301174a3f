"""Trust: how much a rewrite counts beside the query it rewrites.

Nothing here knows what either means. A rewrite may be trusted as far as the query itself cannot be
read, for then there is little to lose; and as far as it is the same text, spelt better.
"""

from __future__ import annotations

from mcpg.text import fold
from mcpg.text.folding import is_mark

MOST = 0.95
"""No rewrite is trusted more: translations go wrong, and what the query finds may be right."""

_GRAM = 3


def trust_in(query: str, rewrite: str, foreign: float, agreement: float = 1.0) -> float:
    """Give the probability, at most `MOST`, that *rewrite* asks for what *query* asks for.

    Args:
        query: The query as it was given.
        rewrite: What it was rewritten as.
        foreign: The share of the query's words that neither English nor the catalogue knows.
        agreement: The cosine of both texts where they are searched by vectors, in [0, 1]: a model
            that reads the query's language sees whether they mean the same, and one that does not
            finds little by the query.
    """
    return round(min(MOST, max((foreign * agreement) ** 2, kept(query, rewrite) ** 3)), 6)


def kept(query: str, rewrite: str) -> float:
    """Give the share of the distinct 3-grams of *query* that *rewrite* holds, in [0, 1]."""
    asked = _grams(query)
    return len(asked & _grams(rewrite)) / len(asked) if asked else 0.0


def _grams(text: str) -> set[str]:
    folded = "".join(sign if sign.isalnum() or is_mark(sign) else " " for sign in fold(text))
    padded = f" {' '.join(folded.split())} "
    return {padded[start : start + _GRAM] for start in range(len(padded) - _GRAM + 1)}
