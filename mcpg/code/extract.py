"""Facts of one source file: its definitions, imports, uses of names, and types of variables.

Facts depend only on the content of the file, so they can be cached by it. Queries run in
tree-sitter; Python only sees the nodes that they capture.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.code.expressions import LONGEST, NOTHING, UNKNOWN, plain_expression, plain_type
from mcpg.code.facts import (
    CONTAINERS,
    CREATES,
    IMPLICIT_SELF,
    NAMES_TYPE,
    SCOPES,
    SELF,
    Definition,
    NameUse,
    SourceFacts,
    Variable,
)
from mcpg.code.imports import EVERYTHING, READERS, Import
from mcpg.code.languages import GRAMMARS, USES, UnparsableError, parse_source, query

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


Captures: TypeAlias = "dict[str, list[Node]]"

# Languages in which a bare name means something in its file, or nothing that is known.
_IN_FILE = frozenset({"javascript", "python"})
_GO_KINDS = frozenset({"chan", "func", "interface", "struct"})
_RETURNS = ("return_type", "result", "returns", "type")
_LONGEST_SIGNATURE = 240
_LONGEST_TEXT = 300
_LONGEST_NAME = 200
_COMMENT_LINES = 40
_MOST_DEFINITIONS = 20_000
_MOST_SCOPES = 100_000
_MOST_LEVELS = 100
_LONGEST_IMPORT = 20_000
_MOST_MATCHES = 200_000
_MOST_NODES = 1_000_000
_USES = {
    "call": "calls",
    "create": CREATES,
    "base": "inherits",
    "method_ref": "references",
}
# The name at the end of a member, or a type, is not a reference of its own, so these come first.
_REFERENCES = {
    "member": "references",
    "attribute": NAMES_TYPE,
    "type": NAMES_TYPE,
    "ref": "references",
}


def extract(source: bytes, grammar: str) -> SourceFacts:
    """Parse *source* with the *grammar* and return its facts.

    A file that is too complex is an `UnparsableError`.
    """
    return _Extraction(source, grammar).run(parse_source(source, grammar))


@dataclass(slots=True)
class _Region:
    """A definition or scope, or the whole file, with the names bound in it.

    Attributes:
        body: Start of its body; nodes before it are evaluated around it.
        names: The values of variables; `None` for definitions and imports.
        types: The names of its type parameters.
        declared: The names with a declared type.
    """

    kind: str
    parent: int
    end: int
    body: int = 0
    names: dict[str, list[str] | None] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)


class _Place(NamedTuple):
    """The place of a definition or scope; a scope has no captures."""

    start: int
    minus_end: int
    kind: str
    node: Node
    captures: Captures


class _Extraction:
    """The reading of one file."""

    def __init__(self, source: bytes, grammar: str) -> None:
        self._source = source
        self._family = GRAMMARS[grammar].family
        self._self = SELF[self._family]
        self._queries = query(grammar), query(grammar, USES)
        self._lines = source.split(b"\n")
        self._package = ""
        self._starts: list[int] = []
        # The last one is the file, so that -1 is its position.
        self._regions = [_Region("file", -1, len(source) + 1)]
        self._docs: dict[int, str] = {}
        self._has_stars = False
        # Ends of names that are not references.
        self._taken: set[int] = set()
        self._defined: frozenset[int] = frozenset()
        self._hoisted: set[int] = set()
        self._assigned: list[tuple[int, str, str]] = []

    def run(self, tree: Tree) -> SourceFacts:
        from tree_sitter import QueryCursor  # noqa: PLC0415 - an extra

        structure, uses = self._queries
        matches = [found for _, found in QueryCursor(structure).matches(tree.root_node)]
        nodes = QueryCursor(uses).captures(tree.root_node)
        if len(matches) > _MOST_MATCHES or sum(map(len, nodes.values())) > _MOST_NODES:
            raise UnparsableError
        self._hoisted = {node.end_byte for node in nodes.get("hoisted", ())}
        definitions = self._definitions(matches, nodes)
        imports, spans = self._read_imports(matches)
        self._defined = frozenset(self._taken)
        for found in matches:
            if "name" not in found and "import" not in found and _USES.keys().isdisjoint(found):
                self._bind_values(found)
        self._bind_names(nodes)
        variables = list(self._known_variables())
        calls = (self._use(found) for found in matches if not _USES.keys().isdisjoint(found))
        found_uses = [one for one in calls if one is not None]
        found_uses += self._references(nodes, spans)
        facts = SourceFacts(
            [
                one._replace(documentation=self._docs.get(place) or one.documentation)
                for place, one in enumerate(definitions)
            ],
            imports,
            found_uses,
            variables,
            self._package,
            self._docs.get(-1, ""),
            len(self._lines),
            tree.root_node.has_error,
        )
        return _without_empty_scopes(facts)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _places(self, matches: list[Captures], nodes: Captures) -> list[_Place]:
        """Return the places of definitions and scopes in order, the outer ones first."""
        found: dict[tuple[int, int], _Place] = {}
        for captures in matches:
            if "name" in captures:
                key = next(name for name in captures if name.startswith("def."))
                node = captures[key][0]
                place = (node.start_byte, -node.end_byte)
                # A constant may turn out to be a function.
                if place not in found or found[place].kind == "constant":
                    found[place] = _Place(*place, key[4:], node, captures)
        if len(found) > _MOST_DEFINITIONS:
            raise UnparsableError
        for capture, kind in _SCOPE_CAPTURES.items():
            for node in nodes.get(capture, ()):
                place = (node.start_byte, -node.end_byte)
                found.setdefault(place, _Place(*place, kind, node, {}))
        if len(found) > _MOST_SCOPES:
            raise UnparsableError
        return [found[place] for place in sorted(found)]

    def _definitions(self, matches: list[Captures], nodes: Captures) -> list[Definition]:
        """Return the definitions and scopes in order, and note their parents."""
        definitions: list[Definition] = []
        regions = self._regions
        file = regions.pop()
        open_: list[int] = []
        for place in self._places(matches, nodes):
            while open_ and regions[open_[-1]].end <= place.start:
                open_.pop()
            parent = open_[-1] if open_ else -1
            outer = regions[parent] if open_ else file
            if self._is_same(place, outer):
                continue
            if place.captures:
                one = self._definition(place, outer.kind, parent)
                if not one.owner:
                    outer.names.setdefault(one.name, None)
                self._taken.add(place.captures["name"][0].end_byte)
            else:
                row = place.node.start_point[0] + 1
                one = Definition("", place.kind, parent, "", row, row, "", "", UNKNOWN)
            definitions.append(one)
            end = -place.minus_end
            regions.append(_Region(one.kind, parent, end, self._body_start(place.node)))
            self._starts.append(place.start)
            open_.append(len(definitions) - 1)
        regions.append(file)
        return definitions

    @staticmethod
    def _is_same(place: _Place, outer: _Region) -> bool:
        """Return whether a scope is the body of a function, or the value of a constant."""
        is_value = (place.kind, outer.kind) == ("object", "constant")
        is_body = place.kind in _MERGED and outer.kind not in CONTAINERS
        return outer.end == -place.minus_end and (is_value or is_body)

    def _body_start(self, node: Node) -> int:
        """Return the start of the body of a definition of Python, 0 for other languages."""
        body = node.child_by_field_name("body") if self._family == "python" else None
        return body.start_byte if body is not None else 0

    def _definition(self, place: _Place, outer: str, parent: int) -> Definition:
        kind, node, found = place.kind, place.node, place.captures
        kind = "method" if kind == "function" and outer in CONTAINERS else kind
        owner = self._text(found["owner"][0]).strip("()") if "owner" in found else ""
        if owner in _EXPORTS:
            owner = ""
        elif owner:
            owner = plain_type(owner.removesuffix(".prototype"), self._family)
        inner = node.child_by_field_name("value") or node.child_by_field_name("right") or node
        body = inner.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        text = self._source[node.start_byte : min(end, node.start_byte + 4 * _LONGEST_SIGNATURE)]
        returns = None
        if kind not in CONTAINERS:
            fields = (inner.child_by_field_name(name) for name in _RETURNS)
            returns = next((one for one in fields if one is not None), None)
        return Definition(
            self._text(found["name"][0])[:_LONGEST_NAME].replace("::", ".").strip("\"'"),
            kind,
            parent,
            "" if owner == UNKNOWN else owner,
            node.start_point[0] + 1,
            node.end_point[0] + 1,
            _signature(text.decode("utf-8", "replace"), self._family),
            "" if self._family == "python" else self._comment_above(node.start_point[0]),
            self._read_constant(node) if kind == "constant" else self._read_result(returns),
        )

    def _read_result(self, node: Node | None) -> str:
        return self._read_type(node) if node is not None else UNKNOWN

    def _read_constant(self, node: Node) -> str:
        """Return the plain form of the value of a constant."""
        declared, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        plain = self._read_result(declared)
        if plain == UNKNOWN and value is not None:
            return self._read_value(value)
        return plain if plain == UNKNOWN else f"{plain}()"

    def _read_type(self, node: Node) -> str:
        text = self._text(node)
        if self._family == "go" and text.startswith("("):
            # Of several results, the first, which may have a name.
            text = text.strip("()").partition(",")[0].strip()
            name, _, kind = text.partition(" ")
            text = kind if name.isidentifier() and name not in _GO_KINDS and kind else text
        return plain_type(text.removeprefix(":"), self._family)

    def _read_value(self, node: Node) -> str:
        """Return the plain form of a value; a call's does not depend on its arguments."""
        if node.end_byte - node.start_byte <= LONGEST:
            return plain_expression(self._text(node))
        called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        plain = self._read_value(called) if called is not None else UNKNOWN
        return plain if plain == UNKNOWN else f"{plain}()"

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

    def _owner(self, position: int) -> int:
        """Return the innermost region at a *position*, -1 for the file."""
        place = bisect_right(self._starts, position) - 1
        while place >= 0 and self._regions[place].end <= position:
            place = self._regions[place].parent
        return place

    def _around(self, place: int) -> Iterator[tuple[int, _Region]]:
        """Yield a region and those around it, the file last."""
        for _ in range(_MOST_LEVELS):
            if place < 0:
                break
            region = self._regions[place]
            yield place, region
            place = region.parent
        yield -1, self._regions[-1]

    def _read_imports(self, matches: list[Captures]) -> tuple[list[Import], list[tuple[int, int]]]:
        """Return the imports, and the spans of their statements."""
        imports: list[Import] = []
        spans: list[tuple[int, int]] = []
        for found in matches:
            if "default" in found:
                node = found["default"][0]
                imports.append(Import("default", "", self._text(node), node.start_point[0] + 1))
            if "import" not in found:
                continue
            node = found["import"][0]
            owner, line = self._owner(node.start_byte), node.start_point[0] + 1
            text = self._text(node)
            bound = READERS[self._family](text.strip())
            # Of a statement of several lines, each name has its own.
            added = [Import(*names, line + _lines_before(names[2], text), owner) for names in bound]
            imports += added
            if not added or added[0].module:
                spans.append((node.start_byte, node.end_byte))
            for one in added:
                if one.local == EVERYTHING:
                    self._has_stars = True
                elif one.local and one.module:
                    self._regions[owner].names[one.local] = None
        return imports, sorted(spans)

    def _bind_values(self, found: Captures) -> None:
        """Bind the variables of a match, and note the package and documentation."""
        if "doc" in found:
            node = found["doc"][0]
            text = self._text(node)
            quoted = _STRING.match(text)
            doc = _prose(quoted[2] if quoted else text)
            self._docs.setdefault(self._owner(node.start_byte), doc)
            return
        if "element" in found:
            end = [node for node in found["element"] if self._text(node)[:1].islower()]
            self._taken.update(node.end_byte for node in end)
            return
        if "package" in found:
            self._package = self._package or self._text(found["package"][0])
            return
        value, is_declared = UNKNOWN, "type" in found
        if is_declared:
            plain = self._read_type(found["type"][0])
            value = plain if plain == UNKNOWN else f"{plain}()"
        elif "value" in found:
            value = self._read_value(found["value"][0])
        for node in found.get("assigned", ()):
            self._assigned.append((self._owner(node.start_byte), self._text(node), value))
        for key in ("variable", "parameter", "field"):
            for node in found.get(key, ()):
                if node.end_byte in self._defined:
                    continue
                name = self._text(node)[:_LONGEST_NAME].replace("this.", "self.")
                name = f"self.{name}" if key == "field" else name
                self._taken.add(node.end_byte)
                self._bind(self._holder(node), name, value, is_declared=is_declared)

    def _holder(self, node: Node) -> int:
        """Return the region that a variable is bound in: a block, or the function around it."""
        owner = self._owner(node.start_byte)
        while (
            node.end_byte in self._hoisted and owner >= 0 and self._regions[owner].kind == "block"
        ):
            owner = self._regions[owner].parent
        return owner

    def _bind(self, owner: int, name: str, value: str, *, is_declared: bool = False) -> None:
        """Note a *value* of a variable; declared types replace assigned values."""
        region = self._regions[owner]
        is_field = name.startswith("self.")
        if "." in name and not is_field:
            return
        if is_field or (region.kind in CONTAINERS and self._family == "python"):
            # A name in the body of a class is a field.
            name = name if is_field else f"self.{name}"
            around = (one for _, one in self._around(owner) if one.kind in CONTAINERS)
            region = next(around, self._regions[-1])
        values = region.names.setdefault(name, [])
        if values is None or value in NOTHING:
            return
        if is_declared and name not in region.declared:
            region.declared.add(name)
            values.clear()
        if is_declared or name not in region.declared:
            values.append(value)

    def _bind_names(self, nodes: Captures) -> None:
        """Bind the variables with unknown values, and the parameters of types."""
        for node in nodes.get("typevar", ()):
            self._taken.add(node.end_byte)
            self._regions[self._owner(node.start_byte)].types.add(self._text(node))
        for node in nodes.get("skip", ()):
            self._taken.add(node.end_byte)
        for node in (*nodes.get("variable", ()), *nodes.get("hoisted", ())):
            if node.end_byte not in self._taken:
                self._taken.add(node.end_byte)
                self._bind(self._holder(node), self._text(node)[:_LONGEST_NAME], UNKNOWN)
        for owner, name, value in self._assigned:
            held = (one.names[name] for _, one in self._around(owner) if name in one.names)
            if next(held, None) == []:
                self._bind(owner, name, value)
        for node in nodes.get("global", ()):
            self._taken.add(node.end_byte)
            self._regions[self._owner(node.start_byte)].names.pop(self._text(node), None)

    def _known_variables(self) -> Iterator[Variable]:
        """Yield the variables with one known value."""
        for place, region in enumerate(self._regions):
            owner = -1 if region is self._regions[-1] else place
            for name, values in region.names.items():
                if not values or UNKNOWN in values:
                    continue
                for value in dict.fromkeys(values):
                    if self._is_free(value.partition(".")[0].removesuffix("()"), owner):
                        yield Variable(owner, name, value)

    def _find(self, name: str, owner: int) -> tuple[bool, list[str] | None]:
        """Return whether a bare *name* is bound in the file, and the values of a variable."""
        for place, region in self._around(owner):
            if name in region.types:
                return True, []
            if name in region.names and (place == owner or region.kind not in CONTAINERS):
                return True, region.names[name]
            if region.kind in CONTAINERS and self._family in IMPLICIT_SELF:
                for key in (name, f"self.{name}"):
                    if key in region.names:
                        return True, region.names[key]
        return False, None

    def _is_in_macro(self, node: Node) -> bool:
        """Return whether a name is a member, or ends a path, in the arguments of a macro."""
        before = self._source[max(0, node.start_byte - 2) : node.start_byte]
        return self._family == "rust" and before.endswith((b".", b"::")) and before != b".."

    def _is_free(self, name: str, owner: int) -> bool:
        """Return whether the head *name* of an expression may have a known meaning."""
        if name in self._self:
            return name != "this" or self._knows_this(owner)
        _, values = self._find(name, owner)
        return values is None or (bool(values) and UNKNOWN not in values)

    def _knows_this(self, owner: int) -> bool:
        """Return whether `this` is the object of the type around *owner*."""
        kinds = (one.kind for _, one in self._around(owner))
        return next((one for one in kinds if one in _OWN_THIS), "") not in _UNKNOWN_THIS

    @staticmethod
    def _is_callable(values: list[str]) -> bool:
        """Return whether the *values* of a variable are functions or classes, not their results."""
        return bool(values) and not any(one == UNKNOWN or one.endswith("()") for one in values)

    def _use(self, found: Captures) -> NameUse | None:
        """Return the use of a name in a match, `None` if its meaning is unknown."""
        capture = next(name for name in _USES if name in found)
        kind, node = _USES[capture], found[capture][0]
        self._taken.add(node.end_byte)
        name = self._text(node)
        if "element" in found and name[:1].islower():  # an element of HTML, such as `<form>`
            return None
        receiver = self._text(found["receiver"][0]) if "receiver" in found else ""
        if receiver:
            receiver = plain_expression(receiver)
        elif not name.isidentifier():
            is_base = kind == "inherits"
            plain = plain_type(name, self._family) if is_base else plain_expression(name)
            receiver, _, name = plain.rpartition(".")
        place = found["body"][0].start_byte if "body" in found else node.start_byte
        return self._check_use(kind, self._owner(place), receiver, name, node)

    def _check_use(
        self, kind: str, owner: int, receiver: str, name: str, node: Node
    ) -> NameUse | None:
        """Return the use of a name, `None` if a variable shadows its possible meaning."""
        around = owner
        if owner >= 0 and node.start_byte < self._regions[owner].body:
            around = self._regions[owner].parent
        if receiver:
            head = receiver.partition(".")[0].removesuffix("()")
            if receiver != UNKNOWN and not self._is_free(head, around):
                receiver = UNKNOWN
            if receiver == UNKNOWN and kind != "calls":
                return None
        elif kind in {NAMES_TYPE, CREATES, "inherits"}:
            if any(name in region.types for _, region in self._around(around)):
                return None
        elif self._family != "java" or kind != "calls":
            is_bound, values = self._find(name, around)
            if values is not None and not (kind == "calls" and self._is_callable(values)):
                return None
            if not is_bound and self._family in _IN_FILE and not self._has_stars:
                return None
        return NameUse(kind, owner, receiver, name[:_LONGEST_NAME], node.start_point[0] + 1)

    def _references(self, nodes: Captures, spans: list[tuple[int, int]]) -> Iterator[NameUse]:
        """Yield the references that are not calls, outside statements of import."""
        starts = [start for start, _ in spans]
        for capture in _REFERENCES:
            for node in nodes.get(capture, ()):
                end = node.end_byte
                span = bisect_right(starts, end) - 1
                if end in self._taken or (span >= 0 and end <= spans[span][1]):
                    continue
                self._taken.add(end)
                use = self._reference(capture, node)
                if use is not None:
                    yield use

    def _reference(self, capture: str, node: Node) -> NameUse | None:
        """Return the reference of a captured name, `None` if its meaning is unknown."""
        name, receiver, owner = self._text(node), "", self._owner(node.start_byte)
        if capture == "attribute":
            name += "Attribute"
        elif capture == "member":
            receiver, _, name = plain_expression(name).rpartition(".")
            if not receiver or name.endswith("()"):
                return None
        elif self._is_in_macro(node):
            return None
        if self._family != "java":
            return self._check_use(_REFERENCES[capture], owner, receiver, name, node)
        # A name of Java that is not called is a type or a field.
        is_variable = capture == "ref" and self._find(name, owner)[1] is not None
        return None if is_variable else self._check_use(NAMES_TYPE, owner, receiver, name, node)


_SCOPE_CAPTURES = {
    "block": "block",
    "function": "function scope",
    "object": "object",
    "class": "class scope",
}
_MERGED = frozenset({"block", "function scope"})
_EXPORTS = frozenset({"exports", "module.exports"})
_OWN_THIS = CONTAINERS | {"function scope"}
# The caller of a function, or the owner of an object, decides the meaning of `this` there.
_UNKNOWN_THIS = frozenset({"function scope", "object", "constant"})


def _lines_before(name: str, text: str) -> int:
    """Return the line of *text* where a name first occurs, from 0."""
    if "\n" not in text or not name or len(text) > _LONGEST_IMPORT:
        return 0
    found = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
    return text.count("\n", 0, found.start()) if found else 0


def _without_empty_scopes(facts: SourceFacts) -> SourceFacts:
    """Return *facts* without the scopes that nothing is looked up in."""
    kept = {one.owner for one in facts.variables} | {one.owner for one in facts.imports}
    kept.update(one.parent for one in facts.definitions if one.name)
    kept.update(use.owner for use in facts.uses if use.kind == "inherits")
    places = [-1] * len(facts.definitions)
    definitions: list[Definition] = []
    for place, one in enumerate(facts.definitions):
        parent = places[one.parent] if one.parent >= 0 else -1
        if one.kind in SCOPES and place not in kept:
            places[place] = parent
        else:
            places[place] = len(definitions)
            definitions.append(one._replace(parent=parent))
    places.append(-1)
    return SourceFacts(
        definitions,
        [one._replace(owner=places[one.owner]) for one in facts.imports],
        [
            NameUse(kind, places[owner], receiver, name, line)
            for kind, owner, receiver, name, line in facts.uses
        ],
        [one._replace(owner=places[one.owner]) for one in facts.variables],
        facts.package,
        facts.documentation,
        facts.lines,
        facts.has_errors,
    )


_MARKS = re.compile(r"^(?:/\*+|//[/!]*|\*+(?!/))\s?|\s*\*+/\s*$|</?[a-zA-Z][^<>]{0,80}>")
_STRING = re.compile(r"""[A-Za-z]{0,2}('''|\"\"\"|'|")(.*)\1\Z""", re.DOTALL)
_QUOTED = r"""("(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`[^`]*+`)"""
_COMMENTS = re.compile(rf"{_QUOTED}|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_PYTHON_COMMENTS = re.compile(rf"{_QUOTED}|#[^\n]*+")
_BODY_MARKS = re.compile(r"(?:\s*(?:=>|[{:=;]))+\Z")


def _signature(text: str, family: str) -> str:
    """Return the *text* of a definition above its body, without comments, on one line."""
    comments = _PYTHON_COMMENTS if family == "python" else _COMMENTS
    text = " ".join(comments.sub(lambda found: found[1] or "", text).split())
    return _BODY_MARKS.sub("", text)[:_LONGEST_SIGNATURE]


def _prose(text: str) -> str:
    """Return the first paragraph of *text* on one line."""
    paragraph = text.strip().partition("\n\n")[0][: 4 * _LONGEST_TEXT]
    return " ".join(paragraph.split())[:_LONGEST_TEXT]
