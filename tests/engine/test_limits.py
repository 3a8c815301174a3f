"""What a limit may change: how many matches there are, and nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from builders import ids, make_engine, make_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.embeddings import FunctionEmbeddings
from mcpg.engine import Engine
from mcpg.llm import FunctionRewriter
from mcpg.search.results import MAX_LIMIT, EngineServices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mcpg.catalog.model import Tool

WORDS = (
    *("parcel", "order", "invoice", "label", "refund", "customer", "depot", "carrier", "ledger"),
    *("payment", "basket", "forecast", "weather", "report", "export", "import", "create"),
    *("cancel", "update", "list", "message", "user", "password", "folder"),
)
FOREIGN = "посилка"
WAYS: list[dict[str, Any]] = [
    {**way, "rewrite": rewrite}
    for rewrite in (False, True)
    for way in (
        {},
        {"strategy": "embeddings"},
        {"strategy": "auto"},
        {"strategy": "auto", "fusion": "learned"},
        {"strategy": "auto", "fusion": "rrf"},
    )
]
SAMPLED = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def catalogue() -> list[Tool]:
    """Make tools that have much in common, and more of one name than any search looks at."""
    draw = random.Random(3)
    made = [
        make_tool(
            f"{'_'.join(draw.sample(WORDS, 2))}_{number}",
            source_id=draw.choice(("shop", "billing", "files")),
            description=f"{' '.join(draw.choices(WORDS, k=draw.randint(2, 9)))}.",
            enabled_by_default=None if number % 9 else False,
        )
        for number in range(120)
    ]
    spread = [
        make_tool("find", id=f"find_{n:02}", source_id=f"s{n}", description=f"{WORDS[n % 20]}.")
        for n in range(30)
    ]
    return [*made, *spread]


def counted(texts: Sequence[str]) -> NDArray[np.float64]:
    """Count in each text the words of each pair of words, so that vectors know less than words."""
    rows = [[text.lower().count(word) for word in WORDS] for text in texts]
    return np.array(rows, dtype=float).reshape(len(texts), -1, 2).sum(axis=2) + 1e-3


def backwards(query: str) -> str:
    """Rewrite a query as something else than it is."""
    return " ".join(reversed(query.replace(FOREIGN, "").replace(",", " ").split()[1:])) or "user"


INDEX = make_engine(*catalogue()).index
ENGINE = Engine(
    INDEX,
    services=EngineServices(
        FunctionEmbeddings(counted, "a test"), rewriter=FunctionRewriter(backwards, "a test")
    ),
)
words = st.sampled_from((*WORDS, "find", "the", "invioce", "zzqx", FOREIGN, f"{FOREIGN}.", "and,"))
queries = st.lists(words, min_size=1, max_size=14).map(" ".join)
limits = st.integers(1, MAX_LIMIT)


@pytest.mark.parametrize("way", WAYS, ids=str)
@SAMPLED
@given(queries, limits, limits)
def test_a_limit_only_cuts(way: dict[str, Any], query: str, limit: int, other: int) -> None:
    """Who asks for fewer gets the first of what asking for more gives, with the same scores."""
    fewer, more = sorted((limit, other))
    few, many = (ENGINE.search(query, limit=one, **way).matches for one in (fewer, more))

    assert few == many[:fewer]


@pytest.mark.parametrize("way", WAYS[:5], ids=str)
@SAMPLED
@given(queries, limits)
def test_a_limit_changes_no_reason(way: dict[str, Any], query: str, limit: int) -> None:
    """What a match owes its place and its score to is the same whatever else is asked for."""
    few, many = (ENGINE.explain(query, limit=one, **way).matches for one in (limit, MAX_LIMIT))

    assert few == many[:limit]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_more_tools_of_one_name_than_are_looked_at_closely(way: dict[str, Any]) -> None:
    """Where a query names many tools, a limit only cuts all the same."""
    most = ENGINE.search("find", limit=MAX_LIMIT, **way).matches

    for limit in (1, 19, 20, 21, 29, 31, 49):
        assert ENGINE.search("find", limit=limit, **way).matches == most[:limit]


@settings(max_examples=15, deadline=None)
@given(queries, st.data())
def test_why_not_names_the_rank_of_the_search(query: str, data: st.DataObject) -> None:
    """The rank and the score of a tool are those that a search of any limit shows."""
    matches = ENGINE.search(query, limit=MAX_LIMIT).matches
    if not matches:
        return
    place = data.draw(st.integers(0, len(matches) - 1))
    standing = ENGINE.explain(query, tool=matches[place].tool_id).tool

    assert standing is not None
    assert (standing.rank, standing.score) == (place + 1, matches[place].score)
    found = ids(matches)
    assert all(found[rival.rank - 1] == rival.tool_id for rival in standing.above)
