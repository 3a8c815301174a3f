"""How sure a search with vectors is of its matches."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, log1p
from operator import mul
from typing import TYPE_CHECKING

from mcpg.engine.confidence import DECIMALS, MARGIN_DEPTH, Calibration, Inputs, logistic
from mcpg.engine.fusion import Fused, feature_values, greatest_lexical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.analysis import Analysis
    from mcpg.engine.features import Candidate, Sight
    from mcpg.engine.model import Model
    from mcpg.engine.scheme import Scheme
    from mcpg.engine.semantics import Nearness


@dataclass(frozen=True, slots=True)
class Seen:
    """What was looked at.

    Attributes:
        sights: What was seen in each tool that every search looks at closely, whatever its limit;
            what the graph found comes first.
        found: How many of these the graph found.
        graph: The graph's own ranking, best first.
        further: What was seen in others, which come below these.
    """

    sights: list[Sight]
    found: int
    graph: Sequence[Fused]
    further: list[Sight]


class Evidence:
    """Gives the probabilities of the matches of one search."""

    def __init__(
        self, seen: Seen, analysis: Analysis, model: Model, tools: int, nearness: Nearness
    ) -> None:
        """Look at what was *seen* and at the *nearness* of a catalogue of so many *tools*."""
        own = seen.sights[: seen.found]
        self._graph = Inputs(seen.graph[:MARGIN_DEPTH], own, analysis, model, tools)
        self._lexical = greatest_lexical(own)
        self._model = model
        self._nearness = nearness
        near = [nearness.standardised(number) for number, _ in nearness.nearest[:MARGIN_DEPTH]]
        self._usual = fsum(near) / len(near) if near else 0.0
        firsts = [one.candidate.document for one in seen.graph[:1]]
        self._agrees = float(firsts == [number for number, _ in nearness.nearest[:1]])

    def calibrate(self, ranked: Sequence[Fused], scheme: Scheme) -> list[Calibration]:
        """Give each of the *ranked* its probability; it never rises down the ranks."""
        calibrations: list[Calibration] = []
        lowest = 1.0
        for fused in ranked:
            inputs = self.inputs(fused.candidate)
            lowest = min(lowest, logistic(inputs, scheme.intercept, scheme.coefficients))
            calibrations.append(Calibration(inputs, lowest))
        return calibrations

    def inputs(self, candidate: Candidate) -> tuple[float, ...]:
        """Give the inputs of one match, in the order of `VECTOR_INPUTS`."""
        nearness = self._nearness
        standardised = nearness.standardised(candidate.document)
        return (
            round(self._graph_logit(candidate), DECIMALS),
            log1p(max(standardised, 0.0)),
            standardised - self._usual,
            nearness.best - standardised,
            nearness.foreign,
            self._agrees,
        )

    def _graph_logit(self, candidate: Candidate) -> float:
        """Give what the graph's own calibration makes of a match, before it is squashed."""
        model = self._model
        values = feature_values(candidate.sight(), self._lexical)
        alone = Fused(candidate, values, fsum(map(mul, values, model.weights)))
        products = map(mul, self._graph.of(alone), model.coefficients)
        return fsum((model.intercept, *products))
