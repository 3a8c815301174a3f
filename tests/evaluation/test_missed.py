from __future__ import annotations

import json

from builders import make_engine, make_tool

from mcpg.catalog.model import HintRule, Hints
from mcpg.evaluation.judged import missed_queries, parse_judged

QUERIES = b"""\
{"id": "a", "query": "find my parcel from Berlin", "relevant": ["return_create"]}
{"id": "b", "query": "create a return", "relevant": ["return_create"]}
{"id": "c", "query": "undo the purchase 4711", "relevant": ["return_create", "order_cancel"]}
{"id": "d", "query": "find a courier", "relevant": ["courier_find"]}
"""
ENGINE = make_engine(
    make_tool("return_create", description="Create a return of goods."),
    make_tool("order_cancel", description="Cancel an order."),
    make_tool("courier_find", description="Find a parcel and who brings it."),
    make_tool("purchase_undo", description="Undo the last purchase."),
)
JUDGEMENTS = parse_judged(QUERIES, "q.jsonl")


def test_aliases_are_made_of_queries_that_a_tool_misses() -> None:
    """They hold no literal and no name; queries that are answered give none."""
    found = missed_queries(ENGINE, "return_create", JUDGEMENTS)

    assert {one.query: one.alias for one in found} == {
        "find my parcel from Berlin": "find my parcel",
        "undo the purchase 4711": "undo the purchase",
    }
    assert all(one.rank is None or one.rank > 1 for one in found)
    assert missed_queries(ENGINE, "courier_find", JUDGEMENTS) == ()


def test_the_rank_with_the_aliases_is_that_of_a_search() -> None:
    """What is promised is what a catalogue with all the aliases gives."""
    found = missed_queries(ENGINE, "return_create", JUDGEMENTS)
    hints = Hints(aliases=tuple(one.alias for one in found))
    changed = ENGINE.with_hints("return_create", hints)

    for one in found:
        ids = [match.tool_id for match in changed.search(one.query, limit=50).matches]
        assert ids.index("return_create") + 1 == one.rank_after


def test_context_tools_of_a_query_count() -> None:
    """A query that a tool misses without its context tools, and not with them, is not missed."""
    tools = (
        make_tool("board_open", source_id="boards", description="Open a board."),
        make_tool("card_move", source_id="boards", description="Move a card to another list."),
        make_tool("file_move", source_id="files", description="Move a file to another folder."),
        make_tool("file_list", source_id="files", description="List the files of a folder."),
    )
    rules = (
        HintRule("board_open", next_steps=("card_move",)),
        HintRule("file_list", next_steps=("file_move",)),
    )
    engine = make_engine(*tools, rules=rules)
    query = {"query": "move it to another place", "relevant": ["card_move"]}

    def missed(*used: str) -> list[str]:
        line = json.dumps({**query, "contextTools": used}).encode()
        judged = parse_judged(line, "q.jsonl")
        return [one.query for one in missed_queries(engine, "card_move", judged)]

    assert missed("board_open") == []
    assert missed("file_list") == [query["query"]]
