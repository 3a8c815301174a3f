"""What a gateway grants."""

from __future__ import annotations

import pytest

from mcpg.errors import UsageError
from mcpg.gateway.calls import Limits


def test_a_caller_gets_what_it_asks_for_within_the_limits() -> None:
    """Without a wish the usual time; with one, that, up to the longest."""
    limits = Limits(invoke_seconds=5, longest_seconds=10)
    assert [limits.seconds(asked) for asked in (None, 2, 11)] == [5, 2, 10]


@pytest.mark.parametrize(
    "wrong",
    [{"invoke_seconds": 0}, {"result_bytes": -1}, {"message_chars": 0}, {"relist_seconds": -1}],
)
def test_a_limit_is_above_zero(wrong: dict[str, int]) -> None:
    """A limit that lets nothing through is a mistake."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Limits(**wrong)
    assert Limits(relist_seconds=0).relist_seconds == 0, "for never"


def test_the_usual_time_is_within_the_longest() -> None:
    """A default that no caller may ask for is a mistake."""
    with pytest.raises(UsageError, match="longest_seconds"):
        Limits(invoke_seconds=20, longest_seconds=10)


def test_no_number_is_no_limit() -> None:
    """A limit of NaN lets everything through, and is refused."""
    with pytest.raises(UsageError, match="invoke_seconds"):
        Limits(invoke_seconds=float("nan"))
