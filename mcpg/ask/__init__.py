"""Answers to questions about a catalog: places, behavior, relations, examples, similar tools."""

from __future__ import annotations

from mcpg.ask.asker import Asker, AskRequest
from mcpg.ask.intent import IntentPattern
from mcpg.ask.model import (
    INTENTS,
    Answer,
    AskResult,
    CodeRanking,
    CodeScope,
    Decision,
    Direction,
    Intent,
    ParsedQuestion,
    RelatedItem,
    Suggestion,
)

__all__ = [
    "INTENTS",
    "Answer",
    "AskRequest",
    "AskResult",
    "Asker",
    "CodeRanking",
    "CodeScope",
    "Decision",
    "Direction",
    "Intent",
    "IntentPattern",
    "ParsedQuestion",
    "RelatedItem",
    "Suggestion",
]
