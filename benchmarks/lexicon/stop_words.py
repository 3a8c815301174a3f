"""The stop words of languages that have a table of translations and no list of Snowball's."""

from __future__ import annotations

import json
from pathlib import Path

import vocabulary

from mcpg.text.words import LANGUAGES, is_mark

HEAD = """\
# Stop words of stopwords-iso, folded and without accents: one language a line, its name first.
# See STOPWORDS-LICENSE.txt; made by benchmarks/lexicon/make.py.
"""


def write_stop_words(path: Path, cache: Path) -> None:
    """Write the single words of each list, a line for each language."""
    package = cache / "npm" / "stopwords-iso" / "package"
    lists = json.loads((package / "stopwords-iso.json").read_text(encoding="utf-8"))
    lines = []
    for code, name in sorted(vocabulary.NAMES.items(), key=lambda one: one[1]):
        if name not in LANGUAGES:
            words = sorted(filter(_is_one_word, map(vocabulary.folded, lists[code])))
            lines.append(" ".join((name, *dict.fromkeys(words))))
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _is_one_word(text: str) -> bool:
    return text[:1].isalpha() and all(sign.isalpha() or is_mark(sign) for sign in text)
