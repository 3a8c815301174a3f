"""The words of documents: what the index takes from each, whatever it is related to."""

from __future__ import annotations

import marshal
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from math import fsum
from typing import NamedTuple

from mcpg.caching.build_cache import BuildCache, ResultKind, encode_parts
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, decode_content, encode_content
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import MEANINGS, NONE, PROBABILITY_BITS
from mcpg.index.lookups import (
    SHORTEST_AT_ONE_EDIT,
    SHORTEST_AT_TWO_EDITS,
    cut_pairs,
    grams_of_word,
    hash_part,
    pair_key,
    with_deletions,
)
from mcpg.index.recipe import FIELDS, inverse_document_frequency
from mcpg.index.tables import (
    Section,
    array_section,
    halves,
    keys_sections,
    rows_sections,
    texts_sections,
)
from mcpg.relations.vocabulary import weigh_kinds
from mcpg.text import (
    detect_language,
    fold,
    get_stop_words,
    lexicon,
    split_words,
    stem,
    strip_accents,
)
from mcpg.text.meaning import DIMENSIONS, compose_vector
from mcpg.text.words import LANGUAGES, CachedFunction, is_unspaced, words_of_token

# Rarer meanings of a word are left out.
_LEAST_PROBABILITY = 0.1
# The number of first words that decide the language of a text.
_TELLING_WORDS = 16


class ForeignTool(NamedTuple):
    """A tool in a language of `lexicon.FOREIGN`, its words except hints, and its text."""

    language: str
    words: frozenset[str]
    text: str


def meaning_sections(
    found: Sequence[ForeignTool], term_of: Callable[[str], int], stems: Iterable[tuple[str, int]]
) -> Iterator[Section]:
    """Make the sections of English stems, and of the meanings of words in other languages.

    *term_of* returns the number of a word's term; *stems* are the stems of words that occur, with
    the numbers of their terms.
    """
    rows: dict[str, dict[int, float]] = {}
    for language, cut, words in _translatable(found):
        _, translations = lexicon.translations(cut, language, repairs=False)
        for other, probability in translations:
            if probability >= _LEAST_PROBABILITY and other != stem(cut):
                row = rows.setdefault(other, {})
                for term in map(term_of, words):
                    row[term] = max(probability, row.get(term, 0.0))
    return translation_sections(rows, {one.language for one in found}, stems)


def translation_sections(
    rows: Mapping[str, Mapping[int, float]],
    languages: Collection[str],
    stems: Iterable[tuple[str, int]],
) -> Iterator[Section]:
    """Make the sections of English stems, and of the terms that mean each, with probabilities."""
    # A search has the numbers of related words, and needs no text of them then.
    numbers, terms = lexicon.numbers_of_stems(), dict.fromkeys(rows, NONE) | dict(stems)
    numbered = sorted((numbers[stem], term) for stem, term in terms.items() if stem in numbers)
    yield array_section("stems", "H", (number for number, _ in numbered))
    yield array_section("stems.term", "I", (term for _, term in numbered))
    if not languages:
        return
    meant = sorted(rows)
    yield from texts_sections(f"{MEANINGS}.languages", sorted(languages))
    yield from keys_sections(MEANINGS, meant)
    scale = (1 << PROBABILITY_BITS) - 1
    packed = (
        [
            term << PROBABILITY_BITS | round(probability * scale)
            for term, probability in sorted(rows[one].items(), key=lambda two: (-two[1], two[0]))
        ]
        for one in meant
    )
    yield from rows_sections(f"{MEANINGS}.terms", packed, "Q")


def _translatable(found: Sequence[ForeignTool]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield each language, word, and its words in the index, once."""
    frequencies = Counter(word for one in found for word in one.words)
    known: set[tuple[str, str]] = set()
    for language, words, text in found:
        stop_words = get_stop_words(language) if language in LANGUAGES else frozenset()
        content = words - stop_words
        if language in lexicon.UNSPACED:
            content = content.union(
                word
                for token in text.split()
                for unspaced, letters in groupby(strip_accents(fold(token)), is_unspaced)
                if unspaced
                for word in lexicon.segment("".join(letters), language)
            )
        for word in sorted(content):
            if word in words:
                held = [word]
            else:
                # The rarest of its pairs of characters that the index has.
                pairs = [word[place : place + 2] for place in range(len(word) - 1)]
                rarest = sorted(filter(frequencies.get, pairs), key=frequencies.__getitem__)
                held = rarest[:1]
            if held and (language, word) not in known:
                known.add((language, word))
                yield language, word, held


# The beginning of a description names the kind of tool.
_DESCRIPTION_LENGTH = 300
# Up to so many 3-grams, their numbers take two bytes each.
_MOST_SHORT = 1 << 16


def spelling_sections(words: Sequence[str]) -> Iterator[Section]:
    """Make the sections that `Speller` reads, of the sorted *words*."""
    deletions = sorted(
        hash_part(part) << 32 | number
        for number, word in enumerate(words)
        if len(word) >= SHORTEST_AT_ONE_EDIT
        for part in with_deletions(word)
    )
    hashes, numbers = halves(array("Q", deletions))
    yield Section("deletions", "I", hashes)
    yield Section("deletions.word", "I", numbers)
    holders: dict[int, list[int]] = {}
    for number, word in enumerate(words):
        if len(word) >= SHORTEST_AT_TWO_EDITS:
            for pair in cut_pairs(word):
                holders.setdefault(pair_key(len(word), pair), []).append(number)
    keys = sorted(holders)
    yield array_section("pairs.key", "Q", keys)
    yield from rows_sections("pairs", map(holders.__getitem__, keys))


def described_words(tool: Tool) -> list[str]:
    """Return the words whose 3-grams represent *tool*, each once."""
    title = "" if tool.display_name == tool.name else tool.display_name
    description = tool.description[:_DESCRIPTION_LENGTH]
    text = f"{tool.name} {title} {tool.source_id} {description}"
    return list(dict.fromkeys(split_words(text)))


class GramCollector:
    """The 3-grams of tools, added tool by tool."""

    def __init__(self) -> None:
        self._known = _WordGrams()
        self._held: list[array[int]] = []

    def add(self, described: Iterable[str]) -> None:
        """Add the 3-grams of the next tool, by its `described_words`."""
        grams = set[int]().union(*map(self._known.__getitem__, described))
        # A set takes ten times the memory of an array.
        self._held.append(array("I", grams))

    def sections(
        self, size: int = 0, frequency: Callable[[int], int] | None = None
    ) -> list[Section]:
        """Return `grams` sorted, how many tools have each, and each tool's, once.

        If these are only a few of the tools, *size* is the number of all, and *frequency* returns
        how many of all have a 3-gram.
        """
        held, self._held = self._held, []
        holders = Counter(chain.from_iterable(held))
        ordered = sorted(self._known.numbers)
        met = [self._known.numbers[gram] for gram in ordered]
        counts = [*map(frequency, ordered)] if frequency else [holders[one] for one in met]
        squares = [inverse_document_frequency(size or len(held), count) ** 2 for count in counts]
        kind = "H" if len(ordered) <= _MOST_SHORT else "I"
        final = array("I", bytes(4 * len(met)))
        for number, place in enumerate(met):
            final[place] = number
        rows = [array(kind, sorted(map(final.__getitem__, grams))) for grams in held]
        # `sum` adds in other ways from one Python to the next.
        norms = [fsum(map(squares.__getitem__, row)) ** 0.5 or 1.0 for row in rows]
        return [
            array_section("grams", "Q", ordered),
            array_section("grams.tools", "I", counts),
            *rows_sections("grams_of", rows, kind),
            array_section("grams.norm", "d", norms),
        ]


class _WordGrams(dict[str, tuple[int, ...]]):
    """For each word met, the numbers of its 3-grams, in the order in which these are met."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[int, int] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        numbers = self.numbers
        grams = [numbers.setdefault(gram, len(numbers)) for gram in grams_of_word(word)]
        found = self[word] = tuple(grams)
        return found


# What a word weighs in the vector of a tool by its field. Of a word that occurs often, the square
# root of the sum counts, in so many steps.
_MEANING_WEIGHTS = {
    FIELDS.index(name): weight
    for name, weight in {"name": 2, "title": 2, "description": 1, "source": 1}.items()
}
_STEPS_OF_MEANING = 8


class MeaningCollector:
    """The vectors of tools, by the English words of their texts, added tool by tool.

    A tool in another language has zeros.
    """

    def __init__(self) -> None:
        self._stop_words = get_stop_words(lexicon.ENGLISH)
        self._stems = CachedFunction(stem)
        self._vectors = array("b")

    def add(self, analysed: DocumentTerms) -> None:
        weights: defaultdict[str, int] = defaultdict(int)
        for field, words, _ in () if analysed.language else analysed.fields:
            if weight := _MEANING_WEIGHTS.get(field):
                for word in words.keys() - self._stop_words:
                    weights[self._stems[word]] += weight * words[word]
        vector = compose_vector(
            (one, round(_STEPS_OF_MEANING * weight**0.5)) for one, weight in weights.items()
        )
        self._vectors.extend(vector or bytes(DIMENSIONS))

    def sections(self) -> list[Section]:
        return [Section("tools.meaning", "B", self._vectors.tobytes())]


# Most fields contain no whole identifier.
_NONE: Mapping[str, int] = {}


class FieldWords(NamedTuple):
    """How often each word occurs in one field of a document, in order of first place.

    The field is a number in `FIELDS`; wholes are identifiers whose parts are among the words.
    """

    field: int
    words: Mapping[str, int]
    wholes: Mapping[str, int]


class DocumentTerms(NamedTuple):
    """The words of a document.

    Attributes:
        fields: Its fields with words, in order of their numbers.
        described: The `described_words`, whose 3-grams represent it.
        name: The words of its tool's name.
        language: The member of `lexicon.FOREIGN`, "" for English and if unknown.
        operation: The probability of each of `lexicon.OPERATION_KINDS`, in 255ths.
        told: Title and description of a tool with a language, else "".
    """

    fields: Sequence[FieldWords]
    described: Sequence[str]
    name: Sequence[str]
    language: str
    operation: Sequence[int]
    told: str


def _encode(analysed: DocumentTerms) -> bytes | None:
    # Results without a word table must not outlive the fault.
    if lexicon.faults:
        return None
    fields = [(one.field, dict(one.words), dict(one.wholes)) for one in analysed.fields]
    return encode_parts((fields, *analysed[1:]))


def _decode(data: bytes) -> DocumentTerms:
    try:
        fields, *others = marshal.loads(data)  # noqa: S302 - of this program, in a sealed file
    except EOFError as fault:
        raise ValueError("it was cut short") from fault
    return DocumentTerms([FieldWords(*members) for members in fields], *others)


_ANALYSED = ResultKind("analysed", _encode, _decode)


def analyse_documents(
    documents: Iterable[ToolDocument], memo: BuildCache
) -> Iterator[DocumentTerms]:
    """Yield the words of each of *documents*; *memo* has those known from before."""
    cut = CachedFunction(_split_token)
    for document in documents:
        given, work = partial(encode_content, document), partial(_analyse_document, document, cut)
        yield memo.recall(_ANALYSED, given, work)


def analyse_contents(contents: Iterable[bytes], memo: BuildCache) -> Iterator[DocumentTerms]:
    """Yield the words of documents with these *contents*, as `analyse_documents` does."""
    cut = CachedFunction(_split_token)

    def work(content: bytes) -> DocumentTerms:
        return _analyse_document(decode_content(content), cut)

    for content in contents:
        yield memo.recall(_ANALYSED, partial(bytes, content), partial(work, content))


def _split_token(token: str) -> tuple[list[str], list[str]]:
    words = words_of_token(token)
    return (
        [word.text for word in words if not word.is_compound],
        [word.text for word in words if word.is_compound],
    )


_Cut = CachedFunction[tuple[list[str], list[str]]]


def _analyse_document(document: ToolDocument, cut: _Cut) -> DocumentTerms:
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    found = (_count_field(field, " ".join(texts[field]), cut) for field in sorted(texts))
    held = [one for one in found if one.words]
    tool = document.tool
    # Words of the source's name are left out, unless the name has no other.
    parts, source = split_words(tool.name), set(split_words(tool.source_id))
    name = [word for word in parts if word not in source] or parts
    told = f"{tool.display_name} {tool.description}"
    spoken, language = split_words(told), None
    if detect_language(spoken) != lexicon.ENGLISH:
        is_accented = strip_accents(told) != told
        language = lexicon.foreign_language(spoken[:_TELLING_WORDS], is_accented=is_accented)
    shares = weigh_kinds(tool, name) or (0.0,) * len(lexicon.OPERATION_KINDS)
    operation = [round(0xFF * share) for share in shares]
    described = described_words(tool)
    return DocumentTerms(held, described, name, language or "", operation, told if language else "")


def _count_field(field: int, text: str, cut: _Cut) -> FieldWords:
    """Count the words of one field.

    A whole identifier is not another word: its parts are already counted.
    """
    words: list[str] = []
    wholes: list[str] = []
    for token in text.split():
        parts, whole = cut[token]
        words += parts
        wholes += whole
    # A plain dictionary is smaller than a counter.
    return FieldWords(field, dict(Counter(words)), dict(Counter(wholes)) if wholes else _NONE)
