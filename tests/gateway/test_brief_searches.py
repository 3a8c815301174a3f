"""Which searches of a gateway run in the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import pytest
from telemetrical import Noting

from mcpg.gateway import Gateway
from mcpg.search.caches import MemoryCache
from mcpg.search.results import EngineServices

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.gateway import FileSource

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio


@pytest.fixture
def mail(manifest: Manifest) -> FileSource:
    """Two tools of a manifest."""
    return manifest("mail", mail_send="Send a mail", mail_list="List the mails")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has been run in a thread."""
    found: list[Any] = []
    run_sync = anyio.to_thread.run_sync

    async def noted(work: Any, *given: Any, **how: Any) -> Any:
        found.append(work)
        return await run_sync(work, *given, **how)

    monkeypatch.setattr(anyio.to_thread, "run_sync", noted)
    return found


async def test_a_brief_search_takes_no_thread(mail: FileSource, threads: list[Any]) -> None:
    """Once an engine has answered, brief searches run in the event loop, with the same results."""
    async with Gateway([mail]) as gateway:
        first = await gateway.search("send a mail")
        assert threads
        threads.clear()
        assert await gateway.search("send a mail") == first
        assert await gateway.search("list", limit=1, min_score=0.1, abstain=True)
        assert not threads
        await gateway.build_index(force=True)
        threads.clear()
        assert (await gateway.search("send a mail")).matches == first.matches
        assert threads


async def test_a_warm_engine_takes_no_thread_at_once(mail: FileSource, threads: list[Any]) -> None:
    """After the warm-up, the first search runs in the event loop."""
    async with Gateway([mail]) as gateway:
        await gateway.warm_up()
        threads.clear()
        assert (await gateway.search("send a mail")).matches
        assert not threads


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("send " * 200, {}),
        ("", {}),
        (None, {}),
        ("send", {"context": "x" * 10}),
        ("send", {"context_tools": ["mail_list"]}),
        ("send", {"sources": ["mail"]}),
        ("send", {"categories": ["mail"]}),
        ("send", {"read_only": True}),
        ("send", {"rewrite": True}),
        ("send", {"strategy": "auto"}),
    ],
)
async def test_a_search_that_may_take_long_takes_a_thread(
    mail: FileSource, threads: list[Any], query: str | None, options: dict[str, Any]
) -> None:
    """Long queries, further options and other strategies hold nobody up."""
    async with Gateway([mail]) as gateway:
        await gateway.warm_up()
        threads.clear()
        await gateway.search(query, **options)
        assert threads


class Elsewhere:
    """A cache in another process."""

    def get(self, kind: str, key: str) -> bytes | None:
        """Find nothing."""

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Hold nothing."""


@pytest.mark.parametrize(
    ("services", "waits"),
    [
        (EngineServices(cache=Elsewhere()), True),
        (EngineServices(observer=Noting()), True),
        (EngineServices(cache=MemoryCache()), False),
    ],
    ids=["cache", "observer", "memory"],
)
async def test_a_service_is_waited_for_in_a_thread(
    mail: FileSource, threads: list[Any], services: EngineServices, waits: bool
) -> None:
    """A cache or an observer of a host may wait for others; one in memory does not."""
    async with Gateway([mail], services=services) as gateway:
        await gateway.warm_up()
        threads.clear()
        assert (await gateway.search("send a mail")).matches
        assert bool(threads) == waits


async def test_large_catalogues_take_a_thread(
    mail: FileSource, threads: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of many tools may take long."""
    monkeypatch.setattr("mcpg.gateway.gateway._MOST_TOOLS", 1)
    async with Gateway([mail]) as gateway:
        await gateway.warm_up()
        threads.clear()
        assert (await gateway.search("send a mail")).matches
        assert threads
