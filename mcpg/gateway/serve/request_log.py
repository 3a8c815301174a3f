"""Request log: method, tool, outcome and duration of each request, never its arguments."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

_METHOD = 40


class RequestLog:
    """Middleware that logs requests."""

    def __init__(self, write: Callable[[str], None], is_known: Callable[[str], bool]) -> None:
        """Create a log.

        Args:
            write: Called with each line.
            is_known: Whether a name is that of a tool; other names are not logged.
        """
        self._write = write
        self._is_known = is_known

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Handle a request, and log it afterwards."""
        if ctx.request_id is None:
            return await call_next(ctx)
        start = time.perf_counter()
        outcome = "cancelled"
        try:
            result = await call_next(ctx)
            is_error = isinstance(result, dict) and result.get("isError") is True
            outcome = "failed" if is_error else "done"
        except MCPError as fault:
            outcome = f"error {fault.error.code}"
            raise
        except Exception as fault:
            outcome = type(fault).__name__
            raise
        finally:
            milliseconds = (time.perf_counter() - start) * 1000
            self._write(f"{self._named(ctx)} {outcome} {milliseconds:.0f} ms")
        return result

    def _named(self, context: ServerRequestContext[Any, Any]) -> str:
        # Unknown methods and names are text that the client chose.
        method = context.method if context.method.isprintable() else "?"
        name = (context.params or {}).get("name")
        if method[:_METHOD] != "tools/call" or not isinstance(name, str):
            return method[:_METHOD]
        return f"{method} {name if self._is_known(name) else '?'}"
