"""Habits of prose that make mcpg's texts hard to read, counted.

    python benchmarks/prose.py [ROOT] [--show HABIT]

ROOT is a checkout, by default this one. For each habit, the table has the lines of the README, of
CONTRIBUTING, the changelog and `docs/` that have it, fenced code left out, and the docstrings,
comments and texts of `mcpg/` that have it. `--show` prints the places of one habit. The last lines
are the words of the documentation and the names of functions that are participles or end in `_of`.

The counts are of words, not of meaning: "stands" in a quotation counts, and a habit in other words
does not.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HABITS = {
    "what X is, as a noun": r"\bwhat (?:\w+ ){0,3}(?:is|are|has|have|does|do|was|were)\b",
    "those of, that of": r"\b(?:those|that|the ones?) of\b",
    "one that, the one": r"\b(?:one that|ones that|the one\b|the other\b)",
    "is no X": r"\b(?:is|are|was|were|be) no (?!longer\b|more\b)|\bnor (?:is|are|does|do)\b",
    "stands, lies": r"\b(?:stands?|standing|stood|lies|lie|lay)\b",
    "holds, bears, takes": r"\b(?:holds?|held|holding|bears?|borne)\b",
    "says, tells, states": r"\b(?:says?|said|tells?|told|states?|stated|asked for|knows?|wants?)\b",
    "where, for if": r"(?:^|[.;:,(] ?|\b(?:but|and|or) )where\b",
    "whoever, nobody, somebody": r"\b(?:whoever|nobody|somebody|whose|who copies)\b",
    "in place of, but for": r"\b(?:in place of|but for|nothing but|as such)\b",
    "as well, alone, likewise": r"\b(?:as well(?! as)|alone|likewise)\b",
    "British spelling": r"\b\w*(?:colour|catalogue|licence|recognis|behaviour|favour)\w*\b",
    "decimals without a zero": r"(?<![\w.])\.\d\d?\b",
    "lines over 120 columns": r"^.{121,}$",
}
FENCE = re.compile(r"^ *(```|~~~)")
PARTICIPLE = re.compile(r"_*(?:[a-z]+ed|told|shown|kept|found|held|made|known|given|taken|written)")


class Text(NamedTuple):
    """A line of prose with its place."""

    place: str
    text: str


def read_pages(root: Path) -> Iterator[Text]:
    """Yield the lines of the pages, without fenced blocks and tables of numbers."""
    named = (root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    for path in (*named, *sorted((root / "docs").rglob("*.md"))):
        is_code = False
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if FENCE.match(line):
                is_code = not is_code
            elif not is_code:
                yield Text(f"{path.relative_to(root)}:{number}", line)


def read_code(root: Path) -> Iterator[Text]:
    """Yield the lines of comments, docstrings and other texts of the package."""
    for path in sorted((root / "mcpg").rglob("*.py")):
        source = path.read_text("utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_text = token.type in (tokenize.COMMENT, tokenize.STRING) and " " in token.string
            for number, line in enumerate(token.string.splitlines() if is_text else ()):
                yield Text(f"{path.relative_to(root)}:{token.start[0] + number}", line)


def count_names(root: Path) -> tuple[int, int]:
    """Return how many functions are named by a participle alone, and end in `_of`."""
    names = [
        node.name
        for path in (root / "mcpg").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    participles = sum(bool(PARTICIPLE.fullmatch(name)) for name in names)
    return participles, sum(name.endswith("_of") for name in names)


def count_words(root: Path) -> int:
    """Return the words of README, CONTRIBUTING and docs, as `wc -w` counts them."""
    pages = (root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md"))
    return sum(len(path.read_text("utf-8").split()) for path in pages)


def main() -> None:
    """Print the table, or the places of one habit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--show", choices=HABITS, metavar="HABIT")
    given = parser.parse_args()
    pages, code = [*read_pages(given.root)], [*read_code(given.root)]
    if given.show:
        pattern = re.compile(HABITS[given.show], re.IGNORECASE)
        for line in (*pages, *code):
            if pattern.search(line.text):
                print(f"{line.place}: {line.text.strip()}")
        return
    print(f"{'habit':28}{'pages':>8}{'code':>8}")
    for name, expression in HABITS.items():
        pattern = re.compile(expression, re.IGNORECASE)
        counts = [sum(bool(pattern.search(one.text)) for one in lines) for lines in (pages, code)]
        print(f"{name:28}{counts[0]:>8,}{counts[1]:>8,}")
    participles, possessives = count_names(given.root)
    print(f"words of documentation: {count_words(given.root):,}")
    print(f"functions named by a participle: {participles:,}; that end in _of: {possessives:,}")


if __name__ == "__main__":
    main()
