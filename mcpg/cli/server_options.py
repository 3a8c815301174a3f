"""The options that concern servers: headers and timeouts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from mcpg.cli.environment import login_folder
from mcpg.errors import UsageError
from mcpg.net.addresses import TCHAR
from mcpg.sources.client_config import DEFAULT_TIMEOUT, MAX_TIMEOUT, Live

_HEADER = re.compile(rf"({TCHAR}+):[ \t]*([^\r\n\0]*)")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


class ServerOptions:
    """The options that concern servers.

    Attributes:
        asked: Whether a server was queried, so that the sources may differ at the next run.
    """

    def __init__(
        self,
        sources: Sequence[str],
        headers: Sequence[str] | None = None,
        seconds: float | None = None,
        *,
        takes_document: bool = False,
    ) -> None:
        self.asked = False
        self.hosts = frozenset(one.split("/")[2] for one in sources if _ADDRESS.match(one))
        if headers and len(self.hosts) != 1 and (self.hosts or not takes_document):
            message = "headers need exactly one server that they are sent to"
            remedy = "name one https://HOST/PATH, or write several servers into a configuration"
            raise UsageError(message, place="--header", remedy=remedy)
        self._headers = _headers(headers or ())
        if seconds is not None and not 0 < seconds <= MAX_TIMEOUT:
            message = f"{seconds:g} is not a valid timeout"
            remedy = f"use seconds above 0, up to {MAX_TIMEOUT}"
            raise UsageError(message, place="--server-timeout", remedy=remedy)
        self.seconds = seconds

    def live(self, tell: Callable[[int, int], None] | None = None) -> Live:
        def note_progress(done: int, of: int) -> None:
            self.asked = True
            if tell is not None:
                tell(done, of)

        seconds = self.seconds or DEFAULT_TIMEOUT
        return Live(os.environ, self._headers, seconds, note_progress, login_folder())


def _headers(headers: Sequence[str]) -> dict[str, str]:
    found = [_HEADER.fullmatch(header) for header in headers]
    if None in found:
        remedy = "write 'Name: value'; its value is not shown here"
        raise UsageError("invalid header", place="--header", remedy=remedy)
    return {one[1]: one[2].strip() for one in found if one is not None}
