"""Fit what `plan` weighs, and say how well it plans on servers that it was not fitted on.

    python benchmarks/fit_plan.py MANIFEST PLANS EDGES [--write]

MANIFEST lists tools with their `server`. Each line of PLANS is a goal with tools as `server::tool`:
`required` (`a|b` where either will do), `order` (pairs of these), `unnamed` (those that the goal
does not name), `also` (that would do no harm) and `not` (that would). EDGES are judged pairs as for
`fit_relations.py`: what follows what on a server is taken as it is known without that server.

Ridge logistic regressions by Newton's method (le Cessie and van Houwelingen, Applied Statistics 41,
1992), each server left out in turn with all goals that need it. `--write` puts the models that are
fitted on all servers into `mcpg/plan/data/plan.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from fit_relations import fit as fit_steps
from fit_relations import pairs_of

import mcpg
from mcpg.plan.planner import Planner
from mcpg.plan.selection import (
    SOURCE_INPUTS,
    STEP_INPUTS,
    PlanContext,
    PlanModel,
    logit,
    probability,
    source_inputs,
    step_inputs,
)
from mcpg.search.results import SearchRequest, check_request

DATA = Path(__file__).parents[1] / "mcpg" / "plan" / "data" / "plan.json"
_DECIMALS = 4
_ROUNDS = 12
_MATCHES = 20
_STEPS_OF_TOOL, _LEAST_CHANCE = 5, 0.75
_RIDGES = {"sources": 2.0, "steps": 5.0, "calibration": 0.1}
_HARM = 2.0
_LIMIT = 5


class Known(PlanContext):
    """What leads from each tool to others, as it is known without the tool's own server."""

    def __init__(self, index: Any, links: Mapping[int, Mapping[int, float]]) -> None:
        """Take *links* in place of those of *index*."""
        super().__init__(index)
        self._known_links = links

    def links(self, tool: int) -> Mapping[int, float]:
        """Return what follows *tool*."""
        return self._known_links.get(tool, {})


def logistic_fit(inputs: Any, labels: Any, shares: Any, ridge: float) -> tuple[float, ...]:
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


@dataclass(frozen=True)
class Goal:
    """A goal, the servers that it needs, and the evidence for all servers and their tools."""

    row: Mapping[str, Any]
    servers: frozenset[str]
    sources: Mapping[str, tuple[float, ...]]
    steps: Mapping[str, Mapping[int, tuple[float, ...]]]


class Bench:
    """The goals over one catalogue."""

    def __init__(self, manifest: Path, plans: Path, edges: Path) -> None:
        """Load all."""
        raw = {"tools": json.loads(manifest.read_text(encoding="utf-8"))["tools"]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tools.json")
            path.write_text(json.dumps(raw), encoding="utf-8")
            self.engine = mcpg.load(path)
        index = self.engine.index
        self.searcher = self.engine._searcher  # noqa: SLF001
        self.keys = {
            f"{index.source_id(tool)}::{index.tool_name(tool)}": tool for tool in range(len(index))
        }
        self.names = {tool: key for key, tool in self.keys.items()}
        self.known = Known(index, self._links(manifest, edges))
        rows = map(json.loads, plans.read_text(encoding="utf-8").splitlines())
        self.goals = [self._goal(row) for row in rows]

    def _links(self, manifest: Path, edges: Path) -> dict[int, dict[int, float]]:
        pairs, evidence, sound, strong = pairs_of(manifest, edges)
        servers = np.array([server for server, _, _ in pairs])
        sizes = Counter(servers.tolist())
        share = np.array([sizes[server] ** -0.5 for server in servers.tolist()])
        share = share / share.mean() * (1 + strong)
        rows: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for server in sorted(sizes):
            out = servers == server
            weights = fit_steps(evidence[~out], sound[~out], share[~out], 30.0)
            chances = 1 / (1 + np.exp(-np.clip(evidence[out] @ weights, -30, 30)))
            for place, chance in zip(np.flatnonzero(out), chances, strict=True):
                _, one, other = pairs[place]
                if chance >= _LEAST_CHANCE:
                    rows[self.keys[one]].append((-float(chance), self.keys[other]))
        return {
            tool: {other: -chance for chance, other in sorted(row)[:_STEPS_OF_TOOL]}
            for tool, row in rows.items()
        }

    def _goal(self, row: Mapping[str, Any]) -> Goal:
        request, _ = check_request(row["goal"], None, SearchRequest("", "", _MATCHES))
        ranking, _ = self.searcher.rank_request(request)
        scores = dict(ranking.primaries)
        held: defaultdict[str, list[float]] = defaultdict(list)
        for tool, score in scores.items():
            held[self.engine.index.source_id(tool)].append(score)
        profiles = {tool: self.known.profile(tool) for tool in self.names}
        links = {tool: self.known.links(tool) for tool in self.names}
        steps = {}
        for server in {key.split("::")[0] for key in self.keys}:
            tools = self.known.by_source.get(server, [])
            own = {tool: score for tool, score in scores.items() if tool in set(tools)}
            steps[server] = step_inputs(tools, own, {tool: profiles[tool] for tool in tools}, links)
        return Goal(row, servers_of(row), source_inputs(held), steps)


def servers_of(row: Mapping[str, Any]) -> frozenset[str]:
    """Return the servers that the goal of *row* needs."""
    return frozenset(one.split("::")[0] for entry in row["required"] for one in entry.split("|"))


def fitted(bench: Bench, goals: Sequence[Goal], thresholds: Sequence[float]) -> PlanModel:
    """Return the model that *goals* lead to."""
    sources = [
        (inputs, server in goal.servers)
        for goal in goals
        for server, inputs in goal.sources.items()
    ]
    by_source = logistic_fit(
        np.array([inputs for inputs, _ in sources]),
        np.array([label for _, label in sources], float),
        np.ones(len(sources)),
        _RIDGES["sources"],
    )
    rows, labels, shares = [], [], []
    for goal in goals:
        required = {one for entry in goal.row["required"] for one in entry.split("|")}
        for server in sorted(goal.servers):
            for tool, inputs in goal.steps[server].items():
                name = bench.names[tool]
                if name not in goal.row["also"]:
                    rows.append(inputs)
                    labels.append(name in required)
                    shares.append(_HARM if name in goal.row["not"] else 1.0)
    by_step = logistic_fit(
        np.array(rows), np.array(labels, float), np.array(shares), _RIDGES["steps"]
    )
    return PlanModel(by_source, by_step, (0.0, 1.0), *thresholds)


def planned(bench: Bench, goal: Goal, model: PlanModel) -> list[tuple[str, float]]:
    """Return the tools of a plan for *goal*, with the confidence of each."""
    planner = Planner(bench.searcher, bench.known, model)
    request, diagnostics = check_request(goal.row["goal"], None, SearchRequest("", "", _LIMIT))
    plan = planner.plan(request, diagnostics)
    return [(f"{one.source_id}::{one.tool_name}", one.confidence) for one in plan.tasks]


def measure(plans: Sequence[tuple[Goal, Sequence[str]]]) -> dict[str, float]:
    """Return recall, that of what goals do not name, pairs in order, harmful plans, steps."""
    sums: Counter[str] = Counter()
    for goal, tools in plans:
        row = goal.row
        places = {tool: place for place, tool in reversed(list(enumerate(tools)))}

        def place(entry: str, places: Mapping[str, int] = places) -> list[int]:
            return [places[one] for one in entry.split("|") if one in places]

        sums["recall"] += sum(bool(place(one)) for one in row["required"]) / len(row["required"])
        sums["harmful"] += any(one in row["not"] for one in tools)
        sums["steps"] += len(tools)
        if row["unnamed"]:
            sums["with"] += 1
            sums["unnamed"] += sum(bool(place(one)) for one in row["unnamed"]) / len(row["unnamed"])
        for one, other in row["order"]:
            if place(one) and place(other):
                sums["pairs"] += 1
                sums["ordered"] += min(place(one)) < max(place(other))
    return {
        "recall": round(sums["recall"] / len(plans), 3),
        "unnamed": round(sums["unnamed"] / max(1, sums["with"]), 3),
        "in order": round(sums["ordered"] / max(1, sums["pairs"]), 3),
        "harmful": sums["harmful"],
        "steps": round(sums["steps"] / len(plans), 2),
    }


def left_out(
    bench: Bench, thresholds: Sequence[float]
) -> list[tuple[Goal, list[tuple[str, float]]]]:
    """Return a plan for each goal by a model that knows none of the servers of its last step."""
    plans = []
    for server in sorted({goal.row["required"][-1].split("::")[0] for goal in bench.goals}):
        known = [goal for goal in bench.goals if server not in goal.servers]
        model = fitted(bench, known, thresholds)
        own = [one for one in bench.goals if one.row["required"][-1].startswith(f"{server}::")]
        plans += [(goal, planned(bench, goal, model)) for goal in own]
    return plans


def calibrated(plans: Sequence[tuple[Goal, Sequence[tuple[str, float]]]]) -> tuple[float, ...]:
    """Return intercept and slope of the confidence: the probability that a step is no waste."""
    chances, labels = [], []
    for goal, steps in plans:
        row = goal.row
        fine = {one for entry in (*row["required"], *row["also"]) for one in entry.split("|")}
        chances += [[logit(chance)] for _, chance in steps]
        labels += [name in fine for name, _ in steps]
    return logistic_fit(
        np.array(chances), np.array(labels, float), np.ones(len(labels)), _RIDGES["calibration"]
    )


def error_of(
    plans: Sequence[tuple[Goal, Sequence[tuple[str, float]]]], by: Sequence[float]
) -> float:
    """Return the calibration error of the confidence of steps, in five bins of equal size."""
    pairs = []
    for goal, steps in plans:
        row = goal.row
        fine = {one for entry in (*row["required"], *row["also"]) for one in entry.split("|")}
        pairs += [(probability((logit(chance),), by), name in fine) for name, chance in steps]
    pairs.sort()
    bins = np.array_split(np.array(pairs, float), 5)
    return float(
        sum(len(one) * abs(one[:, 0].mean() - one[:, 1].mean()) for one in bins) / len(pairs)
    )


def main() -> None:
    """Fit, measure and perhaps write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("manifest", type=Path)
    parser.add_argument("plans", type=Path)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--reading", type=float, nargs="+", default=[0.1])
    parser.add_argument("--changing", type=float, nargs="+", default=[0.33])
    parser.add_argument("--source", type=float, nargs="+", default=[0.4])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    bench = Bench(options.manifest, options.plans, options.edges)
    for thresholds in product(options.reading, options.changing, options.source):
        plans = left_out(bench, thresholds)
        by = calibrated(plans)
        print(
            thresholds,
            measure([(goal, [one for one, _ in steps]) for goal, steps in plans]),
            f"calibration error {error_of(plans, by):.3f}",
        )
    if options.write:
        model = fitted(bench, bench.goals, thresholds)
        own = [(goal, [one for one, _ in planned(bench, goal, model)]) for goal in bench.goals]
        print("fitted on the same:", measure(own))
        write(model, by)


def write(model: PlanModel, by: Sequence[float]) -> None:
    """Put *model* into the data of mcpg."""
    names = ("bias", *SOURCE_INPUTS), ("bias", *STEP_INPUTS)
    rounded = [
        {name: round(one, _DECIMALS) for name, one in zip(part, weights, strict=True)}
        for part, weights in zip(names, (model.sources, model.steps), strict=True)
    ]
    data = {
        "provenance": "benchmarks/fit_plan.py on 60 goals over 17 servers",
        "sources": rounded[0],
        "steps": rounded[1],
        "calibration": {"intercept": round(by[0], _DECIMALS), "slope": round(by[1], _DECIMALS)},
        "thresholds": {
            "reading": model.reading,
            "changing": model.changing,
            "source": model.source,
        },
    }
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
