"""Claims: hints that a server states of its own tools, in `_meta` and custom annotations.

Nobody reviewed them, and a server gains by listing every word there is. So they are text like a
description: damped by their length, bounded, and never an alias, unless the operator trusts the
source. Then `mcpg.catalog.hints` reads them as hints, and they are claims no longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcpg.catalog.hints import HINT_FIELDS, claimed_hints, meta_parts
from mcpg.catalog.model import HINT_LISTS, NO_HINTS, Hints, Tool
from mcpg.catalog.view import unique
from mcpg.errors import Code, Diagnostic, warning

MOST_WORDS = 64
"""How many distinct words of the claims of one tool are searched."""


_KEYS = frozenset(key for name in HINT_LISTS for key in HINT_FIELDS[name].keys)


@dataclass(frozen=True, slots=True)
class ClaimedWords:
    """The words of a tool's claims.

    Attributes:
        text: The first `MOST_WORDS` distinct ones, as the server writes them.
        kept: How many distinct words these are.
        total: How many there are in all.
    """

    text: str
    kept: int
    total: int


def read_claims(tool: Tool) -> Hints:
    """Return the lists of hints that the server of *tool* states and that are not its hints."""
    # Most tools have annotations, and hardly one has such keys among them.
    if all(_KEYS.isdisjoint(part) for part in (tool.annotations, *meta_parts(tool.meta))):
        return NO_HINTS
    claimed = claimed_hints(tool.annotations, tool.meta)
    kept: dict[str, tuple[object, ...]] = {}
    for name in HINT_LISTS:
        own = set(map(_key, getattr(tool.hints, name)))
        kept[name] = tuple(one for one in getattr(claimed, name) if _key(one) not in own)
    return Hints(**kept)  # type: ignore[arg-type]


def _key(entry: object) -> object:
    return entry.casefold() if isinstance(entry, str) else entry


def claimed_texts(claims: Hints) -> tuple[str, ...]:
    """Return the entries of *claims*, each once."""
    return unique(_claim_texts(claims))


def claimed_words(claims: Hints) -> ClaimedWords:
    """Return the words of *claims*, each once, in order of their first place."""
    stated = [token for text in _claim_texts(claims) for token in text.split()]
    if not stated:
        return ClaimedWords("", 0, 0)
    from mcpg.text import split_words  # noqa: PLC0415 - most servers state none

    every: set[str] = set()
    kept: set[str] = set()
    tokens: list[str] = []
    for token in stated:
        words = split_words(token)
        if every.issuperset(words):
            continue
        every.update(words)
        if len(kept.union(words)) <= MOST_WORDS:
            kept.update(words)
            tokens.append(token)
    return ClaimedWords(" ".join(tokens), len(kept), len(every))


def _claim_texts(claims: Hints) -> Iterable[str]:
    asked = (text for one in claims.examples for text in (one.input, one.description, one.output))
    return (
        *(*claims.aliases, *claims.keywords, *claims.categories, *claims.tags),
        *(*claims.data_sources, *filter(None, asked)),
    )


def overlong_claims(tools: Iterable[Tool]) -> Iterator[Diagnostic]:
    """Report the *tools* of whose claims words are left out."""
    for tool in tools:
        claims = read_claims(tool)
        if claims is NO_HINTS or claims == NO_HINTS:
            continue
        words = claimed_words(claims)
        if words.kept < words.total:
            message = (
                f"the server of {tool.id!r} states hints of {words.total:,} words for it;"
                f" {words.kept} are searched, the others are left out"
            )
            yield warning(Code.HINT_UNTRUSTED, message, tool.place or tool.id)
