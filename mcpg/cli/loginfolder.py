"""The folder in which logins to servers are kept, which nothing empties."""

from __future__ import annotations

import os
import sys

VARIABLE = "MCPG_TOKENS"


def login_folder() -> str | None:
    """Give the user's folder for logins, which need not exist; `None` when there is none."""
    base = os.environ.get(VARIABLE) or _platforms()
    return os.path.abspath(base) if base else None  # noqa: PTH100 - as `cache_folder`


def _platforms() -> str | None:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")  # noqa: PTH111 - as above
    else:
        # By the XDG Base Directory Specification, a relative path counts as none.
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):  # noqa: PTH117 - as above
            base = os.path.expanduser("~/.local/share")  # noqa: PTH111 - as above
    return os.path.join(base, "mcpg", "logins") if os.path.isabs(base) else None  # noqa: PTH117, PTH118 - as above
