"""The vocabulary of a server: the terms of its tools, from which edges are inferred."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from math import log

from mcpg.catalog.model import Parameter, Tool, walk_parameters
from mcpg.text import (
    iter_words,
    language_by,
    language_votes,
    lexicon,
    split_words,
    stem,
    stop_words_in,
)


class ToolOperation(StrEnum):
    """The kind of work a tool does."""

    DISCOVER = "discover"
    INSPECT = "inspect"
    ACT = "act"
    OTHER = "other"


VERBS: dict[ToolOperation, tuple[str, ...]] = {
    ToolOperation.DISCOVER: ("browse", "discover", "find", "list", "query", "search"),
    ToolOperation.INSPECT: (
        *("detail", "details", "fetch", "get", "inspect"),
        *("lookup", "read", "retrieve", "show", "status"),
    ),
    ToolOperation.ACT: (
        *("add", "create", "delete", "execute", "invoke", "post"),
        *("remove", "run", "send", "set", "update", "write"),
    ),
}
"""The words that name an operation: the .NET gateway's table, kept so that both agree.

They only decide the kind of work, never how well a tool answers a query.
"""

FOLLOWED_BY = {
    ToolOperation.DISCOVER: ToolOperation.INSPECT,
    ToolOperation.INSPECT: ToolOperation.ACT,
}
"""The next kind of work after each kind: inspect the result, then act on it."""

_BY_WORD = {word: operation for operation, words in VERBS.items() for word in words}
_BY_STEM = {
    operation: frozenset(stem(word) for word in words) for operation, words in VERBS.items()
}


def names_operation(word: str) -> bool:
    """Return whether the folded *word* names an operation, and so not the subject."""
    return word in _BY_WORD


def classify_operation(tool: Tool) -> ToolOperation:
    """Return the kind of work of *tool*.

    The first word of the name, else of the display name, that names an operation decides; if
    neither has one, the description is searched for discovery, inspection and action in this order;
    without any, the author's hint that a tool changes things makes it an action.
    """
    for name in (tool.name, tool.display_name):
        for word in split_words(name):
            if word in _BY_WORD:
                return _BY_WORD[word]
    stems = {stem(word) for word in split_words(tool.description)}
    described = next((kind for kind, verbs in _BY_STEM.items() if stems & verbs), None)
    changes = tool.hints.read_only is False or tool.hints.destructive is True
    return described or (ToolOperation.ACT if changes else ToolOperation.OTHER)


# The first words of a name decide the operation; the first of a description may mislead.
_TELLING_NAME_WORDS = 2
_CREDIT_OF_DESCRIPTION = 0.5
_OPENING = 300
# Few verbs open the names and the descriptions of most tools.
_MOST_REMEMBERED = 4096


def weigh_kinds(tool: Tool, words: Sequence[str]) -> tuple[float, ...]:
    """Return the probability of each of `lexicon.OPERATION_KINDS`; empty without evidence.

    *words* are the words of the name of *tool*, without words that only name its server.
    """
    opening = (
        word.text for word in iter_words(tool.description[:_OPENING]) if not word.is_compound
    )
    first = next(opening, "")
    return _weigh_cached_kinds((*words[:_TELLING_NAME_WORDS],), first, tool.hints.read_only)


@lru_cache(_MOST_REMEMBERED)
def _weigh_cached_kinds(
    words: tuple[str, ...], opening: str, read_only: bool | None
) -> tuple[float, ...]:
    evidence = [(lexicon.find_ratios(stem(word)), 1.0) for word in words]
    if opening:
        evidence.append((lexicon.find_ratios(stem(opening)), _CREDIT_OF_DESCRIPTION))
    if read_only is not None:
        evidence.append((lexicon.ratios_of_hint(read_only), 1.0))
    return lexicon.shares_by(evidence)


def likely_kinds(tool: Tool, words: Sequence[str]) -> tuple[float, ...]:
    """Return the probability of each kind; without evidence, the prior of each.

    Without the table of operations all are equal.
    """
    count = len(lexicon.OPERATION_KINDS)
    usual = ((0.0,) * count, 0.0)
    return weigh_kinds(tool, words) or lexicon.shares_by([usual]) or (1 / count,) * count


PROSE = 0.3
"""The weight of a term that is only in prose, which names much besides the subject."""

_TERMS_PER_TOOL = 12
_SHORTEST_TERM = 2
_MOST_NAMES, _LONGEST_NAME = 32_768, 64
_MOST_WORDS = 65_536
# One of two tools would else be as rare as one of many.
_LEAST_SIZE = 8
# A term is generic if more than this share of the tools have it, in servers of more than a few.
_GENERIC_SHARE = 0.75
_TOO_FEW_TO_COUNT = 4


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The terms of the tools of a server.

    A term is a stem. It weighs more the fewer tools have it and the more specific its place: a name
    is stronger evidence than a tag.

    Attributes:
        terms: For each tool, its terms and the weight of the place of each, in (0, 1]; the most
            specific first.
        holders: For each term, how many tools have it.
        words: For each term, the word form to show.
    """

    terms: Sequence[Mapping[str, float]]
    holders: Mapping[str, int]
    words: Mapping[str, str]


@lru_cache(maxsize=1 << 16)
def rarity(holders: int, size: int) -> float:
    """Return the weight of a term of *holders* of *size* tools: 1 for one tool, near 0 for all.

    The inverse document frequency, scaled to (0, 1]: Sparck Jones, "A statistical interpretation of
    term specificity and its application in retrieval", Journal of Documentation 28, 1972.
    """
    return log((size + 1) / holders) / log(size + 1)


def round_size(count: int) -> int:
    """Return the size that *count* tools of a server count as: a power of two, at least 8.

    One tool more seldom changes it, and with it how rare all words are.
    """
    return max(_LEAST_SIZE, 1 << (count - 1).bit_length())


def subject_terms(text: str, language: str | None = None) -> list[str]:
    """Return the stems of the words of *text*, likely in *language*, that may name a subject.

    Stop words and verbs are left out.
    """
    return [*map(_find_term, _split_subject_words(text, language))]


def build_vocabulary(tools: Sequence[Tool]) -> Vocabulary:
    """Find the terms of *tools*, all of one server; the order of the tools does not matter."""
    language = _find_language(tool.description for tool in tools)
    named: Counter[str] = Counter()
    described: set[str] = set()
    found: list[Mapping[str, float]] = []
    for tool in tools:
        terms: dict[str, float] = {}
        for weight, texts in reversed(_list_places(tool)):
            words = [word for text in texts for word in _split_subject_words(text, language)]
            terms.update(dict.fromkeys(map(_find_term, words), weight))
            if weight > PROSE:
                named.update(words)
            else:
                described.update(words)
        found.append(terms)
    holders = Counter(chain.from_iterable(found))
    # For each term whether it is generic, whether only one tool has it, and its rarity.
    limit = max(_TOO_FEW_TO_COUNT, int(len(tools) * _GENERIC_SHARE))
    size = round_size(len(tools))
    values = {
        term: (count > limit, count == 1, rarity(count, size)) for term, count in holders.items()
    }
    kept = tuple(_choose_telling(terms, values) for terms in found)
    # The word in most names is shown, then the shortest.
    forms: dict[str, str] = {}
    for _, _, word in sorted((-named[word], len(word), word) for word in {*described, *named}):
        forms.setdefault(_find_term(word), word)
    return Vocabulary(kept, holders, forms)


def _find_language(descriptions: Iterable[str]) -> str:
    """Return the language of most *descriptions*, or else English."""
    words = chain.from_iterable(map(split_words, descriptions))
    return language_by(language_votes(words)) or lexicon.ENGLISH


def _list_places(tool: Tool) -> list[tuple[float, Sequence[str]]]:
    """Return the texts that name the subject of *tool*, with the weight of their place.

    Aliases are not among them: an alias is a whole request in any language, verbs and all, and two
    tools are not similar because of a common verb.
    """
    hints = tool.hints
    places: list[tuple[float, Sequence[str]]] = [
        (1.0, (tool.name,)),
        (0.9, (tool.display_name,)),
        (0.8, hints.keywords),
        (0.7, hints.categories),
        (0.6, (*hints.tags, *hints.data_sources)),
        (PROSE, (tool.description,)),
    ]
    return [(weight, texts) for weight, texts in places if any(texts)]


@lru_cache(_MOST_WORDS)
def _find_term(word: str) -> str:
    """Return the stem of *word*, "" if it does not name a subject."""
    names = len(word) >= _SHORTEST_TERM and not word.isdigit() and not names_operation(word)
    return stem(word) if names else ""


# In running text a capitalized compound is a proper name and one word: GitHub is not git or hub.
_PROPER = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


def _split_text(text: str, language: str | None) -> list[str]:
    plain = _PROPER.sub(lambda name: name[0].lower(), text) if " " in text else text
    words = split_words(plain)
    dropped = stop_words_in(words, language)
    named = [*filter(_find_term, words)]
    return [word for word in named if word not in dropped] if dropped else named


# Each stage of relating looks at the names of tools and servers.
_split_name = lru_cache(_MOST_NAMES)(_split_text)


def _split_subject_words(text: str, language: str | None) -> list[str]:
    """Return the words of *text* that may name a subject; the list is shared."""
    is_name = len(text) <= _LONGEST_NAME and " " not in text
    return (_split_name if is_name else _split_text)(text, language)


def _choose_telling(
    terms: Mapping[str, float], values: Mapping[str, tuple[bool, bool, float]]
) -> dict[str, float]:
    """Keep the most specific terms of one tool: first the shared ones, of these the rarest.

    A term of no other tool relates it to nothing, so it only fills the remaining places. A term of
    most tools is dropped, unless the tool has no other: then the rarest stays, so that the tool has
    a group.
    """
    ranked = sorted(
        [
            (is_generic, is_single, -weight * rare, term)
            for term, weight in terms.items()
            for is_generic, is_single, rare in (values[term],)
        ]
    )
    chosen = [row[-1] for row in ranked if not row[0]]
    return {
        term: terms[term] for term in chosen[:_TERMS_PER_TOOL] or [row[-1] for row in ranked[:1]]
    }


_DEEPEST = 4
_MOST = 256
_SHORTEST_PLURAL = 2
_MOST_KEYS, _LONGEST_REMEMBERED = 16_384, 64
# Marks of list elements and unnamed members, and the dots between the steps of a path.
_STEPS = re.compile(r"(?:\[\]|\.\*)*\.|(?:\[\]|\.\*)+$")
_WIDER = {"number": {"integer"}, "string": {"boolean", "integer", "number"}}
# Interchangeable formats of JSON Schema and OpenAPI.
_FORMATS = (
    ("date-time", "datetime", "timestamp"),
    ("email", "idn-email"),
    ("guid", "uuid"),
    ("hostname", "idn-hostname"),
    ("iri", "iri-reference", "uri", "uri-reference", "uri-template", "url"),
    ("decimal", "double", "float", "int32", "int64", "integer", "number", "uint32", "uint64"),
)
_FAMILIES = {name: family[0] for family in _FORMATS for name in family}

FieldKey = tuple[str, ...]
"""The stems of a field's name, sorted: `orderId` and `id_of_order` are one field."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema.

    Attributes:
        name: As the schema writes it.
        types: JSON types that its value may have; empty if the schema has none.
        owner: The stems of the name of the field that contains it; empty at the top.
        path: The way to it, as in `orders[].id`.
    """

    name: str
    key: FieldKey
    types: frozenset[str]
    owner: FieldKey = ()
    path: str = ""
    format: str = ""
    required: bool = True


def _make_key(name: str) -> FieldKey:
    return tuple(sorted({singular(stem(word)) for word in split_words(name)}))


# Tools of one server share many names of arguments.
_remembered = lru_cache(_MOST_KEYS)(_make_key)


def field_key(name: str) -> FieldKey:
    """Return the stems of *name*, sorted, without repeats."""
    return (_remembered if len(name) <= _LONGEST_REMEMBERED else _make_key)(name)


def singular(term: str) -> str:
    """Take the plural ending off a stem that kept it because it is short, as in `ids`.

    Keys are only compared with keys, so a word such as `status` may also lose its ending.
    """
    is_plural = len(term) > _SHORTEST_PLURAL and term.endswith("s") and not term.endswith("ss")
    return term[:-1] if is_plural else term


def given_fields(tool: Tool) -> list[Field]:
    """List the fields of the structured result of *tool*, of lists and objects the innermost."""
    if not tool.output_schema:
        return []
    found = walk_parameters(tool.output_schema, max_depth=_DEEPEST, max_parameters=_MOST)
    holders = {_split_path(parameter)[:-1] for parameter in found}
    # An argument that is a name or a number cannot take a record, only its fields.
    return [_make_field(parameter) for parameter in found if _split_path(parameter) not in holders]


def taken_fields(tool: Tool) -> list[Field]:
    """List the arguments of *tool*."""
    return list(
        map(_make_field, walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST))
    )


def qualify_field(field: Field, subjects: Sequence[str]) -> Iterator[tuple[FieldKey, bool]]:
    """Name a field of one word in full: the `id` of an order is an `order_id` to others.

    Each name comes with whether it contains all known words.
    """
    if len(field.key) != 1:
        return
    owners: list[tuple[FieldKey, bool]] = [(field.owner, True)] if field.owner else []
    if subjects:
        owners.append((tuple(subjects), not field.owner))
    if len(subjects) > 1:
        owners += [((subject,), False) for subject in subjects]
    for owner, is_whole in owners:
        yield tuple(sorted({*field.key, *owner})), is_whole


def fits(needed: Field, given: Field) -> bool:
    """Return whether a value of *given* fits the field *needed*."""
    if not accepts(needed.types, given.types):
        return False
    one, other = needed.format.lower(), given.format.lower()
    return not (one and other) or _FAMILIES.get(one, one) == _FAMILIES.get(other, other)


def accepts(needed: frozenset[str], given: frozenset[str]) -> bool:
    """Return whether a value of one of the *given* types fits the *needed* ones.

    A list fits everything, because an element can be taken from it or put into it.
    """
    if not needed or not given or "array" in needed | given:
        return True
    wider = needed.union(*(_WIDER.get(kind, ()) for kind in needed))
    return not wider.isdisjoint(given)


def _split_path(parameter: Parameter) -> tuple[str, ...]:
    return tuple(step for step in _STEPS.split(parameter.path) if step)


def _make_field(parameter: Parameter) -> Field:
    *owners, name = _split_path(parameter) or ("",)
    types = frozenset(parameter.type.split("|")) if parameter.type else frozenset[str]()
    owner = field_key(owners[-1]) if owners else ()
    form, required = parameter.format, parameter.required
    return Field(name, field_key(name), types, owner, parameter.path, form, required)
