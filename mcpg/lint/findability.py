"""Rules on whether a tool is found: confusable ones, searches that miss it, and relations."""

from __future__ import annotations

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
from mcpg.text import lexicon, split_words, stem
from mcpg.text.words import get_stop_words, join_words
from mcpg.values import split_sentences

_MOST_SHARING = 100
_ROUNDING = 1e-9


class WordWeights:
    """How rare words are in a collection of texts.

    Attributes:
        holders: The keys of the texts that contain each word.
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

    Of words in very many texts, only the first texts are compared.
    """
    total = weights.total(words)
    if not total:
        return
    # The weight that a text may cover: all but the rare words that it is known to lack.
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
"""Share of the weight of each tool's words that its peer also has, or words that mean the same,
from which two tools are confusable."""

_CANDIDATE = 0.45
"""Share of the same words from which two tools are compared."""

_SYNONYMS, _SYNONYMOUS_VERBS = 0.8, 0.68
"""How strongly two words are related, on average of both directions, that mean the same. Verbs that
name the same kind of operation need less: countries and days are also related words."""

_RELATED, _FAMILY = 0.5, 6
"""Words that begin with so many letters alike are of one family if they are related so strongly."""

_COVERED, _LEAST_COVERED = 0.9, 0.6
"""Tools with names that mean the same are confusable if one description covers the first of these
shares of its peer, which covers the second share of it."""

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
                suggestion="keep it on the tool that people mean by it",
                others=others,
            )


class _Likeness:
    """How alike tools are."""

    def __init__(self, catalogue: LintContext) -> None:
        self._catalogue = catalogue
        self.texts = {key: one.label | one.description for key, one in catalogue.stems.items()}
        self.weights = WordWeights(self.texts)

    def compare(self, one: Tool, other: Tool) -> tuple[float, float]:
        """Return the share of the words of each tool that its peer has, the lesser first."""
        shares: list[float] = []
        for left, right in ((one, other), (other, one)):
            words = self.texts[left.id] - EMPTY_WORDS or self.texts[left.id]
            covered = [word for word in words if _is_covered(word, self.texts[right.id])]
            shares.append(self.weights.total(covered) / self.weights.total(words))
        return min(shares), max(shares)

    def covers_name(self, one: Tool, other: Tool) -> bool:
        """Return whether *other* has the words of the name of *one*, or such as mean the same."""
        name, theirs = self._catalogue.stems[one.id].name, self.texts[other.id]
        own = name - stems(one.source_id) or name
        return all(_is_covered(word, theirs) for word in own)

    def find_synonyms(self, one: Tool, other: Tool) -> tuple[list[str], list[str]] | None:
        """Return the words by which names of the same meaning differ, `None` for other names.

        They mean the same, or those that one name has beyond them mark nothing.
        """
        names = split_words(one.name), split_words(other.name)
        left = [word for word in dict.fromkeys(names[0]) if word not in names[1]]
        right = [word for word in dict.fromkeys(names[1]) if word not in names[0]]
        shared = [[word for word in name if word not in {*left, *right}] for name in names]
        more, others = left[:], right[:]
        for word in left:
            same = next((by for by in others if means_the_same(stem(word), stem(by))), None)
            if same is not None:
                more.remove(word)
                others.remove(same)
        if (more and others) or not (left or right) or shared[0] != shared[1]:
            return None
        marks = [self._marks(word, one, other) for word in more]
        marks += [self._marks(word, other, one) for word in others]
        return None if any(marks) else (left, right)

    def _marks(self, word: str, tool: Tool, other: Tool) -> bool:
        """Return whether a *word* in the name of *tool* distinguishes it from *other*.

        Stop words do not, and neither do empty words that the description lacks, or that both
        descriptions have.
        """
        if word in get_stop_words("english"):
            return False
        said, theirs = (self._catalogue.stems[one.id].description for one in (tool, other))
        return stem(word) not in EMPTY_WORDS or (
            stem(word) in said and not _is_covered(stem(word), theirs)
        )

    def describe_difference(self, one: Tool, other: Tool) -> str:
        """Return by which words the names and descriptions of two tools differ, as written."""
        told = []
        for left, right in ((one, other), (other, one)):
            own = sorted(self.texts[left.id] - self.texts[right.id])
            own.sort(key=self.weights.weight, reverse=True)
            told.append(
                ", ".join(as_written(own[:_NAMED], left.description, left.name, left.title or ""))
            )
        if all(told):
            return f"all that differs is {told[0]} against {told[1]}"
        only = " and ".join(filter(None, told))
        return f"all that differs is {only}" if only else "only forms and order of words differ"

    def find_separating(self, one: Tool, other: Tool) -> tuple[str, ...]:
        """Return words of *one*, its parameters included, that *other* lacks, the rarest first."""
        parameters = self._catalogue.join_parameters(one)
        theirs = self.texts[other.id] | stems(self._catalogue.join_parameters(other))
        own = (self.texts[one.id] | stems(parameters)) - theirs
        ordered = sorted(own, key=lambda word: (-self.weights.weight(word), word))
        return as_written(ordered[:_MOST_SEPARATING], one.description, one.name, parameters)


def _compare(likeness: _Likeness, one: Tool, other: Tool) -> Iterator[Finding]:
    is_across = one.source_id != other.source_id
    if not is_across and one.description == other.description:
        return  # D105 reports them
    if _are_reversed(one.name, other.name):
        return
    synonyms = None if is_across else likeness.find_synonyms(one, other)
    are_covered = likeness.covers_name(one, other) and likeness.covers_name(other, one)
    if not (synonyms or are_covered):
        return
    alike, most = likeness.compare(one, other)
    if synonyms and alike >= _LEAST_COVERED and most >= _COVERED:
        yield _report_confusion(likeness, "C105", one, other, _describe_names(one, other, synonyms))
    elif alike < _ALIKE or not are_covered:
        return
    elif is_across and join_words(one.name) == join_words(other.name):
        message = (
            f"{one.id!r} of {one.source_id!r} and {other.id!r} of {other.source_id!r}"
            " are the same tool twice"
        )
        yield _report_confusion(likeness, "C102", one, other, message)
    else:
        difference = likeness.describe_difference(one, other)
        message = f"{one.id!r} and {other.id!r} are hard to distinguish: {difference}"
        yield _report_confusion(likeness, "C101", one, other, message)


def _are_reversed(one: str, other: str) -> bool:
    """Return whether names have one relation in two directions: `rgb_to_hsl`, `hsl_to_rgb`."""
    left, right = split_words(one), split_words(other)
    is_related = not get_stop_words("english").isdisjoint(left[1:-1])
    return is_related and left != right and sorted(left) == sorted(right)


def _describe_names(one: Tool, other: Tool, words: tuple[list[str], list[str]]) -> str:
    """Return the text about names of the same meaning, which differ by *words*."""
    left, right = (", ".join(map(repr, part)) for part in words)
    by = f"{left} against {right}" if left and right else f"{left or right}, which marks nothing"
    return f"the names {one.name!r} and {other.name!r} mean the same: they differ by {by}"


def _report_confusion(
    likeness: _Likeness, code: str, one: Tool, other: Tool, message: str
) -> Finding:
    words: tuple[str, ...] = ()
    advice = "leave out one source, or disable a tool by `enabledByDefault: false`"
    if code != "C102":
        words = likeness.find_separating(one, other)
        separating = ((one, words), (other, likeness.find_separating(other, one)))
        told = " and ".join(
            f"{tool.id!r} alone has {', '.join(own[:_NAMED])}" for tool, own in separating if own
        )
        advice = f"add the differences to both descriptions; {told or 'no word separates them'}"
    note = RelatedTool(other.id, "is much like it", Location(other.place, ("description",)))
    return make_finding(
        code, one, message, "description", suggestion=advice, words=words, others=(note,)
    )


def _is_covered(word: str, words: frozenset[str]) -> bool:
    return word in words or any(means_the_same(word, other) for other in words)


@lru_cache(maxsize=_MOST_STEMS)
def means_the_same(one: str, other: str) -> bool:
    """Return whether two stems mean the same, and are neither opposites nor other actions.

    Opposites have the same contexts, so tables of related words also have them. Most are
    formed by other beginnings: `enable` and `disable`, `upload` and `download`. Words of one
    kind, such as names of countries, are not all among each other's nearest words.
    """
    there, back = _near(one).get(other, 0.0), _near(other).get(one, 0.0)
    if one[-_SHARED_ENDING:] == other[-_SHARED_ENDING:]:
        return False
    if one[:_FAMILY] == other[:_FAMILY] and max(there, back) >= _RELATED:
        return True  # `convert` and `conversion`
    if not min(there, back):
        return False
    kinds = [lexicon.operation_shares(stem) for stem in (one, other)]
    if all(kinds) and kinds[0].index(max(kinds[0])) != kinds[1].index(max(kinds[1])):
        return False
    are_verbs = lexicon.is_operation(one) and lexicon.is_operation(other)
    return (there + back) / 2 >= (_SYNONYMOUS_VERBS if are_verbs else _SYNONYMS)


@lru_cache(maxsize=_MOST_STEMS)
def _near(stem: str) -> Mapping[str, float]:
    """Return the stems that are related to *stem* in meaning, with the strength of each."""
    return dict(lexicon.related_stems(stem))


_SHARE = 0.7
"""Share of the weight of its words that another tool must have to hide a tool."""

_LONGEST_QUERY = 300
_FEWEST_QUERY_WORDS = 3
_PER_REPORT = 50
_MOST_WORDS = 6
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
    for sentence in split_sentences(text):
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
    advice = f"add its differences from {hider.id!r}"
    return make_finding(
        code,
        tool,
        f"a search for the {what} of {tool.id!r} brings {hider.id!r} first ({scores})",
        *member,
        text=tool.description if code == "R101" else query,
        suggestion=f"{advice}: {', '.join(words)} are only in this tool" if words else advice,
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
    """Yield the faults of relations."""
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
    """Report tools without relations, if nearly all others have some."""
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
                    suggestion="add its relations, as `related` or `nextSteps`",
                )
