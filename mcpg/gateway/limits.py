"""What a gateway grants: how long a tool may take, and how much it may answer."""

from __future__ import annotations

from dataclasses import dataclass

from mcpg.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how large an invocation may be.

    Attributes:
        invoke_seconds: Time of an invocation whose caller names none, above 0.
        longest_seconds: The most that a caller can ask for; no less than `invoke_seconds`.
        result_bytes: Size of a result, as JSON; a larger one is no result but a fault.
        message_chars: Length of a message that repeats what a tool said of its failure.

    Raises:
        UsageError: A limit is not above 0, or `invoke_seconds` is above `longest_seconds`.
    """

    invoke_seconds: float = 60.0
    longest_seconds: float = 3600.0
    result_bytes: int = 4 << 20
    message_chars: int = 2000

    def __post_init__(self) -> None:
        for name in ("invoke_seconds", "longest_seconds", "result_bytes", "message_chars"):
            if not getattr(self, name) > 0:
                raise UsageError(f"the limit {name} must be above 0", remedy="leave it out")
        if self.invoke_seconds > self.longest_seconds:
            message = "the limit invoke_seconds is above longest_seconds"
            raise UsageError(message, remedy="raise longest_seconds, too")

    def seconds(self, asked: float | None) -> float:
        """Give the seconds that a caller has who asked for *asked* of them, or for none."""
        return self.invoke_seconds if asked is None else min(asked, self.longest_seconds)
