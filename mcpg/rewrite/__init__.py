"""Query rewriting: a query is also searched as rewritten in English.

The rewriter may be slow, wrong, or misled by the query, so it is called within a time budget, its
answer is checked, lost literals are restored, and the query is also searched as given. Only
searches with this option import this module.

The results are merged into one list. A tool's score is the probability that it is right: with
probability *trust* the rewrite means the same as the query, and then its search is right about the
tool; otherwise the query's own is (the law of total probability). Confident matches of the query
keep their scores, so that a bad rewrite cannot lose a good match.

The meaning of an answer cannot be checked, and need not be: the rewrite counts only as far as it is
trusted. Answers that do not look like a search query are rejected: prose, lists, code,
instructions, other languages. Literals must survive verbatim.

Counts of words decide whether a query is plain English. A word is English if it is one of the
language's stop words or most common words. It is foreign if it is neither in English nor in the
catalog. If another language has more of the words than English, the text is in that language: then
words of the catalog are not evidence, and words of that language are foreign.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from mcpg.embeddings.provider import EmbeddingError
from mcpg.errors import Code, Diagnostic, McpgError, info, warning
from mcpg.explain.explain import (
    advice_on,
    compose_explanation,
    describe_expansion,
    explain,
    explain_expansions,
)
from mcpg.index import Index
from mcpg.search.caches import SearchCache
from mcpg.search.calibration import worth_offering
from mcpg.search.guards import GuardedRewriter
from mcpg.search.index_vectors import SearchVectors, cached_rewrite
from mcpg.search.pipeline import RankedList, stage
from mcpg.search.results import Match, SearchRequest, SearchResult, Strategy
from mcpg.search.retrieval import POOL, depth
from mcpg.search.searcher import Searcher
from mcpg.search.trace import Explanation, FoundBy, MatchExplanation, Stage, Trace
from mcpg.text import fold, get_stop_words, split_words, stem, strip_accents
from mcpg.text.json_values import JsonObject
from mcpg.text.literals import QUOTED, TextLiteral, find_literals
from mcpg.text.safeyaml import UNSAFE
from mcpg.text.words import LANGUAGES, is_mark, is_unspaced, share_of_texts
from mcpg.values import DECIMALS

LONGEST_PHRASE = 80
"""A longer text in quotes or with spaces is a text to work on, not a name."""

_SHORTEST_NUMBER = 4
_SPOKEN = ("date", "time")


def select_literals(query: str) -> tuple[TextLiteral, ...]:
    """Return the literals of *query* that a rewrite must keep, each text once, in order of place.

    Dates in words, percentages and small numbers may be written otherwise.
    """
    found: dict[str, TextLiteral] = {}
    end = 0
    for one in find_literals(query, with_names=True):
        text = one.text.strip()
        if one.kind in {"number", "percentage"}:
            is_long = sum(map(str.isdecimal, text)) >= _SHORTEST_NUMBER
            is_kept = is_long or text[:1] == "#" or any(sign in text for sign in ".,:")
        else:
            is_phrase = one.kind == QUOTED or any(map(str.isspace, text))
            is_name = not is_phrase or (one.kind not in _SPOKEN and len(text) <= LONGEST_PHRASE)
            is_kept = is_name and any(map(str.isalnum, text))
        if one.start >= end and is_kept:
            found.setdefault(text, one._replace(text=text))
            end = one.end
    return tuple(found.values())


def without(text: str, literals: Iterable[TextLiteral]) -> str:
    """Return *text* with a space for each of *literals* in it."""
    for literal in sorted(literals, key=lambda one: -len(one.text)):
        kept, end = [], 0
        for start in _places(text, literal.text):
            kept.append(text[end:start])
            end = start + len(literal.text)
        text = " ".join((*kept, text[end:]))
    return text


def find_lost_literals(literals: Iterable[TextLiteral], rewrite: str) -> tuple[TextLiteral, ...]:
    """Return the *literals* that are not in *rewrite*; any white space is one space."""
    folded = _fold_line(rewrite)
    return tuple([one for one in literals if not [*_places(folded, _fold_line(one.text))]])


def append_literals(rewrite: str, missing: Iterable[TextLiteral]) -> str:
    """Return *rewrite* followed by the *missing* literals."""
    return " ".join((rewrite, *(literal.text for literal in missing)))


def _fold_line(text: str) -> str:
    return fold(" ".join(text.split()))


def _places(text: str, part: str) -> Iterator[int]:
    """Return the places of *part* in *text*, except in a longer word or number."""
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if _joins(text[start - 1 : start], part[0]) or _joins(part[-1], text[end : end + 1]):
            end = start + 1
        else:
            yield start
        start = text.find(part, end)


def _joins(left: str, right: str) -> bool:
    """Return whether two characters are of one word; scripts may meet without a space."""
    if not (left.isalnum() and right.isalnum()) or is_unspaced(left) or is_unspaced(right):
        return False
    return strip_accents(left).isascii() == strip_accents(right).isascii()


MOST_FOREIGN = 0.2
"""Of plain English, at most this share of the words is foreign."""

MOST_WORDS = 256
_ENGLISH = "english"
_LAST_OF_LATIN = 0x024F
_LATIN_ADDITIONAL = (0x1E00, 0x1EFF)


@dataclass(frozen=True, slots=True)
class LanguageTest:
    """The evidence of the words of a text for its language.

    Attributes:
        words: How many distinct words, without numbers and codes, were counted.
        english: The share of English words, in [0, 1].
        other: The share of words of the likeliest other language, in [0, 1].
        foreign: The share of foreign words, in [0, 1].
        is_latin: Whether all letters are of the Latin alphabet.
    """

    words: int
    english: float
    other: float
    foreign: float
    is_latin: bool

    @property
    def is_plain_english(self) -> bool:
        is_english = self.english >= self.other and self.foreign <= MOST_FOREIGN
        return self.is_latin and (is_english or not self.words)


def read_language(
    text: str, is_known: Callable[[str], bool] = frozenset[str]().__contains__
) -> LanguageTest:
    """Count the words of *text*; *is_known* returns whether the catalog has a folded word."""
    distinct = dict.fromkeys(split_words(text))
    # Numbers and codes are not words; vowel signs are not letters for `str.isalpha`.
    words = [
        one for one in distinct if any(map(str.isalpha, one)) and not any(map(str.isdigit, one))
    ]
    words = words[:MOST_WORDS]
    if not words:
        return LanguageTest(0, 0.0, 0.0, 0.0, _is_latin(text))
    english = [_is_word_in(word, _ENGLISH) or _is_word_in(stem(word), _ENGLISH) for word in words]
    others = (language for language in LANGUAGES if language != _ENGLISH)
    other = max(_share([_is_word_in(word, language) for word in words]) for language in others)
    foreign = max(other, 1 - _share(english))
    if other <= _share(english):
        known = [one or is_known(word) for one, word in zip(english, words, strict=True)]
        foreign = 1 - _share(known)
    return LanguageTest(len(words), _share(english), other, foreign, _is_latin(text))


def _is_word_in(word: str, language: str) -> bool:
    return word in get_stop_words(language) or share_of_texts(word, language) > 0


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _is_latin(text: str) -> bool:
    low, high = _LATIN_ADDITIONAL
    return all(
        ord(letter) <= _LAST_OF_LATIN or low <= ord(letter) <= high
        for letter in text
        if letter.isalpha()
    )


LONGEST = 480

MOST_TIMES_LONGER = 4
"""A rewrite has at most this many times the query's characters, or `ALWAYS_ALLOWED`."""

ALWAYS_ALLOWED = 160
PROSE = 0.5
"""From this share of stop words on, a sentence is prose."""

_SHORTEST_PROSE = 5
_QUOTES = (
    *('""', "''", "``", "\u201c\u201d", "\u2018\u2019"),
    *("\u00ab\u00bb", "\u300c\u300d", "\u201e\u201c", "\u00bb\u00ab"),
)
_MARKUP = re.compile(r"[<>{}|\\]|\*\*|__|\]\(|\);|==|^\s*(?:[#*•-]|\d+[.)])\s")
_LABEL = re.compile(r"^\W*[^\W\d_][\w ]{0,30}:(?:\s|$)")
_SENTENCE_END = re.compile("[.!?\u2026](?=\\s+\\S)|[\u3002\uff01\uff1f](?=\\S)")
_CLOSES = re.compile("[.!\u2026]$")


@dataclass(frozen=True, slots=True)
class RewriteVerdict:
    """The verdict on an answer.

    Attributes:
        reason: Why the answer is rejected, or "". Without text or reason, the answer adds nothing
            to the query.
    """

    text: str = ""
    reason: str = ""


def judge(query: str, answer: str, literals: Iterable[TextLiteral] = ()) -> RewriteVerdict:
    """Accept or refuse *answer* as a rewrite of *query*, which has these *literals*."""
    text = answer.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    text = text.strip("`").strip()
    if fold(text) == fold(query.strip()):
        return RewriteVerdict()
    reason = next(_find_faults(query, text, without(text, literals)), "")
    return RewriteVerdict(reason=reason) if reason else RewriteVerdict(" ".join(text.split()))


def _find_faults(query: str, text: str, bare: str) -> Iterator[str]:
    """Yield why *text* is not a rewrite of *query*; *bare* is the text without literals."""
    if not any(map(str.isalnum, text)):
        yield "it is blank"
    if len(text.splitlines()) > 1:
        yield "it has several lines"
    if len(text) > min(LONGEST, max(ALWAYS_ALLOWED, MOST_TIMES_LONGER * len(query))):
        yield "it is too long for a query"
    if UNSAFE.search(text.replace("\t", " ")):
        yield "it contains control or hidden characters"
    if _MARKUP.search(bare):
        yield "it looks like markup, a list or code"
    label = _LABEL.match(bare)
    if label and fold(label.group().strip()) not in fold(query):
        yield "it begins with a label or a role"
    if len(_SENTENCE_END.findall(text)) > len(_SENTENCE_END.findall(query)):
        yield "it has more sentences than the query"
    words = set(split_words(bare)) - set(split_words(query))
    is_short = len(words) < _SHORTEST_PROSE or _CLOSES.search(text) is None
    if not is_short and len(words - get_stop_words("english")) <= (1 - PROSE) * len(words):
        yield "it reads as a reply, not as a query"
    read = read_language(bare)
    is_beaten = read.other > read.english and read.english < PROSE
    if not read.is_latin or (is_beaten and read.words > 1):
        yield "it is not in English"


MOST = 0.95
"""No rewrite is trusted more: translations go wrong, and what the query finds may be right."""

_GRAM = 3


def trust_in(query: str, rewrite: str, foreign: float, agreement: float = 1.0) -> float:
    """Return the probability, at most `MOST`, that *rewrite* means the same as *query*.

    *foreign* is the share of the query's words that are neither in English nor in the catalog,
    *agreement* the cosine of both texts, in [0, 1], if they are searched by vectors.
    """
    return round(
        min(MOST, max((foreign * agreement) ** 2, share_of_trigrams(query, rewrite) ** 3)), 6
    )


def share_of_trigrams(query: str, rewrite: str) -> float:
    """Return the share of the distinct 3-grams of *query* that are in *rewrite*, in [0, 1]."""
    grams = []
    for text in (query, rewrite):
        folded = "".join(sign if sign.isalnum() or is_mark(sign) else " " for sign in fold(text))
        padded = f" {' '.join(folded.split())} "
        grams.append({padded[at : at + _GRAM] for at in range(len(padded) - _GRAM + 1)})
    asked, held = grams
    return len(asked & held) / len(asked) if asked else 0.0


_LONGEST_SHOWN = 200


class RewriteStatus:
    """The names of what may become of a query."""

    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    PLAIN = "plain English"
    REFUSED = "refused"
    FAILED = "failed"
    MISSING = "no rewriter"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The result of rewriting a query.

    Attributes:
        status: One of the names in `RewriteStatus`.
        trust: The probability, in [0, 1], that the rewrite means the same as the query.
        language: The language of the query; `None` if it was not tested.
        agreement: The cosine of both texts if they are searched by vectors, else `None`.
    """

    query: str
    status: str
    text: str = ""
    trust: float = 0.0
    reason: str = ""
    language: LanguageTest | None = None
    literals: tuple[TextLiteral, ...] = ()
    restored: tuple[TextLiteral, ...] = ()
    agreement: float | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        if self.status == RewriteStatus.REWRITTEN:
            message = f"also searched as {_quote_short(self.text)}, trusted {self.trust:.2f}"
            found = (info(Code.QUERY_NORMALIZED, message),)
            if not self.restored:
                return found
            names = ", ".join(_quote_short(one.text) for one in self.restored)
            message = f"the rewritten query had lost {names}"
            return *found, info(Code.QUERY_LITERALS_RESTORED, message)
        if self.status == RewriteStatus.FAILED:
            message = f"the query was not rewritten: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_FAILED, message),)
        if self.status == RewriteStatus.REFUSED:
            message = f"the rewritten query is not used: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_REFUSED, message),)
        remedy = "set MCPG_LLM_MODEL and MCPG_LLM_URL"
        message = f"the query was not rewritten: no language model is configured ({remedy})"
        is_missing = self.status == RewriteStatus.MISSING
        return (info(Code.QUERY_NORMALIZER_MISSING, message),) if is_missing else ()

    def details(self) -> JsonObject:
        details: JsonObject = {"outcome": self.status}
        if self.language is not None:
            details |= {
                "englishShare": round(self.language.english, 6),
                "otherShare": round(self.language.other, 6),
                "foreignShare": round(self.language.foreign, 6),
            }
        if self.reason:
            details["reason"] = self.reason
        if self.text:
            details |= {
                "rewrite": self.text,
                "trust": self.trust,
                "agreement": self.agreement,
                "literals": [one.text for one in self.literals],
                "restored": [one.text for one in self.restored],
            }
        return details


def rewrite_query(
    query: str, index: Index, rewriter: GuardedRewriter | None, cache: SearchCache | None
) -> Rewrite:
    """Rewrite *query* for a search of *index*, if possible and useful.

    Errors of the rewriter are not raised; an interrupt of the wait is.
    """
    if rewriter is None:
        return Rewrite(query, RewriteStatus.MISSING)
    literals = select_literals(query)
    language = language_in(query, literals, index)
    if language.is_plain_english:
        return Rewrite(query, RewriteStatus.PLAIN, language=language)
    try:
        answer = cached_rewrite(cache, rewriter, query)
    except McpgError as fault:
        return Rewrite(query, RewriteStatus.FAILED, reason=str(fault), language=language)
    verdict = judge(query, answer, literals)
    if verdict.reason:
        return Rewrite(query, RewriteStatus.REFUSED, reason=verdict.reason, language=language)
    missing = find_lost_literals(literals, verdict.text)
    text = append_literals(verdict.text, missing) if verdict.text else ""
    if not text or fold(text) == fold(query):
        return Rewrite(query, RewriteStatus.UNCHANGED, language=language)
    trust = trust_in(query, text, language.foreign)
    return Rewrite(query, RewriteStatus.REWRITTEN, text, trust, "", language, literals, missing)


def language_in(query: str, literals: tuple[TextLiteral, ...], index: Index) -> LanguageTest:
    """Return the language of *query* without its *literals* and the words of *index*."""

    def is_known(word: str) -> bool:
        return index.find_word(word) >= 0 or index.find_stem(stem(word)) >= 0

    return read_language(without(query, literals), is_known)


def _quote_short(text: str) -> str:
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "\u2026"
    return f"\u201c{cut}\u201d"


DEPTH = POOL
"""How many matches of each search are merged first, whatever the limit."""

SURE = 0.5
"""A match of the original query keeps this score or a higher one."""


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """The place of a tool in one of the searches.

    Attributes:
        weight: How much its score there counts, in [0, 1].
    """

    match: Match
    rank: int
    weight: float


@dataclass(frozen=True, slots=True)
class MergedMatch:
    """One tool in the merged list.

    Attributes:
        score: The probability that it is right, in [0, 1]: the sum of weights times scores of its
            places, or at most the score of the tool above if neither place is among the first
            `DEPTH`.
        asked: Its place by the given query, `None` if not found.
        rewritten: Its place by the rewrite, `None` if not found.
    """

    score: float
    asked: SearchPlace | None
    rewritten: SearchPlace | None

    @property
    def is_by_rewrite(self) -> bool:
        """Whether the rewrite has the greater part in its score."""
        return self.asked is None or _part(self.rewritten) > _part(self.asked)

    @property
    def match(self) -> Match:
        """The tool, from the search with the greater weight."""
        place = self.rewritten if self.is_by_rewrite else self.asked
        if place is None:
            raise AssertionError
        return place.match._replace(score=self.score)


def merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[MergedMatch]:
    """Return every tool of both lists, the likeliest first; ties go to the higher rank.

    The first `DEPTH` of each are merged separately, and the rest follows below, so a limit only
    cuts. Tools that only an untrusted rewrite finds are left out.
    """
    rewritten = rewritten if trust else ()
    first = _merge(asked[:DEPTH], rewritten[:DEPTH], trust)
    known = {one.match.tool_id for one in first}
    rest = [one for one in _merge(asked, rewritten, trust) if one.match.tool_id not in known]
    return [*first, *(replace(one, score=min(one.score, first[-1].score)) for one in rest)]


def _merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[MergedMatch]:
    ours = {match.tool_id: (match, rank) for rank, match in enumerate(asked, start=1)}
    theirs = {match.tool_id: (match, rank) for rank, match in enumerate(rewritten, start=1)}
    found: list[tuple[tuple[float, float, str], MergedMatch]] = []
    for tool_id in {**ours, **theirs}:
        mine, other, weight = ours.get(tool_id), theirs.get(tool_id), trust
        if mine and mine[0].score >= SURE and (not other or other[0].score < mine[0].score):
            weight = 0.0
        by_query = SearchPlace(*mine, 1 - weight) if mine else None
        by_rewrite = SearchPlace(*other, weight) if other else None
        score = round(_part(by_query) + _part(by_rewrite), DECIMALS)
        height = sum(one.weight / one.rank for one in (by_query, by_rewrite) if one)
        key = -score, -round(height, DECIMALS), tool_id
        found.append((key, MergedMatch(score, by_query, by_rewrite)))
    return [one for _, one in sorted(found, key=itemgetter(0))]


def _part(place: SearchPlace | None) -> float:
    return place.weight * place.match.score if place else 0.0


def answer_rewritten(
    searcher: Searcher,
    request: SearchRequest,
    diagnostics: tuple[Diagnostic, ...],
    trace: Trace | None = None,
) -> SearchResult:
    """Answer *request*, whose query is rewritten if possible and useful."""
    rewrite, vectors = _rewrite(searcher, request, trace)
    diagnostics = (*diagnostics, *rewrite.diagnostics)
    if not rewrite.text:
        return searcher.answer(request._replace(rewrite=False), diagnostics, trace)[0]
    halves = [searcher.rank_request(part, trace, vectors) for part in _parts(request, rewrite)]
    return _join_results(searcher, request, rewrite, halves, diagnostics, trace)[0]


def explain_rewritten(
    searcher: Searcher, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer as `answer_rewritten` does, and explain every part of the answer."""
    start = time.perf_counter()
    rewrite, vectors = _rewrite(searcher, request)
    duration = (time.perf_counter() - start) * 1e3
    diagnostics = (*diagnostics, *rewrite.diagnostics)
    if rewrite.text:
        parts, traces = _parts(request, rewrite), [Trace(), Trace(), Trace()]
        halves = [searcher.rank_request(*one, vectors) for one in zip(parts, traces, strict=False)]
        result, offered = _join_results(searcher, request, rewrite, halves, diagnostics, traces[-1])
        rankings = [ranking for ranking, _ in halves]
        # Both are searched deeper than the limit.
        parts = tuple(part._replace(limit=request.limit) for part in parts)
        found = joined_explanation(parts, rankings, traces, result, offered, searcher)
    else:
        found = explain(searcher, request._replace(rewrite=False), diagnostics)
    # What became of the query comes before everything else.
    return found._replace(stages=(Stage(STAGE, duration, rewrite.details()), *found.stages))


def _rewrite(
    searcher: Searcher, request: SearchRequest, trace: Trace | None = None
) -> tuple[Rewrite, SearchVectors | None]:
    """Rewrite the query; if vectors are searched, they affect the trust."""
    vectors = None if request.strategy == Strategy.GRAPH else searcher.search_vectors()
    cache = searcher.services.cache if searcher.services else None
    rewrite = rewrite_query(request.query, searcher.index, searcher.rewriter(), cache)
    if not rewrite.text or rewrite.language is None or vectors is None:
        return rewrite, vectors
    try:
        with stage(trace, "embed"):
            # Without the context, which both share whatever they mean.
            agreement = vectors.agreement(request.query, rewrite.text)
    except EmbeddingError:
        return rewrite, vectors  # the searches report missing vectors
    trust = trust_in(request.query, rewrite.text, rewrite.language.foreign, agreement)
    return replace(rewrite, trust=trust, agreement=agreement), vectors


def _parts(request: SearchRequest, rewrite: Rewrite) -> tuple[SearchRequest, ...]:
    """Return both searches: deep enough to be merged, and without options for the merged result."""
    asked = request._replace(
        limit=depth(request.limit), min_score=0.0, abstain=False, rewrite=False
    )
    return asked, asked._replace(query=rewrite.text)


def _join_results(
    searcher: Searcher,
    request: SearchRequest,
    rewrite: Rewrite,
    halves: Sequence[tuple[RankedList, tuple[Diagnostic, ...]]],
    diagnostics: tuple[Diagnostic, ...],
    trace: Trace | None,
) -> tuple[SearchResult, list[MergedMatch]]:
    asked, rewritten = (searcher.matches(ranking) for ranking, _ in halves)
    found = merge(asked, rewritten, rewrite.trust)
    cut = found[: request.limit]
    offered = cut[: worth_offering([one.score for one in cut], request)]
    matches = tuple(one.match for one in offered)
    result = searcher.result(
        request,
        [ranking for ranking, _ in halves],
        matches,
        [searcher.number(match.tool_id) for match in matches],
        found[0].score if found else None,
        (*diagnostics, *dict.fromkeys(one for _, found in halves for one in found)),
        trace,
    )
    return result._replace(normalized_query=rewrite.text), offered


STAGE = "normalise"
OF_REWRITE = "rewrite"
"""Origin of words, and the beginning of the names of stages, that belong to the rewrite."""


def joined_explanation(
    parts: Sequence[SearchRequest],
    rankings: Sequence[RankedList],
    traces: Sequence[Trace],
    result: SearchResult,
    offered: Sequence[MergedMatch],
    searcher: Searcher,
) -> Explanation:
    """Return the explanation of a merged *result*, each match explained by the search that counts.

    *parts* are the query as it was given and its rewrite, *rankings* what came of each, *traces*
    the stages of each and those after merging, *offered* the matches with their places in both.
    """
    asked, rewritten = (
        compose_explanation(
            part,
            SearchResult(part.query, part.strategy, result.ranking_mode, searcher.matches(ranking)),
            ranking,
            trace,
            searcher,
        )
        for part, ranking, trace in zip(parts, rankings, traces, strict=False)
    )
    others = [
        replace(one, origin=OF_REWRITE) if one.origin == "query" else one for one in rewritten.words
    ]
    words = (*asked.words, *others)
    disabled = searcher.disabled_by_hints(parts[0])
    return asked._replace(
        result=result,
        normalized_query=result.normalized_query,
        words=words,
        stages=(
            *asked.stages,
            *(replace(one, name=f"{OF_REWRITE}.{one.name}") for one in rewritten.stages),
            *(
                replace(one, details=describe_expansion(result, searcher.index, disabled))
                for one in traces[-1].stages
            ),
        ),
        matches=tuple(_matches((asked, rewritten), offered)),
        expansions=tuple(explain_expansions(result)),
        advice=advice_on(result, words, rankings, searcher.index, disabled),
    )


def _matches(
    both: tuple[Explanation, Explanation], offered: Sequence[MergedMatch]
) -> Iterator[MatchExplanation]:
    by_id = [{match.tool_id: match for match in one.matches} for one in both]
    for rank, merged in enumerate(offered, start=1):
        match = by_id[merged.is_by_rewrite].get(merged.match.tool_id)
        if match is not None:
            places = (("query", merged.asked), (OF_REWRITE, merged.rewritten))
            yield replace(
                match,
                rank=rank,
                score=merged.score,
                found_by=tuple(
                    FoundBy(text, place.rank, place.match.score, place.weight)
                    for text, place in places
                    if place
                ),
            )
