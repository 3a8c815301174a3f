"""Prerequisites: tools that must run before given tools.

A tool needs another if an author declares it, if traces show it, if a field of its result fills a
required argument that the request does not, or if it is a reader that very likely comes first. A
tool that only often follows is not evidence: a tool that writes is needed only if that is declared,
or if no other tool provides an argument. If two tools are each other's next step, the stronger
evidence decides.

The closure follows these needs backwards, the strongest paths first. The strength of a path is the
product of its weights, so no cycle makes anything stronger, and each tool is reached once.

Source: Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959,
with products of weights in (0, 1] for sums of lengths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from mcpg.index import Index
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.text import lexicon, split_words
from mcpg.text.literals import QUOTED, WORDS_OF_KINDS, TextLiteral
from mcpg.values import round_score

PROVIDES, NEXT_STEP = "provides", "nextStep"

MOST = 32
"""The most prerequisites of a closure."""

DEEPEST = 8
"""The longest path of a closure."""

AUTHORITY = ("inferred", "schema", "observed", "authored")
"""The origins of edges, by ascending authority if two tools point at each other."""

# The least weight of an edge whose source must run first, by origin.
_LEAST = {"authored": 0.0, "observed": 0.5, "schema": 0.12, "inferred": 0.4}
SOLE = 0.95
"""The confidence that the only provider of a required argument must run before."""

# A tool that follows more tools than this is a general follow-up and needs none of them, such as a
# tool that sends messages.
_MOST_JOINED = 4
_MOST_BEFORE_READER = 1
STATED = frozenset(("authored", "observed"))
"""The origins of edges from authors and traces."""

# So many inferred needs of one tool are followed, and so many providers of one argument kept.
_MOST_INFERRED = 1
_MOST_PROVIDERS = 4
_UNEXPLAINED = "its document names that as a next step"
# What one tool may need; whatever is fainter is dropped.
_MOST_NEEDS = 32
_MOST_REMEMBERED = 4_096
# Names of arguments that take quoted text or a number.
_NAMES_OF_QUOTED = ("name", "title", "text", "message", "content", "query", "label")
COMPOSED = frozenset(_NAMES_OF_QUOTED)
"""Arguments that a caller composes: that another tool returns such a text proves nothing."""

_NUMBER = "number"
_NAMES_OF_NUMBERS = (_NUMBER, "id", "index", "count", "amount", "limit")


GOAL_SHARE = 0.3
"""A match is a goal of a search if its score is at least this share of the best."""

LEAST_PATH = 0.12
"""The least strength of a path to a prerequisite that a search shows."""


class PrerequisiteReason(NamedTuple):
    """Why one tool must run before another.

    Attributes:
        before: Number of the tool that needs it.
        kind: `nextStep`, or `provides` if only its fields are evidence.
        origin: The origin of the evidence, in `AUTHORITY`.
        weight: Strength of the edge in (0, 1].
        fields: The fields of its result and the required arguments that they fill.
    """

    tool: int
    before: int
    kind: str
    origin: str
    weight: float
    reason: str
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def authority(self) -> tuple[int, float]:
        """What decides between two needs that contradict each other: the greater counts."""
        return AUTHORITY.index(self.origin), self.weight


class NeedCache:
    """Needs already read from an index.

    Attributes:
        arguments: For each need, by its two tools, the words of the names of the arguments that it
            fills; none if two have the same name.
    """

    def __init__(self) -> None:
        self.needs: dict[int, tuple[PrerequisiteReason, ...]] = {}
        self.arguments: dict[tuple[int, int], tuple[frozenset[str], ...]] = {}


class Prerequisite(NamedTuple):
    """A tool that must run before one of the goals.

    Attributes:
        score: The score of the goal times the weights of the path to it, in (0, 1].
        depth: Steps to the goal, at least 1.
        need: The first step of the path: why it runs before the next tool.
    """

    tool: int
    score: float
    depth: int
    goal: int
    need: PrerequisiteReason


class Closure(NamedTuple):
    """What must run before the goals.

    Attributes:
        found: The prerequisites, none of which is a goal, the strongest first.
        needs: Every need of which both ends are a goal or a prerequisite, by the tools' numbers.
    """

    found: tuple[Prerequisite, ...] = ()
    needs: tuple[PrerequisiteReason, ...] = ()


def choose_goals(matches: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the scored *matches*, best first, whose prerequisites a search shows.

    Other matches are doubtful, or score far below the best: they may be its prerequisites.
    """
    least = max(LOW_CONFIDENCE, GOAL_SHARE * matches[0][1]) if matches else 0.0
    return [(tool, score) for tool, score in matches if score >= least]


def prerequisites(  # noqa: PLR0913 - each is a bound or a known fact
    goals: Iterable[tuple[int, float]],
    index: Index,
    *,
    literals: Sequence[TextLiteral] = (),
    without: Collection[int] = (),
    done: Collection[int] = (),
    limit: int = MOST,
    depth: int = DEEPEST,
    least: float = 0.0,
    memo: NeedCache | None = None,
) -> Closure:
    """Return the tools that must run before the *goals*, at most *limit*, within *depth* steps.

    *goals* are numbers of tools with their scores in (0, 1]. No tool has to provide the arguments
    that *literals* of the request fill. Tools *without* cannot be prerequisites, such as disabled
    tools; tools that have run, *done*, and their own needs are left out. *depth* is the most steps
    of a path, *least* its least strength in [0, 1]. The cache of needs, *memo*, is extended.
    """
    walk = _PrerequisiteWalk(dict(goals), index, literals, without, done, memo or NeedCache())
    return walk.run(limit, depth, least)


class _PrerequisiteWalk:
    """One walk backwards from the goals."""

    def __init__(
        self,
        goals: dict[int, float],
        index: Index,
        literals: Sequence[TextLiteral],
        without: Collection[int],
        done: Collection[int],
        memo: NeedCache,
    ) -> None:
        self._index = index
        self._names = list(filter(None, map(_literal_names, literals)))
        self._without = without
        self._done = done
        self._memo = memo
        self._queue: list[tuple[float, int, int, int, int, PrerequisiteReason]] = []
        self.goals = goals
        self.found: dict[int, Prerequisite] = {}
        self.needs: list[PrerequisiteReason] = []

    def run(self, limit: int, depth: int, least: float) -> Closure:
        for goal, score in self.goals.items():
            self._follow(goal, goal, score, 1)
        while self._queue and len(self.found) < limit:
            negative, steps, tool, _, goal, need = heappop(self._queue)
            if tool in self.found or -negative < least * self.goals[goal]:
                continue
            self.found[tool] = Prerequisite(tool, -negative, steps, goal, need)
            if steps < depth:
                self._follow(tool, goal, -negative, steps + 1)
        known = self.goals.keys() | self.found.keys()
        needs = [need for need in self.needs if need.tool in known]
        needs.sort(key=lambda need: (need.before, -need.weight, need.tool))
        return Closure(tuple(self.found.values()), tuple(needs))

    def _follow(self, tool: int, goal: int, score: float, steps: int) -> None:
        """Queue the needs of *tool*: of several providers of an argument, one already in the plan.

        A goal, or a tool that has run, is preferred, because nothing more has to run.
        """

        def precedence(need: PrerequisiteReason) -> tuple[bool, bool, float, int]:
            is_there = need.tool in self.goals or need.tool in self._done
            return need.origin not in STATED, not is_there, -need.weight, need.tool

        provided: set[str] = set()
        inferred = 0
        needs = filter(self._is_open, find_needs(tool, self._index, self._memo))
        for need in sorted(needs, key=precedence):
            arguments = {argument for _, argument in need.fields}
            is_new = not arguments <= provided
            if need.origin == "inferred":
                is_new = inferred < _MOST_INFERRED
                inferred += is_new
            if not is_new and need.origin not in STATED:
                continue
            provided |= arguments
            self.needs.append(need)
            if need.tool not in self.goals and need.tool not in self._done:
                reached = round_score(score * need.weight)
                heappush(self._queue, (-reached, steps, need.tool, tool, goal, need))

    def _is_open(self, need: PrerequisiteReason) -> bool:
        """Return whether the request leaves *need* open."""
        if need.tool in self._without:
            return False
        if need.origin in STATED or not self._names:
            return True
        ends, kept = (need.before, need.tool), self._memo.arguments
        known = kept.get(ends)
        if known is None:
            given = [name for _, name in need.fields] or self._index.required_arguments(need.before)
            distinct = given if len(set(given)) == len(given) else []
            known = tuple([frozenset(split_words(name)) for name in distinct])
            if len(kept) < _MOST_REMEMBERED:
                kept[ends] = known
        left = [*known]
        if not left:
            return True
        for names in self._names:
            for words in left:
                if not words.isdisjoint(names):
                    left.remove(words)
                    break
        return bool(left)


def find_needs(
    tool: int, index: Index, memo: NeedCache | None = None
) -> tuple[PrerequisiteReason, ...]:
    """Return the needs of *tool* for any request: one for each tool, the strongest first.

    A few providers of each required argument are included; they are alternatives.
    """
    kept = {} if memo is None else memo.needs
    known = kept.get(tool)
    if known is not None:
        return known
    needs: dict[int, PrerequisiteReason] = {}
    for need in _believable([*_stated_needs(tool, index), *_best_providers(tool, index)], index):
        held = needs.setdefault(need.tool, need)
        # The need with more authority counts, and the fields of either.
        chosen = max(held, need, key=lambda one: one.authority)
        needs[need.tool] = chosen._replace(fields=chosen.fields or held.fields or need.fields)
    against = _find_followers(tool, index)
    spared = find_spared(tool, index)
    # A reader does not need a tool that writes and fills none of its arguments.
    is_read = _reads(tool, index) and bool(index.required_arguments(tool))
    left = [
        one
        for one in needs.values()
        if one.authority > against.get(one.tool, (-1, 0.0))
        and one.tool not in spared
        and (one.fields or not is_read or _reads(one.tool, index))
    ]
    found = tuple(sorted(left, key=lambda one: (-one.weight, one.tool))[:_MOST_NEEDS])
    if len(kept) < _MOST_REMEMBERED:
        kept[tool] = found
    return found


def find_spared(tool: int, index: Index) -> set[int]:
    """Return the tools that write, of which all that they provide to *tool* readers provide too."""
    provided: dict[int, set[str]] = {}
    for number, source, _ in index.provided_by(tool):
        held = provided.setdefault(source, set())
        held.update(argument for _, argument, _ in index.provision(number)[1])
    readers = [one for one in provided if _reads(one, index)]
    read = {argument for one in readers for argument in provided[one]}
    return {one for one, held in provided.items() if one not in readers and held <= read}


def _stated_needs(tool: int, index: Index) -> Iterator[PrerequisiteReason]:
    """Yield the needs from edges to *tool*."""
    edges = [
        (number, source, index.origin(number), weight)
        for number, source, kind, weight in index.edges_to(tool)
        if kind == NEXT_STEP and source != tool
    ]
    count = sum(origin in STATED for _, _, origin, _ in edges)
    follows_any = count > (_MOST_BEFORE_READER if _reads(tool, index) else _MOST_JOINED)
    for number, source, origin, weight in edges:
        if weight < _LEAST.get(origin, 1.0) or (follows_any and origin in STATED):
            continue
        _, fields = index.mapping(number)
        if fields and origin == "schema" and COMPOSED.issuperset(one for _, one in fields):
            continue
        reason = index.reason(number) or _UNEXPLAINED
        yield PrerequisiteReason(source, tool, NEXT_STEP, origin, weight, reason, fields)


def _believable(needs: Sequence[PrerequisiteReason], index: Index) -> list[PrerequisiteReason]:
    """Return the *needs* of one tool that are more than a possible order.

    Evidence of an author or a trace counts, and so does a reader that comes first. A tool that
    writes is needed for a value that no reader provides, if it is the only provider or if it
    creates; not if it deletes, and not before a reader. The only reader that provides a value, or
    the only provider if no reader does, is certainly needed.
    """
    providers: dict[str, set[int]] = {}
    for one in needs:
        for _, argument in one.fields:
            providers.setdefault(argument, set()).add(one.tool)
    readers = {one.tool for one in needs if _reads(one.tool, index)}
    sole = {argument for argument, tools in providers.items() if len(tools & readers or tools) == 1}
    read = {argument for argument, tools in providers.items() if tools & readers}
    believed = []
    for one in needs:
        arguments = {argument for _, argument in one.fields}
        if one.origin == "schema" and arguments & sole:
            one = one._replace(weight=max(one.weight, SOLE))  # noqa: PLW2901
        if one.origin in STATED or one.tool in readers:
            believed.append(one)
        elif one.origin == "schema" and not _reads(one.before, index):
            (shares,) = index.operations([one.tool])
            deletes = 2 * shares[-1] > sum(shares)
            is_creation = 2 * shares[lexicon.OPERATION_KINDS.index("create")] > sum(shares)
            is_needed = arguments & (sole - read) or (is_creation and not arguments & read)
            if is_needed and not deletes:
                believed.append(one)
    return believed


def _reads(tool: int, index: Index) -> bool:
    (shares,) = index.operations([tool])
    return 2 * sum(shares[: lexicon.READING_KINDS]) > sum(shares)


def _best_providers(tool: int, index: Index) -> Iterator[PrerequisiteReason]:
    """Yield the best providers of each required argument of *tool*."""
    counts: dict[str, int] = {}
    providers = sorted(index.provided_by(tool), key=lambda one: (-one[2], one[1]))
    for number, source, weight in providers:
        _, mapping = index.provision(number)
        fields = [
            (given, argument)
            for given, argument, required in mapping
            if required and argument not in COMPOSED
        ]
        wanted = [field for field in fields if counts.get(field[1], 0) < _MOST_PROVIDERS]
        if source == tool or not wanted or weight < _LEAST["schema"]:
            continue
        for _, argument in fields:
            counts[argument] = counts.get(argument, 0) + 1
        reason = "; ".join(f"its output field {one!r} fills {other!r}" for one, other in fields)
        yield PrerequisiteReason(source, tool, PROVIDES, "schema", weight, reason, tuple(fields))


def _find_followers(tool: int, index: Index) -> dict[int, tuple[int, float]]:
    """Return what speaks for it that *tool* runs before each other tool, as authorities."""
    rows = [
        (target, (AUTHORITY.index(index.origin(number)), weight))
        for number, target, kind, weight in index.edges(tool)
        if kind == NEXT_STEP
    ]
    schema = AUTHORITY.index("schema")
    rows += [(target, (schema, weight)) for _, target, weight in index.provides(tool)]
    strongest: dict[int, tuple[int, float]] = {}
    for target, authority in rows:
        strongest[target] = max(authority, strongest.get(target, authority))
    return strongest


def fields_filled_by(
    literals: Iterable[TextLiteral], arguments: Iterable[str]
) -> dict[str, TextLiteral]:
    """Return the *arguments* that *literals* fill, by the usual names of their kind.

    Each literal fills one argument: the first that is called after its kind.
    """
    filled: dict[str, TextLiteral] = {}
    words = {argument: frozenset(split_words(argument)) for argument in arguments}
    for literal in literals:
        names = _literal_names(literal)
        free = (one for one in words if one not in filled and not words[one].isdisjoint(names))
        argument = next(free, None)
        if argument is not None:
            filled[argument] = literal
    return filled


def _literal_names(literal: TextLiteral) -> tuple[str, ...]:
    if literal.kind == QUOTED:
        return _NAMES_OF_QUOTED
    return _NAMES_OF_NUMBERS if literal.kind == _NUMBER else WORDS_OF_KINDS.get(literal.kind, ())
