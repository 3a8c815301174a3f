"""Searches answered from a cache, which must be those that would have been computed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from builders import make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorial import HashProvider

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.embeddings import FunctionEmbeddings
from mcpg.errors import McpgError
from mcpg.llm import FunctionRewriter
from mcpg.search.caches import RESULT, MemoryCache, NoCache, make_key
from mcpg.search.guards import RESET_SECONDS, GuardedCache
from mcpg.search.result_cache import decode_result, encode_result, index_digest
from mcpg.search.results import EngineServices, SearchRequest
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.engine import Engine, SearchResult

TOOLS = (
    make_tool(
        "order_get",
        description="Get an order of a customer.",
        read_only=True,
        keywords=("parcel",),
        categories=("sales",),
    ),
    make_tool("order_list", source_id="shop", description="List orders of a customer 🚚, 注文."),
    make_tool("order_cancel", description="Cancel an order.", enabled_by_default=False),
    make_tool("invoice_export", description="Export invoices of orders."),
)
PLAIN = make_engine(*TOOLS)
TOOL_OF = {tool.id: tool for tool in PLAIN.tools}.__getitem__


class Listening:
    """A cache in memory that tells what was asked of it."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.hits = 0

    def get(self, kind: str, key: str) -> bytes | None:
        """Return what is kept."""
        self.asked.append((kind, key))
        self.hits += (kind, key) in self.entries
        return self.entries.get((kind, key))

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep *value*."""
        self.entries[kind, key] = value

    def close(self) -> None:
        """Hold nothing open."""


class Broken:
    """A cache that raises, and counts how often it was asked."""

    def __init__(self, fault: Exception, *, reads: bool = False) -> None:
        self.fault, self.reads, self.calls = fault, reads, 0

    def get(self, _kind: str, _key: str) -> None:
        """Fail, or find nothing."""
        self.calls += 1
        if not self.reads:
            raise self.fault

    def put(self, _kind: str, _key: str, _value: bytes) -> NoReturn:
        """Fail."""
        self.calls += 1
        raise self.fault

    def close(self) -> None:
        """Hold nothing open."""


def cached(cache: Any, engine: Engine = PLAIN) -> Engine:
    """Return an engine over the same index that has a cache."""
    return mcpg.Engine(engine.index, services=EngineServices(cache=cache))


def everything(result: SearchResult) -> Any:
    """Give all of *result* with the tools themselves, for matches compare by less."""
    lists = (result.matches, result.related_matches, result.next_step_matches)
    shown = [[(one.display_name, one.summary, one.is_enabled) for one in part] for part in lists]
    return result, shown, [[one.descriptor for one in part] for part in lists]


asked = st.fixed_dictionaries(
    {
        "query": st.sampled_from(
            (
                "order",
                "ordre",
                "export invoices",
                "zzqx",
                "",
                "\ud800 order",
                "order; export",
                "注文",
            )
        ),
        "limit": st.sampled_from((1, 2, 5, 51)),
        "context": st.sampled_from((None, "customer", {"kind": ["parcel"]})),
        "include_disabled": st.booleans(),
        "min_score": st.sampled_from((0.0, 0.5)),
        "abstain": st.booleans(),
    }
)


@settings(deadline=None)
@given(asked)
def test_what_is_found_equals_what_is_computed(arguments: dict[str, Any]) -> None:
    """Twice asked, once computed: the same matches, tools and diagnostics."""
    cache = Listening()
    engine = cached(cache)

    computed = everything(PLAIN.search(**arguments))

    assert everything(engine.search(**arguments)) == computed
    assert everything(engine.search(**arguments)) == computed
    assert (cache.hits, len(cache.entries)) == (1, 1)


@settings(deadline=None)
@given(asked, asked)
def test_other_questions_have_other_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Every option counts: an answer is found only for the request it was given to."""
    cache = Listening()
    engine = cached(cache)

    engine.search(**one)
    engine.search(**other)

    assert (len({key for _, key in cache.asked}) == 1) == (one == other)


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "query": ({}, {"query": "invoices"}),
    "context": ({}, {"context": "invoices"}),
    "limit": ({}, {"limit": 1}),
    "strategy": ({"strategy": "embeddings"}, {"strategy": "auto"}),
    "include_disabled": ({}, {"include_disabled": True}),
    "min_score": ({}, {"min_score": 0.99}),
    "abstain": ({"query": "zzqx"}, {"query": "zzqx", "abstain": True}),
    "fusion": ({"strategy": "auto"}, {"strategy": "auto", "fusion": "rrf"}),
    "rewrite": ({"query": "замовлення"}, {"query": "замовлення", "rewrite": True}),
    "lexicon": ({"query": "purchase"}, {"query": "purchase", "lexicon": False}),
    "context_tools": ({}, {"context_tools": (PLAIN.tools[0].id,)}),
    "sources": ({}, {"sources": ("shop",)}),
    "categories": ({}, {"categories": ("sales",)}),
    "read_only": ({}, {"read_only": True}),
}
"""For each field of a request, two requests that differ in nothing else."""


def test_every_field_of_a_request_is_changed_alone() -> None:
    """No field is forgotten, and none is changed beside another."""
    assert list(CHANGES) == sorted(CHANGES, key=SearchRequest.__match_args__.index)
    assert set(CHANGES) == set(SearchRequest.__match_args__)
    for name, (one, other) in CHANGES.items():
        differing = {key for key in {**one, **other} if one.get(key) != other.get(key)}
        assert differing == {name}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("is_rewriting", [False, True])
@pytest.mark.parametrize("way", [{}, {"strategy": "auto"}])
def test_a_change_of_one_field_is_another_question(
    name: str, is_rewriting: bool, way: dict[str, str]
) -> None:
    """The answer to one request is never given for another, and no key is shared."""
    cache = Listening()
    parts = {
        "embeddings": FunctionEmbeddings(
            lambda texts: [[len(one), 1.0] for one in texts], "a test"
        ),
        "rewriter": FunctionRewriter(lambda _: "export", "a test") if is_rewriting else None,
    }
    fresh = mcpg.Engine(PLAIN.index, services=EngineServices(**parts))
    engine = mcpg.Engine(PLAIN.index, services=EngineServices(cache=cache, **parts))
    one, other = ({"query": "order", **way, **options} for options in CHANGES[name])
    engine.search("warm", strategy="embeddings")  # only then are the vectors named in a key

    for request in (one, other, one, other):
        assert everything(engine.search(**request)) == everything(fresh.search(**request))
    cache.asked.clear()
    for request in (one, other):
        engine.search(**request)
    assert len({key for kind, key in cache.asked if kind == RESULT}) == 2


def test_the_examples_are_answered_alike(tmp_path: Path) -> None:
    """A bundle from disk with all kinds of edges is answered from a cache as it is computed."""
    path = tmp_path / "graph.mdld"
    mcpg.load("examples/tools")  # from a folder: its index lies in memory
    from mcpg.sources import read_sources  # noqa: PLC0415

    write_bundle(path, build_bundle(assemble(read_sources(["examples/tools"]))))
    plain, cache = mcpg.load(path), Listening()
    for query in ("track a parcel", "merge pull request", "refund; and then e-mail", ""):
        computed = everything(plain.search(query))
        for _ in range(2):
            assert everything(mcpg.load(path, cache=cache).search(query)) == computed
    assert cache.hits == 4
    assert any(plain.search("track a parcel").related_matches)


def test_a_rebuilt_bundle_is_never_answered_from_an_old_one(tmp_path: Path) -> None:
    """Keys hold the content of the bundle, so another content under the same path finds nothing."""
    path, cache = tmp_path / "graph.mdld", Listening()
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=TOOLS[:1]))))
    before = mcpg.load(path, cache=cache).search("order")

    write_bundle(path, build_bundle(assemble(SourceBatch(tools=TOOLS))))
    after = mcpg.load(path, cache=cache).search("order")

    assert len(before.matches) < len(after.matches)
    assert cache.hits == 0


def test_equal_indexes_share_and_others_do_not() -> None:
    """An index in memory goes by its content: who builds the same shares the answers."""
    same, other = make_engine(*TOOLS), make_engine(*TOOLS[:2])
    assert index_digest(PLAIN.index) == index_digest(same.index) != index_digest(other.index)

    cache = Listening()
    cached(cache).search("order")
    cached(cache, same).search("order")
    assert cache.hits == 1
    cached(cache, other).search("order")
    assert cache.hits == 1


def test_changed_hints_find_nothing_old() -> None:
    """An engine with further hints has another index, so it computes its own answers."""
    cache = Listening()
    engine = cached(cache)
    engine.search("dispatch")
    from mcpg.catalog.model import Hints  # noqa: PLC0415

    hinted = engine.with_hints("order_get", Hints(keywords=("dispatch",)))
    assert hinted.search("dispatch").matches[0].tool_id == "order_get"
    assert cache.hits == 0


def test_a_key_holds_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of mcpg ranks otherwise, so it has keys of its own."""
    before = make_key("order")
    monkeypatch.setattr("mcpg.search.caches.__version__", "0.0.0")
    assert make_key("order") != before


@pytest.mark.parametrize(
    "asked",
    [{"strategy": "embeddings"}, {"strategy": "auto"}, {"strategy": "auto", "fusion": "rrf"}],
)
def test_answers_with_vectors_are_kept(asked: dict[str, Any]) -> None:
    """Once the vectors are there, the provider is asked for nothing that was searched before."""
    cache, provider = Listening(), HashProvider()
    plain = mcpg.Engine(PLAIN.index, services=EngineServices(HashProvider()))
    engine = mcpg.Engine(PLAIN.index, services=EngineServices(provider, cache=cache))
    engine.search("else", **asked)
    provider.asked.clear()

    for _ in range(3):
        assert everything(engine.search("order", **asked)) == everything(
            plain.search("order", **asked)
        )
    assert provider.asked == ["order"]
    assert cache.hits == 2

    other = mcpg.Engine(
        PLAIN.index, services=EngineServices(HashProvider(name="other"), cache=cache)
    )
    for _ in range(2):
        other.search("order", **asked)
    assert cache.hits == 3


def test_engines_share_the_vectors_of_queries() -> None:
    """A second engine's first search asks the provider for the tools alone."""
    cache = Listening()
    for number in range(2):
        provider = HashProvider()
        engine = mcpg.Engine(PLAIN.index, services=EngineServices(provider, cache=cache))
        engine.search("order", strategy="embeddings")
        assert provider.asked.count("order") == 1 - number


@pytest.mark.parametrize("strategy", ["embeddings", "auto"])
def test_what_may_be_mended_is_not_kept(strategy: str) -> None:
    """A result that tells of a provider that is missing is computed again the next time."""
    cache = Listening()
    engine = cached(cache)
    assert engine.search("order", strategy=strategy).diagnostics
    engine.search("order", strategy=strategy)
    assert not cache.entries


def test_a_query_without_a_vector_is_kept() -> None:
    """What a model makes nothing of stays so: the graph's answer and its reason are found again."""

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[float(text != "export"), 0.0] for text in texts]

    asked: list[str] = []
    cache = Listening()
    services = EngineServices(FunctionEmbeddings(embed, "words"), cache=cache)
    engine = mcpg.Engine(PLAIN.index, services=services)
    first = engine.search("export", strategy="auto")
    assert {"query_vector_empty", "graph_fallback"} <= {one.code for one in first.diagnostics}
    asked.clear()
    assert everything(engine.search("export", strategy="auto")) == everything(first)
    assert not asked


@settings(deadline=None)
@given(st.data())
def test_a_damaged_entry_is_a_miss(data: st.DataObject) -> None:
    """Whatever becomes of the bytes, the answer is the right one, and the entry is mended."""
    cache = Listening()
    engine = cached(cache)
    right = engine.search("order")
    ((name, entry),) = cache.entries.items()
    place = data.draw(st.integers(0, len(entry) - 1))
    damaged = data.draw(
        st.sampled_from(
            (b"", entry[:place], entry[:place] + b"\x00" + entry[place + 1 :], entry + b" ", b"{}")
        )
    )
    cache.entries[name] = damaged

    assert everything(engine.search("order")) == everything(right)
    assert cache.entries[name] == entry


def test_an_entry_of_another_key_is_a_miss() -> None:
    """A cache that mixes up its keys gives no wrong answer."""
    result = PLAIN.search("order")
    data = encode_result(result, "a")
    assert decode_result(data, "a", TOOL_OF) == result
    assert decode_result(data, "b", TOOL_OF) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda _: {},
        lambda _: None,
        lambda parts: parts[:-1],
        lambda parts: [*parts, 1],
        lambda parts: [7, *parts[1:]],
        lambda parts: [*parts[:3], "matches", *parts[4:]],
        lambda parts: [*parts[:3], [["tool"]], *parts[4:]],
        lambda parts: [*parts[:3], [None], *parts[4:]],
        lambda parts: [*parts[:-1], [True, 1]],
    ],
)
def test_what_is_no_result_is_none(change: Any) -> None:
    """Even under a right digest, only what fits the declared members is a result."""
    import hashlib  # noqa: PLC0415

    parts = json.loads(encode_result(PLAIN.search("order"), "a")[32:])
    payload = json.dumps(change(parts)).encode()
    digest = hashlib.sha256(b"a\n" + payload).digest()
    assert decode_result(digest + payload, "a", TOOL_OF) is None


def test_a_tool_that_is_not_there_is_a_miss() -> None:
    """What names a tool that the index does not have was not made of it."""
    other = make_engine(make_tool("elsewhere", description="An order."))
    cache = Listening()
    engine = cached(cache)
    right = engine.search("order")
    ((name, _),) = cache.entries.items()
    cache.entries[name] = encode_result(other.search("order"), name[1])

    assert engine.search("order") == right


@pytest.mark.parametrize("reads", [False, True])
def test_a_cache_that_raises_fails_no_search(reads: bool) -> None:
    """The search is computed, a diagnostic tells the type of the fault and not its text."""
    broken = Broken(RuntimeError("postgres://me:secret@host"), reads=reads)
    engine = cached(broken)

    for _ in range(2):
        result = engine.search("order")
        assert result.matches == PLAIN.search("order").matches
        told = result.diagnostics[-1]
        assert (told.code, "RuntimeError" in told.message) == ("search_cache_failed", True)
        assert "secret" not in told.message
    assert broken.calls == 1 + reads


def test_a_cache_that_failed_is_asked_again_after_a_rest() -> None:
    """It is left alone for a while, which saves the time it takes to fail, and then tried again."""
    now = [0.0]
    broken = Broken(McpgError("the pool is empty"))
    guarded = GuardedCache(broken, clock=lambda: now[0])

    assert guarded.get("result", "a") is None
    guarded.put("result", "a", b"1")
    assert broken.calls == 1
    assert "the pool is empty" in guarded.diagnostics()[0].message
    now[0] = RESET_SECONDS
    assert guarded.diagnostics() == ()
    guarded.get("result", "a")
    assert broken.calls == 2


@pytest.mark.parametrize("method", ["get", "put"])
def test_a_slow_cache_is_left_alone(method: str) -> None:
    """A cache that takes longer than a second is not asked for a while, and that is reported."""
    now = [0.0]

    class Slow(NoCache):
        calls = 0

        def get(self, *key: str) -> bytes | None:
            """Take two seconds, where the test says so."""
            self._take("get")
            return key[1].encode()

        def put(self, *entry: object) -> None:
            """Likewise."""
            self._take("put")
            assert entry

        def _take(self, name: str) -> None:
            self.calls += 1
            now[0] += 2.0 if name == method else 0.0

    slow = Slow()
    guarded = GuardedCache(slow, clock=lambda: now[0])

    assert guarded.get("result", "a") == b"a"
    guarded.put("result", "a", b"1")
    calls = slow.calls
    assert "longer than 1 s" in guarded.diagnostics()[0].message
    assert guarded.get("result", "a") is None
    assert slow.calls == calls
    now[0] += RESET_SECONDS
    assert guarded.diagnostics() == ()


def test_a_cache_that_gives_no_bytes_is_empty() -> None:
    """Whatever else a cache gives is no entry."""

    class Strange(NoCache):
        def get(self, kind: str, key: str) -> Any:
            """Return a text."""
            return f"{kind} {key}"

    result = cached(Strange()).search("order")
    assert result == PLAIN.search("order")


def test_only_the_callers_own_interruption_ends_a_search() -> None:
    """An interruption from the keyboard while a cache is asked is not swallowed."""

    class Interrupted(NoCache):
        def get(self, _kind: str, _key: str) -> NoReturn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached(Interrupted()).search("order")


def test_a_real_cache_serves_threads() -> None:
    """Searches side by side through one cache in memory all give the computed answers."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    engine = cached(MemoryCache(entries=2))
    queries = ["order", "export", "invoice", "customer"] * 8
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(engine.search, queries))
    assert found == [PLAIN.search(query) for query in queries]


class Chosen:
    """A source of candidates that always chooses the same tools."""

    def __init__(self, *ids: str) -> None:
        self.ids = list(ids)

    def candidates(self, _query: str, _vector: Any, _count: int) -> list[str]:
        """Return the tools."""
        return self.ids


class Named(Chosen):
    """One that says which tools it chooses."""

    @property
    def fingerprint(self) -> str:
        """Who chooses."""
        return " ".join(self.ids)


def test_rewrites_of_another_model_are_not_shared() -> None:
    """The key holds who rewrites, and whether anybody does."""
    cache = Listening()
    for name, text in (("one", "export invoices"), ("two", "cancel order")):
        rewriter = FunctionRewriter(lambda _, text=text: text, name)
        engine = mcpg.Engine(PLAIN.index, services=EngineServices(rewriter=rewriter, cache=cache))
        first = engine.search("rechnungen exportieren", rewrite=True)
        assert engine.search("rechnungen exportieren", rewrite=True) == first
        assert next(one.code for one in first.diagnostics) == "query_normalized"
        engine.search("rechnungen exportieren")
    results = [key for kind, key in cache.entries if kind == "result"]
    assert len(results) == len(set(results)) == 3


def test_a_rewrite_that_failed_is_asked_for_again() -> None:
    """A result without the rewrite that was asked for is not kept."""

    def fail(_: str) -> str:
        raise OSError

    cache = Listening()
    services = EngineServices(rewriter=FunctionRewriter(fail, "mine"), cache=cache)
    engine = mcpg.Engine(PLAIN.index, services=services)
    engine.search("rechnungen exportieren", rewrite=True)
    assert not cache.entries


def test_candidates_count_by_who_chose_them() -> None:
    """Another choice has another key; a source that does not say who it is is never cached."""
    cache = Listening()
    for source, hits in (
        (Named("order_get"), 0),
        (Named("order_get"), 1),
        (Named("order_list"), 1),
        (Chosen("order_get"), 1),
        (Chosen("order_get"), 1),
    ):
        services = EngineServices(candidates=source, cache=cache)
        result = mcpg.Engine(PLAIN.index, services=services).search("order")
        assert [one.tool_id for one in result.matches] == source.ids
        assert cache.hits == hits


def test_a_publication_in_the_middle_of_a_search_makes_no_old_answer_new() -> None:
    """What chose is named before the search, though vectors are named only after the first one."""

    class Publishing(Named):
        def candidates(self, query: str, vector: Any, count: int) -> list[str]:
            """Return the tools, just before others are published."""
            chosen = super().candidates(query, vector, count)
            self.ids = ["order_list"]
            return chosen

    services = EngineServices(
        HashProvider(), candidates=Publishing("order_get"), cache=MemoryCache()
    )
    new = EngineServices(HashProvider(), candidates=Named("order_list"))
    engine = mcpg.Engine(PLAIN.index, services=services)
    asked = {"query": "customer", "strategy": "auto", "fusion": "rrf"}

    old = engine.search(**asked)

    assert engine.search(**asked) == mcpg.Engine(PLAIN.index, services=new).search(**asked) != old
