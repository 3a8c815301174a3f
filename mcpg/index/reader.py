"""Reading an index, from a memory-mapped file or from bytes.

Everything is read on demand. A phrase is an alias of several words, found in a longer request; it
is compared word by word, including stop words: "who are you" has no others. An alias of one word is
not a phrase, because a request that begins with it may mean anything.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, islice, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.catalog.view import ToolView, record_view
from mcpg.index.layout import (
    ABSENT,
    COVERAGES,
    HINTED,
    HUNDREDTHS,
    IDENTIFIER,
    KINDS,
    MAPPING_WIDTH,
    MEANINGS,
    NAMED,
    NONE,
    ORIGINS,
    PAGES,
    PROBABILITY_BITS,
    STEM,
    Buffer,
    Read,
    StaleIndexError,
    decompress_record,
    own_dictionary,
)
from mcpg.index.lookups import Grams, PostingFile, Speller
from mcpg.index.recipe import FIELDS, inverse_document_frequency
from mcpg.index.tables import TextTable, span
from mcpg.text import join_words, lexicon, split_words
from mcpg.text.json_values import read_json
from mcpg.text.meaning import DIMENSIONS
from mcpg.text.words import LANGUAGES

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument


SHORTEST_PREFIX = 4
"""The fewest characters that are completed: too many words begin with fewer."""

# Other sections with texts of a record, which is compressed with them.
_RECORD_TEXTS = ("ids", "titles", "summaries")
_BROKEN = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


Ends: TypeAlias = tuple[tuple[int, int, str, float], ...]
Provisions: TypeAlias = tuple[tuple[int, int, float], ...]
Mapping: TypeAlias = tuple[str, tuple[tuple[str, str, bool], ...]]

# The number of tools whose names, and of frequencies whose idfs, are kept after their first use;
# and of tools whose edges are kept, and of their reasons.
_MOST_NAMES = _MOST_REMEMBERED = 16_384


class ToolName(NamedTuple):
    """The `Index.name_terms` of a tool; each in order with its rarity, above 0; and their sum."""

    terms: frozenset[int]
    idfs: tuple[tuple[int, float], ...]
    weight: float


class NameTable:
    """The names of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._size = index.population
        self._names: dict[int, ToolName] = {}
        self._rarities: dict[int, float] = {}

    def of_tool(self, tool: int) -> ToolName:
        known = self._names.get(tool)
        if known is not None:
            return known
        terms = self._index.name_terms(tool).tolist()
        idfs: list[float] = []
        weight = 0.0
        for frequency in self._index.document_frequencies(terms):
            idf = self._rarities.get(frequency)
            if idf is None:
                idf = inverse_document_frequency(self._size, frequency)
                if len(self._rarities) < _MOST_NAMES:
                    self._rarities[frequency] = idf
            idfs.append(idf)
            weight += idf
        known = ToolName(frozenset(terms), tuple(zip(terms, idfs, strict=True)), weight)
        if len(self._names) < _MOST_NAMES:
            self._names[tool] = known
        return known


class Index(PostingFile):
    """A compiled index.

    Tools, sources, words, terms and groups go by their numbers, from 0 in the order of their ids or
    texts. Numbers from the index are valid in it; every answer is right, or `StaleIndexError` is
    raised because the file is damaged. May be shared between threads.

    Attributes:
        is_compiled: Whether all postings come from the file.
    """

    is_compiled = True

    def __init__(self, data: Buffer, *, in_blocks: bool = False, read: Read | None = None) -> None:
        super().__init__(data, in_blocks=in_blocks, read=read)
        self._edges: dict[int, Ends] = {}
        self._edges_to: dict[int, Ends] = {}
        self._reasons: dict[int, str] = {}

    def tool_id(self, tool: int) -> str:
        return self.texts("ids")[tool]

    def tool_name(self, tool: int) -> str:
        name = self.texts("names")[tool]
        return name.removeprefix(NAMED) if name else self.tool_id(tool)

    def display_name(self, tool: int) -> str:
        return self.texts("titles")[tool] or self.tool_name(tool)

    def summary(self, tool: int) -> str:
        return self.texts("summaries")[tool]

    def source_id(self, tool: int) -> str:
        return self.texts("sources")[self._item("source_of", tool)]

    def cards(self, tools: Sequence[int]) -> Iterator[tuple[str, str, str, str, str, bool]]:
        """Return id, source, name, shown name, summary and whether enabled of each of the *tools*.

        For consecutive tools, that is faster than one by one.
        """
        ids, titles = self.texts("ids").some(tools), self.texts("titles").some(tools)
        named = zip(self.texts("names").some(tools), ids, strict=True)
        names = [name.removeprefix(NAMED) if name else tool_id for name, tool_id in named]
        shown = [title or name for title, name in zip(titles, names, strict=True)]
        sources = self.texts("sources").some(self.find_source_numbers(tools))
        summaries, enabled = self.texts("summaries").some(tools), self._some("enabled", tools)
        return zip(ids, sources, names, shown, summaries, map(bool, enabled), strict=True)

    def find_source_numbers(self, tools: Iterable[int]) -> list[int]:
        return self._some("source_of", tools)

    @property
    def source_ids(self) -> TextTable:
        """The ids of all sources, in order; a tool's is found by the number of its source."""
        return self.texts("sources")

    def has_source(self, term: int, name: str) -> bool:
        """Return whether *name* is the whole joined name of a source with *term* in its name."""
        numbers = {*self.find_source_numbers(self.find_holders(term, "source"))}
        return any(join_words(self.source_ids[number]) == name for number in numbers)

    def count_tools(self, sources: Iterable[int]) -> list[int]:
        """Return how many tools each of the *sources* has."""
        everything = self.find_source_numbers(range(len(self)))
        return list(map(everything.count, sources))

    @property
    def categories(self) -> TextTable:
        """The categories that hints name, in order."""
        return self.texts("categories")

    def read_only_flags(self) -> bytes:
        """Return `READS`, `WRITES` or `UNSAID` for each tool, in order."""
        flags = bytes(self.section("tools.read_only"))
        if len(flags) != len(self):
            raise StaleIndexError("its flags are not as many as its tools")
        return flags

    @property
    def language(self) -> str | None:
        try:
            name = bytes(self.section("language")).decode("ascii")
        except UnicodeDecodeError as fault:
            raise StaleIndexError("its language is broken") from fault
        if name and name not in LANGUAGES:
            raise StaleIndexError("its language is unknown")
        return name or None

    def is_enabled(self, tool: int) -> bool:
        return bool(self._item("enabled", tool))

    def iter_disabled_tools(self) -> Iterator[int]:
        enabled = bytes(self.section("enabled"))
        tool = enabled.find(0)
        while tool >= 0:
            yield tool
            tool = enabled.find(0, tool + 1)

    def find_tool(self, tool_id: str) -> int:
        return self.keys("ids").find(tool_id)

    def exact(self, key: str) -> tuple[int, ...]:
        """Return the tools with an id, name, title or alias whose joined form is *key*."""
        number = self.keys("keys").find(key)
        return () if number == ABSENT else tuple(self.rows("keys.tools")[number])

    @property
    def has_phrases(self) -> bool:
        return len(self.keys("phrases")) > 0

    def with_phrase(self, phrase: str) -> tuple[int, ...]:
        """Return the tools with an alias of several words, which joined are *phrase*."""
        number = self.keys("phrases").find(phrase)
        return () if number == ABSENT else tuple(self.rows("phrases.tools")[number])

    def name_terms(self, tool: int) -> memoryview:
        """Return the distinct terms of the tool's name, in its order.

        Words of the source's name are left out, unless the name has no other.
        """
        return self.rows("names.terms")[tool]

    names = cached_property(NameTable)

    def has_in_a_name(self, pair: tuple[int, int]) -> bool:
        """Return whether the name of a tool has a *pair* of terms in sequence."""
        named = self.find_holders(pair[0], "name")
        return any(
            pair in pairwise([term for term, _ in self.names.of_tool(one).idfs]) for one in named
        )

    def norms(self, tools: Iterable[int]) -> list[float]:
        """Return the length, above 0, of each tool's vector of impacts times rarities.

        It is computed from the tool's text: hints do not lengthen a vector.
        """
        norms: list[float] = self._some("tools.norm", tools)
        if [norm for norm in norms if not norm > 0]:
            raise StaleIndexError("a tool of it has no length")
        return norms

    def operations(self, tools: Iterable[int]) -> list[bytes]:
        """Return how likely each tool does each kind of operation; all 0 where unknown."""
        shares, count = self.section("tools.operation"), len(lexicon.OPERATION_KINDS)
        if len(shares) != count * len(self):
            raise StaleIndexError("its operations are of unequal length")
        return [bytes(shares[count * tool : count * (tool + 1)]) for tool in tools]

    def read_meanings(self, tools: Iterable[int]) -> list[memoryview]:
        """Return the vector of the meaning of each of the *tools*; all 0 where unknown."""
        vectors = self.items("tools.meaning")
        if len(vectors) != DIMENSIONS * len(self):
            raise StaleIndexError("its vectors of meaning are of unequal length")
        starts = [DIMENSIONS * tool for tool in tools]
        return [vectors[start : start + DIMENSIONS].cast("b") for start in starts]

    def record(self, tool: int) -> ToolDocument:
        return _decode_document(self.read_record(tool))[0]

    def markdown(self, tool: int) -> str | None:
        """Return the text of the document, `None` when the index was built without."""
        return _decode_document(self.read_record(tool))[1]

    def view(self, tool: int) -> ToolView:
        try:
            text = str(self.read_record(tool), "utf-8", "surrogatepass")
            return record_view(read_json(text)["tool"])
        except _BROKEN as fault:
            raise StaleIndexError("a record is broken") from fault

    def pages(self) -> list[ToolDocument]:
        """Return the documents of no tool, in order of their paths."""
        if not self.has_section(PAGES):
            return []
        rows = self.rows(PAGES)
        return [_decode_document(rows[number])[0] for number in range(len(rows))]

    def read_record(self, tool: int) -> bytes:
        """Return the document of *tool* as `encode_record` wrote it."""
        texts = (self.rows(name)[tool] for name in _RECORD_TEXTS)
        dictionary = own_dictionary(self.section("records.dictionary"), texts)
        data = self.rows("records")[tool]
        return decompress_record(data, dictionary, self._item("records.crc", tool))

    def place(self, tool: int) -> int:
        return self._item("tools.place", tool)

    def edges(self, tool: int) -> Ends:
        """Return number, target, kind and weight of the links of a tool that reach another."""
        known = self._edges.get(tool)
        if known is not None:
            return known
        first, end = span(self.items("links.at"), tool)
        targets = self.rows("links")[tool]
        kinds, weights = self.items("links.kind"), self.items("links.weight")
        if end > min(len(kinds), len(weights)):
            raise StaleIndexError("its links are of unequal length")
        links = zip(range(first, end), targets, kinds[first:end], weights[first:end], strict=True)
        known = tuple(
            [
                (number, target, KINDS[kind % len(KINDS)], weight)
                for number, target, kind, weight in links
                if target != NONE
            ]
        )
        if len(self._edges) < _MOST_REMEMBERED:
            self._edges[tool] = known
        return known

    def edges_to(self, tool: int) -> Ends:
        """Return number, source, kind and weight of the links of others that reach a tool."""
        known = self._edges_to.get(tool)
        if known is None:
            links = self.rows("linked_by")[tool].tolist()
            sources = [self._find_row("links.at", link) for link in links]
            kinds = [KINDS[kind % len(KINDS)] for kind in self._some("links.kind", links)]
            known = tuple(
                zip(links, sources, kinds, self._some("links.weight", links), strict=True)
            )
            if len(self._edges_to) < _MOST_REMEMBERED:
                self._edges_to[tool] = known
        return known

    def targets(self, tool: int) -> memoryview:
        return self.rows("links")[tool]

    def reason(self, link: int) -> str:
        number = self._item("links.reason", link)
        known = self._reasons.get(number)
        if known is None:
            known = self.texts("reasons")[number]
            if len(self._reasons) < _MOST_REMEMBERED:
                self._reasons[number] = known
        return known

    def origin(self, link: int) -> str:
        return ORIGINS[self._item("links.origin", link) % len(ORIGINS)]

    def mapping(self, link: int) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return how much of a need a link covers, and the fields that do.

        Each field has the path of the output field and the name of the argument. The coverage is
        `strict`, `partial`, `optional`, or "" if there is none.
        """
        number = self._item("links.mapping", link)
        coverage, fields = ("", ()) if number == NONE else self._read_mapping(number)
        return coverage, tuple([(given, argument) for given, argument, _ in fields])

    def provides(self, tool: int) -> Provisions:
        """Return number, other tool and weight of each provision of a tool.

        These are all provisions by the schemas of the catalog, while links are capped.
        """
        first, _ = span(self.items("provides.at"), tool)
        targets = self.rows("provides")[tool].tolist()
        numbers = range(first, first + len(targets))
        weights = [weight / HUNDREDTHS for weight in self._some("provides.weight", numbers)]
        return tuple(zip(numbers, targets, weights, strict=True))

    def provided_by(self, tool: int) -> Provisions:
        numbers = self.rows("provided_by")[tool].tolist()
        sources = [self._find_row("provides.at", number) for number in numbers]
        weights = [weight / HUNDREDTHS for weight in self._some("provides.weight", numbers)]
        return tuple(zip(numbers, sources, weights, strict=True))

    def provision(self, number: int) -> Mapping:
        """Return coverage and fields of a provision.

        They are as in `mapping`, each field with whether its argument is required.
        """
        return self._read_mapping(self._item("provides.mapping", number))

    def _read_mapping(self, number: int) -> Mapping:
        coverage, *numbers = self.rows("mappings")[number].tolist() or (0,)
        names = self.texts("fields")
        fields = zip(*[iter(numbers)] * MAPPING_WIDTH, strict=False)
        return COVERAGES[coverage % len(COVERAGES)], tuple(
            [
                (names[given], names[argument], bool(required))
                for given, argument, required in fields
            ]
        )

    def _find_row(self, name: str, number: int) -> int:
        row = bisect_right(self.items(name), number) - 1
        if not 0 <= row < len(self):
            raise StaleIndexError(f"a number leads out of its section {name!r}")
        return row

    def required_arguments(self, tool: int) -> list[str]:
        names = self.texts("arguments")
        return [names[number] for number in self.rows("arguments_of")[tool]]

    def groups(self, tool: int) -> memoryview:
        return self.rows("groups_of")[tool]

    def group(self, number: int) -> str:
        return self.texts("groups")[number]

    def members(self, group: int) -> memoryview:
        return self.rows("members")[group]

    def word(self, number: int) -> str:
        return self.texts("words")[number]

    def find_word(self, text: str) -> int:
        return self.keys("words").find(text)

    def term_of_word(self, word: int) -> int:
        return self._item("words.term", word)

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return the first *limit* words, in alphabetical order, that go on after *prefix*.

        There are none for prefixes below 4 characters: too many words begin with them.
        """
        if len(prefix) < SHORTEST_PREFIX:
            return []
        words = self.texts("words")
        place = bisect_left(words, prefix)
        longer = takewhile(
            lambda word: word.startswith(prefix), map(words.__getitem__, range(place, len(words)))
        )
        return list(islice((word for word in longer if word != prefix), limit))

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Return the least number of edits, 1 or 2, to other words that occur, and these words.

        The number is 0 and the words are empty if no word is within `allowed_edits`.
        """
        return self._speller.nearest(word)

    _speller = cached_property(Speller)
    grams = cached_property(Grams)

    def term(self, number: int) -> str:
        return self.texts("terms")[number]

    def find_stem(self, text: str) -> int:
        """Return the term that *text* is as the stem of a word that occurs, or `ABSENT`."""
        return self._find_term(text, STEM)

    @cached_property
    def foreign_languages(self) -> tuple[str, ...]:
        """The languages with a table of the lexicon that tools are described in."""
        return tuple(self.texts(f"{MEANINGS}.languages")) if self.has_section(MEANINGS) else ()

    def meant_by(self, stem: str) -> list[tuple[int, float]]:
        """Return the terms of foreign words that mean an English *stem*, with probabilities."""
        number = self.keys(MEANINGS).find(stem) if self.has_section(MEANINGS) else ABSENT
        if number == ABSENT:
            return []
        scale = (1 << PROBABILITY_BITS) - 1
        packed = self.rows(f"{MEANINGS}.terms")[number].tolist()
        return [(entry >> PROBABILITY_BITS, (entry & scale) / scale) for entry in packed]

    def terms_of_stem(self, number: int, *, with_meanings: bool) -> list[tuple[int, float]]:
        """Return the term that an English stem is, by its number in the lexicon.

        *with_meanings* adds the terms of foreign words that mean it; each has its probability.
        """
        stems = self.items("stems")
        place = bisect_left(stems, number)
        if place == len(stems) or stems[place] != number:
            return []
        term = self._item("stems.term", place)
        found = [] if term == NONE else [(term, 1.0)]
        if not (with_meanings and self.has_section(MEANINGS)):
            return found
        return [*found, *self.meant_by(lexicon.read_stem(number))]

    def find_identifier(self, text: str) -> int:
        """Return the term that *text* is as a whole identifier that occurs, or `ABSENT`."""
        return self._find_term(text, IDENTIFIER)

    def word_of_term(self, term: int) -> int:
        """Return the first word in alphabetical order that has a stem, `ABSENT` for identifiers."""
        word = self._item("terms.word", term)
        return ABSENT if word == NONE else word

    def document_frequency(self, term: int) -> int:
        """Return the number of tools with a term in their text, or in their hints, if greater.

        A hint of one tool does not make a word of its text less rare.
        """
        return self._item("terms.tools", term)

    def document_frequencies(self, terms: Iterable[int]) -> list[int]:
        return self._some("terms.tools", terms)

    def is_only_hinted(self, term: int) -> bool:
        return bool(self._item("terms.kind", term) & HINTED)

    def find_posting(self, term: int, tool: int) -> tuple[int, int]:
        """Return impact and field mask of *term* in *tool*, zeros when it does not occur there."""
        tools, impacts, fields = self.postings(term)
        place = bisect_left(tools, tool)
        if place == len(tools) or tools[place] != tool:
            return 0, 0
        return impacts[place], fields[place]

    def find_holders(self, term: int, field: str) -> Iterator[int]:
        """Yield the tools with *term* in a *field* of `FIELDS`; none for `ABSENT`."""
        if term == ABSENT:
            return
        tools, _, fields = self.postings(term)
        yield from compress(tools, map((1 << FIELDS.index(field)).__and__, fields))

    def count_holders(self, term: int) -> int:
        return len(self.postings(term)[0])

    def field_means(self) -> memoryview:
        means = self.section("fields.mean")
        if len(means) != len(FIELDS):
            raise StaleIndexError("its means are not as many as its fields")
        return means

    def max_impact(self, term: int) -> int:
        return self._item("terms.impact", term)

    def _find_term(self, text: str, kind: int) -> int:
        term = self.keys("terms").find(text)
        return term if term != ABSENT and self._item("terms.kind", term) & kind else ABSENT


def _decode_document(data: Buffer) -> tuple[ToolDocument, str | None]:
    from mcpg.documents.model import decode_record  # noqa: PLC0415 - most searches read no document

    try:
        return decode_record(bytes(data))
    except _BROKEN as fault:
        raise StaleIndexError("a record is broken") from fault


# Fewer words are not a phrase; an alias of more is only found as a whole request.
_SHORTEST_PHRASE, _LONGEST_PHRASE = 2, 16


def extract_phrases(aliases: Iterable[str]) -> Iterator[str]:
    """Return the phrases among the *aliases* of one tool."""
    for words in map(split_words, aliases):
        if _SHORTEST_PHRASE <= len(words) <= _LONGEST_PHRASE:
            yield " ".join(words)


def find_opening_phrase(words: Sequence[str], index: Index) -> tuple[int, tuple[int, ...]]:
    """Return the number of words of the longest phrase that opens *words*, and its tools."""
    openings = list(accumulate(words[:_LONGEST_PHRASE], "{} {}".format))
    for count in range(len(openings), _SHORTEST_PHRASE - 1, -1):
        tools = index.with_phrase(openings[count - 1])
        if tools:
            return count, tools
    return 0, ()
