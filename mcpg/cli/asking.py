"""How the servers among the sources are asked: options and environment."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING

from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcpg.catalog.sources.servers import Live

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
LONGEST = 86_400
"""Seconds that a server can have at most."""


class Asking:
    """The options that concern servers, checked.

    Attributes:
        asked: Whether a server was asked, so that nothing tells whether the sources are the same.
    """

    def __init__(
        self, sources: Sequence[str], headers: Sequence[str] | None, seconds: float
    ) -> None:
        """Check the options.

        Raises:
            UsageError: One makes no sense.
        """
        self.asked = False
        self._headers = _headers(sources, headers or ())
        if not (math.isfinite(seconds) and 0 < seconds <= LONGEST):
            raise UsageError(
                f"{seconds:g} is no time that a server can have",
                place="--server-timeout",
                remedy=f"give seconds above 0, up to {LONGEST}",
            )
        self._seconds = seconds

    def live(self, tell: Callable[[int, int], None]) -> Live:
        """Give what sources need to know; progress goes to *tell*."""
        from mcpg.catalog.sources.servers import Live  # noqa: PLC0415 - help does without

        def told(done: int, of: int) -> None:
            self.asked = True
            tell(done, of)

        return Live(os.environ, self._headers, self._seconds, told)


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
