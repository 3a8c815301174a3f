"""The registrations of the room of OpenTelemetry."""

from __future__ import annotations

from mcpg.plugins.hooks import DoctorCheck, Plugin, Service

PLUGIN = Plugin(
    services=(
        Service(
            "observer",
            "opentelemetry",
            "mcpg.telemetry:make_observer",
            "mcpg.telemetry:is_installed",
        ),
    ),
    checks=(DoctorCheck("telemetry", "mcpg.telemetry:check_telemetry"),),
)
