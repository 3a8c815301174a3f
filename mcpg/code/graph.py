"""The code graph of a bundle: symbols by name, and edges in both directions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from mcpg.ask.model import CodeScope
from mcpg.catalog.model import SourceDocument
from mcpg.code.model import (
    SEPARATOR,
    CodeEdge,
    CodeEdgeKind,
    CodeFile,
    Symbol,
    SymbolKind,
    read_page,
)
from mcpg.text.spelling import allowed_edits, edit_distance, signature

DEEPEST = 12
"""How many levels of inheritance are followed."""


@dataclass(frozen=True, slots=True)
class LocatedSymbol:
    """A symbol with its file.

    Attributes:
        file: The file.
        symbol: The symbol.
    """

    file: CodeFile
    symbol: Symbol

    @property
    def id(self) -> str:
        """The id of the symbol, unique in its repository and branch."""
        return self.file.symbol_id(self.symbol)

    @property
    def place(self) -> str:
        """Its file and lines, such as `shop/store.py:2-3`."""
        return f"{self.file.path}:{self.symbol.first_line}-{self.symbol.last_line}"


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge as seen from one of its ends.

    Attributes:
        kind: What the edge states.
        file: The file of the other end, that of the edge where the other end is outside the code.
        symbol: The symbol at the other end; `None` for a file, or for something outside the code.
        name: Id of the other end, or its name outside the code.
        lines: Lines of the edge, in the file that it leaves.
        weight: Weight of the edge.
    """

    kind: CodeEdgeKind
    file: CodeFile
    symbol: Symbol | None
    name: str
    lines: tuple[int, ...]
    weight: float


class CodeGraph:
    """The symbols and edges of all source files of a bundle.

    Files of different repositories or branches are not linked, so that a name in one branch never
    leads into another.

    Attributes:
        files: The files, by repository, branch and path.
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

    @classmethod
    def of_documents(cls, documents: Iterable[SourceDocument]) -> CodeGraph:
        """Return the graph of the pages of source files among *documents*."""
        return cls(file for file in map(read_page, documents) if file is not None)

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

    def close_names(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """Return the short names that few edits make of *name*, the closest first."""
        wanted = name.rpartition(".")[2].casefold()
        letters, most = signature(wanted), allowed_edits(wanted)
        near = (
            (distance, key)
            for key in self._by_name
            if (letters ^ signature(key)).bit_count() <= 2 * most
            and (distance := edit_distance(wanted, key, most)) is not None
        )
        return tuple(self._by_name[key][0].symbol.short_name for _, key in sorted(near)[:limit])

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

        The strongest come first, then those of earlier files and lines.
        """
        tree = self._tree(end)
        found = [
            tree.relation(edge, _end(file, edge.source), file)
            for file, edge in tree.incoming.get(_id(end), ())
            if edge.kind in kinds and not edge.is_external
        ]
        if CodeEdgeKind.DEFINES in kinds and isinstance(end, LocatedSymbol):
            found.append(tree.defining(end))
        return tuple(
            sorted((one for one in found if scope is None or scope.has(one.file)), key=_order)
        )

    def outgoing(
        self,
        end: LocatedSymbol | CodeFile,
        kinds: Collection[CodeEdgeKind] = frozenset(CodeEdgeKind),
    ) -> tuple[Relation, ...]:
        """Return what a symbol or file calls, references, imports, inherits or defines."""
        tree = self._tree(end)
        found = [
            tree.relation(edge, edge.target, tree.find_file(file, edge.target))
            for file, edge in tree.outgoing.get(_id(end), ())
            if edge.kind in kinds
        ]
        if CodeEdgeKind.DEFINES in kinds:
            found += _contained_symbols(end)
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
        self._files = {file.path: file for file in files}
        found = (LocatedSymbol(file, symbol) for file in files for symbol in file.symbols)
        self.definitions = {one.id: one for one in found}

    @cached_property
    def incoming(self) -> dict[str, list[tuple[CodeFile, CodeEdge]]]:
        """The edges, without those of definition, by the id of their target."""
        found: dict[str, list[tuple[CodeFile, CodeEdge]]] = {}
        for file in self._files.values():
            for edge in file.edges:
                found.setdefault(edge.target, []).append((file, edge))
        return found

    @cached_property
    def outgoing(self) -> dict[str, list[tuple[CodeFile, CodeEdge]]]:
        """The same edges by the id of the symbol or file that they leave."""
        found: dict[str, list[tuple[CodeFile, CodeEdge]]] = {}
        for file in self._files.values():
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
        return Relation(edge.kind, at, symbol, name, edge.lines, edge.weight)

    def find_file(self, file: CodeFile, target: str) -> CodeFile:
        """Return the file of a *target*, *file* itself for one outside the code."""
        return self._files.get(target.partition(SEPARATOR)[0], file)

    def defining(self, definition: LocatedSymbol) -> Relation:
        """Return what defines a symbol: another one, or the file."""
        file, symbol = definition.file, definition.symbol
        name = _end(file, symbol.parent)
        parent = self.definitions.get(name)
        around = parent.symbol if parent else None
        return Relation(CodeEdgeKind.DEFINES, file, around, name, (symbol.first_line,), 1.0)


def _contained_symbols(end: LocatedSymbol | CodeFile) -> Iterator[Relation]:
    file = end if isinstance(end, CodeFile) else end.file
    parent = "" if isinstance(end, CodeFile) else end.symbol.name
    for symbol in file.symbols:
        if symbol.parent == parent:
            place = (symbol.first_line,)
            yield Relation(CodeEdgeKind.DEFINES, file, symbol, file.symbol_id(symbol), place, 1.0)


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


def _order(relation: Relation) -> tuple[float, str, tuple[int, ...], str]:
    return -relation.weight, relation.file.path, relation.lines, relation.name
