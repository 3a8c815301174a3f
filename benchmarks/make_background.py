"""Make the background word frequencies of `mcpg/text/data/background/` anew.

    pip install wordfreq
    python benchmarks/make_background.py

Each file holds the words of one language that make up at least one word in twenty thousand of its
running text, folded as the text floor folds them, with their frequency on the Zipf scale (the
logarithm to base ten of occurrences in a thousand million words) in hundredths.
"""

from __future__ import annotations

from pathlib import Path

import wordfreq

import mcpg.text
from mcpg.text import fold, strip_accents
from mcpg.text.words import LANGUAGES

CODES = {
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "hungarian": "hu",
    "italian": "it",
    "norwegian": "nb",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}
LEAST_ZIPF = 4.7


def lines(code: str) -> list[str]:
    """Return the lines of one language's file, in alphabetical order."""
    found: dict[str, int] = {}
    for word in wordfreq.top_n_list(code, 20_000):
        zipf = wordfreq.zipf_frequency(word, code)
        folded = strip_accents(fold(word))
        if zipf >= LEAST_ZIPF and folded.isalpha():
            found[folded] = max(found.get(folded, 0), round(100 * zipf))
    return [f"{word} {found[word]}" for word in sorted(found)]


def main() -> None:
    """Write a file for each language that has function words."""
    folder = Path(mcpg.text.__file__).parent / "data" / "background"
    folder.mkdir(exist_ok=True)
    for language in LANGUAGES:
        text = "\n".join(["", *lines(CODES[language]), ""])
        (folder / f"{language}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
