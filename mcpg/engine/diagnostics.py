"""What a search tells beside its matches."""

from __future__ import annotations

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.results import RankingMode, Request, SearchResult
from mcpg.errors import Code, Diagnostic, info, warning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpg.embeddings.provider import EmbeddingError
    from mcpg.engine.pipeline import Outcome

_CODES = {"missing": Code.EMBEDDING_GENERATOR_MISSING, "empty": Code.QUERY_VECTOR_EMPTY}


def doubts(best: float | None, *, is_offered: bool = True) -> list[Diagnostic]:
    """Report that the *best* score is low, or that nothing matches; *is_offered* or not."""
    if best is None:
        return [warning(Code.LOW_CONFIDENCE, "no tool matches any word of the query")]
    if best >= LOW_CONFIDENCE:
        return []
    advice = "add detail to the query" if is_offered else "it is not offered"
    message = f"the best match has a score of {best:.2f}, below {LOW_CONFIDENCE}: {advice}"
    return [warning(Code.LOW_CONFIDENCE, message)]


def fallbacks(strategy: str, fault: EmbeddingError) -> list[Diagnostic]:
    """Report that a *strategy* needs vectors, and why there are none."""
    code = _CODES.get(fault.kind, Code.VECTOR_SEARCH_FAILED)
    message = f"the strategy {strategy} asks for vectors: {fault.message}"
    return [warning(code, message), info(Code.GRAPH_FALLBACK, "ranked by the graph alone")]


def merges(outcome: Outcome, related: int, next_steps: int) -> list[Diagnostic]:
    """Describe what the graph contributed to an answer that vectors ranked."""
    semantic = outcome.semantic
    is_expanded = related + next_steps > 0
    if semantic is None or semantic.mode(is_expanded=is_expanded) != RankingMode.HYBRID:
        return []
    if not semantic.is_by_nearness:
        how = "the matches of the graph and of the vectors were made one list"
    else:
        parts = [
            f"{count} {name if count == 1 else several}"
            for name, several, count in (
                ("exactly named", "exactly named", len(semantic.lifted)),
                ("related", "related", related),
                ("next step", "next steps", next_steps),
            )
            if count
        ]
        how = f"the graph added to what the vectors found: {', '.join(parts)}"
    return [info(Code.HYBRID_VECTOR_MERGE_USED, how)]


def by_graph(request: Request, result: SearchResult, tool_id: str) -> Diagnostic:
    """Report that the rank explanation is of the graph, and where *result* has the tool."""
    fusion = f" with fusion {request.fusion}" if request.fusion else ""
    way = f"{request.strategy}{fusion}{', normalized' if request.normalize else ''}"
    found = [match.tool_id for match in result.matches]
    place = (
        f"its rank is {found.index(tool_id) + 1}"
        if tool_id in found
        else f"it is not among the first {request.limit}"
    )
    message = f"why {tool_id} is where it is is told of the strategy graph; by {way} {place}"
    return info(Code.TOOL_EXPLAINED_BY_GRAPH, message)
