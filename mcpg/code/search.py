"""Search of source code: the symbols of a code graph that a name or a text means.

Symbols are looked for with the parts that rank tools, BM25F over weighted fields, but without an
index: a scan of folded texts, which runs in C, finds the few symbols that hold a word, and only
these are cut into words. A code graph of 12,000 symbols is searched in milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import groupby
from math import fsum, log1p
from typing import NamedTuple

from mcpg.ask.model import CodeScope
from mcpg.code.model import (
    CALLABLE_KINDS,
    ENTRY_TYPE,
    SEPARATOR,
    CodeEdge,
    CodeEdgeKind,
    CodeFile,
    Symbol,
    SymbolKind,
    read_body,
)
from mcpg.documents.model import ToolDocument
from mcpg.index.recipe import (
    FieldParameters,
    inverse_document_frequency,
    occurrence_weight,
    saturate,
)
from mcpg.plugins.hooks import Item
from mcpg.text import fold, joined, split_words, stem, stop_words_in, strip_accents
from mcpg.text.spelling import allowed_edits, edit_distance, signature

DEEPEST = 12
"""How many levels of inheritance are followed."""

_MOST_TOP = 12


@dataclass(frozen=True, slots=True)
class LocatedSymbol:
    """A symbol with its file; a file itself is a symbol of its own kind."""

    file: CodeFile
    symbol: Symbol

    @property
    def id(self) -> str:
        is_file = self.symbol.kind is SymbolKind.FILE
        return self.file.path if is_file else self.file.symbol_id(self.symbol)

    @property
    def parent_name(self) -> str:
        """The qualified name that its members begin with, "" for those of a file."""
        return "" if self.symbol.kind is SymbolKind.FILE else self.symbol.name

    @property
    def place(self) -> str:
        """Its file and lines, such as `shop/store.py:2-3`."""
        return f"{self.file.path}:{self.symbol.first_line}-{self.symbol.last_line}"


def locate_file(file: CodeFile) -> LocatedSymbol:
    """Return *file* as a symbol, which its outermost definitions document."""
    names = [one.name for one in file.symbols if not one.parent][:_MOST_TOP]
    what = ", ".join((f"{file.language}, {file.lines} lines", *names))
    return LocatedSymbol(file, Symbol(file.path, SymbolKind.FILE, 1, file.lines, "", what))


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge as seen from one of its ends.

    Attributes:
        file: The file of the other end, that of the edge where the other end is outside the code.
        symbol: The symbol at the other end; `None` for a file, or for something outside the code.
        lines: Lines of the edge, in the file that it leaves.
        is_guess: Whether only a name supports the edge.
    """

    kind: CodeEdgeKind
    file: CodeFile
    symbol: Symbol | None
    name: str
    lines: tuple[int, ...]
    is_guess: bool = False


class CodeGraph:
    """The symbols and edges of all source files of a bundle.

    Files of different repositories or branches are not linked, so that a name in one branch never
    leads into another.

    Attributes:
        definitions: Their symbols, in order of the files and lines.
    """

    def __init__(self, files: Iterable[CodeFile]) -> None:
        self.files = tuple(sorted(files, key=lambda file: (*_home(file), file.path)))
        self._trees = {
            home: _BranchFiles(tuple(group)) for home, group in groupby(self.files, key=_home)
        }
        self.definitions = tuple(
            one for tree in self._trees.values() for one in tree.definitions.values()
        )
        self._by_name: defaultdict[str, list[LocatedSymbol]] = defaultdict(list)
        for one in self.definitions:
            self._by_name[one.symbol.short_name.casefold()].append(one)

    def find(
        self,
        name: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = frozenset(SymbolKind),
    ) -> tuple[LocatedSymbol, ...]:
        """Find definitions by id, qualified name or short name; exact case first.

        Args:
            name: `path::Class.method`, `Class.method` or `method`; `::` may stand for the dot.
            scope: Where to search, everywhere by default.
            kinds: Which symbols are meant.
        """
        path, _, qualified = name.strip().removesuffix("()").rpartition(SEPARATOR)
        is_path = "/" in path or "." in path
        wanted = qualified if is_path or not path else f"{path}.{qualified}".replace("::", ".")
        found = [
            one
            for one in self._by_name.get(wanted.rpartition(".")[2].casefold(), ())
            if _ends(one.symbol.plain_name, wanted)
            and one.symbol.kind in kinds
            and (not is_path or one.file.path == path)
            and (scope is None or scope.has(one.file))
        ]
        exact = [one for one in found if _ends(one.symbol.plain_name, wanted, in_case=True)]
        return tuple(exact or found)

    def find_handler(self, name: str, description: str) -> LocatedSymbol | None:
        """Return the function or method that implements a tool, where names leave no doubt.

        It is the only one with the name, tests aside, and the name has several words or the
        function has the description of the tool.
        """
        found = [
            one
            for one in self.names.get(joined(name), ())
            if one.symbol.kind in CALLABLE_KINDS and not is_test(one.file.path)
        ]
        if len(found) != 1:
            return None
        documentation = found[0].symbol.documentation
        is_described = bool(documentation) and " ".join(description.split()).startswith(
            documentation
        )
        return found[0] if is_described or len(split_words(name)) > 1 else None

    @cached_property
    def names(self) -> dict[str, list[LocatedSymbol]]:
        """The symbols by their short names without signs and case."""
        found: dict[str, list[LocatedSymbol]] = {}
        for one in self.definitions:
            found.setdefault(joined(one.symbol.short_name), []).append(one)
        return found

    def close_names(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """Return the short names that few edits make of *name*, the closest first."""
        near = sorted(_find_close(name.rpartition(".")[2].casefold(), self._by_name))
        return tuple(self._by_name[key][0].symbol.short_name for _, key in near[:limit])

    def find_files(self, path: str, scope: CodeScope | None = None) -> tuple[CodeFile, ...]:
        """Find files by their path, or by the last parts of it."""
        return tuple(
            file
            for file in self.files
            if (file.path == path or file.path.endswith(f"/{path}"))
            and (scope is None or scope.has(file))
        )

    def at(self, file: CodeFile, line: int) -> LocatedSymbol | None:
        """Return the innermost definition around a *line* of *file*, `None` for none."""
        around = [one for one in file.symbols if one.first_line <= line <= one.last_line]
        inner = min(around, key=lambda one: one.last_line - one.first_line, default=None)
        return LocatedSymbol(file, inner) if inner else None

    def incoming(
        self,
        end: LocatedSymbol | CodeFile,
        kinds: Collection[CodeEdgeKind] = frozenset(CodeEdgeKind),
        scope: CodeScope | None = None,
    ) -> tuple[Relation, ...]:
        """Return what calls, references, imports, inherits or defines a symbol or file.

        The certain ones come first, then those of earlier files and lines.
        """
        tree = self._tree(end)
        found = [
            tree.relation(edge, _end(file, edge.source), file)
            for file, edge in tree.incoming.get(_id(end), ())
            if edge.kind in kinds and not edge.is_external
        ]
        if CodeEdgeKind.DEFINES in kinds and isinstance(end, LocatedSymbol):
            name, lines = _end(end.file, end.symbol.parent), (end.symbol.first_line,)
            parent = tree.definitions.get(name)
            around = parent.symbol if parent else None
            found.append(Relation(CodeEdgeKind.DEFINES, end.file, around, name, lines))
        return tuple(
            sorted((one for one in found if scope is None or scope.has(one.file)), key=_order)
        )

    def outgoing(
        self,
        end: LocatedSymbol | CodeFile,
        kinds: Collection[CodeEdgeKind] = frozenset(CodeEdgeKind),
        *,
        with_members: bool = False,
    ) -> tuple[Relation, ...]:
        """Return what a symbol or file calls, references, imports, inherits or defines.

        Args:
            end: The symbol or file.
            kinds: Which edges are followed.
            with_members: Whether those of what is defined in it are followed as well, out of it.
        """
        tree = self._tree(end)
        within = dict.fromkeys((_id(end), *(_list_members(end) if with_members else ())))
        edges = {
            (edge.kind, edge.target): (file, edge)
            for one in within
            for file, edge in reversed(tree.outgoing.get(one, ()))
            if edge.kind in kinds and not (with_members and edge.target in within)
        }
        found = [
            tree.relation(
                edge, edge.target, tree.files.get(edge.target.partition(SEPARATOR)[0], file)
            )
            for file, edge in edges.values()
        ]
        if CodeEdgeKind.DEFINES in kinds:
            file, parent = (end, "") if isinstance(end, CodeFile) else (end.file, end.parent_name)
            found += [
                Relation(CodeEdgeKind.DEFINES, file, one, file.symbol_id(one), (one.first_line,))
                for one in file.symbols
                if one.parent == parent
            ]
        return tuple(sorted(found, key=_order))

    def degrees(self, definition: LocatedSymbol) -> tuple[int, int]:
        """Return how many symbols or files use a definition, and how many it uses."""
        tree, key = self._tree(definition), definition.id
        users = {_end(file, edge.source) for file, edge in tree.incoming.get(key, ())}
        used = {edge.target for _, edge in tree.outgoing.get(key, ())}
        return len(users - {key}), len(used - {key})

    def heirs(self, definition: LocatedSymbol, depth: int = DEEPEST) -> tuple[LocatedSymbol, ...]:
        """Return the types that extend or implement a type, directly or not, the nearest first."""
        return _collect_reachable(definition, depth, self.incoming)

    def ancestors(
        self, definition: LocatedSymbol, depth: int = DEEPEST
    ) -> tuple[LocatedSymbol, ...]:
        """Return the types that a type extends or implements, directly or not, nearest first."""
        return _collect_reachable(definition, depth, self.outgoing)

    def overrides(self, method: LocatedSymbol) -> tuple[LocatedSymbol, ...]:
        """Return the methods of heirs that have the name of *method*, those of its type."""
        tree, symbol = self._tree(method), method.symbol
        parent = tree.definitions.get(_end(method.file, symbol.parent))
        members = (
            tree.definitions.get(f"{heir.id}.{symbol.short_name}")
            for heir in (self.heirs(parent) if parent else ())
        )
        return tuple(one for one in members if one is not None)

    def importers(self, module: str, scope: CodeScope | None = None) -> tuple[Relation, ...]:
        """Return the files that import something outside the code, such as a library."""
        found = (
            tree.relation(edge, file.path, file)
            for tree in self._trees.values()
            for target, edges in tree.incoming.items()
            if target == module or target.startswith((f"{module}.", f"{module}/"))
            for file, edge in edges
            if edge.is_external and (scope is None or scope.has(file))
        )
        # `import a.b` imports both `a` and `a.b`.
        by_file = {(*_home(one.file), one.file.path): one for one in sorted(found, key=_order)}
        return tuple(by_file.values())

    def call_chain(
        self, start: LocatedSymbol, end: LocatedSymbol, most: int = 6
    ) -> tuple[LocatedSymbol, ...]:
        """Return a shortest chain of calls from *start* to *end*, empty if none has *most* calls.

        Each symbol is visited once, so circles of calls end.
        """
        return self.nearest_chain((start,), (end,), most)

    def nearest_chain(
        self, starts: Collection[LocatedSymbol], ends: Collection[LocatedSymbol], most: int = 6
    ) -> tuple[LocatedSymbol, ...]:
        """Return a shortest chain of calls from one of *starts* to one of *ends*, as `call_chain`.

        All are looked for at once, in time that grows with the calls and not with the pairs.
        """
        chains = []
        for tree in self._trees.values():
            first = dict.fromkeys(one.id for one in starts if self._tree(one) is tree)
            last = frozenset(one.id for one in ends if self._tree(one) is tree)
            chains.append(tree.chain(first, last, most) if first and last else ())
        return min(filter(None, chains), key=len, default=())

    def _tree(self, end: LocatedSymbol | CodeFile) -> _BranchFiles:
        return self._trees[_home(end if isinstance(end, CodeFile) else end.file)]


def _collect_reachable(
    start: LocatedSymbol,
    depth: int,
    relations: Callable[[LocatedSymbol, Collection[CodeEdgeKind]], Iterable[Relation]],
) -> tuple[LocatedSymbol, ...]:
    """Return the types that *relations* of inheritance lead to, the nearest first."""
    found = {start.id: start}
    last = [start]
    for _ in range(depth):
        reached = (
            LocatedSymbol(relation.file, relation.symbol)
            for here in last
            for relation in relations(here, (CodeEdgeKind.INHERITS,))
            if relation.symbol is not None
        )
        near = {one.id: one for one in reached if one.id not in found}
        found |= near
        last = list(near.values())
    return tuple(found.values())[1:]


class _BranchFiles:
    """The files of one branch of one repository."""

    def __init__(self, files: tuple[CodeFile, ...]) -> None:
        self.files = {file.path: file for file in files}
        found = (LocatedSymbol(file, symbol) for file in files for symbol in file.symbols)
        self.definitions = {one.id: one for one in found}

    @cached_property
    def incoming(self) -> dict[str, list[tuple[CodeFile, CodeEdge]]]:
        found: dict[str, list[tuple[CodeFile, CodeEdge]]] = {}
        for file in self.files.values():
            for edge in file.edges:
                found.setdefault(edge.target, []).append((file, edge))
        return found

    @cached_property
    def outgoing(self) -> dict[str, list[tuple[CodeFile, CodeEdge]]]:
        found: dict[str, list[tuple[CodeFile, CodeEdge]]] = {}
        for file in self.files.values():
            for edge in file.edges:
                found.setdefault(_end(file, edge.source), []).append((file, edge))
        return found

    def chain(
        self, before: dict[str, None], ends: frozenset[str], most: int
    ) -> tuple[LocatedSymbol, ...]:
        """Return a shortest chain of calls between ids, that of a symbol reached first."""
        reached: dict[str, str | None] = {**before}
        queue = deque((one, 0) for one in reached)
        while queue:
            here, depth = queue.popleft()
            if here in ends:
                way: list[LocatedSymbol] = []
                step: str | None = here
                while step is not None:
                    if step in self.definitions:
                        way.append(self.definitions[step])
                    step = reached[step]
                return tuple(way[::-1])
            edges = self.outgoing.get(here, ()) if depth < most else ()
            called = (edge.target for _, edge in edges if edge.kind is CodeEdgeKind.CALLS)
            for after in sorted(set(called) - reached.keys()):
                reached[after] = here
                queue.append((after, depth + 1))
        return ()

    def relation(self, edge: CodeEdge, name: str, at: CodeFile) -> Relation:
        """Return an edge by its other end, the symbol or file called *name* in the file *at*."""
        definition = self.definitions.get(name)
        symbol = definition.symbol if definition else None
        return Relation(edge.kind, at, symbol, name, edge.lines, edge.is_guess)


def is_test(path: str) -> bool:
    """Return whether the names of a file and its folders are those of tests."""
    return not _TESTS.isdisjoint(split_words(path))


def _home(file: CodeFile) -> tuple[str, str]:
    return file.repository, file.branch


def _id(end: LocatedSymbol | CodeFile) -> str:
    return end.path if isinstance(end, CodeFile) else end.id


def _end(file: CodeFile, source: str) -> str:
    return f"{file.path}{SEPARATOR}{source}" if source else file.path


def _list_members(end: LocatedSymbol | CodeFile) -> Iterator[str]:
    """Yield the ids of what is defined in a symbol or file, at any depth."""
    file, name = (end, "") if isinstance(end, CodeFile) else (end.file, end.parent_name)
    start = f"{name}." if name else ""
    return (file.symbol_id(one) for one in file.symbols if one.name.startswith(start))


def _ends(name: str, wanted: str, *, in_case: bool = False) -> bool:
    """Return whether the qualified *name* is *wanted*, or ends in it at a dot."""
    name, wanted = (name, wanted) if in_case else (name.casefold(), wanted.casefold())
    return name == wanted or name.endswith(f".{wanted}")


def _order(relation: Relation) -> tuple[bool, str, tuple[int, ...], str]:
    return relation.is_guess, relation.file.path, relation.lines, relation.name


DEFAULT_LIMIT = 50
EVERY_KIND = frozenset(SymbolKind)

_FIELDS = {
    "name": FieldParameters(3.0, 0.75),
    "parents": FieldParameters(1.0, 0.5),
    "path": FieldParameters(0.75, 0.5),
    "signature": FieldParameters(0.5, 0.5),
    "documentation": FieldParameters(1.0, 0.5),
}
# Identifiers abbreviate: "auth" stands for "authentication". Prose does not.
_IDENTIFIERS = frozenset({"name", "parents", "path"})
# Tests use the words of what they test.
_TESTS = frozenset(("test", "tests", "spec", "specs"))
_OF_TESTS = 0.8
_OF_USE, _MANY_USERS = 0.05, 20
_SHORTEST_PREFIX = 4
_PREFIX_CREDIT = 0.5
_EDIT_CREDIT = 0.8
_MOST_WORDS = 32
_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """A symbol that was found.

    Attributes:
        score: How well it fits, in [0, 1]; 1 for its own name.
        words: The words of the query that it holds, or the name that it was found by.
        shares: What each of the words adds to the score of words alone.
    """

    definition: LocatedSymbol
    score: float
    words: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()


def _make_item(one: LocatedSymbol, score: float | None = None, why: tuple[str, ...] = ()) -> Item:
    symbol = one.symbol
    about = symbol.documentation or symbol.signature
    return Item(one.id, symbol.kind.value, one.place, about, score, why)


def _list_shares(match: CodeMatch) -> tuple[str, ...]:
    """Return what each word of a query adds to the score of a match."""
    shares = zip(match.words, match.shares, strict=True)
    return tuple(f"{word} {share:.2f}" for word, share in shares)


class Blend(NamedTuple):
    """What words and nearness in meaning count in a search.

    Attributes:
        words: The weight of words.
        vectors: The weight of nearness.
        nearness: How near each definition of the graph is to the text, in [0, 1].
    """

    words: float
    vectors: float
    nearness: Sequence[float]

    def merge(self, score: float, number: int, use: float) -> float:
        """Return the score of a definition whose words alone have a *score*.

        *use*, how much it is used by others, in [0, 1], decides between those that are near.
        """
        whole = (self.words + self.vectors) * (1 + _OF_USE)
        near = self.words * score + self.vectors * self.nearness[number]
        return near / whole + use * _OF_USE / (1 + _OF_USE)


class CodeSearch:
    """Searches a code graph; what was read once is kept."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._counts: dict[str, Counter[str]] = {}

    @classmethod
    def of_pages(cls, pages: Iterable[ToolDocument]) -> CodeSearch:
        facts = ((page.further, page.body) for page in pages)
        files = (
            read_body(further.get("code"), body)
            for further, body in facts
            if further.get("entry_type") == ENTRY_TYPE
        )
        return cls(CodeGraph(file for file in files if file is not None))

    def list_items(self) -> Iterator[Item]:
        """Return all symbols, by file and line."""
        return (_make_item(one) for one in self.graph.definitions)

    def search_items(self, query: str, limit: int) -> Iterator[Item]:
        """Return the symbols that fit a query: those with the name, else by words."""
        found = self.graph.find(query)[:limit]
        if found:
            return (_make_item(one, 1.0, ("is its name",)) for one in found)
        matches = self.search(query, limit=limit)
        return (_make_item(one.definition, one.score, _list_shares(one)) for one in matches)

    def count_items(self) -> dict[str, dict[str, int]]:
        """Return how many symbols and edges there are of each kind."""
        symbols = Counter(one.symbol.kind.value for one in self.graph.definitions)
        edges = Counter(
            f"{edge.kind.value}{', guessed' if edge.is_guess else ''}"
            for file in self.graph.files
            for edge in file.edges
            if not edge.is_external
        )
        languages = Counter(file.language for file in self.graph.files)
        return {"symbols": symbols, "edges": edges, "files": languages}

    def find_named_symbols(
        self,
        name: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by their name: as it is, written otherwise, or misspelt."""
        found = self.graph.find(name, scope, kinds)
        if found:
            return tuple(CodeMatch(one, 1.0, (name,)) for one in found[:limit])
        wanted = joined(name.rpartition(".")[2])[:_LONGEST_TEXT]
        names = self.graph.names
        # Signs alone resemble nothing.
        near = sorted(_find_close(wanted, names)) if wanted else ()
        matches = (
            CodeMatch(one, 1 - edits / len(wanted), (one.symbol.short_name,))
            for edits, key in near
            for one in names[key]
            if one.symbol.kind in kinds and (scope is None or scope.has(one.file))
        )
        return tuple(match for _, match in zip(range(limit), matches, strict=False))

    def search(
        self,
        text: str,
        scope: CodeScope | None = None,
        kinds: Collection[SymbolKind] = EVERY_KIND,
        limit: int = DEFAULT_LIMIT,
        blend: Blend | None = None,
    ) -> tuple[CodeMatch, ...]:
        """Find symbols by words of their names, paths, signatures and documentation.

        Args:
            text: What is looked for.
            scope: Where to search, everywhere by default.
            kinds: Which symbols are meant.
            limit: Maximum number of matches.
            blend: How near the symbols are in meaning, which counts beside the words.
        """
        words = list(dict.fromkeys(split_words(text[:_LONGEST_TEXT])))[:_MOST_WORDS]
        stops = stop_words_in(words, "english")
        holders = {
            word: self._holders(word)
            for word in words
            if len(stops) == len(words) or word not in stops
        }
        definitions = self.graph.definitions
        size = len(definitions)
        rarities = {
            word: inverse_document_frequency(size, len(held)) for word, held in holders.items()
        }
        whole = fsum(rarities.values())
        if kinds == EVERY_KIND:  # a type stands for its constructors, which are called as it is
            kinds = EVERY_KIND - {SymbolKind.CONSTRUCTOR}
        of_tests = 1.0 if _TESTS.intersection(words) else _OF_TESTS
        matches: list[CodeMatch] = []
        for number in range(size) if blend else sorted(set[int]().union(*holders.values())):
            one = definitions[number]
            if one.symbol.kind in kinds and (scope is None or scope.has(one.file)):
                weights = {
                    word: rarities[word] * saturate(held[number])
                    for word, held in holders.items()
                    if number in held
                }
                score = fsum(weights.values()) / whole if weights else 0.0
                score = blend.merge(score, number, self._use[number]) if blend else score
                score *= of_tests if one.file.path in self._tests else 1.0
                shares = tuple(weight / whole for weight in weights.values())
                matches.append(CodeMatch(one, score, tuple(weights), shares))
        # Equal scores keep the order of the graph.
        return tuple(nsmallest(limit, matches, key=lambda match: -match.score))

    def _holders(self, word: str, near: Mapping[str, float] | None = None) -> dict[int, float]:
        """Return the symbols that hold *word*, each with the number of times weighted by field.

        Where none does, those that hold a word spelt alike, of stems with their credit in *near*.
        """
        stems = near or {stem(word): 1.0}
        found: dict[int, float] = {}
        # Only symbols whose texts hold the first letters of one of the words.
        words = {word, *stems}
        shortest = min(_SHORTEST_PREFIX, *map(len, words))
        parts = {one[:shortest] for one in words}
        candidates = [
            number for number, text in enumerate(self._texts) if any(part in text for part in parts)
        ]
        for name, parameters in _FIELDS.items():
            texts, length = self._fields[name], self._lengths[name]
            known: dict[str, float] = {}
            for number in candidates:
                text = texts[number]
                if text not in known:
                    counts = self._counts.get(text)
                    if counts is None:
                        counts = self._counts[text] = Counter(map(stem, split_words(text)))
                    known[text] = _credit(word, stems, counts, name in _IDENTIFIERS)
                if known[text]:
                    weight = occurrence_weight(len(text), length, parameters)
                    found[number] = found.get(number, 0.0) + weight * known[text]
        if found or near is not None:
            return found
        near = {stem(other): _EDIT_CREDIT for _, other in _find_close(word, self._vocabulary)}
        return self._holders(word, near) if near else found

    @cached_property
    def _use(self) -> list[float]:
        """How much each definition is used: the logarithm of its users, against that of many."""
        users = (self.graph.degrees(one)[0] for one in self.graph.definitions)
        return [min(1.0, log1p(count) / log1p(_MANY_USERS)) for count in users]

    @cached_property
    def _tests(self) -> frozenset[str]:
        """The paths of tests, by the names of their files and folders."""
        return frozenset(file.path for file in self.graph.files if is_test(file.path))

    @cached_property
    def _fields(self) -> dict[str, list[str]]:
        definitions = self.graph.definitions
        return {
            "name": [one.symbol.short_name for one in definitions],
            "parents": [one.symbol.parent for one in definitions],
            "path": [one.file.path.rpartition(".")[0] for one in definitions],
            "signature": [one.symbol.signature for one in definitions],
            "documentation": [one.symbol.documentation for one in definitions],
        }

    @cached_property
    def _lengths(self) -> dict[str, float]:
        """The mean length of each field, in characters."""
        size = max(1, len(self.graph.definitions))
        return {name: max(1.0, sum(map(len, one)) / size) for name, one in self._fields.items()}

    @cached_property
    def _texts(self) -> list[str]:
        joint = map(" ".join, zip(*self._fields.values(), strict=True))
        return [text.lower() if text.isascii() else fold(strip_accents(text)) for text in joint]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        names = {one.symbol.short_name for one in self.graph.definitions}
        return frozenset(word for name in names for word in split_words(name))


def _find_close(word: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield those of *names* that few edits make of *word*, each with the number of edits."""
    letters, most = signature(word), allowed_edits(word)
    for name in names:
        if (letters ^ signature(name)).bit_count() <= 2 * most:
            distance = edit_distance(word, name, most)
            if distance is not None:
                yield distance, name


def _credit(
    word: str, stems: Mapping[str, float], counts: Counter[str], is_identifier: bool
) -> float:
    """Return how often a word, or what stands for it, is among counted stems."""
    total = fsum(credit * counts[one] for one, credit in stems.items())
    if total or not is_identifier:
        return total
    begins = (one for one in counts if len(one) >= _SHORTEST_PREFIX and word.startswith(one))
    return _PREFIX_CREDIT * sum(counts[one] for one in begins)
