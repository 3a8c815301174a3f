"""The folder for what can be made again, where the platform keeps such things."""

from __future__ import annotations

import os
import sys

VARIABLE = "MCPG_CACHE"


def cache_folder() -> str | None:
    """Return the user's cache folder for mcpg, which need not exist; `None` when there is none."""
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


# The folder in which logins to servers are kept, which nothing empties.


LOGIN_VARIABLE = "MCPG_TOKENS"


def login_folder() -> str | None:
    """Return the user's folder for logins, which need not exist; `None` when there is none."""
    base = os.environ.get(LOGIN_VARIABLE) or _default_login_folder()
    return os.path.abspath(base) if base else None  # noqa: PTH100 - as `cache_folder`


def _default_login_folder() -> str | None:
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
