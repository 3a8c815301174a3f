"""What servers last said of their tools, and when their announcements are worth asking again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from mcpg.catalog.sources.live.listing import Listing
    from mcpg.catalog.sources.servers import Server

RESTS = 1.0, 60.0
"""The shortest and the longest rest, in seconds, of a server that announces what is no news."""


@dataclass(slots=True)
class _Said:
    """What a server has said.

    Attributes:
        server: The server.
        tools: A hash of its tools, `None` before it has told them.
        heard: When it told them.
        rest: Seconds after that in which an announcement waits.
        is_announced: Whether it has announced a change since.
        waking: Ends the waiting of an announcement, `None` while none waits.
    """

    server: Server
    tools: int | None = None
    heard: float = 0.0
    rest: float = 0.0
    is_announced: bool = False
    waking: anyio.Event | None = None


class News:
    """What servers have said.

    A server may announce a change whenever it is asked for its tools, which then are asked for
    without end. One whose tools are the same as before rests, ever longer, until they differ.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._known: list[_Said] = []

    def is_known(self, server: Server) -> bool:
        """Return whether *server* has told its tools before."""
        return any(one.server == server and one.tools is not None for one in self._known)

    def heard(self, server: Server, listing: Listing) -> bool:
        """Take note of what *server* tells; say whether that is something else than before."""
        said = self._of(server)
        before, said.tools = said.tools, hash(json.dumps(listing.tools, sort_keys=True))
        if said.tools != before:
            said.rest = 0.0
            if said.waking is not None:
                said.waking.set()
        elif said.is_announced:
            shortest, longest = RESTS
            said.rest = min(max(shortest, 2 * said.rest), longest)
        said.is_announced = False
        said.heard = anyio.current_time()
        return before is not None and before != said.tools

    async def wait(self, server: Server) -> bool:
        """Take note that *server* announces a change, and wait until it may be asked.

        Returns:
            Whether to ask it; not where an earlier announcement still waits.
        """
        said = self._of(server)
        said.is_announced = True
        if said.waking is not None:
            return False
        said.waking = anyio.Event()
        try:
            rest = said.heard + said.rest - anyio.current_time()
            with anyio.move_on_after(rest):
                await said.waking.wait()
        finally:
            said.waking = None
        return True

    def _of(self, server: Server) -> _Said:
        for one in self._known:
            if one.server == server:
                return one
        self._known.append(_Said(server))
        return self._known[-1]
