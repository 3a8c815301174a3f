"""Building the inverted file: which term occurs in which document, and how strongly."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from mcpg.index.bm25f import BY_NUMBER, occurrence_weight, saturate
from mcpg.index.fields import FIELDS
from mcpg.index.layout import Section
from mcpg.index.rarity import inverse_document_frequency
from mcpg.index.sections import IDENTIFIER, IMPACT_SCALE, NONE, STEM
from mcpg.index.tables import keys_sections, rows_sections
from mcpg.text import stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcpg.index.analysed import Analysed


class InvertedFile:
    """The terms of a set of documents, numbered in order of their texts.

    Attributes:
        words: The words that occur, sorted.
    """

    def __init__(self, analysed: Sequence[Analysed]) -> None:
        """Number the terms of documents that are *analysed*."""
        self._analysed = analysed
        self._terms = _Terms()
        self._occurrences = _Occurrences()
        for document, held in enumerate(analysed):
            for field, words, wholes in held.fields:
                terms = [*map(self._terms.of_word.__getitem__, words)]
                terms += map(self._terms.of_whole.__getitem__, wholes)
                counts = (*words.values(), *wholes.values())
                self._occurrences.add(document, field, terms, counts, sum(words.values()))
        self.words = sorted(self._terms.of_word)
        self._order = sorted(self._terms.numbers)
        self._numbers = {text: number for number, text in enumerate(self._order)}

    def sections(self) -> Iterator[Section]:
        """Give the sections of terms, words and postings."""
        yield from keys_sections("terms", self._order)
        numbers = self._terms.numbers
        kinds = bytes(self._terms.kinds[numbers[text]] for text in self._order)
        yield Section("terms.kind", "B", kinds)
        yield Section("terms.word", "I", self._first_words().tobytes())
        yield from keys_sections("words", self.words)
        yield Section("words.term", "I", array("I", map(self._term, self.words)).tobytes())
        yield from self._posting_sections()
        yield from rows_sections("names.terms", map(self._name_terms, self._analysed))

    def _term(self, word: str) -> int:
        return self._numbers[stem(word)]

    def _first_words(self) -> array[int]:
        """For each term, the number of the first word in alphabetical order that has it."""
        first = array("I", [NONE]) * len(self._order)
        for number in range(len(self.words) - 1, -1, -1):
            first[self._term(self.words[number])] = number
        return first

    def _name_terms(self, held: Analysed) -> list[int]:
        return list(dict.fromkeys(map(self._term, held.name)))

    def _posting_sections(self) -> Iterator[Section]:
        numbers = self._terms.numbers
        rows = self._occurrences.postings(len(numbers))
        starts, packed, highest = array("I", [0]), array("Q"), array("H")
        squares = array("d", [0.0]) * len(self._analysed)
        for text in self._order:
            row = rows[numbers[text]]
            packed += row
            starts.append(len(packed))
            highest.append(max(posting >> 16 & 0xFFFF for posting in row))
            _add_squares(squares, row)
        yield Section("postings.at", "I", starts.tobytes())
        yield Section("postings", "I", array("I", (one >> 32 for one in packed)).tobytes())
        impacts = array("H", (one >> 16 & 0xFFFF for one in packed))
        yield Section("postings.impact", "H", impacts.tobytes())
        fields = array("H", (one & 0xFFFF for one in packed))
        yield Section("postings.fields", "H", fields.tobytes())
        yield Section("terms.impact", "H", highest.tobytes())
        norms = array("d", (square**0.5 or 1.0 for square in squares))
        yield Section("tools.norm", "d", norms.tobytes())
        yield Section("fields.mean", "d", array("d", self._occurrences.mean_lengths()).tobytes())


class _Terms:
    """Provisional numbers of terms, in the order in which they are met.

    Attributes:
        numbers: The number of each term.
        kinds: What each term is, by number.
        of_word: The number of each word's term.
        of_whole: The number of each whole identifier, which is a term as it stands.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.kinds = bytearray()
        self.of_word = _Numbered(lambda word: self._number(stem(word), STEM))
        self.of_whole = _Numbered(lambda whole: self._number(whole, IDENTIFIER))

    def _number(self, term: str, kind: int) -> int:
        number = self.numbers.setdefault(term, len(self.numbers))
        if number == len(self.kinds):
            self.kinds.append(0)
        self.kinds[number] |= kind
        return number


class _Numbered(dict[str, int]):
    """Texts and their numbers, each given when it is first asked for."""

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, text: str) -> int:
        number = self[text] = self._number(text)
        return number


class _Occurrences:
    """How often each term occurs in each field of each document, in flat arrays."""

    def __init__(self) -> None:
        # For each filled field: document, field, number of words, end of its terms.
        self._fields: list[tuple[int, int, int, int]] = []
        self._terms = array("I")
        self._counts = array("I")

    def add(
        self, document: int, field: int, terms: Iterable[int], counts: Iterable[int], words: int
    ) -> None:
        """Note the terms of one field; documents and then fields must come in order.

        A term may come several times, for several words share one stem.
        """
        self._terms.extend(terms)
        self._counts.extend(counts)
        self._fields.append((document, field, words, len(self._terms)))

    def postings(self, terms: int) -> list[array[int]]:
        """Give the postings of each term: document, impact and field mask in one number."""
        rows = [array("Q") for _ in range(terms)]
        means = self.mean_lengths()
        frequencies: dict[int, float] = {}
        masks: dict[int, int] = {}
        current = start = 0
        for document, field, words, end in self._fields:
            if document != current:
                _post(rows, current, frequencies, masks)
                current = document
            weight = occurrence_weight(words, means[field], BY_NUMBER[field])
            bit = 1 << field
            for term, count in zip(self._terms[start:end], self._counts[start:end], strict=True):
                frequencies[term] = frequencies.get(term, 0.0) + weight * count
                masks[term] = masks.get(term, 0) | bit
            start = end
        _post(rows, current, frequencies, masks)
        return rows

    def mean_lengths(self) -> list[float]:
        """For each field, the mean number of words over the documents that have words in it."""
        totals, filled = [0] * len(FIELDS), [0] * len(FIELDS)
        for _, field, words, _ in self._fields:
            totals[field] += words
            filled[field] += words > 0
        return [total / max(1, count) or 1.0 for total, count in zip(totals, filled, strict=True)]


def _post(
    rows: list[array[int]], document: int, frequencies: dict[int, float], masks: dict[int, int]
) -> None:
    """Write down the postings of one document and forget its terms."""
    place = document << 32
    for term, frequency in frequencies.items():
        impact = int(saturate(frequency) * IMPACT_SCALE + 0.5) or 1
        rows[term].append(place | impact << 16 | masks[term])
    frequencies.clear()
    masks.clear()


def term_weight(size: int, frequency: int) -> float:
    """Give what one step of impact of a term that *frequency* of *size* tools hold weighs."""
    return inverse_document_frequency(size, frequency) / IMPACT_SCALE


def _add_squares(squares: array[float], row: array[int]) -> None:
    """Add to each document of a term's postings the square of what the term weighs there."""
    weight = term_weight(len(squares), len(row))
    for posting in row:
        squares[posting >> 32] += (weight * (posting >> 16 & 0xFFFF)) ** 2
