from __future__ import annotations

import pytest
from builders import ids, make_engine, make_tool
from deployment import CHAIN, DEPLOYMENT, STEPS
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import HintRule
from mcpg.engine import Engine
from mcpg.search.prerequisites import Closure, fields_filled_by, prerequisites
from mcpg.text.literals import find_literals


def closed(engine: Engine, *goals: str, **bounds: int) -> Closure:
    """Return what must run before the tools called *goals*."""
    index = engine.index
    return prerequisites([(index.find_tool(goal), 1.0) for goal in goals], index, **bounds)


def found_ids(engine: Engine, *goals: str, **bounds: int) -> list[str]:
    """Return the ids of what must run before *goals*, the strongest first."""
    return [engine.index.tool_id(one.tool) for one in closed(engine, *goals, **bounds).found]


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine over the steps of a deployment."""
    return make_engine(*DEPLOYMENT, rules=CHAIN)


def test_a_step_that_shares_no_word_with_the_query_is_shown(engine: Engine) -> None:
    """What authors put before a match is its prerequisite, the nearest step first."""
    result = engine.search("deploy to prod")

    assert ids(result.matches) == ["deploy_prod"]
    assert ids(result.prerequisites) == ["run_tests", "build", "npm_install", "clone"]
    vias = [one.via for one in result.prerequisites if one.via]
    assert [(via.edge, via.source) for via in vias] == [
        ("prerequisite", then) for then in reversed(STEPS[1:])
    ]


def test_prerequisites_displace_no_match(engine: Engine) -> None:
    """With and without edges the matches are the same."""
    bare = make_engine(*DEPLOYMENT)

    for query in ("deploy to prod", "compile and deploy", "git repository"):
        assert engine.search(query).matches == bare.search(query).matches


def test_a_prerequisite_stands_in_no_other_list(engine: Engine) -> None:
    """What must run before a match is neither related to it nor a next step."""
    result = engine.search("compile", limit=1)
    others = ids((*result.matches, *result.related_matches, *result.next_step_matches))

    assert ids(result.prerequisites) == ["npm_install"]
    assert set(others).isdisjoint(ids(result.prerequisites))


def test_a_match_that_is_far_less_sure_can_be_a_prerequisite() -> None:
    """A match that is there by its source alone is still what must run before the best one."""
    tools = [
        make_tool(one.name, description=one.description, source_id="deploy") for one in DEPLOYMENT
    ]
    result = make_engine(*tools, rules=CHAIN).search("deploy to prod")

    assert ids(result.matches)[0] == "deploy_prod"
    assert "npm_install" in ids(result.matches)
    assert "npm_install" in ids(result.prerequisites)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_keeps_the_nearest(engine: Engine, limit: int) -> None:
    """Of a chain of equal weights, the steps nearest to the match stay."""
    result = engine.search("deploy to prod", limit=limit)

    assert ids(result.prerequisites) == ["run_tests", "build", "npm_install"][:limit]


def test_disabled_tools_are_no_prerequisites() -> None:
    """A tool that is off is not offered, nor what only it needs."""
    tools = [
        make_tool(one.name, description=one.description, enabled_by_default=one.name != "build")
        for one in DEPLOYMENT
    ]
    result = make_engine(*tools, rules=CHAIN).search("deploy to prod")

    assert ids(result.prerequisites) == ["run_tests"]


def test_a_ring_is_walked_once(engine: Engine) -> None:
    """In a graph that is one cycle each other tool is found once, and no goal is."""
    ring = make_engine(*DEPLOYMENT, rules=(*CHAIN, HintRule("deploy_prod", next_steps=("clone",))))

    assert found_ids(ring, "build") == ["npm_install", "clone", "deploy_prod", "run_tests"]
    assert len(closed(ring, "build").needs) == len(STEPS)
    assert found_ids(engine, *STEPS) == []


def test_two_tools_that_lead_to_each_other_need_neither() -> None:
    """Where authors say both orders, neither must come first."""
    both = make_engine(*DEPLOYMENT, rules=(*CHAIN, HintRule("build", next_steps=("npm_install",))))

    assert found_ids(both, "deploy_prod") == ["run_tests", "build"]


def test_what_follows_anything_needs_none_of_it() -> None:
    """A tool that is said to follow many others, or a reader that follows two, needs none."""
    tools = [make_tool(f"create{number}", description="Create it.") for number in range(9)]
    tools.append(make_tool("get_state", description="Read the state."))

    def following(target: str, *sources: int) -> list[str]:
        rules = tuple(HintRule(f"create{number}", next_steps=(target,)) for number in sources)
        return sorted(found_ids(make_engine(*tools, rules=rules), target))

    assert following("create0", 1, 2, 3, 4) == ["create1", "create2", "create3", "create4"]
    assert following("create0", 1, 2, 3, 4, 5) == []
    assert following("get_state", 1) == ["create1"]
    assert following("get_state", 1, 2) == []


def test_a_wide_tree_is_bounded() -> None:
    """Of many tools that must come first, no more are found than are asked for."""
    tools = [make_tool(f"create{number}", description="Create it.") for number in range(85)]
    rules = tuple(
        HintRule(f"create{number}", next_steps=(f"create{(number - 1) // 4}",))
        for number in range(1, 85)
    )
    tree = make_engine(*tools, rules=rules)

    assert len(found_ids(tree, "create0")) == 32
    assert len(found_ids(tree, "create0", limit=7)) == 7
    assert found_ids(tree, "create84") == []


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20),
    st.sets(st.integers(0, 5), min_size=1, max_size=3),
    st.integers(1, 4),
)
@settings(max_examples=25, deadline=None)
def test_a_closure_is_sound(edges: list[tuple[int, int]], goals: set[int], depth: int) -> None:
    """Whatever the graph: no goal is found, paths are within bounds, and every need is known."""
    tools = [make_tool(f"t{number}", description=f"Tool {number}.") for number in range(6)]
    rules = tuple(HintRule(f"t{one}", next_steps=(f"t{two}",)) for one, two in edges if one != two)
    engine = make_engine(*tools, rules=rules)
    closure = closed(engine, *(f"t{goal}" for goal in sorted(goals)), depth=depth)

    found = {one.tool: one for one in closure.found}
    known = goals | found.keys()
    assert goals.isdisjoint(found)
    assert len(found) == len(closure.found)
    assert all(need.tool in known and need.before in known for need in closure.needs)
    for one in closure.found:
        parent = found.get(one.need.before)
        assert one.depth == (parent.depth + 1 if parent else 1) <= depth
        assert one.score == pytest.approx(one.need.weight * (parent.score if parent else 1.0))


@pytest.mark.parametrize(
    ("query", "arguments", "filled"),
    [
        ("archive card 5f2a9c81d7", ("cardId",), {"cardId"}),
        ("read ~/notes/todo.txt", ("path",), {"path"}),
        ("mark issue 42 as done", ("issue_number", "owner"), {"issue_number"}),
        ("move the card to Done", ("cardId", "listId"), set()),
        ('rename it to "Plan B"', ("name", "boardId"), {"name"}),
        ("order A-7731 from 2024-05-01", ("date", "orderId"), {"date", "orderId"}),
    ],
)
def test_literals_fill_arguments_of_their_kind(
    query: str, arguments: tuple[str, ...], filled: set[str]
) -> None:
    """A literal fills one argument that is called after what it is."""
    assert set(fields_filled_by(find_literals(query), arguments)) == filled
