"""The layout of an index file: a header, a table of sections, and the sections themselves.

    header    magic, byte order, versions, length, key of the source, checksum
    table     for each section its name, place, length and item type
    checksums of all blocks of 4 KB in the sections
    sections  flat arrays and texts, each at a multiple of 8 bytes

Numbers have the byte order of the machine that wrote the file; other machines reject it by the byte
order mark. Nothing in the file is ever executed or unpickled.

A table of rows of unequal length, texts or lists of numbers, is two sections: *x* has the rows in
order, *x*`.at` the start of each and the end of the last. Tools are numbered in the order of their
ids; sources, groups, reasons, keys, terms and words in the order of their texts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

Buffer: TypeAlias = "bytes | memoryview"
Stamp: TypeAlias = "tuple[int, int, int, int]"


Items: TypeAlias = "memoryview[Any] | CheckedItems"
"""The items of a section: a memory view, or items whose blocks are checked on demand."""

MAGIC = b"mcpg-idx"
FORMAT_VERSION = 12
"""Goes up whenever the layout of a file changes; `RECIPE` covers its content."""

ITEM_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8, "d": 8}
KEY_SIZE = 32
NO_KEY = bytes(KEY_SIZE)
"""The key of an index whose source has no checksum."""
NO_STAMP = (0, 0, 0, 0)

BLOCK_SIZE = 1 << 12
"""Bytes that have a checksum together; the first block begins with the first section."""

BYTE_ORDER = 0x01020304
ALIGNMENT = 8
_MOST_SECTIONS = 1024
# magic, byte order, format version, recipe, number of sections, file length,
# size, times and inode of the source, content key, number of blocks; then the checksum of all this,
# of the table and of the checksums of blocks
HEADER = struct.Struct("=8sIIIIQQqqQ32sQ")
CHECKSUM = struct.Struct("=Q")
# name, item type, place, length
ENTRY = struct.Struct("=23scQQ")
FIXED_SIZE = HEADER.size + CHECKSUM.size


class StaleIndexError(Exception):
    """An index that cannot be used: damaged, foreign, of another version or of other content.

    It never leaves the package: the caller builds the index anew.
    """


class Header(NamedTuple):
    """The metadata of a file.

    Attributes:
        key: SHA-256 of its source.
        recipe: Checksum of everything else that its content depends on.
        stamp: Size, times of modification and of status change in nanoseconds, and inode of the
            source file.
    """

    key: bytes
    recipe: int = 0
    stamp: Stamp = NO_STAMP


class Entry(NamedTuple):
    """The place of a section in a file, and the type of its items as in `struct`."""

    item_type: str
    start: int
    end: int


def unpack(data: Buffer) -> tuple[Header, dict[str, Entry]]:
    """Read header and table of a file, the first `head_size` bytes of *data*, and check them.

    Damaged data, and a file of another kind, version or machine, is a `StaleIndexError`.
    """
    body = head_size(data)
    fixed = HEADER.unpack_from(data)
    recipe, count, length, size, modified, changed, inode, key, _ = fixed[3:]
    tables = bytes(data[FIXED_SIZE:body])
    (checksum,) = CHECKSUM.unpack_from(data, HEADER.size)
    if len(tables) != body - FIXED_SIZE or checksum != crc32(tables, crc32(data[: HEADER.size])):
        raise StaleIndexError("its header is damaged")
    entries: dict[str, Entry] = {}
    free = body
    for raw, kind, start, span in ENTRY.iter_unpack(tables[: count * ENTRY.size]):
        name, item_type = raw.rstrip(b"\0").decode("latin-1"), kind.decode("latin-1")
        item_size = ITEM_SIZES.get(item_type)
        if not item_size or span % item_size or start % ALIGNMENT or name in entries:
            raise StaleIndexError(f"its section {name!r} makes no sense")
        if start < free or start + span > length:
            raise StaleIndexError(f"its section {name!r} has an impossible place")
        free = start + span
        entries[name] = Entry(item_type, start, free)
    return Header(key, recipe, (size, modified, changed, inode)), entries


def head_size(data: Buffer) -> int:
    """Return how many bytes come before the sections, by the first `FIXED_SIZE` bytes of *data*."""
    if len(data) < FIXED_SIZE or bytes(data[: len(MAGIC)]) != MAGIC:
        raise StaleIndexError("it is not an index")
    _, order, version, _, count, length, *_, blocks = HEADER.unpack_from(data)
    if order != BYTE_ORDER:
        raise StaleIndexError("it was written by a machine of another byte order")
    if version != FORMAT_VERSION:
        raise StaleIndexError(f"it has format {version}, not {FORMAT_VERSION}")
    if length != len(data) or count > _MOST_SECTIONS or 4 * blocks > length:
        raise StaleIndexError("it is cut short or has grown")
    body = body_start(count, blocks)
    if body > length or blocks != count_blocks(length - body):
        raise StaleIndexError("it has not one checksum for each block")
    return body


def pack_head(header: Header, tables: bytes, sizes: tuple[int, int, int]) -> bytes:
    """Return all that comes before the sections of a file.

    *tables* are the table of sections and the checksums of blocks, up to the first section; *sizes*
    the number of sections, the length of the file, and the number of blocks.
    """
    count, length, blocks = sizes
    versions = (BYTE_ORDER, FORMAT_VERSION, header.recipe)
    fixed = HEADER.pack(MAGIC, *versions, count, length, *header.stamp, header.key, blocks)
    return fixed + CHECKSUM.pack(crc32(tables, crc32(fixed))) + tables


def restamp_index(data: Buffer, stamp: Stamp) -> bytes:
    """Return the same file with another stamp of its source."""
    header, entries = unpack(data)
    start, checksums = block_table(memoryview(data))
    sizes = len(entries), len(data), len(checksums)
    head = pack_head(header._replace(stamp=stamp), bytes(data[FIXED_SIZE:start]), sizes)
    return b"".join((head, memoryview(data)[start:]))


def block_table(data: memoryview) -> tuple[int, memoryview]:
    """Return where the blocks of a file that can be unpacked begin, and their checksums."""
    fields = HEADER.unpack_from(data)
    count, blocks = fields[4], fields[-1]
    start = FIXED_SIZE + count * ENTRY.size
    return body_start(count, blocks), data[start : start + 4 * blocks].cast("B").cast("I")


def body_start(sections: int, blocks: int) -> int:
    """Return where the first section begins in a file of so many *sections* and *blocks*."""
    return BLOCK_SIZE * count_blocks(FIXED_SIZE + sections * ENTRY.size + 4 * blocks)


def count_blocks(size: int) -> int:
    """Return in how many blocks *size* bytes are."""
    return (size + BLOCK_SIZE - 1) // BLOCK_SIZE


TABLES = {
    # one text for each tool
    **dict.fromkeys(("ids", "names", "titles", "summaries"), "B"),
    # numbered texts
    **dict.fromkeys(("sources", "groups", "categories", "reasons", "arguments", "fields"), "B"),
    **dict.fromkeys(("keys", "phrases", "terms", "words"), "B"),
    # for each key, phrase, category or group its tools; for each tool its groups, links, terms of
    # its name, required arguments
    **dict.fromkeys(("keys.tools", "phrases.tools", "categories.tools", "members"), "I"),
    **dict.fromkeys(("groups_of", "links", "names.terms", "arguments_of"), "I"),
    # for each tool the links that reach it; the tools that it provides something to, in order; the
    # provisions that reach it
    **dict.fromkeys(("linked_by", "provides", "provided_by"), "I"),
    # distinct mappings: coverage, then output field, argument and whether it is required, each
    "mappings": "I",
    # for each term its tools, for each pair of characters its words
    **dict.fromkeys(("postings", "pairs"), "I"),
    # for each tool the 3-grams of its name and description
    "grams_of": "HI",
    # for each tool its whole document, compressed
    "records": "B",
}

KEYS = ("ids", "keys", "phrases", "terms", "words")
"""The tables of texts that are looked up: a third section, *x*`.slots`, finds their numbers."""

SECTIONS = {
    # each with the types that its items may have
    **TABLES,
    **{f"{name}.at": "I" for name in TABLES},
    **{f"{name}.slots": "I" for name in KEYS},
    "records.at": "Q",
    # for each record its CRC-32 before it is compressed; their common texts, to compress them
    "records.crc": "I",
    "records.dictionary": "B",
    # for each tool the number of its document in the bundle
    "tools.place": "I",
    # for each tool its source, whether it is enabled, whether it only reads (one of `UNSAID`,
    # `READS`, `WRITES`), and the norm of its vector of impacts times idfs, without hints
    "source_of": "I",
    "enabled": "B",
    "tools.read_only": "B",
    "tools.norm": "d",
    # for each tool the probability of each kind of operation, in 255ths; all 0 where unknown
    "tools.operation": "B",
    # for each tool the vector of its meaning, numbers with a sign; all 0 where unknown
    "tools.meaning": "B",
    # for each link
    "links.kind": "B",
    "links.weight": "d",
    "links.reason": "I",
    "links.origin": "B",
    "links.mapping": "I",
    # for each provision its weight in hundredths, and its mapping
    "provides.weight": "B",
    "provides.mapping": "I",
    # for each term: its kind, number of tools, first word, highest impact
    "terms.kind": "B",
    "terms.tools": "I",
    "terms.word": "I",
    "terms.impact": "H",
    # for each word its term
    "words.term": "I",
    # numbers of English stems in the lexicon, sorted: those that are a term, or that foreign words
    # mean; for each its term, or `NONE`
    "stems": "H",
    "stems.term": "I",
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
    # character 3-grams, sorted, and the number of tools of each; for each tool their norm
    "grams": "Q",
    "grams.tools": "I",
    "grams.norm": "d",
    # the language of the descriptions, "" if unknown; weights for the ranking; JSON for readers
    "language": "B",
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
"""The kind of a term, as bits: the stem of words, a whole identifier, or both; only in hints."""

UNSAID, READS, WRITES = 0, 1, 2
"""The read-only hint of a tool: none, it only reads, or it does not only read."""

PAGES = "pages"
"""Name of the table of pages, which an index has only where there are any."""

MEANINGS = "meanings"
"""Name of the table of English stems, which only an index with foreign words has."""

PROBABILITY_BITS = 8
"""The lowest bits of an entry of that table are its probability, the others its term."""

KINDS = ("related", "nextStep")
"""The kinds of links."""

ORIGINS = ("authored", "observed", "schema", "inferred")
"""Where links come from."""

COVERAGES = ("", "strict", "partial", "optional")
"""How much of a tool's input another tool provides; "" if unknown."""

MAPPING_WIDTH = 3
"""How many numbers a mapping has for each field, after its coverage."""

HUNDREDTHS = 100

NAMED = "\0"
"""The mark before a name that is empty or begins with the mark: an empty text means the id."""

NONE = 0xFFFF_FFFF
"""No tool, no word, or no term."""

IMPACT_SCALE = 0xFFFF
"""The impact of a fully saturated term."""

SUMMARY_LENGTH = 300
"""The most characters of a description that are kept outside its record."""


ABSENT = -1
"""The result of a look-up for a missing item."""

Read: TypeAlias = Callable[[int, int], bytes]

_BLOCK_BITS = BLOCK_SIZE.bit_length() - 1


class Blocks:
    """The blocks of a file that can be unpacked.

    *read* returns that many bytes of it from an offset, to be written to *data* before they are
    compared; without, they are there already.

    Attributes:
        start: Offset of the first block.
        unread: For each block whether it has yet to be compared.
    """

    __slots__ = ("_checksums", "_data", "_read", "start", "unread")

    def __init__(self, data: memoryview, read: Read | None = None) -> None:
        self._data = data
        self._read = read
        self.start, self._checksums = block_table(data)
        self.unread = bytearray(b"\1") * len(self._checksums)

    def check(self, start: int, end: int) -> None:
        """Check the blocks with the bytes from *start* to *end*, each once."""
        unread = self.unread
        last = count_blocks(end - self.start)
        first = unread.find(1, (start - self.start) // BLOCK_SIZE, last)
        while first >= 0:
            after = unread.find(0, first, last)
            after = last if after < 0 else after
            place = self.start + first * BLOCK_SIZE
            until = min(self.start + after * BLOCK_SIZE, len(self._data))
            if self._read:
                read = self._read(place, until - place)
                if len(read) != until - place:
                    raise StaleIndexError("it was cut short")
                self._data[place:until] = read
            for block in range(first, after):
                part = self._data[place : min(place + BLOCK_SIZE, until)]
                if crc32(part) != self._checksums[block]:
                    raise StaleIndexError("a block of it is damaged")
                unread[block] = 0
                place += BLOCK_SIZE
            first = unread.find(1, first, last)

    def verify(self, start: int, end: int) -> None:
        """Compare them, also those that have been compared before; raise as `check` does."""
        first, last = (start - self.start) // BLOCK_SIZE, count_blocks(end - self.start)
        self.unread[first:last] = b"\1" * len(range(first, last))
        self.check(start, end)


class CheckedItems:
    """The items of a section, whose blocks are compared with their checksums when they are read."""

    __slots__ = ("_blocks", "_first", "_items", "_shift", "_start", "_unread", "_width")

    def __init__(self, items: memoryview, entry: Entry, blocks: Blocks) -> None:
        self._items = items
        self._blocks = blocks
        self._unread = blocks.unread
        self._start = entry.start
        self._width = items.itemsize
        # Sections begin at multiples of 8 bytes, so that no item is in two blocks.
        self._first = (entry.start - blocks.start) // items.itemsize
        self._shift = _BLOCK_BITS - items.itemsize.bit_length() + 1

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any, /) -> Any:
        items = self._items
        if key.__class__ is slice:
            start, end, _ = key.indices(len(items))
            if start < end:
                self._check(start, end)
            return items[key]
        item = items[key]
        place = key if key >= 0 else key + len(items)
        if self._unread[(self._first + place) >> self._shift]:
            self._check(place, place + 1)
            return items[key]
        return item

    def _check(self, start: int, end: int) -> None:
        width = self._width
        self._blocks.check(self._start + start * width, self._start + end * width)


# Less memory is faster for texts as short as records, and a window of 16 KB reaches as far back.
_WINDOW, _MEMORY = -14, 6
_SAMPLES, _SAMPLE_LENGTH = 8, 1_024
# Longer records are stored as they are, so that no file is unpacked to much more than its length.
_LONGEST_COMPRESSED = 4 << 20


def sample_dictionary(record_of: Callable[[int], bytes], size: int) -> bytes:
    """Return what to compress *size* records with: the beginnings of some, evenly spread."""
    count = min(_SAMPLES, size)
    places = (number * size // count for number in range(count))
    return b"".join(record_of(place)[:_SAMPLE_LENGTH] for place in places)


def own_dictionary(dictionary: Buffer, texts: Iterable[Buffer]) -> bytes:
    """Return the dictionary for one record, whose tool has *texts* in other sections."""
    return b"\n".join((dictionary, *texts))


def compress_record(record: bytes, dictionary: bytes) -> bytes:
    """Return *record* as it is kept."""
    is_long = len(record) > _LONGEST_COMPRESSED
    level = zlib.Z_NO_COMPRESSION if is_long else zlib.Z_DEFAULT_COMPRESSION
    compressor = zlib.compressobj(level, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=dictionary)
    return compressor.compress(record) + compressor.flush()


def decompress_record(data: Buffer, dictionary: bytes, checksum: int) -> bytes:
    """Return the record stored as *data*."""
    bound = max(len(data), _LONGEST_COMPRESSED)
    try:
        decompressor = zlib.decompressobj(_WINDOW, zdict=dictionary)
        record = decompressor.decompress(data, bound)
    except zlib.error as fault:
        raise StaleIndexError("a record is damaged") from fault
    if not decompressor.eof or zlib.crc32(record) != checksum:
        raise StaleIndexError("a record is damaged")
    return record
