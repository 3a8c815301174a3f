"""The inverted file of an index: from documents, by way of their counted words, to postings.

What hints hold only adds. A tool's vector has the length of its text, and a term is as rare as in
the texts, unless more tools have it in hints.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.build_cache import Kind, Memo
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, decode_record, encode_content
from mcpg.index.fuzzy_sections import described_words
from mcpg.index.layout import HINTED, IDENTIFIER, IMPACT_SCALE, NONE, STEM
from mcpg.index.packing import Section, keys_sections, rows_sections
from mcpg.index.scoring import (
    BY_NUMBER,
    FIELDS,
    HINTS_MASK,
    SATURATION,
    field_texts,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.text import iter_words, split_words, stem
from mcpg.text.words import words_of_token

# Few tools have claims: their own mean would be that of the longest.
_CLAIMS, _DESCRIPTION = FIELDS.index("claims"), FIELDS.index("description")
# The longest title of some 9,000 tools has 16 words.
_TITLE, _LONGEST_TITLE = FIELDS.index("title"), 32

if TYPE_CHECKING:
    Counts: TypeAlias = Mapping[int, tuple[Counter[str], int]]


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


def _analyse_content(content: bytes) -> bytes:
    return _encode(_analysed(decode_record(content)[0], _cut()))


ANALYSED = Kind("analysed", _encode, _decode, _analyse_content)
"""The counted words of documents, by their content; see `encode_content`."""


def analysed_documents(documents: Iterable[ToolDocument], memo: Memo) -> list[Analysed]:
    """Count the words of *documents*; *memo* has those known from before."""
    cut = _Cut()

    def one(document: ToolDocument) -> Analysed:
        given = partial(encode_content, document)
        return memo.recall(ANALYSED, given, lambda: _analysed(document, cut))

    return [one(document) for document in documents]


@cache
def _cut() -> _Cut:
    """Return what a process that counts words for another one has cut so far."""
    return _Cut()


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
    return Analysed(held, described_words(tool), name_words(tool))


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


class Postings(NamedTuple):
    """The postings of all terms.

    Attributes:
        starts: Where those of each term begin, and the last ones end.
        tools: The tools that hold each term, in order.
        impacts: What the term weighs in each.
    """

    starts: array[int]
    tools: array[int]
    impacts: array[int]


class InvertedFile:
    """The terms of a set of documents, numbered in order of their texts.

    Attributes:
        words: The words that occur, sorted.
    """

    def __init__(self, analysed: Sequence[Analysed]) -> None:
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
        final = array("I", bytes(4 * len(self._order)))
        for number, text in enumerate(self._order):
            final[self._terms.numbers[text]] = number
        of_word = self._terms.of_word
        self._numbers = dict(zip(of_word, map(final.__getitem__, of_word.values()), strict=True))

    def sections(self) -> Iterator[Section]:
        yield from keys_sections("terms", self._order)
        yield Section("terms.word", "I", self._first_words().tobytes())
        yield from keys_sections("words", self.words)
        yield Section("words.term", "I", array("I", map(self.term_of, self.words)).tobytes())
        yield from self._posting_sections()
        yield from rows_sections("names.terms", map(self._name_terms, self._analysed))

    def term_of(self, word: str) -> int:
        """Return the number of the term of a *word* that occurs."""
        return self._numbers[word]

    def _first_words(self) -> array[int]:
        """For each term, the number of the first word in alphabetical order that has it."""
        first = array("I", [NONE]) * len(self._order)
        numbers = range(len(self.words) - 1, -1, -1)
        for number, term in zip(numbers, map(self.term_of, reversed(self.words)), strict=True):
            first[term] = number
        return first

    def _name_terms(self, held: Analysed) -> list[int]:
        return list(dict.fromkeys(map(self.term_of, held.name)))

    def _posting_sections(self) -> Iterator[Section]:
        numbers = self._terms.numbers
        rows = self._occurrences.postings(len(numbers))
        starts, packed = array("I", [0]), array("Q")
        kinds, holders = bytearray(), array("I")
        for text in self._order:
            number = numbers[text]
            row = rows[number]
            packed += row
            starts.append(len(packed))
            by_hints, by_hints_alone = self._occurrences.hinted.get(number, (0, 0))
            by_text = len(row) - by_hints_alone
            kinds.append(self._terms.kinds[number] | (0 if by_text else HINTED))
            holders.append(max(by_text, by_hints))
        yield Section("terms.kind", "B", bytes(kinds))
        yield Section("terms.tools", "I", holders.tobytes())
        yield Section("postings.at", "I", starts.tobytes())
        tools, impacts, fields = _unpacked(packed)
        yield Section("postings", "I", tools.tobytes())
        yield Section("postings.impact", "H", impacts.tobytes())
        yield Section("postings.fields", "H", fields.tobytes())
        highest = (max(impacts[start:end]) for start, end in pairwise(starts))
        yield Section("terms.impact", "H", array("H", highest).tobytes())
        postings = Postings(starts, tools, impacts)
        yield Section("tools.norm", "d", self._norms(rows, postings, holders).tobytes())
        yield Section("fields.mean", "d", array("d", self._occurrences.mean_lengths()).tobytes())

    def _norms(
        self, rows: Sequence[array[int]], postings: Postings, holders: Iterable[int]
    ) -> array[float]:
        """For each tool, the length of the vector of its text, in which hints have no part."""
        squares = [0.0] * len(self._analysed)
        starts, tools, impacts = postings
        terms = zip(self._order, pairwise(starts), holders, strict=True)
        for text, (start, end), count in terms:
            number = self._terms.numbers[text]
            weight = term_weight(len(squares), count)
            row: Iterable[tuple[int, int]] = zip(tools[start:end], impacts[start:end], strict=True)
            if number in self._occurrences.hinted:
                row = self._occurrences.without_hints(number, rows[number])
            for tool, impact in row:
                squares[tool] += (weight * impact) ** 2
        return array("d", (square**0.5 or 1.0 for square in squares))


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
    """How often each term occurs in each field of each document, in flat arrays.

    Attributes:
        hinted: For each term that hints hold, how many documents have it in hints, and how many in
            hints alone; known once the postings are.
    """

    def __init__(self) -> None:
        self.hinted: dict[int, tuple[int, int]] = {}
        # For each filled field: document, field, number of words, end of its terms.
        self._fields: list[tuple[int, int, int, int]] = []
        self._terms = array("I")
        self._counts = array("I")
        # By document and term.
        self._text_impacts: dict[tuple[int, int], int] = {}

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
        """Return the postings of each term: document, impact and field mask in one number."""
        rows = [array("Q") for _ in range(terms)]
        means = self.mean_lengths()
        texts: dict[int, float] = {}
        hints: dict[int, float] = {}
        masks: dict[int, int] = {}
        current = start = 0
        for document, field, words, end in self._fields:
            if document != current:
                self._post(rows, current, texts, hints, masks)
                current = document
            weight = occurrence_weight(words, means[field], BY_NUMBER[field])
            bit = 1 << field
            into = hints if bit & HINTS_MASK else texts
            frequency_of, mask_of = into.get, masks.get
            for term, count in zip(self._terms[start:end], self._counts[start:end], strict=True):
                into[term] = frequency_of(term, 0.0) + weight * count
                masks[term] = mask_of(term, 0) | bit
            start = end
        self._post(rows, current, texts, hints, masks)
        return rows

    def _post(
        self,
        rows: list[array[int]],
        document: int,
        texts: dict[int, float],
        hints: dict[int, float],
        masks: dict[int, int],
    ) -> None:
        """Add the postings of one document, whose frequencies by texts and by hints are emptied."""
        place = document << 32
        for term, frequency in hints.items():
            by_hints, by_hints_alone = self.hinted.get(term, (0, 0))
            self.hinted[term] = by_hints + 1, by_hints_alone + (term not in texts)
            if term in texts:
                self._text_impacts[document, term] = impact_step(texts[term])
            texts[term] = texts.get(term, 0.0) + frequency
        for term, frequency in texts.items():
            # As `impact_step` has it: a call for each posting takes half of the time.
            impact = int(frequency / (SATURATION + frequency) * IMPACT_SCALE + 0.5) or 1
            rows[term].append(place | impact << 16 | masks[term])
        for emptied in (texts, hints, masks):
            emptied.clear()

    def without_hints(self, term: int, row: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the documents that hold *term* in their text, and its impacts without hints."""
        for posting in row:
            document = posting >> 32
            if not posting & HINTS_MASK:
                yield document, posting >> 16 & 0xFFFF
                continue
            impact = self._text_impacts.get((document, term))
            if impact:
                yield document, impact

    def mean_lengths(self) -> list[float]:
        """For each field, the mean number of words over the documents that have words in it.

        Claims are measured by descriptions. A title longer than titles are counts as a long one,
        lest in a catalogue of few titles a stuffed one be the measure of itself.
        """
        totals, filled = [0] * len(FIELDS), [0] * len(FIELDS)
        for _, field, words, _ in self._fields:
            totals[field] += min(words, _LONGEST_TITLE) if field == _TITLE else words
            filled[field] += words > 0
        for counted in (totals, filled):
            counted[_CLAIMS] = counted[_DESCRIPTION]
        return [total / max(1, count) or 1.0 for total, count in zip(totals, filled, strict=True)]


def impact_step(frequency: float) -> int:
    """Return the impact of a term of that weighted *frequency*, above 0."""
    return int(saturate(frequency) * IMPACT_SCALE + 0.5) or 1


def term_weight(size: int, frequency: int) -> float:
    """Return what one step of impact of a term that *frequency* of *size* tools hold weighs."""
    return inverse_document_frequency(size, frequency) / IMPACT_SCALE


def _unpacked(postings: array[int]) -> tuple[array[int], array[int], array[int]]:
    """Return documents, impacts and field masks of *postings*, each of which packs all three."""
    data = memoryview(postings).cast("B")
    is_little = sys.byteorder == "little"
    documents = array("I", data.cast("I")[1 if is_little else 0 :: 2].tobytes())
    impacts, fields = (2, 3) if not is_little else (1, 0)
    short = data.cast("H")
    return (
        documents,
        array("H", short[impacts::4].tobytes()),
        array("H", short[fields::4].tobytes()),
    )


def count_terms(document: ToolDocument) -> Counts:
    """Return for each field of *document* that has words, in order, its terms and its length."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    counted = {field: count_words(texts[field]) for field in sorted(texts)}
    return {field: counts for field, counts in counted.items() if counts[0]}


def count_words(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Return how often each term occurs in the *texts* of one field, and the number of words."""
    counts: Counter[str] = Counter()
    length = 0
    for word in iter_words(" ".join(texts)):
        counts[word.text if word.whole else stem(word.text)] += 1
        length += not word.whole
    return counts, length


def frequency_of(
    term: str, counts: Counts, means: Sequence[float], *, with_hints: bool = True
) -> float:
    """Return the weighted frequency of *term*; *means* are the mean lengths of fields."""
    texts = hints = 0.0
    # One by one, as an index is compiled: `sum` adds in other ways from one Python to the next.
    for field, (terms, length) in counts.items():
        added = terms[term] * occurrence_weight(length, means[field], BY_NUMBER[field])
        if not HINTS_MASK >> field & 1:
            texts += added
        elif with_hints:
            hints += added
    return texts + hints
