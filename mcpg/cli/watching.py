"""Telling OpenTelemetry, where a setting asks for that, of a bundle that is made."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcpg.cli.equipping import Equipping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcpg.bundle import Assembly
    from mcpg.cli.output import Output
    from mcpg.cli.settings import Settings
    from mcpg.telemetry import BuildFacts


@contextmanager
def watched_bundle(
    settings: Settings, output: Output, *, makes_index: bool
) -> Iterator[Callable[[Assembly], None]]:
    """Tell of what is made inside; there, of what it was made of.

    Args:
        settings: Say whether anybody is told.
        output: Where it is told that this cannot be done.
        makes_index: Whether an index is made; nothing is told of a run that only compares.

    Raises:
        UsageError: A setting makes no sense.
    """
    equipping = Equipping(settings)
    if makes_index:
        output.diagnostics(equipping.noticed())
    observer = equipping.observer() if makes_index else None
    if observer is None:
        yield _nothing
        return
    from mcpg.telemetry import GuardedObserver  # noqa: PLC0415 - most runs tell nobody

    with GuardedObserver.of(observer).build() as tell:
        yield lambda assembly: tell(facts_of(assembly))
    output.diagnostics(tell.diagnostics)


def facts_of(assembly: Assembly) -> BuildFacts:
    """Give what is told of the index of *assembly*."""
    from mcpg.telemetry import BuildFacts  # noqa: PLC0415 - as above

    documents = assembly.documents
    groups = [group for document in documents for group in document.groups]
    links = sum(len(document.links) for document in documents)
    nodes, edges = len(documents) + len(set(groups)), links + len(groups)
    return BuildFacts(len(documents), None, nodes, edges)


def _nothing(_: Assembly) -> None:
    pass
