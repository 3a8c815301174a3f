from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from builders import ids, make_engine, make_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.index.file import open_index
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.catalog.model import Tool
    from mcpg.engine import Engine, SearchResult

NOUNS = ("shipment", "order", "invoice", "parcel", "customer", "label", "refund")
VERBS = ("create", "find", "cancel", "update", "export")
PLACES = ("warehouse", "depot", "carrier", "portal", "ledger")
NEAR = 0.1  # so few tools have their margins imputed: some near ties turn by more than 0.05
nouns, verbs = st.sampled_from(NOUNS), st.sampled_from(VERBS)

sampled = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    """Make a tool out of few words, so that many have much in common."""
    noun, verb = draw(nouns), draw(verbs)
    return make_tool(
        f"{verb}_{noun}",
        id="",
        source_id=draw(st.sampled_from(("shop", "billing"))),
        description=f"{verb.title()} one {noun} of a {draw(nouns)} in the {draw(nouns)}.",
        keywords=tuple(draw(st.lists(st.sampled_from(PLACES), max_size=2, unique=True))),
        enabled_by_default=draw(st.sampled_from((None, True, False))),
    )


catalogues = st.lists(
    tools(), min_size=1, max_size=14, unique_by=lambda tool: (tool.source_id, tool.name)
)
words = st.sampled_from(
    (*NOUNS, *VERBS, *PLACES, "shipmnt", "invioce", "the", "of", "xqzv", "find_order", "42")
)
queries = st.lists(words, min_size=1, max_size=5).map(" ".join)


def shown(result: SearchResult) -> list[tuple[Any, ...]]:
    """Give all of a result that a caller sees, as plain values."""
    return [
        (match.tool_id, repr(match.score), match.evidence, match.via, match.is_enabled)
        for match in (*result.matches, *result.related_matches, *result.next_step_matches)
    ]


def unique(engine: Engine) -> list[str]:
    """Return the ids of the tools of an engine."""
    return [tool.id for tool in engine.tools]


@sampled
@given(catalogues, queries, st.integers(1, 12), st.booleans())
def test_results_are_well_formed(
    catalogue: list[Tool], query: str, limit: int, include_disabled: bool
) -> None:
    """Scores are sorted and in [0, 1]; no tool comes twice; none is off unless that is wanted."""
    engine = make_engine(*catalogue)
    result = engine.search(query, limit=limit, include_disabled=include_disabled)
    lists = (result.matches, result.related_matches, result.next_step_matches)
    offered = [match for matches in lists for match in matches]

    assert len(result.matches) <= limit
    assert len(set(ids(offered))) == len(offered)
    assert set(ids(offered)) <= set(unique(engine))
    assert all(0 <= match.score <= 1 for match in offered)
    assert all(one.score >= other.score for each in lists for one, other in pairwise(each))
    assert include_disabled or all(match.is_enabled for match in offered)
    assert all((match.via is None) == (match in result.matches) for match in offered)
    assert {match.via.source for match in offered if match.via} <= set(ids(result.matches))


@sampled
@given(catalogues, queries, st.randoms(use_true_random=False))
def test_the_order_of_the_tools_does_not_matter(
    catalogue: list[Tool], query: str, random: Any
) -> None:
    """A catalogue is a set: shuffled, it gives the same answer to the last digit."""
    shuffled = list(catalogue)
    random.shuffle(shuffled)

    assert shown(make_engine(*shuffled).search(query)) == shown(
        make_engine(*catalogue).search(query)
    )


@sampled
@given(catalogues, queries, st.integers(1, 8))
def test_the_limit_only_cuts(catalogue: list[Tool], query: str, limit: int) -> None:
    """Who asks for fewer gets the first of what asking for more gives, with the same scores."""
    engine = make_engine(*catalogue)
    fewer, more = (engine.search(query, limit=number).matches for number in (limit, 20))

    assert fewer == more[:limit]


@sampled
@given(catalogues, queries)
def test_disabled_tools_take_no_place(catalogue: list[Tool], query: str) -> None:
    """Without the disabled ones, the enabled tools keep the order that they have among all.

    A score is relative to those of the other candidates, so what is a near tie in one of the two
    searches may turn in the other.
    """
    engine = make_engine(*catalogue)
    enabled = {tool.id for tool in engine.tools if tool.enabled}
    matches = engine.search(query, limit=20).matches
    alone = ids(matches)
    among = engine.search(query, limit=20, include_disabled=True).matches
    scores = {match.tool_id: match.score for match in among if match.tool_id in enabled}

    assert len(alone) == len(scores)
    assert set(alone) == set(scores)
    for one, other in combinations(matches, 2):
        is_kept = scores[one.tool_id] >= scores[other.tool_id] - NEAR
        assert is_kept or one.score - other.score <= NEAR
    for limit in range(1, len(alone)):
        assert ids(engine.search(query, limit=limit).matches) == alone[:limit]


def test_many_disabled_tools_take_no_place() -> None:
    """However many disabled tools answer a query better, the enabled ones are looked at."""
    better = [
        make_tool(f"parcel_{n}", description="parcel", enabled_by_default=False) for n in range(60)
    ]
    worse = [make_tool(f"other_{n}", description=f"A parcel of {n}.") for n in range(30)]
    engine = make_engine(*better, *worse)

    assert len(engine.search("parcel", limit=20).matches) == 20
    assert len(engine.search("parcel", limit=50).matches) == 30
    assert len(engine.search("parcel", limit=50, include_disabled=True).matches) == 50


@settings(sampled, max_examples=15)
@given(catalogues, st.lists(nouns, min_size=1, max_size=3).map(" ".join))
def test_an_unrelated_tool_changes_no_clear_order(catalogue: list[Tool], query: str) -> None:
    """A tool that shares no word with anything keeps out of the answer.

    Every other word becomes a little rarer by it, so near ties may turn; nothing else does. Among
    many tools that is a little indeed.
    """
    stranger = make_tool("quibble_zymurgy", source_id="zoo", description="Quibbles zymurgy zoo.")
    others = [make_tool(f"filler{number}_x{number}", source_id="zoo") for number in range(60)]
    before, after = (
        {match.tool_id: match.score for match in make_engine(*some).search(query, limit=50).matches}
        for some in ([*catalogue, *others], [*catalogue, *others, stranger])
    )

    assert before.keys() == after.keys()
    for one, other in combinations(before, 2):
        is_near_tie = before[one] - before[other] < NEAR
        assert after[one] >= after[other] or (is_near_tie and after[other] - after[one] < NEAR)


HOSTILE = st.one_of(
    st.text(max_size=60),
    st.text("0123456789 .-", max_size=60),
    st.text("🧨📦🚚 \u200d\ufe0f", max_size=60),
    st.text("\u202e\u202c\u2066\u2069\u200f shipment", max_size=60),
    st.text(st.characters(categories=["Cs", "Cc", "Co", "Cn"]), max_size=60),
    st.lists(st.sampled_from(("the", "of", "and", "to", "is", "my")), max_size=30).map(" ".join),
)
SHOP = make_engine(
    *(
        make_tool(f"{verb}_{noun}", description=f"{verb.title()} one {noun} at the depot.")
        for verb in VERBS
        for noun in NOUNS
    )
)


@settings(max_examples=150, deadline=None)
@given(HOSTILE, HOSTILE, st.sampled_from([1, 2_000]))
def test_any_text_is_answered(query: str, context: str, times: int) -> None:
    """Whatever characters a query or context is made of, and however long, the answer has form."""
    result = SHOP.search(query * times, context=context * times)

    assert len(result.matches) <= 5
    assert all(0 <= match.score <= 1 for match in result.matches)
    assert result == SHOP.search(query * times, context=context * times)


@pytest.mark.parametrize("character", ["a", "🧨", "漢", "\ud800", "7", "\u202e", "a "])
def test_a_hundred_thousand_characters_are_bounded(character: str) -> None:
    """A query that never ends is read in part, and said to be."""
    result = SHOP.search(character * (100_000 // len(character)))

    assert len(result.matches) <= 5
    assert "query_truncated" in {item.code for item in result.diagnostics}


@pytest.mark.untraced
def test_threads_get_the_answers_of_one() -> None:
    """Eight threads that search one engine at once each get what they would get alone."""
    asked = [f"{verb} a {noun}" for verb in VERBS for noun in NOUNS]
    asked += [word[:-2] + word[-1] for word in asked[:15]]
    fresh = make_engine(*SHOP.tools)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [shown(fresh.search(one)) for one in asked], range(8)))

    assert found == [[shown(SHOP.search(one)) for one in asked]] * 8


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle without an index."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=SHOP.tools))))
    return path


def start(bundle: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a search in a process of its own."""
    command = [sys.executable, "-m", "mcpg", "search", "cancl the shipmnt", "-b", str(bundle)]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, env=variables)


def test_processes_give_the_same_bytes(bundle: Path) -> None:
    """Neither hash seeds nor the number of threads show in what is printed, or in the index."""
    outputs, indexes = set(), set()
    index = bundle.with_name("graph.mdld.idx")
    for seed, threads in (("0", "1"), ("1", "2"), ("4242", "8")):
        index.unlink(missing_ok=True)
        for form in ("text", "json"):
            with start(
                bundle, "--format", form, PYTHONHASHSEED=seed, OMP_NUM_THREADS=threads
            ) as search:
                outputs.add(search.communicate()[0])
        indexes.add(index.read_bytes())

    assert len(outputs) == 2
    assert len(indexes) == 1


def test_several_processes_may_search_at_once(bundle: Path) -> None:
    """All that find a bundle without index answer alike, and leave one whole index."""
    searches = [start(bundle) for _ in range(6)]
    outputs = [search.communicate()[0] for search in searches]

    assert {search.returncode for search in searches} == {0}
    assert len(set(outputs)) == 1
    assert b"cancel_shipment" in outputs[0]
    assert sorted(path.name for path in bundle.parent.iterdir()) == ["graph.mdld", "graph.mdld.idx"]
    open_index(f"{bundle}.idx").verify()


def test_every_way_to_a_catalogue_gives_the_same_answers(bundle: Path, tmp_path: Path) -> None:
    """A bundle, its index, and the bundle joined with nothing else are the same catalogue."""
    first, again = mcpg.load(bundle), mcpg.load(bundle)
    joined = mcpg.load([bundle, tmp_path / "absent"])
    query = "cancl the shipmnt of an order"

    expected = shown(SHOP.search(query))
    assert [shown(engine.search(query)) for engine in (first, again, joined)] == [expected] * 3
