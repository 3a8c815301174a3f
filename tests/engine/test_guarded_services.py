"""Whatever a host brings may fail in any way: the graph answers, and a diagnostic says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import pytest
from builders import make_engine, make_tool

from mcpg.embeddings import MemoryStore
from mcpg.engine import Engine, EngineServices
from mcpg.search.caches import MemoryCache

TOOLS = [
    make_tool(name, description=f"{name} of a shop.")
    for name in ("order_get", "order_list", "invoice_export", "invoice_send")
]
PLAIN = make_engine(*TOOLS)
SECRET = "p4ssw0rd"


class Provider:
    """Makes vectors of two numbers."""

    fingerprint = "mine"
    dimensions = 2

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Return a row for each text."""
        return [[1.0, float(len(text) % 7)] for text in texts]


class Candidates:
    """Chooses every tool."""

    def candidates(self, _query: str, _vector: object, _count: int) -> list[str]:
        """Return all ids."""
        return [tool.id for tool in TOOLS]


class Rewriter:
    """Rewrites nothing."""

    fingerprint = "mine"

    def rewrite(self, query: str) -> str:
        """Return the query."""
        return query


class Watching:
    """Observes nothing."""

    @contextmanager
    def search(self, _query: str, _strategy: str) -> Iterator[Callable[[object], None]]:
        """Observe a search."""
        yield lambda _: None

    @contextmanager
    def vectors(self) -> Iterator[Callable[[object], None]]:
        """Observe the making of vectors."""
        yield lambda _: None

    build = vectors


KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "embeddings": (Provider, ("fingerprint", "dimensions", "embed", "embed_queries")),
    "store": (MemoryStore, ("get", "put", "building")),
    "cache": (MemoryCache, ("get", "put")),
    "candidates": (Candidates, ("candidates", "fingerprint", "of", "by", "offered")),
    "observer": (Watching, ("search", "vectors")),
    "rewriter": (Rewriter, ("rewrite", "fingerprint", "seconds")),
}
# Thousands of searches take three times as long where they are traced; these few reach what all do.
UNTRACED = pytest.mark.untraced
TRACED = ("embeddings", "store")
# `auto` uses every service, `embeddings` mainly those of vectors.
KINDS_AND_STRATEGIES = [
    *((kind, "auto") for kind in KINDS),
    *((kind, "embeddings") for kind in TRACED),
]
FAULTS: list[Exception] = [
    *(RuntimeError(SECRET), KeyError(SECRET), OSError(5, SECRET), TimeoutError(SECRET)),
    *(MemoryError(SECRET), RecursionError(SECRET), AssertionError(SECRET), StopIteration(SECRET)),
]
ODD: list[Any] = [
    *(None, 1, 1.5, float("nan"), "x", b"x", [], {}, [None], {1: 2}, [[float("nan")] * 2] * 4),
    *(np.full((4, 2), np.inf), np.zeros((4, 2)), np.zeros((1, 3)), np.zeros(0), object()),
    *(["order_get", 3], ["no such tool"], ["order_get"] * 1_000, "\ud800", [[10**400]], [["a"]]),
]


def raising(fault: Exception) -> Callable[..., NoReturn]:
    """Return a function that raises *fault*."""

    def function(*_: object, **__: object) -> NoReturn:
        raise fault

    return function


def search(kind: str, service: Any, strategy: str) -> None:
    """Search with a *service* that may be of no use, and see that there is an answer."""
    services: dict[str, Any] = {"embeddings": Provider(), "store": MemoryStore()} | {kind: service}
    engine = Engine(PLAIN.index, services=EngineServices(**services))
    for _ in range(2):
        result = engine.search("покажи orders", strategy=strategy, rewrite=kind == "rewriter")  # type: ignore[arg-type]
        assert result.matches
        assert not any(SECRET in one.message for one in result.diagnostics)


@pytest.mark.parametrize(
    ("kind", "strategy", "method"),
    [
        pytest.param(kind, strategy, one, marks=() if kind in TRACED else UNTRACED)
        for kind, strategy in KINDS_AND_STRATEGIES
        for one in KINDS[kind][1]
    ],
)
def test_a_method_may_raise_or_return_anything(kind: str, method: str, strategy: str) -> None:
    """Every method of every service may raise any error, and return what it should not."""
    made, _ = KINDS[kind]
    returning = [lambda *_, odd=odd, **__: odd for odd in ODD]
    for part in (*map(raising, FAULTS), *returning, *ODD):
        behaviour = staticmethod(part) if callable(part) else part
        search(kind, type("Broken", (made,), {method: behaviour})(), strategy)


@pytest.mark.untraced
@pytest.mark.parametrize(("kind", "strategy"), KINDS_AND_STRATEGIES)
def test_a_service_may_be_of_another_kind(kind: str, strategy: str) -> None:
    """What is no service at all fails as one that is broken."""
    for odd in ODD:
        if not (kind == "embeddings" and isinstance(odd, str)):  # the name of a provider
            search(kind, odd, strategy)


@pytest.mark.parametrize(
    ("kind", "method", "code"),
    [
        ("embeddings", "embed", "embedding_failed"),
        ("store", "get", "embedding_store_load_failed"),
        ("store", "put", "embedding_store_save_failed"),
        ("cache", "get", "search_cache_failed"),
        ("candidates", "candidates", "candidates_failed"),
        ("observer", "search", "telemetry_failed"),
        ("rewriter", "rewrite", "query_normalization_failed"),
    ],
)
def test_a_failure_is_reported(kind: str, method: str, code: str) -> None:
    """The diagnostic names what failed, and the type of the error."""
    made, _ = KINDS[kind]
    service = type("Broken", (made,), {method: raising(RuntimeError(SECRET))})()
    services: dict[str, Any] = {"embeddings": Provider()} | {kind: service}
    engine = Engine(PLAIN.index, services=EngineServices(**services))
    result = engine.search("покажи список orders", strategy="auto", rewrite=True)
    told = [one.message for one in result.diagnostics if one.code == code]
    assert any("RuntimeError" in message for message in told)
