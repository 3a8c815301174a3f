"""Strategies with vectors: their order, what the graph adds, and what happens without vectors."""

from __future__ import annotations

import time
from math import fsum, inf
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

import mcpg
from mcpg.catalog.model import HintRule
from mcpg.embeddings import EmbeddingError, FunctionEmbeddings
from mcpg.engine.loading import shipped_ranking
from mcpg.errors import Code
from mcpg.search import guards
from mcpg.search.caches import MemoryCache
from mcpg.search.guards import RESET_SECONDS
from mcpg.search.hybrid import LEAST_WEIGHT, MOST_WEIGHT, closeness, find_scheme
from mcpg.search.hybrid_model import SCHEMES
from mcpg.search.index_vectors import IndexVectors, VectorScores
from mcpg.search.results import EngineServices
from mcpg.vectors.matrix import ToolVectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TOPICS = (
    ("parcel", "shipment", "courier", "посилка"),
    ("invoice", "bill", "payment"),
    ("order", "purchase", "basket"),
    ("weather", "forecast", "umbrella"),
)
TOOLS = (
    make_tool("shipment_status", description="Tell where a shipment is."),
    make_tool("shipment_create", description="Create a shipment for an order."),
    make_tool("shipment_cancel", description="Cancel a shipment.", enabled_by_default=False),
    make_tool("invoice_export", description="Export the invoices of an order."),
    make_tool("order_list", description="List the orders of a customer."),
    make_tool("weather_forecast", description="The weather of tomorrow."),
    make_tool("rate_lookup", description="Payment terms.", aliases=("blue ledger",)),
)
RULES = (
    HintRule("shipment_status", related=("shipment_create", "weather_forecast")),
    HintRule("invoice_export", related=("order_list",), next_steps=("rate_lookup",)),
)


def topics(texts: list[str]) -> NDArray[np.float64]:
    """Count in each text the words of each topic."""
    rows = [[sum(text.lower().count(word) for word in one) for one in TOPICS] for text in texts]
    return np.array(rows, dtype=float) + 1e-3


PLAIN = make_engine(*TOOLS, rules=RULES)


def engine_with(function: Callable[[list[str]], Any], **others: Any) -> mcpg.Engine:
    """Return an engine whose vectors *function* makes."""
    provider = FunctionEmbeddings(function, "a test")
    return mcpg.Engine(PLAIN.index, services=EngineServices(provider, **others))


ENGINE = engine_with(topics)
WAYS: list[dict[str, str]] = [
    {"strategy": "embeddings"},
    {"strategy": "auto", "fusion": "cosine"},
    {"strategy": "auto"},
    {"strategy": "auto", "fusion": "rrf"},
]


def codes(result: mcpg.SearchResult) -> set[str]:
    """Return the codes of the diagnostics of *result*."""
    return {diagnostic.code for diagnostic in result.diagnostics}


def on_queries(act: Callable[[], Any]) -> Callable[[list[str]], Any]:
    """Make vectors of tools; of a query give or raise what *act* does."""
    return lambda texts: topics(texts) if len(texts) > 1 else act()


def test_embeddings_rank_by_cosine() -> None:
    """Words that no tool has find what they mean, in order of the cosine, and nothing is added."""
    result = ENGINE.search("where is my посилка", strategy="embeddings", limit=3)

    assert ids(result.matches)[0] == "shipment_status"
    assert result.ranking_mode == "vector"
    assert (result.related_matches, result.next_step_matches) == ((), ())
    explained = ENGINE.explain("where is my посилка", strategy="embeddings", limit=3)
    assert explained.matches[0].contributions[0].feature == "vectorCosine"


@given(st.lists(st.integers(-3, 3), min_size=7, max_size=7), st.integers(-3, 3))
def test_the_order_of_embeddings_is_that_of_the_cosines(heights: list[int], asked: int) -> None:
    """Every tool stands where its cosine with the query puts it, the smaller id first of equals."""

    def unit(height: int) -> NDArray[np.float32]:
        return np.array([1, height], dtype=np.float32) / np.float32(1 + height**2) ** 0.5

    vectors = ToolVectors.from_rows([unit(height) for height in heights], "a test")
    engine = engine_with(lambda _: [unit(asked)], vectors=vectors)
    explained = engine.explain("shipment", strategy="embeddings", limit=9, include_disabled=True)
    cosines = {
        tool.id: float(unit(height) @ unit(asked))
        for tool, height in zip(engine.tools, heights, strict=True)
    }

    found = {one.tool_id: one.fused_score for one in explained.matches}
    assert found == pytest.approx(cosines, abs=2e-6)
    assert list(found) == sorted(found, key=lambda name: (-found[name], name))


def test_cosine_keeps_the_semantic_order_and_adds_from_the_graph() -> None:
    """Primaries stand as the vectors have them; edges bring related tools from the window alone."""
    by_cosine = ENGINE.search("a parcel by courier", strategy="embeddings", limit=1)
    result = ENGINE.search("a parcel by courier", strategy="auto", fusion="cosine", limit=1)

    assert ids(result.matches) == ids(by_cosine.matches) == ["shipment_status"]
    assert "shipment_create" in ids(result.related_matches)
    assert result.ranking_mode == "hybrid"
    assert Code.HYBRID_VECTOR_MERGE_USED in codes(result)


def test_what_has_nothing_in_common_with_the_query_is_no_supplement() -> None:
    """An edge brings in nothing that vectors say is about something else."""

    def apart(texts: list[str]) -> NDArray[np.float64]:
        found = topics(texts)
        return np.where(found < 1, 0.0, found) - 1e-2 * (found < 1)

    result = engine_with(apart).search("parcel parcel", strategy="auto", limit=1)

    assert ids(result.matches) == ["shipment_status"]
    assert "weather_forecast" not in ids(result.related_matches)


@pytest.mark.parametrize("query", ["weather_forecast", "weatherForecast", "WEATHER-FORECAST"])
@pytest.mark.parametrize("way", WAYS[1:], ids=str)
def test_what_is_named_exactly_cannot_lose(query: str, way: dict[str, str]) -> None:
    """A name wins over every vector, however it is written."""
    against = engine_with(lambda texts: topics(texts) if len(texts) > 1 else topics(["invoice"]))

    assert ids(against.search(query, **way).matches)[0] == "weather_forecast"


@pytest.mark.parametrize("way", WAYS[1:], ids=str)
def test_an_alias_cannot_lose(way: dict[str, str]) -> None:
    """What authors call a tool wins over vectors that know nothing of it."""
    against = engine_with(lambda texts: topics(texts) if len(texts) > 1 else topics(["weather"]))
    result = against.search("blue ledger", **way)

    assert ids(result.matches)[0] == "rate_lookup"
    assert result.ranking_mode == "hybrid"


def fail(fault: Exception) -> Callable[[], Any]:
    """Return a function that raises *fault*."""

    def act() -> Any:
        raise fault

    return act


FAILURES = {
    "an error of the host": (fail(RuntimeError("explode")), Code.VECTOR_SEARCH_FAILED),
    "a timeout": (
        fail(EmbeddingError("took too long", kind="timeout")),
        Code.VECTOR_SEARCH_FAILED,
    ),
    "a missing model": (
        fail(EmbeddingError("no model", kind="missing")),
        Code.EMBEDDING_GENERATOR_MISSING,
    ),
    "too many vectors": (lambda: np.ones((2, 4)), Code.VECTOR_SEARCH_FAILED),
    "no vector": (lambda: np.ones((0, 4)), Code.VECTOR_SEARCH_FAILED),
    "zeros": (lambda: np.zeros((1, 4)), Code.QUERY_VECTOR_EMPTY),
    "infinity": (lambda: np.full((1, 4), np.inf), Code.VECTOR_SEARCH_FAILED),
    "no number": (lambda: np.full((1, 4), np.nan), Code.VECTOR_SEARCH_FAILED),
    "other dimensions": (lambda: np.ones((1, 3)), Code.VECTOR_SEARCH_FAILED),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_query_without_a_vector_is_answered_by_the_graph(name: str, way: dict[str, str]) -> None:
    """Whatever the provider does, the graph answers, and a diagnostic says what happened."""
    act, code = FAILURES[name]
    result = engine_with(on_queries(act)).search("export an invoice", **way)

    assert result.ranking_mode == "graph"
    assert {code, Code.GRAPH_FALLBACK} <= codes(result)
    assert result.matches == PLAIN.search("export an invoice").matches
    explained = engine_with(on_queries(act)).explain("export an invoice", **way)
    assert explained.result.matches == result.matches


def test_tools_without_vectors_are_answered_by_the_graph() -> None:
    """Where no tool has a vector, that is told, and the graph answers."""
    result = engine_with(fail(ValueError("no"))).search("invoice", strategy="auto")  # type: ignore[arg-type]

    assert {Code.EMBEDDING_FAILED, Code.GRAPH_FALLBACK} <= codes(result)
    assert result.matches == PLAIN.search("invoice").matches


def test_no_provider_is_told_as_missing() -> None:
    """An engine that was given nothing says so and answers from the graph."""
    result = PLAIN.search("invoice", strategy="embeddings")

    assert {Code.EMBEDDING_GENERATOR_MISSING, Code.GRAPH_FALLBACK} <= codes(result)


def test_a_tool_without_a_vector_is_found_by_the_graph_alone() -> None:
    """One text that cannot be embedded costs that tool its vector, and no other."""

    def without_weather(texts: list[str]) -> NDArray[np.float64]:
        return np.where([["weather" in text.lower()] for text in texts], 0.0, topics(texts))

    engine = engine_with(without_weather)
    by_vectors = engine.search("invoice", strategy="embeddings", limit=9)
    fused = engine.search("tell the weather of tomorrow's invoice", strategy="auto", fusion="rrf")

    assert "weather_forecast" not in ids(by_vectors.matches)
    assert Code.EMBEDDING_FAILED in codes(by_vectors)
    assert "weather_forecast" in ids(fused.matches)


def test_auto_ranks_a_tool_without_a_vector_by_the_graph() -> None:
    """What the words find is no worse off for having no vector, and no tool is lost for it."""

    def without_weather(texts: list[str]) -> NDArray[np.float64]:
        return np.where([["forecast" in text.lower()] for text in texts], 0.0, topics(texts))

    engine = engine_with(without_weather)
    result = engine.search("the weather of tomorrow", strategy="auto")
    explained = engine.explain("the weather of tomorrow", strategy="auto")

    assert ids(result.matches)[0] == "weather_forecast"
    assert result.matches[0].score > result.matches[1].score
    assert ids(explained.result.matches) == ids(result.matches)
    assert ids(engine.search("bill", strategy="auto").matches)[0] == "invoice_export"


MANY = make_engine(
    *(make_tool(f"tool_{number:03}", description=f"Does {number}.") for number in range(150))
)


class Flaky:
    """Makes vectors until it is told to be down, and keeps what it is asked for."""

    def __init__(self, down_after: int | None) -> None:
        self.down_after = down_after
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> NDArray[np.float64]:
        """Return a row for each text, or fail."""
        self.asked.append(texts)
        if self.down_after is not None and len(self.asked) > self.down_after:
            raise OSError("down")
        return np.array([[len(text), 1.0] for text in texts])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no failure count as slow, which on a busy machine any may be."""
    monkeypatch.setattr(guards, "SLOW", inf)


@pytest.mark.usefixtures("patient")
def test_an_outage_costs_a_search_one_attempt_and_what_was_made_stays() -> None:
    """The next search asks for the vectors that are missing, and for no other."""
    flaky = Flaky(down_after=1)
    engine = mcpg.Engine(MANY.index, services=EngineServices(FunctionEmbeddings(flaky, "flaky")))

    first = engine.search("tool", strategy="auto")
    assert Code.EMBEDDING_FAILED in codes(first)
    # A batch, one that fails, the text that shows an outage, and the query.
    assert [len(texts) for texts in flaky.asked] == [192, 192, 1, 1]
    flaky.down_after = None
    for _ in range(4):
        assert engine.search("tool 149", strategy="auto").ranking_mode != "graph"
    asked = [text for texts in flaky.asked for text in texts]
    documents = [text for text in asked if text.startswith("Does ")]
    assert len(documents) == len({*documents}) + 64  # those of the batch that failed, again
    assert Code.EMBEDDING_FAILED not in codes(engine.search("tool 1", strategy="auto"))


@pytest.mark.usefixtures("patient")
def test_an_outage_is_asked_about_until_it_ends() -> None:
    """However many searches fall into it, the vectors come once the provider is back."""
    flaky = Flaky(down_after=1)
    engine = mcpg.Engine(MANY.index, services=EngineServices(FunctionEmbeddings(flaky, "flaky")))
    for _ in range(7):
        engine.search("tool", strategy="embeddings")
    flaky.down_after = None

    result = engine.search("tool", strategy="embeddings")

    assert result.ranking_mode == "vector"
    assert Code.EMBEDDING_FAILED not in codes(result)


class Slow:
    """Takes a minute to fail, and keeps how often it did."""

    fingerprint, dimensions = "slow", 2

    def __init__(self) -> None:
        self.now, self.calls, self.is_up = 0.0, 0, False

    def embed(self, texts: list[str]) -> NDArray[np.float64]:
        """Fail, unless it is up."""
        if self.is_up:
            return np.ones((len(texts), 2))
        self.calls += 1
        self.now += 60
        raise TimeoutError


def test_a_provider_that_fails_slowly_is_left_alone() -> None:
    """Searches that come together or soon after each other pay for one failure."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    slow = Slow()
    semantics = IndexVectors(
        EngineServices(slow), MANY.index, MANY.documents.values, lambda: slow.now
    )

    def ask(_: int) -> str:
        with pytest.raises(EmbeddingError) as caught:
            semantics.ensure_vectors()
        return caught.value.kind

    with ThreadPoolExecutor(6) as pool:
        kinds = list(pool.map(ask, range(6)))
    assert slow.calls == 1
    assert set(kinds) <= {"failed", "timeout"}
    slow.now += RESET_SECONDS
    ask(0)
    assert slow.calls == 2
    slow.now += RESET_SECONDS
    slow.is_up = True
    assert semantics.ensure_vectors().vectors.missing == 0


def test_a_query_that_fails_slowly_is_not_followed_by_others() -> None:
    """The same holds where the tools have their vectors, and the queries get none."""
    slow = Slow()
    slow.is_up = True
    semantics = IndexVectors(
        EngineServices(slow), MANY.index, MANY.documents.values, lambda: slow.now
    )
    semantics.ensure_vectors()
    slow.is_up = False
    for query in "abc":
        with pytest.raises(EmbeddingError):
            semantics.embed(query)
    assert slow.calls == 1
    slow.now, slow.is_up = slow.now + RESET_SECONDS, True
    assert semantics.embed("d").shape == (2,)


def test_a_query_that_has_no_vector_does_not_take_those_of_others() -> None:
    """A text of which a slow provider makes nothing is no reason to leave the provider alone."""
    now = 0.0

    def embed(texts: list[str]) -> NDArray[np.float64]:
        nonlocal now
        now += 60
        if texts == ["nothing"]:
            raise EmbeddingError("a vector of zeros", kind="empty")
        return np.ones((len(texts), 2))

    provider = FunctionEmbeddings(embed, "slow")
    semantics = IndexVectors(
        EngineServices(provider), MANY.index, MANY.documents.values, lambda: now
    )
    with pytest.raises(EmbeddingError):
        semantics.embed("nothing")
    assert semantics.embed("something").shape == (2,)


class Rewriter:
    """Rewrites every query as an English one."""

    fingerprint = "rewriter"

    def rewrite(self, _: str) -> str:
        """Rewrite."""
        return "export the invoices"


def test_a_rewritten_query_of_other_dimensions_is_answered_by_the_graph() -> None:
    """Vectors of queries that were compared with each other are held to the tools' as well."""
    provider = FunctionEmbeddings(topics, "a test", queries=lambda texts: np.ones((len(texts), 3)))
    services = EngineServices(provider, rewriter=Rewriter())
    engine = mcpg.Engine(PLAIN.index, services=services)
    result = engine.search("экспорт счетов за заказ", strategy="auto", rewrite=True)

    assert result.ranking_mode == "graph"
    assert Code.VECTOR_SEARCH_FAILED in codes(result)
    assert ids(result.matches)[0] == "invoice_export"


def test_a_rewritten_query_asks_a_provider_that_fails_once() -> None:
    """A search of a query and of its rewrite is one search, and so is its one attempt."""
    flaky = Flaky(down_after=0)
    services = EngineServices(FunctionEmbeddings(flaky, "flaky"), rewriter=Rewriter())
    engine = mcpg.Engine(MANY.index, services=services)

    for number in (1, 2):
        result = engine.search("экспорт счетов", strategy="auto", rewrite=True)
        assert Code.VECTOR_SEARCH_FAILED in codes(result)
        # A batch that fails, and the text that shows an outage.
        assert [len(texts) for texts in flaky.asked] == [192, 1] * number


@pytest.mark.parametrize("way", ["search", "explain"])
def test_a_rewritten_query_has_vectors_for_both_or_for_neither(way: str) -> None:
    """A provider that fails in passing has no part in an answer that is kept for good."""

    def queries(texts: list[str]) -> NDArray[np.float64]:
        if faults:
            raise faults.pop()
        return topics(texts)

    def trust(result: mcpg.SearchResult) -> str:
        return next(one.message for one in result.diagnostics if one.code == Code.QUERY_NORMALIZED)

    faults: list[Exception] = [OSError()]
    provider = FunctionEmbeddings(topics, "a test", queries=queries)
    services = EngineServices(provider, rewriter=Rewriter(), cache=MemoryCache())
    engine = mcpg.Engine(PLAIN.index, services=services)
    asked = {"query": "экспорт счетов за заказ", "strategy": "auto", "rewrite": True}

    failed = engine.search(**asked) if way == "search" else engine.explain(**asked).result
    assert Code.VECTOR_SEARCH_FAILED in codes(failed)
    well = engine.search(**asked)
    assert Code.VECTOR_SEARCH_FAILED not in codes(well)
    assert trust(well) != trust(failed)


def test_texts_of_one_query_with_vectors_of_different_lengths_are_answered_by_the_graph() -> None:
    """A provider that does not say how long its vectors are may give any."""
    provider = FunctionEmbeddings(
        topics, "a test", queries=lambda texts: np.ones((1, 3 + texts[0].isascii()))
    )
    host = mcpg.Engine(PLAIN.index, services=EngineServices(provider, rewriter=Rewriter()))

    result = host.search("экспорт счетов за заказ", strategy="auto", rewrite=True)

    assert Code.VECTOR_SEARCH_FAILED in codes(result)


def test_an_answer_tells_of_the_vectors_that_it_was_made_with() -> None:
    """Though another search gets what is missing meanwhile: such an answer must not be kept."""
    flaky = Flaky(down_after=1)

    def embed(texts: list[str]) -> NDArray[np.float64]:
        if texts == ["first"]:
            flaky.down_after = None
            assert Code.EMBEDDING_FAILED not in codes(engine.search("other", strategy="auto"))
        return flaky(texts)

    provider = FunctionEmbeddings(embed, "flaky")
    engine = mcpg.Engine(MANY.index, services=EngineServices(provider, cache=MemoryCache()))

    assert Code.EMBEDDING_FAILED in codes(engine.search("first", strategy="auto"))
    assert Code.EMBEDDING_FAILED not in codes(engine.search("first", strategy="auto"))


def test_vectors_of_a_host_are_taken_if_they_fit() -> None:
    """Vectors that are given are used; those of another catalogue or model are refused."""
    given = ToolVectors.from_rows(list(np.eye(7, 4, dtype=np.float32)), "a test")
    others = ToolVectors.from_rows([np.ones(4, dtype=np.float32) / 2], "a test")

    asked: list[int] = []

    def counted(texts: list[str]) -> NDArray[np.float64]:
        asked.append(len(texts))
        return topics(texts)

    assert engine_with(counted, vectors=given).search("x", strategy="auto").ranking_mode != "graph"
    assert asked == [1]
    refused = engine_with(counted, vectors=others).search("x", strategy="auto")
    assert Code.VECTOR_SEARCH_FAILED in codes(refused)


def test_the_vector_of_a_query_is_asked_for_once_with_a_cache() -> None:
    """The same query in another way of ranking has the same vector."""
    asked: list[list[str]] = []

    def counted(texts: list[str]) -> NDArray[np.float64]:
        asked.append(texts)
        return topics(texts)

    engine = engine_with(counted, cache=MemoryCache())
    for way in WAYS:
        engine.search("invoice", **way)

    assert asked.count(["invoice"]) == 1


def test_context_is_embedded_behind_the_query() -> None:
    """What else is known bends the vector; alone it is the query."""
    texts: list[str] = []

    def kept(given: list[str]) -> NDArray[np.float64]:
        texts.extend(given if len(given) == 1 else ())
        return topics(given)

    engine = engine_with(kept)
    both = engine.search("show it", context="weather", strategy="embeddings")
    alone = engine.search(None, context="weather", strategy="embeddings")

    assert texts == ["show it | context: weather", "weather"]
    assert ids(both.matches)[0] == ids(alone.matches)[0] == "weather_forecast"


WORDS = ("parcel", "invoice", "order_list", "weather", "zzqx", "export", "blue", "ledger", "and")


@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    way=st.sampled_from(WAYS),
    limit=st.integers(1, 9),
    include=st.booleans(),
)
def test_what_always_holds(query: str, way: dict[str, str], limit: int, include: bool) -> None:
    """Sums, orders, bounds and separations hold for every query and every way to rank."""
    explained = ENGINE.explain(query, limit=limit, include_disabled=include, **way)
    result = explained.result
    primaries = ids(result.matches)
    beside = ids((*result.related_matches, *result.next_step_matches))
    scores = [match.score for match in result.matches]

    assert result == ENGINE.search(query, limit=limit, include_disabled=include, **way)
    assert len(primaries) <= limit
    assert len({*primaries, *beside}) == len(primaries) + len(beside)
    assert include or "shipment_cancel" not in {*primaries, *beside}
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    for one in explained.matches:
        assert fsum(part.contribution for part in one.contributions) == pytest.approx(
            one.fused_score, abs=1e-9
        )
        told = fsum((one.calibration.intercept, *(x.contribution for x in one.calibration.inputs)))
        assert told == pytest.approx(one.calibration.logit, abs=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_doubtful_answers_can_be_refused(way: dict[str, str]) -> None:
    """Gates and abstention mean the same in every strategy."""
    first = ENGINE.search("zzqx blorptik", **way)
    assert Code.LOW_CONFIDENCE in codes(first)
    assert ENGINE.search("zzqx blorptik", abstain=True, **way).matches == ()
    sure = ENGINE.search("shipment status", **way).matches
    gate = sure[0].score
    passed = ENGINE.search("shipment status", min_score=round(gate, 6), **way).matches
    assert passed == tuple(one for one in sure if round(one.score, 6) >= round(gate, 6))


def test_stages_are_told_in_order() -> None:
    """An explanation names who made the vectors, how near the tools are, and the window."""
    explained = ENGINE.explain("parcel", strategy="auto")
    details = {one.name: one.details for one in explained.stages}

    assert list(details) == [
        *("analyse", "embed", "retrieve", "compare", "fuse", "calibrate", "expand")
    ]
    assert details["embed"] == {"provider": "a test", "text": "parcel", "corrected": None}
    assert details["compare"]["nearest"][0]["toolId"] == "shipment_status"  # type: ignore[index, call-overload]
    assert "shipment_status" in details["compare"]["window"]  # type: ignore[operator]
    assert explained.model is not None
    assert "learned" in explained.model.name


def test_a_foreign_query_loses_what_all_tools_have_in_common() -> None:
    """Words the catalogue does not know move the query's vector; its own words do not."""
    shifts = {}
    for query in ("посилка кур'єр", "shipment status"):
        stages = ENGINE.explain(query, strategy="embeddings").stages
        shifts[query] = next(one.details["shift"] for one in stages if one.name == "compare")

    assert shifts == {"посилка кур'єр": pytest.approx(2.0 * 7 / 27), "shipment status": 0.0}


def test_closeness_is_a_share_of_the_nearest() -> None:
    """The nearest tool has 1, and none has any where no tool stands out."""
    near = VectorScores("t", ((0, 0.9), (1, 0.5)), {0: 0.9, 1: 0.5, 2: 0.3}, 0.4, 0.1, 0.0, 0.0)
    flat = VectorScores("t", (), {0: 0.1}, 0.4, 0.1, 0.0, 0.0)

    assert [closeness(near, number) for number in range(3)] == pytest.approx([1.0, 0.2, 0.0])
    assert closeness(flat, 0) == 0.0


def weight_of(query: str) -> dict[str, Any]:
    """Return what explain shows of the weight of closeness in *query*."""
    explained = ENGINE.explain(query, strategy="auto", fusion="learned")
    details = {one.name: one.details for one in explained.stages}
    found: dict[str, Any] = details["fuse"]["closenessWeight"]  # type: ignore[assignment]
    assert explained.model is not None
    assert explained.model.weights["closeness"] == found["weight"]
    return found


def test_closeness_weighs_more_where_words_tell_less() -> None:
    """Its weight falls with the words of the query, within bounds, and explain shows why."""
    short = weight_of("parcel")
    longer = weight_of("the parcel and invoice of an order, its weather and the export of payments")

    assert LEAST_WEIGHT <= longer["weight"] < short["weight"] <= MOST_WEIGHT
    exponent = fsum(one["value"] * one["coefficient"] for one in longer["inputs"])
    assert longer["weight"] == pytest.approx(np.exp(longer["intercept"] + exponent))
    graph = ENGINE.explain("parcel", strategy="auto", fusion="rrf")
    assert all("closenessWeight" not in one.details for one in graph.stages)


@given(
    heights=st.lists(st.integers(-5, 5), min_size=7, max_size=7),
    asked=st.integers(-5, 5),
    query=st.sampled_from(
        ["shipment", "export the invoices of an order", "order, shipment create"]
    ),
    way=st.sampled_from(WAYS[1:]),
)
def test_what_both_rank_first_is_first(
    heights: list[int], asked: int, query: str, way: dict[str, str]
) -> None:
    """A tool that the graph and the vectors each rank first leads every list made of both."""
    rows = np.array([(1, height) for height in [*heights, asked]], dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    engine = engine_with(
        lambda _: rows[-1:], vectors=ToolVectors.from_rows(list(rows[:-1]), "a test")
    )
    by_words = ids(engine.search(query, strategy="graph").matches)[0]
    by_vectors = ids(engine.search(query, strategy="embeddings").matches)[0]

    if by_words == by_vectors:
        assert ids(engine.search(query, **way).matches)[0] == by_words


@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    way=st.sampled_from(WAYS),
    limit=st.integers(1, 6),
)
def test_a_limit_only_cuts(query: str, way: dict[str, str], limit: int) -> None:
    """What stands before the limit is the same for every limit."""
    many = ids(ENGINE.search(query, limit=20, **way).matches)

    assert ids(ENGINE.search(query, limit=limit, **way).matches) == many[:limit]


def exactly(texts: list[str]) -> NDArray[np.float64]:
    """Know English words as they are spelt, and of other texts that they are unlike all tools."""
    found = topics(texts)
    return np.column_stack([found, 3.0 * (found < 1).all(axis=1)])


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_misspelt_word_is_embedded_as_it_is_spelt(way: dict[str, str]) -> None:
    """A request of one misspelt word finds with vectors what the catalogue has of it."""
    assert "shipment" in ids(engine_with(exactly).search("shipmnt", **way).matches)[0]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_foreign_word_is_embedded_in_the_words_of_the_catalogue(way: dict[str, str]) -> None:
    """A model that knows one language finds tools by the translations of the lexicon."""
    engine, query = engine_with(exactly), "ver los pedidos de un cliente"

    assert ids(engine.search(query, **way).matches)[0] == "order_list"
    details = engine.explain(query, **way).stages[1].details
    assert details["text"] == query
    assert details["corrected"] == "ver order customer"
    plain = engine.explain(query, lexicon=False, **way).stages[1].details
    assert plain["corrected"] is None


def test_corrected_words_stand_before_the_context() -> None:
    """The words of the query are corrected, and the context follows as it is."""
    explained = ENGINE.explain("where is my shipmnt", context="an oder", strategy="auto")

    assert explained.stages[1].details["corrected"] == "where is my shipment | context: an oder"


@pytest.mark.parametrize("nothing", ["shipmnt", "shipment"])
def test_one_of_both_texts_is_enough(nothing: str) -> None:
    """A provider that makes nothing of the query or of its correction is asked for the other."""

    def embed(texts: list[str]) -> NDArray[np.float64]:
        return np.where([[text == nothing] for text in texts], 0.0, topics(texts))

    result = engine_with(embed).search("shipmnt", strategy="auto")

    assert result.ranking_mode != "graph"


def test_the_fitted_numbers_are_whole() -> None:
    """Every way to rank has its own finite numbers and says where they are from."""
    model = shipped_ranking().model
    for name in SCHEMES:
        scheme = find_scheme(name, model)
        assert len(scheme.features) == len(scheme.weights)
        assert np.isfinite([*scheme.weights, scheme.intercept, *scheme.coefficients]).all()
        assert "fit_vectors" in scheme.provenance


def test_many_threads_make_the_vectors_once() -> None:
    """Searches that begin together wait for one embedding of the tools."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    asked: list[int] = []

    def slow(texts: list[str]) -> NDArray[np.float64]:
        asked.append(len(texts))
        time.sleep(0.01)
        return topics(texts)

    engine = engine_with(slow)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: engine.search("parcel", strategy="auto"), range(4)))

    assert len({one.matches for one in answers}) == 1
    assert sum(count > 1 for count in asked) == 1
