"""The smallest change to a tool's hints that makes it first, found by trying words of the query.

Each edit is tried on an index that answers as one compiled with it would, and what is proposed in
the end is proved: the whole catalogue is compiled with it, as a hints file would have it, and
searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, SourceDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.engine.confidence import calibrate
from mcpg.engine.features import extract_features
from mcpg.engine.fusion import fuse
from mcpg.engine.model import PROVENANCE
from mcpg.engine.pipeline import Search, gather
from mcpg.engine.query import Analysis
from mcpg.engine.query_terms import QueryTerm
from mcpg.engine.retrieval import POOL
from mcpg.engine.trace import HintSuggestion
from mcpg.errors import DocumentError
from mcpg.index.compile import compile_index
from mcpg.index.layout import Section
from mcpg.index.reader import Index
from mcpg.index.what_if import WhatIf
from mcpg.text import iter_words, lexicon
from mcpg.text.words import LANGUAGES, share_of_texts
from mcpg.values import replace

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument


MOST_WORDS = 24
"""The most words of a query that are tried, the weightiest."""

LONGEST_ALIAS_WORDS, LONGEST_ALIAS = 8, 80
"""What is longer, in words or characters, is no name of anything."""

_SHORTEST = 3
# The share of texts of a hundred words that hold such a word.
_SMALL_TALK, _COMMON = 1 / 30, 1 / 100
_REPAIRS_TRIED = 2
_RESPELT = ("typo", "prefix", "compound")
# What stands in quotation marks is what a tool shall be given, not what it does.
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
# Addresses, paths, file names, versions, numbered codes: a sign joins two sides of one token.
_LITERAL = re.compile(r"@|://|\\|^~|^\.{0,2}/|/.*/|\w\.\w|\d[-_:]|[-_:]\d")
# Scripts without spaces between words: a number within is no part of the words around it.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff]+)"
)
_SENTENCE_END = (".", "!", "?", ":", ";", "\n")


@dataclass(frozen=True, slots=True)
class HintWord:
    """A word that may be added.

    Attributes:
        text: The word.
        place: Its place among the clauses of the query.
        weight: How much of the query it is.
        is_lacking: Whether the tool lacks the word.
        is_doubtful: Whether it is better left out where another word does: one that people say in
            any request, one of a letter or two, or the name of something that no tool speaks of.
        is_common: Whether it is one that people use often, whatever they speak of.
    """

    text: str
    place: int
    weight: float
    is_lacking: bool
    is_doubtful: bool
    is_common: bool


def hint_words(
    query: str,
    analysis: Analysis,
    impacts: Sequence[float],
    present: Iterable[str],
    language: str | None,
) -> list[HintWord]:
    """Return the words of *query* that may be added to a tool, the weightiest `MOST_WORDS`.

    Numbers, codes, addresses, file names and quotations are what a tool is called with, and are
    left out. Of a misspelt word that was repaired, the catalogue's own word is meant. *impacts*
    says for each clause how strongly the tool holds it, *present* are the tool's keywords.
    """
    spoken, names = _spoken(query)
    has = {word.casefold() for word in present}
    found = [
        HintWord(
            text,
            place,
            clause.weight,
            not impacts[place],
            (clause.role == "unknown" and clause.text in names)
            or _is_short(text)
            or _share(text, language) > _SMALL_TALK,
            _share(text, language) > _COMMON,
        )
        for place, clause in enumerate(analysis.clauses)
        if _is_sayable(clause) and clause.text in spoken
        for text in _texts(clause, language)
        if text.casefold() not in has
    ]
    heaviest = sorted(found, key=lambda one: (-one.weight, one.place, one.text))[:MOST_WORDS]
    return sorted(heaviest, key=lambda one: preference([one]))


def whole_alias(query: str) -> str | None:
    """Return *query* as an alias, `None` when it is too long for one or holds what is no name."""
    text = " ".join(query.split()).rstrip(".?!")
    words = text.split(" ")
    is_short = len(words) <= LONGEST_ALIAS_WORDS and len(text) <= LONGEST_ALIAS
    is_literal = _QUOTED.search(text) or any(map(_is_literal, words))
    return text if is_short and not is_literal and text.isprintable() else None


def as_keywords(chosen: Iterable[HintWord]) -> Hints:
    """Return hints with a keyword for each of *chosen*."""
    return Hints(keywords=tuple(sorted(one.text for one in chosen)))


def as_alias(chosen: Iterable[HintWord]) -> Hints:
    """Return hints with one alias of all *chosen*, in the query's order."""
    ordered = sorted(chosen, key=lambda one: (one.place, one.text))
    return Hints(aliases=(" ".join(one.text for one in ordered),))


def preference(chosen: Sequence[HintWord]) -> tuple[int, int, int, list[str]]:
    """Return what sorts the better of two sets of equally many words first.

    Words that the tool lacks go before words that it has, words of a subject before common ones,
    short ones before long ones.
    """
    texts = sorted(one.text for one in chosen)
    present = sum(not one.is_lacking for one in chosen)
    return present, sum(one.is_common for one in chosen), sum(map(len, texts)), texts


def _is_sayable(clause: QueryTerm) -> bool:
    """Return whether a clause is a word that one would write down as a keyword."""
    if clause.origin != "query" or clause.role not in ("term", "unknown"):
        return False
    letters = sum(map(str.isalpha, clause.text))
    is_code = any(map(str.isdigit, clause.text)) and clause.role == "unknown"
    return 2 * letters > len(clause.text) and not is_code


def _is_short(word: str) -> bool:
    # Only scripts with small letters write words of several letters; in others two are a word.
    return len(word) < (_SHORTEST if word.islower() else _SHORTEST - 1)


def _share(word: str, language: str | None) -> float:
    if language in LANGUAGES:
        return share_of_texts(word, language)
    return lexicon.share_of_texts(word, language) if language in lexicon.FOREIGN else 0.0


def _texts(clause: QueryTerm, language: str | None) -> list[str]:
    """Return the words to write down for a clause.

    A word of the language is taken as it stands, for it may well be meant, whatever the catalogue's
    nearest word is.
    """
    repairs = clause.repairs[:_REPAIRS_TRIED]
    if clause.kind in _RESPELT and not _share(clause.text, language):
        return list(dict.fromkeys(repair.word for repair in repairs))
    return [clause.text]


def _spoken(query: str) -> tuple[set[str], set[str]]:
    """Return the folded words of *query* that are no literals, and of these the likely names."""
    spoken: set[str] = set()
    names: set[str] = set()
    # A request may be one quotation.
    text = _QUOTED.sub(" ", query)
    for token, begins in _tokens(text if text.strip() else query):
        if not _is_literal(token):
            words = [word.text for word in iter_words(token)]
            spoken.update(words)
            if token[:1].isupper() and not begins:
                names.update(words)
    return spoken, names


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Return each token with whether it begins a sentence."""
    begins = True
    for token in _UNSPACED.sub(r" \1 ", text).split():
        yield token.strip("()[]{}<>*_,;:!?\"'…“”«»"), begins
        begins = token.endswith(_SENTENCE_END)


def _is_literal(token: str) -> bool:
    return bool(_LITERAL.search(token.rstrip("."))) or (
        any(map(str.isdigit, token)) and not any(map(str.isalpha, token))
    )


def recompiled(index: Index, tool: int, hints: Hints) -> Index:
    """Return the index of the same catalogue with *hints* put before those of one tool.

    Its document is written and read again, as a bundle is made and loaded.

    Raises:
        DocumentError: Its document becomes too long to be written.
    """
    documents = [index.record(number) for number in range(len(index))]
    document = _hinted(documents[tool], hints)
    source = SourceDocument(document.path, write_document(document), document.uri)
    documents[tool] = parse_document(source)[0]
    origin = Section(PROVENANCE, "B", bytes(index.section(PROVENANCE)))
    model, pages = index.section("model"), index.pages()
    return Index(compile_index(documents, model=model, pages=pages, extra=[origin]))


def _hinted(document: ToolDocument, hints: Hints) -> ToolDocument:
    tool = document.tool
    return replace(document, tool=replace(tool, hints=Hints.merge(hints, tool.hints)))


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
        self._search = replace(search, disabled=search.disabled - {tool})
        self._tool = tool
        self._what_if = WhatIf(search.index, tool)
        self._own = self._what_if.document.tool.hints
        self._enabling = Hints(enabled_by_default=True) if tool in search.disabled else Hints()
        self._tried: dict[Hints, HintTrial] = {}

    @property
    def is_spent(self) -> bool:
        """Whether enough has been tried."""
        return len(self._tried) >= MOST_TRIED

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
            index = recompiled(self._search.index, self._tool, trial.hints)
        except DocumentError:
            return replace(trial, rank=None)
        is_all = self._search.request.include_disabled
        disabled = frozenset() if is_all else frozenset(index.disabled())
        return self._look(trial.hints, replace(self._search, index=index, disabled=disabled))

    @property
    def is_provable(self) -> bool:
        """Whether the catalogue is small enough to be compiled while somebody waits."""
        return len(self._search.index) <= MOST_TOOLS_COMPILED

    def hint_words(self) -> list[HintWord]:
        index = self._search.index
        analysis, _ = gather(self._search, POOL)
        if analysis.language in lexicon.UNSPACED:
            # A keyword is indexed by its pairs of characters, not as the words it is cut into.
            plain = replace(self._search.request, lexicon=False)
            analysis, _ = gather(replace(self._search, request=plain), POOL)
        (candidate,) = extract_features([self._tool], analysis, index)
        language = analysis.language or index.language
        return hint_words(self._text, analysis, candidate.impacts, self._own.keywords, language)

    def whole(self) -> str | None:
        return whole_alias(self._text)

    @property
    def _text(self) -> str:
        return self._search.request.query or self._search.request.context

    def _look(self, added: Hints, search: Search) -> HintTrial:
        index, model = search.index, search.model
        analysis, pool = gather(search, POOL)
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


def smallest_change(hint_search: HintSearch) -> HintSuggestion | None:
    """Find the smallest change that makes the tool first, or else the one that lifts it most.

    Of two changes the one with fewer added words is smaller, then keywords before an alias, then
    words that the tool lacks, then words of a subject, then the shorter. All single words and pairs
    are tried, of more words those that go on from the best. What is proposed has been proved.
    """
    tried: list[HintTrial] = [hint_search.trial(Hints())]
    for trial in _edits(hint_search, tried):
        change = _proved(hint_search, trial)
        if change.rank_after == 1:
            return change
    return _best(hint_search, tried)


def _edits(hint_search: HintSearch, tried: list[HintTrial]) -> Iterator[HintTrial]:
    """Return the edits that make the tool first, the smallest first; *tried* takes all."""
    yield from (trial for trial in tried if trial.is_first)
    words = hint_search.hint_words()
    telling = [word for word in words if not word.is_doubtful]
    proved = 0
    for source, most in ((telling, MOST_TELLING), (words, MOST_ADDED)):
        for trial in _searched(hint_search, source, most, tried):
            yield trial
            proved += 1
            if proved == _MOST_PROVED:
                return
    yield from _last_resorts(hint_search, words, tried)


def _searched(
    hint_search: HintSearch, words: Sequence[HintWord], most: int, tried: list[HintTrial]
) -> Iterator[HintTrial]:
    beam: list[tuple[HintWord, ...]] = [()]
    for size in range(1, most + 1):
        sets = sorted(_grown(beam, words, size), key=preference)
        trials = [(hint_search.trial(as_keywords(chosen)), chosen) for chosen in sets]
        tried.extend(trial for trial, _ in trials)
        yield from (trial for trial, _ in trials if trial.is_first)
        trials.sort(key=lambda entry: -entry[0].lead)
        beam = [chosen for _, chosen in trials[:_BEAM]]
        if size > 1:
            aliases = [hint_search.trial(as_alias(chosen)) for chosen in beam]
            tried.extend(aliases)
            yield from (trial for trial in aliases if trial.is_first)
        if hint_search.is_spent:
            return


def _grown(
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

    The alias is the whole request, where that can be one, or the best that there was of some words.
    """
    alone = [
        trial.hints for trial in sorted(tried, key=lambda trial: -trial.lead) if trial.hints.aliases
    ]
    whole = hint_search.whole()
    edits = [] if whole is None else [Hints(aliases=(whole,))]
    edits += [
        Hints.merge(hints, as_keywords([word])) for hints in (*edits, *alone[:1]) for word in words
    ]
    edits += [Hints.merge(hints, as_keywords(words)) for hints in alone[:1]]
    for added in edits:
        trial = hint_search.trial(added)
        tried.append(trial)
        if trial.is_first:
            yield trial


def _proved(hint_search: HintSearch, trial: HintTrial) -> HintSuggestion:
    found = hint_search.prove(trial) if hint_search.is_provable else trial
    return HintSuggestion(trial.hints, found.rank or 0, found.score, hint_search.is_provable)


def _best(hint_search: HintSearch, tried: Iterable[HintTrial]) -> HintSuggestion | None:
    ranked = [
        (
            one.rank,
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
    change = _proved(hint_search, best[-1])
    return change if change.rank_after else None
