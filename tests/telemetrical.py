"""Observers for the tests of telemetry: one that notes, and OpenTelemetry's SDK in memory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcpg.telemetry import telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from mcpg.telemetry import Observer


class Noting:
    """Notes what it is told: what begins, with which facts it ends, or with which error."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._watched(name, *arguments)

    @contextmanager
    def _watched(self, name: str, *arguments: str) -> Iterator[Any]:
        self.noted.append((name, *arguments))
        try:
            yield self.noted.append
        except Exception as fault:
            self.noted.append(type(fault))
            raise

    def facts(self, kind: type) -> list[Any]:
        """Return the facts of one *kind*, in order."""
        return [one for one in self.noted if isinstance(one, kind)]


class Raising:
    """Raises at one of the moments at which an observer is told something."""

    def __init__(self, moment: str) -> None:
        self.moment = moment

    def __getattr__(self, _name: str) -> Any:
        self._raise("begin")
        return lambda *_: self

    def __enter__(self) -> Any:
        self._raise("enter")
        return self

    def __call__(self, _facts: object) -> None:
        """Take facts."""
        self._raise("tell")

    def __exit__(self, *_: object) -> bool:
        self._raise("exit")
        return True

    def _raise(self, moment: str) -> None:
        if moment == self.moment:
            raise RuntimeError("sk-secret")


MOMENTS = ("begin", "enter", "tell", "exit")


class Recording:
    """OpenTelemetry's SDK, which keeps everything in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def observer(self, *, record_queries: bool = False) -> Observer:
        """Return an observer that tells this SDK."""
        return telemetry(
            record_queries=record_queries, tracer_provider=self.tracers, meter_provider=self.meters
        )

    def spans(self, name: str | None = None) -> list[ReadableSpan]:
        """Return the spans that have ended, in that order; those called *name*."""
        return [span for span in self._exporter.get_finished_spans() if name in {None, span.name}]

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of the only span called *name*."""
        (span,) = self.spans(name)
        return dict(span.attributes or {})

    def metrics(self) -> dict[str, Any]:
        """Return the metrics by name."""
        data = self._reader.get_metrics_data()
        return {
            metric.name: metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> list[Any]:
        """Return the data points of the metric called *name*."""
        metric = self.metrics().get(name)
        return list(metric.data.data_points) if metric else []
