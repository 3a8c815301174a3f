"""The gateway for synchronous programs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mcpg.catalog.model import Tool
from mcpg.errors import Diagnostic
from mcpg.gateway.calls.model import Invoked
from mcpg.gateway.gateway import Gateway, not_open
from mcpg.gateway.index.manager import Snapshot
from mcpg.gateway.routing.route import RouteResult
from mcpg.gateway.sources import Source
from mcpg.json_types import JsonValue

if TYPE_CHECKING:
    from mcpg.engine import Explanation, SearchResult


class SyncGateway:
    """A `Gateway` in a thread of its own, usable from any thread.

    It is a context manager and takes the arguments of `Gateway`. Outside of the context, methods
    raise `UsageError`.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        """Create a gateway; nothing is read or started yet.

        Args:
            given: As for `Gateway`.
            named: As for `Gateway`.

        Raises:
            UsageError: As for `Gateway`.
        """
        self._gateway = Gateway(*given, **named)
        self._opened: tuple[BlockingPortal, ExitStack] | None = None

    def __enter__(self) -> Self:
        """Open the gateway.

        Raises:
            UsageError: It is open already.
        """
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._gateway))
            self._opened = portal, stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Close connections, and end servers that were started."""
        opened, self._opened = self._opened, None
        return opened[1].__exit__(kind, fault, trace) if opened is not None else None

    @property
    def _portal(self) -> BlockingPortal:
        """Where the gateway runs.

        Raises:
            UsageError: The gateway is not open.
        """
        if self._opened is None:
            raise not_open()
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

    def remove(self, source_id: str) -> bool:
        """As `Gateway.remove`."""
        return self._portal.call(self._gateway.remove, source_id)

    def invalidate(self, source_id: str) -> bool:
        """As `Gateway.invalidate`."""
        return self._portal.call(self._gateway.invalidate, source_id)

    def build_index(self, *, force: bool = False) -> Snapshot:
        """As `Gateway.build_index`."""
        return self._portal.call(partial(self._gateway.build_index, force=force))

    def warm_up(self) -> Snapshot:
        """As `Gateway.warm_up`."""
        return self._portal.call(self._gateway.warm_up)

    def list_tools(self, *, include_disabled: bool = False) -> tuple[Tool, ...]:
        """As `Gateway.list_tools`."""
        asked = partial(self._gateway.list_tools, include_disabled=include_disabled)
        return self._portal.call(asked)

    def describe(self, tool: str) -> Tool:
        """As `Gateway.describe`."""
        return self._portal.call(self._gateway.describe, tool)

    def search(self, query: str | None, **options: Any) -> SearchResult:
        """As `Gateway.search`."""
        return self._portal.call(partial(self._gateway.search, query, **options))

    def explain(self, query: str | None, **options: Any) -> Explanation:
        """As `Gateway.explain`."""
        return self._portal.call(partial(self._gateway.explain, query, **options))

    def route(self, query: str | None, **options: Any) -> RouteResult:
        """As `Gateway.route`."""
        return self._portal.call(partial(self._gateway.route, query, **options))

    def invoke(
        self,
        tool: str | None = None,
        arguments: Mapping[str, JsonValue] | None = None,
        **options: Any,
    ) -> Invoked:
        """As `Gateway.invoke`."""
        return self._portal.call(partial(self._gateway.invoke, tool, arguments, **options))
