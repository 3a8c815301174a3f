"""Compiling: from documents, by way of their counted words, to the inverted file of an index."""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg import __version__
from mcpg.build_cache import NO_MEMO, Kind, Memo
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument, encode_record
from mcpg.index.layout import (
    IDENTIFIER,
    IMPACT_SCALE,
    KINDS,
    NO_KEY,
    NONE,
    STEM,
    SUMMARY_LENGTH,
    Header,
    Section,
    bytes_sections,
    crc,
    keys_sections,
    pack,
    rows_sections,
    texts_sections,
)
from mcpg.index.meanings import meaning_sections
from mcpg.index.reader import PAGES, described_words, gram_sections, recipe_of
from mcpg.index.scoring import (
    BY_NUMBER,
    FIELDS,
    field_texts,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.index.speller import spelling_sections
from mcpg.text import iter_words, joined, language_of, split_words, stem
from mcpg.text.words import words_of_token

if TYPE_CHECKING:
    from mcpg.relations.model import EdgeKind

    Counts: TypeAlias = Mapping[int, tuple[Counter[str], int]]


def tool_sections(tools: Sequence[Tool]) -> Iterator[Section]:
    """Return the sections that hold one text or number for each tool."""
    sources = sorted({tool.source_id for tool in tools})
    numbers = {source: number for number, source in enumerate(sources)}
    yield from keys_sections("ids", [tool.id for tool in tools])
    yield from texts_sections("names", (tool.name for tool in tools))
    yield from texts_sections("titles", (tool.display_name for tool in tools))
    yield from texts_sections("summaries", (summary(tool.description) for tool in tools))
    yield from texts_sections("sources", sources)
    yield Section("source_of", "I", array("I", (numbers[t.source_id] for t in tools)).tobytes())
    yield Section("enabled", "B", bytes(tool.enabled for tool in tools))


def summary(description: str) -> str:
    """Return the beginning of *description* on one line."""
    return " ".join(description[: 4 * SUMMARY_LENGTH].split())[:SUMMARY_LENGTH]


def key_sections(tools: Iterable[Tool]) -> Iterator[Section]:
    """Return the sections that find tools by a joined id, name, title or alias."""
    texts, holders = _held(map(_keys, tools))
    yield from keys_sections("keys", texts)
    yield from rows_sections("keys.tools", holders)


def group_sections(documents: Sequence[ToolDocument]) -> Iterator[Section]:
    """Return the sections of groups and their members."""
    groups, members = _held(document.groups for document in documents)
    numbers = {group: number for number, group in enumerate(groups)}
    yield from texts_sections("groups", groups)
    yield from rows_sections("members", members)
    rows = ([numbers[group] for group in document.groups] for document in documents)
    yield from rows_sections("groups_of", rows)


def link_sections(documents: Sequence[ToolDocument]) -> Iterator[Section]:
    """Return the sections of links: to whom, what they say, how strong they are and why."""
    tools = {document.uri: number for number, document in enumerate(documents)}
    links = [link for document in documents for link in document.links]
    reasons = sorted({link.reason for link in links})
    numbers = {reason: number for number, reason in enumerate(reasons)}
    kinds: dict[EdgeKind | str, int] = {kind: number for number, kind in enumerate(KINDS)}
    yield from rows_sections(
        "links", ([tools.get(link.target, NONE) for link in one.links] for one in documents)
    )
    yield Section("links.kind", "B", bytes(kinds[link.kind] for link in links))
    yield Section("links.weight", "d", array("d", (link.weight for link in links)).tobytes())
    reason_of = array("I", (numbers[link.reason] for link in links))
    yield Section("links.reason", "I", reason_of.tobytes())
    yield from texts_sections("reasons", reasons)


def _keys(tool: Tool) -> Iterable[str]:
    names = (tool.id, tool.name, tool.display_name, *tool.hints.aliases)
    return filter(None, dict.fromkeys(map(joined, names)))


def _held(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
    """Return all texts, sorted, and for each the numbers of those that hold it."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, texts in enumerate(texts_of):
        for text in dict.fromkeys(texts):
            holders[text].append(number)
    texts = sorted(holders)
    return texts, [holders[text] for text in texts]


class FieldWords(NamedTuple):
    """What one field of a document holds.

    Attributes:
        field: Number of the field in `mcpg.index.scoring.FIELDS`.
        words: How often each word occurs, in order of first place.
        wholes: How often each whole identifier occurs whose parts are among the words.
    """

    field: int
    words: Mapping[str, int]
    wholes: Mapping[str, int]


class Analysed(NamedTuple):
    """What a document holds.

    Attributes:
        fields: Its fields that hold any word, in order of their numbers.
        described: The words whose 3-grams stand for it; see `described_words`.
        name: The words of its tool's name.
    """

    fields: Sequence[FieldWords]
    described: Sequence[str]
    name: Sequence[str]


def _encode(analysed: Analysed) -> bytes:
    return json.dumps(analysed, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> Analysed:
    fields, described, name = json.loads(data.decode("utf-8", "surrogatepass"))
    return Analysed([FieldWords(*members) for members in fields], described, name)


_OF_HINTS = frozenset(map(FIELDS.index, ("aliases", "keywords", "examples")))
_ANALYSED = Kind("analysed", _encode, _decode)


def analysed_documents(
    documents: Iterable[ToolDocument], records: Iterable[bytes], memo: Memo
) -> list[Analysed]:
    """Count the words of *documents*, each with its record; *memo* has those known from before."""
    cut = _Cut()

    def one(document: ToolDocument, record: bytes) -> Analysed:
        return memo.recall(_ANALYSED, lambda: record, lambda: _analysed(document, cut))

    return [one(*pair) for pair in zip(documents, records, strict=True)]


class _Cut(dict[str, tuple[list[str], list[str]]]):
    """For each token met, its words and its whole identifiers."""

    def __missing__(self, token: str) -> tuple[list[str], list[str]]:
        words = words_of_token(token)
        found = self[token] = (
            [word.text for word in words if not word.whole],
            [word.text for word in words if word.whole],
        )
        return found


def _analysed(document: ToolDocument, cut: _Cut) -> Analysed:
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    found = (_counted(field, " ".join(texts[field]), cut) for field in sorted(texts))
    tool = document.tool
    held = [one for one in found if one.words]
    return Analysed(held, described_words(tool), _name_words(tool))


def _counted(field: int, text: str, cut: _Cut) -> FieldWords:
    """Count the words of one field.

    A whole identifier is no word more: its parts are counted already.
    """
    words: list[str] = []
    wholes: list[str] = []
    for token in text.split():
        parts, whole = cut[token]
        words += parts
        wholes += whole
    return FieldWords(field, Counter(words), Counter(wholes))


def _name_words(tool: Tool) -> list[str]:
    """Return the words of a tool's name.

    Words of the source's name are left out, for they say nothing of the tool, unless the name has
    no other.
    """
    words = split_words(tool.name)
    source = set(split_words(tool.source_id))
    return [word for word in words if word not in source] or words


class InvertedFile:
    """The terms of a set of documents, numbered in order of their texts.

    Attributes:
        words: The words that occur, sorted.
    """

    def __init__(self, analysed: Sequence[Analysed]) -> None:
        self._analysed = analysed
        self._terms = _Terms()
        self._occurrences = _Occurrences()
        for document, held in enumerate(analysed):
            for field, words, wholes in held.fields:
                terms = [*map(self._terms.of_word.__getitem__, words)]
                terms += map(self._terms.of_whole.__getitem__, wholes)
                counts = (*words.values(), *wholes.values())
                self._occurrences.add(document, field, terms, counts, sum(words.values()))
        self.words = sorted(self._terms.of_word)
        self._order = sorted(self._terms.numbers)
        self._numbers = {text: number for number, text in enumerate(self._order)}

    def sections(self) -> Iterator[Section]:
        yield from keys_sections("terms", self._order)
        numbers = self._terms.numbers
        kinds = bytes(self._terms.kinds[numbers[text]] for text in self._order)
        yield Section("terms.kind", "B", kinds)
        yield Section("terms.word", "I", self._first_words().tobytes())
        yield from keys_sections("words", self.words)
        yield Section("words.term", "I", array("I", map(self.term_of, self.words)).tobytes())
        yield from self._posting_sections()
        yield from rows_sections("names.terms", map(self._name_terms, self._analysed))

    def term_of(self, word: str) -> int:
        """Return the number of the term of a *word* that occurs."""
        return self._numbers[stem(word)]

    def _first_words(self) -> array[int]:
        """For each term, the number of the first word in alphabetical order that has it."""
        first = array("I", [NONE]) * len(self._order)
        for number in range(len(self.words) - 1, -1, -1):
            first[self.term_of(self.words[number])] = number
        return first

    def _name_terms(self, held: Analysed) -> list[int]:
        return list(dict.fromkeys(map(self.term_of, held.name)))

    def _posting_sections(self) -> Iterator[Section]:
        numbers = self._terms.numbers
        rows = self._occurrences.postings(len(numbers))
        starts, packed, highest = array("I", [0]), array("Q"), array("H")
        squares = array("d", [0.0]) * len(self._analysed)
        for text in self._order:
            row = rows[numbers[text]]
            packed += row
            starts.append(len(packed))
            highest.append(max(posting >> 16 & 0xFFFF for posting in row))
            _add_squares(squares, row)
        yield Section("postings.at", "I", starts.tobytes())
        yield Section("postings", "I", array("I", (one >> 32 for one in packed)).tobytes())
        impacts = array("H", (one >> 16 & 0xFFFF for one in packed))
        yield Section("postings.impact", "H", impacts.tobytes())
        fields = array("H", (one & 0xFFFF for one in packed))
        yield Section("postings.fields", "H", fields.tobytes())
        yield Section("terms.impact", "H", highest.tobytes())
        norms = array("d", (square**0.5 or 1.0 for square in squares))
        yield Section("tools.norm", "d", norms.tobytes())
        yield Section("fields.mean", "d", array("d", self._occurrences.mean_lengths()).tobytes())


class _Terms:
    """Provisional numbers of terms, in the order in which they are met.

    Attributes:
        numbers: The number of each term.
        kinds: What each term is, by number.
        of_word: The number of each word's term.
        of_whole: The number of each whole identifier, which is a term as it stands.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.kinds = bytearray()
        self.of_word = _Numbered(lambda word: self._number(stem(word), STEM))
        self.of_whole = _Numbered(lambda whole: self._number(whole, IDENTIFIER))

    def _number(self, term: str, kind: int) -> int:
        number = self.numbers.setdefault(term, len(self.numbers))
        if number == len(self.kinds):
            self.kinds.append(0)
        self.kinds[number] |= kind
        return number


class _Numbered(dict[str, int]):
    """Texts and their numbers, each given when it is first asked for."""

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, text: str) -> int:
        number = self[text] = self._number(text)
        return number


class _Occurrences:
    """How often each term occurs in each field of each document, in flat arrays."""

    def __init__(self) -> None:
        # For each filled field: document, field, number of words, end of its terms.
        self._fields: list[tuple[int, int, int, int]] = []
        self._terms = array("I")
        self._counts = array("I")

    def add(
        self, document: int, field: int, terms: Iterable[int], counts: Iterable[int], words: int
    ) -> None:
        """Note the terms of one field; documents and then fields must come in order.

        A term may come several times, for several words share one stem.
        """
        self._terms.extend(terms)
        self._counts.extend(counts)
        self._fields.append((document, field, words, len(self._terms)))

    def postings(self, terms: int) -> list[array[int]]:
        """Return the postings of each term: document, impact and field mask in one number."""
        rows = [array("Q") for _ in range(terms)]
        means = self.mean_lengths()
        frequencies: dict[int, float] = {}
        masks: dict[int, int] = {}
        current = start = 0
        for document, field, words, end in self._fields:
            if document != current:
                _post(rows, current, frequencies, masks)
                current = document
            weight = occurrence_weight(words, means[field], BY_NUMBER[field])
            bit = 1 << field
            for term, count in zip(self._terms[start:end], self._counts[start:end], strict=True):
                frequencies[term] = frequencies.get(term, 0.0) + weight * count
                masks[term] = masks.get(term, 0) | bit
            start = end
        _post(rows, current, frequencies, masks)
        return rows

    def mean_lengths(self) -> list[float]:
        """For each field, the mean number of words over the documents that have words in it."""
        totals, filled = [0] * len(FIELDS), [0] * len(FIELDS)
        for _, field, words, _ in self._fields:
            totals[field] += words
            filled[field] += words > 0
        return [total / max(1, count) or 1.0 for total, count in zip(totals, filled, strict=True)]


def _post(
    rows: list[array[int]], document: int, frequencies: dict[int, float], masks: dict[int, int]
) -> None:
    place = document << 32
    for term, frequency in frequencies.items():
        impact = int(saturate(frequency) * IMPACT_SCALE + 0.5) or 1
        rows[term].append(place | impact << 16 | masks[term])
    frequencies.clear()
    masks.clear()


def term_weight(size: int, frequency: int) -> float:
    """Return what one step of impact of a term that *frequency* of *size* tools hold weighs."""
    return inverse_document_frequency(size, frequency) / IMPACT_SCALE


def _add_squares(squares: array[float], row: array[int]) -> None:
    """Add to each document of a term's postings the square of what the term weighs there."""
    weight = term_weight(len(squares), len(row))
    for posting in row:
        squares[posting >> 32] += (weight * (posting >> 16 & 0xFFFF)) ** 2


def compile_index(
    documents: Iterable[ToolDocument],
    *,
    key: bytes = NO_KEY,
    recipe: bytes = b"",
    model: Sequence[float] = (),
    texts: Mapping[str, str] | None = None,
    pages: Iterable[ToolDocument] = (),
    extra: Sequence[Section] = (),
    memo: Memo = NO_MEMO,
) -> bytes:
    """Compile *documents*; equal documents give equal bytes, whatever their order.

    Args:
        documents: The documents, their tools with distinct ids.
        key: SHA-256 of what the documents were read from.
        recipe: Whatever else the content depends on, such as fitted weights.
        model: Weights to hand to whoever ranks.
        texts: The Markdown of the documents, by path, to keep as well.
        pages: Documents of no tool, to keep as well; no search reads them.
        extra: Further sections, found again by their names.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    ordered = sorted(documents, key=lambda document: document.tool.id)
    tools = [document.tool for document in ordered]
    kept = texts or {}
    records = [encode_record(document, kept.get(document.path)) for document in ordered]
    analysed = analysed_documents(ordered, records, memo)
    inverted = InvertedFile(analysed)
    words = (word for tool in tools for word in split_words(tool.description))
    members = {
        "generator": f"mcpg {__version__}",
        "tools": len(ordered),
        "words": len(inverted.words),
    }
    sections = (
        Section("meta", "B", json.dumps(members, sort_keys=True).encode()),
        Section("model", "d", array("d", model).tobytes()),
        *tool_sections(tools),
        *key_sections(tools),
        *group_sections(ordered),
        *link_sections(ordered),
        *inverted.sections(),
        *spelling_sections(inverted.words),
        *gram_sections(one.described for one in analysed),
        *meaning_sections(tools, lambda tool: _own_words(analysed[tool]), inverted.term_of),
        Section("language", "B", (language_of(words) or "").encode()),
        *extra,
        *_page_sections(pages),
        *_record_sections(records),
    )
    return pack(sections, Header(key, recipe_of(recipe)))


def _own_words(analysed: Analysed) -> frozenset[str]:
    """Return the words of a document but for those of its hints."""
    fields = (one.words for one in analysed.fields if one.field not in _OF_HINTS)
    return frozenset[str]().union(*fields)


def _page_sections(pages: Iterable[ToolDocument]) -> Iterator[Section]:
    records = [encode_record(page) for page in sorted(pages, key=lambda page: page.path)]
    if records:
        yield from bytes_sections(PAGES, records, "Q")


def _record_sections(records: Sequence[bytes]) -> Iterator[Section]:
    yield Section("records.crc", "I", array("I", map(crc, records)).tobytes())
    yield from bytes_sections("records", records, "Q")


def count_terms(document: ToolDocument) -> Counts:
    """Return for each field of *document* that has words, in order, its terms and its length."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for field, text in field_texts(document):
        texts[field].append(text)
    counted = {field: count_words(texts[field]) for field in sorted(texts)}
    return {field: counts for field, counts in counted.items() if counts[0]}


def count_words(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Return how often each term occurs in the *texts* of one field, and the number of words."""
    counts: Counter[str] = Counter()
    length = 0
    for word in iter_words(" ".join(texts)):
        counts[word.text if word.whole else stem(word.text)] += 1
        length += not word.whole
    return counts, length


def frequency_of(term: str, counts: Counts, means: Sequence[float]) -> float:
    """Return the weighted frequency of *term*; *means* are the mean lengths of fields."""
    parts = (
        terms[term] * occurrence_weight(length, means[field], BY_NUMBER[field])
        for field, (terms, length) in counts.items()
        if terms[term]
    )
    # One by one, as an index is compiled: `sum` adds in other ways from one Python to the next.
    return reduce(add, parts, 0.0)
