"""Facts of one source file: its definitions, imports, uses of names, and types of variables.

Facts depend on the content of the file alone, so they can be cached by it. Queries run in
tree-sitter; Python only sees the nodes that they capture.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mcpg.sources.code.expressions import UNKNOWN, plain_expression, plain_type
from mcpg.sources.code.grammars import language_family, query
from mcpg.sources.code.imports import Import, read_import
from mcpg.sources.code.parse import UnparsableError, parse_source

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Captures: TypeAlias = "dict[str, list[Node]]"

IMPL = "impl"
"""The kind of a definition that adds members to a type that stands elsewhere."""

CREATES = "creates"
"""The kind of a call that only a type can be meant by."""

_TYPES = frozenset({"class", "enum", "interface", "struct", "trait", IMPL})
_RETURNS = ("return_type", "result", "returns", "type")
_LONGEST_SIGNATURE = 240
_LONGEST_TEXT = 300
_LONGEST_NAME = 200
_COMMENT_LINES = 40
_MOST_DEFINITIONS = 20_000
_MOST_MATCHES = 200_000
_USES = {
    "call": "calls",
    "create": CREATES,
    "base": "inherits",
    "ref": "references",
    "method_ref": "references",
}


class Definition(NamedTuple):
    """A definition in the file.

    Attributes:
        name: Its short name.
        kind: A `SymbolKind`, or `IMPL`.
        parent: Position of the definition that it stands in, -1 for none.
        owner: Name of the type that it is a member of, where that is not its parent.
        first: Its first line, from 1.
        last: Its last line.
        signature: Its text up to its body.
        documentation: First paragraph of its docstring or comment.
        returns: Plain form of the type that it returns.
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
        kind: `calls`, `creates`, `references` or `inherits`.
        owner: Position of the definition that it stands in, -1 for none.
        receiver: Plain form of what stands before the name, "" for nothing.
        name: The name.
        line: Its line, from 1.
    """

    kind: str
    owner: int
    receiver: str
    name: str
    line: int


class Variable(NamedTuple):
    """A variable, parameter or field.

    Attributes:
        owner: Position of the definition that it stands in, -1 for none.
        name: Its name; that of a field begins with `self.`.
        value: Plain form of its value, with `()` behind the name of its type; `?` if unknown.
    """

    owner: int
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What one file states.

    Attributes:
        definitions: Its definitions, in order.
        imports: What its import statements bind.
        uses: Its calls and references.
        variables: Its variables and their values.
        package: The package or namespace that it declares, or "".
        documentation: First paragraph of the docstring of the file.
        lines: How many lines it has.
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
    """Read what `encode_facts` wrote.

    Raises:
        ValueError, TypeError: It is nothing of the kind.
    """
    definitions, imports, uses, variables, *rest = json.loads(data)
    return SourceFacts(
        [Definition(*one) for one in definitions],
        [Import(*one) for one in imports],
        [NameUse(*one) for one in uses],
        [Variable(*one) for one in variables],
        *rest,
    )


def extract(source: bytes, grammar: str) -> SourceFacts:
    """Parse *source* with the *grammar* and return what it states.

    Raises:
        UnparsableError: It is too complex, or states too much.
    """
    return _Extraction(source, grammar).run(parse_source(source, grammar))


class _Extraction:
    """The reading of one file."""

    def __init__(self, source: bytes, grammar: str) -> None:
        self._source = source
        self._grammar = grammar
        self._family = language_family(grammar)
        self._lines = source.split(b"\n")
        self._facts: dict[str, Any] = {"package": "", "documentation": ""}
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._parents: list[int] = []
        self._docs: dict[int, str] = {}

    def run(self, tree: Tree) -> SourceFacts:
        """Return the facts of the *tree*."""
        from tree_sitter import QueryCursor  # noqa: PLC0415 - an extra

        matches = [found for _, found in QueryCursor(query(self._grammar)).matches(tree.root_node)]
        if len(matches) > _MOST_MATCHES:
            raise UnparsableError
        definitions = self._definitions(matches)
        imports: list[Import] = []
        uses: list[NameUse] = []
        variables: list[Variable] = []
        for found in matches:
            if not _USES.keys().isdisjoint(found):
                uses.append(self._use(found))
            elif "import" in found:
                node = found["import"][0]
                imports += read_import(self._family, self._text(node), node.start_point[0] + 1)
            elif not self._is_definition(found):
                variables += self._variables(found)
        return SourceFacts(
            [self._add_docstring(place, one) for place, one in enumerate(definitions)],
            imports,
            uses,
            variables,
            self._facts["package"],
            self._docs.get(-1, ""),
            len(self._lines),
            tree.root_node.has_error,
        )

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @staticmethod
    def _is_definition(found: Captures) -> bool:
        return "name" in found

    def _definitions(self, matches: list[Captures]) -> list[Definition]:
        """Return the definitions in order, and note which stands in which."""
        found: dict[tuple[int, int], tuple[str, Node, Captures]] = {}
        for captures in matches:
            if self._is_definition(captures):
                key = next(name for name in captures if name.startswith("def."))
                node = captures[key][0]
                found.setdefault((node.start_byte, -node.end_byte), (key[4:], node, captures))
        if len(found) > _MOST_DEFINITIONS:
            raise UnparsableError
        definitions: list[Definition] = []
        open_: list[int] = []
        for _, (kind, node, captures) in sorted(found.items()):
            while open_ and self._ends[open_[-1]] <= node.start_byte:
                open_.pop()
            parent = open_[-1] if open_ else -1
            is_member = parent >= 0 and definitions[parent].kind in _TYPES
            shown = "method" if kind == "function" and is_member else kind
            definitions.append(self._definition(shown, node, captures, parent))
            self._starts.append(node.start_byte)
            self._ends.append(node.end_byte)
            self._parents.append(parent)
            open_.append(len(definitions) - 1)
        return definitions

    def _definition(self, kind: str, node: Node, found: Captures, parent: int) -> Definition:
        owner = plain_type(self._text(found["owner"][0]).strip("()")) if "owner" in found else ""
        inner = node.child_by_field_name("value") or node.child_by_field_name("right") or node
        body = inner.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        signature = " ".join(
            self._source[node.start_byte : min(end, node.start_byte + 4 * _LONGEST_SIGNATURE)]
            .decode("utf-8", "replace")
            .split()
        )
        returns = None
        if kind not in _TYPES:
            fields = (inner.child_by_field_name(name) for name in _RETURNS)
            returns = next((one for one in fields if one is not None), None)
        return Definition(
            self._text(found["name"][0])[:_LONGEST_NAME].replace("::", "."),
            kind,
            parent,
            "" if owner == UNKNOWN else owner,
            node.start_point[0] + 1,
            node.end_point[0] + 1,
            signature.rstrip("{:=>; ")[:_LONGEST_SIGNATURE],
            "" if self._family == "python" else self._comment_above(node.start_point[0]),
            plain_type(self._text(returns)) if returns is not None else UNKNOWN,
        )

    def _comment_above(self, row: int) -> str:
        """Return the first paragraph of the comment that ends above the line *row*."""
        lines: list[str] = []
        for line in reversed(self._lines[max(0, row - _COMMENT_LINES) : row]):
            text = line[:_LONGEST_TEXT].decode("utf-8", "replace").strip()
            if text.startswith(("#[", "@", "[")) and not lines:
                continue
            if not text.startswith(("//", "/*", "*")):
                break
            lines.append(text)
        return _prose("\n".join(_MARKS.sub("", line) for line in reversed(lines)))

    def _add_docstring(self, place: int, definition: Definition) -> Definition:
        text = self._docs.get(place)
        return definition._replace(documentation=text) if text else definition

    def _owner(self, position: int) -> int:
        """Return the innermost definition at a *position*, -1 for none."""
        place = bisect_right(self._starts, position) - 1
        while place >= 0 and self._ends[place] <= position:
            place = self._parents[place]
        return place

    def _use(self, found: Captures) -> NameUse:
        capture = next(name for name in _USES if name in found)
        kind, node = _USES[capture], found[capture][0]
        name = self._text(node)
        receiver = self._text(found["receiver"][0]) if "receiver" in found else ""
        if receiver:
            receiver = plain_expression(receiver)
        elif not name.isidentifier():
            plain = plain_type(name) if kind == "inherits" else plain_expression(name)
            receiver, _, name = plain.rpartition(".")
        return NameUse(
            kind,
            self._owner(node.start_byte),
            receiver,
            name[:_LONGEST_NAME],
            node.start_point[0] + 1,
        )

    def _variables(self, found: Captures) -> Iterator[Variable]:
        if "doc" in found:
            node = found["doc"][0]
            self._docs.setdefault(
                self._owner(node.start_byte), _prose(_strip_quotes(self._text(node)))
            )
            return
        if "package" in found:
            self._facts["package"] = self._facts["package"] or self._text(found["package"][0])
            return
        value = self._value(found)
        for key in ("variable", "parameter", "field"):
            for node in found.get(key, ()):
                name = self._text(node)[:_LONGEST_NAME].replace("this.", "self.")
                if key == "field":
                    name = f"self.{name}"
                yield Variable(self._owner(node.start_byte), name, value)

    def _value(self, found: Captures) -> str:
        if "type" in found:
            plain = plain_type(self._text(found["type"][0]))
            return plain if plain == UNKNOWN else f"{plain}()"
        return plain_expression(self._text(found["value"][0])) if "value" in found else UNKNOWN


_MARKS = re.compile(r"^(?:/\*+|//[/!]*|\*+(?!/))\s?|\s*\*+/\s*$|</?[a-zA-Z][^<>]{0,80}>")
_STRING = re.compile(r"""[A-Za-z]{0,2}('''|\"\"\"|'|")(.*)\1\Z""", re.DOTALL)


def _strip_quotes(text: str) -> str:
    found = _STRING.match(text)
    return found[2] if found else text


def _prose(text: str) -> str:
    """Return the first paragraph of *text* on one line."""
    paragraph = text.strip().partition("\n\n")[0][: 4 * _LONGEST_TEXT]
    return " ".join(paragraph.split())[:_LONGEST_TEXT]
