"""Scores by numpy: they are those without, and it is imported where that pays."""

from __future__ import annotations

import gc
import subprocess
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from unittest.mock import patch
from weakref import ref

import pytest
from builders import make_engine, make_tool
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.engine import Engine
from mcpg.index import Index
from mcpg.index.layout import NO_KEY, Header, StaleIndexError, unpack
from mcpg.index.tables import Section, pack
from mcpg.search import retrieval
from mcpg.search.features import extract_features
from mcpg.search.query import analyse
from mcpg.search.retrieval import retrieve_for_each, widen_analysis
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

VERBS = ("track", "cancel", "list", "create", "delete")
NOUNS = ("order", "invoice", "parcel", "invoke", "parcels", "customer", "shipment", "payment")


@cache
def shop() -> Engine:
    """Return an engine of 1,200 tools, made where a test needs it."""
    tools = [
        make_tool(
            f"{VERBS[number % 5]}_{number:04}",
            source_id=f"source{number % 7}",
            description=f"{VERBS[number % 4]} "
            + f"{NOUNS[number % 8]} " * (1 + number % 3)
            + "of a customer " * (number % 5)
            + "and a shipping " * (number % 11 == 0)
            + "or invoke an invoice" * (number % 9 == 0),
            enabled_by_default=False if number % 13 == 0 else None,
        )
        for number in range(1_200)
    ]
    return make_engine(*tools)


WORDS = (*VERBS, *NOUNS, "custmer", "shippment", "ordr", "invoce", "buyer", "source3", ".")
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
ALL, NONE = 1, sys.maxsize

pytest.importorskip("numpy")  # from now on it is imported
retrieval.ARRAYS.scorer(sys.maxsize)
array_scores = pytest.importorskip("mcpg.search.array_scores")


@contextmanager
def by_arrays_from(postings: int) -> Iterator[None]:
    """Have lists of so many postings, and more, read by numpy."""
    with patch.object(retrieval, "_MANY", postings):
        yield


@settings(deadline=None, max_examples=150)
@example("invoce", 20, set())
@given(QUERIES, st.integers(20, 60), st.sets(st.integers(0, 1_199), max_size=300))
def test_both_scorers_find_the_same(query: str, size: int, hidden: set[int]) -> None:
    """The best documents and their order do not depend on who adds up the lists."""
    analysis = widen_analysis(analyse(query, shop().index))._replace(intents=())
    with by_arrays_from(NONE):
        one_by_one = retrieve_for_each(analysis, shop().index, excluded=hidden, size=size)
    with by_arrays_from(ALL):
        assert retrieve_for_each(analysis, shop().index, excluded=hidden, size=size) == one_by_one


@settings(deadline=None, max_examples=60)
@given(QUERIES, st.integers(1, 50))
def test_answers_are_equal_to_the_last_bit(query: str, limit: int) -> None:
    """A result does not depend on who adds up the lists."""
    with by_arrays_from(NONE):
        one_by_one = shop().search(query, limit=limit)
    with by_arrays_from(ALL):
        assert shop().search(query, limit=limit) == one_by_one


def test_the_arrays_of_an_index_go_with_it() -> None:
    """A process that loads one bundle after the other keeps nothing of those that it has left."""
    engine = make_engine(*shop().tools[:20])
    with by_arrays_from(ALL):
        engine.search("track custmer order")
    index = ref(engine.index)
    assert index() in array_scores._KNOWN
    del engine
    gc.collect()

    assert index() is None


def test_nothing_is_left_of_another_search() -> None:
    """Searches of two catalogues in turn, and by several threads, find what each finds alone."""
    other = make_engine(*shop().tools[:700])
    asked = [
        (engine, query) for query in ("track custmer order", "invoce") for engine in (shop(), other)
    ]
    with by_arrays_from(NONE):
        alone = [engine.search(query) for engine, query in asked]
    with by_arrays_from(ALL), ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda one: one[0].search(one[1]), asked * 25))

    assert found == alone * 25


@pytest.mark.parametrize("section", ["postings.at", "grams_of.at"])
def test_damaged_features_are_told_as_damage(section: str) -> None:
    """A row that leads nowhere is damage of the index."""
    index = damaged(section)
    with pytest.raises(StaleIndexError):
        extract_features(range(20), analyse("track custmer", shop().index), index)


def test_a_pool_beyond_the_tools_is_told_as_damage() -> None:
    """A name that leads to no tool is damage."""
    analysis = analyse("track custmer", shop().index)
    with pytest.raises(StaleIndexError):
        extract_features([len(shop().index)], analysis, shop().index)


def test_a_damaged_list_is_told_as_damage() -> None:
    """A posting that leads to no tool is damage of the index, and takes no memory."""
    index = damaged("postings")
    for query in ("track", "custmer"):
        analysis = analyse(query, index)
        with by_arrays_from(ALL), pytest.raises(StaleIndexError):
            retrieve_for_each(analysis, index, excluded=(), size=20)


@pytest.mark.parametrize("share", [0, 2])
def test_lists_that_leave_postings_out_are_told_as_damage(share: int) -> None:
    """Each posting is in the list of a term, and each term has a list, or the index is damaged."""
    _, entries = unpack(shop().index.data)
    sections = []
    for name, one in entries.items():
        data = bytes(shop().index.data[one.start : one.end])
        if name == "postings.at":
            data = data[: len(data) // 4 // share * 4] if share else bytes(len(data))
        sections.append(Section(name, one.item_type, data))
    index = Index(pack(sections, Header(NO_KEY, 0, (0, 0, 0, 0))))
    with pytest.raises(StaleIndexError):
        array_scores.get_postings(index)


def damaged(name: str) -> Index:
    """Return an index in which all numbers of a section lead nowhere."""
    _, entries = unpack(shop().index.data)
    sections = [
        Section(name, one.item_type, bytes(shop().index.data[one.start : one.end]))
        for name, one in entries.items()
    ]
    beyond = array("I", [0xFFFF_FFFF]).tobytes()
    broken = [
        Section(one.name, one.item_type, beyond * (len(one.data) // 4)) if one.name == name else one
        for one in sections
    ]
    return Index(pack(broken, Header(NO_KEY, 0, (0, 0, 0, 0))))


SCRIPT = """
import sys
from unittest.mock import patch
import mcpg
from mcpg.search import retrieval as arrays
{before}
engine = mcpg.load({bundle!r})
arrays._MANY = 1
{action}
print(sorted({{"numpy", "mcpg.search.array_scores"}} & set(sys.modules)))
"""
BROKEN = """
def broken(name, *_):
    if name == "numpy":
        raise RuntimeError("built for another version")
sys.meta_path.insert(0, type("Finder", (), {"find_spec": staticmethod(broken)}))
arrays._LARGE = 1
"""
SEARCH = "engine.search('open a file'); engine.search('list all files')"
BOTH = "['mcpg.search.array_scores', 'numpy']"


@pytest.mark.parametrize(
    ("before", "action", "imported"),
    [
        ("", SEARCH, "[]"),
        ("arrays.ARRAYS._left = 1", SEARCH, BOTH),
        ("", f"engine.warm_up(); {SEARCH}", "[]"),
        ("arrays._LARGE = 1", f"engine.warm_up(); {SEARCH}", BOTH),
        ("import numpy", SEARCH, BOTH),
        ("sys.modules['numpy'] = None", f"engine.warm_up(); {SEARCH}", "['numpy']"),
        (BROKEN, f"engine.warm_up(); {SEARCH}", "[]"),
    ],
    ids=[
        *("few searches", "many searches", "small", "large"),
        *("imported before", "not installed", "broken"),
    ],
)
def test_numpy_is_imported_where_it_pays(
    bundle: str, before: str, action: str, imported: str
) -> None:
    """A process imports numpy after many long lists, or when a host prepares a large catalogue."""
    script = SCRIPT.format(bundle=bundle, before=before, action=action)
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert run.stdout.strip() == imported


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a bundle of two tools."""
    tools = (make_tool("open_file"), make_tool("list_files", description="List all open files"))
    path = str(tmp_path_factory.mktemp("bundle") / "graph.mdld")
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=tools))))
    return path


def test_an_engine_without_tools_warms_up() -> None:
    """There need be nothing to search."""
    make_engine().warm_up()


def test_a_warm_engine_answers_as_a_cold_one() -> None:
    """Warming up changes no answer."""
    cold = Engine(shop().index).search("cancel an order")
    warm = Engine(shop().index)
    warm.warm_up()

    assert warm.search("cancel an order") == cold
