from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcpg.postgres import Database, PostgresCandidates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run


@pytest.fixture
def database(postgres: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Return the connection string of an empty database that the program is told of."""
    assert folder.exists()  # which has cleared the environment before
    monkeypatch.setenv("MCPG_POSTGRES", postgres)
    return postgres


def test_a_bundle_is_published_once(graph: Path, database: str, run: Callable[..., Run]) -> None:
    """The first run puts it into the database, the next finds it there."""
    first, second = run("publish"), run("publish", "-b", str(graph), "--format", "json")
    assert first.code == second.code == 0
    assert first.out.startswith("published ")
    assert second.json["schema"] == "mcpg/publish/1"
    assert second.json["published"] is False
    assert second.json["fingerprint"] is None
    assert run("publish").out.startswith("published already: ")
    with Database(database) as opened:
        assert PostgresCandidates(opened).candidates("shipment", None, 5)


def test_searches_take_candidates_from_the_database(
    graph: Path, database: str, run: Callable[..., Run]
) -> None:
    """What is published is what is searched; the answer is that of the index."""
    assert graph.exists()
    assert database
    run("publish")
    own = run("search", "shipmnt status", "--format", "json")
    chosen = run("search", "shipmnt status", "--candidates", "postgres", "--format", "json")
    assert chosen.code == 0
    assert chosen.json["matches"] == own.json["matches"]
    assert chosen.json["diagnostics"] == own.json["diagnostics"]


def test_vectors_are_published(graph: Path, database: str, run: Callable[..., Run]) -> None:
    """The vectors that a build has made beside the bundle go with it."""
    sources = str(graph.parent / "tools")
    assert run("bundle", sources, "--embed", "--embed-with", "local").code == 0
    told = run("publish", "--format", "json").json
    assert told["fingerprint"]
    query = "select dimensions, fingerprint from publications"
    with Database(database) as opened:
        found = opened.run(lambda one: one.execute(query).fetchone())
    assert found is not None
    assert found[0] > 100
    assert found[1] == told["fingerprint"]


def test_tools_that_are_off_are_published_as_such(
    folder: Path, database: str, run: Callable[..., Run]
) -> None:
    """What is off by default is found only by searches that ask for it."""
    tools = [
        {"name": "parcel_track", "description": "Track a parcel."},
        {"name": "parcel_lose", "description": "Lose a parcel.", "enabledByDefault": False},
    ]
    (folder / "shop.json").write_text(json.dumps({"tools": tools}))
    assert run("bundle", "shop.json", "-o", "shop.mdld").code == 0
    assert run("publish", "-b", "shop.mdld").code == 0
    with Database(database) as opened:
        source = PostgresCandidates(opened)
        assert len(source.candidates("parcel", None, 5)) == 2
        (offered,) = source.offered().candidates("parcel", None, 5)
    assert offered.endswith("parcel_track")


def test_what_is_not_published_is_told(graph: Path, database: str, run: Callable[..., Run]) -> None:
    """A search whose bundle is not in the database is answered by the index, and says so."""
    assert graph.exists()
    assert database
    done = run("search", "shipment", "--candidates", "postgres", "--format", "json")
    assert done.code == 0
    assert done.json["matches"]
    (told,) = [one for one in done.json["diagnostics"] if one["code"] == "candidates_failed"]
    assert "this catalog is not published" in told["message"]


def test_only_bundles_are_published(sources: Path, database: str, run: Callable[..., Run]) -> None:
    """What has no bytes of its own has no name to be published under."""
    assert database
    done = run("publish", "-b", str(sources))
    assert done.code == 2
    assert "only a single bundle can be published" in done.err


def test_a_database_is_needed(graph: Path, run: Callable[..., Run]) -> None:
    """Without a database the error names the variable that says which."""
    assert graph.exists()
    for arguments in (["publish"], ["search", "x", "--candidates", "postgres"]):
        done = run(*arguments)
        assert done.code == 2
        assert "MCPG_POSTGRES" in done.err


def test_an_unknown_source_is_refused(graph: Path, run: Callable[..., Run]) -> None:
    """Candidates come from the index or from the database."""
    assert graph.exists()
    done = run("search", "x", "--candidates", "redis")
    assert done.code == 2
    assert "redis" in done.err


def test_a_whole_catalog_is_searched_without_a_bundle(
    graph: Path, database: str, run: Callable[..., Run]
) -> None:
    """`-b postgres:` gives the answers of the bundle, which may be gone."""
    assert database
    own = run("search", "shipmnt status", "--format", "json")
    assert run("publish", "--whole").out.startswith("published ")
    again = run("publish", "--whole", "--format", "json").json
    assert (again["parts"], again["writtenParts"], again["published"]) == (1, 0, False)
    graph.unlink()
    found = run("search", "shipmnt status", "-b", "postgres:", "--format", "json")
    assert found.code == 0
    assert found.json == own.json
    nothing = run("search", "kwyjibo", "-b", "postgres:")
    assert nothing.code == 1
    assert "no tool to search" not in nothing.err
    listed = run("list", "-b", "postgres:")
    assert listed.code == 2
    assert "only searched and explained" in listed.err
