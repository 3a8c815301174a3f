"""The arguments of a plan: what the goal gives, what earlier tasks give, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcpg.engine.plan.model import FilledInput, MissingInput, Task
from mcpg.engine.prerequisites import fields_filled_by
from mcpg.text.literals import TextLiteral

_LONGEST_DESCRIPTION = 200


def find_inputs(
    tasks: Sequence[Task], literals: Sequence[TextLiteral]
) -> tuple[tuple[FilledInput, ...], tuple[MissingInput, ...]]:
    """Return the required arguments that *literals* of the goal fill, and those that are missing.

    An argument that several tasks miss is there once.
    """
    filled: list[FilledInput] = []
    missing: dict[str, list[Task]] = {}
    for task in tasks:
        given = {one.argument for link in task.depends_on for one in link.mappings}
        given |= {one.argument for one in task.provided}
        left = [name for name in task.descriptor.required_arguments if name not in given]
        by_goal = fields_filled_by(literals, left)
        filled += [FilledInput(task.id, name, one.text) for name, one in by_goal.items()]
        for name in left:
            if name not in by_goal:
                missing.setdefault(name, []).append(task)
    return tuple(filled), tuple([_missing(name, held) for name, held in missing.items()])


def _missing(name: str, tasks: Sequence[Task]) -> MissingInput:
    schema = _properties(tasks[0]).get(name)
    schema = schema if isinstance(schema, dict) else {}
    kind, described = schema.get("type"), schema.get("description")
    return MissingInput(
        name,
        tuple([task.id for task in tasks]),
        kind if isinstance(kind, str) else "",
        " ".join(described.split())[:_LONGEST_DESCRIPTION] if isinstance(described, str) else "",
    )


def _properties(task: Task) -> dict[str, Any]:
    held = task.descriptor.input_schema.get("properties")
    return held if isinstance(held, dict) else {}
