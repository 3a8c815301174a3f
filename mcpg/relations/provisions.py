"""Provisions: output fields of tools that fill arguments of others.

Tools meet in an inverted index of fields, never pair by pair. Within a server, a field is weaker
evidence the more of its tools have it; between servers, the more servers give or require it. A
`user_id` of one server is not the `user_id` of a server that gives its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from math import prod

from mcpg.catalog.model import Tool
from mcpg.relations.edges import (
    COVERAGE_FACTORS,
    Coverage,
    Edge,
    EdgeKind,
    EdgeOrigin,
    FieldMapping,
    compute_weight,
)
from mcpg.relations.vocabulary import (
    Field,
    FieldKey,
    field_key,
    fits,
    given_fields,
    qualify_field,
    rarity,
    round_size,
    singular,
    subject_terms,
    taken_fields,
    weigh_kinds,
)
from mcpg.text import split_words

# The trust in a name made of all known words of its owner, or of a part of them; and in a field of
# one word, which does not name a subject.
_WHOLE = 0.9
_PART = 0.6
_BARE = 0.5
# In a server whose tools all work on one thing, its id is common without being idle; a field of one
# word is idle sooner.
_TOO_FEW_TO_COUNT, _TOO_FEW_WORDS = 64, 16
_LEAST_STRENGTH = 0.15
_LEAST_EVIDENCE_OF_OPTION = 0.3
_LEAST_STRENGTH_OF_OPTION = 0.1
# The least number of tools with results from which a field of one word can be generic.
_FEW_GIVERS = 8
_MANY_GIVERS = 0.5
_MOST_PAIRS = 1 << 14
_RATHER = 0.5
_FIELDS_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Provision:
    """The fields that one tool provides to another.

    Attributes:
        target: Position of the tool that takes them.
        strength: In (0, 1]; greater for rarer fields and for a larger part of the need.
        fields: The fields, for required arguments first, then the rarest.
    """

    target: int
    strength: float
    coverage: Coverage
    fields: tuple[FieldMapping, ...]

    @property
    def weight(self) -> float:
        return compute_weight(EdgeKind.NEXT_STEP, EdgeOrigin.SCHEMA, self.strength)

    def make_edge(self, source: str, target: str, weight: float = 0.0) -> Edge:
        """Make the edge from one tool id to another, of *weight* where that is greater."""
        kind, origin, weight = EdgeKind.NEXT_STEP, EdgeOrigin.SCHEMA, max(weight, self.weight)
        return Edge(kind, source, target, weight, self.reason, origin, self.fields, self.coverage)

    @property
    def reason(self) -> str:
        """Return a sentence on which fields fill which arguments."""
        shown = [one for one in self.fields if one.required][:_FIELDS_IN_REASON]
        what = "required argument" if shown else "argument"
        shown = shown or list(self.fields[:_FIELDS_IN_REASON])
        given = [one.given.removesuffix("[]").rpartition(".")[2] or one.given for one in shown]
        asked = [one.argument for one in shown]
        is_one = len(shown) == 1
        fields = f"its output {'field' if is_one else 'fields'} {quote_words(given)}"
        if given != asked:
            fills = f"fills the {what}" if is_one else f"fill the {what}s"
            return f"{fields} {fills} {quote_words(asked)} there"
        return f"{fields} {f'is a {what}' if is_one else f'are {what}s'} there"


def quote_words(words: Sequence[str]) -> str:
    """Write *words* as a list in a sentence: 'a', 'b' and 'c'."""
    *head, last = (f"'{word}'" for word in words)
    return f"{', '.join(head)} and {last}" if head else last


@dataclass(frozen=True, slots=True)
class _HeldField:
    """A field that a tool gives or takes under some name.

    Attributes:
        trust: The trust in the name, in (0, 1].
        is_option: Whether a tool that gives it also takes it, as a filter.
    """

    tool: int
    field: Field
    trust: float
    is_option: bool = False


@dataclass(frozen=True, slots=True)
class _ToolSubjects:
    """The subjects and the operation of a tool.

    Attributes:
        subjects: The stems of the objects in its name.
        kinds: The probability of each of `mcpg.text.lexicon.OPERATION_KINDS`; empty if unknown.
    """

    subjects: frozenset[str]
    kinds: tuple[float, ...]


_Postings = Mapping[FieldKey, Mapping[str, Sequence[_HeldField]]]
"""For each name, by source, the fields of tools under it."""


@dataclass(frozen=True, slots=True)
class FieldIndex:
    """An inverted index from the names of fields to the tools that give and take them.

    Attributes:
        taken: The arguments, under the names of fields of results.
        handles: For each source, the names under which its tools require an argument.
        sizes: For each source, how many tools it has.
        holders: For each source, how many of its tools give or require each name.
        generic: For each source, names of one word that most of its tools that give anything give:
            `content` and the like are not evidence.
        entities: For each source and word, how many of its tools have it in their names.
        finders: For each source and word, the tools that list or make its object.
    """

    sources: Sequence[str]
    given: _Postings
    taken: _Postings
    needs: Sequence[Sequence[Field]]
    handles: Mapping[str, AbstractSet[FieldKey]]
    sizes: Mapping[str, int]
    holders: Mapping[str, Mapping[FieldKey, int]]
    generic: Mapping[str, AbstractSet[FieldKey]]
    works: Sequence[_ToolSubjects]
    entities: Mapping[tuple[str, str], int]
    finders: Mapping[tuple[str, str], Sequence[int]]

    def provisions(self) -> list[list[Provision]]:
        """Return the provisions of each tool, in the order of tools.

        A required argument takes any field that fits. An option takes only names that some tool of
        its server requires, which distinguishes ids from filters, and that the giver does not
        itself take.
        """
        fills: list[defaultdict[int, dict[str, _Fill]]] = [defaultdict(dict) for _ in self.sources]
        for giver, taker, worth in self._iter_meetings():
            if (
                giver.tool == taker.tool
                or _is_crossed(giver.field, taker.field)
                or not fits(taker.field, giver.field)
            ):
                continue
            filled = fills[giver.tool][taker.tool]
            argument = taker.field.path
            fill = (worth * giver.trust * taker.trust, giver.field.path, taker.field.required)
            if argument not in filled or fill > filled[argument]:
                filled[argument] = fill
        return [
            [
                provision
                for target in sorted(by_target)
                if (provision := self._join_evidence(giver, target, by_target[target]))
            ]
            for giver, by_target in enumerate(fills)
        ]

    def _join_evidence(
        self, giver: int, target: int, filled: Mapping[str, _Fill]
    ) -> Provision | None:
        """Join what fills the arguments of the tool at *target*.

        Independent pieces of evidence are joined by a noisy or (Pearl, "Probabilistic Reasoning in
        Intelligent Systems", 1988).
        """
        ranked = sorted(
            (not required, -one, path, argument)
            for argument, (one, path, required) in filled.items()
        )
        required = [-row[1] for row in ranked if not row[0]]
        options = [row for row in ranked if row[0] and -row[1] >= _LEAST_EVIDENCE_OF_OPTION]
        evidence = required or [-row[1] for row in options]
        if not evidence:
            return None
        coverage = Coverage.OPTIONAL
        if required:
            is_whole = len(required) == len(self.needs[target])
            coverage = Coverage.STRICT if is_whole else Coverage.PARTIAL
        # An object just made or changed is not deleted next, and an object read is not created
        # again.
        plausible, one, other = 1.0, self.works[giver], self.works[target]
        if one.kinds and other.kinds and not one.subjects.isdisjoint(other.subjects):
            found, _, create, change, _ = one.kinds
            *_, creates, _, deletes = other.kinds
            plausible = 1 - (create + change) * deletes - (found + change) * creates
        strength = COVERAGE_FACTORS[coverage] * (1 - prod(1 - one for one in evidence)) * plausible
        if strength < (_LEAST_STRENGTH if required else _LEAST_STRENGTH_OF_OPTION):
            return None
        kept = [row for row in ranked if not row[0]] + options
        fields = tuple(FieldMapping(path, argument, not row) for row, _, path, argument in kept)
        return Provision(target, strength, coverage, fields)

    def _iter_meetings(self) -> Iterator[tuple[_HeldField, _HeldField, float]]:
        """Return each giver and taker of a name, and the strength of the name."""
        for key in sorted(self.given.keys() & self.taken.keys()):
            yield from self._iter_meetings_at_home(key)
            if len(key) > 1:
                yield from self._iter_meetings_abroad(key)

    def _iter_meetings_at_home(
        self, key: FieldKey
    ) -> Iterator[tuple[_HeldField, _HeldField, float]]:
        givers, takers = self.given[key], self.taken[key]
        for source in sorted(takers.keys() & givers.keys()):
            least = _TOO_FEW_TO_COUNT if len(key) > 1 else _TOO_FEW_WORDS
            size = max(least, round_size(self.sizes[source]))
            worth = rarity(self.holders[source][key], size)
            if worth < _LEAST_STRENGTH or key in self.generic[source]:
                continue
            is_handle = key in self.handles[source]
            for giver, taker in _pair(givers[source], takers[source]):
                if taker.field.required or (is_handle and not giver.is_option):
                    yield giver, taker, worth if len(key) > 1 else worth * _BARE

    def _iter_meetings_abroad(
        self, key: FieldKey
    ) -> Iterator[tuple[_HeldField, _HeldField, float]]:
        """Pair tools across servers by fields that no tool of the needing server gives or names."""
        givers, takers = self.given[key], self.taken[key]
        needing = {
            source: found
            for source in sorted(takers.keys() - givers.keys())
            if (found := [held for held in takers[source] if self._has_no_giver(source, held, key)])
        }
        worth = 1 / (len(givers) + len(needing) - 1) if needing else 0.0
        if worth >= _LEAST_STRENGTH:
            giving = [held for source in sorted(givers) for held in givers[source]]
            for giver, taker in _pair(giving, [*chain.from_iterable(needing.values())]):
                yield giver, taker, worth

    def _has_no_giver(self, source: str, held: _HeldField, key: FieldKey) -> bool:
        subjects = self.works[held.tool].subjects
        return held.field.required and not any(
            self.entities[source, word] > (word in subjects) for word in key
        )

    def skips_a_step(self, position: int, provision: Provision) -> bool:
        """Return whether the target lacks an argument that a further tool of its server gives.

        That tool gives the field, or finds the object that the field is named for.
        """
        target, source = provision.target, self.sources[provision.target]
        filled = {one.argument for one in provision.fields}
        known = {field.key for field in self.needs[position]}
        for field in self.needs[target]:
            if field.path in filled or field.key in known:
                continue
            finders = (at for word in field.key for at in self.finders.get((source, word), ()))
            is_given = source in self.given.get(field.key, ())
            if is_given or any(at not in {position, target} for at in finders):
                return True
        return False


_Fill = tuple[float, str, bool]
"""The evidence that a field fills an argument, its path, and whether the argument is required."""


def _is_crossed(given: Field, taken: Field) -> bool:
    """Return whether one of the fields is a single word, and its partner names another thing.

    The range of a sheet is not a sheet of a range, and an input format is not an input.
    """
    shorter, longer = sorted((given, taken), key=lambda field: len(field.key))
    *_, last = split_words(longer.name) or [""]
    return len(shorter.key) == 1 and shorter.key != field_key(last)


def _pair(
    givers: Sequence[_HeldField], takers: Sequence[_HeldField]
) -> Iterator[tuple[_HeldField, _HeldField]]:
    """Pair *givers* with *takers*, with only the surest givers if there are too many pairs."""
    if len(givers) * len(takers) > _MOST_PAIRS:
        room = max(1, _MOST_PAIRS // len(takers))
        givers = sorted(givers, key=lambda held: (-held.trust, held.tool))[:room]
        takers = takers[:_MOST_PAIRS]
    return ((giver, taker) for giver in givers for taker in takers)


_Filled = defaultdict[FieldKey, defaultdict[str, list[_HeldField]]]


def build_field_index(tools: Sequence[Tool]) -> FieldIndex:
    """Build the index over *tools*, which are in the order of their ids."""
    sources = [tool.source_id for tool in tools]
    if not any(tool.output_schema for tool in tools):
        return FieldIndex(sources, {}, {}, [()] * len(tools), {}, {}, {}, {}, (), {}, {})
    takes, gives = [taken_fields(tool) for tool in tools], [given_fields(tool) for tool in tools]
    needs = [[field for field in fields if field.required] for fields in takes]
    wrappers, generic = _find_idle(sources, gives)
    named = [
        _NamedFields(
            position,
            takes[position],
            gives[position],
            list(dict.fromkeys(map(singular, subject_terms(tool.name)))),
            wrappers.get(tool.source_id, frozenset()),
        )
        for position, tool in enumerate(tools)
    ]
    given: _Filled = defaultdict(lambda: defaultdict(list))
    holders: defaultdict[str, Counter[FieldKey]] = defaultdict(Counter)
    offers = [dict(one.name_results()) for one in named]
    for source, needed, offered in zip(sources, needs, offers, strict=True):
        holders[source].update({field.key for field in needed} | offered.keys())
        for key, held in offered.items():
            given[key][source].append(held)
    # Most arguments have names that no result has, and so meet nothing.
    taken: _Filled = defaultdict(lambda: defaultdict(list))
    handles: defaultdict[str, set[FieldKey]] = defaultdict(set)
    for source, one in zip(sources, named, strict=True):
        for key, held in one.name_arguments():
            if key in given:
                taken[key][source].append(held)
                if held.field.required:
                    handles[source].add(key)
    works, finders = _describe_tools(tools, [one.subjects for one in named])
    entities = Counter(
        (source, word)
        for source, work in zip(sources, works, strict=True)
        for word in work.subjects
    )
    sizes = Counter(sources)
    return FieldIndex(
        sources, given, taken, needs, handles, sizes, holders, generic, works, entities, finders
    )


def _describe_tools(
    tools: Sequence[Tool], subjects: Sequence[Sequence[str]]
) -> tuple[list[_ToolSubjects], Mapping[tuple[str, str], Sequence[int]]]:
    works: list[_ToolSubjects] = []
    finders: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for position, (tool, named) in enumerate(zip(tools, subjects, strict=True)):
        server = set(split_words(tool.source_id))
        kinds = weigh_kinds(tool, [word for word in split_words(tool.name) if word not in server])
        works.append(_ToolSubjects(frozenset(named), kinds))
        if kinds and kinds[1] + kinds[2] > _RATHER:
            finders[tool.source_id, named[-1] if named else ""].append(position)
    return works, finders


@dataclass(frozen=True, slots=True)
class _NamedFields:
    """The fields of a tool, and what their names depend on.

    Attributes:
        idle: Fields of its source that name nothing.
    """

    position: int
    takes: Sequence[Field]
    gives: Sequence[Field]
    subjects: Sequence[str]
    idle: AbstractSet[FieldKey]

    def name_arguments(self) -> Iterator[tuple[FieldKey, _HeldField]]:
        for field in self.takes:
            names = _name_fields([field], () if field.key in self.idle else self.subjects)
            for key, (_, trust) in names.items():
                yield key, _HeldField(self.position, field, trust)

    def name_results(self) -> Iterator[tuple[FieldKey, _HeldField]]:
        """Return the fields of the tool's result under every name that may request them.

        Its own required arguments, such as `source_zone` for the `zone` of a source, do not count
        as results.
        """
        named = self.name_arguments() if self.gives else ()
        known = {key: held.field.required for key, held in named}
        telling = [
            field
            for field in self.gives
            if field.key not in self.idle
            and not (field.owner and known.get(tuple(sorted({*field.key, *field.owner}))))
        ]
        for key, (field, trust) in _name_fields(telling, self.subjects).items():
            if not known.get(key):
                yield key, _HeldField(self.position, field, trust, key in known)


def _name_fields(
    fields: Sequence[Field], subjects: Sequence[str]
) -> dict[FieldKey, tuple[Field, float]]:
    """Return the fields by every name, with the trust in the name.

    A field's own name goes before names with its owner or its tool.
    """
    named = [(field.key, field, 1.0) for field in fields]
    named += [
        (key, field, _WHOLE if is_whole else _PART)
        for field in fields
        for key, is_whole in qualify_field(field, subjects)
    ]
    names: dict[FieldKey, tuple[Field, float]] = {}
    for key, field, trust in named:
        if key and (key not in names or trust > names[key][1]):
            names[key] = field, trust
    return names


def _find_idle(
    sources: Sequence[str], gives: Sequence[Sequence[Field]]
) -> tuple[Mapping[str, AbstractSet[FieldKey]], Mapping[str, AbstractSet[FieldKey]]]:
    """Return by server the fields of one word that are weak evidence.

    The first are the only fields of many of its tools, such as `content`; the second the fields
    that most of its tools with results give.
    """
    giving = Counter(source for source, fields in zip(sources, gives, strict=True) if fields)
    givers: Counter[tuple[str, FieldKey]] = Counter()
    alone: Counter[tuple[str, FieldKey]] = Counter()
    for source, given in zip(sources, gives, strict=True):
        keys = {field.key for field in given if len(field.key) == 1}
        givers.update((source, key) for key in keys)
        alone.update((source, key) for key in keys if len(given) == 1)
    wrappers: defaultdict[str, set[FieldKey]] = defaultdict(set)
    generic: defaultdict[str, set[FieldKey]] = defaultdict(set)
    for (source, name), count in givers.items():
        common = max(_FEW_GIVERS, giving[source]) * _MANY_GIVERS
        if count > common:
            generic[source].add(name)
        if alone[source, name] > common:
            wrappers[source].add(name)
    return wrappers, generic
