"""The model of linting: rules, findings, places in files, and edits that fix."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from mcpg.errors import NotFoundError, Severity, SeverityName, UsageError
from mcpg.text.spelling import suggest
from mcpg.values import to_json

LONGEST_EXCERPT = 240

FAILING = (Severity.ERROR, Severity.WARNING)
"""The severities of findings that fail a run."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: Its stable code, such as `D101`; the letter is for its subject.
        is_fixable: Whether some of its findings can be fixed by `--fix`.
        example: Texts that it reports and accepts, in Markdown; "" for none.
    """

    code: str
    name: str
    subject: str
    severity: SeverityName
    is_default: bool
    is_fixable: bool
    summary: str
    why: str
    remedy: str
    example: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a JSON object."""
        return to_json(self)


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a file; lines and columns are counted from 1, columns in characters.

    Attributes:
        line: The first line, `None` if only the file is known.
        end_line: The line of the last character.
        end_column: The column after the last character.
    """

    file: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        parts = (self.file, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Location:
    """The place of something, before its file is read.

    Attributes:
        place: The place of a tool or of an entry of a hints file, from their readers.
        member: The way from there to the text: `("inputSchema", "properties", "id")`.
        start: The first character of the finding in the text.
        size: How many characters it covers; 0 for the whole member.
        text: The text in that place, for files in which members have no places.
    """

    place: str
    member: tuple[str | int, ...] = ()
    start: int = 0
    size: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class RelatedTool:
    """Another tool that a finding is about.

    Attributes:
        note: Its relation to the finding.
        place: The same in its file, once that is known.
    """

    tool_id: str
    note: str
    spot: Location | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Respelling:
    """A label to write like another.

    Attributes:
        text: Its new spelling.
    """

    tool_id: str
    field: str
    spot: Location
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule.

    Attributes:
        tool_id: The tool, "" for none.
        member: The member of the tool, such as `description`, dotted; "" for the whole.
        excerpt: The text at fault, or its beginning; "" for none.
        words: Words that would distinguish the tool from the others.
        tool_ids: All tools that it is about, if one finding is for the tools of a source.
        place: The same in its file; `None` without a file, such as for a live server.
    """

    code: str
    message: str
    tool_id: str = ""
    source_id: str = ""
    member: str = ""
    excerpt: str = ""
    suggestion: str = ""
    words: tuple[str, ...] = ()
    others: tuple[RelatedTool, ...] = ()
    tool_ids: tuple[str, ...] = ()
    spot: Location = Location("")
    severity: SeverityName = Severity.WARNING
    place: Place | None = None
    is_fixable: bool = False
    respellings: tuple[Respelling, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        members = to_json(self, without=("spot", "respellings"))
        for one in members["others"]:
            del one["spot"]
        return members


@dataclass(frozen=True, slots=True)
class Suppression:
    """Codes that are not reported for some tools.

    Attributes:
        pattern: A tool id, `source::name`, a name, or a glob over these.
        codes: Codes, or beginnings of codes.
    """

    pattern: str
    codes: tuple[str, ...]
    place: str = ""


ALL = "ALL"

_SHOWN = 80

_TABLE = tomllib.loads((files("mcpg.lint") / "data" / "rules.toml").read_text("utf-8"))
_SUBJECTS = _TABLE.pop("subjects")
RULES: Mapping[str, Rule] = {
    code: Rule(
        code,
        members["name"],
        _SUBJECTS[code[0]],
        members["severity"],
        members.get("default", True),
        members.get("fixable", False),
        members["summary"],
        members["why"].strip(),
        members["remedy"].strip(),
        members.get("example", "").strip(),
    )
    for code, members in _TABLE.items()
}
"""Every rule by its code, in the order of their page."""


def find_rule(name: str) -> Rule:
    """Return the rule with a code or a name, in any case."""
    wanted = name.strip()
    for rule in RULES.values():
        if wanted.upper() == rule.code or wanted.casefold() == rule.name:
            return rule
    raise NotFoundError(f"no rule is called {wanted[:_SHOWN]!r}", remedy=_advice(wanted))


def find_codes(pattern: str) -> frozenset[str]:
    """Return the codes that *pattern* means: `ALL`, a code, its beginning, or the name of a rule.

    It is empty for an unknown rule.
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
    """Which rules are checked."""

    codes: frozenset[str]

    @classmethod
    def of(
        cls,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        *,
        origins: Mapping[str, str] = MappingProxyType({}),
    ) -> Selection:
        """Return the rules that *select* means, the default ones without it, less *ignore*.

        Both contain codes, their beginnings, or names of rules, also several with commas. For a
        rule that both mean, the longer pattern decides. *origins* has the places of both.
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
        """Return whether a rule is checked that has a code with one of *beginnings*."""
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
