"""What a validation found, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.sanitise import one_line
from mcpg.cli.wording import and_pages, counted
from mcpg.gateway.answerjson import diagnostics_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.cli.output import Output
    from mcpg.diagnostics import Diagnostic
    from mcpg.graph.validation import Finding, Validation
    from mcpg.jsontypes import JsonObject

_STYLES = {"violation": "red", "warning": "yellow", "info": "cyan"}


def validation_text(found: Validation, output: Output) -> str:
    """Give one finding a line, and at the end how many there are of each kind."""
    lines = [_line(finding, output) for finding in found.findings]
    documents = f"{counted(found.documents - found.pages, 'tool')}{and_pages(found.pages)}"
    size = f"{documents}, {counted(found.triples, 'triple')}"
    told = ", ".join(
        counted(found.count(severity), severity) for severity in ("violation", "warning")
    )
    return "\n".join((*lines, f"{size}: {told}"))


def validation_json(
    found: Validation, shapes: Sequence[str], noticed: Iterable[Diagnostic]
) -> JsonObject:
    """Give the object that `graph validate` prints."""
    return {
        "schema": "mcpg/graph-validate/1",
        "conforms": found.count("violation") == 0,
        "documents": found.documents,
        "pages": found.pages,
        "triples": found.triples,
        "shapes": list(shapes),
        "violations": found.count("violation"),
        "warnings": found.count("warning"),
        "findings": [_finding_json(finding) for finding in found.findings],
        "diagnostics": diagnostics_json(noticed),
    }


def _line(finding: Finding, output: Output) -> str:
    result = finding.result
    label = output.paint(result.severity, _STYLES[result.severity])
    kind = f"[{one_line(result.constraint)}]" if result.constraint else ""
    value = f" ({one_line(result.value)})" if result.value and result.value != result.focus else ""
    where = finding.place or result.focus
    return f"{one_line(where)}: {label}{kind}: {one_line(finding.message)}{value}"


def _finding_json(finding: Finding) -> JsonObject:
    result = finding.result
    return {
        "severity": result.severity,
        "message": finding.message,
        "place": finding.place,
        "focusNode": result.focus,
        "path": result.path or None,
        "value": result.value or None,
        "constraint": result.constraint or None,
        "shape": result.shape or None,
    }
