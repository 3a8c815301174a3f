"""What `generate` and `bundle` share: sources put together, counted and held to `--strict`."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcpg.cli.exits import ExitCode
from mcpg.cli.wording import counted
from mcpg.diagnostics import Severity
from mcpg.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcpg.bundle import Assembly
    from mcpg.cli.intake import Intake
    from mcpg.cli.memory import Memory
    from mcpg.cli.output import Output

_TOLD = 10


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for unreachable circles less often for as long as the block runs.

    Putting a graph together makes millions of values and hardly any circle; looking for them takes
    a sixth of the time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@rarely_collected()
def assembled(
    intake: Intake, output: Output, memory: Memory, exclude: Collection[str | Path] = ()
) -> Assembly:
    """Read the sources of *intake* and put them together, showing progress.

    What was noticed is told.

    Raises:
        McpgError: A source cannot be used.
    """
    from mcpg.bundle import assemble  # noqa: PLC0415 - help needs none of it

    intake.tell(output)
    with output.counting("reading sources") as tell:
        batch = intake.read(tell, exclude)
    with output.progress("putting the graph together"):
        assembly = assemble(batch, source_id=intake.source_id, memo=memory.open(batch))
    output.diagnostics(assembly.diagnostics)
    if not assembly.catalog.tools:
        _refuse_when_all_failed(assembly)
        output.note("no tool was found in the sources")
    return assembly


def _refuse_when_all_failed(assembly: Assembly) -> None:
    """Keep a graph of tools from being replaced by an empty one, for all its sources are broken."""
    failed = [item for item in assembly.diagnostics if item.severity is Severity.ERROR]
    if failed:
        raise SourceError(
            "no tool could be read from the sources: nothing was written",
            remedy="mend what is reported above",
        )


def refused(assembly: Assembly, output: Output) -> bool:
    """Say, for `--strict`, whether anything noticed is more than information, and tell it."""
    findings = sum(item.severity is not Severity.INFO for item in assembly.diagnostics)
    if findings:
        output.error(
            f"{counted(findings, 'finding')} under --strict: nothing was written",
            remedy="mend what is reported above, or leave out --strict",
        )
    return bool(findings)


def counts(assembly: Assembly) -> dict[str, int]:
    """Give how much there is of everything."""
    return {
        "tools": len(assembly.catalog.tools),
        "documents": len(assembly.texts),
        "edges": sum(len(document.links) for document in assembly.documents),
    }


def summary(assembly: Assembly) -> str:
    """Give the counts as words."""
    return told(counts(assembly))


def told(facts: Mapping[str, Any]) -> str:
    """Give those of the *facts* that are counts as words."""
    counts = {noun: number for noun, number in facts.items() if isinstance(number, int)}
    return ", ".join(counted(number, noun.removesuffix("s")) for noun, number in counts.items())


def judged(place: str, reasons: Sequence[str], fresh: str, output: Output) -> int:
    """Tell whether *place* is up to date, with the first of the *reasons* why not."""
    if not reasons:
        output.note(f"up to date: {place}: {fresh}")
        return ExitCode.DONE
    output.note(f"stale: {place}")
    for reason in reasons[:_TOLD]:
        output.item(reason)
    if len(reasons) > _TOLD:
        output.item(f"... and {len(reasons) - _TOLD} more")
    return ExitCode.FINDINGS
