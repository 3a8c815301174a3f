"""Routing: a search with results by category, weighted by the hints of the tools.

A model chooses more easily among few kinds of tools. Routing searches more tools than it returns,
adjusts the score of each by its hints, groups the tools by category, and returns the best tools of
the best categories.

The score of a routed tool is its expected value. With the calibrated score *p*, the probability
that the tool is the right one, and *w*, the sum of the weights of its hints, that is *p* (1 + *w*),
cut to [0, 1]: hints order the tools that match a query, and never make an unlikely tool look
likely. The score of a category is that of its best tool: tools of a category are variants rather
than independent chances, and adding up their scores (as a noisy-or) finds the right category no
more often and makes many doubtful tools look like a certain one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import fsum
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from mcpg.catalog.model import Hints, Tier
from mcpg.engine import Engine, Match, SearchResult
from mcpg.errors import Diagnostic, UsageError
from mcpg.index import Index
from mcpg.route.preference import (
    NONE,
    READ_ONLY,
    WRITE,
    Preference,
    asked_preference,
    derived_preference,
)
from mcpg.search.observer import GuardedObserver, Observer, RouteFacts
from mcpg.search.results import (
    MAX_LIMIT,
    Context,
    FusionName,
    RankingModeName,
    Strategy,
    StrategyName,
    check_flag,
    check_limit,
    check_text,
    check_texts,
)
from mcpg.text import fold
from mcpg.text.markup import route_html
from mcpg.values import DECIMALS, round_shown_score, score_text, to_json

ADJUSTMENTS = (
    "enabled",
    "preferReadOnly.readOnly",
    "preferReadOnly.writing",
    "preferWrite.writing",
    "preferWrite.readOnly",
    "preferWrite.destructive",
    "preferWrite.notDestructive",
    "idempotent",
    "cost.low",
    "cost.medium",
    "cost.high",
    "latency.low",
    "latency.medium",
    "latency.high",
    "categorised",
    "examples",
)
"""Reasons for adjusting a score, in order of output."""

_FILE = Path(__file__).with_name("data") / "route.json"


@dataclass(frozen=True, slots=True)
class RouteWeights:
    """The weights of routing, validated.

    Attributes:
        adjustments: For each name of `ADJUSTMENTS`, the share of a tool's score that is added to
            it where the name applies; in [-1, 1].
        odds: How many times likelier a query's words must be among tools of one kind (read-only or
            writing) than among those of the other for that kind to be preferred; from 1 to 1e6.
        provenance: The origin of the numbers.
    """

    adjustments: Mapping[str, float]
    odds: float
    provenance: str = field(default="given by the host", compare=False)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: A name is unknown or missing, or a number is none, or out of its range.
        """
        unknown = sorted(set(self.adjustments) - set(ADJUSTMENTS))
        if unknown:
            remedy = f"use some of {', '.join(ADJUSTMENTS)}"
            raise UsageError(f"routing has no adjustment {unknown[0]!r}", remedy=remedy)
        for name in (*ADJUSTMENTS, "odds"):
            if name != "odds" and name not in self.adjustments:
                raise UsageError(f"the adjustment {name!r} is missing", remedy="give it a number")
            least, most = (1.0, 1e6) if name == "odds" else (-1.0, 1.0)
            number: Any = self.odds if name == "odds" else self.adjustments[name]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not (is_number and least <= number <= most):
                remedy = f"give a number in [{least:g}, {most:g}]"
                raise UsageError(f"{name!r} of routing cannot be {number!r}", remedy=remedy)

    @classmethod
    def of(
        cls, adjustments: Mapping[str, float] | None = None, *, odds: float | None = None
    ) -> RouteWeights:
        """Return the shipped weights with some replaced.

        Args:
            adjustments: The adjustments to change, by name.
            odds: The required odds, `None` for the shipped ones.

        Raises:
            UsageError: A name is unknown, or a number is none, or out of its range.
        """
        shipped = shipped_weights()
        return cls(
            {**shipped.adjustments, **(adjustments or {})}, shipped.odds if odds is None else odds
        )


@cache
def shipped_weights() -> RouteWeights:
    """Read the numbers that ship with mcpg."""
    return read_weights(json.loads(_FILE.read_text(encoding="utf-8")))


def read_weights(members: Mapping[str, Any]) -> RouteWeights:
    """Return the weights in an object such as that of `data/route.json`.

    Raises:
        UsageError: A member is unknown or missing, or is nothing that it can be.
    """
    _check_members("the weights", members, {"name", "provenance", "adjustments", "preference"})
    _check_members("'adjustments'", members["adjustments"], set(ADJUSTMENTS))
    _check_members("'preference'", members["preference"], {"odds"})
    provenance = f"{members['name']}: {members['provenance']}"
    return RouteWeights(members["adjustments"], members["preference"]["odds"], provenance)


def _check_members(what: str, members: Any, names: set[str]) -> None:
    if not isinstance(members, dict) or set(members) != names:
        remedy = f"give exactly {', '.join(sorted(names))}"
        raise UsageError(f"{what} of routing have missing or unknown members", remedy=remedy)


# Reading the hints of a found tool takes longer than finding it.
_MAX_CACHED_HINTS = 4_096
_hints_caches: WeakKeyDictionary[Index, dict[str, Hints]] = WeakKeyDictionary()
_hints_lock = Lock()


def hints_cache(index: Index) -> dict[str, Hints]:
    """Return the cache of hints of the tools of *index* by id, which threads share."""
    with _hints_lock:
        return _hints_caches.setdefault(index, {})


def match_hints(matches: Iterable[Match], cache: dict[str, Hints]) -> dict[str, Hints]:
    """Return the hints of the tools of *matches* by id, through the *cache* of their index."""
    found: dict[str, Hints] = {}
    for match in matches:
        hints = cache.get(match.tool_id)
        if hints is None:
            hints = match.descriptor.hints
            if len(cache) < _MAX_CACHED_HINTS:
                cache[match.tool_id] = hints
        found[match.tool_id] = hints
    return found


DEFAULT_CATEGORIES, DEFAULT_TOOLS = 5, 3
MAX_CATEGORIES = 20
UNCATEGORISED = "general"
"""The category of a tool that has none, nor a data source, nor a source."""

# Candidates for each tool that may be returned.
_CANDIDATES_PER_TOOL = 4


@dataclass(frozen=True, slots=True)
class Adjustment:
    """An adjustment of a tool's score: `value == weight * the calibrated score`.

    Attributes:
        name: One of `ADJUSTMENTS`.
        weight: Its share of the score.
        value: Its amount, added to the score.
    """

    name: str
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class RoutedMatch:
    """A routed tool.

    Attributes:
        match: The match of the search, with the calibrated score.
        score: Its expected value: the sum of the calibrated score and all adjustments, cut to
            [0, 1].
        adjustments: The adjustments.
    """

    match: Match
    score: float
    adjustments: tuple[Adjustment, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the tool as a search does, with its score adjusted beside the calibrated score."""
        return self.match.to_dict() | {
            "score": round_shown_score(self.score),
            "calibratedScore": round_shown_score(self.match.score),
            "adjustments": [
                {"name": part.name, "value": round_shown_score(part.value)}
                for part in self.adjustments
            ],
        }

    def to_exact_dict(self) -> dict[str, Any]:
        """Return the scores at full precision, which add up unless the sum is cut to [0, 1]."""
        return {
            "toolId": self.match.tool_id,
            "score": self.score,
            "calibratedScore": self.match.score,
            "adjustments": [to_json(part) for part in self.adjustments],
        }


@dataclass(frozen=True, slots=True)
class RoutedCategory:
    """A category, and the best of its tools.

    Attributes:
        name: Its name, as its best tool writes it.
        score: The score of its best tool, in [0, 1].
        matches: Its best tools, best first.
        found: Number of its tools that were found.
    """

    name: str
    score: float
    matches: tuple[RoutedMatch, ...]
    found: int

    def to_dict(self) -> dict[str, Any]:
        """Return the category as a JSON object, with what its tools are called."""
        return {
            "name": self.name,
            "score": round_shown_score(self.score),
            "found": self.found,
            "tools": [
                {
                    "toolId": one.match.tool_id,
                    "sourceId": one.match.source_id,
                    "toolName": one.match.tool_name,
                    "score": round_shown_score(one.score),
                }
                for one in self.matches
            ],
        }


@dataclass(frozen=True, slots=True)
class RouteResult:
    """The result of a route.

    Attributes:
        query: The query as given; "" when browsing.
        preference: The preferred kind of tool, and the evidence for it.
        categories: The best categories, best first, each with a tool that no better one has.
        suggested: The tools of the categories, each once, best first.
        diagnostics: Diagnostics of the search.
        ranking_mode: How the matches were ranked.
        strategy: The requested strategy.
        normalized_query: The rewritten query, `None` if it was not rewritten.
        candidates: Number of tools that were considered.
        weights: The weights of the adjustments.
    """

    query: str
    preference: Preference
    categories: tuple[RoutedCategory, ...]
    suggested: tuple[RoutedMatch, ...]
    diagnostics: tuple[Diagnostic, ...]
    ranking_mode: RankingModeName
    strategy: StrategyName
    normalized_query: str | None
    candidates: int
    weights: RouteWeights

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `mcpg route --format json` prints it.

        A tool stands in it once as in a result of `search`, under `suggestedMatches`; categories
        have what their tools are called.
        """
        return {
            "schema": "mcpg/route/1",
            "query": self.query,
            "normalizedQuery": self.normalized_query,
            "strategy": self.strategy,
            "rankingMode": self.ranking_mode,
            "preference": self.preference.to_dict(),
            "categories": [one.to_dict() for one in self.categories],
            "suggestedMatches": [one.to_dict() for one in self.suggested],
            "diagnostics": [one.to_dict() for one in self.diagnostics],
        }

    def __repr__(self) -> str:
        names = ", ".join(f"{one.name} {score_text(one.score)}" for one in self.categories)
        return f"<RouteResult {self.query!r}: {names or 'no category'}>"

    def _repr_html_(self) -> str:
        return route_html(self.to_dict())

    def to_exact_dict(self) -> dict[str, Any]:
        """Return the member `routing` of what `mcpg explain --route` prints: all but the tools.

        Numbers are at full precision, because the adjustments and the calibrated score add up to
        the score, unless that is cut to [0, 1].
        """
        return {
            "preference": self.preference.to_dict(with_words=True),
            "candidates": self.candidates,
            "categories": [one.to_dict() for one in self.categories],
            "tools": [one.to_exact_dict() for one in self.suggested],
            "weights": {
                "provenance": self.weights.provenance,
                **to_json(self.weights, without={"provenance"}),
            },
        }


def route(  # noqa: PLR0913 - each is an option of its own
    engine: Engine,
    query: str | None,
    *,
    categories: int = DEFAULT_CATEGORIES,
    tools: int = DEFAULT_TOOLS,
    prefer_read_only: bool | None = None,
    strategy: StrategyName = Strategy.GRAPH,
    context: Context = None,
    include_disabled: bool = False,
    min_score: float = 0.0,
    fusion: FusionName = "",
    normalize: bool = False,
    lexicon: bool = True,
    weights: RouteWeights | None = None,
    derives_preference: bool = True,
    sources: Sequence[str] = (),
    in_categories: Sequence[str] = (),
    read_only: bool = False,
) -> RouteResult:
    """Return the categories that match *query*, and the best tools of each.

    Args:
        engine: The engine to search.
        query: The task in any words; `None` or blank, without *context*, lists tools by name.
        categories: Maximum number of categories, at least 1; more than 20 is cut to 20.
        tools: Maximum number of tools of a category, at least 1; more than 50 is cut to 50.
        prefer_read_only: Prefer read-only tools (true) or tools that write; `None` for neither.
        strategy: As for `Engine.search`.
        context: As for `Engine.search`.
        include_disabled: As for `Engine.search`.
        min_score: The least calibrated score of a tool worth offering, in [0, 1].
        fusion: As for `Engine.search`.
        normalize: As for `Engine.search`.
        lexicon: As for `Engine.search`.
        weights: What hints are worth, `None` for what ships with mcpg.
        derives_preference: Whether a preference is inferred from the query and the catalogue where
            *prefer_read_only* is `None`.
        sources: As for `Engine.search`.
        in_categories: As *categories* of `Engine.search`.
        read_only: As for `Engine.search`.

    Raises:
        UsageError: *categories* or *tools* is below 1, an argument has the wrong type, or as for
            `Engine.search`.
    """
    check_text("query", query)
    in_categories = check_texts("in_categories", in_categories)
    check_flag("derives_preference", derives_preference)
    if prefer_read_only is not None:
        check_flag("prefer_read_only", prefer_read_only)
    categories = min(check_limit(categories, "categories"), MAX_CATEGORIES)
    tools = min(check_limit(tools, "tools"), MAX_LIMIT)
    weights = weights or shipped_weights()
    services = engine.services
    with observed_route(services.observer if services else None, query) as report:
        result = engine.search(
            query,
            limit=candidate_limit(categories, tools),
            strategy=strategy,
            context=context,
            include_disabled=include_disabled,
            min_score=min_score,
            fusion=fusion,
            normalize=normalize,
            lexicon=lexicon,
            sources=sources,
            categories=in_categories,
            read_only=read_only,
        )
        preference = asked_preference(prefer_read_only)
        if prefer_read_only is None and derives_preference:
            odds, searched = weights.odds, result.normalized_query or result.query
            preference = engine.consult(
                lambda index: derived_preference(index, searched, odds, uses_lexicon=lexicon)
            )
        hints = match_hints(result.matches, engine.consult(hints_cache))
        routed = arrange_matches(result, hints, preference, weights, categories, tools)
        report(len(routed.categories), len(routed.suggested))
    return routed


def candidate_limit(categories: int, tools: int) -> int:
    """Return the number of candidates for *categories* with *tools* each."""
    return min(categories * max(tools, DEFAULT_TOOLS) * _CANDIDATES_PER_TOOL, MAX_LIMIT)


def arrange_matches(
    result: SearchResult,
    hints: Mapping[str, Hints],
    preference: Preference,
    weights: RouteWeights,
    categories: int,
    tools: int,
) -> RouteResult:
    """Arrange the matches of *result*, whose *hints* are by id, in so many *categories* at most.

    Each has at most so many *tools*; hints are worth what *weights* say, by the *preference*.
    """
    routed = [
        routed_match(match, hints[match.tool_id], preference.name, weights)
        for match in result.matches
    ]
    # By the sums before they are cut to 1; the sort is stable: ties keep the order of the search.
    ordered = sorted(routed, key=lambda one: -_expected_value(one.match, one.adjustments))
    shown = tuple(_best_categories(ordered, hints, categories, tools))
    offered = {one.match.tool_id for category in shown for one in category.matches}
    return RouteResult(
        query=result.query,
        preference=preference,
        categories=shown,
        suggested=tuple(one for one in ordered if one.match.tool_id in offered),
        diagnostics=result.diagnostics,
        ranking_mode=result.ranking_mode,
        strategy=result.strategy,
        normalized_query=result.normalized_query,
        candidates=len(ordered),
        weights=weights,
    )


def routed_match(match: Match, hints: Hints, preferred: str, weights: RouteWeights) -> RoutedMatch:
    """Adjust the score of *match* for its *hints*; *preferred* is `read-only`, `write`, `none`."""
    names = list_adjustments(hints, preferred)
    adjustments = tuple(
        Adjustment(name, weight, weight * match.score)
        for name in names
        if match.score and (weight := weights.adjustments[name])
    )
    return RoutedMatch(match, min(1.0, max(0.0, _expected_value(match, adjustments))), adjustments)


def list_adjustments(hints: Hints, preferred: str) -> Iterator[str]:
    """Yield the names of the adjustments of a tool with *hints*; unset hints adjust nothing."""
    if hints.enabled_by_default is not False:
        yield "enabled"
    if preferred != NONE:
        prefix = {READ_ONLY: "preferReadOnly", WRITE: "preferWrite"}[preferred]
        if hints.read_only is not None:
            yield f"{prefix}.{'readOnly' if hints.read_only else 'writing'}"
        if preferred == WRITE and hints.destructive is not None:
            yield f"{prefix}.{'destructive' if hints.destructive else 'notDestructive'}"
    if hints.idempotent:
        yield "idempotent"
    for what, tier in (("cost", hints.cost_tier), ("latency", hints.latency_tier)):
        if tier is not None:
            yield f"{what}.{Tier(tier).value.lower()}"
    if hints.categories:
        yield "categorised"
    if hints.examples:
        yield "examples"


def tool_categories(hints: Hints, source_id: str) -> tuple[str, ...]:
    """Return the categories of a tool: of its hints, or its data sources, or its source."""
    source = source_id.strip() or UNCATEGORISED
    return hints.categories or hints.data_sources or (source,)


def _expected_value(match: Match, adjustments: Iterable[Adjustment]) -> float:
    return round(fsum((match.score, *(one.value for one in adjustments))), DECIMALS)


def _best_categories(
    ordered: Sequence[RoutedMatch], hints: Mapping[str, Hints], categories: int, tools: int
) -> Iterator[RoutedCategory]:
    """Yield the best categories; one whose tools are all shown already is skipped."""
    names: dict[str, str] = {}
    members: dict[str, list[RoutedMatch]] = defaultdict(list)
    for one in ordered:
        match = one.match
        for name in tool_categories(hints[match.tool_id], match.source_id):
            key = fold(name)
            names.setdefault(key, name)
            if members[key][-1:] != [one]:
                members[key].append(one)
    shown: set[str] = set()
    left = categories
    for key in sorted(members, key=lambda key: (_category_key(members[key], tools), key)):
        best = tuple(members[key][:tools])
        own = {one.match.tool_id for one in best} - shown
        if own and left:
            yield RoutedCategory(names[key], best[0].score, best, len(members[key]))
            shown |= own
            left -= 1


def _category_key(members: Sequence[RoutedMatch], tools: int) -> list[float]:
    """Return the sort key of a category: its best tool, then the next best, and so on."""
    sums = [-_expected_value(one.match, one.adjustments) for one in members[:tools]]
    # A category that has fewer to show comes after one that shows the same and more.
    return [*sums, *[0.0] * (tools - len(sums))]


@contextmanager
def observed_route(
    observer: Observer | None, query: str | None
) -> Iterator[Callable[[int, int], None]]:
    """Report a route; the context's function takes the numbers of categories and tools."""
    if observer is None:
        yield lambda *_: None
        return
    with GuardedObserver.of(observer).route((query or "").strip()) as report:
        yield lambda categories, tools: report(RouteFacts(categories, tools))
