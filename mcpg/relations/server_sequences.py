"""The work of each tool of a server, in the server's words, and its sequences, as weighed evidence.

No names are listed. Evidence is counted: a word in most names of a server does not distinguish its
tools, and neither does a parameter that most of them require. The evidence of verbs is the table of
`mcpg.text.lexicon`, counted over public APIs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from math import exp
from pathlib import Path
from typing import NamedTuple

from mcpg.catalog.model import Parameter, Tool, walk_parameters
from mcpg.relations.mentions import MentionReader
from mcpg.relations.vocabulary import (
    field_key,
    likely_kinds,
    names_operation,
    rarity,
    round_size,
    singular,
    subject_terms,
)
from mcpg.text import split_words, stem

_PREFIX_SHARE = 0.5
_TOO_FEW_FOR_PREFIX = 4
_MOST_PARAMETERS = 64
_MOST_PROSE = 2000
_SURELY = 0.9
_RATHER = 0.5
_FEW_NAMES = 16
_NAME = re.compile(r"[^\W\d][\w-]{3,}")

ONE, MANY, CREATE, CHANGE, DELETE = range(5)
"""The places of `mcpg.text.lexicon.KINDS`."""


class Bag(dict[str, float]):
    """Stems, and how rare each is among the tools of the server, in (0, 1]."""

    __slots__ = ("total",)

    def __init__(self, rarities: Iterable[tuple[str, float]]) -> None:
        super().__init__(rarities)
        self.total = sum(self.values())


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a tool, in the words of its server.

    Attributes:
        kinds: The probability of each of `mcpg.text.lexicon.KINDS`.
        kind: The place of the kind that is likelier than all others together, or -1.
        stages: The probability of each of `mcpg.relations.server_sequences.STAGES`.
        nouns: The objects in its name.
        head: The last of these: the result of `get_board_cards`; "" if there is none.
        handles: Objects of its required arguments that are also in other tools' names.
        told: The words of the descriptions of its arguments.
        names: Other tools whose names its descriptions mention, by place.
        follows: Tools that come before it according to their or its descriptions.
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
    follows: frozenset[int]


class _WorkDraft(NamedTuple):
    """The evidence for the work of a tool, as stems; `needs` and `takes` are by argument."""

    nouns: Sequence[str]
    needs: Sequence[str]
    takes: Sequence[str]
    prose: Sequence[str]
    told: Sequence[str]


def describe_works(tools: Sequence[Tool]) -> list[Work]:
    """Return what each of *tools*, all of one server, does."""
    words = _cut_names(tools)
    walked = [
        walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST_PARAMETERS)
        for tool in tools
    ]
    drafts = _make_drafts(tools, words, walked)
    size = round_size(len(tools))
    # The rarity of each stem of the server's tools, by place.
    rarities = [
        {
            one: rarity(count, size)
            for one, count in Counter(chain.from_iterable(map(frozenset, column))).items()
        }
        for column in zip(*drafts, strict=True)
    ]
    mentions = _read_mentions(tools, walked, [draft.takes for draft in drafts])
    works: list[Work] = []
    for tool, row, draft, mentioned in zip(tools, words, drafts, mentions, strict=True):
        nouns, needs, takes, prose, told = (
            Bag(zip(held, map(rare.__getitem__, held), strict=True))
            for held, rare in zip(draft, rarities, strict=True)
        )
        handles = Bag(
            (token, needs[need])
            for need in draft.needs
            for token in need.split()
            if token in rarities[0]
        )
        kinds = _weigh_kinds(tool, draft, row)
        kind = next((kind for kind, share in enumerate(kinds) if share > _RATHER), -1)
        one, many, create, change, delete = kinds
        stages, head = (one, many, create, change + delete), draft.nouns[-1] if draft.nouns else ""
        works.append(
            Work(
                *(kinds, kind, stages, nouns, head, handles, needs, takes, prose, told),
                *map(frozenset, mentioned),
            )
        )
    return works


def _cut_names(tools: Sequence[Tool]) -> list[list[str]]:
    names = [[one for one in split_words(tool.name) if one] for tool in tools]
    idle = set(split_words(tools[0].source_id))
    if len(names) >= _TOO_FEW_FOR_PREFIX:
        counts = Counter(row[0] for row in names if len(row) > 1)
        most = _PREFIX_SHARE * len(names)
        idle.update(w for w, count in counts.items() if count > most and not names_operation(w))
    return [[one for one in row if one not in idle] or row[-1:] for row in names]


def _make_drafts(
    tools: Sequence[Tool],
    names: Sequence[Sequence[str]],
    walked: Sequence[Sequence[Parameter]],
) -> list[_WorkDraft]:
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
        keys = [" ".join(field_key(one.path)) for one in found]
        texts = dict.fromkeys(one.description for one in found)
        drafts.append(
            _WorkDraft(
                [*dict.fromkeys(nouns)],
                [key for key, one in zip(keys, found, strict=True) if one.required],
                keys,
                [*dict.fromkeys(_list_stems(tool.description))],
                [*dict.fromkeys(chain.from_iterable(map(list_told, texts)))],
            )
        )
    return drafts


def _list_stems(text: str) -> Sequence[str]:
    return [*map(singular, subject_terms(text[:_MOST_PROSE]))]


def _weigh_kinds(tool: Tool, draft: _WorkDraft, words: Sequence[str]) -> tuple[float, ...]:
    """Distinguish reading one from reading many: an id means one, a plural means many."""
    kinds = likely_kinds(tool, words)
    one, many, *others = kinds
    asked = {word for need in draft.needs for word in need.split()}
    last = words[-1] if words else ""
    if asked.issuperset(draft.nouns[-1:]) and draft.nouns:
        share = _SURELY
    elif last.endswith("s") and not last.endswith("ss"):
        share = 1 - _SURELY
    elif not asked.isdisjoint(draft.nouns):
        share = _SURELY
    else:
        return kinds
    return ((one + many) * share, (one + many) * (1 - share), *others)


class _Mentions(NamedTuple):
    """The tools that a tool names, and those that come before it."""

    names: set[int]
    follows: set[int]


def _read_mentions(
    tools: Sequence[Tool],
    walked: Sequence[Sequence[Parameter]],
    takes: Sequence[Sequence[str]],
) -> list[_Mentions]:
    places = {
        tool.name.casefold(): place
        for place, tool in enumerate(tools)
        if len(split_words(tool.name)) > 1
    }
    reader = MentionReader(places)
    found = [_Mentions(set(), set()) for _ in tools]
    for place, (tool, parameters) in enumerate(zip(tools, walked, strict=True)):
        texts = {one.description: True for one in parameters} | {tool.description: False}
        if len(places) <= _FEW_NAMES:
            # To find a few names anywhere is quicker than to cut out all words.
            whole = "\n".join(texts).casefold()
            texts = texts if any(name in whole for name in places) else {}
        own = {word for key in takes[place] for word in key.split()}
        for text, is_argument in texts.items():
            words = map(str.casefold, _NAME.findall(text))
            named = {places[name] for name in places.keys() & words} - {place}
            if named:
                found[place].names.update(named)
                for first, then in reader.read(text, place, needs=own, is_argument=is_argument):
                    found[then].follows.add(first)
    return found


_STEEPEST = 30.0

STAGES = ("one", "many", "create", "change")


def measure_likeness(one: Bag, other: Bag) -> float:
    """Return the share of two bags that is in both, by rarity."""
    common = one.keys() & other.keys()
    if not common:
        return 0.0
    # Sets are in no order, in which only the sum of two is the same.
    held = common if len(common) <= 2 else filter(common.__contains__, one)  # noqa: PLR2004
    shared = sum(map(one.__getitem__, held))
    return shared / (one.total + other.total - shared)


def find_greatest(one: Bag, other: Bag) -> float:
    """Return the greatest rarity in both of two bags."""
    return max([value for key, value in one.items() if key in other], default=0.0)


def find_asked(first: Work, then: Work) -> float:
    """Return how rare the rarest noun of *first* is that *then* asks for, and *first* does not."""
    mine, theirs = first.handles, then.handles
    return max([theirs[one] for one in first.nouns if one in theirs and one not in mine], default=0)


def measure_size(works: Sequence[Work]) -> int:
    """Return how large a server is, in bits: in a large one a tool follows few of the others."""
    return round_size(len(works)).bit_length() - 1


# Prefixes of the evidence that counts by the stages of both tools: always, by the likeness of
# nouns, if the heads are equal, if the head is required, and if any noun is.
_PARTS = ("", "alike ", "same head ", "meets ", "asks ")


@cache
def step_weights() -> dict[str, float]:
    """Return what each piece of evidence weighs, by name."""
    data = json.loads((Path(__file__).parent / "data" / "steps.json").read_bytes())
    return dict(data["weights"])


@cache
def _stage_weights() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return for each part and stage of the next tool what each stage of the first weighs."""
    weights = step_weights()
    return tuple(
        tuple(tuple(weights[f"{part}{one}>{other}"] for one in STAGES) for other in STAGES)
        for part in _PARTS
    )


_Stages = Sequence[float]


@dataclass(frozen=True, slots=True)
class _ToolEvidence:
    """What a tool brings along to every comparison.

    Attributes:
        before: What counts whatever follows it.
        after: What counts whatever comes before it.
        always: What each stage of the next tool weighs.
        alike: The additional weight by the likeness of their nouns.
        same_head: The additional weight if their heads are equal.
        meets: The additional weight by the rarity of an argument for the head.
        asks: The additional weight by the rarity of an argument for any of its nouns.
        opens: What it weighs that the next tool needs something that this one cannot name.
    """

    work: Work
    before: float
    after: float
    always: _Stages
    alike: _Stages
    same_head: _Stages
    meets: _Stages
    asks: _Stages
    opens: float
    needed: float


class StepScorer:
    """Computes how likely one tool of a server follows another.

    A logistic regression: Cox, "The regression analysis of binary sequences", Journal of the Royal
    Statistical Society, Series B 20, 1958. `benchmarks/fit_relations.py` fits it.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        """Prepare to compare *works*, what all tools of a server do."""
        self._weights = weights = step_weights()
        self._tools: list[_ToolEvidence] = []
        bias = weights["bias"] + weights["size"] * measure_size(works)
        for work in works:
            is_open = (work.kinds[0] + work.kinds[1]) * (not work.handles)
            before = bias + weights["open search"] * is_open
            before += weights["first deletes"] * work.kinds[DELETE]
            before += 0.0 if work.needs else weights["first has no needs"]
            after = weights["next deletes"] * work.kinds[DELETE]
            after += 0.0 if work.needs else weights["next has no needs"]
            always, alike, same_head, meets, asks = (
                tuple([_dot(row, work.stages) for row in rows]) for rows in _stage_weights()
            )
            opens = weights["open search for id"] * is_open * (work.head == "")
            needed = max(work.needs.values(), default=0.0)
            self._tools.append(
                _ToolEvidence(
                    *(work, before, after, always, alike, same_head, meets, asks, opens, needed)
                )
            )

    def probability(self, at: int, to: int) -> float:
        """Return the probability that the tool at the place *to* follows the tool at *at*."""
        a, b = self._tools[at], self._tools[to]
        first, then = a.work, b.work
        logit = a.before + b.after + self._add_subject(a, then) + self._add_words(first, then)
        if a.opens:
            logit += a.opens * b.needed
        if first.handles or then.handles:
            logit += self._add_handles(a, then)
        return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, logit))))

    def _add_subject(self, a: _ToolEvidence, then: Work) -> float:
        first, weights = a.work, self._weights
        logit = _dot(a.always, then.stages)
        if not (first.nouns and then.nouns):
            return logit
        logit += weights["both have nouns"]
        if first.head == then.head:
            logit += weights["same head"] + _dot(a.same_head, then.stages)
        elif first.head in then.nouns:
            logit += weights["head contained"]
        alike = measure_likeness(first.nouns, then.nouns)
        if alike:
            logit += alike * (weights["nouns alike"] + _dot(a.alike, then.stages))
            logit += weights["rarest noun"] * find_greatest(first.nouns, then.nouns)
        return logit

    def _add_words(self, first: Work, then: Work) -> float:
        weights = self._weights
        logit = weights["prose alike"] * measure_likeness(first.prose, then.prose)
        logit += weights["needs dropped"] * len(first.needs.keys() - then.takes.keys())
        if first.takes and then.takes:
            alike = measure_likeness(first.takes, then.takes)
            # What both require, both take.
            if alike:
                logit += weights["takes alike"] * alike
                logit += weights["needs alike"] * measure_likeness(first.needs, then.needs)
        logit += weights["told of head"] * then.told.get(first.head, 0.0)
        told = prose = 0.0
        for noun, rare in first.nouns.items():
            if rare > told and noun in then.told:
                told = rare
            if rare > prose and noun in then.prose:
                prose = rare
        logit += weights["told of nouns"] * told + weights["prose of nouns"] * prose
        return logit + weights["nouns in prose"] * find_greatest(then.nouns, first.prose)

    def _add_handles(self, a: _ToolEvidence, then: Work) -> float:
        first, weights = a.work, self._weights
        mine, theirs = first.handles, then.handles
        gap = [one for key, one in theirs.items() if key not in mine and key != first.head]
        dropped = [one for key, one in mine.items() if key not in theirs]
        logit = weights["handles missing"] * sum(gap) + weights["handles dropped"] * sum(dropped)
        logit += weights["handles alike"] * measure_likeness(mine, theirs)
        asked = theirs.get(first.head, 0.0)
        if gap:
            logit += weights["lacks a handle"]
        if first.head in mine:
            logit += weights["meets own handle"] * asked
        elif asked:
            logit += asked * (weights["meets"] + _dot(a.meets, then.stages))
            logit += 0.0 if gap else weights["meets all"]
        if then.head in mine and first.head != then.head:
            logit += weights["back to owner"]
        if any_asked := find_asked(first, then):
            logit += any_asked * _dot(a.asks, then.stages)
            if first.nouns.keys() == then.nouns.keys():
                logit += weights["asks for same nouns"] * any_asked
        return logit


def _dot(weights: _Stages, stages: _Stages) -> float:
    one, many, create, change = weights
    ones, manies, creates, changes = stages
    return one * ones + many * manies + create * creates + change * changes


_SEQUENCES = {MANY: (ONE, CHANGE, DELETE), CREATE: (ONE, CHANGE), ONE: (CHANGE, DELETE)}
_DONE = ("read", "find", "create", "change", "delete")
# The share of correct pairs among judged pairs in such a sequence, and among pairs that a
# description orders.
_CHANCE_OF_SEQUENCE = 0.95
_CHANCE_OF_STATED = 0.9


def find_sequence(a: Work, b: Work) -> tuple[int, int] | None:
    """Return the kinds of work of two tools that are a step in the life of one entity.

    It is created or found, then read, then changed or deleted. The next tool must require its id,
    and nothing that the first tool lacks.
    """
    first, then = a.kind, b.kind
    if then not in _SEQUENCES.get(first, ()) or a.head != b.head:
        return None
    # A `pull_number` identifies a pull request.
    entity = a.nouns.keys() & b.nouns.keys()
    asked = entity & b.handles.keys()
    is_known = b.handles.keys() <= a.handles.keys() | entity
    reads_same = (not asked.isdisjoint(a.handles)) == (first == ONE)
    return (first, then) if asked and is_known and reads_same else None


def find_certain(works: Sequence[Work], at: int, to: int) -> float | None:
    """Return how likely one tool follows another where a description or a sequence decides it."""
    if at in works[to].follows:
        return 0.0 if to in works[at].follows else _CHANCE_OF_STATED
    if to in works[at].follows:
        return 0.0
    return _CHANCE_OF_SEQUENCE if find_sequence(works[at], works[to]) else None


LEAST_CHANCE = 0.75
"""So likely a next step is at least."""


class ServerSteps:
    """Weighs sequences of tools of one server, by their places.

    Attributes:
        linked: For each tool, tools that it names or that name it, or that are ordered with it.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.works = describe_works(tools)
        self.linked: list[set[int]] = [set() for _ in tools]
        for at, work in enumerate(self.works):
            for other in work.names | work.follows:
                self.linked[at].add(other)
                self.linked[other].add(at)
        self._scorer = StepScorer(self.works)
        self._names = [tool.name for tool in tools]

    @cached_property
    def forms(self) -> Mapping[str, str]:
        """The word to show for each stem of the names: the commonest, then shortest."""
        counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name in self._names:
            for word in split_words(name):
                counted[singular(stem(word))][word] += 1
        return {
            one: min(words, key=lambda word: (-words[word], len(word), word))
            for one, words in counted.items()
        }

    def weigh(self, at: int, others: Iterable[int]) -> Mapping[int, float]:
        """Return how likely each of *others* follows the tool at *at*."""
        found: dict[int, float] = {}
        for to in others:
            if to != at:
                certain = find_certain(self.works, at, to)
                found[to] = self._scorer.probability(at, to) if certain is None else certain
        return found

    def explain(self, at: int, to: int) -> str:
        """Return, for readers, why one of two tools follows another, in either direction."""
        a, b, forms = self.works[at], self.works[to], self.forms
        if sequence := find_sequence(a, b):
            first, then = (_DONE[kind] for kind in sequence)
            return f"sequence on one {forms.get(a.head, a.head)!r}: {first}, then {then}"
        if to in a.names or at in b.names:
            where = "its description" if to in a.names else "the description there"
            if at in b.follows:
                return f"{where} gives this order"
            return f"{where} names {'it' if to in a.names else 'this tool'}"
        if a.head in b.handles and a.head not in a.handles:
            return f"there an argument asks for the {forms.get(a.head, a.head)!r} of this one"
        shared = sorted((-a.nouns[noun], noun) for noun in a.nouns.keys() & b.nouns.keys())
        if shared:
            return f"works on {forms.get(shared[0][1], shared[0][1])!r} as this one does"
        return "this kind of work often follows in one server"
