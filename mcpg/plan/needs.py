"""The needs of each tool: which tools of its server run before it, and how likely.

Needs that come from an author, a trace or a schema are believed. Otherwise a logistic regression
weighs the nouns in a tool's arguments, and which tools are named after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from heapq import heappop, heappush
from math import fsum
from typing import NamedTuple

from mcpg.index import Index
from mcpg.relations.edges import ORIGIN_FACTORS, EdgeOrigin
from mcpg.relations.vocabulary import names_operation, rarity, singular
from mcpg.search.calibration import logistic, weigh_inputs
from mcpg.search.prerequisites import (
    COMPOSED,
    NEXT_STEP,
    STATED,
    NeedCache,
    fields_filled_by,
    find_needs,
    find_spared,
)
from mcpg.text import iter_words, lexicon, split_words, stem
from mcpg.text.literals import TextLiteral

NEED_INPUTS = (
    *("listsNamed", "readsNamed", "listsTold", "listsIdentified"),
    *("listsBefore", "readsBefore", "changesBefore", "provides"),
    *("lacks", "listsForReader", "listsSame", "lists", "asksNothing", "neededByNone"),
)
"""The evidence that one tool of a server must run before another, see `weigh_evidence`."""

READ_ONE, READ_MANY = 0, 1
DELETE = len(lexicon.OPERATION_KINDS) - 1
MOST_NEEDED = 32
"""The most tools that are found to run before one."""

WHOLE_SERVER = 64
"""Of a server with more tools than this, only those that share a word or an edge are weighed."""

_STAGES = (1.0, 0.0, 2.0, 2.5, 4.0)
_SURELY = 0.5
_MOST_ARGUMENTS = 64
_MOST_TOLD = 300
_MOST_REMEMBERED = 4_096
# A server is taken to have so many tools at least, or one of two would be as rare as one of many.
_LEAST_SIZE = 8
# The last word of an argument that takes an identifier.
_IDENTIFIERS = frozenset(("id", "uid", "uuid", "key", "ref", "slug", "number", "token", "handle"))
# Fainter needs are not followed.
LEAST_NEED = 0.1


class Argument(NamedTuple):
    """A required argument."""

    name: str
    stems: tuple[str, ...]
    told: frozenset[str]


@dataclass(frozen=True, slots=True)
class Profile:
    """The work and the requirements of a tool.

    Attributes:
        kinds: The probability of each of `lexicon.OPERATION_KINDS`.
        nouns: The objects of its work according to its name, as stems.
        asks: The stems in their names.
        deletes: Whether it most likely deletes, and is not marked as read-only.
        is_destructive: Whether it deletes, or its author or server marks it as destructive.
    """

    kinds: tuple[float, ...]
    nouns: tuple[str, ...]
    required: tuple[Argument, ...]
    asks: frozenset[str]
    deletes: bool
    is_destructive: bool

    @property
    def changes(self) -> float:
        """The probability that it changes something."""
        return fsum(self.kinds[lexicon.READING_KINDS :])

    @property
    def stage(self) -> float:
        """The position of its kind of work in a plan: find, read, create, change, delete."""
        return fsum(place * share for place, share in zip(_STAGES, self.kinds, strict=True))


def build_profile(tool: int, index: Index) -> Profile:
    """Return the work and the requirements of *tool*."""
    described = index.record(tool).tool
    (shares,) = index.operations([tool])
    total = sum(shares)
    kinds = [share / total for share in shares] if total else [1 / len(shares)] * len(shares)
    idle = set(split_words(described.source_id))
    words = [word for word in split_words(described.name) if word not in idle]
    nouns = [singular(stem(word)) for word in words if not names_operation(word)]
    properties = described.input_schema.get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    required = tuple(
        [
            _read_argument(name, schemas.get(name))
            for name in described.required_arguments[:_MOST_ARGUMENTS]
        ]
    )
    hints, notes = described.hints, described.annotations
    reads_only = hints.read_only is True or notes.get("readOnlyHint") is True
    is_called_destructive = hints.destructive is True or (
        hints.destructive is None and notes.get("destructiveHint") is True
    )
    deletes = not reads_only and kinds[DELETE] > _SURELY
    return Profile(
        tuple(kinds),
        tuple(dict.fromkeys(nouns)),
        required,
        frozenset(word for one in required for word in one.stems),
        deletes,
        deletes or (is_called_destructive and not reads_only),
    )


def _read_argument(name: str, schema: object) -> Argument:
    described = schema.get("description") if isinstance(schema, dict) else None
    text = described[:_MOST_TOLD] if isinstance(described, str) else ""
    told = frozenset(singular(stem(one.text)) for one in iter_words(text) if not one.is_compound)
    return Argument(name, tuple([singular(stem(word)) for word in split_words(name)]), told)


def likeness(one: Profile, other: Profile) -> float:
    """Return how alike the work of two tools is, in [0, 1]: their objects and their kinds."""
    return _share_nouns(one, other) * fsum(map(min, one.kinds, other.kinds))


def _share_nouns(one: Profile, other: Profile) -> float:
    nouns, others = frozenset(one.nouns), frozenset(other.nouns)
    return len(nouns & others) / (len(nouns | others) or 1)


def strength(link: int, weight: float, index: Index) -> float:
    """Return the strength of the evidence for an edge: its *weight* without its origin's weight."""
    return min(1.0, weight / ORIGIN_FACTORS[EdgeOrigin(index.origin(link))])


class Needed(NamedTuple):
    """A tool that likely runs before another.

    Attributes:
        chance: The probability that it must, in (0, 1].
        before: The tool of the path that it runs right before.
    """

    tool: int
    chance: float
    before: int
    reason: str


class ToolSet:
    """Tools, such as a server's, and how rare their nouns and required arguments are among them."""

    def __init__(self, tools: Sequence[int], profiles: Mapping[int, Profile]) -> None:
        self.tools = tools
        self.profiles = profiles
        size = max(_LEAST_SIZE, len(tools))
        asked = Counter(stem for one in profiles.values() for stem in one.asks)
        named = Counter(noun for one in profiles.values() for noun in one.nouns)
        self.asked = {stem: rarity(count, size) for stem, count in asked.items()}
        self.named = {noun: rarity(count, size) for noun, count in named.items()}

    @cached_property
    def by_noun(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for tool, profile in self.profiles.items():
            for noun in profile.nouns:
                found.setdefault(noun, []).append(tool)
        return found


class PlanContext:
    """What plans over one index ask of it again and again."""

    def __init__(self, index: Index, weights: Sequence[float]) -> None:
        """Prepare for *index*; *weights* are an intercept and one for each of `NEED_INPUTS`."""
        self.index = index
        self._weights = weights
        self._memo = NeedCache()
        self.profile = lru_cache(_MOST_REMEMBERED)(partial(build_profile, index=index))
        self.server = lru_cache(_MOST_REMEMBERED)(self._build_server)
        self._needs = lru_cache(_MOST_REMEMBERED)(self._find_needs)

    @cached_property
    def by_source(self) -> dict[str, list[int]]:
        """The tools of each source, in order of number."""
        found: dict[str, list[int]] = {}
        for tool in range(len(self.index)):
            found.setdefault(self.index.source_id(tool), []).append(tool)
        return found

    def _build_server(self, source: str) -> ToolSet:
        tools = self.by_source[source]
        return ToolSet(tools, {tool: self.profile(tool) for tool in tools})

    def links(self, tool: int) -> Mapping[int, float]:
        """Return how likely others precede *tool*, by inferred edges."""
        known: dict[int, float] = {}
        for number, source, kind, weight in self.index.edges_to(tool):
            if kind == NEXT_STEP and source != tool and self.index.origin(number) == "inferred":
                likely = strength(number, weight, self.index)
                known[source] = max(known.get(source, 0.0), likely)
        return known

    def closure(
        self,
        goal: int,
        literals: Sequence[TextLiteral] = (),
        done: Collection[int] = (),
        *,
        least: float = LEAST_NEED,
    ) -> list[Needed]:
        """Return the tools that likely run before *goal*, the likeliest first, over any steps.

        The chance of a path is the product of the chances of its steps, as in
        `mcpg.search.prerequisites`. Arguments that *literals* fill need no tool. Tools that are
        *done* are left out with their needs; for a goal that only reads, also tools that change.
        """
        found: dict[int, Needed] = {goal: Needed(goal, 1.0, goal, "")}
        waiting: list[tuple[float, int, int, str]] = []
        last, may_change = goal, self.profile(goal).changes > _SURELY
        while True:
            for one in self.needs(last, literals):
                chance = found[last].chance * one.chance
                if chance < least or one.tool in found or one.tool in done:
                    continue
                if may_change or self.profile(one.tool).changes <= _SURELY:
                    heappush(waiting, (-chance, one.tool, last, one.reason))
            while waiting and waiting[0][1] in found:
                heappop(waiting)
            if not waiting or len(found) > MOST_NEEDED:
                return [*found.values()][1:]
            negative, last, before, reason = heappop(waiting)
            found[last] = Needed(last, -negative, before, reason)

    def needs(self, tool: int, literals: Sequence[TextLiteral] = ()) -> Sequence[Needed]:
        """Return the tools that likely run right before *tool* if *literals* fill arguments."""
        names = [one.name for one in self.profile(tool).required] if literals else ()
        return self._needs(tool, frozenset(fields_filled_by(literals, names)))

    def _find_needs(self, tool: int, given: frozenset[str]) -> Sequence[Needed]:
        goal = self.profile(tool)
        spared = find_spared(tool, self.index)
        provided = self.provided(tool, given)
        known = self._weigh_stated(tool, given)
        server = self.server(self.index.source_id(tool))
        links = self.links(tool)
        for other in self._candidates(tool, server, links, provided):
            profile = server.profiles.get(other)
            if other == tool or other in known or profile is None or profile.deletes:
                continue
            if profile.changes > _SURELY >= goal.changes:
                continue
            inputs = weigh_evidence(
                profile, goal, server, given, links.get(other, 0.0), provided.get(other, 0.0)
            )
            chance = logistic(weigh_inputs(inputs, self._weights[0], self._weights[1:]))
            known[other] = Needed(other, chance, tool, "its arguments ask for what that gives")
        found = [
            one for one in known.values() if one.chance >= LEAST_NEED and one.tool not in spared
        ]
        return sorted(found, key=lambda one: (-one.chance, one.tool))[:MOST_NEEDED]

    def _weigh_stated(self, tool: int, given: frozenset[str]) -> dict[int, Needed]:
        """Return the tools that an author, a trace or a schema puts before *tool*, with chances.

        The chance is 0 if both read, and *tool* has no requirement of its own.
        """
        goal = self.profile(tool)
        asked = {one.name for one in goal.required}
        found = {}
        for one in find_needs(tool, self.index, self._memo):
            filled = {argument for _, argument in one.fields}
            if one.origin not in STATED and not (one.origin == "schema" and filled - given):
                continue
            first = self.profile(one.tool)
            is_idle = bool(asked) and asked <= {each.name for each in first.required}
            is_needed = max(goal.changes, first.changes) > _SURELY or not is_idle
            found[one.tool] = Needed(one.tool, one.weight * is_needed, tool, one.reason)
        return found

    def provided(self, tool: int, given: frozenset[str]) -> Mapping[int, float]:
        """Return how surely others fill a required argument of *tool* that is not *given*."""
        found: dict[int, float] = {}
        for number, source, weight in self.index.provided_by(tool):
            _, fields = self.index.provision(number)
            open_fields = [one for _, one, required in fields if required and one not in given]
            if not COMPOSED.issuperset(open_fields):
                found[source] = max(weight, found.get(source, 0.0))
        return found

    def _candidates(
        self,
        tool: int,
        server: ToolSet,
        links: Mapping[int, float],
        provided: Mapping[int, float],
    ) -> Iterable[int]:
        if len(server.tools) <= WHOLE_SERVER:
            return server.tools
        nouns = (*self.profile(tool).asks, *self.profile(tool).nouns)
        named = [one for noun in nouns for one in server.by_noun.get(noun, ())]
        return sorted({*links, *provided, *named})


def weigh_evidence(
    first: Profile,
    then: Profile,
    server: ToolSet,
    given: frozenset[str],
    link: float,
    provision: float,
) -> tuple[float, ...]:
    """Return the values of `NEED_INPUTS` for two tools of a *server*.

    They are: how rare a required argument of *then* is that *first* is named after and does
    not require itself; how rare a noun of *first* is that a description of one mentions; how rare
    an identifier is that *first* does not take; an edge by the kind of work of *first*; how surely
    its result fills one; how many arguments *first* requires that *then* does not; a list before
    the reading of one; a list of the objects of *then*; whether *first* lists, and whether it, or
    *then*, requires nothing.
    """
    named = told = identified = 0.0
    own = {one.name for one in first.required}
    for one in then.required:
        if one.name in given:
            continue
        for noun in first.nouns:
            if noun in first.asks:
                continue
            if noun in one.stems:
                named = max(named, server.asked[noun])
            if noun in one.told:
                told = max(told, server.named[noun])
        if one.stems and one.stems[-1] in _IDENTIFIERS and one.name not in own:
            identified = max(identified, *map(server.asked.__getitem__, one.stems))
    reads, lists, changes = first.kinds[READ_ONE], first.kinds[READ_MANY], first.changes
    return (
        *(named * lists, named * reads, told * lists, identified * lists),
        *(link * lists, link * reads, link * changes, provision),
        len(own - {one.name for one in then.required}),
        lists * then.kinds[READ_ONE],
        _share_nouns(first, then) * lists,
        *(lists, float(not first.required), float(not then.required)),
    )
