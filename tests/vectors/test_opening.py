from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from vectorial import FailingProvider, HashProvider, documents

from mcpg.embeddings.provider import EmbeddingError, MemoryStore
from mcpg.vectors import file
from mcpg.vectors.build import vectors_for
from mcpg.vectors.file import find_or_build_vectors, open_vectors, pack_vectors, write_vectors

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.vectors.build import BuiltVectors

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


def unasked() -> list[object]:
    """Fail: nobody needed the documents."""
    raise AssertionError("the documents were read")


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Where the vectors of a bundle of four tools stand."""
    built = vectors_for(documents(4), HashProvider())
    path = str(tmp_path / "graph.mdld.vec")
    write_vectors(path, pack_vectors(built.vectors, built.hashes, KEY))
    return path


def opened(places: list[str], provider: HashProvider, **options: object) -> BuiltVectors:
    """Return the vectors of the four tools."""
    given = {"key": KEY, "tools": 4} | options
    return find_or_build_vectors(places, lambda: documents(4), provider, **given)


def told(built: BuiltVectors) -> list[tuple[str, str]]:
    """Give code and message of the diagnostics."""
    return [(one.code, one.message) for one in built.diagnostics]


def test_a_fresh_file_is_taken_as_it_is(place: str, provider: HashProvider) -> None:
    """No document is read and no text embedded, wherever the file stands."""
    for places in ([place], ["none.vec", place]):
        built = find_or_build_vectors(places, unasked, provider, key=KEY, tools=4)
        assert (built.embedded, built.reused, built.diagnostics) == (0, 4, ())
        assert built.vectors.stored.kind == "float16"
    assert provider.asked == []


def test_vectors_in_memory_are_those_of_their_file(place: str, provider: HashProvider) -> None:
    """A search scores the same to the last bit before and after there is a file."""
    made = find_or_build_vectors([], lambda: documents(4), provider, key=KEY, tools=4)
    read = find_or_build_vectors([place], unasked, provider, key=KEY, tools=4)
    query = provider.vector("a query")

    assert made.embedded == 4
    assert made.vectors.identity == read.vectors.identity
    assert made.vectors.cosines(query).tolist() == read.vectors.cosines(query).tolist()


def test_of_a_stale_file_what_fits_is_taken(place: str, provider: HashProvider) -> None:
    """Only texts that the file does not have are embedded, and that is told."""
    built = find_or_build_vectors([place], lambda: documents(5, 1), provider, key=OTHER, tools=5)
    assert (built.embedded, built.reused) == (2, 3)
    assert told(built) == [
        ("vectors_stale", "the file of vectors is out of date: 2 texts were embedded now")
    ]
    assert built.diagnostics[0].place == place
    quiet = opened([place], provider, key=OTHER)
    assert (quiet.embedded, quiet.reused, quiet.diagnostics) == (0, 4, ())


def test_a_damaged_file_counts_as_none(place: str, provider: HashProvider, tmp_path: Path) -> None:
    """It is told, and the next place may have a better one."""
    (tmp_path / "bad.vec").write_bytes(b"mcpg-vec?")
    bad = str(tmp_path / "bad.vec")
    built = opened([bad], provider)
    assert (built.embedded, built.reused) == (4, 0)
    assert told(built) == [
        ("vectors_ignored", "the file of vectors: it is not a file of vectors"),
    ]
    assert opened([bad, place], provider).embedded == 0


def test_a_file_of_another_maker_is_left_alone(place: str, provider: HashProvider) -> None:
    """Its vectors mean nothing beside those of this provider."""
    other = HashProvider(name="other")
    built = opened([place], other)
    assert (built.embedded, built.reused) == (4, 0)
    assert told(built) == [
        (
            "vectors_ignored",
            "the file of vectors: it was made by test:hashes:8, not by test:other:8",
        )
    ]
    forged = HashProvider(16)
    forged.fingerprint = provider.fingerprint
    assert told(opened([place], forged)) == [
        ("vectors_ignored", "the file of vectors: its vectors have 8 dimensions")
    ]


def test_vectors_of_other_texts_are_not_trusted(
    place: str, provider: HashProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose texts were put together otherwise is no help."""
    monkeypatch.setattr(file, "RECIPE", 99)
    built = vectors_for(documents(4), provider)
    write_vectors(place, pack_vectors(built.vectors, built.hashes, KEY))
    monkeypatch.undo()
    again = opened([place], provider)
    assert again.embedded == 4
    assert told(again)[0][1].endswith("it was made by another version of mcpg")


def test_what_was_made_is_kept_where_the_caller_says(
    tmp_path: Path, provider: HashProvider
) -> None:
    """The next process finds it; a place that cannot be written is no failure."""
    kept = str(tmp_path / "cache" / "graph.vec")
    assert opened([kept], provider, keep_at=kept).embedded == 4
    assert open_vectors(kept).is_fresh(KEY, 4, provider.fingerprint)
    assert opened([kept], provider, keep_at=kept).embedded == 0
    (tmp_path / "file").write_text("")
    assert opened([], provider, keep_at=str(tmp_path / "file" / "x")).embedded == 4


def test_a_tool_without_a_vector_costs_the_next_process_no_other(tmp_path: Path) -> None:
    """What could be made is kept; the next process asks for the rest alone."""
    kept = str(tmp_path / "graph.vec")
    picky = HashProvider()
    known = picky.vector
    picky.vector = lambda text: known(text) * ("00002" not in text)
    assert opened([kept], picky, keep_at=kept).vectors.missing == 1
    again = opened([kept], picky, keep_at=kept)
    assert (again.embedded, again.reused, again.vectors.missing) == (0, 3, 1)
    assert opened([kept], HashProvider(), keep_at=kept).embedded == 1
    assert opened([kept], HashProvider(), keep_at=kept).embedded == 0


def test_nothing_is_kept_where_there_is_nothing(tmp_path: Path) -> None:
    """Neither of a provider that failed at once, nor of what has no key."""
    kept = tmp_path / "graph.vec"
    failing = FailingProvider(EmbeddingError("gone", kind="failed"))
    assert opened([], failing, keep_at=str(kept)).vectors.missing == 4
    assert opened([], HashProvider(), keep_at=str(kept), key=bytes(32)).embedded == 4
    assert not kept.exists()


def test_a_store_saves_the_work(provider: HashProvider) -> None:
    """Without any file the store has what an earlier run made."""
    store = MemoryStore()
    assert opened([], provider, store=store).embedded == 4
    assert opened([], provider, store=store).reused == 4
