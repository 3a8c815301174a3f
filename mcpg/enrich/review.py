"""Reviewing generated texts: which ones another tool wins, two tools share, or nonsense finds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mcpg.catalog.hints import HINT_FIELDS, hints_from
from mcpg.catalog.model import GENERATED_LISTS, Hints
from mcpg.engine import Engine
from mcpg.enrich.answers import fold_text
from mcpg.enrich.plan import EnrichPlan, Entry
from mcpg.text import lexicon
from mcpg.text.json_values import JsonValue
from mcpg.text.words import get_stop_words, share_of_texts, split_words
from mcpg.values import to_json

ORDINARY = 0.1
"""The share of English texts of a hundred words from which on a text of a tool is ordinary, if its
words occur in texts by chance. A single word of such a share is one of a thousand."""

KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A generated text of a tool.

    Attributes:
        kind: `alias`, `keyword` or `example`.
    """

    tool_id: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TextReview:
    """The faults of a generated text.

    Attributes:
        kind: `alias`, `keyword` or `example`.
        won_by: The id of another tool that is first in a search for it; "" if its tool is first.
        shared_with: Ids of other tools that have it.
        is_ordinary: Whether its words are frequent enough to occur in any text.
        path: The file that has it; "" for a text of a bundle.
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
        """The faults, in words."""
        found = [f"{self.won_by} is first"] if self.won_by else []
        if self.shared_with:
            found.append(f"shared with {', '.join(self.shared_with)}")
        return (*found, "ordinary words") if self.is_ordinary else tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the review as a JSON object."""
        return to_json(self)


def list_texts(tool_id: str, hints: Hints) -> Iterator[GeneratedText]:
    """Yield the texts of *hints*."""
    yield from (GeneratedText(tool_id, "alias", text) for text in hints.aliases)
    yield from (GeneratedText(tool_id, KEYWORD, text) for text in hints.keywords)
    yield from (GeneratedText(tool_id, "example", one.input) for one in hints.examples)


class TextReviewer:
    """Reviews generated texts of a catalog by searches of its engine."""

    def __init__(self, engine: Engine, texts: Iterable[GeneratedText]) -> None:
        """Note which tools have each of *texts*, which are all texts of the catalog."""
        self._engine = engine
        self._owners: defaultdict[str, list[str]] = defaultdict(list)
        for one in texts:
            if one.kind != KEYWORD:
                self._owners[fold_text(one.text)].append(one.tool_id)

    def review(self, one: GeneratedText, path: str = "") -> TextReview:
        """Return the faults of a text, if any.

        A keyword is not a request, so other tools may be first for it or share it.
        """
        first, others = "", list[str]()
        if one.kind != KEYWORD:
            matches = self._engine.search(one.text, limit=1, include_disabled=True).matches
            first = matches[0].tool_id if matches else ""
            owners = dict.fromkeys(self._owners[fold_text(one.text)])
            others = [owner for owner in owners if owner != one.tool_id]
        return TextReview(
            one.tool_id,
            one.kind,
            one.text,
            first if first != one.tool_id else "",
            tuple(others),
            is_ordinary(one.text),
            path,
        )


def review_plan(
    plan: EnrichPlan, engine: Engine, report: Callable[[int, int], None]
) -> list[TextReview]:
    """Return the texts of *plan* with something wrong, by tool.

    *report* receives how many texts are done, of how many.
    """
    texts = [
        (text, str(entry.file.path))
        for entry in plan.entries
        for tool in entry.tools
        for text in list_texts(tool.id, entry.hints)
    ]
    reviewer = TextReviewer(engine, (text for text, _ in texts))
    found: list[TextReview] = []
    for number, (text, path) in enumerate(texts):
        report(number, len(texts))
        review = reviewer.review(text, path)
        if review.reasons:
            found.append(review)
    return sorted(found, key=lambda one: one.tool_id)


def is_ordinary(text: str) -> bool:
    """Return whether running text is likely to have all words of *text*, stop words aside."""
    words = set(split_words(text)) - get_stop_words(lexicon.ENGLISH)
    return math.prod(share_of_texts(one, lexicon.ENGLISH) for one in words) >= ORDINARY


def find_texts(plan: EnrichPlan, text: str) -> list[tuple[Entry, Hints]]:
    """Return the entries that have *text*, with only that text, as it is written there."""
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
    """Remove *text* from *entry*; its file is not written yet."""
    wanted, members = fold_text(text), entry.members
    for key in _KEYS.intersection(members):
        value = members[key]
        if isinstance(value, list):
            members[key] = [one for one in value if not _has_text(one, wanted)]
        elif _has_text(value, wanted):
            members[key] = []


_KEYS = frozenset(key for name in GENERATED_LISTS for key in HINT_FIELDS[name].keys)


def _has_text(item: JsonValue, wanted: str) -> bool:
    """Return whether *item*, from a list of hints or instead of one, reads as *wanted*."""
    read = hints_from({"aliases": item, "examples": item})
    return wanted in {fold_text(one.text) for one in list_texts("", read)}
