"""The answer of the meta-tool that builds the index again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpg.errors import Code, Diagnostic, Severity
from mcpg.gateway.serve.answers import line
from mcpg.json_types import JsonObject, JsonValue

if TYPE_CHECKING:
    from mcpg.gateway.index.manager import Snapshot

_SOURCE_NAME, _BUILD_NOTE = 64, 240
_SHARES = (1.0, 0.5, 0.1, 0.0)
_REVIEW = {
    Code.TOOL_CHANGED: "a tool has changed since it was reviewed",
    Code.TOOL_UNREVIEWED: "tools of a source are hidden until reviewed",
}
"""Messages that repeat nothing that was not reviewed, because models read them."""

_REST = "the operator has all sources and diagnostics: `mcpg doctor`"


def index_answers(snapshot: Snapshot, diagnostics: Sequence[Diagnostic]) -> list[JsonObject]:
    """Return answers to a build of the index, from the fullest to the shortest.

    Args:
        snapshot: The new index.
        diagnostics: Diagnostics of the sources and of the build.
    """
    engine = snapshot.engine
    counts: JsonObject = {
        "tools": len(engine.index),
        "edges": sum(len(engine.index.edges(tool)) for tool in range(len(engine.index))),
        "hasVectors": engine.services is not None and engine.services.embeddings is not None,
    }
    tools = Counter(tool.source_id for tool in snapshot.catalog.tools)
    sources: list[JsonValue] = [
        {"sourceId": line(name, _SOURCE_NAME), "tools": count}
        for name, count in sorted(tools.items())
    ]
    found: list[JsonValue] = [
        {"code": one.code, "severity": one.severity, "message": _message(one)}
        for one in sorted(diagnostics, key=lambda one: one.severity == Severity.INFO)
    ]
    answers: list[JsonObject] = []
    for share in _SHARES:
        kept = sources[: int(share * len(sources))], found[: int(share * len(found))]
        omitted = len(sources) + len(found) - len(kept[0]) - len(kept[1])
        how: JsonObject = {"omitted": omitted, "howToGetTheRest": _REST}
        answer: JsonObject = {**counts, "sources": kept[0], "diagnostics": kept[1]}
        answers.append(answer | ({"truncated": how} if omitted else {}))
    return answers


def _message(diagnostic: Diagnostic) -> str:
    return _REVIEW.get(diagnostic.code) or line(diagnostic.message, _BUILD_NOTE)
