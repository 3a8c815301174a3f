"""Rules on whether a tool is found: confusable ones, searches that miss it, and relations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from math import log

from mcpg.catalog.model import Tool
from mcpg.errors import Code, Diagnostic, Severity
from mcpg.lint.context import EMPTY_WORDS, LintContext, as_written, by_key, make_finding, stems
from mcpg.lint.model import Finding, Location, RelatedTool
from mcpg.relations.edges import EdgeOrigin
from mcpg.text import lexicon
from mcpg.text.words import join_words

_MOST_SHARING = 100
_ROUNDING = 1e-9


class WordWeights:
    """How rare words are in a collection of texts.

    Attributes:
        holders: The keys of the texts in which each word stands.
    """

    def __init__(self, texts: Mapping[str, Collection[str]]) -> None:
        """Weigh the words of *texts*, by the key of each."""
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        for key, words in texts.items():
            for word in set(words):
                self.holders[word].append(key)
        size = len(texts)
        self._weights = {
            word: log(1 + size / (0.5 + len(held))) for word, held in self.holders.items()
        }
        self._rarest = log(1 + size / 0.5)

    def weight(self, word: str) -> float:
        """Return the weight of a word: the logarithm of its rarity."""
        return self._weights.get(word) or self._rarest

    def total(self, words: Collection[str]) -> float:
        """Return the sum of the weights of distinct *words*."""
        return sum(map(self.weight, words))

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
    words: Collection[str], texts: Mapping[str, Collection[str]], weights: WordWeights, share: float
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
        covered = weights.total(distinct.intersection(texts[key])) / total
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
    yield from _find_shared_aliases(catalogue)
    likeness = _Likeness(catalogue)
    texts = {
        key: words
        for key, words in likeness.texts.items()
        if len(words) >= _FEWEST_WORDS and catalogue.by_id[key].description.strip()
    }
    for one, words in texts.items():
        near = covering(words, likeness.texts, likeness.weights, _CANDIDATE)
        for other in sorted(key for key, _ in near if key > one and key in texts):
            yield from _compare(likeness, catalogue.by_id[one], catalogue.by_id[other])


def _find_shared_aliases(catalogue: LintContext) -> Iterator[Finding]:
    """Report aliases of several tools, and those that are the name of another tool."""
    pairs = [(join_words(alias), tool) for tool in catalogue.tools for alias in tool.hints.aliases]
    names = by_key((join_words(tool.name), tool) for tool in catalogue.tools)
    for key, tools in by_key(pairs).items():
        first, aliases = tools[0], tools[0].hints.aliases
        place = next(n for n, one in enumerate(aliases) if join_words(one) == key)
        found: list[tuple[str, str, tuple[RelatedTool, ...]]] = []
        if len(tools) > 1:
            shown = " and ".join((repr(first.id), ", ".join(repr(one.id) for one in tools[1:4])))
            message = f"the alias {aliases[place]!r} points to {len(tools)} tools: {shown}"
            others = tuple(RelatedTool(tool.id, "has the same alias") for tool in tools[1:])
            found.append(("C103", message, others))
        named = [tool for tool in names.get(key, ()) if tool not in tools]
        if named:
            whose = f"{aliases[place]!r} of {first.id!r}"
            others = tuple(RelatedTool(tool.id, "bears that name") for tool in named)
            found.append(("C104", f"the alias {whose} is the name of {named[0].id!r}", others))
        for code, message, others in found:
            yield make_finding(
                code,
                first,
                message,
                *("aliases", place),
                text=aliases[place],
                suggestion="keep it on the one that people mean by it",
                others=others,
            )


class _Likeness:
    """How alike tools are."""

    def __init__(self, catalogue: LintContext) -> None:
        self._catalogue = catalogue
        self.texts = {key: one.label | one.description for key, one in catalogue.stems.items()}
        self.weights = WordWeights(self.texts)

    def compare(self, one: Tool, other: Tool) -> float:
        """Return how much of each the other covers, at most 1; 0 where their names differ.

        Names differ where a word of one has no counterpart in the name or description of the other.
        """
        shares: list[float] = []
        for left, right in ((one, other), (other, one)):
            name, theirs = self._catalogue.stems[left.id].name, self.texts[right.id]
            own = name - stems(left.source_id) or name
            if not all(_is_covered(word, theirs) for word in own):
                return 0.0
            words = self.texts[left.id] - EMPTY_WORDS or self.texts[left.id]
            covered = [word for word in words if _is_covered(word, theirs)]
            shares.append(self.weights.total(covered) / self.weights.total(words))
        return min(shares)

    def find_separating(self, one: Tool, other: Tool) -> tuple[str, ...]:
        """Return words of *one*, its parameters included, that *other* lacks, the rarest first."""
        parameters = self._catalogue.join_parameters(one)
        theirs = self.texts[other.id] | stems(self._catalogue.join_parameters(other))
        own = (self.texts[one.id] | stems(parameters)) - theirs
        ordered = sorted(own, key=lambda word: (-self.weights.weight(word), word))
        return as_written(ordered[:_MOST_SEPARATING], one.description, one.name, parameters)


def _compare(likeness: _Likeness, one: Tool, other: Tool) -> Iterator[Finding]:
    alike = likeness.compare(one, other)
    if alike < _ALIKE:
        return
    is_across = one.source_id != other.source_id
    words: tuple[str, ...] = ()
    if is_across and join_words(one.name) == join_words(other.name):
        code, advice = (
            "C102",
            "leave out one source, or disable a tool by `enabledByDefault: false`",
        )
        message = (
            f"{one.id!r} of {one.source_id!r} and {other.id!r} of {other.source_id!r}"
            " are the same tool twice"
        )
    elif one.description != other.description or is_across:  # D105 reports the others
        words = likeness.find_separating(one, other)
        separating = ((one, words), (other, likeness.find_separating(other, one)))
        told = " and ".join(
            f"{tool.id!r} alone has {', '.join(own[:_NAMED])}" for tool, own in separating if own
        )
        code = "C101"
        advice = f"say in each what the other does not do; {told or 'no word separates them'}"
        message = (
            f"{one.id!r} and {other.id!r} are hard to tell apart: {alike:.0%} of their words are"
            " the same or mean the same"
        )
    else:
        return
    note = RelatedTool(other.id, "is much like it", Location(other.place, ("description",)))
    yield make_finding(
        code, one, message, "description", suggestion=advice, words=words, others=(note,)
    )


def _is_covered(word: str, words: frozenset[str]) -> bool:
    return word in words or any(means_the_same(word, other) for other in words)


def means_the_same(one: str, other: str) -> bool:
    """Return whether two stems are related in meaning, and neither opposites nor other actions.

    Opposites stand in the same contexts, so tables of related words have them as well. Most are
    formed by other beginnings: `enable` and `disable`, `upload` and `download`.
    """
    if other not in _near(one) and one not in _near(other):
        return False
    if one[-_SHARED_ENDING:] == other[-_SHARED_ENDING:] and len(one) >= _SHARED_ENDING:
        return False
    kinds = [lexicon.operation_shares(stem) for stem in (one, other)]
    return not all(kinds) or kinds[0].index(max(kinds[0])) == kinds[1].index(max(kinds[1]))


@lru_cache(maxsize=_MOST_STEMS)
def _near(stem: str) -> frozenset[str]:
    """Return the stems that are related to *stem* in meaning."""
    return frozenset(other for other, weight in lexicon.related_stems(stem) if weight >= _RELATED)


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
    """Yield the tools that a search for their own words does not bring first."""
    asked = [*_list_searches(catalogue)]
    for done, (tool, code, member, query) in enumerate(asked):
        if done % _PER_REPORT == 0:
            tell(done, len(asked))
        matches = catalogue.engine.search(query, limit=3).matches
        if matches and matches[0].tool_id != tool.id:
            own = next((one.score for one in matches if one.tool_id == tool.id), 0.0)
            if matches[0].score - own >= _SLACK:
                hider = catalogue.by_id[matches[0].tool_id]
                scores = f"{matches[0].score:.2f} against {own:.2f}"
                yield _report_hidden(catalogue, tool, code, member, query, hider, scores)
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
    texts = {tool.id: _collect_stems(catalogue, tool) for tool in catalogue.tools}
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


def _collect_stems(catalogue: LintContext, tool: Tool) -> frozenset[str]:
    hints = tool.hints
    stated = (*hints.aliases, *hints.keywords, *hints.categories, *hints.tags)
    parameters = catalogue.parameters[tool.id]
    texts = (*stated, *(text for one in parameters for text in (one.path, one.description)))
    known = catalogue.stems[tool.id]
    return (known.description | known.full_name).union(*map(stems, texts))


def _report_hidden(
    catalogue: LintContext,
    tool: Tool,
    code: str,
    member: tuple[str | int, ...],
    query: str,
    hider: Tool,
    scores: str,
) -> Finding:
    own = _collect_stems(catalogue, tool) - _collect_stems(catalogue, hider)
    rarest = sorted(own, key=lambda word: (catalogue.frequencies[word], word))[:_MOST_WORDS]
    words = as_written(rarest, tool.description, tool.name, catalogue.join_parameters(tool))
    what = {"R101": "description", "R102": "title", "R103": f"alias {query!r}"}[code]
    advice = f"say what {hider.id!r} does not do"
    return make_finding(
        code,
        tool,
        f"a search for the {what} of {tool.id!r} brings {hider.id!r} first ({scores})",
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
    for one in filter(is_reported_here, catalogue.assembly.diagnostics):
        quoted = one.message.rpartition(": ")[2].partition(";")[0].strip()
        name = quoted[1:-1] if quoted[:1] in "'\"" and quoted[:1] == quoted[-1:] else ""
        if not name and "'" in one.message:
            name = one.message.split("'")[1]
        yield Finding(
            _DEAD[one.code],
            one.message,
            suggestion="correct the name, or remove it",
            spot=Location(one.place or "", text=name),
        )
    yield from _find_circles(catalogue)


def is_reported_here(diagnostic: Diagnostic) -> bool:
    """Return whether a rule reports *diagnostic*."""
    # A link to a file outside of the sources is a note.
    is_note = diagnostic.severity == Severity.INFO
    return diagnostic.code in _DEAD and not (
        is_note and diagnostic.code == Code.RELATION_UNRESOLVED
    )


def _collect_next_steps(catalogue: LintContext) -> dict[str, list[str]]:
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for one in catalogue.assembly.catalog.assertions:
        if one.kind == "nextStep":
            found[one.source].setdefault(one.target)
    for document in catalogue.assembly.documents:
        steps = catalogue.assembly.relations.of(document.tool.id).next_steps
        for edge in steps if document.links else ():
            if edge.origin == EdgeOrigin.AUTHORED:
                found[document.tool.id].setdefault(edge.target)
    return {tool_id: [*targets] for tool_id, targets in found.items()}


def _find_circles(catalogue: LintContext) -> Iterator[Finding]:
    """Report circles of next steps, each at the first of its tools."""
    steps = _collect_next_steps(catalogue)
    for _ in range(_MOST_CIRCLES):
        try:
            TopologicalSorter(steps).prepare()
        except CycleError as fault:
            # Of its nodes each follows the next one.
            circle = [*reversed(fault.args[1])][:-1]
            start = circle.index(min(circle))
            circle = [*circle[start:], *circle[:start]]
            steps[circle[-1]].remove(circle[0])
        else:
            return
        first = catalogue.by_id[circle[0]]
        found = make_finding(
            "L102",
            first,
            f"next steps run in a circle: {' -> '.join((*circle, first.id))}",
            suggestion="remove the step that leads back",
            others=tuple(RelatedTool(one, "is part of the circle") for one in circle[1:]),
        )
        assertions = catalogue.assembly.catalog.assertions
        stated = (one for one in assertions if one.kind == "nextStep" and one.source == first.id)
        place = next((one.place for one in stated if one.place), "")
        yield replace(found, spot=Location(place, text=first.id)) if place else found


def find_orphans(catalogue: LintContext) -> Iterator[Finding]:
    """Report tools that nothing is related to, where nearly all others are."""
    relations = catalogue.assembly.relations
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
