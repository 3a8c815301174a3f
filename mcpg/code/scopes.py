"""Definitions and files as scopes in which names are looked up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mcpg.code.facts import (
    CONTAINERS,
    CREATES,
    IMPL,
    NAMES_TYPE,
    SCOPES,
    Definition,
    NameUse,
    SourceFacts,
)
from mcpg.code.imports import EVERYTHING
from mcpg.code.languages import GRAMMARS
from mcpg.code.model import SEPARATOR, CodeEdgeKind

DEEPEST = 12
"""How far names, types and scopes are followed."""

_MOST_LEVELS = 100
# Languages in which a later definition of a name is one more, and does not replace the first.
_OVERLOADED = frozenset({"csharp", "java"})


@dataclass(slots=True, eq=False)
class ScopeNode:
    """A definition or scope with its members."""

    definition: Definition
    module: CodeModule
    parent: ScopeNode | None
    name: str = ""
    members: dict[str, ScopeNode] = field(default_factory=dict)
    bases: list[NameUse] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def is_type(self) -> bool:
        return self.definition.kind in CONTAINERS


@dataclass(slots=True, eq=False)
class CodeModule:
    """A file with its top-level members.

    Attributes:
        exports: The names that it exports under others.
        package: The common package of files whose names need no import.
    """

    path: str
    grammar: str
    facts: SourceFacts
    nodes: list[ScopeNode] = field(default_factory=list)
    top: dict[str, ScopeNode] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    family: str = ""
    package: str = ""

    def __post_init__(self) -> None:
        self.family = GRAMMARS[self.grammar].family
        # The files of a package of Go share a folder, in which its tests may be another package.
        is_go = self.family == "go"
        self.package = f"{self.folder} {self.facts.package}" if is_go else self.facts.package
        for one in self.facts.definitions:
            self._place(one)
        for local, name, imported, _, owner in self.facts.imports:
            held = self.nodes[owner] if owner >= 0 else self
            if local == EVERYTHING:
                held.stars.append(name)
            elif not name:
                self.exports[local] = imported
            elif local:
                held.imports[local] = (name, imported)
        for use in self.facts.uses:
            if use.kind == CodeEdgeKind.INHERITS and use.owner >= 0:
                self.nodes[use.owner].bases.append(use)
        for owner, name, value in self.facts.variables:
            field_name = name.removeprefix("self.")
            node = self.nodes[owner] if owner >= 0 else None
            if node is None:
                values = self.variables
            else:
                values = node.fields if field_name != name else node.variables
            values.setdefault(field_name, []).append(value)

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def _place(self, one: Definition) -> None:
        """Make the node of a definition, known by its name in its scope."""
        parent = self.nodes[one.parent] if one.parent >= 0 else None
        node = ScopeNode(one, self, parent)
        self.nodes.append(node)
        if one.owner or not one.name or one.kind in {IMPL, "constructor"}:
            return
        held = self.top if parent is None else parent.members
        # A name of both a type and a constant is looked up as a type.
        if one.name not in held or (self.family not in _OVERLOADED and one.kind != "constant"):
            held[one.name] = node


def around(node: ScopeNode | None) -> Iterator[ScopeNode]:
    """Return *node* and those around it; a member can be in a type that is itself inside it."""
    for _ in range(_MOST_LEVELS):
        if node is None:
            return
        yield node
        node = node.parent


def symbol_around(node: ScopeNode | None) -> ScopeNode | None:
    """Return the innermost symbol around *node*, itself included."""
    hidden = SCOPES | {IMPL}
    return next((one for one in around(node) if one.definition.kind not in hidden), None)


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
        names += [node.definition.name] if node.definition.name else []
        node = node.parent
    return ".".join(reversed(names))


def type_around(node: ScopeNode | None) -> ScopeNode | None:
    """Return the innermost type around *node*, itself included."""
    return next((one for one in around(node) if one.is_type), None)


def find_scope(use: NameUse, node: ScopeNode | None) -> ScopeNode | None:
    """Return the scope of the name of a use; a base type's is around the type."""
    return node.parent if use.kind == CodeEdgeKind.INHERITS and node is not None else node


def node_id(found: ScopeNode | CodeModule) -> str:
    """Return the id of a symbol, or the path of a file."""
    if isinstance(found, CodeModule):
        return found.path
    return f"{found.module.path}{SEPARATOR}{found.name}"


def edge_kind(use: NameUse, node: ScopeNode | None) -> CodeEdgeKind:
    """Return the kind of the edge of a use within *node*."""
    if use.kind in {CodeEdgeKind.CALLS, CREATES}:
        return CodeEdgeKind.CALLS
    # A class without a name is not a symbol that could inherit.
    is_nameless = node is not None and node.definition.kind in SCOPES
    if use.kind == NAMES_TYPE or (use.kind == CodeEdgeKind.INHERITS and is_nameless):
        return CodeEdgeKind.REFERENCES
    return CodeEdgeKind(use.kind)
