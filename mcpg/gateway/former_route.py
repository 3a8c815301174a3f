"""`route`, the former function for `Engine.route`, with the former names of its arguments."""

from __future__ import annotations

from mcpg.engine import Engine
from mcpg.values import rename_arguments

_ARGUMENTS = {"tools": "max_tools", "in_categories": "categories"}

route = rename_arguments(_ARGUMENTS, {"categories": "max_categories"})(Engine.route)
