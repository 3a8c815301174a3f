"""Fit what makes one tool of a server follow another, and say how well it does on other servers.

    python benchmarks/fit_relations.py MANIFEST EDGES [--ridge 5] [--write]

MANIFEST lists tools with their `server`; each line of EDGES is a judged pair: `from` and `to` as
`server::tool`, `kind`, `grade` (0 to 2) and `judges`. A pair that nobody judged counts as wrong.
A ridge logistic regression (le Cessie and van Houwelingen, Applied Statistics 41, 1992) by Newton's
method; every server but the one that is measured takes part, large ones by the root of their pairs.
`--write` puts the model fitted on all servers into `mcpg/relations/data/steps.json`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from step_features import STEP_FEATURES, step_features

from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.model import Tool
from mcpg.relations.server_sequences import LEAST_CHANCE, describe_works, find_certain, measure_size
from mcpg.sources import read_sources

DATA = Path(__file__).parents[1] / "mcpg" / "relations" / "data" / "steps.json"
_DECIMALS = 4
_ROUNDS = 8


def tools_of(manifest: Path) -> dict[str, list[Tool]]:
    """Read the tools of each server, hints and annotations as a bundle has them."""
    batch = read_sources([str(manifest)])
    found: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in build_catalog(batch.tools, batch.rules).tools:
        found[tool.source_id].append(replace(tool, id=f"{tool.source_id}::{tool.name}"))
    return found


def pairs_of(manifest: Path, edges: Path) -> tuple[list[tuple[str, str, str]], Any, Any, Any, Any]:
    """Return every pair of tools of one server, its evidence, and whether it is sound or strong.

    The last of all is how likely the step is where no fit decides it, else not a number.
    """
    judged = {
        (row["from"], row["to"]): (row["grade"], row["judges"])
        for row in map(json.loads, edges.read_text(encoding="utf-8").splitlines())
        if row["kind"] == "next"
    }
    keys: list[tuple[str, str, str]] = []
    evidence: list[list[float]] = []
    grades: list[tuple[int, int]] = []
    certain: list[float] = []
    for server, tools in tools_of(manifest).items():
        works = describe_works(tools)
        size = measure_size(works)
        for at, one in enumerate(tools):
            for to, other in enumerate(tools):
                if at != to:
                    keys.append((server, one.id, other.id))
                    evidence.append(step_features(works[at], works[to], size))
                    grades.append(judged.get((one.id, other.id), (0, 0)))
                    decided = find_certain(works, at, to)
                    certain.append(np.nan if decided is None else decided)
    sound = np.array([grade > 0 for grade, _ in grades], float)
    strong = np.array([grade == (2, 2) for grade in grades], float)
    return keys, np.array(evidence), sound, strong, np.array(certain)


def fit(evidence: Any, sound: Any, share: Any, ridge: float) -> Any:
    """Return the weights; the last feature is the bias, which is not shrunk.

    Features are scaled by the root of their deviation: what is rare is shrunk more than what is
    common, for a few pairs tell little.
    """
    mean, scale = evidence.mean(0), (evidence.std(0) + 1e-9) ** 0.5
    mean[-1], scale[-1] = 0.0, 1.0
    scaled = (evidence - mean) / scale
    weights = np.zeros(scaled.shape[1])
    penalty = np.eye(len(weights)) * ridge
    penalty[-1, -1] = 1e-6
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (share * (chance - sound)) + penalty @ weights
        curve = (scaled * (share * chance * (1 - chance))[:, None]).T @ scaled + penalty
        weights -= np.linalg.solve(curve, slope)
    plain = weights / scale
    plain[-1] = weights[-1] - (plain[:-1] * mean[:-1]).sum()
    return plain


def measure(keys: Any, chance: Any, sound: Any, strong: Any, most: int, least: float) -> str:
    """Return precision and recall of the *most* likeliest steps of each tool from *least* on."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, (_, one, _) in enumerate(keys):
        places[one].append(place)
    taken = [
        place
        for row in places.values()
        for place in sorted(row, key=lambda place: -chance[place])[:most]
        if chance[place] >= least
    ]
    precision = sound[taken].sum() / max(1, len(taken))
    recall = strong[taken].sum() / strong.sum()
    return f"{most} a tool from {least:.2f}: {len(taken)} edges {precision:.3f} / {recall:.3f}"


def main() -> None:
    """Fit, measure and perhaps write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("manifest", type=Path)
    parser.add_argument("edges", type=Path)
    parser.add_argument("--ridge", type=float, default=5.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    keys, evidence, sound, strong, certain = pairs_of(options.manifest, options.edges)
    servers = np.array([server for server, _, _ in keys])
    sizes = Counter(servers.tolist())
    share = np.array([sizes[server] ** -0.5 for server in servers.tolist()])
    share = share / share.mean() * (1 + strong)
    logits = np.zeros(len(keys))
    for server in sorted(sizes):
        out = servers == server
        logits[out] = evidence[out] @ fit(evidence[~out], sound[~out], share[~out], options.ridge)
    chance = np.where(np.isnan(certain), 1 / (1 + np.exp(-logits)), certain)
    for most in (3, 5):
        for least in (0.65, 0.7, LEAST_CHANCE, 0.8, 0.85):
            print(measure(keys, chance, sound, strong, most, least))
    if options.write:
        weights = fit(evidence, sound, share, options.ridge).round(_DECIMALS).tolist()
        found = measure(keys, chance, sound, strong, 5, LEAST_CHANCE)
        provenance = (
            f"benchmarks/fit_relations.py on {int(sound.sum())} sound next steps, "
            f"{int(strong.sum())} of them strong, among {len(keys)} pairs of tools of "
            f"{len(sizes)} servers ({', '.join(sorted(sizes))}), judged by hand; "
            f"ridge {options.ridge:g}; precision / recall with each server left out: {found}"
        )
        data = {"provenance": provenance, "weights": dict(zip(STEP_FEATURES, weights, strict=True))}
        DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
