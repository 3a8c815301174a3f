r"""Makes whole what JSON escapes of half characters, before the SDK refuses the message.

A server that cuts a description in the middle of an emoji sends `\ud83d` without its other half,
as many writers of JSON allow. The SDK takes such a message for none: all tools would be lost, and
whoever called one would wait for an answer that has come.
"""

from __future__ import annotations

import re

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
# Escapes are found one after the other, since a backslash may itself be escaped: those that are
# whole, what the end of the data leaves open, halves, and what is no escape.
_ESCAPE = re.compile(
    rb"(?:\\[^u]|\\u[0-9a-cA-Ce-fE-F]|\\u[dD][0-7]|\\u(?=[^0-9a-fA-F])|%(high)b%(low)b)+"
    rb"|(?P<open>(?:%(high)b(?:\\(?:u[0-9a-fA-F]{0,3})?)?|\\(?:u[0-9a-fA-F]{0,3})?)\Z)"
    rb"|(?P<halves>(?:%(high)b(?=%(high)b)|%(low)b)+|%(high)b)"
    rb"|\\." % {b"high": _HIGH, b"low": _LOW},
    re.DOTALL,
)
_LONGEST_OPEN = 11
_WHOLE = rb"\ufffd"


class Halves:
    """Repairs the escapes in JSON that comes in pieces; nothing changes its length."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, data: bytes) -> bytes:
        """Give what is known of the JSON so far; an escape that *data* leaves open is kept back."""
        if not (self._open or _HALF.search(data) or b"\\" in data[-_LONGEST_OPEN:]):
            return data
        data, self._open = self._open + data, b""
        return _ESCAPE.sub(self._repaired, data)

    def end(self) -> bytes:
        """Return what was kept back, since nothing follows."""
        kept, self._open = self._open, b""
        return re.sub(_HIGH, rb"\\ufffd", kept)

    def _repaired(self, found: re.Match[bytes]) -> bytes:
        if found["open"] is not None:
            self._open = found["open"]
            return b""
        halves = found["halves"]
        return found[0] if halves is None else _WHOLE * (len(halves) // len(_WHOLE))


def whole(data: bytes) -> bytes:
    """Repair the escapes in one JSON text."""
    halves = Halves()
    return halves.feed(data) + halves.end()
