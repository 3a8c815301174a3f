"""The inverted index of a set of tool documents."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from mcpg.text import split_words
from mcpg.text.spelling import allowed_edits, edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument


@dataclass(slots=True)
class Postings:
    """Where one term occurs: parallel arrays in order of document, then field.

    Attributes:
        documents: Document numbers.
        fields: Field numbers.
        counts: Occurrences of the term in that field of that document.
    """

    documents: array[int] = field(default_factory=lambda: array("I"))
    fields: array[int] = field(default_factory=lambda: array("B"))
    counts: array[int] = field(default_factory=lambda: array("H"))
    document_frequency: int = 0

    def add(self, document: int, field_number: int, count: int) -> None:
        """Append a posting; documents must come in ascending order."""
        if not self.documents or self.documents[-1] != document:
            self.document_frequency += 1
        self.documents.append(document)
        self.fields.append(field_number)
        self.counts.append(min(count, 0xFFFF))

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.documents, self.fields, self.counts, strict=True)


@dataclass
class Index:
    """An inverted index over fields, with what the engine needs beside the postings.

    Attributes:
        documents: The documents in order of tool id; a document number is a place in it.
        postings: Postings by term.
        lengths: For each field, the number of words of each document.
        stems: The stem of every word that occurs; whole identifiers are their own terms.
        exact: Document numbers by the joined words of an id, name, title or alias.
    """

    documents: tuple[ToolDocument, ...]
    postings: dict[str, Postings]
    lengths: tuple[array[int], ...]
    stems: dict[str, str]
    exact: dict[str, tuple[int, ...]]

    def term_of(self, word: str) -> str:
        """Give the term of a *word* or whole identifier that occurs."""
        return self.stems.get(word, word)

    def document_frequency(self, term: str) -> int:
        """Give the number of documents that hold *term*."""
        postings = self.postings.get(term)
        return postings.document_frequency if postings else 0

    @cached_property
    def mean_lengths(self) -> tuple[float, ...]:
        """For each field, the mean number of words over the documents that have the field."""
        return tuple(
            sum(lengths) / max(1, sum(1 for length in lengths if length)) or 1.0
            for lengths in self.lengths
        )

    @cached_property
    def word_of_stem(self) -> dict[str, str]:
        """For each stem, the first word in alphabetical order that has it."""
        return {stem: word for word, stem in sorted(self.stems.items(), reverse=True)}

    @cached_property
    def spelling(self) -> SpellingIndex:
        """The words that occur, for repair."""
        return SpellingIndex(self.stems)

    @cached_property
    def name_terms(self) -> tuple[tuple[str, ...], ...]:
        """For each document, the distinct terms of its tool's name.

        Words of the source's name are left out, for they say nothing of the tool, unless the
        name has no other.
        """
        return tuple(self._name_terms(document.tool) for document in self.documents)

    def _name_terms(self, tool: Tool) -> tuple[str, ...]:
        words = dict.fromkeys(split_words(tool.name))
        source = set(split_words(tool.source_id))
        own = [word for word in words if word not in source] or words
        return tuple(dict.fromkeys(self.stems[word] for word in own))

    @cached_property
    def numbers_by_uri(self) -> dict[str, int]:
        """Document numbers by canonical URI."""
        return {document.uri: number for number, document in enumerate(self.documents)}

    @cached_property
    def members(self) -> dict[str, tuple[int, ...]]:
        """Document numbers by group."""
        members: defaultdict[str, list[int]] = defaultdict(list)
        for number, document in enumerate(self.documents):
            for group in document.groups:
                members[group].append(number)
        return {group: tuple(numbers) for group, numbers in members.items()}

    def term_weight(self, term: str) -> float:
        """Give the inverse document frequency of *term*; above 0."""
        return self.inverse_document_frequency(self.document_frequency(term))

    def inverse_document_frequency(self, document_frequency: float) -> float:
        """Give the weight of a term that *document_frequency* of the documents hold; above 0.

        Source: Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009, eq. 3.5,
        with 1 added under the logarithm so that common terms stay positive.
        """
        absent = len(self.documents) - document_frequency
        return math.log1p((absent + 0.5) / (document_frequency + 0.5))


_PAIRS_PER_EDIT = 3


class SpellingIndex:
    """Finds the words of a vocabulary that are few edits away from a given word.

    Words are kept under their pairs of neighbouring characters. A word within *d* edits of
    another shares all but 3·d of its pairs with it, so that counting shared pairs leaves few
    words to compare and loses none.

    Source: q-gram filtering, Ukkonen, "Approximate string-matching with q-grams and maximal
    matches", Theoretical Computer Science 92, 1992.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_length: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for word in words:
            for pair in _pairs(word):
                self._by_length[len(word)][pair].append(word)

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Give the least distance within `allowed_edits` and the words there, in order.

        The distance is 0 and the words are none when no word is near enough.
        """
        for edits in range(1, allowed_edits(word) + 1):
            found = sorted(
                other
                for other in self._candidates(word, edits)
                if edit_distance(word, other, edits) is not None
            )
            if found:
                return edits, tuple(found)
        return 0, ()

    def _candidates(self, word: str, edits: int) -> Iterator[str]:
        """Give the words that share enough pairs with *word*."""
        pairs = _pairs(word)
        needed = max(1, len(pairs) - _PAIRS_PER_EDIT * edits)
        for length in range(len(word) - edits, len(word) + edits + 1):
            postings: dict[str, list[str]] = self._by_length.get(length, {})
            shared = Counter(chain.from_iterable(postings.get(pair, ()) for pair in pairs))
            yield from (other for other, count in shared.items() if count >= needed)


def _pairs(word: str) -> set[str]:
    padded = f"\0{word}\0"
    return {padded[index : index + 2] for index in range(len(padded) - 1)}
