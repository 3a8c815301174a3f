"""Patterns of questions that a host adds: literal words with placeholders, no regular expressions.

`who owns {tool}` is the intent that the host gives it, whatever the model thinks. A template is
matched word by word in time that grows with the product of both lengths, so none is catastrophic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcpg.engine.ask.model import INTENTS, Decision, Mention, MentionKind
from mcpg.engine.ask.tokens import Token
from mcpg.errors import UsageError
from mcpg.text import fold, strip_accents

ANYTHING = "*"
"""The placeholder for any words, also none."""

PLACEHOLDERS = {
    "{tool}": MentionKind.TOOL,
    "{field}": MentionKind.FIELD,
    "{symbol}": MentionKind.SYMBOL,
}
"""What stands for something that is mentioned, with its kind."""

MOST_PATTERNS, MOST_WORDS = 256, 64
"""The most patterns, and the most words of one."""


@dataclass(frozen=True, slots=True)
class IntentPattern:
    """A wording of questions.

    Attributes:
        template: Words, with `{tool}`, `{field}` and `{symbol}`, and `*` for any words.
        intent: The intent of questions that are worded so.
    """

    template: str
    intent: str


def check_patterns(patterns: Iterable[IntentPattern]) -> tuple[IntentPattern, ...]:
    """Return *patterns*.

    Raises:
        UsageError: There are too many, one is too long or empty, or has an unknown intent or
            placeholder.
    """
    known = tuple(patterns)
    if len(known) > MOST_PATTERNS:
        message = f"there are {len(known)} patterns of questions; {MOST_PATTERNS} is the most"
        raise UsageError(message, remedy="remove some")
    for one in known:
        _check(one)
    return known


def _check(pattern: IntentPattern) -> None:
    words = pattern.template.split()
    if pattern.intent not in INTENTS:
        message = f"no intent is called {pattern.intent[:40]!r}"
        raise UsageError(message, remedy=f"use {', '.join(INTENTS)}")
    if not words or len(words) > MOST_WORDS:
        message = f"a pattern of a question has {len(words)} words"
        raise UsageError(message, remedy=f"use from 1 to {MOST_WORDS}")
    for word in words:
        if word.startswith("{") and word not in PLACEHOLDERS:
            message = f"no placeholder is called {word[:40]!r}"
            raise UsageError(message, remedy=f"use {', '.join((*PLACEHOLDERS, ANYTHING))}")


def matching(
    patterns: Iterable[IntentPattern], tokens: Sequence[Token], mentions: Sequence[Mention]
) -> Decision | None:
    """Return the decision of the first of *patterns* that a question is worded as, if any."""
    units = _units(tokens, mentions)
    for one in patterns:
        if _matches([strip_accents(fold(word)) for word in one.template.split()], units):
            return Decision(one.intent, 1.0, "pattern", (f"is worded as {one.template!r}",))
    return None


def _units(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[tuple[str, str]]:
    """Return the words of a question, each with the kind of what it mentions, "" for others."""
    starts = {one.start: one for one in mentions}
    units: list[tuple[str, str]] = []
    place = 0
    while place < len(tokens):
        mention = starts.get(place)
        units.append((tokens[place].folded, mention.kind if mention else ""))
        place = mention.end if mention else place + 1
    return units


def _matches(words: Sequence[str], units: Sequence[tuple[str, str]]) -> bool:
    """Return whether *units* read as *words*: wildcard matching that goes back to one `*` only."""
    word = unit = 0
    star, resumed = -1, 0
    while unit < len(units):
        if word < len(words) and words[word] == ANYTHING:
            star, resumed = word, unit
            word += 1
        elif word < len(words) and _is_one(words[word], units[unit]):
            word += 1
            unit += 1
        elif star >= 0:
            resumed += 1
            word, unit = star + 1, resumed
        else:
            return False
    return all(one == ANYTHING for one in words[word:])


def _is_one(word: str, unit: tuple[str, str]) -> bool:
    text, kind = unit
    return kind == PLACEHOLDERS[word] if word in PLACEHOLDERS else word.strip("?!.,") == text
