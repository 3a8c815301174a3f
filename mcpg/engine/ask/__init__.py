"""Questions about a catalogue: where things are, what they do, how they relate, examples, likes."""

from __future__ import annotations

from mcpg.engine.ask.asker import Asker, AskRequest
from mcpg.engine.ask.model import (
    INTENTS,
    Answer,
    AskResult,
    Decision,
    Direction,
    Intent,
    ParsedQuestion,
    RelatedItem,
    Suggestion,
)
from mcpg.engine.ask.patterns import IntentPattern

__all__ = [
    "INTENTS",
    "Answer",
    "AskRequest",
    "AskResult",
    "Asker",
    "Decision",
    "Direction",
    "Intent",
    "IntentPattern",
    "ParsedQuestion",
    "RelatedItem",
    "Suggestion",
]
