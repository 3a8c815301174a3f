"""Answer questions: recognize names, decide on the intent, and look up the answer.

The stages follow a query orchestrator: parse, decide, look up, suggest. Every answer has
the decision and its evidence. A question that names nothing becomes a search.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from math import inf
from typing import Protocol, TypeVar

from mcpg.ask.catalog import answer_catalog_question
from mcpg.ask.catalog_questions import CatalogQuestion, read_catalog_question
from mcpg.ask.intent import (
    NOTHING_NAMED,
    IntentPattern,
    check_patterns,
    decide,
    decide_topic,
    find_topic,
    matching,
    residue,
)
from mcpg.ask.mentions import (
    NameLookup,
    SymbolNames,
    Token,
    is_rare,
    language,
    recognise,
    tokenize_question,
)
from mcpg.ask.model import (
    INTENTS,
    MAX_LIMIT,
    WORDS_ALONE,
    Answer,
    AskResult,
    CodeRanking,
    CodeScope,
    Decision,
    Direction,
    Intent,
    Mention,
    MentionKind,
    ParsedQuestion,
    RelatedItem,
    Suggestion,
)
from mcpg.ask.relations import ToolRelationsAnswers, decide_direction
from mcpg.ask.tools import ToolAnswers
from mcpg.errors import Code, Diagnostic, UsageError, info, warning
from mcpg.index import Index
from mcpg.index.layout import ABSENT
from mcpg.plugins.hooks import Answerer
from mcpg.plugins.registry import Registered, load_reference, own_items, package_plugins
from mcpg.search.results import (
    ASK_LIMIT,
    MAX_QUERY_CHARACTERS,
    EngineServices,
    SearchResult,
    check_flag,
    check_limit,
    check_strategy,
    check_text,
)
from mcpg.search.results import MAX_LIMIT as MOST_MATCHES
from mcpg.search.scope import filter_index
from mcpg.text import join_words
from mcpg.text.literals import find_literals

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """A question, as an answerer sees it.

    Attributes:
        symbols: The names in the question that answerers can look up.
        scope: The source code that is meant; `None` for all.
        topic: The topic of a question that names nothing, "" for any other question.
        services: Makes vectors, `None` for none.
    """

    intent: str
    text: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    symbols: tuple[str, ...]
    scope: CodeScope | None
    limit: int
    topic: str = ""
    ranking: CodeRanking = WORDS_ALONE
    services: EngineServices | None = None


@dataclass(frozen=True, slots=True)
class SymbolAnswers:
    """The answers to a question."""

    answers: tuple[Answer, ...] = ()
    direction: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


class SymbolAnswerer(SymbolNames, Protocol):
    """Answers questions about symbols of one index."""

    def has_any(self) -> bool:
        """Return whether there is any symbol."""

    def answer(self, question: SymbolQuestion) -> SymbolAnswers:
        """Answer a question that names symbols, or a search."""

    def leads(self, direction: str, name: str, scope: CodeScope | None) -> bool:
        """Return whether anything is related in a *direction* to the symbol *name*."""

    def check_scope(self, scope: CodeScope) -> tuple[Diagnostic, ...]:
        """Report names in *scope* that do not exist."""

    def find_handler(self, name: str, description: str) -> RelatedItem | None:
        """Return the symbol that implements a tool, `None` if no name matches."""


def _make(answerer: Answerer, index: Index) -> SymbolAnswerer:
    made: SymbolAnswerer = load_reference(answerer.make)(index)
    return made


class SymbolAnswerers:
    """All answerers of our rooms and of other packages, as one; packages that fail are left out.

    Each reads the index on demand. `diagnostics` has the failures.
    """

    def __init__(self, index: Index) -> None:
        own = [Registered("", _make(one, index)) for one in own_items(Answerer)]
        self._answerers: list[Registered[SymbolAnswerer]] = own
        packages = package_plugins()
        self.diagnostics = packages.diagnostics
        for one in packages.items(Answerer):
            made = one.attempt(partial(_make, one.item, index))
            if isinstance(made, Diagnostic):
                self.diagnostics = (*self.diagnostics, made)
            else:
                self._answerers.append(Registered(one.owner, made))

    def has_any(self) -> bool:
        return any(self._ask(lambda one: one.has_any()))

    def has(self, name: str) -> bool:
        return any(self._ask(lambda one: one.has(name)))

    def near(self, name: str) -> str:
        return next(filter(None, self._ask(lambda one: one.near(name))), "")

    def imports(self, name: str) -> bool:
        return any(self._ask(lambda one: one.imports(name)))

    def answer(self, question: SymbolQuestion) -> SymbolAnswers:
        found = list(self._ask(lambda one: one.answer(question)))
        answers = tuple(answer for one in found for answer in one.answers)
        direction = next((one.direction for one in found if one.direction), "")
        diagnostics = tuple(diagnostic for one in found for diagnostic in one.diagnostics)
        return SymbolAnswers(answers, direction, diagnostics)

    def leads(self, direction: str, name: str, scope: CodeScope | None) -> bool:
        return any(self._ask(lambda one: one.leads(direction, name, scope)))

    def check_scope(self, scope: CodeScope) -> tuple[Diagnostic, ...]:
        return next(iter(self._ask(lambda one: one.check_scope(scope))), ())

    def find_handler(self, name: str, description: str) -> RelatedItem | None:
        found = self._ask(lambda one: one.find_handler(name, description))
        return next(filter(None, found), None)

    def _ask(self, ask: Callable[[SymbolAnswerer], Value]) -> Iterable[Value]:
        for one in [*self._answerers]:
            if not one.owner:
                yield ask(one.item)
                continue
            answer = one.attempt(partial(ask, one.item))
            if isinstance(answer, Diagnostic):
                self._answerers.remove(one)
                self.diagnostics = (*self.diagnostics, answer)
            else:
                yield answer


Search = Callable[[str, int], SearchResult]

_SIMILAR = re.compile(r"\s*similar:\s*(\S+)\s*(.*)", re.DOTALL | re.IGNORECASE)
_MOST_KEYWORDS = 32
_MOST_SUGGESTIONS = 3
_MOST_RELATED = 6
_MOST_KNOWN = 256
_SHORT = 16


@dataclass(frozen=True, slots=True)
class AskRequest:
    """How to answer a question.

    Attributes:
        intent: The intent, one of `INTENTS`; "" to decide by the question.
        patterns: Wordings to which a host assigns intents; the first that fits counts.
        scope: The source code that is meant; `None` for all.
        sources: The sources to which a search, and the tools of the catalog, are restricted.
        categories: The same for categories.
        read_only: Whether only tools that only read are searched.
    """

    intent: str = ""
    limit: int = ASK_LIMIT
    include_disabled: bool = False
    patterns: tuple[IntentPattern, ...] = ()
    scope: CodeScope | None = None
    ranking: CodeRanking = WORDS_ALONE
    sources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class _ReadQuestion:
    """A question that was read; *terms* are words after `similar:ID` on the work of others."""

    text: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    literals: tuple[str, ...]
    terms: str = ""
    topic: Mention | None = None
    catalog: CatalogQuestion | None = None

    def mentioned_names(self, kind: str) -> list[str]:
        """Return the names of the mentions of a *kind*, each once; sure ones if there are any."""
        ours = [one for one in self.mentions if one.kind == kind]
        sure = [one for one in ours if one.is_sure]
        return list(dict.fromkeys(one.name for one in sure or ours))


class Asker:
    """Answers questions about one index; keeps data that it has read."""

    def __init__(self, index: Index, services: EngineServices | None = None) -> None:
        self._index = index
        self._services = services
        self._known: dict[object, AskResult] = {}
        self._disabled = frozenset(index.iter_disabled_tools())
        self.names = NameLookup(index)

    @cached_property
    def _symbols(self) -> SymbolAnswerers:
        return SymbolAnswerers(self._index)

    def ask(self, text: str | None, request: AskRequest, search: Search) -> AskResult:
        """Answer the question *text*; *search* finds the tools for a text.

        The last answers are kept, by the question and the request.
        """
        key = repr(text), repr(request)
        known = self._known.get(key)
        if known is None:
            known = self._answer(text, request, search)
            has_failed = any(one.code == Code.EMBEDDING_FAILED for one in known.diagnostics)
            if len(known.query) <= MAX_QUERY_CHARACTERS and not has_failed:
                self._known[key] = known
            for oldest in [*self._known][:-_MOST_KNOWN]:
                self._known.pop(oldest, None)
        return known

    def _answer(self, text: str | None, request: AskRequest, search: Search) -> AskResult:
        request, diagnostics = _check_request(text, request)
        question = self._read((text or "").strip()[:MAX_QUERY_CHARACTERS])
        decision = self._decide(question, request)
        disabled = frozenset[int]() if request.include_disabled else self._disabled
        tools = ToolAnswers(self._index, self.names, disabled)
        lookup = _Lookup(question, request, tools, self._symbols, search, self._services)
        results, decision = lookup.results(decision)
        is_counted = question.catalog is not None and decision.intent == Intent.CATALOG
        if not results and decision.intent != Intent.SEARCH and not is_counted:
            intent, direction = decision.intent, decision.direction
            what = f"{intent} ({direction})" if direction else intent
            message = (
                f"nothing answers this question about {what}: these are the results of a search"
            )
            diagnostics = (*diagnostics, info(Code.ASK_FALLBACK, message))
            results = lookup.search_question()
        homes = {(one.repo, one.branch) for one in results if one.repo or one.branch}
        if len(homes) == 1:
            results = [replace(one, repo="", branch="") for one in results]
        scoped = self._symbols.check_scope(request.scope) if request.scope else ()
        noticed = (
            *scoped,
            *self._unknown(question),
            *lookup.diagnostics,
            *self._symbols.diagnostics,
        )
        return AskResult(
            text or "",
            decision,
            self._describe_question(question),
            len(results),
            tuple(results[: request.limit]),
            tuple(islice(suggest(decision, results, lookup.leads), _MOST_SUGGESTIONS)),
            tuple(dict.fromkeys((*diagnostics, *noticed))),
            *(homes.pop() if len(homes) == 1 else ("", "")),
        )

    def _read(self, text: str) -> _ReadQuestion:
        found = _SIMILAR.fullmatch(text)
        terms = found[2].strip() if found else ""
        tokens = tokenize_question(found[1] if found else text)
        mentions = recognise(tokens, self.names, self._symbols)
        if found and len(mentions) == 1:
            mentions = tuple(replace(one, spelling="name") for one in mentions)
        symbols = {one.text for one in mentions if one.kind == MentionKind.SYMBOL}
        # A qualified name such as `Model.save` is not an argument.
        literals = tuple(one.text for one in find_literals(text) if one.text not in symbols)
        topic = None if mentions else find_topic(tokens)
        catalog = None if found else read_catalog_question(tokens, mentions, self.names)
        return _ReadQuestion(text, tokens, mentions, literals, terms, topic, catalog)

    def _decide(self, question: _ReadQuestion, request: AskRequest) -> Decision:
        if request.intent:
            return Decision(request.intent, 1.0, "caller", ("the caller gives the intent",))
        if _SIMILAR.fullmatch(question.text):
            return Decision(Intent.SIMILAR, 1.0, "prefix", ("begins with 'similar:'",))
        fitting = matching(request.patterns, question.tokens, question.mentions)
        if fitting is None and question.catalog is not None and request.scope is None:
            fitting = Decision(Intent.CATALOG, 1.0, "grammar")
        if fitting is not None:
            return fitting
        mentions = question.mentions
        first = next(iter(mentions), None)
        is_whole = first and first.is_sure and first.end - first.start == len(question.tokens)
        if first and is_whole and first.kind != MentionKind.FIELD:
            why = (f"is the name of a {first.kind}",)
            # Plain words may also be a wish, and a search also finds that name first.
            is_form = any(one.is_identifier or one.is_marked for one in question.tokens)
            is_form = is_form or (len(question.tokens) == 1 and is_rare(question.tokens[0]))
            intent = Intent.NAVIGATION if is_form else Intent.SEARCH
            return Decision(intent, 1.0, "name", why)
        if question.topic and self._symbols.has_any():
            return decide_topic(question.tokens, question.topic)
        return decide(question.tokens, mentions, len(question.literals))

    def _describe_question(self, question: _ReadQuestion) -> ParsedQuestion:
        tools = [
            self._index.tool_id(tool)
            for one in question.mentions
            if one.kind == MentionKind.TOOL
            and one.name in question.mentioned_names(MentionKind.TOOL)
            for tool in one.tools
        ]
        words = (token.folded for token in residue(question.tokens, question.mentions))
        return ParsedQuestion(
            tuple(dict.fromkeys(tools)),
            tuple(question.mentioned_names(MentionKind.FIELD)),
            tuple(question.mentioned_names(MentionKind.SYMBOL)),
            tuple(dict.fromkeys(words))[:_MOST_KEYWORDS],
            question.literals,
            language(question.tokens),
        )

    def _unknown(self, question: _ReadQuestion) -> Iterator[Diagnostic]:
        """Report words that look like names but name nothing here."""
        if len(question.tokens) > _SHORT:
            return
        held = {place for one in question.mentions for place in range(one.start, one.end)}
        for place, token in enumerate(question.tokens):
            is_name = token.is_marked or "_" in token.text.strip("_")
            if is_name and place not in held and token.text not in question.literals:
                message = f"no tool, field or symbol is called {token.text[:80]!r}"
                yield info(Code.ASK_NAME_UNKNOWN, message)


class _Lookup:
    def __init__(
        self,
        question: _ReadQuestion,
        request: AskRequest,
        tools: ToolAnswers,
        symbols: SymbolAnswerers,
        search: Search,
        services: EngineServices | None,
    ) -> None:
        self._question = question
        self._request = request
        self._tools = tools
        self._answerers = symbols
        self._search = search
        self._services = services
        self.diagnostics: tuple[Diagnostic, ...] = ()
        words = [token.text for token in question.tokens]
        sources = [word for word in words if tools.names.find_source(word)]
        kept = question.mentioned_names(MentionKind.TOOL)
        named = [one for one in question.mentions if one.name in kept]
        self._named = tools.select_mentioned_tools(named, sources)
        self._fields = question.mentioned_names(MentionKind.FIELD)
        self._symbols = question.mentioned_names(MentionKind.SYMBOL)

    def results(self, decision: Decision) -> tuple[list[Answer], Decision]:
        """Return all results, and the decision with its direction."""
        intent, tools, behind = decision.intent, self._tools, list[Answer]()
        if intent == Intent.SEARCH:
            return self.search_question(), decision
        if intent == Intent.CATALOG:
            return self._answer_catalog(decision)
        is_topical = intent in {Intent.DOCUMENTATION, Intent.EXAMPLES}
        if is_topical and self._question.topic and self._answerers.has_any():
            return self._answer_topic(decision)
        if intent == Intent.RELATIONS and self._symbols:
            related = self._ask_answerers(intent)
            return [*related.answers], replace(decision, direction=related.direction)
        if intent == Intent.RELATIONS:
            direction = decide_direction(self._question.tokens, self._question.mentions, tools)
            found = ToolRelationsAnswers(tools).answers(direction, self._named, self._fields)
            return found, replace(decision, direction=direction)
        if intent == Intent.NAVIGATION:
            found = tools.locate_tools(self._named, self._question.mentions)
            behind = [] if found else tools.locate_tools(self._holders(), ())
        elif intent == Intent.DOCUMENTATION:
            found = tools.document_tools(self._named or self._holders(), self._fields)
        elif intent == Intent.EXAMPLES:
            found = tools.examples(self._named or self._holders(), self._fields)
        else:
            words = residue(self._question.tokens, self._question.mentions)
            terms = self._question.terms or " ".join(token.text for token in words)
            found = (
                tools.similar(
                    self._named,
                    lambda text, limit: [
                        (tools.index.find_tool(one.tool_id), one.score)
                        for one in self._search(text, min(limit, MOST_MATCHES)).matches
                    ],
                    terms,
                )
                if self._named
                else []
            )
        if intent in {Intent.NAVIGATION, Intent.DOCUMENTATION} and self._answerers.has_any():
            found = [self._with_handler(one) for one in found]
        return [*found, *self._ask_answerers(intent).answers, *behind], decision

    def _answer_catalog(self, decision: Decision) -> tuple[list[Answer], Decision]:
        """Answer by the facts of the catalog; nothing if the question has no such condition."""
        question, request, tools = self._question.catalog, self._request, self._tools
        if question is None:
            return [], decision
        allowed, diagnostics = filter_index(
            tools.index,
            sources=request.sources,
            categories=request.categories,
            read_only=request.read_only,
        )
        found = answer_catalog_question(
            question, tools, allowed, lambda text, most: self._search(text, most).matches
        )
        self.diagnostics = (*diagnostics, *found.diagnostics)
        if question.about and not found.answers and not request.intent:
            evidence = (found.summary,)
            return self.search_question(), Decision(Intent.SEARCH, 1.0, "default", evidence)
        told = replace(decision, direction=question.listed, evidence=(found.summary,))
        return found.answers, told

    def _with_handler(self, answer: Answer) -> Answer:
        """Return an answer that is a tool with the symbol that implements it."""
        number = self._tools.index.find_tool(answer.symbol) if answer.kind == "tool" else ABSENT
        if number == ABSENT:
            return answer
        view = self._tools.index.view(number)
        name = self._tools.index.tool_name(number)
        handler = self._answerers.find_handler(name, view.description)
        return replace(answer, related=(handler, *answer.related)) if handler else answer

    def _answer_topic(self, decision: Decision) -> tuple[list[Answer], Decision]:
        """Answer a question about a topic by source code, or search if a tool fits better."""
        found = self.search_question()
        if not found or found[0].kind == "tool":
            if self._request.intent:
                return [], decision
            return found, Decision(Intent.SEARCH, 1.0, "default", NOTHING_NAMED)
        tools = [one for one in found if one.kind == "tool"]
        topic = self._question.topic.text if self._question.topic else ""
        return [*self._ask_answerers(decision.intent, topic).answers, *tools], decision

    def _ask_answerers(self, intent: str, topic: str = "") -> SymbolAnswers:
        question, request = self._question, self._request
        found = self._answerers.answer(
            SymbolQuestion(
                *(intent, question.text, question.tokens, question.mentions),
                *(tuple(self._symbols), request.scope, request.limit, topic),
                *(request.ranking, self._services),
            )
        )
        self.diagnostics = tuple(dict.fromkeys((*self.diagnostics, *found.diagnostics)))
        return found

    def _holders(self) -> list[int]:
        fields = self._tools.names.fields if self._fields else {}
        entries = (fields.get(join_words(field)) for field in self._fields)
        return [tool for entry in entries if entry for tool in entry[1]]

    def leads(self, direction: str, answer: Answer) -> bool:
        """Return whether anything is related in a *direction* to a tool or symbol."""
        if answer.kind == "tool":
            tool = self._tools.index.find_tool(answer.symbol)
            return bool(ToolRelationsAnswers(self._tools).answers(direction, [tool], ()))
        return self._answerers.leads(direction, answer.symbol, self._request.scope)

    def search_question(self) -> list[Answer]:
        """Return the tools and symbols that a search for the question finds."""
        scope, limit = self._request.scope, self._request.limit
        symbols = self._ask_answerers(Intent.SEARCH).answers
        if scope is not None:
            return [*symbols]
        found = self._search(self._question.text, min(limit, MOST_MATCHES))
        self.diagnostics = (*self.diagnostics, *found.diagnostics)
        groups = (
            ("prerequisite", found.prerequisites),
            ("related", found.related_matches),
            ("nextStep", found.next_step_matches),
        )
        around: dict[str, list[RelatedItem]] = {}
        for rel, reached in groups:
            own = Counter[str]()
            for one in reached:
                source = one.via.source if one.via else ""
                own[source] += 1
                if own[source] <= _MOST_RELATED // 2:
                    around.setdefault(source, []).append(RelatedItem(one.tool_id, "tool", rel))
        tools = []
        for one in found.matches:
            words = ", ".join(one.evidence.terms)
            why = (f"matches {words}",) if words else ()
            number = self._tools.index.find_tool(one.tool_id)
            answer = self._tools.answer(number, "match", one.score, why)
            tools.append(replace(answer, related=tuple(around.get(one.tool_id, ()))))
        return sorted((*tools, *symbols), key=lambda one: -one.score)


def _check_request(
    text: str | None, request: AskRequest
) -> tuple[AskRequest, tuple[Diagnostic, ...]]:
    """Check the request; cap a limit that is too high, and report a question that is cut."""
    check_text("question", text)
    check_text("intent", request.intent)
    check_flag("include_disabled", request.include_disabled)
    if not (text or "").strip():
        raise UsageError("the question is empty", remedy="ask about a tool, a field or a symbol")
    check_limit(request.limit)
    ranking = request.ranking._replace(strategy=check_strategy(request.ranking.strategy))
    weights = ranking.words, ranking.vectors
    if not (min(weights) >= 0 < sum(weights) < inf):
        message = f"{weights[0]:g} and {weights[1]:g} are not weights of words and vectors"
        raise UsageError(message, remedy="use two numbers from 0 on, not both 0")
    if request.intent and request.intent not in INTENTS:
        message = f"no intent is called {request.intent[:40]!r}"
        raise UsageError(message, remedy=f"use {', '.join(INTENTS)}")
    found = []
    if request.limit > MAX_LIMIT:
        message = f"{request.limit} results were requested; the maximum is {MAX_LIMIT}"
        found.append(warning(Code.LIMIT_CAPPED, message))
    if len((text or "").strip()) > MAX_QUERY_CHARACTERS:
        message = f"only the first {MAX_QUERY_CHARACTERS} characters of the question were read"
        found.append(warning(Code.QUERY_TRUNCATED, message))
    limit, patterns = min(request.limit, MAX_LIMIT), check_patterns(request.patterns)
    return replace(request, limit=limit, patterns=patterns, ranking=ranking), tuple(found)


def suggest(
    decision: Decision, results: Sequence[Answer], leads: Callable[[str, Answer], bool]
) -> Iterator[Suggestion]:
    """Yield the next questions; *leads* returns if an answer has relations in a direction."""
    if not results or results[0].kind in {"page", "file"}:
        return
    best, name = results[0], results[0].symbol
    if best.kind in {"source", "category"}:
        yield Suggestion(f"the tools of {name}", ("ask", f"tools of the {name} {best.kind}"))
        return
    if best.kind != "tool":
        yield from _suggest_code(decision, best, leads)
        return
    others = [one.symbol for one in results[1:] if one.kind == "tool"]
    if decision.intent != Intent.DOCUMENTATION:
        yield Suggestion(f"the card of {name}", ("show", name))
    if decision.intent == Intent.SIMILAR and others:
        yield Suggestion("the same for another tool", ("ask", f"similar:{others[0]}"))
    if decision.intent != Intent.EXAMPLES:
        yield Suggestion(f"a call of {name}", ("ask", f"example of {name}"))
    if decision.intent != Intent.RELATIONS and leads(Direction.BEFORE, best):
        yield Suggestion(f"what runs before {name}", ("ask", f"what comes before {name}"))
    if decision.intent != Intent.SIMILAR:
        yield Suggestion(f"tools like {name}", ("ask", f"similar:{name}"))


def _suggest_code(
    decision: Decision, best: Answer, leads: Callable[[str, Answer], bool]
) -> Iterator[Suggestion]:
    name = best.symbol
    is_called = leads(Direction.CALLERS, best)
    if decision.intent != Intent.EXAMPLES and is_called:
        yield Suggestion(f"how {name} is used", ("ask", f"show me how {name} is used"))
    if decision.direction != Direction.CALLERS and is_called:
        yield Suggestion(f"what calls {name}", ("ask", f"what calls {name}"))
    if decision.direction != Direction.CALLEES and leads(Direction.CALLEES, best):
        yield Suggestion(f"what {name} calls", ("ask", f"what does {name} call"))
    if decision.intent != Intent.SIMILAR:
        yield Suggestion(f"code like {name}", ("ask", f"similar:{name}"))
