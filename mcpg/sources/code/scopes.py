"""Scopes of source code: files and definitions with the names that are bound in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mcpg.code.model import SEPARATOR
from mcpg.sources.code.expressions import UNKNOWN
from mcpg.sources.code.extract import IMPL, Definition, SourceFacts, NameUse
from mcpg.sources.code.grammars import language_family

CONTAINERS = frozenset({"class", "enum", "interface", "struct", "trait", "type", IMPL})
"""The kinds of definitions that have members."""

DEEPEST = 12
"""How far names, types and scopes are followed."""

_MOST_LEVELS = 100


class ScopeNode:
    """A definition with what stands in it."""

    __slots__ = (
        "bases",
        "definition",
        "fields",
        "members",
        "module",
        "name",
        "parent",
        "variables",
    )

    def __init__(
        self, definition: Definition, module: CodeModule, parent: ScopeNode | None
    ) -> None:
        self.definition = definition
        self.module = module
        self.parent = parent
        self.name = ""
        self.members: dict[str, ScopeNode] = {}
        self.bases: list[NameUse] = []
        self.fields: dict[str, list[str]] = {}
        self.variables: dict[str, list[str]] = {}

    @property
    def is_type(self) -> bool:
        return self.definition.kind in CONTAINERS

    @property
    def id(self) -> str:
        return f"{self.module.path}{SEPARATOR}{self.name}"


@dataclass(slots=True, eq=False)
class CodeModule:
    """A file with what stands at its top."""

    path: str
    grammar: str
    facts: SourceFacts
    nodes: list[ScopeNode] = field(default_factory=list)
    top: dict[str, ScopeNode] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def family(self) -> str:
        return language_family(self.grammar)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


def around(node: ScopeNode | None) -> Iterator[ScopeNode]:
    """Return *node* and those around it; a member can stand in a type that stands in it."""
    for _ in range(_MOST_LEVELS):
        if node is None:
            return
        yield node
        node = node.parent


def find_values(name: str, node: ScopeNode | None, module: CodeModule) -> list[str]:
    """Return the values of the variable or field that *name* may be within *node*."""
    for here in around(node):
        found = (here.fields if here.is_type else here.variables).get(name)
        if found:
            return found
    return module.variables.get(name, [])


def outer_name(node: ScopeNode | None) -> str:
    """Return the qualified name of *node*, "" for none."""
    names: list[str] = []
    while node is not None and len(names) < DEEPEST:
        names.append(node.definition.name)
        node = node.parent
    return ".".join(reversed(names))


def holds_name(node: ScopeNode | None, name: str) -> bool:
    """Return whether a variable of *node* holds a definition, and not what calling one returns."""
    values = node.variables.get(name, ()) if node is not None else ()
    return any(value != UNKNOWN and not value.endswith("()") for value in values)


def type_around(node: ScopeNode | None) -> ScopeNode | None:
    """Return the innermost type around *node*, itself included."""
    return next((one for one in around(node) if one.is_type), None)


def source_name(node: ScopeNode | None) -> str:
    """Return the name of the symbol that an edge of *node* leaves, "" for the file."""
    return next((one.name for one in around(node) if one.definition.kind != IMPL), "")


def node_id(found: ScopeNode | CodeModule) -> str:
    """Return the id of a symbol, or the path of a file."""
    return found.path if isinstance(found, CodeModule) else found.id
