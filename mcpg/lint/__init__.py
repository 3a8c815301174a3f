"""Lint: rules that find tools which agents will not find, will confuse, or should not trust."""

from mcpg.lint.model import RULES, Finding, Place, Rule, Selection, find_rule
from mcpg.lint.run import Report, lint

__all__ = ["RULES", "Finding", "Place", "Report", "Rule", "Selection", "find_rule", "lint"]
