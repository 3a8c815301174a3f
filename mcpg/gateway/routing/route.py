"""Routing: a search whose tools are told by category, and weighed by what their hints say.

A model that is to choose a tool does well to choose the kind of tool first. Routing searches more
tools than it shows, adjusts the score of each, puts each into its categories, and shows the best
few of the best categories.

The score of a routed tool is what offering it is expected to be worth. Where its calibrated score
*p* says how likely it is wanted, and *w* is the sum of what its hints are worth, offering it is
worth 1 + *w* when it is wanted and nothing when it is not: *p* (1 + *w*), cut to [0, 1]. So hints
order the tools that serve a request; they never make one look wanted that is not. That of a
category is the score of its best tool: tools of a category are variants of one another rather than
independent chances, and to add up their scores (a noisy-or, say) finds the right category no more
often and makes many doubtful tools look like a sure one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, Tier
from mcpg.engine.results import MAX_LIMIT, Strategy
from mcpg.errors import Diagnostic, UsageError
from mcpg.gateway.index.hints_cache import HINTS
from mcpg.gateway.observing import watched_route
from mcpg.gateway.routing.preference import (
    NONE,
    READ_ONLY,
    WRITE,
    Preference,
    asked_preference,
    derived_preference,
)
from mcpg.gateway.routing.weights import RouteWeights, shipped_weights
from mcpg.text import fold
from mcpg.values import DECIMALS

if TYPE_CHECKING:
    from mcpg.engine import Engine, Match, SearchResult
    from mcpg.engine.results import Context

DEFAULT_CATEGORIES, DEFAULT_TOOLS = 5, 3
MAX_CATEGORIES = 20
UNCATEGORISED = "general"
"""The category of a tool that has none, nor a data source, nor a source."""

# So many tools are looked at for each that may be shown.
_CANDIDATES_PER_TOOL = 4


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One thing that a tool's score is adjusted for: `value == weight * the calibrated score`.

    Attributes:
        name: What it is for, one of `ADJUSTMENTS`.
        weight: The share of the score that it is worth.
        value: What it adds to the score.
    """

    name: str
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class RoutedMatch:
    """A tool that routing offers.

    Attributes:
        match: The match of the search, with the calibrated score.
        score: What offering it is expected to be worth, in [0, 1]: the calibrated score and all
            adjustments together, cut to that range.
        adjustments: What was added, and for what.
    """

    match: Match
    score: float
    adjustments: tuple[Adjustment, ...] = ()


@dataclass(frozen=True, slots=True)
class RoutedCategory:
    """A category, and the best of its tools.

    Attributes:
        name: What it is called, as its best tool writes it.
        score: The score of its best tool, in [0, 1].
        matches: Its best tools, best first.
        found: How many tools of it were found, of which these are the best.
    """

    name: str
    score: float
    matches: tuple[RoutedMatch, ...]
    found: int


@dataclass(frozen=True, slots=True)
class RouteResult:
    """The answer to one routing.

    Attributes:
        query: The query as given; "" when browsing.
        preference: Which kind of tool was preferred, and why.
        categories: The best categories, best first. One that would show no tool that a better one
            does not show already is left out.
        suggested: The tools that the categories show, each once, best first.
        diagnostics: What the search noticed.
        ranking_mode: How the matches were ranked.
        strategy: The strategy that was asked for.
        normalized_query: What the query was rewritten as, `None` when it was not.
        candidates: How many tools were looked at.
        weights: The numbers that adjusted.
    """

    query: str
    preference: Preference
    categories: tuple[RoutedCategory, ...]
    suggested: tuple[RoutedMatch, ...]
    diagnostics: tuple[Diagnostic, ...]
    ranking_mode: str
    strategy: str
    normalized_query: str | None
    candidates: int
    weights: RouteWeights


def route(  # noqa: PLR0913 - each is one thing that a host may ask
    engine: Engine,
    query: str | None,
    *,
    categories: int = DEFAULT_CATEGORIES,
    tools: int = DEFAULT_TOOLS,
    prefer_read_only: bool | None = None,
    strategy: str = Strategy.GRAPH,
    context: Context = None,
    include_disabled: bool = False,
    min_score: float = 0.0,
    fusion: str = "",
    normalize: bool = False,
    weights: RouteWeights | None = None,
    derives_preference: bool = True,
) -> RouteResult:
    """Find the categories of tools that *query* asks for, and the best tools of each.

    Args:
        engine: Whom to ask.
        query: The wish in any words; `None` or blank, without *context*, takes tools by name.
        categories: Most categories to give, at least 1; more than 20 is cut to 20.
        tools: Most tools of a category to give, at least 1; more than 50 is cut to 50.
        prefer_read_only: Whether to prefer tools that read or that write; `None` says nothing.
        strategy: As for `Engine.search`.
        context: As for `Engine.search`.
        include_disabled: As for `Engine.search`.
        min_score: The least calibrated score of a tool worth offering, in [0, 1].
        fusion: As for `Engine.search`.
        normalize: As for `Engine.search`.
        weights: What hints are worth, `None` for what ships with mcpg.
        derives_preference: Whether, where *prefer_read_only* says nothing, the words of the query
            and the tools of the catalogue are asked for a preference.

    Raises:
        UsageError: *categories* or *tools* is below 1, or as for `Engine.search`.
    """
    categories = _checked("categories", categories, MAX_CATEGORIES)
    tools = _checked("tools", tools, MAX_LIMIT)
    weights = weights or shipped_weights()
    equipment = engine.equipment
    with watched_route(equipment.observer if equipment else None, query) as tell:
        result = engine.search(
            query,
            limit=candidate_limit(categories, tools),
            strategy=strategy,
            context=context,
            include_disabled=include_disabled,
            min_score=min_score,
            fusion=fusion,
            normalize=normalize,
        )
        preference = asked_preference(prefer_read_only)
        if prefer_read_only is None and derives_preference:
            odds, asked = weights.odds, result.normalized_query or result.query
            preference = engine.consult(lambda index: derived_preference(index, asked, odds))
        hints = engine.consult(HINTS.of_index).of(result.matches)
        routed = arranged(result, hints, preference, weights, categories, tools)
        tell(len(routed.categories), len(routed.suggested))
    return routed


def candidate_limit(categories: int, tools: int) -> int:
    """Return the number of candidates for *categories* with *tools* each."""
    wanted = categories * max(tools, DEFAULT_TOOLS) * _CANDIDATES_PER_TOOL
    return min(max(wanted, categories), MAX_LIMIT)


def arranged(
    result: SearchResult,
    hints: Mapping[str, Hints],
    preference: Preference,
    weights: RouteWeights,
    categories: int,
    tools: int,
) -> RouteResult:
    """Arrange the matches of *result* by category.

    Args:
        result: What a search found.
        hints: Of each tool that it found, by its id.
        preference: Which kind of tool is preferred.
        weights: What hints are worth.
        categories: Most categories to give, at least 1.
        tools: Most tools of a category to give, at least 1.
    """
    routed = [
        routed_match(match, hints[match.tool_id], preference.name, weights)
        for match in result.matches
    ]
    # Of tools worth the same, the one that the search put first stays first.
    ordered = sorted(routed, key=_negative_worth)
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
    names = adjustments_of(hints, preferred)
    adjustments = tuple(
        Adjustment(name, weight, weight * match.score)
        for name in names
        if match.score and (weight := weights.adjustments[name])
    )
    return RoutedMatch(match, min(1.0, max(0.0, _worth(match, adjustments))), adjustments)


def adjustments_of(hints: Hints, preferred: str) -> Iterator[str]:
    """Yield the names of the adjustments of a tool with *hints*; unset hints adjust nothing."""
    if hints.enabled_by_default is not False:
        yield "enabled"
    if preferred != NONE:
        yield from _kind_adjustments(hints, preferred)
    if hints.idempotent:
        yield "idempotent"
    for what, tier in (("cost", hints.cost_tier), ("latency", hints.latency_tier)):
        if tier is not None:
            yield f"{what}.{Tier(tier).value.lower()}"
    if hints.categories:
        yield "categorised"
    if hints.examples:
        yield "examples"


def categories_of(hints: Hints, source_id: str) -> tuple[str, ...]:
    """Return the categories of a tool: of its hints, or its data sources, or its source."""
    source = source_id.strip() or UNCATEGORISED
    return hints.categories or hints.data_sources or (source,)


def _kind_adjustments(hints: Hints, preferred: str) -> Iterator[str]:
    prefix = {READ_ONLY: "preferReadOnly", WRITE: "preferWrite"}[preferred]
    if hints.read_only is not None:
        yield f"{prefix}.{'readOnly' if hints.read_only else 'writing'}"
    if preferred == WRITE and hints.destructive is not None:
        yield f"{prefix}.{'destructive' if hints.destructive else 'notDestructive'}"


def _worth(match: Match, adjustments: Iterable[Adjustment]) -> float:
    return round(fsum((match.score, *(one.value for one in adjustments))), DECIMALS)


def _negative_worth(one: RoutedMatch) -> float:
    """Return the sort key of a tool: the sum before it is cut to 1."""
    return -_worth(one.match, one.adjustments)


def _best_categories(
    ordered: Sequence[RoutedMatch], hints: Mapping[str, Hints], categories: int, tools: int
) -> Iterator[RoutedCategory]:
    """Yield the best categories; one whose tools are all shown already is skipped."""
    names: dict[str, str] = {}
    members: dict[str, list[RoutedMatch]] = defaultdict(list)
    for one in ordered:
        match = one.match
        for name in categories_of(hints[match.tool_id], match.source_id):
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
    sums = [_negative_worth(one) for one in members[:tools]]
    # A category that has fewer to show comes after one that shows the same and more.
    return [*sums, *[0.0] * (tools - len(sums))]


def _checked(name: str, number: int, most: int) -> int:
    """Return *number*, at most *most*.

    Raises:
        UsageError: It is below 1.
    """
    if number < 1:
        raise UsageError(f"the number of {name} is {number}", remedy="ask for at least 1")
    return min(number, most)
