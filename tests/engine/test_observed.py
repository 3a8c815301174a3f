"""What an engine tells an observer, and that one without does nothing more."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from builders import ids, make_engine, make_tool
from loopback import Conversation, serving
from telemetrical import MOMENTS, Noting, Raising
from vectorial import FailingProvider, HashProvider, TopicProvider

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import HintRule
from mcpg.embeddings import EmbeddingError, FunctionEmbeddings, count_tokens
from mcpg.embeddings.http import HttpEmbeddings
from mcpg.index import tables
from mcpg.llm import FunctionRewriter
from mcpg.search.caches import MemoryCache
from mcpg.search.results import EngineServices
from mcpg.sources import SourceBatch
from mcpg.telemetry import BuildFacts, SearchFacts, VectorFacts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from mcpg.engine import Engine

TOOLS = (
    make_tool("order_get", description="Get an order of a customer."),
    make_tool("order_list", description="List the orders of a customer."),
    make_tool("parcel_track", description="Tell where a parcel is.", keywords=("courier",)),
    make_tool("invoice_export", description="Export invoices of orders."),
)
RULES = (HintRule("order_get", related=("order_list",), next_steps=("parcel_track",)),)
INDEX = make_engine(*TOOLS, rules=RULES).index
PLAIN = mcpg.Engine(INDEX)
FOREIGN = "де моя посилка"


def watched(**services: Any) -> tuple[Engine, Noting]:
    """Return an engine, and who watches it."""
    noting = Noting()
    return mcpg.Engine(INDEX, services=EngineServices(observer=noting, **services)), noting


@pytest.mark.parametrize("query", ["order_get", "where is my parcel", "", "zzqx"])
def test_a_search_is_told_with_its_counts(query: str) -> None:
    """The observer hears of its beginning, and then what came of it; the answer is the same."""
    engine, noting = watched()
    result = engine.search(query, limit=2)
    assert result == PLAIN.search(query, limit=2)

    begun, facts = noting.noted
    assert begun == ("search", query, "graph")
    shown = (facts.matches, facts.related, facts.next_steps)
    lists = (result.matches, result.related_matches, result.next_step_matches)
    assert shown == tuple(map(len, lists))
    assert (facts.nodes, facts.edges) == (result.focused_graph.nodes, result.focused_graph.edges)
    assert (facts.strategy, facts.mode) == ("graph", result.ranking_mode)
    assert (facts.used_vector, facts.used_graph) == (False, bool(query))
    assert (facts.vector_seconds, facts.vector_tokens) == (None, None)
    assert (facts.graph_seconds is None) == (not query)
    assert (facts.is_cached, facts.is_normalized) == (False, False)


def test_times_are_parts_of_the_whole() -> None:
    """The times of the stages add up to no more than the search took, by the same clock."""
    engine, noting = watched(embeddings=TopicProvider())
    start = time.perf_counter()
    engine.search("parcel", strategy="auto")
    took = time.perf_counter() - start
    (facts,) = noting.facts(SearchFacts)
    assert facts.vector_seconds > 0
    assert facts.graph_seconds > 0
    assert facts.vector_seconds + facts.graph_seconds <= took


def test_vectors_and_the_graph_are_told_apart() -> None:
    """A hybrid result used both; what the ranking did not use is said so."""
    engine, noting = watched(embeddings=TopicProvider())
    for strategy in ("auto", "embeddings", "graph"):
        engine.search("order of a customer", strategy=strategy, limit=1)
    found = [(one.mode, one.used_vector, one.used_graph) for one in noting.facts(SearchFacts)]
    assert found == [
        ("hybrid", True, True),
        ("vector", True, False),
        ("graph", False, True),
    ]


def test_the_vectors_of_tools_are_told_once() -> None:
    """They are made inside the first search that asks for them, and are told by themselves."""
    engine, noting = watched(embeddings=HashProvider())
    for _ in range(2):
        engine.search("parcel", strategy="auto")
    (facts,) = noting.facts(VectorFacts)
    assert facts == VectorFacts(4, 4, 4, None)
    assert [one for one in noting.noted if isinstance(one, tuple)] == [
        ("search", "parcel", "auto"),
        ("vectors",),
        ("search", "parcel", "auto"),
    ]


def test_tokens_are_those_that_the_endpoint_counts() -> None:
    """Those of tools belong to the index, and those of a query to its search."""

    def embed(conversation: Conversation) -> None:
        texts = conversation.asked.body["input"]
        rows = [{"index": n, "embedding": [1.0, len(text)]} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": sum(len(text.split()) for text in texts)}
        conversation.send({"data": rows, "usage": usage})

    with serving(embed) as server:
        provider = HttpEmbeddings(server.url, "small")
        engine, noting = watched(embeddings=provider)
        engine.search("three small words", strategy="auto")
        assert noting.facts(SearchFacts)[0].vector_tokens == 3
        of_tools = noting.facts(VectorFacts)[0].tokens
        assert of_tools == provider.usage.input_tokens - 3
        assert of_tools > 3
        provider.close()


def test_tokens_of_threads_stay_apart() -> None:
    """Searches side by side each have their own tokens, though they share the provider."""
    together = threading.Barrier(4)

    def embed(texts: list[str]) -> NDArray[np.float64]:
        if texts[0].startswith("query"):
            together.wait(timeout=30)
            count_tokens(int(texts[0].split()[1]))
        return np.ones((len(texts), 2))

    engine, noting = watched(embeddings=FunctionEmbeddings(embed, "counting"))
    engine.search("first", strategy="embeddings")
    threads = [
        threading.Thread(target=engine.search, args=(f"query {n}",), kwargs={"strategy": "auto"})
        for n in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tokens = [one.vector_tokens for one in noting.facts(SearchFacts)]
    assert tokens[0] is None
    assert sorted(tokens[1:]) == [1, 2, 3, 4]


def test_a_provider_that_fails_is_told_by_what_it_took() -> None:
    """The graph ranked, after vectors had been tried in vain."""
    engine, noting = watched(embeddings=FailingProvider(RuntimeError("sk-secret")))
    assert engine.search("parcel", strategy="auto").ranking_mode == "graph"
    (facts,) = noting.facts(SearchFacts)
    assert (facts.strategy, facts.mode, facts.used_vector) == ("auto", "graph", False)
    assert facts.vector_seconds > 0
    assert facts.graph_seconds > 0
    assert noting.noted[:3] == [
        ("search", "parcel", "auto"),
        ("vectors",),
        EmbeddingError,
    ]


def test_a_result_from_the_cache_took_no_stages() -> None:
    """Neither times nor tokens of vectors or graph are told, but what the result is."""
    engine, noting = watched(cache=MemoryCache(), embeddings=TopicProvider())
    for _ in range(3):
        engine.search("where is my parcel", strategy="auto")
    made, *found = noting.facts(SearchFacts)
    assert not made.is_cached
    assert made.vector_seconds > 0
    for facts in found:
        assert facts.is_cached
        assert facts.vector_seconds is facts.graph_seconds is facts.vector_tokens is None
        assert (facts.mode, facts.matches) == (made.mode, made.matches)


def test_a_rewritten_query_is_one_search() -> None:
    """Both of its searches are parts of it, and so is the comparison of their vectors."""
    rewriter = FunctionRewriter(lambda _: "where is my parcel", "test")
    engine, noting = watched(embeddings=TopicProvider(), rewriter=rewriter)
    result = engine.search(FOREIGN, strategy="auto", rewrite=True)
    assert result.normalized_query == "where is my parcel"
    (facts,) = noting.facts(SearchFacts)
    assert facts.is_normalized
    assert facts.normalized_query == result.normalized_query
    assert facts.vector_seconds > 0
    assert facts.graph_seconds > 0

    engine.search("where is my parcel", rewrite=True)
    assert noting.facts(SearchFacts)[1].is_normalized is False


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("cache", [None, MemoryCache])
def test_an_observer_that_raises_breaks_no_search(moment: str, cache: Any) -> None:
    """The answer is whole, with a diagnostic, which no cache keeps."""
    kept = cache() if cache else None
    services = EngineServices(TopicProvider(), cache=kept, observer=Raising(moment))
    broken = mcpg.Engine(INDEX, services=services)
    whole = mcpg.Engine(INDEX, services=EngineServices(TopicProvider(), cache=kept))
    for strategy in ("graph", "auto", "auto"):
        found = broken.search("parcel", strategy=strategy)
        assert [one.code for one in found.diagnostics].count("telemetry_failed") == 1
        wanted = whole.search("parcel", strategy=strategy)
        assert ids(found.matches) == ids(wanted.matches)
        assert "telemetry_failed" not in [one.code for one in wanted.diagnostics]


def test_what_a_search_raises_reaches_caller_and_observer() -> None:
    """An error of the searcher passes through the observer."""
    noting = Noting()

    class Candidates:
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    services = EngineServices(candidates=Candidates(), observer=noting)
    with pytest.raises(KeyboardInterrupt):
        mcpg.Engine(INDEX, services=services).search("order")
    assert noting.noted == [("search", "order", "graph")]
    with pytest.raises(mcpg.UsageError):
        mcpg.Engine(INDEX, services=services).search("order", limit=0)
    assert len(noting.noted) == 1


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle without an index."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=TOOLS, rules=RULES))))
    return path


def test_an_index_that_is_made_is_told(bundle: Path) -> None:
    """Loading tells of an index that it makes, with its counts, and not of one that it opens."""
    noting = Noting()
    for _ in range(2):
        engine = mcpg.load(bundle, embeddings=None, observer=noting)
    begun, facts = noting.noted
    assert begun == ("build",)
    assert isinstance(facts, BuildFacts)
    assert (facts.tools, facts.vectorized, facts.has_graph) == (4, None, True)
    groups = {group for document in engine.documents.values() for group in document.groups}
    links = sum(len(document.links) for document in engine.documents.values())
    memberships = sum(len(document.groups) for document in engine.documents.values())
    assert facts.nodes == 4 + len(groups)
    assert facts.edges == links + memberships


def test_a_failed_build_is_told_with_its_error(tmp_path: Path) -> None:
    """What cannot be loaded is a build that ended in an error."""
    noting = Noting()
    with pytest.raises(mcpg.McpgError):
        mcpg.load(tmp_path / "missing", observer=noting)
    assert noting.noted[0] == ("build",)
    assert issubclass(noting.noted[1], mcpg.McpgError)


def damage(bundle: Path) -> None:
    """Turn round most of the bytes of the index, where they lie."""
    with bundle.with_name(f"{bundle.name}.idx").open("r+b") as file:
        data = file.read()
        start = len(data) // 4
        file.seek(start)
        file.write(bytes(byte ^ 0xFF for byte in data[start:]))


def test_an_index_that_is_mended_is_told_within_one_search(bundle: Path) -> None:
    """Damage that a search comes upon is mended inside it: one search, one build."""
    noting = Noting()
    engine = mcpg.load(bundle, embeddings=None, observer=noting)
    noting.noted.clear()
    damage(bundle)
    assert engine.search("order") == PLAIN.search("order")
    told = [one for one in noting.noted if isinstance(one, tuple)]
    assert told == [("search", "order", "graph"), ("build",)]
    assert [type(one) for one in noting.noted[2:]] == [BuildFacts, SearchFacts]


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_a_damaged_index_is_told_when_it_is_opened(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """An index that loading finds damaged is made anew, which is a build; a large one as well."""
    mcpg.load(bundle)
    damage(bundle)
    monkeypatch.setattr(tables, "CHECKED_SIZE", size)
    noting = Noting()
    mcpg.load(bundle, embeddings=None, observer=noting)
    assert [type(one) for one in noting.noted] == [tuple, BuildFacts]


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_observer_that_raises_breaks_no_build(bundle: Path, moment: str) -> None:
    """The index is made, and what the observer raised is told by the engine."""
    engine = mcpg.load(bundle, embeddings=None, observer=Raising(moment))
    assert [one.code for one in engine.diagnostics] == ["telemetry_failed"]
    assert engine.search("order").matches


def test_without_an_observer_nothing_is_imported(bundle: Path) -> None:
    """An engine that nobody watches imports neither telemetry nor OpenTelemetry."""
    script = (
        "import sys, mcpg; mcpg.load(sys.argv[1]).search('order');"
        "print(*[name for name in sys.modules"
        " if 'telemetry' in name or name == 'mcpg.search.telemetry'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(bundle)], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []


def test_without_an_observer_no_clock_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that nobody watches measures nothing."""

    def read() -> float:
        raise AssertionError("a clock was read")

    engine = mcpg.Engine(INDEX, services=EngineServices(TopicProvider()))
    engine.search("order", strategy="auto")
    for clock in ("perf_counter", "time", "time_ns", "monotonic"):
        monkeypatch.setattr(time, clock, read)
    assert engine.search("order", strategy="auto").matches
    assert engine.search("order").matches


def test_changed_hints_keep_the_observer() -> None:
    """An engine with other hints is watched as well."""
    engine, noting = watched()
    engine.with_hints("order_get", mcpg.Hints(keywords=("shop",))).search("shop")
    assert noting.noted[0] == ("search", "shop", "graph")
