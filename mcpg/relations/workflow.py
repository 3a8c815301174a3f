"""What follows what among the tools of one server, as evidence that is weighed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from mcpg.build_cache import NO_BUILD_CACHE, ResultKind, BuildCache, encode_parts
from mcpg.catalog.model import Tool
from mcpg.relations.fields import singular
from mcpg.relations.steps import StepScorer
from mcpg.relations.works import CHANGE, CREATE, DELETE, MANY, ONE, Work, describe_works
from mcpg.text import lexicon, split_words, stem
from mcpg.values import format_below

_SEQUENCES = {MANY: (ONE, CHANGE, DELETE), CREATE: (ONE, CHANGE), ONE: (CHANGE, DELETE)}
_DONE = ("read", "find", "create", "change", "delete")
# Of the judged pairs that are such a sequence, so many are sound.
_CHANCE_OF_SEQUENCE = 0.95


def find_sequence(a: Work, b: Work) -> tuple[int, int] | None:
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
    sequence = find_sequence(a, b)
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


LEAST_NOTED = 0.2
"""Less likely next steps of a server that is not large are not kept."""


class ServerSteps:
    """What follows what among the tools of one server."""

    def __init__(
        self, tools: Sequence[Tool], positions: Sequence[int], memo: BuildCache = NO_BUILD_CACHE
    ) -> None:
        """Find what *tools* do.

        Args:
            tools: All tools of a server.
            positions: The position of each in the catalogue.
            memo: What is known from an earlier run; what comes out is the same without it.
        """
        self.is_large = len(positions) > _LARGE_SERVER
        """Whether there are too many tools to weigh each against all others."""
        self._positions = positions
        self._places = {position: place for place, position in enumerate(positions)}
        self._steps = (
            StepWeigher(tools, memo)
            if self.is_large or not memo.keeps
            else _recall_steps(tools, memo)
        )

    def chances(
        self, position: int, nearest: Sequence[int], least: float = LEAST_NOTED
    ) -> dict[int, float]:
        """Return how likely each tool follows the one at *position*, by position.

        Args:
            position: The tool that comes first.
            nearest: The tools to weigh where the server has too many to weigh all.
            least: The least probability to return, at least `LEAST_NOTED`.
        """
        places, positions = self._places, self._positions
        weighed = map(places.__getitem__, nearest) if self.is_large else range(len(positions))
        found = self._steps.chances(places[position], weighed, least)
        return {positions[to]: chance for to, chance in found.items()}

    def is_silent(self, position: int) -> bool:
        """Return whether the tool takes no argument, which would tell what it follows."""
        return self._steps.is_silent(self._places[position])

    def reason(self, position: int, other: int) -> str:
        """Return for people why *other* follows *position*, or the other way round."""
        return self._steps.reason(self._places[position], self._places[other])


class StepWeigher:
    """Weighs what follows what among the tools of one server, each known by its place.

    Attributes:
        works: What each tool does.
    """

    def __init__(self, tools: Sequence[Tool], memo: BuildCache = NO_BUILD_CACHE) -> None:
        self.works = describe_works(tools, memo)
        self._scorer = StepScorer(self.works)
        self._names = [tool.name for tool in tools]

    @cached_property
    def forms(self) -> Mapping[str, str]:
        """For each stem of the names, the word that people read."""
        return _forms(self._names)

    def chances(self, at: int, others: Iterable[int], least: float = 0.0) -> dict[int, float]:
        """Return how likely which of *others* follow the tool at *at*, where not below *least*."""
        return {
            to: chance for to in others if to != at and (chance := self.chance(at, to)) >= least
        }

    def chance(self, at: int, to: int) -> float:
        """Return how likely the tool at *to* follows the one at *at*."""
        is_sequence = find_sequence(self.works[at], self.works[to])
        return _CHANCE_OF_SEQUENCE if is_sequence else self._scorer.probability(at, to)

    def is_silent(self, at: int) -> bool:
        """Return whether the tool at *at* takes no argument."""
        return not self.works[at].takes

    def reason(self, at: int, to: int) -> str:
        """Return for people why the tool at *to* follows the one at *at*."""
        return reason_for(self.works[at], self.works[to], at, to, self.forms)


class _RecalledSteps(NamedTuple):
    """What follows what among the tools of a server that is not large.

    Attributes:
        silent: The places of the tools that take no argument.
        likely: For each place, which follow how likely, where not below `LEAST_NOTED`.
        reasons: Why, for each such pair and the other way round.
    """

    silent: Sequence[int]
    likely: Sequence[Mapping[int, float]]
    reasons: Mapping[tuple[int, int], str]

    def chances(self, at: int, _: Iterable[int], least: float) -> dict[int, float]:
        return {to: chance for to, chance in self.likely[at].items() if chance >= least}

    def is_silent(self, at: int) -> bool:
        return at in self.silent

    def reason(self, at: int, to: int) -> str:
        return self.reasons[at, to]


def _recall_steps(tools: Sequence[Tool], memo: BuildCache) -> _RecalledSteps:
    """Return what follows what among *tools* of one server, which depends on no others."""

    def list_step_inputs() -> bytes:
        return encode_parts(
            [
                (one.source_id, one.name, one.description, one.hints.read_only, one.input_schema)
                for one in tools
            ]
        )

    def find_steps() -> _RecalledSteps:
        steps, places = StepWeigher(tools), range(len(tools))
        likely = [steps.chances(at, places, LEAST_NOTED) for at in places]
        pairs = {pair for at in places for to in likely[at] for pair in ((at, to), (to, at))}
        reasons = {pair: steps.reason(*pair) for pair in sorted(pairs)}
        return _RecalledSteps([*filter(steps.is_silent, places)], likely, reasons)

    return memo.recall(_STEPS, list_step_inputs, find_steps)


def _encode(steps: _RecalledSteps) -> bytes | None:
    # What was found without the table of operations is not to outlive the fault.
    if lexicon.faults:
        return None
    likely = [[*row.items()] for row in steps.likely]
    reasons = [(*pair, reason) for pair, reason in steps.reasons.items()]
    return json.dumps((steps.silent, likely, reasons)).encode()


def _decode(data: bytes) -> _RecalledSteps:
    silent, likely, reasons = json.loads(data)
    return _RecalledSteps(
        silent, [*map(dict, likely)], {(at, to): text for at, to, text in reasons}
    )


_STEPS = ResultKind("steps", _encode, _decode)


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
    steps = StepWeigher(tools)
    at = next(place for place, tool in enumerate(tools) if tool.id == tool_id)
    chances = steps.chances(at, range(min(len(tools), _LARGE_SERVER)))
    likeliest = min(chances, key=lambda to: (-chances[to], tools[to].id))
    likely = f"the likeliest next step, {tools[likeliest].name!r}, has a probability of"
    found = f"{likely} {format_below(chances[likeliest], LEAST_CHANCE)}"
    return f"{_lack(steps, at)}; {found}"


def _lack(steps: StepWeigher, at: int) -> str:
    work, others = steps.works[at], [*steps.works[:at], *steps.works[at + 1 :]]
    if not work.nouns:
        return "its name does not tell what it works on"
    nouns = " or ".join(repr(steps.forms.get(noun, noun)) for noun in sorted(work.nouns))
    held = {word for other in others for word in (*other.nouns, *" ".join(other.takes).split())}
    if held.isdisjoint(work.nouns):
        return f"no other tool of its server is named for {nouns} or takes it"
    return f"little follows from what other tools of its server do with {nouns}"
