"""Reading ahead: what searches of a catalogue look up, read before the first of them.

A search keeps what it reads of an index for the first time, within bounds: what words stand for,
postings, names, 3-grams, edges. In a new engine, this takes about half as long as the rest of a
search. A process that prepares for many searches reads it beforehand, unless the catalogue is so
large that only a part of it, which may never be asked for, would be kept.
"""

from __future__ import annotations

from mcpg.engine.arrays import ARRAYS
from mcpg.engine.prerequisites import IndexCache as NeedMemo
from mcpg.engine.prerequisites import find_needs
from mcpg.engine.query_terms import WordCache, TermReader
from mcpg.index import Index
from mcpg.text import lexicon
from mcpg.text.words import read_stop_words

MOST_TOOLS = 4_096
"""Tools are read ahead where there are up to so many; each takes about six kilobytes."""

MOST_WORDS = 4_096
"""What so many words stand for is read ahead, the most frequent; each takes about two kilobytes."""

MOST_FREQUENT = 4_096
"""So many words of the language of the catalogue are read as well, the most frequent ones."""

MOST_POSTINGS = 262_144
"""Postings are read ahead where there are up to so many; each takes about a hundred bytes."""

_TABLES = ("keys", "phrases", "terms", "words")


def preload(index: Index, memo: WordCache, needs: NeedMemo) -> None:
    """Read what searches of *index* look up, and keep it there, in *memo* and in *needs*.

    Raises:
        StaleIndexError: The index is damaged.
    """
    lexicon.read_ahead()
    read_stop_words()
    for name in _TABLES:
        index.keys(name).read_ahead()
    _read_postings(index)
    _read_words(index, memo)
    _read_tools(index, needs)


def _read_postings(index: Index) -> None:
    if len(index.section("postings")) <= MOST_POSTINGS:
        for term in range(len(index.texts("terms"))):
            index.impacts(term)


def _read_words(index: Index, memo: WordCache) -> None:
    """Read the words of the catalogue, and the usual ones of its language, as those of queries."""
    terms = index.section("words.term")
    numbers = sorted(range(len(terms)), key=lambda word: -index.document_frequency(terms[word]))
    language = index.language or lexicon.ENGLISH
    reader = TermReader(index, language, memo)
    reader.read_stems()
    words = *map(index.word, numbers[:MOST_WORDS]), *lexicon.frequent_words(language, MOST_FREQUENT)
    for term in reader.read(words):
        index.grams.of_word(term.repairs[0].word if term.repairs else term.text)


def _read_tools(index: Index, needs: NeedMemo) -> None:
    if len(index) > MOST_TOOLS:
        return
    # Where numpy is in use, it reads 3-grams from the file.
    reads_grams = ARRAYS.grams(len(index.section("grams")), index) is None
    for tool in range(len(index)):
        index.names.of_tool(tool)
        if reads_grams:
            index.grams.of_tool(tool)
        index.edges(tool)
        find_needs(tool, index, needs)
