"""Observers: their protocol, the facts they receive, and the names of spans and metrics.

Facts are counts and names, never content, except the text of a query, which an observer records
only where the user asks for it. Times are seconds. What an observer raises becomes a diagnostic.
docs/reference/telemetry.md lists all names, most of them from OpenTelemetry conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from mcpg.errors import Code, Diagnostic, warning

Facts_contra = TypeVar("Facts_contra", contravariant=True)


class Tell(Protocol[Facts_contra]):
    """Takes what came of something; called once, at its end.

    It is not called at all where nothing came of it: an exception ended it, or it was given up.
    """

    def __call__(self, facts: Facts_contra, /) -> None:
        """Take the *facts*."""


class Observer(Protocol):
    """Receives everything that takes time.

    Each method gives a context manager, entered when the thing begins and left when it ends, in the
    same thread or task; an exception that ends it passes through. Inside it gives what is called
    with the facts. Methods are called from several threads at once. Whatever an observer raises is
    reported as a diagnostic, and never breaks what it watches.
    """

    def search(self, query: str, strategy: str) -> AbstractContextManager[Tell[SearchFacts]]:
        """A search begins.

        Args:
            query: What is wanted, as it was given; "" browses. Record it only where that is wanted.
            strategy: The strategy that was asked for.
        """

    def build(self) -> AbstractContextManager[Tell[BuildFacts]]:
        """An index is made: sources are read, documents made of them, and compiled."""

    def vectors(self) -> AbstractContextManager[Tell[VectorFacts]]:
        """The vectors of an index are found or made."""

    def route(self, query: str) -> AbstractContextManager[Tell[RouteFacts]]:
        """A search by categories begins; a search is a part of it.

        Args:
            query: As for `search`.
        """

    def invoke(self) -> AbstractContextManager[Tell[InvokeFacts]]:
        """A tool is called."""


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


Facts = TypeVar("Facts")


class Watch(Generic[Facts]):
    """Context of one observed operation, which takes its facts at the end.

    Attributes:
        diagnostics: What the observer raised, once the thing has ended.
    """

    def __init__(
        self, observer: Observer, begin: Callable[[Observer], AbstractContextManager[Tell[Facts]]]
    ) -> None:
        self._observer = observer
        self._begin = begin
        self._inner: AbstractContextManager[Tell[Facts]] | None = None
        self._tell: Tell[Facts] | None = None
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def __enter__(self) -> Watch[Facts]:
        try:
            inner = self._begin(self._observer)
            self._tell = inner.__enter__()
            self._inner = inner
        except Exception as fault:  # noqa: BLE001 - an observer may raise whatever it likes
            self._failed(fault)
        return self

    def __call__(self, facts: Facts) -> None:
        """Report the facts to the observer."""
        if self._tell is None:
            return
        try:
            self._tell(facts)
        except Exception as fault:  # noqa: BLE001 - as above
            self._failed(fault)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What the observer's own `__exit__` gives does not count: nothing is ever swallowed.
        if self._inner is None:
            return
        try:
            self._inner.__exit__(kind, raised, trace)
        except Exception as fault:  # noqa: BLE001 - as above
            if fault is not raised:
                self._failed(fault)

    def _failed(self, fault: Exception) -> None:
        # The text of a stranger's error may hold anything, so only its type is reported.
        message = f"the observer failed with {type(fault).__name__}; nothing depends on it"
        self.diagnostics = (warning(Code.TELEMETRY_FAILED, message),)


class GuardedObserver:
    """Keeps faults of a host's observer from spreading; may be shared between threads."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    @classmethod
    def of(cls, observer: Observer) -> GuardedObserver:
        """Return *observer* guarded, once."""
        return observer if isinstance(observer, cls) else cls(observer)

    def search(self, query: str, strategy: str) -> Watch[SearchFacts]:
        return Watch(self._observer, lambda watching: watching.search(query, strategy))

    def build(self) -> Watch[BuildFacts]:
        return Watch(self._observer, lambda watching: watching.build())

    def vectors(self) -> Watch[VectorFacts]:
        return Watch(self._observer, lambda watching: watching.vectors())

    def route(self, query: str) -> Watch[RouteFacts]:
        return Watch(self._observer, lambda watching: watching.route(query))

    def invoke(self) -> Watch[InvokeFacts]:
        return Watch(self._observer, lambda watching: watching.invoke())


SCOPE = "mcpg"
"""Name of the instrumentation scope."""

ERROR_TYPE = "error.type"
"""Semantic conventions, "Error": the class of an error."""

TOOL_NAME = "gen_ai.tool.name"
"""Semantic conventions, "Generative AI", span of an executed tool: its name."""

OPERATION = {"gen_ai.operation.name": "execute_tool"}
"""As above: what every such span says."""

QUERY = "query"
NORMALIZED_QUERY = "normalized_query"

BOUNDARIES = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Bounds of the buckets of histograms, in seconds, unless a host sets up others: a search takes a
millisecond, a call of a tool may take a minute."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: a histogram of seconds, or a counter of anything else.

    Attributes:
        name: What it is called.
        unit: Its unit, as UCUM writes it.
        description: What it measures or counts.
        of: The attribute that it takes its values from, by its short name; "" counts each by one.
    """

    name: str
    unit: str
    description: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing that is watched.

    Attributes:
        span: Name of its span.
        attributes: Names of the attributes of its spans, by their short names.
        duration: Which of them is how long it took.
        metrics: Its metrics.
        dimensions: Short names of the attributes that its metrics have as well: few values each.
        constants: Attributes that each of its spans has.
    """

    span: str
    attributes: Mapping[str, str]
    duration: str
    metrics: tuple[Metric, ...]
    dimensions: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)


def _under(prefix: str, *names: str) -> dict[str, str]:
    return {name: prefix + name for name in names}


def _seconds(name: str, description: str, of: str = "duration") -> Metric:
    return Metric(name, "s", description, of)


def _tokens(name: str, description: str) -> Metric:
    return Metric(name, "{token}", description, "vector_tokens")


_RANKED = (
    *("configured_strategy", "ranking_mode", "used_vector"),
    *("used_graph", "cache_hit", "query_normalized"),
)
SEARCH = Kind(
    "mcpg.search",
    _under(
        "mcpg.search.",
        *_RANKED,
        *("result_count", "related_count", "next_step_count"),
        *("focused_graph_node_count", "focused_graph_edge_count", "vector_tokens"),
        *("vector_duration", "graph_duration", "duration", QUERY, NORMALIZED_QUERY),
    ),
    "duration",
    (
        Metric("mcpg.search.requests", "{request}", "Searches"),
        _seconds("mcpg.search.duration", "How long searches took"),
        _seconds(
            "mcpg.search.vector.duration",
            "How long searches made and compared vectors",
            "vector_duration",
        ),
        _tokens("mcpg.search.vector.tokens", "Tokens that vectors of queries have cost"),
        _seconds(
            "mcpg.search.graph.duration",
            "How long the other stages of searches took",
            "graph_duration",
        ),
    ),
    _RANKED,
)
BUILD = Kind(
    "mcpg.index.build",
    _under(
        "mcpg.index.",
        *("tool_count", "vectorized_tool_count", "graph_enabled"),
        *("graph_node_count", "graph_edge_count", "build_duration"),
    ),
    "build_duration",
    (
        Metric("mcpg.index.builds", "{build}", "Indexes that were made"),
        _seconds("mcpg.index.build.duration", "How long it took to make indexes", "build_duration"),
    ),
    ("graph_enabled",),
)
VECTORS = Kind(
    "mcpg.index.vectors",
    _under(
        "mcpg.index.",
        *("tool_count", "vectorized_tool_count", "embedded_tool_count"),
        *("vector_tokens", "vectors_duration"),
    ),
    "vectors_duration",
    (
        _seconds(
            "mcpg.index.vectors.duration",
            "How long it took to find or make the vectors of tools",
            "vectors_duration",
        ),
        _tokens("mcpg.index.vectors.tokens", "Tokens that vectors of tools have cost"),
    ),
)
ROUTE = Kind(
    "mcpg.route",
    _under("mcpg.route.", "category_count", "tool_count", "duration", QUERY),
    "duration",
    (_seconds("mcpg.route.duration", "How long searches by categories took"),),
)
INVOKE = Kind(
    "mcpg.invoke",
    _under("mcpg.invoke.", "source_kind", "source_id", "outcome", "duration")
    | {"tool_name": TOOL_NAME},
    "duration",
    (_seconds("mcpg.invoke.duration", "How long calls of tools took"),),
    ("source_kind", "outcome"),
    OPERATION,
)
KINDS = (SEARCH, BUILD, VECTORS, ROUTE, INVOKE)
