"""Ids that tools had before: kept, whatever joins the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.catalog import assign_ids

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

RESERVED = ("gateway_search",)
_names = st.sampled_from(["search", "Search", "docs_search", "gateway_search", "検索", "a" * 80])
_tools = st.lists(
    st.builds(
        lambda source, name, text: make_tool(name, source_id=source, description=text, id=""),
        st.sampled_from(["docs", "shop", "店", "docs_search"]),
        _names,
        st.sampled_from(["", "Find things", "Find more"]),
    ),
    max_size=6,
    unique_by=lambda tool: (tool.source_id, tool.name, tool.description),
)


def named(tools: list[Tool], earlier: tuple[Tool, ...] = ()) -> dict[tuple[str, ...], str]:
    """Return the ids that *tools* get, by source, name and description."""
    found, _ = assign_ids(tools, RESERVED, earlier)
    return {(tool.source_id, tool.name, tool.description): tool.id for tool in found}


@given(_tools, st.lists(_tools, max_size=3))
def test_no_tool_that_joins_renames_another(first: list[Tool], more: list[list[Tool]]) -> None:
    """Whatever is added, in whatever steps, a tool keeps its id, and all ids are unique."""
    tools, ids, earlier = list(first), named(first), assign_ids(first, RESERVED)[0]
    for added in more:
        known = {(tool.source_id, tool.name, tool.description) for tool in tools}
        tools += [
            tool for tool in added if (tool.source_id, tool.name, tool.description) not in known
        ]
        later = named(tools, earlier)
        assert {key: later[key] for key in ids} == ids
        assert len(set(later.values())) == len(tools)
        assert not {*later.values()} & {*RESERVED}
        ids, earlier = later, assign_ids(tools, RESERVED, earlier)[0]


def test_a_newcomer_is_called_by_its_source() -> None:
    """A second tool of a name gets the longer id, with a diagnostic; the first keeps its own."""
    first = make_tool("search", source_id="docs")
    tools, noticed = assign_ids([make_tool("search", source_id="shop"), first], (), [first])
    assert [(tool.id, tool.source_id) for tool in tools] == [
        ("search", "docs"),
        ("shop_search", "shop"),
    ]
    assert [item.code for item in noticed] == ["duplicate_tool_id"]
    assert "shop_search" in noticed[0].message


def test_no_other_tool_gets_the_id_of_one_that_is_gone() -> None:
    """A call of a tool that was removed never reaches another server's tool of that name."""
    gone = make_tool("search", source_id="docs")
    assert [
        tool.id for tool in assign_ids([make_tool("search", source_id="shop")], (), [gone])[0]
    ] == ["shop_search"]
    assert assign_ids([make_tool("search", source_id="docs")], (), [gone])[0][0].id == "search"


def test_a_tool_keeps_its_id_when_its_definition_changes() -> None:
    """The id belongs to source and name, not to a description."""
    before = make_tool("search", source_id="docs", description="Find")
    other = make_tool("search", source_id="shop")
    after = make_tool("search", source_id="docs", description="Find anything")
    assert assign_ids([after, other], (), [before])[0][0].id == "search"


@pytest.mark.parametrize("taken", ["gateway_search", "GATEWAY_SEARCH".lower()])
def test_an_id_that_became_reserved_is_not_kept(taken: str) -> None:
    """The names of meta-tools come before any id that a bundle gave."""
    before = make_tool("gateway_search", source_id="docs", id=taken)
    found, _ = assign_ids([make_tool("gateway_search", source_id="docs")], RESERVED, [before])
    assert found[0].id == "docs_gateway_search"


def test_tools_of_one_name_are_not_compared_with_each_other() -> None:
    """The look-ups of a definition grow with the tools of one name, not with their pairs."""
    looked: list[str] = []

    class Annotations(dict[str, str]):
        def items(self) -> Any:
            looked.append("")
            return super().items()

    def tools(count: int) -> list[Tool]:
        return [
            make_tool("x", id=f"x_{number}", description=f"{number}", annotations=Annotations())
            for number in range(count)
        ]

    counts = []
    for count in (10, 40):
        looked.clear()
        found, _ = assign_ids(tools(count), (), tools(count))
        assert {tool.id: tool.description for tool in found} == {
            f"x_{number}": f"{number}" for number in range(count)
        }
        counts.append(len(looked))
    assert counts[1] <= 4 * counts[0]
