"""How a search came to its answer: the trace, and the explanation made of it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.engine.analysis import Repair
    from mcpg.engine.results import SearchResult, Via
    from mcpg.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class QueryWord:
    """What became of one word of the query.

    Attributes:
        text: The word as the query has it, folded.
        role: `term`, `identifier` (several words written as one name), `function word`,
            `literal` (a number or code the catalogue does not hold), or `unknown` (no word of
            the catalogue is near it).
        origin: `query` or `context`.
        weight: Its share of what a perfect match would explain, in [0, 1].
        document_frequency: Number of tools that hold it or a repair of it.
        repairs: The catalogue's words it stands for, nearest first.
    """

    text: str
    role: str
    origin: str = "query"
    weight: float = 0.0
    document_frequency: int = 0
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """One summand of a fused score: `contribution == value * weight`."""

    stage: str
    feature: str
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class TermMatch:
    """One word of the query in one field of a tool.

    Attributes:
        query: The word of the query.
        matched: The word in the catalogue.
        kind: `exact`, `stem`, `compound`, `prefix`, `typo` or `alias`.
        similarity: Credit for the match, in (0, 1].
        field: The field of the tool.
        contribution: Its part of the fused score.
    """

    query: str
    matched: str
    kind: str
    similarity: float
    field: str
    contribution: float


@dataclass(frozen=True, slots=True)
class MatchExplanation:
    """Why one match stands where it stands.

    Attributes:
        tool_id: The tool.
        rank: Its place among the primary matches, from 1.
        score: Its calibrated score.
        fused_score: The score it was ranked by; the sum of its contributions.
        contributions: Summands of the fused score, largest first.
        terms: Words that matched, largest contribution first.
        calibration: Inputs of the calibration, by name.
    """

    tool_id: str
    rank: int
    score: float
    fused_score: float
    contributions: tuple[Contribution, ...]
    terms: tuple[TermMatch, ...]
    calibration: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExpansionExplanation:
    """Why a related or next-step match was offered."""

    tool_id: str
    score: float
    via: Via


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline.

    Attributes:
        name: Name of the stage, as in the pipeline's order.
        duration_ms: Time it took, in milliseconds.
        details: What it did, by name; JSON values.
    """

    name: str
    duration_ms: float
    details: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A search result and everything that led to it.

    Attributes:
        result: What the same search answers.
        normalized_query: The rewritten query, `None` when it was not rewritten.
        words: What became of each word of the query, in order.
        language: Language whose function words were dropped, `None` when none was.
        stages: The pipeline's stages in order.
        matches: Why each primary match stands where it stands.
        expansions: Why each related and next-step match is there.
    """

    result: SearchResult
    normalized_query: str | None
    words: tuple[QueryWord, ...]
    language: str | None
    stages: tuple[Stage, ...]
    matches: tuple[MatchExplanation, ...]
    expansions: tuple[ExpansionExplanation, ...]


class Trace:
    """Collects the stages of one search as they pass."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[JsonObject]:
        """Time the stage called *name*; what the caller puts into the mapping is kept."""
        details: JsonObject = {}
        start = time.perf_counter()
        yield details
        self.stages.append(Stage(name, (time.perf_counter() - start) * 1e3, details))
