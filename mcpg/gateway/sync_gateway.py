"""A gateway for programs without an event loop."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import ExitStack, suppress
from functools import wraps
from os import PathLike
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mcpg.errors import Diagnostic, UsageError
from mcpg.gateway.calls import CallRecorder, Limits
from mcpg.gateway.gateway import (
    WRAPPED,
    ConfigurationLike,
    Gateway,
    GatewayOptions,
    not_open,
    read_configuration,
)
from mcpg.gateway.registry import GENERATED, GraphSource
from mcpg.gateway.snapshots import OnIndex
from mcpg.review.lock_sources import ToolLock
from mcpg.search.observer import Observer
from mcpg.search.results import DEFAULT_LIMIT, NONE, EngineServices
from mcpg.sources.client_config import Live
from mcpg.sources.registry import Source, SourceLike
from mcpg.values import format_count

Answer = TypeVar("Answer")
Given = ParamSpec("Given")


def _blocking(
    method: Callable[Concatenate[Gateway, Given], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[SyncGateway, Given], Answer]:
    """Return a method that waits for *method* of the gateway in its thread.

    It has the parameters and the documentation of *method*.
    """

    @wraps(method, assigned=WRAPPED)
    def answer(self: SyncGateway, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        return self._call(method, *given, **named)

    return answer


class SyncGateway:
    """A `Gateway` in a thread of its own, usable from any thread.

    It is a context manager and takes the arguments of `Gateway`. Outside of the context, and in a
    process that was forked inside it, methods raise `UsageError`.
    """

    def __init__(  # noqa: PLR0913 - each is one thing that a host may bring
        self,
        sources: SourceLike | Iterable[SourceLike] = (),
        *,
        graph: GraphSource | str | PathLike[str] = GENERATED,
        lock: ToolLock | str | PathLike[str] | None = None,
        live: Live | None = None,
        reserved: Collection[str] = (),
        limit: int = DEFAULT_LIMIT,
        services: EngineServices = NONE,
        observer: Observer | None = None,
        limits: Limits | None = None,
        cache_dir: str | None = None,
        diagnostics: Iterable[Diagnostic] = (),
        record_calls: str | PathLike[str] | CallRecorder | None = None,
    ) -> None:
        """Create a gateway, as `Gateway` does from the same arguments."""
        self._gateway = Gateway(
            sources,
            graph=graph,
            lock=lock,
            live=live,
            reserved=reserved,
            limit=limit,
            services=services,
            observer=observer,
            limits=limits,
            cache_dir=cache_dir,
            diagnostics=diagnostics,
            record_calls=record_calls,
        )
        self._opened: tuple[BlockingPortal, ExitStack] | None = None
        self._process = 0

    @classmethod
    def from_config(
        cls, configuration: ConfigurationLike, **options: Unpack[GatewayOptions]
    ) -> Self:
        """Return a gateway to the servers of a configuration, as `Gateway.from_config`."""
        sources, options = read_configuration(configuration, options)
        return cls(sources, **options)

    def __repr__(self) -> str:
        state = "open" if self._opened is not None else "not open"
        count = len(self._gateway.sources)
        return f"<{type(self).__name__}: {format_count(count, 'source')}, {state}>"

    def __enter__(self) -> Self:
        """Open the gateway.

        Raises:
            UsageError: It is open already.
        """
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._gateway))
            self._opened = portal, stack.pop_all()
        self._process = os.getpid()
        # A thread cannot be joined any more once the interpreter takes the module apart.
        atexit.register(self.__exit__, None, None, None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Close connections, and end servers that were started."""
        opened, self._opened = self._opened, None
        if opened is None:
            return None
        atexit.unregister(self.__exit__)
        portal, stack = opened
        if self._process != os.getpid():
            # Its thread has stayed in the parent process: nothing waits for it then.
            with suppress(StopIteration, RuntimeError):
                portal.stop().send(None)
            return None
        return stack.__exit__(kind, fault, trace)

    def _call(
        self,
        method: Callable[Concatenate[Gateway, Given], Coroutine[Any, Any, Answer]],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Answer:
        answer: Answer = self._portal.call(lambda: method(self._gateway, *given, **named))
        return answer

    @property
    def _portal(self) -> BlockingPortal:
        """Where the gateway runs."""
        if self._opened is None:
            raise not_open()
        if self._process != os.getpid():
            message = "the gateway was opened before this process was forked"
            raise UsageError(message, remedy="create and open another one in this process")
        return self._opened[0]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources, in the order in which they were added."""
        return self._portal.call(lambda: self._gateway.sources)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """As `Gateway.diagnostics`."""
        return self._portal.call(lambda: self._gateway.diagnostics)

    def add(self, source: Source) -> None:
        """As `Gateway.add`."""
        self._portal.call(self._gateway.add, source)

    def invalidate(self, source_id: str) -> bool:
        """As `Gateway.invalidate`."""
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
