"""The check of `mcpg doctor` that compares the tools of sources with the bundle."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mcpg.cli.checks import Check, Status, tried
from mcpg.cli.environment import cache_folder
from mcpg.errors import McpgError, remedy_of
from mcpg.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.bundle import Bundle
    from mcpg.catalog.model import Tool
    from mcpg.cli.settings import Settings

_NAME = "review"
_SHOWN = 10


def check_review(settings: Settings, tools: Sequence[Tool]) -> Iterator[Check]:
    """Yield a check for each bundle that holds some of *tools*, as their sources define them now.

    Whoever reviewed the bundle has not seen what differs; see ADR 24.
    """
    from mcpg.bundle import read_bundle  # noqa: PLC0415 - help needs none of it

    paths: list[str] = []
    with suppress(McpgError):  # the check of the bundle reports it
        paths = [str(one.value) for one in settings.bundles()]
    for path in paths if tools else ():
        with suppress(McpgError):  # as above; other sources are searched as they are
            bundle = read_bundle(path)
            yield from _of_bundle(path, bundle, tools)


def _of_bundle(path: str, bundle: Bundle, tools: Sequence[Tool]) -> Iterator[Check]:
    from mcpg.bundle.definitions import definitions_in  # noqa: PLC0415 - as above
    from mcpg.engine import load  # noqa: PLC0415 - as above

    documents = load(path, cache_dir=cache_folder()).documents.values()
    definitions = definitions_in(bundle, documents)
    live = [tool for tool in tools if definitions.get((tool.source_id, tool.name))]

    def compare() -> Check:
        from mcpg.gateway.index.review import ReviewedGraph, review_of  # noqa: PLC0415 - as above
        from mcpg.gateway.sources import OnChange  # noqa: PLC0415 - as above

        reviewed = ReviewedGraph(tuple(one.tool for one in documents), definitions)
        found = review_of(reviewed, live, OnChange.WARN, path).diagnostics
        warnings = [{"code": one.code, "message": one.message, "place": one.place} for one in found]
        details = {"tools": len(live), "changed": len(found), "warnings": warnings[:_SHOWN]}
        if not found:
            message = f"{counted(len(live), 'tool')} as reviewed in {path}"
            return Check(_NAME, Status.OK, message, details=details)
        messages = "; ".join(one.message for one in found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        remedy = remedy_of(found[0].code)
        return Check(_NAME, Status.NOTE, f"{path}: {messages}{more}", remedy, details)

    if live:
        yield tried(_NAME, compare)
