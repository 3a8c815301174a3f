"""The numbers of routing, which are data: what each hint is worth, and what it takes to prefer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mcpg.errors import UsageError

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
"""What a tool's score can be adjusted for, in the order in which it is told."""

_FILE = Path(__file__).with_name("data") / "route.json"


@dataclass(frozen=True, slots=True)
class RouteWeights:
    """What routing adds to a score, checked.

    Attributes:
        adjustments: For each name of `ADJUSTMENTS`, the share of a tool's score that is added to
            it where the name applies; in [-1, 1].
        odds: How many times likelier a query's words must be among tools of one kind (read-only or
            writing) than among those of the other for that kind to be preferred; from 1 to 1e6.
        provenance: Where the numbers come from.
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
            raise UsageError(f"routing adjusts nothing called {unknown[0]!r}", remedy=remedy)
        for name in ADJUSTMENTS:
            if name not in self.adjustments:
                raise UsageError(f"the adjustment {name!r} is missing", remedy="give it a number")
            _check(name, self.adjustments[name], -1.0, 1.0)
        _check("odds", self.odds, 1.0, 1e6)

    @classmethod
    def of(
        cls, adjustments: Mapping[str, float] | None = None, *, odds: float | None = None
    ) -> RouteWeights:
        """Return the shipped weights with some replaced.

        Args:
            adjustments: The adjustments to change, by name.
            odds: The odds to ask for, `None` for the shipped ones.

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
        raise UsageError(f"{what} of routing are not complete, or hold too much", remedy=remedy)


def _check(name: str, number: Any, least: float, most: float) -> None:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not (is_number and least <= number <= most):
        remedy = f"give a number in [{least:g}, {most:g}]"
        raise UsageError(f"{name!r} of routing cannot be {number!r}", remedy=remedy)
