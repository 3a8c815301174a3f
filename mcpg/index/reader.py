"""Reading an index, from a memory-mapped file or from bytes alike.

Nothing is read before it is asked for, nor is what reads it imported: a list of tools needs neither
postings nor an analysis of texts.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import Any

from mcpg import __version__
from mcpg.catalog.model import ToolView
from mcpg.documents.model import ToolDocument
from mcpg.index.layout import (
    ABSENT,
    BLOCK_SIZE,
    HINTED,
    IDENTIFIER,
    NAMED,
    NONE,
    OPTIONAL_SECTIONS,
    SECTIONS,
    STEM,
    Blocks,
    Buffer,
    CheckedItems,
    Entry,
    Items,
    Read,
    StaleIndexError,
    section_sizes,
    unpack,
)
from mcpg.index.lookups import Grams, NameTable, Postings, Speller
from mcpg.index.tables import KeyTable, LinkTables, RowTable, TextTable

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

# To compare so many bytes takes as long as a few dozen questions for one item.
_READ_WHOLE = 10 * BLOCK_SIZE
# Records bear a checksum each, because a search reads few of many.
_CHECKED_IN_PARTS = ("records", "records.at", "records.crc", "records.dictionary")
# What else holds the text of a record, which is compressed with it.
_RECORD_TEXTS = ("ids", "titles", "summaries")
_BROKEN = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


def hash_recipe(recipe: bytes) -> int:
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

    def __init__(self, data: Buffer, *, in_blocks: bool = False, read: Read | None = None) -> None:
        """Open an index.

        Args:
            data: The file.
            in_blocks: Whether it is compared with its checksums block by block as it is read,
                which is right for a few questions, in place of section by section.
            read: Returns a number of bytes of the file from an offset, where *data* has room for
                all of it but holds only its head yet; with it, *in_blocks* must be set.

        Raises:
            StaleIndexError: *data* is no whole index of this version.
        """
        self._data = memoryview(data)
        self.header, self._entries = unpack(self._data)
        for name, item_type in SECTIONS.items():
            if name not in self._entries or self._entries[name].item_type not in item_type:
                raise StaleIndexError(f"it has no section {name!r}")
        for name, item_type in OPTIONAL_SECTIONS.items():
            if name in self._entries and self._entries[name].item_type != item_type:
                raise StaleIndexError(f"its section {name!r} has items of another type")
        searched = sum(section_sizes(self._entries).values()) - self._size("records")
        self._in_blocks = in_blocks
        self._is_checked = in_blocks or searched <= CHECKED_SIZE
        self._blocks = Blocks(self._data, read)
        self._items: dict[str, Items] = {}
        self._views: dict[str, memoryview] = {}
        self._texts: dict[str, TextTable] = {}
        self._keys: dict[str, KeyTable] = {}
        self._rows: dict[str, RowTable] = {}
        self._spellers: list[Speller] = []
        self._grams: list[Grams] = []
        self._names: list[NameTable] = []
        self._relations: list[LinkTables] = []
        self._postings: list[Postings] = []
        self._foreign: tuple[str, ...] | None = None

    @property
    def data(self) -> memoryview:
        """The whole file."""
        if self._in_blocks:
            self._blocks.check(self._blocks.start, len(self._data))
        return self._data

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return len(self._data)

    @property
    def is_checked(self) -> bool:
        """Whether everything is compared with its checksums before its first use."""
        return self._is_checked

    def verify(self, *, records: bool = True) -> None:
        """Compare every section with its checksums, or all but those of *records*.

        Raises:
            StaleIndexError: One is damaged.
        """
        for name, entry in self._entries.items():
            if records or name not in _CHECKED_IN_PARTS:
                self._check(name, entry, self._blocks.verify)

    def _check(self, name: str, entry: Entry, check: Callable[[int, int], None]) -> None:
        try:
            check(entry.start, entry.end)
        except StaleIndexError as fault:
            raise StaleIndexError(f"its section {name!r} is damaged") from fault

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
            if self._in_blocks:
                self._check(name, self._entry(name), self._blocks.check)
            elif self._is_checked and name not in _CHECKED_IN_PARTS:
                # A block may have been damaged since another section of it was compared.
                self._check(name, self._entry(name), self._blocks.verify)
            view = self._views[name] = self._view(name)
        return view

    def items(self, name: str) -> Items:
        """Return the items of the section called *name*, to read some of them.

        Raises:
            StaleIndexError: There is none, or it is damaged; damage may show only when an item is
                read.
        """
        items = self._items.get(name)
        if items is None:
            is_whole = not self._in_blocks or self._size(name) <= _READ_WHOLE
            items = self.section(name) if is_whole else self._in_parts(name)
            self._items[name] = items
        return items

    def _in_parts(self, name: str) -> CheckedItems:
        return CheckedItems(self._view(name), self._entry(name), self._blocks)

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise StaleIndexError(f"it has no section {name!r}")
        return entry

    def _view(self, name: str) -> memoryview:
        entry = self._entry(name)
        return self._data[entry.start : entry.end].cast("B").cast(entry.item_type)  # type: ignore[call-overload, no-any-return]

    def texts(self, name: str) -> TextTable:
        table = self._texts.get(name)
        if table is None:
            table = self._texts[name] = TextTable(self.items(name), self.items(f"{name}.at"))
        return table

    def keys(self, name: str) -> KeyTable:
        """Return the table of texts called *name* that finds the number of a text."""
        table = self._keys.get(name)
        if table is None:
            parts = self.items(name), self.items(f"{name}.at"), self.items(f"{name}.slots")
            table = self._keys[name] = KeyTable(*parts)
        return table

    def rows(self, name: str) -> RowTable:
        table = self._rows.get(name)
        if table is None:
            table = self._rows[name] = RowTable(self.items(name), self.items(f"{name}.at"))
        return table

    def _size(self, name: str) -> int:
        entry = self._entry(name)
        return entry.end - entry.start

    def _item(self, name: str, number: int) -> int:
        items = self._items.get(name)
        try:
            item: int = (self.items(name) if items is None else items)[number]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault
        return item

    def _some(self, name: str, numbers: Iterable[int]) -> list[Any]:
        items = self.items(name)
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

        Of tools that follow each other, that is quicker than each by itself.
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

    @property
    def categories(self) -> TextTable:
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
        from mcpg.text.words import LANGUAGES  # noqa: PLC0415 - a list of tools analyses no text

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
    def names(self) -> NameTable:
        if not self._names:
            from mcpg.index.lookups import NameTable  # noqa: PLC0415 - as above

            self._names.append(NameTable(self))
        return self._names[0]

    def norms(self, tools: Iterable[int]) -> list[float]:
        """Return the length, above 0, of each tool's vector of impacts times rarities.

        It is that of the tool's text: what hints hold lengthens no vector.
        """
        norms: list[float] = self._some("tools.norm", tools)
        if [norm for norm in norms if not norm > 0]:
            raise StaleIndexError("a tool of it has no length")
        return norms

    def operations(self, tools: Iterable[int]) -> list[bytes]:
        """Return how likely each tool does each kind of operation; all 0 where unknown."""
        from mcpg.text import operations  # noqa: PLC0415 - as above

        shares, count = self.section("tools.operation"), len(operations.KINDS)
        if len(shares) != count * len(self):
            raise StaleIndexError("its operations are of unequal length")
        return [bytes(shares[count * tool : count * (tool + 1)]) for tool in tools]

    def record(self, tool: int) -> ToolDocument:
        return self._record(tool)[0]

    def markdown(self, tool: int) -> str | None:
        """Return the text of the document, `None` when the index was built without."""
        return self._record(tool)[1]

    def view(self, tool: int) -> ToolView:
        """Return what lists show of a tool."""
        from mcpg.catalog.model import record_view  # noqa: PLC0415 - the ranking does without
        from mcpg.text.json_values import read_json  # noqa: PLC0415 - as above

        try:
            text = str(self._record_data(tool), "utf-8", "surrogatepass")
            return record_view(read_json(text)["tool"])
        except _BROKEN as fault:
            raise StaleIndexError("a record is broken") from fault

    def pages(self) -> list[ToolDocument]:
        """Return the documents of no tool, in order of their paths."""
        if not self.has_section(PAGES):
            return []
        rows = self.rows(PAGES)
        return [_decode_document(rows[number])[0] for number in range(len(rows))]

    def _record(self, tool: int) -> tuple[ToolDocument, str | None]:
        return _decode_document(self._record_data(tool))

    def _record_data(self, tool: int) -> bytes:
        from mcpg.index.layout import decompress_record, own_dictionary  # noqa: PLC0415 - as above

        texts = (self.rows(name)[tool] for name in _RECORD_TEXTS)
        dictionary = own_dictionary(self.section("records.dictionary"), texts)
        data = self.rows("records")[tool]
        return decompress_record(data, dictionary, self._item("records.crc", tool))

    def place(self, tool: int) -> int:
        """Return the number of the tool's document among those of the bundle, pages included."""
        return self._item("tools.place", tool)

    # Relations

    @property
    def relations(self) -> LinkTables:
        if not self._relations:
            from mcpg.index.tables import LinkTables  # noqa: PLC0415 - as above

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
            from mcpg.index.lookups import Speller  # noqa: PLC0415 - most words are spelt right

            deletions = self.items("deletions"), self.items("deletions.word")
            pairs = self.items("pairs.key"), self.rows("pairs")
            self._spellers.append(Speller(self.texts("words"), deletions, pairs))
        return self._spellers[0].nearest(word)

    @property
    def grams(self) -> Grams:
        if not self._grams:
            from mcpg.index.lookups import Grams  # noqa: PLC0415 - as above

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
        if self._foreign is None:
            has_any = self.has_section(MEANINGS)
            self._foreign = tuple(self.texts(f"{MEANINGS}.languages")) if has_any else ()
        return self._foreign

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
        from mcpg.text import lexicon  # noqa: PLC0415 - most catalogues are in English

        return [*found, *self.meant_by(lexicon.read_stem(number))]

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

    def document_frequencies(self, terms: Iterable[int]) -> list[int]:
        return self._some("terms.tools", terms)

    def is_only_hinted(self, term: int) -> bool:
        """Return whether no tool holds a term in its text."""
        return bool(self._item("terms.kind", term) & HINTED)

    def postings(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Return the tools that hold a term in order, its impacts there, and in which fields.

        Impacts are saturated BM25F frequencies, in (0, `IMPACT_SCALE`]; bit *n* of the last is
        set for field *n* of `FIELDS`.
        """
        return self._held_terms().of_term(term)

    def find_holders(self, term: int, field: str) -> Iterator[int]:
        """Yield the tools that hold *term* in a *field* of `FIELDS`; none hold `ABSENT`."""
        if term == ABSENT:
            return
        from mcpg.index.scoring import FIELDS  # noqa: PLC0415 - as above

        tools, _, fields = self.postings(term)
        yield from compress(tools, map((1 << FIELDS.index(field)).__and__, fields))

    def impacts(self, term: int) -> dict[int, int] | None:
        """Return the impacts of a term by tool, in order; `None` when they are too many to keep.

        What is given must not be changed.
        """
        held = self._postings
        return (held[0] if held else self._held_terms()).impacts(term)

    def fields(self, tool: int, words: Iterable[tuple[tuple[int, float], ...]]) -> int:
        """Return a bit for every field of *tool* in which terms that *words* stand for occur.

        Each word has the terms with the credit for each; bit *n* is that of field *n* of `FIELDS`.
        """
        return self._held_terms().fields(tool, words)

    def best_impacts(self, credited: tuple[tuple[int, float], ...]) -> dict[int, float] | None:
        """Return the best impact, in [0, 1], of terms with the credit for each, by tool.

        It is `None` where they are too many to keep. What is given must not be changed.
        """
        return self._held_terms().best_impacts(credited)

    def _held_terms(self) -> Postings:
        if not self._postings:
            from mcpg.index.lookups import Postings  # noqa: PLC0415 - as above

            self._postings.append(Postings(self))
        return self._postings[0]

    def field_means(self) -> memoryview:
        """Return the mean number of words in each of `FIELDS`."""
        from mcpg.index.scoring import FIELDS  # noqa: PLC0415 - as above

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
    from mcpg.documents.model import decode_record  # noqa: PLC0415 - the ranking does without

    try:
        return decode_record(bytes(data))
    except _BROKEN as fault:
        raise StaleIndexError("a record is broken") from fault
