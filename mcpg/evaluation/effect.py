"""What a change to one tool's hints does to other queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.evaluation.compare import compare
from mcpg.evaluation.report import evaluate

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints
    from mcpg.engine import Engine
    from mcpg.evaluation.compare import Comparison
    from mcpg.evaluation.judged import Judgements


def effect_of(
    engine: Engine,
    tool: str,
    hints: Hints,
    judgements: Judgements,
    *,
    include_disabled: bool = False,
) -> Comparison:
    """Compare what judged queries find now with what they would find with further *hints*.

    Args:
        engine: What is searched.
        tool: The tool that gets the hints: an id, `source::name` or name.
        hints: What to add to it.
        judgements: The queries.
        include_disabled: Whether tools that are off by default may be found.

    Raises:
        NotFoundError: No tool is called *tool*, or several are.
        DocumentError: The tool's document becomes too long to be written.
    """
    changed = engine.with_hints(tool, hints)
    before, now = (
        evaluate(one, judgements, include_disabled=include_disabled) for one in (engine, changed)
    )
    return compare(before.outcomes, now.outcomes)
