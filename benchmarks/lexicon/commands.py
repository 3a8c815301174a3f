"""What commands of a shell do: the stems of the one line that describes them in tldr-pages.

A name that is an English word, such as `find`, `cat` or `fetch`, speaks for itself. What is no
action, as of a program that does many things, is left out: its description names a subject.
"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

import vocabulary
import wordnet
from translation import Table

from mcpg.text import get_stop_words, lexicon, split_words, stem

STRENGTHS = (0.9, 0.6)
"""The similarity of a command to the verb that its description begins with, and to other words."""

MOST_WORDS = 6
PLATFORMS = ("common", "linux", "osx", "windows")
_STOPS = get_stop_words("english")


def commands(known: Container[str], cache: Path) -> Table:
    """Return the *known* stems that describe a command, by its folded name."""
    senses = wordnet.senses(cache)
    table: Table = {}
    for platform in PLATFORMS:
        for path in sorted((cache / "tldr" / "pages" / platform).glob("*.md")):
            name = vocabulary.folded(path.stem)
            is_frequent = lexicon.zipf_frequency(name, lexicon.ENGLISH) >= lexicon.COMMON
            is_word = is_frequent or wordnet.is_common(senses.get(name, ()))
            if len(name) > 1 and name.isalnum() and name.isascii() and not is_word:
                stems = _describe(path.read_text(encoding="utf-8"))
                kept = [one for one in stems if one in known and one != stem(name)][:MOST_WORDS]
                if kept:
                    row = dict.fromkeys(kept, STRENGTHS[1]) | {kept[0]: STRENGTHS[0]}
                    table.setdefault(name, row)
    return table


def _describe(page: str) -> list[str]:
    """Return the stems of the content words of the first sentence of a *page*.

    A sentence that does not begin with a verb has none.
    """
    lines = [line[2:] for line in page.splitlines() if line.startswith("> ")]
    if not lines or "alias of" in lines[0]:
        return []
    sentence = re.split(r"\.(?:\s|$)", re.sub(r"\([^)]*\)|`[^`]*`", " ", lines[0]))[0]
    words = split_words(sentence)
    if not words or not lexicon.operation_shares(stem(words[0])):
        return []
    told = [stem(word) for word in words if word.isalpha() and word not in _STOPS]
    return [*dict.fromkeys(told)]
