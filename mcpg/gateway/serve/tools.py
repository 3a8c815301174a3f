"""The meta-tools: their work, and the answers of routes and descriptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator

from mcpg.catalog.model import Tool
from mcpg.errors import McpgError
from mcpg.gateway.json import score_json
from mcpg.gateway.routing.route import RouteResult
from mcpg.gateway.serve import answers as names
from mcpg.gateway.serve.answers import (
    LADDER,
    advice,
    failed,
    first_that_fits,
    line,
    match_answer,
    notes,
    prose,
    search_answers,
    share,
    truncated,
)
from mcpg.gateway.serve.direct_tools import result_of
from mcpg.gateway.serve.schemas import (
    INPUTS,
    USUAL_CATEGORIES,
    USUAL_MATCHES,
    USUAL_OF_CATEGORY,
    annotations_json,
    hints_json,
    part_of,
    pruned,
)
from mcpg.json_types import JsonObject, JsonValue

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.serve.answers import Find, Serving
    from mcpg.gateway.serve.catalogue import Catalogue
    from mcpg.sources.live.client import Progress

    Arguments = dict[str, Any]
    Work = Callable[[Arguments, Progress | None], Awaitable[JsonObject]]

_CATEGORY = 80


def route_answers(result: RouteResult, find: Find) -> Iterator[JsonObject]:
    """Yield answers to a route, from the fullest to the shortest; see `search_answers`."""
    total = sum(len(category.matches) for category in result.categories)
    best = max(
        (routed.match for category in result.categories for routed in category.matches),
        key=lambda match: match.score,
        default=None,
    )
    for brevity in LADDER:
        categories: list[JsonValue] = []
        shown = 0
        for category in result.categories:
            kept = share(category.matches, brevity)
            shown += len(kept)
            tools: list[JsonValue] = [match_answer(routed.match, find, brevity) for routed in kept]
            name = line(category.name, _CATEGORY)
            categories.append({"name": name, "score": score_json(category.score), "tools": tools})
        answer: JsonObject = {"preference": result.preference.name, "categories": categories}
        answer |= advice((best,) if best is not None else ())
        answer |= notes(result.diagnostics)
        yield answer | truncated(total - shown, brevity)


_NAME = 200
_LONG, _SHORT = 8000, 400
_CUT = "the end of the description is omitted"
_ASK = f"parts of the input schema are omitted: call {names.DESCRIBE} with `pointer` for one"


def describe_answers(tool: Tool, pointer: str = "") -> Iterator[JsonObject]:
    """Yield descriptions of *tool*, from the fullest to the shortest.

    Args:
        tool: The tool.
        pointer: JSON pointer to a part of its input schema; "" for the whole tool.

    Raises:
        LookupError: The schema has no such part, or it is not an object.
    """
    if pointer:
        yield from _part_answers(tool, pointer)
        return
    card: JsonObject = {
        "toolId": tool.id,
        "sourceId": line(tool.source_id, _NAME),
        "toolName": line(tool.name, _NAME),
        "title": line(tool.display_name, _NAME),
    }
    hints: JsonObject = {"hints": {**annotations_json(tool), **hints_json(tool.hints)}}
    output: JsonObject = {"outputSchema": tool.output_schema} if tool.output_schema else {}
    schema: JsonObject = {"inputSchema": tool.input_schema}
    whole = prose(tool.description, len(tool.description))
    yield {**card, "description": whole, **schema, **output, **hints}
    long = {**card, "description": prose(tool.description, _LONG), **schema}
    cut = [_CUT] if len(whole) > _LONG else []
    yield {**long, **output, **hints, **_rest(*cut)}
    yield {**long, **hints, **_rest(*cut, "the output schema is omitted")}
    yield {**long, **_rest(*cut, "the output schema and the hints are omitted")}
    short = {**card, "description": prose(tool.description, _SHORT)}
    cut = [_CUT] if len(whole) > _SHORT else []
    for less in pruned(tool.input_schema):
        yield {**short, "inputSchema": less, **_rest(*cut, _ASK)}


def _part_answers(tool: Tool, pointer: str) -> Iterator[JsonObject]:
    schema = part_of(tool.input_schema, pointer)
    if not isinstance(schema, dict):
        raise LookupError(pointer)  # noqa: TRY004 - it is the caller's pointer that is wrong
    yield {"toolId": tool.id, "inputSchema": schema}
    for less in pruned(schema):
        yield {"toolId": tool.id, "inputSchema": less, **_rest(_ASK)}


def _rest(*how: str) -> JsonObject:
    return {"truncated": {"howToGetTheRest": "; ".join(how)}} if how else {}


_VALIDATORS = {name: Draft202012Validator(schema) for name, schema in INPUTS.items()}
_MESSAGE = 300


class MetaTools:
    """Handles calls of meta-tools; errors are results, too."""

    def __init__(self, gateway: Gateway, serving: Serving, catalogue: Catalogue) -> None:
        """Serve *gateway*, whose tools *catalogue* has."""
        self._gateway = gateway
        self._catalogue = catalogue
        self._serving = serving
        self._works: dict[str, Work] = {
            names.SEARCH: self._search,
            names.ROUTE: self._route,
            names.DESCRIBE: self._describe,
            names.INVOKE: self._invoke,
        }
        if serving.graph_tools:
            self._works |= _graph_works(catalogue, serving)

    async def call(
        self, name: str, arguments: Arguments, progress: Progress | None = None
    ) -> JsonObject:
        """Return the result of calling the meta-tool *name*."""
        wrong = fault_of(name, arguments)
        if wrong is not None:
            return wrong
        try:
            return await self._works[name](arguments, progress)
        except McpgError as fault:
            remedy = f" ({fault.remedy})" if fault.remedy else ""
            return failed(line(f"{fault.message}{remedy}", _MESSAGE))

    async def _search(self, arguments: Arguments, _: Progress | None) -> JsonObject:
        find = await self._find()
        result = await self._gateway.search(
            arguments["query"],
            limit=int(arguments.get("limit", USUAL_MATCHES)),
            context=arguments.get("context"),
            **self._serving.search,
        )
        return self._fitted(search_answers(result, find))

    async def _route(self, arguments: Arguments, _: Progress | None) -> JsonObject:
        find = await self._find()
        result = await self._gateway.route(
            arguments["query"],
            categories=int(arguments.get("categories", USUAL_CATEGORIES)),
            tools=int(arguments.get("toolsPerCategory", USUAL_OF_CATEGORY)),
            prefer_read_only=arguments.get("preferReadOnly"),
            context=arguments.get("context"),
            **self._serving.route,
        )
        return self._fitted(route_answers(result, find))

    async def _describe(self, arguments: Arguments, _: Progress | None) -> JsonObject:
        tool = await self._gateway.describe(arguments["toolId"])
        pointer = arguments.get("pointer", "")
        try:
            return self._fitted(describe_answers(tool, pointer))
        except LookupError:
            shown = line(pointer, _MESSAGE)
            return failed(f"the input schema of {tool.id} has no part {shown!r}; omit `pointer`")

    async def _invoke(self, arguments: Arguments, progress: Progress | None) -> JsonObject:
        invoked = await self._gateway.invoke(
            arguments["toolId"], arguments.get("arguments", {}), progress=progress
        )
        return await anyio.to_thread.run_sync(
            result_of, invoked, self._serving.result_bytes, abandon_on_cancel=True
        )

    async def _find(self) -> Find:
        known = await self._catalogue.latest()
        return known.find

    def _fitted(self, answers: Iterator[JsonObject]) -> JsonObject:
        return first_that_fits(answers, self._serving.answer_bytes)


def _graph_works(catalogue: Catalogue, serving: Serving) -> dict[str, Work]:
    # The graph reader takes half a second to import.
    from mcpg.gateway.serve.graph_tools import GraphTools  # noqa: PLC0415

    graph = GraphTools(catalogue, serving)
    return {
        names.GRAPH_SCHEMA: graph.describe,
        names.GRAPH_SEARCH: graph.search,
        names.GRAPH_EXPORT: graph.export,
    }


def fault_of(name: str, arguments: Arguments) -> JsonObject | None:
    """Return the error result for invalid *arguments*, `None` if they are valid."""
    error = best_match(_VALIDATORS[name].iter_errors(arguments))
    if error is None:
        return None
    field = "/".join(("", *(line(str(step), _MESSAGE) for step in error.absolute_path)))
    message = line(error.message, _MESSAGE)
    text = f"invalid arguments of {name}{f' at {field}' if field else ''}: {message}"
    fault: JsonObject = {"code": "arguments_invalid", "message": message, "field": field}
    return failed(text, {"toolId": name, "faults": [fault]})
