"""Edges between tools, what they weigh, and the vocabulary that they are inferred from."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from math import log

from mcpg.build_cache import NO_MEMO, Kind, Memo
from mcpg.catalog.model import Tool
from mcpg.relations.kinds import names_operation
from mcpg.text import language_of, split_words, stem, stop_words_in
from mcpg.values import value


class EdgeKind(StrEnum):
    """What an edge says about its target."""

    RELATED = "related"
    NEXT_STEP = "nextStep"


class EdgeOrigin(StrEnum):
    """Where an edge comes from, the most reliable first."""

    AUTHORED = "authored"
    OBSERVED = "observed"
    SCHEMA = "schema"
    INFERRED = "inferred"


class Coverage(StrEnum):
    """How much of what a tool takes another one provides."""

    STRICT = "strict"
    PARTIAL = "partial"
    OPTIONAL = "optional"


@value
class FieldMapping:
    """An output field of one tool that fills an argument of another.

    Attributes:
        given: Path of the output field, as in `orders[].id`.
        argument: Name of the argument.
        required: Whether the argument is required.
    """

    given: str
    argument: str
    required: bool = True


@value
class Edge:
    """A directed edge from one tool to another.

    Attributes:
        kind: What the edge says.
        source: Tool id it leaves.
        target: Tool id it reaches.
        weight: Strength in (0, 1], see `weight_of`; 1 for what an author wrote.
        reason: Why, for people ("shares the rare term 'invoice'").
        origin: Where it comes from.
        fields: The output fields of the source that fill arguments of the target.
        coverage: How much of what the target takes these are; `None` where there are none.
    """

    kind: EdgeKind
    source: str
    target: str
    weight: float
    reason: str
    origin: EdgeOrigin = EdgeOrigin.INFERRED
    fields: tuple[FieldMapping, ...] = ()
    coverage: Coverage | None = None


KIND_FACTORS = {EdgeKind.NEXT_STEP: 1.0, EdgeKind.RELATED: 0.8}
ORIGIN_FACTORS = {
    EdgeOrigin.AUTHORED: 1.0,
    EdgeOrigin.OBSERVED: 1.0,
    EdgeOrigin.SCHEMA: 0.7,
    EdgeOrigin.INFERRED: 0.5,
}
COVERAGE_FACTORS = {Coverage.STRICT: 1.0, Coverage.PARTIAL: 0.7, Coverage.OPTIONAL: 0.4}
"""What a mapping of fields is worth by its coverage; a part of the strength of the evidence."""

LEAST_WEIGHT = 0.01


def weight_of(kind: EdgeKind, origin: EdgeOrigin, strength: float) -> float:
    """Return the weight of an edge that no author gave one, in hundredths of (0, 1].

    It is the factor of its kind times the factor of its origin times the *strength* of the
    evidence, in (0, 1]. Hundredths keep a document as it is when a tool is added elsewhere in the
    catalogue and every rarity moves by a hair.
    """
    weight = KIND_FACTORS[kind] * ORIGIN_FACTORS[origin] * strength
    return min(1.0, max(LEAST_WEIGHT, round(weight, 2)))


@value
class ToolRelations:
    """What the graph says about one tool.

    Attributes:
        groups: Group ids such as `domain:invoice` or `category:billing`.
        related: Edges to tools of the same kind of work, strongest first.
        next_steps: Edges to tools one would call afterwards, strongest first.
    """

    groups: tuple[str, ...] = ()
    related: tuple[Edge, ...] = ()
    next_steps: tuple[Edge, ...] = ()


@value
class Relations:
    """The relations of a whole catalogue, by tool id."""

    by_tool: Mapping[str, ToolRelations]

    def of(self, tool_id: str) -> ToolRelations:
        """Return what is known about *tool_id*; empty when nothing is."""
        return self.by_tool.get(tool_id, ToolRelations())


PROSE = 0.3
"""The weight of a term that stands only in prose, which names much besides the subject."""

_TERMS_PER_TOOL = 12
_SHORTEST_TERM = 2
_MOST_NAMES, _LONGEST_NAME = 32_768, 64
# A term is generic when more tools than this hold it: half of them, once a few are there to count.
_GENERIC_SHARE = 0.5
_TOO_FEW_TO_COUNT = 8


@value
class Vocabulary:
    """The terms of a catalogue.

    A term is a stem. It weighs more the fewer tools hold it and the plainer the place it stands in:
    a name says more about a tool than a tag.

    Attributes:
        terms: For each tool, its terms and the weight of the place of each, in (0, 1]; those that
            say most come first.
        holders: For each term, how many tools hold it.
        words: For each term, the word form that people read.
        size: How many tools there are.
    """

    terms: Sequence[Mapping[str, float]]
    holders: Mapping[str, int]
    words: Mapping[str, str]
    size: int

    def rarity(self, term: str) -> float:
        """How much it says that two tools share *term*, in (0, 1]; see `rarity`."""
        return rarity(self.holders[term], self.size)


@lru_cache(maxsize=1 << 16)
def rarity(holders: int, size: int) -> float:
    """Weigh what *holders* of *size* things share: 1 for a single holder, near 0 for all.

    The inverse document frequency, scaled to (0, 1]: Sparck Jones, "A statistical interpretation of
    term specificity and its application in retrieval", Journal of Documentation 28, 1972.
    """
    return log((size + 1) / holders) / log(size + 1)


def subject_terms(text: str, language: str | None = None) -> list[str]:
    """Return the stems of the words of *text* that may name a subject: no function words or verbs.

    *language* is the one that the text is likely in.
    """
    is_name = len(text) <= _LONGEST_NAME and " " not in text
    return list(_terms_of_name(text, language)) if is_name else _stems_of(text, language)


def _stems_of(text: str, language: str | None) -> list[str]:
    return [stem(word) for word in _subject_words(text, language)]


# Each stage of relating looks at the names of tools and servers.
_terms_of_name = lru_cache(_MOST_NAMES)(_stems_of)


def build_vocabulary(tools: Sequence[Tool], memo: Memo = NO_MEMO) -> Vocabulary:
    """Find the terms of *tools*; the order of the tools does not matter.

    Args:
        tools: The tools.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    language = language_of(word for tool in tools for word in split_words(tool.description))
    found = [_terms_of(_subjects_of(tool, language, memo), forms) for tool in tools]
    holders = Counter(term for terms in found for term in terms)
    words = {
        term: min(counted, key=lambda word: (-counted[word], len(word), word))
        for term, counted in forms.items()
    }
    kept = tuple(_telling(terms, holders, len(tools)) for terms in found)
    return Vocabulary(kept, holders, words, len(tools))


def _places(tool: Tool) -> Iterator[tuple[float, Sequence[str]]]:
    """Return the texts that name what *tool* is about, with the weight of their place.

    Aliases are not among them: an alias is a whole request in any language, verbs and all, and
    two tools that are asked for with the same verb have nothing in common.
    """
    hints = tool.hints
    yield 1.0, (tool.name,)
    yield 0.9, (tool.display_name,)
    yield 0.8, hints.keywords
    yield 0.7, hints.categories
    yield 0.6, (*hints.tags, *hints.data_sources)
    yield PROSE, (tool.description,)


def _encode(subjects: _Subjects) -> bytes:
    return json.dumps(subjects).encode()


def _decode(data: bytes) -> _Subjects:
    return [(weight, words) for weight, words in json.loads(data)]


_Subjects = list[tuple[float, list[str]]]
_SUBJECTS = Kind("subjects", _encode, _decode)


def _subjects_of(tool: Tool, language: str | None, memo: Memo) -> _Subjects:
    places = list(_places(tool))

    def work() -> _Subjects:
        return [
            (weight, [word for text in texts for word in _subject_words(text, language)])
            for weight, texts in places
        ]

    return memo.recall(_SUBJECTS, lambda: json.dumps([language, places]).encode(), work)


def _terms_of(subjects: _Subjects, forms: defaultdict[str, Counter[str]]) -> dict[str, float]:
    """Collect the terms of a tool with their place weights, and count their word *forms*."""
    terms: dict[str, float] = {}
    for weight, words in subjects:
        for word in words:
            term = stem(word)
            forms[term][word] += weight > PROSE
            terms.setdefault(term, weight)
    return terms


# In running text a capitalised compound is a proper name and one word: GitHub is no git and no hub.
_PROPER = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


def _joined(name: re.Match[str]) -> str:
    return name.group().lower()


def _subject_words(text: str, language: str | None) -> list[str]:
    words = split_words(_PROPER.sub(_joined, text) if " " in text else text)
    dropped = stop_words_in(words, language)
    return [
        word
        for word in words
        if word not in dropped
        and len(word) >= _SHORTEST_TERM
        and not word.isdigit()
        and not names_operation(word)
    ]


def _telling(terms: Mapping[str, float], holders: Mapping[str, int], size: int) -> dict[str, float]:
    """Keep the terms of one tool that tell most: first the shared ones, of these the rarest.

    A term that nobody else holds relates a tool to nothing, so it only fills what room is left. A
    term that most tools hold is dropped, unless the tool has no other: then the rarest stays, so
    that the tool belongs somewhere.
    """
    limit = max(_TOO_FEW_TO_COUNT, int(size * _GENERIC_SHARE))
    ranked = sorted(
        (holders[term] > limit, holders[term] == 1, -weight * rarity(holders[term], size), term)
        for term, weight in terms.items()
    )
    chosen = [term for is_generic, _, _, term in ranked if not is_generic]
    return {
        term: terms[term] for term in chosen[:_TERMS_PER_TOOL] or [row[-1] for row in ranked[:1]]
    }
