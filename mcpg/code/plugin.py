"""The registrations of the room of source code."""

from __future__ import annotations

import os

from mcpg.code.model import is_code_page
from mcpg.plugins.hooks import Answerer, ItemKind, Plugin, SourceKind
from mcpg.sources.model import CODE

PLUGIN = Plugin(
    source_kinds=(
        SourceKind(
            "code",
            lambda one: one.startswith(CODE),
            "mcpg.code.read:read_pages",
            lambda one: os.path.realpath(one.removeprefix(CODE)),
        ),
    ),
    item_kinds=(
        ItemKind(
            *("code", is_code_page, "mcpg.code.search:CodeSearch.of_pages", "symbol"),
            tune="mcpg.code.tune:tune_weights",
        ),
    ),
    answerers=(Answerer("code", "mcpg.code.answers:CodeAnswers"),),
)
