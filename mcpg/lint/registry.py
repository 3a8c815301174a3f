"""The rules by their codes, and which of them a run checks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from mcpg.errors import NotFoundError, UsageError
from mcpg.lint.model import Rule
from mcpg.suggestions import suggest

ALL = "ALL"
"""Selects every rule."""

_SUBJECTS = "subjects"
_SHOWN = 80


def _read() -> Mapping[str, Rule]:
    table = tomllib.loads((files("mcpg.lint") / "data" / "rules.toml").read_text("utf-8"))
    subjects = table.pop(_SUBJECTS)
    return {
        code: Rule(
            code,
            members["name"],
            subjects[code[0]],
            members["severity"],
            members.get("default", True),
            members.get("fixable", False),
            members["summary"],
            members["why"].strip(),
            members["remedy"].strip(),
            members.get("example", "").strip(),
        )
        for code, members in table.items()
    }


RULES: Mapping[str, Rule] = _read()
"""Every rule by its code, in the order of their page."""


def rule_of(name: str) -> Rule:
    """Return the rule with a code or a name, in any case.

    Raises:
        NotFoundError: There is none.
    """
    wanted = name.strip()
    for rule in RULES.values():
        if wanted.upper() == rule.code or wanted.casefold() == rule.name:
            return rule
    raise NotFoundError(f"no rule is called {wanted[:_SHOWN]!r}", remedy=_advice(wanted))


def find_codes(pattern: str) -> frozenset[str]:
    """Return the codes that *pattern* means: `ALL`, a code, its beginning, or the name of a rule.

    It is empty where there is no such rule.
    """
    wanted = pattern.strip().upper()
    if wanted == ALL:
        return frozenset(RULES)
    named = (rule.code for rule in RULES.values() if rule.name == pattern.strip().casefold())
    begun = (code for code in RULES if wanted and code.startswith(wanted))
    return frozenset((*named, *begun))


def _advice(wanted: str) -> str:
    known = (*RULES, *(rule.name for rule in RULES.values()))
    near = suggest(wanted, known)
    return f"did you mean {near[0]}?" if near else "list them with `mcpg rule`"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules are checked.

    Attributes:
        codes: Their codes.
    """

    codes: frozenset[str]

    @classmethod
    def of(
        cls,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        *,
        origins: Mapping[str, str] = MappingProxyType({}),
    ) -> Selection:
        """Return the rules that *select* means, the default ones without it, but for *ignore*.

        Of a rule that both mean, the longer pattern decides.

        Args:
            select: Codes, their beginnings, or names of rules, also several with commas.
            ignore: The same.
            origins: Where `select` and `ignore` are stated, for messages.

        Raises:
            UsageError: A pattern means no rule.
        """
        default = {code: 0 for code, rule in RULES.items() if rule.is_default}
        chosen = _lengths(select, origins.get("select", "select")) if select else default
        left_out = _lengths(ignore, origins.get("ignore", "ignore"))
        return cls(
            frozenset(code for code, size in chosen.items() if left_out.get(code, -1) < size)
        )

    def __contains__(self, code: str) -> bool:
        return code in self.codes

    def has_any(self, beginnings: Iterable[str]) -> bool:
        """Return whether a rule whose code has one of *beginnings* is checked."""
        return any(code.startswith(tuple(beginnings)) for code in self.codes)


def _lengths(patterns: Iterable[str], origin: str) -> dict[str, int]:
    """Return how long the longest pattern is that means each code."""
    found: dict[str, int] = {}
    for pattern in (part for one in patterns for part in one.split(",")):
        if not pattern.strip():
            continue
        codes = find_codes(pattern)
        if not codes:
            message = f"no rule is called {pattern.strip()[:_SHOWN]!r}"
            raise UsageError(message, place=origin, remedy=_advice(pattern.strip()))
        size = 0 if pattern.strip().upper() == ALL else len(pattern.strip())
        for code in codes:
            found[code] = max(size, found.get(code, -1))
    return found
