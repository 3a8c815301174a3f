"""What OpenTelemetry is told, seen by its SDK."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from telemetrical import Recording

import mcpg
from mcpg.search.observer import KINDS
from mcpg.search.results import EngineServices
from mcpg.telemetry import BuildFacts, InvokeFacts, RouteFacts, SearchFacts, VectorFacts, telemetry
from mcpg.telemetry.otel import LONGEST_TEXT

if TYPE_CHECKING:
    from mcpg.engine import Engine

INDEX = make_engine(
    make_tool("order_get", description="Get an order."),
    make_tool("order_list", description="List orders."),
).index
FACTS = SearchFacts(
    "auto",
    "hybrid",
    used_vector=True,
    used_graph=True,
    is_cached=False,
    is_normalized=True,
    matches=5,
    related=2,
    next_steps=1,
    prerequisites=3,
    nodes=9,
    edges=11,
    vector_seconds=0.25,
    graph_seconds=0.125,
    vector_tokens=7,
    normalized_query="list orders",
    context_tools=2,
)


def watched(recording: Recording, **options: Any) -> Engine:
    """Return an engine that *recording* watches."""
    return mcpg.Engine(INDEX, services=EngineServices(observer=recording.observer(**options)))


def test_a_search_is_a_span() -> None:
    """Its span has every attribute under its name, and lasts as long as the attribute says."""
    recording = Recording()
    with recording.observer().search("orders", "auto") as tell:
        tell(FACTS)

    (span,) = recording.spans()
    attributes = dict(span.attributes or {})
    duration = attributes.pop("mcpg.search.duration")
    assert attributes == {
        "mcpg.search.configured_strategy": "auto",
        "mcpg.search.ranking_mode": "hybrid",
        "mcpg.search.used_vector": True,
        "mcpg.search.used_graph": True,
        "mcpg.search.cache_hit": False,
        "mcpg.search.query_normalized": True,
        "mcpg.search.result_count": 5,
        "mcpg.search.related_count": 2,
        "mcpg.search.next_step_count": 1,
        "mcpg.search.prerequisite_count": 3,
        "mcpg.search.context_tool_count": 2,
        "mcpg.search.focused_graph_node_count": 9,
        "mcpg.search.focused_graph_edge_count": 11,
        "mcpg.search.vector_tokens": 7,
        "mcpg.search.vector_duration": 0.25,
        "mcpg.search.graph_duration": 0.125,
    }
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time - span.start_time == int(duration * 1e9)
    assert (span.name, span.kind, span.status.status_code) == (
        "mcpg.search",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == (
        "mcpg",
        mcpg.__version__,
    )


def test_metrics_have_few_attributes() -> None:
    """They have those that take few values; counts, times and texts are no dimensions."""
    recording = Recording()
    with recording.observer(record_queries=True).search("orders", "auto") as tell:
        tell(FACTS)

    dimensions = {
        "mcpg.search.configured_strategy": "auto",
        "mcpg.search.ranking_mode": "hybrid",
        "mcpg.search.used_vector": True,
        "mcpg.search.used_graph": True,
        "mcpg.search.cache_hit": False,
        "mcpg.search.query_normalized": True,
    }
    told = {name: recording.points(name) for name in recording.metrics()}
    assert all(dict(point.attributes) == dimensions for (point,) in told.values())
    sums = {name: getattr(p[0], "sum", None) or p[0].value for name, p in told.items()}
    assert sums.pop("mcpg.search.duration") > 0
    assert sums == {
        "mcpg.search.requests": 1,
        "mcpg.search.vector.duration": 0.25,
        "mcpg.search.vector.tokens": 7,
        "mcpg.search.graph.duration": 0.125,
    }
    units = {metric.name: metric.unit for metric in recording.metrics().values()}
    assert units["mcpg.search.vector.tokens"] == "{token}"
    assert units["mcpg.search.duration"] == "s"


def test_what_was_not_measured_is_not_told() -> None:
    """A result from the cache has neither a time nor tokens of vectors or of the graph."""
    recording = Recording()
    with recording.observer().search("orders", "graph") as tell:
        tell(
            SearchFacts(
                "graph",
                "graph",
                used_vector=False,
                used_graph=True,
                is_cached=True,
                is_normalized=False,
                matches=1,
                related=0,
                next_steps=0,
                prerequisites=0,
                nodes=1,
                edges=0,
            )
        )
    told = recording.attributes("mcpg.search")
    absent = ("vector_duration", "vector_tokens", "graph_duration", "query", "normalized_query")
    assert not {f"mcpg.search.{name}" for name in absent} & told.keys()
    assert told["mcpg.search.cache_hit"] is True
    assert recording.metrics().keys() == {"mcpg.search.requests", "mcpg.search.duration"}


def test_queries_are_told_only_where_that_is_asked_for() -> None:
    """Without `record_queries` no attribute holds text; with it, texts are cut and encodable."""
    for is_recorded in (False, True):
        recording = Recording()
        observer = recording.observer(record_queries=is_recorded)
        with observer.route("orders \ud800"), observer.search("o" * 10_000, "auto") as tell:
            tell(FACTS)
        spans = {span.name: dict(span.attributes or {}) for span in recording.spans()}
        route, search = spans["mcpg.route"], spans["mcpg.search"]
        assert route.get("mcpg.route.query") == ("orders ?" if is_recorded else None)
        assert search.get("mcpg.search.query") == ("o" * LONGEST_TEXT if is_recorded else None)
        rewritten = search.get("mcpg.search.normalized_query")
        assert rewritten == ("list orders" if is_recorded else None)
        with observer.search("", "graph"):
            pass
        browsed = recording.spans("mcpg.search")[-1]
        assert "mcpg.search.query" not in (browsed.attributes or {})


def test_an_index_and_its_vectors_are_told() -> None:
    """Builds have their counts, and vectors of tools theirs; what nobody knows is left out."""
    recording = Recording()
    observer = recording.observer()
    with observer.build() as tell:
        tell(BuildFacts(3, None, 5, 7))
    with observer.vectors() as tell_vectors:
        tell_vectors(VectorFacts(3, 2, 1, 40))

    build = recording.attributes("mcpg.index.build")
    assert build.pop("mcpg.index.build_duration") > 0
    assert build == {
        "mcpg.index.tool_count": 3,
        "mcpg.index.graph_enabled": True,
        "mcpg.index.graph_node_count": 5,
        "mcpg.index.graph_edge_count": 7,
    }
    vectors = recording.attributes("mcpg.index.vectors")
    assert vectors.pop("mcpg.index.vectors_duration") > 0
    assert vectors == {
        "mcpg.index.tool_count": 3,
        "mcpg.index.vectorized_tool_count": 2,
        "mcpg.index.embedded_tool_count": 1,
        "mcpg.index.vector_tokens": 40,
    }
    assert [point.value for point in recording.points("mcpg.index.builds")] == [1]
    assert [point.value for point in recording.points("mcpg.index.vectors.tokens")] == [40]


def test_an_invocation_is_told_without_what_was_said() -> None:
    """Its span names tool, source and outcome, as the conventions have it; a fault is an error."""
    recording = Recording()
    observer = recording.observer()
    for outcome in ("success", "timed_out"):
        with observer.invoke() as tell:
            tell(InvokeFacts(outcome, "stdio", "git_status", "git"))
    with observer.invoke() as tell:
        tell(InvokeFacts("not_found"))

    done, failed, unknown = recording.spans("mcpg.invoke")
    attributes = dict(done.attributes or {})
    assert attributes.pop("mcpg.invoke.duration") > 0
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "git_status",
        "mcpg.invoke.source_kind": "stdio",
        "mcpg.invoke.source_id": "git",
        "mcpg.invoke.outcome": "success",
    }
    assert done.status.status_code is StatusCode.UNSET
    assert (failed.attributes or {})["error.type"] == "timed_out"
    assert failed.status.status_code is StatusCode.ERROR
    assert "gen_ai.tool.name" not in (unknown.attributes or {})
    told = {tuple(sorted(p.attributes.items())) for p in recording.points("mcpg.invoke.duration")}
    assert (
        ("error.type", "timed_out"),
        ("mcpg.invoke.outcome", "timed_out"),
        ("mcpg.invoke.source_kind", "stdio"),
    ) in told
    assert len(told) == 3


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (ValueError("sk-secret"), "ValueError"),
        (mcpg.InputError("sk-secret"), "mcpg.errors.InputError"),
    ],
)
def test_an_exception_is_told_by_its_type(fault: Exception, name: str) -> None:
    """Neither its message nor a traceback is recorded; the metrics count it as an error."""
    recording = Recording()
    with pytest.raises(type(fault)), recording.observer().search("orders", "graph"):
        raise fault
    (span,) = recording.spans()
    assert (span.attributes or {})["error.type"] == name
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, name)
    assert not span.events
    assert "sk-secret" not in span.to_json()
    (point,) = recording.points("mcpg.search.requests")
    assert dict(point.attributes) == {
        "mcpg.search.configured_strategy": "graph",
        "error.type": name,
    }


def test_spans_nest_under_the_host() -> None:
    """A search is a child of the host's current span, which is current again afterwards."""
    recording = Recording()
    tracer = recording.tracers.get_tracer("host")
    with tracer.start_as_current_span("host") as outer:
        watched(recording).search("order")
        assert trace.get_current_span() is outer
        with recording.observer().route("orders") as tell:
            watched(recording).search("order")
            tell(RouteFacts(2, 3))
    host = {span.name: span for span in recording.spans()}["host"]
    first, second = recording.spans("mcpg.search")
    (route,) = recording.spans("mcpg.route")
    assert route.attributes is not None
    assert (
        route.attributes["mcpg.route.category_count"],
        route.attributes["mcpg.route.tool_count"],
    ) == (2, 3)
    assert first.parent is not None
    assert second.parent is not None
    assert route.parent is not None
    assert first.parent.span_id == route.parent.span_id == host.context.span_id
    assert second.parent.span_id == route.context.span_id
    assert {span.context.trace_id for span in recording.spans()} == {host.context.trace_id}


def test_searches_of_several_threads_stay_apart() -> None:
    """Each has a span of its own under that of its thread, and all of them are counted."""
    recording = Recording()
    engine, tracer = watched(recording), recording.tracers.get_tracer("host")

    def work(number: int) -> None:
        with tracer.start_as_current_span(f"host {number}"):
            for _ in range(20):
                engine.search("order", limit=1 + number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hosts = {span.context.span_id: span for span in recording.spans() if "host" in span.name}
    searches = recording.spans("mcpg.search")
    assert len(searches) == 80
    assert {span.parent.span_id for span in searches if span.parent} == hosts.keys()
    assert sum(point.value for point in recording.points("mcpg.search.requests")) == 80


def test_without_an_sdk_nothing_is_told_and_nothing_fails() -> None:
    """The API alone takes everything and keeps nothing; the answer is the same."""
    engine = mcpg.Engine(INDEX, services=EngineServices(observer=telemetry()))
    assert engine.search("order") == mcpg.Engine(INDEX).search("order")
    assert not trace.get_current_span().is_recording()


def test_what_the_sdk_raises_is_told_and_hurts_nobody() -> None:
    """A processor that raises leaves the host's span current, and the result whole."""
    from opentelemetry.sdk.trace import SpanProcessor  # noqa: PLC0415

    class Bad(SpanProcessor):
        def on_end(self, span: Any) -> None:
            assert span.name == "mcpg.search"
            raise RuntimeError("sk-secret")

    recording = Recording()
    recording.tracers.add_span_processor(Bad())
    before = trace.get_current_span()
    found = watched(recording).search("order")
    assert found.diagnostics[-1].code == "telemetry_failed"
    assert "sk-secret" not in found.diagnostics[-1].message
    assert found.matches == mcpg.Engine(INDEX).search("order").matches
    assert trace.get_current_span() is before


def test_names_follow_the_rules_of_opentelemetry() -> None:
    """Names are lower case with dots; no metric is called like another, or like a part of it."""
    metrics = [metric for kind in KINDS for metric in kind.metrics]
    names = [metric.name for metric in metrics]
    assert len(names) == len(set(names))
    assert all(name == name.lower() and name.startswith("mcpg.") for name in names)
    assert not any(other.startswith(f"{name}.") for name in names for other in names)
    assert all(
        metric.of in kind.attributes for kind in KINDS for metric in kind.metrics if metric.of
    )
    assert all(set(kind.dimensions) <= kind.attributes.keys() for kind in KINDS)
    assert all(kind.duration in kind.attributes for kind in KINDS)


def test_what_nothing_came_of_is_not_counted() -> None:
    """A build that is given up, without facts or an error, has a span and no metrics."""
    recording = Recording()
    with recording.observer().build():
        pass
    (span,) = recording.spans()
    assert span.status.status_code is StatusCode.UNSET
    assert not recording.metrics()
