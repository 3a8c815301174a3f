"""Queries that a catalogue itself gives rise to: what its tools are called, and how they open."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from mcpg.catalog.model import Tool
from mcpg.text import split_words, stem


class QueryOrigin(StrEnum):
    """What a query is."""

    JUDGED = "judged"
    DESCRIPTION = "description"
    EXAMPLE = "example"
    ALIAS = "alias"
    TITLE = "title"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Wording:
    """A text of a tool that its catalogue should find it by.

    Attributes:
        text: The text, on one line.
        origin: What it is of the tool.
        tools: Ids of the tools that have it, usually one.
        is_former: Whether only a former catalogue has it, of a tool that was reworded.
    """

    text: str
    origin: QueryOrigin
    tools: tuple[str, ...]
    is_former: bool = False


MOST_ALIASES, MOST_EXAMPLES, MOST_WORDS = 20, 5, 30
"""The most aliases and examples of a tool that are queries, and the most words of its opening."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n")  # noqa: RUF001 - the signs are Chinese
_SHORTEST = 3


def iter_wordings(tool: Tool) -> Iterator[tuple[str, QueryOrigin]]:
    """Yield the texts that should find *tool*, each with what it is.

    These are the first sentence of its description, its examples and aliases, its title, and the
    words of its name.
    """
    found = (
        (first_sentence(tool.description), QueryOrigin.DESCRIPTION),
        *((one.input, QueryOrigin.EXAMPLE) for one in tool.hints.examples[:MOST_EXAMPLES]),
        *((alias, QueryOrigin.ALIAS) for alias in tool.hints.aliases[:MOST_ALIASES]),
        (tool.title or "", QueryOrigin.TITLE),
        (" ".join(split_words(tool.name)), QueryOrigin.NAME),
    )
    seen = set()
    for text, origin in found:
        line = " ".join(text.split()[:MOST_WORDS])
        if line and fold_query(line) not in seen:
            seen.add(fold_query(line))
            yield line, origin


def first_sentence(text: str) -> str:
    """Return the opening of *text* up to a sentence end, of three words or more."""
    found = ""
    for sentence in _SENTENCE_END.split(text.strip()):
        found = f"{found} {sentence}".strip()
        if len(found.split()) >= _SHORTEST:
            break
    return found


def fold_query(text: str) -> str:
    """Return what queries share that are the same but for case and blanks."""
    return " ".join(text.casefold().split())


def joined_wordings(tools: Iterable[Tool]) -> tuple[Wording, ...]:
    """Return the wordings of all *tools*, those that several share once, in their order."""
    found: dict[str, Wording] = {}
    for tool in tools:
        for text, origin in iter_wordings(tool):
            known = found.get(fold_query(text))
            shared = (*known.tools, tool.id) if known else (tool.id,)
            first = known or Wording(text, origin, ())
            found[fold_query(text)] = Wording(
                first.text, first.origin, tuple(dict.fromkeys(shared))
            )
    return tuple(found.values())


def sample_wordings(
    wordings: Sequence[Wording], most: int, changed: AbstractSet[str], words: Mapping[str, float]
) -> tuple[Wording, ...]:
    """Return at most *most* of *wordings*, those that a change is likely to move first.

    Half of them are texts of changed tools, as far as there are so many. The others follow by how
    much of what they say changed tools say now and did not say before, and those with nothing of it
    in an order that depends on their text alone: a uniform sample, and the same one every time.

    Args:
        wordings: All of them.
        most: The most that are returned.
        changed: Ids of the tools that changed.
        words: The stems that changed tools gained, with their weights.
    """
    if len(wordings) <= most:
        return tuple(wordings)

    def order(one: Wording) -> tuple[float, bytes]:
        text = hashlib.sha256(fold_query(one.text).encode("utf-8", "replace")).digest()
        return -_share(one.text, words), text

    sides: tuple[list[Wording], list[Wording]] = [], []
    for one in sorted(wordings, key=order):
        sides[changed.isdisjoint(one.tools)].append(one)
    own, others = sides
    half = max(most // 2, most - len(others))
    return (*own[:half], *others[: most - len(own[:half])])


def gained_words(
    pairs: Iterable[tuple[Tool | None, Tool]], tools: Sequence[Tool]
) -> dict[str, float]:
    """Return the stems that tools say now and did not say before, with their idf in *tools*.

    Args:
        pairs: Changed tools as they were, `None` for new ones, and as they are.
        tools: All tools of the catalogue.
    """
    gained = {
        word
        for before, after in pairs
        for word in _stems(after) - (_stems(before) if before else set())
    }
    if not gained:
        return {}
    counts = Counter(word for tool in tools for word in _stems(tool) & gained)
    return {word: math.log(1 + len(tools) / (1 + counts[word])) for word in gained}


def _share(text: str, words: Mapping[str, float]) -> float:
    """Return the mean weight of the words of *text* among *words*, 0 for one that is not there."""
    own = {stem(word) for word in split_words(text)}
    return sum(words.get(word, 0.0) for word in own) / len(own) if own else 0.0


def _stems(tool: Tool) -> set[str]:
    hints = tool.hints
    listed = (*hints.aliases, *hints.keywords, *hints.categories, *hints.tags)
    asked = (example.input for example in hints.examples)
    texts = (tool.name, tool.title or "", tool.description, *listed, *asked)
    return {stem(word) for text in texts for word in split_words(text)}
