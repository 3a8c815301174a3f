"""Advice: what would make the answer to one query surer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.confidence import LOW_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.results import SearchResult
    from mcpg.engine.trace import QueryWord

_MOST_NAMED = 5


def is_doubtful(result: SearchResult) -> bool:
    """Say whether the best score of *result* is low, or there is none."""
    return not result.matches or result.matches[0].score < LOW_CONFIDENCE


def advise(
    result: SearchResult, words: Sequence[QueryWord], hidden: Sequence[str]
) -> Iterator[str]:
    """Say what whoever asked, or whoever keeps the catalogue, can do about a doubtful answer.

    Args:
        result: The answer, a doubtful one.
        words: What became of the query's words.
        hidden: Ids of disabled tools that answer more of the query's words than any match does.
    """
    unknown = list(dict.fromkeys(word.text for word in words if word.role == "unknown"))
    if unknown:
        yield (
            f"no tool has {_named(unknown)}: use another word, or give the tool that is meant an"
            " alias with it in a hints file"
        )
    known = {word.text for word in words if word.repairs}
    missing = [text for text in _missing(result) if text in known]
    if missing:
        yield (
            f"the best match has no {_named(missing)}: if it is the right tool all the same, give"
            " it these as keywords in a hints file"
        )
    if hidden:
        yield f"{_named(hidden)} has more of the query but is off by default: include it"


def _missing(result: SearchResult) -> Sequence[str]:
    return result.matches[0].evidence.missing if result.matches else ()


def _named(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:_MOST_NAMED])
    rest = len(texts) - _MOST_NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown
