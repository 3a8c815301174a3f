"""The check of OpenTelemetry in `mcpg doctor`."""

from __future__ import annotations

from mcpg.cli.checks import Check, Status
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.telemetry import is_installed
from mcpg.text.library_errors import install_command


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
