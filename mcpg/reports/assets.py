"""What is written into every report: styles, scripts, and the drawing library.

The library is D3: twelve of its modules, as published on the npm registry, whose names, versions
and hashes stand in `assets/vendor/vendored.json`. They draw SVG, so that every node is an element
of the page: it takes the focus, has a name for screen readers, follows the theme and prints sharp.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

_FOLDER = files("mcpg.reports") / "assets"
_VENDOR = _FOLDER / "vendor"
_FORCES = ("d3-quadtree", "d3-force")


@cache
def asset(name: str) -> str:
    """Give the text of the file *name* of this package."""
    return (_FOLDER / name).read_text("utf-8")


def vendored() -> list[dict[str, Any]]:
    """Give the record of each vendored file, in the order in which they are to be run."""
    records: list[dict[str, Any]] = json.loads((_VENDOR / "vendored.json").read_text("utf-8"))
    return records


@cache
def drawing_library(*, has_forces: bool = False) -> str:
    """Give the vendored modules as one script, with their licence.

    Args:
        has_forces: Whether to include those that place nodes by forces between them.
    """
    licence = (_VENDOR / "D3-LICENSE.txt").read_text("utf-8")
    records = [one for one in vendored() if has_forces or one["package"] not in _FORCES]
    modules = [(_VENDOR / record["file"]).read_text("utf-8") for record in records]
    return "\n".join([f"/*\n{licence}*/", *modules])
