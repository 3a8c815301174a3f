"""Reading an index, from a memory-mapped file or from bytes alike.

Nothing is read before it is asked for, and nothing that is slow to import is imported before a
whole record is asked for.
"""

from __future__ import annotations

import zlib
from itertools import islice

from mcpg import __version__
from mcpg.index.grams import Grams
from mcpg.index.layout import StaleIndexError, check, crc, section_sizes, unpack
from mcpg.index.names import Names
from mcpg.index.postings import Postings
from mcpg.index.sections import IDENTIFIER, KINDS, NONE, SECTIONS, STEM
from mcpg.index.speller import Speller
from mcpg.index.tables import ABSENT, Keys, Rows, Texts, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from mcpg.documents.model import ToolDocument
    from mcpg.index.layout import Buffer

CHECKED_SIZE = 32 << 20
"""Up to this size, without records, every section is compared with its checksum before use."""

PAGES = "pages"
"""Name of the table of pages, which an index has only where there are any."""

SHORTEST_PREFIX = 4
"""The fewest characters that are completed: too many words begin with fewer."""

# Tools whose edges, and reasons that, are kept once they have been read.
_MOST_REMEMBERED = 16_384
# Records bear a checksum each, because a search reads few of many.
_CHECKED_IN_PARTS = ("records", "records.at", "records.crc")


def recipe_of(recipe: bytes) -> int:
    """Give the number by which a file tells how it was made: by which mcpg, from which recipe."""
    return zlib.crc32(recipe, zlib.crc32(__version__.encode()))


class Index:
    """A compiled index.

    Tools, sources, words, terms and groups go by their numbers, from 0 in the order of their ids
    or texts. Numbers that the index gives are valid in it; whatever is asked, the answer is right,
    or `StaleIndexError` is raised because the file is damaged. May be shared between threads.
    """

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
        searched = sum(section_sizes(self._entries).values()) - self._size("records")
        self._is_checked = searched <= CHECKED_SIZE
        self._views: dict[str, memoryview] = {}
        self._texts: dict[str, Texts] = {}
        self._keys: dict[str, Keys] = {}
        self._rows: dict[str, Rows] = {}
        self._spellers: list[Speller] = []
        self._grams: list[Grams] = []
        self._names: list[Names] = []
        self._edges: dict[int, tuple[tuple[int, int, str, float], ...]] = {}
        self._reasons: dict[int, str] = {}
        self._postings: list[Postings] = []

    @property
    def data(self) -> memoryview:
        """The whole file."""
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
        """Say whether there is a section called *name*."""
        return name in self._entries

    def section(self, name: str) -> memoryview:
        """Give the items of the section called *name*.

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
        """Give the table of texts called *name*."""
        table = self._texts.get(name)
        if table is None:
            table = self._texts[name] = Texts(self.section(name), self.section(f"{name}.at"))
        return table

    def keys(self, name: str) -> Keys:
        """Give the table of texts called *name* that finds the number of a text."""
        table = self._keys.get(name)
        if table is None:
            parts = self.section(name), self.section(f"{name}.at"), self.section(f"{name}.slots")
            table = self._keys[name] = Keys(*parts)
        return table

    def rows(self, name: str) -> Rows:
        """Give the table of rows of numbers called *name*."""
        table = self._rows.get(name)
        if table is None:
            table = self._rows[name] = Rows(self.section(name), self.section(f"{name}.at"))
        return table

    def _size(self, name: str) -> int:
        entry = self._entries[name]
        return entry.end - entry.start

    def _item(self, name: str, number: int) -> int:
        try:
            item: int = self.section(name)[number]
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
        """Give the number of tools."""
        return self._size("enabled")

    def tool_id(self, tool: int) -> str:
        return self.texts("ids")[tool]

    def tool_name(self, tool: int) -> str:
        return self.texts("names")[tool]

    def display_name(self, tool: int) -> str:
        return self.texts("titles")[tool]

    def summary(self, tool: int) -> str:
        """Give the first 300 characters of the description, on one line."""
        return self.texts("summaries")[tool]

    def source_id(self, tool: int) -> str:
        return self.texts("sources")[self._item("source_of", tool)]

    def sources_of(self, tools: Iterable[int]) -> list[int]:
        """Give the number of each tool's source."""
        return self._items("source_of", tools)

    @property
    def language(self) -> str | None:
        """The language of the descriptions, `None` when none is told."""
        try:
            name = bytes(self.section("language")).decode("ascii")
        except UnicodeDecodeError as fault:
            raise StaleIndexError("its language is broken") from fault
        return name or None

    def is_enabled(self, tool: int) -> bool:
        return bool(self._item("enabled", tool))

    def disabled(self) -> Iterator[int]:
        """Give the tools that are off by default."""
        enabled = bytes(self.section("enabled"))
        tool = enabled.find(0)
        while tool >= 0:
            yield tool
            tool = enabled.find(0, tool + 1)

    def find_tool(self, tool_id: str) -> int:
        """Give the number of the tool with that id, `ABSENT` when there is none."""
        return self.keys("ids").find(tool_id)

    def exact(self, key: str) -> tuple[int, ...]:
        """Give the tools with an id, name, title or alias whose joined form is *key*."""
        return self._held("keys", "keys.tools", key)

    def name_terms(self, tool: int) -> memoryview:
        """Give the distinct terms of the tool's name, in its order.

        Words of the source's name are left out, unless the name has no other.
        """
        return self.rows("names.terms")[tool]

    @property
    def names(self) -> Names:
        """The names of tools, term by term."""
        if not self._names:
            self._names.append(Names(self))
        return self._names[0]

    def norms(self, tools: Iterable[int]) -> list[float]:
        """Give the length, above 0, of each tool's vector of impacts times rarities."""
        norms: list[float] = self._items("tools.norm", tools)
        if [norm for norm in norms if not norm > 0]:
            raise StaleIndexError("a tool of it has no length")
        return norms

    def record(self, tool: int) -> ToolDocument:
        """Give the whole document of a tool."""
        return self._record(tool)[0]

    def markdown(self, tool: int) -> str | None:
        """Give the text of the document, `None` when the index was built without."""
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

    def edges(self, tool: int) -> tuple[tuple[int, int, str, float], ...]:
        """Give number, target, kind and weight of the links of a tool that reach another."""
        known = self._edges.get(tool)
        if known is None:
            known = tuple(self._read_edges(tool))
            if len(self._edges) < _MOST_REMEMBERED:
                self._edges[tool] = known
        return known

    def _read_edges(self, tool: int) -> list[tuple[int, int, str, float]]:
        first, end = span(self.section("links.at"), tool)
        targets = self.targets(tool)
        kinds, weights = self.section("links.kind"), self.section("links.weight")
        if end > min(len(kinds), len(weights)):
            raise StaleIndexError("its links are of unequal length")
        links = zip(range(first, end), targets, kinds[first:end], weights[first:end], strict=True)
        return [
            (number, target, KINDS[kind % len(KINDS)], weight)
            for number, target, kind, weight in links
            if target != NONE
        ]

    def targets(self, tool: int) -> memoryview:
        """Give the tools that the links of a tool reach; a number that no tool has for the rest."""
        return self.rows("links")[tool]

    def reason(self, link: int) -> str:
        """Give why a link is there, "" when the document does not say."""
        number = self._item("links.reason", link)
        known = self._reasons.get(number)
        if known is None:
            known = self.texts("reasons")[number]
            if len(self._reasons) < _MOST_REMEMBERED:
                self._reasons[number] = known
        return known

    def groups(self, tool: int) -> memoryview:
        """Give the groups of a tool, in its document's order."""
        return self.rows("groups_of")[tool]

    def group(self, number: int) -> str:
        return self.texts("groups")[number]

    def members(self, group: int) -> memoryview:
        """Give the tools of a group."""
        return self.rows("members")[group]

    # Words and terms

    def word(self, number: int) -> str:
        return self.texts("words")[number]

    def find_word(self, text: str) -> int:
        """Give the number of a word that occurs, `ABSENT` when it does not."""
        return self.keys("words").find(text)

    def term_of_word(self, word: int) -> int:
        """Give the term of a word: its stem."""
        return self._item("words.term", word)

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Give the first *limit* words, in alphabetical order, that go on after *prefix*.

        There are none for prefixes below 4 characters: too many words begin with them.
        """
        if len(prefix) < SHORTEST_PREFIX:
            return []
        found = (word for word in self.texts("words").beginning_with(prefix) if word != prefix)
        return list(islice(found, limit))

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Give the least number of edits, 1 or 2, to other words that occur, and these words.

        The number is 0 and the words are none when no word is within `allowed_edits`.
        """
        if not self._spellers:
            deletions = self.section("deletions"), self.section("deletions.word")
            pairs = self.section("pairs.key"), self.rows("pairs")
            self._spellers.append(Speller(self.texts("words"), deletions, pairs))
        return self._spellers[0].nearest(word)

    @property
    def grams(self) -> Grams:
        """The character 3-grams of tools."""
        if not self._grams:
            self._grams.append(Grams(self))
        return self._grams[0]

    def term(self, number: int) -> str:
        return self.texts("terms")[number]

    def find_stem(self, text: str) -> int:
        """Give the term that *text* is as the stem of a word that occurs, or `ABSENT`."""
        return self._find_term(text, STEM)

    def find_identifier(self, text: str) -> int:
        """Give the term that *text* is as a whole identifier that occurs, or `ABSENT`."""
        return self._find_term(text, IDENTIFIER)

    def word_of_term(self, term: int) -> int:
        """Give the first word in alphabetical order that has a stem, `ABSENT` for identifiers."""
        word = self._item("terms.word", term)
        return ABSENT if word == NONE else word

    def document_frequency(self, term: int) -> int:
        """Give the number of tools that hold a term."""
        return self._held_terms().count(term)

    def postings(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Give the tools that hold a term in order, its impacts there, and in which fields.

        Impacts are saturated BM25F frequencies, in (0, `IMPACT_SCALE`]; bit *n* of the last is
        set for field *n* of `FIELDS`.
        """
        return self._held_terms().of_term(term)

    def impacts(self, term: int) -> dict[int, int] | None:
        """Give the impacts of a term by tool, in order; `None` when they are too many to keep.

        What is given must not be changed.
        """
        return self._held_terms().impacts(term)

    def _held_terms(self) -> Postings:
        if not self._postings:
            self._postings.append(Postings(self))
        return self._postings[0]

    def max_impact(self, term: int) -> int:
        """Give the highest impact of a term."""
        return self._item("terms.impact", term)

    def _find_term(self, text: str, kind: int) -> int:
        term = self.keys("terms").find(text)
        return term if term != ABSENT and self._item("terms.kind", term) & kind else ABSENT

    def _held(self, name: str, holders: str, text: str) -> tuple[int, ...]:
        number = self.keys(name).find(text)
        return () if number == ABSENT else tuple(self.rows(holders)[number])


def _decoded(data: Buffer) -> tuple[ToolDocument, str | None]:
    from mcpg.documents.records import decode_record  # noqa: PLC0415 - the ranking does without

    try:
        return decode_record(bytes(data))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as fault:
        raise StaleIndexError("a record is broken") from fault
