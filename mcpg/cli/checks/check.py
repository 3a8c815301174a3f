"""One thing that was tried out, and how it went."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mcpg.errors import McpgError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Status(StrEnum):
    """How a trial went."""

    OK = "ok"
    """It works."""
    NOTE = "note"
    """It works, or is not needed now; there is something to know about it."""
    OFF = "off"
    """Nothing asks for it, so it was not tried."""
    FAILED = "failed"
    """It is configured, and does not work."""


@dataclass(frozen=True, slots=True)
class Check:
    """What came of one trial.

    Attributes:
        name: What was tried.
        status: How it went.
        message: What was found, in one sentence without a secret.
        remedy: What to do about it, `None` where nothing is to be done.
        details: Figures of it, by name in camelCase.
    """

    name: str
    status: Status
    message: str
    remedy: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def tried(name: str, trial: Callable[[], Check]) -> Check:
    """Give what came of *trial*; whatever it raises becomes a failure."""
    try:
        return trial()
    except McpgError as fault:
        where = f"{fault.place}: " if fault.place else ""
        return Check(name, Status.FAILED, f"{where}{fault.message}", fault.remedy)
    except Exception as fault:  # noqa: BLE001 - the text of a stranger's error may hold a secret
        return Check(name, Status.FAILED, f"it failed with {type(fault).__name__}")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Do *work* and give what came of it, and the milliseconds it took."""
    start = time.perf_counter()
    done = work()
    return done, round((time.perf_counter() - start) * 1000, 1)
