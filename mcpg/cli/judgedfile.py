"""Judged queries from a file or from standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.cli.stdin import standard_input
from mcpg.evaluation.judged import parse_judged, read_judged
from mcpg.files import MAX_BYTES

if TYPE_CHECKING:
    from mcpg.evaluation.judged import Judgements

STDIN = "-"


def judgements_of(path: str) -> Judgements:
    """Read the judged queries at *path*; `-` is standard input.

    Raises:
        McpgError: There is no such file, or no query in it can be used.
    """
    if path == STDIN:
        # One byte more than is accepted, so that too much is noticed without reading it all.
        return parse_judged(standard_input(MAX_BYTES + 1), "standard input")
    return read_judged(path)
