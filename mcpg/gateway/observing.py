"""Reports of a gateway to its observer: index builds, routes and invocations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcpg.engine.engine import Engine
from mcpg.errors import Diagnostic
from mcpg.gateway.calls.model import Invoked
from mcpg.gateway.sources import FileSource, FunctionSource, Source
from mcpg.sources.client_config import StdioServer
from mcpg.sources.model import PYTHON
from mcpg.telemetry.observer import Observer


@contextmanager
def watched_build(
    observer: Observer | None, diagnostics: list[Diagnostic]
) -> Iterator[Callable[[Engine], None]]:
    """Report an index build; the context's function takes the new engine.

    Args:
        observer: The observer, `None` for none.
        diagnostics: Extended by errors that the observer raised.
    """
    if observer is None:
        yield _nothing
        return
    from mcpg.engine.observed import build_facts  # noqa: PLC0415 - only where somebody watches
    from mcpg.telemetry.observer import GuardedObserver  # noqa: PLC0415 - as above

    with GuardedObserver.of(observer).build() as tell:
        yield lambda engine: tell(build_facts(engine.index))
    diagnostics += tell.diagnostics


@contextmanager
def watched_route(
    observer: Observer | None, query: str | None
) -> Iterator[Callable[[int, int], None]]:
    """Report a route; the context's function takes the numbers of categories and tools."""
    if observer is None:
        yield _nothing
        return
    from mcpg.telemetry.observer import (  # noqa: PLC0415 - as above
        GuardedObserver,
        RouteFacts,
    )

    with GuardedObserver.of(observer).route((query or "").strip()) as tell:
        yield lambda categories, tools: tell(RouteFacts(categories, tools))


@contextmanager
def watched_call(
    observer: Observer | None,
) -> Iterator[Callable[[Invoked, Source | None], None]]:
    """Report an invocation; the context's function takes its result and the tool's source."""
    if observer is None:
        yield _nothing
        return
    from mcpg.telemetry.observer import (  # noqa: PLC0415 - as above
        SUCCESS,
        GuardedObserver,
        InvokeFacts,
    )

    with GuardedObserver.of(observer).invoke() as tell:

        def report(invoked: Invoked, owner: Source | None) -> None:
            outcome = str(invoked.faults[0].code) if invoked.faults else SUCCESS
            kind = kind_of(owner) if owner else ""
            tell(InvokeFacts(outcome, kind, invoked.tool_name, invoked.source_id))

        yield report


def kind_of(source: Source) -> str:
    """Return the kind of a source: `stdio`, `http`, `function` or `file`."""
    if isinstance(source, FileSource):
        return "function" if source.path.startswith(PYTHON) else "file"
    if isinstance(source, FunctionSource):
        return "function"
    return "stdio" if isinstance(source.server, StdioServer) else "http"


def _nothing(*_: object) -> None:
    pass
