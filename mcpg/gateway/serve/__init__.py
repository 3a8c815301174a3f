"""The gateway as an MCP server: the names of its meta-tools, and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mcpg.errors import Diagnostic, UsageError
from mcpg.plugins.hooks import MetaTool
from mcpg.plugins.registry import Registered

SEARCH = "gateway_tools_search"
ROUTE = "gateway_tools_route"
PLAN = "gateway_plan"
DESCRIBE = "gateway_tool_describe"
INVOKE = "gateway_tool_invoke"
ASK = "gateway_ask"
READ = "gateway_resource_read"
PROMPT = "gateway_prompt_get"
READ_SKILL = "gateway_skill_read"
GRAPH_SCHEMA = "gateway_graph_schema_describe"
GRAPH_SEARCH = "gateway_graph_schema_search"
GRAPH_EXPORT = "gateway_graph_export"
INDEX_BUILD = "gateway_tool_index_build"

EVERYDAY = (SEARCH, ROUTE, PLAN, DESCRIBE, INVOKE, ASK, READ)
"""Meta-tools in order of use. Those that call, or read the rest of a result, are
shown where a tool can be called; the latter also where a server has resources."""

GRAPH_TOOLS = (GRAPH_SCHEMA, GRAPH_SEARCH, GRAPH_EXPORT, INDEX_BUILD)
"""Optional meta-tools of the graph, and of the index that it is part of."""

META_TOOLS: tuple[str, ...] = (*EVERYDAY, PROMPT, READ_SKILL, *GRAPH_TOOLS)
"""All meta-tools, reserved whether shown or not, so that ids do not depend on options."""

SMALLEST_BUDGET = 2048
"""Minimum budget in bytes, in which the error for a response without room fits."""


MOST_PINNED = 32
"""Maximum number of pinned tools."""

_MOST_ABOUT = 1000


class Exposure(StrEnum):
    """The tools that clients see."""

    META = "gateway"
    """Only the meta-tools."""
    FOUND = "on-demand"
    """The meta-tools that search and call, and the tools that the client's searches have found."""
    ALL = "all"
    """Also every enabled tool that can be called, under its id."""

    @classmethod
    def _missing_(cls, value: object) -> Exposure | None:
        """Accept former values."""
        return {"meta": cls.META, "found": cls.FOUND}.get(str(value))


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Options of a server.

    Attributes:
        expose: The tools that clients see.
        pins: Tools that clients see besides, under their ids: by id, `source::name` or name.
        about: What the operator adds to the description of the tool that searches.
        graph_tools: Whether these include the meta-tools of the graph.
        endpoints: SPARQL endpoints that a graph search may query on request.
        answer_bytes: Maximum size of a meta-tool's result, in bytes of JSON.
        result_bytes: Maximum size of a called tool's result, in bytes of JSON.
        ask_seconds: Seconds that a client has to respond to a request of a server.
        search: Keyword arguments of every search, such as `strategy`.
        route: Keyword arguments of every route.
        ask: Keyword arguments of every question, such as `patterns`.
        log: Called with one line for each request, without its arguments; `None` for no log.
        plugin_tools: Tools that plugins add.
        on_diagnostics: Called with the diagnostics of the sources, and of log messages that are
            dropped, whenever they may have changed.

    Raises:
        UsageError: A budget is too small, endpoints are allowed without the graph tools, or there
            are too many pinned tools or words.
    """

    expose: Exposure = Exposure.META
    pins: tuple[str, ...] = ()
    about: str = ""
    graph_tools: bool = False
    endpoints: tuple[str, ...] = ()
    answer_bytes: int = 32 << 10
    result_bytes: int = 256 << 10
    ask_seconds: float = 300.0
    search: Mapping[str, Any] = field(default_factory=dict)
    route: Mapping[str, Any] = field(default_factory=dict)
    ask: Mapping[str, Any] = field(default_factory=dict)
    log: Callable[[str], None] | None = None
    plugin_tools: tuple[Registered[MetaTool], ...] = ()
    on_diagnostics: Callable[[tuple[Diagnostic, ...]], None] | None = None

    def __post_init__(self) -> None:
        if min(self.answer_bytes, self.result_bytes) < SMALLEST_BUDGET:
            raise UsageError(
                f"the minimum size of a response is {SMALLEST_BUDGET:,} bytes",
                remedy="raise the limit, or omit it",
            )
        if len(self.pins) > MOST_PINNED:
            message = f"more than {MOST_PINNED} tools are pinned"
            raise UsageError(message, place="--pin", remedy="pin fewer, or use --expose all")
        if len(self.about) > _MOST_ABOUT:
            message = f"the text has more than {_MOST_ABOUT:,} characters"
            raise UsageError(message, place="--about", remedy="write less: each client reads it")
        if self.endpoints and not self.graph_tools:
            raise UsageError(
                "endpoints are queried by the graph tools, which are not enabled",
                remedy="enable them with --graph-tools",
            )
