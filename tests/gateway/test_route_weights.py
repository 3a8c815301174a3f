"""The numbers of routing are data, and nonsense among them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mcpg.route
from mcpg.errors import UsageError
from mcpg.gateway import RouteWeights
from mcpg.route import ADJUSTMENTS, read_weights, shipped_weights

SHIPPED = Path(mcpg.route.__file__).parent / "data" / "route.json"


def members() -> dict[str, Any]:
    """Return what the shipped file holds."""
    return dict(json.loads(SHIPPED.read_text("utf-8")))


def test_the_shipped_numbers_name_every_adjustment_and_where_they_come_from() -> None:
    """The file of the package is complete, in the order in which adjustments are told."""
    weights = shipped_weights()
    assert tuple(weights.adjustments) == ADJUSTMENTS
    assert weights.provenance.startswith("route-1: ")


def test_a_host_changes_some_numbers_and_keeps_the_others() -> None:
    """What is not named stays as it ships."""
    weights = RouteWeights.of({"cost.low": 0.5}, odds=3)
    assert weights.adjustments == {**shipped_weights().adjustments, "cost.low": 0.5}
    assert weights.odds == 3
    assert RouteWeights.of().odds == shipped_weights().odds


@pytest.mark.parametrize(
    ("adjustments", "odds", "message"),
    [
        ({"cheap": 0.1}, 9.0, "'cheap'"),
        ({"enabled": "much"}, 9.0, "'much'"),
        ({"enabled": True}, 9.0, "True"),
        ({"enabled": None}, 9.0, "None"),
        ({"enabled": float("nan")}, 9.0, "nan"),
        ({"enabled": 1.5}, 9.0, "1.5"),
        ({}, 0.5, "0.5"),
        ({}, float("inf"), "inf"),
    ],
)
def test_a_number_that_makes_no_sense_is_refused(
    adjustments: dict[str, Any], odds: float, message: str
) -> None:
    """The error names the member at fault and what it can be."""
    with pytest.raises(UsageError, match=message) as caught:
        RouteWeights.of(adjustments, odds=odds)
    assert caught.value.remedy


def test_weights_that_lack_a_name_are_refused() -> None:
    """Whoever makes weights of nothing shipped has to say all of them."""
    with pytest.raises(UsageError, match="'enabled' is missing"):
        RouteWeights({}, 9.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("name"),
        lambda data: data.update(extra=1),
        lambda data: data["adjustments"].pop("enabled"),
        lambda data: data["adjustments"].update(cheap=1),
        lambda data: data.update(adjustments=[]),
        lambda data: data.update(preference={"odds": 9.0, "even": 1}),
        lambda data: data["preference"].update(odds="9"),
    ],
)
def test_a_file_of_weights_that_is_not_whole_is_refused(change: Any) -> None:
    """The loader takes exactly the members it knows."""
    data = members()
    change(data)
    with pytest.raises(UsageError):
        read_weights(data)
