from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest

from mcpg.postgres import Database, PostgresCandidates, PostgresError, PublishedTool, stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

TEXTS = {
    "shop:shipment_track": "Tell where a shipment is and when it will arrive",
    "shop:order_cancel": "Cancel an order before it was packed",
    "shop:refund_create": "Pay back what an order has cost",
    "git:commit_list": "List the commits of a repository",
}


def axis(place: int) -> NDArray[np.float32]:
    """Return the unit vector along one axis."""
    return np.eye(len(TEXTS), dtype=np.float32)[place]


def tools(*, vectors: bool = False) -> list[PublishedTool]:
    """Return the tools of a small catalogue, each with a vector along an axis of its own."""
    return [
        PublishedTool(name, name.partition(":")[2], text, axis(place) if vectors else None)
        for place, (name, text) in enumerate(TEXTS.items())
    ]


@pytest.fixture
def database(postgres: str) -> Iterator[Database]:
    """Return an empty database."""
    with Database(postgres) as opened:
        yield opened


def tables(database: Database) -> list[str]:
    """Name the tables of publications."""
    query = "select relname from pg_class where relname ~ '^(candidates|vocabulary)_[0-9]+$'"
    return sorted(name for (name,) in database.run(lambda one: one.execute(query).fetchall()))


def test_terms_choose(database: Database) -> None:
    """Tools that hold the words of the query are chosen, those with more and rarer ones first."""
    source = PostgresCandidates(database)
    assert source.publish(tools(), "k1")
    assert source.candidates("cancelling orders", None, 10) == [
        "shop:order_cancel",
        "shop:refund_create",
    ]
    assert source.candidates("commit", None, 10) == ["git:commit_list"]


def test_words_of_a_name_count_more(database: Database) -> None:
    """Of two tools that hold a word, the one that is named by it comes first."""
    source = PostgresCandidates(database)
    named = [PublishedTool("a", "list", "orders"), PublishedTool("b", "orders", "list")]
    source.publish(named, "k1")
    assert source.candidates("order", None, 2) == ["b", "a"]
    assert source.candidates("list", None, 2) == ["a", "b"]


def test_identifiers_are_terms_as_in_an_index(database: Database) -> None:
    """A name that is spelt in one word finds the tool whose name has its words apart."""
    source = PostgresCandidates(database)
    named = [PublishedTool("a", "listCommits", "x"), PublishedTool("b", "list", "commits")]
    source.publish(named, "k1")
    assert source.candidates("listcommits", None, 1) == ["a"]
    assert source.candidates("list_commits", None, 2) == ["a", "b"]


def test_misspelt_words_find_what_is_like_them(database: Database) -> None:
    """A word that no tool has stands for words with the same 3-grams."""
    source = PostgresCandidates(database)
    source.publish(tools(), "k1")
    assert source.candidates("shipmnt", None, 10) == ["shop:shipment_track"]


def test_unknown_words_find_nothing(database: Database) -> None:
    """What nothing is like chooses nothing; nor does a query without words."""
    source = PostgresCandidates(database)
    source.publish(tools(), "k1")
    assert source.candidates("xylophone 東京", None, 10) == []
    assert source.candidates(" ?! ", None, 10) == []


def test_vectors_and_terms_take_turns(database: Database) -> None:
    """With a vector, its neighbours come between the tools that hold the words."""
    source = PostgresCandidates(database)
    source.publish(tools(vectors=True), "k1", "model")
    near = 0.9 * axis(3) + 0.4 * axis(0)
    assert source.candidates("order", near, 4) == [
        "shop:order_cancel",
        "git:commit_list",
        "shop:refund_create",
        "shop:shipment_track",
    ]
    assert source.candidates("", near, 2) == ["git:commit_list", "shop:shipment_track"]
    assert source.candidates("order", near, 1) == ["shop:order_cancel"]


def test_tools_without_vectors_are_found_by_their_words(database: Database) -> None:
    """A vector helps where there are vectors, and does no harm where there are none."""
    source = PostgresCandidates(database)
    source.publish([*tools()[:2], *tools(vectors=True)[2:]], "k1")
    assert source.candidates("shipment", axis(3), 2) == ["shop:shipment_track", "git:commit_list"]
    source.publish(tools(), "k2")
    assert source.candidates("shipment", axis(3), 2) == ["shop:shipment_track"]


def test_a_vector_of_another_model_is_told(database: Database) -> None:
    """A vector of other dimensions than what is published cannot be compared."""
    source = PostgresCandidates(database)
    source.publish(tools(vectors=True), "k1")
    with pytest.raises(PostgresError, match="7 dimensions, but 4 are published"):
        source.candidates("order", np.ones(7, dtype=np.float32), 5)


@pytest.mark.parametrize("lengths", [(2, 3), (4001, 4001)])
def test_vectors_have_one_length(database: Database, lengths: tuple[int, int]) -> None:
    """Vectors of several models, or that no index takes, are not published."""
    made = [PublishedTool(str(n), "a", "b", np.ones(length)) for n, length in enumerate(lengths)]
    with pytest.raises(PostgresError, match="lengths"):
        PostgresCandidates(database).publish(made, "k1")
    assert tables(database) == []


def test_the_same_is_published_once(database: Database) -> None:
    """Publishing what stands there already does nothing, whoever does it at the same time."""
    source = PostgresCandidates(database)
    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda _: source.publish(tools(), "k1", "m"), range(3)))
    assert sorted(done) == [False, False, True]
    assert source.publish(tools(), "k1", "another")


def test_a_publication_by_other_rules_is_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the rules by which texts are cut have changed, the same catalogue is published anew."""
    source = PostgresCandidates(database)
    assert source.publish(tools(), "k1")
    monkeypatch.setattr(stores, "RULES", 0)
    assert source.publish(tools(), "k1")
    assert not source.publish(tools(), "k1")


def test_the_newest_is_searched_unless_another_is_named(database: Database) -> None:
    """A replica that still has the older catalogue goes on with it."""
    source = PostgresCandidates(database)
    source.publish(tools()[:1], "k1")
    source.publish(tools()[1:], "k2")
    assert source.candidates("shipment order", None, 1) == ["shop:order_cancel"]
    old = PostgresCandidates(database, "k1")
    assert old.candidates("shipment order", None, 5) == ["shop:shipment_track"]


def test_old_publications_go(database: Database) -> None:
    """Only the newest and as many before it as are kept take room."""
    source = PostgresCandidates(database)
    for number in range(3):
        source.publish(tools(), f"k{number}")
    assert tables(database) == ["candidates_2", "candidates_3", "vocabulary_2", "vocabulary_3"]
    source.publish(tools(), "k9", keep=0)
    assert tables(database) == ["candidates_4", "vocabulary_4"]
    with pytest.raises(PostgresError, match="this catalog is not published"):
        PostgresCandidates(database, "k2").candidates("order", None, 5)


def await_waiting(connection: psycopg.Connection[tuple[int]], count: int) -> None:
    """Wait until *count* locks are waited for."""
    for _ in range(3_000):
        found = connection.execute("select count(*) from pg_locks where not granted").fetchone()
        if found and found[0] >= count:
            return
        time.sleep(0.01)
    pytest.fail("nothing waits for a lock")


def test_a_search_outlives_the_publication_that_it_found(postgres: str, database: Database) -> None:
    """A search that began before its publication was replaced finds the tools of the new one."""
    source = PostgresCandidates(database)
    source.publish(tools(), "k1")
    with (
        ThreadPoolExecutor(2) as threads,
        psycopg.connect(postgres) as reader,
        psycopg.connect(postgres, autocommit=True) as watcher,
    ):
        reader.execute("select from mcpg.vocabulary_1")
        publishing = threads.submit(source.publish, tools(), "k2", keep=0)
        await_waiting(watcher, 1)
        searching = threads.submit(source.candidates, "commit", None, 5)
        await_waiting(watcher, 2)
        reader.commit()
        assert publishing.result()
        assert searching.result() == ["git:commit_list"]
    assert tables(database) == ["candidates_2", "vocabulary_2"]


def test_nothing_published_is_told(database: Database) -> None:
    """Where nothing is published, the remedy is a command."""
    with pytest.raises(PostgresError, match="no catalog is published") as told:
        PostgresCandidates(database).candidates("order", None, 5)
    assert "mcpg publish" in str(told.value)


def test_a_publication_that_breaks_off_leaves_the_old_one(database: Database) -> None:
    """Whoever searches sees the old publication until the new one is whole."""
    source = PostgresCandidates(database)
    source.publish(tools(), "k1")
    broken = [PublishedTool("x", "x", "x", np.array([0, np.nan], dtype=np.float32))]
    with pytest.raises(PostgresError, match="NaN"):
        source.publish(broken, "k2")
    assert source.candidates("commit", None, 5) == ["git:commit_list"]
    assert tables(database) == ["candidates_1", "vocabulary_1"]


def test_ids_of_strangers_are_ids(database: Database) -> None:
    """An id comes back as it was, whatever it holds."""
    source = PostgresCandidates(database)
    ids = ["a\0b", "\ud800", "x' or 1=1 --", "😀"]
    source.publish([PublishedTool(one, "refund", "refund") for one in ids], "k1")
    assert source.candidates("refund", None, 10) == ids


def test_large_catalogues_are_read_in_part(database: Database) -> None:
    """Only rare words choose, so that words of many tools do not make a search slow."""
    source = PostgresCandidates(database, reads=20)
    made = [PublishedTool(f"t{n}", f"tool{n}", f"common group{n % 50}") for n in range(500)]
    source.publish(made, "k1")
    chosen = source.candidates("common group7", None, 100)
    assert chosen == [f"t{n}" for n in range(7, 500, 50)]
    assert len(source.candidates("common", None, 100)) == 100


def test_neighbours_are_nearly_exact(database: Database) -> None:
    """The graph of neighbours finds nine of ten of the nearest tools, or more."""
    source = PostgresCandidates(database)
    vectors = np.random.default_rng(0).normal(size=(2000, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = [PublishedTool(f"t{n}", "a", "b", vector) for n, vector in enumerate(vectors)]
    source.publish(made, "k1")
    exact = np.argsort(-(vectors @ vectors[5]))[:50]
    assert len({*source.candidates("", vectors[5], 50)} & {f"t{n}" for n in exact}) >= 45


def divided() -> list[PublishedTool]:
    """Return a catalogue in which most is off, and what is off is nearer to everything."""
    hidden = [
        PublishedTool(f"off_{n:02}", "order", "order", axis(0), is_offered=False) for n in range(30)
    ]
    return [*hidden, PublishedTool("on", "pay", "pay for an order", 0.8 * axis(0) + 0.6 * axis(1))]


def test_what_is_off_takes_no_place_of_what_is_offered(database: Database) -> None:
    """By words and by vector, tools that are on are found behind any number that are off."""
    source = PostgresCandidates(database)
    source.publish(divided(), "k1", "m")
    assert source.candidates("order", None, 5) == [f"off_{n:02}" for n in range(5)]
    assert "on" not in source.candidates("", axis(0), 5)
    assert source.candidates("", axis(1), 1) == ["on"]
    assert source.offered().candidates("order", None, 5) == ["on"]
    assert source.offered().candidates("", axis(0), 5) == ["on"]


def test_a_vector_of_another_maker_is_told(database: Database) -> None:
    """Vectors of different models mean different things, however many dimensions they have."""
    source = PostgresCandidates(database)
    source.publish(tools(vectors=True), "k1", "one")
    assert source.by("one").candidates("", axis(0), 1) == ["shop:shipment_track"]
    with pytest.raises(PostgresError, match="is from other, but vectors from one are published"):
        source.by("other").candidates("order", axis(0), 5)
    assert source.by("other").candidates("commit", None, 5) == ["git:commit_list"]


def test_a_publication_anew_has_another_fingerprint(database: Database) -> None:
    """What is kept of an older publication of the same bundle is not found under the new one."""
    source = PostgresCandidates(database).of("k1")
    source.publish(tools(), "k1")
    before = source.fingerprint
    assert source.fingerprint == before
    source.publish(tools(vectors=True), "k1", "m")
    assert before != source.fingerprint != source.offered().fingerprint


def test_a_publication_of_an_older_version_is_searched_and_replaced(database: Database) -> None:
    """One that does not tell what is offered is searched as it is, until it is published anew."""
    source = PostgresCandidates(database)
    source.publish(tools(vectors=True), "k1", "m")
    for column in ("is_offered", "hidden_vector"):
        statement = f"alter table candidates_1 drop column {column}"
        database.run(lambda one, statement=statement: one.execute(statement))
    for one in (source, source.offered()):
        assert one.candidates("commit", axis(0), 2) == ["git:commit_list", "shop:shipment_track"]
    assert source.publish(tools(vectors=True), "k1", "m")
    assert not source.publish(tools(vectors=True), "k1", "m")
