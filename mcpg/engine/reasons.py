"""Reasons: why one tool stands above another, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.standing import FeatureGap, Retrieval, WordGap

_SHOWN = 3
_NEGLIGIBLE = 5e-7

_PHRASES = {
    "bm25f": "its texts answer the words of the query better",
    "nameCoverage": "more of its name is in the query",
    "openingName": "the query opens with its name",
    "grams": "its name and description are spelt more like the query",
    "source": "its server answers more of the query",
    "coverage": "it holds more of the query's words",
    "sentence": "it answers the query's best sentence better",
    "exactName": "the query spells its name",
}


def reasons(
    features: Sequence[FeatureGap],
    words: Sequence[WordGap],
    retrieval: Retrieval,
    *,
    is_hidden: bool,
) -> tuple[str, ...]:
    """Say why a tool ("it") stands above the one that was asked about ("this tool").

    Args:
        features: The differences of the two, the largest first.
        words: The words of the query in the two.
        retrieval: How the one that was asked about came through retrieval.
        is_hidden: Whether that one is left out because it is disabled by default.
    """
    found = [*_outside(retrieval, is_hidden=is_hidden), *_ahead(features), *_words(words)]
    return tuple(found) or ("the two are level, and the smaller tool id goes first",)


def _outside(retrieval: Retrieval, *, is_hidden: bool) -> Iterator[str]:
    """Say what keeps the tool from being compared at all."""
    if is_hidden:
        yield "this tool is disabled by default, so a search leaves it out"
    if retrieval.is_pooled:
        return
    if not retrieval.lexical:
        yield "this tool holds no word of the query"
    else:
        place = f"place {retrieval.place}" if retrieval.place else f"beyond {retrieval.retrieved:,}"
        yield (
            f"by its words alone this tool comes to {place}: only the first {retrieval.pool} are"
            " looked at closely"
        )


def _ahead(features: Sequence[FeatureGap]) -> list[str]:
    return [
        f"{_PHRASES.get(one.feature, one.feature)} ({one.feature} {one.difference:+.3f})"
        for one in features
        if one.difference >= _NEGLIGIBLE
    ][:_SHOWN]


def _words(words: Sequence[WordGap]) -> Iterator[str]:
    """Name the words that only the tool above holds, the weightiest first."""
    alone = sorted(
        (word for word in words if word.other and not word.own), key=lambda word: -word.share
    )
    if alone:
        names = ", ".join(f"{word.query!r} ({word.share:.0%} of the query)" for word in alone)
        yield f"only it holds {names}"
