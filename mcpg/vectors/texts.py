"""What of a tool is embedded: a few lines, the most telling first, each within a budget."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice

from mcpg.catalog.model import Tool, walk_parameters
from mcpg.documents.model import ToolDocument
from mcpg.text import split_words
from mcpg.text.safeyaml import UNSAFE

RECIPE = 2
"""Goes up whenever a tool's vector is made of other texts or weights: older vectors are stale."""

WEIGHTS = (1.0, 1.0, 0.5)
"""What the whole text of a tool, its names, and its description weigh in its vector."""

_MOST_PARAMETERS = 24
_MOST_EXAMPLES = 8

# The most characters of each part. Models read some 250 to 500 tokens and drop the rest, so a long
# description must leave room for what follows it.
_NAMES, _DESCRIPTION, _LABELS = 160, 600, 200
_PARAMETERS, _PARAMETER, _EXAMPLES, _EXAMPLE, _BODY = 360, 80, 240, 120, 200


def embedding_texts(document: ToolDocument) -> tuple[str, str, str]:
    """Return the texts whose vectors, by `WEIGHTS`, make that of the tool of *document*.

    These are its whole text, its names, and its description; what it does not have is its names,
    or else its whole text. In the vector of one long text the few words that say what a tool is
    weigh little beside its parameters; the mean over texts of different breadth keeps both.
    """
    whole = embedding_text(document)
    names = _cut(". ".join(_names(document.tool)), _NAMES) or whole
    return whole, names, _cut(document.tool.description, _DESCRIPTION) or names


def hash_of_texts(texts: tuple[str, ...]) -> str:
    """Return the hash under which the vector that is made of *texts* is kept."""
    return document_hash("\0".join((str(RECIPE), *texts)))


def embedding_text(document: ToolDocument) -> str:
    r"""Describe what the tool of *document* does, for an embedding model: lines joined by `\n`.

    Names come first, then the description, aliases, keywords and categories, what the tool takes,
    what people ask it, and what its author wrote about it. Each has a budget, so that no long part
    displaces the others. The text is the same on every platform, and never empty.
    """
    tool = document.tool
    parts = (
        _cut(". ".join(_names(tool)), _NAMES),
        _cut(tool.description, _DESCRIPTION),
        *(_cut(", ".join(labels), _LABELS) for labels in _labels(tool)),
        _cut("; ".join(_parameters(tool)), _PARAMETERS),
        _cut("; ".join(_examples(tool)), _EXAMPLES),
        _cut(document.body, _BODY),
    )
    return "\n".join(part for part in parts if part) or _plain(tool.source_id) or tool.id


def document_hash(text: str) -> str:
    """Return the SHA-256 of *text* in UTF-8, as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _names(tool: Tool) -> Iterator[str]:
    spoken = " ".join(split_words(tool.name))
    shown = _plain(tool.display_name)
    yield shown if tool.display_name != tool.name or not spoken else spoken
    if tool.display_name != tool.name and spoken != shown.lower():
        yield spoken


def _labels(tool: Tool) -> tuple[tuple[str, ...], ...]:
    hints = tool.hints
    return hints.aliases, hints.keywords, (*hints.categories, *hints.tags)


def _parameters(tool: Tool) -> Iterator[str]:
    found = walk_parameters(tool.input_schema, max_depth=2, max_parameters=_MOST_PARAMETERS)
    for parameter in found:
        name = " ".join(split_words(parameter.path))
        yield _cut(
            f"{name}: {parameter.description}" if parameter.description else name, _PARAMETER
        )


def _examples(tool: Tool) -> Iterable[str]:
    return (
        _cut(example.input, _EXAMPLE) for example in islice(tool.hints.examples, _MOST_EXAMPLES)
    )


def _plain(text: str) -> str:
    return " ".join(UNSAFE.sub(" ", text).split())


def _cut(text: str, budget: int) -> str:
    # What is far beyond the budget need not be cleaned to be dropped.
    line = _plain(text[: 4 * budget])
    if len(line) <= budget:
        return line
    start, space, _ = line[: budget + 1].rpartition(" ")
    return start if space and len(start) > budget // 2 else line[:budget]
