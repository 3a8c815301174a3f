"""The graph of source code: symbols, the edges between them, and their targets."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby

from mcpg.ask.model import CodeScope
from mcpg.code.model import (
    CALLABLE_KINDS,
    SEPARATOR,
    TYPE_KINDS,
    CodeEdge,
    CodeEdgeKind,
    CodeFile,
    Symbol,
    SymbolKind,
)
from mcpg.text import join_words, split_words
from mcpg.text.spelling import allowed_edits, edit_distance, signature

DEEPEST = 12
"""How many levels of inheritance are followed."""

_MOST_TOP = 12

TEST_WORDS = frozenset(("test", "tests", "spec", "specs"))
"""Words of the names of files and folders of tests."""


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
        """The prefix of the qualified names of its members, "" for members of a file."""
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
        file: The file at the far end; if that is outside the code, the file of the edge.
        symbol: The symbol at the far end; `None` for a file, or for names outside the code.
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

        The *name* is `path::Class.method`, `Class.method` or `method`; `::` may replace the dot.
        With `#2`, it is the second of several definitions of the name.
        """
        path, _, qualified = name.strip().removesuffix("()").rpartition(SEPARATOR)
        is_path = "/" in path or "." in path
        wanted = qualified if is_path or not path else f"{path}.{qualified}".replace("::", ".")
        plain, _, number = wanted.rpartition("#")
        repeated, wanted = (wanted, plain) if plain and number.isdigit() else ("", wanted)
        found = [
            one
            for one in self._by_name.get(wanted.rpartition(".")[2].casefold(), ())
            if _ends(one.symbol.plain_name, wanted)
            and one.symbol.kind in kinds
            and (not repeated or _ends(one.symbol.name, repeated))
            and (not is_path or one.file.path == path)
            and (scope is None or scope.has(one.file))
        ]
        exact = [one for one in found if _ends(one.symbol.plain_name, wanted, in_case=True)]
        return tuple(exact or found)

    def find_handler(self, name: str, description: str) -> LocatedSymbol | None:
        """Return the function or method that implements a tool, if names leave no doubt.

        It is the only one with the name, tests aside, and the name has several words or the
        function has the description of the tool.
        """
        found = [
            one
            for one in self.names.get(join_words(name), ())
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
            found.setdefault(join_words(one.symbol.short_name), []).append(one)
        return found

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
        """Return the callers, references, importers, heirs and parent of a symbol or file.

        Importers of a symbol import its file. The certain ones come first, then those of earlier
        files and lines.
        """
        tree = self._tree(end)
        found = [
            tree.relation(edge, _end(file, edge.source), file)
            for file, edge in tree.edges_to(_id(end))
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
    ) -> tuple[Relation, ...]:
        """Return the targets that a symbol or file calls, references, imports, inherits or defines.

        A type has the calls and references of its members, outside itself.
        """
        tree = self._tree(end)
        edges = list(tree.outgoing.get(_id(end), ()))
        edges += tree.member_edges(end) if isinstance(end, LocatedSymbol) else []
        # Several members that call the same are one relation.
        by_target = {(edge.kind, edge.target): (file, edge) for file, edge in reversed(edges)}
        found = [
            tree.relation(
                edge, edge.target, tree.files.get(edge.target.partition(SEPARATOR)[0], file)
            )
            for file, edge in by_target.values()
            if edge.kind in kinds
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
        """Return the methods of heirs with the name of *method*, a method of their base type."""
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
        self, starts: Collection[LocatedSymbol], ends: Collection[LocatedSymbol], most: int = 6
    ) -> tuple[LocatedSymbol, ...]:
        """Return a shortest chain of at most so many calls from one of *starts* to one of *ends*.

        Each symbol is visited once, so circles of calls end. All are searched at once, in time that
        grows with the calls and not with the pairs.
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

    def edges_to(self, end: str) -> list[tuple[CodeFile, CodeEdge]]:
        """Return the edges to a symbol or file; one of each file that imports from that file."""
        edges = self.incoming.get(end, [])
        file = self.files.get(end)
        if file is None:
            return edges
        named = [self.incoming.get(file.symbol_id(one), []) for one in file.symbols]
        imports: defaultdict[str, set[int]] = defaultdict(set)
        for other, edge in chain(edges, *named):
            if edge.kind is CodeEdgeKind.IMPORTS and not edge.is_external and other is not file:
                imports[other.path].update(edge.lines)
        return [pair for pair in edges if pair[1].kind is not CodeEdgeKind.IMPORTS] + [
            (self.files[path], CodeEdge(CodeEdgeKind.IMPORTS, "", end, tuple(sorted(lines))))
            for path, lines in imports.items()
        ]

    def member_edges(self, definition: LocatedSymbol) -> list[tuple[CodeFile, CodeEdge]]:
        """Return the calls and references of the members of a type or file that leave it."""
        is_file = definition.symbol.kind is SymbolKind.FILE
        if definition.symbol.kind not in TYPE_KINDS and not is_file:
            return []
        file, own = definition.file, definition.id
        inner = f"{own}{SEPARATOR if is_file else '.'}"
        start = "" if is_file else f"{definition.symbol.name}."
        return [
            (file, edge)
            for edge in file.edges
            if edge.source
            and edge.source.startswith(start)
            and edge.kind in {CodeEdgeKind.CALLS, CodeEdgeKind.REFERENCES}
            and edge.target != own
            and not edge.target.startswith(inner)
        ]

    def chain(
        self, before: dict[str, None], ends: frozenset[str], most: int
    ) -> tuple[LocatedSymbol, ...]:
        """Return a shortest chain of calls between ids, from a symbol reached first."""
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
    """Return whether the names of a file and its folders are typical of tests."""
    return not TEST_WORDS.isdisjoint(split_words(path))


def _home(file: CodeFile) -> tuple[str, str]:
    return file.repository, file.branch


def _id(end: LocatedSymbol | CodeFile) -> str:
    return end.path if isinstance(end, CodeFile) else end.id


def _end(file: CodeFile, source: str) -> str:
    return f"{file.path}{SEPARATOR}{source}" if source else file.path


def _ends(name: str, wanted: str, *, in_case: bool = False) -> bool:
    """Return whether the qualified *name* is *wanted*, or ends in it at a dot."""
    name, wanted = (name, wanted) if in_case else (name.casefold(), wanted.casefold())
    return name == wanted or name.endswith(f".{wanted}")


def _order(relation: Relation) -> tuple[bool, str, tuple[int, ...], str]:
    return relation.is_guess, relation.file.path, relation.lines, relation.name


def find_close(word: str, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the *names* within few edits of *word*, each with the number of edits."""
    letters, most = signature(word), allowed_edits(word)
    for name in names:
        if (letters ^ signature(name)).bit_count() <= 2 * most:
            distance = edit_distance(word, name, most)
            if distance is not None:
                yield distance, name
