"""Skills as a source: `skills:FOLDER`, and skills in any folder among the sources."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from mcpg.errors import Code, Diagnostic, InputError, NotFoundError, error, warning
from mcpg.files import is_file, is_folder, is_link, read_bytes
from mcpg.plugins.hooks import SourceContent, SourceRequest
from mcpg.skills.folder import read_skill
from mcpg.skills.pages import write_skill_page
from mcpg.sources.model import SKILL_FILE, SKILLS

MOST_SKILLS = 10_000
"""How many skills a source has at most."""

_MOST_FOLDERS = 100_000
_FOREIGN = frozenset({"node_modules", "__pycache__", "site-packages"})
_MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "plugin.json")
_LONGEST_MANIFEST = 256 * 1024
_LONGEST_NAME = 100
_NAMED = 3


def read_folder(request: SourceRequest) -> SourceContent:
    """Return the pages of the skills in a folder, and their diagnostics."""
    given = request.argument.removeprefix(SKILLS)
    root = Path(given)
    if root.name == SKILL_FILE and is_file(root):
        root = root.parent
    shown = root.as_posix()
    if not is_folder(root):
        raise NotFoundError("no such folder", place=shown, remedy="check the path")
    noticed: list[Diagnostic] = []
    pages = []
    names: dict[Path, str] = {}
    for folder in find_skills(root, noticed):
        path = "" if folder == root else folder.relative_to(root).as_posix()
        place = f"{shown}/{path}" if path else shown
        source_id = request.source_id or _name_plugin(folder, root, names) or name_source(root)
        try:
            skill = read_skill(folder, path=path, source_id=source_id, place=place)
        except InputError as fault:
            advice = f" ({fault.remedy})" if fault.remedy else ""
            reason = f"{fault.message}{advice}"
            noticed.append(error(Code.SOURCE_LOAD_FAILED, reason, fault.place or place))
            continue
        noticed += skill.diagnostics
        pages.append(write_skill_page(skill))
    if not (pages or noticed):
        remedy = f"name a folder in or below which there is a {SKILL_FILE}"
        raise NotFoundError("no skill is in this folder", place=shown, remedy=remedy)
    return SourceContent(documents=pages, diagnostics=noticed)


def find_skills(root: Path, noticed: list[Diagnostic]) -> Iterator[Path]:
    """Yield the folders of skills in *root* and below, also nested folders, sorted by path.

    Hidden folders are skipped. Links to folders are not followed; links to a skill elsewhere are
    added to *noticed*.
    """
    linked: list[str] = []
    found: list[Path] = []
    for folders, (here, names, files) in enumerate(os.walk(root), 1):
        names[:] = sorted(one for one in names if one[0] != "." and one not in _FOREIGN)
        folder = Path(here)
        if SKILL_FILE in files:
            found.append(folder)
        for name in names:
            entry = folder / name
            if is_link(entry) and is_file(entry / SKILL_FILE):
                target = Path(os.path.realpath(entry))
                is_inside = target.is_relative_to(os.path.realpath(root))
                linked += [] if is_inside else [entry.relative_to(root).as_posix()]
        if folders >= _MOST_FOLDERS or len(found) >= MOST_SKILLS:
            message = f"only {len(found):,} skills in {folders:,} folders are read"
            noticed.append(warning(Code.SOURCE_INCOMPLETE, message, root.as_posix()))
            break
    if linked:
        names_shown = ", ".join(linked[:_NAMED]) + (", ..." if len(linked) > _NAMED else "")
        message = f"links to skills outside the folder are ignored: {names_shown}"
        noticed.append(warning(Code.SOURCE_SKIPPED, message, root.as_posix()))
    yield from sorted(found)


def name_source(root: Path) -> str:
    """Return the source id of skills in the folder *root*: its name, or its owner's.

    The usual folder is called `skills`, so the folder above it is more specific: `.claude/skills`
    belongs to `claude`.
    """
    path = PurePath(os.path.realpath(root))
    names = [part.lstrip(".") for part in (path.name, path.parent.name)]
    own, above = names
    return (above if own in ("skills", "skill") and above else own) or "skills"


def _name_plugin(folder: Path, root: Path, known: dict[Path, str]) -> str:
    """Return the name of the plugin that has the skill in *folder*, "" for none."""
    for place in (folder, *folder.parents):
        if place not in known:
            known[place] = next(filter(None, (_read_name(place / one) for one in _MANIFESTS)), "")
        if known[place] or place == root:
            return known[place]
    return ""


def _read_name(manifest: Path) -> str:
    if not is_file(manifest) or is_link(manifest):
        return ""
    with suppress(InputError, ValueError, RecursionError):
        stated: Any = json.loads(read_bytes(manifest, _LONGEST_MANIFEST))
        name = stated.get("name") if isinstance(stated, dict) else None
        if isinstance(name, str) and name.isprintable():
            return name.strip()[:_LONGEST_NAME]
    return ""
