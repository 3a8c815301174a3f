from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool

from mcpg.catalog.model import HintRule

if TYPE_CHECKING:
    from mcpg.engine import Engine

TOOLS = (
    make_tool("story_search", description="Search stories of the feed."),
    make_tool("story_detail", description="Get the details of a story."),
    make_tool("story_comments_list", description="List the comments below a story."),
    make_tool("invoice_export", description="Export invoices."),
    make_tool("story_delete", description="Delete a story.", enabled_by_default=False),
)
RULES = (
    HintRule("story_search", related=("invoice_export",), next_steps=("story_detail",)),
    HintRule("story_detail", related=("story_delete",), next_steps=("story_search",)),
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine over a story feed and an invoice tool."""
    return make_engine(*TOOLS, rules=RULES)


def test_authored_edges_bring_their_targets(engine: Engine) -> None:
    """What the author called related or next comes with the match, and says from where."""
    result = engine.search("search stories", limit=1)

    assert ids(result.matches) == ["story_search"]
    assert "invoice_export" in ids(result.related_matches)
    assert ids(result.next_step_matches)[0] == "story_detail"
    via = result.next_step_matches[0].via
    assert via is not None
    assert (via.edge, via.source, via.weight) == ("nextStep", "story_search", 1.0)


def test_expansions_score_edge_times_match(engine: Engine) -> None:
    """An expansion is as sure as its match, times the strength of its edge."""
    result = engine.search("search stories", limit=1)

    for match in (*result.related_matches, *result.next_step_matches):
        assert match.via is not None
        assert match.score == pytest.approx(match.via.weight * result.matches[0].score)


def test_the_three_lists_share_no_tool(engine: Engine) -> None:
    """A tool is a match, or related, or a next step."""
    result = engine.search("story", limit=2)
    shown = ids((*result.matches, *result.related_matches, *result.next_step_matches))

    assert len(shown) == len(set(shown))


def test_disabled_tools_are_no_expansion(engine: Engine) -> None:
    """A tool that is off is not offered by way of an edge either."""
    result = engine.search("story detail", limit=1)

    assert "story_delete" not in ids((*result.related_matches, *result.next_step_matches))


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_focused_graph_is_counted(engine: Engine, limit: int) -> None:
    """Nodes are the shown tools and their groups, edges the memberships and links between them."""
    result = engine.search("search stories", limit=limit)
    shown = ids((*result.matches, *result.related_matches, *result.next_step_matches))
    documents = [engine.documents[tool_id] for tool_id in shown]
    groups = [group for document in documents for group in document.groups]
    uris = {document.uri for document in documents}
    links = [link for document in documents for link in document.links if link.target in uris]

    assert 0 < len(links) < sum(len(document.links) for document in documents)
    assert len(set(groups)) < len(groups)
    assert result.focused_graph.nodes == len(shown) + len(set(groups))
    assert result.focused_graph.edges == len(groups) + len(links)
