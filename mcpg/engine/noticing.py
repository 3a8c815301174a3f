"""What a search tells beside its matches."""

from __future__ import annotations

from mcpg.diagnostics import Code, warning
from mcpg.engine.confidence import LOW_CONFIDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpg.diagnostics import Diagnostic


def doubts(best: float | None, *, is_offered: bool = True) -> list[Diagnostic]:
    """Say that the *best* match's score is low, or that there is no match.

    *is_offered* tells whether the match is offered all the same.
    """
    if best is None:
        return [warning(Code.LOW_CONFIDENCE, "no tool matches any word of the query")]
    if best >= LOW_CONFIDENCE:
        return []
    advice = "say more, or take the answer with care" if is_offered else "it is not offered"
    message = f"the best match has a score of {best:.2f}, below {LOW_CONFIDENCE}: {advice}"
    return [warning(Code.LOW_CONFIDENCE, message)]
