"""Compiling: from documents to the bytes of an index."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING

from mcpg import __version__
from mcpg.documents.records import encode_record
from mcpg.index.analysed import analysed_documents
from mcpg.index.grams import gram_sections
from mcpg.index.inverted import InvertedFile
from mcpg.index.layout import KEY_SIZE, Header, Section, crc, pack
from mcpg.index.reader import PAGES, recipe_of
from mcpg.index.speller import spelling_sections
from mcpg.index.surroundings import group_sections, key_sections, link_sections, tool_sections
from mcpg.index.tables import bytes_sections
from mcpg.memo import NO_MEMO, Memo
from mcpg.text import language_of, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument

NO_KEY = bytes(KEY_SIZE)


def compile_index(
    documents: Iterable[ToolDocument],
    *,
    key: bytes = NO_KEY,
    recipe: bytes = b"",
    model: Sequence[float] = (),
    texts: Mapping[str, str] | None = None,
    pages: Iterable[ToolDocument] = (),
    extra: Sequence[Section] = (),
    memo: Memo = NO_MEMO,
) -> bytes:
    """Compile *documents*; equal documents give equal bytes, whatever their order.

    Args:
        documents: The documents, their tools with distinct ids.
        key: SHA-256 of what the documents were read from.
        recipe: Whatever else the content depends on, such as fitted weights.
        model: Weights to hand to whoever ranks.
        texts: The Markdown of the documents, by path, to keep as well.
        pages: Documents of no tool, to keep as well; no search reads them.
        extra: Further sections, found again by their names.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    ordered = sorted(documents, key=lambda document: document.tool.id)
    tools = [document.tool for document in ordered]
    kept = texts or {}
    records = [encode_record(document, kept.get(document.path)) for document in ordered]
    analysed = analysed_documents(ordered, records, memo)
    inverted = InvertedFile(analysed)
    sections = (
        Section("meta", "B", _meta(len(ordered), len(inverted.words))),
        Section("model", "d", array("d", model).tobytes()),
        *tool_sections(tools),
        *key_sections(tools),
        *group_sections(ordered),
        *link_sections(ordered),
        *inverted.sections(),
        *spelling_sections(inverted.words),
        *gram_sections(one.described for one in analysed),
        Section("language", "B", _language(tools)),
        *extra,
        *_page_sections(pages),
        *_record_sections(records),
    )
    return pack(sections, Header(key, recipe_of(recipe)))


def _language(tools: Iterable[Tool]) -> bytes:
    """Name the language of the descriptions, "" when none is told."""
    words = (word for tool in tools for word in split_words(tool.description))
    return (language_of(words) or "").encode()


def _page_sections(pages: Iterable[ToolDocument]) -> Iterator[Section]:
    records = [encode_record(page) for page in sorted(pages, key=lambda page: page.path)]
    if records:
        yield from bytes_sections(PAGES, records, "Q")


def _record_sections(records: Sequence[bytes]) -> Iterator[Section]:
    yield Section("records.crc", "I", array("I", map(crc, records)).tobytes())
    yield from bytes_sections("records", records, "Q")


def _meta(tools: int, words: int) -> bytes:
    """Say for people what the file is."""
    members = {"generator": f"mcpg {__version__}", "tools": tools, "words": words}
    return json.dumps(members, sort_keys=True).encode()
