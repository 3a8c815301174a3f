"""What can go wrong between here and an endpoint."""

from __future__ import annotations

from mcpg.errors import McpgError


class EndpointError(McpgError):
    """An endpoint gave no usable answer.

    Attributes:
        kind: `missing` (what is needed to ask is not installed), `timeout` (the time budget is
            spent), `refused` (the server turns the request down), `failed` (it cannot be reached,
            breaks off, or is at fault itself), or `answer` (what it says cannot be understood).
    """

    def __init__(
        self, message: str, *, kind: str, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.kind = kind
