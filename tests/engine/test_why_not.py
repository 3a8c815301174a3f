from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.bundle import assemble
from mcpg.catalog.model import HintRule
from mcpg.documents.front_matter import MAX_FRONT_MATTER
from mcpg.errors import NotFoundError, UsageError
from mcpg.explain import why_not
from mcpg.explain.why_not import MOST_READ, HintSearch, reasons
from mcpg.search.model import FEATURES
from mcpg.search.trace import FeatureGap, Retrieval
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    import mcpg
    from mcpg.catalog.model import Tool
    from mcpg.search.pipeline import Search
    from mcpg.search.query import Analysis
    from mcpg.search.retrieval import Pool
    from mcpg.search.trace import RankExplanation

TOOLS = (
    make_tool("shipment_status", description="Where a shipment is."),
    make_tool("shipment_create", description="Create a shipment and print its label."),
    make_tool("order_get", description="Get an order and the status of its shipments."),
    make_tool("invoice_list", description="List the invoices of an order.", keywords=("bill",)),
    make_tool("card_block", description="Block a stolen card.", enabled_by_default=False),
)
ENGINE = make_engine(*TOOLS)
WORDS = ["shipment", "shipmnt", "status", "order", "bill", "label", "zorb", "card", "the", "4711"]


def ask(query: str, tool: str, engine: mcpg.Engine = ENGINE, **asked: object) -> RankExplanation:
    """Say why *tool* is where it is."""
    found = engine.explain(query, tool=tool, **asked).tool  # type: ignore[arg-type]
    assert found is not None
    return found


def rank(engine: mcpg.Engine, query: str, tool: str) -> int | None:
    """Return the rank of *tool* as a search shows it."""
    found = [match.tool_id for match in engine.search(query, limit=50).matches]
    return found.index(tool) + 1 if tool in found else None


queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
names = st.sampled_from([tool.id for tool in TOOLS])


@settings(deadline=None, max_examples=60)
@given(queries, names)
def test_a_standing_tells_the_truth(query: str, tool: str) -> None:
    """Rank, score and gaps are those of the search, and differences sum to the gap.

    A tool that is hidden is compared as if it were not.
    """
    standing = ask(query, tool)
    matches = ENGINE.explain(query, limit=50, include_disabled=standing.is_hidden).matches

    assert standing.rank == rank(ENGINE, query, tool)
    by_id = {match.tool_id: match for match in matches}
    if standing.rank:
        assert standing.score == by_id[tool].score
        assert standing.fused_score == by_id[tool].fused_score
    for rival in standing.above:
        assert matches[rival.rank - 1].tool_id == rival.tool_id
        assert rival.score == by_id[rival.tool_id].score
        assert rival.fused_score == by_id[rival.tool_id].fused_score
        assert rival.gap == pytest.approx(rival.fused_score - standing.fused_score, abs=1e-9)
        total = sum(gap.difference for gap in rival.features)
        assert total == pytest.approx(rival.gap, abs=2e-9)
        assert rival.because
    assert (standing.change is None) or standing.rank != 1


@settings(deadline=None, max_examples=60)
@given(queries, names)
def test_a_change_keeps_its_promise(query: str, tool: str) -> None:
    """A hints file with the change, and a new bundle, give the rank and the score promised."""
    change = ask(query, tool).change
    if change is None:
        return

    changed = make_engine(*TOOLS, rules=(HintRule(tool, change.hints),))

    assert change.is_verified
    assert rank(changed, query, tool) == change.rank_after
    match = changed.search(query, limit=50).matches[change.rank_after - 1]
    assert match.score == change.score_after
    assert changed.search(query).matches == (
        ENGINE.with_hints(tool, change.hints).search(query).matches
    )


def test_the_first_tool_needs_no_change() -> None:
    """Of the first tool it is said that it is first."""
    standing = ask("shipment status", "shipment_status")

    assert (standing.rank, standing.above, standing.change) == (1, (), None)
    assert standing.remark == "it is first already"


def test_an_alias_of_the_request_comes_first() -> None:
    """What a short request describes is an alias, which is about nothing but such requests."""
    change = ask("settle the order in tokyo", "invoice_list").change

    assert change is not None
    assert (change.hints.keywords, change.hints.aliases) == ((), ("settle the order",))
    assert (change.rank_after, change.is_verified) == (1, True)


def test_the_smallest_change_is_one_word() -> None:
    """Where no alias can be made, one keyword that does it is preferred to more."""
    change = ask("zorb 4711 for Anna", "invoice_list").change

    assert change is not None
    assert (change.hints.keywords, change.hints.aliases) == (("zorb",), ())
    assert (change.rank_after, change.is_verified) == (1, True)


def test_no_number_is_ever_added() -> None:
    """A request of nothing but a code gives no keyword, and says why."""
    standing = ask("4711", "order_get")

    assert standing.rank is None
    assert standing.change is None
    assert "no word" in standing.remark


def test_a_tool_that_holds_no_word_is_looked_at_all_the_same() -> None:
    """What retrieval does not find is told, with what it lacks."""
    standing = ask("print a label", "invoice_list")

    assert standing.rank is None
    assert standing.retrieval.place is None
    assert not standing.retrieval.is_pooled
    assert set(standing.missing) == {"label", "print"}
    assert standing.above[0].because[0] == "this tool contains no word of the query"


def test_a_disabled_tool_says_so_and_is_enabled() -> None:
    """A search leaves it out; the change enables it, and nothing more where that is enough."""
    standing = ask("block a stolen card", "card_block")

    assert standing.is_hidden
    assert standing.rank is None
    assert standing.change is not None
    assert standing.change.hints.enabled_by_default is True
    assert (standing.change.hints.keywords, standing.change.rank_after) == ((), 1)
    assert ask("block a stolen card", "card_block", include_disabled=True).rank == 1


def test_a_disabled_tool_below_others_is_compared_with_them() -> None:
    """Reasons begin with its being disabled."""
    standing = ask("shipment status", "card_block")

    assert standing.above[0].because[0].startswith("this tool is disabled by default")


def test_the_query_may_spell_another_tools_name() -> None:
    """Then there is nothing to be done, and why not is said."""
    standing = ask("shipment_status", "order_get")

    assert "contains its name or an alias (exactName +24" in " ".join(standing.above[0].because)
    assert standing.change is None
    assert "the name or an alias of shipment_status" in standing.remark


def test_no_tool_is_given_the_name_of_another() -> None:
    """An alias that is the name of a tool would be two tools' name."""
    change = ask("shipmnt status", "order_get").change

    assert change is None or not change.hints.aliases


def test_a_rank_beyond_the_pool_is_told() -> None:
    """Of more tools than are looked at closely, the place by words is told and the rank as well."""
    tools = [make_tool(f"parcel_{n:02}", description="parcel " * (60 - n)) for n in range(60)]
    tools.append(make_tool("zzz_last", description=f"parcel {'other words ' * 90}"))
    standing = ask("parcel", "zzz_last", make_engine(*tools))

    assert standing.rank == 61
    assert standing.retrieval.place == 61
    assert not standing.retrieval.is_pooled
    assert [rival.rank for rival in standing.above] == [1, 60]
    assert "only the first 20 are candidates" in standing.above[0].because[0]


def test_what_cannot_be_lifted_says_how_far_it_gets() -> None:
    """Where no edit makes a tool first, the best one is given with the rank that it reaches."""
    query = "find the probability of exactly 5 heads in 10 fair coin tosses or in 20 biased ones"
    engine = make_engine(
        make_tool("find_probability_exactly_heads_fair_coin_tosses", description=query),
        make_tool("order_get", description="Get an order."),
        make_tool("coin_list", description="List every coin."),
    )
    standing = ask(query, "order_get", engine)

    assert standing.change is not None
    assert standing.change.rank_after == 2
    assert standing.remark.startswith("no keyword or alias drawn from the query makes it first")


def test_large_catalogues_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a bound the change is found but not proved, and says so."""
    monkeypatch.setattr("mcpg.explain.why_not.MOST_TOOLS_COMPILED", 1)
    standing = ask("zorb the order", "invoice_list")

    assert standing.change is not None
    assert not standing.change.is_verified
    assert "bundle and search to verify it" in standing.remark


def test_trying_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """When enough has been tried, what there is has to do."""
    monkeypatch.setattr("mcpg.explain.why_not.MOST_READ", 10)
    monkeypatch.setattr(HintSearch, "alias", lambda _: None)
    standing = ask("shipment status label", "invoice_list", lexicon=False)

    assert standing.change is not None
    assert standing.change.rank_after > 1


def test_a_long_request_is_not_read_for_every_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long request fewer edits are tried: how much is read does not grow with its square."""
    read: list[int] = []
    gathered = why_not.gather

    def counting(search: Search, pool: int) -> tuple[Analysis, Pool]:
        found = gathered(search, pool)
        read.append(len(found[0].clauses))
        return found

    monkeypatch.setattr(why_not, "gather", counting)
    words = " ".join(map("".join, product(("zorb", "vlim", "quen", "drax"), repeat=3)))
    others = [make_tool(name, description=words, keywords=(words,)) for name in ("one", "two")]
    ask(words, "card_block", make_engine(*TOOLS, *others))

    assert max(read) == 64
    assert MOST_READ < sum(read) < MOST_READ + 10 * max(read)


def test_a_document_that_would_be_too_long_gets_no_hint() -> None:
    """An edit that cannot be written into the tool's document is no change."""

    def filled(length: int) -> tuple[Tool, ...]:
        hints = replace(TOOLS[3].hints, categories=("x" * length,))
        return (*TOOLS[:3], replace(TOOLS[3], hints=hints))

    texts = assemble(SourceBatch(tools=filled(1_000))).texts
    (text,) = (one.content for one in texts if "invoice_list" in one.path)
    room = MAX_FRONT_MATTER - len(text.split("---\n", 2)[1])
    # A category is written twice: as such and as a group.
    engine = make_engine(*filled(1_000 + room // 2))

    assert "invoice_list" in {tool.id for tool in engine.tools}
    assert ask("zorb the order", "invoice_list", engine).change is None


@pytest.mark.parametrize("name", ["shipment_staus", "commerce::nothing", "", "\x1b[31m", "*"])
def test_a_tool_that_is_not_there_is_an_error(name: str) -> None:
    """A name that means no single tool is refused."""
    with pytest.raises(NotFoundError):
        ENGINE.explain("x", tool=name)


def test_tools_of_one_name_are_told_apart() -> None:
    """A shared name is refused; ids and sources tell which is meant."""
    engine = make_engine(
        make_tool("search", source_id="shop", description="Search orders."),
        make_tool("search", source_id="web", description="Search pages."),
    )
    with pytest.raises(NotFoundError, match="2 tools"):
        engine.explain("pages", tool="search")
    assert ask("pages", "web::search", engine).rank == 1
    assert ask("pages", "shop::search", engine).change is not None


def test_without_a_query_nothing_can_be_asked() -> None:
    """Browsing has no scores to compare; context alone has."""
    with pytest.raises(UsageError, match="without a query"):
        ENGINE.explain("  ", tool="order_get")
    assert ask("", "order_get", context="order status").rank == 1


def test_the_only_tool_is_first_or_not_found() -> None:
    """In a catalogue of one tool there is nobody above."""
    engine = make_engine(make_tool("parcel_find", description="Find a parcel."))

    assert ask("parcel", "parcel_find", engine).rank == 1
    alone = ask("zorb", "parcel_find", engine)
    assert (alone.rank, alone.above) == (None, ())
    assert alone.change is not None
    assert alone.change.hints.keywords == ("zorb",)


def test_a_lone_rival_has_the_score_of_the_search() -> None:
    """A tool that is not found takes no part in how sure the search is of another."""
    standing = ask("bill", "order_get")

    assert standing.above[0].score == ENGINE.search("bill").matches[0].score


def test_hostile_names_are_explained() -> None:
    """Whatever a server calls its tools, they can be asked about and changed."""
    hostile = "\x1b]0;x\x07<script>\u202e'\"*:{}"
    engine = make_engine(
        make_tool(hostile, source_id=": - [x]", description="Find a parcel."),
        make_tool("parcel_list", description="List every parcel, parcel by parcel."),
    )
    found = next(tool for tool in engine.tools if tool.name == hostile)
    standing = ask("list zorb", found.id, engine)

    assert standing.change is not None
    assert standing.change.rank_after == 1


def test_a_standing_in_a_request_of_several_wishes_is_that_of_the_search() -> None:
    """What the tools above take from a tool is part of its standing."""
    query = "create a shipment label now please print. list the bill invoices of this order"
    matches = ENGINE.explain(query, limit=50).matches
    second = matches[1]
    standing = ask(query, second.tool_id)

    assert standing.rank == 2
    assert standing.fused_score == second.fused_score
    assert [rival.fused_score for rival in standing.above] == [matches[0].fused_score]
    assert any(part.feature == "intent" and part.value for part in second.contributions)


def test_every_feature_has_a_reason_in_words() -> None:
    """A reason is a sentence, not the name of a feature."""
    gaps = [FeatureGap(name, 0.0, 1.0) for name in FEATURES]
    retrieval = Retrieval(is_pooled=True, lexical=1.0, place=1, retrieved=1, pool=20, last=0.0)

    found = [reasons([gap], (), retrieval, is_hidden=False)[0] for gap in gaps]

    assert not [line for line in found if len(line.split()) < 5]


def test_a_tool_that_an_alias_opens_the_query_for_is_not_said_to_be_spelt() -> None:
    """The remark names what decides: a name or an alias in the query."""
    engine = make_engine(
        make_tool("clock", description="Show it.", aliases=("what time is it",)),
        make_tool("convert", description="Convert time between zones."),
    )

    standing = ask("what time is it", "convert", engine)

    assert standing.remark.startswith("the query contains the name or an alias of clock")
