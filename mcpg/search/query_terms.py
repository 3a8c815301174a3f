"""Query terms: from one word of a query to words of the catalog.

These are tried in order: the word itself, another form of its stem, its translations if the query
is in another language, two words written together, words with this prefix, spelling correction.
Other spellings of an English word, such as "color" of "colour", are the word itself. A frequent
word of the language is not corrected, and an English word is not cut into two, unless a name has
them side by side. A word also has related words, which bring tools into the pool and have separate
features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, islice
from math import fsum, log
from typing import NamedTuple, TypeAlias

from mcpg.index import Index
from mcpg.index.recipe import inverse_document_frequency, smoothed_idf
from mcpg.text import get_stop_words, lexicon, stem
from mcpg.text.spelling import allowed_edits
from mcpg.text.words import LANGUAGES, is_near_stop_word, share_of_texts

_Pairs: TypeAlias = tuple[tuple[int, float], ...]
# The meanings of a word; the terms that are related to them; those to retrieve by.
_Related: TypeAlias = tuple[tuple[tuple[str, float], ...], _Pairs, _Pairs]

# A number, or a code that is not in the catalog, is most often an argument.
LITERAL_WEIGHT = 0.2
# The catalog's frequencies are smoothed by the language's, as if each document came with this many
# texts of a hundred words.
BACKGROUND_TEXTS = 3.0
# A word that is in none of so many texts has the maximum rarity.
_TEXTS = 10_000
_TYPO_CREDIT = 0.9
_SHORTEST_COMPOUND_PART = 3
_MOST_COMPLETIONS = 8
# A related word in more documents than this retrieves none, and would be the slowest.
_MOST_HOLDERS = 40
# How many related words are evidence of the kind of operation if a word itself has none, and the
# share of its similarity that each counts.
_MOST_RELATED_VERBS = 3
_CREDIT_OF_RELATED_VERB = 0.6
# Words of queries are endless, so there is a bound.
_MOST_REMEMBERED = 16_384


# The roles of words that may have related ones.
_ASKED = ("term", "unknown")
# A word in at most this share of texts of 100 words has full content.
_TELLING_SHARE = 0.015


class TermExpansion(NamedTuple):
    """A word of the catalog that a word of the query may mean.

    Attributes:
        kind: `exact`, `stem`, `spelling`, `translation`, `compound`, `prefix` or `typo`; `related`
            for related words.
        distance: Edits between the two (insertion, deletion, substitution, transposition).
        similarity: Credit for a match of it, in (0, 1]: the probability of a translation, the
            similarity of a related word.
    """

    word: str
    term: int
    kind: str
    distance: int = 0
    similarity: float = 1.0


class QueryTerm(NamedTuple):
    """One word of the query that can find tools.

    Attributes:
        repairs: The corresponding words of the catalog; none if unknown.
        variants: The terms of these words with the credit, in (0, 1], for a match of each.
        weight: Its idf, times what its origin allows; above 0.
        document_frequency: Lower bound of the number of documents with one of these words.
        role: `term`, `identifier`, `literal` or `unknown`.
        origin: `query`, `literal` for words from an argument in it, or `context`.
        meanings: The English stems that it may mean, with their probabilities; none without related
            words.
        related_variants: The terms of related words of the catalog with the similarity of each, the
            most similar first; `related_words` returns the words.
        retrieved_by: The `related_variants` that retrieve documents: those in few documents, or all
            without `variants`.
        content: Its content, in [0, 1]: below 1 for a word that is frequent in its language. It is
            the information in its occurrence, as a share of a specific word's (Shannon, "A
            mathematical theory of communication", Bell System Technical Journal 27(3), 1948,
            section 6).
    """

    text: str
    repairs: tuple[TermExpansion, ...]
    variants: tuple[tuple[int, float], ...]
    weight: float
    document_frequency: int
    role: str
    origin: str = "query"
    meanings: tuple[tuple[str, float], ...] = ()
    related_variants: tuple[tuple[int, float], ...] = ()
    retrieved_by: tuple[tuple[int, float], ...] = ()
    content: float = 1.0

    @property
    def kind(self) -> str | None:
        """How the nearest word of the catalog was found, `None` if unknown."""
        return self.repairs[0].kind if self.repairs else None


class WordCache:
    """The cache of words, shared by the searches of an index.

    Attributes:
        words: The terms of a word, by the word, its language, whether the lexicon was used, and its
            origin.
        stems: The terms of an English stem, by its number in the lexicon, with the probability of
            each: without foreign words of the catalog, and with them.
    """

    def __init__(self) -> None:
        self.words: dict[tuple[str, str | None, bool, str], QueryTerm | None] = {}
        self.stems: tuple[dict[int, list[tuple[int, float]]], ...] = {}, {}


class TermReader:
    """Reads words in one language against one index."""

    def __init__(
        self, index: Index, language: str | None, memo: WordCache, *, uses_lexicon: bool = True
    ) -> None:
        self._index = index
        self._memo = memo.words
        self._translated_words: dict[str, tuple[int, list[tuple[str, float]]]] = {}
        self._language = language
        self._lists_stop_words = language in LANGUAGES
        self._stop_words = get_stop_words(language)
        self._uses_lexicon = uses_lexicon
        self._is_foreign = uses_lexicon and language in lexicon.FOREIGN
        self._is_english = uses_lexicon and language in (None, lexicon.ENGLISH)
        self._has_related = self._is_foreign or self._is_english
        foreign = index.foreign_languages if self._has_related else ()
        # Words of the language of the tools need no way by English.
        self._has_meanings = bool(foreign) and language not in foreign
        self._stems = memo.stems[self._has_meanings]
        self._background = language or index.language

    def read(self, words: Iterable[str], origin: str = "query") -> list[QueryTerm]:
        """Return the terms of the *words* that can find tools.

        For the *origin* `literal` or `context`, these are the words in the catalog.
        """
        found = []
        for word in words:
            key = word, self._language, self._uses_lexicon, origin
            if key in self._memo:
                term = self._memo[key]
            else:
                term = self._read(word, origin)
                if len(self._memo) < _MOST_REMEMBERED:
                    self._memo[key] = term
            if term is not None:
                found.append(term)
        return found

    def read_stems(self) -> None:
        """Look up the terms of all English stems that words are related to."""
        for number in range(lexicon.count_stems()):
            self._number_terms(number)

    def identifiers(self, wholes: Iterable[str]) -> list[QueryTerm]:
        """Return terms of the compound identifiers that are in the catalog verbatim."""
        found = ((whole, self._index.find_identifier(whole)) for whole in wholes)
        return [
            self._weigh(whole, (TermExpansion(whole, term, "exact"),), "identifier")
            for whole, term in found
            if term >= 0
        ]

    def _read(self, word: str, origin: str) -> QueryTerm | None:
        known = (*self._find_known(word), *self._find_spellings(word))
        if origin != "query":
            return self._weigh(word, known, "term", origin) if known else None
        # One tool with an alias in a language takes no translation from the others.
        if known and self._index.is_only_hinted(known[0].term):
            others = self._translate(word)
            known = (*known, *(one for one in others if one.term != known[0].term))
        if known and known[0].kind == "exact":
            return self._weigh(word, known, "term")
        if stem(word) in self._stop_words:
            return None
        is_literal = any(map(str.isdigit, word))
        repairs = known or self._translate(word) or self._compound(word)
        if not repairs and is_literal:
            return self._weigh(word, (), "literal")
        if not repairs and not self._is_common(word) and not self._is_known_command(word):
            repairs = self._repair(word)
        if self._is_misspelt_stop_word(word, repairs):
            return None
        return self._weigh(word, repairs, "term" if repairs else "unknown")

    def _is_common(self, word: str) -> bool:
        if not self._uses_lexicon:
            return False
        if lexicon.zipf_frequency(word, lexicon.ENGLISH) >= lexicon.COMMON:
            return True
        own = str(self._language)
        return self._is_foreign and lexicon.zipf_frequency(word, own) >= lexicon.COMMON

    def _describe_command(self, word: str) -> list[tuple[str, float]]:
        if not self._is_english:
            return []
        return lexicon.describe_command(word)

    def _is_known_command(self, word: str) -> bool:
        """Return whether *word* is a command that English texts speak of, so no misspelling."""
        is_spoken = lexicon.zipf_frequency(word, lexicon.ENGLISH) > 0
        return bool(is_spoken and self._describe_command(word))

    def _is_misspelt_stop_word(self, word: str, repairs: Sequence[TermExpansion]) -> bool:
        """Return whether *word* is as near to a stop word as to any word of the catalog."""
        if not self._lists_stop_words or self._is_common(word):
            return False
        distance = allowed_edits(word)
        if repairs:
            distance = 1 if repairs[0].kind == "prefix" else repairs[0].distance
        return bool(distance and is_near_stop_word(word, str(self._language), distance))

    def _weigh(
        self, word: str, repairs: tuple[TermExpansion, ...], role: str, origin: str = "query"
    ) -> QueryTerm:
        index = self._index
        frequency = max([index.document_frequency(one.term) for one in repairs], default=0)
        share = self._share(word)
        weight = smoothed_idf(index.population, frequency, share, BACKGROUND_TEXTS)
        weight *= LITERAL_WEIGHT if role == "literal" or word.isdecimal() else 1.0
        # The most similar come first: of two words of one term the first counts.
        variants = tuple({one.term: one.similarity for one in reversed(repairs)}.items())
        known = word, repairs, variants, weight, frequency, role, origin
        is_asked = self._has_related and role in _ASKED and origin == "query"
        related = self._relate(word, repairs, variants) if is_asked else ((), (), ())
        content = min(1.0, log(share) / log(_TELLING_SHARE)) if share else 1.0
        return QueryTerm(*known, *related, content)

    def rarity(self, word: str) -> float:
        """Return how rare *word* is in texts of the language, above 0."""
        return inverse_document_frequency(_TEXTS, _TEXTS * self._share(word))

    def _share(self, word: str) -> float:
        if self._background in LANGUAGES:
            return share_of_texts(word, self._background)
        if self._is_foreign:
            return lexicon.share_of_texts(word, str(self._language))
        return 0.0

    def _find_known(self, word: str) -> tuple[TermExpansion, ...]:
        index = self._index
        number = index.find_word(word)
        if number >= 0:
            return (TermExpansion(word, index.term_of_word(number), "exact", 0, 1.0),)
        term = index.find_stem(stem(word))
        if term >= 0:
            return (self._expansion(term, "stem"),)
        term = index.find_identifier(word)
        if term >= 0:
            return (TermExpansion(word, term, "exact"),)
        bases = map(stem, lexicon.find_positives(word)) if self._is_english else ()
        found = next((term for base in bases if (term := index.find_stem(base)) >= 0), -1)
        return (self._expansion(found, "stem"),) if found >= 0 else ()

    def _find_spellings(self, word: str) -> Iterator[TermExpansion]:
        if self._is_english:
            for other in lexicon.other_spellings(stem(word)):
                term = self._index.find_stem(other)
                if term >= 0:
                    yield self._expansion(term, "spelling")

    def _expansion(
        self, term: int, kind: str, similarity: float = 1.0, distance: int = 0
    ) -> TermExpansion:
        word = self._index.word(self._index.word_of_term(term))
        return TermExpansion(word, term, kind, distance, similarity)

    def _translate(self, word: str) -> tuple[TermExpansion, ...]:
        """Return the words of the catalog that translate *word*, from or to another language."""
        if not (self._is_foreign or self._has_meanings):
            return ()
        distance, stems = 0, [(stem(word), 1.0)]
        if self._is_foreign:
            distance, stems = self._translations(word)
        likeliest: dict[int, float] = {}
        for other, probability in stems:
            for term, share in self._stem_terms(other):
                likeliest[term] = max(likeliest.get(term, 0.0), probability * share)
        credit = _credit(word, distance)
        ranked = sorted(likeliest.items(), key=lambda one: -one[1])
        return tuple(
            self._expansion(term, "translation", credit * p, distance) for term, p in ranked
        )

    def _stem_terms(self, stem: str) -> list[tuple[int, float]]:
        """Return the terms that are an English *stem*, or mean it, with the probability of each."""
        term = self._index.find_stem(stem)
        found = [(term, 1.0)] if term >= 0 else []
        return [*found, *self._index.meant_by(stem)] if self._has_meanings else found

    def _number_terms(self, number: int) -> list[tuple[int, float]]:
        """Return the same by the number of the stem in the lexicon."""
        known = self._stems.get(number)
        if known is None:
            found = self._index.terms_of_stem(number, with_meanings=self._has_meanings)
            known = self._stems[number] = found
        return known

    def _compound(self, word: str) -> tuple[TermExpansion, ...]:
        """Find *word* as two words of the catalog, except stop words, written together.

        An English word counts only if both are side by side in the name of a tool.
        """
        is_english = self._is_english and lexicon.is_english(word, stem(word))
        shortest = _SHORTEST_COMPOUND_PART
        for cut in range(len(word) - shortest, shortest - 1, -1):
            parts = word[:cut], word[cut:]
            first = self._index.find_word(parts[0])
            second = self._index.find_word(parts[1]) if first >= 0 else -1
            if second >= 0 and self._stop_words.isdisjoint(parts):
                terms = self._index.term_of_word(first), self._index.term_of_word(second)
                if not is_english or self._index.has_in_a_name(terms):
                    pairs = zip(parts, terms, strict=True)
                    return tuple([TermExpansion(part, term, "compound") for part, term in pairs])
        return ()

    def _repair(self, word: str) -> tuple[TermExpansion, ...]:
        """Find the words that begin with *word*, the shortest first, or else are spelt like it."""
        index, kind, distance = self._index, "prefix", 0
        words: Sequence[str] = index.completions(word, _MOST_COMPLETIONS)
        if words:
            words = sorted(words, key=lambda other: (len(other), other))
        else:
            kind = "typo"
            distance, words = index.nearest(word)
        found = []
        for other in words:
            term = index.term_of_word(index.find_word(other))
            credit = _credit(word, distance) if distance else _TYPO_CREDIT * len(word) / len(other)
            found.append(TermExpansion(other, term, kind, distance, credit))
        return tuple(found)

    def _relate(
        self, word: str, repairs: Sequence[TermExpansion], variants: Iterable[tuple[int, float]]
    ) -> _Related:
        """Return what *word* may mean, and the terms that are related to that."""
        meanings = tuple(self._meanings(word, repairs))
        own = dict(variants)
        found = self._similarities(meanings).items()
        # Words related to likelier translations can be nearer than an unlikely translation.
        nearer = [one for one in found if one[1] > own.get(one[0], 0.0)]
        ranked = tuple(sorted(nearer, key=lambda one: (-one[1], one[0])))
        if not own:
            return meanings, ranked, ranked
        frequencies = self._index.document_frequencies([term for term, _ in ranked])
        are_rare = [frequency <= _MOST_HOLDERS for frequency in frequencies]
        return meanings, ranked, tuple(compress(ranked, are_rare))

    def _similarities(self, meanings: Sequence[tuple[str, float]]) -> dict[int, float]:
        """Return the terms that are related to *meanings*, with their similarities.

        For several translations, it is the expected similarity by their probabilities.
        """
        if len(meanings) == 1 and meanings[0][1] == 1.0:
            return self._related_to(meanings[0][0])
        total: dict[int, float] = {}
        for meaning, probability in meanings:
            for number, similarity in self._related_to(meaning).items():
                known, more = total.get(number, 0.0), probability * similarity
                if self._is_foreign:
                    total[number] = min(1.0, known + more)
                elif more > known:
                    total[number] = more
        return total

    def _related_to(self, meaning: str) -> dict[int, float]:
        best: dict[int, float] = {}
        for number, share in self._stem_terms(meaning):
            if share > best.get(number, 0.0):
                best[number] = share
        stems = self._stems
        for other, similarity in lexicon.related_numbers(meaning):
            terms = stems.get(other)
            for number, share in self._number_terms(other) if terms is None else terms:
                if similarity * share > best.get(number, 0.0):
                    best[number] = similarity * share
        return best

    def _translations(self, word: str) -> tuple[int, list[tuple[str, float]]]:
        found = self._translated_words.get(word)
        if found is None:
            found = lexicon.translations(word, str(self._language))
            self._translated_words[word] = found
        return found

    def _meanings(self, word: str, repairs: Iterable[TermExpansion]) -> Sequence[tuple[str, float]]:
        """Return the English stems that *word* may mean, with their probabilities."""
        if self._is_foreign:
            distance, found = self._translations(word)
            credit = _credit(word, distance)
            if found:
                return [(other, credit * probability) for other, probability in found]
        respelt = [one for one in repairs if one.kind in ("compound", "typo")]
        if respelt:
            return [(stem(one.word), one.similarity) for one in respelt]
        described = () if repairs else self._describe_command(word)
        if described:
            return described
        own = stem(word)
        if self._is_english and not lexicon.related_numbers(own):
            others = filter(lexicon.related_numbers, lexicon.other_spellings(own))
            return [(other, 1.0) for other in others] or [(own, 1.0)]
        return [(own, 1.0)]


def _credit(word: str, distance: int) -> float:
    """Return the credit for a misspelling *distance* edits from a word; it falls with distance."""
    return _TYPO_CREDIT * (1 - distance / len(word)) if distance else 1.0


def related_words(term: QueryTerm, index: Index) -> tuple[TermExpansion, ...]:
    """Return the words of the catalog that are related to *term*, the most similar first."""
    found = []
    for number, similarity in term.related_variants:
        word = index.word(index.word_of_term(number))
        found.append(TermExpansion(word, number, "related", 0, similarity))
    return tuple(found)


@lru_cache(maxsize=_MOST_REMEMBERED)
def wanted_operation(meanings: tuple[tuple[str, float], ...]) -> tuple[float, ...]:
    """Return the kind of operation that the *meanings* of a term indicate.

    The first meaning that names an operation decides, see `mcpg.text.lexicon.find_ratios`. Without
    any, it is the average of the related words.
    """
    for meaning, _ in meanings:
        if ratios := lexicon.find_ratios(meaning):
            return ratios
    found = (
        (_CREDIT_OF_RELATED_VERB * similarity, ratios)
        for meaning, _ in meanings[:1]
        for other, similarity in lexicon.related_stems(meaning)
        if (ratios := lexicon.find_ratios(other))
    )
    near = [*islice(found, _MOST_RELATED_VERBS)]
    columns = zip(*[[credit * ratio for ratio in ratios] for credit, ratios in near], strict=True)
    return tuple([fsum(column) / len(near) for column in columns])
