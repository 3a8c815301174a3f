"""Search of source code: the symbols of a code graph that a name or a text means.

Symbols are searched with the parts that rank tools, BM25F over weighted fields, but without an
index: a scan of folded texts, which runs in C, finds the few symbols with a word, and only
these are cut into words. A code graph of 12,000 symbols is searched in milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from math import fsum, log1p
from typing import NamedTuple

from mcpg.ask.model import CodeScope
from mcpg.code.graph import TEST_WORDS, CodeGraph, LocatedSymbol, find_close, is_test
from mcpg.code.model import (
    ENTRY_TYPE,
    SymbolKind,
    read_body,
)
from mcpg.documents.model import ToolDocument
from mcpg.index.recipe import (
    FieldParameters,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.plugins.hooks import Item
from mcpg.text import fold, join_words, split_words, stem, stop_words_in, strip_accents

DEFAULT_LIMIT = 50
EVERY_KIND = frozenset(SymbolKind)

_FIELDS = {
    "name": FieldParameters(3.0, 0.75),
    "parents": FieldParameters(1.0, 0.5),
    "path": FieldParameters(0.75, 0.5),
    "signature": FieldParameters(0.5, 0.5),
    "documentation": FieldParameters(1.0, 0.5),
}
# Identifiers abbreviate: "auth" for "authentication". Prose does not.
_IDENTIFIERS = frozenset({"name", "parents", "path"})
# Tests use the words of the code under test.
_OF_TESTS = 0.8
_OF_USE, _MANY_USERS = 0.05, 20
_SHORTEST_PREFIX = 4
_PREFIX_CREDIT = 0.5
_EDIT_CREDIT = 0.8
_MOST_WORDS = 32
_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A symbol that was found.

    Attributes:
        score: How well it fits, in [0, 1]; 1 for its own name.
        words: The words of the query that it has, or the name that it was found by.
        shares: The addition of each of the words to the score of words alone.
    """

    definition: LocatedSymbol
    score: float
    words: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()


def _make_item(one: LocatedSymbol, score: float | None = None, why: tuple[str, ...] = ()) -> Item:
    symbol = one.symbol
    about = symbol.documentation or symbol.signature
    return Item(one.id, symbol.kind.value, one.place, about, score, why)


def _list_shares(match: CodeMatch) -> tuple[str, ...]:
    """Return the addition of each word of a query to the score of a match."""
    shares = zip(match.words, match.shares, strict=True)
    return tuple(f"{word} {share:.2f}" for word, share in shares)


class Blend(NamedTuple):
    """The weights of words and nearness in meaning in a search.

    Attributes:
        nearness: How near each definition of the graph is to the text, in [0, 1].
    """

    words: float
    vectors: float
    nearness: Sequence[float]

    def merge(self, score: float, number: int, use: float) -> float:
        """Return the score of a definition with the *score* of its words.

        *use*, how much it is used by others, in [0, 1], decides between near ones.
        """
        whole = (self.words + self.vectors) * (1 + _OF_USE)
        near = self.words * score + self.vectors * self.nearness[number]
        return near / whole + use * _OF_USE / (1 + _OF_USE)


class CodeSearch:
    """Searches a code graph; parts that were read once are kept."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._counts: dict[str, Counter[str]] = {}

    @classmethod
    def of_pages(cls, pages: Iterable[ToolDocument]) -> CodeSearch:
        facts = ((page.further, page.body) for page in pages)
        files = (
            read_body(further.get("code"), body)
            for further, body in facts
            if further.get("entry_type") == ENTRY_TYPE
        )
        return cls(CodeGraph(file for file in files if file is not None))

    def list_items(self) -> Iterator[Item]:
        """Return all symbols, by file and line."""
        return (_make_item(one) for one in self.graph.definitions)

    def search_items(self, query: str, limit: int) -> Iterator[Item]:
        """Return the symbols that fit a query: those with the name, else by words."""
        found = self.graph.find(query)[:limit]
        if found:
            return (_make_item(one, 1.0, ("is its name",)) for one in found)
        matches = self.search(query, limit=limit)
        return (_make_item(one.definition, one.score, _list_shares(one)) for one in matches)

    def count_items(self) -> dict[str, dict[str, int]]:
        """Return how many symbols and edges there are of each kind."""
        symbols = Counter(one.symbol.kind.value for one in self.graph.definitions)
        edges = Counter(
            f"{edge.kind.value}{', guessed' if edge.is_guess else ''}"
            for file in self.graph.files
            for edge in file.edges
            if not edge.is_external
        )
        languages = Counter(file.language for file in self.graph.files)
        return {"symbols": symbols, "edges": edges, "files": languages}

    def find_named_symbols(
        self,
        name: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by their name: as it is, written otherwise, or misspelled."""
        found = self.graph.find(name, scope, kinds)
        if found:
            return tuple(CodeMatch(one, 1.0, (name,)) for one in found[:limit])
        wanted = join_words(name.rpartition(".")[2])[:_LONGEST_TEXT]
        names = self.graph.names
        # Signs resemble nothing.
        near = sorted(find_close(wanted, names)) if wanted else ()
        matches = (
            CodeMatch(one, 1 - edits / len(wanted), (one.symbol.short_name,))
            for edits, key in near
            for one in names[key]
            if one.symbol.kind in kinds and (scope is None or scope.has(one.file))
        )
        return tuple(match for _, match in zip(range(limit), matches, strict=False))

    def search(
        self,
        text: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
        blend: Blend | None = None,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by words of their names, paths, signatures and documentation.

        With a *blend*, nearness in meaning counts beside the words.
        """
        words = list(dict.fromkeys(split_words(text[:_LONGEST_TEXT])))[:_MOST_WORDS]
        stops = stop_words_in(words, "english")
        holders = {
            word: self._holders(word)
            for word in words
            if len(stops) == len(words) or word not in stops
        }
        definitions = self.graph.definitions
        size = len(definitions)
        rarities = {
            word: inverse_document_frequency(size, len(held)) for word, held in holders.items()
        }
        whole = fsum(rarities.values())
        if kinds == EVERY_KIND:  # a type also covers its constructors, which have its name
            kinds = EVERY_KIND - {SymbolKind.CONSTRUCTOR}
        of_tests = 1.0 if TEST_WORDS.intersection(words) else _OF_TESTS
        matches: list[CodeMatch] = []
        for number in range(size) if blend else sorted(set[int]().union(*holders.values())):
            one = definitions[number]
            if one.symbol.kind in kinds and (scope is None or scope.has(one.file)):
                weights = {
                    word: rarities[word] * saturate(held[number])
                    for word, held in holders.items()
                    if number in held
                }
                score = fsum(weights.values()) / whole if weights else 0.0
                score = blend.merge(score, number, self._use[number]) if blend else score
                score *= of_tests if one.file.path in self._tests else 1.0
                shares = tuple(weight / whole for weight in weights.values())
                matches.append(CodeMatch(one, score, tuple(weights), shares))
        # Equal scores keep the order of the graph.
        return tuple(nsmallest(limit, matches, key=lambda match: -match.score))

    def _holders(self, word: str, near: Mapping[str, float] | None = None) -> dict[int, float]:
        """Return the symbols with *word*, each with the number of times weighted by field.

        If there is none, those with a similar word, of stems with their credit in *near*.
        """
        stems = near or {stem(word): 1.0}
        found: dict[int, float] = {}
        # Only symbols with the first letters of one of the words in their texts.
        words = {word, *stems}
        shortest = min(_SHORTEST_PREFIX, *map(len, words))
        parts = {one[:shortest] for one in words}
        candidates = [
            number for number, text in enumerate(self._texts) if any(part in text for part in parts)
        ]
        for name, parameters in _FIELDS.items():
            texts, length = self._fields[name], self._lengths[name]
            known: dict[str, float] = {}
            for number in candidates:
                text = texts[number]
                if text not in known:
                    counts = self._counts.get(text)
                    if counts is None:
                        counts = self._counts[text] = Counter(map(stem, split_words(text)))
                    known[text] = _credit(word, stems, counts, name in _IDENTIFIERS)
                if known[text]:
                    weight = occurrence_weight(len(text), length, parameters)
                    found[number] = found.get(number, 0.0) + weight * known[text]
        if found or near is not None:
            return found
        near = {stem(other): _EDIT_CREDIT for _, other in find_close(word, self._vocabulary)}
        return self._holders(word, near) if near else found

    @cached_property
    def _use(self) -> list[float]:
        """How much each definition is used: the logarithm of its users, relative to many."""
        users = (self.graph.degrees(one)[0] for one in self.graph.definitions)
        return [min(1.0, log1p(count) / log1p(_MANY_USERS)) for count in users]

    @cached_property
    def _tests(self) -> frozenset[str]:
        """The paths of tests, by the names of their files and folders."""
        return frozenset(file.path for file in self.graph.files if is_test(file.path))

    @cached_property
    def _fields(self) -> dict[str, list[str]]:
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
        joint = map(" ".join, zip(*self._fields.values(), strict=True))
        return [text.lower() if text.isascii() else fold(strip_accents(text)) for text in joint]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        names = {one.symbol.short_name for one in self.graph.definitions}
        return frozenset(word for name in names for word in split_words(name))


def _credit(
    word: str, stems: Mapping[str, float], counts: Counter[str], is_identifier: bool
) -> float:
    """Return how often a word, or a substitute for it, is among counted stems."""
    total = fsum(credit * counts[one] for one, credit in stems.items())
    if total or not is_identifier:
        return total
    begins = (one for one in counts if len(one) >= _SHORTEST_PREFIX and word.startswith(one))
    return _PREFIX_CREDIT * sum(counts[one] for one in begins)
