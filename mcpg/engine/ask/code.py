"""Answers that are symbols of source code: definitions, callers, subclasses, importers, chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mcpg.code.graph import CodeGraph, CodeScope, Definition
from mcpg.code.model import CodeEdgeKind
from mcpg.code.page import ENTRY_TYPE, read_body
from mcpg.engine.ask.model import Answer, Direction, MentionKind, RelatedItem
from mcpg.engine.code_search import CodeSearch
from mcpg.values import replace

if TYPE_CHECKING:
    from mcpg.code.graph import Relation
    from mcpg.engine.ask.model import Mention
    from mcpg.engine.ask.tokens import Token
    from mcpg.index import Index

_MOST_RELATED = 20
_MOST_NAMED = 20
_OF_RELATED = 0.9
_MOST_SIMILAR = 10

_INCOMING: dict[str, tuple[tuple[CodeEdgeKind, ...], str, str]] = {
    Direction.CALLERS: ((CodeEdgeKind.CALLS,), "caller", "called_by"),
    Direction.REFERENCES: (
        (CodeEdgeKind.CALLS, CodeEdgeKind.REFERENCES, CodeEdgeKind.IMPORTS),
        "user",
        "used_by",
    ),
    Direction.SUBTYPES: ((CodeEdgeKind.INHERITS,), "subtype", "inherited_by"),
    Direction.IMPORTERS: ((CodeEdgeKind.IMPORTS,), "importer", "imported_by"),
}
_OUTGOING: dict[str, tuple[tuple[CodeEdgeKind, ...], str, str]] = {
    Direction.CALLEES: ((CodeEdgeKind.CALLS,), "callee", "calls"),
    Direction.SUPERTYPES: ((CodeEdgeKind.INHERITS,), "supertype", "inherits"),
}


class CodeAnswers:
    """Makes answers of the source code of an index; nothing is read before it is asked for."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @cached_property
    def search(self) -> CodeSearch:
        """The search over the symbols of all pages of source files."""
        pages = (one for one in self._index.pages() if one.further.get("entry_type") == ENTRY_TYPE)
        files = (read_body(page.further.get("code"), page.body) for page in pages)
        return CodeSearch(CodeGraph(file for file in files if file is not None))

    @property
    def graph(self) -> CodeGraph:
        return self.search.graph

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is no source code."""
        return not self.graph.files

    def has(self, name: str) -> bool:
        """Return whether a symbol is called *name*, in any case."""
        return not self.is_empty and bool(self.graph.find(name))

    def near(self, name: str) -> str:
        """Return the name of a symbol that *name* misspells, "" where none is near."""
        close = () if self.is_empty else self.graph.close_names(name, 1)
        return close[0] if close else ""

    def defined(self, names: Iterable[str], scope: CodeScope | None) -> list[Definition]:
        """Return the definitions of *names*, those of one name in order of their files."""
        found: dict[tuple[str, str, str], Definition] = {}
        for name in names:
            for one in self.graph.find(name, scope)[:_MOST_NAMED]:
                found[one.file.repository, one.file.branch, one.id] = one
        return list(found.values())

    def located(self, definitions: Iterable[Definition], kind: str = "symbol") -> list[Answer]:
        """Return where symbols are defined."""
        return [_answer(one, kind, 1.0, ("has this name",)) for one in definitions]

    def related(
        self, direction: str, definitions: Sequence[Definition], scope: CodeScope | None
    ) -> list[Answer]:
        """Return each of *definitions* with what is related to it, then what is related to any."""
        if direction == Direction.PATH:
            return self._chain(definitions)
        targets, others = [], []
        for one in definitions:
            relations, kind, rel = self._relations(direction, one, scope)
            items = tuple(_item(relation, rel) for relation in relations)[:_MOST_RELATED]
            target = _answer(one, "symbol_with_relations", 1.0, ("has this name",))
            targets.append(replace(target, related=items))
            others += [_other(relation, kind, rel, one) for relation in relations]
        distinct = {(one.file, one.symbol, one.lines, one.type): one for one in reversed(others)}
        kept = sorted(
            distinct.values(), key=lambda one: (-one.score, one.file, _line(one.lines), one.symbol)
        )
        return [*targets, *kept]

    def _relations(
        self, direction: str, one: Definition, scope: CodeScope | None
    ) -> tuple[tuple[Relation, ...], str, str]:
        if direction in _OUTGOING:
            kinds, kind, rel = _OUTGOING[direction]
            return self.graph.outgoing(one, kinds), kind, rel
        kinds, kind, rel = _INCOMING.get(direction, _INCOMING[Direction.REFERENCES])
        return self.graph.incoming(one, kinds, scope), kind, rel

    def _chain(self, definitions: Sequence[Definition]) -> list[Answer]:
        """Return the shortest chain of calls between definitions of the first and the last name."""
        first, last = definitions[0].symbol.short_name, definitions[-1].symbol.short_name
        starts = [one for one in definitions if one.symbol.short_name == first]
        ends = [one for one in definitions if one.symbol.short_name == last]
        chains = [
            self.graph.call_chain(start, end) for start in starts for end in ends if start != end
        ]
        shortest = min((chain for chain in chains if chain), key=len, default=())
        return [_answer(one, "step", 1.0, ()) for one in shortest]

    def importers(self, module: str, scope: CodeScope | None) -> list[Answer]:
        """Return the files that import the library *module*."""
        return [
            Answer(
                one.file.path,
                _lines(one.lines),
                one.weight,
                "importer",
                one.file.path,
                "file",
                why=(f"imports {module!r}",),
            )
            for one in self.graph.importers(module, scope)
        ]

    def found(self, text: str, scope: CodeScope | None, limit: int) -> list[Answer]:
        """Return the symbols that a *text* finds."""
        if self.is_empty:
            return []
        return [
            _answer(one.definition, "symbol", one.score, (f"holds {', '.join(one.words)}",))
            for one in self.search.search(text, scope, limit=limit)
        ]

    def similar(self, definitions: Sequence[Definition], scope: CodeScope | None) -> list[Answer]:
        """Return the symbols of the same kind whose names and documentation are alike."""
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


def code_direction(tokens: Sequence[Token], mentions: Sequence[Mention]) -> str:
    """Return what a question about symbols asks for, one of `Direction`."""
    symbols = [one for one in mentions if one.kind == MentionKind.SYMBOL]
    if len({one.name for one in symbols}) > 1:
        return Direction.PATH
    place = symbols[0].start
    sides: dict[str, bool] = {}
    for at, token in enumerate(tokens):
        for kind in token.cues if at != place else ():
            sides.setdefault(kind, at > place)
    is_base = any(
        token.folded.startswith(("super", "base", "parent", "ancestor")) for token in tokens
    )
    if "inherit" in sides or is_base:
        return Direction.SUPERTYPES if sides.get("inherit") or is_base else Direction.SUBTYPES
    if "import" in sides:
        return Direction.IMPORTERS
    if "call" in sides:
        return Direction.CALLEES if sides["call"] else Direction.CALLERS
    is_after = sides.get("depend", sides.get("take", False))
    return Direction.CALLEES if is_after else Direction.REFERENCES


def _answer(one: Definition, kind: str, score: float, why: tuple[str, ...]) -> Answer:
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
        why,
    )


def _other(relation: Relation, kind: str, rel: str, one: Definition) -> Answer:
    score = _OF_RELATED * relation.weight
    why = (f"{rel.removesuffix('_by')} {one.symbol.plain_name}",)
    if rel.endswith("_by"):
        why = (f"{kind} of {one.symbol.plain_name}, line {_lines(relation.lines)}",)
    if relation.symbol is not None:
        return _answer(Definition(relation.file, relation.symbol), kind, score, why)
    return Answer(
        relation.file.path, _lines(relation.lines), score, kind, relation.name, "file", why=why
    )


def _item(relation: Relation, rel: str) -> RelatedItem:
    symbol = relation.symbol
    name = symbol.plain_name if symbol else relation.name
    kind = symbol.kind.value if symbol else "file"
    line = relation.lines[0] if relation.lines else None
    return RelatedItem(name, kind, rel, relation.file.path, line)


def _lines(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:3]))


def _line(lines: str) -> int:
    first = lines.replace(",", "-").partition("-")[0]
    return int(first) if first.isdigit() else 0
