from __future__ import annotations

from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.search.features import spread
from mcpg.search.query import (
    FEWEST_WORDS,
    MOST_INTENTS,
    analyse,
    choose_intents,
    group_by_sentence,
    split_segments,
)
from mcpg.search.retrieval import POOL, retrieve_for_each

if TYPE_CHECKING:
    from mcpg.engine import Engine

shares = st.floats(0, 1, allow_nan=False)
COLOURS = ("red", "green", "blue", "amber", "violet", "black", "white", "pink")


def crowd(size: int) -> Engine:
    """Make a catalogue where *size* tools do one thing and a single one does another."""
    return make_engine(
        *(
            make_tool(
                f"invoice_export_{number}",
                description="Export the unpaid invoices of one customer account as a sheet.",
            )
            for number in range(size)
        ),
        make_tool("weather_forecast", description="Tell the weather forecast for one city."),
    )


BOTH = (
    "Export the unpaid invoices of this customer account. "
    "And tell me what the weather forecast for my city is"
)


@pytest.mark.parametrize("size", [6, 3 * POOL])
def test_each_of_two_wishes_has_a_tool_among_the_first(size: int) -> None:
    """However many tools answer one wish, those of another are not crowded out."""
    found = ids(crowd(size).search(BOTH).matches)

    assert "weather_forecast" in found[:2]
    assert sum(name.startswith("invoice_export") for name in found) == len(found) - 1


def test_commas_tell_wishes_apart_as_full_stops_do() -> None:
    """A request in one sentence has its wishes answered too."""
    found = ids(crowd(6).search(BOTH.replace(". And", ", and")).matches)

    assert "weather_forecast" in found[:2]


def test_what_a_tool_adds_is_told() -> None:
    """The explanation shows what a tool adds, and its contributions make up its score."""
    explained = crowd(6).explain(BOTH)
    added = {
        match.tool_id: part
        for match in explained.matches
        for part in match.contributions
        if part.feature == "intent"
    }
    scores = [match.fused_score for match in explained.matches]

    assert added["weather_forecast"].contribution > 0
    assert all(0 <= part.value <= 1 for part in added.values())
    assert scores == sorted(scores, reverse=True)
    for match in explained.matches:
        total = sum(part.contribution for part in match.contributions)
        assert total == pytest.approx(match.fused_score, abs=1e-8)


def test_the_analysis_tells_the_wishes() -> None:
    """The stage that reads the request says which parts it takes for wishes."""
    details = crowd(6).explain(BOTH).stages[0].details

    assert details["intents"] == [
        ["export", "unpaid", "invoices", "customer", "account"],
        ["tell", "weather", "forecast", "city"],
    ]


def test_one_wish_is_left_as_it_is() -> None:
    """Where there is nothing to tell apart, nothing is added."""
    explained = crowd(6).explain("export the unpaid invoices of this customer account")
    parts = (part for match in explained.matches for part in match.contributions)

    assert all(part.value == 0 for part in parts if part.feature == "intent")


def test_a_limit_only_cuts_what_is_spread() -> None:
    """Asking for fewer gives the first of asking for more, with several wishes as with one."""
    engine = crowd(3 * POOL)
    most = engine.search(BOTH, limit=50).matches

    for limit in (1, 2, 5, 10, POOL):
        assert engine.search(BOTH, limit=limit).matches == most[:limit]


def test_the_pool_holds_the_tools_of_each_wish_whatever_its_size() -> None:
    """The first of the pool are the same for every size, and none comes twice."""
    index = make_engine(
        *(
            make_tool(f"paint_{number}", description=f"Paint {' '.join(COLOURS)}.")
            for number in range(2 * POOL)
        ),
        *(make_tool(f"filler_{number}", description="Count sheep.") for number in range(200)),
        make_tool("whistle", description="Count sheep."),
    ).index
    analysis = analyse(f"paint {' '.join(COLOURS)}. whistle", index)
    pool = retrieve_for_each(analysis, index, excluded=(), size=POOL)
    larger = retrieve_for_each(analysis, index, excluded=(), size=50)
    alone = index.find_tool("whistle")

    assert alone in pool
    assert alone not in retrieve_for_each(
        analysis._replace(intents=()), index, excluded=(), size=POOL
    )
    assert len(pool) == len(set(pool)) == POOL
    assert larger[:POOL] == pool
    assert alone not in retrieve_for_each(analysis, index, excluded=(alone,), size=POOL)


@given(
    st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=8),
    st.data(),
    st.floats(0, 8),
)
def test_scores_never_rise_and_nothing_is_lost(
    answered: list[tuple[float, float, float]], data: st.DataObject, weight: float
) -> None:
    """Each candidate comes once, scores fall, and together they add no more than there is."""
    scores = sorted(data.draw(st.lists(shares, min_size=len(answered), max_size=len(answered))))
    scores.reverse()
    found = list(spread(scores, answered, weight, len(scores)))

    assert sorted(place for place, _, _ in found) == list(range(len(scores)))
    assert all(one[2] >= other[2] for one, other in pairwise(found))
    assert sum(added for _, added, _ in found) <= 1 + 1e-9
    for place, added, score in found:
        assert score == pytest.approx(scores[place] + weight * added, abs=1e-8)
    assert list(spread(scores, answered, weight, 2)) == found[:2]


def by_trying_all(
    scores: list[float], answered: list[tuple[float, ...]], weight: float
) -> list[tuple[int, float, float]]:
    """Return what `spread` does, with every candidate scored again each time."""
    best = list(map(max, zip(*answered, strict=True)))
    total = fsum(best) or 1.0
    left, order = dict(enumerate(answered)), []
    open_shares = [one / total for one in best]
    while left:
        adding = {
            place: fsum(
                share * (one / top if top else 0.0)
                for share, one, top in zip(open_shares, row, best, strict=True)
            )
            for place, row in left.items()
        }
        reached = {place: round(scores[place] + weight * adding[place], 9) for place in left}
        place = min(left, key=lambda one: (-reached[one], one))
        order.append((place, adding[place], reached[place]))
        degrees = [
            one / top if top else 0.0 for one, top in zip(left.pop(place), best, strict=True)
        ]
        open_shares = [
            share * (1 - degree) for share, degree in zip(open_shares, degrees, strict=True)
        ]
    return order


@given(st.lists(st.tuples(shares, st.tuples(shares, shares)), min_size=1), st.floats(0, 8))
def test_few_are_scored_again_and_the_best_comes_each_time(
    candidates: list[tuple[float, tuple[float, float]]], weight: float
) -> None:
    """The order, what each adds and its score are those of scoring every candidate each time."""
    scores = [score for score, _ in candidates]
    answered = [row for _, row in candidates]
    found = by_trying_all(scores, answered, weight)

    assert list(spread(scores, answered, weight, len(scores))) == found


def test_where_no_tool_answers_nothing_is_added() -> None:
    """Wishes that nothing answers leave the order alone."""
    found = list(spread([2.0, 1.0], [(0.0, 0.0), (0.0, 0.0)], 4.0, 2))

    assert found == [(0, 0.0, 2.0), (1, 0.0, 1.0)]


def test_items_of_a_list_are_no_wishes() -> None:
    """What is short between commas belongs to what stands before it."""
    texts = ["show", "prices", "sizes", "every", *COLOURS]
    query = f"show every {' '.join(COLOURS)}, prices, sizes"

    assert [len(sentence) for sentence in split_segments(query, texts)] == [1]
    assert choose_intents(split_segments(query, texts), [1.0] * len(texts)) == ()


def test_a_short_beginning_belongs_to_what_follows() -> None:
    """An opening before a comma is no wish of its own."""
    query = f"show every, {' '.join(COLOURS[:FEWEST_WORDS])}, {' '.join(COLOURS[FEWEST_WORDS:])}"
    texts = ["show", "every", *COLOURS]

    assert split_segments(query, texts) == [[(0, 1, 2, 3, 4, 5), (6, 7, 8, 9)]]


def test_sentences_are_whole_whatever_their_commas() -> None:
    """A sentence has the words of all its parts, of those that were asked for."""
    query = f"{' '.join(COLOURS[:4])}, {' '.join(COLOURS[4:])}. red again"
    parts = split_segments(query, [*COLOURS, "again"])

    assert group_by_sentence(parts, 8) == ((0, 1, 2, 3, 4, 5, 6, 7), (0,))
    assert choose_intents(parts, [1.0] * 9) == ((0, 1, 2, 3), (4, 5, 6, 7), (0, 8))
    assert split_segments("red again", ["red", "again"]) == []


def test_the_heaviest_of_many_wishes_are_kept() -> None:
    """There is a bound on what one request can ask for; order and duplicates do not count."""
    texts = [f"word{number}" for number in range(2 * MOST_INTENTS)]
    query = ". ".join([*texts, texts[0]])
    weights = [float(number) for number in range(len(texts))]
    kept = choose_intents(split_segments(query, texts), weights)

    assert kept == tuple((number,) for number in range(MOST_INTENTS, 2 * MOST_INTENTS))


SEVERAL = make_engine(
    make_tool("create_issue", description="Create an issue in a repository."),
    make_tool("update_issue", description="Update an issue of a repository."),
    make_tool("close_issue", description="Close an issue of a repository."),
    make_tool("send_email", description="Send an email to a person."),
    make_tool("list_branches", description="List the branches of a repository."),
)


@pytest.mark.parametrize(
    ("query", "intents"),
    [
        ("create an issue and send an email", [["create", "issue"], ["send", "email"]]),
        (
            "list branches then create an issue and send an email",
            [["list", "branches"], ["create", "issue"], ["send", "email"]],
        ),
        ("create an issue and branches", []),
        ("create and send", []),
    ],
)
def test_each_verb_after_a_conjunction_begins_a_wish(query: str, intents: list[list[str]]) -> None:
    """Two things to do are two wishes, two nouns are not."""
    assert SEVERAL.explain(query).stages[0].details["intents"] == intents


def test_what_each_of_several_verbs_asks_for_is_among_the_first() -> None:
    """The tool of the second verb comes before further tools of the first."""
    found = ids(SEVERAL.search("create an issue and send an email", limit=2).matches)

    assert set(found) == {"create_issue", "send_email"}
    assert (
        not SEVERAL.explain("create an issue and send an email", lexicon=False)
        .stages[0]
        .details["intents"]
    )
