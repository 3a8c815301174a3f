"""What two tools of one server have to do with each other, as evidence that can be weighed.

Nothing here is a list of names. What a word says is counted: a word that most names of a server
hold says nothing between its tools, and a parameter that most of them require tells none apart.
What a verb says is the table of `mcpg.text.operations`, counted over public APIs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from math import exp
from operator import add, mul
from pathlib import Path

from mcpg.catalog.model import Parameter, Tool, walk_parameters
from mcpg.relations.fields import field_key, singular
from mcpg.relations.kinds import likely_kinds, names_operation
from mcpg.relations.model import rarity, subject_terms
from mcpg.text import split_words, stem
from mcpg.values import score_text

_PREFIX_SHARE = 0.5
_TOO_FEW_FOR_PREFIX = 4
# So many tools a server is taken to have at least, or one of two would be as rare as one of many.
_LEAST_SIZE = 8
_MOST_PARAMETERS = 64
_MOST_PROSE = 2000
_STEEPEST = 30.0
_SURELY = 0.9
_RATHER = 0.5
_NAME = re.compile(r"[^\W\d][\w-]{3,}")


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
        kinds: The probability of each of `mcpg.text.operations.KINDS`.
        kind: The place of the one that the tool rather does than all others, or -1.
        stages: The probability of each of `STAGES`.
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


@dataclass(frozen=True, slots=True)
class _Draft:
    nouns: list[str]
    needs: list[str]
    takes: list[str]
    prose: list[str]
    told: list[str]


def works_of(tools: Sequence[Tool]) -> list[Work]:
    """Return what each of *tools*, all of one server, does."""
    words = [[one for one in split_words(tool.name) if one] for tool in tools]
    idle = _prefixes(words) | set(split_words(tools[0].source_id))
    words = [[one for one in row if one not in idle] or row[-1:] for row in words]
    later = Counter(stem(one) for row in words for one in row[1:])
    first = Counter(stem(row[0]) for row in words if len(row) > 1)
    walked = [
        walk_parameters(tool.input_schema, max_depth=1, max_parameters=_MOST_PARAMETERS)
        for tool in tools
    ]
    drafts = [
        _draft(tool, row, found, later, first)
        for tool, row, found in zip(tools, words, walked, strict=True)
    ]
    size = max(_LEAST_SIZE, len(tools))
    counts = {
        part: Counter(one for draft in drafts for one in set(getattr(draft, part)))
        for part in ("nouns", "needs", "takes", "prose", "told")
    }
    mentioned = _mentions(tools, walked)
    likely = [
        _by_handle(likely_kinds(tool, row), draft, row)
        for tool, row, draft in zip(tools, words, drafts, strict=True)
    ]

    def bag(part: str, held: Iterable[str]) -> Bag:
        return Bag((one, rarity(counts[part][one], size)) for one in held)

    return [
        Work(
            kinds,
            _kind(kinds),
            _stages(kinds),
            bag("nouns", draft.nouns),
            draft.nouns[-1] if draft.nouns else "",
            Bag(
                (token, rarity(counts["needs"][need], size))
                for need in draft.needs
                for token in need.split()
                if token in counts["nouns"]
            ),
            bag("needs", draft.needs),
            bag("takes", draft.takes),
            bag("prose", draft.prose),
            bag("told", draft.told),
            mentioned[place],
        )
        for place, (kinds, draft) in enumerate(zip(likely, drafts, strict=True))
    ]


def _prefixes(names: Sequence[Sequence[str]]) -> set[str]:
    """Return the words that most names begin with, which tell only the server."""
    if len(names) < _TOO_FEW_FOR_PREFIX:
        return set()
    counts = Counter(row[0] for row in names if len(row) > 1)
    return {
        word
        for word, count in counts.items()
        if count > _PREFIX_SHARE * len(names) and not names_operation(word)
    }


def _draft(
    tool: Tool,
    words: Sequence[str],
    found: Sequence[Parameter],
    later: Counter[str],
    first: Counter[str],
) -> _Draft:
    stems = [stem(one) for one in words]
    is_verb = len(stems) > 1 and later[stems[0]] <= first[stems[0]]
    nouns = [
        singular(one)
        for word, one in zip(words[is_verb:], stems[is_verb:], strict=True)
        if not names_operation(word) and len(word) > 1
    ]
    nouns = list(dict.fromkeys(nouns))
    keys = [" ".join(field_key(one.path)) for one in found]
    return _Draft(
        nouns,
        [key for key, one in zip(keys, found, strict=True) if one.required],
        keys,
        _terms(tool.description),
        _terms(*(one.description for one in found)),
    )


def _terms(*texts: str) -> list[str]:
    terms = (subject_terms(text[:_MOST_PROSE]) for text in dict.fromkeys(texts))
    return list(dict.fromkeys(singular(term) for found in terms for term in found))


def _by_handle(kinds: tuple[float, ...], draft: _Draft, words: Sequence[str]) -> tuple[float, ...]:
    """Tell reading one from reading many: who asks which one reads one, a plural tells many."""
    one, many, *others = kinds
    head, last = draft.nouns[-1] if draft.nouns else "", words[-1] if words else ""
    if head and any(head in need.split() for need in draft.needs):
        share = _SURELY
    elif last.endswith("s") and not last.endswith("ss"):
        share = 1 - _SURELY
    else:
        return kinds
    return ((one + many) * share, (one + many) * (1 - share), *others)


def _mentions(tools: Sequence[Tool], walked: Sequence[Sequence[Parameter]]) -> list[frozenset[int]]:
    """Return which other tools the descriptions of each tool and its arguments name."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    for place, tool in enumerate(tools):
        if len(split_words(tool.name)) > 1:
            places[tool.name.casefold()].add(place)
    found: list[frozenset[int]] = []
    for place, tool in enumerate(tools):
        texts = [tool.description[:_MOST_PROSE]]
        texts += [one.description[:_MOST_PROSE] for one in walked[place]]
        names = {name.casefold() for text in texts for name in _NAME.findall(text)}
        named = {at for name in names for at in places.get(name, ())}
        found.append(frozenset(named - {place}))
    return found


def _kind(kinds: Sequence[float]) -> int:
    """Return the place of the kind of work that is likelier than all others, or -1."""
    return next((kind for kind, share in enumerate(kinds) if share > _RATHER), -1)


def _likeness(one: Bag, other: Bag) -> float:
    """Return how much of what two bags hold both hold, by rarity."""
    if one.keys().isdisjoint(other):
        return 0.0
    shared = sum([value for key, value in one.items() if key in other])
    return shared / (one.total + other.total - shared) if shared else 0.0


def _greatest(one: Bag, other: Bag) -> float:
    return max([value for key, value in one.items() if key in other], default=0.0)


STAGES = ("one", "many", "create", "change")
STEP_FEATURES = (
    *(f"{a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"alike {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"same head {a}>{b}" for a, b in product(STAGES, STAGES)),
    *(f"meets {a}>{b}" for a, b in product(STAGES, STAGES)),
    "nouns alike",
    "same head",
    "rarest noun",
    "meets",
    "meets all",
    "meets own handle",
    "back to owner",
    "handles alike",
    "handles missing",
    "lacks a handle",
    "handles dropped",
    "names it",
    "is named by it",
    "told of nouns",
    "told of head",
    "prose of nouns",
    "nouns in prose",
    "prose alike",
    "needs alike",
    "takes alike",
    "open search",
    "open search for id",
    "first has no needs",
    "next has no needs",
    "both have nouns",
    "head contained",
    "first deletes",
    "next deletes",
    "bias",
)


_NO_TRANSITION = (0.0,) * len(STAGES) ** 2


def _stages(kinds: Sequence[float]) -> tuple[float, ...]:
    one, many, create, change, delete = kinds
    return one, many, create, change + delete


def step_features(a: Work, b: Work, at: int, to: int) -> list[float]:
    """Return the evidence that *b* follows *a*, as `STEP_FEATURES` names it."""
    alike = _likeness(a.nouns, b.nouns)
    transition = [one * other for one in a.stages for other in b.stages]
    gap = [value for key, value in b.handles.items() if key not in a.handles and key != a.head]
    is_open = (a.kinds[0] + a.kinds[1]) * (not a.handles)
    same_head = float(a.head == b.head != "")
    met = 0.0 if a.head in a.handles else b.handles.get(a.head, 0.0)
    return [
        *transition,
        *([alike * one for one in transition] if alike else _NO_TRANSITION),
        *([same_head * one for one in transition] if same_head else _NO_TRANSITION),
        *([met * one for one in transition] if met else _NO_TRANSITION),
        alike,
        same_head,
        _greatest(a.nouns, b.nouns),
        met,
        float(met > 0 and not gap),
        b.handles.get(a.head, 0.0) if a.head in a.handles else 0.0,
        float(b.head in a.handles and a.head != b.head),
        _likeness(a.handles, b.handles),
        sum(gap),
        float(bool(gap)),
        sum(value for key, value in a.handles.items() if key not in b.handles),
        float(to in a.names),
        float(at in b.names),
        _greatest(a.nouns, b.told),
        b.told.get(a.head, 0.0),
        _greatest(a.nouns, b.prose),
        _greatest(b.nouns, a.prose),
        _likeness(a.prose, b.prose),
        _likeness(a.needs, b.needs),
        _likeness(a.takes, b.takes),
        is_open,
        is_open * (a.head == "") * max(b.needs.values(), default=0.0),
        float(not a.needs),
        float(not b.needs),
        float(bool(a.nouns and b.nouns)),
        float(a.head in b.nouns and a.head != b.head),
        a.kinds[4],
        b.kinds[4],
        1.0,
    ]


@cache
def _weights() -> tuple[float, ...]:
    weights = json.loads((Path(__file__).parent / "data" / "steps.json").read_bytes())["weights"]
    return tuple(weights[name] for name in STEP_FEATURES)


def step_probability(a: Work, b: Work, at: int, to: int) -> float:
    """Return how likely *b*, at the place *to* of the server's tools, follows *a* at *at*.

    A logistic regression: Cox, "The regression analysis of binary sequences", Journal of the Royal
    Statistical Society, Series B 20, 1958. `benchmarks/fit_relations.py` fits it.
    """
    # The exact sum of `fsum` would take as long as the evidence itself.
    logit = reduce(add, map(mul, _weights(), step_features(a, b, at, to)))
    return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, logit))))


ONE, MANY, CREATE, CHANGE, DELETE = range(5)
"""The places of `mcpg.text.operations.KINDS`."""

_SEQUENCES = {MANY: (ONE, CHANGE, DELETE), CREATE: (ONE, CHANGE), ONE: (CHANGE, DELETE)}
_DONE = ("read", "find", "create", "change", "delete")
# Of the judged pairs that are such a sequence, so many are sound.
_CHANCE_OF_SEQUENCE = 0.95


def sequence_of(a: Work, b: Work) -> tuple[int, int] | None:
    """Return the kinds of work of two tools where these are a step in the life of one entity.

    It is created or found, then read, then changed or deleted. The next tool must be told which
    one, and nothing that the first one does not know.
    """
    first, then = a.kind, b.kind
    if then not in _SEQUENCES.get(first, ()) or a.head != b.head or b.head not in b.handles:
        return None
    is_known = all(key in a.handles or key == a.head for key in b.handles)
    reads_same = (a.head in a.handles) == (first == ONE)
    return (first, then) if is_known and reads_same else None


LEAST_CHANCE = 0.8
"""So likely a next step is at least."""


def reason_for(a: Work, b: Work, at: int, to: int, forms: Mapping[str, str]) -> str:
    """Return for people why *b* follows *a*: the most telling evidence.

    Args:
        a: The tool that comes first.
        b: The tool that follows.
        at: The place of *a* among the tools of the server.
        to: The place of *b*.
        forms: For each stem, the word that people read.
    """
    sequence = sequence_of(a, b)
    if sequence:
        first, then = (_DONE[kind] for kind in sequence)
        return f"sequence on one {forms.get(a.head, a.head)!r}: {first}, then {then}"
    if to in a.names:
        return "its description names it"
    if at in b.names:
        return "the description there names this tool"
    if a.head in b.handles and a.head not in a.handles:
        return f"there an argument asks for the {forms.get(a.head, a.head)!r} of this one"
    shared = sorted((-a.nouns[noun], noun) for noun in a.nouns.keys() & b.nouns.keys())
    if shared:
        return f"works on {forms.get(shared[0][1], shared[0][1])!r} as this one does"
    return "this kind of work often follows in one server"


MOST_NEAREST = 24
"""A tool of a large server is weighed only against so many that are close to it."""

_LARGE_SERVER = 48


@dataclass(frozen=True, slots=True)
class ServerSteps:
    """What follows what among the tools of one server.

    Attributes:
        works: What each tool does.
        positions: The position of each in the catalogue.
        places: The place of each position among them.
        forms: For each stem of their names, the word that people read.
    """

    works: Sequence[Work]
    positions: Sequence[int]
    places: Mapping[int, int]
    forms: Mapping[str, str]

    def chances(self, position: int, nearest: Sequence[int]) -> dict[int, float]:
        """Return how likely each tool follows the one at *position*, by position.

        Args:
            position: The tool that comes first.
            nearest: The tools to weigh where the server has too many to weigh all.
        """
        weighed = self.positions if len(self.positions) <= _LARGE_SERVER else nearest
        at = self.places[position]
        work = self.works[at]
        return {
            other: _CHANCE_OF_SEQUENCE
            if sequence_of(work, self.works[to])
            else step_probability(work, self.works[to], at, to)
            for other in weighed
            if (to := self.places[other]) != at
        }

    def is_silent(self, position: int, other: int) -> bool:
        """Return whether neither of two tools takes an argument, which would tell what follows."""
        places = (self.places[position], self.places[other])
        return not any(self.works[place].takes for place in places)

    def reason(self, position: int, other: int) -> str:
        """Return for people why *other* follows *position*."""
        at, to = self.places[position], self.places[other]
        return reason_for(self.works[at], self.works[to], at, to, self.forms)


def steps_by_server(tools: Sequence[Tool]) -> dict[str, ServerSteps]:
    """Return what follows what within each server of *tools*, by source id."""
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, tool in enumerate(tools):
        positions[tool.source_id].append(position)
    return {
        source: ServerSteps(
            works_of([tools[position] for position in held]),
            held,
            {position: place for place, position in enumerate(held)},
            _forms(tools[position].name for position in held),
        )
        for source, held in positions.items()
    }


def _forms(names: Iterable[str]) -> dict[str, str]:
    """Return for each stem of *names* the word that people read, the shortest of the commonest."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in names:
        for word in split_words(name):
            counted[singular(stem(word))][word] += 1
    return {
        one: min(words, key=lambda word: (-words[word], len(word), word))
        for one, words in counted.items()
    }


def reason_alone(tools: Sequence[Tool], tool_id: str) -> str:
    """Return for people why no edge is inferred for a tool.

    Args:
        tools: The tools of its server.
        tool_id: The id of the tool.
    """
    if len(tools) == 1:
        return "its server has no other tool"
    (steps,) = steps_by_server(tools).values()
    at = next(place for place, tool in enumerate(tools) if tool.id == tool_id)
    chances = steps.chances(at, range(min(len(tools), _LARGE_SERVER)))
    likeliest = min(chances, key=lambda to: (-chances[to], tools[to].id))
    likely = f"the likeliest next step, {tools[likeliest].name!r}, has a probability of"
    found = f"{likely} {score_text(chances[likeliest])}, below {LEAST_CHANCE:.2f}"
    return f"{_lack(steps, at)}; {found}"


def _lack(steps: ServerSteps, at: int) -> str:
    work, others = steps.works[at], [*steps.works[:at], *steps.works[at + 1 :]]
    if not work.nouns:
        return "its name does not tell what it works on"
    nouns = " or ".join(repr(steps.forms.get(noun, noun)) for noun in sorted(work.nouns))
    held = {word for other in others for word in (*other.nouns, *" ".join(other.takes).split())}
    if held.isdisjoint(work.nouns):
        return f"no other tool of its server is named for {nouns} or takes it"
    return f"little follows from what other tools of its server do with {nouns}"
