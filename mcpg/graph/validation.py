"""Documents against shapes: what is wrong, how much it matters, and where it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.graph.blame import Blame
from mcpg.graph.exports.turtle import turtle
from mcpg.graph.shacl import check_shapes, shipped_shapes, validate
from mcpg.graph.triples import distinct_documents, triples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.diagnostics import Diagnostic
    from mcpg.documents.model import ToolDocument
    from mcpg.graph.shacl import Result

DEFAULT_TIMEOUT = 300.0
"""How long a validation may take, in seconds."""

_UNTITLED = "it does not meet the shape"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a shape finds wrong, and where.

    Attributes:
        result: What is wrong.
        place: `file:line`, `file`, or `None` when no document says it.
    """

    result: Result
    place: str | None

    @property
    def message(self) -> str:
        """What is wrong, in one sentence."""
        return self.result.message or _UNTITLED


@dataclass(frozen=True, slots=True)
class Validation:
    """What came of a validation.

    Attributes:
        findings: What is wrong, violations first, then warnings, then the rest; in the order of
            places within each.
        documents: How many documents were looked at.
        pages: How many of them are of no tool.
        triples: How many triples they make.
        diagnostics: What was noticed on the way.
    """

    findings: tuple[Finding, ...]
    documents: int
    triples: int
    diagnostics: tuple[Diagnostic, ...] = ()
    pages: int = 0

    def count(self, severity: str) -> int:
        """Give how many findings are a `violation`, a `warning` or an `info`."""
        return sum(finding.result.severity == severity for finding in self.findings)


def validate_documents(
    documents: Iterable[ToolDocument],
    *,
    originals: Mapping[str, tuple[str, str]],
    shapes: Mapping[str, str],
    timeout: float = DEFAULT_TIMEOUT,
) -> Validation:
    """Validate the graph of *documents* against the shipped shapes and *shapes*.

    Args:
        documents: The documents, those of no tool included, links resolved.
        originals: Place and text of what authors wrote, by path of the document;
            see `Blame`.
        shapes: Texts of further shapes in Turtle, by file.
        timeout: Longest time to take, in seconds.

    Raises:
        InputError: Some shapes cannot be used, or take too long.
        UsageError: The validator is not installed.
    """
    for place, text in shapes.items():
        check_shapes(text, place)
    kept, noticed = distinct_documents(documents)
    triples = list(triples_of(kept))
    data = "".join(turtle(triples)).encode()
    results = validate(data, [shipped_shapes(), *shapes.values()], timeout=timeout)
    blame = Blame(kept, originals)
    findings = [Finding(result, blame.place_of(result)) for result in results]
    ordered = sorted(findings, key=_order)
    pages = sum(document.is_page for document in kept)
    return Validation(tuple(ordered), len(kept), len(triples), tuple(noticed), pages)


def _order(finding: Finding) -> tuple[int, str, int, str]:
    rank = ("violation", "warning", "info").index(finding.result.severity)
    file, _, line = (finding.place or "").rpartition(":")
    number = int(line) if line.isdigit() else 0
    return rank, file, number, finding.message
