"""Searches among the tools of some sources, of some categories, and among those that only read."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorial import HashProvider

from mcpg.catalog.model import HintRule
from mcpg.engine import Engine, RankingMode
from mcpg.errors import Code, UsageError
from mcpg.llm import FunctionRewriter
from mcpg.search.caches import MemoryCache
from mcpg.search.guards import COUNT
from mcpg.search.query import analyse
from mcpg.search.results import MAX_LIMIT, EngineServices
from mcpg.search.retrieval import retrieve_for_each

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.engine import SearchResult
    from mcpg.index import Index

SOURCES = ("Commerce", "Billing", "Logistics")
CATEGORIES = ("Orders", "money")
VERBS = ("track", "cancel", "list", "create")
NOUNS = ("order", "invoice", "parcel")
READING = {"track": True, "list": True, "create": False, "cancel": None}

TOOLS = [
    make_tool(
        f"{source.lower()}_{noun}_{verb}",
        source_id=source,
        description=f"{verb.capitalize()} the {noun} of a customer.",
        read_only=READING[verb],
        categories=CATEGORIES[: NOUNS.index(noun)],
        enabled_by_default=None if (source, verb) != ("Billing", "list") else False,
        input_schema={
            "type": "object",
            "properties": {f"{noun}_id": {"type": "string"}},
            "required": [f"{noun}_id"] if verb in {"track", "cancel"} else [],
        },
        output_schema={"type": "object", "properties": {f"{noun}_id": {"type": "string"}}},
    )
    for source in SOURCES
    for noun in NOUNS
    for verb in VERBS
]
RULES = (
    HintRule("commerce_order_list", related=("billing_invoice_track",)),
    HintRule("commerce_order_track", next_steps=("logistics_parcel_track", "commerce_order_list")),
)
ENGINE = make_engine(*TOOLS, rules=RULES)
TOOL_OF = {tool.id: tool for tool in ENGINE.tools}
EQUIPPED = Engine(
    ENGINE.index,
    services=EngineServices(
        HashProvider(), rewriter=FunctionRewriter(lambda _: "track order", "a test")
    ),
)

QUERIES = st.lists(
    st.sampled_from([*VERBS, *NOUNS, "customer", "commerce", "traking", ". then"]), max_size=6
).map(" ".join)
FILTERS = st.fixed_dictionaries(
    {
        "sources": st.lists(st.sampled_from([*SOURCES, "billing", "nowhere"]), max_size=2),
        "categories": st.lists(st.sampled_from([*CATEGORIES, "MONEY", "nothing"]), max_size=2),
        "read_only": st.booleans(),
    }
)
WAYS = st.sampled_from(
    (
        {},
        {"strategy": "embeddings"},
        {"strategy": "auto"},
        {"strategy": "auto", "fusion": "learned"},
        {"strategy": "auto", "fusion": "rrf"},
        {"rewrite": True},
        {"context": "invoice"},
        {"context_tools": ["commerce_order_track"]},
        {"include_disabled": True},
    )
)


def passes(tool: Tool, sources: list[str], categories: list[str], *, read_only: bool) -> bool:
    """Return whether *tool* passes a filter, by what documents of the filter promise."""
    of = {tool.source_id.casefold()}
    among = {name.casefold() for name in tool.hints.categories}
    return (
        (not sources or not of.isdisjoint(map(str.casefold, sources)))
        and (not categories or not among.isdisjoint(map(str.casefold, categories)))
        and (not read_only or tool.hints.read_only is True)
    )


def every(result: SearchResult) -> list[str]:
    """Return the ids of all tools that *result* offers, in whatever place."""
    expanded = (*result.related_matches, *result.next_step_matches, *result.prerequisites)
    return ids((*result.matches, *expanded))


def codes(result: SearchResult) -> list[str]:
    """Return the codes of the diagnostics of *result*."""
    return [one.code for one in result.diagnostics]


@settings(deadline=None, max_examples=150)
@given(QUERIES, FILTERS, WAYS)
def test_whatever_is_offered_passes_the_filter(
    query: str, chosen: dict[str, Any], way: dict[str, Any]
) -> None:
    """By every strategy, and for related tools, next steps and prerequisites as for matches."""
    result = EQUIPPED.search(query, limit=MAX_LIMIT, **chosen, **way)

    assert all(passes(TOOL_OF[tool], **chosen) for tool in every(result))


@settings(deadline=None, max_examples=60)
@given(QUERIES, FILTERS, st.integers(1, 12))
def test_a_limit_only_cuts(query: str, chosen: dict[str, Any], limit: int) -> None:
    """The first few of a filtered search are the first few of a longer one, with equal scores."""
    whole = ENGINE.search(query, limit=MAX_LIMIT, **chosen).matches

    assert ENGINE.search(query, limit=limit, **chosen).matches == whole[:limit]


@settings(deadline=None, max_examples=60)
@given(QUERIES, FILTERS)
def test_browsing_lists_what_passes(query: str, chosen: dict[str, Any]) -> None:
    """Without a query, the tools that pass are listed in the order of all."""
    everything = ids(ENGINE.search("", limit=MAX_LIMIT).matches)
    expected = [tool for tool in everything if passes(TOOL_OF[tool], **chosen)]

    assert ids(ENGINE.search("", limit=MAX_LIMIT, **chosen).matches) == expected
    assert set(every(ENGINE.search(query, limit=MAX_LIMIT, **chosen))) <= set(expected)


@cache
def many() -> Index:
    """Return an index of 1,500 tools of seven sources, made where a test needs it."""
    tools = [
        make_tool(
            f"tool_{number:04}",
            source_id=f"source{number % 7}",
            description=f"{VERBS[number % 4]} {NOUNS[number % 3]} {'of a customer' * (number % 5)}",
        )
        for number in range(1_500)
    ]
    return make_engine(*tools).index


@settings(deadline=None, max_examples=60)
@given(QUERIES, st.sets(st.integers(0, 6), min_size=1), st.integers(20, 50))
def test_retrieval_keeps_the_order_of_all(query: str, sources: set[int], size: int) -> None:
    """Among few documents or many, their order is the one that they have among all."""
    index = many()
    analysis = analyse(query, index)
    if not analysis.clauses:
        return
    numbers = range(len(index))
    among = frozenset(one for one in numbers if index.find_source_numbers([one])[0] in sources)
    excluded = frozenset(numbers) - among
    everything = retrieve_for_each(
        analysis._replace(intents=()), index, excluded=(), size=len(index)
    )

    found = retrieve_for_each(
        analysis._replace(intents=()), index, excluded=excluded, size=size, among=among
    )

    assert found == [one for one in everything if one in among][:size]


def test_the_best_of_a_source_are_found_below_a_whole_pool_of_others() -> None:
    """Tools are filtered before they are candidates, so that those of others take no place."""
    others = [make_tool(f"order_track_{one}", description="Track order") for one in range(60)]
    own = make_tool("look_up", source_id="shop", description="Look up an order of long ago.")
    engine = make_engine(*others, own)

    assert "look_up" not in ids(engine.search("track order", limit=MAX_LIMIT).matches)
    assert ids(engine.search("track order", sources=["shop"]).matches) == ["look_up"]


@pytest.mark.untraced
def test_candidates_from_elsewhere_are_filtered() -> None:
    """Where a candidate source has spent its places on other tools, the engine searches itself."""
    index = many()

    class Source:
        fingerprint = "tools of one source"

        def candidates(self, *_: object) -> list[str]:
            """Return tools of one source, whatever is asked."""
            return [index.tool_id(number) for number in range(0, len(index), 7)][:COUNT]

    engine, plain = Engine(index, services=EngineServices(candidates=Source())), Engine(index)
    found = engine.search("track order", limit=MAX_LIMIT, sources=["source3"])

    assert found.matches == plain.search("track order", limit=50, sources=["source3"]).matches
    assert {match.source_id for match in found.matches} == {"source3"}


def test_a_prerequisite_of_another_source_is_not_offered() -> None:
    """What a filter leaves out is left out everywhere, even where a match needs it."""
    engine = make_engine(
        make_tool("parcel_find", description="Find parcels.", source_id="post", read_only=True),
        make_tool("label_print", description="Print a label.", source_id="office"),
        rules=(HintRule("parcel_find", next_steps=("label_print",)),),
    )

    assert ids(engine.search("print label").prerequisites) == ["parcel_find"]
    assert every(engine.search("print label", sources=["office"])) == ["label_print"]
    assert [one.tool_id for one in engine.plan("print label", sources=["office"]).tasks] == [
        "label_print"
    ]


@pytest.mark.parametrize(
    ("chosen", "suggested"),
    [
        ({"sources": ["comerce"]}, "did you mean 'Commerce'?"),
        ({"categories": ["order"]}, "did you mean 'Orders'?"),
        ({"sources": ["MONEY"]}, "no source is called 'MONEY'; a category is"),
        ({"categories": ["billing"]}, "no category is called 'billing'; a source is"),
        ({"sources": ["zzz"]}, "the sources are 'Billing', 'Commerce', 'Logistics'"),
        ({"sources": [""]}, "no source is called ''"),
        ({"sources": ["x" * 5_000]}, "no source is called 'xxx"),
    ],
)
def test_an_unknown_name_finds_nothing(chosen: dict[str, Any], suggested: str) -> None:
    """It is reported with a near name, and never taken for no filter."""
    for way in ({}, {"strategy": "auto"}, {"rewrite": True}):
        result = EQUIPPED.search("track order", **chosen, **way)
        assert (result.matches, result.ranking_mode) == ((), RankingMode.EMPTY)
        assert codes(result) == [Code.FILTER_UNKNOWN]
        assert suggested in result.diagnostics[0].message
        assert len(result.diagnostics[0].message) < 300
    plan = EQUIPPED.plan("track order", **chosen)
    assert plan.tasks == ()
    assert [one.code for one in plan.diagnostics] == [Code.FILTER_UNKNOWN]


def test_an_unknown_name_beside_a_known_one_is_reported() -> None:
    """Of several sources one is enough; a name of none adds nothing."""
    result = ENGINE.search("track order", sources=["nowhere", "LOGISTICS"])

    assert {match.source_id for match in result.matches} == {"Logistics"}
    assert Code.FILTER_UNKNOWN in codes(result)


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"sources": ["Billing"], "categories": ["Orders"], "read_only": True}, ""),
        ({"tools": [make_tool("a"), make_tool("b")], "read_only": True}, "is marked as read-only"),
        (
            {"tools": [make_tool("a", enabled_by_default=False)], "sources": ["commerce"]},
            "disabled",
        ),
    ],
)
def test_a_filter_that_leaves_nothing_says_why(chosen: dict[str, Any], reason: str) -> None:
    """Known names that leave no tool are reported with what is in the way."""
    tools = chosen.pop("tools", None)
    engine = make_engine(*tools) if tools else ENGINE
    result = engine.search("list invoices", **chosen)
    if not reason:
        assert result.matches
        return
    assert codes(result) == [Code.FILTER_EMPTY]
    assert reason in result.diagnostics[0].message


@pytest.mark.parametrize("names", ["github", [1], 7, None, [None]])
@pytest.mark.parametrize("option", ["sources", "categories"])
def test_names_that_are_no_list_of_texts_are_refused(option: str, names: Any) -> None:
    """A text is no list of its letters."""
    for ask in (ENGINE.search, ENGINE.explain, ENGINE.plan, ENGINE.ask):
        with pytest.raises(UsageError, match=option):
            ask("track order", **{option: names})


def test_a_filter_is_part_of_the_key_of_a_result() -> None:
    """A cached result is only ever given for the filter that it was made with."""
    engine = Engine(ENGINE.index, services=EngineServices(cache=MemoryCache()))
    asked = [{}, {"sources": ["billing"]}, {"categories": ["money"]}, {"read_only": True}]
    for chosen in (*asked, *asked):
        expected = ENGINE.search("track order", **chosen)
        assert engine.search("track order", **chosen).matches == expected.matches


def test_a_search_that_answers_a_question_is_filtered() -> None:
    """`ask` hands the filter to its search, and still finds what a question names."""
    found = ENGINE.ask("I lost my order", sources=["billing"]).results
    assert found
    assert {TOOL_OF[one.symbol].source_id for one in found} == {"Billing"}
    named = ENGINE.ask("where is commerce_order_list", sources=["billing"]).results
    assert [one.symbol for one in named][:1] == ["commerce_order_list"]


def test_an_explanation_tells_of_the_filter() -> None:
    """It has the conditions, and how many tools they leave; without any, there is none."""
    explanation = ENGINE.explain("track order", sources=["BILLING"], read_only=True)
    assert explanation.filter is not None
    assert explanation.filter.sources == ("BILLING",)
    assert explanation.filter.read_only
    assert (explanation.filter.tools, explanation.filter.of) == (3, len(TOOLS))
    assert ENGINE.explain("track order").filter is None


@pytest.mark.parametrize(
    ("chosen", "unmet"),
    [
        ({"sources": ["billing"]}, ["its source is 'Commerce', not 'billing'"]),
        ({"categories": ["money"]}, ["it is not in the category 'money'"]),
        ({"read_only": True}, ["it has no hint that it only reads"]),
        ({"sources": ["Commerce"]}, []),
    ],
)
def test_why_not_names_the_condition_that_a_tool_does_not_meet(
    chosen: dict[str, Any], unmet: list[str]
) -> None:
    """A tool that the filter leaves out has no rank, and no hint is suggested for it."""
    tool = ENGINE.explain("cancel order", tool="commerce_order_cancel", **chosen).tool
    assert tool is not None
    assert list(tool.unmet) == unmet
    if unmet:
        assert (tool.rank, tool.change) == (None, None)
        assert "filter leaves it out" in tool.remark
        assert all("the filter leaves this tool out" in one.because[0] for one in tool.above)
    else:
        assert tool.rank == 1
