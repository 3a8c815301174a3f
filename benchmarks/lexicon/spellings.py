"""Which English stems are spellings of one word: `colour` and `color`, `organise` and `organize`.

VarCon lists the spellings of a word in one line. Its words that no dictionary has, its rare uses
and its improper forms are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import vocabulary
from translation import Table

from mcpg.text import stem

MOST_LEVEL = 70
"""The level of SCOWL up to which words are in dictionaries."""


def spellings(cache: Path) -> Table:
    """Return for each stem that is spelt in several ways the others, all of strength 1."""
    table: Table = defaultdict(dict)
    for words in _lines(cache / "wordlist" / "varcon" / "varcon.txt"):
        stems = {stem(word) for word in words}
        for one in stems:
            table[one].update(dict.fromkeys(stems - {one}, 1.0))
    return {one: row for one, row in table.items() if row}


def _lines(path: Path) -> Iterator[list[str]]:
    """Yield the folded spellings of each line that is of common use."""
    level = 0
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("#"):
            found = re.search(r"\(level (\d+)\)", line)
            level = int(found[1]) if found else level
            continue
        body, _, note = line.partition("#")[0].strip().partition(" | ")
        if level <= MOST_LEVEL and "(-)" not in note:
            tagged = (entry.split(": ", 1) for entry in body.split(" / ") if ": " in entry)
            words = (vocabulary.folded(word) for tags, word in tagged if _is_proper(tags))
            yield [word for word in words if word.isalpha()]


def _is_proper(tags: str) -> bool:
    """Return whether a spelling is a usual one somewhere; `-` and `x` mark others."""
    return any(not tag.isdecimal() and tag[1:] in ("", ".", "v", "V") for tag in tags.split())
