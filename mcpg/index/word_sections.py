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

from mcpg.build_cache import NO_MEMO, Memo, load_memo, save_memo
from mcpg.build_pieces import PieceFile, pieces_at
from mcpg.errors import OutputError
from mcpg.index.analysed import Analysed, analysed_contents
from mcpg.index.fuzzy_sections import Grams, spelling_sections
from mcpg.index.inverted import InvertedFile
from mcpg.index.meanings import Foreign, meaning_sections
from mcpg.index.packing import Section, pieces_of
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


def word_sections(analysed: Iterable[Analysed]) -> WordSections:
    """Make the sections of documents in the order of the ids of their tools, read one by one."""
    grams, operations, foreign = Grams(), bytearray(), list[Foreign]()

    def noted(one: Analysed) -> Analysed:
        nonlocal operations
        grams.add(one.described)
        operations += bytes(one.operation)
        if one.language:
            foreign.append(Foreign(one.language, _own_words(one), one.told))
        return one

    inverted = InvertedFile(map(noted, analysed))

    def sections() -> Iterator[Section]:
        yield from inverted.sections()
        yield from spelling_sections(inverted.words)
        yield from grams.sections()
        yield from meaning_sections(foreign, inverted.term_of, inverted.stem_terms())
        yield Section("language", "B", (inverted.language or "").encode())

    return WordSections(bytes(operations), len(inverted.words), sections())


def _own_words(analysed: Analysed) -> frozenset[str]:
    """Return the words of a document but for those of its hints."""
    fields = (one.words for one in analysed.fields if not HINTS_MASK >> one.field & 1)
    return frozenset[str]().union(*fields)


def remembered_sections(
    path: Path | None, analysed: Callable[[Memo], Iterable[Analysed]]
) -> WordSections:
    """Make the sections of documents.

    Args:
        path: A cache file with the words of documents, renewed here; `None` for none.
        analysed: Returns the words of the documents, as `word_sections` takes them.
    """
    if path is None:
        return word_sections(analysed(NO_MEMO))
    with load_memo(path) as memo:
        made = word_sections(analysed(memo))
        with suppress(OutputError, OSError, ValueError):  # then they are counted again next time
            save_memo(path, memo)
    return made


class Digest:
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


def digest_of(contents: Iterable[bytes]) -> bytes:
    """Return the `Digest` of *contents*."""
    digest = Digest()
    for content in contents:
        digest.add(content)
    return digest.value()


# What one process hands to another.


class Handover:
    """What a process reads that makes sections, and what it leaves: two temporary files.

    Args:
        folder: Where they are.

    Raises:
        OSError: They cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._contents, self._made = PieceFile(folder), PieceFile(folder)
        self._digest = Digest()
        self._found: bytes | None = None

    def noted(self, contents: Iterable[bytes]) -> Iterator[bytes]:
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

    def given(self) -> bytes:
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
    """Make sections as `remembered_sections` does, from what `Handover.given` returned.

    They are left where that says. It is `None` where a word table is missing: who asks has it, or
    reports that.
    """
    place, target = pickle.loads(given)  # noqa: S301 - from the process that started this one
    made = remembered_sections(path, lambda memo: analysed_contents(pieces_at(place), memo))
    table: list[tuple[str, str, int]] = []
    # Once removed, the file is not made anew: nobody would remove it again.
    with target.open("r+b") as file:
        for section in made.sections:
            table.append((section.name, section.item_type, len(section.data)))
            file.writelines(pieces_of(section.data))
    return None if lexicon.faults else pickle.dumps((made.operations, made.words, table))
