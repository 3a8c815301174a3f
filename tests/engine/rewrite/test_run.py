from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from builders import ids, make_engine, make_tool
from loopback import Conversation, answer, chat, serving

from mcpg.catalog.model import HintRule
from mcpg.cli.render import markdown
from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine, SearchResult
from mcpg.errors import Code, McpgError
from mcpg.llm import ChatRewriter, FunctionRewriter
from mcpg.net.http import Budget, Endpoint, EndpointError
from mcpg.search.caches import MemoryCache
from mcpg.search.guards import RESET_SECONDS, SLOW, GuardedRewriter
from mcpg.search.index_vectors import cached_rewrite
from mcpg.search.results import EngineServices
from mcpg.show.explain import explain_blocks
from mcpg.show.reports import explain_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = "sk-Marker0123456789abcdef"
TRACK = make_tool(
    "shipment_status",
    description="Look up where a shipment is and when it will be delivered.",
    keywords=("parcel", "courier"),
    aliases=("відстежити відправлення",),
)
CREATE = make_tool("shipment_create", description="Create a shipment and buy its label.")
NOTIFY = make_tool("notify_customer", description="Send a message to a customer.")
EXPORT = make_tool("invoice_export", description="Export invoices of an order as PDF files.")
RESET = make_tool("password_reset", description="Reset the password of a user.")
EDGES = HintRule("shipment_status", related=("shipment_create",), next_steps=("notify_customer",))
ENGINE = make_engine(TRACK, CREATE, NOTIFY, EXPORT, RESET, rules=(EDGES,))
QUERY = "де моя посилка"


def engine(function: Callable[[str], Any], seconds: float = 5.0, **services: Any) -> Engine:
    """Return an engine whose queries *function* rewrites."""
    rewriter = FunctionRewriter(function, "test", seconds=seconds)
    return Engine(ENGINE.index, services=EngineServices(rewriter=rewriter, **services))


def constant(text: Any) -> Callable[[str], Any]:
    """Return a function that rewrites everything as *text*."""
    return lambda _: text


def raising(fault: BaseException) -> Callable[[str], str]:
    """Return a function that raises *fault*."""

    def rewrite(_: str) -> str:
        raise fault

    return rewrite


def codes(result: SearchResult) -> list[str]:
    """Return the codes of the diagnostics of *result*."""
    return [diagnostic.code for diagnostic in result.diagnostics]


def as_it_is(query: str = QUERY, **options: Any) -> SearchResult:
    """Search without a rewrite."""
    return ENGINE.search(query, **options)


def test_a_query_in_another_language_is_searched_in_english_too() -> None:
    """The rewrite finds what the query cannot, with a score that is a probability of both."""
    result = engine(constant("parcel status")).search(QUERY, rewrite=True)
    assert ids(result.matches)[0] == "shipment_status"
    assert 0.35 < result.matches[0].score <= 1
    assert result.normalized_query == "parcel status"
    assert codes(result) == [Code.QUERY_NORMALIZED]
    assert "parcel status" in result.diagnostics[0].message
    assert result.to_dict()["normalizedQuery"] == "parcel status"
    assert result.query == QUERY
    scores = [match.score for match in result.matches]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "query",
    ["मेरी चिट्ठी कहाँ है", "আমার চিঠি কোথায়", "எனது கடிதம் எங்கே", "จดหมายของฉันอยู่ที่ไหน", "ຈົດໝາຍຢູ່ໃສ"],
)
def test_a_query_in_a_script_with_vowel_signs_trusts_its_rewrite(query: str) -> None:
    """Words with vowel signs are words: the catalogue knows none, so the rewrite counts."""
    result = engine(constant("where is my parcel")).search(query, rewrite=True)

    assert ids(result.matches)[:1] == ["shipment_status"]
    assert any("trusted 0.9" in one.message for one in result.diagnostics)


def test_without_the_wish_nobody_is_asked() -> None:
    """A rewriter that is there is not asked unless a search wants it."""
    result = engine(raising(AssertionError())).search(QUERY)
    assert result == as_it_is()
    assert result.normalized_query is None
    assert result.to_dict()["normalizedQuery"] is None


@pytest.mark.parametrize("query", ["export the invoices", "where is my shipment", "4711", None, ""])
def test_plain_english_is_not_rewritten(query: str | None) -> None:
    """Nobody is asked about plain English, numbers, or nothing at all."""
    result = engine(raising(AssertionError())).search(query, rewrite=True)
    assert result == ENGINE.search(query)


def test_plain_english_is_told_in_the_trace() -> None:
    """Why nobody was asked can be looked up."""
    stage = engine(constant("x")).explain("export the invoices", rewrite=True).stages[0]
    assert stage.name == "normalise"
    assert stage.details["outcome"] == "plain English"
    assert stage.details["foreignShare"] == 0


def test_an_empty_catalogue_asks_nobody() -> None:
    """There is nothing to rewrite a query for."""
    empty = make_engine()
    rewriter = FunctionRewriter(raising(AssertionError()), "test")
    result = Engine(empty.index, services=EngineServices(rewriter=rewriter)).search(
        QUERY, rewrite=True
    )
    assert result.ranking_mode == "empty"


def test_a_missing_normaliser_is_no_failure() -> None:
    """The query is searched as it is, and an information tells so."""
    result = ENGINE.search(QUERY, rewrite=True)
    assert ids(result.matches) == ids(as_it_is().matches)
    assert (result.diagnostics[0].code, result.diagnostics[0].severity) == (
        Code.QUERY_NORMALIZER_MISSING,
        "info",
    )


@pytest.mark.parametrize("text", [QUERY, QUERY.upper(), f"`{QUERY}`\n"])
def test_an_equal_answer_changes_nothing(text: str) -> None:
    """A model that repeats the query has nothing to add."""
    assert engine(constant(text)).search(QUERY, rewrite=True) == as_it_is()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "a\nb",
        "I'm sorry, but I can't help you with this.",
        "{}",
        "посилка",
        "x" * 500,
    ],
)
def test_a_refused_answer_never_replaces_the_query(text: str) -> None:
    """What is no search query is not used, and a warning tells why."""
    result = engine(constant(text)).search(QUERY, rewrite=True)
    assert ids(result.matches) == ids(as_it_is().matches)
    assert result.normalized_query is None
    assert codes(result)[0] == Code.QUERY_NORMALIZATION_REFUSED


@pytest.mark.parametrize(
    "fault",
    [
        ValueError(KEY),
        TimeoutError(KEY),
        asyncio.CancelledError(KEY),
        KeyboardInterrupt(KEY),
        SystemExit(KEY),
        GeneratorExit(KEY),
        EndpointError("no luck", kind="failed"),
    ],
)
def test_a_failing_normaliser_costs_a_warning(fault: BaseException) -> None:
    """Whatever a client raises, even its own cancellation, the query is searched as it is."""
    result = engine(raising(fault)).search(QUERY, rewrite=True)
    assert ids(result.matches) == ids(as_it_is().matches)
    assert codes(result)[0] == Code.QUERY_NORMALIZATION_FAILED
    assert KEY not in f"{result!r}"


@pytest.mark.parametrize("text", [None, 3, b"parcel", ["parcel"]])
def test_an_answer_that_is_no_text_is_a_failure(text: Any) -> None:
    """A function that gives anything but text has failed."""
    result = engine(constant(text)).search(QUERY, rewrite=True)
    assert codes(result)[0] == Code.QUERY_NORMALIZATION_FAILED


def test_a_slow_normaliser_is_not_waited_for() -> None:
    """A function that does not come back costs its time and no more."""
    done = threading.Event()
    try:
        slow = engine(lambda _: (done.wait(60) and "") or "", seconds=0.05)
        result = slow.search(QUERY, rewrite=True)
    finally:
        done.set()
    assert codes(result)[0] == Code.QUERY_NORMALIZATION_FAILED
    assert "0.05 seconds" in result.diagnostics[0].message


def test_a_normaliser_that_fails_slowly_is_not_asked_by_every_search() -> None:
    """A search pays for the failure, and those that follow soon after tell of it."""
    asked: list[str] = []

    def rewrite(query: str) -> str:
        asked.append(query)
        threading.Event().wait(SLOW)
        raise OSError

    mine = engine(rewrite)
    results = [mine.search(query, rewrite=True) for query in (QUERY, QUERY, "де пакунок")]
    assert asked == [QUERY]
    assert {codes(result)[0] for result in results} == {Code.QUERY_NORMALIZATION_FAILED}
    assert len({result.diagnostics[0].message for result in results}) == 1


@pytest.mark.parametrize(("seconds", "calls"), [(SLOW, [1, 1, 2]), (SLOW / 2, [1, 2, 3])])
def test_a_normaliser_that_failed_is_asked_again_after_a_rest(
    seconds: float, calls: list[int]
) -> None:
    """One that fails at once has no rest; what a cache knows is found meanwhile."""
    now, asked, cache = 0.0, [0], MemoryCache()

    def rewrite(_: str) -> str:
        nonlocal now
        now += seconds
        asked[0] += 1
        raise OSError

    cached_rewrite(cache, FunctionRewriter(constant("known"), "test"), "bekannt")
    guarded = GuardedRewriter(FunctionRewriter(rewrite, "test"), lambda: now)
    for number, wait in enumerate((0.0, RESET_SECONDS - SLOW, SLOW)):
        now += wait
        with pytest.raises(McpgError, match="rewriting ended in OSError"):
            cached_rewrite(cache, guarded, QUERY)
        assert asked[0] == calls[number]
        assert cached_rewrite(cache, guarded, "bekannt") == "known"


@pytest.mark.parametrize(
    "seconds", [0, -1, "soon", None, True, 10**400, float("nan"), float("inf")]
)
def test_a_time_that_is_none_is_the_usual_one(seconds: Any) -> None:
    """What a host says wrong of its time does no harm."""
    result = engine(constant("parcel status"), seconds=seconds).search(QUERY, rewrite=True)
    assert result.normalized_query == "parcel status"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals reach processes here")
def test_the_callers_own_interruption_ends_the_search() -> None:
    """Who is interrupted while waiting gets out at once."""
    waiting, done = threading.get_ident(), threading.Event()

    def interrupt(_: str) -> str:
        signal.pthread_kill(waiting, signal.SIGINT)
        done.wait(60)
        return ""

    try:
        with pytest.raises(KeyboardInterrupt):
            engine(interrupt).search(QUERY, rewrite=True)
    finally:
        done.set()


def test_lost_literals_are_put_back() -> None:
    """A rewrite that drops a number has it back, and an information tells so."""
    result = engine(constant("parcel status")).search(f"{QUERY} A-1234", rewrite=True)
    assert result.normalized_query == "parcel status A-1234"
    assert codes(result) == [Code.QUERY_NORMALIZED, Code.QUERY_LITERALS_RESTORED]
    assert "A-1234" in result.diagnostics[1].message


def test_literals_that_survive_are_not_told() -> None:
    """A rewrite that keeps everything needs no mending."""
    result = engine(constant("status of parcel A-1234")).search(f"{QUERY} A-1234", rewrite=True)
    assert codes(result) == [Code.QUERY_NORMALIZED]


@pytest.mark.parametrize("bad", ["reset the password of a user", "invoice", "zzz qqq xxx"])
def test_a_bad_rewrite_does_not_lose_a_good_match(bad: str) -> None:
    """What the query itself is sure of keeps its place and its score."""
    query = "відстежити відправлення"
    alone = as_it_is(query).matches[0]
    assert alone.score > 0.5
    result = engine(constant(bad)).search(query, rewrite=True)
    assert result.normalized_query == bad
    assert "shipment_status" in ids(result.matches)[:2]
    assert next(m for m in result.matches if m.tool_id == alone.tool_id).score >= alone.score


def test_edges_come_from_what_is_offered() -> None:
    """Related tools and next steps belong to shown matches and bear these matches' scores."""
    result = engine(constant("parcel status")).search(QUERY, limit=1, rewrite=True)
    assert ids(result.matches) == ["shipment_status"]
    assert "notify_customer" in ids(result.next_step_matches)
    reached = (*result.related_matches, *result.next_step_matches)
    assert len({*ids(reached)}) == len(reached)
    for match in reached:
        assert match.via is not None
        assert match.via.source == "shipment_status"
        assert match.score == pytest.approx(match.via.weight * result.matches[0].score)
    assert result.focused_graph.nodes >= 1 + len(reached)


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
@pytest.mark.parametrize("strategy", ["graph", "auto"])
def test_every_edge_of_what_is_offered_is_followed(limit: int, strategy: str) -> None:
    """A tool that a match leads to is not lost because one of the searches finds it as well."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, "parcel" in text or "посилка" in text] for text in texts]

    embedder = FunctionEmbeddings(embed, "test")
    mine = engine(constant("shipment of a customer, parcel status"), embeddings=embedder)
    result = mine.search(QUERY, limit=limit, strategy=strategy, rewrite=True)
    index, found = mine.index, ids(result.matches)
    edges = [edge for name in found for edge in index.edges(index.find_tool(name))]
    expected = {index.tool_id(target) for _, target, _, _ in edges} - {*found}
    reached = ids((*result.related_matches, *result.next_step_matches))
    assert "shipment_status" in found
    assert sorted(reached) == sorted(expected)
    assert limit > 1 or "shipment_create" in reached


def test_expansion_is_explained_once_of_what_is_offered() -> None:
    """The stage that follows edges comes after both searches, and counts what it brought."""
    explanation = engine(constant("shipment, parcel status")).explain(QUERY, limit=1, rewrite=True)
    stages = [stage for stage in explanation.stages if stage.name.endswith("expand")]
    result = explanation.result
    assert [stage.name for stage in stages] == ["expand"]
    assert explanation.stages[-1] is stages[0]
    assert stages[0].details["related"] == len(result.related_matches) > 0
    assert stages[0].details["nextSteps"] == len(result.next_step_matches) > 0
    assert {one.tool_id for one in explanation.expansions} == {
        *ids((*result.related_matches, *result.next_step_matches))
    }


@pytest.mark.parametrize("strategy", ["graph", "auto"])
def test_a_doubtful_answer_is_explained_with_advice(strategy: str) -> None:
    """Words that no tool has are named, those of the query and those of its rewrite."""
    mine = engine(constant("quantum gardening"))
    explanation = mine.explain(QUERY, rewrite=True, strategy=strategy)
    assert Code.LOW_CONFIDENCE in codes(explanation.result)
    (advice,) = [one for one in explanation.advice if "no tool has" in one]
    assert {"посилка", "quantum", "gardening"} <= set(advice.replace("'", " ").split())
    assert not engine(constant("parcel status")).explain(QUERY, rewrite=True).advice


def test_advice_is_about_the_merged_answer() -> None:
    """What is doubtful is the merged answer, whatever the query by itself would have been."""
    assert Code.LOW_CONFIDENCE in codes(as_it_is(QUERY))
    explanation = engine(constant("parcel status")).explain(QUERY, rewrite=True)
    assert Code.LOW_CONFIDENCE not in codes(explanation.result)
    assert not explanation.advice


def test_gates_are_held_by_the_merged_scores() -> None:
    """Least scores, abstaining and limits look at the list that is shown."""
    mine = engine(constant("parcel status"))
    best = mine.search(QUERY, rewrite=True).matches[0].score
    assert not mine.search(QUERY, rewrite=True, min_score=min(1.0, best + 0.01)).matches
    assert ids(mine.search(QUERY, rewrite=True, min_score=best - 0.01).matches) == [
        "shipment_status"
    ]
    nothing = engine(constant("quantum gardening")).search(QUERY, rewrite=True, abstain=True)
    assert not nothing.matches
    assert Code.LOW_CONFIDENCE in codes(nothing)


def test_doubts_are_told_of_the_merged_list() -> None:
    """A query that finds nothing by itself is not doubtful once its rewrite does."""
    assert Code.LOW_CONFIDENCE in codes(as_it_is())
    assert Code.LOW_CONFIDENCE not in codes(
        engine(constant("parcel status")).search(QUERY, rewrite=True)
    )
    doubtful = engine(constant("quantum gardening")).search(QUERY, rewrite=True)
    assert codes(doubtful).count(Code.LOW_CONFIDENCE) == 1


def test_what_both_searches_notice_is_told_once() -> None:
    """A provider of vectors that is missing is missing once."""
    found = codes(engine(constant("parcel")).search(QUERY, rewrite=True, strategy="embeddings"))
    assert found.count(Code.GRAPH_FALLBACK) == 1
    assert found[0] == Code.QUERY_NORMALIZED


def test_an_explanation_tells_which_search_found_what() -> None:
    """Scores add up from both places; words and stages of the rewrite are marked as such."""
    mine = engine(constant("parcel status"))
    explanation = mine.explain(f"{QUERY} A-1234", rewrite=True)
    assert explanation.result == mine.search(f"{QUERY} A-1234", rewrite=True)
    assert explanation.normalized_query == "parcel status A-1234"
    details = explanation.stages[0].details
    assert details["outcome"] == "rewritten"
    assert details["restored"] == ["A-1234"]
    names = [stage.name for stage in explanation.stages]
    assert names[:2] == ["normalise", "analyse"]
    assert "rewrite.analyse" in names
    assert {"query", "literal", "rewrite"} == {word.origin for word in explanation.words}
    for rank, match in enumerate(explanation.matches, start=1):
        assert match.rank == rank
        found = sum(p.weight * p.score for p in match.found_by)
        assert match.score == pytest.approx(found, abs=1e-6)
        assert match.fused_score == pytest.approx(sum(p.contribution for p in match.contributions))
    assert [one.tool_id for one in explanation.matches] == ids(explanation.result.matches)
    assert explanation.matches[0].found_by[-1].text == "rewrite"


def test_an_explanation_is_shown_in_every_form() -> None:
    """JSON, Markdown and HTML tell the rewrite and where each match comes from."""
    explanation = engine(constant("parcel status")).explain(QUERY, rewrite=True)
    data = explanation.to_dict()
    assert data["normalizedQuery"] == "parcel status"
    first = data["matches"][0]  # type: ignore[index]
    assert first["foundBy"][-1]["text"] == "rewrite"  # type: ignore[index,call-overload]
    shown = markdown(explain_blocks(data))
    assert "parcel status" in shown
    assert "by the rewrite" in shown
    assert "by the rewrite" in explain_page(data)
    plain = ENGINE.explain("invoice").to_dict()
    assert "foundBy" not in plain["matches"][0]  # type: ignore[index,operator]


def test_an_explanation_of_a_refusal_says_why() -> None:
    """Without a rewrite the query is explained as it is, and the reason told."""
    explanation = engine(constant("a\nb")).explain(QUERY, rewrite=True)
    assert explanation.stages[0].details["reason"] == "it has several lines"
    assert "several lines" in markdown(explain_blocks(explanation.to_dict()))


def test_rewrites_are_cached() -> None:
    """The same query is rewritten once, with whatever limit it is asked."""
    asked: list[str] = []

    def rewrite(query: str) -> str:
        asked.append(query)
        return "parcel status"

    mine = engine(rewrite, cache=MemoryCache())
    first = mine.search(QUERY, rewrite=True)
    assert mine.search(QUERY, rewrite=True) == first
    mine.search(QUERY, rewrite=True, limit=1)
    assert asked == [QUERY]


def test_results_of_one_normaliser_are_not_those_of_another() -> None:
    """A shared cache keeps what different models make of a query apart."""
    cache = MemoryCache()
    found = []
    for name in ("parcel status", "export invoices"):
        rewriter = FunctionRewriter(constant(name), name)
        services = EngineServices(rewriter=rewriter, cache=cache)
        found.append(Engine(ENGINE.index, services=services).search(QUERY, rewrite=True))
    assert [one.normalized_query for one in found] == ["parcel status", "export invoices"]


@pytest.mark.parametrize(
    "script",
    [
        answer("busy", 500),
        answer("busy", 429, Retry_After="60"),
        answer(f"your key {KEY} is wrong", 401),
        answer("<html>Welcome</html>"),
        answer({"choices": []}),
        answer(chat(None)),
        answer(chat("cut", finish="length")),
        lambda conversation: conversation.send(b'{"half', length=500),
        lambda conversation: conversation.wait(30),
    ],
)
def test_a_server_that_fails_costs_a_warning(script: Callable[[Conversation], None]) -> None:
    """Against real servers that fail, hang, break off or lie: the query as it is, never the key."""
    with serving(script) as server:
        budget = Budget(connect=1.0, read=1.0, total=0.3, retries=1)
        rewriter = ChatRewriter("", "small", endpoint=Endpoint(server.url, key=KEY, budget=budget))
        mine = Engine(ENGINE.index, services=EngineServices(rewriter=rewriter))
        result = mine.search(QUERY, rewrite=True)
        explanation = mine.explain(QUERY, rewrite=True)
    assert ids(result.matches) == ids(as_it_is().matches)
    assert codes(result)[0] == Code.QUERY_NORMALIZATION_FAILED
    assert KEY not in f"{result!r} {explanation!r} {mine.services!r}"


def test_a_server_that_answers_is_used() -> None:
    """A query goes to a real server and comes back in English."""
    with serving(answer(chat('"parcel status"'))) as server:
        rewriter = ChatRewriter(server.url, "small", key=KEY)
        mine = Engine(ENGINE.index, services=EngineServices(rewriter=rewriter))
        assert ids(mine.search(QUERY, rewrite=True).matches)[0] == "shipment_status"
        assert server.asked[0].body["messages"][1]["content"] == QUERY
        rewriter.close()


@pytest.mark.parametrize(("cosine", "least", "most"), [(1.0, 0.9, 0.95), (0.3, 0.0, 0.1)])
def test_vectors_have_a_say_in_the_trust(cosine: float, least: float, most: float) -> None:
    """A model that sees two meanings takes the trust away; both texts are embedded once."""
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        other = [cosine, (1 - cosine**2) ** 0.5]
        return [[1.0, 0.0] if text == QUERY else other for text in texts]

    mine = engine(constant("parcel status"), embeddings=FunctionEmbeddings(embed, "test"))
    details = mine.explain(QUERY, rewrite=True, strategy="auto").stages[0].details
    assert details["agreement"] == pytest.approx(cosine, abs=1e-5)
    assert least <= float(str(details["trust"])) <= most
    assert asked.count(QUERY) == asked.count("parcel status") == 1


def test_a_context_has_no_say_in_the_trust() -> None:
    """What both texts share by being asked in one context makes a wrong rewrite no better."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        words = (QUERY, "passwords", "shipment", *["shop"] * 3)
        return [[float(word in text) for word in words] for text in texts]

    mine = engine(constant("reset passwords"), embeddings=FunctionEmbeddings(embed, "test"))
    details = [
        mine.explain(QUERY, context=context, rewrite=True, strategy="auto").stages[0].details
        for context in ("shop", {"page": "shop"})
    ]
    assert [one["agreement"] for one in details] == [0.0, 0.0]


def test_a_provider_that_fails_has_no_say() -> None:
    """Without vectors the trust is what it is by the words alone."""
    failing = FunctionEmbeddings(raising(ValueError("no")), "test")
    mine = engine(constant("parcel status"), embeddings=failing)
    result = mine.search(QUERY, rewrite=True, strategy="auto")
    assert ids(result.matches)[0] == "shipment_status"
    assert codes(result).count(Code.GRAPH_FALLBACK) == 1
