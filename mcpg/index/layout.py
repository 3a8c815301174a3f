"""The layout of an index file: a header, a table of sections, and the sections themselves.

    header    magic, byte order, versions, length, what it was built from, checksum
    table     for each section its name, place, length, item type and checksum
    sections  flat arrays and texts, each at a multiple of 8 bytes

Numbers stand in the byte order of the machine that wrote the file; another machine tells by the
byte order mark that the file is not for it. Nothing in the file is ever executed or unpickled.

A table of rows of unequal length, texts or lists of numbers, is two sections: *x* holds the rows
one after the other, *x*`.at` where each begins and the last one ends. Tools are numbered in the
order of their ids; sources, groups, reasons, keys, terms and words in the order of their texts.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from zlib import crc32

from mcpg.values import value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    Buffer: TypeAlias = "bytes | memoryview"
    Stamp: TypeAlias = "tuple[int, int, int, int]"

MAGIC = b"mcpg-idx"
FORMAT_VERSION = 9
"""Goes up whenever sections, or the rules by which texts are cut into them, change, and with the
table of operations."""

ITEM_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8, "d": 8}
KEY_SIZE = 32
NO_KEY = bytes(KEY_SIZE)
"""The key of an index that is made of nothing that has a checksum."""
NO_STAMP = (0, 0, 0, 0)

_BYTE_ORDER = 0x01020304
_ALIGNMENT = 8
_MOST_SECTIONS = 1024
# magic, byte order, format version, recipe, number of sections, file length,
# size, times and inode of the source, content key; then the checksum of all this and of the table
_HEADER = struct.Struct("=8sIIIIQQqqQ32s")
_CHECKSUM = struct.Struct("=Q")
# name, item type, place, length, checksum
_ENTRY = struct.Struct("=23scQQQ")
_HEAD_SIZE = _HEADER.size + _CHECKSUM.size


class StaleIndexError(Exception):
    """An index that cannot be used: damaged, foreign, of another version or of other content.

    It never leaves the package: whoever opens an index builds it anew.
    """


@value
class Section:
    """One named array of a file.

    Attributes:
        name: Its name, ASCII, up to 23 characters.
        item_type: Type of its items as in `struct`: `B`, `H`, `I`, `Q` or `d`.
        data: Its bytes.
    """

    name: str
    item_type: str
    data: bytes


@value
class Header:
    """What a file says of itself.

    Attributes:
        key: SHA-256 of what it was built from.
        recipe: Checksum of whatever else its content depends on.
        stamp: Size, times of modification and of status change in nanoseconds, and inode of the
            file it was built from.
    """

    key: bytes
    recipe: int = 0
    stamp: Stamp = NO_STAMP


@value
class Entry:
    """Where a section stands in a file.

    Attributes:
        item_type: Type of its items as in `struct`.
        start: Offset of its first byte.
        end: Offset after its last byte.
        checksum: CRC-32 of its bytes.
    """

    item_type: str
    start: int
    end: int
    checksum: int


def pack(sections: Iterable[Section], header: Header) -> bytes:
    """Write a file of *sections*; they keep their order."""
    sections = list(sections)
    place = _aligned(_HEAD_SIZE + len(sections) * _ENTRY.size)
    parts: list[bytes] = []
    table: list[bytes] = []
    for section in sections:
        size = ITEM_SIZES[section.item_type]
        name = section.name.encode("ascii")
        if len(section.data) % size or len(name) > 23:  # noqa: PLR2004 - as in the entry's format
            raise ValueError(f"section {section.name!r} is no array of {section.item_type!r}")
        kind = section.item_type.encode("ascii")
        table.append(_ENTRY.pack(name, kind, place, len(section.data), crc(section.data)))
        padding = bytes(-len(section.data) % _ALIGNMENT)
        parts += (section.data, padding)
        place += len(section.data) + len(padding)
    gap = bytes(-(_HEAD_SIZE + len(table) * _ENTRY.size) % _ALIGNMENT)
    return b"".join((_head(header, b"".join(table), place), *table, gap, *parts))


def restamped(data: bytes, stamp: Stamp) -> bytes:
    """Return the same file with another stamp of its source."""
    header, _ = unpack(data)
    count = _HEADER.unpack_from(data)[4]
    table = bytes(data[_HEAD_SIZE : _HEAD_SIZE + count * _ENTRY.size])
    head = _head(Header(header.key, header.recipe, stamp), table, len(data))
    return b"".join((head, memoryview(data)[_HEAD_SIZE:]))


def with_section(data: Buffer, section: Section) -> bytes:
    """Return the same file with *section* at its end, in place of one of that name."""
    header, entries = unpack(data)
    kept = [
        Section(name, entry.item_type, bytes(data[entry.start : entry.end]))
        for name, entry in entries.items()
        if name != section.name
    ]
    return pack([*kept, section], header)


def unpack(data: Buffer) -> tuple[Header, dict[str, Entry]]:
    """Read header and table of a file, and check that they are whole and make sense.

    Raises:
        StaleIndexError: They do not, or the file is of another kind, version or machine.
    """
    if len(data) < _HEAD_SIZE or bytes(data[: len(MAGIC)]) != MAGIC:
        raise StaleIndexError("it is no index")
    _, order, version, recipe, count, length, *stamp, key = _HEADER.unpack_from(data)
    if order != _BYTE_ORDER:
        raise StaleIndexError("it was written by a machine of another byte order")
    if version != FORMAT_VERSION:
        raise StaleIndexError(f"it has format {version}, not {FORMAT_VERSION}")
    if length != len(data) or count > _MOST_SECTIONS:
        raise StaleIndexError("it is cut short or has grown")
    table = bytes(data[_HEAD_SIZE : _HEAD_SIZE + count * _ENTRY.size])
    (checksum,) = _CHECKSUM.unpack_from(data, _HEADER.size)
    if len(table) != count * _ENTRY.size or checksum != _checksum(data[: _HEADER.size], table):
        raise StaleIndexError("its header is damaged")
    size, modified, changed, inode = stamp
    return Header(key, recipe, (size, modified, changed, inode)), _entries(table, length)


def crc(data: Buffer) -> int:
    """Return the CRC-32 of *data*."""
    return zlib.crc32(data)


def _head(header: Header, table: bytes, length: int) -> bytes:
    count = len(table) // _ENTRY.size
    versions = (_BYTE_ORDER, FORMAT_VERSION, header.recipe)
    fixed = _HEADER.pack(MAGIC, *versions, count, length, *header.stamp, header.key)
    return fixed + _CHECKSUM.pack(_checksum(fixed, table))


def _checksum(fixed: Buffer, table: bytes) -> int:
    return zlib.crc32(table, zlib.crc32(fixed))


def _entries(table: bytes, length: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    free = _aligned(_HEAD_SIZE + len(table))
    for raw, kind, start, size, checksum in _ENTRY.iter_unpack(table):
        name, item_type = raw.rstrip(b"\0").decode("latin-1"), kind.decode("latin-1")
        item_size = ITEM_SIZES.get(item_type)
        if not item_size or size % item_size or start % _ALIGNMENT or name in entries:
            raise StaleIndexError(f"its section {name!r} makes no sense")
        if start < free or start + size > length:
            raise StaleIndexError(f"its section {name!r} lies where it cannot")
        free = start + size
        entries[name] = Entry(item_type, start, free, checksum)
    return entries


def _aligned(place: int) -> int:
    return place + -place % _ALIGNMENT


def check(data: Buffer, name: str, entry: Entry) -> None:
    """Compare a section's bytes with its checksum.

    Raises:
        StaleIndexError: They differ.
    """
    if crc(data[entry.start : entry.end]) != entry.checksum:
        raise StaleIndexError(f"its section {name!r} is damaged")


def section_sizes(entries: Mapping[str, Entry]) -> dict[str, int]:
    """Return the length of every section in bytes, by name."""
    return {name: entry.end - entry.start for name, entry in entries.items()}


TABLES = {
    # one text for each tool
    "ids": "B",
    "names": "B",
    "titles": "B",
    "summaries": "B",
    # texts with numbers of their own
    "sources": "B",
    "groups": "B",
    "categories": "B",
    "reasons": "B",
    "arguments": "B",
    "fields": "B",
    "keys": "B",
    "phrases": "B",
    "terms": "B",
    "words": "B",
    # for each key, phrase, category or group its tools; for each tool its groups, links, terms of
    # its name, required arguments
    "keys.tools": "I",
    "phrases.tools": "I",
    "categories.tools": "I",
    "members": "I",
    "groups_of": "I",
    "links": "I",
    "names.terms": "I",
    "arguments_of": "I",
    # for each tool the links that reach it; the tools that it provides something to, in order; the
    # provisions that reach it
    "linked_by": "I",
    "provides": "I",
    "provided_by": "I",
    # distinct mappings: coverage, then output field, argument and whether it is required, each
    "mappings": "I",
    # for each term the tools that hold it, for each pair of characters the words
    "postings": "I",
    "pairs": "I",
    # for each tool the 3-grams of its name and description
    "grams_of": "I",
    # for each tool its whole document
    "records": "B",
}

KEYS = ("ids", "keys", "phrases", "terms", "words")
"""The tables of texts that are looked up: a third section, *x*`.slots`, finds their numbers."""

SECTIONS = {
    **TABLES,
    **{f"{name}.at": "I" for name in TABLES},
    **{f"{name}.slots": "I" for name in KEYS},
    "records.at": "Q",
    # for each record its CRC-32
    "records.crc": "I",
    # for each tool; the norm is that of its vector of impacts times idfs, without hints
    "source_of": "I",
    "enabled": "B",
    # for each tool whether it says that it only reads: one of `UNSAID`, `READS`, `WRITES`
    "tools.read_only": "B",
    "tools.norm": "d",
    # for each tool the probability of each kind of operation, in 255ths; all 0 where unknown
    "tools.operation": "B",
    # for each link
    "links.kind": "B",
    "links.weight": "d",
    "links.reason": "I",
    "links.origin": "B",
    "links.mapping": "I",
    # for each provision its weight in hundredths, and its mapping
    "provides.weight": "B",
    "provides.mapping": "I",
    # for each term: what it is, how many tools hold it, its first word, its highest impact
    "terms.kind": "B",
    "terms.tools": "I",
    "terms.word": "I",
    "terms.impact": "H",
    # for each word its term
    "words.term": "I",
    # for each posting: impact, and a bit for each field
    "postings.impact": "H",
    "postings.fields": "H",
    # for each field its mean number of words
    "fields.mean": "d",
    # hashes of words less one character, sorted, and the word of each
    "deletions": "I",
    "deletions.word": "I",
    # pairs of characters in words of one length, sorted
    "pairs.key": "Q",
    # character 3-grams, sorted, and how many tools hold each; for each tool their norm
    "grams": "Q",
    "grams.tools": "I",
    "grams.norm": "d",
    # the language of the descriptions, "" when unknown
    "language": "B",
    # weights for whoever ranks; JSON for people
    "model": "d",
    "meta": "B",
}

OPTIONAL_SECTIONS = {
    # documents of no tool
    "pages": "B",
    "pages.at": "Q",
    # where tools are in other languages: English stems, for each the terms that mean it
    "meanings": "B",
    "meanings.at": "I",
    "meanings.slots": "I",
    "meanings.terms": "Q",
    "meanings.terms.at": "I",
    "meanings.languages": "B",
    "meanings.languages.at": "I",
}

STEM, IDENTIFIER, HINTED = 1, 2, 4
"""What a term is, as bits: the stem of words, a whole identifier, or both; held by hints alone."""

UNSAID, READS, WRITES = 0, 1, 2
"""What a tool says of itself: nothing, that it only reads, or that it does not only read."""

KINDS = ("related", "nextStep")
"""What links say of their targets."""

ORIGINS = ("authored", "observed", "schema", "inferred")
"""Where links come from."""

COVERAGES = ("", "strict", "partial", "optional")
"""How much of what a tool takes another one provides; "" where nobody says."""

MAPPING_WIDTH = 3
"""How many numbers a mapping has for each field, after its coverage."""

HUNDREDTHS = 100

NONE = 0xFFFF_FFFF
"""No tool, or no word."""

IMPACT_SCALE = 0xFFFF
"""The impact of a term that would saturate wholly."""

SUMMARY_LENGTH = 300
"""The most characters of a description that are kept outside its record."""


ABSENT = -1
"""What a look-up gives for something that is not there."""

# Texts that are made to share a hash would otherwise take time with the square of their number.
_MOST_PROBES = 64
# Texts of a table that are all decoded, at some hundred bytes each.
_MOST_DECODED = 32_768


def span(starts: memoryview, number: int) -> tuple[int, int]:
    """Return begin and end of row *number*.

    Raises:
        StaleIndexError: The table has no such row, or the row ends before it begins.
    """
    try:
        start, end = starts[number], starts[number + 1]
    except IndexError as fault:
        raise StaleIndexError("a number leads out of its table") from fault
    if start > end:
        raise StaleIndexError("its rows are out of order")
    return start, end


class Rows:
    """Rows of numbers."""

    __slots__ = ("_end", "_items", "_starts")

    def __init__(self, items: memoryview, starts: memoryview) -> None:
        self._items = items
        self._starts = starts
        self._end = len(items)

    def __len__(self) -> int:
        return max(0, len(self._starts) - 1)

    def __getitem__(self, number: int) -> memoryview:
        starts = self._starts
        try:
            start, end = starts[number], starts[number + 1]
        except IndexError as fault:
            raise StaleIndexError("a number leads out of its table") from fault
        if not start <= end <= self._end:
            raise StaleIndexError("a row leads out of its table")
        return self._items[start:end]

    def holds(self, number: int, key: bytes) -> bool:
        """Return whether row *number* is *key*; most others have another length."""
        starts = self._starts
        try:
            start, end = starts[number], starts[number + 1]
        except IndexError as fault:
            raise StaleIndexError("a number leads out of its table") from fault
        if not start <= end <= self._end:
            raise StaleIndexError("a row leads out of its table")
        return end - start == len(key) and self._items[start:end] == key


class Texts:
    """Texts by number."""

    __slots__ = ("_rows",)

    def __init__(self, data: memoryview, starts: memoryview) -> None:
        self._rows = Rows(data, starts)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> str:
        try:
            return str(self._rows[number], "utf-8", "surrogatepass")
        except UnicodeDecodeError as fault:
            raise StaleIndexError("a text is broken") from fault

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def beginning_with(self, prefix: str) -> Iterator[str]:
        """Return the texts of a sorted table that begin with *prefix*, in order."""
        for number in range(bisect_left(self, prefix), len(self)):
            text = self[number]
            if not text.startswith(prefix):
                return
            yield text


class Keys(Texts):
    """Distinct texts by number, in order, and their numbers by text.

    Numbers are found through a hash table with open addressing: each stands in the first free
    slot from the one that the text's CRC-32 points at. Half of the slots at least are free. A text
    whose first 64 slots are all taken is in none, and found by its place in the order.
    """

    __slots__ = ("_numbers", "_slots")

    def __init__(self, data: memoryview, starts: memoryview, slots: memoryview) -> None:
        super().__init__(data, starts)
        self._slots = slots
        self._numbers: dict[str, int] = {}

    def read_ahead(self) -> None:
        """Decode all texts, unless they are too many to keep: then none is looked up in the file.

        Raises:
            StaleIndexError: One of them is broken.
        """
        if len(self) <= _MOST_DECODED:
            self._numbers = {text: number for number, text in enumerate(self)}

    def find(self, text: str) -> int:
        """Return the number of *text*, `ABSENT` when it is not there."""
        if self._numbers:
            return self._numbers.get(text, ABSENT)
        key = text.encode("utf-8", "surrogatepass")
        slots, rows = self._slots, self._rows
        last = len(slots) - 1
        first = crc32(key)
        for place in range(first, first + min(last, _MOST_PROBES)):
            number = slots[place & last]
            if number == NONE:
                return ABSENT
            if rows.holds(number, key):
                return number
        return self._found_in_order(text)

    def _found_in_order(self, text: str) -> int:
        number = bisect_left(self, text)
        return number if number < len(self) and self[number] == text else ABSENT


def numbered(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
    """Return all texts, sorted, and for each the numbers of those that hold it."""
    holders: dict[str, list[int]] = {}
    for number, texts in enumerate(texts_of):
        for text in dict.fromkeys(texts):
            holders.setdefault(text, []).append(number)
    texts = sorted(holders)
    return texts, [holders[text] for text in texts]


def rows_sections(name: str, rows: Iterable[Sequence[int]], item_type: str = "I") -> list[Section]:
    """Make the sections of `Rows`: *name* and *name*`.at`."""
    from array import array  # noqa: PLC0415 - needed to build, not to search

    items, starts = array(item_type), array("I", [0])
    for row in rows:
        items.extend(row)
        starts.append(len(items))
    return [
        Section(name, item_type, items.tobytes()),
        Section(f"{name}.at", "I", starts.tobytes()),
    ]


def texts_sections(name: str, texts: Iterable[str]) -> list[Section]:
    """Make the sections of `Texts`: *name* and *name*`.at`."""
    return bytes_sections(name, (text.encode("utf-8", "surrogatepass") for text in texts))


def keys_sections(name: str, texts: Sequence[str]) -> list[Section]:
    """Make the sections of `Keys`, whose texts are sorted: *name*, *name*`.at`, *name*`.slots`."""
    from array import array  # noqa: PLC0415 - as above

    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = 1 << (2 * len(parts)).bit_length()
    slots = array("I", [NONE]) * size
    for number, part in enumerate(parts):
        first = crc32(part)
        for place in range(first, first + _MOST_PROBES):
            if slots[place & (size - 1)] == NONE:
                slots[place & (size - 1)] = number
                break
    return [*bytes_sections(name, parts), Section(f"{name}.slots", "I", slots.tobytes())]


def bytes_sections(name: str, parts: Iterable[bytes], offset_type: str = "I") -> list[Section]:
    """Make the sections of rows of bytes: *name* and *name*`.at`."""
    from array import array  # noqa: PLC0415 - as above

    kept, starts, end = [], array(offset_type, [0]), 0
    for part in parts:
        kept.append(part)
        end += len(part)
        starts.append(end)
    return [
        Section(name, "B", b"".join(kept)),
        Section(f"{name}.at", offset_type, starts.tobytes()),
    ]
