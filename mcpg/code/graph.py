"""The code graph of a bundle: symbols by name, and edges in both directions."""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mcpg.catalog.model import SourceDocument
from mcpg.code.model import SEPARATOR, CodeEdge, CodeEdgeKind, CodeFile, Symbol
from mcpg.code.page import read_page

_CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class CodeScope:
    """Which files a question is about; an empty member excludes nothing.

    Attributes:
        languages: Names of languages, in any case.
        repositories: Names of repositories.
        branches: Names of branches.
        paths: Glob patterns or folders.
    """

    languages: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def has(self, file: CodeFile) -> bool:
        """Return whether *file* is in the scope."""
        languages = {language.casefold() for language in self.languages}
        return (
            (not languages or file.language in languages)
            and (not self.repositories or file.repository in self.repositories)
            and (not self.branches or file.branch in self.branches)
            and (not self.paths or any(_is_at(file.path, path) for path in self.paths))
        )


def _is_at(path: str, pattern: str) -> bool:
    folder = pattern.rstrip("/")
    return path == folder or path.startswith(f"{folder}/") or fnmatchcase(path, pattern)


@dataclass(frozen=True, slots=True)
class Definition:
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
        return self.file.id_of(self.symbol)


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


_Key = tuple[str, str, str]


class CodeGraph:
    """The symbols and edges of all source files of a bundle.

    Files of different repositories or branches are not linked, so that a name in one branch never
    leads into another.
    """

    def __init__(self, files: Iterable[CodeFile]) -> None:
        self.files = tuple(sorted(files, key=lambda file: (*_home(file), file.path)))
        self._definitions: dict[_Key, Definition] = {}
        self._by_name: defaultdict[str, list[Definition]] = defaultdict(list)
        self._files: dict[_Key, CodeFile] = {}
        self._incoming: defaultdict[_Key, list[tuple[CodeFile, CodeEdge]]] = defaultdict(list)
        self._outgoing: defaultdict[_Key, list[tuple[CodeFile, CodeEdge]]] = defaultdict(list)
        for file in self.files:
            self._add(file)

    @classmethod
    def of_documents(cls, documents: Iterable[SourceDocument]) -> CodeGraph:
        """Return the graph of the pages of source files among *documents*."""
        return cls(file for file in map(read_page, documents) if file is not None)

    def _add(self, file: CodeFile) -> None:
        home = _home(file)
        self._files[*home, file.path] = file
        for symbol in file.symbols:
            definition = Definition(file, symbol)
            self._definitions[*home, definition.id] = definition
            self._by_name[symbol.short_name.casefold()].append(definition)
        for edge in (*file.edges, *_defining(file)):
            self._outgoing[*home, _end(file, edge.source)].append((file, edge))
            self._incoming[*home, edge.target].append((file, edge))

    def find(self, name: str, scope: CodeScope | None = None) -> tuple[Definition, ...]:
        """Find definitions by id, qualified name or short name; exact case first.

        Args:
            name: `path::Class.method`, `Class.method` or `method`; `::` may stand for the dot.
            scope: Where to search, everywhere by default.
        """
        path, _, qualified = name.strip().removesuffix("()").rpartition(SEPARATOR)
        is_path = "/" in path or "." in path
        wanted = qualified if is_path or not path else f"{path}.{qualified}".replace("::", ".")
        found = [
            one
            for one in self._by_name.get(wanted.rpartition(".")[2].casefold(), ())
            if _ends(one.symbol.name.partition("#")[0], wanted)
            and (not is_path or one.file.path == path)
            and (scope is None or scope.has(one.file))
        ]
        exact = [one for one in found if _ends(one.symbol.name.partition("#")[0], wanted, True)]
        return tuple(exact or found)

    def close_names(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """Return the short names that are spelt most like *name*, the closest first."""
        wanted = name.rpartition(".")[2].casefold()
        near = difflib.get_close_matches(wanted, self._by_name, n=limit, cutoff=_CLOSE)
        return tuple(self._by_name[key][0].symbol.short_name for key in near)

    def incoming(
        self,
        definition: Definition | CodeFile,
        kinds: Collection[CodeEdgeKind] = tuple(CodeEdgeKind),
        scope: CodeScope | None = None,
    ) -> tuple[Relation, ...]:
        """Return what calls, references, imports, inherits or defines a symbol or file.

        The strongest come first, then those of earlier files and lines.
        """
        found = (
            self._relation(edge, file, _end(file, edge.source), file)
            for file, edge in self._incoming.get(_key(definition), ())
            if edge.kind in kinds and not edge.is_external and (scope is None or scope.has(file))
        )
        return tuple(sorted(found, key=_order))

    def outgoing(
        self,
        definition: Definition | CodeFile,
        kinds: Collection[CodeEdgeKind] = tuple(CodeEdgeKind),
    ) -> tuple[Relation, ...]:
        """Return what a symbol or file calls, references, imports, inherits or defines."""
        found = (
            self._relation(edge, file, edge.target, self._file_of(file, edge.target))
            for file, edge in self._outgoing.get(_key(definition), ())
            if edge.kind in kinds
        )
        return tuple(sorted(found, key=_order))

    def importers(self, module: str, scope: CodeScope | None = None) -> tuple[Relation, ...]:
        """Return the files that import something outside the code, such as a library."""
        found = (
            self._relation(edge, file, file.path, file)
            for key, edges in self._incoming.items()
            if key[2] == module or key[2].startswith((f"{module}.", f"{module}/"))
            for file, edge in edges
            if edge.is_external and (scope is None or scope.has(file))
        )
        # `import a.b` imports both `a` and `a.b`.
        by_file = {(*_home(one.file), one.file.path): one for one in sorted(found, key=_order)}
        return tuple(by_file.values())

    def call_chain(
        self, start: Definition, end: Definition, most: int = 6
    ) -> tuple[Definition, ...]:
        """Return a shortest chain of calls from *start* to *end*, empty if none has *most* calls.

        Each symbol is visited once, so circles of calls end.
        """
        before: dict[_Key, _Key | None] = {_key(start): None}
        queue = deque([(_key(start), 0)])
        while queue and _key(end) not in before:
            key, depth = queue.popleft()
            edges = sorted(self._outgoing.get(key, ()), key=lambda pair: pair[1].target)
            for _, edge in edges if depth < most else ():
                after = (key[0], key[1], edge.target)
                if edge.kind is CodeEdgeKind.CALLS and after not in before:
                    before[after] = key
                    queue.append((after, depth + 1))
        return tuple(self._definitions[key] for key in _way(before, _key(end)))[::-1]

    def _relation(self, edge: CodeEdge, file: CodeFile, name: str, at: CodeFile) -> Relation:
        definition = self._definitions.get((*_home(file), name))
        symbol = definition.symbol if definition else None
        return Relation(edge.kind, at, symbol, name, edge.lines, edge.weight)

    def _file_of(self, file: CodeFile, target: str) -> CodeFile:
        return self._files.get((*_home(file), target.partition(SEPARATOR)[0]), file)


def _home(file: CodeFile) -> tuple[str, str]:
    return file.repository, file.branch


def _key(one: Definition | CodeFile) -> _Key:
    if isinstance(one, CodeFile):
        return (*_home(one), one.path)
    return (*_home(one.file), one.id)


def _end(file: CodeFile, source: str) -> str:
    return f"{file.path}{SEPARATOR}{source}" if source else file.path


def _defining(file: CodeFile) -> Iterator[CodeEdge]:
    for symbol in file.symbols:
        lines = (symbol.first_line,)
        yield CodeEdge(CodeEdgeKind.DEFINES, symbol.parent, file.id_of(symbol), lines)


def _ends(name: str, wanted: str, in_case: bool = False) -> bool:
    """Return whether the qualified *name* is *wanted*, or ends in it at a dot."""
    name, wanted = (name, wanted) if in_case else (name.casefold(), wanted.casefold())
    return name == wanted or name.endswith(f".{wanted}")


def _order(relation: Relation) -> tuple[float, str, tuple[int, ...], str]:
    return -relation.weight, relation.file.path, relation.lines, relation.name


def _way(before: dict[_Key, _Key | None], end: _Key) -> Iterator[_Key]:
    here: _Key | None = end if end in before else None
    while here is not None:
        yield here
        here = before[here]
