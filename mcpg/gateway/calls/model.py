"""What a server answers to a call, or why it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.engine.loading import load
from mcpg.engine.results import NONE, Equipment
from mcpg.gateway.sources import GENERATED

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcpg.engine.engine import Engine
    from mcpg.gateway.sources import GraphSource
    from mcpg.json_types import JsonObject, JsonValue


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


# SECTION plan: How a gateway makes its index.


@dataclass(frozen=True, slots=True)
class Plan:
    """How an index is made.

    Attributes:
        graph: Where the documents come from.
        reserved: Ids that no tool may get, in any case.
        equipment: What the engine may use.
        cache_dir: Folder for the indexes of bundles that lie where nothing can be written.
    """

    graph: GraphSource
    reserved: Collection[str] = ()
    equipment: Equipment = NONE
    cache_dir: str | None = None

    def bare(self) -> Plan:
        """Give the plan of an index that is made of nothing but what sources say."""
        return replace(self, graph=GENERATED)

    def load(self, path: str, source_id: str | None = None) -> Engine:
        """Open what stands at *path*, through its compiled index where it has one.

        Raises:
            McpgError: There is nothing at *path*, or it cannot be used.
        """
        held = self.equipment
        return load(
            path,
            source_id=source_id,
            cache_dir=self.cache_dir,
            embeddings=held.embedder,
            store=held.store,
            normalizer=held.normalizer,
            cache=held.cache,
            candidates=held.candidates,
            observer=held.observer,
        )


# SECTION results: What an invocation answers with: an error is an answer as well.


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
