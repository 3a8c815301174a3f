"""What makes a doubtful answer surer: words to change in the request, hints to give to a tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.hint_words import RequestWords
from mcpg.engine.pipeline import RankedList
from mcpg.engine.results import SearchResult
from mcpg.engine.retrieval import widen_analysis
from mcpg.engine.scores import clause_impacts
from mcpg.engine.trace import QueryWord
from mcpg.index import Index

_MOST_NAMED = 5


def advice_on(
    result: SearchResult,
    words: Sequence[QueryWord],
    rankings: Sequence[RankedList],
    index: Index,
    disabled: frozenset[int],
) -> tuple[str, ...]:
    """Describe what would make *result*, which *rankings* ranked, surer where it is doubtful.

    The first of *rankings* is of the request as it was typed.
    """
    if result.matches and result.matches[0].score >= LOW_CONFIDENCE:
        return ()
    from mcpg.engine.hint_words import RequestWords  # noqa: PLC0415 - a sure answer needs none

    analysis = rankings[0].analysis
    language = analysis.language or index.language
    request_words = RequestWords(result.query, analysis, language, index)
    better = (one for ranking in rankings for one in find_better_disabled(ranking, index, disabled))
    return (
        *_about_unknown_words(words, request_words),
        *_about_missing_words(result, words, request_words),
        *_about_disabled_tools(list(dict.fromkeys(better))),
    )


def _about_unknown_words(words: Iterable[QueryWord], request_words: RequestWords) -> Iterator[str]:
    lacked = [word.text for word in words if word.role == "unknown" and not word.related]
    unknown = [text for text in dict.fromkeys(lacked) if text not in request_words.arguments]
    listed = [text for text in unknown if not request_words.is_strange(text)]
    if listed:
        alias = request_words.alias()
        hint = f"the alias {alias!r}" if alias else "an alias with it"
        yield (
            f"no tool has {_quote_texts(listed)}: use another word, or give the tool that is meant {hint}"
            " in a hints file"
        )
    unlisted = [text for text in unknown if text not in listed]
    if unlisted:
        yield f"no tool and no word list has {_quote_texts(unlisted)}: check the spelling"


def _about_missing_words(
    result: SearchResult, words: Iterable[QueryWord], request_words: RequestWords
) -> Iterator[str]:
    """Advise keywords that the best match lacks and others have."""
    known = {word.text for word in words if word.repairs or word.related}
    lacking = result.matches[0].evidence.missing if result.matches else ()
    missing = [
        text
        for text in lacking
        if text in known and text not in request_words.arguments and request_words.is_telling(text)
    ]
    if missing:
        yield (
            f"the best match has no {_quote_texts(missing)}: if it is the right tool all the same, give"
            " it these as keywords in a hints file"
        )


def _about_disabled_tools(tools: Sequence[str]) -> Iterator[str]:
    if tools:
        yield f"{_quote_texts(tools)} has more of the query but is off by default: include it"


def _quote_texts(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:_MOST_NAMED])
    rest = len(texts) - _MOST_NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown


def find_better_disabled(ranking: RankedList, index: Index, disabled: frozenset[int]) -> list[str]:
    """Return the ids of *disabled* tools that answer more of the query than any candidate."""
    clauses = ranking.analysis.clauses
    scores: dict[int, float] = dict.fromkeys(found_documents(ranking, index) & disabled, 0.0)
    for clause in clauses:
        for document, impact in clause_impacts(clause.variants, scores, index).items():
            scores[document] += clause.weight * impact
    least = best_lexical(ranking) * ranking.analysis.total_weight
    better = [document for document, score in scores.items() if score > least]
    better.sort(key=lambda document: (-scores[document], document))
    return [index.tool_id(document) for document in better]


def best_lexical(ranking: RankedList) -> float:
    """Return the highest share of the request that the words of a candidate answer."""
    return max((one.lexical for one in ranking.candidates), default=0.0)


def found_documents(ranking: RankedList, index: Index) -> set[int]:
    """Return the documents in which any word of the query stands, disabled ones too."""
    found: set[int] = set()
    for clause in widen_analysis(ranking.analysis).clauses:
        for term, _ in clause.variants:
            found.update(index.postings(term)[0])
    return found
