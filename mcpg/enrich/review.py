"""Reviewing generated texts: which ones another tool wins, two tools share, or nonsense finds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcpg.catalog.hints import HINT_FIELDS, hints_from
from mcpg.catalog.model import GENERATED_LISTS, Hints
from mcpg.engine import Engine
from mcpg.enrich.answers import fold_text
from mcpg.enrich.plan import EnrichPlan, Entry
from mcpg.text import lexicon
from mcpg.text.json_values import JsonValue
from mcpg.text.words import share_of_texts, split_words, stop_words_of
from mcpg.values import to_json

ORDINARY = 0.1
"""The share of English texts of a hundred words from which on a text of a tool is ordinary, if its
words stand in texts by chance. A single word of such a share is one of a thousand."""

KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class TextReview:
    """What is wrong with a generated text.

    Attributes:
        kind: `alias`, `keyword` or `example`.
        won_by: The id of another tool that is first in a search for it; "" where the tool is first.
        shared_with: Ids of other tools that have it.
        is_ordinary: Whether its words are so frequent that nonsense has them as well.
        path: The file that has it.
    """

    tool_id: str
    kind: str
    text: str
    won_by: str
    shared_with: tuple[str, ...]
    is_ordinary: bool
    path: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        found = [f"{self.won_by} is first"] if self.won_by else []
        if self.shared_with:
            found.append(f"shared with {', '.join(self.shared_with)}")
        return (*found, "ordinary words") if self.is_ordinary else tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the review as a JSON object."""
        return to_json(self)


def list_entry_texts(hints: Hints) -> Iterator[tuple[str, str]]:
    """Yield the texts of *hints*, each with its kind."""
    yield from (("alias", text) for text in hints.aliases)
    yield from ((KEYWORD, text) for text in hints.keywords)
    yield from (("example", one.input) for one in hints.examples)


def review_texts(
    plan: EnrichPlan, engine: Engine, tell: Callable[[int, int], None]
) -> list[TextReview]:
    """Return the texts of *plan* with something wrong, by tool, as searches of *engine* find them.

    A keyword is no request, so that other tools may well be first for it, or have it as well.
    *tell* receives how many texts are done, of how many.
    """
    texts = [
        (entry, tool.id, kind, text)
        for entry in plan.entries
        for tool in entry.tools
        for kind, text in list_entry_texts(entry.hints)
    ]
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for _, tool_id, kind, text in texts:
        if kind != KEYWORD:
            owners[fold_text(text)].append(tool_id)
    found: list[TextReview] = []
    for number, (entry, tool_id, kind, text) in enumerate(texts):
        tell(number, len(texts))
        first, others = "", list[str]()
        if kind != KEYWORD:
            first = _find_first(engine, text)
            others = [one for one in dict.fromkeys(owners[fold_text(text)]) if one != tool_id]
        review = TextReview(
            tool_id,
            kind,
            text,
            first if first != tool_id else "",
            tuple(others),
            is_ordinary(text),
            str(entry.file.path),
        )
        if review.reasons:
            found.append(review)
    return sorted(found, key=lambda one: one.tool_id)


def _find_first(engine: Engine, text: str) -> str:
    matches = engine.search(text, limit=1, include_disabled=True).matches
    return matches[0].tool_id if matches else ""


def is_ordinary(text: str) -> bool:
    """Return whether running text is likely to have all words of *text*, stop words aside."""
    words = set(split_words(text)) - stop_words_of(lexicon.ENGLISH)
    return math.prod(share_of_texts(one, lexicon.ENGLISH) for one in words) >= ORDINARY


def find_texts(plan: EnrichPlan, text: str) -> list[tuple[Entry, Hints]]:
    """Return the entries that have *text*, each with it alone, as it is written there."""
    wanted = fold_text(text)
    found: list[tuple[Entry, Hints]] = []
    for entry in plan.entries:
        own = entry.hints
        kept = Hints(
            aliases=tuple(one for one in own.aliases if fold_text(one) == wanted),
            keywords=tuple(one for one in own.keywords if fold_text(one) == wanted),
            examples=tuple(one for one in own.examples if fold_text(one.input) == wanted),
        )
        if kept != Hints():
            found.append((entry, kept))
    return found


def drop_text(entry: Entry, text: str) -> None:
    """Remove *text* from *entry*, whose file is not written yet."""
    wanted, members = fold_text(text), entry.members
    for key in _KEYS.intersection(members):
        value = members[key]
        if isinstance(value, list):
            members[key] = [one for one in value if not _has_text(one, wanted)]
        elif _has_text(value, wanted):
            members[key] = []


_KEYS = frozenset(key for name in GENERATED_LISTS for key in HINT_FIELDS[name].keys)


def _has_text(item: JsonValue, wanted: str) -> bool:
    """Return whether *item* of a list of hints, or in place of one, is read as *wanted*."""
    read = hints_from({"aliases": item, "examples": item})
    return wanted in {fold_text(one) for _, one in list_entry_texts(read)}
