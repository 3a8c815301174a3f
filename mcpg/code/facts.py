"""The facts of one source file: definitions, imports, uses of names, and types of variables."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from mcpg.code.imports import Import

IMPL = "impl"
"""The kind of a definition that adds members to a type defined elsewhere."""

SCOPES = frozenset({"block", "function scope", "object", "class scope"})
"""The kinds of scopes without a name: blocks, functions, literals of objects, classes."""

CREATES = "creates"
"""The kind of a call that only a type can be the target of."""

NAMES_TYPE = "types"
"""The kind of a reference that only a type can be the target of."""

CONTAINERS = frozenset(
    {
        *("class", "class scope", "constant", "enum", "interface", "object", "struct", "trait"),
        *("type", IMPL),
    }
)
"""The kinds of definitions that have members."""

SELF = {
    "csharp": frozenset({"this"}),
    "go": frozenset[str](),
    "java": frozenset({"this"}),
    "javascript": frozenset({"this"}),
    "python": frozenset({"self", "cls"}),
    "rust": frozenset({"self", "Self"}),
}
"""The name that an object has for itself, by family."""

# Languages in which a bare name can be a member of the type around it.
IMPLICIT_SELF = frozenset({"csharp", "java"})


class Definition(NamedTuple):
    """A definition in the file, or a scope without a name.

    Attributes:
        kind: A `SymbolKind`, `IMPL` or one of `SCOPES`.
        parent: Position of the definition around it, -1 for none.
        owner: Name of the type that it is a member of, if that is not its parent.
        returns: Plain form of the type that it returns; of a constant, of its value.
    """

    name: str
    kind: str
    parent: int
    owner: str
    first: int
    last: int
    signature: str
    documentation: str
    returns: str


class NameUse(NamedTuple):
    """A call of, or reference to, a name.

    Attributes:
        kind: `calls`, `creates`, `references`, `types` or `inherits`.
        receiver: Plain form of the expression before the name, "" for none.
    """

    kind: str
    owner: int
    receiver: str
    name: str
    line: int


class Variable(NamedTuple):
    """A variable, parameter or field with a known value.

    Attributes:
        name: Its name; a field's begins with `self.`.
        value: Plain form of its value, with `()` behind the name of its type.
    """

    owner: int
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The facts of one file.

    Attributes:
        package: The package or namespace that it declares, or "".
        has_errors: Whether parts of it could not be parsed.
    """

    definitions: list[Definition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    uses: list[NameUse] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    package: str = ""
    documentation: str = ""
    lines: int = 0
    has_errors: bool = False


def encode_facts(facts: SourceFacts) -> bytes:
    """Write *facts* as JSON."""
    members = [getattr(facts, name) for name in SourceFacts.__slots__]
    return json.dumps(members, separators=(",", ":")).encode()


def decode_facts(data: bytes) -> SourceFacts:
    """Read the output of `encode_facts`."""
    definitions, imports, uses, variables, *rest = json.loads(data)
    return SourceFacts(
        [Definition(*one) for one in definitions],
        [Import(*one) for one in imports],
        [NameUse(*one) for one in uses],
        [Variable(*one) for one in variables],
        *rest,
    )
