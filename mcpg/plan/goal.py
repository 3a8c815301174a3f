"""The requests of a goal: its parts, and the tools that each of them may mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, fsum, log, log1p
from typing import NamedTuple

from mcpg.index import Index
from mcpg.plan.needs import PlanContext
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.features import Candidate
from mcpg.search.pipeline import RankedList
from mcpg.text import get_stop_words, iter_words, lexicon, split_words, stem
from mcpg.text.literals import (
    WORDS_OF_KINDS,
    TextLiteral,
    blank_literals,
    find_literals,
)

ASKED_INPUTS = (
    *("score", "rank", "sourceScore", "sourceTakes", "sourceNamed", "otherNamed"),
    *("operation", "question", "meaning", "changes"),
)
"""The evidence that a part of a goal means a tool, see `list_asked_inputs`."""

MOST_PARTS = 8
"""A goal has no more parts; what follows belongs to the last of them."""

_MARKS = re.compile(
    r"[.?!;:,](?=\s)|[\u3002\uff01\uff1f\uff1b\uff0c\u3001]|\n"
    r"|\s(?:and|then|but|so that|before|after|once|unless|while)(?=\s)",
    re.IGNORECASE,
)
_ENDS = " \t\n.,?!;:"
# The fewest meaningful words and literals of a part; a verb of an operation counts twice.
_FEWEST_UNITS = 2
# Words that point back to something in the part before, and so to the server that has it.
_POINTERS = frozenset(
    ("it", "its", "them", "their", "there", "that", "this", "these", "those", "one")
)
# So sure a match is, beside the best one, of which a search is as confident.
_AS_SURE = 0.6
# A server that other parts hardly mean may still serve one.
_LEAST_SHARE = 0.02
# The score of a tool which a search does not find.
_LEAST_SCORE = 0.002


class GoalPart(NamedTuple):
    """A part of a goal.

    Attributes:
        asked: The probability that the part means each tool, the likeliest first.
        best: The first match of a search for the part, and its score; `None` without any.
    """

    text: str
    asked: Mapping[int, float]
    best: tuple[int, float] | None


class PartMatches(NamedTuple):
    """The result of a search for a part of a goal.

    Attributes:
        scores: The scores of its matches, best first.
        candidates: The features of all tools that were considered.
    """

    text: str
    scores: Mapping[int, float]
    candidates: Sequence[Candidate]


class GoalEvidence(NamedTuple):
    """The evidence of a whole goal for the tools that it needs.

    Attributes:
        scores: The scores of the matches of a search for it, best first.
        sources: The probability that it means any tool of a source.
        takers: How rare it is that a source takes one of its literals, in [0, 1].
    """

    scores: Mapping[int, float]
    sources: Mapping[str, float]
    takers: Mapping[str, float]
    named: frozenset[str]


def cut_goal(goal: str, index: Index) -> list[str]:
    """Return the parts of *goal* that may be wishes of their own, in order.

    It is cut at punctuation and at conjunctions, outside of its literals. A piece too short to be a
    wish belongs to the part before it, or at the beginning to the part after it.
    """
    literals = find_literals(goal)
    pieces, start = [], 0
    for mark in _MARKS.finditer(goal):
        if not any(one.start < mark.end() and mark.start() + 1 < one.end for one in literals):
            pieces.append(goal[start : mark.start()])
            start = mark.end()
    parts: list[list[str]] = []
    for piece in (*pieces, goal[start:]):
        text = piece.strip(_ENDS)
        if not text:
            continue
        # The part before is counted last: it grows with each piece that is too short.
        if parts and (
            len(parts) == MOST_PARTS
            or _count_units(text, index) < _FEWEST_UNITS
            or _count_units(" ".join(parts[-1]), index) < _FEWEST_UNITS
        ):
            parts[-1].append(text)
        else:
            parts.append([text])
    return [" ".join(part) for part in parts]


def _count_units(text: str, index: Index) -> int:
    """Return how many words and literals of *text* have meaning; a verb first counts twice."""
    literals = find_literals(text)
    blank = blank_literals(text, literals)
    spoken = [one.text for one in iter_words(blank) if not one.is_compound]
    stop_words = get_stop_words(lexicon.ENGLISH)
    first = stem(spoken[0]) if spoken else ""
    names_tool = any(index.find_holders(index.find_stem(first), "name"))
    is_verb = lexicon.is_operation(first) or (names_tool and bool(lexicon.operation_shares(first)))
    return sum(word not in stop_words for word in spoken) + len(literals) + is_verb


def logit(probability: float) -> float:
    """Return the logit of a score, kept away from 0 and 1."""
    kept = min(max(probability, _LEAST_SCORE), 1 - _LEAST_SCORE)
    return log(kept / (1 - kept))


def list_matches(text: str, ranking: RankedList) -> PartMatches:
    """Return the matches of a part of a goal.

    There are none if no tool has a word of the part, or a related one: then all of them answer
    the rest of the goal, which is the context of the search.
    """
    is_served = any(one.coverage or one.related for one in ranking.candidates)
    return PartMatches(text, dict(ranking.primaries) if is_served else {}, ranking.candidates)


def weigh_parts(
    goal: GoalEvidence, parts: Sequence[PartMatches], context: PlanContext, weights: Sequence[float]
) -> list[GoalPart]:
    """Return the meaning of each of the *parts* of a *goal*.

    A conditional logit: McFadden, "Conditional logit analysis of qualitative choice behavior",
    Frontiers in Econometrics, 1974. Parts are likelier served by one server than by several; one
    that points back by the server of the part before it, or after it at the beginning.
    """
    chances = [_share_out(list_asked_inputs(part, goal, context), weights) for part in parts]
    common: dict[int, float] = {}
    for chance, part in zip(chances, parts, strict=True):
        sureness = _LEAST_SHARE + max(part.scores.values(), default=0.0)
        for tool, share in chance.items():
            common[tool] = common.get(tool, 0.0) + sureness * share
    found: list[GoalPart] = []
    for place, (text, scores, _) in enumerate(parts):
        asked = chances[place]
        if len(parts) > 1:
            asked = _follow_source(asked, common, context.index)
            near = chances[place - 1 if place else 1]
            if near and not _POINTERS.isdisjoint(one.text for one in iter_words(text)):
                asked = chances[place] = _follow_source(asked, near, context.index)
        # A part may mean several tools: all of which a search for it is as confident.
        least = max(LOW_CONFIDENCE, _AS_SURE * max(scores.values(), default=0.0))
        sure = {tool: score for tool, score in scores.items() if score >= least}
        meant = {tool: max(chance, sure.get(tool, 0.0)) for tool, chance in asked.items()}
        ranked = dict(sorted(meant.items(), key=lambda one: (-one[1], one[0])))
        found.append(GoalPart(text, ranked, next(iter(scores.items()), None)))
    return found


def weigh_goal(goal: str, ranking: RankedList, index: Index) -> GoalEvidence:
    """Return the evidence of the whole *goal*, with the *ranking* of a search for it."""
    scores = dict(ranking.primaries)
    none: dict[str, float] = {}
    for tool, score in scores.items():
        source = index.source_id(tool)
        none[source] = none.get(source, 1.0) * (1 - score)
    sources = {source: 1 - rest for source, rest in none.items()}
    named = find_named_sources(goal, index)
    return GoalEvidence(scores, sources, _weigh_takers(ranking.analysis.literals, index), named)


def _weigh_takers(literals: Sequence[TextLiteral], index: Index) -> dict[str, float]:
    """Return how rare it is that a source takes one of the *literals*, by those that do."""
    count = len(index.source_ids)
    found: dict[str, float] = {}
    for kind in {one.kind for one in literals}:
        terms = [index.find_stem(stem(word)) for word in WORDS_OF_KINDS.get(kind, ())]
        tools = {tool for term in terms for tool in index.find_holders(term, "parameters")}
        takers = {index.source_id(tool) for tool in tools}
        for source in takers:
            rare = log((1 + count) / len(takers)) / log1p(count)
            found[source] = max(rare, found.get(source, 0.0))
    return found


def find_named_sources(goal: str, index: Index) -> frozenset[str]:
    """Return the sources that *goal* names: it has all words of an id that no other id has."""
    spoken = {one.text for one in iter_words(goal)}
    words = {source: frozenset(split_words(source)) for source in index.source_ids}
    counts = Counter(word for held in words.values() for word in held)
    telling = {
        source: {word for word in held if counts[word] == 1} for source, held in words.items()
    }
    return frozenset(source for source, held in telling.items() if held and held <= spoken)


def list_asked_inputs(
    part: PartMatches, goal: GoalEvidence, context: PlanContext
) -> dict[int, tuple[float, ...]]:
    """Return the value of each of `ASKED_INPUTS` for each tool that a search finds.

    The inputs are the logit of its score for the part; the inverse of its rank there; the logit of
    the probability that the goal means any tool of its source; how rare it is that a source takes a
    literal of the goal; whether the goal names the source, or only another one; how well it does
    the requested kind of operation, and answers a question; how near its meaning is; and
    how surely it changes something.
    """
    index = context.index
    ranks = {tool: place for place, tool in enumerate(part.scores, 1)}
    candidates = {one.document: one for one in part.candidates}
    found: dict[int, tuple[float, ...]] = {}
    for tool in dict.fromkeys((*part.scores, *goal.scores)) if part.scores else ():
        source, candidate = index.source_id(tool), candidates.get(tool)
        found[tool] = (
            logit(part.scores.get(tool, 0.0)),
            1 / ranks[tool] if tool in ranks else 0.0,
            logit(goal.sources.get(source, 0.0)),
            goal.takers.get(source, 0.0),
            float(source in goal.named),
            float(bool(goal.named) and source not in goal.named),
            candidate.operation if candidate else 0.0,
            candidate.question if candidate else 0.0,
            candidate.nearness if candidate else 0.0,
            context.profile(tool).changes,
        )
    return found


def _share_out(inputs: Mapping[int, Sequence[float]], weights: Sequence[float]) -> dict[int, float]:
    """Return the probability of each tool, which add up to 1."""
    values = {
        tool: fsum(one * weight for one, weight in zip(row, weights, strict=True))
        for tool, row in inputs.items()
    }
    most = max(values.values(), default=0.0)
    shares = {tool: exp(value - most) for tool, value in values.items()}
    total = fsum(shares.values())
    return {tool: share / total for tool, share in shares.items()}


def _follow_source(
    asked: Mapping[int, float], near: Mapping[int, float], index: Index
) -> dict[int, float]:
    """Return the tools *asked*, each as likely as its source is among the tools *near*."""
    sources: dict[str, float] = {}
    for tool, chance in near.items():
        source = index.source_id(tool)
        sources[source] = sources.get(source, 0.0) + chance
    least = _LEAST_SHARE * fsum(sources.values())
    shares = {
        tool: chance * (least + sources.get(index.source_id(tool), 0.0))
        for tool, chance in asked.items()
    }
    total = fsum(shares.values())
    return {tool: share / total for tool, share in shares.items()}
