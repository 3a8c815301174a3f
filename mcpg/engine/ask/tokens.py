"""The words of a question, each with what its form and its meaning show.

Words that structure a question (*before*, *which*, *example*) come from a list of closed classes in
several languages. Scripts without spaces are searched for the words of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby

from mcpg.text import fold, language_of, split_words, stem, stop_words_of, strip_accents
from mcpg.text.spelling import edit_distance
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
# A word that stands in more texts of a hundred words than this says nothing by itself.
_COMMON = 0.02


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question.

    Attributes:
        text: As written, without the signs around it.
        folded: Folded, without accents.
        is_marked: Whether it stands in backticks or before `()`.
        is_identifier: Whether its form is that of a name in a program: it has seams.
        ends: Whether a sign behind it ends a part of the question.
        cues: The kinds of cues that it is.
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
    text = (files("mcpg.engine.ask") / "data" / "cues.txt").read_text(encoding="utf-8")
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


@cache
def _long_cues() -> tuple[str, ...]:
    """Return the cues that are long enough to be recognised when they are misspelt."""
    return tuple(word for word in _cues()[0] if len(word) >= _SHORTEST_MISSPELT)


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
    near = (cue for cue in _long_cues() if edit_distance(word, cue, 1) is not None)
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
                found[-1] = _ending(found[-1])
            if len(found) == MOST_TOKENS:
                return tuple(found)
    return tuple(found)


def _parts(piece: str) -> Iterator[str]:
    """Cut a piece without spaces where the script changes and at signs between names."""
    if piece.isascii():
        yield from _split_at_signs(piece)
        return
    for unspaced, letters in groupby(piece, is_unspaced):
        text = "".join(letters)
        if unspaced:
            yield text
        else:
            yield from _split_at_signs(text)


def _split_at_signs(text: str) -> Iterator[str]:
    inner = text.strip(_EDGES)
    if not any(sign in inner for sign in _SEPARATORS):
        yield text
        return
    for sign in _SEPARATORS:
        text = text.replace(sign, f"{sign} ")
    yield from text.split()


def _parse_token(part: str) -> Token | None:
    text = part.strip(_EDGES)
    if not text:
        return None
    for clitic in ("'s", "\u2019s"):
        text = text.removesuffix(clitic)
    before, behind = part[: part.find(text[:1])], part[part.rfind(text[-1:]) + 1 :]
    is_marked = before.endswith("`") or behind.startswith("()")
    folded = strip_accents(fold(text))
    cues = find_cues(folded) or _NOTHING.union(*map(find_cues, folded.split("-")))
    return Token(text, folded, is_marked, has_seams(text), any(map(behind.count, ".,;:?!")), cues)


def _ending(token: Token) -> Token:
    return Token(token.text, token.folded, token.is_marked, token.is_identifier, True, token.cues)


def has_seams(text: str) -> bool:
    """Return whether *text* has the form of a compound name: `a_b`, `a-b`, `a.b`, `aB`, `a::b`."""
    if not any(map(str.isalpha, text)) or is_unspaced(text[0]):
        return False
    if any(sign in text[1:-1] for sign in _JOINTS):
        return True
    return len(split_words(text)) > 1 and "'" not in text and "\u2019" not in text


def does(tokens: Sequence[Token], verb: int, name: int) -> bool:
    """Return whether what is named at *name* does what the verb at *verb* says: *X calls*.

    Otherwise something else does it to the named: *calls X*, *X is called*.
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
    return language_of(words, _ENGLISH)


def is_content(token: Token, spoken: str | None) -> bool:
    """Return whether *token* carries content in the language *spoken*: no stop word or cue."""
    if token.cues or not any(map(str.isalnum, token.folded)):
        return False
    if spoken in LANGUAGES and token.folded in stop_words_of(spoken):
        return False
    if spoken in {_ENGLISH, None}:
        return (
            token.folded not in stop_words_of(_ENGLISH)
            and share_of_texts(token.folded, _ENGLISH) < _COMMON
        )
    return True
