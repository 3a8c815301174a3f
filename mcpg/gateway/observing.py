"""What a gateway tells an observer, where it has one: of indexes, routes and invocations."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcpg.gateway.sources import FileSource, FunctionSource
from mcpg.sources.client_config import StdioServer
from mcpg.sources.model import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcpg.engine.engine import Engine
    from mcpg.errors import Diagnostic
    from mcpg.gateway.calls.model import Invoked
    from mcpg.gateway.sources import Source
    from mcpg.telemetry.observer import Observer


@contextmanager
def watched_build(
    observer: Observer | None, noticed: list[Diagnostic]
) -> Iterator[Callable[[Engine], None]]:
    """Tell *observer* of an index that is made; inside, of the engine that has it.

    Args:
        observer: Who is told, `None` for nobody.
        noticed: Gets what the observer raised.
    """
    if observer is None:
        yield _nothing
        return
    from mcpg.engine.observed import build_facts  # noqa: PLC0415 - only where somebody watches
    from mcpg.telemetry.observer import GuardedObserver  # noqa: PLC0415 - as above

    with GuardedObserver.of(observer).build() as tell:
        yield lambda engine: tell(build_facts(engine.index))
    noticed += tell.diagnostics


@contextmanager
def watched_route(
    observer: Observer | None, query: str | None
) -> Iterator[Callable[[int, int], None]]:
    """Tell *observer* of a search by categories; inside, how many categories and tools it found."""
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
    """Tell *observer* of an invocation; inside, of what came of it and whose tool it was."""
    if observer is None:
        yield _nothing
        return
    from mcpg.telemetry.observer import (  # noqa: PLC0415 - as above
        SUCCESS,
        GuardedObserver,
        InvokeFacts,
    )

    with GuardedObserver.of(observer).invoke() as tell:

        def told(invoked: Invoked, owner: Source | None) -> None:
            outcome = str(invoked.faults[0].code) if invoked.faults else SUCCESS
            kind = kind_of(owner) if owner else ""
            tell(InvokeFacts(outcome, kind, invoked.tool_name, invoked.source_id))

        yield told


def kind_of(source: Source) -> str:
    """Give what kind of thing answers for a source: `stdio`, `http`, `function` or `file`."""
    if isinstance(source, FileSource):
        return "function" if source.path.startswith(PYTHON) else "file"
    if isinstance(source, FunctionSource):
        return "function"
    return "stdio" if isinstance(source.server, StdioServer) else "http"


def _nothing(*_: object) -> None:
    pass
