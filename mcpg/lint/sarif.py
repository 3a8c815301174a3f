"""Findings as SARIF 2.1.0, the OASIS format that code scanning reads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcpg.errors import Diagnostic, Severity
from mcpg.lint.locate import split_place
from mcpg.lint.model import RULES, Finding, Place, Rule

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
VERSION = "2.1.0"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_NUMBERS = {code: number for number, code in enumerate(RULES)}
_SECURITY = ("H", "X")
_SECURITY_SEVERITY = "8.0"


def sarif_log(version: str, diagnostics: Sequence[Diagnostic] = ()) -> dict[str, Any]:
    """Return a log of one run of this *version*, with `runs[0].results` still empty.

    *diagnostics* are problems that no rule reports, such as documents that cannot be read.
    """
    rules = [*map(_describe_rule, RULES.values())]
    run = {
        "tool": {"driver": {"name": "mcpg", "version": version, "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": all(one.severity != Severity.ERROR for one in diagnostics),
                "toolExecutionNotifications": [*map(_make_notification, diagnostics)],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _make_notification(one: Diagnostic) -> dict[str, Any]:
    notification: dict[str, Any] = {
        "descriptor": {"id": one.code},
        "level": _LEVELS[one.severity],
        "message": {"text": one.message},
    }
    path, inner = split_place(one.place or "")
    line, _, column = inner.partition(":")
    if line.isdecimal():
        place = Place(path, int(line), int(column or 1))
    else:
        place = Place(path or (one.place or "").partition(": ")[0])
    if place.file:
        notification["locations"] = [{"physicalLocation": _locate(place)}]
    return notification


def _describe_rule(rule: Rule) -> dict[str, Any]:
    properties: dict[str, Any] = {"tags": ["maintainability"]}
    if rule.code.startswith(_SECURITY):
        properties = {"tags": ["security"], "security-severity": _SECURITY_SEVERITY}
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": rule.remedy,
            "markdown": "\n\n".join(filter(None, (rule.why, rule.remedy, rule.example))),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": properties,
    }


def sarif_result(finding: Finding, snippet: str = "") -> dict[str, Any]:
    """Return a finding as a result; *snippet* is the text of the lines of its place."""
    # GitHub refuses a log with a location that has no file, or at least the name of a source.
    origin = finding.spot.place.partition(": ")[0] or finding.source_id or "tools"
    place = finding.place or Place(origin)
    location: dict[str, Any] = {"physicalLocation": _locate(place, snippet)}
    if names := finding.tool_ids or tuple(filter(None, [finding.tool_id])):
        location["logicalLocations"] = [{"name": name, "kind": "function"} for name in names]
    advice = f" ({finding.suggestion})" if finding.suggestion else ""
    # A fingerprint that stays the same when lines move.
    lasting = (finding.code, finding.source_id, finding.tool_id, finding.member, finding.excerpt)
    fingerprint = hashlib.sha256("\0".join(lasting).encode("utf-8", "replace")).hexdigest()[:32]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": _NUMBERS[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}{advice}"},
        "locations": [location],
        "partialFingerprints": {"mcpg/v1": fingerprint},
    }
    if finding.others:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": f"{one.tool_id} {one.note}"},
                "physicalLocation": _locate(one.place or place),
                "logicalLocations": [{"name": one.tool_id, "kind": "function"}],
            }
            for number, one in enumerate(finding.others)
        ]
    return result


def _locate(place: Place, snippet: str = "") -> dict[str, Any]:
    path = Path(place.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if place.line is not None:
        region: dict[str, Any] = {
            "startLine": place.line,
            "startColumn": place.column or 1,
            "endLine": place.end_line or place.line,
            "endColumn": place.end_column or (place.column or 1),
        }
        if snippet:
            region["snippet"] = {"text": snippet}
        physical["region"] = region
    return physical
