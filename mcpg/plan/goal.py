"""What a goal asks for: its parts, and the tools that each of them may mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import exp, fsum, log, log1p
from typing import NamedTuple

from mcpg.index import Index
from mcpg.plan.needs import PlanContext
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.pipeline import RankedList
from mcpg.text import iter_words, lexicon, split_words, stem, stop_words_of
from mcpg.text.literals import blank_literals, find_literals

ASKED_INPUTS = (
    *("score", "goalScore", "rank", "goalRank", "source", "sourceShare"),
    *("sourceNamed", "otherNamed", "arguments"),
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
# A part has so many words and literals that tell something, a verb of an operation counting twice.
_FEWEST_UNITS = 2
# What points back to something that the part before names, so at the server that has it.
_POINTERS = frozenset(
    ("it", "its", "them", "their", "there", "that", "this", "these", "those", "one")
)
# So sure a match is, beside the best one, of which a search is as confident.
_AS_SURE = 0.6
# A server that the part before hardly means may still serve one that points back.
_LEAST_SHARE = 0.02
# The score that stands for that of a tool which a search does not find.
_LEAST_SCORE = 0.002


class GoalPart(NamedTuple):
    """A part of a goal.

    Attributes:
        text: Its words, as they stand in the goal.
        asked: The probability that the part means each tool, the likeliest first.
        best: The tool that a search for the part finds first, and its score; `None` without any.
    """

    text: str
    asked: Mapping[int, float]
    best: tuple[int, float] | None


def cut_goal(goal: str, index: Index) -> list[str]:
    """Return the parts of *goal* that may be wishes of their own, in order.

    It is cut at punctuation and at conjunctions, outside of its literals. What is too short to be a
    wish belongs to the part before it, or at the beginning to the one after it.
    """
    literals = find_literals(goal)
    pieces, start = [], 0
    for mark in _MARKS.finditer(goal):
        if not any(one.start < mark.end() and mark.start() + 1 < one.end for one in literals):
            pieces.append(goal[start : mark.start()])
            start = mark.end()
    parts: list[str] = []
    for piece in (*pieces, goal[start:]):
        text = piece.strip(_ENDS)
        if not text:
            continue
        is_short = (
            bool(parts)
            and min(_count_units(text, index), _count_units(parts[-1], index)) < _FEWEST_UNITS
        )
        if is_short or len(parts) == MOST_PARTS:
            parts[-1] = f"{parts[-1]} {text}"
        else:
            parts.append(text)
    return parts


def _count_units(text: str, index: Index) -> int:
    """Return how many words and literals of *text* tell something; a verb first counts twice."""
    literals = find_literals(text)
    blank = blank_literals(text, literals)
    spoken = [one.text for one in iter_words(blank) if not one.is_compound]
    stop_words = stop_words_of(lexicon.ENGLISH)
    first = stem(spoken[0]) if spoken else ""
    names_tool = any(index.find_holders(index.find_stem(first), "name"))
    is_verb = lexicon.is_operation(first) or (names_tool and bool(lexicon.operation_shares(first)))
    return sum(word not in stop_words for word in spoken) + len(literals) + is_verb


def logit(probability: float) -> float:
    """Return the logit of a score, kept away from 0 and 1."""
    kept = min(max(probability, _LEAST_SCORE), 1 - _LEAST_SCORE)
    return log(kept / (1 - kept))


def list_matches(ranking: RankedList) -> dict[int, float]:
    """Return the scores of the matches of a part of a goal, best first.

    There are none where no tool has a word of the part, or a related one: then all of them answer
    the rest of the goal, which is the context of the search.
    """
    is_served = any(one.coverage or one.related for one in ranking.candidates)
    return dict(ranking.primaries) if is_served else {}


def weigh_parts(
    goal: str,
    whole: Mapping[int, float],
    parts: Sequence[tuple[str, Mapping[int, float]]],
    context: PlanContext,
    weights: Sequence[float],
) -> list[GoalPart]:
    """Return what each of the *parts* of *goal* means.

    *whole* are the scores of the matches of the goal, best first; with each part stand those of its
    own. A conditional logit: McFadden, "Conditional logit analysis of qualitative choice behavior",
    Frontiers in Econometrics, 1974. A part that points back is likelier served by the server that
    serves the part before it, or after it at the beginning.
    """
    named = find_named_sources(goal, context.index)
    chances = []
    for _, scores in parts:
        inputs = list_asked_inputs(scores, whole, named, context)
        chances.append(_share_out(inputs, weights))
    found: list[GoalPart] = []
    for place, (text, scores) in enumerate(parts):
        asked = chances[place]
        near = chances[place - 1] if place else chances[1] if len(parts) > 1 else {}
        if near and not _POINTERS.isdisjoint(one.text for one in iter_words(text)):
            asked = chances[place] = _follow_source(asked, near, context.index)
        # A part may mean several tools: those of which a search for it is as confident.
        least = max(LOW_CONFIDENCE, _AS_SURE * max(scores.values(), default=0.0))
        sure = {tool: score for tool, score in scores.items() if score >= least}
        meant = {tool: max(chance, sure.get(tool, 0.0)) for tool, chance in asked.items()}
        ranked = dict(sorted(meant.items(), key=lambda one: (-one[1], one[0])))
        found.append(GoalPart(text, ranked, next(iter(scores.items()), None)))
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
    scores: Mapping[int, float],
    whole: Mapping[int, float],
    named: Collection[str],
    context: PlanContext,
) -> dict[int, tuple[float, ...]]:
    """Return what each of `ASKED_INPUTS` is for each tool that a search finds.

    *scores* are those of a part, *whole* those of the goal. The inputs are the logits of both; the
    inverse of the rank in both; the logit of the probability that the part means any tool of the
    source; the share of its matches; whether the goal names the source, or only another one; and
    the logarithm of one more than the number of required arguments.
    """
    index = context.index
    ranks = {tool: place for place, tool in enumerate(scores, 1)}
    goal_ranks = {tool: place for place, tool in enumerate(whole, 1)}
    sources: dict[str, list[float]] = {}
    for tool, score in scores.items():
        sources.setdefault(index.source_id(tool), []).append(score)
    found: dict[int, tuple[float, ...]] = {}
    for tool in dict.fromkeys((*scores, *whole)) if scores else ():
        source = index.source_id(tool)
        own = sources.get(source, [])
        none = 1.0
        for score in own:
            none *= 1 - score
        found[tool] = (
            logit(scores.get(tool, 0.0)),
            logit(whole.get(tool, 0.0)),
            1 / ranks[tool] if tool in ranks else 0.0,
            1 / goal_ranks[tool] if tool in goal_ranks else 0.0,
            logit(1 - none),
            len(own) / len(scores),
            float(source in named),
            float(bool(named) and source not in named),
            log1p(len(context.profile(tool).required)),
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
    sources: dict[str, float] = {}
    for tool, chance in near.items():
        source = index.source_id(tool)
        sources[source] = sources.get(source, 0.0) + chance
    shares = {
        tool: chance * (_LEAST_SHARE + sources.get(index.source_id(tool), 0.0))
        for tool, chance in asked.items()
    }
    total = fsum(shares.values())
    return {tool: share / total for tool, share in shares.items()}
