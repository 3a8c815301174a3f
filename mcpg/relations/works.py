"""What each tool of one server does, in the words of the server.

Nothing here is a list of names. What a word says is counted: a word that most names of a server
hold says nothing between its tools, and a parameter that most of them require tells none apart.
What a verb says is the table of `mcpg.text.lexicon`, counted over public APIs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from sys import intern
from typing import NamedTuple

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache, ResultKind
from mcpg.catalog.model import Parameter, Tool, walk_parameters
from mcpg.relations.vocabulary import (
    field_key,
    likely_kinds,
    names_operation,
    rarity,
    singular,
    subject_terms,
)
from mcpg.text import split_words, stem

_PREFIX_SHARE = 0.5
_TOO_FEW_FOR_PREFIX = 4
# So many tools a server is taken to have at least, or one of two would be as rare as one of many.
_LEAST_SIZE = 8
_MOST_PARAMETERS = 64
_MOST_PROSE = 2000
_SURELY = 0.9
_RATHER = 0.5
_FEW_NAMES = 16
_NAME = re.compile(r"[^\W\d][\w-]{3,}")


ONE, MANY, CREATE, CHANGE, DELETE = range(5)
"""The places of `mcpg.text.lexicon.OPERATION_KINDS`."""


class Bag(dict[str, float]):
    """Stems, and how rare each is among the tools of the server, in (0, 1]."""

    __slots__ = ("total",)

    def __init__(self, rarities: Iterable[tuple[str, float]]) -> None:
        super().__init__(rarities)
        self.total = sum(self.values())


@dataclass(frozen=True, slots=True)
class Work:
    """What a tool does, in the words of its own server.

    Attributes:
        kinds: The probability of each of `mcpg.text.lexicon.OPERATION_KINDS`.
        kind: The place of the one that the tool rather does than all others, or -1.
        stages: The probability of each of `mcpg.relations.server_sequences.STAGES`.
        nouns: What its name says it works on.
        head: The last of these: what `get_board_cards` returns; "" where there is none.
        handles: What its required arguments name that other tools' names name as well.
        needs: The required arguments, by their stems.
        takes: All arguments, by their stems.
        prose: The words of its description.
        told: The words of the descriptions of its arguments.
        names: The other tools whose names its descriptions mention, by position.
    """

    kinds: tuple[float, ...]
    kind: int
    stages: tuple[float, ...]
    nouns: Bag
    head: str
    handles: Bag
    needs: Bag
    takes: Bag
    prose: Bag
    told: Bag
    names: frozenset[int]


class _WorkDraft(NamedTuple):
    """What tells the work of a tool, as stems; `needs` and `takes` have those of each argument."""

    nouns: Sequence[str]
    needs: Sequence[str]
    takes: Sequence[str]
    prose: Sequence[str]
    told: Sequence[str]


def describe_works(tools: Sequence[Tool], memo: BuildCache = NO_BUILD_CACHE) -> list[Work]:
    """Return what each of *tools*, all of one server, does.

    Args:
        tools: The tools.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    words = [[one for one in split_words(tool.name) if one] for tool in tools]
    idle = _find_prefixes(words) | set(split_words(tools[0].source_id))
    words = [[one for one in row if one not in idle] or row[-1:] for row in words]
    walked = [
        walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST_PARAMETERS)
        for tool in tools
    ]
    drafts = _make_drafts(tools, words, walked, memo)
    size = max(_LEAST_SIZE, len(tools))
    # How rare each stem is that tools of the server hold in one place.
    rarities = [
        {
            one: rarity(count, size)
            for one, count in Counter(chain.from_iterable(map(frozenset, column))).items()
        }
        for column in zip(*drafts, strict=True)
    ]
    mentioned = _find_mentions(tools, walked)
    return [
        _make_work(_weigh_kinds(tool, draft, row), draft, rarities, names)
        for tool, row, draft, names in zip(tools, words, drafts, mentioned, strict=True)
    ]


def _make_work(
    kinds: tuple[float, ...],
    draft: _WorkDraft,
    rarities: Sequence[Mapping[str, float]],
    names: frozenset[int],
) -> Work:
    nouns, needs, takes, prose, told = (
        Bag(zip(held, map(rare.__getitem__, held), strict=True))
        for held, rare in zip(draft, rarities, strict=True)
    )
    named = rarities[0]
    handles = Bag(
        (token, needs[need]) for need in draft.needs for token in need.split() if token in named
    )
    kind = next((kind for kind, share in enumerate(kinds) if share > _RATHER), -1)
    one, many, create, change, delete = kinds
    stages = (one, many, create, change + delete)
    head = draft.nouns[-1] if draft.nouns else ""
    return Work(kinds, kind, stages, nouns, head, handles, needs, takes, prose, told, names)


def _find_prefixes(names: Sequence[Sequence[str]]) -> set[str]:
    """Return the words that most names begin with, which tell only the server."""
    if len(names) < _TOO_FEW_FOR_PREFIX:
        return set()
    counts = Counter(row[0] for row in names if len(row) > 1)
    return {
        word
        for word, count in counts.items()
        if count > _PREFIX_SHARE * len(names) and not names_operation(word)
    }


def _make_drafts(
    tools: Sequence[Tool],
    names: Sequence[Sequence[str]],
    walked: Sequence[Sequence[Parameter]],
    memo: BuildCache,
) -> list[_WorkDraft]:
    """Return what tells the work of each of *tools*, by their names and arguments."""
    later = Counter(stem(one) for row in names for one in row[1:])
    first = Counter(stem(row[0]) for row in names if len(row) > 1)
    # Tools of one server often describe an argument in the same words.
    list_told = cache(_list_stems)
    drafts: list[_WorkDraft] = []
    for tool, row, found in zip(tools, names, walked, strict=True):
        is_verb = len(row) > 1 and later[stem(row[0])] <= first[stem(row[0])]
        nouns = (
            singular(stem(word))
            for word in row[is_verb:]
            if not names_operation(word) and len(word) > 1
        )
        others = memo.recall(
            _DRAFTS,
            partial(_encode_inputs, tool, found),
            partial(_read_draft, tool, found, list_told),
        )
        drafts.append(_WorkDraft([*dict.fromkeys(nouns)], *others))
    return drafts


def _encode_inputs(tool: Tool, found: Sequence[Parameter]) -> bytes:
    arguments = [(one.path, one.required, one.description[:_MOST_PROSE]) for one in found]
    return json.dumps((tool.description[:_MOST_PROSE], arguments)).encode()


def _read_draft(
    tool: Tool, found: Sequence[Parameter], list_told: Callable[[str], Sequence[str]]
) -> list[list[str]]:
    """Return all of the draft of *tool* but its nouns: what does not depend on other tools."""
    keys = [" ".join(field_key(one.path)) for one in found]
    texts = dict.fromkeys(one.description for one in found)
    return [
        [key for key, one in zip(keys, found, strict=True) if one.required],
        keys,
        [*dict.fromkeys(_list_stems(tool.description))],
        [*dict.fromkeys(chain.from_iterable(map(list_told, texts)))],
    ]


def _list_stems(text: str) -> Sequence[str]:
    return [*map(singular, subject_terms(text[:_MOST_PROSE]))]


# Stems hold no control characters. Each stands behind its mark, so that an empty row is not one
# empty stem.
_BEFORE_STEM, _BETWEEN_ROWS = "\0", "\n"


def _encode(rows: list[list[str]]) -> bytes:
    lines = ("".join(f"{_BEFORE_STEM}{one}" for one in row) for row in rows)
    return _BETWEEN_ROWS.join(lines).encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> list[list[str]]:
    lines = data.decode("utf-8", "surrogatepass").split(_BETWEEN_ROWS)
    needs, takes, prose, told = ([*map(intern, line.split(_BEFORE_STEM)[1:])] for line in lines)
    return [needs, takes, prose, told]


_DRAFTS = ResultKind("drafts of work", _encode, _decode)


def _weigh_kinds(tool: Tool, draft: _WorkDraft, words: Sequence[str]) -> tuple[float, ...]:
    """Tell reading one from reading many: who asks which one reads one, a plural tells many."""
    kinds = likely_kinds(tool, words)
    one, many, *others = kinds
    head, last = draft.nouns[-1] if draft.nouns else "", words[-1] if words else ""
    if head and any(head in need.split() for need in draft.needs):
        share = _SURELY
    elif last.endswith("s") and not last.endswith("ss"):
        share = 1 - _SURELY
    else:
        return kinds
    return ((one + many) * share, (one + many) * (1 - share), *others)


def _find_mentions(
    tools: Sequence[Tool], walked: Sequence[Sequence[Parameter]]
) -> list[frozenset[int]]:
    """Return which other tools the descriptions of each tool and its arguments name."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    for place, tool in enumerate(tools):
        if len(split_words(tool.name)) > 1:
            places[tool.name.casefold()].add(place)
    found: list[frozenset[int]] = []
    for place, (tool, parameters) in enumerate(zip(tools, walked, strict=True)):
        described = (tool.description, *(one.description for one in parameters))
        texts = {text[:_MOST_PROSE] for text in described}
        if len(places) <= _FEW_NAMES:
            # To find a few names anywhere is quicker than to cut out all words.
            whole = "\n".join(texts).casefold()
            texts = texts if any(name in whole for name in places) else set()
        words = map(str.casefold, chain.from_iterable(map(_NAME.findall, texts)))
        named = places.keys() & words
        found.append(frozenset(at for name in named for at in places[name]) - {place})
    return found
