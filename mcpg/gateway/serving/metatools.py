"""What each meta-tool does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator

from mcpg.errors import McpgError
from mcpg.gateway.serving import names
from mcpg.gateway.serving.answers import search_answers
from mcpg.gateway.serving.budget import failed, first_that_fits
from mcpg.gateway.serving.describing import describe_answers
from mcpg.gateway.serving.metaschemas import (
    INPUTS,
    USUAL_CATEGORIES,
    USUAL_MATCHES,
    USUAL_OF_CATEGORY,
)
from mcpg.gateway.serving.passing import result_of
from mcpg.gateway.serving.routeanswers import route_answers
from mcpg.gateway.serving.wording import line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.progress import Progress
    from mcpg.gateway.serving.answers import Find
    from mcpg.gateway.serving.catalogue import Catalogue
    from mcpg.gateway.serving.options import Serving
    from mcpg.jsontypes import JsonObject

    Arguments = dict[str, Any]
    Work = Callable[[Arguments, Progress | None], Awaitable[JsonObject]]

_VALIDATORS = {name: Draft202012Validator(schema) for name, schema in INPUTS.items()}
_MESSAGE = 300


class MetaTools:
    """Answers calls of meta-tools; what is wrong is an answer as well."""

    def __init__(self, gateway: Gateway, serving: Serving, catalogue: Catalogue) -> None:
        """Answer for *gateway*, of which *catalogue* knows the tools."""
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
        """Give the result of calling the meta-tool *name*."""
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
            return failed(f"the input schema of {tool.id} has no part {shown!r}; ask without it")

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
    # What reads the graph takes half a second to import.
    from mcpg.gateway.serving.graphtools import GraphTools  # noqa: PLC0415

    graph = GraphTools(catalogue, serving)
    return {
        names.GRAPH_SCHEMA: graph.describe,
        names.GRAPH_SEARCH: graph.search,
        names.GRAPH_EXPORT: graph.export,
    }


def fault_of(name: str, arguments: Arguments) -> JsonObject | None:
    """Give the result that says what is wrong with *arguments*, `None` when nothing is."""
    error = best_match(_VALIDATORS[name].iter_errors(arguments))
    if error is None:
        return None
    field = "/".join(("", *(line(str(step), _MESSAGE) for step in error.absolute_path)))
    message = line(error.message, _MESSAGE)
    told = f"the arguments of {name} are wrong{f' at {field}' if field else ''}: {message}"
    fault: JsonObject = {"code": "arguments_invalid", "message": message, "field": field}
    return failed(told, {"toolId": name, "faults": [fault]})
