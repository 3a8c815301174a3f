"""Reading an index, from a memory-mapped file or from bytes alike.

Nothing is read before it is asked for, and nothing that is slow to import is imported before a
whole record is asked for. Names, postings and character 3-grams are decoded once and kept within
bounds. 3-grams find what is alike in words that share no stem.

Source: McNamee & Mayfield, "Character n-gram tokenization for European language text retrieval",
Information Retrieval 7, 2004; weights after Sparck Jones, 1972, as in the rest of the index.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from itertools import islice

from mcpg import __version__
from mcpg.index.layout import (
    ABSENT,
    HINTED,
    IDENTIFIER,
    IMPACT_SCALE,
    NONE,
    OPTIONAL_SECTIONS,
    SECTIONS,
    STEM,
    Keys,
    Rows,
    Section,
    StaleIndexError,
    Texts,
    check,
    crc,
    rows_sections,
    section_sizes,
    span,
    unpack,
)
from mcpg.index.links import LinkTables
from mcpg.index.scoring import inverse_document_frequency
from mcpg.index.speller import Speller
from mcpg.text import operations, split_words
from mcpg.text.words import LANGUAGES
from mcpg.values import value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.index.layout import Buffer


# Tools whose names, and terms whose idfs, are kept once they have been read.
_MOST_NAMES = 16_384


@value
class Name:
    """The name of a tool.

    Attributes:
        terms: The distinct terms of the name; words of the source's name are left out, unless the
            name has no other.
        idfs: Each of them, in the name's order, with its rarity, above 0.
        weight: The sum of the rarities.
    """

    terms: frozenset[int]
    idfs: tuple[tuple[int, float], ...]
    weight: float


class Names:
    """The names of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._size = len(index)
        self._names: dict[int, Name] = {}
        self._rarities: dict[int, float] = {}

    def of_tool(self, tool: int) -> Name:
        known = self._names.get(tool)
        if known is None:
            known = self._read(tool)
            if len(self._names) < _MOST_NAMES:
                self._names[tool] = known
        return known

    def _read(self, tool: int) -> Name:
        terms = self._index.name_terms(tool).tolist()
        weight = 0.0
        idfs = []
        for term in terms:
            idf = self._rarities.get(term) or self._rarity(term)
            weight += idf
            idfs.append((term, idf))
        return Name(frozenset(terms), tuple(idfs), weight)

    def _rarity(self, term: int) -> float:
        idf = inverse_document_frequency(self._size, self._index.document_frequency(term))
        if len(self._rarities) < _MOST_NAMES:
            self._rarities[term] = idf
        return idf


_SECTIONS = ("postings", "postings.impact", "postings.fields")
# How many postings are kept once they have been read, and the longest list of them that is.
_MOST_KEPT = 262_144
_LONGEST_KEPT = 1_024
_UNIT = 1 / IMPACT_SCALE
# How many best impacts are kept, and of how many postings at most one list of them is made.
_MOST_BEST = 131_072
_MOST_MERGED = 1_024
# To merge lists takes as long as to look so many times into each of them. Requests have endless
# words, so there is a bound.
_TIMES_UNMERGED = 3
_MOST_ASKED = 4_096


class Postings:
    """The postings of an index."""

    def __init__(self, index: Index) -> None:
        """Find the sections.

        Raises:
            StaleIndexError: They do not fit each other.
        """
        self._starts = index.section("postings.at")
        self._tools, self._impacts, self._fields = map(index.section, _SECTIONS)
        self._kept: dict[int, dict[int, int]] = {}
        self._left = _MOST_KEPT
        self._best: dict[tuple[tuple[int, float], ...], dict[int, float]] = {}
        # How often the others were asked for.
        self._asked: dict[tuple[tuple[int, float], ...], int] = {}
        self._best_left = _MOST_BEST
        if not len(self._tools) == len(self._impacts) == len(self._fields):
            raise StaleIndexError("its postings are of unequal length")

    def count(self, term: int) -> int:
        start, end = span(self._starts, term)
        return end - start

    def of_term(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Return the tools that hold a term in order, its impacts there, and in which fields."""
        start, end = self._span(term)
        return self._tools[start:end], self._impacts[start:end], self._fields[start:end]

    def _span(self, term: int) -> tuple[int, int]:
        start, end = span(self._starts, term)
        if end > len(self._tools):
            raise StaleIndexError("a row leads out of its table")
        return start, end

    def impacts(self, term: int) -> dict[int, int] | None:
        """Return the impacts of a term by tool, in order; `None` where they are too many to keep.

        What is given must not be changed.
        """
        known = self._kept.get(term)
        if known is None:
            start, end = self._span(term)
            if end - start <= min(_LONGEST_KEPT, self._left):
                tools, impacts = self._tools[start:end].tolist(), self._impacts[start:end].tolist()
                known = self._kept[term] = dict(zip(tools, impacts, strict=True))
                self._left -= len(known)
        return known

    def best_impacts(self, credited: tuple[tuple[int, float], ...]) -> dict[int, float] | None:
        """Return the best impact, in [0, 1], of *credited* terms by tool.

        It is `None` where they are too many to keep, and for the first few times: most of what is
        asked for once is never asked for again. What is given must not be changed.
        """
        known = self._best.get(credited)
        if known is not None or not self._is_usual(credited):
            return known
        if sum([self.count(term) for term, _ in credited]) <= min(_MOST_MERGED, self._best_left):
            known = self._best[credited] = self._merged(credited)
            self._best_left -= len(known) + len(credited)
        return known

    def _is_usual(self, credited: tuple[tuple[int, float], ...]) -> bool:
        """Return whether *credited* are now asked for often enough to be merged."""
        times = self._asked.get(credited, 0)
        if times <= _TIMES_UNMERGED and len(self._asked) < _MOST_ASKED:
            self._asked[credited] = times + 1
        return times == _TIMES_UNMERGED

    def _merged(self, credited: tuple[tuple[int, float], ...]) -> dict[int, float]:
        best: dict[int, float] = {}
        get = best.get
        for term, credit in credited:
            unit = credit * _UNIT
            tools, impacts, _ = self.of_term(term)
            for tool, impact in zip(tools.tolist(), impacts.tolist(), strict=True):
                weighed = unit * impact
                if weighed > get(tool, 0.0):
                    best[tool] = weighed
        return best


def posting(index: Index, term: int, document: int) -> tuple[int, int]:
    """Return impact and field mask of *term* in *document*, zeros when it does not occur there."""
    documents, impacts, fields = index.postings(term)
    place = bisect_left(documents, document)
    if place == len(documents) or documents[place] != document:
        return 0, 0
    return impacts[place], fields[place]


def impact_of(index: Index, term: int, document: int) -> int:
    """Return the impact of *term* in *document*, 0 when it does not occur there."""
    return posting(index, term, document)[0]


def add_fields(index: Index, term: int, asked: Iterable[int], masks: dict[int, int]) -> None:
    """Add, for each document *asked* about, a bit for every field in which *term* occurs there."""
    documents, _, fields = index.postings(term)
    end = len(documents)
    for document in asked:
        place = bisect_left(documents, document)
        if place < end and documents[place] == document:
            masks[document] |= fields[place]


# Code points take up to 21 bits, so three of them fit one number of 64.
_BITS = 21
_PAD = "_"
# What a tool is stands at the beginning of its description.
_DESCRIPTION_LENGTH = 300
# Words, and 3-grams, that are remembered; words of queries are endless, so there is a bound.
_MOST_WORDS = 16_384
# Tools whose 3-grams are kept once they have been read; each takes some kilobytes.
_MOST_TOOLS = 4_096


def grams_of_word(word: str) -> list[int]:
    """Return the 3-grams of a folded *word*, padded at both ends, each packed into one number."""
    codes = list(map(ord, f"{_PAD}{word}{_PAD}"))
    return [
        first << 2 * _BITS | second << _BITS | third
        for first, second, third in zip(codes, codes[1:], codes[2:], strict=False)
    ]


def described_words(tool: Tool) -> list[str]:
    """Return the words whose 3-grams stand for *tool*, each once."""
    title = "" if tool.display_name == tool.name else tool.display_name
    description = tool.description[:_DESCRIPTION_LENGTH]
    text = f"{tool.name} {title} {tool.source_id} {description}"
    return list(dict.fromkeys(split_words(text)))


def gram_sections(described: Iterable[Iterable[str]]) -> list[Section]:
    """Return the sections of 3-grams: `grams` sorted, how many tools hold each, and each tool's.

    Args:
        described: For each tool its `described_words`.
    """
    from array import array  # noqa: PLC0415 - needed to build, not to search
    from collections import Counter  # noqa: PLC0415 - as above
    from itertools import chain  # noqa: PLC0415 - as above
    from math import fsum  # noqa: PLC0415 - as above

    known = _GramsOfWords()
    # A set takes ten times the memory of an array.
    held = [array("Q", {gram for word in words for gram in known[word]}) for words in described]
    holders = Counter(chain.from_iterable(held))
    ordered = sorted(holders)
    numbers = {gram: number for number, gram in enumerate(ordered)}
    counts = [holders[gram] for gram in ordered]
    squares = [inverse_document_frequency(len(held), count) ** 2 for count in counts]
    rows = [array("I", sorted(map(numbers.__getitem__, grams))) for grams in held]
    # `sum` adds in other ways from one Python to the next.
    norms = [fsum(map(squares.__getitem__, row)) ** 0.5 or 1.0 for row in rows]
    return [
        Section("grams", "Q", array("Q", ordered).tobytes()),
        Section("grams.tools", "I", array("I", counts).tobytes()),
        *rows_sections("grams_of", rows),
        Section("grams.norm", "d", array("d", norms).tobytes()),
    ]


class _GramsOfWords(dict[str, tuple[int, ...]]):
    def __missing__(self, word: str) -> tuple[int, ...]:
        grams = self[word] = tuple(grams_of_word(word))
        return grams


class Grams:
    """The 3-grams of an index."""

    def __init__(self, index: Index) -> None:
        """Find the sections.

        Raises:
            StaleIndexError: They do not fit each other.
        """
        self._size = len(index)
        self._grams = index.section("grams")
        self._holders = index.section("grams.tools")
        self._rows = index.rows("grams_of")
        self._norms = index.section("grams.norm")
        self._words: dict[str, dict[int, float]] = {}
        self._known: dict[int, tuple[int, float] | None] = {}
        self._tools: dict[int, list[int]] = {}
        if (len(self._holders), len(self._norms)) != (len(self._grams), self._size):
            raise StaleIndexError("its 3-grams are of unequal length")

    def of_word(self, word: str) -> dict[int, float]:
        """Return the rarity, above 0, of those 3-grams of a folded *word* that occur, by number.

        What is given must not be changed.
        """
        known = self._words.get(word)
        if known is None:
            known = dict(self._found(word))
            if len(self._words) < _MOST_WORDS:
                self._words[word] = known
        return known

    def _found(self, word: str) -> Iterator[tuple[int, float]]:
        for gram in grams_of_word(word):
            found = self._known[gram] if gram in self._known else self._find(gram)
            if found:
                yield found

    def _find(self, gram: int) -> tuple[int, float] | None:
        """Look up number and rarity of a 3-gram, `None` for one that does not occur."""
        found = None
        number = bisect_left(self._grams, gram)
        if number < len(self._grams) and self._grams[number] == gram:
            found = number, inverse_document_frequency(self._size, self._holders[number])
        if len(self._known) < _MOST_WORDS:
            self._known[gram] = found
        return found

    def of_tool(self, tool: int) -> Sequence[int]:
        known = self._tools.get(tool)
        if known is None:
            known = self._rows[tool].tolist()
            if len(self._tools) < _MOST_TOOLS:
                self._tools[tool] = known
        return known

    def norm(self, tool: int) -> float:
        """Return the length, above 0, of a tool's vector of 3-gram rarities."""
        norm: float = self._norms[tool]
        if not norm > 0:
            raise StaleIndexError("a tool of it has no 3-gram length")
        return norm


CHECKED_SIZE = 32 << 20
"""Up to this size, without records, every section is compared with its checksum before use."""

PAGES = "pages"
"""Name of the table of pages, which an index has only where there are any."""

MEANINGS = "meanings"
"""Name of the table of English stems, which only an index with foreign words has."""

PROBABILITY_BITS = 8
"""The lowest bits of an entry of that table hold its probability, the others its term."""

SHORTEST_PREFIX = 4
"""The fewest characters that are completed: too many words begin with fewer."""

# Records bear a checksum each, because a search reads few of many.
_CHECKED_IN_PARTS = ("records", "records.at", "records.crc")


def recipe_of(recipe: bytes) -> int:
    """Return the number by which a file tells how it was made: by which mcpg, from which recipe."""
    return zlib.crc32(recipe, zlib.crc32(__version__.encode()))


class Index:
    """A compiled index.

    Tools, sources, words, terms and groups go by their numbers, from 0 in the order of their ids
    or texts. Numbers that the index gives are valid in it; whatever is asked, the answer is right,
    or `StaleIndexError` is raised because the file is damaged. May be shared between threads.

    Attributes:
        is_compiled: Whether all postings are those of the file.
    """

    is_compiled = True

    def __init__(self, data: Buffer) -> None:
        """Open an index.

        Raises:
            StaleIndexError: *data* is no whole index of this version.
        """
        self._data = memoryview(data)
        self.header, self._entries = unpack(self._data)
        for name, item_type in SECTIONS.items():
            if name not in self._entries or self._entries[name].item_type != item_type:
                raise StaleIndexError(f"it has no section {name!r}")
        for name, item_type in OPTIONAL_SECTIONS.items():
            if name in self._entries and self._entries[name].item_type != item_type:
                raise StaleIndexError(f"its section {name!r} has items of another type")
        searched = sum(section_sizes(self._entries).values()) - self._size("records")
        self._is_checked = searched <= CHECKED_SIZE
        self._views: dict[str, memoryview] = {}
        self._texts: dict[str, Texts] = {}
        self._keys: dict[str, Keys] = {}
        self._rows: dict[str, Rows] = {}
        self._spellers: list[Speller] = []
        self._grams: list[Grams] = []
        self._names: list[Names] = []
        self._relations: list[LinkTables] = []
        self._postings: list[Postings] = []

    @property
    def data(self) -> memoryview:
        return self._data

    @property
    def is_checked(self) -> bool:
        """Whether every section is compared with its checksum before its first use."""
        return self._is_checked

    def verify(self, *, records: bool = True) -> None:
        """Compare every section with its checksum, or all but those of *records*.

        Raises:
            StaleIndexError: One is damaged.
        """
        for name, entry in self._entries.items():
            if records or name not in _CHECKED_IN_PARTS:
                check(self._data, name, entry)

    def has_section(self, name: str) -> bool:
        return name in self._entries

    def section(self, name: str) -> memoryview:
        """Return the items of the section called *name*.

        They are compared with their checksum before; records are when each is read.

        Raises:
            StaleIndexError: There is none, or it is damaged.
        """
        view = self._views.get(name)
        if view is None:
            entry = self._entries.get(name)
            if entry is None:
                raise StaleIndexError(f"it has no section {name!r}")
            if self._is_checked and name not in _CHECKED_IN_PARTS:
                check(self._data, name, entry)
            view = self._data[entry.start : entry.end].cast("B").cast(entry.item_type)  # type: ignore[call-overload]
            self._views[name] = view
        return view

    def texts(self, name: str) -> Texts:
        table = self._texts.get(name)
        if table is None:
            table = self._texts[name] = Texts(self.section(name), self.section(f"{name}.at"))
        return table

    def keys(self, name: str) -> Keys:
        """Return the table of texts called *name* that finds the number of a text."""
        table = self._keys.get(name)
        if table is None:
            parts = self.section(name), self.section(f"{name}.at"), self.section(f"{name}.slots")
            table = self._keys[name] = Keys(*parts)
        return table

    def rows(self, name: str) -> Rows:
        table = self._rows.get(name)
        if table is None:
            table = self._rows[name] = Rows(self.section(name), self.section(f"{name}.at"))
        return table

    def _size(self, name: str) -> int:
        entry = self._entries[name]
        return entry.end - entry.start

    def _item(self, name: str, number: int) -> int:
        items = self._views.get(name)
        try:
            item: int = (self.section(name) if items is None else items)[number]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault
        return item

    def _items(self, name: str, numbers: Iterable[int]) -> list[Any]:
        items = self.section(name)
        try:
            return [items[number] for number in numbers]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault

    # Tools

    def __len__(self) -> int:
        """Return the number of tools."""
        return self._size("enabled")

    def tool_id(self, tool: int) -> str:
        return self.texts("ids")[tool]

    def tool_name(self, tool: int) -> str:
        return self.texts("names")[tool]

    def display_name(self, tool: int) -> str:
        return self.texts("titles")[tool]

    def summary(self, tool: int) -> str:
        return self.texts("summaries")[tool]

    def source_id(self, tool: int) -> str:
        return self.texts("sources")[self._item("source_of", tool)]

    def sources_of(self, tools: Iterable[int]) -> list[int]:
        return self._items("source_of", tools)

    @property
    def source_ids(self) -> Texts:
        """The ids of all sources, in order; a tool's is found by the number of its source."""
        return self.texts("sources")

    @property
    def categories(self) -> Texts:
        """The categories that hints name, in order."""
        return self.texts("categories")

    def in_category(self, category: int) -> memoryview:
        """Return the tools of a category, by its number."""
        return self.rows("categories.tools")[category]

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

    def disabled(self) -> Iterator[int]:
        enabled = bytes(self.section("enabled"))
        tool = enabled.find(0)
        while tool >= 0:
            yield tool
            tool = enabled.find(0, tool + 1)

    def find_tool(self, tool_id: str) -> int:
        """Return the number of the tool with that id, `ABSENT` when there is none."""
        return self.keys("ids").find(tool_id)

    def exact(self, key: str) -> tuple[int, ...]:
        """Return the tools with an id, name, title or alias whose joined form is *key*."""
        number = self.keys("keys").find(key)
        return () if number == ABSENT else tuple(self.rows("keys.tools")[number])

    @property
    def has_phrases(self) -> bool:
        """Whether any tool has an alias of several words."""
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

    @property
    def names(self) -> Names:
        if not self._names:
            self._names.append(Names(self))
        return self._names[0]

    def norms(self, tools: Iterable[int]) -> list[float]:
        """Return the length, above 0, of each tool's vector of impacts times rarities.

        It is that of the tool's text: what hints hold lengthens no vector.
        """
        norms: list[float] = self._items("tools.norm", tools)
        if [norm for norm in norms if not norm > 0]:
            raise StaleIndexError("a tool of it has no length")
        return norms

    def operations(self, tools: Iterable[int]) -> list[bytes]:
        """Return how likely each tool does each kind of operation; all 0 where unknown."""
        shares, count = self.section("tools.operation"), len(operations.KINDS)
        if len(shares) != count * len(self):
            raise StaleIndexError("its operations are of unequal length")
        return [bytes(shares[count * tool : count * (tool + 1)]) for tool in tools]

    def record(self, tool: int) -> ToolDocument:
        return self._record(tool)[0]

    def markdown(self, tool: int) -> str | None:
        """Return the text of the document, `None` when the index was built without."""
        return self._record(tool)[1]

    def pages(self) -> list[ToolDocument]:
        """Return the documents of no tool, in order of their paths."""
        if not self.has_section(PAGES):
            return []
        rows = self.rows(PAGES)
        return [_decoded(rows[number])[0] for number in range(len(rows))]

    def _record(self, tool: int) -> tuple[ToolDocument, str | None]:
        data = self.rows("records")[tool]
        if crc(data) != self._item("records.crc", tool):
            raise StaleIndexError("a record is damaged")
        return _decoded(data)

    # Relations

    @property
    def relations(self) -> LinkTables:
        if not self._relations:
            self._relations.append(LinkTables(self))
        return self._relations[0]

    def edges(self, tool: int) -> tuple[tuple[int, int, str, float], ...]:
        """Return number, target, kind and weight of the links of a tool that reach another."""
        return self.relations.edges(tool)

    def edges_to(self, tool: int) -> tuple[tuple[int, int, str, float], ...]:
        """Return number, source, kind and weight of the links of others that reach a tool."""
        return self.relations.edges_to(tool)

    def targets(self, tool: int) -> memoryview:
        """Return the tools that the links of a tool reach; an invalid number for other targets."""
        return self.rows("links")[tool]

    def reason(self, link: int) -> str:
        """Return why a link is there, "" when the document does not say."""
        return self.relations.reason(link)

    def origin(self, link: int) -> str:
        """Return where a link comes from: `authored`, `observed`, `schema` or `inferred`."""
        return self.relations.origin(link)

    def mapping(self, link: int) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return how much of a need a link covers, and the fields that do.

        Each field has the path of the output field and the name of the argument. The coverage is
        `strict`, `partial`, `optional`, or "" where there is none.
        """
        return self.relations.mapping(link)

    def provides(self, tool: int) -> tuple[tuple[int, int, float], ...]:
        """Return number, other tool and weight of all that a tool provides to others.

        It is all that the schemas of the catalogue say, while links are capped.
        """
        return self.relations.provides(tool)

    def provided_by(self, tool: int) -> tuple[tuple[int, int, float], ...]:
        """Return number, other tool and weight of all that others provide to a tool."""
        return self.relations.provided_by(tool)

    def provision(self, number: int) -> tuple[str, tuple[tuple[str, str, bool], ...]]:
        """Return coverage and fields of what one tool provides to another.

        They are as those of `mapping`, each field with whether its argument is required.
        """
        return self.relations.provision(number)

    def required_arguments(self, tool: int) -> list[str]:
        """Return the names of the arguments that a tool requires, in the order of its schema."""
        names = self.texts("arguments")
        return [names[number] for number in self.rows("arguments_of")[tool]]

    def groups(self, tool: int) -> memoryview:
        return self.rows("groups_of")[tool]

    def group(self, number: int) -> str:
        return self.texts("groups")[number]

    def members(self, group: int) -> memoryview:
        return self.rows("members")[group]

    # Words and terms

    def word(self, number: int) -> str:
        return self.texts("words")[number]

    def find_word(self, text: str) -> int:
        """Return the number of a word that occurs, `ABSENT` when it does not."""
        return self.keys("words").find(text)

    def term_of_word(self, word: int) -> int:
        return self._item("words.term", word)

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return the first *limit* words, in alphabetical order, that go on after *prefix*.

        There are none for prefixes below 4 characters: too many words begin with them.
        """
        if len(prefix) < SHORTEST_PREFIX:
            return []
        found = (word for word in self.texts("words").beginning_with(prefix) if word != prefix)
        return list(islice(found, limit))

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Return the least number of edits, 1 or 2, to other words that occur, and these words.

        The number is 0 and the words are none when no word is within `allowed_edits`.
        """
        if not self._spellers:
            deletions = self.section("deletions"), self.section("deletions.word")
            pairs = self.section("pairs.key"), self.rows("pairs")
            self._spellers.append(Speller(self.texts("words"), deletions, pairs))
        return self._spellers[0].nearest(word)

    @property
    def grams(self) -> Grams:
        if not self._grams:
            self._grams.append(Grams(self))
        return self._grams[0]

    def term(self, number: int) -> str:
        return self.texts("terms")[number]

    def find_stem(self, text: str) -> int:
        """Return the term that *text* is as the stem of a word that occurs, or `ABSENT`."""
        return self._find_term(text, STEM)

    @property
    def foreign_languages(self) -> tuple[str, ...]:
        """The languages with a table of the lexicon that tools are described in."""
        if not self.has_section(MEANINGS):
            return ()
        languages = self.texts(f"{MEANINGS}.languages")
        return tuple(languages[number] for number in range(len(languages)))

    def meant_by(self, stem: str) -> list[tuple[int, float]]:
        """Return the terms of foreign words that mean an English *stem*, with probabilities."""
        number = self.keys(MEANINGS).find(stem) if self.has_section(MEANINGS) else ABSENT
        if number == ABSENT:
            return []
        scale = (1 << PROBABILITY_BITS) - 1
        packed = self.rows(f"{MEANINGS}.terms")[number].tolist()
        return [(entry >> PROBABILITY_BITS, (entry & scale) / scale) for entry in packed]

    def find_identifier(self, text: str) -> int:
        """Return the term that *text* is as a whole identifier that occurs, or `ABSENT`."""
        return self._find_term(text, IDENTIFIER)

    def word_of_term(self, term: int) -> int:
        """Return the first word in alphabetical order that has a stem, `ABSENT` for identifiers."""
        word = self._item("terms.word", term)
        return ABSENT if word == NONE else word

    def document_frequency(self, term: int) -> int:
        """Return the number of tools that hold a term in their text, or in their hints.

        It is the greater of the two: what one tool gains by a hint makes no word of its text less
        rare.
        """
        return self._item("terms.tools", term)

    def is_only_hinted(self, term: int) -> bool:
        """Return whether no tool holds a term in its text."""
        return bool(self._item("terms.kind", term) & HINTED)

    def postings(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Return the tools that hold a term in order, its impacts there, and in which fields.

        Impacts are saturated BM25F frequencies, in (0, `IMPACT_SCALE`]; bit *n* of the last is
        set for field *n* of `FIELDS`.
        """
        return self._held_terms().of_term(term)

    def impacts(self, term: int) -> dict[int, int] | None:
        """Return the impacts of a term by tool, in order; `None` when they are too many to keep.

        What is given must not be changed.
        """
        held = self._postings
        return (held[0] if held else self._held_terms()).impacts(term)

    def best_impacts(self, credited: tuple[tuple[int, float], ...]) -> dict[int, float] | None:
        """Return the best impact, in [0, 1], of terms with the credit for each, by tool.

        It is `None` where they are too many to keep. What is given must not be changed.
        """
        return self._held_terms().best_impacts(credited)

    def _held_terms(self) -> Postings:
        if not self._postings:
            self._postings.append(Postings(self))
        return self._postings[0]

    def max_impact(self, term: int) -> int:
        return self._item("terms.impact", term)

    def _find_term(self, text: str, kind: int) -> int:
        term = self.keys("terms").find(text)
        return term if term != ABSENT and self._item("terms.kind", term) & kind else ABSENT


def _decoded(data: Buffer) -> tuple[ToolDocument, str | None]:
    from mcpg.documents.model import decode_record  # noqa: PLC0415 - the ranking does without

    try:
        return decode_record(bytes(data))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("a record is broken") from fault
