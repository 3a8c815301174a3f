"""Values of calls: limits, results and faults."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from mcpg.errors import UsageError
from mcpg.json_types import JsonObject, JsonValue
from mcpg.values import empty_as_null, to_json


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of calls, and of the connections that sessions have of their own.

    Attributes:
        invoke_seconds: Default time of an invocation in seconds, above 0; progress renews it.
        longest_seconds: Maximum time of an invocation, at least `invoke_seconds`.
        result_bytes: Size of a result as JSON; a larger one becomes a fault.
        message_chars: Length of a message that quotes a tool's own.
        sessions: Maximum number of connections that sessions have of their own.
        sessions_per_source: Maximum number of sessions with a process of their own of one server.
        session_seconds: Seconds without a request after which such a connection ends.
        relist_seconds: Seconds after which the tools of a server are listed again whose list does
            not state how long it is valid; 0 for no server.

    Raises:
        UsageError: A limit is not above 0, or `invoke_seconds` is above `longest_seconds`.
    """

    invoke_seconds: float = 60.0
    longest_seconds: float = 3600.0
    result_bytes: int = 4 << 20
    message_chars: int = 2000
    sessions: int = 1024
    sessions_per_source: int = 64
    session_seconds: float = 1800.0
    relist_seconds: float = 300.0

    def __post_init__(self) -> None:
        for one in fields(self):
            given = getattr(self, one.name)
            if not given > 0 and not (one.name == "relist_seconds" and given == 0):
                raise UsageError(f"the limit {one.name} must be above 0", remedy="leave it out")
        if self.invoke_seconds > self.longest_seconds:
            message = "the limit invoke_seconds is above longest_seconds"
            raise UsageError(message, remedy="raise longest_seconds, too")

    def seconds(self, requested: float | None) -> float:
        """Return the time limit of a call, *requested* up to the maximum, or the default."""
        return self.invoke_seconds if requested is None else min(requested, self.longest_seconds)


class FaultCode(StrEnum):
    """Why an invocation has no result."""

    NOTHING_NAMED = "nothing_named"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    DISABLED = "disabled"
    NOT_INVOKABLE = "not_invokable"
    ARGUMENTS_INVALID = "arguments_invalid"
    NO_SESSION = "no_session"
    SESSION_LIMIT = "session_limit"
    SOURCE_UNAVAILABLE = "source_unavailable"
    UNAUTHORIZED = "unauthorized"
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
    """The result of an invocation.

    Attributes:
        tool_id: The tool, "" when none was found.
        source_id: The server it belongs to.
        tool_name: The server's name of the tool.
        content: The content blocks of MCP, in their order.
        structured: The structured result, else the JSON that the text is, or `None`.
        faults: Why there is no result; empty on success.
        wire: The result of `tools/call` as an MCP server sent it; `None` for other sources.
        error: The JSON-RPC error with which an MCP server responded, `None` if it did not.
        is_parsed: Whether `structured` is the text, read as JSON.
    """

    tool_id: str
    source_id: str = ""
    tool_name: str = ""
    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    faults: tuple[Fault, ...] = ()
    wire: JsonObject | None = field(default=None, repr=False)
    error: JsonObject | None = None
    is_parsed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `mcpg invoke --format json` prints it.

        Content and structured result are the tool's own.
        """
        return {
            "schema": "mcpg/invoke/1",
            "toolId": self.tool_id or None,
            "sourceId": self.source_id or None,
            "toolName": self.tool_name or None,
            "isSuccess": self.is_success,
            "content": [*self.content],
            "structured": self.structured,
            "faults": [empty_as_null(to_json(one), "remedy", "field") for one in self.faults],
        }

    @property
    def is_success(self) -> bool:
        """Whether the tool succeeded."""
        return not self.faults

    @property
    def text(self) -> str:
        """The text of all text blocks, a line break between two."""
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


class CallError(Exception):
    """A call failed.

    Attributes:
        code: The kind of fault.
        message: What is wrong, without anything secret.
        has_died: Whether the connection was lost between the request and its response.
        error: The JSON-RPC error with which a server responded, `None` if it did not.
    """

    def __init__(
        self,
        code: FaultCode,
        message: str,
        *,
        has_died: bool = False,
        error: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.has_died = has_died
        self.error = error


class RefusedError(Exception):
    """Nothing was called: the tool cannot be, or not with these arguments.

    Attributes:
        faults: Why, each with the argument at fault.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__(len(faults))
        self.faults = faults
