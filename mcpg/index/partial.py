"""An index of the few tools of a catalog that may answer a query; the others are elsewhere.

A `Vocabulary` has what a query is analyzed with: words, their frequencies, 3-grams, spelling. Its
tools are in parts, such as tables of a database. A query is analyzed over a `LookupIndex`, which
names the postings and names that it lacks, until it lacks none. The tools that it retrieves are
compiled into a `CandidateIndex`, by the code that compiles all indexes, with the frequencies and
mean lengths of the whole catalog, so that scores are those of one index of all tools.

Terms that only one tool has, and that are no plain word, are not in a vocabulary: there are as many
as tools. Their numbers come after those of all others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, encode_record
from mcpg.index.compile import related_sections, tool_sections
from mcpg.index.document_terms import DocumentTerms, GramCollector
from mcpg.index.layout import ABSENT, SECTIONS, STEM, Buffer
from mcpg.index.reader import Index
from mcpg.index.tables import Section, array_section, iter_pieces, rows_sections
from mcpg.index.word_sections import CatalogStatistics, InvertedFile
from mcpg.text import join_words, stem

Postings: TypeAlias = "tuple[memoryview[int], memoryview[int]]"
"""The tools with a term, in order, and its impacts; tools go by their numbers in the catalog."""

SOURCE_SIZES, SIZE, PHRASED, DOUBLED = "sources.size", "size", "phrased", "doubled"
"""Further sections of a vocabulary: for each source its number of tools, the number of all tools,
whether there are aliases of several words, and ids that several parts have."""

_NOTHING: Postings = memoryview(array("I")), memoryview(array("H"))


def is_plain(term: str, kind: int) -> bool:
    """Return whether a *term* is a word without digits, which others may be misspellings of."""
    return bool(kind & STEM) and not any(map(str.isdigit, term))


class Answer(NamedTuple):
    """A term outside the vocabulary, and its postings."""

    kind: int
    postings: Postings


class Vocabulary(Index):
    """The words of a catalog and their statistics, without its tools."""

    def __init__(self, data: Buffer) -> None:
        super().__init__(data)
        for name in SECTIONS:
            self.items(name)  # checked once for all indexes that share it
        self.total: int = self.section(SIZE)[0]
        self.source_sizes = self.section(SOURCE_SIZES)
        self.sources = {source: number for number, source in enumerate(self.source_ids)}
        self.category_numbers = {one: number for number, one in enumerate(self.categories)}
        self.joined_sources = frozenset(map(join_words, self.sources))
        self.doubled = frozenset(self.texts(DOUBLED))
        self.is_phrased = bool(self.section(PHRASED)[0])
        self.count_of_terms, self.count_of_words = (
            len(self.texts("terms")),
            len(self.texts("words")),
        )
        self.statistics = CatalogStatistics(
            self.total, list(self.field_means()), self._frequency, self.grams.frequency
        )

    @property
    def population(self) -> int:
        return self.total

    def _frequency(self, term: str) -> int:
        number = self.keys("terms").find(term)
        return 1 if number == ABSENT else self.document_frequency(number)


class CatalogIndex(Index):
    """The vocabulary of a catalog, with the numbers of the rare terms that were met.

    Attributes:
        rare: The places of the rare terms among their numbers.
        answers: The rare terms that were looked up; `None` for those that do not occur.
        lacking_terms: Texts of the terms that were asked for and are not known.
    """

    is_compiled = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        # Data read from the vocabulary is shared.
        vars(self).update(vars(vocabulary))
        vars(self).pop("names", None)
        self.vocabulary = vocabulary
        self.rare: dict[str, int] = {}
        self.answers: dict[str, Answer | None] = {}
        self.lacking_terms: set[str] = set()

    @property
    def population(self) -> int:
        return self.vocabulary.total

    def number_term(self, text: str) -> int:
        """Return the number of a term that occurs."""
        number = self.keys("terms").find(text)
        return self._number_rare(text) if number == ABSENT else number

    def _number_rare(self, text: str) -> int:
        return self.vocabulary.count_of_terms + self.rare.setdefault(text, len(self.rare))

    def _find_rare(self, text: str, kind: int) -> int:
        if text not in self.answers:
            self.lacking_terms.add(text)
            return ABSENT
        answer = self.answers[text]
        return self._number_rare(text) if answer and answer.kind & kind else ABSENT

    def find_word(self, text: str) -> int:
        number = super().find_word(text)
        if number != ABSENT or is_plain(text, STEM):
            return number
        term = self._find_rare(stem(text), STEM)
        return (
            ABSENT
            if term == ABSENT
            else self.vocabulary.count_of_words + term - self.vocabulary.count_of_terms
        )

    def word(self, number: int) -> str:
        rare = number - self.vocabulary.count_of_words
        return super().word(number) if rare < 0 else [*self.rare][rare]

    def term_of_word(self, word: int) -> int:
        rare = word - self.vocabulary.count_of_words
        return super().term_of_word(word) if rare < 0 else self.vocabulary.count_of_terms + rare

    def word_of_term(self, term: int) -> int:
        rare = term - self.vocabulary.count_of_terms
        return super().word_of_term(term) if rare < 0 else self.vocabulary.count_of_words + rare

    def term(self, number: int) -> str:
        rare = number - self.vocabulary.count_of_terms
        return super().term(number) if rare < 0 else [*self.rare][rare]

    def _find_term(self, text: str, kind: int) -> int:
        number = self.keys("terms").find(text)
        if number == ABSENT and not is_plain(text, kind):
            return self._find_rare(text, kind)
        return super()._find_term(text, kind)

    def document_frequency(self, term: int) -> int:
        return 1 if term >= self.vocabulary.count_of_terms else super().document_frequency(term)

    def document_frequencies(self, terms: Iterable[int]) -> list[int]:
        return list(map(self.document_frequency, terms))

    def count_holders(self, term: int) -> int:
        return self.document_frequency(term)

    def is_only_hinted(self, term: int) -> bool:
        return term < self.vocabulary.count_of_terms and super().is_only_hinted(term)

    def best_impacts(self, _: tuple[tuple[int, float], ...]) -> None:
        """Keep nothing: the next query has other postings."""

    def has_source(self, _: int, name: str) -> bool:
        return name in self.vocabulary.joined_sources

    def has_in_a_name(self, _: tuple[int, int]) -> bool:
        """Return `False`: over parts, an English word is not cut into two."""
        return False

    def count_tools(self, sources: Iterable[int]) -> list[int]:
        return [self.vocabulary.source_sizes[source] for source in sources]


class LookupIndex(CatalogIndex):
    """An index of all tools of a catalog, of which it knows the postings and names looked up.

    Attributes:
        lacking_names: Joined names and phrases that were asked for and are not known.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.lacking_names: set[str] = set()
        self._postings: dict[int, Postings] = {}
        self._named: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return self.vocabulary.total

    def learn_terms(self, found: Mapping[str, Answer]) -> None:
        """Take the postings of terms; `lacking_terms` without any do not occur."""
        self.answers.update(dict.fromkeys(self.lacking_terms))
        self.answers.update(found)
        self.lacking_terms.clear()
        for text, answer in found.items():
            self._postings[self.number_term(text)] = answer.postings

    def learn_names(self, found: Mapping[str, tuple[int, ...]]) -> None:
        """Take the tools of names; `lacking_names` without any do not occur."""
        self._named.update(dict.fromkeys(self.lacking_names, ()))
        self._named.update(found)
        self.lacking_names.clear()

    def max_impact(self, term: int) -> int:
        rare = term >= self.vocabulary.count_of_terms
        return max(self._find(term)[1], default=0) if rare else super().max_impact(term)

    def _find(self, term: int) -> Postings:
        return self._postings.get(term, _NOTHING)

    def postings(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        return *self._find(term), _NOTHING[1]

    def impacts(self, term: int) -> dict[int, int]:
        tools, impacts = self._find(term)
        return dict(zip(tools.tolist(), impacts.tolist(), strict=True))

    def exact(self, key: str) -> tuple[int, ...]:
        return self._find_name(key)

    @property
    def has_phrases(self) -> bool:
        return self.vocabulary.is_phrased

    def with_phrase(self, phrase: str) -> tuple[int, ...]:
        return self._find_name(phrase)

    def _find_name(self, name: str) -> tuple[int, ...]:
        if name not in self._named:
            self.lacking_names.add(name)
        return self._named.get(name, ())


class PartialTool(NamedTuple):
    """A tool for a `CandidateIndex`.

    Attributes:
        number: Its number in the catalog.
        meaning: The vector of its meaning.
    """

    number: int
    document: ToolDocument
    words: DocumentTerms
    meaning: bytes


class CandidateIndex(CatalogIndex):
    """A whole index of a few tools of a catalog.

    Attributes:
        numbers: The number of each tool in the catalog.
    """

    def __init__(self, below: CatalogIndex, tools: Iterable[PartialTool]) -> None:
        super().__init__(below.vocabulary)
        self.rare, self.answers = below.rare, below.answers
        self._kept, self._masks, self._edges, self._edges_to, self._reasons = {}, {}, {}, {}, {}
        self._local: dict[int, int] = {}
        self._most: dict[int, int] = {}
        ordered = sorted(tools, key=lambda one: one.document.tool.id)
        self.numbers = [one.number for one in ordered]
        self._documents = [one.document for one in ordered]
        made = {one.name: _cast(one) for one in self._compile(ordered)}
        self._items, self._views = {**self._items, **made}, {**self._views, **made}
        names = {name.removesuffix(".at") for name in made}
        self._texts = {name: table for name, table in self._texts.items() if name not in names}
        self._keys = {name: table for name, table in self._keys.items() if name not in names}
        self._rows = {name: table for name, table in self._rows.items() if name not in names}
        rows = self.rows("grams_of")
        self.grams = below.vocabulary.grams.of_tools(
            [rows[number].tolist() for number in range(len(ordered))], made["grams.norm"]
        )

    def _compile(self, tools: Sequence[PartialTool]) -> Iterable[Section]:
        documents, whole = [one.document for one in tools], self.vocabulary.statistics
        plain = [document.tool for document in documents]
        for section in (
            *tool_sections(plain),
            *related_sections(documents, plain, [()] * len(plain)),
        ):
            if not section.name.startswith(("sources", "source_of", "categories")):
                yield section
        numbers = self.vocabulary.sources
        yield array_section("source_of", "I", [numbers[tool.source_id] for tool in plain])
        yield from rows_sections("categories.tools", self._list_categories(plain))
        yield array_section("tools.place", "I", range(len(plain)))
        yield Section("tools.operation", "B", b"".join(bytes(one.words.operation) for one in tools))
        yield Section("tools.meaning", "B", b"".join(one.meaning for one in tools))
        grams = GramCollector()
        for one in tools:
            grams.add(one.words.described)
        yield from self._number_grams(grams.sections(whole.size, whole.gram_frequency))
        yield from self._number_terms(InvertedFile((one.words for one in tools), whole))

    def _list_categories(self, tools: Sequence[Tool]) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in self.vocabulary.category_numbers]
        for number, tool in enumerate(tools):
            for category in tool.hints.categories:
                rows[self.vocabulary.category_numbers[category]].append(number)
        return rows

    def _number_grams(self, sections: Iterable[Section]) -> Iterable[Section]:
        """Yield the sections of 3-grams by their numbers in the vocabulary."""
        made = {one.name: _cast(one) for one in sections}
        find = self.vocabulary.grams.number
        final = [find(gram) for gram in made["grams"]]
        yield array_section("grams_of", "I", map(final.__getitem__, made["grams_of"]))
        yield array_section("grams_of.at", "I", made["grams_of.at"])
        yield array_section("grams.norm", "d", made["grams.norm"])

    def _number_terms(self, inverted: InvertedFile) -> Iterable[Section]:
        """Yield the sections of postings, of which `_local` has the rows by number."""
        texts: Sequence[str] = inverted.terms
        final = list(map(self.number_term, texts))
        self._local = {number: place for place, number in enumerate(final)}
        for section in inverted.sections():
            if section.name == "names.terms":
                yield array_section("names.terms", "I", map(final.__getitem__, _cast(section)))
            elif section.name.startswith(("postings", "names.terms", "tools.norm")):
                yield section
            elif section.name == "terms.impact":
                self._most = dict(zip(final, _cast(section), strict=True))

    def __len__(self) -> int:
        return len(self._documents)

    def max_impact(self, term: int) -> int:
        return self._most.get(term, 0)

    def _find_postings(self, term: int) -> tuple[int, int]:
        place = self._local.get(term)
        return (0, 0) if place is None else super()._find_postings(place)

    def read_record(self, tool: int) -> bytes:
        return encode_record(self._documents[tool])


def _cast(section: Section) -> memoryview:
    """Return the items of a *section*."""
    data = b"".join(iter_pieces(section.data))
    return memoryview(data).cast(section.item_type)  # type: ignore[call-overload, no-any-return]
