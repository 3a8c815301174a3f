"""Telemetry: whether what is told reaches anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.checks.check import Check, Status
from mcpg.cli.checks.extras import install_command

if TYPE_CHECKING:
    from mcpg.cli.equipping import Equipping
    from mcpg.cli.settings import Settings


def check_telemetry(_settings: Settings, equipping: Equipping) -> Check:
    """Look who takes spans; nothing is sent."""
    name = "telemetry"
    if not equipping.is_telling:
        return Check(name, Status.OFF, "it is not enabled")
    from mcpg.telemetry.opening import is_installed, listener  # noqa: PLC0415 - only where it is enabled

    if not is_installed():
        message = "the API of OpenTelemetry is not installed"
        return Check(name, Status.FAILED, message, install_command("telemetry"))
    taker = listener()
    if taker is None:
        remedy = "run mcpg with `opentelemetry-instrument`, or set up the SDK in the host"
        return Check(name, Status.NOTE, "it is enabled, and no SDK takes what it tells", remedy)
    return Check(name, Status.OK, f"spans go to {taker}", details={"provider": taker})
