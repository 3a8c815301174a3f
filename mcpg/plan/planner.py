"""The planner: from a goal to a plan, over one index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from mcpg.errors import Code, Diagnostic, warning
from mcpg.plan import (
    Alternative,
    Dependency,
    DroppedDependency,
    FilledInput,
    Intent,
    MissingInput,
    Plan,
    ProvidedInput,
    Task,
)
from mcpg.plan import Mapping as FieldMapping
from mcpg.plan.dependencies import TaskOrder, dependencies, needless, split_layers
from mcpg.plan.selection import (
    Choice,
    PlanContext,
    PlanModel,
    ToolSelection,
    alternatives,
    asked_destruction,
    choose,
    confidence,
    plan_model,
)
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.pipeline import RankedList
from mcpg.search.prerequisites import (
    GOAL_SHARE,
    Closure,
    NeedCache,
    fields_filled_by,
    prerequisites,
)
from mcpg.search.results import SearchRequest
from mcpg.search.searcher import Searcher
from mcpg.text.literals import TextLiteral
from mcpg.values import format_below, format_count, score_text

_LONGEST_DESCRIPTION = 200


def find_inputs(
    tasks: Sequence[Task], literals: Sequence[TextLiteral]
) -> tuple[tuple[FilledInput, ...], tuple[MissingInput, ...]]:
    """Return the required arguments that *literals* of the goal fill, and those that are missing.

    An argument that several tasks miss is there once.
    """
    filled: list[FilledInput] = []
    missing: dict[str, list[Task]] = {}
    for task in tasks:
        given = {one.argument for link in task.depends_on for one in link.mappings}
        given |= {one.argument for one in task.provided}
        left = [name for name in task.descriptor.required_arguments if name not in given]
        by_goal = fields_filled_by(literals, left)
        filled += [FilledInput(task.id, name, one.text) for name, one in by_goal.items()]
        for name in left:
            if name not in by_goal:
                missing.setdefault(name, []).append(task)
    needed = []
    for name, held in missing.items():
        properties = held[0].descriptor.input_schema.get("properties")
        schema = properties.get(name) if isinstance(properties, dict) else None
        schema = schema if isinstance(schema, dict) else {}
        kind, described = schema.get("type"), schema.get("description")
        text = " ".join(described.split()) if isinstance(described, str) else ""
        needed.append(
            MissingInput(
                name,
                tuple([task.id for task in held]),
                kind if isinstance(kind, str) else "",
                text[:_LONGEST_DESCRIPTION],
            )
        )
    return tuple(filled), tuple(needed)


# Matches that are looked at; steps beside them are reached by edges.
_MATCHES = 20
# A task answers an intent if it answers so much of what the best one does.
_ANSWERS = 0.5
_INFERRED = "inferred"
CHANGES = 0.5
"""A tool that changes something with a greater probability counts as one that does."""


@dataclass(frozen=True, slots=True)
class _PlanDraft:
    """A plan before its tasks have names."""

    chosen: ToolSelection
    closure: Closure
    order: tuple[int, ...]
    layers: tuple[tuple[int, ...], ...]
    found: TaskOrder
    names: dict[int, str]


_NOTHING_FOUND = "no tool matches any word of the goal"
_NOTHING_SAFE = "only tools that delete something match, and the goal does not ask for that"
_NOTHING_LEFT = "every tool that matches is in use already"


def _doubt(message: str) -> Diagnostic:
    return warning(Code.LOW_CONFIDENCE, message)


class Planner:
    """Plans over one index; what it answers never changes."""

    def __init__(
        self,
        searcher: Searcher,
        surroundings: PlanContext | None = None,
        model: PlanModel | None = None,
    ) -> None:
        """Prepare to plan over the index of *searcher*, by *model* or the one shipped.

        *surroundings* stand for what the index says of tools and what leads from one to others.
        """
        self._searcher = searcher
        self._surroundings = surroundings or PlanContext(searcher.index)
        self._model = model or plan_model()
        self._needs = NeedCache()

    def plan(self, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]) -> Plan:
        """Return a plan for the query of *request*, of at most its limit of chosen tools.

        Tools that these are known to need are added to them. *diagnostics* lead those of the plan.
        """
        nothing = Plan(request.query, request.strategy, diagnostics=diagnostics)
        if not self._searcher.has_tools(request):
            doubts = () if request.is_filtered else (_doubt(_NOTHING_FOUND),)
            return replace(nothing, diagnostics=(*diagnostics, *doubts))
        ranking, found = self._searcher.rank_request(request._replace(limit=_MATCHES))
        diagnostics = (*diagnostics, *found)
        if not ranking.primaries:
            return replace(nothing, diagnostics=(*diagnostics, _doubt(_NOTHING_FOUND)))
        draft = self._draft(request, ranking)
        if not draft.order:
            doubt = _doubt(_NOTHING_SAFE if draft.chosen.others else _NOTHING_LEFT)
            return replace(nothing, diagnostics=(*diagnostics, doubt))
        layers = {tool: place for place, layer in enumerate(draft.layers) for tool in layer}
        tasks = tuple([self._task(tool, layers[tool], draft) for tool in draft.order])
        filled, missing = find_inputs(tasks, ranking.analysis.literals)
        sure = sum(task.confidence for task in tasks) / len(tasks)
        if sure < LOW_CONFIDENCE:
            shown = format_below(sure, LOW_CONFIDENCE)
            doubt = _doubt(f"the plan has a confidence of {shown}: add detail to the goal")
            diagnostics = (*diagnostics, doubt)
        return Plan(
            request.query,
            request.strategy,
            tasks,
            tuple([tuple([draft.names[tool] for tool in layer]) for layer in draft.layers]),
            _intents(ranking, draft),
            missing,
            filled,
            tuple(
                [
                    DroppedDependency(draft.names[first], draft.names[then], link.weight)
                    for (first, then), link in draft.found.broken
                ]
            ),
            sure,
            self._rationale(draft),
            diagnostics,
        )

    def _draft(self, request: SearchRequest, ranking: RankedList) -> _PlanDraft:
        excluded = self._searcher.excluded_tools(request)
        used = ranking.analysis.used.tools if ranking.analysis.used else ()
        chosen = choose(
            ranking, self._surroundings, self._model, excluded=excluded, limit=request.limit
        )
        if used:
            # Steps that only give what the tools in use give already are left out.
            tools = [one.tool for one in chosen.steps]
            asked = [one.tool for one in chosen.steps if _is_found(one, chosen)]
            idle = needless(tools, self._surroundings, used, asked=asked)
            steps = tuple([one for one in chosen.steps if one.tool not in idle])
            chosen = replace(chosen, steps=steps)
        closure = self._closure(ranking, chosen, excluded, used)
        tools = [one.tool for one in chosen.steps]
        tools += [one.tool for one in closure.found]
        found = dependencies(tools, self._surroundings, used)
        chances = {one.tool: one.chance for one in chosen.steps}

        def rank(tool: int) -> tuple[bool, float, float, str]:
            """Order tools that may run side by side by kind of work, then likelihood."""
            profile, tool_id = self._surroundings.profile(tool), self._searcher.index.tool_id(tool)
            stage, chance = round(profile.stage, 6), chances.get(tool, 0.0)
            return profile.is_destructive, stage, -chance, tool_id

        layers = split_layers(tools, found.links, rank)
        order = tuple([tool for layer in layers for tool in layer])
        names = {tool: f"t{place}" for place, tool in enumerate(order, 1)}
        return _PlanDraft(chosen, closure, order, tuple(map(tuple, layers)), found, names)

    def _closure(
        self,
        ranking: RankedList,
        chosen: ToolSelection,
        excluded: frozenset[int],
        used: Sequence[int],
    ) -> Closure:
        """Return what is known to run before what a search for the goal finds.

        What is only likely was weighed before. Nothing destructive is added unasked.
        """
        steps = {one.tool for one in chosen.steps}
        asked = asked_destruction(ranking.analysis)
        best = max((one.score for one in chosen.steps), default=0.0)
        closure = prerequisites(
            [(one.tool, one.chance) for one in chosen.steps if one.score >= GOAL_SHARE * best],
            self._searcher.index,
            literals=ranking.analysis.literals,
            without=excluded,
            done=used,
            memo=self._needs,
        )
        known = steps.copy()
        kept = []
        for one in closure.found:
            if one.need.before not in known or one.need.origin == _INFERRED:
                continue
            first, goal = self._surroundings.profile(one.tool), self._surroundings.profile(one.goal)
            if (first.changes > CHANGES >= goal.changes) or (
                not asked and self._surroundings.profile(one.tool).is_destructive
            ):
                continue
            if one.tool not in known:
                kept.append(one)
            known.add(one.tool)
        return Closure(tuple(kept), closure.needs)

    def _task(self, tool: int, layer: int, draft: _PlanDraft) -> Task:
        index = self._searcher.index
        choice = next((one for one in draft.chosen.steps if one.tool == tool), None)
        tool_id, place_of = index.tool_id(tool), draft.order.index
        links = draft.found.links.items()
        before = [(place_of(first), link) for (first, then), link in links if then == tool]
        depends_on = [
            Dependency(
                draft.names[draft.order[place]],
                link.kind,
                link.origin,
                link.weight,
                link.reason,
                tuple([FieldMapping(draft.names[draft.order[place]], *one) for one in link.fields]),
            )
            for place, link in sorted(before, key=itemgetter(0))
        ]
        is_first = any(first == tool for first, _ in draft.found.links)
        return Task(
            draft.names[tool],
            tool_id,
            index.source_id(tool),
            index.tool_name(tool),
            index.display_name(tool),
            index.summary(tool),
            layer,
            choice is None or (is_first and not _is_found(choice, draft.chosen)),
            self._surroundings.profile(tool).is_destructive,
            choice.score if choice else 0.0,
            min(1.0, self._weigh_task(tool, choice, draft)),
            tuple(depends_on),
            tuple(
                [
                    ProvidedInput(index.tool_id(first), field, argument)
                    for (first, then), link in draft.found.given.items()
                    for field, argument in link.fields
                    if then == tool
                ]
            ),
            tuple(
                [
                    Alternative(
                        index.tool_id(one.tool),
                        one.source,
                        confidence(one.chance, self._model) if one.chance else one.score,
                    )
                    for one in (
                        alternatives(choice, draft.chosen.others, self._surroundings)
                        if choice
                        else ()
                    )
                ]
            ),
            self._reason(tool, choice, draft),
            lambda: self._searcher.tool(tool_id),
        )

    def _weigh_task(self, tool: int, choice: Choice | None, draft: _PlanDraft) -> float:
        """Return the confidence in a task; of a prerequisite that is its share of its goal's."""
        if choice is not None:
            return confidence(choice.chance, self._model)
        needed = next((one for one in draft.closure.found if one.tool == tool), None)
        for goal in draft.chosen.steps if needed else ():
            if needed and goal.tool == needed.goal:
                share = needed.score / goal.chance if goal.chance else 0.0
                return confidence(goal.chance, self._model) * share
        return 0.0

    def _reason(self, tool: int, choice: Choice | None, draft: _PlanDraft) -> str:
        index = self._searcher.index
        followers = [then for (first, then) in draft.found.links if first == tool]
        followers.sort(key=draft.order.index)
        before = f"comes before {index.tool_name(followers[0])}" if followers else ""
        if choice is None:
            need = next(one.need for one in draft.closure.found if one.tool == tool)
            return f"needed by {index.tool_name(need.before)}: {need.reason}"
        is_told = _is_found(choice, draft.chosen) or (choice.score and not before)
        found = (
            f"a search for the goal finds it with a score of {score_text(choice.score)}"
            if is_told
            else ""
        )
        return "; ".join(filter(None, (found, before))) or "its kind of work makes it likely"

    def _rationale(self, draft: _PlanDraft) -> str:
        used = {one.source for one in draft.chosen.steps}
        shown = [
            f"{source} ({score_text(chance)})"
            for source, chance in draft.chosen.sources
            if source in used
        ]
        steps = format_count(len(draft.chosen.steps), "tool")
        added = len(draft.closure.found)
        more = f", {format_count(added, 'prerequisite')}" if added else ""
        return f"server {' and '.join(shown)}: {steps} by evidence{more}"


def _is_found(choice: Choice, chosen: ToolSelection) -> bool:
    """Return whether a search for the goal finds a tool not much less surely than the best."""
    best = max(one.score for one in chosen.steps)
    return choice.score >= GOAL_SHARE * best > 0


def _intents(ranking: RankedList, draft: _PlanDraft) -> tuple[Intent, ...]:
    """Return the parts of the goal and the tasks that answer each best."""
    analysis = ranking.analysis
    clauses = [clause.text for clause in analysis.clauses]
    rows = {one.document: one.intents for one in ranking.candidates}
    steps = [tool for tool in draft.order if tool in rows]
    if not analysis.intents:
        asked = tuple([one.text for one in analysis.clauses if one.origin == "query"])
        goals = [one.tool for one in draft.chosen.steps if one.score]
        return (Intent(asked, tuple([draft.names[tool] for tool in goals])),)
    intents = []
    for place, words in enumerate(analysis.intents):
        values = {tool: rows[tool][place] for tool in steps}
        best = max(values.values(), default=0.0)
        answering = [tool for tool in steps if best and values[tool] >= _ANSWERS * best]
        answering.sort(key=lambda tool: (-values[tool], draft.order.index(tool)))
        texts = tuple([clauses[one] for one in words])
        intents.append(Intent(texts, tuple([draft.names[tool] for tool in answering])))
    return tuple(intents)
