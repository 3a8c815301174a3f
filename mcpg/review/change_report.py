"""The report of a change of a catalog: differences, their effect on searches, and gates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcpg.catalog.model import Tool
from mcpg.catalog.schema_changes import Compatibility
from mcpg.errors import Diagnostic, UsageError
from mcpg.review.diff import CatalogueDiff, FieldDifference, ToolDifference
from mcpg.review.impact import (
    CONFIDENCE_LOSSES,
    RANK_LOSSES,
    Impact,
    QueryEffect,
    QueryImpact,
    RankChange,
)
from mcpg.review.lock import LockChange, LockChangeKind, change_diff
from mcpg.text.diffs import diff_text
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest
from mcpg.values import round_shown_score, to_json

SCHEMA = "mcpg/diff/1"

GATES: Mapping[str, str] = {
    "changes": "tools that were added, removed, renamed or changed",
    "removed": "tools that were removed or renamed",
    "breaking": "tools that were removed or renamed, and breaking changes of schemas",
    "undecided": "changes of schemas that may break",
    "risk": "tools that became riskier to call",
    "rank": "queries whose tool lost the first place, or is no longer among the first five",
    "unreachable": "tools that none of their own texts brings first any more",
    "confidence": "queries whose score fell",
}
"""The names of `--fail-on`, with the things counted."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many findings of a kind are accepted."""

    kind: str
    most: int = 0


@dataclass(frozen=True, slots=True)
class LimitGate:
    """A limit, and whether a change keeps it."""

    kind: str
    most: int
    found: int
    passed: bool


@dataclass(frozen=True, slots=True)
class CatalogSide:
    """One of the two catalogs."""

    path: str
    tools: int


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """A change of a catalog.

    Attributes:
        gates: The requested limits.
        diagnostics: Diagnostics of reading and searching.
    """

    before: CatalogSide
    after: CatalogSide
    diff: CatalogueDiff
    impact: Impact
    gates: tuple[LimitGate, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_limits(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Read limits as `KIND` or `KIND=N`, several in one text separated by commas."""
    limits = []
    for part in filter(str.strip, ",".join(texts).split(",")):
        kind, sign, number = (piece.strip() for piece in part.partition("="))
        name = kind.casefold()
        if name not in GATES:
            near = suggest(name, GATES)
            advice = f"did you mean {near[0]}? " if near else ""
            message = f"no kind of finding is called {kind[:40]!r}"
            remedy = f"{advice}known: {', '.join(GATES)}"
            raise UsageError(message, place="--fail-on", remedy=remedy)
        if sign and not (number.isascii() and number.isdecimal()):
            message = f"{number[:40]!r} is not a number of findings"
            raise UsageError(message, place="--fail-on", remedy=f"write it as {name}=3")
        limits.append(Limit(name, int(number) if sign else 0))
    return tuple(limits)


def judge_change(
    diff: CatalogueDiff, impact: Impact, limits: Iterable[Limit]
) -> tuple[LimitGate, ...]:
    """Return whether a change keeps *limits*."""
    counts = gate_counts(diff, impact)
    return tuple(
        LimitGate(one.kind, one.most, counts[one.kind], counts[one.kind] <= one.most)
        for one in limits
    )


def gate_counts(diff: CatalogueDiff, impact: Impact) -> Mapping[str, int]:
    """Return the count for each of `GATES`."""
    changed = [one for one in diff.changed if one.is_itself_changed]
    removed = len(diff.removed) + sum(one.is_renamed for one in changed)
    verdicts = {
        verdict: sum(len(one.with_verdict(verdict)) for one in changed) for verdict in Compatibility
    }
    return {
        "changes": len(diff.added) + len(diff.removed) + len(changed) + len(diff.items),
        "removed": removed,
        "breaking": removed + verdicts[Compatibility.BREAKING],
        "undecided": verdicts[Compatibility.UNDECIDED],
        "risk": sum(one.is_riskier for one in changed),
        "rank": len(impact.with_effects(RANK_LOSSES)),
        "unreachable": len(impact.unreachable),
        "confidence": len(impact.with_effects(CONFIDENCE_LOSSES)),
    }


def change_report_json(report: ChangeReport) -> JsonObject:
    """Return *report* as the JSON object of schema `SCHEMA`."""
    diff, impact = report.diff, report.impact
    effects: JsonObject = {
        effect.value: sum(effect in one.effects and not one.is_former for one in impact.queries)
        for effect in QueryEffect
    }
    return {
        "schema": SCHEMA,
        "before": to_json(report.before),
        "after": to_json(report.after),
        "counts": {**gate_counts(diff, impact)},
        "tools": [
            *(_tool_json(tool, "removed") for tool in diff.removed),
            *(_tool_json(tool, "added") for tool in diff.added),
            *(_difference_json(one) for one in diff.changed),
        ],
        **({"items": [*map(_item_json, diff.items)]} if diff.items else {}),
        "impact": {
            "judged": impact.judged,
            "derived": impact.derived,
            "derivable": impact.derivable,
            "effects": effects,
            "queries": [_query_json(one) for one in impact.queries],
            "unreachable": [
                to_json(one, {"tool": "toolId"}) | {"hiddenBy": one.hidden_by or None}
                for one in impact.unreachable
            ],
        },
        "gates": [to_json(one) for one in report.gates],
        "diagnostics": [one.to_dict() for one in report.diagnostics],
    }


def _tool_json(tool: Tool, change: str) -> JsonObject:
    return {
        **_identity(tool),
        "change": change,
        "description": tool.description,
        "renamedFrom": None,
        "fields": [],
        "input": [],
        "output": [],
        "relations": [],
        "isRiskier": False,
    }


def _item_json(one: LockChange) -> JsonObject:
    change = {LockChangeKind.NEW: "added", LockChangeKind.MISSING: "removed"}
    return {
        "sourceId": one.key[0],
        "name": one.key[1],
        "change": change.get(one.kind, "changed"),
        "parts": [{"part": part.part.member, "details": [*part.details]} for part in one.parts],
        "diff": change_diff(one),
    }


def _identity(tool: Tool) -> JsonObject:
    return {"toolId": tool.id, "sourceId": tool.source_id, "toolName": tool.name}


def _difference_json(one: ToolDifference) -> JsonObject:
    change = "renamed" if one.is_renamed else "changed" if one.is_itself_changed else "relations"
    return {
        **_tool_json(one.after, change),
        "renamedFrom": _identity(one.before) if one.is_renamed else None,
        "fields": [_field_json(field) for field in one.fields],
        "input": [to_json(change) for change in one.input],
        "output": [to_json(change) for change in one.output],
        "relations": [to_json(relation) for relation in one.relations],
        "isRiskier": one.is_riskier,
    }


def _field_json(field: FieldDifference) -> JsonObject:
    shared: JsonObject = {"field": field.name, "isRiskier": field.is_riskier}
    if field.is_list:
        before, after = list(field.before or ()), list(field.after or ())
        shared |= {"before": [*before], "after": [*after]}
        return shared | {"added": [*field.added], "removed": [*field.removed], "diff": None}
    old, new = str(field.before or ""), str(field.after or "")
    shared |= {"before": old, "after": new}
    return shared | {"added": [], "removed": [], "diff": diff_text(old, new)}


def _query_json(one: QueryImpact) -> JsonObject:
    scores = {
        name: None if score is None else round_shown_score(score)
        for name, score in (("scoreBefore", one.score_before), ("scoreAfter", one.score_after))
    }
    members: JsonObject = to_json(one, without=["lost", "won"])
    return {
        **members,
        **scores,
        "id": one.id or None,
        "firstBefore": one.first_before or None,
        "firstAfter": one.first_after or None,
        "lost": _mover_json(one.lost) if one.lost else None,
        "won": _mover_json(one.won) if one.won else None,
    }


def _mover_json(mover: RankChange) -> JsonObject:
    return {
        "toolId": mover.tool,
        "rankBefore": mover.rank_before,
        "rankAfter": mover.rank_after,
        "words": [{"word": one.query, "delta": one.delta} for one in mover.words],
        "features": [{"feature": one.feature, "delta": one.delta} for one in mover.features],
    }
