"""A gateway for programs without an event loop."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from functools import update_wrapper, wraps
from types import TracebackType
from typing import Any, Concatenate, Self, Unpack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mcpg.errors import Diagnostic, UsageError
from mcpg.gateway.gateway import NOT_OPEN, WRAPPED, Gateway
from mcpg.gateway.options import ConfigurationLike, GatewayOptions, read_configuration
from mcpg.gateway.snapshots import OnIndex
from mcpg.sources.registry import Source, SourceLike
from mcpg.values import Answer, Given, format_count


def _blocking(
    method: Callable[Concatenate[Gateway, Given], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[SyncGateway, Given], Answer]:
    """Return a method that waits for *method* of the gateway in its thread.

    It has the parameters and the documentation of *method*.
    """

    @wraps(method, assigned=WRAPPED)
    def answer(self: SyncGateway, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        result: Answer = self._portal.call(lambda: method(self._gateway, *given, **named))
        return result

    return answer


class SyncGateway:
    """A `Gateway` in a thread of its own, usable from any thread.

    It is a context manager and takes the arguments of `Gateway`. Outside of the context, and in a
    process that was forked inside it, methods raise `UsageError`.
    """

    def __init__(
        self, sources: SourceLike | Iterable[SourceLike] = (), **options: Unpack[GatewayOptions]
    ) -> None:
        """Create a gateway, as `Gateway` does from the same arguments."""
        self._gateway = Gateway(sources, **options)
        self._opened: tuple[BlockingPortal, ExitStack] | None = None
        self._process = 0

    update_wrapper(__init__, Gateway.__init__, WRAPPED)

    @classmethod
    def from_config(
        cls, configuration: ConfigurationLike, **options: Unpack[GatewayOptions]
    ) -> Self:
        sources, options = read_configuration(configuration, options)
        return cls(sources, **options)

    def __repr__(self) -> str:
        state = "open" if self._opened is not None else "not open"
        count = len(self._gateway.sources)
        return f"<{type(self).__name__}: {format_count(count, 'source')}, {state}>"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._gateway))
            self._opened = portal, stack.pop_all()
        self._process = os.getpid()
        # A thread cannot be joined once the interpreter clears the module.
        atexit.register(self.__exit__, None, None, None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        opened, self._opened = self._opened, None
        if opened is None:
            return None
        atexit.unregister(self.__exit__)
        portal, stack = opened
        if self._process != os.getpid():
            # Its thread is in the parent process: do not wait for it.
            with suppress(StopIteration, RuntimeError):
                portal.stop().send(None)
            return None
        return stack.__exit__(kind, fault, trace)

    @property
    def _portal(self) -> BlockingPortal:
        if self._opened is None:
            raise UsageError("the gateway is not open", remedy=NOT_OPEN)
        if self._process != os.getpid():
            message = "the gateway was opened before this process was forked"
            raise UsageError(message, remedy="create and open another one in this process")
        return self._opened[0]

    @property
    def sources(self) -> tuple[Source, ...]:
        return self._portal.call(lambda: self._gateway.sources)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._portal.call(lambda: self._gateway.diagnostics)

    def add(self, source: Source) -> None:
        self._portal.call(self._gateway.add, source)

    def invalidate(self, source_id: str) -> bool:
        return self._portal.call(self._gateway.invalidate, source_id)

    def on_change(self, callback: OnIndex) -> None:
        """As `Gateway.on_change`; *callback* runs in the thread of the gateway."""
        self._portal.call(self._gateway.on_change, callback)

    remove = _blocking(Gateway.remove)
    build_index = _blocking(Gateway.build_index)
    warm_up = _blocking(Gateway.warm_up)
    snapshot = _blocking(Gateway.snapshot)
    list_tools = _blocking(Gateway.list_tools)
    describe = _blocking(Gateway.describe)
    search = _blocking(Gateway.search)
    ask = _blocking(Gateway.ask)
    explain = _blocking(Gateway.explain)
    plan = _blocking(Gateway.plan)
    route = _blocking(Gateway.route)
    invoke = _blocking(Gateway.invoke)
    end_session = _blocking(Gateway.end_session)
