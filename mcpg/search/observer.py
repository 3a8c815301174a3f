"""Observers: their protocol, the facts they receive, and the names of spans and metrics.

Facts are counts and names, never content, except the text of a query, which an observer records
only with the user's consent. Times are seconds. Exceptions of an observer become diagnostics.
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


class FactsCallback(Protocol[Facts_contra]):
    """Receives the facts of an operation once, at its end; not where it failed or was cancelled."""

    def __call__(self, facts: Facts_contra, /) -> None:
        """Receive the *facts*."""


class Observer(Protocol):
    """Observes the operations that take time.

    Each method returns a context manager, entered when the operation begins and left when it ends,
    in the same thread or task; exceptions pass through. Its value is called with the facts. Methods
    are called from several threads at once. Exceptions of an observer become diagnostics.
    """

    def search(
        self, query: str, strategy: str
    ) -> AbstractContextManager[FactsCallback[SearchFacts]]:
        """Observe a search.

        Record the *query*, "" for browsing, only with the user's consent.
        """

    def build(self) -> AbstractContextManager[FactsCallback[BuildFacts]]:
        """Observe an index build: sources are read, and their documents compiled."""

    def vectors(self) -> AbstractContextManager[FactsCallback[VectorFacts]]:
        """Observe loading or computing the vectors of an index."""

    def route(self, query: str) -> AbstractContextManager[FactsCallback[RouteFacts]]:
        """Observe a route, which contains a search."""

    def invoke(self) -> AbstractContextManager[FactsCallback[InvokeFacts]]:
        """Observe a call of a tool."""


SUCCESS = "success"
"""The outcome of an invocation that had a result; of any other it is the code of the fault."""


@dataclass(frozen=True, slots=True)
class SearchFacts:
    """Facts about a search.

    Attributes:
        vector_seconds: Time spent on vectors, in seconds; `None` without vectors.
        graph_seconds: Time of all other stages of the ranking; `None` if it was not measured.
        vector_tokens: Tokens used to embed the query; `None` if unknown.
        normalized_query: The rewritten query, `None` if it was not rewritten.
        context_tools: Number of known tools in use in the request.
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
    prerequisites: int
    nodes: int
    edges: int
    vector_seconds: float | None = None
    graph_seconds: float | None = None
    vector_tokens: int | None = None
    normalized_query: str | None = None
    context_tools: int = 0


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """Facts about an index build.

    Attributes:
        vectorized: How many of them have a vector, `None` without vectors.
        nodes: Nodes of the graph: tools and groups.
        edges: Its edges: those between tools, and one for each tool in a group.
    """

    tools: int
    vectorized: int | None
    nodes: int
    edges: int
    has_graph: bool = True


@dataclass(frozen=True, slots=True)
class VectorFacts:
    """Facts about loading or computing the vectors of an index.

    Attributes:
        vectorized: How many of them have a vector now.
        embedded: How many of them were embedded now.
        tokens: Tokens used for that, `None` if unknown.
    """

    tools: int
    vectorized: int
    embedded: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """Facts about a route."""

    categories: int
    tools: int


@dataclass(frozen=True, slots=True)
class InvokeFacts:
    """Facts about a call of a tool, without its arguments and results.

    Attributes:
        outcome: `SUCCESS`, or the code of the first fault.
        source_kind: `stdio`, `http`, `function` or `file`; "" if no tool was found.
        tool_name: The tool's name in its source, "" if none was found.
        source_id: The id of its source, "" if none was found.
        session: What the call belongs to, an id without a meaning; "" if that is not known.
    """

    outcome: str
    source_kind: str = ""
    tool_name: str = ""
    source_id: str = ""
    session: str = ""


Facts = TypeVar("Facts")


class Observation(Generic[Facts]):
    """Context of one observed operation, which takes its facts at the end."""

    def __init__(
        self,
        observer: Observer,
        begin: Callable[[Observer], AbstractContextManager[FactsCallback[Facts]]],
    ) -> None:
        self._observer = observer
        self._begin = begin
        self._inner: AbstractContextManager[FactsCallback[Facts]] | None = None
        self._tell: FactsCallback[Facts] | None = None
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def __enter__(self) -> Observation[Facts]:
        try:
            inner = self._begin(self._observer)
            self._tell = inner.__enter__()
            self._inner = inner
        except Exception as fault:  # noqa: BLE001 - an observer may raise whatever it likes
            self._report_failure(fault)
        return self

    def __call__(self, facts: Facts) -> None:
        """Report the facts to the observer."""
        if self._tell is None:
            return
        try:
            self._tell(facts)
        except Exception as fault:  # noqa: BLE001 - as above
            self._report_failure(fault)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The result of the observer's `__exit__` is ignored: no exception is suppressed.
        if self._inner is None:
            return
        try:
            self._inner.__exit__(kind, raised, trace)
        except Exception as fault:  # noqa: BLE001 - as above
            if fault is not raised:
                self._report_failure(fault)

    def _report_failure(self, fault: Exception) -> None:
        # The error of an observer may contain secrets, so only its type is reported.
        message = f"the observer failed with {type(fault).__name__}; nothing depends on it"
        self.diagnostics = (warning(Code.TELEMETRY_FAILED, message),)


class GuardedObserver:
    """Isolates the exceptions of a host's observer; may be shared between threads."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    @classmethod
    def of(cls, observer: Observer) -> GuardedObserver:
        """Return *observer* guarded, once."""
        return observer if isinstance(observer, cls) else cls(observer)

    def search(self, query: str, strategy: str) -> Observation[SearchFacts]:
        return Observation(self._observer, lambda watching: watching.search(query, strategy))

    def build(self) -> Observation[BuildFacts]:
        return Observation(self._observer, lambda watching: watching.build())

    def vectors(self) -> Observation[VectorFacts]:
        return Observation(self._observer, lambda watching: watching.vectors())

    def route(self, query: str) -> Observation[RouteFacts]:
        return Observation(self._observer, lambda watching: watching.route(query))

    def invoke(self) -> Observation[InvokeFacts]:
        return Observation(self._observer, lambda watching: watching.invoke())


SCOPE = "mcpg"
"""Name of the instrumentation scope."""

ERROR_TYPE = "error.type"
"""Semantic conventions, "Error": the class of an error."""

TOOL_NAME = "gen_ai.tool.name"
"""Semantic conventions, "Generative AI", span of an executed tool: its name."""

SESSION_ID = "mcp.session.id"
"""Semantic conventions, "Model Context Protocol": the session of a call."""

OPERATION = {"gen_ai.operation.name": "execute_tool"}
"""As above: a constant of every such span."""

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
        of: The attribute that it takes its values from, by its short name; "" counts each by one.
    """

    name: str
    unit: str
    description: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class OperationKind:
    """A kind of observed operation.

    Attributes:
        attributes: Names of the attributes of its spans, by their short names.
        dimensions: Short names of the attributes that its metrics share: few values each.
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


_RANKED = (
    *("configured_strategy", "ranking_mode", "used_vector"),
    *("used_graph", "cache_hit", "query_normalized"),
)
SEARCH = OperationKind(
    "mcpg.search",
    _under(
        "mcpg.search.",
        *_RANKED,
        *("result_count", "related_count", "next_step_count", "prerequisite_count"),
        "context_tool_count",
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
        Metric(
            "mcpg.search.vector.tokens",
            "{token}",
            "Tokens that vectors of queries have cost",
            "vector_tokens",
        ),
        _seconds(
            "mcpg.search.graph.duration",
            "Duration of all other stages of searches",
            "graph_duration",
        ),
    ),
    _RANKED,
)
BUILD = OperationKind(
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
VECTORS = OperationKind(
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
        Metric(
            "mcpg.index.vectors.tokens",
            "{token}",
            "Tokens that vectors of tools have cost",
            "vector_tokens",
        ),
    ),
)
ROUTE = OperationKind(
    "mcpg.route",
    _under("mcpg.route.", "category_count", "tool_count", "duration", QUERY),
    "duration",
    (_seconds("mcpg.route.duration", "How long searches by categories took"),),
)
INVOKE = OperationKind(
    "mcpg.invoke",
    _under("mcpg.invoke.", "source_kind", "source_id", "outcome", "duration")
    | {"tool_name": TOOL_NAME, "session": SESSION_ID},
    "duration",
    (_seconds("mcpg.invoke.duration", "How long calls of tools took"),),
    ("source_kind", "outcome"),
    OPERATION,
)
KINDS = (SEARCH, BUILD, VECTORS, ROUTE, INVOKE)
