"""An observer for OpenTelemetry: a span for each operation, and metrics.

It uses only the API. Without an SDK, spans and metrics are discarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

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
    OperationKind,
)

Value = str | bool | int | float
Recorders = list[tuple[str, Callable[..., None]]]

LONGEST_TEXT = 256
"""Maximum number of recorded characters of a query or another untrusted text."""

_NANOSECONDS = 1_000_000_000

# The facts of an operation by the short names of the attributes that record them.
_FACTS = {
    SEARCH.span: {
        "configured_strategy": "strategy",
        "ranking_mode": "mode",
        "used_vector": "used_vector",
        "used_graph": "used_graph",
        "cache_hit": "is_cached",
        "query_normalized": "is_normalized",
        "result_count": "matches",
        "related_count": "related",
        "next_step_count": "next_steps",
        "prerequisite_count": "prerequisites",
        "context_tool_count": "context_tools",
        "focused_graph_node_count": "nodes",
        "focused_graph_edge_count": "edges",
        "vector_tokens": "vector_tokens",
        "vector_duration": "vector_seconds",
        "graph_duration": "graph_seconds",
        NORMALIZED_QUERY: "normalized_query",
    },
    BUILD.span: {
        "tool_count": "tools",
        "vectorized_tool_count": "vectorized",
        "graph_enabled": "has_graph",
        "graph_node_count": "nodes",
        "graph_edge_count": "edges",
    },
    VECTORS.span: {
        "tool_count": "tools",
        "vectorized_tool_count": "vectorized",
        "embedded_tool_count": "embedded",
        "vector_tokens": "tokens",
    },
    ROUTE.span: {"category_count": "categories", "tool_count": "tools"},
    INVOKE.span: {
        "source_kind": "source_kind",
        "source_id": "source_id",
        "tool_name": "tool_name",
        "outcome": "outcome",
        "session": "session",
    },
}


class OpenTelemetryObserver:
    """Reports to OpenTelemetry; may be shared between threads."""

    def __init__(
        self,
        *,
        record_queries: bool = False,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self._record_queries = record_queries
        meter = metrics.get_meter(SCOPE, __version__, meter_provider)
        self._recorders: dict[str, Recorders] = {kind.span: [] for kind in KINDS}
        for kind in KINDS:
            for one in kind.metrics:
                what = one.name, one.unit, one.description
                if one.unit == "s":
                    record = meter.create_histogram(
                        *what, explicit_bucket_boundaries_advisory=BOUNDARIES
                    ).record
                else:
                    record = meter.create_counter(*what).add
                self._recorders[kind.span].append((one.of, record))

    def search(self, query: str, strategy: str) -> ObservedOperation:
        return self._observe(SEARCH, {"configured_strategy": strategy}, query)

    def build(self) -> ObservedOperation:
        return self._observe(BUILD, {})

    def vectors(self) -> ObservedOperation:
        return self._observe(VECTORS, {})

    def route(self, query: str) -> ObservedOperation:
        return self._observe(ROUTE, {}, query)

    def invoke(self) -> ObservedOperation:
        return self._observe(INVOKE, {})

    def _observe(
        self, kind: OperationKind, known: dict[str, Value], query: str = ""
    ) -> ObservedOperation:
        read = {**_FACTS[kind.span]}
        if not self._record_queries:
            read.pop(NORMALIZED_QUERY, None)
        elif query:
            known[QUERY] = _make_plain(query)
        return ObservedOperation(self._tracer, kind, self._recorders[kind.span], read, known)


@dataclass(eq=False)
class ObservedOperation:
    """An observed operation: its span, and then its metrics; its clock is monotonic."""

    tracer: trace.Tracer
    kind: OperationKind
    recorders: Recorders
    read: dict[str, str]
    reported: dict[str, Value]
    is_recorded: bool = False

    def __enter__(self) -> Callable[[Any], None]:
        self._began = time.time_ns()
        self._start = time.perf_counter()
        self._span = self.tracer.start_span(
            self.kind.span,
            attributes={**self.kind.constants, **self._name_attributes()},
            start_time=self._began,
        )
        self._token = context.attach(trace.set_span_in_context(self._span))
        return self._note_facts

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._start
        outcome = self.reported.get("outcome", SUCCESS)
        fault = None if outcome == SUCCESS else str(outcome)
        if kind is not None:
            is_builtin = kind.__module__ == "builtins"
            fault = kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"
        self.reported[self.kind.duration] = seconds
        try:
            if self.is_recorded or fault:
                # Inside the span, so that a metric can name it as its example.
                values, names = self.reported, self.kind.attributes
                known = (one for one in self.kind.dimensions if one in values)
                dimensions = {names[one]: values[one] for one in known}
                if fault:
                    dimensions[ERROR_TYPE] = fault
                for of, record in self.recorders:
                    amount = values.get(of) if of else 1
                    if amount is not None:
                        record(amount, dimensions)
            if self._span.is_recording():
                self._span.set_attributes(self._name_attributes())
                if fault:
                    # Messages and tracebacks may contain anything: only the type is recorded.
                    self._span.set_attribute(ERROR_TYPE, fault)
                    self._span.set_status(trace.Status(trace.StatusCode.ERROR, fault))
        finally:
            context.detach(self._token)
            self._span.end(self._began + int(seconds * _NANOSECONDS))

    def _note_facts(self, facts: Any) -> None:
        self.is_recorded = True
        for name, member in self.read.items():
            value = getattr(facts, member)
            if isinstance(value, str):
                value = _make_plain(value)
            if value is not None and value != "":
                self.reported[name] = value

    def _name_attributes(self) -> dict[str, Value]:
        names = self.kind.attributes
        return {names[one]: value for one, value in self.reported.items()}


def _make_plain(text: str) -> str:
    """Return untrusted *text* cut short, and such that every exporter can encode it."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
