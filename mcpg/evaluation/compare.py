"""An evaluation compared with the report of an earlier one, query by query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.evaluation.metrics import reciprocal_rank
from mcpg.evaluation.outcomes import RANKING, SCORE_DECIMALS, figures, is_abstaining
from mcpg.evaluation.significance import paired_randomisation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.evaluation.outcomes import Outcome
    from mcpg.evaluation.significance import Significance
    from mcpg.jsontypes import JsonObject

TESTED = "ndcg@5"
"""The figure whose difference is tested for chance."""

CHANCE = 0.05
"""A difference is called chance when its p is at least this."""


@dataclass(frozen=True, slots=True)
class Change:
    """A query that is answered better or worse than before.

    Attributes:
        before: What came of it then.
        now: What comes of it.
    """

    before: Outcome
    now: Outcome

    def json(self) -> JsonObject:
        """Give it as a JSON object."""
        return {
            "id": self.now.id,
            "query": self.now.query,
            "rankBefore": self.before.rank,
            "rankNow": self.now.rank,
            "ndcg@5Before": self.before.ndcg,
            "ndcg@5Now": self.now.ndcg,
            "topScoreBefore": self.before.top_score,
            "topScoreNow": self.now.top_score,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an evaluation compares with an earlier one.

    Queries are compared when both have them under the same id with the same judgement. The text may
    differ: whoever names a query may put it in other words.

    Attributes:
        common: How many queries are compared.
        before: Figures of these queries then.
        now: Figures of these queries now.
        better: Those that are answered better, the greatest gain first.
        worse: Those that are answered worse, the greatest loss first.
        added: Ids of queries that the earlier one has not.
        removed: Ids of queries that only the earlier one has.
        rejudged: Ids of queries whose judgement has changed.
        significance: Whether the difference of nDCG@5 may be chance; `None` without such queries.
    """

    common: int
    before: dict[str, float | None]
    now: dict[str, float | None]
    better: tuple[Change, ...] = ()
    worse: tuple[Change, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rejudged: tuple[str, ...] = ()
    significance: Significance | None = None

    def delta(self, name: str) -> float | None:
        """Give how much the figure called *name* rose, `None` where it could not be measured."""
        before, now = self.before[name], self.now[name]
        return None if before is None or now is None else round(now - before, SCORE_DECIMALS)

    def json(self) -> JsonObject:
        """Give it as a JSON object."""
        return {
            "common": self.common,
            "metrics": {
                name: {"before": self.before[name], "now": now, "delta": self.delta(name)}
                for name, now in self.now.items()
            },
            "significance": _significance_json(self.significance),
            "better": [one.json() for one in self.better],
            "worse": [one.json() for one in self.worse],
            "added": list(self.added),
            "removed": list(self.removed),
            "rejudged": list(self.rejudged),
        }


def compare(
    before: Sequence[Outcome], now: Sequence[Outcome], depth: int | None = None
) -> Comparison:
    """Compare the outcomes of two evaluations, as far as both looked.

    Args:
        before: The earlier ones.
        now: The later ones.
        depth: How many matches of a query both looked at; `None` for all that are there.
    """
    then = {one.id: one for one in before}
    pairs = [Change(_cut(then[one.id], depth), _cut(one, depth)) for one in now if one.id in then]
    same = [pair for pair in pairs if _is_judged_alike(pair)]
    ids = {one.id for one in now}
    return Comparison(
        common=len(same),
        before=figures([pair.before for pair in same]),
        now=figures([pair.now for pair in same]),
        better=_sorted(pair for pair in same if _goodness(pair.now) > _goodness(pair.before)),
        worse=_sorted(pair for pair in same if _goodness(pair.now) < _goodness(pair.before)),
        added=tuple(one.id for one in now if one.id not in then),
        removed=tuple(one.id for one in before if one.id not in ids),
        rejudged=tuple(pair.now.id for pair in pairs if not _is_judged_alike(pair)),
        significance=_tested(same),
    )


def _cut(one: Outcome, depth: int | None) -> Outcome:
    return replace(one, matches=one.matches[:depth])


def _is_judged_alike(pair: Change) -> bool:
    return set(pair.before.judged) == set(pair.now.judged)


def _goodness(one: Outcome) -> tuple[float, float]:
    """Rate an outcome: by nDCG@5, then by rank; by its doubt where nothing answers the query."""
    if one.ndcg is None:
        return float(is_abstaining(one)), 0.0
    return one.ndcg, reciprocal_rank(one.hits)


def _sorted(pairs: Iterable[Change]) -> tuple[Change, ...]:
    def size(pair: Change) -> tuple[float, float]:
        now, before = _goodness(pair.now), _goodness(pair.before)
        return abs(now[0] - before[0]), abs(now[1] - before[1])

    return tuple(sorted(pairs, key=size, reverse=True))


def _tested(pairs: Sequence[Change]) -> Significance | None:
    measure = RANKING[TESTED]
    differences = [
        measure(pair.now) - measure(pair.before) for pair in pairs if not pair.now.is_answerless
    ]
    return paired_randomisation(differences) if differences else None


def _significance_json(found: Significance | None) -> JsonObject | None:
    if found is None:
        return None
    return {
        "test": "paired randomisation",
        "metric": TESTED,
        "difference": round(found.difference, SCORE_DECIMALS),
        "p": round(found.p, SCORE_DECIMALS),
        "pairs": found.pairs,
        "changed": found.changed,
    }
