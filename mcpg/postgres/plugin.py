"""The registrations of the room of PostgreSQL."""

from __future__ import annotations

from mcpg.plugins.hooks import Command, DoctorCheck, Plugin, Service

_SERVICES = "mcpg.postgres.command"

PLUGIN = Plugin(
    commands=(
        Command(
            "publish",
            "Write a bundle to PostgreSQL, for searches from there.",
            "mcpg.postgres.command",
            after="learn",
        ),
    ),
    services=(
        Service("store", "postgres", f"{_SERVICES}:make_store"),
        Service("cache", "postgres", f"{_SERVICES}:make_cache"),
        Service("candidates", "postgres", f"{_SERVICES}:make_candidates"),
        Service("catalog", "postgres", f"{_SERVICES}:open_catalog"),
    ),
    checks=(DoctorCheck("postgres", f"{_SERVICES}:check_postgres"),),
)
