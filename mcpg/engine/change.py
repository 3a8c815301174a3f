"""The smallest change to a tool's hints that makes it first, found by trying.

Each edit is tried on an index that answers as one compiled with it would, and what is proposed in
the end is proved: the whole catalogue is compiled with it and searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints
from mcpg.engine.confidence import calibrate
from mcpg.engine.edits import as_alias, as_keywords, candidates, preference, whole_alias
from mcpg.engine.features import look_closely
from mcpg.engine.fusion import fuse
from mcpg.engine.pipeline import gather
from mcpg.engine.recompile import recompiled
from mcpg.engine.retrieval import POOL
from mcpg.engine.standing import Change
from mcpg.errors import DocumentError
from mcpg.index.hinted import HintableIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.engine.edits import Candidate
    from mcpg.engine.model import Model
    from mcpg.engine.request import Request
    from mcpg.index import Index

MOST_TOOLS_COMPILED = 20_000
"""In a larger catalogue a change is not proved by compiling it, for that takes too long."""

MOST_TRIED = 1_500
"""Edits that are tried at most."""

MOST_ADDED = 6
"""The most words that are proposed."""

MOST_TELLING = 3
"""Up to so many words, those that say something are tried alone before others join them."""

_ALL_PAIRS = 2
_BEAM = 6
_MOST_PROVED = 3


@dataclass(frozen=True, slots=True)
class Lift:
    """Where an edit puts the tool.

    Attributes:
        hints: What was added.
        rank: The rank of the tool; `None` when it is not found among the best.
        lead: Its fused score less that of the best other tool.
        score: Its calibrated score; 0 without a rank.
    """

    hints: Hints
    rank: int | None
    lead: float
    score: float

    @property
    def is_first(self) -> bool:
        return self.rank == 1


class Lifter:
    """Tries edits to the hints of one tool for one request."""

    def __init__(
        self, request: Request, index: Index, model: Model, disabled: frozenset[int], tool: int
    ) -> None:
        """Prepare to lift the tool numbered *tool*; *disabled* ones are never offered."""
        self._request = request
        self._model = model
        self._disabled = disabled - {tool}
        self._tool = tool
        self._hintable = HintableIndex(index, tool)
        self._own = self._hintable.document.tool.hints
        self._enabling = Hints(enabled_by_default=True) if tool in disabled else Hints()
        self._tried: dict[Hints, Lift] = {}

    @property
    def is_spent(self) -> bool:
        """Whether enough has been tried."""
        return len(self._tried) >= MOST_TRIED

    def lift(self, added: Hints) -> Lift:
        """Say where *added* hints would put the tool."""
        known = self._tried.get(added)
        if known is None:
            index = self._hintable.with_hints(Hints.merge(added, self._own))
            hints = Hints.merge(added, self._enabling)
            known = self._tried[added] = self._look(hints, index, self._disabled)
        return known

    def prove(self, lift: Lift) -> Lift:
        """Say where the added hints of *lift* really put the tool, by compiling the catalogue."""
        try:
            index = recompiled(self._hintable.index, self._tool, lift.hints)
        except DocumentError:
            return replace(lift, rank=None)
        is_all = self._request.include_disabled
        return self._look(lift.hints, index, frozenset() if is_all else frozenset(index.disabled()))

    @property
    def is_provable(self) -> bool:
        """Whether the catalogue is small enough to be compiled while somebody waits."""
        return len(self._hintable.index) <= MOST_TOOLS_COMPILED

    def candidates(self) -> list[Candidate]:
        """Give the words that may be added."""
        index = self._hintable.index
        analysis, _ = gather(self._request, index, self._disabled, size=POOL)
        (sight,) = look_closely([self._tool], analysis, index)
        text = self._request.query or self._request.context
        language = analysis.language or index.language
        return candidates(text, analysis, sight[2], self._own.keywords, language)

    def whole(self) -> str | None:
        """Give the whole request as an alias."""
        return whole_alias(self._request.query or self._request.context)

    def _look(self, added: Hints, index: Index, disabled: frozenset[int]) -> Lift:
        analysis, pool = gather(self._request, index, disabled, size=POOL)
        documents = dict.fromkeys((*pool.documents, self._tool))
        sights = look_closely(documents, analysis, index)
        ranked = fuse(sights, self._model.weights, len(sights), pool.ends)
        place = next(n for n, one in enumerate(ranked) if one.candidate.document == self._tool)
        own = ranked[place].score
        others = [one.score for one in ranked if one.candidate.document != self._tool]
        lead = own - max(others, default=0.0)
        if self._tool not in pool.documents:
            return Lift(added, None, lead, 0.0)
        scores = calibrate(ranked, sights, analysis, self._model, len(index))
        return Lift(added, place + 1, lead, scores[place].score)


def smallest_change(lifter: Lifter) -> Change | None:
    """Find the smallest change that makes the tool first, or else the one that lifts it most.

    Of two changes the one with fewer added words is smaller, then keywords before an alias, then
    words that the tool lacks, then words of a subject, then the shorter. All single words and pairs
    are tried, of more words those that go on from the best. What is proposed has been proved.
    """
    tried: list[Lift] = [lifter.lift(Hints())]
    for lift in _edits(lifter, tried):
        change = _proved(lifter, lift)
        if change.rank_after == 1:
            return change
    return _best(lifter, tried)


def _edits(lifter: Lifter, tried: list[Lift]) -> Iterator[Lift]:
    """Give the edits that make the tool first, the smallest first; *tried* takes all."""
    yield from (lift for lift in tried if lift.is_first)
    words = lifter.candidates()
    telling = [word for word in words if not word.is_doubtful]
    proved = 0
    for source, most in ((telling, MOST_TELLING), (words, MOST_ADDED)):
        for lift in _searched(lifter, source, most, tried):
            yield lift
            proved += 1
            if proved == _MOST_PROVED:
                return
    yield from _last_resorts(lifter, words, tried)


def _searched(
    lifter: Lifter, words: Sequence[Candidate], most: int, tried: list[Lift]
) -> Iterator[Lift]:
    """Give keywords, then an alias, of one word, of two and so on, that make the tool first."""
    beam: list[tuple[Candidate, ...]] = [()]
    for size in range(1, most + 1):
        sets = sorted(_grown(beam, words, size), key=preference)
        lifts = [(lifter.lift(as_keywords(chosen)), chosen) for chosen in sets]
        tried.extend(lift for lift, _ in lifts)
        yield from (lift for lift, _ in lifts if lift.is_first)
        lifts.sort(key=lambda entry: -entry[0].lead)
        beam = [chosen for _, chosen in lifts[:_BEAM]]
        if size > 1:
            aliases = [lifter.lift(as_alias(chosen)) for chosen in beam]
            tried.extend(aliases)
            yield from (lift for lift in aliases if lift.is_first)
        if lifter.is_spent:
            return


def _grown(
    beam: Iterable[tuple[Candidate, ...]], words: Sequence[Candidate], size: int
) -> Iterator[tuple[Candidate, ...]]:
    """Give the sets of *size* words to try, the preferred first."""
    if size <= _ALL_PAIRS:
        yield from combinations(words, size)
        return
    known: set[frozenset[Candidate]] = set()
    for chosen in beam:
        for word in words:
            grown = frozenset((*chosen, word))
            if len(grown) == size and grown not in known:
                known.add(grown)
                yield tuple(one for one in words if one in grown)


def _last_resorts(lifter: Lifter, words: Sequence[Candidate], tried: list[Lift]) -> Iterator[Lift]:
    """Give an alias with keywords beside it that make the tool first.

    The alias is the whole request, where that can be one, or the best that there was of some words.
    """
    alone = [
        lift.hints for lift in sorted(tried, key=lambda lift: -lift.lead) if lift.hints.aliases
    ]
    whole = lifter.whole()
    edits = [] if whole is None else [Hints(aliases=(whole,))]
    edits += [
        Hints.merge(hints, as_keywords([word])) for hints in (*edits, *alone[:1]) for word in words
    ]
    edits += [Hints.merge(hints, as_keywords(words)) for hints in alone[:1]]
    for added in edits:
        lift = lifter.lift(added)
        tried.append(lift)
        if lift.is_first:
            yield lift


def _proved(lifter: Lifter, lift: Lift) -> Change:
    found = lifter.prove(lift) if lifter.is_provable else lift
    return Change(lift.hints, found.rank or 0, found.score, lifter.is_provable)


def _size(hints: Hints) -> int:
    return sum(len(text.split()) for text in (*hints.keywords, *hints.aliases))


def _best(lifter: Lifter, tried: Iterable[Lift]) -> Change | None:
    """Give the smallest change that lifts the tool most, where any lifts it at all."""
    ranked = [
        (one.rank, _size(one.hints), -one.lead, n, one) for n, one in enumerate(tried) if one.rank
    ]
    best = min(ranked, default=None)
    # A tool that is disabled needs to be enabled wherever it would stand then.
    if best is None or best[-1].hints == Hints():
        return None
    change = _proved(lifter, best[-1])
    return change if change.rank_after else None
