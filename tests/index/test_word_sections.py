"""Sections that are made of words, here and in other processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg.caching.build_cache import NO_BUILD_CACHE
from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.documents.model import ToolDocument, decode_content, encode_content
from mcpg.index.document_terms import analyse_contents, analyse_documents
from mcpg.index.tables import iter_pieces
from mcpg.index.word_sections import (
    WordSections,
    WorkerFiles,
    digest_contents,
    make_cached_sections,
    make_sections,
    word_sections,
)
from mcpg.text import lexicon
from mcpg.text.json_values import read_float

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = [
    ToolDocument(
        Tool(
            id=f"es:buscar{number}",
            source_id="es",
            name=f"buscar_{number}",
            title="Buscar pedidos",
            description="Busca los pedidos de un cliente y devuelve las facturas abiertas.",
            input_schema={"type": "object", "properties": {"total": {"minimum": minimum}}},
            hints=Hints(
                aliases=("encontrar",),
                read_only=True,
                examples=(ToolExample("¿Dónde está mi pedido?", "Aquí."),),
            ),
        ),
        f"{number}.md",
        f"urn:{number}",
        ("by hand", "domain:order"),
        body="Con cuidado.",
        further={"owner": ["team", None, True]},
    )
    for number, minimum in enumerate((1.5, read_float("1.10"), 2, 2.0))
]
CONTENTS = [*map(encode_content, DOCUMENTS)]


def plain(made: WordSections) -> tuple[object, ...]:
    """Return what is in sections."""
    named = [
        (one.name, one.item_type, b"".join(map(bytes, iter_pieces(one.data))))
        for one in made.sections
    ]
    return made.operations, made.words, named


EXPECTED = plain(word_sections(analyse_documents(DOCUMENTS, NO_BUILD_CACHE)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_content_is_what_a_document_says_of_its_tool_alone(document: ToolDocument) -> None:
    """A content is read as the tool, its place and what people wrote, without links."""
    read = decode_content(encode_content(document))

    assert (read.tool, read.path, read.body) == (document.tool, document.path, document.body)
    assert read.further == document.further
    assert (read.groups, read.links) == (("by hand",), ())
    assert encode_content(read) == encode_content(document)


def test_contents_that_differ_in_type_or_order_have_other_digests() -> None:
    """A whole number, a fraction and a number as it was written are told apart."""
    assert len(set(CONTENTS)) == len(CONTENTS)
    assert digest_contents(CONTENTS) != digest_contents(reversed(CONTENTS))
    assert digest_contents([b"ab", b"c"]) != digest_contents([b"a", b"bc"])


@pytest.fixture
def handover(tmp_path: Path) -> Iterator[WorkerFiles]:
    """What a process gets that is to make the sections of the documents."""
    handover = WorkerFiles(tmp_path)
    assert [*handover.write_contents(CONTENTS)] == [*CONTENTS]
    yield handover
    handover.close()
    assert not [*tmp_path.glob("*.tmp")]


def left(handover: WorkerFiles, path: Path) -> WordSections:
    """Let the sections be made with the cache file *path*, and return them."""
    found = make_sections(path, handover.pack_arguments())
    assert found is not None
    handover.keep(handover.key, found)
    made = handover.sections()
    assert made is not None
    return made


def test_another_process_makes_the_same_sections(tmp_path: Path, handover: WorkerFiles) -> None:
    """Sections are the same from documents, from contents, by a process and from a cache file."""
    path = tmp_path / "a.words.memo"
    for _ in range(2):
        assert plain(left(handover, path)) == EXPECTED
        assert path.exists()
    assert handover.key == digest_contents(CONTENTS)
    assert plain(make_cached_sections(path, partial(analyse_documents, DOCUMENTS))) == EXPECTED
    assert plain(make_cached_sections(None, partial(analyse_contents, CONTENTS))) == EXPECTED


def test_a_cache_that_cannot_be_written_changes_no_section(
    tmp_path: Path, handover: WorkerFiles
) -> None:
    """Without room for a cache file, sections are made all the same."""
    (tmp_path / "file").touch()

    assert plain(left(handover, tmp_path / "file" / "a.words.memo")) == EXPECTED


def test_a_process_without_a_word_table_leaves_the_sections_to_its_caller(
    tmp_path: Path, handover: WorkerFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is made without a word table is not handed over."""
    monkeypatch.setitem(lexicon.faults, "english.words", "Permission denied")

    assert make_sections(tmp_path / "a.words.memo", handover.pack_arguments()) is None
    assert handover.sections() is None


def test_sections_that_are_cut_short_are_a_fault(tmp_path: Path, handover: WorkerFiles) -> None:
    """A file of sections that another program shortened becomes no index."""
    made = left(handover, tmp_path / "a.words.memo")
    for file in tmp_path.glob("*.tmp"):
        file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(OSError, match="ends early"):
        plain(made)


def test_a_file_that_was_removed_is_not_made_anew(tmp_path: Path, handover: WorkerFiles) -> None:
    """A process that is still at work when its caller has gone leaves no file behind."""
    given = handover.pack_arguments()
    for file in tmp_path.glob("*.tmp"):
        if not file.stat().st_size:  # that for the sections
            file.unlink()

    with pytest.raises(FileNotFoundError):
        make_sections(None, given)
