"""Questions about relations between tools: predecessors, successors, data flow, paths.

The evidence, the strongest first: relations by authors and from traces, output fields that fill
arguments, inferred sequences, a description that names another tool, and, if no schema has
the tool that returns a field, tools of the same source that read what the field identifies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain

from mcpg.ask.mentions import Token, does, name_field
from mcpg.ask.model import Answer, Direction, Mention, MentionKind
from mcpg.ask.tools import ToolAnswers
from mcpg.catalog.model import walk_parameters
from mcpg.relations.edges import EdgeKind
from mcpg.search.prerequisites import prerequisites
from mcpg.text import join_words, lexicon, split_words, stem
from mcpg.values import DECIMALS

Evidence = tuple[int, float, str]
"""A tool, the strength of its evidence in (0, 1], and the reason."""

_NAMED_IN_DESCRIPTION = 0.6
_READER = 0.5
_OTHER_SOURCE = 0.5
_OPTIONAL = 0.9
_ORDERED = (Direction.BEFORE, Direction.AFTER, Direction.BOTH)
_WEAK = 0.3
_OF_HANDLE = 0.9
_UNEXPLAINED = "its document names that as a next step"
_FURTHER = 0.95
_DEEPEST = 6
_MOST_STEPS = 512
_MOST_READERS = 3
# Words in names of fields for the kind of handle, not for the thing it identifies.
_HANDLES = frozenset(
    ("id", "ids", "key", "name", "number", "no", "uri", "url", "ref", "token", "ts")
)


def decide_direction(
    tokens: Sequence[Token], mentions: Sequence[Mention], answers: ToolAnswers
) -> str:
    """Return the direction of a question about relations, one of `Direction`."""
    named = [one for one in mentions if one.kind == MentionKind.TOOL]
    sure = [one for one in named if one.is_sure]
    tools = [{*one.tools} for one in sure or named]
    fields = [one for one in mentions if one.kind == MentionKind.FIELD]
    cues = _Cues(tokens, mentions)
    # Two spellings of a tool are one tool.
    if len(tools) > 1 and not set.intersection(*tools):
        return Direction.PATH
    if fields and not tools:
        asks_origin = cues.has("give") or (cues.has("where") and not cues.has("take"))
        is_taken = cues.has("take") and not cues.is_before("give", "take")
        return Direction.GIVES_FIELD if asks_origin and not is_taken else Direction.USES_FIELD
    ordered = ""
    if cues.has("before") != cues.has("after"):
        ordered = Direction.BEFORE if cues.has("before") else Direction.AFTER
    if fields and not ordered:
        return _decide_field_direction(fields[0], mentions, answers, cues)
    return ordered or _decide_tool_direction(cues)


def _decide_field_direction(
    field: Mention, mentions: Sequence[Mention], answers: ToolAnswers, cues: _Cues
) -> str:
    """Return whether the tool takes the field or returns it."""
    tools = [tool for one in mentions if one.kind == MentionKind.TOOL for tool in one.tools]
    entry = answers.names.find_tool_fields(tools).get(join_words(field.name))
    if entry is None or not entry[1]:
        return Direction.CONSUMES
    if not entry[2]:
        return Direction.FEEDS
    return Direction.CONSUMES if cues.is_before("take", "give") else Direction.FEEDS


def _decide_tool_direction(cues: _Cues) -> str:
    """Return the direction by the place of a verb: *what needs X*, *what does X need*."""
    if cues.has("before") and cues.has("after"):
        return Direction.BEFORE if cues.is_before("before", "after") else Direction.AFTER
    for kind in ("depend", "take", "call"):
        if cues.has(kind):
            return Direction.BEFORE if cues.is_done_by_name(kind) else Direction.AFTER
    if not cues.has("give"):
        return Direction.BOTH
    gives = cues.is_done_by_name("give") and not cues.has("where")
    return Direction.AFTER if gives else Direction.BEFORE


class _Cues:
    def __init__(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> None:
        held = {place for one in mentions for place in range(one.start, one.end)}
        self._tokens = tokens
        self._first = min((one.start for one in mentions), default=0)
        self._places: dict[str, int] = {}
        for place, token in enumerate(tokens):
            for kind in token.cues if place not in held else ():
                self._places.setdefault(kind, place)

    def has(self, kind: str) -> bool:
        return kind in self._places

    def is_before(self, kind: str, other: str) -> bool:
        """Return whether there is a cue of *kind*, and before any of the *other* kind."""
        if kind not in self._places:
            return False
        return self._places[kind] < self._places.get(other, self._places[kind] + 1)

    def is_done_by_name(self, kind: str) -> bool:
        return does(self._tokens, self._places[kind], self._first)


class ToolRelationsAnswers:
    """Answers questions about relations between tools."""

    def __init__(self, answers: ToolAnswers) -> None:
        self._answers = answers
        self._index = answers.index

    def answers(self, direction: str, tools: Sequence[int], fields: Sequence[str]) -> list[Answer]:
        """Return the tools related to *tools* and *fields* in a *direction*, the surest first."""
        if direction == Direction.PATH:
            return self._path(tools)
        if direction in _ORDERED:
            found: list[Answer] = []
            if direction != Direction.AFTER:
                found += self._make_answers("before", self._before(tools), tools)
            if direction != Direction.BEFORE:
                found += self._make_answers("after", self._after(tools), tools)
            ordered = {one.symbol for one in found}
            beside = self._make_answers("related", self._beside(tools), tools)
            return [*found, *(one for one in beside if one.symbol not in ordered)]
        kind, evidence = {
            Direction.FEEDS: ("feeds", self._feeding(tools, fields)),
            Direction.CONSUMES: ("consumer", self._taking(fields, tools)),
            Direction.USES_FIELD: ("consumer", self._taking(fields)),
            Direction.GIVES_FIELD: (
                "producer",
                (
                    one
                    for field in fields
                    for one in (
                        [(tool, 1.0, f"returns {field!r}") for tool in self._entry(field)[2]]
                        or self._readers(field)
                    )
                ),
            ),
        }[direction]
        return self._make_answers(kind, evidence, tools)

    def _make_answers(
        self, kind: str, evidence: Iterable[Evidence], tools: Sequence[int]
    ) -> list[Answer]:
        """Return *evidence* as answers, that for one tool together."""
        scores: dict[int, float] = {}
        reasons: dict[int, dict[str, None]] = {}
        for tool, strength, why in evidence:
            if tool not in tools and tool not in self._answers.disabled:
                scores[tool] = max(scores.get(tool, 0.0), strength)
                reasons.setdefault(tool, {})[why] = None
        ranked = sorted(scores, key=lambda one: (-round(scores[one], DECIMALS), one))
        return [self._answers.answer(one, kind, scores[one], reasons[one]) for one in ranked]

    def _before(self, tools: Sequence[int]) -> Iterator[Evidence]:
        index = self._index
        for one in prerequisites([(tool, 1.0) for tool in tools], index).found:
            yield one.tool, one.score * _FURTHER ** (one.depth - 1), one.need.reason
        for tool in tools:
            yield from self._stated_before(tool)
            for number, other, weight in index.provided_by(tool):
                yield other, weight, _flow(index.provision(number)[1])
            for other in self._answers.mentioned_in(tool, index.record(tool)):
                yield other, _NAMED_IN_DESCRIPTION, "the description names it"
            # Tools that read the things that its required arguments identify.
            for name in index.required_arguments(tool):
                is_handle = not _HANDLES.isdisjoint(split_words(name))
                for other, strength, why in self._readers(name, tool):
                    yield other, (_OF_HANDLE if is_handle else _WEAK) * strength, why

    def _beside(self, tools: Sequence[int]) -> Iterator[Evidence]:
        """Yield the tools related to *tools* without an order."""
        index = self._index
        for tool in tools:
            for link, other, kind, weight in (*index.edges(tool), *index.edges_to(tool)):
                if str(kind) == EdgeKind.RELATED:
                    yield other, _WEAK * weight, f"is related, in no order: {index.reason(link)}"

    def _after(self, tools: Sequence[int]) -> Iterator[Evidence]:
        index = self._index
        for tool in tools:
            for link, other, kind, weight in index.edges(tool):
                if str(kind) == EdgeKind.NEXT_STEP:
                    yield other, weight, index.reason(link) or _UNEXPLAINED
            for number, other, weight in index.provides(tool):
                yield other, weight, _flow(index.provision(number)[1])
            for other in self._answers.find_mentions(tool):
                yield other, _NAMED_IN_DESCRIPTION, "its description names that"

    def _feeding(self, tools: Sequence[int], fields: Sequence[str]) -> Iterator[Evidence]:
        index = self._index
        wanted = frozenset(map(join_words, fields))
        for tool in tools:
            for number, other, weight in index.provided_by(tool):
                if any(
                    join_words(name_field(one[1])) in wanted for one in index.provision(number)[1]
                ):
                    yield other, weight, _flow(index.provision(number)[1])
            for field in fields:
                for other in self._entry(field)[2]:
                    yield other, _OPTIONAL, f"returns {field!r}"
                yield from self._readers(field, tool)
            for other in self._answers.mentioned_in(tool, index.record(tool)):
                yield other, _NAMED_IN_DESCRIPTION, "the description names it"
            for other, weight, why in self._stated_before(tool):
                yield other, _WEAK * weight, why

    def _stated_before(self, tool: int) -> Iterator[Evidence]:
        index = self._index
        for link, other, kind, weight in index.edges_to(tool):
            if str(kind) == EdgeKind.NEXT_STEP:
                yield other, weight, index.reason(link) or _UNEXPLAINED

    def _taking(
        self, fields: Sequence[str], near: Sequence[int] | None = None
    ) -> Iterator[Evidence]:
        """Yield the tools that take *fields*, less surely if no tool *near* shares their source."""
        sources = {self._answers.source_key(tool) for tool in near or ()}
        for field in fields:
            for tool in self._entry(field)[1]:
                found = walk_parameters(self._index.record(tool).tool.input_schema)
                held = [
                    one for one in found if join_words(name_field(one.path)) == join_words(field)
                ]
                is_required = any(one.required for one in held)
                why = f"takes {held[0].path if held else field!r}"
                strength = 1.0 if is_required else _OPTIONAL
                if near is not None and self._answers.source_key(tool) not in sources:
                    strength *= _OTHER_SOURCE
                yield tool, strength, f"{why}{' (required)' if is_required else ''}"

    def _entry(self, field: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        return self._answers.names.fields.get(join_words(field), (field, (), ()))

    def _readers(self, field: str, tool: int | None = None) -> Iterator[Evidence]:
        """Yield the tools that read things *field* identifies: readers of many things first.

        They come from the source of *tool*, or from the sources with tools that take the field.
        """
        index = self._index
        subjects = {stem(word) for word in split_words(field)} - {stem(one) for one in _HANDLES}
        if not subjects:
            return
        takers = (tool,) if tool is not None else self._entry(field)[1]
        sources = {index.source_id(one) for one in takers}
        holders = (index.find_holders(index.find_stem(one), "name") for one in subjects)
        rows = []
        for other in {*chain.from_iterable(holders)}:
            if other == tool or index.source_id(other) not in sources:
                continue
            named = [stem(word) for word in split_words(index.tool_name(other))]
            share = len(subjects.intersection(named)) / len(subjects)
            done = index.operations([other])[0]
            reads = sum(done[: lexicon.READING_KINDS]) / max(1, sum(done))
            needs = join_words(field) in map(join_words, index.required_arguments(other))
            if share and reads > _READER and not needs:
                many = done[1] / max(1, sum(done))
                rows.append((share, many, -len(named), -other, other))
        for share, many, _, _, other in sorted(rows, reverse=True)[:_MOST_READERS]:
            strength = _READER * share * (0.8 + 0.2 * many)
            yield (
                other,
                strength,
                f"reads what {field!r} identifies (no schema names its source)",
            )

    def _path(self, tools: Sequence[int]) -> list[Answer]:
        """Return the tools on the strongest path from the first of *tools* to the last."""
        start, end = tools[0], tools[-1]
        way = self._strongest(start, end)
        kind = "step"
        if not way:
            way = self._strongest(end, start)[::-1]
            kind = "step back"
        if not way:
            near = self._make_answers("before", self._before([end]), (start, end))
            return [
                self._answers.answer(start, "start", 1.0),
                *near[:_MOST_READERS],
                self._answers.answer(end, "end", 1.0),
            ]
        steps = []
        for place, tool in enumerate(way):
            why = (self._reason(way[place - 1], tool, kind),) if place else ()
            steps.append(self._answers.answer(tool, kind, 1.0, why))
        between: list[Answer] = []
        if len(way) <= 2:  # noqa: PLR2004 - both ends
            # Tools that the last tool needs besides the first one.
            near = self._make_answers("before", self._before([end]), (start, end))
            between = [one for one in near if one.score >= _WEAK * _READER][:_MOST_READERS]
        return [*steps[:-1], *between, steps[-1]]

    def _strongest(self, start: int, end: int) -> list[int]:
        """Return the path with the greatest product of weights, none if it is too long."""
        best: dict[int, float] = {start: 1.0}
        before: dict[int, int] = {}
        queue: list[tuple[float, int, int]] = [(-1.0, 0, start)]
        for _ in range(_MOST_STEPS):
            if not queue:
                return []
            negative, depth, tool = heappop(queue)
            if tool == end:
                way = [end]
                while way[-1] in before and len(way) <= _DEEPEST + 1:
                    way.append(before[way[-1]])
                return way[::-1]
            steps = []
            if depth < _DEEPEST:
                edges = self._index.edges(tool)
                steps = [(e[1], e[3]) for e in edges if str(e[2]) == EdgeKind.NEXT_STEP]
                steps += [(other, weight) for _, other, weight in self._index.provides(tool)]
            for other, weight in steps:
                strength = -negative * weight
                if strength > best.get(other, 0.0) and other not in self._answers.disabled:
                    best[other] = strength
                    before[other] = tool
                    heappush(queue, (-strength, depth + 1, other))
        return []

    def _reason(self, one: int, other: int, kind: str) -> str:
        source, target = (one, other) if kind == "step" else (other, one)
        for link, reached, _, _ in self._index.edges(source):
            if reached == target:
                return self._index.reason(link)
        for number, reached, _ in self._index.provides(source):
            if reached == target:
                return _flow(self._index.provision(number)[1])
        return ""


def _flow(fields: Sequence[tuple[str, str, bool]]) -> str:
    shown = [f"its output field {one[0]!r} fills {one[1]!r}" for one in fields[:2]]
    return " and ".join(shown)
