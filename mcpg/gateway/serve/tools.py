"""The meta-tools and their work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from jsonschema_rs import Draft202012Validator

from mcpg.ask import AskResult, Suggestion
from mcpg.ask.model import CodeScope, fit_budget
from mcpg.errors import Code, McpgError
from mcpg.gateway import serve
from mcpg.gateway.gateway import Gateway
from mcpg.gateway.serve import Exposure, ServingOptions
from mcpg.gateway.serve.answers import (
    called_result,
    first_that_fits,
    line,
    make_error_result,
    make_result,
    pass_on_result,
    repair_value,
    size,
)
from mcpg.gateway.serve.catalogue import Catalogue, CatalogueState, call_plugin_tool
from mcpg.gateway.serve.clients import ClientRequest
from mcpg.gateway.serve.kept_results import SCHEME, ResultStore
from mcpg.gateway.serve.prompts_and_resources import (
    ItemMatch,
    resource_answer,
    show_message,
)
from mcpg.gateway.serve.schemas import (
    CODE_FILTERS,
    DEFAULTS,
    INPUTS,
    KINDS,
    PROMPTS,
    RESOURCES,
    SKILLS,
    TOOLS,
    USUAL_KINDS,
)
from mcpg.gateway.serve.skills import (
    read_server_file,
    read_skill_file,
    search_skills,
)
from mcpg.gateway.serve.tool_answers import (
    OF_LISTED,
    OF_ONE,
    describe_answers,
    index_answers,
    notes,
    plan_answers,
    route_answers,
    search_answers,
)
from mcpg.gateway.validation import check_arguments
from mcpg.search.results import Match, RankingMode, SearchResult, Strategy
from mcpg.show.json import answer_members
from mcpg.text.json_values import JsonObject, JsonValue

Arguments = dict[str, Any]

OTHER_NAMES: dict[str, dict[str, str]] = {
    serve.SEARCH: {"maxResults": "limit"},
    serve.ROUTE: {"maxCategories": "categories", "maxToolsPerCategory": "toolsPerCategory"},
    serve.GRAPH_SEARCH: {"maxResults": "limit", "serviceEndpoints": "endpoints"},
}
"""Arguments of the .NET gateway by its names, with ours."""

_CONTEXT: JsonObject = {
    "context": {"type": ["string", "object"]},
    "contextSummary": {"type": "string"},
}
UNLISTED: dict[str, JsonObject] = {
    **dict.fromkeys((serve.ROUTE, serve.PLAN), _CONTEXT),
    serve.SEARCH: {**_CONTEXT, **KINDS},
    serve.INVOKE: {"query": {"type": "string"}, **_CONTEXT},
}
"""Arguments that are accepted beside those listed, or as further types of these."""

_ARGUMENT_MESSAGE = 300
_LISTED: dict[str, Any] = INPUTS
_ACCEPTED: dict[str, JsonObject] = {
    name: {**listed, "properties": {**listed["properties"], **UNLISTED.get(name, {})}}
    for name, listed in _LISTED.items()
}
_VALIDATORS = {name: Draft202012Validator(schema) for name, schema in _ACCEPTED.items()}


def invalid_arguments(
    name: str, arguments: Arguments, schema: JsonObject | None = None
) -> JsonObject | None:
    """Return the error result for invalid *arguments*, `None` if they are valid.

    *schema* is the schema of a tool that is not a meta-tool of ours.
    """
    if schema is None and _VALIDATORS[name].is_valid(arguments):
        return None
    faults = check_arguments(_ACCEPTED[name] if schema is None else schema, arguments)
    if schema is not None and not faults:
        return None
    field, message, remedy = "", "they are nested too deeply", ""
    if faults:
        texts = faults[0].field, faults[0].message, faults[0].remedy
        field, message, remedy = (line(one, _ARGUMENT_MESSAGE) for one in texts)
    advice = f" ({remedy})" if remedy else ""
    text = f"invalid arguments of {name}{f' at {field}' if field else ''}: {message}{advice}"
    fault: JsonObject = {"code": "arguments_invalid", "message": message, "field": field}
    return make_error_result(text, {"toolId": name, "faults": [fault]})


def search_context(arguments: Arguments) -> JsonValue:
    """Return the context of a search: the summary, the object or text, or both."""
    given = [arguments[name] for name in ("contextSummary", "context") if name in arguments]
    return given[0] if len(given) == 1 else given or None


Work = Callable[[Arguments, ClientRequest], Awaitable[JsonObject]]

_PRIMITIVES, _MESSAGE = 5, 300
_NO_ROOM = "no answer fits the limit of bytes"
# The options that planning shares with searches.
_OF_PLANS = frozenset(("strategy", "fusion", "lexicon", "include_disabled"))


class MetaTools:
    """Handles calls of meta-tools; errors are also results."""

    def __init__(
        self,
        gateway: Gateway,
        serving: ServingOptions,
        catalogue: Catalogue,
        results: ResultStore,
    ) -> None:
        self._gateway = gateway
        self._results = results
        self._catalogue = catalogue
        self._serving = serving
        self._works: dict[str, Work] = {
            serve.SEARCH: self._search,
            serve.ROUTE: self._route,
            serve.PLAN: self._plan,
            serve.DESCRIBE: self._describe,
            serve.ASK: self._ask,
            serve.INDEX_BUILD: self._index_build,
            serve.INVOKE: self._invoke,
            serve.READ: self._read_resource,
            serve.PROMPT: self._get_prompt,
            serve.READ_SKILL: self._read_skill,
        }
        self._plugins = {one.item.name: one for one in serving.plugin_tools}
        if serving.graph_tools:
            # The graph reader takes half a second to import.
            from mcpg.gateway.serve.graph_tools import GraphTools  # noqa: PLC0415

            graph = GraphTools(catalogue, serving)
            self._works |= {
                serve.GRAPH_SCHEMA: graph.describe,
                serve.GRAPH_SEARCH: graph.search,
                serve.GRAPH_EXPORT: graph.export,
            }

    async def call(self, name: str, arguments: Arguments, request: ClientRequest) -> JsonObject:
        plugin = self._plugins.get(name)
        schema = plugin.item.input_schema if plugin else None
        if plugin is None:
            # Programs and models give null for an argument that they leave out. If both names of an
            # argument are given, ours counts.
            stated = {key: one for key, one in arguments.items() if one is not None}
            others = OTHER_NAMES.get(name, {})
            named = {others[key]: one for key, one in stated.items() if key in others}
            arguments = named | {key: one for key, one in stated.items() if key not in others}
        invalid = invalid_arguments(name, arguments, schema)
        if invalid is not None:
            return invalid
        try:
            if plugin is not None:
                known = await self._catalogue.latest()
                assert known.snapshot is not None  # noqa: S101 - the latest has one
                given = known.snapshot.engine, arguments, self._serving.answer_bytes
                return await anyio.to_thread.run_sync(partial(call_plugin_tool, plugin, *given))
            return await self._works[name]({**DEFAULTS[name], **arguments}, request)
        except McpgError as fault:
            remedy = f" ({fault.remedy})" if fault.remedy else ""
            return make_error_result(line(f"{fault.message}{remedy}", _MESSAGE))

    async def _search(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        known = await self._catalogue.early()
        sources = known.source_ids(arguments.get("sources", ()))
        query, limit = arguments["query"], int(arguments["limit"])
        kinds = frozenset(arguments.get("kinds", USUAL_KINDS))
        result = SearchResult(query, Strategy.GRAPH, RankingMode.GRAPH)
        if TOOLS in kinds:
            result = await self._gateway.search(
                query,
                limit=limit,
                context=search_context(arguments),
                context_tools=arguments.get("contextTools", ()),
                sources=sources,
                categories=arguments.get("categories", ()),
                read_only=arguments.get("readOnly", False),
                **self._serving.search,
            )
        found: Sequence[ItemMatch] = ()
        skills: Sequence[Match] = ()
        if not arguments.get("categories"):
            found = await self._search_primitives(known, query, sources, kinds)
        if SKILLS in kinds and known.snapshot is not None and not arguments.get("categories"):
            work = partial(search_skills, known.snapshot.engine, query, limit, sources)
            skills = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            if known.primitives is not None:
                more = partial(known.primitives.search_skills, query, limit, sources)
                skills = [*skills, *await anyio.to_thread.run_sync(more, abandon_on_cancel=True)]
                skills = sorted(skills, key=lambda match: -match.score)[:limit]
        how = OF_LISTED if self._serving.expose is Exposure.FOUND else OF_ONE
        noun = SKILLS if kinds == {SKILLS} else TOOLS
        return self._fit_answers(search_answers(result, known.find, found, how, skills, noun))

    async def _search_primitives(
        self,
        known: CatalogueState,
        query: str,
        sources: Sequence[str],
        kinds: Collection[str],
    ) -> Sequence[ItemMatch]:
        primitives, wanted = known.primitives, {PROMPTS, RESOURCES}.intersection(kinds)
        if primitives is None or not primitives.kinds or not wanted:
            return ()
        search = partial(primitives.search, query, _PRIMITIVES, sources)
        if primitives.is_brief(query, sources):
            found = search()
        else:
            found = await anyio.to_thread.run_sync(search, abandon_on_cancel=True)
        if len(wanted) > 1:
            return found
        return [one for one in found if (one.kind == "prompts") == (PROMPTS in wanted)]

    async def _read_skill(self, arguments: Arguments, request: ClientRequest) -> JsonObject:
        known = await self._catalogue.latest()
        budget = self._serving.result_bytes
        found = await read_server_file(self._gateway.primitives, arguments, request, budget)
        if found is not None:
            return found
        assert known.snapshot is not None  # noqa: S101 - the latest has one
        work = partial(read_skill_file, known.snapshot.engine, arguments, budget)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    async def _route(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        known = await self._catalogue.early()
        result = await self._gateway.route(
            arguments["query"],
            max_categories=int(arguments["categories"]),
            max_tools=int(arguments["toolsPerCategory"]),
            prefer_read_only=arguments.get("preferReadOnly"),
            context=search_context(arguments),
            **self._serving.route,
        )
        return self._fit_answers(route_answers(result, known.find))

    async def _ask(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        scope = {name: tuple(arguments.get(name, ())) for name in CODE_FILTERS}
        result = await self._gateway.ask(
            arguments["question"],
            intent=arguments.get("intent", ""),
            limit=int(arguments["limit"]),
            scope=CodeScope(**scope) if any(scope.values()) else None,
            **self._serving.ask,
        )

        def answer(one: AskResult) -> JsonObject:
            return make_result(answer_members(one, _next_call) | notes(one.diagnostics))

        measure, room = (lambda one: size(answer(one))), self._serving.answer_bytes
        shown = await anyio.to_thread.run_sync(fit_budget, result, measure, room)
        return make_error_result(_NO_ROOM) if shown is None else answer(shown)

    async def _plan(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        plan = await self._gateway.plan(
            arguments["goal"],
            limit=int(arguments["limit"]),
            context=search_context(arguments),
            context_tools=arguments.get("contextTools", ()),
            **{name: one for name, one in self._serving.search.items() if name in _OF_PLANS},
        )
        return self._fit_answers(plan_answers(plan))

    async def _describe(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        tool = await self._gateway.describe(arguments["toolId"])
        pointer = arguments.get("pointer", "")
        try:
            return self._fit_answers(describe_answers(tool, pointer))
        except LookupError:
            shown = line(pointer, _MESSAGE)
            return make_error_result(
                f"the input schema of {tool.id} has no part {shown!r}; omit `pointer`"
            )

    async def _invoke(self, arguments: Arguments, request: ClientRequest) -> JsonObject:
        invoked = await self._gateway.invoke(
            arguments["toolId"],
            arguments.get("arguments", {}),
            timeout=arguments.get("timeout"),
            query=arguments.get("query", ""),
            context=arguments.get("context"),
            context_summary=arguments.get("contextSummary", ""),
            **request.options(),
        )
        keep = partial(self._results.keep, session=request.holder)
        return await called_result(
            invoked, self._serving.result_bytes, version=request.version, keep=keep
        )

    async def _read_resource(self, arguments: Arguments, request: ClientRequest) -> JsonObject:
        """Return the contents of a resource as embedded resources, as far as they fit."""
        uri, offset = arguments["uri"], int(arguments["offset"])
        contents: Any
        if uri.startswith(SCHEME):
            contents = self._results.read(uri, request.holder)
        else:
            params: JsonObject = {**request.params, "_meta": request.meta}
            result = await self._gateway.primitives.read(uri, params, request.progress)
            if result.get("resultType") == "input_required":
                return result
            contents = repair_value(result.get("contents", []))
        work = partial(resource_answer, contents, offset, self._serving.result_bytes)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    async def _get_prompt(self, arguments: Arguments, request: ClientRequest) -> JsonObject:
        params: JsonObject = {**request.params, "_meta": request.meta}
        if "arguments" in arguments:
            params["arguments"] = arguments["arguments"]
        result = await self._gateway.primitives.prompt(arguments["name"], params, request.progress)
        if result.get("resultType") == "input_required":
            return result
        messages: Any = result.get("messages", [])
        blocks: list[JsonValue] = [show_message(one) for one in messages]
        shown: JsonObject = repair_value({"content": blocks, "isError": False})
        keep = partial(self._results.keep, session=request.holder)
        return pass_on_result(shown, self._serving.result_bytes, structured_needed=False, keep=keep)

    async def _index_build(self, _: Arguments, __: ClientRequest) -> JsonObject:
        snapshot = await self._gateway.build_index(force=True)
        noticed = self._gateway.diagnostics
        if self._gateway.is_narrowed:  # others name hidden tools
            noticed = tuple(
                one for one in snapshot.diagnostics if one.code != Code.SERVED_NAME_UNKNOWN
            )
        work = partial(index_answers, snapshot, noticed)
        return self._fit_answers(await anyio.to_thread.run_sync(work))

    def _fit_answers(self, answers: Iterable[JsonObject]) -> JsonObject:
        return first_that_fits(answers, self._serving.answer_bytes)


def _next_call(suggestion: Suggestion) -> JsonObject:
    command, argument = suggestion.command
    tool, name = (serve.ASK, "question") if command == "ask" else (serve.DESCRIBE, "toolId")
    return {"tool": tool, "arguments": {name: argument}, "because": suggestion.text}
