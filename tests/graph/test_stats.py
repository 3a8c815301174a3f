"""What a graph is made of."""

from __future__ import annotations

from dataclasses import replace

from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.documents.model import Link, ToolDocument
from mcpg.graph.schema import (
    EdgeStatistics,
    Group,
    Hub,
    Spread,
    component_sizes,
    compute_statistics,
    densest_groups,
    measure_spread,
)
from mcpg.relations.edges import EdgeKind, EdgeOrigin

RELATED, NEXT = EdgeKind.RELATED, EdgeKind.NEXT_STEP
PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12)


def graph(**links: list[tuple[EdgeKind, str]]) -> dict[str, ToolDocument]:
    """Make documents of tools, each with links to others by name."""
    return {
        name: ToolDocument(
            make_tool(name),
            f"{name}.md",
            f"urn:{name}",
            ("all",) if name != "lone" else (),
            tuple(Link(kind, f"urn:{target}", 0.5) for kind, target in to),
        )
        for name, to in links.items()
    }


def test_everything_is_counted() -> None:
    """Kinds, degrees, parts, orphans, hubs and groups of a small graph."""
    documents = graph(
        a=[(RELATED, "b"), (NEXT, "c")], b=[(RELATED, "a")], c=[(RELATED, "gone")], lone=[]
    )
    inferred = Link(RELATED, "urn:c", 1.0, "why", EdgeOrigin.INFERRED)
    documents["b"] = replace(
        documents["b"], links=(*documents["b"].links, inferred), further={"about": ["X", "X"]}
    )
    found = compute_statistics(documents)
    assert (found.tools, found.sources, found.groups, found.things) == (4, 1, 1, 1)
    assert found.kinds == (
        EdgeStatistics("related", 4, 3, 0.625),
        EdgeStatistics("nextStep", 1, 1, 0.5),
    )
    assert found.dangling == 1
    assert found.degrees["incoming"] == Spread(0, 1.0, 1.0, 2)
    assert found.degrees["total"] == Spread(0, 2.5, 2.0, 3)
    assert found.components == (3, 1)
    assert found.orphans == ("lone",)
    assert found.hubs == (Hub("a", 1, 2), Hub("b", 1, 2), Hub("c", 2, 0))
    assert found.densest == (Group("all", 3, 4, 0.666667),)


def test_a_link_to_itself_joins_nothing() -> None:
    """A tool that is linked to itself alone is an orphan."""
    found = compute_statistics(graph(a=[(RELATED, "a")]))
    assert (found.orphans, found.hubs, found.dangling) == (("a",), (), 0)


def test_nothing_is_spread_over_nothing() -> None:
    """An empty graph has zeros and no parts."""
    found = compute_statistics({})
    assert (found.degrees["total"], found.components, found.tools) == (Spread(), (), 0)
    assert found.kinds == (
        EdgeStatistics("related", 0, 0, 0.0),
        EdgeStatistics("nextStep", 0, 0, 0.0),
    )
    assert measure_spread([]) == Spread()


def test_only_so_many_are_named() -> None:
    """The lists of hubs and groups end where they are told to."""
    links = {name: [(RELATED, "b")] for name in "abcdef"}
    assert [hub.tool for hub in compute_statistics(graph(**links), top=2).hubs] == ["b", "a"]


@given(PAIRS)
def test_parts_do_not_depend_on_the_order_of_edges(pairs: list[tuple[int, int]]) -> None:
    """However the edges come, the sizes are the same, and sum to the number of nodes."""
    sizes = component_sizes(8, pairs)
    assert sizes == component_sizes(8, [(b, a) for a, b in reversed(pairs)])
    assert sum(sizes) == 8
    assert list(sizes) == sorted(sizes, reverse=True)


@given(PAIRS)
def test_density_is_a_share(pairs: list[tuple[int, int]]) -> None:
    """Density lies in [0, 1], and small groups have none."""
    edges = [(a, b) for a, b in pairs if a != b]
    found = densest_groups({"g": range(5), "h": range(3, 8), "tiny": [0, 1]}, edges)
    assert {group.name for group in found} == {"g", "h"}
    assert all(0 <= group.density <= 1 for group in found)
