"""Folders of skills to read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_skill(folder: Path, name: str, text: str, files: Mapping[str, str | bytes] = {}) -> Path:
    """Write a skill into a *folder*: the description in its front matter, its *text*, and *files*.

    A *text* that begins with a fence is the whole `SKILL.md`.
    """
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    whole = text if text.startswith("---") else f"---\nname: {own.name}\n{text}"
    for path, content in {"SKILL.md": whole, **files}.items():
        (own / path).parent.mkdir(parents=True, exist_ok=True)
        (own / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return own
