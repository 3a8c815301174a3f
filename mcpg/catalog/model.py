"""What a tool is: the value objects that every floor above shares."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.jsontypes import JsonObject


class SourceKind(StrEnum):
    """How a tool's server is reached, in the .NET gateway's words."""

    LOCAL = "Local"
    HTTP_MCP = "HttpMcp"
    STDIO_MCP = "StdioMcp"
    CUSTOM_MCP = "CustomMcpClient"


class Tier(StrEnum):
    """A coarse price: of money or of time."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


@dataclass(frozen=True, slots=True)
class ToolExample:
    """One request that a tool serves.

    Attributes:
        input: What a person would ask, never blank.
        output: What the tool would answer, or `None`.
        description: When one would ask it, or `None`.
    """

    input: str
    output: str | None = None
    description: str | None = None


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Trim *values*, drop blanks and repeats (case-insensitively), keep first-seen order."""
    seen: dict[str, str] = {}
    for value in values:
        trimmed = value.strip()
        if trimmed:
            seen.setdefault(trimmed.casefold(), trimmed)
    return tuple(seen.values())


@dataclass(frozen=True, slots=True)
class Hints:
    """What an author adds so that a tool is found and judged well.

    Lists hold no blanks and no case-insensitive repeats; `None` means "not said".
    """

    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    data_sources: tuple[str, ...] = ()
    examples: tuple[ToolExample, ...] = ()
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    cost_tier: Tier | None = None
    latency_tier: Tier | None = None
    enabled_by_default: bool | None = None

    @classmethod
    def merge(cls, *parts: Hints) -> Hints:
        """Join hints in order of precedence: lists are unioned, scalars take the first said."""
        merged: dict[str, object] = {}
        for slot in fields(cls):
            values = [getattr(part, slot.name) for part in parts]
            if slot.name == "examples":
                merged[slot.name] = tuple(dict.fromkeys(item for value in values for item in value))
            elif slot.default == ():
                merged[slot.name] = unique(item for value in values for item in value)
            else:
                merged[slot.name] = next((value for value in values if value is not None), None)
        return cls(**merged)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its server describes it, with the author's hints.

    JSON members are shared, not copied: treat them as read-only.

    Attributes:
        id: Unique in its catalogue, stable, safe as a file name; "" until a catalogue assigns it.
        source_id: The server it comes from, as given.
        name: The name that its server knows it by, as given.
        title: A name for people, or `None`.
        description: What it does; "" when the server does not say.
        input_schema: JSON Schema of the arguments, always an object.
        output_schema: JSON Schema of the structured result, or `None`.
        annotations: MCP annotations as given, custom keys included.
        meta: MCP `_meta` as given.
        hints: What an author adds.
        source_kind: How the server is reached.
        place: The file (and member) it was read from, for messages; not part of its identity.
    """

    id: str
    source_id: str
    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    output_schema: JsonObject | None = None
    annotations: JsonObject = field(default_factory=dict)
    meta: JsonObject = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    source_kind: SourceKind = SourceKind.LOCAL
    place: str = field(default="", compare=False)

    @property
    def display_name(self) -> str:
        """The name to show: the title, else the annotations' title, else the raw name."""
        annotated = self.annotations.get("title")
        return self.title or (annotated.strip() if isinstance(annotated, str) else "") or self.name

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """Names of the arguments that must be given, in the schema's order."""
        required = self.input_schema.get("required")
        if not isinstance(required, list):
            return ()
        return unique(name for name in required if isinstance(name, str))

    @property
    def enabled(self) -> bool:
        """Whether a search may offer the tool without being asked for disabled ones."""
        return self.hints.enabled_by_default is not False


@dataclass(frozen=True, slots=True)
class HintRule:
    """One entry of a hints file: hints for every tool that its pattern names.

    Attributes:
        pattern: A tool id, `source::name`, a raw name, or a glob over any of these.
        hints: What to add.
        related: Patterns of tools that the author calls related.
        next_steps: Patterns of tools that the author calls a next step.
        place: `file:line` of the entry.
    """

    pattern: str
    hints: Hints = field(default_factory=Hints)
    related: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A Markdown-LD document as it stands in a folder or a bundle, not yet parsed.

    Attributes:
        path: Relative path with `/`, unique in its bundle, never climbing out of its folder.
        content: The whole text, LF line ends.
        canonical_uri: Absolute URI of the document, or `None` when it does not say.
        place: Where it was read from, for messages; not part of its identity.
    """

    path: str
    content: str
    canonical_uri: str | None = None
    place: str = field(default="", compare=False)
