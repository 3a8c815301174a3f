from __future__ import annotations

import json

import pytest

from mcpg.caching.build_cache import BuildCache, StoredBuildCache
from mcpg.catalog.model import Hints, Tool
from mcpg.documents.model import ToolDocument
from mcpg.index.compile import compile_index
from mcpg.index.document_terms import DocumentTerms, analyse_documents
from mcpg.text import lexicon

DOCUMENTS = [
    ToolDocument(tool, f"{tool.id}.md", f"urn:{tool.id}", ("by hand",))
    for tool in (
        Tool(
            id="es:buscar",
            source_id="es",
            name="buscar",
            title="Buscar pedidos",
            description="Busca los pedidos de un cliente y devuelve las facturas abiertas.",
            hints=Hints(aliases=("encontrar",), read_only=True),
        ),
        Tool(
            id="en:delete_order",
            source_id="en",
            name="en_delete_order",
            description="Delete the order of a customer.",
        ),
    )
]


def analysed(memo: BuildCache) -> list[DocumentTerms]:
    """Return what is found of the documents."""
    return list(analyse_documents(DOCUMENTS, memo))


def test_what_an_index_takes_from_words_is_the_same_from_a_cache() -> None:
    """Language, operation and words of a document are read back as they were found."""
    memo = StoredBuildCache()
    found = analysed(memo)

    assert [one.language for one in found] == ["spanish", ""]
    assert [one.name for one in found] == [["buscar"], ["delete", "order"]]
    assert all(any(one.operation) for one in found)
    assert json.dumps(analysed(memo.make_next())) == json.dumps(found)
    assert compile_index(DOCUMENTS, memo=memo.make_next()) == compile_index(DOCUMENTS)


def test_what_was_found_without_a_word_table_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that were read while a table could not be are read again in the next build."""
    monkeypatch.setitem(lexicon.faults, "english.words", "Permission denied")
    memo = StoredBuildCache()

    analysed(memo)

    assert not memo.has_changed
