"""The trace and the explanation of a search: values for a reader."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpg.search.query_terms import TermExpansion
from mcpg.search.results import LinkReason, SearchResult
from mcpg.text.json_values import JsonObject
from mcpg.text.markup import result_html
from mcpg.values import TIME_DECIMALS, round_shown_score, to_json

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints


@dataclass(frozen=True, slots=True)
class QueryRewrite:
    """The query before it was split into words that find tools.

    Attributes:
        normalized: The query in compatibility form and without case (NFKC, case folding).
        tokens: Its words in order, including repeated ones; the whole form of an identifier is
            beside its parts.
        sentences: The words of each sentence that can find tools; none for a single sentence.
        names: The joined forms under which tools with exactly these names were looked up.
        catalog_language: Language of the tools' descriptions, `None` when unknown.
    """

    normalized: str
    tokens: tuple[str, ...]
    identifiers: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    catalogue_language: str | None


@dataclass(frozen=True, slots=True)
class QueryWord:
    """The treatment of one word of the query.

    Attributes:
        role: `term`, `identifier` (several words written as one name), `function word`, `literal`
            (an argument, as a whole), or `unknown` (near no word of the catalog).
        origin: `query`, `literal` for words from a literal, `context`, or `rewrite` for a word of
            the rewritten query.
        weight: Its share of a perfect match, in [0, 1].
        document_frequency: Number of tools that contain it or a repair of it in their text, or in
            their hints, whichever is greater.
        repairs: The corresponding words of the catalog, nearest first.
        related: Related words of the catalog, the most similar first.
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
    """The probability that the catalog answers the request at all.

    Attributes:
        intercept: The logit if every input is 0.
        logit: The intercept and all contributions together.
        probability: The logistic function of it, in [0, 1].
    """

    intercept: float
    inputs: tuple[CalibrationInput, ...]
    logit: float
    probability: float


@dataclass(frozen=True, slots=True)
class CalibrationExplanation:
    """How a score was calibrated.

    Attributes:
        intercept: The logit if every input is 0.
        logit: The intercept and all contributions together.
        answerable: The factor of the logistic function of the logit; `None` with vectors.
        probability: The model's probability for the match by itself, in [0, 1]: their product.
        capped_by: Id of the better ranked match whose lower probability became the score, because
            scores never rise down the ranks; `None` if the score is the probability.
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
        text: The searched text: `query`, as given, or its `rewrite`.
        rank: The rank of the match in it, from 1.
        weight: Weight of its score; all weights times scores add up to the score, which is at most
            the score of the match above.
    """

    text: str
    rank: int
    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class MatchExplanation:
    """The explanation of one match's rank.

    Attributes:
        fused_score: The score it was ranked by; the sum of its contributions.
        nearness: Cosine of its meaning and the query's; 0 if either is unknown, or if a tool has
            all words of the query.
        contributions: Summands of the fused score, largest first.
        terms: Words that matched, largest contribution first. Words of kind `related` sum to the
            features `related` and `relatedName`, the others to `bm25f`.
        found_by: Its ranks in the searches of a query and of its rewrite; all other members
            describe the search that counts more. Empty if nothing was rewritten.
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
        """Return the additional members of a match: the summands, at full precision."""
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
    """The fitted numbers that ranked, from the index.

    Attributes:
        provenance: Its data, method and quality.
        weights: The weight of each feature in the fused score.
        intercept: The calibration's logit where every input is 0.
    """

    name: str
    provenance: str
    weights: dict[str, float]
    intercept: float
    coefficients: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted numbers and their origin as a JSON object."""
        calibration = to_json(self, without=("name", "provenance", "weights"))
        return to_json(self, without=("intercept", "coefficients")) | {"calibration": calibration}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline.

    Attributes:
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
        tools: How many tools it keeps, without disabled tools unless these are included.
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
        tool: The explanation of the tool in question, `None` without one.
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
        return result_html(self.to_dict())


class Trace:
    """Collects the stages of one search as they pass."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.is_cached = False

    def stage(self, name: str) -> StageClock:
        return StageClock(lambda seconds: self.stages.append(Stage(name, seconds * 1e3, {})))


class StageClock:
    """Measures the seconds of its block; of a block that fails only if *always*.

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
    """One summand of the fused scores of two tools."""

    feature: str
    own: float
    other: float

    @property
    def difference(self) -> float:
        """How far the rival is ahead by it; below 0 if it is behind."""
        return self.other - self.own


@dataclass(frozen=True, slots=True)
class WordGap:
    """One word of the query in two tools.

    Attributes:
        share: Its share of the query, weighed by idf, in [0, 1].
        own: The part of that share that the tool in question answers; 0 if it lacks the word.
        other: The rival's part of that share.
    """

    query: str
    share: float
    own: float
    other: float


@dataclass(frozen=True, slots=True)
class Rival:
    """A tool that ranks above the tool in question.

    Attributes:
        gap: Its fused score less the fused score of the tool in question. Below 0 if that tool is
            not in the pool, because its words did not retrieve it.
        because: The reasons in sentences, the weightiest first.
        features: The summands of the gap (within 1e-9), the largest difference first.
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
    """How a tool was retrieved, by the words of the query and related words.

    Attributes:
        lexical: Its lexical score; 0 if it contains no word of the query.
        place: Its rank by these words, from 1; `None` if it is not retrieved, or if too many are to
            count ranks.
        retrieved: How many tools were retrieved, as far as ranks are counted.
        pool: Size of the pool, without the tools that the query names.
        last: Lexical score of the last tool of the pool; 0 if the pool is not full.
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
        hints: Hints to add: `keywords` and `aliases`, and `enabled_by_default` for a disabled tool.
        is_verified: Whether the change was verified by compiling and searching the catalog with it.
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
    """The explanation of one tool's rank.

    Attributes:
        rank: Its rank, from 1; `None` if the search does not find it, or only beyond `ranked`.
        score: Its calibrated score; 0 without a rank.
        fused_score: The score that it is ranked by, computed even if it is not a candidate.
        is_hidden: Whether the search leaves it out because it is disabled by default. All other
            members assume that it is enabled.
        is_named: Whether the query spells its id, name, title or an alias.
        missing: Words of the query that it lacks, the heaviest first.
        above: The first tool and the tool directly above it; none if it is first.
        change: A change that would lift it; `None` if it is first already, or none was found.
        remark: Why a change is missing or does not make it first, or "".
        unmet: Why the filter leaves it out, one reason for each unmet condition. All other members
            assume that it passes.
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
        return to_json(self, rounded=("score",), nulls=("remark",)) | {
            "above": [
                to_json(rival, rounded=("score",))
                | {
                    "features": [
                        to_json(gap) | {"difference": gap.difference} for gap in rival.features
                    ]
                }
                for rival in self.above
            ],
            "change": self.change.to_dict() if self.change else None,
        }
