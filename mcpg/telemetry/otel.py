"""An observer for OpenTelemetry: a span for each operation, and metrics.

It uses the API only. Where no SDK is set up, spans and metrics go nowhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Generic, TypeVar

from opentelemetry import context, metrics, trace

from mcpg import __version__
from mcpg.search.observer import (
    BOUNDARIES,
    BUILD,
    ERROR_TYPE,
    INVOKE,
    KINDS,
    NORMALIZED_QUERY,
    QUERY,
    ROUTE,
    SCOPE,
    SEARCH,
    SUCCESS,
    VECTORS,
    BuildFacts,
    InvokeFacts,
    Metric,
    OperationKind,
    RouteFacts,
    SearchFacts,
    VectorFacts,
)

Value = str | bool | int | float
Values = Mapping[str, Value | None]

Facts = TypeVar("Facts")

LONGEST_TEXT = 256
"""Maximum number of recorded characters of a query or another untrusted text."""

_NANOSECONDS = 1_000_000_000


class OpenTelemetryObserver:
    """Reports to OpenTelemetry; may be shared between threads."""

    def __init__(
        self,
        *,
        record_queries: bool = False,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        """Make the instruments.

        Args:
            record_queries: Whether spans may hold the text of queries, cut to 256 characters.
            tracer_provider: Takes spans, `None` for the one that the process has.
            meter_provider: Takes metrics, `None` likewise.
        """
        self._tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        meter = metrics.get_meter(SCOPE, __version__, meter_provider)
        self._recorders = {
            kind.span: [(one.of, _recorder(meter, one)) for one in kind.metrics] for kind in KINDS
        }
        self._record_queries = record_queries

    def search(self, query: str, strategy: str) -> ObservedOperation[SearchFacts]:
        known: dict[str, Value] = {"configured_strategy": strategy}
        if self._record_queries and query:
            known[QUERY] = _plain(query)
        return self._operation(SEARCH, self._of_search, known)

    def build(self) -> ObservedOperation[BuildFacts]:
        return self._operation(BUILD, _build_attributes)

    def vectors(self) -> ObservedOperation[VectorFacts]:
        return self._operation(VECTORS, _vector_attributes)

    def route(self, query: str) -> ObservedOperation[RouteFacts]:
        is_recorded = self._record_queries and bool(query)
        return self._operation(
            ROUTE, _route_attributes, {QUERY: _plain(query)} if is_recorded else {}
        )

    def invoke(self) -> ObservedOperation[InvokeFacts]:
        return self._operation(INVOKE, _invoke_attributes)

    def _operation(
        self,
        kind: OperationKind,
        read: Callable[[Facts], Values],
        known: dict[str, Value] | None = None,
    ) -> ObservedOperation[Facts]:
        return ObservedOperation(self._tracer, kind, self._recorders[kind.span], read, known or {})

    def _of_search(self, facts: SearchFacts) -> Values:
        rewritten = facts.normalized_query if self._record_queries else None
        return {
            "configured_strategy": facts.strategy,
            "ranking_mode": facts.mode,
            "used_vector": facts.used_vector,
            "used_graph": facts.used_graph,
            "cache_hit": facts.is_cached,
            "query_normalized": facts.is_normalized,
            "result_count": facts.matches,
            "related_count": facts.related,
            "next_step_count": facts.next_steps,
            "prerequisite_count": facts.prerequisites,
            "context_tool_count": facts.context_tools,
            "focused_graph_node_count": facts.nodes,
            "focused_graph_edge_count": facts.edges,
            "vector_tokens": facts.vector_tokens,
            "vector_duration": facts.vector_seconds,
            "graph_duration": facts.graph_seconds,
            NORMALIZED_QUERY: _plain(rewritten) if rewritten else None,
        }


class ObservedOperation(Generic[Facts]):
    """An observed operation: its span, and then its metrics; its clock is monotonic."""

    def __init__(
        self,
        tracer: trace.Tracer,
        kind: OperationKind,
        recorders: list[tuple[str, Callable[..., None]]],
        read: Callable[[Facts], Values],
        known: dict[str, Value],
    ) -> None:
        self._tracer = tracer
        self._kind = kind
        self._recorders = recorders
        self._read = read
        self._reported = known
        self._is_recorded = False

    def __enter__(self) -> Callable[[Facts], None]:
        self._began = time.time_ns()
        self._start = time.perf_counter()
        self._span = self._tracer.start_span(
            self._kind.span,
            attributes={**self._kind.constants, **self._name_attributes()},
            start_time=self._began,
        )
        self._token = context.attach(trace.set_span_in_context(self._span))
        return self._tell

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._start
        outcome = self._reported.get("outcome", SUCCESS)
        fault = _qualified_name(kind) if kind else None if outcome == SUCCESS else str(outcome)
        self._reported[self._kind.duration] = seconds
        try:
            if self._is_recorded or fault:
                # Inside the span, so that a metric can name it as its example.
                self._measure(fault)
            self._describe(fault)
        finally:
            context.detach(self._token)
            self._span.end(self._began + int(seconds * _NANOSECONDS))

    def _tell(self, facts: Facts) -> None:
        self._is_recorded = True
        read = self._read(facts)
        self._reported |= {name: value for name, value in read.items() if value is not None}

    def _measure(self, fault: str | None) -> None:
        values, names = self._reported, self._kind.attributes
        dimensions = {names[one]: values[one] for one in self._kind.dimensions if one in values}
        if fault:
            dimensions[ERROR_TYPE] = fault
        for of, record in self._recorders:
            amount = values.get(of) if of else 1
            if amount is not None:
                record(amount, dimensions)

    def _describe(self, fault: str | None) -> None:
        if not self._span.is_recording():
            return
        self._span.set_attributes(self._name_attributes())
        if fault:
            # Messages and tracebacks may hold anything, so an error is recorded by its type alone.
            self._span.set_attribute(ERROR_TYPE, fault)
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, fault))

    def _name_attributes(self) -> dict[str, Value]:
        names = self._kind.attributes
        return {names[one]: value for one, value in self._reported.items()}


def _recorder(meter: metrics.Meter, metric: Metric) -> Callable[..., None]:
    if metric.unit != "s":
        return meter.create_counter(metric.name, metric.unit, metric.description).add
    return meter.create_histogram(
        metric.name, metric.unit, metric.description, explicit_bucket_boundaries_advisory=BOUNDARIES
    ).record


def _plain(text: str) -> str:
    """Return untrusted *text* cut short, and such that every exporter can encode it."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _qualified_name(kind: type[BaseException]) -> str:
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"


def _build_attributes(facts: BuildFacts) -> Values:
    return {
        "tool_count": facts.tools,
        "vectorized_tool_count": facts.vectorized,
        "graph_enabled": facts.has_graph,
        "graph_node_count": facts.nodes,
        "graph_edge_count": facts.edges,
    }


def _vector_attributes(facts: VectorFacts) -> Values:
    return {
        "tool_count": facts.tools,
        "vectorized_tool_count": facts.vectorized,
        "embedded_tool_count": facts.embedded,
        "vector_tokens": facts.tokens,
    }


def _route_attributes(facts: RouteFacts) -> Values:
    return {"category_count": facts.categories, "tool_count": facts.tools}


def _invoke_attributes(facts: InvokeFacts) -> Values:
    return {
        "source_kind": facts.source_kind or None,
        "source_id": _plain(facts.source_id) or None,
        "tool_name": _plain(facts.tool_name) or None,
        "outcome": facts.outcome,
        "session": _plain(facts.session) or None,
    }
