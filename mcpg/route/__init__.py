"""Routing: matches arranged by category, weighted by hints and by the preferred kind of tool."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from math import fsum, log, prod
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from mcpg.catalog.model import Hints, Tier
from mcpg.errors import Diagnostic, UsageError
from mcpg.index.layout import READS, WRITES
from mcpg.index.reader import Index
from mcpg.index.recipe import FIELDS
from mcpg.search.observer import GuardedObserver, Observer, RouteFacts
from mcpg.search.query import analyse
from mcpg.search.results import (
    DEFAULT_TOOLS,
    MAX_LIMIT,
    EngineServices,
    Match,
    RankingModeName,
    SearchResult,
    StrategyName,
    check_flag,
    check_limit,
    check_text,
)
from mcpg.text import fold
from mcpg.text.markup import result_html
from mcpg.values import DECIMALS, Answer, former_name, round_shown_score, score_text, to_json

READ_ONLY, WRITE, NONE = "read-only", "write", "none"

# The fields that describe the action of a tool; parameters name its objects.
_ACTION_FIELDS = ("name", "title", "aliases", "keywords", "description", "examples")
_ACTION_MASK = sum(1 << FIELDS.index(name) for name in _ACTION_FIELDS)
# Exceeded by one in a hundred meaningless words: chi-squared with one degree of freedom.
_SIGNIFICANT = 6.635
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class WordLeaning:
    """The evidence of one word of a query.

    Attributes:
        evidence: Its evidence in nats: above 0 for reading, below 0 for writing; 0 where the
            difference may be due to chance.
    """

    text: str
    read_only: int
    writing: int
    evidence: float


@dataclass(frozen=True, slots=True)
class Preference:
    """The preferred kind of tool, and the evidence for it.

    Attributes:
        name: `read-only`, `write` or `none`.
        evidence: Sum of the evidence of the words, in nats: above 0 for reading, below for writing.
        needed: The absolute evidence required for a preference, in nats.
        words: Evidence of the words of the query, strongest first; without words of no tool, and
            words with the same tools as another word.
    """

    name: str = NONE
    is_asked: bool = False
    evidence: float = 0.0
    needed: float = 0.0
    read_only: int = 0
    writing: int = 0
    words: tuple[WordLeaning, ...] = ()

    def to_dict(self, *, with_words: bool = False) -> dict[str, Any]:
        """Return the preference as a JSON object."""
        names = {"read_only": "readOnlyTools", "writing": "writingTools"}
        return to_json(self, names, () if with_words else ("words",)) | {
            "evidence": round_shown_score(self.evidence),
            "needed": round_shown_score(self.needed),
        }


def asked_preference(prefer_read_only: bool | None) -> Preference:
    """Return the preference of a caller; `None` for no preference."""
    names = {True: READ_ONLY, False: WRITE, None: NONE}
    return Preference(names[prefer_read_only], is_asked=True)


def derived_preference(
    index: Index, query: str, odds: float, *, uses_lexicon: bool = True
) -> Preference:
    """Return the kind of tool that *query* asks for, inferred from the tools of *index*.

    The words of the query must be so many times likelier, the *odds*, at least 1, among tools of
    one kind. With *uses_lexicon*, a word also counts as its translations.
    """
    kinds = index.read_only_flags()
    total = kinds.count(READS), kinds.count(WRITES)
    needed = log(odds)
    if not query or not all(total):
        return Preference(needed=needed, read_only=total[0], writing=total[1])
    words = tuple(_word_evidence(index, query, kinds, total, uses_lexicon=uses_lexicon))
    evidence = round(fsum([word.evidence for word in words]), DECIMALS)
    name = NONE
    if evidence and abs(evidence) >= needed:
        name = READ_ONLY if evidence > 0 else WRITE
    ordered = tuple(sorted(words, key=lambda word: -abs(word.evidence)))
    return Preference(name, False, evidence, needed, *total, ordered)


def log_rate_ratio(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the logarithm of the ratio of two rates, in nats.

    An event occurred *first* times of *of_first*, above 0, another *second* times of *of_second*.
    """
    rate, other = (first + _HALF) / (of_first + _HALF), (second + _HALF) / (of_second + _HALF)
    return log(rate) - log(other)


def surprise(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return Dunning's statistic (G squared) of two rates, at least 0; 0 where they are equal."""
    both, of_both = first + second, of_first + of_second
    rows = ((first, of_first), (second, of_second))
    cells = [
        (seen, seen_in_both * of / of_both)
        for count, of in rows
        for seen, seen_in_both in ((count, both), (of - count, of_both - both))
    ]
    return 2 * fsum([seen * log(seen / expected) for seen, expected in cells if seen])


def _word_evidence(
    index: Index, query: str, kinds: Sequence[int], total: tuple[int, int], *, uses_lexicon: bool
) -> Iterator[WordLeaning]:
    """Yield the evidence of each word of *query*; words with the same tools count once."""
    counted: set[frozenset[int]] = set()
    for clause in analyse(query, index, uses_lexicon=uses_lexicon).clauses:
        if clause.role != "term":
            continue
        terms = [term for term, _ in clause.variants]
        if clause.kind == "translation":  # only the likeliest is evidence of the operation
            terms = [clause.repairs[0].term]
        postings = chain.from_iterable(zip(*index.postings(one)[::2], strict=True) for one in terms)
        holders = frozenset(tool for tool, mask in postings if mask & _ACTION_MASK)
        if holders and holders not in counted:
            counted.add(holders)
            held = bytes(kinds[tool] for tool in holders)
            reads, writes = held.count(READS), held.count(WRITES)
            counts = reads, total[0], writes, total[1]
            is_significant = surprise(*counts) > _SIGNIFICANT
            evidence = log_rate_ratio(*counts) if is_significant else 0.0
            yield WordLeaning(clause.text, reads, writes, evidence)


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
        adjustments: For each name of `ADJUSTMENTS`, the share of a tool's score that is added to it
            if the name applies; in [-1, 1].
        odds: How many times likelier a query's words must be among tools of one kind (read-only or
            writing) than among the opposite kind for that kind to be preferred; from 1 to 1e6.
    """

    adjustments: Mapping[str, float]
    odds: float
    provenance: str = field(default="given by the host", compare=False)

    def __post_init__(self) -> None:
        """Check the numbers."""
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
        """Return the shipped weights with some replaced."""
        shipped = shipped_weights()
        return cls(
            {**shipped.adjustments, **(adjustments or {})}, shipped.odds if odds is None else odds
        )


@cache
def shipped_weights() -> RouteWeights:
    """Read the numbers that ship with mcpg."""
    return read_weights(json.loads(_FILE.read_text(encoding="utf-8")))


def read_weights(members: Mapping[str, Any]) -> RouteWeights:
    """Return the weights in an object such as `data/route.json`.

    A member that is unknown, missing or invalid is a `UsageError`.
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


MAX_CATEGORIES = 20
UNCATEGORISED = "general"
"""The category of a tool that has none, nor a data source, nor a source."""

# Candidates for each tool that may be returned.
_CANDIDATES_PER_TOOL = 4


@dataclass(frozen=True, slots=True)
class Adjustment:
    """An adjustment of a tool's score: `value == weight * the calibrated score`."""

    name: str
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class RoutedMatch:
    """A routed tool.

    Attributes:
        score: Its expected value: the sum of the calibrated score and all adjustments, cut to
            [0, 1].
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
                to_json(part, without=("weight",), rounded=("value",)) for part in self.adjustments
            ],
        }


@dataclass(frozen=True, slots=True)
class RoutedCategory:
    """A category, and the best of its tools.

    Attributes:
        name: Its name, as its best tool writes it.
        score: The probability that one of its tools fits, in [0, 1]: the noisy-or (Pearl, 1988) of
            the scores of all that were found.
    """

    name: str
    score: float
    matches: tuple[RoutedMatch, ...]
    found: int

    def to_dict(self) -> dict[str, Any]:
        """Return the category as a JSON object, with the names of its tools."""
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
        categories: The best categories, best first, each with a tool that no better one has.
        suggested_matches: The tools of the categories, each once, best first.
        normalized_query: The rewritten query, `None` if it was not rewritten.
    """

    query: str
    preference: Preference
    categories: tuple[RoutedCategory, ...]
    suggested_matches: tuple[RoutedMatch, ...]
    diagnostics: tuple[Diagnostic, ...]
    ranking_mode: RankingModeName
    strategy: StrategyName
    normalized_query: str | None
    candidates: int
    weights: RouteWeights

    suggested = former_name("suggested", "suggested_matches")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `mcpg route --format json` prints it.

        A tool is in it once as in a result of `search`, under `suggestedMatches`; categories have
        the names of their tools.
        """
        return {
            "schema": "mcpg/route/1",
            "query": self.query,
            "normalizedQuery": self.normalized_query,
            "strategy": self.strategy,
            "rankingMode": self.ranking_mode,
            "preference": self.preference.to_dict(),
            "categories": [one.to_dict() for one in self.categories],
            "suggestedMatches": [one.to_dict() for one in self.suggested_matches],
            "diagnostics": [one.to_dict() for one in self.diagnostics],
        }

    def __repr__(self) -> str:
        names = ", ".join(f"{one.name} {score_text(one.score)}" for one in self.categories)
        return f"<RouteResult {self.query!r}: {names or 'no category'}>"

    def _repr_html_(self) -> str:
        return result_html(self.to_dict())

    def to_exact_dict(self) -> dict[str, Any]:
        """Return the member `routing` of what `mcpg explain --route` prints: all but the tools.

        Numbers are at full precision, because the adjustments and the calibrated score add up to
        the score, unless that is cut to [0, 1].
        """
        return {
            "preference": self.preference.to_dict(with_words=True),
            "candidates": self.candidates,
            "categories": [one.to_dict() for one in self.categories],
            "tools": [
                {
                    "toolId": one.match.tool_id,
                    "score": one.score,
                    "calibratedScore": one.match.score,
                    "adjustments": [to_json(part) for part in one.adjustments],
                }
                for one in self.suggested_matches
            ],
            "weights": {
                "provenance": self.weights.provenance,
                **to_json(self.weights, without={"provenance"}),
            },
        }


class Routable(Protocol):
    """What routing needs of an engine."""

    services: EngineServices | None

    def search(self, *args: Any, **named: Any) -> SearchResult: ...

    def consult(self, ask: Callable[[Index], Answer]) -> Answer: ...


def route(
    engine: Routable,
    query: str | None,
    *,
    max_categories: int,
    max_tools: int,
    prefer_read_only: bool | None,
    derives_preference: bool,
    weights: RouteWeights | None,
    lexicon: bool = True,
    **options: Any,
) -> RouteResult:
    """Return the categories that match *query*, and the best tools of each.

    This is `Engine.route`, whose *options* are those of a search.
    """
    check_text("query", query)
    check_flag("derives_preference", derives_preference)
    if prefer_read_only is not None:
        check_flag("prefer_read_only", prefer_read_only)
    categories = min(check_limit(max_categories, "max_categories"), MAX_CATEGORIES)
    tools = min(check_limit(max_tools, "max_tools"), MAX_LIMIT)
    weights = weights or shipped_weights()
    services = engine.services
    with observed_route(services.observer if services else None, query) as report:
        limit = candidate_limit(categories, tools)
        result = engine.search(query, limit=limit, lexicon=lexicon, **options)
        preference = asked_preference(prefer_read_only)
        if prefer_read_only is None and derives_preference:
            odds, searched = weights.odds, result.normalized_query or result.query
            preference = engine.consult(
                lambda index: derived_preference(index, searched, odds, uses_lexicon=lexicon)
            )
        hints = match_hints(result.matches, engine.consult(hints_cache))
        routed = arrange_matches(result, hints, preference, weights, categories, tools)
        report(len(routed.categories), len(routed.suggested_matches))
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

    Each has at most so many *tools*; hints count by *weights* and the *preference*.
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
        suggested_matches=tuple(one for one in ordered if one.match.tool_id in offered),
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
    """Yield the best categories; a category whose tools are all shown already is skipped."""
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
    scores = {
        key: round(1 - prod(1 - one.score for one in found), DECIMALS)
        for key, found in members.items()
    }
    # Ties are resolved by the best tool, then the next best, and so on; a category that shows a
    # prefix of another's tools comes after it.
    heights = {
        key: [-_expected_value(one.match, one.adjustments) for one in found[:tools]]
        + [0.0] * (tools - len(found))
        for key, found in members.items()
    }
    for key in sorted(members, key=lambda key: (-scores[key], heights[key], key)):
        best = tuple(members[key][:tools])
        own = {one.match.tool_id for one in best} - shown
        if own and left:
            yield RoutedCategory(names[key], scores[key], best, len(members[key]))
            shown |= own
            left -= 1


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
