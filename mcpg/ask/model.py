"""Questions about a catalog: intents, answers and results."""

from __future__ import annotations

import shlex
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from mcpg.errors import Diagnostic
from mcpg.search.results import Strategy, StrategyName
from mcpg.text.json_values import JsonObject
from mcpg.values import format_count, score_text, to_json

IntentName: TypeAlias = Literal[
    "", "navigation", "relations", "documentation", "examples", "similar", "search", "catalog"
]


class Intent:
    """The names of the intents of questions."""

    NAVIGATION: Final = "navigation"
    RELATIONS: Final = "relations"
    DOCUMENTATION: Final = "documentation"
    EXAMPLES: Final = "examples"
    SIMILAR: Final = "similar"
    SEARCH: Final = "search"
    CATALOG: Final = "catalog"


MODELLED_INTENTS: tuple[IntentName, ...] = (
    Intent.NAVIGATION,
    Intent.RELATIONS,
    Intent.DOCUMENTATION,
    Intent.EXAMPLES,
    Intent.SIMILAR,
    Intent.SEARCH,
)
"""The intents among which the model of `mcpg.ask.intent` decides."""

INTENTS: tuple[IntentName, ...] = (*MODELLED_INTENTS, Intent.CATALOG)


class Direction:
    """The directions of questions about relations."""

    BEFORE = "before"
    AFTER = "after"
    FEEDS = "feeds"
    CONSUMES = "consumes"
    USES_FIELD = "uses_field"
    GIVES_FIELD = "gives_field"
    BOTH = "both"
    PATH = "path"
    CALLERS = "callers"
    CALLEES = "callees"
    SUBTYPES = "subtypes"
    SUPERTYPES = "supertypes"
    IMPORTERS = "importers"
    REFERENCES = "references"
    DEPENDENCIES = "dependencies"


class Listing:
    """The kinds of things that a question about the catalog lists."""

    TOOLS = "tools"
    SOURCES = "sources"
    CATEGORIES = "categories"


class MentionKind:
    """The kinds of things that a question may mention."""

    TOOL = "tool"
    FIELD = "field"
    SYMBOL = "symbol"


class Spelling:
    """How a question spells a name, the surest first."""

    NAME = "name"
    """As a name: in one piece, with its seams, or marked as one."""
    REPAIRED = "repaired"
    """As a name, with a typing error."""
    SPOKEN = "spoken"
    """As words with spaces between them."""
    WORD = "word"
    """As a single word that may mean something else."""


SURE = (Spelling.NAME, Spelling.REPAIRED)
"""The spellings that show that the name is meant."""


_SCORE_DECIMALS = 4
_ALWAYS = ("file", "score", "type", "symbol", "kind")


@dataclass(frozen=True, slots=True)
class Mention:
    """Something with a name that a question mentions.

    Attributes:
        kind: One of `MentionKind`.
        spelling: One of `Spelling`.
        tools: Numbers of the tools with this name, or that take or return this field.
    """

    kind: str
    text: str
    name: str
    spelling: str
    tools: tuple[int, ...]
    start: int
    end: int

    @property
    def is_sure(self) -> bool:
        """Whether the name is certainly meant."""
        return self.spelling in SURE


@dataclass(frozen=True, slots=True)
class Decision:
    """The intent of a question, and why.

    Attributes:
        probability: Of this intent, in [0, 1]; 1 if a rule or the caller decides.
        decided_by: `model`, `grammar`, `name`, `prefix`, `pattern`, `caller` or `default`.
        evidence: The reasons for the intent, for people, the strongest first.
        direction: For relations, one of `Direction`; for the catalog, one of `Listing`.
    """

    intent: str
    probability: float
    decided_by: str
    evidence: tuple[str, ...] = ()
    direction: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all but the intent as a JSON object."""
        certainty = {"probability": round(self.probability, _SCORE_DECIMALS)}
        return to_json(self, without=("intent",), nulls=("direction",)) | certainty


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The parts of a question.

    Attributes:
        keywords: Its other words that carry content.
        literals: Its arguments, such as paths and dates.
    """

    tools: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """Something that is related to an answer.

    Attributes:
        name: Tool id, or id of a symbol.
        rel: How it is related, such as `nextStep` or `called_by`.
    """

    name: str
    kind: str
    rel: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One result of a question.

    Attributes:
        file: The document of the tool or page, or the source file.
        lines: Lines of the definition in the file, such as `10-24`; "" for none.
        score: How good the answer is, in [0, 1].
        type: Its role for the question, such as `tool`, `before`, `caller` or `example`.
        symbol: Tool id, id of a symbol, or title of a page.
        why: The reasons for it, at most three.
        call: For an example, an object with the arguments of a call.
        card: For documentation, the whole description.
        repo: The repository of source code, "" if all results are from the same one.
        branch: The branch of source code, "" if all results are from the same one.
    """

    file: str
    lines: str
    score: float
    type: str
    symbol: str
    kind: str
    sig: str = ""
    docs: str = ""
    related: tuple[RelatedItem, ...] = ()
    why: tuple[str, ...] = ()
    call: Any = None
    card: Any = None
    repo: str = ""
    branch: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object without empty members."""
        members: JsonObject = to_json(self) | {"score": round(self.score, _SCORE_DECIMALS)}
        members["related"] = [
            {key: part for key, part in to_json(one).items() if part not in (None, "")}
            for one in self.related
        ]
        return {
            key: part
            for key, part in members.items()
            if key in _ALWAYS or part not in (None, "", [])
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A next question.

    Attributes:
        command: Arguments of `mcpg`, such as `("show", "git_add")`.
    """

    text: str
    command: tuple[str, ...]

    @property
    def command_line(self) -> str:
        """The command as it is typed into a shell."""
        return shlex.join(["mcpg", *self.command])


@dataclass(frozen=True, slots=True)
class AskResult:
    """The answer to a question.

    Attributes:
        total: How many results there are, those beyond the limit included.
        results: The first of them, best first.
        repository: The repository of all results that are code, "" for several.
        branch: The branch of all results that are code, "" for several.
        omitted: How many results a byte budget left out.
    """

    query: str
    decision: Decision
    parsed: ParsedQuestion
    total: int = 0
    results: tuple[Answer, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    repository: str = ""
    branch: str = ""
    omitted: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `mcpg ask --format json` prints it, without the time."""
        homes = {"repo": self.repository, "branch": self.branch}
        omitted: JsonObject = {"omitted": self.omitted} if self.omitted else {}
        return {
            "schema": "mcpg/ask/1",
            **{key: home for key, home in homes.items() if home},
            "query": self.query,
            "intent": self.decision.intent,
            "decision": self.decision.to_dict(),
            "parsed": to_json(self.parsed),
            "total": self.total,
            "results": [one.to_dict() for one in self.results],
            **omitted,
            "suggestions": [one.command_line for one in self.suggestions],
            "diagnostics": [one.to_dict() for one in self.diagnostics],
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{one.symbol} {score_text(one.score)}" for one in self.results[:3])
        found = f"{self.decision.intent}, {format_count(self.total, 'result')}"
        return f"<AskResult {self.query!r}: {found}{f': {shown}' if shown else ''}>"

    def _repr_html_(self) -> str:
        from mcpg.text.markup import result_html  # noqa: PLC0415 - only notebooks show HTML

        return result_html(self.to_dict())


MAX_LIMIT = 200


_SHORT_DOCS, _FEW_RELATED = 160, 3
_SHORT_QUERY, _SHORT_MESSAGE = 200, 160
_SCHEMAS = frozenset({"inputSchema", "outputSchema", "annotations", "notes"})


def fit_budget(
    result: AskResult, size: Callable[[AskResult], int], budget: int
) -> AskResult | None:
    """Return *result* with as much of it as a *budget* allows, `None` if nothing fits."""
    least = result
    for least in _shorten_stepwise(result):
        if size(least) <= budget:
            return least
    counts = range(len(least.results) + 1)
    fitting = bisect_right(counts, budget, key=lambda count: size(_cut(least, count)))
    return _cut(least, fitting - 1) if fitting else None


def _shorten_stepwise(result: AskResult) -> Iterator[AskResult]:
    yield result
    found = [
        replace(one, card={key: one.card[key] for key in one.card if key not in _SCHEMAS})
        if one.card is not None
        else one
        for one in result.results
    ]
    yield replace(result, results=tuple(found))
    found = [
        replace(one, docs=one.docs[:_SHORT_DOCS], related=one.related[:_FEW_RELATED], card=None)
        for one in found
    ]
    yield replace(result, results=tuple(found))
    found = [replace(one, docs="", sig="", related=(), why=one.why[:1]) for one in found]
    result = replace(result, results=tuple(found))
    yield result
    decision = replace(result.decision, evidence=result.decision.evidence[:1])
    yield replace(
        result,
        query=result.query[:_SHORT_QUERY],
        decision=decision,
        parsed=replace(result.parsed, keywords=(), literals=()),
        diagnostics=tuple(
            one._replace(message=one.message[:_SHORT_MESSAGE]) for one in result.diagnostics[:2]
        ),
    )


def _cut(result: AskResult, count: int) -> AskResult:
    omitted = len(result.results) - count
    changed = replace(result, results=result.results[:count], omitted=omitted)
    if count:
        return changed
    return replace(changed, suggestions=(), parsed=replace(result.parsed, tools=(), fields=()))


class CodeRanking(NamedTuple):
    """How a search of source code ranks.

    Attributes:
        strategy: `graph` for only words, `embeddings` for only vectors, `auto` for both.
        words: With `auto`, the weight of words.
        vectors: With `auto`, the weight of vectors.
    """

    strategy: StrategyName = Strategy.GRAPH
    words: float = 0.3
    vectors: float = 0.7


WORDS_ALONE = CodeRanking()


class ScopedFile(Protocol):
    """The properties of a source file that a scope compares."""

    @property
    def path(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def repository(self) -> str: ...
    @property
    def branch(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CodeScope:
    """Which files a question is about; an empty member excludes nothing.

    Attributes:
        languages: Names of languages, in any case.
        paths: Glob patterns or folders.
    """

    languages: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def has(self, file: ScopedFile) -> bool:
        """Return whether *file* is in the scope."""
        languages = {language.casefold() for language in self.languages}
        return (
            (not languages or file.language in languages)
            and (not self.repositories or file.repository in self.repositories)
            and (not self.branches or file.branch in self.branches)
            and (not self.paths or any(_is_in(file.path, path) for path in self.paths))
        )

    def find_unknown(self, files: Collection[ScopedFile]) -> Iterator[tuple[str, str, list[str]]]:
        """Yield each value that no file has, after its kind, with the values that exist."""
        for what, values, known in (
            ("language", self.languages, {one.language for one in files}),
            ("repository", self.repositories, {one.repository for one in files}),
            ("branch", self.branches, {one.branch for one in files}),
        ):
            held = {one.casefold() for one in known} if what == "language" else known
            for value in values:
                if (value.casefold() if what == "language" else value) not in held:
                    yield what, value, sorted(filter(None, known))
        for path in self.paths:
            if not any(_is_in(one.path, path) for one in files):
                yield "path", path, []


def _is_in(path: str, wanted: str) -> bool:
    folder = wanted.rstrip("/")
    return path == folder or path.startswith(f"{folder}/") or fnmatchcase(path, wanted)
