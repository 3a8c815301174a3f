"""The sections of an index that are made of the words of documents, whatever relates these.

They depend on the contents of the documents alone, see `encode_content`, and so can be made in
another process while this one relates the tools and writes their documents.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from mcpg.build_cache import NO_BUILD_CACHE, BuildCache, load_build_cache, save_build_cache
from mcpg.build_pieces import ChunkFile, read_chunks
from mcpg.errors import OutputError
from mcpg.index.analysed import DocumentTerms, analyse_contents
from mcpg.index.fuzzy_sections import GramCollector, spelling_sections
from mcpg.index.inverted import InvertedFile
from mcpg.index.meanings import ForeignTool, meaning_sections
from mcpg.index.packing import Section, iter_pieces
from mcpg.index.scoring import HINTS_MASK
from mcpg.index.spooled import StoredPieces
from mcpg.text import lexicon


class WordSections(NamedTuple):
    """What an index takes from the words of its documents.

    Attributes:
        operations: The probabilities of kinds of operation, one tool after the other.
        words: The number of words that occur.
        sections: The sections of terms, words, postings, spelling, 3-grams, stems, meanings and
            language, each made when it is asked for.
    """

    operations: bytes
    words: int
    sections: Iterable[Section]


def word_sections(analysed: Iterable[DocumentTerms]) -> WordSections:
    """Make the sections of documents in the order of the ids of their tools, read one by one."""
    grams, operations, foreign = GramCollector(), bytearray(), list[ForeignTool]()

    def note_document(one: DocumentTerms) -> DocumentTerms:
        nonlocal operations
        grams.add(one.described)
        operations += bytes(one.operation)
        if one.language:
            foreign.append(ForeignTool(one.language, _own_words(one), one.told))
        return one

    inverted = InvertedFile(map(note_document, analysed))

    def sections() -> Iterator[Section]:
        yield from inverted.sections()
        yield from spelling_sections(inverted.words)
        yield from grams.sections()
        yield from meaning_sections(foreign, inverted.find_term, inverted.stem_terms())
        yield Section("language", "B", (inverted.language or "").encode())

    return WordSections(bytes(operations), len(inverted.words), sections())


def _own_words(analysed: DocumentTerms) -> frozenset[str]:
    """Return the words of a document but for those of its hints."""
    fields = (one.words for one in analysed.fields if not HINTS_MASK >> one.field & 1)
    return frozenset[str]().union(*fields)


def make_cached_sections(
    path: Path | None, analysed: Callable[[BuildCache], Iterable[DocumentTerms]]
) -> WordSections:
    """Make the sections of documents.

    Args:
        path: A cache file with the words of documents, renewed here; `None` for none.
        analysed: Returns the words of the documents, as `word_sections` takes them.
    """
    if path is None:
        return word_sections(analysed(NO_BUILD_CACHE))
    with load_build_cache(path) as memo:
        made = word_sections(analysed(memo))
        with suppress(OutputError, OSError, ValueError):  # then they are counted again next time
            save_build_cache(path, memo)
    return made


class ContentDigest:
    """A digest of contents, such as those of documents, and of their order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, content: bytes) -> None:
        """Add the next content."""
        self._digest.update(b"%d " % len(content))
        self._digest.update(content)

    def value(self) -> bytes:
        """Return the digest of what was added."""
        return self._digest.digest()


def digest_contents(contents: Iterable[bytes]) -> bytes:
    """Return the `Digest` of *contents*."""
    digest = ContentDigest()
    for content in contents:
        digest.add(content)
    return digest.value()


# What one process hands to another.


class WorkerFiles:
    """What a process reads that makes sections, and what it leaves: two temporary files.

    Args:
        folder: Where they are.

    Raises:
        OSError: They cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._contents, self._made = ChunkFile(folder), ChunkFile(folder)
        self._digest = ContentDigest()
        self._found: bytes | None = None

    def write_contents(self, contents: Iterable[bytes]) -> Iterator[bytes]:
        """Hand over *contents*, those of documents, and return them.

        Raises:
            OSError: There is no room for them.
        """
        for content in contents:
            self._contents.add(content)
            self._digest.add(content)
            yield content

    @property
    def key(self) -> bytes:
        """The digest of the contents."""
        return self._digest.value()

    def pack_arguments(self) -> bytes:
        """Return what `make_sections` takes.

        Raises:
            OSError: There is no room for the contents.
        """
        return pickle.dumps((self._contents.since(), self._made.path))

    def keep(self, _: bytes, found: bytes) -> None:
        """Take what `make_sections` returned."""
        self._found = found

    def sections(self) -> WordSections | None:
        """Return the sections that a process has left, `None` where none has."""
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
        """Remove the files; sections that are not read yet are lost."""
        self._contents.close()
        self._made.close()


def make_sections(path: Path | None, given: bytes) -> bytes | None:
    """Make sections as `make_cached_sections` does, from what `Handover.given` returned.

    They are left where that says. It is `None` where a word table is missing: who asks has it, or
    reports that.
    """
    place, target = pickle.loads(given)  # noqa: S301 - from the process that started this one
    made = make_cached_sections(path, lambda memo: analyse_contents(read_chunks(place), memo))
    table: list[tuple[str, str, int]] = []
    # Once removed, the file is not made anew: nobody would remove it again.
    with target.open("r+b") as file:
        for section in made.sections:
            table.append((section.name, section.item_type, len(section.data)))
            file.writelines(iter_pieces(section.data))
    return None if lexicon.faults else pickle.dumps((made.operations, made.words, table))
