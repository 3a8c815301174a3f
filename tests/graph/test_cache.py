"""Graphs that are kept between runs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from builders import make_tool
from kills import killed, steps

from mcpg.bundle import assemble
from mcpg.graph import cache as graphs
from mcpg.graph import terms as v
from mcpg.graph.cache import CachedGraph, GraphCache
from mcpg.graph.schema import GraphSchema, build_schema
from mcpg.graph.search import GraphSearcher, GraphSearchRequest, Mode, SearchProfile
from mcpg.graph.search.model import TextPredicate
from mcpg.graph.sparql import SparqlEndpoint
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcpg.documents.model import ToolDocument

IDS = "SELECT ?id ?name { ?tool mcpg:toolId ?id ; schema:name ?name } ORDER BY ?id"


@pytest.fixture(scope="module")
def documents() -> tuple[ToolDocument, ...]:
    """As many documents as are worth keeping."""
    tools = [make_tool(f"tool_{number}") for number in range(graphs.FEWEST_DOCUMENTS)]
    return assemble(SourceBatch(tools=tuple(tools))).documents


def graph(folder: Path, documents: Iterable[ToolDocument], key: bytes = b"1") -> CachedGraph:
    """Return the graph of *documents*, kept in *folder*."""
    return CachedGraph(lambda: documents, GraphCache(folder).entry(key))


def never() -> Iterable[ToolDocument]:
    """Fail, for nothing needs documents."""
    raise AssertionError("the documents are read")


def asked(found: CachedGraph, query: str = IDS) -> tuple[dict[str, object], ...]:
    """Return the rows that answer *query*."""
    with SparqlEndpoint(found) as endpoint:
        return endpoint.query(query).rows


def facts_of(found: CachedGraph) -> dict[str, object]:
    """Return what the description of *found* holds."""
    return build_schema(found.documents).facts()


def test_the_second_query_reads_no_documents(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """A kept store gives the answers of the documents, and stands in for them."""
    first = asked(graph(tmp_path, documents))
    kept = CachedGraph(never, GraphCache(tmp_path).entry(b"1"))
    assert asked(kept) == first == asked(CachedGraph(lambda: documents))
    assert len(first) == len(documents)
    assert kept.store is not None


def test_other_content_has_another_graph(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """What is kept of one content does not answer for another."""
    asked(graph(tmp_path, documents))
    assert len(asked(graph(tmp_path, documents[1:], b"2"))) == len(documents) - 1


def test_a_description_is_kept_as_it_is(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """The second call reads the description of the graph, with all its members."""
    for read in (lambda: documents, never):
        kept = CachedGraph(read, GraphCache(tmp_path).entry(b"1"))
        facts = kept.recall(graphs.DESCRIPTION, partial(facts_of, kept))
        assert GraphSchema.of_facts(facts) == build_schema(documents)


@pytest.mark.parametrize("mode", list(Mode))
def test_the_second_search_reads_no_documents(
    tmp_path: Path, documents: tuple[ToolDocument, ...], mode: Mode
) -> None:
    """What a search needs is kept, and finds what the documents say, in each mode."""
    request = GraphSearchRequest("tool 7", mode=mode)
    wanted = GraphSearcher(documents).search(request)
    assert wanted.matches
    for read in (lambda: documents, never):
        kept = CachedGraph(read, GraphCache(tmp_path).entry(b"1"))
        assert GraphSearcher(kept).search(request) == wanted


def test_a_search_by_a_profile_of_its_own_is_not_kept(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """It reads other predicates than the tables that are kept have."""
    GraphSearcher(graph(tmp_path, documents))
    names = SearchProfile((v.mcpg.Tool,), (TextPredicate(v.mcpg.toolId, 1.0),))
    found = GraphSearcher(graph(tmp_path, documents), profile=names)
    result = found.search(GraphSearchRequest("tool_7"))
    assert {one.predicate for one in result.matches[0].evidence} == {v.mcpg.toolId}


def test_what_there_is_to_notice_is_kept(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """A document that the graph leaves out is reported by every call."""
    twice = (*documents, replace(documents[0], path="again.md"))
    first, second = graph(tmp_path, twice), graph(tmp_path, ())
    assert (first.store, first.diagnostics) == (second.store, second.diagnostics)
    assert [one.place for one in second.diagnostics] == ["again.md"]


def test_small_graphs_are_not_kept(tmp_path: Path, documents: tuple[ToolDocument, ...]) -> None:
    """They are loaded in the time that a store takes."""
    small = graph(tmp_path, documents[:5])
    assert len(asked(small)) == 5
    assert small.store is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_store_is_made_anew(
    tmp_path: Path, documents: tuple[ToolDocument, ...], damage: str
) -> None:
    """Whichever of its files is damaged is noticed; RocksDB alone would lose triples in silence."""
    assert graph(tmp_path, documents).store is not None
    entry = GraphCache(tmp_path).entry(b"1")
    for file in [path for path in entry.path.rglob("*") if path.is_file()]:
        data = file.read_bytes()
        if damage == "gone":
            file.unlink()
        elif damage == "cut":
            file.write_bytes(data[: len(data) // 2] if data else b"more")
        else:
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"more")
        assert entry.store() is None, file.name
        file.write_bytes(data)
    (manifest,) = entry.path.rglob("MANIFEST*")
    manifest.write_bytes(manifest.read_bytes()[:20])
    assert len(asked(graph(tmp_path, documents))) == len(documents)
    assert len(asked(CachedGraph(never, entry))) == len(documents)


def test_a_store_damaged_while_it_is_used_gives_no_wrong_answer(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """An error of the store leads to another look at its files, and to the documents."""
    found = graph(tmp_path, documents)
    assert found.store is not None
    for file in tmp_path.rglob("*.sst"):
        file.write_bytes(bytes(len(file.read_bytes())))
    assert len(asked(found)) == len(documents)


def test_a_seal_of_another_graph_does_not_count(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """An entry that was renamed to the name of another is not believed."""
    assert graph(tmp_path, documents).store is not None
    (entry,) = tmp_path.iterdir()
    other = GraphCache(tmp_path).entry(b"2")
    entry.rename(tmp_path / other.path.name)
    assert other.store() is None


def test_where_nothing_can_be_written_queries_are_answered(
    tmp_path: Path, documents: tuple[ToolDocument, ...]
) -> None:
    """A folder that cannot be made keeps nothing, and costs nothing else."""
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    found = graph(tmp_path / "file" / "cache", documents)
    assert len(asked(found)) == len(documents)
    assert found.store is None


def test_two_processes_keep_one_graph(tmp_path: Path, documents: tuple[ToolDocument, ...]) -> None:
    """Processes that make the same store at once all answer, and leave one whole store."""
    program = (
        "import sys\nfrom builders import make_tool\nfrom mcpg.bundle import assemble\n"
        "from mcpg.graph.cache import CachedGraph, GraphCache\n"
        "from mcpg.graph.sparql import SparqlEndpoint\nfrom mcpg.sources import SourceBatch\n"
        f"tools = [make_tool(f'tool_{{n}}') for n in range({len(documents)})]\n"
        "found = assemble(SourceBatch(tools=tuple(tools))).documents\n"
        "if __name__ == '__main__':\n"
        "    graph = CachedGraph(lambda: found, GraphCache(sys.argv[1]).entry(b'1'))\n"
        "    with SparqlEndpoint(graph) as endpoint:\n"
        "        print(len(endpoint.query('SELECT ?t { ?t a mcpg:Tool }').rows))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdout=subprocess.PIPE,
            env=environment,
        )
        for _ in range(3)
    ]
    answers = [process.communicate(timeout=120)[0].strip() for process in running]
    assert answers == [str(len(documents)).encode()] * 3
    assert [path.suffix for path in tmp_path.iterdir()] == [graphs.SUFFIX]
    assert GraphCache(tmp_path).entry(b"1").store() is not None


class Store:
    """A store that keeps nothing."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        (path / "file").touch()

    def bulk_load(self, *_: object, **__: object) -> None:
        """Load nothing."""

    def flush(self) -> None:
        """Write nothing."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it is killed, also while it replaces a damaged store or drops an old graph."""
    monkeypatch.setattr(graphs, "MOST_GRAPHS", 1)
    # The threads of a real one do not survive a fork.
    monkeypatch.setattr(graphs.pyoxigraph, "Store", Store)

    def attempt(step: int) -> bool:
        folder = tmp_path / str(step)
        GraphCache(folder).entry(b"2").keep_part(graphs.DESCRIPTION, {})
        entry = GraphCache(folder).entry(b"1")
        (entry.path / graphs.STORE).mkdir(parents=True)
        (entry.path / graphs.STORE / graphs.SEAL).write_bytes(graphs.MAGIC)
        return killed(lambda: entry.keep_store(b"", None), step)

    tried = 0
    for tried in steps(attempt):
        entry = GraphCache(tmp_path / str(tried)).entry(b"3")
        entry.keep_store(b"", None)
        assert entry.store() is not None
        assert [*entry.path.parent.iterdir()] == [entry.path], f"step {tried}"
        assert [path.name for path in entry.path.iterdir()] == [graphs.STORE]
    assert tried > 8


def test_graphs_used_longest_ago_are_dropped(
    tmp_path: Path, documents: tuple[ToolDocument, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is bounded, and so is what they take; the last one always stays."""
    monkeypatch.setattr(graphs, "MOST_GRAPHS", 2)
    entries = [GraphCache(tmp_path).entry(bytes([number])) for number in range(3)]
    for place, entry in enumerate(entries):
        entry.keep_part(graphs.DESCRIPTION, {})
        os.utime(entry.path, (place, place))
    entries[0].keep_part(graphs.DESCRIPTION, {})
    assert [entry.path.exists() for entry in entries] == [True, False, True]
    monkeypatch.setattr(graphs, "MOST_BYTES", 1)
    assert graph(tmp_path, documents, b"big").store is not None
    assert len(list(tmp_path.iterdir())) == 1


def test_names_of_entries_are_valid_everywhere(tmp_path: Path) -> None:
    """Hexadecimal digits and a suffix, whatever the graph is made of."""
    name = GraphCache(tmp_path).entry(b"CON", b"a/b:c").path.name
    assert name.removesuffix(graphs.SUFFIX).isalnum()
    assert len(name) < 64
    assert name != GraphCache(tmp_path).entry(b"CONa", b"/b:c").path.name
