"""The words of a document, counted: all that an index needs of its text."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from mcpg.index.fields import field_texts
from mcpg.index.grams import described_words
from mcpg.memo import Kind
from mcpg.text import split_words
from mcpg.text.words import words_of_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.memo import Memo


class FieldWords(NamedTuple):
    """What one field of a document holds.

    Attributes:
        field: Number of the field in `mcpg.index.fields.FIELDS`.
        words: How often each word occurs, in order of first place.
        wholes: How often each whole identifier occurs whose parts are among the words.
    """

    field: int
    words: Mapping[str, int]
    wholes: Mapping[str, int]


class Analysed(NamedTuple):
    """What a document holds.

    Attributes:
        fields: Its fields that hold any word, in order of their numbers.
        described: The words whose 3-grams stand for it; see `described_words`.
        name: The words of its tool's name.
    """

    fields: Sequence[FieldWords]
    described: Sequence[str]
    name: Sequence[str]


def _encode(analysed: Analysed) -> bytes:
    return json.dumps(analysed, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> Analysed:
    fields, described, name = json.loads(data.decode("utf-8", "surrogatepass"))
    return Analysed([FieldWords(*members) for members in fields], described, name)


_ANALYSED = Kind("analysed", _encode, _decode)


def analysed_documents(
    documents: Iterable[ToolDocument], records: Iterable[bytes], memo: Memo
) -> list[Analysed]:
    """Count the words of *documents*.

    Args:
        documents: The documents.
        records: The record of each.
        memo: What is known of documents from before.
    """
    cut = _Cut()

    def one(document: ToolDocument, record: bytes) -> Analysed:
        return memo.recall(_ANALYSED, lambda: record, lambda: _analysed(document, cut))

    return [one(*pair) for pair in zip(documents, records, strict=True)]


class _Cut(dict[str, tuple[list[str], list[str]]]):
    """For each token met, its words and its whole identifiers."""

    def __missing__(self, token: str) -> tuple[list[str], list[str]]:
        words = words_of_token(token)
        found = self[token] = (
            [word.text for word in words if not word.whole],
            [word.text for word in words if word.whole],
        )
        return found


def _analysed(document: ToolDocument, cut: _Cut) -> Analysed:
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    found = (_counted(field, " ".join(texts[field]), cut) for field in sorted(texts))
    tool = document.tool
    held = [one for one in found if one.words]
    return Analysed(held, described_words(tool), _name_words(tool))


def _counted(field: int, text: str, cut: _Cut) -> FieldWords:
    """Count the words of one field.

    A whole identifier is no word more: its parts are counted already.
    """
    words: list[str] = []
    wholes: list[str] = []
    for token in text.split():
        parts, whole = cut[token]
        words += parts
        wholes += whole
    return FieldWords(field, Counter(words), Counter(wholes))


def _name_words(tool: Tool) -> list[str]:
    """Give the words of a tool's name.

    Words of the source's name are left out, for they say nothing of the tool, unless the name has
    no other.
    """
    words = split_words(tool.name)
    source = set(split_words(tool.source_id))
    return [word for word in words if word not in source] or words
