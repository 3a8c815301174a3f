"""What linting yields: rules, findings, places in files, and edits that fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpg.errors import Severity, SeverityName
from mcpg.values import to_json

LONGEST_EXCERPT = 240
"""Most characters of a text that a finding quotes."""

FAILING = (Severity.ERROR, Severity.WARNING)
"""The severities of findings that fail a run."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: Its stable code, such as `D101`; the letter is that of its subject.
        name: Its name in words, such as `missing-description`.
        subject: What it is about, such as `descriptions`.
        severity: One of `Severity`.
        is_default: Whether it is checked unless rules are selected.
        is_fixable: Whether some of its findings can be fixed by `--fix`.
        summary: What it finds, in one line.
        why: Why that matters, in Markdown.
        remedy: What to do about it, in Markdown.
        example: What it finds and what it accepts, in Markdown; "" for none.
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
        file: The file as it was named.
        line: The first line, `None` where only the file is known.
        column: The column of the first character.
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
    """Where something is, before its file is looked at.

    Attributes:
        place: The place of a tool or of an entry of a hints file, as their readers state it.
        member: The way from there to the text: `("inputSchema", "properties", "id")`.
        start: Where in the text the finding begins, in characters.
        size: How many characters it covers; 0 for the whole member.
        text: The text that stands there, for files in which members have no places.
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
        tool_id: The tool.
        note: What it has to do with the finding.
        spot: Where it is.
        place: The same in its file, once that is known.
    """

    tool_id: str
    note: str
    spot: Location | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Respelling:
    """A label that is to be written like another.

    Attributes:
        tool_id: A tool that has it.
        field: The member of its hints, such as `categories`.
        spot: Where it is.
        text: How it is to be written.
    """

    tool_id: str
    field: str
    spot: Location
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found.

    Attributes:
        code: The code of the rule.
        severity: How much it matters.
        message: One sentence, which names the tool.
        tool_id: The tool, "" where it is of none.
        source_id: The source of the tool, "" where it is of none.
        member: The member of the tool, such as `description`, dotted; "" for the whole.
        excerpt: The text at fault, or its beginning; "" for none.
        suggestion: What to do, for this finding.
        words: Words that would separate the tool from the others.
        others: Other tools that are part of it.
        tool_ids: All tools that it stands for, where one finding stands for those of a source.
        spot: Where it is.
        place: The same in its file; `None` where it is in none, such as of a live server.
        is_fixable: Whether `--fix` can fix it.
        respellings: What fixes it, for labels.
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
        place: Where that is stated.
    """

    pattern: str
    codes: tuple[str, ...]
    place: str = ""
