"""Read questions about the catalog itself: which tools, sources or categories it has.

The grammar of such a question: words that open it (*which*, *how many*, *list all*), the noun of
the list (*tools*, *servers*, *categories*), and conditions: operations (*delete*, *only read*),
properties (*destructive*, *disabled*), sources or categories (*of github*), and
topics. The table of operations gives verbs their kinds, and the tables of translations
give words of other languages their meanings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from mcpg.ask.mentions import NameLookup, Token, language
from mcpg.ask.model import Listing, Mention, Spelling
from mcpg.index.layout import ABSENT
from mcpg.text import fold, get_stop_words, lexicon, split_words, stem
from mcpg.text.spelling import suggest
from mcpg.text.words import LANGUAGES, share_of_texts

Kinds = frozenset[int]
"""Kinds of operations, by their places in `lexicon.OPERATION_KINDS`."""

READING: Kinds = frozenset(range(lexicon.READING_KINDS))
WRITING: Kinds = frozenset(range(lexicon.READING_KINDS, len(lexicon.OPERATION_KINDS)))
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
_LEADING = frozenset(("of", "from", "for", "with", "aux"))
_OF = frozenset(("of", "from"))
_EMPTY = frozenset(("aux", "what", "locate", "give", "home", "docs", "all"))
_OTHER_QUESTIONS = frozenset(
    (
        *("before", "after", "similar", "example", "inherit", "import", "parameter"),
        *("depend", "way", "where", "how", "why", "take", "call"),
    )
)
_LEAST_MEANING = 0.2
_COMMON = 0.02
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
        is_only: Whether the tools do nothing else.
        state: The property `destructive`, `disabled` or `enabled`; "" for any.
        is_denied: Whether the question negates `kinds` or `state`.
        unknown: Names of no source or category, each with the kind it should have.
    """

    listed: str
    kinds: Kinds = _NO_KINDS
    is_only: bool = False
    state: str = ""
    is_denied: bool = False
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


def _read_words(tokens: Sequence[Token]) -> list[_Word]:
    texts = [fold(token.text) for token in tokens]
    spoken = language(tuple(tokens)) or lexicon.foreign_language(texts)
    stops = get_stop_words("english") | get_stop_words(spoken if spoken in LANGUAGES else "english")
    found = []
    for token, text in zip(tokens, texts, strict=True):
        stems = [stem(token.folded)]
        if spoken in lexicon.FOREIGN:
            meant = lexicon.translations(text, spoken)[1]
            stems += [one for one, strength in meant if strength >= _LEAST_MEANING]
        noun = next((_NOUNS[one] for one in stems if one in _NOUNS), "")
        meanings = () if token.folded in stops else stems
        kinds = next(filter(None, map(find_kinds, meanings)), _NO_KINDS)
        is_stop = not meanings or share_of_texts(token.folded, "english") >= _COMMON
        found.append(_Word(token, tuple(stems), noun, kinds, is_stop))
    return found


def read_catalog_question(
    tokens: Sequence[Token], mentions: Sequence[Mention], names: NameLookup
) -> CatalogQuestion | None:
    """Return the question about the catalog, `None` if it is about something else."""
    words = _read_words(tokens)
    if mentions and not any(word.noun for word in words):
        return None
    for one in mentions:
        is_pointed_at = one.end < len(words) and bool(words[one.end].noun)
        is_meant = one.is_sure or (one.spelling == Spelling.SPOKEN and is_pointed_at)
        if is_meant and not names.find_source(one.text):
            return None
    return _Reader(words, names).read()


class _Reader:
    """Reads the words of a question; members have the conditions that were read."""

    def __init__(self, words: Sequence[_Word], names: NameLookup) -> None:
        self._words, self._names = words, names
        self._held: set[int] = set()
        self._sources: dict[str, None] = {}
        self._categories: dict[str, None] = {}
        self._unknown: dict[str, str] = {}
        self._kinds, self._verb, self._state = _NO_KINDS, "", ""
        self._is_only = self._is_denied = self._is_operation = False
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
        if not (self._is_led(window.start) or nouns or self._is_only_a_name(window)):
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
        opening = [one for at, one in enumerate(words[:head]) if at not in self._held]
        is_opened = any(one.has(_ASKING) for one in opening)
        is_opened = is_opened or (bool(opening) and opening[0].has(("aux",)))
        if any(one.token.ends for one in words[head:-1]):
            return None  # of several sentences or clauses
        if not heads:
            return self._read_source_alone() if self._sources else None
        if not self._read_opening(head) or not self._read_conditions(head + 1):
            return None
        has_scope = bool(self._sources or self._categories or self._unknown)
        has_property = bool(self._kinds or self._state)
        is_bare = not (has_property or has_scope)
        is_task = bool(self._about) and (is_bare or not is_opened)
        return None if is_task or (is_bare and not is_opened) else self._make(words[head].noun)

    def _make(self, listed: str) -> CatalogQuestion:
        about = self._about or ([self._verb] if self._is_operation else [])
        return CatalogQuestion(
            *(listed, self._kinds, self._is_only, self._state, self._is_denied),
            *(tuple(self._sources), tuple(self._categories), tuple(self._unknown.items())),
            *(tuple(about), self._verb),
        )

    def _read_source_alone(self) -> CatalogQuestion | None:
        """Read `what can the slack server do`, which has no noun for the listed things."""
        others = [one for at, one in enumerate(self._words) if at not in self._held]
        is_asked = any(one.has(("what",)) for one in others[:1])
        is_asked = is_asked and self._is_led(min(self._held), ("aux",))
        are_empty = all(one.is_stop or one.noun or one.has(_EMPTY) for one in others)
        return self._make(Listing.TOOLS) if is_asked and are_empty else None

    def _read_opening(self, head: int) -> bool:
        """Read the words before the noun; return whether all of them may come there."""
        for at, word in enumerate(self._words[:head]):
            if at in self._held or word.noun or self._read_property(word):
                continue
            if word.kinds and 0 < at == head - 1 and not word.has(("all",)):
                self._take_verb(word)  # `all delete tools`
            elif word.has(("how",)) and self._words[at + 1].has(("count",)):
                continue
            elif word.has(_OTHER_QUESTIONS):
                return False
            elif not (word.is_stop or word.has(_OPENING)):
                if at != head - 1 or self._words[head].noun != Listing.TOOLS:
                    return False
                self._take_unknown(at)
        return True

    def _read_conditions(self, start: int) -> bool:
        """Read the words after the noun; return whether they fit a question about the catalog."""
        about: list[str] = []
        for at in range(start, len(self._words)):
            word, is_begun = self._words[at], bool(about or self._verb)
            if at in self._held or word.noun or (not about and self._read_property(word)):
                continue
            if word.kinds and not (about or self._kinds):
                self._take_verb(word)
            elif not is_begun and word.has(_OTHER_QUESTIONS):
                return False
            elif word.is_stop or (word.token.cues and not is_begun):
                continue
            elif not is_begun and (self._is_led(at, _OF) or self._is_beside_a_group(at)):
                self._take_unknown(at)
            else:
                about.append(word.token.text)
        self._about += about
        return True

    def _read_property(self, word: _Word) -> bool:
        """Read a word for a property; return whether it is such a word."""
        pieces = [stem(one) for one in split_words(word.token.folded)]
        state = next((_STATES[one] for one in (*word.stems, *pieces) if one in _STATES), "")
        if state:
            self._state = state
        elif word.has(("not",)):
            self._is_denied = True
        elif word.has(("only",)):
            self._is_only = True
            self._kinds = find_kinds(pieces[0]) or self._kinds  # `read-only`
        else:
            return False
        return True

    def _take_verb(self, word: _Word) -> None:
        self._kinds, self._verb = word.kinds, word.token.text
        # `Rename` is an operation of a kind, and `change` is the kind.
        self._is_operation = not any(one in _name_kinds() for one in word.stems)

    def _take_unknown(self, place: int) -> None:
        """Read a word in the place of a name, which the catalog may have as a word."""
        text = self._words[place].token.text
        nouns = self._nouns_beside(range(place, place + 1))
        is_known = self._names.index.find_stem(stem(self._words[place].token.folded)) != ABSENT
        if is_known and not self._is_beside_a_group(place):
            self._about.append(text)
        elif Listing.CATEGORIES in nouns:
            self._unknown[text] = Listing.CATEGORIES
            self._categories |= dict.fromkeys(suggest(text, self._names.index.categories))
        else:
            self._unknown[text] = Listing.SOURCES
            self._sources |= dict.fromkeys(suggest(text, self._names.index.source_ids))
