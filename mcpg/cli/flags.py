"""The spellings of the options that a search takes: the one place that both parsers read."""

from __future__ import annotations

BUNDLE = ("--bundle", "-b")
LIMIT = ("--limit", "-n")
STRATEGY = ("--strategy",)
CONTEXT = ("--context",)
CONTEXT_SUMMARY = ("--context-summary",)
INCLUDE_DISABLED = ("--include-disabled",)
FUSION = ("--fusion",)
EMBED_WITH = ("--embed-with",)
CANDIDATES = ("--candidates",)
NORMALIZE = ("--normalize/--no-normalize",)
