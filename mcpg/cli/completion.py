"""What the shell completes: names of strategies and providers, ids of tools."""

from __future__ import annotations

from typing import Any

from mcpg.cli.sanitise import one_line
from mcpg.engine.results import FUSIONS


def complete_strategy(incomplete: str) -> list[str]:
    """Give the strategies that begin with *incomplete*."""
    return [name for name in ("graph", "embeddings", "auto") if name.startswith(incomplete)]


def complete_fusion(incomplete: str) -> list[str]:
    """Give the fusions that begin with *incomplete*."""
    return [name for name in FUSIONS if name.startswith(incomplete)]


def complete_provider(incomplete: str) -> list[str]:
    """Give the embedding providers, or the beginnings of their names, that begin so."""
    known = (
        *("local", "local:english", "local:multilingual"),
        *("fastembed:", "sentence-transformers:", "openai:", "none"),
    )
    return [name for name in known if name.startswith(incomplete)]


def complete_tool(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Give ids and titles of the tools whose id begins with *incomplete*."""
    from mcpg.cli.opening import open_catalog  # noqa: PLC0415 - keeps completion of options quick
    from mcpg.cli.options import settings_of  # noqa: PLC0415 - options import this module

    try:
        tools = open_catalog(settings_of(bundle=list(ctx.params.get("bundle") or ()))).tools
    except Exception:  # noqa: BLE001 - a shell that completes must not be shouted at
        return []
    return [(t.id, one_line(t.display_name)) for t in tools if t.id.startswith(incomplete)]
