"""Tests of the number that tells by which rules an index was made.

`MCPG_UPDATE_GOLDEN=1 python -m pytest tests/index/test_rules.py` renews the number after a change
of what decides the content of an index.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import pytest
from imports import import_graph

import mcpg
from mcpg.documents.model import ToolDocument
from mcpg.index import recipe
from mcpg.index.compile import compile_index
from mcpg.index.file import OPENED, WRITTEN, content_key, fresh_index, index_for

PACKAGE = Path(mcpg.__file__).parent
RULES = {
    # what an index holds of a document and of its words
    *("index.compile", "index.document_terms", "index.word_sections", "index.reader"),
    *("index.field_texts", "index.recipe", "index.lookups", "index.tables", "index.layout"),
    # how texts are cut into words, and what these mean
    *("text.words", "text.lexicon", "text.meaning"),
    # what of a document is text
    *("catalog.model", "catalog.hints", "documents.facts", "documents.markdown"),
    *("documents.model", "relations.edges", "relations.provisions", "relations.vocabulary"),
}
DOCUMENTS = ("bundle", "documents", "relations")
"""The folders that decide the documents of a bundle: with another rule for edges it is stale."""
OTHERS = {"catalog.view", "caching.build_cache", "caching.build_pool", "errors"}
OTHERS |= {"text.spelling", "text.json_values"}


def checksum_rules() -> int:
    """Return the checksum of the modules of rules, of those of documents, and of all tables."""
    modules = [PACKAGE / f"{name.replace('.', '/')}.py" for name in RULES]
    folders = (PACKAGE / name for name in ("text/data", *DOCUMENTS))
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    checksum = 0
    for path in sorted({*modules, *(path for path in found if path.suffix != ".pyc")}):
        text = re.sub(rb"(?m)^RULES = \d+$", b"", path.read_bytes().replace(b"\r\n", b"\n"))
        checksum = zlib.crc32(text, checksum)
    return checksum


def test_the_number_is_that_of_the_rules() -> None:
    """Whoever changes a rule renews the number, so that indexes of the old rule are stale."""
    if os.environ.get("MCPG_UPDATE_GOLDEN"):
        path = Path(recipe.__file__)
        line = f"RULES = {checksum_rules()}"
        path.write_text(re.sub(r"(?m)^RULES = \d+$", line, path.read_text("utf-8")), "utf-8")
        return
    assert checksum_rules() == recipe.RULES, "renew it: see the docstring of this file"


def test_no_rule_is_forgotten() -> None:
    """What a module that makes an index or cuts texts imports is a rule, or known to be none."""
    graph = import_graph()
    makers = [f"mcpg.{name}" for name in RULES if name.startswith(("index.", "text."))]
    imported = {other.removeprefix("mcpg.") for name in makers for other in graph[name]}
    assert imported - RULES == OTHERS


def test_an_index_of_other_rules_is_made_anew(
    documents: tuple[ToolDocument, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index is not fresh once the rules have changed, though its bundle and version have not."""
    source = tmp_path / "graph.mdld"
    source.write_text("x")

    def build() -> bytes:
        return compile_index(documents, key=content_key(str(source)))

    assert index_for(str(source), build).how == WRITTEN
    assert index_for(str(source), build).how == OPENED
    monkeypatch.setattr(recipe, "RULES", recipe.RULES + 1)
    assert fresh_index(str(source), b"") is None
    assert index_for(str(source), build).how == WRITTEN
    assert index_for(str(source), build).how == OPENED
