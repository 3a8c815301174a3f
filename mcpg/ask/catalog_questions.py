"""Read questions about the catalog itself: which tools, sources or categories it has.

The grammar of such a question: words that open it (*which*, *how many*, *list all*), the noun of
the list (*tools*, *servers*, *categories*), and conditions: operations (*delete*, *only read*),
properties (*destructive*, *disabled*), sources or categories (*of github*), and
topics. The table of operations gives verbs their kinds, and the tables of translations
give words of other languages their meanings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from mcpg.ask.mentions import NameLookup, Token, language, tokenize_question
from mcpg.ask.model import Listing, Mention, Spelling
from mcpg.index.layout import ABSENT
from mcpg.text import fold, get_stop_words, lexicon, split_words, stem
from mcpg.text.spelling import suggest
from mcpg.text.words import LANGUAGES, is_unspaced

Kinds = frozenset[int]
"""Kinds of operations, by their places in `lexicon.OPERATION_KINDS`."""

READING: Kinds = frozenset(range(lexicon.READING_KINDS))
WRITING: Kinds = frozenset(range(lexicon.READING_KINDS, len(lexicon.OPERATION_KINDS)))
ALL = READING | WRITING
CHANGING: Kinds = Kinds((lexicon.OPERATION_KINDS.index("change"),))
_NO_KINDS = Kinds()

DESTRUCTIVE, DISABLED, ENABLED = "destructive", "disabled", "enabled"

_NOUNS = {
    "tool": Listing.TOOLS,
    "server": Listing.SOURCES,
    "sourc": Listing.SOURCES,
    "categori": Listing.CATEGORIES,
}
_STATES = {"destruct": DESTRUCTIVE, "disabl": DISABLED, "enabl": ENABLED, "avail": ENABLED}
# Cues that may come before the noun, cues that open a question, and cues that no question
# about a catalog has before the topic of the tools.
_OPENING = frozenset(("what", "all", "count", "aux", "of", "you", "we", "want"))
_ASKING = frozenset(("what", "all", "count"))
_LEADING = frozenset(("of", "from", "for", "with", "aux", "able"))
_OF = frozenset(("of", "from"))
_JOINING = frozenset(("and", "or"))
_EMPTY = frozenset(
    ("aux", "able", "what", "locate", "give", "home", "docs", "all", "want", "we", "with")
)
# Cues of words that say something about tools, which no fact of a catalog answers.
_TELLING = frozenset(("docs", "reference", "like", "artefact"))
_OTHER_QUESTIONS = frozenset(
    (
        *("before", "after", "similar", "example", "inherit", "import", "parameter"),
        *("depend", "way", "where", "how", "why", "take", "call"),
    )
)
_ARTICLES = frozenset(("a", "an", "the", "un", "una", "une", "ein", "eine", "einen"))
_NOMINAL, _PLURAL, _ONLY = ("ing", "ion"), "s", "only"
_LEAST_MEANING, _FREQUENT = 0.2, 0.1
_FIRST_HIRAGANA, _LAST_HIRAGANA = "\u3041", "\u309f"
_LONGEST_NAME = 4
_ALSO = 0.7
"""A verb names each kind with a ratio at most this below the ratio of its first kind."""
_LEAST_SHARE = 1 / 3
_RELATED = 0.41
"""From this relation to the name of a kind on, a verb means the kind, and no operation of it."""


class CatalogQuestion(NamedTuple):
    """A question about the catalog.

    Attributes:
        listed: The kind of things to list, one of `Listing`.
        kinds: The operations of the tools; empty for any.
        denied: The operations that the tools do not have.
        is_only: Whether the tools do nothing else.
        state: The property `destructive`, `disabled` or `enabled`; "" for any.
        is_denied: Whether the question negates `state`.
        is_outside: Whether the tools are of no such source or category.
        unknown: Names of no source or category, each with the kind it should have.
    """

    listed: str
    kinds: Kinds = _NO_KINDS
    denied: Kinds = _NO_KINDS
    is_only: bool = False
    state: str = ""
    is_denied: bool = False
    is_outside: bool = False
    sources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    about: tuple[str, ...] = ()
    verb: str = ""


@cache
def find_kinds(word: str) -> Kinds:
    """Return the kinds of operations that an English stem means; none if it is not a verb."""
    if not lexicon.is_operation(word):
        known = lexicon.operation_shares(word)
        return _NO_KINDS if known else _name_kinds().get(word, _NO_KINDS)
    ratios, shares = lexicon.find_ratios(word), lexicon.operation_shares(word)
    least = max(0.0, max(ratios) - _ALSO)
    kinds = frozenset(kind for kind, ratio in enumerate(ratios) if ratio >= least)
    kinds |= READING if kinds & READING else _NO_KINDS
    return kinds if sum(shares[kind] for kind in kinds) >= _LEAST_SHARE else _NO_KINDS


@cache
def _name_kinds() -> Mapping[str, Kinds]:
    """Return stems that are a name of a kind, or related to one, with the kinds of that."""
    found: dict[str, Kinds] = {}
    for place, name in enumerate(lexicon.OPERATION_KINDS):
        word, kinds = stem(name.split()[0]), READING if place in READING else Kinds((place,))
        found |= {
            other: kinds
            for other, strength in lexicon.related_stems(word)
            if strength >= _RELATED and other not in found
        }
        found[word] = kinds
    return found


class _Word(NamedTuple):
    """A word of a question, and its meaning for a catalog."""

    token: Token
    stems: tuple[str, ...]
    noun: str
    kinds: Kinds
    is_stop: bool

    def has(self, cues: Collection[str]) -> bool:
        return not self.token.cues.isdisjoint(cues)

    def opens_a_list(self) -> bool:
        """Return whether it is a word such as `which`, or `show`, which may also be a verb."""
        return self.has(_ASKING) or (self.has(("want",)) and self.kinds <= READING)


def _read_words(tokens: Sequence[Token], spoken: str | None) -> list[_Word]:
    stops = get_stop_words("english") | get_stop_words(spoken if spoken in LANGUAGES else "english")
    found = []
    for token in tokens:
        stems = [stem(token.folded)]
        if spoken in lexicon.FOREIGN:
            meant = lexicon.translations(fold(token.text), spoken)[1]
            stems[:0] = [one for one, strength in meant if strength >= _LEAST_MEANING]
        noun = next((_NOUNS[one] for one in stems if one in _NOUNS), "")
        is_stop = token.folded in stops or "filler" in token.cues
        if spoken in lexicon.FOREIGN:
            is_stop |= lexicon.share_of_texts(fold(token.text), spoken) >= _FREQUENT
        kinds = next(filter(None, map(find_kinds, () if is_stop else stems)), _NO_KINDS)
        found.append(_Word(token, tuple(stems), noun, kinds, is_stop))
    return found


def _cut_tokens(tokens: Sequence[Token], spoken: str | None) -> Iterator[Token]:
    """Yield *tokens*, compounds with a noun of lists and runs of words without spaces cut up."""
    for token in tokens:
        head, _, tail = token.text.rpartition("-")
        if spoken in lexicon.UNSPACED and is_unspaced(token.text[0]):
            for word in lexicon.segment(token.text, spoken):
                yield from tokenize_question(word)
        elif head and stem(fold(tail)) in _NOUNS:
            yield from (*tokenize_question(head), *tokenize_question(tail))
        else:
            yield token


def _order_unspaced(words: Sequence[_Word]) -> list[_Word]:
    """Return *words* of Chinese or Japanese in the order of English, without particles."""
    telling = [
        one
        for one in words
        if (one.noun or one.kinds or one.token.cues - _OF)
        or not (one.is_stop or _FIRST_HIRAGANA <= max(one.token.text) <= _LAST_HIRAGANA)
    ]
    return sorted(telling, key=lambda one: (not one.opens_a_list(), one.noun != Listing.TOOLS))


def read_catalog_question(
    tokens: Sequence[Token], mentions: Sequence[Mention], names: NameLookup
) -> CatalogQuestion | None:
    """Return the question about the catalog, `None` if it is about something else."""
    spoken = language(tuple(tokens))
    if spoken != lexicon.ENGLISH:
        spoken = lexicon.foreign_language([fold(token.text) for token in tokens]) or spoken
    nouns = [one.noun for one in _read_words(tokens, spoken)]
    words = _read_words(tuple(_cut_tokens(tokens, spoken)), spoken)
    if mentions and not any(word.noun for word in words):
        return None
    for one in mentions:
        is_pointed_at = one.end < len(nouns) and bool(nouns[one.end])
        is_meant = one.is_sure or (one.spelling == Spelling.SPOKEN and is_pointed_at)
        if is_meant and not names.find_source(one.text):
            return None
    words = _order_unspaced(words) if spoken in lexicon.UNSPACED else words
    return _Reader(words, names, spoken).read()


class _Reader:
    """Reads the words of a question; members have the conditions that were read."""

    def __init__(self, words: Sequence[_Word], names: NameLookup, spoken: str | None) -> None:
        self._words, self._names = words, names
        self._is_foreign = spoken in lexicon.FOREIGN
        self._is_unspaced = spoken in lexicon.UNSPACED
        self._held: set[int] = set()
        self._sources: dict[str, None] = {}
        self._categories: dict[str, None] = {}
        self._unknown: dict[str, str] = {}
        self._kinds = self._denied = _NO_KINDS
        self._verb = self._state = ""
        self._is_only = self._is_denied = self._is_outside = self._is_operation = False
        # Whether a word that negates was read, and what it negates was not.
        self._is_negated = self._lists_groups = False
        self._about: list[str] = []
        for size in range(_LONGEST_NAME, 0, -1):
            for start in range(len(words) - size + 1):
                self._take_name(range(start, start + size))

    def _take_name(self, window: range) -> None:
        """Read the words of *window* as the name of a source or category, if they name any."""
        text = " ".join(self._words[at].token.folded for at in window)
        source, category = self._names.find_source(text), self._names.find_category(text)
        if not (source or category) or not self._held.isdisjoint(window):
            return
        nouns = self._nouns_beside(window)
        is_meant = nouns or self._is_led(window.start) or self._is_listed(window.start)
        # A name in Latin letters is no word of Chinese.
        is_meant = is_meant or (self._is_unspaced and not is_unspaced(text[0]))
        if not (is_meant or self._is_only_a_name(window)):
            return
        if category and (not source or Listing.CATEGORIES in nouns):
            self._categories[category] = None
        else:
            self._sources[source] = None
        self._held.update(window)

    def _nouns_beside(self, window: range) -> set[str]:
        """Return the nouns beside words that are a name: `slack tools`, `the server slack`."""
        nouns = {one.noun for one in self._words[window.stop :][:1]}
        nouns |= {one.noun for one in self._words[: window.start][-1:]} - {Listing.TOOLS}
        return nouns - {""}

    def _is_beside_a_group(self, place: int) -> bool:
        """Return whether the noun of a group follows a word: `the jira server`."""
        return any(one.noun not in {"", Listing.TOOLS} for one in self._words[place + 1 :][:1])

    def _is_led(self, place: int, cues: Collection[str] = _LEADING) -> bool:
        """Return whether a word with one of *cues* leads to a *place*: `of the`, `does`."""
        before = self._words[max(0, place - 2) : place]
        is_article = bool(before) and before[-1].is_stop and not before[-1].has(_LEADING)
        return any(one.has(cues) for one in before[-2 if is_article else -1 :])

    def _is_listed(self, place: int) -> bool:
        """Return whether another name comes before a *place*: `slack and`, `slack,`."""
        before = place - 2 if place and self._words[place - 1].has(_JOINING) else place - 1
        return before in self._held and (before < place - 1 or self._words[before].token.ends)

    def _is_only_a_name(self, window: range) -> bool:
        """Return whether the words of *window* are unusual in English, and none is a verb."""
        words = [self._words[at] for at in window]
        common = (lexicon.zipf_frequency(one.token.folded, lexicon.ENGLISH) for one in words)
        return max(common) < lexicon.COMMON and not any(one.kinds for one in words)

    def read(self) -> CatalogQuestion | None:
        """Return the question, `None` if it is not about the catalog."""
        words = self._words
        # `The slack server` names a source, but requests no list of sources.
        beside = {at for one in self._held for at in (one - 1, one + 1)}
        nouns = [at for at, one in enumerate(words) if one.noun and at not in self._held]
        heads = [at for at in nouns if words[at].noun == Listing.TOOLS or at not in beside]
        head = heads[0] if heads else len(words)
        if any(map(self._ends_clause, range(head, len(words) - 1))):
            return None  # of several sentences or clauses
        if not heads:
            return self._read_source_alone() if self._sources else None
        listed = words[head].noun
        self._lists_groups = listed != Listing.TOOLS
        if not self._read_opening(head) or not self._read_conditions(head + 1):
            return None
        if self._is_negated and not self._deny_last():
            return None
        opening = [one for at, one in enumerate(words[:head]) if at not in self._held]
        if self._is_task(opening, words[head + 1 :]):
            return None
        # `How many tools does each server have`
        groups = [words[at].noun for at in heads if at > head and words[at - 1].has(("all",))]
        return self._make(next(iter(groups), listed))

    def _is_task(self, opening: Sequence[_Word], rest: Sequence[_Word]) -> bool:
        """Return whether the words that were read do not ask for a list, but for something else."""
        is_opened = any(one.has(_ASKING) for one in opening)
        is_opened = is_opened or (bool(opening) and opening[0].has(("aux",)))
        has_scope = bool(self._sources or self._categories or self._unknown)
        if not (self._kinds or self._denied or self._state or has_scope):
            is_told = any(one.has(_TELLING) and not one.is_stop for one in rest)
            # `Tools`, `show tools`
            is_list = not self._lists_groups
            is_list = is_list and all(one.is_stop or one.has(_OPENING) for one in opening)
            return bool(self._about) or is_told or not (is_opened or is_list)
        is_order = len(opening) > 1 and opening[1].token.folded in _ARTICLES
        is_order = is_order and not _STATES.keys().isdisjoint(opening[0].stems)
        return is_order or (bool(self._about) and not is_opened)  # `disable the tool`

    def _ends_clause(self, place: int) -> bool:
        """Return whether a sign after a word ends a clause, and no relative one or name follows."""
        word, after = self._words[place], self._words[place + 1]
        if not word.token.ends or {place, place + 1} <= self._held:
            return False
        return not ((word.noun or place in self._held) and after.is_stop)

    def _deny_last(self) -> bool:
        """Negate what was read last, as in `which tools delete nothing`; return if there is any."""
        self._is_denied = bool(self._state)
        if self._kinds and not self._state:
            self._denied, self._kinds, self._verb = self._kinds, _NO_KINDS, ""
        return bool(self._state or self._denied)

    def _make(self, listed: str) -> CatalogQuestion:
        about = self._about or ([self._verb] if self._is_operation else [])
        kinds, denied, is_only = self._kinds, self._denied, self._is_only
        if denied and is_only and not kinds:
            kinds, denied, is_only = ALL - denied, _NO_KINDS, False  # `not read-only`
        if is_only:
            kinds = kinds & READING or kinds
        return CatalogQuestion(
            *(listed, kinds, denied, is_only, self._state, self._is_denied, self._is_outside),
            *(tuple(self._sources), tuple(self._categories), tuple(self._unknown.items())),
            *(tuple(about), self._verb),
        )

    def _read_source_alone(self) -> CatalogQuestion | None:
        """Read `what can the slack server do`, which has no noun for the listed things."""
        others = [one for at, one in enumerate(self._words) if at not in self._held]
        place = min(self._held)
        is_meant = self._is_led(place) or self._nouns_beside(range(place, place + 1))
        is_asked = any(
            one.has(("what", "all", "want")) for one in others[:1] if not one.has(("who",))
        )
        is_asked = is_asked and bool(is_meant or self._is_unspaced)
        are_empty = all(one.is_stop or one.noun or one.has(_EMPTY) for one in others)
        return self._make(Listing.TOOLS) if is_asked and are_empty else None

    def _read_opening(self, head: int) -> bool:
        """Read the words before the noun; return whether all of them may come there."""
        for at, word in enumerate(self._words[:head]):
            if self._read_name(at) or word.noun or self._read_property(word):
                continue
            if word.kinds and 0 < at == head - 1 and not word.opens_a_list():
                self._take_verb(at)  # `all delete tools`
            elif word.has(("how",)) and self._words[at + 1].has(("count",)):
                continue
            elif word.has(_OTHER_QUESTIONS):
                return False
            elif not (word.is_stop or word.has(_OPENING)):
                if at != head - 1 or self._words[head].noun != Listing.TOOLS:
                    return False
                self._take_unknown(at)
        self._is_negated = self._is_negated and head - 1 not in self._held
        return True

    def _read_conditions(self, start: int) -> bool:
        """Read the words after the noun; return whether they fit a question about the catalog."""
        about: list[str] = []
        for at in range(start, len(self._words)):
            word, is_begun = self._words[at], bool(about or self._verb or self._denied)
            if self._read_name(at) or word.noun or (not about and self._read_property(word)):
                continue
            if self._is_verb(at, is_late=bool(about)):
                self._take_verb(at)
            elif not is_begun and word.has(_OTHER_QUESTIONS):
                return False
            elif word.is_stop or (word.token.cues and not is_begun):
                continue
            elif self._is_negated and self._words[at + 1 :] and self._words[at + 1].has(_OF):
                continue  # `except those of`
            elif not is_begun and (self._is_led(at, _OF) or self._is_beside_a_group(at)):
                self._take_unknown(at)
            else:
                about.append(word.token.text)
        self._about += about
        return True

    def _is_verb(self, place: int, *, is_late: bool) -> bool:
        """Return whether the word at a *place* says what tools do; *is_late* after their topic.

        English has verbs before their objects, and no verb after an article or preposition.
        """
        word, before = self._words[place], self._words[place - 1]
        is_noun = before.token.folded in _ARTICLES
        is_noun = is_noun or (before.has(("of", "for")) and word.token.folded.endswith(_PLURAL))
        if is_noun and not word.token.folded.endswith(_NOMINAL):
            return False
        is_further = self._is_negated or before.has(_JOINING)  # `create and delete`
        is_first = not (self._kinds or self._denied)
        return bool(word.kinds) and (is_first or is_further) and (self._is_foreign or not is_late)

    def _read_name(self, place: int) -> bool:
        """Return whether the word at a *place* is of a name, which may be negated."""
        if place not in self._held:
            return False
        self._is_outside |= self._is_negated  # `not of github`
        self._is_negated = False
        return True

    def _read_property(self, word: _Word) -> bool:
        """Read a word for a property; return whether it is such a word."""
        text = word.token.folded
        pieces = [stem(one) for one in split_words(text)]
        joined = find_kinds(stem(text.removesuffix(_ONLY)))  # of `readonly`
        state = next((_STATES[one] for one in (*word.stems, *pieces) if one in _STATES), "")
        if state:
            self._state, self._is_denied = state, self._is_negated
            self._is_negated = False
        elif word.has(("not",)):
            self._is_negated = True
        elif word.has(("only",)) or (text.endswith(_ONLY) and joined):
            self._is_only = True
            self._add_kinds(find_kinds(pieces[0]) or joined)
        else:
            return False
        return True

    def _take_verb(self, place: int) -> None:
        word, is_joined = self._words[place], self._words[place - 1].has(_JOINING)
        # `Do not create or delete`
        self._is_negated |= is_joined and bool(self._denied)
        if not self._is_negated:
            self._verb = word.token.text
            # `Rename` is an operation of a kind, and `change` is the kind.
            self._is_operation = not any(one in _name_kinds() for one in word.stems)
        self._add_kinds(word.kinds)

    def _add_kinds(self, kinds: Kinds) -> None:
        """Add operations of the tools, or such as they do not have after a word that negates."""
        if self._is_negated:
            self._denied |= kinds
        else:
            self._kinds |= kinds
        self._is_negated = self._is_negated and not kinds

    def _take_unknown(self, place: int) -> None:
        """Read a word in the place of a name, which the catalog may have as a word."""
        text = self._words[place].token.text
        is_of_a_group = self._is_beside_a_group(place)
        is_known = self._names.index.find_stem(stem(self._words[place].token.folded)) != ABSENT
        is_category = Listing.CATEGORIES in self._nouns_beside(range(place, place + 1))
        index, kept = self._names.index, self._categories if is_category else self._sources
        near = suggest(text, index.categories if is_category else index.source_ids)
        # A list of servers has no server as its condition: `how many servers are in my cluster`.
        if not is_of_a_group and (is_known or (self._lists_groups and not near)):
            self._about.append(text)
            return
        self._unknown[text] = Listing.CATEGORIES if is_category else Listing.SOURCES
        kept |= dict.fromkeys(near)
