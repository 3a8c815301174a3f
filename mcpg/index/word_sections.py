"""The sections of an index that are made of the words of documents, whatever relates these.

They depend on the contents of the documents alone, see `encode_content`, and so can be made in
another process while this one relates the tools and writes their documents.
"""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from mcpg.build_cache import NO_MEMO, Memo, load_memo, save_memo
from mcpg.errors import OutputError
from mcpg.index.analysed import Analysed, analysed_contents
from mcpg.index.fuzzy_sections import Grams, spelling_sections
from mcpg.index.inverted import InvertedFile
from mcpg.index.meanings import Foreign, meaning_sections
from mcpg.index.packing import Section, pieces_of
from mcpg.index.scoring import HINTS_MASK
from mcpg.text import lexicon

if TYPE_CHECKING:
    from pathlib import Path


class WordSections(NamedTuple):
    """What an index takes from the words of its documents.

    Attributes:
        operations: The probabilities of kinds of operation, one tool after the other.
        words: The number of words that occur.
        sections: The sections of terms, words, postings, spelling, 3-grams, stems, meanings and
            language.
    """

    operations: bytes
    words: int
    sections: Sequence[Section]


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

    return WordSections(bytes(operations), len(inverted.words), [*sections()])


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


def digest_of(contents: Iterable[bytes]) -> bytes:
    """Return a digest of *contents*, such as those of documents, and of their order."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(b"%d " % len(content))
        digest.update(content)
    return digest.digest()


# What one process hands to another.


def given_of(contents: Sequence[bytes]) -> bytes:
    """Return what `make_sections` takes."""
    return marshal.dumps([*contents])


def make_sections(path: Path | None, given: bytes) -> bytes | None:
    """Make what `sections_of` reads, as `remembered_sections` does, from what `given_of` returned.

    It is `None` where a word table is missing: who asks has it, or reports that.
    """
    contents = marshal.loads(given)  # noqa: S302 - from the process that started this one
    made = remembered_sections(path, partial(analysed_contents, contents))
    if lexicon.faults:
        return None
    table = [(one.name, one.item_type, len(one.data)) for one in made.sections]
    head = json.dumps((len(made.operations), made.words, table)).encode()
    pieces = chain.from_iterable(pieces_of(one.data) for one in made.sections)
    return b"".join((head, b"\n", made.operations, *pieces))


def sections_of(data: bytes) -> WordSections:
    """Read what `make_sections` returned."""
    end = data.index(b"\n")
    length, words, table = json.loads(data[:end])
    parts = _cut(memoryview(data)[end + 1 :])
    operations = bytes(parts(length))
    sections = [Section(name, kind, parts(size)) for name, kind, size in table]
    return WordSections(operations, words, sections)


def _cut(data: memoryview) -> Callable[[int], memoryview]:
    """Return a function that returns the next so many bytes of *data*."""
    place = 0

    def following(size: int) -> memoryview:
        nonlocal place
        place += size
        return data[place - size : place]

    return following
