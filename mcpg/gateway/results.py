"""What an invocation answers with: an error is an answer as well."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject, JsonValue


class FaultCode(StrEnum):
    """Why an invocation has no result."""

    NOTHING_NAMED = "nothing_named"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    DISABLED = "disabled"
    NOT_INVOKABLE = "not_invokable"
    ARGUMENTS_INVALID = "arguments_invalid"
    SOURCE_UNAVAILABLE = "source_unavailable"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    TOOL_FAILED = "tool_failed"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an invocation has no result, and what to do about it.

    Attributes:
        code: The kind of fault.
        message: What is wrong, without anything secret.
        remedy: What the caller can do, "" for nothing.
        field: The argument at fault, as a JSON pointer into the arguments; "" for none.
    """

    code: FaultCode
    message: str
    remedy: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Invoked:
    """What came of an invocation.

    Attributes:
        tool_id: The tool, "" when none was found.
        source_id: The server it belongs to.
        tool_name: The name its server knows it by.
        content: The content blocks as MCP has them, in their order.
        structured: The structured result, or `None`.
        faults: Why there is no result; empty when the tool did what it was asked.
    """

    tool_id: str
    source_id: str = ""
    tool_name: str = ""
    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    faults: tuple[Fault, ...] = ()

    @property
    def is_success(self) -> bool:
        """Whether the tool did what it was asked."""
        return not self.faults

    @property
    def text(self) -> str:
        """The text of all content that is text, a line break between two blocks."""
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))
