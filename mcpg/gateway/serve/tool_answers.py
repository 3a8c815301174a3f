"""The answers of meta-tools about tools, each from the fullest to the shortest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from mcpg.catalog.model import Tool
from mcpg.errors import Code, Diagnostic, Severity
from mcpg.gateway import serve
from mcpg.gateway.serve.answers import line, prose
from mcpg.gateway.serve.prompts_and_resources import ItemMatch, primitive_answers
from mcpg.gateway.serve.schemas import (
    TOOLS,
    annotations_json,
    find_schema_part,
    hints_json,
    prune_schema,
)
from mcpg.gateway.serve.skills import skill_answers
from mcpg.gateway.snapshots import Snapshot
from mcpg.plan import Plan, Task
from mcpg.route import RouteResult
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.results import PREREQUISITE, Match, RankingMode, SearchResult
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import SHOWN_DECIMALS, score_text

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

# Numbers of items and of characters in an answer.
_NEIGHBOURS, _ARGUMENTS, _NOTES = 3, 16, 4
_NAME, _NOTE, _CATEGORY, _LONG_NAME = 64, 240, 80, 200
_LONG, _SHORT = 8000, 400
_NO_MATCH = (
    "No {noun} matches. Rephrase the task; if that finds nothing either, no {noun} here can do it."
)
_DOUBTFUL = (
    "Low confidence: the best match scores {score} of 1. Read the descriptions, "
    "add detail to the query and search again, or do without; do not use a tool on a guess."
)
_BROWSING = "The query is empty: these are tools by name. Describe the task."
_CUT = "the end of the description is omitted"
_ASK = f"parts of the input schema are omitted: call {serve.DESCRIBE} with `pointer` for one"
OF_ONE = f"call {serve.DESCRIBE} for a tool"
OF_LISTED = f"look up a tool in the list of tools, or call {serve.DESCRIBE} where that is listed"


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
    how: str = OF_ONE,
    skills: Sequence[Match] = (),
    noun: str = TOOLS,
) -> Iterator[JsonObject]:
    """Yield answers to a search for a *noun*, from the fullest to the shortest.

    The matches include the *found* prompts and resources, and *skills*; *how* describes how to get
    the rest of one tool, which *find* returns by its id.
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
        answer |= {"advice": _BROWSING} if is_browsing else advice(best, noun)
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
    """Return the members that a model needs to choose a match."""
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


def advice(best: Sequence[Match], noun: str = TOOLS) -> JsonObject:
    """Return advice for a low score or no match of a *noun*, empty otherwise."""
    if not best:
        return {"advice": _NO_MATCH.format(noun=noun)}
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
    omitted: int, brevity: DetailLevel, more: Mapping[str, int] | None = None, how: str = OF_ONE
) -> JsonObject:
    """Return the member `truncated`, empty if nothing was omitted.

    It contains how many matches and, by member name, how many *more* items were *omitted*, and
    *how* to get the rest of one tool.
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
        answer |= {} if plan.tasks else advice(())
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

    They go from the fullest to the shortest. Raises `LookupError` if the part does not exist or is
    not an object.
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
