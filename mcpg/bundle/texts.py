"""The texts of documents, compressed where they are many.

They are written early in a build and needed late, when a bundle is encoded or a folder is written.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import overload

from mcpg.catalog.model import SourceDocument

_MOST_PLAIN = 32 * 1024 * 1024
_PER_BLOCK = 256 * 1024
_FASTEST = 1


def hold_texts(texts: Iterable[SourceDocument]) -> Sequence[SourceDocument]:
    """Return *texts* as a tuple, or compressed where they have more than 32 million characters."""
    remaining = iter(texts)
    plain: list[SourceDocument] = []
    length = 0
    for text in remaining:
        plain.append(text)
        length += len(text.content)
        if length > _MOST_PLAIN:
            return CompressedTexts(chain(_pop_texts(plain), remaining))
    return tuple(plain)


def _pop_texts(texts: list[SourceDocument]) -> Iterator[SourceDocument]:
    """Return *texts* one by one, none of which is held afterwards."""
    texts.reverse()
    while texts:
        yield texts.pop()


class CompressedTexts(Sequence[SourceDocument]):
    """Texts in compressed blocks; each is decompressed when it is read.

    Args:
        texts: The texts, in the order in which they are read.
    """

    def __init__(self, texts: Iterable[SourceDocument]) -> None:
        self._bare: list[SourceDocument] = []
        self._blocks: list[tuple[bytes, tuple[int, ...]]] = []
        block: list[str] = []
        length = 0
        for text in texts:
            self._bare.append(replace(text, content=""))
            block.append(text.content)
            length += len(text.content)
            if length >= _PER_BLOCK:
                self._add(block)
                block, length = [], 0
        self._add(block)
        self._starts = [*accumulate((len(ends) for _, ends in self._blocks), initial=0)]

    def _add(self, block: list[str]) -> None:
        data = "".join(block).encode("utf-8", "surrogatepass")
        self._blocks.append((zlib.compress(data, _FASTEST), tuple(accumulate(map(len, block)))))

    def _contents(self, block: int) -> Iterator[str]:
        packed, ends = self._blocks[block]
        text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
        return (text[start:end] for start, end in pairwise((0, *ends)))

    def __iter__(self) -> Iterator[SourceDocument]:
        contents = chain.from_iterable(map(self._contents, range(len(self._blocks))))
        for bare, content in zip(self._bare, contents, strict=True):
            yield SourceDocument(bare.path, content, bare.canonical_uri, bare.place)

    def __len__(self) -> int:
        return len(self._bare)

    @overload
    def __getitem__(self, place: int) -> SourceDocument: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[SourceDocument]: ...

    def __getitem__(self, place: int | slice) -> SourceDocument | Sequence[SourceDocument]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        block = bisect_right(self._starts, at) - 1
        content = [*self._contents(block)][at - self._starts[block]]
        return replace(self._bare[at], content=content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
