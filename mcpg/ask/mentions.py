"""Recognize names in a question: tools, fields of schemas and symbols of code.

A name counts as meant when it is in one piece with its seams (`git_commit`, `gitCommit`), when
quotation marks or a noun beside it mark it, or when it is not a common word. Names with spaces
between words, and single common words, are mentions of a lesser kind: *find the next open issue*
may contain the name of a tool by accident.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Protocol

from mcpg.ask.model import Mention, MentionKind, Spelling
from mcpg.catalog.model import walk_parameters
from mcpg.index import Index
from mcpg.text import (
    detect_language,
    fold,
    get_stop_words,
    join_words,
    lexicon,
    split_words,
    stem,
    strip_accents,
)
from mcpg.text.spelling import allowed_edits, edit_distance, signature
from mcpg.text.words import LANGUAGES, is_unspaced, share_of_texts

MOST_TOKENS = 256
"""The most words of a question that are read."""

_LONGEST_TOKEN = 512
_ENGLISH = "english"
_JOINTS = "_-.:/\\"
_EDGES = (
    "\"'`()[]{}<>,;!?.:*~\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
    "\u3002\uff0c\uff1f\uff01\u2026\u00bf\u00a1"
)
_SEPARATORS = ",;|()=+\u3001"
_SHORTEST_MISSPELT = 6
_MOST_REMEMBERED = 4_096
# A word that is in more texts of a hundred words than this means nothing by itself.
_COMMON = 0.02


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question.

    Attributes:
        text: As written, without the signs around it.
        is_marked: Whether it is in backticks or before `()`.
        is_identifier: Whether it looks like a name in a program: it has seams.
        ends: Whether a sign after it ends a part of the question.
    """

    text: str
    folded: str
    is_marked: bool
    is_identifier: bool
    ends: bool
    cues: frozenset[str]


@cache
def _cues() -> tuple[dict[str, frozenset[str]], dict[str, str]]:
    """Return the kinds of each cue in scripts with spaces, and in others."""
    found: dict[str, set[str]] = {}
    unspaced: dict[str, str] = {}
    text = (files("mcpg.ask") / "data" / "cues.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        kind, language, *words = line.split()
        for word in words:
            if is_unspaced(word[0]):
                unspaced[word] = kind
                continue
            found.setdefault(word, set()).add(kind)
            if language == _ENGLISH:
                found.setdefault(stem(word), set()).add(kind)
    return {word: frozenset(kinds) for word, kinds in found.items()}, unspaced


_NOTHING = frozenset[str]()


@lru_cache(maxsize=_MOST_REMEMBERED)
def find_cues(word: str) -> frozenset[str]:
    """Return the kinds of cues that a folded *word* is, misspelt by one edit or not."""
    spaced, unspaced = _cues()
    if word and is_unspaced(word[0]):
        kinds = [unspaced[cue] for cue in unspaced if cue in word]
        return frozenset(kinds)
    known = spaced.get(word, _NOTHING) | spaced.get(stem(word), _NOTHING)
    if known or len(word) < _SHORTEST_MISSPELT:
        return known
    if share_of_texts(word, _ENGLISH):
        return _NOTHING
    long = (cue for cue in spaced if len(cue) >= _SHORTEST_MISSPELT)
    near = (cue for cue in long if edit_distance(word, cue, 1) is not None)
    return spaced[best] if (best := next(near, "")) else _NOTHING


def tokenize_question(question: str) -> tuple[Token, ...]:
    """Return the words of *question*, at most `MOST_TOKENS`."""
    found: list[Token] = []
    for piece in question.split():
        for part in _parts(piece[:_LONGEST_TOKEN]):
            token = _parse_token(part)
            if token is not None:
                found.append(token)
            elif found and part[-1:] in ".,;:?!":
                found[-1] = replace(found[-1], ends=True)
            if len(found) == MOST_TOKENS:
                return tuple(found)
    return tuple(found)


def _parts(piece: str) -> Iterator[str]:
    """Cut a piece without spaces at changes of script and at signs between names."""
    for unspaced, letters in groupby(piece, is_unspaced):
        text = "".join(letters)
        inner = "" if unspaced else text.strip(_EDGES)
        if any(sign in inner for sign in _SEPARATORS):
            for sign in _SEPARATORS:
                text = text.replace(sign, f"{sign} ")
            yield from text.split()
        else:
            yield text


def _parse_token(part: str) -> Token | None:
    text = part.strip(_EDGES)
    if not text:
        return None
    for clitic in ("'s", "\u2019s"):
        text = text.removesuffix(clitic)
    before, behind = part[: part.find(text[:1])], part[part.rfind(text[-1:]) + 1 :]
    is_marked = before.endswith("`") or behind.startswith("()")
    folded = strip_accents(fold(text))
    if not folded:  # it shows nothing
        return None
    cues = find_cues(folded) or _NOTHING.union(*map(find_cues, folded.split("-")))
    return Token(text, folded, is_marked, has_seams(text), any(map(behind.count, ".,;:?!")), cues)


def has_seams(text: str) -> bool:
    """Return whether *text* has the form of a compound name: `a_b`, `a-b`, `a.b`, `aB`, `a::b`."""
    if not any(map(str.isalpha, text)) or is_unspaced(text[0]):
        return False
    if any(sign in text[1:-1] for sign in _JOINTS):
        return True
    return len(split_words(text)) > 1 and "'" not in text and "\u2019" not in text


def does(tokens: Sequence[Token], verb: int, name: int) -> bool:
    """Return whether the thing named at *name* is the subject of the verb at *verb*: *X calls*.

    Otherwise the named thing is its object: *calls X*, *X is called*.
    """
    token, follower = tokens[verb], tokens[verb + 1].folded if verb + 1 < len(tokens) else ""
    is_participle = token.folded.endswith(_PARTICIPLES) and token.folded != stem(token.folded)
    is_first = name < verb
    is_passive = is_participle and (follower != "from" if is_first else follower == "by")
    return is_first != is_passive


_PARTICIPLES = ("ed", "gerufen")


def language(tokens: tuple[Token, ...]) -> str | None:
    """Return the language of a question by its stop words, `None` if unknown."""
    words = [token.folded for token in tokens if not token.is_identifier]
    if words and sum(1 for word in words if is_unspaced(word[0])) * 2 > len(words):
        return None
    return detect_language(words, _ENGLISH)


def is_content(token: Token, spoken: str | None) -> bool:
    """Return whether *token* carries content in the language *spoken*: no stop word or cue."""
    if token.cues or not any(map(str.isalnum, token.folded)):
        return False
    if spoken in LANGUAGES and token.folded in get_stop_words(spoken):
        return False
    if spoken in {_ENGLISH, None}:
        return (
            token.folded not in get_stop_words(_ENGLISH)
            and share_of_texts(token.folded, _ENGLISH) < _COMMON
        )
    return True


_MOST_WORDS = 6
_LEAST_PIECES = 2
_SHORTEST_NAME = 2
_SHORTEST_REPAIRED = 5
# A word in more texts of a hundred words than this is rather meant as a word.
_COMMON_NAME = 0.0
_FIELD_DEPTH = 4
_MOST_FIELDS = 128
_ID_SEPARATORS = ("::", "/", ".", ":")


FieldEntry = tuple[str, tuple[int, ...], tuple[int, ...]]
"""The name of a field, the tools that take it, and the tools that return it."""


def name_field(path: str) -> str:
    """Return the name of the field at a *path* of a schema."""
    return path.rpartition(".")[2].replace("[]", "").replace("*", "")


class NameLookup:
    """Looks up tools and fields of an index by the joined forms of their names."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def tools(self, text: str) -> tuple[int, ...]:
        """Return the tools with the name or id *text*, however its words are joined.

        `source::name` means only the tool of that source.
        """
        found = self._find_exact_tools(join_words(text))
        if found:
            return found
        for sign in _ID_SEPARATORS:
            source, _, name = text.rpartition(sign)
            if source and name:
                of_source = join_words(source)
                named = self._find_exact_tools(join_words(name))
                kept = [one for one in named if join_words(self.index.source_id(one)) == of_source]
                if kept:
                    return tuple(kept)
        return ()

    def _find_exact_tools(self, key: str) -> tuple[int, ...]:
        """Return the tools with a name or id, not an alias, that joined is *key*."""
        if len(key) < _SHORTEST_NAME:
            return ()
        index = self.index
        return tuple(
            one
            for one in index.exact(key)
            if key in {join_words(index.tool_name(one)), join_words(index.tool_id(one))}
        )

    def find_source(self, text: str) -> str:
        """Return the source with the name *text*, however its words are joined; "" for none."""
        return self._sources.get(join_words(text), "")

    def find_category(self, text: str) -> str:
        """Return the category with the name *text*, in the same way."""
        return self._categories.get(join_words(text), "")

    @cached_property
    def _sources(self) -> dict[str, str]:
        return {join_words(one): one for one in self.index.source_ids}

    @cached_property
    def _categories(self) -> dict[str, str]:
        return {join_words(one): one for one in self.index.categories}

    @cached_property
    def fields(self) -> dict[str, FieldEntry]:
        """The fields of all schemas, by their joined names."""
        return self.find_tool_fields(range(len(self.index)))

    def find_tool_fields(self, tools: Iterable[int]) -> dict[str, FieldEntry]:
        """Return the fields of the schemas of *tools*, as `fields` has them."""
        names: dict[str, str] = {}
        taken: dict[str, dict[int, None]] = {}
        given: dict[str, dict[int, None]] = {}
        for number in tools:
            tool = self.index.record(number).tool
            for schema, held in ((tool.input_schema, taken), (tool.output_schema or {}, given)):
                found = walk_parameters(schema, max_depth=_FIELD_DEPTH, max_parameters=_MOST_FIELDS)
                for parameter in found:
                    name = name_field(parameter.path)
                    key = join_words(name)
                    if key:
                        names.setdefault(key, name)
                        held.setdefault(key, {})[number] = None
        return {
            key: (name, tuple(taken.get(key, ())), tuple(given.get(key, ())))
            for key, name in names.items()
        }

    def repair_name(self, text: str) -> str:
        """Return the joined name of a tool or field that *text* misspells, or ""."""
        key = join_words(text)
        allowed = allowed_edits(key)
        if len(key) < _SHORTEST_REPAIRED or not allowed:
            return ""
        mine = signature(key)
        for bound in range(1, allowed + 1):
            near = [
                name
                for name, theirs in self._signatures
                if abs(len(name) - len(key)) <= bound
                and (mine ^ theirs).bit_count() <= 2 * bound
                and edit_distance(key, name, bound) is not None
            ]
            if near:
                return min(near, key=lambda name: (not self._find_exact_tools(name), name))
        return ""

    @cached_property
    def _signatures(self) -> tuple[tuple[str, int], ...]:
        index = self.index
        names = {join_words(index.tool_name(one)) for one in range(len(index))}
        return tuple((name, signature(name)) for name in sorted({*names, *self.fields}) if name)


class SymbolNames(Protocol):
    """Looks up the names of source code."""

    def has(self, name: str) -> bool:
        """Return whether a symbol is called *name*, in any case."""
        ...

    def near(self, name: str) -> str:
        """Return the name of a symbol that *name* misspells, "" if none is near."""
        ...

    def imports(self, name: str) -> bool:
        """Return whether a file imports a library called *name*."""
        ...


def recognise(
    tokens: Sequence[Token], names: NameLookup, symbols: SymbolNames
) -> tuple[Mention, ...]:
    """Return the mentions in *tokens*, in order of place, without overlap."""
    found = [one for place in range(len(tokens)) if (one := _single(tokens, place, names, symbols))]
    if any(one.kind == MentionKind.SYMBOL and tokens[one.start].is_identifier for one in found):
        # "Parent" is a relation in `the parent class of ShopClient`, though a class has the name.
        found = [one for one in found if not tokens[one.start].cues & _OF_CODE]
    found += _find_paired_symbols(tokens, {one.start for one in found}, symbols)
    found = found or [*_bare_symbols(tokens, symbols)]
    taken = {place for one in found for place in range(one.start, one.end) if one.is_sure}
    spoken = list(_find_spoken_names(tokens, names, taken))
    held = taken.union(*(range(one.start, one.end) for one in spoken))
    kept = [one for one in found if one.is_sure or one.start not in held]
    mentions = sorted((*kept, *spoken), key=lambda one: one.start)
    fields = [*_find_plain_fields(tokens, mentions, names)]
    # A tool is surely meant if it is the only tool with a sure field: `max_length in fetch`.
    named = [one for one in (*mentions, *fields) if one.kind == MentionKind.FIELD and one.is_sure]
    promoted = [
        replace(one, spelling=Spelling.NAME)
        if one.spelling == Spelling.WORD and any({*of.tools} <= {*one.tools} for of in named)
        else one
        for one in mentions
    ]
    return tuple(sorted((*promoted, *fields), key=lambda one: one.start))


def _single(
    tokens: Sequence[Token], place: int, names: NameLookup, symbols: SymbolNames
) -> Mention | None:
    token = tokens[place]
    if not any(map(str.isalpha, token.text)):
        return None
    is_form = token.is_identifier or token.is_marked
    tools = names.tools(token.text)
    if tools and (is_form or len(tokens) == 1 or token.folded not in get_stop_words(_ENGLISH)):
        sure = is_form or len(tokens) == 1 or (len(tokens) <= _SHORT and is_rare(token))
        spelling = Spelling.NAME if sure and not _is_prose(token, names, tools) else Spelling.WORD
        return _mention(MentionKind.TOOL, token, tools, spelling, place)
    # It may be the only word, have a capital, or be marked by a noun.
    has_capital = token.text[:1].isupper() and place > 0
    is_symbol_like = has_capital or _is_of_kind(tokens, place)
    is_stop_word = token.folded in get_stop_words(_ENGLISH)
    may_be_symbol = is_form or len(tokens) == 1 or (is_symbol_like and not is_stop_word)
    if may_be_symbol and symbols.has(token.text):
        return _mention(MentionKind.SYMBOL, token, (), Spelling.NAME, place)
    found = _field_or_slip(token, names, place) if is_form else None
    return found or (_misspelt_symbol(tokens, place, symbols) if may_be_symbol else None)


def _misspelt_symbol(tokens: Sequence[Token], place: int, symbols: SymbolNames) -> Mention | None:
    """Return the symbol that the word at *place*, which is not English, misspells."""
    token = tokens[place]
    is_known = not token.is_identifier and _is_english(token)
    is_name = token.is_identifier or _is_of_kind(tokens, place)
    is_short = len(token.text) < _SHORTEST_REPAIRED or len(tokens) > _SHORT
    if is_short or "-" in token.text or is_known or not is_name:
        return None
    name = symbols.near(token.text)
    if not token.is_identifier and edit_distance(fold(token.text), fold(name), 1) is None:
        return None
    return _mention(MentionKind.SYMBOL, token, (), Spelling.REPAIRED, place, name) if name else None


def _bare_symbols(tokens: Sequence[Token], symbols: SymbolNames) -> Iterable[Mention]:
    """Return the symbols that look like common words, in a question only about code."""
    cues = _NOTHING.union(*(token.cues for token in tokens))
    is_asked = not (cues.isdisjoint(_OF_CODE) or cues.isdisjoint(_ASKING))
    spoken = language(tuple(tokens)) or _ENGLISH
    stops = get_stop_words(spoken if spoken in LANGUAGES else _ENGLISH) | get_stop_words(_ENGLISH)
    for place, token in enumerate(tokens):
        if len(tokens) > _SHORT or token.folded in stops or not is_asked:
            continue
        if "import" in cues - token.cues and symbols.imports(token.text):
            yield _mention(MentionKind.SYMBOL, token, (), Spelling.NAME, place)
            continue
        # The last word of "what calls compose" is the object, whatever else it may mean.
        is_object = place == len(tokens) - 1 and not tokens[place - 1].cues.isdisjoint(_OF_CODE)
        is_free = is_object or not token.cues
        if is_free and len(token.text) >= _SHORTEST_BARE and symbols.has(token.text):
            yield _mention(MentionKind.SYMBOL, token, (), Spelling.WORD, place)


def _find_paired_symbols(
    tokens: Sequence[Token], named: Collection[int], symbols: SymbolNames
) -> Iterator[Mention]:
    """Yield the symbols of `from X to Y` and `X versus Y`, which are names by their places.

    Symbols at the places *named* are left out.
    """
    cues = _NOTHING.union(*(token.cues for token in tokens))
    for first in range(len(tokens) - 2):
        before = tokens[first - 1].cues if first else _NOTHING
        joint = tokens[first + 1].cues
        is_way = "from" in before and "to" in joint and not cues.isdisjoint(("call", "way"))
        is_pair = "similar" in (joint if "and" not in joint else cues)
        pair = first, first + 2
        is_short = len(tokens) <= _SHORT
        if is_short and (is_way or is_pair) and all(symbols.has(tokens[one].text) for one in pair):
            for place in pair:
                if place not in named:
                    yield _mention(MentionKind.SYMBOL, tokens[place], (), Spelling.NAME, place)


_OF_CODE = frozenset(("call", "inherit", "import"))
_ASKING = frozenset(("what", "where", "how", "of"))
_SHORTEST_BARE = 3


def _field_or_slip(token: Token, names: NameLookup, place: int) -> Mention | None:
    """Return the field that *token* names, or the tool or field that it misspells."""
    key = join_words(token.text)
    if len(key) < _SHORTEST_NAME:
        return None
    if key in names.fields:
        spelling = Spelling.WORD if _is_prose(token, names, ()) else Spelling.NAME
        return _field(token, key, names, spelling, place)
    is_cut = len(split_words(token.text)) >= _LEAST_PIECES
    is_plain = is_cut and not any(map(str.isdigit, token.text))
    key = names.repair_name(token.text) if is_plain else ""
    tools = names.tools(key) if key else ()
    if tools:
        return _mention(MentionKind.TOOL, token, tools, Spelling.REPAIRED, place, key)
    if not key or "-" in token.text:
        return None
    return _field(token, key, names, Spelling.REPAIRED, place)


def _mention(
    kind: str, token: Token, tools: tuple[int, ...], spelling: str, place: int, name: str = ""
) -> Mention:
    return Mention(kind, token.text, name or token.text, spelling, tools, place, place + 1)


def _field(token: Token, key: str, names: NameLookup, spelling: str, place: int) -> Mention:
    name, taken, given = names.fields[key]
    tools = tuple(dict.fromkeys((*taken, *given)))
    return _mention(MentionKind.FIELD, token, tools, spelling, place, name)


def _is_prose(token: Token, names: NameLookup, tools: tuple[int, ...]) -> bool:
    """Return whether a hyphen joins two words of prose that a name also has: `check-in`."""
    text = token.text
    if token.is_marked or "-" not in text or any(sign in text for sign in "_.:/"):
        return False
    is_one_word = text == text.lower() and text.count("-") == 1
    return is_one_word and not any("-" in names.index.tool_name(tool) for tool in tools)


def is_pointed_at(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a noun beside the word marks it as a name: `the fetch tool`."""
    after = tokens[place + 1] if place + 1 < len(tokens) and not tokens[place].ends else None
    before = tokens[place - 1] if place and not tokens[place - 1].ends else None
    beside = [one for one in (after, before) if one is not None]
    return any(_NOUN in one.cues or "parameter" in one.cues for one in beside)


_NOUN = "thing"


def is_rare(token: Token) -> bool:
    """Return whether the word is not a usual English word."""
    return len(token.folded) > _LONGEST_COMMON and not _is_english(token)


def _is_english(token: Token) -> bool:
    is_common = share_of_texts(token.folded, _ENGLISH) > _COMMON_NAME
    return is_common or bool(lexicon.zipf_frequency(token.folded, _ENGLISH))


_LONGEST_COMMON = 11
# In a longer question, even a rare word may be used as a plain word.
_SHORT = 16


def _is_of_kind(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a noun beside the word is of a kind of symbol: `the login method`."""
    # "Which classes extend X" names no symbol `extend`, "the extend function" does.
    beside = [place + 1] if tokens[place].cues else [place + 1, place - 1]
    return any(
        not _KINDS.isdisjoint((tokens[one].folded, stem(tokens[one].folded)))
        and not tokens[min(one, place)].ends
        for one in beside
        if 0 <= one < len(tokens)
    )


KIND_WORDS = (
    "class",
    "constructor",
    "enum",
    "function",
    "interface",
    "method",
    "struct",
    "trait",
    "type",
)
"""Words for kinds of symbols."""

_KINDS = frozenset(map(stem, KIND_WORDS)) | frozenset(
    ("clase", "classe", "klasse", "metodo", "methode", "funktion", "funcion", "funzione")
)


def _find_spoken_names(
    tokens: Sequence[Token], names: NameLookup, taken: set[int]
) -> Iterable[Mention]:
    """Return the names of tools that are spelt as several words, the longest first."""
    place = 0
    while place < len(tokens):
        for count in range(min(_MOST_WORDS, len(tokens) - place), 1, -1):
            window = range(place, place + count)
            part = tokens[place : place + count]
            if taken.intersection(window) or any(one.ends for one in part[:-1]):
                continue
            text = " ".join(one.text for one in part)
            tools = names.tools("".join(one.folded for one in part))
            if tools:
                whole = count == len(tokens)
                spelling = Spelling.NAME if whole else Spelling.SPOKEN
                yield Mention(MentionKind.TOOL, text, text, spelling, tools, place, place + count)
                place += count - 1
                break
        place += 1


def _find_plain_fields(
    tokens: Sequence[Token], mentions: Sequence[Mention], names: NameLookup
) -> Iterable[Mention]:
    """Return the fields, written as single words, of tools that are also mentioned."""
    mentioned = {tool for one in mentions if one.kind == MentionKind.TOOL for tool in one.tools}
    fields = names.find_tool_fields(sorted(mentioned)) if mentioned else {}
    held = {place for one in mentions for place in range(one.start, one.end)}
    for place, token in enumerate(tokens):
        if place in held:
            continue
        key = join_words(token.text)
        is_named = token.is_marked or is_pointed_at(tokens, place)
        if len(key) < _SHORTEST_NAME:
            continue
        if not is_named and (token.cues or token.folded in get_stop_words(_ENGLISH)):
            continue
        entry = fields.get(key)
        if entry is not None:
            yield _field(token, key, names, Spelling.NAME if is_named else Spelling.WORD, place)
