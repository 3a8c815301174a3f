"""Fit what `plan` weighs, and report how well it plans on servers that it was not fitted on.

    python benchmarks/fit_plan.py MANIFEST PLANS EDGES [--unseen MANIFEST...] [--write]

MANIFEST lists tools with their `server`. Each line of PLANS is a goal with tools as `server::tool`:
`required` (`a|b` where either will do), `order` (pairs of these), `unnamed` (those that the goal
does not name), `also` (that would do no harm) and `not` (that would). EDGES are judged pairs as for
`fit_relations.py`: what follows what on a server is taken as it is known without that server.

Conditional logit and ridge logistic regressions by Newton's method (le Cessie and van Houwelingen,
Applied Statistics 41, 1992), each server left out in turn with all goals that need it. `--unseen`
plans the goals of `plan_goals.jsonl`, which nothing is fitted on, over other manifests: those of
the catalog `real`, and `examples/tools`. `--write` puts the models that are fitted on all servers
into `mcpg/plan/data/plan.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from fit_relations import fit as fit_steps
from fit_relations import pairs_of

import mcpg
from mcpg.plan import Plan, Task
from mcpg.plan.goal import (
    ASKED_INPUTS,
    PartMatches,
    cut_goal,
    list_asked_inputs,
    list_matches,
    logit,
    weigh_goal,
)
from mcpg.plan.needs import NEED_INPUTS, PlanContext, weigh_evidence
from mcpg.plan.planner import Planner
from mcpg.plan.selection import Costs, PlanModel, calibrate, plan_model
from mcpg.search.pipeline import RankedList
from mcpg.search.prerequisites import fields_filled_by
from mcpg.search.results import Match, SearchRequest, check_request

ROOT = Path(__file__).parents[1]
DATA = ROOT / "mcpg" / "plan" / "data" / "plan.json"
GOALS = Path(__file__).with_name("plan_goals.jsonl")
EXAMPLES = [
    ROOT / "examples" / "tools" / f"{name}.json" for name in ("commerce", "devtools", "workspace")
]
_DECIMALS = 4
_ROUNDS = 12
_MATCHES = 20
_STEPS_OF_TOOL, _LEAST_CHANCE = 5, 0.75
_RIDGES = {"asked": 20.0, "needs": 33.0, "calibration": 1.0}
_HARM = 2.0
_LIMIT = 8
_AS_IT_IS = (0.0, 1.0, 0.0)
_HIDDEN = 1e-12


class Known(PlanContext):
    """What leads to each tool from others, as it is known without the tool's own server."""

    def __init__(
        self, index: Any, weights: Sequence[float], links: Mapping[int, Mapping[int, float]]
    ) -> None:
        """Take *links* in place of those of *index*."""
        super().__init__(index, weights)
        self._known_links = links

    def links(self, tool: int) -> Mapping[int, float]:
        """Return what precedes *tool*."""
        return self._known_links.get(tool, {})


def fit_logistic(inputs: Any, labels: Any, shares: Any, ridge: float) -> tuple[float, ...]:
    """Return the intercept, which is not shrunk, and the coefficients."""
    mean, scale = inputs.mean(0), inputs.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(inputs)), (inputs - mean) / scale])
    weights = np.zeros(scaled.shape[1])
    penalty = np.eye(len(weights)) * ridge
    penalty[0, 0] = 1e-6
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (shares * (chance - labels)) + penalty @ weights
        curve = (scaled * (shares * chance * (1 - chance))[:, None]).T @ scaled + penalty
        weights -= np.linalg.solve(curve, slope)
    plain = weights[1:] / scale
    return (float(weights[0] - plain @ mean), *map(float, plain))


def fit_choices(sets: Sequence[Sequence[tuple[Any, Any, Any]]], ridge: float) -> tuple[float, ...]:
    """Return the coefficients of a conditional logit.

    Each of *sets* is a tool that a goal asks for, by the parts of the goal: the inputs of the tools
    that a part may mean, whether each is the one, and what each counts. Which part asks for it is
    not known: that is expected under the weights so far (Dempster, Laird and Rubin, "Maximum
    likelihood from incomplete data via the EM algorithm", 1977).
    """
    rows = np.vstack([inputs for parts in sets for inputs, _, _ in parts])
    mean, scale = rows.mean(0), rows.std(0) + 1e-9
    weights = np.zeros(rows.shape[1])
    for _ in range(3 * _ROUNDS):
        slope, curve = -ridge * weights, np.eye(len(weights)) * ridge
        for parts in sets:
            chances = []
            for inputs, _, counts in parts:
                values = (inputs - mean) / scale @ weights
                odds = np.exp(values - values.max()) * counts
                chances.append(odds / odds.sum())
            right = [
                chance[wanted].sum() for chance, (_, wanted, _) in zip(chances, parts, strict=True)
            ]
            total = sum(right)
            if total < _HIDDEN:
                continue
            for chance, own, (inputs, wanted, _) in zip(chances, right, parts, strict=True):
                if own / total < _HIDDEN:
                    continue
                scaled = (inputs - mean) / scale
                expected = chance @ scaled
                met = (chance[wanted] / own) @ scaled[wanted]
                slope += own / total * (met - expected)
                spread = (scaled * chance[:, None]).T @ scaled - np.outer(expected, expected)
                curve += own / total * spread
        weights += np.linalg.solve(curve, slope)
    return tuple(map(float, weights / scale))


@dataclass(frozen=True)
class Goal:
    """A goal, the servers that it needs, and the evidence for what it asks, by its parts."""

    row: Mapping[str, Any]
    servers: frozenset[str]
    asked: Sequence[tuple[Sequence[str], Any]]
    best: float

    @property
    def fine(self) -> frozenset[str]:
        """The tools that a plan may have."""
        return frozenset(list_tools((*self.row["required"], *self.row["also"])))


def list_tools(entries: Iterable[str]) -> list[str]:
    """Return the tools of *entries*, each of which is one or several of which either will do."""
    return [one for entry in entries for one in entry.split("|")]


def load_engine(manifests: Sequence[Path]) -> mcpg.Engine:
    """Return an engine over the tools of the *manifests*."""
    tools = [one for path in manifests for one in json.loads(path.read_text("utf-8"))["tools"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tools.json")
        path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
        return mcpg.load(path)


class Bench:
    """The goals over one catalogue."""

    def __init__(self, manifest: Path, plans: Path, edges: Path) -> None:
        """Load all."""
        self.engine = load_engine([manifest])
        self.index = index = self.engine.index
        self.searcher = self.engine._searcher  # noqa: SLF001
        self.keys = {
            f"{index.source_id(tool)}::{index.tool_name(tool)}": tool for tool in range(len(index))
        }
        self.names = {tool: key for key, tool in self.keys.items()}
        self.links = self._links(manifest, edges)
        self.known = Known(index, plan_model().needs, self.links)
        rows = map(json.loads, plans.read_text(encoding="utf-8").splitlines())
        self.goals = [self._goal(row) for row in rows]

    def _links(self, manifest: Path, edges: Path) -> dict[int, dict[int, float]]:
        pairs, evidence, sound, strong, certain = pairs_of(manifest, edges)
        servers = np.array([server for server, _, _ in pairs])
        sizes = Counter(servers.tolist())
        share = np.array([sizes[server] ** -0.5 for server in servers.tolist()])
        share = share / share.mean() * (1 + strong)
        rows: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for server in sorted(sizes):
            out = servers == server
            weights = fit_steps(evidence[~out], sound[~out], share[~out], 30.0)
            likely = 1 / (1 + np.exp(-np.clip(evidence[out] @ weights, -30, 30)))
            chances = np.where(np.isnan(certain[out]), likely, certain[out])
            for place, chance in zip(np.flatnonzero(out), chances, strict=True):
                _, one, other = pairs[place]
                if chance >= _LEAST_CHANCE:
                    rows[self.keys[one]].append((-float(chance), self.keys[other]))
        before: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for tool, row in rows.items():
            for chance, then in sorted(row)[:_STEPS_OF_TOOL]:
                before[then][tool] = -chance
        return before

    def _rank(self, query: str, context: str | None = None) -> RankedList:
        request, _ = check_request(query, context, SearchRequest("", "", _MATCHES))
        return self.searcher.rank_request(request)[0]

    def _goal(self, row: Mapping[str, Any]) -> Goal:
        goal = row["goal"]
        whole, texts = self._rank(goal), cut_goal(goal, self.index)
        evidence = weigh_goal(goal, whole, self.index)
        ranked = [PartMatches(goal, evidence.scores, whole.candidates)]
        if len(texts) > 1:
            ranked = [list_matches(one, self._rank(one, goal)) for one in texts]
        asked = []
        for part in ranked:
            inputs = list_asked_inputs(part, evidence, self.known)
            if inputs:
                tools = [self.names[tool] for tool in inputs]
                asked.append((tools, np.array([*inputs.values()])))
        servers = {one.split("::")[0] for one in list_tools(row["required"])}
        best = max(score for part in (evidence, *ranked) for score in (0.0, *part.scores.values()))
        return Goal(row, frozenset(servers), asked, best)

    def pairs(self, goal: Goal) -> Iterable[tuple[tuple[float, ...], bool, float]]:
        """Yield the evidence for pairs of tools of a goal, whether each is an order, its share."""
        literals = self._rank(goal.row["goal"]).analysis.literals
        order = {
            pair
            for first, then in goal.row["order"]
            for pair in product(first.split("|"), then.split("|"))
        }
        for entry in goal.row["required"]:
            for name in entry.split("|"):
                tool, profile = self.keys[name], self.known.profile(self.keys[name])
                server = self.known.server(self.index.source_id(tool))
                given = frozenset(
                    fields_filled_by(literals, [one.name for one in profile.required])
                )
                provided = self.known.provided(tool, given)
                for other in server.tools:
                    key = self.names[other]
                    is_order = (key, name) in order
                    if other != tool and (is_order or key not in goal.fine):
                        evidence = weigh_evidence(
                            self.known.profile(other),
                            profile,
                            server,
                            given,
                            self.known.links(tool).get(other, 0.0),
                            provided.get(other, 0.0),
                        )
                        yield evidence, is_order, 1 / len(entry.split("|"))


def fit_model(bench: Bench, goals: Sequence[Goal], costs: Costs) -> PlanModel:
    """Return the model that *goals* lead to."""
    sets = []
    for goal in goals:
        for entry in goal.row["required"]:
            if entry in goal.row["unnamed"]:
                continue
            wanted = entry.split("|")
            parts = []
            for tools, inputs in goal.asked:
                is_wanted = np.array([one in wanted for one in tools])
                counts = [
                    _HARM
                    if one in goal.row["not"]
                    else float(one in wanted or one not in goal.fine)
                    for one in tools
                ]
                parts.append((inputs, is_wanted, np.array(counts)))
            sets.append([one for one in parts if one[2].any()])
    asked = fit_choices([one for one in sets if one], _RIDGES["asked"])
    rows, labels, shares = zip(*[one for goal in goals for one in bench.pairs(goal)], strict=True)
    needs = fit_logistic(
        np.array(rows), np.array(labels, float), np.array(shares), _RIDGES["needs"]
    )
    return PlanModel(asked, needs, costs, _AS_IT_IS, _AS_IT_IS, _AS_IT_IS)


@dataclass(frozen=True)
class Made:
    """A plan for a goal, by its tools in order, and the best score of a search for it."""

    row: Mapping[str, Any]
    tools: Sequence[str]
    plan: Plan | None = None
    best: float = 0.0

    @property
    def is_fine(self) -> list[bool]:
        """Whether each task belongs."""
        fine = list_tools((*self.row["required"], *self.row["also"]))
        return [one in fine for one in self.tools]

    @property
    def recall(self) -> float:
        """The share of what is required that the plan has."""
        required = self.row["required"]
        return sum(not set(one.split("|")).isdisjoint(self.tools) for one in required) / len(
            required
        )


def name_tool(one: Task | Match) -> str:
    """Return the tool of a task or a match as a goal names it."""
    return f"{one.source_id}::{one.tool_name}"


def plan_goal(planner: Planner, row: Mapping[str, Any]) -> Made:
    """Return the plan of *planner* for the goal of *row*."""
    request, diagnostics = check_request(row["goal"], None, SearchRequest("", "", _LIMIT))
    plan = planner.plan(request, diagnostics)
    return Made(row, [*map(name_tool, plan.tasks)], plan)


def make_plan(bench: Bench, goal: Goal, model: PlanModel) -> Made:
    """Return the plan for *goal*, by *model*."""
    known = Known(bench.index, model.needs, bench.links)
    return replace(plan_goal(Planner(bench.searcher, known, model), goal.row), best=goal.best)


def measure(plans: Sequence[Made]) -> dict[str, float]:
    """Return how good the plans are on average, as the documentation names the metrics."""
    sums: defaultdict[str, float] = defaultdict(float)
    for made in plans:
        row, tools, recall = made.row, made.tools, made.recall
        places = {tool: place for place, tool in reversed(list(enumerate(tools)))}

        def place(entry: str, places: Mapping[str, int] = places) -> list[int]:
            return [places[one] for one in entry.split("|") if one in places]

        precision = sum(made.is_fine) / (len(tools) or 1)
        sums["precision"] += precision
        sums["recall"] += recall
        sums["f1"] += 2 * precision * recall / (precision + recall or 1)
        sums["clean"] += recall == precision == 1
        sums["harmful"] += any(one in row["not"] for one in tools)
        sums["steps"] += len(tools)
        if row["unnamed"]:
            sums["with"] += 1
            sums["unnamed"] += sum(bool(place(one)) for one in row["unnamed"]) / len(row["unnamed"])
        for one, other in row["order"]:
            if place(one) and place(other):
                sums["pairs"] += 1
                sums["ordered"] += min(place(one)) < max(place(other))
        if is_of_two_servers(row):
            sums["both"] += {one.split("::")[0] for one in row["required"]} <= {
                one.split("::")[0]
                for one, is_fine in zip(tools, made.is_fine, strict=True)
                if is_fine
            }
    count = len(plans)
    return {
        **{
            name: round(sums[name] / count, 3)
            for name in ("f1", "recall", "precision", "clean", "steps")
        },
        "unnamed": round(sums["unnamed"] / max(1, sums["with"]), 3),
        "in order": round(sums["ordered"] / max(1, sums["pairs"]), 3),
        "harmful": sums["harmful"],
        "both servers": sums["both"],
    }


def is_of_two_servers(row: Mapping[str, Any]) -> bool:
    """Return whether a goal needs tools of two servers at least, whichever of several it takes."""
    servers = [{one.split("::")[0] for one in entry.split("|")} for entry in row["required"]]
    return not set.intersection(*servers)


def leave_out(bench: Bench, costs: Costs) -> list[Made]:
    """Return a plan for each goal by a model that knows none of the servers of its last step."""
    plans = []
    for server in sorted({goal.row["required"][-1].split("::")[0] for goal in bench.goals}):
        known = [goal for goal in bench.goals if server not in goal.servers]
        model = fit_model(bench, known, costs)
        own = [one for one in bench.goals if one.row["required"][-1].startswith(f"{server}::")]
        plans += [make_plan(bench, goal, model) for goal in own]
    return plans


def outcomes(plans: Sequence[Made]) -> dict[str, list[tuple[tuple[float, float], bool]]]:
    """Return for tasks and plans what the model weighs, and whether that came true."""
    pairs = [(made, made.plan) for made in plans if made.plan]
    return {
        "task": [
            ((logit(task.confidence), made.best), is_fine)
            for made, plan in pairs
            for task, is_fine in zip(plan.tasks, made.is_fine, strict=True)
        ],
        "complete": [((logit(plan.complete), made.best), made.recall == 1) for made, plan in pairs],
        "clean": [((logit(plan.clean), made.best), all(made.is_fine)) for made, plan in pairs],
    }


def fit_calibrations(plans: Sequence[Made]) -> dict[str, tuple[float, ...]]:
    """Return the intercept and the coefficients of each of `outcomes`."""
    found = {}
    for name, pairs in outcomes(plans).items():
        values, labels = zip(*pairs, strict=True)
        found[name] = fit_logistic(
            np.array([(value, logit(best)) for value, best in values]),
            np.array(labels, float),
            np.ones(len(labels)),
            _RIDGES["calibration"],
        )
    return found


def list_brier_scores(plans: Sequence[Made]) -> dict[str, str]:
    """Return the Brier score of each of `outcomes`, a server left out, and of the base rate."""
    found = {}
    servers = sorted({made.row["required"][-1].split("::")[0] for made in plans})
    for name in ("task", "complete", "clean"):
        errors, base = [], []
        for server in servers:
            own = [one for one in plans if one.row["required"][-1].startswith(f"{server}::")]
            others = [one for one in plans if one not in own]
            by = fit_calibrations(others)[name]
            rate = np.mean([label for _, label in outcomes(others)[name]])
            for (value, best), label in outcomes(own)[name]:
                errors.append((calibrate(value, best, by) - label) ** 2)
                base.append((rate - label) ** 2)
        found[name] = f"{np.mean(errors):.3f} (base rate {np.mean(base):.3f})"
    return found


def measure_unseen(manifests: Sequence[Path], model: PlanModel) -> dict[str, dict[str, float]]:
    """Return how good plans for `plan_goals.jsonl` are, and the first five matches of searches."""
    engines = {"real": load_engine(manifests), "examples": mcpg.load(EXAMPLES)}
    plans: list[Made] = []
    searches: list[Made] = []
    for row in map(json.loads, GOALS.read_text(encoding="utf-8").splitlines()):
        engine = engines[row["catalog"]]
        planner = Planner(engine._searcher, model=model)  # noqa: SLF001
        plans.append(plan_goal(planner, row))
        matches = engine.search(row["goal"], limit=5).matches
        searches.append(Made(row, [*map(name_tool, matches)]))
    return {"plans": measure(plans), "first five of a search": measure(searches)}


def main() -> None:
    """Fit, measure and perhaps write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("manifest", type=Path)
    parser.add_argument("plans", type=Path)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--unseen", type=Path, nargs="+")
    parser.add_argument("--superfluous", type=float, nargs="+", default=[0.18])
    parser.add_argument("--harmful", type=float, nargs="+", default=[0.1])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    bench = Bench(options.manifest, options.plans, options.edges)
    for superfluous, harmful in product(options.superfluous, options.harmful):
        costs = Costs(1.0, superfluous, harmful)
        plans = leave_out(bench, costs)
        print(costs, "left out:", measure(plans), list_brier_scores(plans))
        model = fit_model(bench, bench.goals, costs)
        print(
            "  fitted on the same:",
            measure([make_plan(bench, one, model) for one in bench.goals]),
        )
        for name, metrics in (
            measure_unseen(options.unseen, model).items() if options.unseen else ()
        ):
            print(f"  unseen, {name}:", metrics)
        if options.write:
            write_model(model, fit_calibrations(plans))


def write_model(model: PlanModel, calibrations: Mapping[str, Sequence[float]]) -> None:
    """Put *model* into the data of mcpg."""
    named = {"asked": (ASKED_INPUTS, model.asked), "needs": (("bias", *NEED_INPUTS), model.needs)}
    data = {
        "provenance": "benchmarks/fit_plan.py on 60 goals over 17 servers",
        **{
            part: {name: round(one, _DECIMALS) for name, one in zip(names, weights, strict=True)}
            for part, (names, weights) in named.items()
        },
        "costs": model.costs._asdict(),
        **{
            name: {
                part: round(one, _DECIMALS)
                for part, one in zip(("intercept", "slope", "best"), by, strict=True)
            }
            for name, by in calibrations.items()
        },
    }
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
