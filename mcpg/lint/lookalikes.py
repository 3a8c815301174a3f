"""What text looks like: letters of other scripts and styles as the ASCII letters they resemble.

Source: Davis and Suignard, "Unicode Security Mechanisms", Unicode Technical Standard 39.
"""

from __future__ import annotations

import tomllib
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files

from mcpg.text import lexicon

_TAGS = range(0xE0020, 0xE007F)
_TAG_OFFSET = 0xE0000
_FEWEST_LETTERS = 3
# On the Zipf scale: one word of a million.
_FREQUENT = 3.0


@cache
def _letters() -> dict[str, str]:
    table = tomllib.loads((files("mcpg.lint") / "data" / "lookalikes.toml").read_text("utf-8"))
    return {sign: letter for letter, signs in table["letters"].items() for sign in signs}


@lru_cache(maxsize=8192)
def plain(sign: str) -> str:
    """Return the ASCII character that *sign* looks like, *sign* itself where there is none.

    Characters for tags, which are invisible, are taken as what they stand for.
    """
    if sign.isascii():
        return sign
    if ord(sign) in _TAGS:
        return chr(ord(sign) - _TAG_OFFSET)
    found = unicodedata.normalize("NFKC", sign)
    found = _letters().get(found, found)
    return found if len(found) == 1 and found.isascii() and found.isprintable() else sign


def plain_text(text: str) -> str:
    """Return *text* with each character as what it looks like; its length is the same."""
    return text if text.isascii() else "".join(map(plain, text))


def imitates(word: str) -> bool:
    """Return whether *word* looks like a frequent word of English, and is no word of its own."""
    if len(word) < _FEWEST_LETTERS or word.isascii():
        return False
    shown = plain_text(word)
    if not (shown.isascii() and shown.isalpha()):
        return False
    if lexicon.zipf_frequency(shown.lower(), lexicon.ENGLISH) < _FREQUENT:
        return False
    own = word.casefold()
    return not any(lexicon.zipf_frequency(own, one) for one in sorted(lexicon.FOREIGN))
