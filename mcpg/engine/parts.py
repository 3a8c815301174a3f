"""Parts: the sentences of a request, and the intents that full stops and commas tell apart."""

from __future__ import annotations

from itertools import chain
from math import fsum

from mcpg.text import iter_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    # The places of the words of a part among the clauses of an analysis.
    Part: TypeAlias = tuple[int, ...]

# A request has no more intents than this; they are those that weigh most.
MOST_INTENTS = 8
# What stands between two commas and has fewer words than this, function words left out, is an item
# of a list or an aside, no wish of its own.
FEWEST_WORDS = 4
_SENTENCE_ENDS = (". ", "? ", "! ", "; ", "\u3002", "\uff01", "\uff1f")
_CLAUSE_ENDS = (", ", "\uff0c")


def parts_of(query: str, texts: Sequence[str]) -> list[list[Part]]:
    """Give the parts of each sentence of *query*, as the places of their words in *texts*.

    A part reaches from comma to comma; one with too few words belongs to the part before it, or,
    at the beginning of a sentence, to the one after it.
    """
    sentences = _cut(query, _SENTENCE_ENDS)
    if len(sentences) == 1 and len(_cut(query, _CLAUSE_ENDS)) == 1:
        return []
    places = {text: place for place, text in enumerate(texts)}
    return [_parts(sentence, places) for sentence in sentences]


def _cut(text: str, ends: Iterable[str]) -> list[str]:
    """Cut *text* at each of the *ends* and at the ends of lines."""
    for end in ends:
        text = text.replace(end, "\n")
    return [part for part in text.split("\n") if part.strip()]


def _parts(sentence: str, places: dict[str, int]) -> list[Part]:
    parts: list[Part] = []
    for text in _cut(sentence, _CLAUSE_ENDS):
        words = (places.get(word.text) for word in iter_words(text))
        part = tuple(dict.fromkeys(place for place in words if place is not None))
        if parts and min(len(part), len(parts[-1])) < FEWEST_WORDS:
            parts[-1] = tuple(dict.fromkeys((*parts[-1], *part)))
        elif part:
            parts.append(part)
    return parts


def sentences_of(parts: Sequence[Sequence[Part]], count: int) -> tuple[Part, ...]:
    """Give the places below *count* of each sentence; none for a query of one sentence."""
    if len(parts) <= 1:
        return ()
    rows = (dict.fromkeys(chain.from_iterable(sentence)) for sentence in parts)
    kept = (tuple([place for place in row if place < count]) for row in rows)
    return tuple([row for row in kept if row])


def intents_of(parts: Iterable[Iterable[Part]], weights: Sequence[float]) -> tuple[Part, ...]:
    """Give the distinct parts that weigh most, in their order; none where there is only one."""
    distinct = tuple(dict.fromkeys(chain.from_iterable(parts)))
    if len(distinct) <= MOST_INTENTS:
        return distinct if len(distinct) > 1 else ()
    by_weight = sorted(distinct, key=lambda part: -fsum([weights[place] for place in part]))
    heaviest = frozenset(by_weight[:MOST_INTENTS])
    return tuple([part for part in distinct if part in heaviest])
