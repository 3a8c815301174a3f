"""How the servers among the sources are asked: options and environment."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcpg.cli.loginfolder import login_folder
from mcpg.errors import UsageError
from mcpg.net.headers import TCHAR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcpg.catalog.sources.servers import Live

_HEADER = re.compile(rf"({TCHAR}+):[ \t]*([^\r\n\0]*)")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
LONGEST = 86_400
"""Seconds that a server can have at most."""


class Asking:
    """The options that concern servers, checked.

    Attributes:
        asked: Whether a server was asked, so that nothing tells whether the sources are the same.
        seconds: Time that each server is said to have, `None` where nothing is said.
    """

    def __init__(
        self,
        sources: Sequence[str],
        headers: Sequence[str] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Check the options.

        Raises:
            UsageError: One makes no sense.
        """
        self.asked = False
        self._headers = _headers(sources, headers or ())
        if seconds is not None and not 0 < seconds <= LONGEST:
            raise UsageError(
                f"{seconds:g} is no time that a server can have",
                place="--server-timeout",
                remedy=f"give seconds above 0, up to {LONGEST}",
            )
        self.seconds = seconds

    def live(self, tell: Callable[[int, int], None] | None = None) -> Live:
        """Give what sources need to know; progress goes to *tell*."""
        from mcpg.catalog.sources.servers import (  # noqa: PLC0415 - help does without
            DEFAULT_TIMEOUT,
            Live,
        )

        def told(done: int, of: int) -> None:
            self.asked = True
            if tell is not None:
                tell(done, of)

        seconds = self.seconds or DEFAULT_TIMEOUT
        return Live(os.environ, self._headers, seconds, told, login_folder())


def _headers(sources: Sequence[str], headers: Sequence[str]) -> dict[str, str]:
    if not headers:
        return {}
    hosts = {source.split("/")[2] for source in sources if _ADDRESS.match(source)}
    if len(hosts) != 1:
        raise UsageError(
            "there must be one server for headers to be sent to",
            place="--header",
            remedy="name one https://HOST/PATH, or write several servers into a configuration",
        )
    found = [_HEADER.fullmatch(header) for header in headers]
    if None in found:
        raise UsageError(
            "this is no header",
            place="--header",
            remedy="write 'Name: value'; its value is not shown here",
        )
    return {one[1]: one[2].strip() for one in found if one is not None}
