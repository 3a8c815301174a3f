from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool

from mcpg.bundle import assemble
from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import McpgError
from mcpg.index import Index
from mcpg.search.caches import MemoryCache
from mcpg.search.guards import COUNT, SOURCE_RESET_SECONDS, GuardedSource
from mcpg.search.results import EngineServices
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.engine import SearchResult

TOOLS = [
    make_tool("shipment_track", description="Tell where a shipment is"),
    make_tool("shipment_cancel", description="Stop a shipment"),
    make_tool("order_track", description="Tell where an order is"),
    make_tool("order_hide", description="Hide an order", enabled_by_default=False),
]
INDEX = make_engine(*TOOLS).index
KEYED = Index(compile_assembly(assemble(SourceBatch(tools=TOOLS)), b"k" * 32))


class Source:
    """Chooses what a test says, and keeps what it was asked."""

    fingerprint = "what a test says"

    def __init__(self, choose: Callable[[], list[str]]) -> None:
        self.choose = choose
        self.asked: list[tuple[str, object, int]] = []

    def candidates(self, query: str, vector: object, count: int) -> list[str]:
        """Choose."""
        self.asked.append((query, vector, count))
        return self.choose()


def fail(fault: Exception) -> list[str]:
    """Raise *fault*."""
    raise fault


def search(source: Source, query: str, *, include_disabled: bool = False) -> SearchResult:
    """Search with candidates from *source*."""
    engine = Engine(INDEX, services=EngineServices(candidates=source))
    return engine.search(query, include_disabled=include_disabled)


def codes(result: SearchResult) -> list[str]:
    """Name what a search told, but for doubts."""
    return [one.code for one in result.diagnostics if one.code != "low_confidence_results"]


def test_only_candidates_are_ranked() -> None:
    """What the source does not choose is no match, and the engine orders what it does."""
    source = Source(lambda: ["order_track", "shipment_cancel"])
    result = search(source, "track shipment")
    assert sorted(ids(result.matches)) == ["order_track", "shipment_cancel"]
    assert codes(result) == []


def test_all_tools_as_candidates_change_nothing() -> None:
    """Chosen from everything, matches and scores are those of the engine alone."""
    source = Source(lambda: [tool.id for tool in TOOLS])
    for query in ("track shipment", "where is my order, cancel a shipment", "shipmnt"):
        chosen, own = search(source, query).matches, Engine(INDEX).search(query).matches
        assert [(one.tool_id, one.score) for one in chosen] == [
            (one.tool_id, one.score) for one in own
        ]


def test_meaning_orders_candidates() -> None:
    """Candidates of a source are as near in meaning to the query as in a search of all tools."""
    source, query = Source(lambda: [tool.id for tool in TOOLS]), "follow a shipment"
    engine = Engine(INDEX, services=EngineServices(candidates=source))
    chosen, own = engine.explain(query).matches, Engine(INDEX).explain(query).matches

    assert own[0].nearness > 0
    assert [(one.tool_id, one.nearness) for one in chosen] == [
        (one.tool_id, one.nearness) for one in own
    ]


def test_the_source_is_asked_for_repaired_words() -> None:
    """A misspelt word is asked for as the engine has repaired it; the graph has no vector."""
    source = Source(lambda: ["shipment_track"])
    search(source, "trakc shipmnt")
    ((query, vector, count),) = source.asked
    assert set(query.split()) == {"track", "shipment"}
    assert (vector, count) == (None, COUNT)


def test_a_tool_that_is_named_is_found_all_the_same() -> None:
    """Who spells a tool's name gets it, whatever the source chooses."""
    source = Source(lambda: ["order_track"])
    assert "shipment_cancel" in ids(search(source, "shipment_cancel").matches)


def test_hidden_tools_stay_hidden() -> None:
    """A tool that is off by default is offered only to those who ask for such tools."""
    source = Source(lambda: ["order_track", "order_hide"])
    assert ids(search(source, "hide order").matches) == ["order_track"]
    assert "order_hide" in ids(search(source, "hide order", include_disabled=True).matches)


@pytest.mark.parametrize("fault", [McpgError("it is gone"), ValueError("secret"), TypeError()])
def test_a_source_that_fails_costs_nothing(fault: Exception) -> None:
    """The engine then looks for itself and says so; what a stranger's error says is not shown."""
    result = search(Source(lambda: fail(fault)), "track shipment")
    assert ids(result.matches)[0] == "shipment_track"
    (told,) = [one for one in result.diagnostics if one.code == "candidates_failed"]
    assert ("it is gone" in told.message) == isinstance(fault, McpgError)
    assert "secret" not in told.message


def test_cancellation_ends_a_search() -> None:
    """An interruption of the caller's is no failure of the source."""

    def interrupt() -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(Source(interrupt), "track shipment")


def test_a_source_that_fails_is_left_alone_for_a_while() -> None:
    """One that fails slowly does not slow down every search."""
    now = 0.0
    source = Source(lambda: fail(McpgError("gone")))
    guarded_source = GuardedSource(lambda: source, lambda: now)
    assert [guarded_source.ask("a", None) for _ in range(3)] == [([], "gone")] * 3
    assert len(source.asked) == 1
    now, source.choose = SOURCE_RESET_SECONDS, lambda: ["t"]
    assert guarded_source.ask("a", None) == (["t"], "")


def test_another_catalogue_is_noticed() -> None:
    """Candidates that the index does not have come from another bundle."""
    result = search(Source(lambda: ["order_track", "of_another"]), "track shipment")
    assert ids(result.matches)[0] == "shipment_track"
    assert codes(result) == ["candidates_failed"]


def test_nothing_chosen_is_looked_for() -> None:
    """Where the source finds nothing, the engine looks for itself, and nothing is wrong."""
    result = search(Source(list), "track shipment")
    assert ids(result.matches)[0] == "shipment_track"
    assert codes(result) == []


def test_explain_ranks_as_search_does() -> None:
    """What is explained is what a search with the same candidates gives."""
    source = Source(lambda: ["order_track", "shipment_cancel"])
    engine = Engine(INDEX, services=EngineServices(candidates=source))
    explained = engine.explain("track shipment").result
    assert ids(explained.matches) == ids(engine.search("track shipment").matches)


def test_results_are_kept_by_who_chose() -> None:
    """Replicas that share a cache and choose differently do not get each other's results."""
    cache = MemoryCache()
    source = Source(lambda: ["order_track"])
    chosen = Engine(INDEX, services=EngineServices(cache=cache, candidates=source))
    plain = Engine(INDEX, services=EngineServices(cache=cache))
    assert ids(chosen.search("track shipment").matches) == ["order_track"]
    assert ids(plain.search("track shipment").matches)[0] == "shipment_track"
    assert ids(chosen.search("track shipment").matches) == ["order_track"]
    assert len(source.asked) == 1


def ordered(index: Index) -> list[str]:
    """Return the ids of all tools, in order."""
    return [index.tool_id(number) for number in range(len(index))]


def test_hidden_tools_take_no_places() -> None:
    """A source whose every place is taken by tools that are off costs no match."""
    hidden = [f"order_hidden_{number:03}" for number in range(COUNT + 50)]
    index = make_engine(
        *[make_tool(one, description="Track an order", enabled_by_default=False) for one in hidden],
        make_tool("order_track", description="Track an order"),
    ).index
    source = Source(lambda: ordered(index)[:COUNT])
    engine = Engine(index, services=EngineServices(candidates=source))
    assert ids(engine.search("track order").matches) == ["order_track"]
    both = engine.search("track order", include_disabled=True, limit=3)
    assert ids(both.matches)[0].startswith("order_hidden")


class Narrowing(Source):
    """Says what it was narrowed to, and chooses all the same."""

    def __init__(self, choose: Callable[[], list[str]]) -> None:
        super().__init__(choose)
        self.narrowed: list[str] = []

    def offered(self) -> Narrowing:
        """Pass over what is off."""
        self.narrowed.append("offered")
        return self

    def by(self, maker: str) -> Narrowing:
        """Look at the vectors of *maker* alone."""
        self.narrowed.append(f"by {maker}")
        return self


def test_a_source_hears_what_is_wanted() -> None:
    """Who knows what is off, and whose vectors are published, is told what a search looks for."""
    source = Narrowing(lambda: ["order_track"])
    embedder = FunctionEmbeddings(lambda texts: [[1.0, len(text)] for text in texts], "mine")
    engine = Engine(INDEX, services=EngineServices(embedder, candidates=source))
    engine.search("track order")
    assert source.narrowed == ["offered"]
    engine.search("track order", strategy="embeddings", include_disabled=True)
    assert source.narrowed == ["offered", "by mine"]


class Wild:
    """Raises, or gives what makes no sense, wherever a test says."""

    def __init__(self, bad: str, fault: object) -> None:
        self.bad, self.fault = bad, fault

    def __getattr__(self, name: str) -> object:
        """Return a part of a source."""
        if name != self.bad:
            if name in {"of", "by", "offered"}:
                return lambda *_: self
            return {"fingerprint": "wild", "candidates": lambda *_: ["order_track"]}[name]
        if isinstance(self.fault, Exception):
            raise self.fault
        return self.fault


@pytest.mark.parametrize("bad", ["fingerprint", "of", "by", "offered", "candidates"])
@pytest.mark.parametrize(
    "fault", [RuntimeError("secret"), 7, lambda *_: [7, None], lambda *_: [["secret"]]]
)
def test_a_source_may_fail_in_any_way(bad: str, fault: object) -> None:
    """Whatever is wrong with a source of the host's, the engine answers."""
    embedder = FunctionEmbeddings(lambda texts: [[1.0, len(text)] for text in texts], "mine")
    services = EngineServices(embedder, candidates=Wild(bad, fault), cache=MemoryCache())
    engine = Engine(KEYED, services=services)
    for strategy in ("graph", "auto"):
        for _ in range(2):
            result = engine.search("track order", strategy=strategy)
            assert ids(result.matches)[0] == "order_track"
            assert not any("secret" in one.message for one in result.diagnostics)


def test_what_chooses_otherwise_is_asked_again() -> None:
    """A source whose fingerprint changes, as with a publication anew, has results of its own."""
    source = Source(lambda: ["order_track"])
    engine = Engine(INDEX, services=EngineServices(cache=MemoryCache(), candidates=source))
    assert ids(engine.search("track shipment").matches) == ["order_track"]
    source.fingerprint, source.choose = "another", lambda: ["shipment_track"]
    assert ids(engine.search("track shipment").matches) == ["shipment_track"]
