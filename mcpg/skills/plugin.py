"""Registration of the package of skills."""

from __future__ import annotations

import os
from pathlib import PurePath

from mcpg.plugins.hooks import ItemKind, Plugin, SourceKind
from mcpg.skills.pages import is_skill_page
from mcpg.sources.model import SKILL_FILE, SKILLS

PLUGIN = Plugin(
    source_kinds=(
        SourceKind(
            "skills",
            lambda one: one.startswith(SKILLS) or PurePath(one).name == SKILL_FILE,
            "mcpg.skills.source:read_folder",
            lambda one: os.path.realpath(one.removeprefix(SKILLS)),
        ),
    ),
    item_kinds=(
        ItemKind(
            "skill",
            is_skill_page,
            "mcpg.skills.items:Skills",
            "skill",
            "mcpg.skills.items:make_documents",
            "mcpg.skills.lint:check_skills",
            "mcpg.skills.items:list_contents",
        ),
    ),
)
