"""Retries: how long to wait before the next attempt."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers of servers that another attempt may better."""

_FIRST_DELAY, _LONGEST_DELAY = 0.25, 8.0


def back_off(attempt: int, jitter: float) -> float:
    """Give the seconds to wait after the attempt numbered *attempt*, from 0.

    The bound doubles with every attempt, and *jitter* in [0, 1) picks a moment in its upper half,
    so that clients who failed together do not come back together.

    Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, "equal jitter".
    """
    bound = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0**attempt)
    return bound * (1 + jitter) / 2


def retry_after(header: str | None, now: datetime | None = None) -> float:
    """Give the seconds that a `Retry-After` header asks for, 0 when it asks for nothing.

    It is a number of seconds or a date (RFC 9110, section 10.2.3); *now* is the present.
    """
    if not header:
        return 0.0
    with suppress(ValueError):
        seconds = float(header)
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(header)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    return 0.0
