"""Catalogs that are published whole, in parts, and searched without a bundle."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pgserver
import pytest

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.errors import UsageError
from mcpg.postgres import Database, PostgresError, PublishedEngine, publish_catalog
from mcpg.search.caches import MemoryCache
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mcpg.engine import Engine, SearchResult

QUERIES = (
    "refund a payment",
    "shipmnet status",
    "cancel order 1234 and e-mail the customer",
    "list_orders",
    "oauth2 token for host42",
    "get_zone_7f3a",
    "dns records",
    "tools of network",
    "Rückerstattung einer Zahlung",
    "where is the parcel, and who signed for it?",
    "kwyjibo",
)


def tool(name: str, description: str, **members: Any) -> dict[str, Any]:
    """Return a tool as a manifest has it."""
    properties = {key: {"type": "string"} for key in members.pop("takes", ())}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema, **members}


SHOP = [
    tool("refund_issue", "Refund a payment to the customer.", takes=("order_id",)),
    tool("order_cancel", "Cancel an order before it is packed.", takes=("order_id",)),
    tool("order_list", "List the orders of a customer.", takes=("customer", "status")),
    tool("shipment_status", "Tell where a shipment is, and who signed for the parcel."),
    tool("search", "Search products and orders."),
]
NETWORK = [
    tool("get_zone_7f3a", "Get one DNS zone and its records.", takes=("zone",)),
    tool("records_list", "List DNS records of a zone, by host name, such as host42."),
    tool("host_show", "Show a host.", annotations={"readOnlyHint": True}),
    tool("token_create", "Create an OAuth2 token for a client.", takes=("client",)),
    tool("zone_delete", "Delete a zone with all its records, and cancel its certificates."),
    tool("search", "Search zones, hosts and certificates."),
]


def make_bundle(folder: Path, name: str, tools: Sequence[dict[str, Any]]) -> Path:
    """Write the bundle of a server's *tools*."""
    manifest = folder / f"{name}.json"
    manifest.write_text(json.dumps({"server": name, "tools": list(tools)}), encoding="utf-8")
    path = folder / f"{name}.mdld"
    write_bundle(path, build_bundle(assemble(read_sources([manifest]))))
    return path


def publish(database: Database, *paths: Path, keep: int = 1) -> tuple[int, int]:
    """Publish bundles, and return the number of parts, and of those that were written."""
    done = publish_catalog(database, [mcpg.load(path).index for path in paths], keep)
    return done.parts, done.written


@pytest.fixture
def database(postgres: str) -> Iterator[Database]:
    """Return an empty database."""
    with Database(postgres) as opened:
        yield opened


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    """Return two bundles."""
    return make_bundle(tmp_path, "shop", SHOP), make_bundle(tmp_path, "network", NETWORK)


def describe(result: SearchResult) -> list[tuple[object, ...]]:
    """Return what a result says of each match, whatever its id is."""
    return [(one.source_id, one.tool_name, one.score, one.evidence) for one in result.matches]


def test_parts_are_as_one_index(database: Database, parts: tuple[Path, Path]) -> None:
    """Scores, evidence and features of all matches are those of one bundle of all tools."""
    sources = [path.with_suffix(".json") for path in parts]
    whole = mcpg.load(sources)
    assert publish(database, *parts) == (2, 2)
    engine = PublishedEngine(database)
    for query in QUERIES:
        own, published = whole.search(query), engine.search(query)
        assert describe(published) == describe(own), query
        assert published.diagnostics == own.diagnostics
        features = [
            [(one.contributions, one.calibration, one.terms) for one in explained.matches]
            for explained in (whole.explain(query), engine.explain(query))
        ]
        assert features[0] == features[1], query


def test_options_are_as_in_one_index(database: Database, parts: tuple[Path, Path]) -> None:
    """Filters, context, tools in use and the lexicon reach the search."""
    whole = mcpg.load([path.with_suffix(".json") for path in parts])
    publish(database, *parts)
    engine = PublishedEngine(database, limit=3)
    for options in (
        {"sources": ["SHOP"]},
        {"sources": ["nowhere"]},
        {"limit": 30},
        {"lexicon": False},
        {"context": "the customer paid twice"},
        {"min_score": 0.4},
        {"context_tools": ["records_list", "network::zone_delete"]},
        {"read_only": True},
    ):
        # A name finds a tool that no filter passes.
        query = "order_list" if "read_only" in options else "cancel an order"
        own = whole.search(query, **{"limit": 3, **options})
        published = engine.search(query, **options)
        assert describe(published) == describe(own), options
        assert published.diagnostics == own.diagnostics, options


def test_links_lead_to_tools_that_no_word_finds(
    database: Database, parts: tuple[Path, Path]
) -> None:
    """Related tools come from the part of a match, and are read though they hold no word."""
    publish(database, *parts)
    found = PublishedEngine(database).search("refund a payment", limit=1)
    own = mcpg.load(parts[0]).search("refund a payment", limit=1)
    linked = [
        [one.tool_id for one in (*each.related_matches, *each.next_step_matches)]
        for each in (found, own)
    ]
    assert linked[0] == linked[1] != []


def test_a_tool_has_a_distinct_id(database: Database, parts: tuple[Path, Path]) -> None:
    """Of an id that two parts have, the source is a part."""
    publish(database, *parts)
    found = PublishedEngine(database).search("search", limit=10).matches
    told = {one.tool_id: one.descriptor.description for one in found}
    assert told["network::search"] == "Search zones, hosts and certificates."
    assert told["shop::search"] == "Search products and orders."
    assert "search" not in told


def test_tools_of_one_source_in_several_parts_are_told_apart(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """Two parts may have a tool of the same id and source: each match has its own description."""
    other = tmp_path / "other"
    other.mkdir()
    publish(database, parts[0], make_bundle(other, "shop", [tool("search", "Search old orders.")]))
    found = PublishedEngine(database).search("search", limit=10).matches
    told = {one.tool_id: one.descriptor.description for one in found}
    assert told == {
        "shop.1::search": "Search products and orders.",
        "shop.2::search": "Search old orders.",
    }


def test_links_lead_to_tools_with_a_shared_id(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """A related tool is that of the same part, if another part has its id as well."""
    jobs = make_bundle(tmp_path, "jobs", [tool("order_list", "List the standing orders of jobs.")])
    publish(database, parts[0], jobs)
    found = PublishedEngine(database).search("refund a payment", limit=1)
    assert [(one.tool_id, one.source_id) for one in found.related_matches] == [
        ("shop::order_list", "shop")
    ]


def test_an_empty_catalog_is_searched(database: Database, tmp_path: Path) -> None:
    """A bundle without tools can be published, alone or among others."""
    empty = make_bundle(tmp_path, "empty", [])
    publish(database, empty)
    engine = PublishedEngine(database)
    assert engine.search("refund").matches == ()
    assert repr(engine) == "<Engine: 0 tools>"
    publish(database, empty, make_bundle(tmp_path, "shop", SHOP), keep=0)
    assert engine.search("refund a payment").matches[0].tool_id == "refund_issue"
    assert repr(PublishedEngine(database)) == "<Engine: 5 tools>"


def test_lists_of_options_are_read_once(database: Database, parts: tuple[Path, Path]) -> None:
    """An iterator serves as a list does, for all that a search does with it."""
    publish(database, *parts)
    engine = PublishedEngine(database)
    for name, texts in (("sources", ["network", "nowhere"]), ("context_tools", ["zone_delete"])):
        by_list = engine.search("cancel an order", **{name: texts})
        by_iterator = engine.search("cancel an order", **{name: iter(texts)})
        assert describe(by_iterator) == describe(by_list), name
        assert by_iterator.diagnostics == by_list.diagnostics, name


def test_services_are_asked_once(database: Database, parts: tuple[Path, Path]) -> None:
    """A search that reads linked tools tells an observer, and asks a reranker, one time."""
    publish(database, *parts)
    told: list[str] = []

    class Service:
        """Turns the order of matches around, and counts searches."""

        def rerank(self, _: str, matches: Sequence[mcpg.Match]) -> list[str]:
            told.append("rerank")
            return [match.tool_id for match in reversed(matches)]

        @contextmanager
        def search(self, *_: object) -> Iterator[Callable[..., None]]:
            told.append("search")
            yield lambda *_: None

    service: Any = Service()
    services = mcpg.EngineServices(reranker=service, observer=service)
    sources = [path.with_suffix(".json") for path in parts]
    whole = mcpg.load(sources, reranker=service, observer=service)
    published = PublishedEngine(database, services=services)
    for options in ({}, {"rerank": True}):
        counts = []
        for engine in (whole, published):
            for ask in (engine.search, engine.explain):
                told.clear()
                ask("cancel an order", limit=1, **options)
                counts.append(sorted(told))
        assert counts[:2] == counts[2:] != [[], []]


def test_results_are_not_cached(database: Database, parts: tuple[Path, Path]) -> None:
    """The key of a cache is of an index of all tools, and the vocabulary is none."""
    publish(database, *parts)
    cache = Mock(spec=MemoryCache)
    services = mcpg.EngineServices(cache=cache)
    assert PublishedEngine(database, services=services).search("refund a payment").matches
    assert not cache.method_calls


@pytest.mark.skipif(sys.platform == "win32", reason="Windows freezes no process")
def test_a_frozen_connection_is_cut(database: Database, parts: tuple[Path, Path]) -> None:
    """A server process that answers nothing is given up after the time of one statement."""
    publish(database, *parts)
    with Database(replace(database.settings, statement_timeout=0.2)) as impatient:
        engine = PublishedEngine(impatient)
        (frozen,) = impatient.run(lambda one: one.execute("select pg_backend_pid()").fetchone())
        os.kill(frozen, signal.SIGSTOP)
        wake = Timer(20, os.kill, (frozen, signal.SIGCONT))
        wake.start()
        begun = monotonic()
        found = engine.search("refund a payment")
        assert monotonic() - begun < 15
        wake.cancel()
        os.kill(frozen, signal.SIGCONT)
    assert found.matches[0].tool_id == "refund_issue"


def test_only_changed_parts_are_written(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """The next catalog shares the parts that are the same; old ones go with the last catalog."""
    assert publish(database, *parts) == (2, 2)
    assert publish(database, *parts) == (2, 0)
    changed = make_bundle(tmp_path, "network", [*NETWORK[1:], tool("zone_move", "Move a zone.")])
    assert publish(database, parts[0], changed) == (2, 1)
    engine = PublishedEngine(database)
    assert engine.search("move a zone").matches[0].tool_id == "zone_move"
    assert describe(engine.search("order")) == describe(
        mcpg.load([parts[0].with_suffix(".json"), changed.with_suffix(".json")]).search("order")
    )
    assert count_tables(database) == 9
    publish(database, parts[0], changed, keep=0)
    assert count_tables(database) == 6


def count_tables(database: Database) -> int:
    """Count the tables of parts."""
    query = "select count(*) from pg_class where relname ~ '^part_[a-z]+_[0-9]+$' and relkind = 'r'"
    (count,) = database.run(lambda one: one.execute(query).fetchone()) or (0,)
    return int(count)


def test_a_replica_goes_on_with_its_catalog(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """An engine answers by the catalog that it opened while that is kept, then by the newest."""
    publish(database, *parts)
    engine = PublishedEngine(database)
    before = describe(engine.search("move a zone"))
    changed = make_bundle(tmp_path, "network", [*NETWORK[1:], tool("zone_move", "Move a zone.")])
    publish(database, parts[0], changed)
    assert describe(engine.search("move a zone")) == before
    publish(database, parts[0], changed, keep=0)
    found = engine.search("move a zone")
    assert found.matches[0].tool_id == "zone_move"
    assert not found.diagnostics


def test_a_replica_opens_a_catalog_that_only_has_more(
    database: Database, parts: tuple[Path, Path]
) -> None:
    """A catalog that is no longer kept is left, though the newest has all its parts."""
    publish(database, parts[0])
    engine = PublishedEngine(database)
    engine.search("refund a payment")
    publish(database, *parts, keep=0)
    for query in ("get the records of a zone", "kwyjibo"):
        assert describe(engine.search(query)) == describe(PublishedEngine(database).search(query))
    assert engine.search("get the records of a zone").matches[0].source_id == "network"


def test_a_missing_part_is_reported_and_published_again(
    database: Database, parts: tuple[Path, Path]
) -> None:
    """Without a part, tools used last are searched; publishing repairs the catalog."""
    publish(database, *parts)
    engine = PublishedEngine(database)
    engine.search("refund a payment")
    database.run(lambda one: one.execute("drop table part_terms_2"))
    found = engine.search("refund a payment")
    assert found.matches[0].tool_id == "refund_issue"
    assert [one.code for one in found.diagnostics] == ["candidates_failed"]
    assert "1 parts are missing" in found.diagnostics[0].message
    with pytest.raises(PostgresError, match="is incomplete"):
        PublishedEngine(database).search("refund a payment")
    assert publish(database, *parts) == (2, 1)
    assert not PublishedEngine(database).search("refund a payment").diagnostics


@pytest.mark.parametrize(
    "change",
    [
        "update part_tools set record = 'x'",
        "update part_tools set record = overlay(record placing 'xyz' from 20)",
        "update part_tools set meaning = ''",
        "update part_terms set tools = decode('ffffff7f', 'hex')",
        "update part_terms set tools = 'xyz'",
        "update part_terms set impacts = ''",
        "delete from part_tools",
        "update part_tools set links = '{}'",
        "update part_names set tools = '{77}'",
        "update catalogs set parts = '{}'",
    ],
)
def test_damage_is_reported(database: Database, parts: tuple[Path, Path], change: str) -> None:
    """Rows that cannot be read are an error, not a crash or a wrong answer."""
    publish(database, *parts)
    database.run(lambda one: one.execute(change.encode()))
    with pytest.raises(PostgresError, match="is incomplete"):
        PublishedEngine(database).search("refund_issue a payment")


def test_a_catalog_of_another_version_is_refused(
    database: Database, parts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that were cut by other rules would not be found."""
    publish(database, *parts)
    monkeypatch.setattr("mcpg.postgres.catalog_engine.hash_recipe", lambda _: 1)
    with pytest.raises(PostgresError, match="another version of mcpg published it"):
        PublishedEngine(database)


def test_a_lost_database_is_reported(parts: tuple[Path, Path]) -> None:
    """If the server is gone, tools that were used last are searched, and it is not asked again."""
    seconds = [0.0]
    with pgserver.server() as dsn:
        database = Database(dsn, sleep=lambda _: None)
        publish(database, *parts)
        engine = PublishedEngine(database, clock=lambda: seconds[0])
        fresh = PublishedEngine(database)
        engine.search("refund a payment")
    found = engine.search("refund a payment")
    assert found.matches[0].tool_id == "refund_issue"
    (diagnostic,) = found.diagnostics
    assert diagnostic.code == "candidates_failed"
    assert "that this process used last" in diagnostic.message
    assert engine.explain("refund").result.diagnostics[0] == diagnostic
    with pytest.raises(PostgresError):
        fresh.search("refund a payment")
    database.close()


def test_a_standby_is_searched(postgres: str, database: Database, parts: tuple[Path, Path]) -> None:
    """A search writes nothing."""
    publish(database, *parts)
    with Database(f"{postgres} options='-c default_transaction_read_only=on'") as standby:
        found = PublishedEngine(standby).search("refund a payment")
    assert found.matches[0].tool_id == "refund_issue"
    assert not found.diagnostics


def test_the_vocabulary_is_cached(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """The next process reads the vocabulary from the cache folder, unless it is damaged there."""
    publish(database, *parts)
    own = describe(PublishedEngine(database, cache_dir=str(tmp_path)).search("refund"))
    (kept,) = tmp_path.glob("catalog-*.idx")
    database.run(lambda one: one.execute("update catalogs set vocabulary = ''"))
    again = PublishedEngine(database, cache_dir=str(tmp_path))
    assert describe(again.search("refund")) == own
    kept.write_bytes(kept.read_bytes()[:-4] + b"abcd")
    with pytest.raises(PostgresError, match="cannot be used"):
        PublishedEngine(database, cache_dir=str(tmp_path))


def test_old_vocabularies_leave_the_cache(
    database: Database, parts: tuple[Path, Path], tmp_path: Path
) -> None:
    """Publications do not fill the cache folder."""
    cache = tmp_path / "cache"
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        network = make_bundle(folder, "network", NETWORK[: number + 1])
        publish(database, parts[0], network, keep=0)
        PublishedEngine(database, cache_dir=str(cache))
    assert len([*cache.iterdir()]) == 4


def test_other_questions_need_a_bundle(database: Database, parts: tuple[Path, Path]) -> None:
    """What needs all tools says so."""
    publish(database, *parts)
    engine: Engine = PublishedEngine(database)
    for ask in (
        lambda: engine.plan("refund"),
        lambda: engine.ask("What does refund_issue do?"),
        lambda: engine.route("refund"),
        lambda: engine.tools,
        lambda: engine.search(""),
        lambda: engine.explain("refund", tool="order_list"),
    ):
        with pytest.raises(UsageError, match="needs a bundle"):
            ask()


def test_nothing_is_published_twice_or_without_a_bundle(
    database: Database, parts: tuple[Path, Path]
) -> None:
    """A catalog is of distinct bundles, and there is none before one is published."""
    with pytest.raises(PostgresError, match="no catalog is published"):
        PublishedEngine(database)
    with pytest.raises(UsageError, match="named twice"):
        publish(database, parts[0], parts[0])
    with pytest.raises(UsageError, match="no bundle to publish"):
        publish(database)
    with pytest.raises(UsageError, match="keep is -1"):
        publish(database, *parts, keep=-1)
    with pytest.raises(UsageError, match="only bundles"):
        publish_catalog(database, [mcpg.load(parts[0].with_suffix(".json")).index])
