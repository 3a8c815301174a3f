"""A change to a tool's hints that makes it first: the request as an alias, or words of it.

Each edit is tried on an index that answers as one compiled with it would, and what is proposed in
the end is proved: the whole catalogue is compiled with it, as a hints file would have it, and
searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, takewhile

from mcpg.catalog.model import Hints, SourceDocument
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.engine.confidence import calibrate
from mcpg.engine.features import extract_features
from mcpg.engine.fusion import fuse
from mcpg.engine.hint_words import HintWord, RequestWords, as_alias, as_keywords, preference
from mcpg.engine.model import PROVENANCE
from mcpg.engine.pipeline import Search, gather
from mcpg.engine.query import Analysis
from mcpg.engine.retrieval import POOL
from mcpg.engine.trace import HintSuggestion
from mcpg.errors import DocumentError
from mcpg.index.compile import compile_index
from mcpg.index.decoded import find_impact
from mcpg.index.packing import Section
from mcpg.index.reader import Index
from mcpg.index.what_if import HintOverlay
from mcpg.text import joined, lexicon


def recompile_with_hints(index: Index, tool: int, hints: Hints) -> Index:
    """Return the index of the same catalogue with *hints* put before those of one tool.

    Its document is written and read again, as a bundle is made and loaded.

    Raises:
        DocumentError: Its document becomes too long to be written.
    """
    documents = [index.record(number) for number in range(len(index))]
    document = _add_hints(documents[tool], hints)
    source = SourceDocument(document.path, write_document(document), document.uri)
    documents[tool] = parse_document(source)[0]
    origin = Section(PROVENANCE, "B", bytes(index.section(PROVENANCE)))
    model, pages = index.section("model"), index.pages()
    return Index(compile_index(documents, model=model, pages=pages, extra=[origin]))


def _add_hints(document: ToolDocument, hints: Hints) -> ToolDocument:
    tool = document.tool
    return replace(document, tool=replace(tool, hints=Hints.merge(hints, tool.hints)))


MOST_TOOLS_COMPILED = 20_000
"""In a larger catalogue a change is not proved by compiling it, for that takes too long."""

MOST_READ = 5_000
"""Words of the query that are read at most, over all edits: each reads the query again. Of a query
of a dozen words every edit is tried, of one of a thousand characters the first few dozen."""

MOST_ADDED = 6
"""The most words that are proposed."""

MOST_TELLING = 3
"""Up to so many words, those that say something are tried alone before others join them."""

_ALL_PAIRS = 2
_BEAM = 6
_MOST_PROVED = 3


@dataclass(frozen=True, slots=True)
class HintTrial:
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


class HintSearch:
    """Tries edits to the hints of one tool for one request."""

    def __init__(self, search: Search, tool: int) -> None:
        self._search = search.offering(tool)
        self._tool = tool
        self._what_if = HintOverlay(search.index, tool)
        self._own = self._what_if.document.tool.hints
        is_offered = search.request.include_disabled or search.index.is_enabled(tool)
        self._enabling = Hints() if is_offered else Hints(enabled_by_default=True)
        self._tried: dict[Hints, HintTrial] = {}
        self._read = 0

    @property
    def is_spent(self) -> bool:
        """Whether enough has been tried."""
        return self._read >= MOST_READ

    def trial(self, added: Hints) -> HintTrial:
        """Return where *added* hints would put the tool."""
        known = self._tried.get(added)
        if known is None:
            index = self._what_if.with_hints(Hints.merge(added, self._own))
            hints = Hints.merge(added, self._enabling)
            known = self._tried[added] = self._look(hints, replace(self._search, index=index))
        return known

    def prove(self, trial: HintTrial) -> HintTrial:
        """Return where the hints of *trial* really put the tool, by compiling the catalogue."""
        try:
            index = recompile_with_hints(self._search.index, self._tool, trial.hints)
        except DocumentError:
            return replace(trial, rank=None)
        return self._look(trial.hints, replace(self._search, index=index))

    @property
    def is_provable(self) -> bool:
        """Whether the catalogue is small enough to be compiled while somebody waits."""
        return len(self._search.index) <= MOST_TOOLS_COMPILED

    def hint_words(self) -> list[HintWord]:
        """Return the words of the request that may be added, the preferred first."""
        return self._words.hint_words(self._is_held, self._own.keywords)

    def alias(self) -> Hints | None:
        """Return hints with the request as an alias, `None` where it is none or a tool's name."""
        alias = self._words.alias()
        return Hints(aliases=(alias,)) if alias and not self.is_name(alias) else None

    def is_name(self, text: str) -> bool:
        """Return whether a tool has *text* as its name or alias."""
        return bool(self._search.index.exact(joined(text)))

    @cached_property
    def _analysis(self) -> tuple[Analysis, str | None]:
        """What the request became, and its language."""
        analysis, _ = gather(self._search, POOL)
        language = analysis.language or self._search.index.language
        if language in lexicon.UNSPACED:
            # A keyword is indexed by its pairs of characters, not as the words it is cut into.
            plain = replace(self._search.request, lexicon=False)
            analysis, _ = gather(replace(self._search, request=plain), POOL)
        return analysis, language

    @cached_property
    def _words(self) -> RequestWords:
        request = self._search.request
        text = request.query or request.context
        return RequestWords(text, *self._analysis, self._search.index)

    @cached_property
    def _is_held(self) -> list[bool]:
        """Whether the tool has each word of the request, or a word that is related to it."""
        index, (analysis, _) = self._search.index, self._analysis
        tool = self._tool
        (candidate,) = extract_features([tool], analysis, index)
        return [
            bool(impact)
            or any(find_impact(index, term, tool) for term, _ in clause.related_variants)
            for clause, impact in zip(analysis.clauses, candidate.impacts, strict=True)
        ]

    def _look(self, added: Hints, search: Search) -> HintTrial:
        index, model = search.index, search.model
        analysis, pool = gather(search, POOL)
        self._read += len(analysis.clauses)
        documents = dict.fromkeys((*pool.documents, self._tool))
        candidates = extract_features(documents, analysis, index)
        ranked = fuse(candidates, model.weights, len(candidates), pool.ends)
        place = next(n for n, one in enumerate(ranked) if one.candidate.document == self._tool)
        own = ranked[place].score
        others = [one.score for one in ranked if one.candidate.document != self._tool]
        lead = own - max(others, default=0.0)
        if self._tool not in pool.documents:
            return HintTrial(added, None, lead, 0.0)
        scores = calibrate(ranked, candidates, analysis, model, len(index))
        return HintTrial(added, place + 1, lead, scores[place].score)


def best_change(hint_search: HintSearch) -> HintSuggestion | None:
    """Find the change that makes the tool first, or else the one that lifts it most.

    An alias of the request comes first: it is about this request alone. Otherwise the fewest words
    are added, keywords before an alias, words that the tool lacks before others, words of a subject
    before common ones, short ones before long ones. All single words and pairs are tried, of more
    words those that go on from the best, within `MOST_READ`. What is proposed has been proved.
    """
    tried: list[HintTrial] = [hint_search.trial(Hints())]
    for trial in _edits(hint_search, tried):
        change = _prove_trial(hint_search, trial)
        if change.rank_after == 1:
            return change
    return _best(hint_search, tried)


def _edits(hint_search: HintSearch, tried: list[HintTrial]) -> Iterator[HintTrial]:
    """Return the edits that make the tool first, the best first; *tried* takes all."""
    alias = hint_search.alias()
    if alias is not None:
        tried.append(hint_search.trial(alias))
    yield from (trial for trial in tried if trial.is_first)
    words = hint_search.hint_words()
    telling = [word for word in words if not word.is_doubtful]
    proved = 0
    for source, most in ((telling, MOST_TELLING), (words, MOST_ADDED)):
        for trial in _search_edits(hint_search, source, most, tried):
            yield trial
            proved += 1
            if proved == _MOST_PROVED:
                return
    yield from _last_resorts(hint_search, words, tried)


def _search_edits(
    hint_search: HintSearch, words: Sequence[HintWord], most: int, tried: list[HintTrial]
) -> Iterator[HintTrial]:
    beam: list[tuple[HintWord, ...]] = [()]
    for size in range(1, most + 1):
        sets = sorted(_grow_beam(beam, words, size), key=preference)
        unspent = takewhile(lambda _: not hint_search.is_spent, sets)
        trials = [(hint_search.trial(as_keywords(chosen)), chosen) for chosen in unspent]
        tried.extend(trial for trial, _ in trials)
        yield from (trial for trial, _ in trials if trial.is_first)
        trials.sort(key=lambda entry: -entry[0].lead)
        beam = [chosen for _, chosen in trials[:_BEAM]]
        if size > 1:
            edits = map(as_alias, beam)
            free = [hints for hints in edits if not any(map(hint_search.is_name, hints.aliases))]
            aliases = [hint_search.trial(hints) for hints in free]
            tried.extend(aliases)
            yield from (trial for trial in aliases if trial.is_first)
        if hint_search.is_spent:
            return


def _grow_beam(
    beam: Iterable[tuple[HintWord, ...]], words: Sequence[HintWord], size: int
) -> Iterator[tuple[HintWord, ...]]:
    if size <= _ALL_PAIRS:
        yield from combinations(words, size)
        return
    known: set[frozenset[HintWord]] = set()
    for chosen in beam:
        for word in words:
            grown = frozenset((*chosen, word))
            if len(grown) == size and grown not in known:
                known.add(grown)
                yield tuple(one for one in words if one in grown)


def _last_resorts(
    hint_search: HintSearch, words: Sequence[HintWord], tried: list[HintTrial]
) -> Iterator[HintTrial]:
    """Return an alias with keywords beside it that make the tool first.

    The alias is that of the request, where there is one, or the best that there was of some words.
    """
    alone = [
        trial.hints for trial in sorted(tried, key=lambda trial: -trial.lead) if trial.hints.aliases
    ]
    alias = hint_search.alias()
    edits = [] if alias is None else [alias]
    edits += [
        Hints.merge(hints, as_keywords([word])) for hints in (*edits, *alone[:1]) for word in words
    ]
    edits += [Hints.merge(hints, as_keywords(words)) for hints in alone[:1]]
    for added in edits:
        if hint_search.is_spent:
            return
        trial = hint_search.trial(added)
        tried.append(trial)
        if trial.is_first:
            yield trial


def _prove_trial(hint_search: HintSearch, trial: HintTrial) -> HintSuggestion:
    found = hint_search.prove(trial) if hint_search.is_provable else trial
    return HintSuggestion(trial.hints, found.rank or 0, found.score, hint_search.is_provable)


def _best(hint_search: HintSearch, tried: Iterable[HintTrial]) -> HintSuggestion | None:
    ranked = [
        (
            one.rank,
            one.hints != hint_search.alias(),
            sum(len(text.split()) for text in (*one.hints.keywords, *one.hints.aliases)),
            -one.lead,
            n,
            one,
        )
        for n, one in enumerate(tried)
        if one.rank
    ]
    best = min(ranked, default=None)
    # A tool that is disabled needs to be enabled wherever it would stand then.
    if best is None or best[-1].hints == Hints():
        return None
    change = _prove_trial(hint_search, best[-1])
    return change if change.rank_after else None
