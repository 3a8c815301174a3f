"""The checks of `mcpg doctor` that compare the tools of sources with the bundle and the lock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial

from mcpg.bundle import Bundle
from mcpg.catalog.definitions import Key
from mcpg.catalog.lock import ApprovedTools, LockChange
from mcpg.catalog.model import Tool
from mcpg.cli.checks import Check, Status, run_check
from mcpg.cli.environment import cache_folder
from mcpg.cli.settings import Settings
from mcpg.documents.model import ToolDocument
from mcpg.errors import McpgError, find_remedy
from mcpg.sources.model import SourceBatch
from mcpg.values import format_count

_NAME, _NEW, _LOCK = "review", "new tools", "lock"
_REVIEW = "review the changes with `mcpg lock`, and approve with `mcpg lock --approve TOOL`"
_SHOWN = 10


def check_review(settings: Settings, tools: Sequence[Tool]) -> Iterator[Check]:
    """Yield a check for each bundle that holds some of *tools*, as their sources define them now.

    Another one names the tools that no bundle holds.

    Whoever reviewed the bundle has not seen what differs; see ADR 24.
    """
    from mcpg.bundle import read_bundle  # noqa: PLC0415 - help needs none of it
    from mcpg.engine import load  # noqa: PLC0415 - as above

    paths: list[str] = []
    with suppress(McpgError):  # the check of the bundle reports it
        paths = [str(one.value) for one in settings.bundles()]
    bundled: set[Key] | None = None
    for path in paths if tools else ():
        with suppress(McpgError):  # as above; other sources are searched as they are
            bundle = read_bundle(path)
            documents = [*load(path, cache_dir=cache_folder()).documents.values()]
            keys = {(one.tool.source_id, one.tool.name) for one in documents}
            bundled = (bundled or set()) | keys
            yield from _of_bundle(path, bundle, documents, tools)
    if bundled is not None:
        yield from _check_new(tools, bundled)


def _check_new(tools: Sequence[Tool], bundled: Collection[Key]) -> Iterator[Check]:
    """Yield a check that names those of *tools* that no bundle has, if there are any."""
    new = [one for one in tools if (one.source_id, one.name) not in bundled]
    if new:
        names = ", ".join(f"{one.source_id}::{one.name}" for one in new[:_SHOWN])
        more = f" and {len(new) - _SHOWN:,} more" if len(new) > _SHOWN else ""
        share = f"{len(new):,} of {format_count(len(tools), 'tool')}"
        message = f"the bundle does not have {share}: {names}{more}"
        details = {"tools": len(tools), "new": len(new)}
        yield Check(_NEW, Status.NOTE, message, "run `mcpg bundle` again", details)


def _of_bundle(
    path: str, bundle: Bundle, documents: Sequence[ToolDocument], tools: Sequence[Tool]
) -> Iterator[Check]:
    from mcpg.bundle.definitions import definitions_in  # noqa: PLC0415 - as above

    definitions = definitions_in(bundle, documents)
    live = [tool for tool in tools if definitions.get((tool.source_id, tool.name))]

    def compare() -> Check:
        from mcpg.gateway.index.review import ReviewedGraph, review_tools  # noqa: PLC0415 - as above
        from mcpg.gateway.sources import OnChange  # noqa: PLC0415 - as above

        reviewed = ReviewedGraph(tuple(one.tool for one in documents), definitions)
        found = review_tools(reviewed, live, OnChange.WARN, path).diagnostics
        warnings = [{"code": one.code, "message": one.message, "place": one.place} for one in found]
        details = {"tools": len(live), "changed": len(found), "warnings": warnings[:_SHOWN]}
        if not found:
            message = f"{format_count(len(live), 'tool')} as reviewed in {path}"
            return Check(_NAME, Status.OK, message, details=details)
        messages = "; ".join(one.message for one in found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        remedy = find_remedy(found[0].code)
        return Check(_NAME, Status.NOTE, f"{path}: {messages}{more}", remedy, details)

    if live:
        yield run_check(_NAME, compare)


def check_lock(settings: Settings, batches: Sequence[SourceBatch]) -> Iterator[Check]:
    """Yield a check of the tools in *batches* against the lock file, if there is one, or should be.

    It fails where a build under the lock would.
    """
    from mcpg.cli.locks import (  # noqa: PLC0415 - as above
        REFUSE,
        change_json,
        is_locked,
        lock_path,
        open_lock,
    )
    from mcpg.files import exists  # noqa: PLC0415 - as above

    path, is_held = lock_path(settings), is_locked(settings)
    if not (is_held or exists(path)):
        return
    reaction = settings.find("lock.on_change")
    is_refused = is_held and (reaction is None or reaction.value == REFUSE)

    def compare() -> Check:
        lock = open_lock(path)
        changes = _lock_changes(lock, batches)
        details = {"path": path, "tools": len(lock.statements), "locked": is_held}
        details |= {"changes": [change_json(one) for one in changes]}
        if not changes:
            message = f"{format_count(len(lock.statements), 'tool')} as approved in {path}"
            return Check(_LOCK, Status.OK, message, details=details)
        told = (f"{one.kind} {one.name}{_format_parts(one)}" for one in changes[:_SHOWN])
        more = f"; and {len(changes) - _SHOWN:,} more" if len(changes) > _SHOWN else ""
        status = Status.FAILED if is_refused else Status.NOTE
        message = f"{path}: {'; '.join(told)}{more}"
        return Check(_LOCK, status, message, _REVIEW, details)

    yield run_check(_LOCK, compare)


def _format_parts(change: LockChange) -> str:
    return f": {'; '.join(map(str, change.parts))}" if change.parts else ""


def _lock_changes(lock: ApprovedTools, batches: Sequence[SourceBatch]) -> Sequence[LockChange]:
    """Return the tools that differ from *lock*; what sources that failed have is not known."""
    from mcpg.bundle import assemble  # noqa: PLC0415 - as above
    from mcpg.bundle.locked import stated_in  # noqa: PLC0415 - as above
    from mcpg.catalog.lock import LockChangeKind, lock_changes  # noqa: PLC0415 - as above
    from mcpg.sources.model import SourceBatch  # noqa: PLC0415 - as above

    stated, _ = stated_in(SourceBatch.join(batches), partial(assemble, texts=False))
    responding = {one.tool.source_id for one in stated}
    return [
        one
        for one in lock_changes(lock, stated)
        if one.kind is not LockChangeKind.MISSING or one.key[0] in responding
    ]
