"""The folder for what can be made again, where the platform keeps such things."""

from __future__ import annotations

import os
import sys

VARIABLE = "MCPG_CACHE"


def cache_folder() -> str | None:
    """Give the user's cache folder for mcpg, which need not exist; `None` when there is none."""
    return os.environ.get(VARIABLE) or _platforms()


def _platforms() -> str | None:
    if sys.platform == "win32":
        base, name = os.environ.get("LOCALAPPDATA", ""), "mcpg\\Cache"
    elif sys.platform == "darwin":
        base, name = os.path.expanduser("~/Library/Caches"), "mcpg"  # noqa: PTH111 - as below
    else:
        # By the XDG Base Directory Specification, a relative path counts as none.
        base, name = os.environ.get("XDG_CACHE_HOME", ""), "mcpg"
        if not os.path.isabs(base):  # noqa: PTH117 - pathlib costs a cold search more than this
            base = os.path.expanduser("~/.cache")  # noqa: PTH111 - as above
    return os.path.join(base, name) if os.path.isabs(base) else None  # noqa: PTH117, PTH118 - as above
