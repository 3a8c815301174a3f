"""An index in which one tool has further aliases and keywords, without compiling it.

Every number that affects ranks is as in a newly compiled index: how many tools have a term, and so
the lengths of vectors; the words to repair or complete a word with; the tools whose name a text
spells, or whose phrase opens it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import chain, islice
from typing import TypeAlias

from mcpg.catalog.model import Hints
from mcpg.index.layout import ABSENT
from mcpg.index.reader import SHORTEST_PREFIX, Index, extract_phrases
from mcpg.index.recipe import FIELDS, HINTS_MASK
from mcpg.index.word_sections import (
    Counts,
    count_terms,
    count_words,
    impact_step,
    term_weight,
    weigh_frequency,
)
from mcpg.text import iter_words, join_words, lexicon, stem
from mcpg.text.spelling import allowed_edits, edit_distance

Postings: TypeAlias = tuple[Sequence[int], Sequence[int], Sequence[int]]

_FIELDS = {name: FIELDS.index(name) for name in ("aliases", "keywords")}


class HintOverlay:
    """An index prepared to try hints on one of its tools."""

    def __init__(self, index: Index, tool: int) -> None:
        self.index = index
        self.tool = tool
        self.document = index.record(tool)
        self.counts = count_terms(self.document)
        self.means: list[float] = list(index.field_means())
        self._others: dict[int, Counts] = {tool: self.counts}
        self._nearest: dict[str, tuple[int, tuple[str, ...]]] = {}

    def with_hints(self, hints: Hints) -> Index:
        """Return the index with *hints* as the tool's hints.

        They must contain the aliases and keywords of the tool, before or after further ones, and
        equal its hints in everything else.
        """
        return _OverlaidIndex(self, hints)

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        if word not in self._nearest:
            self._nearest[word] = self.index.nearest(word)
        return self._nearest[word]

    def count_document(self, document: int) -> Counts:
        if document not in self._others:
            self._others[document] = count_terms(self.index.record(document))
        return self._others[document]


class _OverlaidIndex(Index):
    """An index that answers as one compiled with other hints would."""

    is_compiled = False

    def __init__(self, before: HintOverlay, hints: Hints) -> None:
        # Data read from the index below is shared.
        vars(self).update(vars(before.index))
        # But how rare the words of names are may differ.
        vars(self).pop("names", None)
        self._below = before.index
        self._before = before
        counts = dict(before.counts)
        for name, field in _FIELDS.items():
            counted = count_words(getattr(hints, name))
            if counted[0]:
                counts[field] = counted
        self._counts = dict(sorted(counts.items()))
        self._name_words(" ".join((*hints.aliases, *hints.keywords)))
        self._added_keys = set(filter(None, map(join_words, hints.aliases)))
        self._added_phrases = set(extract_phrases(hints.aliases))
        self._touched = {
            self._number(term)
            for field in _FIELDS.values()
            for term in (self._counts[field][0] if field in self._counts else ())
        }
        self._patched: dict[int, Postings] = {}
        self._frequencies: dict[int, int] = {}
        # The tools whose text contains a term that became less rare.
        known_terms = len(before.index.texts("terms"))
        self._is_weighed_anew = frozenset(
            tool
            for term in self._touched
            if term < known_terms
            and self.document_frequency(term) != self._below.document_frequency(term)
            for tool, _, mask in zip(*self._below.postings(term), strict=True)
            if mask & ~HINTS_MASK
        )

    def _name_words(self, added: str) -> None:
        """Number the words and terms that no tool had; they come after all that are there."""
        self._new_words: dict[str, int] = {}
        self._new_terms: dict[str, int] = {}
        self._stems: dict[str, list[str]] = defaultdict(list)
        self._wholes: set[str] = set()
        known_words, known_terms = len(self._below.texts("words")), len(self._below.texts("terms"))
        for word in iter_words(added):
            text, term = word.text, word.term
            if self._below.keys("terms").find(term) == ABSENT:
                self._new_terms.setdefault(term, known_terms + len(self._new_terms))
            if word.is_compound:
                self._wholes.add(term)
            elif text not in self._stems[term]:
                self._stems[term].append(text)
                if self._below.find_word(text) == ABSENT:
                    self._new_words.setdefault(text, known_words + len(self._new_words))

    def word(self, number: int) -> str:
        known = len(self._below.texts("words"))
        return [*self._new_words][number - known] if number >= known else self._below.word(number)

    def find_word(self, text: str) -> int:
        found = self._new_words.get(text)
        return self._below.find_word(text) if found is None else found

    def term_of_word(self, word: int) -> int:
        if word < len(self._below.texts("words")):
            return self._below.term_of_word(word)
        return self._number(stem(self.word(word)))

    def term(self, number: int) -> str:
        known = len(self._below.texts("terms"))
        return [*self._new_terms][number - known] if number >= known else self._below.term(number)

    def _number(self, term: str) -> int:
        found = self._new_terms.get(term)
        return self._below.keys("terms").find(term) if found is None else found

    def find_stem(self, text: str) -> int:
        return self._number(text) if text in self._stems else self._below.find_stem(text)

    def terms_of_stem(self, number: int, *, with_meanings: bool) -> list[tuple[int, float]]:
        found = self._below.terms_of_stem(number, with_meanings=with_meanings)
        text = lexicon.read_stem(number)
        own = [(self._number(text), 1.0)] if text in self._stems else []
        return found if found[:1] == own else [*own, *found]

    def find_identifier(self, text: str) -> int:
        return self._number(text) if text in self._wholes else self._below.find_identifier(text)

    def word_of_term(self, term: int) -> int:
        added = self._stems.get(self.term(term), [])
        old = ABSENT if term >= len(self._below.texts("terms")) else self._below.word_of_term(term)
        words = added if old == ABSENT else [*added, self._below.word(old)]
        return self.find_word(min(words)) if words else ABSENT

    def completions(self, prefix: str, limit: int) -> list[str]:
        if len(prefix) < SHORTEST_PREFIX:
            return []
        longer = (word for word in self._new_words if word.startswith(prefix) and word != prefix)
        return list(islice(merge(self._below.completions(prefix, limit), sorted(longer)), limit))

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        least, found = self._before.nearest(word)
        for other in self._new_words:
            edits = edit_distance(word, other, least or allowed_edits(word))
            if edits:
                found = (*found, other) if edits == least else (other,)
                least = edits
        return least, tuple(sorted(found))

    def document_frequencies(self, terms: Iterable[int]) -> list[int]:
        return list(map(self.document_frequency, terms))

    def document_frequency(self, term: int) -> int:
        if term not in self._touched:
            return self._below.document_frequency(term)
        known = self._frequencies.get(term)
        if known is None:
            masks = self.postings(term)[2]
            by_text = sum(mask & ~HINTS_MASK > 0 for mask in masks)
            by_hints = sum(mask & HINTS_MASK > 0 for mask in masks)
            known = self._frequencies[term] = max(by_text, by_hints)
        return known

    def is_only_hinted(self, term: int) -> bool:
        return term >= len(self._below.texts("terms")) or self._below.is_only_hinted(term)

    def max_impact(self, term: int) -> int:
        return max(self.postings(term)[1])

    def postings(self, term: int) -> Postings:  # type: ignore[override]
        if term not in self._touched:
            return self._below.postings(term)
        known = self._patched.get(term)
        if known is not None:
            return known
        is_new = term >= len(self._below.texts("terms"))
        before: Postings = ((), (), ()) if is_new else self._below.postings(term)
        tools, impacts, masks = map(list, before)
        text, tool = self.term(term), self._before.tool
        place = bisect_left(tools, tool)
        row = slice(place, place + (tools[place : place + 1] == [tool]))
        fields = (field for field, (terms, _) in self._counts.items() if terms[text])
        frequency = weigh_frequency(text, self._counts, self._before.means)
        tools[row], impacts[row] = [tool], [impact_step(frequency)]
        masks[row] = [sum(1 << field for field in fields)]
        self._patched[term] = tools, impacts, masks
        return tools, impacts, masks

    def impacts(self, term: int) -> dict[int, int] | None:
        if term not in self._touched:
            return self._below.impacts(term)
        tools, impacts, _ = self.postings(term)
        return dict(zip(tools, impacts, strict=True))

    def fields(self, tool: int, words: Iterable[tuple[tuple[int, float], ...]]) -> int:
        mask = 0
        for term, _ in chain.from_iterable(words):
            tools, _, masks = self.postings(term)
            mask |= dict(zip(tools, masks, strict=True)).get(tool, 0)
        return mask

    def best_impacts(self, _: tuple[tuple[int, float], ...]) -> None:
        """Keep nothing: a hypothesis is searched a few times."""

    def norms(self, tools: Iterable[int]) -> list[float]:
        return list(map(self._norm, tools))

    def _norm(self, tool: int) -> float:
        if tool not in self._is_weighed_anew:
            return self._below.norms([tool])[0]
        counts, means = self._before.count_document(tool), self._before.means
        terms = {term for held, _ in counts.values() for term in held}
        square = 0.0
        # In the order in which a compiled index adds them up.
        for term in sorted(terms):
            frequency = weigh_frequency(term, counts, means, with_hints=False)
            if frequency:
                weight = term_weight(len(self), self.document_frequency(self._number(term)))
                square += (weight * impact_step(frequency)) ** 2
        return square**0.5 or 1.0

    def exact(self, key: str) -> tuple[int, ...]:
        return self._with_own(self._below.exact(key), has_it=key in self._added_keys)

    @property
    def has_phrases(self) -> bool:
        return bool(self._added_phrases) or self._below.has_phrases

    def with_phrase(self, phrase: str) -> tuple[int, ...]:
        return self._with_own(self._below.with_phrase(phrase), has_it=phrase in self._added_phrases)

    def _with_own(self, found: tuple[int, ...], *, has_it: bool) -> tuple[int, ...]:
        return tuple(sorted({*found, self._before.tool})) if has_it else found
