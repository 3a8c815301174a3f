"""What is told of a search, a build, a route and an invocation: counts and names, never content.

Only the text of a query is content; it is told to the observer, who has to be asked to record it.
Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

SUCCESS = "success"
"""The outcome of an invocation that had a result; of any other it is the code of the fault."""


@dataclass(frozen=True, slots=True)
class SearchFacts:
    """What came of one search.

    Attributes:
        strategy: The strategy that was asked for.
        mode: How the matches were really ranked.
        used_vector: Whether vectors had a part in that.
        used_graph: Whether the graph had.
        is_cached: Whether the result came from the search cache.
        is_normalized: Whether the query was rewritten, and searched as well.
        matches: Number of primary matches.
        related: Number of related matches.
        next_steps: Number of next-step matches.
        nodes: Nodes of the graph around the result.
        edges: Its edges.
        vector_seconds: What of its time went into making and comparing vectors, be it in vain;
            `None` where nothing of the kind was done.
        graph_seconds: What of it went into all other stages of the ranking; `None` as above.
        vector_tokens: Tokens that the query's vector has cost; `None` where nobody counted.
        normalized_query: What the query was rewritten as, `None` when it was not.
    """

    strategy: str
    mode: str
    used_vector: bool
    used_graph: bool
    is_cached: bool
    is_normalized: bool
    matches: int
    related: int
    next_steps: int
    nodes: int
    edges: int
    vector_seconds: float | None = None
    graph_seconds: float | None = None
    vector_tokens: int | None = None
    normalized_query: str | None = None


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """What came of making an index.

    Attributes:
        tools: Number of tools.
        vectorized: How many of them have a vector, `None` while nobody has asked for vectors.
        nodes: Nodes of the graph: tools and groups.
        edges: Its edges: those between tools, and one for each tool in a group.
        has_graph: Whether there is a graph, and not the tools alone.
    """

    tools: int
    vectorized: int | None
    nodes: int
    edges: int
    has_graph: bool = True


@dataclass(frozen=True, slots=True)
class VectorFacts:
    """What came of finding or making the vectors of an index.

    Attributes:
        tools: Number of tools.
        vectorized: How many of them have a vector now.
        embedded: For how many tools texts were embedded for that.
        tokens: What that has cost, `None` where nobody counted.
    """

    tools: int
    vectorized: int
    embedded: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """What came of a search by categories.

    Attributes:
        categories: Number of categories.
        tools: Number of tools in them.
    """

    categories: int
    tools: int


@dataclass(frozen=True, slots=True)
class InvokeFacts:
    """What came of calling a tool; never its arguments, nor what it answered.

    Attributes:
        outcome: `SUCCESS`, or the code of the first fault.
        source_kind: What the tool belongs to: `stdio` or `http` (servers), `function`, `file`, or
            "" where no tool was found.
        tool_name: The name that its source knows it by, "" where none was found.
        source_id: The source it belongs to, "" where none was found.
    """

    outcome: str
    source_kind: str = ""
    tool_name: str = ""
    source_id: str = ""
