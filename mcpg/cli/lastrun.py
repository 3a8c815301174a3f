"""What `mcpg bundle` leaves in an index, so that its next run knows whether anything changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mcpg.bundle import Assembly
from mcpg.cli.building import rarely_collected
from mcpg.diagnostics import Code, Diagnostic, Severity, info
from mcpg.errors import OutputError
from mcpg.memo import Memo

_SECTION = "lastrun"


@dataclass(frozen=True, slots=True)
class LastRun:
    """What a run made of which sources.

    Attributes:
        signature: The signature of the sources, "" when they have none, or when something about
            them is to be told every time.
        noticed: How many diagnostics there were; they were mere information if there is a
            signature.
        report: What was told of the bundle.
    """

    signature: str = ""
    noticed: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)


def sign(sources: Sequence[str], source_id: str | None, target: str) -> str:
    """Sign the *sources* of the bundle *target*, "" when they cannot be signed."""
    from mcpg.catalog.sources.signature import source_signature  # noqa: PLC0415 - help does without

    return source_signature(sources, source_id=source_id, exclude=[target]) or ""


def last_run(bundle: str) -> LastRun:
    """Read what the last run left; of a missing, stale or damaged index it is nothing."""
    from mcpg.engine.defaults import recipe  # noqa: PLC0415 - as above
    from mcpg.index.file import fresh_index  # noqa: PLC0415
    from mcpg.index.layout import StaleIndexError  # noqa: PLC0415

    index = fresh_index(bundle, recipe())
    if index is None:
        return LastRun()
    try:
        index.verify()
        return LastRun(**json.loads(bytes(index.section(_SECTION))))
    except (StaleIndexError, TypeError, ValueError):
        return LastRun()


def this_run(signature: str, assembly: Assembly, report: Mapping[str, Any]) -> LastRun:
    """Give what this run shall leave."""
    noticed = assembly.diagnostics
    is_silent = all(item.severity == Severity.INFO for item in noticed)
    return LastRun(signature if is_silent else "", len(noticed), report)


@rarely_collected()
def leave(run: LastRun, bundle: str, data: bytes, assembly: Assembly, memo: Memo) -> bool:
    """Write the index of *assembly*, and what the *run* leaves, beside the *bundle*.

    Args:
        run: What the next run shall find.
        bundle: The bundle file.
        data: Its bytes.
        assembly: What they were made of.
        memo: What is known from an earlier run.

    Returns:
        Whether the index was written; one that says the same already is not touched.

    Raises:
        OutputError: It cannot be written.
    """
    from mcpg.engine.loading import compile_assembly  # noqa: PLC0415 - as above
    from mcpg.index.file import write_index_of  # noqa: PLC0415
    from mcpg.index.layout import Section  # noqa: PLC0415

    if last_run(bundle) == run:
        return False
    extra = Section(_SECTION, "B", json.dumps(asdict(run)).encode())
    key = hashlib.sha256(data).digest()
    write_index_of(bundle, compile_assembly(assembly, key, [extra], memo))
    return True


def no_index(fault: OutputError) -> Diagnostic:
    """Say that the index could not be written, and what that means."""
    message = f"the index {fault.message}: the first search makes it anew, if need be every time"
    return info(Code.INDEX_IN_MEMORY, message, fault.place)
