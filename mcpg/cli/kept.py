"""What a bundle that is built anew keeps of the one that stands there: its fitted ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.bundle import RANKING, decode_bundle
from mcpg.engine.ranking import ignored, ranking_json, ranking_of
from mcpg.errors import McpgError
from mcpg.files import MAX_BYTES, is_file, read_bytes, text_of_path

if TYPE_CHECKING:
    from mcpg.bundle import Assembly
    from mcpg.cli.output import Output
    from mcpg.jsontypes import JsonValue


def with_kept_ranking(assembly: Assembly, target: str | None, output: Output) -> Assembly:
    """Give *assembly* with the ranking that the bundle at *target* carries, or else its sources.

    One that this mcpg cannot use is left out, which is told.

    Args:
        assembly: What the sources hold.
        target: The bundle that is to be replaced, `None` for none.
        output: Where it is told.
    """
    present = _present(target) if target else None
    carried, place = (present, target) if present is not None else (assembly.ranking, None)
    ranking, reason = ranking_of(carried)
    if reason:
        told = ignored(reason, place)
        output.diagnostics([told])
        return replace(assembly, ranking=None, diagnostics=(*assembly.diagnostics, told))
    return replace(assembly, ranking=None if carried is None else ranking_json(ranking))


def without_ranking(assembly: Assembly) -> Assembly:
    """Give *assembly* so that the shipped model ranks."""
    return replace(assembly, ranking=None)


def _present(target: str) -> JsonValue:
    if not is_file(target):
        return None
    try:
        data = read_bytes(target, MAX_BYTES)
        # Within a document's text its quotes would be escaped.
        if f'"{RANKING}"'.encode() not in data:
            return None
        return decode_bundle(data, text_of_path(target)).ranking
    except McpgError:  # a damaged bundle carries nothing, and will be replaced
        return None
