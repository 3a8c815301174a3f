from __future__ import annotations

from builders import make_engine, make_tool

from mcpg.catalog.model import Hints
from mcpg.evaluation.judged import parse_judged
from mcpg.evaluation.report import compare_hints

QUERIES = b"""\
{"id": "a", "query": "where is my zorb", "relevant": ["shipment_status"]}
{"id": "b", "query": "zorb label", "relevant": ["label_print"]}
{"id": "c", "query": "invoice", "relevant": ["invoice_get"]}
"""


def test_better_and_worse_are_told_with_ranks() -> None:
    """A keyword helps one query and may cost another; each is named."""
    engine = make_engine(
        make_tool("shipment_status", description="Tell where a shipment is."),
        make_tool("label_print", description="Print what is stuck on it."),
        make_tool("invoice_get", description="Read one bill."),
        make_tool("parcel_weigh", description="Weigh a zorb."),
    )
    judgements = parse_judged(QUERIES, "q.jsonl")

    effect = compare_hints(engine, "shipment_status", Hints(keywords=("zorb",)), judgements)
    nothing = compare_hints(engine, "shipment_status", Hints(), judgements)

    moved = {one.now.id: (one.before.rank, one.now.rank) for one in effect.better}
    assert moved["a"] == (None, 2)
    assert "c" not in moved
    assert effect.common == 3
    assert (nothing.better, nothing.worse) == ((), ())
    assert nothing.before == nothing.now
