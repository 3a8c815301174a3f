"""The trace and the explanation of a search: values for a reader."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpg.search.query_terms import TermExpansion
from mcpg.search.results import LinkReason, SearchResult
from mcpg.text.json_values import JsonObject
from mcpg.text.markup import explanation_html
from mcpg.values import TIME_DECIMALS, empty_as_null, round_shown_score, to_json

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints


@dataclass(frozen=True, slots=True)
class QueryRewrite:
    """What the query became before it was split into words that find tools.

    Attributes:
        normalized: The query in compatibility form and without case (NFKC, case folding).
        tokens: Its words in order of place, repeated ones too; the whole form of an identifier
            stands beside its parts.
        sentences: The words of each sentence that can find tools; none for a single sentence.
        names: The joined forms under which tools with exactly these names were looked up.
        catalogue_language: Language of the tools' descriptions, `None` when unknown.
    """

    normalized: str
    tokens: tuple[str, ...]
    identifiers: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    catalogue_language: str | None


@dataclass(frozen=True, slots=True)
class QueryWord:
    """What became of one word of the query.

    Attributes:
        text: The word as the query has it, folded.
        role: `term`, `identifier` (several words written as one name), `function word`,
            `literal` (an argument, as a whole), or `unknown` (no word of the catalogue is near
            it).
        origin: `query`, `literal` for what is added by a literal, `context`, or `rewrite` for a
            word of the rewritten query.
        weight: Its share of what a perfect match would explain, in [0, 1].
        document_frequency: Number of tools that hold it or a repair of it in their text, or in
            their hints, whichever is greater.
        repairs: The catalogue's words it stands for, nearest first.
        related: Other words of the catalogue of related meaning, the most similar first.
        literal: The kind of a literal, such as `path` or `date`; `None` for words.
    """

    text: str
    stem: str
    role: str
    origin: str = "query"
    weight: float = 0.0
    document_frequency: int = 0
    repairs: tuple[TermExpansion, ...] = ()
    related: tuple[TermExpansion, ...] = ()
    literal: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the word as a JSON object."""
        repairs = [to_json(repair, without=["term"]) for repair in self.repairs]
        related = [{"word": one.word, "similarity": one.similarity} for one in self.related]
        shown = {"weight": round_shown_score(self.weight), "repairs": repairs, "related": related}
        return to_json(self) | shown


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
        kind: `exact`, `stem`, `translation`, `compound`, `prefix`, `typo`, `alias` or `related`.
        similarity: Credit for the match, in (0, 1].
        contribution: Its part of the fused score.
    """

    query: str
    matched: str
    kind: str
    similarity: float
    field: str
    contribution: float


@dataclass(frozen=True, slots=True)
class CalibrationInput:
    """One input of a calibration: `contribution == value * coefficient`, in logits."""

    name: str
    value: float
    coefficient: float
    contribution: float


@dataclass(frozen=True, slots=True)
class AnswerableExplanation:
    """The probability that the catalogue answers the request at all.

    Attributes:
        intercept: The logit where every input is 0.
        logit: The intercept and all contributions together.
        probability: The logistic function of it, in [0, 1].
    """

    intercept: float
    inputs: tuple[CalibrationInput, ...]
    logit: float
    probability: float


@dataclass(frozen=True, slots=True)
class CalibrationExplanation:
    """How a score came out of what the query and the match show of each other.

    Attributes:
        intercept: The logit where every input is 0.
        logit: The intercept and all contributions together.
        answerable: The factor of the logistic function of the logit; `None` with vectors.
        probability: What the model makes of the match by itself, in [0, 1]: their product.
        capped_by: Id of the better ranked match whose lower probability became the score,
            because scores never rise down the ranks; `None` where the score is the probability.
    """

    inputs: tuple[CalibrationInput, ...]
    intercept: float
    logit: float
    answerable: AnswerableExplanation | None
    probability: float
    capped_by: str | None = None


@dataclass(frozen=True, slots=True)
class FoundBy:
    """The place of a match in one of two searches whose results were merged.

    Attributes:
        text: What was searched: `query`, as it was given, or its `rewrite`.
        rank: The place of the match there, from 1.
        weight: How much of that score counts; all weights times scores add up to the score, which
            is at most that of the match above.
    """

    text: str
    rank: int
    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class MatchExplanation:
    """Why one match stands where it stands.

    Attributes:
        fused_score: The score it was ranked by; the sum of its contributions.
        nearness: Cosine of its meaning and the query's; 0 where either is unknown, and where a tool
            has all words of the query.
        contributions: Summands of the fused score, largest first.
        terms: Words that matched, largest contribution first. Those of kind `related` sum to the
            features `related` and `relatedName`, the others to `bm25f`.
        calibration: How the fused score and what led to it became the score.
        found_by: Where the searches of a query and of its rewrite put it; all else is of the
            one that counts more. Empty where nothing was rewritten.
    """

    tool_id: str
    rank: int
    score: float
    fused_score: float
    nearness: float
    contributions: tuple[Contribution, ...]
    terms: tuple[TermMatch, ...]
    calibration: CalibrationExplanation
    found_by: tuple[FoundBy, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what a match of `search` has besides: the summands, at full precision."""
        without = ("tool_id", "score") if self.found_by else ("tool_id", "score", "found_by")
        calibration: JsonObject = {"intercept": self.calibration.intercept}
        calibration |= to_json(self.calibration, {"name": "input"})
        return to_json(self, without=without) | {"calibration": calibration}


@dataclass(frozen=True, slots=True)
class ExpansionExplanation:
    """Why a related, next-step or prerequisite match is there: `via.weight * from_score`."""

    tool_id: str
    score: float
    via: LinkReason
    from_score: float

    def to_dict(self) -> dict[str, Any]:
        """Return the match as a JSON object, at full precision."""
        return {
            "toolId": self.tool_id,
            **self.via.to_dict(),
            "weight": self.via.weight,
            "fromScore": self.from_score,
            "score": self.score,
        }


@dataclass(frozen=True, slots=True)
class ModelExplanation:
    """The fitted numbers that ranked, as the index holds them.

    Attributes:
        provenance: What it was fitted on, how, and how well.
        weights: The weight of each feature in the fused score.
        intercept: The calibration's logit where every input is 0.
    """

    name: str
    provenance: str
    weights: dict[str, float]
    intercept: float
    coefficients: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted numbers and where they come from as a JSON object."""
        calibration = to_json(self, without=("name", "provenance", "weights"))
        return to_json(self, without=("intercept", "coefficients")) | {"calibration": calibration}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline.

    Attributes:
        duration_ms: Time it took, in milliseconds.
        details: What it found, by name; JSON values.
    """

    name: str
    duration_ms: float
    details: JsonObject

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as a JSON object; only `durationMs` differs from run to run."""
        return to_json(self) | {"durationMs": round(self.duration_ms, TIME_DECIMALS)}


@dataclass(frozen=True, slots=True)
class FilterExplanation:
    """The filter of a search.

    Attributes:
        read_only: Whether it leaves only tools that say that they only read.
        tools: How many tools it leaves, without disabled ones unless these are included.
        of: How many tools the catalogue has.
    """

    sources: tuple[str, ...]
    categories: tuple[str, ...]
    read_only: bool
    tools: int
    of: int


class Explanation(NamedTuple):
    """A search result and everything that led to it.

    Attributes:
        result: What the same search answers.
        normalized_query: The rewritten query, `None` when it was not rewritten.
        model: The fitted numbers that ranked, `None` when browsing.
        tool: Why the tool that was asked about is where it is; `None` when none was.
    """

    result: SearchResult
    normalized_query: str | None
    reading: QueryRewrite | None
    words: tuple[QueryWord, ...]
    language: str | None
    stages: tuple[Stage, ...]
    matches: tuple[MatchExplanation, ...]
    expansions: tuple[ExpansionExplanation, ...]
    model: ModelExplanation | None = None
    advice: tuple[str, ...] = ()
    tool: RankExplanation | None = None
    filter: FilterExplanation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as `mcpg explain --format json` prints it.

        That is the result of `search`, and everything that led to it.
        """
        result = self.result.to_dict()
        reasons = {match.tool_id: match.to_dict() for match in self.matches}
        return {
            **result,
            "schema": "mcpg/explain/1",
            "matches": [
                shown | reasons.get(match.tool_id, {})
                for match, shown in zip(self.result.matches, result["matches"], strict=True)
            ],
            "filter": to_json(self.filter) if self.filter else None,
            "language": self.language,
            "words": [word.to_dict() for word in self.words],
            "expansions": [one.to_dict() for one in self.expansions],
            "stages": [stage.to_dict() for stage in self.stages],
            "model": self.model.to_dict() if self.model else None,
            "advice": list(self.advice),
            **({"tool": self.tool.to_dict()} if self.tool else {}),
        }

    def __repr__(self) -> str:
        return f"<Explanation of {self.result!r}>"

    def _repr_html_(self) -> str:
        return explanation_html(self.to_dict())


class Trace:
    """Collects the stages of one search as they pass."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.is_cached = False

    def stage(self, name: str) -> StageClock:
        return StageClock(lambda seconds: self.stages.append(Stage(name, seconds * 1e3, {})))


class StageClock:
    """Tells how many seconds what stands inside takes, of what fails only if *always*.

    A generator would take longer than some stages.
    """

    __slots__ = ("_always", "_start", "_tell")

    def __init__(self, tell: Callable[[float], None], *, always: bool = False) -> None:
        self._tell, self._always = tell, always

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        if fault is None or self._always:
            self._tell(time.perf_counter() - self._start)


@dataclass(frozen=True, slots=True)
class FeatureGap:
    """One summand of the fused scores of two tools.

    Attributes:
        own: What it gives to the tool that was asked about.
        other: What it gives to the other tool.
    """

    feature: str
    own: float
    other: float

    @property
    def difference(self) -> float:
        """How far the other tool is ahead by it; below 0 where it is behind."""
        return self.other - self.own


@dataclass(frozen=True, slots=True)
class WordGap:
    """One word of the query in two tools.

    Attributes:
        share: Its share of the query, weighed by idf, in [0, 1].
        own: What of that share the tool that was asked about answers; 0 when it lacks the word.
        other: What of that share the other tool answers.
    """

    query: str
    share: float
    own: float
    other: float


@dataclass(frozen=True, slots=True)
class Rival:
    """A tool that stands above the one that was asked about.

    Attributes:
        gap: Its fused score less that of the tool that was asked about. Below 0 where that one
            is not in the pool, because its words alone did not bring it that far.
        because: The reasons in sentences, the weightiest first.
        features: What the gap is the sum of (within 1e-9), the largest difference first.
        words: The words of the query in both, in the query's order.
    """

    tool_id: str
    rank: int
    score: float
    fused_score: float
    gap: float
    because: tuple[str, ...]
    features: tuple[FeatureGap, ...]
    words: tuple[WordGap, ...]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How a tool came through retrieval, by the words of the query and words related to them.

    Attributes:
        is_pooled: Whether it is in the pool.
        lexical: Its lexical score; 0 when it holds no word of the query.
        place: Its place by these words, from 1; `None` when it is not retrieved, or when so many
            are that places are not counted.
        retrieved: How many tools were retrieved, as far as places are counted.
        pool: Size of the pool, without the tools that the query names.
        last: Lexical score of the last tool of these; 0 when fewer were found.
    """

    is_pooled: bool
    lexical: float
    place: int | None
    retrieved: int
    pool: int
    last: float


@dataclass(frozen=True, slots=True)
class HintSuggestion:
    """A change to the hints of a tool that would lift it.

    Attributes:
        hints: What to add: `keywords` and `aliases`, and `enabled_by_default` for a tool that is
            disabled.
        rank_after: The tool's rank for the same query once this is done.
        is_verified: Whether the catalogue was compiled with the change, and searched, to see.
    """

    hints: Hints
    rank_after: int
    score_after: float
    is_verified: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the change as a JSON object."""
        hints = self.hints
        members: JsonObject = {"keywords": list(hints.keywords), "aliases": list(hints.aliases)}
        # This belongs below the tool's id in a hints file.
        return {
            "hints": members | ({"enabledByDefault": True} if hints.enabled_by_default else {}),
            "rankAfter": self.rank_after,
            "scoreAfter": round_shown_score(self.score_after),
            "verified": self.is_verified,
        }


@dataclass(frozen=True, slots=True)
class RankExplanation:
    """Why one tool is where it is.

    Attributes:
        rank: Its rank, from 1; `None` when the search does not find it, or only beyond `ranked`.
        ranked: How many tools were ranked to tell.
        score: Its calibrated score there; 0 without a rank.
        fused_score: The score that it is ranked by, found by looking at it closely in any case.
        is_hidden: Whether the search leaves it out because it is disabled by default. All else is
            said as if it were enabled.
        is_named: Whether the query spells its id, name, title or an alias.
        missing: Words of the query that it lacks, the weightiest first.
        above: The first tool and the one directly above it; none when it is first.
        change: What would lift it; `None` when it is first already, or nothing found would.
        remark: Why there is no change, or why the change does not make it first; "" else.
        unmet: Why the filter leaves it out, one reason for each condition that it does not meet.
            All else is said as if it did.
    """

    tool_id: str
    rank: int | None
    ranked: int
    score: float
    fused_score: float
    is_hidden: bool
    is_named: bool
    retrieval: Retrieval
    missing: tuple[str, ...]
    above: tuple[Rival, ...]
    change: HintSuggestion | None
    remark: str = ""
    unmet: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a JSON object; gaps at full precision, as sums."""
        return empty_as_null(to_json(self), "remark") | {
            "score": round_shown_score(self.score),
            "above": [
                to_json(rival)
                | {
                    "score": round_shown_score(rival.score),
                    "features": [
                        to_json(gap) | {"difference": gap.difference} for gap in rival.features
                    ],
                }
                for rival in self.above
            ],
            "change": self.change.to_dict() if self.change else None,
        }
