"""How much it says that a tool holds a term."""

from __future__ import annotations

from math import log1p


def inverse_document_frequency(size: float, frequency: float) -> float:
    """Give the weight of a term that *frequency* of *size* documents hold; above 0.

    Source: Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.5, with 1
    added under the logarithm so that common terms stay positive.
    """
    return log1p((size - frequency + 0.5) / (frequency + 0.5))


def smoothed_rarity(size: int, frequency: float, common: float, background: float) -> float:
    """Give the same weight in a collection that the language has been added to; above 0.

    For every document, *background* texts are imagined of which a share of *common* hold the
    term. So a word that everybody uses all the time weighs little, though no document holds it.

    Source: smoothing by a collection model, Zhai & Lafferty, "A study of smoothing methods for
    language models applied to information retrieval", TOIS 22(2), 2004, carried over to
    document frequencies.
    """
    imagined = background * size
    return inverse_document_frequency(size + imagined, frequency + imagined * common)
