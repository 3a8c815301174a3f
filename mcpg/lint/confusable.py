"""Rules on tools that are taken for each other: namesakes, duplicates, shared aliases, pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from mcpg.catalog.model import Tool
from mcpg.lint.catalogue import LintContext, as_written, by_key, make_finding, stems
from mcpg.lint.model import Finding, RelatedTool, Location
from mcpg.lint.similar import WordWeights, covering
from mcpg.lint.vocabulary import EMPTY_WORDS
from mcpg.text import lexicon
from mcpg.text.words import joined

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
