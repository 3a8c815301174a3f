"""Query analysis: from the text of a query to weighted clauses over the terms of the index.

A query is cut into segments: sentences, and within them parts at commas, unless they are short, and
at verbs after "and" or "then". Each segment may be a separate intent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby, islice, pairwise
from math import fsum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.index import Index
from mcpg.index.reader import find_opening_phrase
from mcpg.search.query_terms import QueryTerm, TermReader, WordCache, wanted_operation
from mcpg.text import (
    Word,
    detect_language,
    fold,
    get_stop_words,
    iter_words,
    join_words,
    lexicon,
    split_words,
    stem,
    strip_accents,
)
from mcpg.text.literals import QUOTED, WORDS_OF_KINDS, TextLiteral, blank_literals, find_literals
from mcpg.text.words import are_stop_words, is_unspaced

if TYPE_CHECKING:
    from mcpg.search.scope import ContextGraph


WORD_WEIGHT = 0.5
"""Weight of a word of a literal relative to a requested word."""

MOST_OF_WORDS = 0.5
"""All words of literals together weigh at most this much of the query."""

KIND_WEIGHT = 0.6
"""Weight of the name of a kind of literal relative to a requested word."""

MOST_OF_KINDS = 0.3
"""All names of kinds together weigh at most this much of the query."""

SERVER_WEIGHT = 2.0
"""Weight of the name of a server relative to other words of a short request."""

# A request that names a server has so many words at most, stop words left out.
_MOST_BESIDE_SERVER = 3
_MOST_WORDS = 64


def query_literals(query: str, index: Index) -> tuple[TextLiteral, ...]:
    """Return the literals of *query*, except for those that the catalog contains verbatim.

    Quoted texts, and texts without a letter, are literals in any case.
    """
    return tuple(
        [
            one
            for one in find_literals(query)
            if one.kind == QUOTED
            or not any(map(str.isalpha, one.text))
            or (
                index.find_word(fold(one.text)) < 0
                and index.find_identifier(join_words(one.text)) < 0
            )
        ]
    )


def without_literals(
    query: str, literals: Sequence[TextLiteral], expected: str | None
) -> tuple[str, list[Word]]:
    """Return *query* with its *literals* replaced by spaces, and the words of that text.

    If that leaves no content word, quoted texts are kept, or else all literals, as the only
    evidence. *expected* is the language that one stop word is enough to detect.
    """
    if literals:
        others = [one for one in literals if one.kind != QUOTED]
        for hidden in (literals, others):
            text = blank_literals(query, hidden)
            words = list(iter_words(text))
            spoken = [word.text for word in words]
            if are_stop_words(spoken):  # most texts soon have another word
                language = detect_language(spoken, expected)
                stop_words = get_stop_words(language) if language else frozenset[str]()
                if stop_words.issuperset(spoken):
                    continue
            return text, words
    return query, list(iter_words(query))


def words_of_literals(
    literals: Sequence[TextLiteral],
    asked: Sequence[QueryTerm],
    reader: TermReader,
    stop_words: frozenset[str],
) -> list[QueryTerm]:
    """Return the clauses that *literals* add to the *asked* words."""
    most = fsum([clause.weight for clause in asked])
    has = [clause.text for clause in asked]
    spoken = (
        word.text for one in literals for word in iter_words(one.text) if not word.is_compound
    )
    distinct = [*dict.fromkeys(spoken)][:_MOST_WORDS]
    words = [one for one in distinct if one not in stop_words and one not in has]
    names = [name for one in literals for name in WORDS_OF_KINDS.get(one.kind, ())]
    # A kind that the request also names counts twice: both are evidence for one tool.
    return [
        *_lighten_clauses(reader.read(words, "literal"), WORD_WEIGHT, MOST_OF_WORDS * most),
        *_lighten_clauses(
            reader.read(dict.fromkeys(names), "literal"), KIND_WEIGHT, MOST_OF_KINDS * most
        ),
    ]


def _lighten_clauses(
    clauses: Sequence[QueryTerm], factor: float, most: float
) -> Iterable[QueryTerm]:
    """Return *clauses* that weigh less by *factor*, and together at most *most*."""
    total = fsum([clause.weight for clause in clauses])
    factor = min(factor, most / total) if total else 0.0
    return [one._replace(weight=one.weight * factor) for one in clauses] if factor else ()


Part: TypeAlias = tuple[int, ...]


FOREIGN_POWER = 4
"""How sharply a query counts as foreign: some words are unknown in most queries."""

# A request has no more intents than this; they are those that weigh most.
MOST_INTENTS = 8
# A part between two commas with fewer words than this, without stop words, is an item of a list or
# an aside, not a separate request.
FEWEST_WORDS = 4
# With a verb after a conjunction, it may be as short as this.
FEWEST_WORDS_OF_VERB = 2
_CONJUNCTIONS = ("and", "then")
_SENTENCE_ENDS = (". ", "? ", "! ", "; ", "\u3002", "\uff01", "\uff1f")
_CLAUSE_ENDS = (", ", "\uff0c")


def _list_words(text: str) -> list[str]:
    return [word.text for word in iter_words(text)]


def split_segments(
    query: str,
    texts: Sequence[str],
    words_of: Callable[[str], Sequence[str]] = _list_words,
    *,
    cuts_at_verbs: bool = False,
) -> list[list[Part]]:
    """Return the parts of each sentence of *query*, as the places of their words in *texts*.

    *words_of* cuts a text into words.

    A part extends from comma to comma; a part with too few words belongs to the part before it, or,
    at the start of a sentence, to the part after it. With *cuts_at_verbs*, an English verb after a
    conjunction, as in "and send", also begins a part, which may be shorter.
    """
    sentences = _cut(query, _SENTENCE_ENDS)
    if len(sentences) == 1 and len(_cut_clauses(query, cuts_at_verbs)) == 1:
        return []
    places = {text: place for place, text in enumerate(texts)}
    segments = []
    for sentence in sentences:
        parts: list[Part] = []
        for text, least in _cut_clauses(sentence, cuts_at_verbs):
            found = dict.fromkeys(map(places.get, words_of(text)))
            part = tuple([place for place in found if place is not None])
            if parts and min(len(part), len(parts[-1])) < least:
                parts[-1] = tuple(dict.fromkeys((*parts[-1], *part)))
            elif part:
                parts.append(part)
        segments.append(parts)
    return segments


def _cut_clauses(text: str, cuts_at_verbs: bool) -> list[tuple[str, int]]:
    """Return the clauses of a sentence, each with the fewest words that make it a part."""
    clauses: list[tuple[str, int]] = []
    for clause in _cut(text, _CLAUSE_ENDS):
        start, least = 0, FEWEST_WORDS
        words = clause.split() if cuts_at_verbs else []
        for place, (before, word) in enumerate(pairwise(words), 1):
            if before.lower() in _CONJUNCTIONS and lexicon.is_operation(stem(fold(word))):
                clauses.append((" ".join(words[start:place]), least))
                start, least = place, FEWEST_WORDS_OF_VERB
        clauses.append((" ".join(words[start:]) or clause, least))
    return clauses


def _cut(text: str, ends: Iterable[str]) -> list[str]:
    for end in ends:
        if end in text:
            text = text.replace(end, "\n")
    return [part for part in text.split("\n") if part and not part.isspace()]


def group_by_sentence(parts: Sequence[Sequence[Part]], count: int) -> tuple[Part, ...]:
    """Return the places below *count* of each sentence; none for a query of one sentence."""
    if len(parts) <= 1:
        return ()
    rows = (dict.fromkeys(chain.from_iterable(sentence)) for sentence in parts)
    kept = (tuple([place for place in row if place < count]) for row in rows)
    return tuple([row for row in kept if row])


def choose_intents(parts: Iterable[Iterable[Part]], weights: Sequence[float]) -> tuple[Part, ...]:
    """Return the distinct parts that weigh most, in their order; none where there is only one."""
    distinct = tuple(dict.fromkeys(chain.from_iterable(parts)))
    if len(distinct) <= MOST_INTENTS:
        return distinct if len(distinct) > 1 else ()
    by_weight = sorted(distinct, key=lambda part: -fsum([weights[place] for place in part]))
    heaviest = frozenset(by_weight[:MOST_INTENTS])
    return tuple([part for part in distinct if part in heaviest])


MAX_WORDS = 256
# Characters without a break that are cut into words: no more than so many words need.
_LONGEST_RUN = 1_024
# All the context's words together weigh at most this much beside the query's own.
CONTEXT_WEIGHT = 0.3


class Analysis(NamedTuple):
    """An analyzed query.

    Attributes:
        clauses: The words that can find tools: from the query, its literals and the context.
        sentences: For each sentence, the places of its words in `clauses`.
        intents: The same for each part that may be a separate request; none if there is only one,
            and the heaviest if there are many.
        words: The distinct words of the query in order, stop words among them.
        exact_keys: Joined forms of the whole query and of each identifier in it.
        opened: Tools with an alias of several words that opens the query, and how much of the query
            the alias is, in (0, 1]: the share of its words, stop words among them, each weighed by
            its rarity in the language.
        operation: The probability of each kind of operation, see `mcpg.text.lexicon`; empty if
            unknown.
        total_weight: The weight of a perfect match of the whole request; above 0.
        literals: The parts of the query that are arguments.
        used: The graph around the tools in use; `None` without any.
    """

    clauses: tuple[QueryTerm, ...]
    sentences: tuple[tuple[int, ...], ...] = ()
    intents: tuple[tuple[int, ...], ...] = ()
    words: tuple[str, ...] = ()
    language: str | None = None
    exact_keys: tuple[str, ...] = ()
    opened: tuple[tuple[int, float], ...] = ()
    operation: tuple[float, ...] = ()
    is_question: bool = False
    total_weight: float = 1.0
    literals: tuple[TextLiteral, ...] = ()
    used: ContextGraph | None = None


def analyse(
    query: str,
    index: Index,
    *,
    context: str = "",
    memo: WordCache | None = None,
    uses_lexicon: bool = True,
) -> Analysis:
    """Turn *query* and its *context* into clauses over *index*.

    The terms of a word depend only on the index, the language and *uses_lexicon*, and are kept in
    *memo*. Without the lexicon, words have no translations or related words.
    """
    literals = query_literals(query, index)
    text, words = without_literals(query, literals, index.language)
    spoken = [word.text for word in words]
    single = [word.text for word in words if not word.is_compound]
    plain = _distinct(single)
    wholes = () if len(single) == len(words) else _distinct(w.text for w in words if w.is_compound)
    language = _detect_language(text, spoken, index, uses_lexicon=uses_lexicon)
    unspaced = language if language in lexicon.UNSPACED else None
    if unspaced:
        plain = _segment_words(text, unspaced, index)
    reader = TermReader(index, language, memo or WordCache(), uses_lexicon=uses_lexicon)
    asked = _stress_server(reader.read(_content_words(plain, language)), index)
    # A word of the query counts once, even if the query also spells it otherwise.
    identifiers = reader.identifiers(whole for whole in wholes if whole not in plain)
    found = (*asked, *identifiers)
    stop_words = get_stop_words(language)
    arguments = words_of_literals(literals, found, reader, stop_words) if literals else ()
    added = _read_context(context, plain, asked, reader, index) if context else ()
    parts = split_segments(
        text,
        [clause.text for clause in found],
        (lambda text: _segment_words(text, unspaced, index)) if unspaced else _list_words,
        cuts_at_verbs=uses_lexicon and language in (None, lexicon.ENGLISH),
    )
    return Analysis(
        (*found, *arguments, *added),
        group_by_sentence(parts, len(asked)),
        choose_intents(parts, [clause.weight for clause in found]),
        (*plain, *(clause.text for clause in identifiers)),
        language,
        _distinct(
            [key for key in (*map(join_words, dict.fromkeys((query, text))), *wholes) if key]
        ),
        _match_opening(single, reader, index),
        lexicon.shares_by([(wanted_operation(clause.meanings), 1.0) for clause in asked[:1]]),
        uses_lexicon and lexicon.is_question(plain, language),
        fsum(clause.weight for clause in found) or 1.0,
        literals,
    )


def _stress_server(asked: list[QueryTerm], index: Index) -> list[QueryTerm]:
    """Return the words of a request with more weight on the name of a server.

    This applies to short requests, such as "tools of gmail": longer requests ask for more than the
    tools of a server.
    """
    if not 1 < len(asked) <= _MOST_BESIDE_SERVER:
        return asked
    for length in range(len(asked) - 1, 0, -1):
        for start in range(len(asked) - length + 1):
            named = asked[start : start + length]
            if _is_server(named, index):
                others = fsum([one.weight for one in (*asked[:start], *asked[start + length :])])
                own = fsum([one.weight for one in named])
                factor = max(1.0, SERVER_WEIGHT * others / own)
                stressed = [one._replace(weight=factor * one.weight) for one in named]
                return [*asked[:start], *stressed, *asked[start + length :]]
    return asked


def _is_server(words: Sequence[QueryTerm], index: Index) -> bool:
    """Return whether *words* run together are the whole name of a server, and no usual word."""
    is_usual = lexicon.zipf_frequency(words[0].text, lexicon.ENGLISH) >= lexicon.COMMON
    if any(one.kind != "exact" for one in words) or (is_usual and len(words) == 1):
        return False
    return index.has_source(words[0].repairs[0].term, "".join([one.text for one in words]))


def _detect_language(
    query: str, words: Sequence[str], index: Index, *, uses_lexicon: bool
) -> str | None:
    """Return the language of the *words* of *query*.

    It is detected by stop words. English stop words are sure; for another language, all words must
    be evidence, if the lexicon has it. Words of the catalog may be names in any language.
    """
    if not uses_lexicon:
        return detect_language(words, index.language)
    language = detect_language(words)
    if language == lexicon.ENGLISH:
        return language
    usual = get_stop_words(lexicon.ENGLISH)
    foreign = lexicon.foreign_language(
        words,
        names=[word for word in words if word not in usual and index.find_word(word) >= 0],
        is_accented=strip_accents(query) != query,
    )
    if foreign:
        return foreign
    language = detect_language(words, index.language)
    return lexicon.ENGLISH if language and lexicon.is_rather_english(words, language) else language


def _read_context(
    context: str, known: Sequence[str], asked: Sequence[QueryTerm], reader: TermReader, index: Index
) -> list[QueryTerm]:
    """Return the clauses of the content words of *context* that are not *known* from the query.

    Together they weigh at most a fixed share of the weight of the *asked* words.
    """
    words = _distinct(word.text for word in iter_words(context) if not word.is_compound)
    content = _content_words(words, detect_language(words, index.language))
    added = reader.read([word for word in content if word not in known], "context")
    query = fsum(clause.weight for clause in asked)
    weight = fsum(clause.weight for clause in added)
    factor = CONTEXT_WEIGHT * min(1.0, query / weight) if weight else 0.0
    return [clause._replace(weight=clause.weight * factor) for clause in added]


def _segment_words(query: str, language: str, index: Index) -> tuple[str, ...]:
    """Return the words of a *query* in a script without spaces.

    If the catalog contains most pairs of characters of a token, these pairs are its words. Tokens
    that the catalog contains, also in hints, are words instead of their parts.
    """
    found: dict[str, None] = {}
    for token in query.split():
        if len(found) >= MAX_WORDS:
            break
        words = [word.text for word in iter_words(token) if not word.is_compound]
        pairs = [word for word in words if is_unspaced(word[0])]
        known = [pair for pair in pairs if index.find_word(pair) >= 0]
        terms = [index.term_of_word(index.find_word(pair)) for pair in known]
        of_texts = [term for term in terms if not index.is_only_hinted(term)]
        if not pairs or 2 * len(of_texts) >= len(pairs):
            found |= dict.fromkeys(words)
            continue
        own = dict.fromkeys(known)
        found |= own
        for unspaced, letters in groupby(strip_accents(fold(token)), is_unspaced):
            run = "".join(islice(letters, _LONGEST_RUN))
            cut = lexicon.segment(run, language) if unspaced else split_words(run)
            found |= dict.fromkeys(word for word in cut if not any(word in pair for pair in own))
    return _distinct(found)


def _match_opening(
    words: Sequence[str], reader: TermReader, index: Index
) -> tuple[tuple[int, float], ...]:
    """Return the tools with the longest alias that opens *words*, and the share that it is."""
    if not index.has_phrases:
        return ()
    count, tools = find_opening_phrase(words, index)
    if not count:
        return ()
    rarities = [reader.rarity(word) for word in words[:MAX_WORDS]]
    share = fsum(rarities[:count]) / fsum(rarities)
    return tuple([(tool, share) for tool in tools])


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MAX_WORDS]


def _content_words(words: Sequence[str], language: str | None) -> Sequence[str]:
    """Return the distinct *words* that carry content.

    A query of only stop words keeps them, as its only evidence.
    """
    stop_words = get_stop_words(language)
    return [word for word in words if word not in stop_words] or words
