"""What a server answers to a call, or why it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.gateway.results import Fault, FaultCode
    from mcpg.jsontypes import JsonObject, JsonValue


class CallError(Exception):
    """A tool was not called, or gave no result.

    Attributes:
        code: The kind of fault.
        message: What is wrong, without anything secret.
        has_died: Whether the connection was lost before there was an answer.
    """

    def __init__(self, code: FaultCode, message: str, *, has_died: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.has_died = has_died


class RefusedError(Exception):
    """Nothing was called, for what is asked cannot be.

    Attributes:
        faults: Why, each with the field where it is an argument's.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__(len(faults))
        self.faults = faults


class NothingDoneError(Exception):
    """The connection was lost, and nothing was done of what was asked."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a server answered to a call.

    Attributes:
        content: The content blocks as MCP has them, in their order.
        structured: The structured result, or `None`.
        is_error: Whether the tool says that it failed; the content says why.
    """

    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    is_error: bool = False
