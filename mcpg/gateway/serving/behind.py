"""What lies behind the server, told to a model: how many tools, and from which sources."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.gateway.serving import names
from mcpg.gateway.serving.wording import counted, listed, source_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import Tool

_NAMED = 12


@dataclass(frozen=True, slots=True)
class Behind:
    """What is known of the catalogue.

    Attributes:
        sources: Names of the sources, those with most tools first, fit to stand in a sentence.
        tools: How many tools can be found; `None` while the sources are still being asked.
    """

    sources: tuple[str, ...] = ()
    tools: int | None = None

    @classmethod
    def configured(cls, ids: Iterable[str]) -> Behind:
        """Say what is known before any source has answered."""
        return cls(tuple(dict.fromkeys(map(source_name, ids))))

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Behind:
        """Count *tools* by their sources."""
        counts = Counter(source_name(tool.source_id) for tool in tools)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        told = (name if len(ordered) == 1 else f"{name} ({count:,})" for name, count in ordered)
        return cls(tuple(told), counts.total())

    def __str__(self) -> str:
        sources = listed(self.sources, _NAMED)
        if self.tools is None:
            return f"the tools of {sources}" if sources else "the tools of other servers"
        if not self.tools:
            return "no tool yet"
        return f"{counted(self.tools, 'tool')} of {sources}"


def instructions(behind: Behind) -> str:
    """Tell a model how this server is used."""
    return (
        f"A gateway to {behind}. Their tools are not listed here: find them with {names.SEARCH} "
        f"when a task may need one, look at arguments with {names.DESCRIBE}, and call them with "
        f"{names.INVOKE}. Search again for each new task before you say that there is no tool."
    )


def description(name: str, behind: Behind) -> str:
    """Tell a model what the meta-tool *name* does, and when to call it."""
    return _DESCRIPTIONS[name].format(behind=behind)


_DESCRIPTIONS = {
    names.SEARCH: (
        "Find the right tool for a task. Behind this server: {behind}; none of them is listed "
        "otherwise. Call this first whenever a task may need one of them, once for each task, in "
        "the words of the task. Each match has an id, what it does, the arguments it must have, "
        "and a score: how likely it is the tool that is wanted, in [0, 1]."
    ),
    names.ROUTE: (
        "Get an overview of the tools behind this server ({behind}) for a task or a domain: the "
        "categories that fit, each with its best tools. Call it when a task is broad or unclear; "
        f"to find one tool, {names.SEARCH} is more to the point."
    ),
    names.DESCRIBE: (
        "Give one tool's whole description, input schema, output schema and hints. Call it before "
        f"{names.INVOKE} unless a search has told all that the call needs."
    ),
    names.INVOKE: (
        "Call one of the tools behind this server by its id, with its own arguments. Its answer is "
        "passed on as it is; what is wrong with the arguments is told field by field. Whatever the "
        "tool does, this does: it may change or delete things."
    ),
    names.GRAPH_SCHEMA: (
        "Describe the graph of the tools behind this server: its classes, its predicates with "
        f"examples, and what {names.GRAPH_SEARCH} reads. For questions about how tools hang "
        f"together, not for finding one: that is {names.SEARCH}."
    ),
    names.GRAPH_SEARCH: (
        "Search the graph of the tools behind this server by its predicates, and see the evidence "
        "for each node, with related nodes and next steps. For questions about how tools hang "
        f"together; to find a tool for a task, {names.SEARCH} ranks better."
    ),
    names.GRAPH_EXPORT: (
        "Write the graph of the tools behind this server, or the part around some tools, as "
        "Turtle, JSON-LD, Mermaid or DOT: to draw it, or to work on it in another program."
    ),
}
