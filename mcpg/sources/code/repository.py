"""The repository and branch of a folder, as the files of Git state them; no program is run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mcpg.errors import McpgError
from mcpg.files import read_bytes, text_of_path

_MOST_BYTES = 1024 * 1024
_SHORT_HASH = 12
_ORIGIN = re.compile(r'^\[remote "origin"\][^\[]*?^[ \t]*+url[ \t]*+=[ \t]*+(\S+)', re.MULTILINE)
_BEFORE_NAME = re.compile(r"[/:\\@]")


@dataclass(frozen=True, slots=True)
class Repository:
    """Where source files come from.

    Attributes:
        root: The folder of the repository, or the folder that was named without one.
        name: Last part of the address of its origin, else the name of the folder.
        branch: The branch, the beginning of the commit's hash without one, or "".
    """

    root: Path
    name: str
    branch: str


def find_repository(folder: Path) -> Repository:
    """Find the repository that *folder* lies in."""
    here = folder.resolve()
    for root in (here, *here.parents):
        git = _git_folder(root)
        if git is not None:
            common = _common(git)
            origin = _ORIGIN.search(_read(common / "config"))
            # Only the name: an address may hold a password.
            address = origin[1].rstrip("/") if origin else ""
            name = _BEFORE_NAME.split(address)[-1].removesuffix(".git")
            return Repository(root, name or text_of_path(root.name), _branch(git))
    return Repository(here, text_of_path(here.name), "")


def _git_folder(root: Path) -> Path | None:
    git = root / ".git"
    if (git / "HEAD").is_file():
        return git
    # A worktree or submodule names its folder in a file.
    text = _read(git) if git.is_file() else ""
    kind, _, place = text.strip().partition(": ")
    folder = root / place
    return folder if kind == "gitdir" and (folder / "HEAD").is_file() else None


def _common(git: Path) -> Path:
    place = _read(git / "commondir").strip()
    return git / place if place else git


def _branch(git: Path) -> str:
    head = _read(git / "HEAD").strip()
    reference = head.removeprefix("ref: ")
    return head[:_SHORT_HASH] if reference == head else reference.removeprefix("refs/heads/")


def _read(path: Path) -> str:
    try:
        return read_bytes(path, _MOST_BYTES).decode("utf-8", "replace")
    except (McpgError, OSError):
        return ""
