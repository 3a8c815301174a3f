"""Telemetry: what an engine and a gateway report to an observer; opt-in.

Pass an observer to `mcpg.load(..., observer=)` or to a gateway. `telemetry()` makes an observer
that reports to OpenTelemetry, with spans and metrics; a host may bring its own.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from mcpg.cli.checks import Check, Status
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.errors import UsageError
from mcpg.plugins.hooks import ServiceRequest
from mcpg.search.observer import (
    BuildFacts,
    FactsCallback,
    GuardedObserver,
    InvokeFacts,
    Observer,
    RouteFacts,
    SearchFacts,
    VectorFacts,
)
from mcpg.text.library_errors import install_command

__all__ = [
    "BuildFacts",
    "FactsCallback",
    "GuardedObserver",
    "InvokeFacts",
    "Observer",
    "RouteFacts",
    "SearchFacts",
    "VectorFacts",
    "telemetry",
]


def is_installed() -> bool:
    """Return whether the API of OpenTelemetry is installed."""
    return bool(find_spec("opentelemetry") and find_spec("opentelemetry.metrics"))


def telemetry(
    *, record_queries: bool = False, tracer_provider: Any = None, meter_provider: Any = None
) -> Observer:
    """Return an observer that reports to OpenTelemetry.

    Args:
        record_queries: Whether spans may contain the text of queries, cut to 256 characters.
        tracer_provider: Provider of spans; `None` for the provider of the process.
        meter_provider: Provider of metrics; `None` for the provider of the process.

    Raises:
        UsageError: The API of OpenTelemetry is not installed.
    """
    if not is_installed():
        raise UsageError(
            "the API of OpenTelemetry is not installed",
            remedy=f"install it with `{install_command('telemetry')}`, or do without telemetry",
        )
    from mcpg.telemetry.otel import OpenTelemetryObserver  # noqa: PLC0415 - only where it is there

    return OpenTelemetryObserver(
        record_queries=record_queries,
        tracer_provider=tracer_provider,
        meter_provider=meter_provider,
    )


def make_observer(request: ServiceRequest) -> Observer | None:
    """Return the observer that settings ask for, `None` if the API is not installed."""
    if not is_installed():
        return None
    return telemetry(record_queries=bool(request.value("telemetry.queries")))


def check_telemetry(_settings: Settings, factory: ServiceFactory) -> Check:
    """Look for an SDK that receives spans; nothing is sent."""
    name = "telemetry"
    if not factory.is_telling:
        return Check(name, Status.OFF, "telemetry is not enabled")
    if not is_installed():
        message = "the API of OpenTelemetry is not installed"
        return Check(name, Status.FAILED, message, install_command("telemetry"))
    from opentelemetry import trace  # noqa: PLC0415 - an extra

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        remedy = "run mcpg with `opentelemetry-instrument`, or set up the SDK in the host"
        return Check(name, Status.NOTE, "telemetry is enabled, but no SDK receives it", remedy)
    taker = type(provider).__qualname__
    return Check(name, Status.OK, f"spans go to {taker}", details={"provider": taker})
