"""Header fields of HTTP: names and values that can be sent (RFC 9110, section 5)."""

from __future__ import annotations

import re

TCHAR = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
"""The pattern of a character of a token, such as the name of a field or a media type has."""

_NAME = re.compile(f"{TCHAR}+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def is_header_name(text: str) -> bool:
    """Return whether *text* can be the name of a header field."""
    return _NAME.fullmatch(text) is not None


def has_control(text: str) -> bool:
    """Return whether *text* has a control character other than a tab: no value may have one."""
    return _CONTROL.search(text) is not None
