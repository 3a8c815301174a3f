"""Unicode folding: one spelling for texts that a reader would call the same."""

from __future__ import annotations

import unicodedata

# Combining marks are accents in Latin and Greek and optional vowel points in Hebrew and Arabic;
# in Cyrillic they make other letters, and in the scripts of India they are vowels.
_ACCENTED_SCRIPTS = ((0x0000, 0x03FF), (0x0590, 0x06FF), (0x1E00, 0x1FFF))


def fold(text: str) -> str:
    """Give *text* in compatibility form and without case (NFKC, full case folding).

    Source: Unicode Standard, section 3.13, "toNFKC_Casefold" without the removal of ignorables.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def strip_accents(word: str) -> str:
    """Give *word* without the marks that people leave out when they type in a hurry."""
    if word.isascii():
        return word
    kept: list[str] = []
    base_is_accented_script = False
    for character in unicodedata.normalize("NFD", word):
        if not unicodedata.combining(character):
            code = ord(character)
            base_is_accented_script = any(low <= code <= high for low, high in _ACCENTED_SCRIPTS)
            kept.append(character)
        elif not base_is_accented_script:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))
