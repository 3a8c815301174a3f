"""Rules on relations: dead, circular, to itself; hints that mean no tool; tools without any."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from math import log

from mcpg.catalog.model import Tool
from mcpg.engine import Engine
from mcpg.errors import Code, Diagnostic, Severity
from mcpg.lint.context import EMPTY_WORDS, LintContext, as_written, by_key, make_finding, stems
from mcpg.lint.model import Finding, Location, RelatedTool
from mcpg.relations.edges import EdgeOrigin
from mcpg.text import lexicon
from mcpg.text.words import joined

_MOST_SHARING = 100
_ROUNDING = 1e-9


class WordWeights:
    """How rare words are in a collection of texts.

    Args:
        texts: The words of each text, by its key.
    """

    def __init__(self, texts: Mapping[str, Collection[str]]) -> None:
        counts = Counter(word for words in texts.values() for word in set(words))
        self._size = len(texts)
        self._weights = {word: self._weigh(count) for word, count in counts.items()}
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        for key, words in texts.items():
            for word in set(words):
                self.holders[word].append(key)

    def _weigh(self, count: int) -> float:
        return log(1 + self._size / (0.5 + count))

    def weight(self, word: str) -> float:
        """Return the weight of a word: the logarithm of its rarity."""
        return self._weights.get(word) or self._weigh(0)

    def total(self, words: Collection[str]) -> float:
        """Return the sum of the weights of distinct *words*."""
        return sum(map(self.weight, words))

    def sum_known_weights(self, words: Collection[str]) -> float:
        """Return the same of *words* that all stand in the texts."""
        return sum(map(self._weights.__getitem__, words))

    def rarest(self, words: Collection[str], share: float) -> Sequence[str]:
        """Return the rarest of *words* that together weigh more than *share* of all."""
        bound = share * self.total(words)
        found: list[str] = []
        weight = 0.0
        for word in sorted(words, key=lambda word: (-self.weight(word), word)):
            found.append(word)
            weight += self.weight(word)
            if weight > bound:
                break
        return found


def covering(
    words: Collection[str],
    texts: Mapping[str, Collection[str]],
    weights: WordWeights,
    share: float,
) -> Iterator[tuple[str, float]]:
    """Yield the texts that cover at least *share* of the weight of *words*, and how much.

    Of words that stand in very many texts only the first of these are looked at.
    """
    total = weights.total(words)
    if not total:
        return
    # What a text may cover: all but those of the rare words that it is known to lack.
    rest = total
    held: defaultdict[str, float] = defaultdict(float)
    for word in weights.rarest(words, 1 - share):
        holders = weights.holders.get(word, ())
        weight = weights.weight(word) if len(holders) <= _MOST_SHARING else 0.0
        rest -= weight
        for key in holders[:_MOST_SHARING]:
            held[key] += weight
    least = (share - _ROUNDING) * total - rest
    distinct = frozenset(words)
    for key in sorted(key for key, weight in held.items() if weight >= least):
        covered = weights.sum_known_weights(distinct.intersection(texts[key])) / total
        if covered >= share:
            yield key, covered


_ALIKE = 0.9
"""Share of the weight of the words of each that the other has, or words that mean the same, from
which two tools are confusable."""

_CANDIDATE = 0.45
"""Share of the same words from which two tools are compared."""

_RELATED = 0.5
_MOST_STEMS = 1 << 16
_SHARED_ENDING = 3
_FEWEST_WORDS = 2
_NAMED = 4
_MOST_SEPARATING = 6


def check_confusion(catalogue: LintContext) -> Iterator[Finding]:
    """Yield tools that are taken for each other."""
    yield from _aliases(catalogue)
    yield from _pairs(_Likeness(catalogue))


def _aliases(catalogue: LintContext) -> Iterator[Finding]:
    """Report aliases of several tools, and those that are the name of another tool."""
    pairs = [(joined(alias), tool) for tool in catalogue.tools for alias in tool.hints.aliases]
    names = by_key((joined(tool.name), tool) for tool in catalogue.tools)
    for key, tools in by_key(pairs).items():
        first = tools[0]
        place = next(n for n, one in enumerate(first.hints.aliases) if joined(one) == key)
        alias = first.hints.aliases[place]
        if len(tools) > 1:
            others = tuple(RelatedTool(tool.id, "has the same alias") for tool in tools[1:])
            message = f"the alias {alias!r} points to {len(tools)} tools"
            yield _alias("C103", first, alias, place, message, others)
        named = [tool for tool in names.get(key, ()) if tool not in tools]
        if named:
            message = f"the alias {alias!r} of {first.id!r} is the name of {named[0].id!r}"
            others = tuple(RelatedTool(tool.id, "bears that name") for tool in named)
            yield _alias("C104", first, alias, place, message, others)


def _alias(
    code: str, tool: Tool, alias: str, place: int, message: str, others: tuple[RelatedTool, ...]
) -> Finding:
    names = ", ".join(repr(one.tool_id) for one in others[:3])
    return make_finding(
        code,
        tool,
        f"{message}: {tool.id!r} and {names}" if code == "C103" else message,
        "aliases",
        place,
        text=alias,
        suggestion="keep it on the one that people mean by it",
        others=others,
    )


class _Likeness:
    """What is needed to tell how alike tools are."""

    def __init__(self, catalogue: LintContext) -> None:
        self.catalogue = catalogue

    @cached_property
    def texts(self) -> dict[str, frozenset[str]]:
        """The stems of name and description of each tool, by its id."""
        called, described = self.catalogue.label_stems, self.catalogue.description_stems
        return {tool.id: called[tool.id] | described[tool.id] for tool in self.catalogue.tools}

    @cached_property
    def weights(self) -> WordWeights:
        return WordWeights(self.texts)

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """The stems of the name of each tool, without those of its source."""
        found = {}
        for tool in self.catalogue.tools:
            words = self.catalogue.tool_name_stems[tool.id]
            found[tool.id] = words - stems(tool.source_id) or words
        return found

    def alike(self, one: Tool, other: Tool) -> float:
        """Return how much of each the other covers, at most 1; 0 where their names differ.

        Names differ where a word of one has no counterpart in the name or description of the other.
        """
        texts, names = self.texts, self.names
        for left, right in ((one.id, other.id), (other.id, one.id)):
            if any(not self._is_covered(word, texts[right]) for word in names[left]):
                return 0.0
        return min(self._coverage(one.id, other.id), self._coverage(other.id, one.id))

    def _coverage(self, left: str, right: str) -> float:
        words = self.texts[left] - EMPTY_WORDS or self.texts[left]
        covered = [word for word in words if self._is_covered(word, self.texts[right])]
        return self.weights.total(covered) / self.weights.total(words)

    def _is_covered(self, word: str, words: frozenset[str]) -> bool:
        if word in words:
            return True
        near = _near(word)
        others = (other for other in words if other in near or word in _near(other))
        return any(means_the_same(word, other) for other in others)

    def separating(self, one: Tool, other: Tool) -> tuple[str, ...]:
        """Return words of *one*, its parameters included, that *other* lacks, the rarest first."""
        own = self._all(one) - self._all(other)
        ordered = sorted(own, key=lambda word: (-self.weights.weight(word), word))
        texts = (one.description, one.name, self._of_parameters(one))
        return as_written(ordered[:_MOST_SEPARATING], *texts)

    def _all(self, tool: Tool) -> frozenset[str]:
        return self.texts[tool.id] | stems(self._of_parameters(tool))

    def _of_parameters(self, tool: Tool) -> str:
        parameters = self.catalogue.parameters[tool.id]
        return " ".join(f"{one.path} {one.description}" for one in parameters)


def _pairs(likeness: _Likeness) -> Iterator[Finding]:
    """Report duplicates across sources, and pairs that no word of weight separates."""
    catalogue, texts = likeness.catalogue, likeness.texts
    for tool in catalogue.tools:
        if len(texts[tool.id]) < _FEWEST_WORDS or not tool.description.strip():
            continue
        near = covering(texts[tool.id], texts, likeness.weights, _CANDIDATE)
        for other_id in sorted(other for other, _ in near if other > tool.id):
            other = catalogue.by_id[other_id]
            if len(texts[other_id]) >= _FEWEST_WORDS and other.description.strip():
                yield from _pair(likeness, tool, other)


def _pair(likeness: _Likeness, one: Tool, other: Tool) -> Iterator[Finding]:
    alike = likeness.alike(one, other)
    if alike < _ALIKE:
        return
    is_across = one.source_id != other.source_id
    note = (RelatedTool(other.id, "is much like it", Location(other.place, ("description",))),)
    if is_across and joined(one.name) == joined(other.name):
        yield make_finding(
            "C102",
            one,
            f"{one.id!r} of {one.source_id!r} and {other.id!r} of {other.source_id!r}"
            " are the same tool twice",
            "description",
            text=one.description,
            suggestion="leave out one source, or disable a tool by `enabledByDefault: false`",
            others=note,
        )
    elif one.description != other.description or is_across:  # D105 reports the others
        words = likeness.separating(one, other), likeness.separating(other, one)
        told = " and ".join(
            f"{tool.id!r} alone has {', '.join(own[:_NAMED])}"
            for tool, own in zip((one, other), words, strict=True)
            if own
        )
        yield make_finding(
            "C101",
            one,
            f"{one.id!r} and {other.id!r} are hard to tell apart: {alike:.0%} of their words are"
            " the same or mean the same",
            "description",
            text=one.description,
            suggestion="say in each what the other does not do; "
            + (told or "no word separates them"),
            words=words[0],
            others=note,
        )


def means_the_same(one: str, other: str) -> bool:
    """Return whether two stems are related in meaning, and neither opposites nor other actions.

    Opposites stand in the same contexts, so tables of related words have them as well. Most are
    formed by other beginnings: `enable` and `disable`, `upload` and `download`.
    """
    is_related = other in _near(one) or one in _near(other)
    if not is_related or _are_opposites(one, other):
        return False
    kinds = [lexicon.operation_shares(stem) for stem in (one, other)]
    return not all(kinds) or kinds[0].index(max(kinds[0])) == kinds[1].index(max(kinds[1]))


@lru_cache(maxsize=_MOST_STEMS)
def _near(stem: str) -> frozenset[str]:
    """Return the stems that are related to *stem* in meaning."""
    return frozenset(other for other, weight in lexicon.related_stems(stem) if weight >= _RELATED)


def _are_opposites(one: str, other: str) -> bool:
    shared = 0
    while shared < min(len(one), len(other)) and one[-1 - shared] == other[-1 - shared]:
        shared += 1
    return shared >= _SHARED_ENDING


_SHARE = 0.7
"""Share of the weight of its words that another tool must have to hide a tool."""

_LONGEST_QUERY = 300
_FEWEST_QUERY_WORDS = 3
_PER_REPORT = 50
_MOST_WORDS = 6
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_SLACK = 0.1
"""Scores that differ by less are level: which tool goes first is by chance."""


def check_reach(catalogue: LintContext, tell: Callable[[int, int], None]) -> Iterator[Finding]:
    """Yield the tools that a search for their own words does not bring first.

    Args:
        catalogue: The catalogue.
        tell: Receives how many searches are done, of how many.
    """
    asked = [*_list_searches(catalogue)]
    for done, (tool, code, member, query) in enumerate(asked):
        if done % _PER_REPORT == 0:
            tell(done, len(asked))
        hiding = _hiding(catalogue.engine, tool, query)
        if hiding is not None:
            yield _finding(catalogue, tool, code, member, query, hiding)
    if asked:
        tell(len(asked), len(asked))


def opening(text: str) -> str:
    """Return the first sentence of *text*, or more if that is short, as a query."""
    query = ""
    for sentence in _SENTENCE_END.split(text.strip()):
        query = f"{query} {sentence}".strip()
        if len(query) >= _LONGEST_QUERY or len(stems(query)) >= _FEWEST_QUERY_WORDS:
            break
    return query[:_LONGEST_QUERY]


def _list_searches(
    catalogue: LintContext,
) -> Iterator[tuple[Tool, str, tuple[str | int, ...], str]]:
    """Yield searches: the tool, the rule, the member that the query is of, and the query."""
    chosen = catalogue.chosen
    texts = {tool.id: _words(catalogue, tool) for tool in catalogue.tools}
    weights = WordWeights(texts)

    def is_contested(tool: Tool, query: str) -> bool:
        words = stems(query)
        rivals = covering(words, texts, weights, _SHARE)
        return bool(words) and any(other != tool.id for other, _ in rivals)

    for tool in catalogue.tools:
        if not tool.enabled:
            continue
        query = opening(tool.description)
        has_words = "R101" in chosen and len(stems(query)) >= _FEWEST_QUERY_WORDS
        if has_words and is_contested(tool, query):
            yield tool, "R101", ("description",), query
        if "R102" in chosen and tool.title and is_contested(tool, tool.title):
            yield tool, "R102", ("title",), tool.title
        for place, alias in enumerate(tool.hints.aliases):
            yield tool, "R103", ("aliases", place), alias


def _words(catalogue: LintContext, tool: Tool) -> frozenset[str]:
    hints = tool.hints
    stated = (*hints.aliases, *hints.keywords, *hints.categories, *hints.tags)
    parameters = catalogue.parameters[tool.id]
    texts = (*stated, *(text for one in parameters for text in (one.path, one.description)))
    own = catalogue.description_stems[tool.id] | catalogue.full_name_stems[tool.id]
    return own.union(*map(stems, texts))


def _parameters(catalogue: LintContext, tool: Tool) -> str:
    return " ".join(f"{one.path} {one.description}" for one in catalogue.parameters[tool.id])


def _hiding(engine: Engine, tool: Tool, query: str) -> tuple[str, float, float] | None:
    """Return the tool that a search for *query* brings before *tool*, and both scores."""
    result = engine.search(query, limit=3)
    if not result.matches or result.matches[0].tool_id == tool.id:
        return None
    best = result.matches[0]
    own = next((one.score for one in result.matches if one.tool_id == tool.id), 0.0)
    return None if best.score - own < _SLACK else (best.tool_id, best.score, own)


def _finding(
    catalogue: LintContext,
    tool: Tool,
    code: str,
    member: tuple[str | int, ...],
    query: str,
    hiding: tuple[str, float, float],
) -> Finding:
    hider = catalogue.by_id[hiding[0]]
    own = _words(catalogue, tool) - _words(catalogue, hider)
    rarest = sorted(own, key=lambda word: (catalogue.frequencies[word], word))[:_MOST_WORDS]
    words = as_written(rarest, tool.description, tool.name, _parameters(catalogue, tool))
    what = {"R101": "description", "R102": "title", "R103": f"alias {query!r}"}[code]
    advice = f"say what {hider.id!r} does not do"
    return make_finding(
        code,
        tool,
        f"a search for the {what} of {tool.id!r} brings {hider.id!r} first"
        f" ({hiding[1]:.2f} against {hiding[2]:.2f})",
        *member,
        text=tool.description if code == "R101" else query,
        suggestion=f"{advice}: {', '.join(words)} stand in this tool alone" if words else advice,
        words=words,
        others=(RelatedTool(hider.id, "goes first", Location(hider.place, ("description",))),),
    )


_DEAD = {
    Code.RELATION_UNRESOLVED: "L101",
    Code.RELATION_INVALID: "L101",
    Code.HINT_UNMATCHED: "L104",
    Code.DOCUMENT_UNMAPPED: "L104",
}
_RELATED_SHARE = 0.9
_MOST_CIRCLES = 1_000


def check_relations(catalogue: LintContext) -> Iterator[Finding]:
    """Yield what is wrong with relations."""
    for one in catalogue.assembly.diagnostics:
        if is_reported_here(one):
            yield _dead(one)
    yield from _circles(catalogue)


def is_reported_here(diagnostic: Diagnostic) -> bool:
    """Return whether a rule reports *diagnostic*."""
    # A link to a file outside of the sources is a note.
    is_note = diagnostic.severity == Severity.INFO
    return diagnostic.code in _DEAD and not (
        is_note and diagnostic.code == Code.RELATION_UNRESOLVED
    )


def _dead(one: Diagnostic) -> Finding:
    quoted = one.message.rpartition(": ")[2].partition(";")[0].strip()
    name = quoted[1:-1] if quoted[:1] in "'\"" and quoted[:1] == quoted[-1:] else ""
    if not name and "'" in one.message:
        name = one.message.split("'")[1]
    return Finding(
        _DEAD[one.code],
        one.message,
        suggestion="correct the name, or remove it",
        spot=Location(one.place or "", text=name),
    )


def _collect_next_steps(catalogue: LintContext) -> dict[str, list[str]]:
    """Return the next steps that authors state, by the tool that they follow."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for one in catalogue.assembly.catalog.assertions:
        if one.kind == "nextStep":
            found[one.source].setdefault(one.target)
    for document in catalogue.assembly.documents:
        for edge in catalogue.relations.of(document.tool.id).next_steps if document.links else ():
            if edge.origin == EdgeOrigin.AUTHORED:
                found[document.tool.id].setdefault(edge.target)
    return {tool_id: [*targets] for tool_id, targets in found.items()}


def _circles(catalogue: LintContext) -> Iterator[Finding]:
    """Report circles of next steps, each at the first of its tools."""
    steps = _collect_next_steps(catalogue)
    for _ in range(_MOST_CIRCLES):
        try:
            TopologicalSorter(steps).prepare()
        except CycleError as fault:
            # Of its nodes each follows the next one.
            circle = [*reversed(fault.args[1])][:-1]
            first = circle.index(min(circle))
            circle = [*circle[first:], *circle[:first]]
            yield _circle(catalogue, circle)
            steps[circle[-1]].remove(circle[0])
        else:
            return


def _circle(catalogue: LintContext, circle: list[str]) -> Finding:
    first = catalogue.by_id[circle[0]]
    shown = " -> ".join((*circle, circle[0]))
    places = [
        one.place
        for one in catalogue.assembly.catalog.assertions
        if one.kind == "nextStep" and one.source == first.id and one.place
    ]
    found = make_finding(
        "L102",
        first,
        f"next steps run in a circle: {shown}",
        suggestion="remove the step that leads back",
        others=tuple(RelatedTool(one, "is part of the circle") for one in circle[1:]),
    )
    return replace(found, spot=Location(places[0], text=first.id)) if places else found


def find_orphans(catalogue: LintContext) -> Iterator[Finding]:
    """Report tools that nothing is related to, where nearly all others are."""
    relations = catalogue.relations
    joined: set[str] = set()
    for tool in catalogue.tools:
        edges = (*relations.of(tool.id).related, *relations.of(tool.id).next_steps)
        joined.update(edge.target for edge in edges)
        if edges:
            joined.add(tool.id)
    for source_id, tools in catalogue.sources.items():
        alone = [tool for tool in tools if tool.id not in joined]
        if len(tools) - len(alone) >= _RELATED_SHARE * len(tools):
            for tool in alone:
                yield make_finding(
                    "L103",
                    tool,
                    f"{tool.id!r} is related to no tool; the others of source {source_id!r} are",
                    suggestion="state what it belongs to or follows, by `related` or `nextSteps`",
                )
