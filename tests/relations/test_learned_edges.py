"""Edges that are learned from observed calls: what is surprising, sure, ordered, recent, sound."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from traces import DAY, START, observed_of

from mcpg.catalog.model import Tool
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.relations.observed_calls import (
    NEXT_STEPS_PER_TOOL,
    NOTHING,
    RELATED_PER_TOOL,
    LearnedEdge,
    ObservedCalls,
    PairCounts,
    ToolCounts,
    ToolNames,
    encode,
    learned_edges,
    least_sessions,
    merge,
)

CHAIN = ("clone", "install", "build", "test", "deploy")
STEPS = [*pairwise(CHAIN)]


def by_pair(
    observed: ObservedCalls, kind: EdgeKind = EdgeKind.NEXT_STEP
) -> dict[tuple[str, str], LearnedEdge]:
    """Return the edges of one kind by their ends."""
    edges = learned_edges(observed)
    return {(one.edge.source, one.edge.target): one for one in edges if one.edge.kind is kind}


def weight(observed: ObservedCalls, source: str, target: str) -> float:
    """Return the weight of a next step, 0 where there is none."""
    found = by_pair(observed).get((source, target))
    return found.edge.weight if found else 0.0


@pytest.mark.parametrize("times", [1, 2, 3, 20])
def test_a_workflow_is_learned_in_its_order(times: int) -> None:
    """Each step leads to the next, more surely than to a later one, and never back."""
    observed = observed_of([CHAIN] * times)
    found = by_pair(observed)
    assert {*STEPS} <= found.keys()
    assert all(CHAIN.index(source) < CHAIN.index(target) for source, target in found)
    later = [one.edge.weight for pair, one in found.items() if pair not in STEPS]
    assert min(found[pair].edge.weight for pair in STEPS) > max(later, default=0.0)


def test_an_edge_states_its_origin_and_counts() -> None:
    """The reason has the numbers that a person can check."""
    observed = observed_of([["a", "b"]] * 14 + [["a", "c"], ["a"], ["a", "b!"]])
    found = by_pair(observed)["a", "b"]
    assert found.edge.origin is EdgeOrigin.OBSERVED
    assert found.edge.reason == "followed it in 14 of 17 sessions, failed in 1"
    assert (found.sessions, found.of, found.failed, found.last) == (14, 17, 1, "2026-05-29")


def test_few_sessions_are_less_sure() -> None:
    """Three observations count in full, one or two less."""
    weights = [weight(observed_of([["a", "b"]] * times), "a", "b") for times in (1, 2, 3, 30)]
    assert weights == sorted(weights)
    assert weights[1] < 0.75 * weights[2]
    assert weights[3] - weights[2] < 0.1


def test_a_tool_that_follows_everything_follows_nothing() -> None:
    """A log after every call is no next step of anything; what it hides is found."""
    generator = random.Random(1)
    starts = [generator.randrange(20) for _ in range(300)]
    sessions = [[f"t{at}", "log", f"t{(at + 1) % 20}", "log"] for at in starts]
    found = by_pair(observed_of(sessions))
    assert not [pair for pair in found if pair[1] == "log"]
    assert {(f"t{at}", f"t{(at + 1) % 20}") for at in starts} <= found.keys()


def test_chance_makes_hardly_any_edge() -> None:
    """Of tools that are called at random, next to none are held to follow each other."""
    generator = random.Random(3)
    tools = [f"t{number}" for number in range(30)]
    observed = observed_of([generator.choices(tools, k=4) for _ in range(1000)])
    assert len(observed.pairs) == 30 * 29 / 2
    assert len(learned_edges(observed)) < 0.02 * 30 * 29


def test_many_sessions_must_show_an_edge_more_often() -> None:
    """One strange session proves little among a few, and nothing among hundreds."""
    strange = [["a", "b"]]
    assert weight(observed_of(strange + [["x", "y"]] * 20), "a", "b") > 0
    assert weight(observed_of(strange + [["x", "y"]] * 200), "a", "b") == 0
    assert weight(observed_of(strange * 3 + [["x", "y"]] * 200), "a", "b") > 0
    sizes = (0, 1, 99, 100, 999, 1000, 10_000)
    assert [least_sessions(size) for size in sizes] == [1, 1, 1, 2, 2, 3, 4]


def test_noise_makes_few_edges() -> None:
    """Workflows are found although many calls between their steps are of any tool."""
    generator = random.Random(5)
    names = [f"t{number}" for number in range(60)]
    flows = [names[at : at + 4] for at in range(0, 60, 4)]
    sessions = []
    for flow in flows * 20:
        session: list[str] = []
        for step in flow:
            session += [generator.choice(names)] * (generator.random() < 0.2)
            session.append(step)
        sessions.append(session)
    found = by_pair(observed_of(sessions)).keys()
    steps = {pair for flow in flows for pair in pairwise(flow)}
    sound = {(one, other) for flow in flows for at, one in enumerate(flow) for other in flow[at:]}
    assert len(found & steps) >= 0.95 * len(steps)
    assert len(found & sound) >= 0.9 * len(found)


def test_tools_in_any_order_are_related() -> None:
    """Used together, but none first: related, in both directions, and no next step."""
    generator = random.Random(2)
    others = [["x", "y"], ["y", "z"], ["z"]] * 20
    observed = observed_of([generator.sample(["a", "b"], 2) for _ in range(60)] + others)
    related = by_pair(observed, EdgeKind.RELATED)
    assert {("a", "b"), ("b", "a")} <= related.keys()
    assert related["a", "b"].edge.reason == "used together with it in 60 of 60 sessions"
    assert not {("a", "b"), ("b", "a")} & by_pair(observed).keys()


def test_tools_that_take_turns_follow_each_other() -> None:
    """A loop, such as click and look, is a next step in both directions."""
    observed = observed_of([["click", "look"] * 3] * 5 + [["x", "y"]] * 5)
    assert {("click", "look"), ("look", "click")} <= by_pair(observed).keys()


def test_failures_lessen_and_then_refuse() -> None:
    """A tool that mostly fails after another is no step to recommend."""
    sound = weight(observed_of([["a", "b"]] * 6), "a", "b")
    doubtful = weight(observed_of([["a", "b"]] * 4 + [["a", "b!"]] * 2), "a", "b")
    assert 0 < doubtful < sound
    assert weight(observed_of([["a", "b"]] * 2 + [["a", "b!"]] * 4), "a", "b") == 0
    assert learned_edges(observed_of([["a", "b!"]] * 9 + [["a!", "b"]] * 9)) == []


def test_what_was_not_seen_for_long_weighs_less() -> None:
    """Age is counted from the newest session of all, so that the clock has no part in it."""
    old = observed_of([["a", "b"]] * 5)
    weights = []
    for days in (0, 30, 90, 900, 30_000):
        newer = observed_of([["x", "y"]] * 5, start=min(START + days * DAY, 4.0e9))
        weights.append(weight(merge([old, newer]), "a", "b"))
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[2] > weights[3]
    assert weights[-1] == pytest.approx(weights[0] / 2, abs=0.01)


def test_sessions_without_a_day_are_not_old() -> None:
    """Nothing is known of their age."""
    undated = ObservedCalls(
        {"": 5},
        {name: {"": ToolCounts(5, 5, 5, 0)} for name in "ab"},
        {("a", "b"): {"": PairCounts(5, 5, 5)}},
    )
    newer = observed_of([["x", "y"]] * 5)
    assert weight(merge([undated, newer]), "a", "b") == weight(merge([newer, undated]), "x", "y")


def test_a_tool_has_few_edges() -> None:
    """The strongest are kept, ties in the order of ids."""
    observed = observed_of([["hub", f"t{n:02}"] for n in range(8)] * 9)
    targets = [one.edge.target for one in learned_edges(observed) if one.edge.source == "hub"]
    assert targets == [f"t{n:02}" for n in range(NEXT_STEPS_PER_TOOL)]
    mixed = [
        [f"t{n}", "hub"] if times % 2 else ["hub", f"t{n}"] for n in range(8) for times in range(10)
    ]
    related = by_pair(observed_of(mixed), EdgeKind.RELATED)
    assert sum(source == "hub" for source, _ in related) == RELATED_PER_TOOL


NUMBERS = st.integers(0, 1 << 40)
COUNTS = st.builds(PairCounts, *[NUMBERS] * 7)
TOOLS = st.builds(ToolCounts, *[NUMBERS] * 4)


DAYS = st.sampled_from(["", "0001-01-01", "2026-01-01", "9999-12-31"])


@given(
    DAYS,
    st.dictionaries(st.sampled_from("abc"), TOOLS),
    st.dictionaries(st.sampled_from([("a", "b"), ("a", "c"), ("b", "c")]), COUNTS),
    DAYS,
)
@example(
    "0001-01-01",
    {"a": ToolCounts(3, 3, 3, 0), "b": ToolCounts(3, 3, 3, 0)},
    {("a", "b"): PairCounts(3, 3, 3)},
    "9999-12-31",
)
def test_any_counts_give_sound_edges(
    newest: str, tools: dict[str, ToolCounts], pairs: dict[tuple[str, str], PairCounts], day: str
) -> None:
    """Counts and days of a file may contradict each other; weights stay in (0, 1]."""
    observed = ObservedCalls(
        {newest: 1},
        {name: {day: counts} for name, counts in tools.items()},
        {pair: {day: counts} for pair, counts in pairs.items()},
    )
    for one in learned_edges(observed):
        assert 0 < one.edge.weight <= 1
        assert one.edge.source in tools
        assert one.edge.target in tools


@given(st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), max_size=12))
def test_edges_depend_on_the_counts_alone(sessions: list[list[str]]) -> None:
    """The order in which sessions were learned changes no edge."""
    one = observed_of(sessions)
    parts = [observed_of([session], start=START + at * 4000) for at, session in enumerate(sessions)]
    joined = merge(reversed(parts))
    assert encode(joined) == encode(one)
    assert learned_edges(joined) == learned_edges(one)


def test_nothing_was_learned_from_nothing() -> None:
    """No sessions give no edges."""
    assert learned_edges(NOTHING) == []


class TestNames:
    """Traces call tools by their ids, by their names, or by both."""

    TOOLS = (
        Tool(id="shop_get", source_id="shop", name="get"),
        Tool(id="shop_pay", source_id="shop", name="pay"),
        Tool(id="bank_pay", source_id="bank", name="pay"),
        Tool(id="star", source_id="s*", name="*"),
    )

    @pytest.mark.parametrize(
        ("name", "server", "found"),
        [
            ("shop_get", "", "shop_get"),
            ("SHOP_GET", "elsewhere", "shop_get"),
            ("shop::get", "", "shop_get"),
            ("Shop::shop_get", "", "shop_get"),
            ("bank::shop_get", "", None),
            ("get", "", "shop_get"),
            ("get", "shop", "shop_get"),
            ("get", "bank", None),
            ("pay", "", None),
            ("pay", "bank", "bank_pay"),
            ("bank_*", "", None),
            ("*", "s*", "star"),
            ("", "", None),
        ],
    )
    def test_a_name_means_one_tool(self, name: str, server: str, found: str | None) -> None:
        """An id, or a name that one tool has; patterns mean nothing."""
        assert ToolNames(self.TOOLS)(name, server) == found
