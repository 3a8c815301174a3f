"""The impact of a change: which queries find other tools than before, and which tools took them."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias

from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.engine import Engine
from mcpg.engine.items import has_items
from mcpg.errors import Code, Diagnostic, InputError, warning
from mcpg.evaluation.judged import Judgements, resolve
from mcpg.review.compare import FeatureChange, TermChange, feature_changes, term_changes
from mcpg.review.diff import CatalogueDiff, compare_catalogues, compare_items
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.model import read_model
from mcpg.search.results import Strategy
from mcpg.text import split_words, stem
from mcpg.values import SHOWN_DECIMALS, first_sentence


class QueryOrigin(StrEnum):
    """The kind of a query."""

    JUDGED = "judged"
    DESCRIPTION = "description"
    EXAMPLE = "example"
    ALIAS = "alias"
    TITLE = "title"
    NAME = "name"


_Context: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
_NO_CONTEXT: _Context = ((), ())


@dataclass(frozen=True, slots=True)
class ImpactQuery:
    """A query for both catalogs: a judged one, or a text that should find a tool.

    Attributes:
        tools: Ids of the tools that should be found, as in `QueryImpact`.
        is_former: See `QueryImpact`.
        context: Ids of the tools in use, in the old catalog and in the new one.
    """

    text: str
    origin: QueryOrigin
    tools: tuple[str, ...]
    id: str = ""
    is_former: bool = False
    context: _Context = _NO_CONTEXT


MOST_ALIASES, MOST_EXAMPLES, MOST_WORDS = 20, 5, 30
"""The most aliases and examples of a tool that are queries, and the most words of its opening."""


def iter_wordings(tool: Tool) -> Iterator[tuple[str, QueryOrigin]]:
    """Yield the texts that should find *tool*, each with its kind.

    These are the first sentence of its description, its examples and aliases, its title, and the
    words of its name.
    """
    found = (
        (first_sentence(tool.description), QueryOrigin.DESCRIPTION),
        *((one.input, QueryOrigin.EXAMPLE) for one in tool.hints.examples[:MOST_EXAMPLES]),
        *((alias, QueryOrigin.ALIAS) for alias in tool.hints.aliases[:MOST_ALIASES]),
        (tool.title or "", QueryOrigin.TITLE),
        (" ".join(split_words(tool.name)), QueryOrigin.NAME),
    )
    seen = set()
    for text, origin in found:
        line = " ".join(text.split()[:MOST_WORDS])
        if line and fold_query(line) not in seen:
            seen.add(fold_query(line))
            yield line, origin


def fold_query(text: str) -> str:
    """Return the common form of queries that differ only in case and blanks."""
    return " ".join(text.casefold().split())


def joined_wordings(tools: Iterable[Tool]) -> tuple[ImpactQuery, ...]:
    """Return the wordings of all *tools*, those that several share once, in their order."""
    found: dict[str, ImpactQuery] = {}
    for tool in tools:
        for text, origin in iter_wordings(tool):
            known = found.setdefault(fold_query(text), ImpactQuery(text, origin, ()))
            if tool.id not in known.tools:
                found[fold_query(text)] = replace(known, tools=(*known.tools, tool.id))
    return tuple(found.values())


def sample_wordings(
    wordings: Sequence[ImpactQuery],
    most: int,
    changed: AbstractSet[str],
    words: Mapping[str, float],
) -> tuple[ImpactQuery, ...]:
    """Return at most *most* of *wordings*, first those that a change is likely to move.

    Half of them are texts of changed tools, as far as there are so many. All are sorted by the
    share of their words that changed tools have gained, and texts without such words
    in an order that depends only on the text: a uniform sample, and the same every time.
    """
    if len(wordings) <= most:
        return tuple(wordings)

    def order(one: ImpactQuery) -> tuple[float, bytes]:
        own = {stem(word) for word in split_words(one.text)}
        share = sum(words.get(word, 0.0) for word in own) / len(own) if own else 0.0
        text = hashlib.sha256(fold_query(one.text).encode("utf-8", "replace")).digest()
        return -share, text

    sides: tuple[list[ImpactQuery], list[ImpactQuery]] = [], []
    for one in sorted(wordings, key=order):
        sides[changed.isdisjoint(one.tools)].append(one)
    own, others = sides
    half = max(most // 2, most - len(others))
    return (*own[:half], *others[: most - len(own[:half])])


def gained_words(
    pairs: Iterable[tuple[Tool | None, Tool]], tools: Sequence[Tool]
) -> dict[str, float]:
    """Return the stems that tools have now and did not have before, with their idf in *tools*."""
    gained = {
        word
        for before, after in pairs
        for word in _stems(after) - (_stems(before) if before else set())
    }
    if not gained:
        return {}
    counts = Counter(word for tool in tools for word in _stems(tool) & gained)
    return {word: math.log(1 + len(tools) / (1 + counts[word])) for word in gained}


def _stems(tool: Tool) -> set[str]:
    hints = tool.hints
    listed = (*hints.aliases, *hints.keywords, *hints.categories, *hints.tags)
    asked = (example.input for example in hints.examples)
    texts = (tool.name, tool.title or "", tool.description, *listed, *asked)
    return {stem(word) for text in texts for word in split_words(text)}


TOP = 5
"""How many matches a model is usually shown."""

DEFAULT_SAMPLE = 1_000
"""The most queries that are derived from the catalogs, unless the caller sets another number."""

DEFAULT_MARGIN = 0.1
"""The least fall of a score that is reported if it crosses no threshold."""

_DEPTH = 10
# From so many queries and tools on, reading ahead takes less time than it saves.
_MANY, _LARGE = 200, 5_000
_EXPLAINED = 50
_EXPLAINED_DEPTH = 20
_REASONS = 4
_NEGLIGIBLE = 5e-7
# By these a tool is found in words of a user; its title and name are rather labels.
_OWN_WORDS = (QueryOrigin.DESCRIPTION, QueryOrigin.EXAMPLE, QueryOrigin.ALIAS)


class QueryEffect(StrEnum):
    """The effect of a change on a query."""

    LOST_FIRST = "lostFirst"
    """The tool that should be found was first, and another is now."""
    LOST_TOP = "lostTop"
    """It was among the first five, and is not any more."""
    LESS_SURE = "lessSure"
    """It has a score that is lower by more than the margin, or that fell below 0.35."""
    ANSWERED = "answered"
    """No tool should be found, and one now has a score of 0.35 or more."""
    GAINED_FIRST = "gainedFirst"
    GAINED_TOP = "gainedTop"
    SURER = "surer"
    """Its score rose to 0.35 or more, or fell below if no tool should be found."""
    REORDERED = "reordered"
    """Other tools are among the first five, or another is the first of tools that are not asked
    for."""


RANK_LOSSES = frozenset((QueryEffect.LOST_FIRST, QueryEffect.LOST_TOP))
CONFIDENCE_LOSSES = frozenset((QueryEffect.LESS_SURE, QueryEffect.ANSWERED))


@dataclass(frozen=True, slots=True)
class RankChange:
    """Why a tool moved for a query.

    Attributes:
        rank_before: Its rank before, `None` if it is not among the first ten.
        words: Words of the query by which its score changed, the greatest change first.
    """

    tool: str
    rank_before: int | None
    rank_after: int | None
    words: tuple[TermChange, ...] = ()
    features: tuple[FeatureChange, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryImpact:
    """A query that is answered otherwise than before.

    Tools are named by their ids in the new catalog, or the old one if they are gone.

    Attributes:
        id: Its id in the judged file, "" for a derived query.
        tools: The tools that should be found; none if nothing should be.
        is_former: Whether only the old catalog has it, of a tool that was reworded.
        effects: The effects of the change on it.
        first_before: The first match before, "" for none.
        rank_before: The best rank of the tools that should be found, `None` beyond the first ten.
        score_before: The score of that tool, or of the first match if no tool should be found.
        lost: The tool that lost its rank, and why; `None` if none did.
    """

    query: str
    origin: QueryOrigin
    id: str
    tools: tuple[str, ...]
    is_former: bool
    effects: tuple[QueryEffect, ...]
    first_before: str
    first_after: str
    rank_before: int | None
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    lost: RankChange | None = None
    won: RankChange | None = None

    def has(self, effects: Iterable[QueryEffect]) -> bool:
        return not set(effects).isdisjoint(self.effects)


@dataclass(frozen=True, slots=True)
class UnreachableTool:
    """A tool that no text of its own brings first, and that is new or was brought first before.

    Attributes:
        tool: Its id.
        query: The first of its texts, usually the first sentence of its description.
        hidden_by: The tool that is first for it, "" if there is none.
        is_new: Whether the old catalog lacks the tool.
    """

    tool: str
    query: str
    hidden_by: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Impact:
    """The effect of a change on searches.

    Attributes:
        judged: How many judged queries were searched.
        derived: How many queries of the catalogs were searched.
        derivable: How many queries the catalogs have.
        queries: Those that are answered otherwise: the worst first.
        unreachable: Tools that became unreachable, in order of id.
    """

    judged: int = 0
    derived: int = 0
    derivable: int = 0
    queries: tuple[QueryImpact, ...] = ()
    unreachable: tuple[UnreachableTool, ...] = ()

    def with_effects(self, effects: Iterable[QueryEffect]) -> tuple[QueryImpact, ...]:
        """Return the queries with one of *effects*, without queries from former texts."""
        wanted = frozenset(effects)
        return tuple(one for one in self.queries if one.has(wanted) and not one.is_former)


@dataclass(frozen=True, slots=True)
class _FirstMatches:
    """The first matches of a search, by ids of the new catalog."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]

    def best(self, tools: Iterable[str]) -> int | None:
        return min((self.ids.index(one) + 1 for one in tools if one in self.ids), default=None)

    def score(self, rank: int | None) -> float | None:
        return None if rank is None or not self.scores else self.scores[rank - 1]

    @property
    def first(self) -> str:
        return self.ids[0] if self.ids else ""


class ImpactStudy:
    """Compares the matches of two catalogs.

    A score counts that falls by more than *margin*; *searching* has options of `Engine.search`.

    Attributes:
        diff: The changes between them.
        diagnostics: Diagnostics of reading the judged queries.
    """

    def __init__(
        self,
        before: Engine,
        after: Engine,
        *,
        margin: float = DEFAULT_MARGIN,
        strategy: str = Strategy.GRAPH,
        **searching: Any,
    ) -> None:
        self._before, self._after = before, after
        self._then, self._now = before.documents, after.documents
        self._margin = margin
        self._searching = {**searching, "strategy": strategy}
        self.diff: CatalogueDiff = compare_catalogues(self._then, self._now)
        if any(map(has_items, (before, after))):  # to read all pages takes long
            self.diff = replace(self.diff, items=compare_items(before.pages, after.pages))
        self._is_same = (
            strategy == Strategy.GRAPH
            and self._then == self._now
            and read_model(before.index) == read_model(after.index)
        )
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._found: dict[tuple[str, _Context], tuple[_FirstMatches, _FirstMatches]] = {}

    def impact(
        self,
        judgements: Judgements | None = None,
        sample: int = DEFAULT_SAMPLE,
        tell: Callable[[int, int], None] = lambda *_: None,
    ) -> Impact:
        """Search both catalogs and return the changes.

        Raises:
            InputError: The judged queries name tools, but none of either catalog.
        """
        judged = self._resolve_judgements(judgements) if judgements else ()
        wordings = self._wordings() if sample else ()
        changed = [one for one in self.diff.changed if one.is_itself_changed]
        moved: list[tuple[Tool | None, Tool]] = [(one.before, one.after) for one in changed]
        moved += [(None, tool) for tool in self.diff.added]
        words: Mapping[str, float] = {}
        if len(wordings) > sample:
            words = gained_words(moved, [one.tool for one in self._now.values()])
        chosen = sample_wordings(wordings, sample, {tool.id for _, tool in moved}, words)
        counts = len(judged), len(chosen), len(wordings)
        if self._is_same:
            return Impact(*counts)
        asked = (*judged, *chosen)
        if len(asked) >= _MANY and len(self._now) >= _LARGE:
            self._before.warm_up()
            self._after.warm_up()
        found = []
        for number, one in enumerate(asked):
            tell(number, len(asked))
            impact = self._impact(one)
            if impact.effects:
                found.append((impact, one.context))
        found.sort(key=lambda pair: _rank_badness(pair[0]))
        explained = (
            self._explain_movers(impact, context) if number < _EXPLAINED and impact.lost else impact
            for number, (impact, context) in enumerate(found)
        )
        return Impact(*counts, tuple(explained), tuple(self._unreachable(chosen)))

    def _resolve_judgements(self, judgements: Judgements) -> tuple[ImpactQuery, ...]:
        then, now = (resolve(judgements, engine.catalog) for engine in (self._before, self._after))
        pairs = [*zip(then.queries, now.queries, strict=True)]
        unknown = {
            name: before.judged.line
            for before, after in pairs
            for name in before.unknown
            if name in after.unknown
        }
        named = {name for one in judgements.queries for name in one.relevant}
        if named and named == unknown.keys():
            raise InputError(
                "names no tool of either catalog",
                place=judgements.place,
                remedy="name tools by id, `source::name` or name; `mcpg list` shows them",
            )
        self.diagnostics = judgements.diagnostics
        for name, line in unknown.items():
            message = f"neither catalog has one tool called {name[:80]!r}"
            place = f"{judgements.place}:{line}"
            self.diagnostics += (warning(Code.JUDGED_TOOL_UNKNOWN, message, place),)
        queries = []
        for before, after in pairs:
            found = dict.fromkeys((*after.relevant, *map(self._now_id, before.relevant)))
            asked, tools = before.judged, tuple(found) or before.unknown
            context = before.context_tools, after.context_tools
            query = ImpactQuery(asked.query, QueryOrigin.JUDGED, tools, asked.id, context=context)
            queries.append(query)
        return tuple(queries)

    def _wordings(self) -> tuple[ImpactQuery, ...]:
        """Return the texts of the new catalog, and texts that tools no longer have.

        A text of the old catalog belongs to the tools that had it there: a tool that copies it
        may take queries away from them.
        """
        offered = self._list_searchable()
        kept = (
            replace(document.tool, id=now)
            for then, document in self._then.items()
            if (now := self.diff.now_by_then.get(then)) is not None and now in offered
        )
        former = {fold_query(one.text): one for one in joined_wordings(kept)}
        current = joined_wordings(self._now[tool_id].tool for tool_id in offered)
        found = [former.pop(fold_query(one.text), one) for one in current]
        return (*found, *(replace(one, is_former=True) for one in former.values()))

    def _list_searchable(self) -> Mapping[str, ToolDocument]:
        """Return the tools that searches of the new catalog may find, by id."""
        every = self._searching.get("include_disabled")
        return {name: one for name, one in self._now.items() if every or one.tool.enabled}

    def _search(self, asked: ImpactQuery) -> tuple[_FirstMatches, _FirstMatches]:
        """Return the matches of both catalogs, by ids of the new one."""
        key = asked.text, asked.context
        if key not in self._found:
            before, after = (
                engine.search(asked.text, limit=_DEPTH, context_tools=tools, **self._searching)
                for engine, tools in zip((self._before, self._after), asked.context, strict=True)
            )
            scores = [
                tuple(round(match.score, SHOWN_DECIMALS) for match in found.matches)
                for found in (before, after)
            ]
            self._found[key] = (
                _FirstMatches(
                    tuple(self._now_id(one.tool_id) for one in before.matches), scores[0]
                ),
                _FirstMatches(tuple(one.tool_id for one in after.matches), scores[1]),
            )
        return self._found[key]

    def _now_id(self, tool_id: str) -> str:
        return self.diff.now_by_then.get(tool_id, tool_id)

    def _impact(self, asked: ImpactQuery) -> QueryImpact:
        before, after = self._search(asked)
        ranks = before.best(asked.tools), after.best(asked.tools)
        scores = before.score(ranks[0]), after.score(ranks[1])
        if not asked.tools:
            scores = before.score(1) or 0.0, after.score(1) or 0.0
        former = {*self.diff.now_by_then.values(), *(tool.id for tool in self.diff.removed)}
        is_new = bool(asked.tools) and former.isdisjoint(asked.tools)
        effects = () if is_new else tuple(self._effects(asked, before, after, ranks, scores))
        found = QueryImpact(
            asked.text,
            asked.origin,
            asked.id,
            asked.tools,
            asked.is_former,
            effects,
            before.first,
            after.first,
            *ranks,
            *scores,
        )
        if not found.has(RANK_LOSSES):
            return found
        # The tool that lost its rank and the tool that took it, without their reasons.
        lost, won = next(one for one in before.ids if one in found.tools), after.first
        if QueryEffect.LOST_FIRST not in found.effects:
            won = next((one for one in after.ids[:TOP] if one not in before.ids[:TOP]), won)
        return replace(
            found,
            lost=RankChange(lost, before.best([lost]), after.best([lost])),
            won=RankChange(won, before.best([won]), after.best([won])) if won else None,
        )

    def _effects(
        self,
        asked: ImpactQuery,
        before: _FirstMatches,
        after: _FirstMatches,
        ranks: tuple[int | None, int | None],
        scores: tuple[float | None, float | None],
    ) -> Iterator[QueryEffect]:
        old, new = (rank or _DEPTH + 1 for rank in ranks)
        if old == 1 != new:
            yield QueryEffect.LOST_FIRST
        if old <= TOP < new:
            yield QueryEffect.LOST_TOP
        if new == 1 != old:
            yield QueryEffect.GAINED_FIRST
        if new <= TOP < old:
            yield QueryEffect.GAINED_TOP
        was, now = (score or 0.0 for score in scores)
        is_above = now >= LOW_CONFIDENCE
        has_crossed = is_above is not (was >= LOW_CONFIDENCE)
        if not asked.tools:
            if has_crossed:
                yield QueryEffect.ANSWERED if is_above else QueryEffect.SURER
        elif None not in scores and (has_crossed or was - now > self._margin):
            yield QueryEffect.SURER if now > was else QueryEffect.LESS_SURE
        if before.ids[:TOP] != after.ids[:TOP]:
            yield QueryEffect.REORDERED

    def _explain_movers(self, found: QueryImpact, context: _Context) -> QueryImpact:
        then, now = (
            engine.explain(
                found.query, limit=_EXPLAINED_DEPTH, context_tools=tools, **self._searching
            )
            for engine, tools in zip((self._before, self._after), context, strict=True)
        )
        before = {self._now_id(match.tool_id): match for match in then.matches}
        after = {match.tool_id: match for match in now.matches}
        named: dict[str, Any] = {}
        for side, mover in (("lost", found.lost), ("won", found.won)):
            if mover is not None:
                pair = before.get(mover.tool), after.get(mover.tool)
                words = (one for one in term_changes(*pair) if abs(one.delta) > _NEGLIGIBLE)
                features = (one for one in feature_changes(*pair) if abs(one.delta) > _NEGLIGIBLE)
                reasons = tuple(islice(words, _REASONS)), tuple(islice(features, _REASONS))
                named[side] = replace(mover, words=reasons[0], features=reasons[1])
        return replace(found, **named)

    def _unreachable(self, chosen: Iterable[ImpactQuery]) -> Iterator[UnreachableTool]:
        """Yield the tools that became unreachable, among the tools with a searched text."""
        offered = self._list_searchable()
        named = {tool for one in chosen for tool in one.tools}
        named |= {tool.id for tool in self.diff.added}
        then_by_now = {now: then for then, now in self.diff.now_by_then.items()}
        for tool_id in sorted(named & offered.keys()):
            texts = own_texts(offered[tool_id].tool)
            searched = [one for one in texts if (one, _NO_CONTEXT) in self._found]
            if not searched or any(
                self._find_first(tool_id, one, 1) == tool_id for one in (*searched, *texts)
            ):
                continue
            former = self._then.get(then_by_now.get(tool_id, ""))
            before = own_texts(former.tool) if former else ()
            if former is None or any(
                self._find_first(tool_id, one, 0) == tool_id for one in before
            ):
                first = self._find_first(tool_id, texts[0], 1)
                yield UnreachableTool(tool_id, texts[0], first, former is None)

    def _find_first(self, tool_id: str, text: str, side: int) -> str:
        return self._search(ImpactQuery(text, QueryOrigin.DESCRIPTION, (tool_id,)))[side].first


def own_texts(tool: Tool) -> tuple[str, ...]:
    """Return the texts of which one should bring *tool* first for it to be reachable.

    These are its own words, description, examples and aliases, or else its title or its name.
    """
    found = tuple(iter_wordings(tool))
    own = tuple(text for text, origin in found if origin in _OWN_WORDS)
    return own or tuple(text for text, _ in found)


def _rank_badness(found: QueryImpact) -> tuple[object, ...]:
    order = tuple(QueryEffect)
    worst = min(map(order.index, found.effects))
    lost = (found.score_before or 0.0) - (found.score_after or 0.0)
    return found.is_former, worst, found.origin is not QueryOrigin.JUDGED, -lost, found.query
