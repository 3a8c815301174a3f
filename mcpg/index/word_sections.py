"""The sections of an index made from the words of documents, without relations.

They depend only on the contents of the documents, see `encode_content`, so another process can make
them while this one relates the tools and writes their documents.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache, load_build_cache, save_build_cache
from mcpg.caching.build_pool import ChunkFile, read_chunks
from mcpg.documents.model import ToolDocument
from mcpg.errors import OutputError
from mcpg.index.document_terms import (
    DocumentTerms,
    ForeignTool,
    GramCollector,
    MeaningCollector,
    analyse_contents,
    meaning_sections,
    spelling_sections,
)
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import HINTED, IDENTIFIER, IMPACT_SCALE, NONE, STEM
from mcpg.index.recipe import (
    BY_NUMBER,
    FIELDS,
    GENERATED,
    HINTS_MASK,
    SATURATION,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.index.tables import (
    Section,
    StoredPieces,
    array_section,
    halves,
    iter_pieces,
    keys_sections,
    rows_sections,
)
from mcpg.text import Word, detect_language, iter_words, lexicon
from mcpg.text.words import read_stop_words

# Few tools have claims: their own mean would be dominated by the longest.
_CLAIMS, _DESCRIPTION = FIELDS.index("claims"), FIELDS.index("description")
_ANY_LANGUAGE = HINTS_MASK | 1 << GENERATED
# The longest title of some 9,000 tools has 16 words.
_TITLE, _LONGEST_TITLE = FIELDS.index("title"), 32

Counts: TypeAlias = Mapping[int, tuple[Counter[str], int]]


class CatalogStatistics(NamedTuple):
    """The statistics of the catalog that a few documents are from.

    Attributes:
        size: Its number of tools.
        means: The mean number of words of each field.
        frequency: Returns the number of tools with a term.
        gram_frequency: Returns the number of tools with a 3-gram.
    """

    size: int
    means: Sequence[float]
    frequency: Callable[[str], int]
    gram_frequency: Callable[[int], int]


# Takes the place of postings that are not needed any more.
_READ = array("Q")


class InvertedFile:
    """The terms of a set of documents, numbered in order of their texts.

    Attributes:
        terms: The terms of words and of identifiers, sorted.
        language: The language that most descriptions are in, `None` if unknown.
    """

    def __init__(
        self, analysed: Iterable[DocumentTerms], whole: CatalogStatistics | None = None
    ) -> None:
        """Count the words of documents, which are the catalog unless *whole* describes it."""
        self._whole = whole
        self._terms = _TermNumbers()
        self._occurrences = _Occurrences(whole.means if whole else ())
        self._names: list[array[int]] = []
        spoken: Counter[str] = Counter()
        stop_words = read_stop_words()[1].keys()
        for document, held in enumerate(analysed):
            for field, words, wholes in held.fields:
                if field == _DESCRIPTION:
                    # No other word is evidence of a language.
                    spoken.update({word: words[word] for word in stop_words & words.keys()})
                terms = [*map(self._terms.of_word.__getitem__, words)]
                terms += map(self._terms.of_whole.__getitem__, wholes)
                counts = (*words.values(), *wholes.values())
                self._occurrences.add(document, field, terms, counts, sum(words.values()))
            self._names.append(array("I", map(self._terms.of_word.__getitem__, held.name)))
        self.language = detect_language(spoken.elements())
        self.words = sorted(self._terms.of_word)
        self.terms = sorted(self._terms.numbers)
        self._final = array("I", bytes(4 * len(self.terms)))
        for number, text in enumerate(self.terms):
            self._final[self._terms.numbers[text]] = number

    def sections(self) -> Iterator[Section]:
        yield from keys_sections("terms", self.terms)
        # For each term, the number of the first word in alphabetical order that has it.
        first = array("I", [NONE]) * len(self.terms)
        for number in range(len(self.words) - 1, -1, -1):
            first[self.find_term(self.words[number])] = number
        yield Section("terms.word", "I", first.tobytes())
        yield from keys_sections("words", self.words)
        yield array_section("words.term", "I", map(self.find_term, self.words))
        yield from self._posting_sections()
        final = self._final.__getitem__
        names = (list(dict.fromkeys(map(final, name))) for name in self._names)
        yield from rows_sections("names.terms", names)

    def find_term(self, word: str) -> int:
        return self._final[self._terms.of_word[word]]

    def stem_terms(self) -> Iterator[tuple[str, int]]:
        """Yield the stems of the words that occur, sorted, each with the number of its term."""
        for number, text in enumerate(self.terms):
            if self._terms.kinds[self._terms.numbers[text]] & STEM:
                yield text, number

    def _posting_sections(self) -> Iterator[Section]:
        numbers = self._terms.numbers
        rows = self._occurrences.postings(len(numbers))
        starts, packed = array("I", [0]), array("Q")
        kinds, holders = bytearray(), array("I")
        for text in self.terms:
            number = numbers[text]
            row = rows[number]
            packed += row
            starts.append(len(packed))
            by_hints, by_hints_alone = self._occurrences.hinted.get(number, (0, 0))
            by_text = len(row) - by_hints_alone
            if not by_hints:
                rows[number] = _READ
            kinds.append(self._terms.kinds[number] | (0 if by_text else HINTED))
            frequency = self._whole.frequency(text) if self._whole else max(by_text, by_hints)
            holders.append(frequency)
        yield Section("terms.kind", "B", bytes(kinds))
        yield Section("terms.tools", "I", holders.tobytes())
        yield Section("postings.at", "I", starts.tobytes())
        tools, impacts, fields = _unpack_postings(packed)
        del packed  # all postings are in memory as few times as can be
        yield Section("postings", "I", tools.tobytes())
        yield Section("postings.impact", "H", impacts.tobytes())
        yield Section("postings.fields", "H", fields.tobytes())
        highest = (max(impacts[start:end]) for start, end in pairwise(starts))
        yield array_section("terms.impact", "H", highest)
        norms = self._norms(rows, (starts, tools, impacts), holders)
        yield Section("tools.norm", "d", norms.tobytes())
        yield array_section("fields.mean", "d", self._occurrences.mean_lengths())

    def _norms(
        self,
        rows: Sequence[array[int]],
        postings: tuple[array[int], array[int], array[int]],
        holders: Iterable[int],
    ) -> array[float]:
        """For each tool, the length of the vector of its text, in which hints have no part."""
        squares = [0.0] * len(self._names)
        size = self._whole.size if self._whole else len(squares)
        starts, tools, impacts = postings
        terms = zip(self.terms, pairwise(starts), holders, strict=True)
        for text, (start, end), count in terms:
            number = self._terms.numbers[text]
            weight = term_weight(size, count)
            row: Iterable[tuple[int, int]] = zip(tools[start:end], impacts[start:end], strict=True)
            if number in self._occurrences.hinted:
                row = self._occurrences.without_hints(number, rows[number])
            for tool, impact in row:
                squares[tool] += (weight * impact) ** 2
        return array("d", (square**0.5 or 1.0 for square in squares))


class _TermNumbers:
    """Provisional numbers of terms, words and whole identifiers, in the order of meeting them."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.kinds = bytearray()
        self.of_word = _TextNumbers(self, STEM)
        self.of_whole = _TextNumbers(self, IDENTIFIER)


class _TextNumbers(dict[str, int]):
    """Words or whole identifiers and the numbers of their terms, assigned at first use."""

    def __init__(self, terms: _TermNumbers, kind: int) -> None:
        super().__init__()
        self._terms, self._kind = terms, kind

    def __missing__(self, text: str) -> int:
        numbers, kinds = self._terms.numbers, self._terms.kinds
        term = Word(text, self._kind == IDENTIFIER).term
        number = self[text] = numbers.setdefault(term, len(numbers))
        if number == len(kinds):
            kinds.append(0)
        kinds[number] |= self._kind
        return number


class _Occurrences:
    """How often each term occurs in each field of each document, in flat arrays.

    `hinted` has for each term in hints how many documents have it in hints, and how many only in
    hints; it is known once the postings are.
    """

    def __init__(self, means: Sequence[float] = ()) -> None:
        self.hinted: dict[int, tuple[int, int]] = {}
        self._means = means
        # Of each filled field: document, field, number of words, end of its terms.
        self._fields = array("I"), array("I"), array("I"), array("Q")
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
        documents, fields, lengths, ends = self._fields
        documents.append(document)
        fields.append(field)
        lengths.append(words)
        ends.append(len(self._terms))

    def postings(self, terms: int) -> list[array[int]]:
        """Return the postings of each term: document, impact and field mask in one number.

        The occurrences are released, so this can be called once.
        """
        rows = [array("Q") for _ in range(terms)]
        means = self.mean_lengths()
        texts: dict[int, float] = {}
        hints: dict[int, float] = {}
        generated: dict[int, float] = {}
        masks: dict[int, int] = {}
        current = start = 0
        for document, field, words, end in zip(*self._fields, strict=True):
            if document != current:
                _keep_greater(texts, generated)
                self._post(rows, current, texts, hints, masks)
                current = document
            weight = occurrence_weight(words, means[field], BY_NUMBER[field])
            bit = 1 << field
            into = hints if bit & HINTS_MASK else generated if field == GENERATED else texts
            frequency_of, mask_of = into.get, masks.get
            for term, count in zip(self._terms[start:end], self._counts[start:end], strict=True):
                into[term] = frequency_of(term, 0.0) + weight * count
                masks[term] = mask_of(term, 0) | bit
            start = end
        _keep_greater(texts, generated)
        self._post(rows, current, texts, hints, masks)
        self._terms, self._counts = array("I"), array("I")
        return rows

    def _post(
        self,
        rows: list[array[int]],
        document: int,
        texts: dict[int, float],
        hints: dict[int, float],
        masks: dict[int, int],
    ) -> None:
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
        """Yield the documents with *term* in their text, and its impacts."""
        for posting in row:
            document = posting >> 32
            if not posting & HINTS_MASK:
                yield document, posting >> 16 & 0xFFFF
                continue
            impact = self._text_impacts.get((document, term))
            if impact:
                yield document, impact

    def mean_lengths(self) -> list[float]:
        """Return the mean number of words of each field, over the documents with words in it.

        Claims use the mean of descriptions. The mean of titles is bounded, so that in a catalog of
        few titles a stuffed title is not its own measure.
        """
        if self._means:
            return list(self._means)
        totals, filled = [0] * len(FIELDS), [0] * len(FIELDS)
        _, fields, lengths, _ = self._fields
        for field, words in zip(fields, lengths, strict=True):
            totals[field] += min(words, _LONGEST_TITLE) if field == _TITLE else words
            filled[field] += words > 0
        for counted in (totals, filled):
            counted[_CLAIMS] = counted[_DESCRIPTION]
        return [total / max(1, count) or 1.0 for total, count in zip(totals, filled, strict=True)]


def _keep_greater(texts: dict[int, float], generated: dict[int, float]) -> None:
    """Take into *texts* the frequencies of *generated* that are greater there; it is emptied."""
    for term, frequency in generated.items():
        if frequency > texts.get(term, 0.0):
            texts[term] = frequency
    generated.clear()


def impact_step(frequency: float) -> int:
    """Return the impact of a term of that weighted *frequency*, above 0."""
    return int(saturate(frequency) * IMPACT_SCALE + 0.5) or 1


def term_weight(size: int, frequency: int) -> float:
    """Return the weight of one step of impact of a term in *frequency* of *size* tools."""
    return inverse_document_frequency(size, frequency) / IMPACT_SCALE


def _unpack_postings(postings: array[int]) -> tuple[array[int], array[int], array[int]]:
    documents, others = halves(postings)
    short = memoryview(others).cast("H")
    impacts, fields = (1, 0) if sys.byteorder == "little" else (0, 1)
    return (
        array("I", documents),
        array("H", short[impacts::2].tobytes()),
        array("H", short[fields::2].tobytes()),
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
        counts[word.term] += 1
        length += not word.is_compound
    return counts, length


def weigh_frequency(
    term: str, counts: Counts, means: Sequence[float], *, with_hints: bool = True
) -> float:
    """Return the weighted frequency of *term*; *means* are the mean lengths of fields."""
    texts = hints = generated = 0.0
    # One by one, as an index is compiled: `sum` adds in other ways from one Python to the next.
    for field, (terms, length) in counts.items():
        added = terms[term] * occurrence_weight(length, means[field], BY_NUMBER[field])
        if field == GENERATED:
            generated = added
        elif not HINTS_MASK >> field & 1:
            texts += added
        elif with_hints:
            hints += added
    return max(texts, generated) + hints


class WordSections(NamedTuple):
    """The sections that an index makes from the words of its documents.

    These are the probabilities of kinds of operation, by tool, the number of words, and all other
    sections made from words, each made on demand.
    """

    operations: bytes
    words: int
    sections: Iterable[Section]


def word_sections(analysed: Iterable[DocumentTerms]) -> WordSections:
    """Make the sections of documents in the order of the ids of their tools, read one by one."""
    grams, meanings = GramCollector(), MeaningCollector()
    operations, foreign = bytearray(), list[ForeignTool]()

    def note_documents() -> Iterator[DocumentTerms]:
        for one in analysed:
            grams.add(one.described)
            meanings.add(one)
            operations.extend(one.operation)
            if one.language:
                # Hints may be in any language.
                fields = (held.words for held in one.fields if not _ANY_LANGUAGE >> held.field & 1)
                words = frozenset[str]().union(*fields)
                foreign.append(ForeignTool(one.language, words, one.told))
            yield one

    inverted = InvertedFile(note_documents())

    def sections() -> Iterator[Section]:
        yield from inverted.sections()
        yield from spelling_sections(inverted.words)
        yield from grams.sections()
        yield from meanings.sections()
        yield from meaning_sections(foreign, inverted.find_term, inverted.stem_terms())
        yield Section("language", "B", (inverted.language or "").encode())

    return WordSections(bytes(operations), len(inverted.words), sections())


def make_cached_sections(
    path: Path | None, analysed: Callable[[BuildCache], Iterable[DocumentTerms]]
) -> WordSections:
    """Make the sections of documents; *path* is a file that keeps their words, renewed here."""
    if path is None:
        return word_sections(analysed(NO_BUILD_CACHE))
    with load_build_cache(path) as memo:
        made = word_sections(analysed(memo))
        with suppress(OutputError, OSError, ValueError):  # then they are counted again next time
            save_build_cache(path, memo)
    return made


def digest_contents(contents: Iterable[bytes]) -> bytes:
    """Return a digest of *contents*, such as contents of documents, and of their order."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(b"%d %b" % (len(content), content))
    return digest.digest()


class WorkerFiles:
    """Two temporary files in *folder*: what a process reads to make sections, and makes."""

    def __init__(self, folder: Path) -> None:
        self._contents, self._made = ChunkFile(folder), ChunkFile(folder)
        self._digest = hashlib.sha256()
        self._found: bytes | None = None

    def write_contents(self, contents: Iterable[bytes]) -> Iterator[bytes]:
        """Hand over *contents* of documents, and return them."""
        for content in contents:
            self._contents.add(content)
            self._digest.update(b"%d %b" % (len(content), content))
            yield content

    @property
    def key(self) -> bytes:
        """The `digest_contents` of the contents."""
        return self._digest.digest()

    def pack_arguments(self) -> bytes:
        """Return the arguments for `make_sections`."""
        return pickle.dumps((self._contents.since(), self._made.path))

    def keep(self, _: bytes, found: bytes) -> None:
        """Take what `make_sections` returned."""
        self._found = found

    def sections(self) -> WordSections | None:
        """Return the sections that a process has left, `None` if none has."""
        if self._found is None:
            return None
        operations, words, table = pickle.loads(self._found)  # noqa: S301 - from a process of this one
        sizes = (size for _, _, size in table)
        starts = accumulate(sizes, initial=0)
        sections = [
            Section(name, kind, StoredPieces(self._made.path, start, size))
            for (name, kind, size), start in zip(table, starts, strict=False)
        ]
        return WordSections(operations, words, sections)

    def close(self) -> None:
        self._contents.close()
        self._made.close()


def make_sections(path: Path | None, given: bytes) -> bytes | None:
    """Make sections as `make_cached_sections` does, from what `Handover.given` returned.

    They are left at the given place. The result is `None` if a word table is missing: the caller
    has it, or reports that.
    """
    place, target = pickle.loads(given)  # noqa: S301 - from the process that started this one
    made = make_cached_sections(path, lambda memo: analyse_contents(read_chunks(place), memo))
    table: list[tuple[str, str, int]] = []
    # Once removed, the file is not made anew: nothing would remove it again.
    with target.open("r+b") as file:
        for section in made.sections:
            table.append((section.name, section.item_type, len(section.data)))
            file.writelines(iter_pieces(section.data))
    return None if lexicon.faults else pickle.dumps((made.operations, made.words, table))
