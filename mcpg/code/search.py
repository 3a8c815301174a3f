"""Search of source code: the symbols of a code graph that a name or a text means.

Symbols are looked for with the parts that rank tools, BM25F over weighted fields, but without an
index: a scan of folded texts, which runs in C, finds the few symbols that hold a word, and only
these are cut into words. A code graph of 12,000 symbols is searched in milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from math import fsum

from mcpg.ask.model import CodeScope
from mcpg.code.graph import CodeGraph, LocatedSymbol
from mcpg.code.model import ENTRY_TYPE, SymbolKind, read_body
from mcpg.documents.model import ToolDocument
from mcpg.index.recipe import (
    FieldParameters,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.text import fold, joined, split_words, stem, stop_words_in, strip_accents
from mcpg.text.spelling import allowed_edits, edit_distance, signature

DEFAULT_LIMIT = 50
EVERY_KIND = frozenset(SymbolKind)

_FIELDS = {
    "name": FieldParameters(3.0, 0.75),
    "parents": FieldParameters(1.0, 0.5),
    "path": FieldParameters(0.75, 0.5),
    "signature": FieldParameters(0.5, 0.5),
    "documentation": FieldParameters(1.0, 0.5),
}
# Identifiers abbreviate: "auth" stands for "authentication". Prose does not.
_IDENTIFIERS = frozenset({"name", "parents", "path"})
_SHORTEST_PREFIX = 4
_PREFIX_CREDIT = 0.5
_EDIT_CREDIT = 0.8
_MOST_WORDS = 32
_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A symbol that was found.

    Attributes:
        definition: The symbol.
        score: How well it fits, in [0, 1]; 1 for its own name.
        words: The words of the query that it holds, or the name that it was found by.
    """

    definition: LocatedSymbol
    score: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a query.

    Attributes:
        text: The folded word.
        holders: The symbols that hold it, each with the weighted number of times.
    """

    text: str
    holders: Mapping[int, float]


class CodeSearch:
    """Searches a code graph; what was read once is kept.

    Attributes:
        graph: The graph.
    """

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._counts: dict[str, Counter[str]] = {}

    @classmethod
    def of_pages(cls, pages: Iterable[ToolDocument]) -> CodeSearch:
        """Return the search of the source files among *pages*."""
        facts = ((page.further, page.body) for page in pages)
        files = (
            read_body(further.get("code"), body)
            for further, body in facts
            if further.get("entry_type") == ENTRY_TYPE
        )
        return cls(CodeGraph(file for file in files if file is not None))

    def find_named_symbols(
        self,
        name: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by their name: as it is, written otherwise, or misspelt.

        Args:
            name: What `CodeGraph.find` takes, or a name such as `user service`.
            scope: Where to search, everywhere by default.
            kinds: Which symbols are meant.
            limit: Most symbols to return.
        """
        found = self.graph.find(name, scope, kinds)
        if found:
            return tuple(CodeMatch(one, 1.0, (name,)) for one in found[:limit])
        wanted = joined(name.rpartition(".")[2])[:_LONGEST_TEXT]
        near = sorted(self._near(wanted)) if wanted else ()  # signs alone resemble nothing
        matches = (
            CodeMatch(one, 1 - edits / len(wanted), (one.symbol.short_name,))
            for edits, key in near
            for one in self._names[key]
            if one.symbol.kind in kinds and (scope is None or scope.has(one.file))
        )
        return tuple(match for _, match in zip(range(limit), matches, strict=False))

    def search(
        self,
        text: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by words of their names, paths, signatures and documentation.

        Args:
            text: What is looked for, in any words.
            scope: Where to search, everywhere by default.
            kinds: Which symbols are meant.
            limit: Most symbols to return.
        """
        words = self._words(text)
        size = len(self.graph.definitions)
        rarities = [inverse_document_frequency(size, len(word.holders)) for word in words]
        matches = [
            self._match(number, words, rarities)
            for number in sorted(set[int]().union(*(word.holders for word in words)))
            if self._is_meant(self.graph.definitions[number], scope, kinds)
        ]
        # Equal scores keep the order of the graph.
        return tuple(nsmallest(limit, matches, key=lambda match: -match.score))

    def _match(self, number: int, words: Sequence[_Word], rarities: Sequence[float]) -> CodeMatch:
        held = [
            (word, rarity * saturate(word.holders[number]))
            for word, rarity in zip(words, rarities, strict=True)
            if number in word.holders
        ]
        score = fsum(weight for _, weight in held) / fsum(rarities)
        named = tuple(word.text for word, _ in held)
        return CodeMatch(self.graph.definitions[number], score, named)

    @staticmethod
    def _is_meant(
        definition: LocatedSymbol, scope: CodeScope | None, kinds: Collection[SymbolKind]
    ) -> bool:
        return definition.symbol.kind in kinds and (scope is None or scope.has(definition.file))

    def _words(self, text: str) -> list[_Word]:
        words = list(dict.fromkeys(split_words(text[:_LONGEST_TEXT])))[:_MOST_WORDS]
        stops = stop_words_in(words, "english")
        return [self._word(word) for word in words if len(stops) == len(words) or word not in stops]

    def _word(self, word: str) -> _Word:
        held = self._holders(word, {stem(word): 1.0})
        if not held:
            letters, most = signature(word), allowed_edits(word)
            near = {
                stem(other): _EDIT_CREDIT
                for other in self._vocabulary
                if (letters ^ signature(other)).bit_count() <= 2 * most
                and edit_distance(word, other, most) is not None
            }
            held = self._holders(word, near) if near else held
        return _Word(word, held)

    def _near(self, wanted: str) -> Iterator[tuple[int, str]]:
        letters, most = signature(wanted), allowed_edits(wanted)
        for name in self._names:
            if (letters ^ signature(name)).bit_count() <= 2 * most:
                distance = edit_distance(wanted, name, most)
                if distance is not None:
                    yield distance, name

    def _holders(self, word: str, stems: Mapping[str, float]) -> dict[int, float]:
        """Return the symbols that hold a word, each with the number of times weighted by field.

        Args:
            word: The word.
            stems: What stands for it, with the credit of each.
        """
        found: dict[int, float] = {}
        candidates = self._candidates({word, *stems})
        for name, parameters in _FIELDS.items():
            texts, length = self._fields[name], self._lengths[name]
            known: dict[str, float] = {}
            for number in candidates:
                text = texts[number]
                if text not in known:
                    is_identifier = name in _IDENTIFIERS
                    known[text] = _credit(word, stems, self._count_words(text), is_identifier)
                if known[text]:
                    weight = occurrence_weight(len(text), length, parameters)
                    found[number] = found.get(number, 0.0) + weight * known[text]
        return found

    def _candidates(self, words: Collection[str]) -> list[int]:
        """Return the symbols whose texts hold the first letters of one of *words*."""
        length = min(_SHORTEST_PREFIX, *map(len, words))
        parts = {word[:length] for word in words}
        texts = enumerate(self._texts)
        return [number for number, text in texts if any(part in text for part in parts)]

    def _count_words(self, text: str) -> Counter[str]:
        known = self._counts.get(text)
        if known is None:
            known = self._counts[text] = Counter(map(stem, split_words(text)))
        return known

    @cached_property
    def _fields(self) -> dict[str, list[str]]:
        """The texts of all symbols, by field."""
        definitions = self.graph.definitions
        return {
            "name": [one.symbol.short_name for one in definitions],
            "parents": [one.symbol.parent for one in definitions],
            "path": [one.file.path.rpartition(".")[0] for one in definitions],
            "signature": [one.symbol.signature for one in definitions],
            "documentation": [one.symbol.documentation for one in definitions],
        }

    @cached_property
    def _lengths(self) -> dict[str, float]:
        """The mean length of each field, in characters."""
        size = max(1, len(self.graph.definitions))
        return {name: max(1.0, sum(map(len, one)) / size) for name, one in self._fields.items()}

    @cached_property
    def _texts(self) -> list[str]:
        """The folded texts of all symbols."""
        joint = map(" ".join, zip(*self._fields.values(), strict=True))
        return [text.lower() if text.isascii() else fold(strip_accents(text)) for text in joint]

    @cached_property
    def _names(self) -> dict[str, list[LocatedSymbol]]:
        """The symbols by their short names without signs and case."""
        found: dict[str, list[LocatedSymbol]] = {}
        for one in self.graph.definitions:
            found.setdefault(joined(one.symbol.short_name), []).append(one)
        return found

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """The words of all short names."""
        names = {one.symbol.short_name for one in self.graph.definitions}
        return frozenset(word for name in names for word in split_words(name))


def _credit(
    word: str, stems: Mapping[str, float], counts: Counter[str], is_identifier: bool
) -> float:
    """Return how often a word, or what stands for it, is among counted stems."""
    total = fsum(credit * counts[one] for one, credit in stems.items())
    if total or not is_identifier:
        return total
    begins = (one for one in counts if len(one) >= _SHORTEST_PREFIX and word.startswith(one))
    return _PREFIX_CREDIT * sum(counts[one] for one in begins)
