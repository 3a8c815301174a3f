"""Comparison: one query asked of two catalogs, and the reasons why tools moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcpg.engine.engine import Engine
from mcpg.search.results import MAX_LIMIT
from mcpg.search.trace import Explanation, MatchExplanation, QueryWord
from mcpg.values import DECIMALS

RANKED, UNRANKED, DISABLED, ABSENT = "ranked", "unranked", "disabled", "absent"
"""The status of a tool in one catalog: among the first 50; not among them; off by default and
not requested; not in the catalog at all."""


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """One feature of a tool in both catalogs.

    Attributes:
        feature: Its name; a feature that one of the models does not have is 0 there.
        then: Its contribution to the fused score in the first catalog.
        now: The same in the second.
        delta: `now - then`; over all features of a tool they sum to the fused score's.
        by_weight: The part of *delta* that comes from another weight in the model; the rest comes
            from another value.
    """

    feature: str
    then: float
    now: float
    delta: float
    by_weight: float


@dataclass(frozen=True, slots=True)
class TermChange:
    """The contribution of one word of the query to a tool in both catalogs."""

    query: str
    then: float
    now: float
    delta: float


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool in both catalogs.

    Attributes:
        tool_id: Its id in the second catalog, or in the first if the second lacks it.
        status_then: Its status in the first: `RANKED`, `UNRANKED`, `DISABLED` or `ABSENT`.
        then: The explanation of its rank in the first, `None` unless ranked.
        features: Changes of its fused score, the greatest first; of tools ranked in both.
        terms: Changes of its lexical part, the greatest first; of tools ranked in both.
    """

    tool_id: str
    status_then: str
    status_now: str
    then: MatchExplanation | None
    now: MatchExplanation | None
    features: tuple[FeatureChange, ...] = ()
    terms: tuple[TermChange, ...] = ()

    @property
    def fused_delta(self) -> float | None:
        """The change of the fused score, `None` unless ranked in both."""
        return self.now.fused_score - self.then.fused_score if self.then and self.now else None


@dataclass(frozen=True, slots=True)
class WordChange:
    """A word of the query that means something else; `None` where it has no part in it."""

    text: str
    then: QueryWord | None
    now: QueryWord | None


@dataclass(frozen=True, slots=True)
class RankingComparison:
    """One query in two catalogs.

    Attributes:
        then: The explanation from the first catalog, with all that is ranked.
        tools: The tools among the first few of either, in the second's order, then the first's.
        words: The words that became something else, or are found in another number of tools.
    """

    then: Explanation
    now: Explanation
    tools: tuple[ToolChange, ...]
    words: tuple[WordChange, ...]
    size_then: int
    size_now: int
    only_then: tuple[str, ...]
    only_now: tuple[str, ...]


def compare(
    then: Engine, now: Engine, query: str | None, *, limit: int, **asked: Any
) -> RankingComparison:
    """Search both engines for *query* and compare the rankings.

    Tools among the first *limit* of either are compared; *asked* has further options of
    `Engine.explain`.
    """
    before = then.explain(query, limit=MAX_LIMIT, **asked)
    after = now.explain(query, limit=MAX_LIMIT, **asked)
    enabled_then, enabled_now = then.enabled_by_id, now.enabled_by_id
    ranked_then = {match.tool_id: match for match in before.matches}
    ranked_now = {match.tool_id: match for match in after.matches}
    tools = []
    first = (match.tool_id for match in (*after.matches[:limit], *before.matches[:limit]))
    for tool_id in dict.fromkeys(first):
        old, new = ranked_then.get(tool_id), ranked_now.get(tool_id)
        statuses = (
            _find_status(tool_id, old, enabled_then),
            _find_status(tool_id, new, enabled_now),
        )
        moved = (feature_changes(old, new), term_changes(old, new)) if old and new else ()
        tools.append(ToolChange(tool_id, *statuses, old, new, *moved))
    old_words = {(word.origin, word.text): word for word in before.words}
    new_words = {(word.origin, word.text): word for word in after.words}
    words = []
    for key in {**new_words, **old_words}:
        was, is_now = old_words.get(key), new_words.get(key)
        if was is None or is_now is None or _meaning(was) != _meaning(is_now):
            words.append(WordChange(key[1], was, is_now))
    return RankingComparison(
        before,
        after,
        tuple(tools),
        tuple(words),
        len(enabled_then),
        len(enabled_now),
        tuple(tool_id for tool_id in enabled_then if tool_id not in enabled_now),
        tuple(tool_id for tool_id in enabled_now if tool_id not in enabled_then),
    )


def _find_status(
    tool_id: str, match: MatchExplanation | None, enabled_by_id: Mapping[str, bool]
) -> str:
    if match is not None:
        return RANKED
    if tool_id not in enabled_by_id:
        return ABSENT
    return UNRANKED if enabled_by_id[tool_id] else DISABLED


def feature_changes(
    then: MatchExplanation | None, now: MatchExplanation | None
) -> tuple[FeatureChange, ...]:
    """Return the changes of a tool's fused score, the greatest first; unranked it has none."""
    old = {part.feature: part for part in then.contributions} if then else {}
    new = {part.feature: part for part in now.contributions} if now else {}
    changes = []
    for feature in {**new, **old}:
        one, other = old.get(feature), new.get(feature)
        was, is_now = one.contribution if one else 0.0, other.contribution if other else 0.0
        weighed = (other.weight if other else 0.0) - (one.weight if one else 0.0)
        by_weight = weighed * one.value if one else 0.0
        changes.append(FeatureChange(feature, was, is_now, is_now - was, by_weight))
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta), change.feature)))


def term_changes(
    then: MatchExplanation | None, now: MatchExplanation | None
) -> tuple[TermChange, ...]:
    """Return how words of the query moved the lexical part of a tool, the greatest change first."""
    old, new = _by_word(then), _by_word(now)
    sides = {word: (old.get(word, 0.0), new.get(word, 0.0)) for word in {**new, **old}}
    changes = [TermChange(word, was, is_now, is_now - was) for word, (was, is_now) in sides.items()]
    return tuple(sorted(changes, key=lambda change: (-abs(change.delta), change.query)))


def _by_word(match: MatchExplanation | None) -> dict[str, float]:
    sums: dict[str, float] = {}
    for term in match.terms if match else ():
        sums[term.query] = sums.get(term.query, 0.0) + term.contribution
    return sums


def _meaning(word: QueryWord) -> tuple[object, ...]:
    repairs = tuple((one.word, one.kind, one.distance, one.similarity) for one in word.repairs)
    related = tuple((one.word, one.similarity) for one in word.related)
    return word.role, word.document_frequency, round(word.weight, DECIMALS), repairs, related
