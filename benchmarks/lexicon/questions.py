"""The words that ask: the English ones, and what a multilingual model places beside them.

Source of the measure: Conneau et al., "Word translation without parallel data", ICLR 2018 (CSLS).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import vectors
import vocabulary

ENGLISH = ("what", "which", "who", "whose", "when", "where", "why", "how")
INVERTED = ("is", "are", "was", "were", "does", "did", "has")
"""English verbs that open a question, and no order as *do* and *have* may."""

FREQUENT = 1500
FREQUENT_ENGLISH = 4000
NEAREST = 10
LEAST_SIMILARITY = 0.2


def question_words(codes: Iterable[str], cache: Path) -> dict[str, list[str]]:
    """Return the folded words that ask, by the name of the language."""
    found = {"english": sorted((*ENGLISH, *INVERTED))}
    for code in codes:
        found[vocabulary.NAMES[code]] = sorted(_foreign(code, cache))
    return found


def _foreign(code: str, cache: Path) -> set[str]:
    """Return the frequent words of a language whose nearest English word is one that asks."""
    model = vectors.model_of(code)
    english = list(vocabulary.frequent_words("en", FREQUENT_ENGLISH).values())
    foreign = vocabulary.frequent_words(code, FREQUENT)
    rows = vectors.centred(vectors.vectors(model, "en", english, cache))
    others = vectors.centred(vectors.vectors(model, code, foreign.values(), cache))
    cosines = others @ rows.T
    near = np.sort(cosines, axis=1)[:, -NEAREST:].mean(axis=1)
    near_english = np.sort(cosines, axis=0)[-NEAREST:].mean(axis=0)
    similarities = 2 * cosines - near[:, None] - near_english[None]
    best = similarities.argmax(axis=1)
    return {
        word
        for place, word in enumerate(foreign)
        if english[best[place]] in ENGLISH and similarities[place, best[place]] >= LEAST_SIMILARITY
    }
