"""The planner: from a goal to a plan, over one index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from mcpg.errors import Code, Diagnostic, warning
from mcpg.plan import (
    DOUBTFUL,
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
from mcpg.plan.goal import (
    GoalPart,
    PartMatches,
    cut_goal,
    list_matches,
    logit,
    weigh_goal,
    weigh_parts,
)
from mcpg.plan.needs import PlanContext
from mcpg.plan.selection import (
    Choice,
    PlanModel,
    alternatives,
    asks_destruction,
    calibrate,
    choose,
    is_harmless,
    plan_model,
    weigh_cleanness,
    weigh_completeness,
    weigh_tools,
)
from mcpg.search.pipeline import RankedList
from mcpg.search.prerequisites import fields_filled_by
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


# Matches that are considered; other steps are reached by the needs of these.
_MATCHES = 20
# A task answers a part if it has at least this share of the likeliest tool's probability.
_ANSWERS = 0.5


@dataclass(frozen=True, slots=True)
class _PlanDraft:
    """A plan before its tasks have names.

    Attributes:
        others: The alternatives, the likeliest first.
        best: The best score of a search for the goal or a part of it.
    """

    parts: tuple[GoalPart, ...]
    steps: tuple[Choice, ...]
    others: tuple[Choice, ...]
    used: tuple[int, ...]
    order: tuple[int, ...]
    layers: tuple[tuple[int, ...], ...]
    found: TaskOrder
    names: dict[int, str]
    best: float


_NOTHING_FOUND = "no tool matches any word of the goal"
_NOTHING_SAFE = "only tools that delete something match, and the goal does not ask for that"
_NOTHING_LEFT = "every tool that matches is in use already"


def _doubt(message: str) -> Diagnostic:
    return warning(Code.LOW_CONFIDENCE, message)


class Planner:
    """Plans over one index; its answers never change."""

    def __init__(
        self,
        searcher: Searcher,
        surroundings: PlanContext | None = None,
        model: PlanModel | None = None,
    ) -> None:
        """Prepare to plan over the index of *searcher*, by *model* or the shipped one.

        *surroundings* replaces the context that is otherwise made from the index.
        """
        self._searcher = searcher
        self._model = model or plan_model()
        self._surroundings = surroundings or PlanContext(searcher.index, self._model.needs)

    def plan(self, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]) -> Plan:
        """Return a plan for the query of *request*, of at most its limit of tasks.

        The plan's diagnostics begin with *diagnostics*.
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
            doubt = _doubt(_NOTHING_SAFE if draft.others else _NOTHING_LEFT)
            return replace(nothing, diagnostics=(*diagnostics, doubt))
        layers = {tool: place for place, layer in enumerate(draft.layers) for tool in layer}
        tasks = tuple([self._task(tool, layers[tool], draft) for tool in draft.order])
        filled, missing = find_inputs(tasks, ranking.analysis.literals)
        intents = tuple([self._intent(part, draft, request.limit) for part in draft.parts])
        complete = calibrate(
            weigh_completeness(draft.parts, draft.steps, draft.others),
            draft.best,
            self._model.complete,
        )
        clean = calibrate(weigh_cleanness(draft.steps), draft.best, self._model.clean)
        return Plan(
            request.query,
            request.strategy,
            tasks,
            tuple([tuple([draft.names[tool] for tool in layer]) for layer in draft.layers]),
            intents,
            missing,
            filled,
            tuple(
                [
                    DroppedDependency(draft.names[first], draft.names[then], link.weight)
                    for (first, then), link in draft.found.broken
                ]
            ),
            complete,
            clean,
            (*diagnostics, *_describe_doubts(complete, clean, intents, tasks)),
        )

    def _draft(self, request: SearchRequest, ranking: RankedList) -> _PlanDraft:
        excluded = self._searcher.excluded_tools(request)
        analysis, context = ranking.analysis, self._surroundings
        used = analysis.used.tools if analysis.used else ()
        goal = weigh_goal(request.query, ranking, context.index)
        ranked = self._rank_parts(request, ranking)
        parts = weigh_parts(goal, ranked, context, self._model.asked)
        found_by = [goal.scores, *[one.scores for one in ranked]]
        scores = {tool: score for held in found_by[::-1] for tool, score in held.items()}
        choices = weigh_tools(
            parts, scores, context, analysis.literals, excluded=excluded, used=used
        )
        named = [one.document for one in ranking.candidates if one.exact >= 1]
        steps = choose(
            choices,
            {next(iter(held)) for held in found_by if held},
            context,
            self._model,
            allowed=None if asks_destruction(analysis) else named,
            limit=request.limit,
        )
        if used:
            # Steps that only give the same as the tools in use are left out.
            asked = [one.tool for one in steps if one.need is None]
            idle = needless([one.tool for one in steps], context, used, asked=asked)
            steps = [one for one in steps if one.tool not in idle]
        found = dependencies([one.tool for one in steps], context, used)
        late = [one for one in steps if _follows_its_need(one, found)]
        if late:
            steps = [one for one in steps if one not in late]
            found = dependencies([one.tool for one in steps], context, used)
        tools = [one.tool for one in steps]
        chances = {one.tool: one.chance for one in steps}

        def rank(tool: int) -> tuple[bool, float, float, str]:
            """Order tools that may run side by side by kind of work, then likelihood."""
            profile, tool_id = context.profile(tool), self._searcher.index.tool_id(tool)
            return profile.is_destructive, round(profile.stage, 6), -chances[tool], tool_id

        layers = split_layers(tools, found.links, rank)
        order = tuple([tool for layer in layers for tool in layer])
        names = {tool: f"t{place}" for place, tool in enumerate(order, 1)}
        others = tuple([one for one in choices if one.tool not in chances])
        return _PlanDraft(
            tuple(parts),
            tuple(steps),
            others,
            tuple(used),
            order,
            tuple(map(tuple, layers)),
            found,
            names,
            max(scores.values(), default=0.0),
        )

    def _rank_parts(self, request: SearchRequest, whole: RankedList) -> list[PartMatches]:
        """Return the parts of the goal, and the result of a search for each."""
        texts = cut_goal(request.query, self._searcher.index)
        if len(texts) <= 1:
            return [PartMatches(request.query, dict(whole.primaries), whole.candidates)]
        asked = request._replace(
            limit=_MATCHES, context=" ".join(filter(None, (request.query, request.context)))
        )
        rankings = [self._searcher.rank_request(asked._replace(query=one))[0] for one in texts]
        return [list_matches(text, one) for text, one in zip(texts, rankings, strict=True)]

    def _task(self, tool: int, layer: int, draft: _PlanDraft) -> Task:
        index = self._searcher.index
        choice = next(one for one in draft.steps if one.tool == tool)
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
        return Task(
            draft.names[tool],
            tool_id,
            index.source_id(tool),
            index.tool_name(tool),
            index.display_name(tool),
            index.summary(tool),
            layer,
            _is_prerequisite(choice),
            self._surroundings.profile(tool).is_destructive,
            choice.score,
            calibrate(logit(choice.chance), draft.best, self._model.task),
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
                        index.source_id(one.tool),
                        calibrate(logit(one.chance), draft.best, self._model.task),
                    )
                    for one in alternatives(choice, draft.others, self._surroundings)
                ]
            ),
            self._explain_choice(choice, draft),
            lambda: self._searcher.tool(tool_id),
        )

    def _explain_choice(self, choice: Choice, draft: _PlanDraft) -> str:
        index = self._searcher.index
        if _is_prerequisite(choice) and choice.need:
            before = index.tool_name(choice.need.before)
            absent = "" if choice.need.before in draft.order else ", which is not in the plan"
            return f"needed by {before}{absent}: {choice.need.reason}"
        text = max(draft.parts, key=lambda one: one.asked.get(choice.tool, 0.0)).text
        whole = "the goal" if len(draft.parts) == 1 else repr(text)
        return f"the best tool for {whole}, with a probability of {score_text(choice.asked)}"

    def _intent(self, part: GoalPart, draft: _PlanDraft, limit: int) -> Intent:
        """Return a part of the goal, its tasks, and why its first match is none of them."""
        index = self._searcher.index
        held = {tool: part.asked.get(tool, 0.0) for tool in draft.order}
        best = max(held.values(), default=0.0)
        least = _ANSWERS * max(part.asked.values(), default=0.0)
        answering = [tool for tool in draft.order if held[tool] >= least > 0]
        reason = ""
        if part.best is None:
            reason = "no tool matches it"
        elif part.best[0] not in held:
            tool, _ = part.best
            choice = next((one for one in draft.others if one.tool == tool), None)
            name = f"its first match, {index.tool_name(tool)},"
            if tool in draft.used:
                reason = f"{name} is in use already"
            elif choice and not is_harmless(choice, self._surroundings):
                reason = f"{name} destroys something, which the goal does not ask for"
            else:
                chance = choice.chance if choice else part.asked.get(tool, 0.0)
                is_full = len(draft.order) == limit
                full = f", and the limit is {format_count(limit, 'task')}" if is_full else ""
                reason = f"{name} has a probability of {score_text(chance)}{full}"
        return Intent(part.text, tuple([draft.names[one] for one in answering]), best, reason)


def _is_prerequisite(choice: Choice) -> bool:
    """Return whether a tool is there for another one rather than for the goal itself."""
    return choice.need is not None and choice.asked < _ANSWERS * choice.chance


def _follows_its_need(choice: Choice, found: TaskOrder) -> bool:
    """Return whether a prerequisite runs after the tool that needs it, and so is useless."""
    return (
        _is_prerequisite(choice)
        and choice.need is not None
        and (choice.need.before, choice.tool) in found.links
    )


def _describe_doubts(
    complete: float, clean: float, intents: Sequence[Intent], tasks: Sequence[Task]
) -> Iterator[Diagnostic]:
    """Yield the doubts about a plan, and the search that shows more."""
    if complete < DOUBTFUL:
        doubtful = min(intents, key=lambda one: one.confidence)
        yield _doubt(
            f"something is likely missing (the plan is complete with a probability of"
            f" {format_below(complete, DOUBTFUL)}): {doubtful.text!r} is the part in doubt"
        )
    if clean < DOUBTFUL:
        doubtful_task = min(tasks, key=lambda one: one.confidence)
        yield _doubt(
            f"something likely does not belong (every task is needed with a probability of"
            f" {format_below(clean, DOUBTFUL)}): {doubtful_task.tool_name} is the task in doubt"
        )
