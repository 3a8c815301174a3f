"""One line for each request: what it was, how long it took, what came of it; not what was asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

_METHOD = 40


class RequestLog:
    """Middleware that tells of requests."""

    def __init__(self, told: Callable[[str], None], is_known: Callable[[str], bool]) -> None:
        """Make a log.

        Args:
            told: Gets the lines.
            is_known: Says whether a name is that of a tool; others may be anything.
        """
        self._told = told
        self._is_known = is_known

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Pass a request on, and tell of it when it is answered."""
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
            self._told(f"{self._named(ctx)} {outcome} {milliseconds:.0f} ms")
        return result

    def _named(self, context: ServerRequestContext[Any, Any]) -> str:
        # A method or a name that nobody knows is whatever a client made of it.
        method = context.method if context.method.isprintable() else "?"
        name = (context.params or {}).get("name")
        if method[:_METHOD] != "tools/call" or not isinstance(name, str):
            return method[:_METHOD]
        return f"{method} {name if self._is_known(name) else '?'}"
