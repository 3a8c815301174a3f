"""Plans: the tools that a goal needs, and an order in which they can run."""

from mcpg.plan.model import (
    DEFAULT_STEPS,
    Alternative,
    Dependency,
    DroppedDependency,
    FilledInput,
    Intent,
    Mapping,
    MissingInput,
    Plan,
    ProvidedInput,
    Task,
)

__all__ = [
    "DEFAULT_STEPS",
    "Alternative",
    "Dependency",
    "DroppedDependency",
    "FilledInput",
    "Intent",
    "Mapping",
    "MissingInput",
    "Plan",
    "ProvidedInput",
    "Task",
]
