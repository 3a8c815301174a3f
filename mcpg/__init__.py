"""mcpg: author, build and query graph bundles of tools.

engine = mcpg.load("graph.mdld")
for match in engine.search("shipmnt status").matches:
    print(match.tool_id, match.score)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from mcpg.catalog.model import Hints, Tool, ToolExample
    from mcpg.engine import (
        AskResult,
        Engine,
        EngineServices,
        Evidence,
        Explanation,
        FocusedGraph,
        LinkReason,
        Match,
        Plan,
        RankingMode,
        SearchResult,
        Strategy,
        Task,
        load,
    )
    from mcpg.errors import (
        BundleError,
        Diagnostic,
        DocumentError,
        InputError,
        McpgError,
        NotFoundError,
        OutputError,
        Severity,
        SourceError,
        UsageError,
    )

__version__ = "0.1.0"

__all__ = [
    "AskResult",
    "BundleError",
    "Diagnostic",
    "DocumentError",
    "Engine",
    "EngineServices",
    "Evidence",
    "Explanation",
    "FocusedGraph",
    "Hints",
    "InputError",
    "LinkReason",
    "Match",
    "McpgError",
    "NotFoundError",
    "OutputError",
    "Plan",
    "RankingMode",
    "SearchResult",
    "Severity",
    "SourceError",
    "Strategy",
    "Task",
    "Tool",
    "ToolExample",
    "UsageError",
    "__version__",
    "load",
]

# Light modules first: the engine is imported only for names that the others lack.
_MODULES = ("mcpg.errors", "mcpg.catalog.model", "mcpg.engine")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import mcpg` stays instant."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - a search does without

        for module_name in _MODULES:
            module = import_module(module_name)
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
