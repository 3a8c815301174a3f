"""Usage: what asking an endpoint has cost."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class Usage:
    """What was asked and what it took, in total.

    Attributes:
        requests: Requests sent, retries among them.
        retries: Requests that repeat one that failed.
        input_tokens: Tokens that servers say they read.
        output_tokens: Tokens that servers say they wrote.
    """

    requests: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Meter:
    """Adds up usage from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """All usage so far."""
        return self._total

    def add(self, **counts: int) -> None:
        """Add *counts*, named as the members of `Usage`."""
        with self._lock:
            sums = {name: getattr(self._total, name) + count for name, count in counts.items()}
            self._total = replace(self._total, **sums)

    def add_answer(self, answer: JsonObject) -> None:
        """Add the tokens that an *answer* tells of."""
        used = usage_of(answer)
        if used is not None:
            self.add(input_tokens=used.input_tokens, output_tokens=used.output_tokens)


def usage_of(answer: JsonObject) -> Usage | None:
    """Give the tokens that an *answer* tells of, `None` where it tells of none."""
    told = answer.get("usage")
    if not isinstance(told, dict):
        return None
    return Usage(
        input_tokens=_count(told.get("prompt_tokens")),
        output_tokens=_count(told.get("completion_tokens")),
    )


def _count(told: Any) -> int:
    is_count = isinstance(told, int) and not isinstance(told, bool)
    return max(0, told) if is_count else 0
