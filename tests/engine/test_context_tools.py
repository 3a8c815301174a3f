from __future__ import annotations

from functools import partial
from itertools import islice, permutations, product
from typing import TYPE_CHECKING, Any

import pytest
from bounded import calls_in
from builders import ids, make_engine, make_tool

from mcpg.catalog.model import HintRule
from mcpg.engine import Engine
from mcpg.search.results import EngineServices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine import SearchResult

TOOLS = (
    make_tool("board_open", source_id="boards", description="Open a board."),
    make_tool("card_move", source_id="boards", description="Move a card to another list."),
    make_tool("file_move", source_id="files", description="Move a file to another folder."),
    make_tool("file_list", source_id="files", description="List the files of a folder."),
    make_tool("label_print", source_id="labels", description="Print a label."),
    make_tool("page_move", source_id="pages", description="Move a page to another parent."),
)
RULES = (
    HintRule("board_open", next_steps=("card_move",)),
    HintRule("file_list", next_steps=("file_move",)),
    HintRule("label_print", related=("page_move",)),
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine over three tools that move things."""
    return make_engine(*TOOLS, rules=RULES)


def first(result: SearchResult) -> str:
    """Return the id of the best match."""
    return result.matches[0].tool_id


@pytest.mark.parametrize(
    ("used", "expected"),
    [("board_open", "card_move"), ("file_list", "file_move"), ("label_print", "page_move")],
)
def test_what_an_edge_joins_to_a_tool_in_use_comes_first(
    engine: Engine, used: str, expected: str
) -> None:
    """Of tools that the words tell apart little, the one that belongs with those in use wins."""
    assert first(engine.search("move it to another place", context_tools=[used])) == expected


def test_a_context_of_nothing_but_tools_names_tools_in_use(engine: Engine) -> None:
    """Ids alone are tools in use, beside those that are listed; other context is words."""
    query = "move it to another place"
    listed = engine.search(query, context_tools=["board_open", "file_list"])
    named = engine.search(query, context="boards::board_open", context_tools=["file_list"])
    assert named.matches == listed.matches
    words = engine.search(query, context="after board_open")
    assert words.matches != engine.search(query, context_tools=["board_open"]).matches


@pytest.mark.parametrize("unknown", ["nothing", "boards::nothing", "nothing::board_open"])
def test_without_context_tools_nothing_changes(engine: Engine, unknown: str) -> None:
    """None, and only unknown ones, leave matches and scores as they are."""

    def scores(tools: Sequence[str]) -> list[tuple[str, float]]:
        found = engine.search("move it to another place", context_tools=tools).matches
        return [(match.tool_id, match.score) for match in found]

    assert scores(()) == scores([unknown])
    assert scores(()) != scores(["board_open"])


def test_a_name_outweighs_every_context() -> None:
    """A tool that the query names exactly stays first, though an edge decides for its words."""
    named = make_tool("export", source_id="pages", description="Write pages to a file.")
    other = make_tool("export_board", source_id="boards", description="Export a board.")
    rule = HintRule("board_open", next_steps=("export_board",))
    engine = make_engine(*TOOLS, named, other, rules=(rule,))

    assert first(engine.search("exporting", context_tools=["board_open"])) == "export_board"
    assert first(engine.search("export", context_tools=["board_open"])) == "export"


def test_a_neighbour_without_any_word_of_the_query_can_match() -> None:
    """The graph adds candidates, below those that the words find."""
    tools = [make_tool(f"noise{number}", description="Weigh grain.") for number in range(30)]
    rules = (HintRule("noise7", next_steps=("label_print",)),)
    engine = make_engine(*TOOLS, *tools, rules=rules)

    assert "label_print" not in ids(engine.search("open a board").matches)
    found = ids(engine.search("open a board", context_tools=["noise7"]).matches)
    assert found[0] == "board_open"
    assert "label_print" in found


def test_a_tool_of_a_source_is_of_that_source_alone() -> None:
    """Of two tools of one name, the one whose source is named is in use."""
    twins = [make_tool("open", id=f"open_{one}", source_id=one) for one in ("files", "boards")]
    rule = HintRule("open_boards", next_steps=("card_move",))
    engine = make_engine(*TOOLS, *twins, rules=(rule,))

    found = [
        first(engine.search("move it to another place", context_tools=[f"{one}::open"]))
        for one in ("boards", "files")
    ]
    assert found[0] == "card_move" != found[1]


def test_an_unknown_tool_is_reported_with_close_names(engine: Engine) -> None:
    """A context tool that does not exist is a warning; the others count."""
    result = engine.search("move it", context_tools=["bord_open", "boards::card_move"])

    (found,) = [one for one in result.diagnostics if one.code == "context_tool_unknown"]
    assert "bord_open" in found.message
    assert "board_open" in found.message


def test_hostile_names_are_cut(engine: Engine) -> None:
    """Names as long as books, and thousands of them, give short answers."""
    names = [f"{number}" * 5000 for number in range(2000)]
    result = engine.search("move it", context_tools=names)

    assert len(result.diagnostics) < 100
    assert all(len(one.message) < 500 for one in result.diagnostics)


def numbered(count: int) -> Engine:
    """Return an engine over *count* tools, no two of which are called alike."""
    words = ["".join(pair) for pair in product("bdfgklmnprst", "aeiou")]
    names = islice(permutations(words, 3), 0, 211 * count, 211)
    return make_engine(*(make_tool(f"get_{one}{two}_{three}") for one, two, three in names))


def test_unknown_tools_cost_no_more_in_a_large_catalogue() -> None:
    """Unknown names are compared with few ids, however many tools there are, and still found."""
    calls = {}
    for size in (250, 1000):
        engine = numbered(size)
        names = [tool.id[:-1] for tool in engine.tools[:64]]
        result = engine.search("get it", context_tools=names)
        found = [one.message for one in result.diagnostics if one.code == "context_tool_unknown"]
        assert len(found) == 64
        assert all(tool.id in text for tool, text in zip(engine.tools, found, strict=False))
        calls[size] = calls_in(partial(engine.search, "get it", context_tools=names))

    assert calls[1000] < 2 * calls[250]


def test_no_context_tool_is_dropped() -> None:
    """However many tools are in use, each counts: none of them is planned or prepared again."""
    tools = [make_tool(f"noise{number:03}", description="Weigh grain.") for number in range(80)]
    rules = (HintRule("noise079", next_steps=("label_print",)),)
    engine = make_engine(*TOOLS, *tools, rules=rules)
    used = [tool.id for tool in tools]

    assert "label_print" in ids(engine.search("open a board", context_tools=used).matches)
    assert ids(engine.search("weigh grain", limit=1, context_tools=used[1:]).prerequisites) == []
    assert not {one.tool_id for one in engine.plan("weigh grain", context_tools=used).tasks} & {
        *used
    }


def test_every_unknown_tool_is_reported(engine: Engine) -> None:
    """Of very many unknown names the first are named, and the others counted."""
    result = engine.search("move it", context_tools=[f"x{number}" for number in range(100)])

    found = [one.message for one in result.diagnostics if one.code == "context_tool_unknown"]
    assert len(found) == 65
    assert "36 further names" in found[-1]


def test_tools_in_use_are_no_prerequisites(engine: Engine) -> None:
    """What has run already, and what only it needs, need not run again."""
    query = "move a card to another list"

    assert ids(engine.search(query, limit=1).prerequisites) == ["board_open"]
    assert ids(engine.search(query, limit=1, context_tools=["board_open"]).prerequisites) == []


def test_contributions_add_up_with_context(engine: Engine) -> None:
    """What the tools in use add stands in the explanation, and the sum is the fused score."""
    explanation = engine.explain("move it to another place", context_tools=["board_open"])
    best = explanation.matches[0]
    parts = {one.feature: one.contribution for one in best.contributions}

    assert parts["contextEdge"] > 0
    assert parts["contextWalk"] > 0
    assert parts["contextSource"] > 0
    assert best.fused_score == pytest.approx(sum(parts.values()), abs=1e-8)


def test_one_source_says_nothing() -> None:
    """Where all tools are of one server, being of the same server adds nothing."""
    engine = make_engine(*(make_tool(one.name, description=one.description) for one in TOOLS))
    explanation = engine.explain("move a card", context_tools=["file_list"])

    for match in explanation.matches:
        parts = {one.feature: one.contribution for one in match.contributions}
        assert parts["contextSource"] == 0


def test_answers_are_kept_apart_by_context() -> None:
    """A cached answer for one context is not given for another."""
    kept: dict[tuple[str, str], bytes] = {}

    class Cache:
        def get(self, kind: str, key: str) -> bytes | None:
            return kept.get((kind, key))

        def put(self, kind: str, key: str, data: bytes) -> None:
            kept[kind, key] = data

    index = make_engine(*TOOLS, rules=RULES).index
    engine = Engine(index, services=EngineServices(cache=Cache()))
    asked: list[dict[str, Any]] = [
        {},
        {"context_tools": ["board_open"]},
        {"context_tools": ["file_list"]},
    ]
    answers = [first(engine.search("move it to another place", **one)) for one in asked * 2]

    assert answers[1:3] == ["card_move", "file_move"]
    assert answers[:3] == answers[3:]
    assert len(kept) == 3
