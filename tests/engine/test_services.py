"""What a host gives an engine beside the index: kept, handed on, and never touched by the graph."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest
from builders import make_engine, make_tool

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import Hints
from mcpg.search.caches import MemoryCache
from mcpg.search.results import EngineServices
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = (
    make_tool("order_get", description="Get an order."),
    make_tool("order_list", description="List orders."),
    make_tool("invoice_export", description="Export invoices."),
)


class Untouchable:
    """Raises at whatever is done with it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"the graph strategy asked for {name}")


def untouchable() -> EngineServices:
    """Give services of which no part may be touched."""
    return EngineServices(*[Untouchable() for _ in EngineServices.__match_args__])


@pytest.mark.parametrize("query", ["order", "order_get", "ordre", "zzqx", "", "get orders; export"])
def test_the_graph_touches_no_services(query: str) -> None:
    """Searching, explaining and asking why not are done without any provider or store."""
    plain = make_engine(*TOOLS)
    served = mcpg.Engine(
        plain.index, services=untouchable()._replace(cache=None, candidates=None, observer=None)
    )

    assert served.search(query) == plain.search(query)
    assert served.explain(query).result == plain.search(query)
    if query:
        assert served.explain(query, tool="order_list").tool is not None


class Provider:
    """Makes vectors, and raises where a test says."""

    def __init__(self, bad: str, fault: object) -> None:
        self.bad, self.fault = bad, fault

    def __getattr__(self, name: str) -> object:
        """Return the fingerprint, the dimensions or a method, or what the test says."""
        if name != self.bad:
            return {"fingerprint": "mine", "dimensions": 2, "embed": embed}[name]
        if isinstance(self.fault, Exception):
            raise self.fault
        return self.fault


def embed(texts: list[str]) -> list[list[float]]:
    """Return a row for each text."""
    return [[1.0, float(len(text))] for text in texts]


# A provider without `embed_queries` raises AttributeError for it, and nothing is wrong with it.
BAD = [
    (name, fault)
    for name in ("fingerprint", "dimensions", "embed", "embed_queries")
    for fault in (RuntimeError("secret"), AttributeError("secret"), 1.5)
    if (name, type(fault)) != ("embed_queries", AttributeError)
]


@pytest.mark.parametrize(("bad", "fault"), BAD)
def test_a_provider_may_fail_in_any_way(bad: str, fault: object) -> None:
    """Whatever is wrong with a provider of the host's, the graph answers and says why."""
    plain = make_engine(*TOOLS)
    served = mcpg.Engine(plain.index, services=EngineServices(Provider(bad, fault)))

    for strategy in ("auto", "embeddings"):
        result = served.search("list orders", strategy=strategy)
        assert result.matches == plain.search("list orders").matches
        assert "graph_fallback" in {one.code for one in result.diagnostics}
        assert not any("secret" in one.message for one in result.diagnostics)


def test_without_numpy_the_graph_answers() -> None:
    """An installation without any extra has no vectors; whoever makes them, the search says so."""
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import mcpg\n"
        "from mcpg.embeddings import FunctionEmbeddings\n"
        "from mcpg.embeddings.http import HttpEmbeddings\n"
        "makers = FunctionEmbeddings(lambda texts: [[1.0]] * len(texts), 'mine'), "
        "HttpEmbeddings('http://localhost:1/v1', 'small')\n"
        "for maker in ('local', *makers):\n"
        "    for strategy in ('auto', 'embeddings'):\n"
        "        engine = mcpg.load(sys.argv[1], embeddings=maker)\n"
        "        result = engine.search('weather', strategy=strategy)\n"
        "        assert result.matches == engine.search('weather').matches\n"
        "        print(*[one.code for one in result.diagnostics if 'numpy' in one.message])\n"
    )
    command = [sys.executable, "-c", code, "examples/tools"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split("\n") == ["embedding_generator_missing"] * 6 + [""]


class Rewriter:
    """Rewrites, but does not say who it is, nor how long it takes."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("secret")

    def rewrite(self, _: str) -> str:
        """Rewrite."""
        return "list orders"


def test_a_normaliser_may_fail_in_any_way() -> None:
    """Whatever is wrong with a rewriter of the host's, the query is searched as it is."""
    plain = make_engine(*TOOLS)
    served = mcpg.Engine(
        plain.index, services=EngineServices(rewriter=Rewriter(), cache=MemoryCache())
    )

    result = served.search("покажи заказы orders", rewrite=True)

    assert result.matches == plain.search("покажи заказы orders").matches
    assert not any("secret" in one.message for one in result.diagnostics)


def test_a_loaded_engine_keeps_what_it_was_given(tmp_path: Path) -> None:
    """What `load` is given arrives in the engine, and knows beside which bundle vectors lie."""
    path = str(tmp_path / "graph.mdld")
    write_bundle(tmp_path / "graph.mdld", build_bundle(assemble(SourceBatch(tools=TOOLS))))
    given = untouchable()
    arguments = {
        name: getattr(given, name)
        for name in ("store", "rewriter", "cache", "candidates", "reranker")
    }

    for _ in ("made anew", "opened"):
        engine = mcpg.load(path, embeddings=given.embeddings, **arguments)
        assert engine.services == given._replace(vectors=path, kept=None, observer=None)
    assert mcpg.load(path).services == EngineServices("local", vectors=path)


def test_changed_hints_keep_the_provider_and_drop_the_vectors() -> None:
    """A tool with other hints has another text, so what is embedded of it is made anew."""
    given = untouchable()
    engine = mcpg.Engine(make_engine(*TOOLS).index, services=given)

    changed = engine.with_hints("order_get", Hints(keywords=("parcel",)))

    assert changed.services == given._replace(vectors=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fusion": "best", "strategy": "auto"}, "no fusion is called 'best'"),
        ({"fusion": "rrf"}, "the strategy 'graph' has only one list"),
        ({"fusion": "learned", "strategy": "markdown-ld"}, "the strategy 'graph' has only one"),
        ({"fusion": "learned", "strategy": "embeddings"}, "the strategy 'embeddings' has only one"),
    ],
)
def test_a_fusion_needs_two_lists(arguments: dict[str, str], message: str) -> None:
    """A fusion that is unknown, or has nothing to fuse, is refused."""
    with pytest.raises(mcpg.UsageError, match=message):
        make_engine(*TOOLS).search("order", **arguments)
