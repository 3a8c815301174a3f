"""Answers that are symbols of source code: definitions, callers, subclasses, importers, chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from mcpg.ask.asker import SymbolAnswers, SymbolQuestion
from mcpg.ask.mentions import Token, does
from mcpg.ask.model import Answer, CodeScope, Direction, Intent, Mention, MentionKind, RelatedItem
from mcpg.code.graph import CodeGraph, LocatedSymbol, Relation, locate_file
from mcpg.code.model import CALLABLE_KINDS, CodeEdgeKind, CodeFile, SymbolKind
from mcpg.code.search import Blend, CodeSearch
from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.index import Index
from mcpg.search.results import EngineServices, Strategy
from mcpg.text import stem
from mcpg.text.spelling import edit_distance, suggest

if TYPE_CHECKING:
    from mcpg.code.vectors import SymbolVectors

_MOST_RELATED = 20
_MOST_NAMED = 20
_OF_RELATED, _OF_FURTHER, _OF_GUESS, _ALONE = 0.9, 0.8, 0.45, 0.3
_TARGET = "symbol_with_relations"
_MOST_SIMILAR = 10
_MOST_SHOWN = 3
_KNOWN = 10

_INCOMING: dict[str, tuple[tuple[CodeEdgeKind, ...], str, str]] = {
    Direction.CALLERS: ((CodeEdgeKind.CALLS,), "caller", "called_by"),
    Direction.REFERENCES: (
        tuple(kind for kind in CodeEdgeKind if kind is not CodeEdgeKind.DEFINES),
        "user",
        "used_by",
    ),
    Direction.SUBTYPES: ((CodeEdgeKind.INHERITS,), "subtype", "inherited_by"),
    Direction.IMPORTERS: ((CodeEdgeKind.IMPORTS,), "importer", "imported_by"),
}
_OUTGOING: dict[str, tuple[tuple[CodeEdgeKind, ...], str, str]] = {
    Direction.CALLEES: ((CodeEdgeKind.CALLS,), "callee", "calls"),
    Direction.DEPENDENCIES: (
        tuple(kind for kind in CodeEdgeKind if kind is not CodeEdgeKind.DEFINES),
        "dependency",
        "uses",
    ),
    Direction.SUPERTYPES: ((CodeEdgeKind.INHERITS,), "supertype", "inherits"),
}


class CodeAnswers:
    """Makes answers of the source code of an index; nothing is read before it is needed."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._vectors: tuple[EngineServices, SymbolVectors] | None = None

    @cached_property
    def search(self) -> CodeSearch:
        return CodeSearch.of_pages(self._index.pages())

    @property
    def graph(self) -> CodeGraph:
        return self.search.graph

    @cached_property
    def is_empty(self) -> bool:
        return not (self._index.has_section("pages") and self.graph.files)

    def has_any(self) -> bool:
        """Return whether there is any symbol."""
        return not self.is_empty

    def has(self, name: str) -> bool:
        """Return whether a symbol or a file is called *name*, symbols in any case."""
        return not self.is_empty and bool(self.graph.find(name) or self._find_files(name))

    def _find_files(self, name: str, scope: CodeScope | None = None) -> list[LocatedSymbol]:
        # A word without an ending is not the name of a file.
        files = self.graph.find_files(name.lstrip("./"), scope) if "." in name else ()
        return [locate_file(one) for one in files]

    def near(self, name: str) -> str:
        """Return the name of a symbol that *name* misspells, "" if none is near."""
        around, dot, short = name.rpartition(".")
        close = () if self.is_empty else self.search.find_named_symbols(short)
        names: set[tuple[float, int, str]] = set()
        for one in close:
            name = one.definition.symbol.short_name
            most = max(len(short), len(name))
            # Edits of case also count.
            edits = edit_distance(short, name, most)
            names.add((-one.score, most if edits is None else edits, name))
        found = (f"{around}{dot}{one}" for _, _, one in sorted(names))
        return next((one for one in found if self.has(one)), "")

    def imports(self, name: str) -> bool:
        """Return whether a file imports a library called *name*."""
        return not self.is_empty and bool(self.graph.importers(name))

    def answer(self, question: SymbolQuestion) -> SymbolAnswers:
        """Answer a question that names symbols, or search for its words."""
        if self.is_empty:
            return SymbolAnswers()
        if question.topic or question.intent == Intent.SEARCH:
            return self._search(question)
        if not question.symbols:
            return SymbolAnswers()
        definitions = self.find_definitions(question.symbols, question.scope)
        if question.intent == Intent.RELATIONS:
            return self._relate(question, definitions)
        if question.intent == Intent.EXAMPLES:
            found = self._show_use(definitions, question.scope)
        elif question.intent == Intent.SIMILAR and len(question.symbols) > 1:
            found = self._compare_symbols(definitions)
        elif question.intent == Intent.SIMILAR:
            found = self.similar(definitions, question.scope)
        else:
            kind = "documentation" if question.intent == Intent.DOCUMENTATION else "symbol"
            found = [_answer(one, kind, 1.0, (_describe_match(one),)) for one in definitions]
        return SymbolAnswers(tuple(found))

    def _search(self, question: SymbolQuestion) -> SymbolAnswers:
        """Return the results of a search: symbols, their documentation, or how they are used."""
        text, diagnostics = question.topic or question.text, tuple[Diagnostic, ...]()
        blend = None
        if question.ranking.strategy != Strategy.GRAPH:
            try:
                blend = self._compare(text, question)
            except McpgError as fault:
                message = f"source code is searched only by words: {fault.message}"
                diagnostics = (warning(Code.EMBEDDING_FAILED, message),)
        matches = self.search.search(text, question.scope, limit=question.limit, blend=blend)
        if question.intent == Intent.EXAMPLES:
            best = [one.definition for one in matches[:_MOST_SHOWN]]
            return SymbolAnswers(tuple(self._show_use(best, question.scope)), "", diagnostics)
        is_wanted = question.intent == Intent.DOCUMENTATION
        kind = "documentation" if is_wanted else "symbol"
        found = (
            _answer(one.definition, kind, one.score, (_describe_words(one.words),))
            for one in matches
        )
        return SymbolAnswers(tuple(found), "", diagnostics)

    def _compare_symbols(self, definitions: Sequence[LocatedSymbol]) -> list[Answer]:
        """Return *definitions* with the names that only each has or uses, and the common ones."""
        names = [self._list_parts(one) for one in definitions]
        common = set(names[0]).intersection(*names) if names else set[str]()
        found = []
        for place, (one, own) in enumerate(zip(definitions, names, strict=True)):
            others = set[str]().union(*names[:place], *names[place + 1 :])
            why = [
                f"{what}: {', '.join(list(kept)[:_KNOWN])}"
                for what, kept in (
                    ("only it has", [name for name in own if name not in others]),
                    ("all have", [name for name in own if name in common]),
                )
                if kept
            ]
            found.append(_answer(one, "compared", 1.0, tuple(why) or (_describe_match(one),)))
        return found

    def _list_parts(self, one: LocatedSymbol) -> list[str]:
        """Return the names that a symbol defines, extends, calls and uses, each once."""
        kinds = (CodeEdgeKind.DEFINES, CodeEdgeKind.INHERITS, CodeEdgeKind.CALLS)
        found = (self.graph.outgoing(one, (kind,)) for kind in (*kinds, CodeEdgeKind.REFERENCES))
        parts = (relation for relations in found for relation in relations if relation.symbol)
        return list(dict.fromkeys(part.symbol.short_name for part in parts if part.symbol))

    def _compare(self, text: str, question: SymbolQuestion) -> Blend:
        """Return how near the symbols are to *text*, with the weights of the question."""
        from mcpg.code.vectors import SymbolVectors  # noqa: PLC0415 - most questions need none

        services = question.services or EngineServices()
        if self._vectors is None or self._vectors[0] is not services:
            self._vectors = services, SymbolVectors(self.graph.definitions, services)
        _, words, vectors = question.ranking
        is_alone = question.ranking.strategy == Strategy.EMBEDDINGS
        nearness = self._vectors[1].compare(text)
        return Blend(0.0, 1.0, nearness) if is_alone else Blend(words, vectors, nearness)

    def _show_use(
        self, definitions: Sequence[LocatedSymbol], scope: CodeScope | None
    ) -> list[Answer]:
        """Return *definitions* with their callers, or with all their users if none calls."""
        is_called = any(self._relations(Direction.CALLERS, one, scope)[2] for one in definitions)
        direction = Direction.CALLERS if is_called else Direction.REFERENCES
        return self.relate_symbols(direction, definitions, scope)

    def _relate(
        self, question: SymbolQuestion, definitions: Sequence[LocatedSymbol]
    ) -> SymbolAnswers:
        names, scope = question.symbols, question.scope
        importing = [one for name in names for one in self.importers(name, scope)]
        if not definitions:
            return SymbolAnswers(tuple(importing), Direction.IMPORTERS)
        meant = [{one.id for one in self.find_definitions([name], scope)} for name in names]
        has_several = not set.intersection(*meant)
        direction = code_direction(question.tokens, question.mentions, has_several=has_several)
        if direction == Direction.PATH:
            starts, ends = (self.find_definitions([one], scope) for one in (names[0], names[-1]))
            way = self.graph.call_chain(starts, ends)
            return SymbolAnswers(tuple(_answer(one, "step", 1.0, ()) for one in way), direction)
        found = self.relate_symbols(direction, definitions, scope)
        imported = importing if direction == Direction.IMPORTERS else []
        return SymbolAnswers((*imported, *found), direction)

    def check_scope(self, scope: CodeScope) -> tuple[Diagnostic, ...]:
        """Report names in *scope* that no source file has."""
        found = []
        for what, value, known in scope.find_unknown(() if self.is_empty else self.graph.files):
            near = suggest(value, known)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known[:_KNOWN])}"
            )
            message = f"no source code has the {what} {value[:80]!r}{f'; {hint}' if known else ''}"
            found.append(warning(Code.FILTER_UNKNOWN, message))
        return tuple(found)

    def find_handler(self, name: str, description: str) -> RelatedItem | None:
        """Return the function or method that implements a tool, if names show it."""
        found = None if self.is_empty else self.graph.find_handler(name, description)
        if found is None:
            return None
        symbol, file = found.symbol, found.file
        rel, line = "implemented_by", symbol.first_line
        return RelatedItem(symbol.plain_name, symbol.kind.value, rel, file.path, line)

    def find_definitions(
        self, names: Iterable[str], scope: CodeScope | None
    ) -> list[LocatedSymbol]:
        """Return the definitions of *names*, or files called so, in order of their files."""
        found: dict[tuple[str, str, str], LocatedSymbol] = {}
        for name in names:
            named = self.graph.find(name, scope)[:_MOST_NAMED]
            for one in named or self._find_files(name, scope)[:_MOST_NAMED]:
                found[one.file.repository, one.file.branch, one.id] = one
        return list(found.values())

    def relate_symbols(
        self, direction: str, definitions: Sequence[LocatedSymbol], scope: CodeScope | None
    ) -> list[Answer]:
        """Return each of *definitions* with its related symbols, then the related symbols.

        Definitions that nothing is related to come last.
        """
        targets: list[Answer] = []
        others: list[Answer] = []
        alone: list[Answer] = []
        for one in definitions:
            kind, rel, relations = self._relations(direction, one, scope)
            further = self._further(direction, one, relations, scope)
            others += [_other(relation, kind, one) for relation in relations]
            others += [_answer(other, kind, _OF_FURTHER, (why,)) for other, why in further]
            items = [_item(relation, rel) for relation in relations]
            if relations or further:
                target = _answer(one, _TARGET, 1.0, (_describe_match(one),))
                targets.append(replace(target, related=tuple(items[:_MOST_RELATED])))
            else:
                why = (_describe_match(one), f"no {kind} is known")
                alone.append(_answer(one, _TARGET, _ALONE, why))
        distinct = {(one.file, one.symbol, one.lines, one.type): one for one in reversed(others)}
        kept = sorted(
            distinct.values(), key=lambda one: (-one.score, one.file, _line(one.lines), one.symbol)
        )
        return [*targets, *kept, *alone]

    def _relations(
        self, direction: str, one: LocatedSymbol, scope: CodeScope | None
    ) -> tuple[str, str, tuple[Relation, ...]]:
        if direction == Direction.SUBTYPES and one.symbol.kind in CALLABLE_KINDS:
            return "override", "overridden_by", ()
        is_file = one.symbol.kind is SymbolKind.FILE
        if is_file:
            is_out = direction in _OUTGOING
            direction = Direction.DEPENDENCIES if is_out else Direction.IMPORTERS
        if direction in _OUTGOING:
            kinds, kind, rel = _OUTGOING[direction]
            return kind, rel, self.graph.outgoing(one, kinds)
        kinds, kind, rel = _INCOMING.get(direction, _INCOMING[Direction.REFERENCES])
        return kind, rel, self.graph.incoming(one, kinds, scope)

    def leads(self, direction: str, name: str, scope: CodeScope | None) -> bool:
        """Return whether anything is related in a *direction* to the symbol *name*."""
        definitions = self.find_definitions([name], scope)
        return any(self._relations(direction, one, scope)[2] for one in definitions)

    def _further(
        self,
        direction: str,
        one: LocatedSymbol,
        relations: Iterable[Relation],
        scope: CodeScope | None,
    ) -> list[tuple[LocatedSymbol, str]]:
        """Return the indirect heirs or ancestors of a type, and the overrides of a method."""
        name = one.symbol.plain_name
        if direction == Direction.SUBTYPES and one.symbol.kind in CALLABLE_KINDS:
            found, why = self.graph.overrides(one), f"overrides {name}"
        elif direction == Direction.SUBTYPES:
            found, why = self.graph.heirs(one), f"indirect subtype of {name}"
        elif direction == Direction.SUPERTYPES:
            found, why = self.graph.ancestors(one), f"indirect supertype of {name}"
        else:
            return []
        near = {relation.name for relation in relations}
        return [
            (other, why)
            for other in found
            if other.id not in near and (scope is None or scope.has(other.file))
        ]

    def importers(self, module: str, scope: CodeScope | None) -> list[Answer]:
        why = (f"imports {module!r}",)
        return [
            _answer_file(one, "importer", 1.0, why, one.file.path)
            for one in self.graph.importers(module, scope)
        ]

    def similar(
        self, definitions: Sequence[LocatedSymbol], scope: CodeScope | None
    ) -> list[Answer]:
        """Return the symbols of the same kind with similar names and documentation."""
        own = {one.id for one in definitions}
        found: dict[str, Answer] = {}
        for one in definitions:
            symbol = one.symbol
            text = f"{symbol.short_name} {symbol.documentation}"
            kinds = frozenset({symbol.kind})
            for match in self.search.search(text, scope, kinds, _MOST_SIMILAR + len(own)):
                if match.definition.id not in own:
                    why = (f"shares {', '.join(match.words)}",)
                    answer = _answer(match.definition, "similar", match.score, why)
                    found.setdefault(match.definition.id, answer)
        return list(found.values())[:_MOST_SIMILAR]


def code_direction(
    tokens: Sequence[Token], mentions: Sequence[Mention], *, has_several: bool
) -> str:
    """Return the direction of a question about symbols, one of `Direction`."""
    symbols = [one for one in mentions if one.kind == MentionKind.SYMBOL]
    name = symbols[0].start
    held = {place for one in symbols for place in range(one.start, one.end)}
    free = [(place, token) for place, token in enumerate(tokens) if place not in held]
    # The directions that words such as `superclasses` are the nouns of.
    meant = {place: _NOUNS.get(stem(token.folded), "") for place, token in free}
    nouns = [noun for noun in meant.values() if noun]
    verbs = {
        kind: place
        for place, token in reversed(free)
        for kind in (token.cues if not meant[place] else ())
    }
    if has_several:
        is_of_types = "inherit" in verbs or Direction.SUBTYPES in nouns
        return Direction.SUPERTYPES if is_of_types else Direction.PATH
    # "Base" adds nothing in "what extends the base class X".
    if nouns and "inherit" not in verbs:
        return nouns[0]
    for kind, (active, passive) in _VERBS.items():
        if kind in verbs:
            return active if does(tokens, verbs[kind], name) else passive
    return Direction.REFERENCES


_NOUNS = {
    stem(word): direction
    for direction, words in (
        (Direction.SUPERTYPES, "base superclass supertype parent ancestor baseclass"),
        (Direction.SUBTYPES, "subclass subtype child children descendant heir implementation"),
        (Direction.SUBTYPES, "subclases unterklassen"),
        (Direction.CALLERS, "caller invoker aufrufer"),
        (Direction.CALLEES, "callee"),
    )
    for word in words.split()
}
_VERBS = {
    "inherit": (Direction.SUPERTYPES, Direction.SUBTYPES),
    "import": (Direction.IMPORTERS, Direction.IMPORTERS),
    "call": (Direction.CALLEES, Direction.CALLERS),
    "depend": (Direction.DEPENDENCIES, Direction.REFERENCES),
    "take": (Direction.DEPENDENCIES, Direction.REFERENCES),
}
"""The direction of a verb: if the named symbol does it, and if it is done to the symbol."""


def _answer(one: LocatedSymbol, kind: str, score: float, why: tuple[str, ...]) -> Answer:
    symbol = one.symbol
    return Answer(
        one.file.path,
        f"{symbol.first_line}-{symbol.last_line}",
        min(1.0, score),
        kind,
        symbol.plain_name,
        symbol.kind.value,
        symbol.signature,
        symbol.documentation,
        (),
        (*why, *_tell_age(one.file)),
        repo=one.file.repository,
        branch=one.file.branch,
    )


def _tell_age(file: CodeFile) -> tuple[str, ...]:
    return ("the file is newer than the index of the code",) if file.is_newer else ()


def _describe_words(words: Sequence[str]) -> str:
    return f"contains {', '.join(words)}" if words else "is near in meaning"


def _describe_match(one: LocatedSymbol) -> str:
    return f"is called {one.symbol.plain_name!r}"


def _other(relation: Relation, kind: str, one: LocatedSymbol) -> Answer:
    score = _OF_GUESS if relation.is_guess else _OF_RELATED
    lines = f", line {_lines(relation.lines)}" if relation.lines else ""
    is_indexed = relation.file.indexer and one.file.indexer
    reason = "the index of the code does not record it" if is_indexed else "only the name agrees"
    guess = (f"a guess: {reason}",) if relation.is_guess else ()
    why = (f"{kind} of {one.symbol.plain_name}{lines}", *guess)
    if relation.symbol is not None:
        return _answer(LocatedSymbol(relation.file, relation.symbol), kind, score, why)
    name = relation.name
    return _answer_file(relation, kind, score, why, name)


def _answer_file(
    relation: Relation, kind: str, score: float, why: tuple[str, ...], name: str
) -> Answer:
    """Return a file, or something outside the code, as an answer."""
    file = relation.file
    return Answer(
        *(file.path, _lines(relation.lines), score, kind, name, SymbolKind.FILE.value),
        why=(*why, *_tell_age(file)),
        repo=file.repository,
        branch=file.branch,
    )


def _item(relation: Relation, rel: str) -> RelatedItem:
    symbol = relation.symbol
    name = symbol.plain_name if symbol else relation.name
    kind = (symbol.kind if symbol else SymbolKind.FILE).value
    line = relation.lines[0] if relation.lines else None
    return RelatedItem(name, kind, rel, relation.file.path, line)


def _lines(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:3]))


def _line(lines: str) -> int:
    first = lines.replace(",", "-").partition("-")[0]
    return int(first) if first.isdigit() else 0
