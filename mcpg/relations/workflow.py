"""What follows what among the tools of one server, as evidence that is weighed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from mcpg.build_cache import NO_MEMO, Memo
from mcpg.catalog.model import Tool
from mcpg.relations.fields import singular
from mcpg.relations.steps import StepScorer
from mcpg.relations.works import CHANGE, CREATE, DELETE, MANY, ONE, Work, works_of
from mcpg.text import split_words, stem
from mcpg.values import score_text

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


class ServerSteps:
    """What follows what among the tools of one server.

    Attributes:
        works: What each tool does.
    """

    def __init__(
        self, tools: Sequence[Tool], positions: Sequence[int], memo: Memo = NO_MEMO
    ) -> None:
        """Find what *tools* do.

        Args:
            tools: All tools of a server.
            positions: The position of each in the catalogue.
            memo: What is known from an earlier run; what comes out is the same without it.
        """
        self.works = works_of(tools, memo)
        self._scorer = StepScorer(self.works)
        self._positions = positions
        self._places = {position: place for place, position in enumerate(positions)}
        self._names = [tool.name for tool in tools]

    @cached_property
    def forms(self) -> Mapping[str, str]:
        """For each stem of the names, the word that people read."""
        return _forms(self._names)

    @property
    def is_large(self) -> bool:
        """Whether there are too many tools to weigh each against all others."""
        return len(self._positions) > _LARGE_SERVER

    def chances(
        self, position: int, nearest: Sequence[int], least: float = 0.0
    ) -> dict[int, float]:
        """Return how likely each tool follows the one at *position*, by position.

        Args:
            position: The tool that comes first.
            nearest: The tools to weigh where the server has too many to weigh all.
            least: The least probability to return.
        """
        weighed = nearest if self.is_large else self._positions
        return {
            other: chance
            for other in weighed
            if other != position and (chance := self.chance(position, other)) >= least
        }

    def chance(self, position: int, other: int) -> float:
        """Return how likely *other* follows *position*."""
        at, to = self._places[position], self._places[other]
        work, next_work = self.works[at], self.works[to]
        is_sequence = sequence_of(work, next_work)
        return _CHANCE_OF_SEQUENCE if is_sequence else self._scorer.probability(at, to)

    def is_silent(self, position: int) -> bool:
        """Return whether the tool takes no argument, which would tell what it follows."""
        return not self.works[self._places[position]].takes

    def reason(self, position: int, other: int) -> str:
        """Return for people why *other* follows *position*."""
        at, to = self._places[position], self._places[other]
        return reason_for(self.works[at], self.works[to], at, to, self.forms)


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
    steps = ServerSteps(tools, range(len(tools)))
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
