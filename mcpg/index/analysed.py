"""The words of documents: what the index takes from each, whatever it is related to."""

from __future__ import annotations

import marshal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from mcpg.build_cache import ResultKind, BuildCache, encode_parts
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, decode_content, encode_content
from mcpg.index.fuzzy_sections import described_words
from mcpg.index.meanings import detect_foreign_language, join_title_and_description
from mcpg.index.scoring import field_texts
from mcpg.relations.kinds import weigh_kinds
from mcpg.text import lexicon, operations, split_words
from mcpg.text.words import CachedFunction, words_of_token

# Most fields hold no whole identifier.
_NONE: Mapping[str, int] = {}


class FieldWords(NamedTuple):
    """What one field of a document holds.

    Attributes:
        field: Number of the field in `mcpg.index.scoring.FIELDS`.
        words: How often each word occurs, in order of first place.
        wholes: How often each whole identifier occurs whose parts are among the words.
    """

    field: int
    words: Mapping[str, int]
    wholes: Mapping[str, int]


class DocumentTerms(NamedTuple):
    """What a document holds.

    Attributes:
        fields: Its fields that hold any word, in order of their numbers.
        described: The words whose 3-grams stand for it; see `described_words`.
        name: The words of its tool's name.
        language: The language of its tool, a member of `mcpg.text.lexicon.FOREIGN`; "" for English
            and where nothing tells.
        operation: The probability of each of `mcpg.text.operations.KINDS`, in 255ths.
        told: The `join_title_and_description` of a tool with a language, else "".
    """

    fields: Sequence[FieldWords]
    described: Sequence[str]
    name: Sequence[str]
    language: str
    operation: Sequence[int]
    told: str


def _encode(analysed: DocumentTerms) -> bytes | None:
    # What was found without a word table is not to outlive the fault.
    if lexicon.faults:
        return None
    fields = [(one.field, dict(one.words), dict(one.wholes)) for one in analysed.fields]
    return encode_parts((fields, *analysed[1:]))


def _decode(data: bytes) -> DocumentTerms:
    try:
        fields, *others = marshal.loads(data)  # noqa: S302 - of this program, in a sealed file
    except EOFError as fault:
        raise ValueError("it was cut short") from fault
    return DocumentTerms([FieldWords(*members) for members in fields], *others)


_ANALYSED = ResultKind("analysed", _encode, _decode)


def analyse_documents(
    documents: Iterable[ToolDocument], memo: BuildCache
) -> Iterator[DocumentTerms]:
    """Yield the words of each of *documents*; *memo* has those known from before."""
    cut = CachedFunction(_split_token)

    def one(document: ToolDocument) -> DocumentTerms:
        given = partial(encode_content, document)
        return memo.recall(_ANALYSED, given, lambda: _analyse_document(document, cut))

    return map(one, documents)


def analyse_contents(contents: Iterable[bytes], memo: BuildCache) -> Iterator[DocumentTerms]:
    """Yield the words of documents with these *contents*, as `analyse_documents` does."""
    cut = CachedFunction(_split_token)

    def one(content: bytes) -> DocumentTerms:
        return memo.recall(
            _ANALYSED, lambda: content, lambda: _analyse_document(decode_content(content), cut)
        )

    return map(one, contents)


def _split_token(token: str) -> tuple[list[str], list[str]]:
    """Return the words of *token*, and its whole identifiers."""
    words = words_of_token(token)
    return (
        [word.text for word in words if not word.whole],
        [word.text for word in words if word.whole],
    )


_Cut = CachedFunction[tuple[list[str], list[str]]]


def _analyse_document(document: ToolDocument, cut: _Cut) -> DocumentTerms:
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    found = (_count_field(field, " ".join(texts[field]), cut) for field in sorted(texts))
    tool = document.tool
    held = [one for one in found if one.words]
    name = name_words(tool)
    language = detect_foreign_language(tool) or ""
    told = join_title_and_description(tool) if language else ""
    return DocumentTerms(held, described_words(tool), name, language, _operation(tool, name), told)


def _operation(tool: Tool, name: Sequence[str]) -> list[int]:
    shares = weigh_kinds(tool, name) or (0.0,) * len(operations.KINDS)
    return [round(0xFF * share) for share in shares]


def _count_field(field: int, text: str, cut: _Cut) -> FieldWords:
    """Count the words of one field.

    A whole identifier is no word more: its parts are counted already.
    """
    words: list[str] = []
    wholes: list[str] = []
    for token in text.split():
        parts, whole = cut[token]
        words += parts
        wholes += whole
    # A plain dictionary is smaller than a counter.
    return FieldWords(field, dict(Counter(words)), dict(Counter(wholes)) if wholes else _NONE)


def name_words(tool: Tool) -> list[str]:
    """Return the words of a tool's name.

    Words of the source's name are left out, for they say nothing of the tool, unless the name has
    no other.
    """
    words = split_words(tool.name)
    source = set(split_words(tool.source_id))
    return [word for word in words if word not in source] or words
