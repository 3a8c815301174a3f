"""The input of rules: the tools of a catalog, their words, and helpers for findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files

from mcpg.bundle import Assembly
from mcpg.catalog.model import HintRule, Hints, Parameter, Tool, walk_parameters
from mcpg.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.index.layout import NO_KEY
from mcpg.lint.model import Finding, Location, RelatedTool, Selection
from mcpg.text import split_words
from mcpg.text.words import get_stop_words, stem
from mcpg.values import format_count, list_some

_USUAL = 0.25
"""From this share on, a fault is usual in a source, and reported once for it."""

_FEWEST_USUAL = 4
_MOST_TEXTS = 1 << 16
HINT_NAMES = ("aliases", "keywords", "categories", "tags", "data_sources")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class ToolStems:
    """The stems of the words of a tool, without stop words.

    Attributes:
        name: The stems of its name.
        label: The stems of its name and its title.
        full_name: The stems of its name, its title and its source.
        words: The stems of its description, in their order.
        description: The same, each once.
    """

    name: frozenset[str]
    label: frozenset[str]
    full_name: frozenset[str]
    words: tuple[str, ...]
    description: frozenset[str]


def list_hints(hints: Hints) -> Iterator[tuple[str, int, str]]:
    """Yield the field, the place in it and the text of each hint, inputs of examples included."""
    for field in HINT_NAMES:
        yield from ((field, at, text) for at, text in enumerate(getattr(hints, field)))
    yield from (("examples", at, one.input) for at, one in enumerate(hints.examples))


class LintContext:
    """A catalog that is linted.

    Attributes:
        chosen: The rules that are checked. Findings of other rules are left out, and a slow check
            may skip them.
    """

    def __init__(
        self,
        assembly: Assembly,
        rules: Sequence[HintRule],
        chosen: Selection,
        index: Callable[[Assembly], Index] | None = None,
    ) -> None:
        self.assembly = assembly
        self.chosen = chosen
        self.rules = rules
        self.tools: Sequence[Tool] = assembly.catalog.tools
        self.by_id = {tool.id: tool for tool in self.tools}
        self.sources: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in self.tools:
            self.sources[tool.source_id].append(tool)
        self._index = index or (lambda one: Index(compile_reach_index(one)))
        self.find_matching = lru_cache(maxsize=1024)(assembly.catalog.matching)
        self._rules_by_hint: defaultdict[tuple[str, str], list[HintRule]] = defaultdict(list)
        for rule in rules:
            for field, _, text in list_hints(rule.hints):
                self._rules_by_hint[field, text].append(rule)

    def spot(self, spot: Location, tool_id: str) -> Location:
        """Return the place of *spot* of a tool: of a hint from a hints file, the entry there."""
        field = str(spot.member[0]) if spot.member else ""
        for rule in self._rules_by_hint.get((field, spot.text), ()):
            if any(tool.id == tool_id for tool in self.find_matching(rule.pattern)):
                hints = list_hints(rule.hints)
                at = next(at for name, at, text in hints if (name, text) == (field, spot.text))
                return Location(rule.place, (field, at), spot.start, spot.size, spot.text)
        return spot

    @cached_property
    def parameters(self) -> Mapping[str, tuple[Parameter, ...]]:
        """The parameters of each tool, nested ones included, by its id."""
        return {tool.id: walk_parameters(tool.input_schema) for tool in self.tools}

    def join_parameters(self, tool: Tool) -> str:
        """Return the paths and the descriptions of all parameters of *tool*."""
        return " ".join(f"{one.path} {one.description}" for one in self.parameters[tool.id])

    @cached_property
    def stems(self) -> Mapping[str, ToolStems]:
        """The stems of each tool by its id."""
        found: dict[str, ToolStems] = {}
        for tool in self.tools:
            name, words = stems(tool.name), content_words(tool.description)
            label = name | stems(tool.display_name)
            full_name = label | stems(tool.source_id)
            found[tool.id] = ToolStems(name, label, full_name, words, frozenset(words))
        return found

    @cached_property
    def frequencies(self) -> Counter[str]:
        """The number of tools with each stem in their descriptions and names."""
        return Counter(
            word for one in self.stems.values() for word in one.description | one.full_name
        )

    @cached_property
    def engine(self) -> Engine:
        """An engine over the catalog."""
        return Engine(self._index(self.assembly))


def compile_reach_index(assembly: Assembly, key: bytes = NO_KEY) -> bytes:
    """Compile the index that rules on reach search, with the *key* of its sources."""
    # What fills arguments of which tool ranks none.
    unfilled = replace(assembly, provisions=[()] * len(assembly.documents))
    return compile_assembly(unfilled, key)


def as_written(wanted: Iterable[str], *texts: str) -> tuple[str, ...]:
    """Return words of *texts* for the *wanted* stems, in the order of these."""
    written = {stem(word): word for text in reversed(texts) for word in reversed(split_words(text))}
    return tuple(written.get(one, one) for one in wanted)


@lru_cache(maxsize=_MOST_TEXTS)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of *text* that are not English stop words."""
    return frozenset(content_words(text))


@lru_cache(maxsize=_MOST_TEXTS)
def content_words(text: str) -> tuple[str, ...]:
    """Return the stems of the words of *text* that are not stop words, in their order."""
    stops = get_stop_words("english")
    return tuple([stem(word) for word in split_words(text) if word not in stops])


_TEXT_MEMBERS = (("name",), ("title",), ("description",))


def make_finding(  # noqa: PLR0913 - each is a part of the finding
    code: str,
    tool: Tool,
    message: str,
    *member: str | int,
    text: str | None = None,
    start: int = 0,
    size: int = 0,
    suggestion: str = "",
    words: tuple[str, ...] = (),
    others: tuple[RelatedTool, ...] = (),
) -> Finding:
    """Return a finding about a *member* of a tool, or a part of its *text*.

    The text of a name, title or description is known without it.
    """
    if text is None:
        text = getattr(tool, str(member[0])) if member in _TEXT_MEMBERS else ""
    excerpt = text[start : start + size] if size else text
    return Finding(
        code,
        message,
        tool.id,
        tool.source_id,
        ".".join(map(str, member)),
        excerpt,
        suggestion,
        words,
        others,
        spot=Location(tool.place, member, start, size, text),
    )


def outliers(
    catalogue: LintContext,
    found: Mapping[str, Finding],
    whole: str,
    among: Callable[[Tool], bool] = lambda _: True,
) -> Iterator[Finding]:
    """Yield the faults *found* in tools, by id, and one finding for each source with a usual fault.

    A fault of most tools of a source is a habit of its author: it gets one finding, rather than as
    many as there are tools, which would hide all others. *whole* is its predicate, such as `have no
    description`; *among* returns whether a tool could have the fault.
    """
    for source_id, tools in catalogue.sources.items():
        bad = [tool for tool in tools if tool.id in found]
        total = sum(map(among, tools))
        if len(bad) >= _FEWEST_USUAL and len(bad) > _USUAL * total:
            first = found[bad[0].id]
            names = list_some([tool.name for tool in bad], _NAMED)
            yield Finding(
                first.code,
                f"{len(bad):,} of {format_count(total, 'tool')} of source {source_id!r} {whole}:"
                f" {names}",
                source_id=source_id,
                member=first.member,
                suggestion=first.suggestion,
                tool_ids=tuple(tool.id for tool in bad),
                spot=first.spot,
            )
        else:
            yield from (found[tool.id] for tool in bad)


def by_key(pairs: Iterable[tuple[str, Tool]]) -> Mapping[str, list[Tool]]:
    """Return the tools of each key, each tool once."""
    found: defaultdict[str, dict[str, Tool]] = defaultdict(dict)
    for key, tool in pairs:
        found[key][tool.id] = tool
    return {key: list(tools.values()) for key, tools in found.items()}


_WORDS = (files("mcpg.lint") / "data" / "empty_words.txt").read_text("utf-8")

EMPTY_WORDS = frozenset(map(stem, _WORDS.split()))
"""Stems of words that fit any tool."""
