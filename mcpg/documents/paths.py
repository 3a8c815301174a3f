"""Paths of documents in folders and bundles."""

from __future__ import annotations

from mcpg.text.folding import normalized


def normal_path(path: str) -> str:
    """Bring a relative path to the form in which a bundle holds it.

    Backslashes become slashes; leading slashes, repeated slashes and `.` segments go.
    """
    segments = path.replace("\\", "/").split("/")
    return "/".join(segment for segment in segments if segment.strip() not in {"", "."})


def path_key(path: str) -> str:
    """Return the form under which two paths are one file on any operating system."""
    return normalized("NFC", path).casefold()
