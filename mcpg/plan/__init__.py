"""Plans: the tools that a goal needs, and an order in which they can run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcpg.catalog.model import Tool
from mcpg.errors import Diagnostic
from mcpg.search.results import StrategyName
from mcpg.text.json_values import JsonValue
from mcpg.text.markup import result_html
from mcpg.values import round_shown_score, score_text, to_json

DOUBTFUL = 0.25
"""A plan is reported as doubtful if less surely nothing is missing, or every task belongs."""

STAGE = "stage"
"""The kind of a dependency that only the kinds of operations speak for."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """An argument of a task that an earlier task provides.

    Attributes:
        field: Its output field; "" if its schema does not specify it.
    """

    task: str
    field: str
    argument: str


@dataclass(frozen=True, slots=True)
class Dependency:
    """Why one task runs after another.

    Attributes:
        kind: `nextStep`, `provides` or `stage`.
        origin: Its origin: `authored`, `observed`, `schema` or `inferred`.
        weight: Strength in (0, 1].
        mappings: The arguments that the first task provides to this one.
    """

    task: str
    kind: str
    origin: str
    weight: float
    reason: str
    mappings: tuple[Mapping, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """A tool that may do the work of a task in its place.

    Attributes:
        confidence: The probability that the goal needs it, in [0, 1].
    """

    tool_id: str
    source_id: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ProvidedInput:
    """An argument of a task that a tool in use provides.

    Attributes:
        field: Its output field; "" if its schema does not specify it.
    """

    tool_id: str
    field: str
    argument: str


@dataclass(frozen=True, slots=True)
class Task:
    """One step of a plan: a call of one tool, or several calls of it.

    Attributes:
        id: Its name in the plan: `t1`, `t2` and so on, in the order in which tasks can run.
        summary: Its description on one line, cut if it is long.
        layer: From 0; tasks of one layer can run side by side.
        is_prerequisite: Whether it is there for another task, and not for the goal itself.
        is_destructive: Whether it deletes or overwrites.
        score: The score that a search for the goal gives it, 0 for none.
        confidence: The probability that the goal needs it, in [0, 1].
        alternatives: Other tools for the same work, the likeliest first.
    """

    id: str
    tool_id: str
    source_id: str = field(compare=False)
    tool_name: str = field(compare=False)
    display_name: str = field(compare=False)
    summary: str = field(compare=False)
    layer: int
    is_prerequisite: bool = field(compare=False)
    is_destructive: bool = field(compare=False)
    score: float = field(compare=False)
    confidence: float
    depends_on: tuple[Dependency, ...]
    provided: tuple[ProvidedInput, ...] = field(compare=False)
    alternatives: tuple[Alternative, ...] = field(compare=False)
    rationale: str
    _load: Callable[[], Tool] = field(compare=False)

    @property
    def descriptor(self) -> Tool:
        """The tool itself, with schema and hints."""
        return self._load()

    def to_dict(self) -> dict[str, Any]:
        """Return the task as a JSON object; arguments that the goal fills are with the plan."""
        members = to_json(
            self,
            without=("rationale", "_load"),
            rounded=("score", "confidence", "weight"),
            nulls=("field",),
        )
        return members | {"filled": [], "rationale": self.rationale}

    def __repr__(self) -> str:
        return f"Task({self.id!r}, {self.tool_id!r}, confidence={self.confidence:.6f})"


@dataclass(frozen=True, slots=True)
class MissingInput:
    """A required argument that no earlier task provides and no literal of the goal fills.

    Attributes:
        type: Its JSON type, "" if the schema has none.
    """

    argument: str
    tasks: tuple[str, ...]
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class FilledInput:
    """A required argument that a literal of the goal fills."""

    task: str
    argument: str
    value: str


@dataclass(frozen=True, slots=True)
class DroppedDependency:
    """A dependency that was left out because it closed a cycle.

    Attributes:
        weight: Strength of the dependency, the least in its cycle.
    """

    first: str
    then: str
    weight: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Tasks that serve a goal, in an order in which they can run.

    Attributes:
        tasks: The tasks, every one after all that it depends on.
        intents: The goal's wishes, part by part, and the tasks that answer each part.
        missing: Arguments that only the user can give.
        filled: Arguments that the goal itself gives.
        broken: Dependencies that were left out because they closed cycles.
        complete: The probability that nothing is missing, in [0, 1].
        clean: The probability that every task belongs, in [0, 1].
    """

    goal: str
    strategy: StrategyName
    tasks: tuple[Task, ...] = ()
    layers: tuple[tuple[str, ...], ...] = ()
    intents: tuple[Intent, ...] = ()
    missing: tuple[MissingInput, ...] = ()
    filled: tuple[FilledInput, ...] = ()
    broken: tuple[DroppedDependency, ...] = ()
    complete: float = 0.0
    clean: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def confidence(self) -> float:
        """The mean confidence of the tasks: the share of them that is likely needed, in [0, 1]."""
        return sum(task.confidence for task in self.tasks) / (len(self.tasks) or 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as `mcpg plan --format json` prints it."""
        filled: dict[str, list[JsonValue]] = {}
        for one in self.filled:
            filled.setdefault(one.task, []).append({"argument": one.argument, "value": one.value})
        return {
            "schema": "mcpg/plan/1",
            "goal": self.goal,
            "strategy": self.strategy,
            "confidence": round_shown_score(self.confidence),
            "complete": round_shown_score(self.complete),
            "clean": round_shown_score(self.clean),
            "tasks": [task.to_dict() | {"filled": filled.get(task.id, [])} for task in self.tasks],
            "layers": [list(layer) for layer in self.layers],
            "intents": [
                {"reason": None} | to_json(one, rounded=("confidence",)) for one in self.intents
            ],
            "missing": [to_json(one, nulls=("type",)) for one in self.missing],
            "broken": [to_json(one, rounded=("weight",)) for one in self.broken],
            "diagnostics": [one.to_dict() for one in self.diagnostics],
        }

    def __repr__(self) -> str:
        tasks = " -> ".join(
            ", ".join([task.tool_id for task in self.tasks if task.id in layer])
            for layer in self.layers
        )
        return (
            f"<Plan {self.goal!r}: {tasks or 'no task'}, confidence {score_text(self.confidence)}>"
        )

    def _repr_html_(self) -> str:
        return result_html(self.to_dict())


@dataclass(frozen=True, slots=True)
class Intent:
    """A part of the goal that may be a wish of its own.

    Attributes:
        tasks: The tasks that answer it best.
        confidence: The probability that it means the likeliest of them, in [0, 1].
        reason: Why its first match is not a task; "" if it is one.
    """

    text: str
    tasks: tuple[str, ...]
    confidence: float
    reason: str
