"""Which tools provide what others take: output fields that fill arguments.

Tools meet in an inverted index of fields, never pair by pair. A field proves less the more tools
hold it, and what one server calls `user_id` is no `user_id` of a server that gives its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

from mcpg.catalog.model import Tool
from mcpg.relations.edges import (
    COVERAGE_FACTORS,
    Coverage,
    EdgeKind,
    EdgeOrigin,
    FieldMapping,
    compute_weight,
)
from mcpg.relations.vocabulary import (
    Field,
    FieldKey,
    fits,
    given_fields,
    qualify_field,
    rarity,
    singular,
    subject_terms,
    taken_fields,
    weigh_kinds,
)
from mcpg.text import split_words

# What a name is worth that is made of all that is known of its owner, or of a part of it; and a
# field of one word, which names no subject of its own.
_WHOLE = 0.9
_PART = 0.6
_BARE = 0.5
# In a handful of tools that all work on one thing its name is common, and yet no idle word.
_TOO_FEW_TO_COUNT = 16
_LEAST_STRENGTH = 0.15
_LEAST_EVIDENCE_OF_OPTION = 0.3
_LEAST_STRENGTH_OF_OPTION = 0.1
# From so many servers, or of so many tools that give something, on a field of one word is generic.
_FEW_SERVERS = 2
_MANY_SERVERS = 0.1
_FEW_GIVERS = 8
_MANY_GIVERS = 0.5
_MOST_PAIRS = 1 << 14
_RATHER = 0.5
_FIELDS_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class Provision:
    """What one tool provides to another.

    Attributes:
        target: Position of the tool that takes it.
        strength: In (0, 1]; greater the rarer the fields are and the more of the need they meet.
        coverage: How much of the need they meet.
        fields: The fields, those of required arguments first, of these the most telling.
    """

    target: int
    strength: float
    coverage: Coverage
    fields: tuple[FieldMapping, ...]

    @property
    def weight(self) -> float:
        """The weight of an edge for this provision."""
        return compute_weight(EdgeKind.NEXT_STEP, EdgeOrigin.SCHEMA, self.strength)

    @property
    def reason(self) -> str:
        """Return for people which fields fill which arguments."""
        shown = [one for one in self.fields if one.required][:_FIELDS_IN_REASON]
        what = "required argument" if shown else "argument"
        shown = shown or list(self.fields[:_FIELDS_IN_REASON])
        given = [_last_step(one.given) for one in shown]
        names, needed = quote_words(given), quote_words([one.argument for one in shown])
        fields = f"its output {_plural('field', shown)} {names}"
        if given != [one.argument for one in shown]:
            verb = "fills" if len(shown) == 1 else "fill"
            return f"{fields} {verb} the {_plural(what, shown)} {needed} there"
        return f"{fields} {f'is a {what}' if len(shown) == 1 else f'are {what}s'} there"


def quote_words(words: Sequence[str]) -> str:
    """Write *words* as a list for people: 'a', 'b' and 'c'."""
    *head, last = (f"'{word}'" for word in words)
    return f"{', '.join(head)} and {last}" if head else last


def _last_step(path: str) -> str:
    return path.removesuffix("[]").rpartition(".")[2] or path


def _plural(noun: str, things: Sequence[object]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


@dataclass(frozen=True, slots=True)
class _HeldField:
    """A field that a tool gives or takes under some name.

    Attributes:
        tool: Position of the tool.
        field: The field.
        trust: What the name is worth, in (0, 1].
        is_option: Whether a tool that gives it also takes it, as a filter.
    """

    tool: int
    field: Field
    trust: float
    is_option: bool = False


@dataclass(frozen=True, slots=True)
class _ToolSubjects:
    """What a tool works on, and how.

    Attributes:
        subjects: The stems of what its name says it works on.
        head: The last of them; "" where there is none.
        kinds: The probability of each of `mcpg.text.operations.KINDS`; empty where unknown.
    """

    subjects: frozenset[str]
    head: str
    kinds: tuple[float, ...]

    @property
    def finds(self) -> bool:
        """Whether the tool rather lists or makes what it works on."""
        return bool(self.kinds) and self.kinds[1] + self.kinds[2] > _RATHER


_Postings = Mapping[FieldKey, Mapping[str, Sequence[_HeldField]]]
"""For each name, by source, the fields that tools hold under it."""


@dataclass(frozen=True, slots=True)
class FieldIndex:
    """An inverted index from the names of fields to the tools that give and take them.

    Attributes:
        sources: The source id of each tool.
        given: The fields of results.
        taken: The arguments, under the names of fields of results.
        needs: For each tool, its required arguments.
        handles: For each source, those of these names under which its tools require an argument.
        holders: For each of these names, how many tools give or require it.
        generic: Names of one word that tools of many servers hold, or most that give anything
            give: `content` and the like say nothing of what flows.
        works: For each tool, what it works on and how.
        entities: For each source and word, how many of its tools are named for that.
        finders: For each source and word, the tools that list or make what it names.
    """

    sources: Sequence[str]
    given: _Postings
    taken: _Postings
    needs: Sequence[Sequence[Field]]
    handles: Mapping[str, AbstractSet[FieldKey]]
    holders: Mapping[FieldKey, int]
    generic: AbstractSet[FieldKey]
    works: Sequence[_ToolSubjects]
    entities: Mapping[tuple[str, str], int]
    finders: Mapping[tuple[str, str], Sequence[int]]

    def provisions(self) -> list[list[Provision]]:
        """Return what each tool provides to others, in the order of these.

        A required argument takes any field that fits. An option takes only what some tool of its
        server requires, which tells an id from a filter, and what the giver takes no part in.
        """
        fills: list[defaultdict[int, dict[str, _Fill]]] = [defaultdict(dict) for _ in self.sources]
        for giver, taker, worth in self._meetings():
            if giver.tool == taker.tool or not _flows(giver.field, taker.field):
                continue
            filled = fills[giver.tool][taker.tool]
            argument = taker.field.path
            fill = (worth * giver.trust * taker.trust, giver.field.path, taker.field.required)
            if argument not in filled or fill > filled[argument]:
                filled[argument] = fill
        return [
            list(self._iter_provisions(giver, by_target)) for giver, by_target in enumerate(fills)
        ]

    def _iter_provisions(
        self, giver: int, by_target: Mapping[int, Mapping[str, _Fill]]
    ) -> Iterator[Provision]:
        for target in sorted(by_target):
            plausible = _plausible(self.works[giver], self.works[target])
            needs = len(self.needs[target])
            provision = _provision(target, by_target[target], needs, plausible)
            if provision is not None:
                yield provision

    def _meetings(self) -> Iterator[tuple[_HeldField, _HeldField, float]]:
        """Return each giver and taker of a name, and how much the name says."""
        size = max(_TOO_FEW_TO_COUNT, len(self.sources))
        for key in sorted(self.given.keys() & self.taken.keys()):
            worth = rarity(self.holders[key], size)
            if worth < _LEAST_STRENGTH or key in self.generic:
                continue
            givers, takers = self.given[key], self.taken[key]
            for source in sorted(takers.keys() & givers.keys()):
                said = worth if len(key) > 1 else worth * _BARE
                for giver, taker in _pairs(givers[source], takers[source]):
                    if taker.field.required or self._is_handle(key, source, giver):
                        yield giver, taker, said
            if len(key) > 1:
                yield from self._abroad(key, worth / len(givers))

    def _abroad(
        self, key: FieldKey, worth: float
    ) -> Iterator[tuple[_HeldField, _HeldField, float]]:
        """Return who needs a field that no tool of its own server gives, and who gives it."""
        givers, takers = self.given[key], self.taken[key]
        needing = [
            held
            for source in sorted(takers.keys() - givers.keys())
            for held in takers[source]
            if held.field.required and not self._has_own(source, key, held)
        ]
        giving = [held for source in sorted(givers) for held in givers[source]]
        for giver, taker in _pairs(giving, needing):
            yield giver, taker, worth

    def _has_own(self, source: str, key: FieldKey, held: _HeldField) -> bool:
        """Return whether other tools of a server are named for what a field names."""
        own = self.works[held.tool].subjects
        return any(self.entities[source, word] > (word in own) for word in key)

    def _is_handle(self, key: FieldKey, source: str, giver: _HeldField) -> bool:
        return key in self.handles[source] and not giver.is_option

    def skips_a_step(self, position: int, provision: Provision) -> bool:
        """Return whether the target lacks an argument that a further tool of its server gives."""
        filled = {one.argument for one in provision.fields}
        known = {field.key for field in self.needs[position]}
        return any(
            field.key not in known and self._is_found(field.key, position, provision.target)
            for field in self.needs[provision.target]
            if field.path not in filled
        )

    def _is_found(self, key: FieldKey, position: int, target: int) -> bool:
        """Return whether a tool gives a field, or is there to find what it is named for.

        It is a further tool of the server of the one at *target*.
        """
        source = self.sources[target]
        if source in self.given.get(key, ()):
            return True
        finders = (at for word in key for at in self.finders.get((source, word), ()))
        return any(at not in {position, target} for at in finders)


_Fill = tuple[float, str, bool]
"""The evidence that a field fills an argument, its path, and whether the argument is required."""


def _flows(given: Field, taken: Field) -> bool:
    """Return whether one field can fill another that meets it under a name.

    Both of one word, they must have that word: the range of a sheet is no sheet of a range.
    """
    is_crossed = len(given.key) == len(taken.key) == 1 and given.key != taken.key
    return not is_crossed and fits(taken, given)


def _plausible(giver: _ToolSubjects, taker: _ToolSubjects) -> float:
    """Return how plausible it is, by their kinds of work, that *taker* follows *giver*, in [0, 1].

    What was just made or changed is not deleted next, and what was read is not created again.
    """
    if not giver.kinds or not taker.kinds or giver.subjects.isdisjoint(taker.subjects):
        return 1.0
    one, _, create, change, _ = giver.kinds
    *_, creates, _, deletes = taker.kinds
    return 1 - (create + change) * deletes - (one + change) * creates


def _provision(
    target: int, filled: Mapping[str, _Fill], needs: int, plausible: float
) -> Provision | None:
    """Join what fills the arguments of *target*, which requires as many as *needs*.

    Independent pieces of evidence are joined by a noisy or (Pearl, "Probabilistic Reasoning in
    Intelligent Systems", 1988).
    """
    ranked = sorted(
        (not required, -one, path, argument) for argument, (one, path, required) in filled.items()
    )
    required = [-row[1] for row in ranked if not row[0]]
    options = [row for row in ranked if row[0] and -row[1] >= _LEAST_EVIDENCE_OF_OPTION]
    evidence = required or [-row[1] for row in options]
    if not evidence:
        return None
    coverage = Coverage.OPTIONAL
    if required:
        coverage = Coverage.STRICT if len(required) == needs else Coverage.PARTIAL
    strength = COVERAGE_FACTORS[coverage] * (1 - prod(1 - one for one in evidence)) * plausible
    if strength < (_LEAST_STRENGTH if required else _LEAST_STRENGTH_OF_OPTION):
        return None
    kept = [row for row in ranked if not row[0]] + options
    fields = tuple(FieldMapping(path, argument, not row) for row, _, path, argument in kept)
    return Provision(target, strength, coverage, fields)


def _pairs(
    givers: Sequence[_HeldField], takers: Sequence[_HeldField]
) -> Iterator[tuple[_HeldField, _HeldField]]:
    """Pair *givers* with *takers*; where these are too many pairs, only the surest givers."""
    if len(givers) * len(takers) > _MOST_PAIRS:
        room = max(1, _MOST_PAIRS // len(takers))
        givers = sorted(givers, key=lambda held: (-held.trust, held.tool))[:room]
        takers = takers[:_MOST_PAIRS]
    return ((giver, taker) for giver in givers for taker in takers)


def build_field_index(tools: Sequence[Tool]) -> FieldIndex:
    """Build the index over *tools*, which are in the order of their ids."""
    sources = [tool.source_id for tool in tools]
    if not any(tool.output_schema for tool in tools):
        return _nothing_given(sources)
    takes = [taken_fields(tool) for tool in tools]
    gives = [given_fields(tool) for tool in tools]
    needs = [[field for field in fields if field.required] for fields in takes]
    subjects = [_subjects(tool) for tool in tools]
    wrappers = _wrappers(sources, gives)
    named = [
        _NamedFields(*members, wrappers.get(members[1], frozenset()))
        for members in zip(range(len(tools)), sources, takes, gives, subjects, strict=True)
    ]
    given, offers = _index_results(named)
    taken, handles = _index_arguments(named if given else (), given)
    holders: Counter[FieldKey] = Counter()
    for needed, offered in zip(needs, offers, strict=True):
        holders.update({field.key for field in needed} & given.keys() | offered)
    generic = _generic(sources, gives, needs)
    works = [_work(tool, named) for tool, named in zip(tools, subjects, strict=True)]
    entities = Counter(
        (source, word)
        for source, work in zip(sources, works, strict=True)
        for word in work.subjects
    )
    finders: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for position, work in enumerate(works):
        if work.finds:
            finders[sources[position], work.head].append(position)
    return FieldIndex(
        sources, given, taken, needs, handles, holders, generic, works, entities, finders
    )


def _nothing_given(sources: Sequence[str]) -> FieldIndex:
    """Return the index over tools that state no results, which provide nothing."""
    none: Sequence[Sequence[Field]] = [()] * len(sources)
    return FieldIndex(sources, {}, {}, none, {}, {}, frozenset(), (), {}, {})


@dataclass(frozen=True, slots=True)
class _NamedFields:
    """The fields of a tool, and what their names depend on.

    Attributes:
        position: Position of the tool.
        source: Its source id.
        takes: Its arguments.
        gives: The fields of its result.
        subjects: The stems of what its name says it works on.
        idle: Fields of its source that name nothing.
    """

    position: int
    source: str
    takes: Sequence[Field]
    gives: Sequence[Field]
    subjects: Sequence[str]
    idle: AbstractSet[FieldKey]

    def name_arguments(self) -> Iterator[tuple[FieldKey, _HeldField]]:
        """Return the arguments under every name that they may be given under."""
        for field in self.takes:
            names = _names([field], () if field.key in self.idle else self.subjects)
            for key, (_, trust) in names.items():
                yield key, _HeldField(self.position, field, trust)

    def name_results(self) -> Iterator[tuple[FieldKey, _HeldField]]:
        """Return what the tool gives under every name that it may be asked for under.

        What a tool had to be given is nothing that it finds.
        """
        known = {key: held.field.required for key, held in self.name_arguments()}
        telling = [field for field in self.gives if field.key not in self.idle]
        for key, (field, trust) in _names(telling, self.subjects).items():
            if not known.get(key):
                yield key, _HeldField(self.position, field, trust, key in known)


def _index_results(named: Iterable[_NamedFields]) -> tuple[_Filled, list[set[FieldKey]]]:
    """Return the fields of results by name and source, and the names of each tool's."""
    given: _Filled = defaultdict(_by_source)
    offers: list[set[FieldKey]] = []
    for one in named:
        found = dict(one.name_results() if one.gives else ())
        for key, held in found.items():
            given[key][one.source].append(held)
        offers.append(set(found))
    return given, offers


def _index_arguments(
    named: Iterable[_NamedFields], given: Collection[FieldKey]
) -> tuple[_Filled, Mapping[str, AbstractSet[FieldKey]]]:
    """Return the arguments under names that are *given*, and by source those that are required.

    Most arguments have names that no result has, and so meet nothing.
    """
    taken: _Filled = defaultdict(_by_source)
    handles: defaultdict[str, set[FieldKey]] = defaultdict(set)
    for one in named:
        for key, held in one.name_arguments():
            if key in given:
                taken[key][one.source].append(held)
                if held.field.required:
                    handles[one.source].add(key)
    return taken, handles


def _work(tool: Tool, subjects: Sequence[str]) -> _ToolSubjects:
    own = set(split_words(tool.source_id))
    words = [word for word in split_words(tool.name) if word not in own]
    return _ToolSubjects(
        frozenset(subjects), subjects[-1] if subjects else "", weigh_kinds(tool, words)
    )


_Filled = defaultdict[FieldKey, defaultdict[str, list[_HeldField]]]


def _by_source() -> defaultdict[str, list[_HeldField]]:
    return defaultdict(list)


def _subjects(tool: Tool) -> list[str]:
    return list(dict.fromkeys(singular(term) for term in subject_terms(tool.name)))


def _names(fields: Sequence[Field], subjects: Sequence[str]) -> dict[FieldKey, tuple[Field, float]]:
    """Return the fields by every name, with what the name is worth.

    A field's own name goes before what its owner or its tool would make of it.
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


def _wrappers(
    sources: Sequence[str], gives: Sequence[Sequence[Field]]
) -> dict[str, frozenset[FieldKey]]:
    """Return the fields that are all that many tools of a server give, such as `content`."""
    only = Counter(
        (source, fields[0].key)
        for source, fields in zip(sources, gives, strict=True)
        if len(fields) == 1 and len(fields[0].key) == 1
    )
    giving = Counter(source for source, fields in zip(sources, gives, strict=True) if fields)
    found: defaultdict[str, set[FieldKey]] = defaultdict(set)
    for (source, key), count in only.items():
        if _is_common(count, giving[source]):
            found[source].add(key)
    return {source: frozenset(keys) for source, keys in found.items()}


def _is_common(count: int, giving: int) -> bool:
    """Return whether *count* of the tools that give anything are most of them."""
    return count > max(_FEW_GIVERS, giving) * _MANY_GIVERS


def _generic(
    sources: Sequence[str], gives: Sequence[Sequence[Field]], needs: Sequence[Sequence[Field]]
) -> frozenset[FieldKey]:
    """Return the fields of one word that many servers hold, or most that give anything on one."""
    servers: defaultdict[FieldKey, set[str]] = defaultdict(set)
    givers: Counter[tuple[str, FieldKey]] = Counter()
    giving = Counter(source for source, fields in zip(sources, gives, strict=True) if fields)
    for source, given, needed in zip(sources, gives, needs, strict=True):
        keys = {field.key for field in given if len(field.key) == 1}
        for key in keys | {field.key for field in needed if len(field.key) == 1}:
            servers[key].add(source)
        givers.update((source, key) for key in keys)
    most = max(_FEW_SERVERS, len(giving) * _MANY_SERVERS)
    common = {key for (source, key), count in givers.items() if _is_common(count, giving[source])}
    return frozenset(common | {key for key, held in servers.items() if len(held) > most})
