"""The meta-tools: their work, and their answers, from the fullest to the shortest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import anyio.to_thread
from jsonschema_rs import Draft202012Validator

from mcpg.ask import AskResult, Suggestion
from mcpg.ask.model import CodeScope, fit_budget
from mcpg.catalog.model import Tool
from mcpg.errors import Code, Diagnostic, McpgError, Severity
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
    prose,
    repair_value,
    size,
)
from mcpg.gateway.serve.catalogue import Catalogue, CatalogueState, call_plugin_tool
from mcpg.gateway.serve.clients import ClientRequest
from mcpg.gateway.serve.kept_results import SCHEME, ResultStore
from mcpg.gateway.serve.prompts_and_resources import (
    ItemMatch,
    primitive_answers,
    resource_answer,
    show_message,
)
from mcpg.gateway.serve.schemas import (
    CODE_FILTERS,
    INPUTS,
    KINDS,
    PROMPTS,
    RESOURCES,
    SKILLS,
    TOOLS,
    USUAL_ANSWERS,
    USUAL_CATEGORIES,
    USUAL_KINDS,
    USUAL_MATCHES,
    USUAL_OF_CATEGORY,
    annotations_json,
    find_schema_part,
    hints_json,
    prune_schema,
)
from mcpg.gateway.serve.skills import (
    read_server_file,
    read_skill_file,
    search_skills,
    skill_answers,
)
from mcpg.gateway.snapshots import Snapshot
from mcpg.gateway.validation import check_arguments
from mcpg.plan import Plan, Task
from mcpg.route import RouteResult
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.results import PREREQUISITE, Match, RankingMode, SearchResult, Strategy
from mcpg.show.json import answer_members
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import SHOWN_DECIMALS, score_text

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

    *schema* is that of a tool that is no meta-tool of ours.
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


_SOURCE_NAME, _BUILD_NOTE = 64, 240
_SHARES = (1.0, 0.5, 0.1, 0.0)
_REVIEW = {
    Code.TOOL_CHANGED: "a tool has changed since it was reviewed",
    Code.TOOL_UNREVIEWED: "tools of a source are hidden until reviewed",
}
"""Messages that repeat nothing that was not reviewed, because models read them."""

_REST = "the operator has all sources and diagnostics: `mcpg doctor`"


def index_answers(snapshot: Snapshot, diagnostics: Sequence[Diagnostic]) -> list[JsonObject]:
    """Return answers to a build of the index, from the fullest to the shortest."""
    engine = snapshot.engine
    counts: JsonObject = {
        "tools": len(engine.index),
        "edges": sum(len(engine.index.edges(tool)) for tool in range(len(engine.index))),
        "hasVectors": engine.services is not None and engine.services.embeddings is not None,
    }
    tools = Counter(tool.source_id for tool in snapshot.catalog.tools)
    sources: list[JsonValue] = [
        {"sourceId": line(name, _SOURCE_NAME), "tools": count}
        for name, count in sorted(tools.items())
    ]
    found: list[JsonValue] = [
        {
            "code": one.code,
            "severity": one.severity,
            "message": _REVIEW.get(one.code) or line(one.message, _BUILD_NOTE),
        }
        for one in sorted(diagnostics, key=lambda one: one.severity == Severity.INFO)
    ]
    answers: list[JsonObject] = []
    for share in _SHARES:
        kept = sources[: int(share * len(sources))], found[: int(share * len(found))]
        omitted = len(sources) + len(found) - len(kept[0]) - len(kept[1])
        how: JsonObject = {"omitted": omitted, "howToGetTheRest": _REST}
        answer: JsonObject = {**counts, "sources": kept[0], "diagnostics": kept[1]}
        answers.append(answer | ({"truncated": how} if omitted else {}))
    return answers


_Item = TypeVar("_Item")
Find = Callable[[str], Tool | None]
Work = Callable[[Arguments, ClientRequest], Awaitable[JsonObject]]

# Numbers of items and of characters in an answer.
_NEIGHBOURS, _ARGUMENTS, _NOTES, _PRIMITIVES = 3, 16, 4, 5
_NAME, _NOTE, _CATEGORY, _LONG_NAME, _MESSAGE = 64, 240, 80, 200, 300
_LONG, _SHORT = 8000, 400
_NO_MATCH = (
    "No tool matches. Rephrase the task; if that finds nothing either, no tool here can do it."
)
_DOUBTFUL = (
    "Low confidence: the best match scores {score}, where 1 is certain. Read the descriptions, "
    "add detail to the query and search again, or do without; do not use a tool on a guess."
)
_BROWSING = "The query is empty: these are tools by name. Describe the task."
_NO_ROOM = "no answer fits the limit of bytes"
_CUT = "the end of the description is omitted"
_ASK = f"parts of the input schema are omitted: call {serve.DESCRIBE} with `pointer` for one"
_OF_ONE = f"call {serve.DESCRIBE} for a tool"
_OF_LISTED = f"look up a tool in the list of tools, or call {serve.DESCRIBE} where that is listed"
# The options of searches that planning has as well.
_OF_PLANS = frozenset(("strategy", "fusion", "lexicon", "include_disabled"))


class DetailLevel(NamedTuple):
    """Level of detail: characters of a description, share of matches, whether with neighbours."""

    description: int
    matches: float
    neighbours: bool


# Descriptions shrink first, then neighbours are dropped, then matches from the end.
LADDER = (
    DetailLevel(300, 1, neighbours=True),
    DetailLevel(160, 1, neighbours=True),
    DetailLevel(80, 1, neighbours=False),
    DetailLevel(0, 1, neighbours=False),
    DetailLevel(80, 0.5, neighbours=False),
    DetailLevel(0, 0.5, neighbours=False),
    DetailLevel(0, 0.25, neighbours=False),
    DetailLevel(0, 0.1, neighbours=False),
    DetailLevel(0, 0, neighbours=False),
)


def search_answers(
    result: SearchResult,
    find: Find,
    found: Sequence[ItemMatch] = (),
    how: str = _OF_ONE,
    skills: Sequence[Match] = (),
) -> Iterator[JsonObject]:
    """Yield answers to a search, from the fullest to the shortest.

    Prompts and resources that were *found* match as well, and *skills*; *how* says how to get the
    rest of one tool, which *find* returns by its id.
    """
    for brevity in LADDER:
        kept = share(result.matches, brevity)
        answer: JsonObject = {"matches": [match_answer(match, find, brevity) for match in kept]}
        needed, related, following = (
            _describe_neighbours(matches, brevity)
            for matches in (result.prerequisites, result.related_matches, result.next_step_matches)
        )
        answer |= {"prerequisites": needed} if needed else {}
        answer |= primitive_answers(share(found, brevity), brevity.description)
        instructions = share(skills, brevity)
        answer |= skill_answers(instructions, brevity.description)
        answer |= {"related": related} if related else {}
        answer |= {"nextSteps": following} if following else {}
        is_browsing = result.ranking_mode == RankingMode.BROWSE
        best = result.matches[:1] or skills[:1]
        answer |= {"advice": _BROWSING} if is_browsing else advice(best)
        answer |= notes(result.diagnostics)
        more = {
            "omittedPrerequisites": len(result.prerequisites) - len(needed),
            "omittedRelated": len(result.related_matches) - len(related),
            "omittedNextSteps": len(result.next_step_matches) - len(following),
        }
        omitted = len(result.matches) - len(kept) + len(skills) - len(instructions)
        yield answer | truncation_note(omitted, brevity, more, how)


def share(matches: Sequence[_Item], brevity: DetailLevel) -> Sequence[_Item]:
    """Return the first of *matches*, at least one: the share that *brevity* keeps."""
    return matches[: max(1, int(len(matches) * brevity.matches))]


def match_answer(match: Match, find: Find, brevity: DetailLevel) -> JsonObject:
    """Return what a model needs to choose a match."""
    tool = find(match.tool_id)
    required = tool.required_arguments if tool is not None else ()
    left_out = len(required) - _ARGUMENTS
    return {
        "toolId": match.tool_id,
        "sourceId": line(match.source_id, _NAME),
        **_describe_match(match, brevity),
        "score": round(match.score, SHOWN_DECIMALS),
        "isConfident": match.score >= LOW_CONFIDENCE,
        "requiredArguments": [line(name, _NAME) for name in required[:_ARGUMENTS]],
        **({"omittedArguments": left_out} if left_out > 0 else {}),
    }


def _describe_match(match: Match, brevity: DetailLevel) -> JsonObject:
    if not brevity.description:
        return {}
    return {"description": line(match.summary or match.display_name, brevity.description)}


def _describe_neighbours(matches: Sequence[Match], brevity: DetailLevel) -> list[JsonValue]:
    if not brevity.neighbours:
        return []
    return [
        {
            "toolId": match.tool_id,
            **_describe_match(match, DetailLevel(brevity.description // 2, 1, neighbours=True)),
            "because": line(via.reason if via else "", _NOTE),
            **({"before": via.source} if via is not None and via.edge == PREREQUISITE else {}),
        }
        for match in matches[:_NEIGHBOURS]
        for via in (match.via,)
    ]


def advice(best: Sequence[Match]) -> JsonObject:
    """Return advice for a low score or no match, empty otherwise."""
    if not best:
        return {"advice": _NO_MATCH}
    score = best[0].score
    return {} if score >= LOW_CONFIDENCE else {"advice": _DOUBTFUL.format(score=score_text(score))}


def notes(diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the warnings and errors of a search that matter to a model."""
    messages: list[JsonValue] = [
        line(item.message, _NOTE)
        for item in diagnostics
        if item.severity != Severity.INFO and item.code != Code.LOW_CONFIDENCE
    ]
    return {"notes": messages[:_NOTES]} if messages else {}


def truncation_note(
    omitted: int, brevity: DetailLevel, more: Mapping[str, int] | None = None, how: str = _OF_ONE
) -> JsonObject:
    """Return the member `truncated`, empty if nothing was omitted.

    It says how many matches and, by member name, how many *more* items were *omitted*, and *how*
    to get the rest of one tool.
    """
    counts: JsonObject = {name: count for name, count in (more or {}).items() if count}
    if not omitted and not counts and brevity.description:
        return {}
    if counts:
        how = f"search for prerequisites, related tools and next steps separately, and {how}"
    if omitted:
        how = f"lower the limit or narrow the query, and {how}"
    return {"truncated": {"omitted": omitted, **counts, "howToGetTheRest": how}}


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
            score = round(category.score, SHOWN_DECIMALS)
            name = line(category.name, _CATEGORY)
            categories.append({"name": name, "score": score, "tools": tools})
        answer: JsonObject = {"preference": result.preference.name, "categories": categories}
        answer |= advice((best,) if best is not None else ())
        answer |= notes(result.diagnostics)
        yield answer | truncation_note(total - shown, brevity)


def plan_answers(plan: Plan) -> Iterator[JsonObject]:
    """Yield plans, from the fullest to the shortest; no task is left out before its details are."""
    for brevity in LADDER:
        kept = share(plan.tasks, brevity)
        names = {task.id for task in kept}
        answer: JsonObject = {
            "confidence": round(plan.confidence, SHOWN_DECIMALS),
            "complete": round(plan.complete, SHOWN_DECIMALS),
            "clean": round(plan.clean, SHOWN_DECIMALS),
            "tasks": [_task_answer(task, brevity) for task in kept],
        }
        missing: list[JsonValue] = [
            {
                "argument": line(one.argument, _NAME),
                "tasks": [name for name in one.tasks if name in names],
                **({"description": line(one.description, _NOTE)} if brevity.neighbours else {}),
            }
            for one in plan.missing[:_ARGUMENTS]
            if names.intersection(one.tasks)
        ]
        answer |= {"missing": missing} if missing else {}
        answer |= {} if plan.tasks else {"advice": _NO_MATCH}
        answer |= notes(plan.diagnostics)
        yield answer | truncation_note(len(plan.tasks) - len(kept), brevity)


def _task_answer(task: Task, brevity: DetailLevel) -> JsonObject:
    after: list[JsonValue] = [
        {
            "task": one.task,
            "because": line(one.reason, _NOTE),
            "fills": [line(mapping.argument, _NAME) for mapping in one.mappings[:_ARGUMENTS]],
        }
        for one in task.depends_on
    ]
    provided: list[JsonValue] = [
        {"toolId": one.tool_id, "fills": line(one.argument, _NAME)}
        for one in task.provided[:_ARGUMENTS]
    ]
    answer: JsonObject = {
        "id": task.id,
        "toolId": task.tool_id,
        "sourceId": line(task.source_id, _NAME),
        "step": task.layer + 1,
        "confidence": round(task.confidence, SHOWN_DECIMALS),
        "isDestructive": task.is_destructive,
    }
    if not brevity.description:
        return answer
    others: list[JsonValue] = [one.tool_id for one in task.alternatives]
    return answer | {
        "description": line(task.summary or task.display_name, brevity.description),
        "after": after,
        **({"provided": provided} if provided else {}),
        "alternatives": others,
        "because": line(task.rationale, _NOTE),
    }


def describe_answers(tool: Tool, pointer: str = "") -> Iterator[JsonObject]:
    """Yield descriptions of *tool*, or of the part of its input schema at the JSON *pointer*.

    They go from the fullest to the shortest. Raises `LookupError` where there is no such part, or
    it is not an object.
    """
    if pointer:
        part = find_schema_part(tool.input_schema, pointer)
        if not isinstance(part, dict):
            raise LookupError(pointer)
        yield {"toolId": tool.id, "inputSchema": part}
        for less in prune_schema(part):
            yield {"toolId": tool.id, "inputSchema": less, **_note_rest(_ASK)}
        return
    card: JsonObject = {
        "toolId": tool.id,
        "sourceId": line(tool.source_id, _LONG_NAME),
        "toolName": line(tool.name, _LONG_NAME),
        "title": line(tool.display_name, _LONG_NAME),
    }
    hints: JsonObject = {"hints": {**annotations_json(tool), **hints_json(tool.hints)}}
    output: JsonObject = {"outputSchema": tool.output_schema} if tool.output_schema else {}
    schema: JsonObject = {"inputSchema": tool.input_schema}
    whole = prose(tool.description, len(tool.description))
    yield {**card, "description": whole, **schema, **output, **hints}
    long = {**card, "description": prose(tool.description, _LONG), **schema}
    cut = [_CUT] if len(whole) > _LONG else []
    yield {**long, **output, **hints, **_note_rest(*cut)}
    yield {**long, **hints, **_note_rest(*cut, "the output schema is omitted")}
    yield {**long, **_note_rest(*cut, "the output schema and the hints are omitted")}
    short = {**card, "description": prose(tool.description, _SHORT)}
    cut = [_CUT] if len(whole) > _SHORT else []
    for less in prune_schema(tool.input_schema):
        yield {**short, "inputSchema": less, **_note_rest(*cut, _ASK)}


def _note_rest(*how: str) -> JsonObject:
    return {"truncated": {"howToGetTheRest": "; ".join(how)}} if how else {}


class MetaTools:
    """Handles calls of meta-tools; errors are results, too."""

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
            # Programs and models give null for an argument that they leave out. Where both names
            # of one are given, ours counts.
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
            return await self._works[name](arguments, request)
        except McpgError as fault:
            remedy = f" ({fault.remedy})" if fault.remedy else ""
            return make_error_result(line(f"{fault.message}{remedy}", _MESSAGE))

    async def _search(self, arguments: Arguments, _: ClientRequest) -> JsonObject:
        known = await self._catalogue.early()
        sources = known.source_ids(arguments.get("sources", ()))
        query, limit = arguments["query"], int(arguments.get("limit", USUAL_MATCHES))
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
        how = _OF_LISTED if self._serving.expose is Exposure.FOUND else _OF_ONE
        return self._fit_answers(search_answers(result, known.find, found, how, skills))

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
            max_categories=int(arguments.get("categories", USUAL_CATEGORIES)),
            max_tools=int(arguments.get("toolsPerCategory", USUAL_OF_CATEGORY)),
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
            limit=int(arguments.get("limit", USUAL_ANSWERS)),
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
            limit=int(arguments.get("limit", USUAL_MATCHES)),
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
        uri, offset = arguments["uri"], int(arguments.get("offset", 0))
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
        if self._gateway.is_narrowed:  # others name what is hidden
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
