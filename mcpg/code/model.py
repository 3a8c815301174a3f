"""Symbols of source code, the edges between them, and the files that they stand in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SEPARATOR = "::"
"""What stands between the path of a file and the qualified name of a symbol in an id."""


class SymbolKind(StrEnum):
    """What a symbol is."""

    CLASS = "class"
    CONSTRUCTOR = "constructor"
    ENUM = "enum"
    FUNCTION = "function"
    INTERFACE = "interface"
    METHOD = "method"
    STRUCT = "struct"
    TRAIT = "trait"
    TYPE = "type"


CALLABLE_KINDS = frozenset({SymbolKind.CONSTRUCTOR, SymbolKind.FUNCTION, SymbolKind.METHOD})
"""The kinds of symbols that are called."""

TYPE_KINDS = frozenset(SymbolKind) - CALLABLE_KINDS
"""The kinds of symbols that have members."""


KINDS_BY_WORD = {
    "class": frozenset({SymbolKind.CLASS, SymbolKind.STRUCT}),
    "constructor": frozenset({SymbolKind.CONSTRUCTOR}),
    "enum": frozenset({SymbolKind.ENUM}),
    "function": CALLABLE_KINDS,
    "interface": frozenset({SymbolKind.INTERFACE, SymbolKind.TRAIT}),
    "method": CALLABLE_KINDS,
    "struct": frozenset({SymbolKind.CLASS, SymbolKind.STRUCT}),
    "trait": frozenset({SymbolKind.INTERFACE, SymbolKind.TRAIT}),
    "type": TYPE_KINDS,
}
"""The kinds of symbols that a word of a question means; languages name the same thing in several
ways, and few people tell a method from a function."""


class CodeEdgeKind(StrEnum):
    """What an edge of a code graph states."""

    CALLS = "calls"
    DEFINES = "defines"
    IMPORTS = "imports"
    INHERITS = "inherits"
    REFERENCES = "references"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition in a source file.

    Attributes:
        name: Its qualified name in the file, such as `Model.save`; a repeated one ends in `#2`.
        kind: What it is.
        first_line: Line of its first character, from 1.
        last_line: Line of its last character.
        signature: Its text up to its body, on one line.
        documentation: First paragraph of its docstring or comment, "" without one.
    """

    name: str
    kind: SymbolKind
    first_line: int
    last_line: int
    signature: str = ""
    documentation: str = ""

    @property
    def short_name(self) -> str:
        """The last part of the qualified name."""
        return self.plain_name.rpartition(".")[2]

    @property
    def plain_name(self) -> str:
        """The qualified name without the mark of a repeated one."""
        # A private member of JavaScript begins with the same sign.
        name, _, number = self.name.rpartition("#")
        return name if number.isdigit() else self.name

    @property
    def parent(self) -> str:
        """The qualified name of the symbol that defines this one, "" for the file."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class CodeEdge:
    """An edge from a symbol of a file.

    Attributes:
        kind: What it states.
        source: Qualified name of the symbol that it leaves, "" for the file itself.
        target: `path::qualified name` of a symbol, the path of a file, or the name of something
            outside the code.
        lines: Lines on which it stands, ascending.
        weight: 1 where names and types resolve; less where only the name of a method is known.
        is_external: Whether the target is no part of the code.
    """

    kind: CodeEdgeKind
    source: str
    target: str
    lines: tuple[int, ...] = ()
    weight: float = 1.0
    is_external: bool = False


@dataclass(frozen=True, slots=True)
class CodeFile:
    """The symbols and edges of one source file.

    Attributes:
        path: Its path in the repository, with `/`.
        language: Its language, such as `python`.
        repository: Name of the repository, "" if unknown.
        branch: Branch that was read, "" if unknown.
        lines: How many lines it has.
        symbols: Its definitions, in order.
        edges: The edges that leave it, without those of definition, which the names state.
    """

    path: str
    language: str
    repository: str
    branch: str
    lines: int
    symbols: tuple[Symbol, ...] = ()
    edges: tuple[CodeEdge, ...] = ()

    def symbol_id(self, symbol: Symbol) -> str:
        """Return the id of *symbol* in its repository."""
        return f"{self.path}{SEPARATOR}{symbol.name}"
