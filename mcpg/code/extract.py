"""Facts of one source file: its definitions, imports, uses of names, and types of variables.

Facts depend on the content of the file alone, so they can be cached by it. Queries run in
tree-sitter; Python only sees the nodes that they capture.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcpg.code.languages import GRAMMARS, UnparsableError, parse_source, query

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


UNKNOWN = "?"
"""The plain form of an expression whose type cannot be told from names."""

_LONGEST = 300
_SIMPLE = re.compile(r"[\w$]+(?:\.[\w$]+)*\Z")
_PLAIN = re.compile(r"[\w$]+(?:\(\))?(?:\.[\w$]+(?:\(\))?)*\Z")
_BEFORE = re.compile(r"(?:(?:await|new|mut|const|yield)\b|[&*(])\s*")
_OPEN, _CLOSE = "([{<", ")]}>"
_TYPE_WORDS = re.compile(
    r"(?:(?:mut|dyn|impl|const|final|readonly|ref|out|in)\s+|[&*?:\s]|'\w+\s)+"
)
_WRAPPED = re.compile(
    r"(?:typing\.)?(?:Optional|ClassVar|Final|Annotated|Type|type|Box|Rc|Arc|Option|Promise|Task)"
    r"\s*[\[<](?P<inner>.*)[\]>]\Z",
    re.DOTALL,
)
_NOTHING = frozenset({"None", "null", "undefined"})
_WRAPPERS = 4


def plain_expression(text: str) -> str:
    """Return the dotted name that *text* is, `UNKNOWN` for other expressions.

    Arguments are left out: `Shop(1).items` becomes `Shop().items`, and so does a literal of a
    struct, `Shop{...}`.
    """
    if len(text) > _LONGEST:
        return UNKNOWN
    if _SIMPLE.match(text):
        return text
    text = text.strip()
    while (before := _BEFORE.match(text)) is not None:
        text = text[before.end() :]
        if before[0].startswith("("):
            text = text.removesuffix(")")
    flat = "".join(_empty_brackets(text).split())
    for mark in ("::", "?.", "!.", "->"):
        flat = flat.replace(mark, ".")
    return flat if _PLAIN.match(flat) else UNKNOWN


def _empty_brackets(text: str) -> str:
    """Empty the outermost brackets; those of type arguments go, a subscript stays unknown."""
    parts: list[str] = []
    depth = 0
    for character in text:
        if character in _OPEN:
            depth += 1
            if depth == 1 and character != "<":
                parts.append("[" if character == "[" else "()")
        elif character in _CLOSE:
            depth -= 1
        elif depth == 0:
            parts.append(character)
    return "".join(parts).replace(".()", "()")


def plain_type(text: str) -> str:
    """Return the dotted name of the type *text* without wrappers, `UNKNOWN` for other types."""
    if len(text) > _LONGEST:
        return UNKNOWN
    for _ in range(_WRAPPERS):
        text = _TYPE_WORDS.sub("", text.strip().strip("\"'"), count=1).rstrip("?! ")
        choices = [part.strip() for part in text.split("|")]
        known = [part for part in choices if part not in _NOTHING]
        text = known[0] if len(known) == 1 else text
        wrapped = _WRAPPED.match(text)
        if wrapped is None:
            break
        text = wrapped["inner"]
    text = text.partition("<")[0].strip().replace("::", ".")
    if "[" in text and not text.endswith("[]"):
        text = text.partition("[")[0]
    return text if _SIMPLE.match(text) else UNKNOWN


EVERYTHING = "*"
"""The name of an import of all names of a module."""

_MOST_NAMES = 2000
_DEEPEST = 8


class Import(NamedTuple):
    """A name that an import statement binds.

    Attributes:
        local: The name in the file, `*` for all names of the module.
        module: The module as written.
    """

    local: str
    module: str
    name: str
    line: int


_PYTHON_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+import\s+\(?(.*?)\)?\s*\Z", re.DOTALL)
_PYTHON_COMMENT = re.compile(r"#[^\n]*|\\\n")
_AS = re.compile(r"\s+as\s+|\s*:\s*")
_QUOTED = re.compile(r"""["'`]([^"'`]+)["'`]""")
_BRACES = re.compile(r"\{([^{}]*)\}")
_JS_NAMESPACE = re.compile(r"\*\s*(?:as\s+([\w$]+))?")
_JS_DEFAULT = re.compile(r"(?:import|const|let|var)?\s*(?:type\s+)?([\w$]+)\s*(?:,|from\b|=)")
_WORD = re.compile(r"[\w$.]+")


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Return name and local name of each of a list such as `a, b as c`."""
    for part in text.split(",")[:_MOST_NAMES]:
        name, _, local = _AS.sub(" as ", part.strip()).partition(" as ")
        name = name.removeprefix("type ").strip()
        if name:
            yield name, local.strip() or name


def _python(text: str) -> Iterator[tuple[str, str, str]]:
    text = _PYTHON_COMMENT.sub("", text)
    found = _PYTHON_FROM.match(text)
    if found:
        module = "".join(found[1].split())
        for name, local in _names(found[2]):
            yield (EVERYTHING if name == EVERYTHING else local), module, name
        return
    for name, local in _names(text.removeprefix("import")):
        if local != name:
            yield local, name, ""
            continue
        # `import a.b` binds `a`, and makes `a.b` known in it.
        top = name.partition(".")[0]
        yield top, top, ""
        if top != name:
            yield name, name, ""


def _javascript(text: str) -> Iterator[tuple[str, str, str]]:
    quoted = _QUOTED.findall(text)
    if not quoted:
        return
    module, before = quoted[-1], text[: text.rindex(quoted[-1])]
    braces, namespace = _BRACES.search(before), _JS_NAMESPACE.search(before)
    default = _JS_DEFAULT.match(before)
    for name, local in _names(braces[1]) if braces else ():
        yield local, module, name
    if namespace:
        yield namespace[1] or EVERYTHING, module, "" if namespace[1] else EVERYTHING
    is_export = before.startswith("export")
    if default and not is_export and default[1] not in {"import", "type"}:
        yield default[1], module, "" if "require" in before else "default"
    elif not braces and not namespace:
        yield "", module, ""


def _go(text: str) -> Iterator[tuple[str, str, str]]:
    quoted = _QUOTED.search(text)
    if quoted:
        alias = text[: quoted.start()].strip()
        yield alias or quoted[1].rpartition("/")[2], quoted[1], ""


def _java(text: str) -> Iterator[tuple[str, str, str]]:
    words = _WORD.findall(text.replace("*", "$$"))
    module, _, name = (words[-1] if words else "").rpartition(".")
    if name == "$$":
        yield EVERYTHING, module, EVERYTHING
    elif name:
        yield name, module, name


def _csharp(text: str) -> Iterator[tuple[str, str, str]]:
    words = [word for word in _WORD.findall(text) if word not in {"global", "using", "static"}]
    if "=" in text and len(words) > 1:
        module, _, name = words[1].rpartition(".")
        yield words[0], module, name
    elif words:
        yield EVERYTHING, words[0], EVERYTHING


def _rust(text: str) -> Iterator[tuple[str, str, str]]:
    tree = text.partition("use ")[2].rstrip("; \n")
    for path in _expand_tree(tree, 0):
        target, _, alias = path.partition(" as ")
        module, _, name = target.strip().replace("::", ".").rpartition(".")
        if name == "self":
            module, _, name = module.rpartition(".")
        yield alias.strip() or name, module, name


def _expand_tree(tree: str, depth: int) -> Iterator[str]:
    """Return the paths of a tree such as `a::{b, c::{d, e}}`."""
    start, end = tree.find("{"), tree.rfind("}")
    if start < 0 or end < start or depth > _DEEPEST:
        yield tree.strip()
        return
    stem, inner = tree[:start].strip(), tree[start + 1 : end]
    level, begin = 0, 0
    for place, character in enumerate(f"{inner},"):
        level += (character == "{") - (character == "}")
        is_last = place == len(inner)
        part = inner[begin:place].strip()
        if (is_last and part) or (not is_last and character == "," and level == 0):
            yield from (stem + rest for rest in _expand_tree(part, depth + 1))
            begin = place + 1


_READERS: Mapping[str, Callable[[str], Iterator[tuple[str, str, str]]]] = {
    "csharp": _csharp,
    "go": _go,
    "java": _java,
    "javascript": _javascript,
    "python": _python,
    "rust": _rust,
}


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
        kind: A `SymbolKind`, or `IMPL`.
        parent: Position of the definition that it stands in, -1 for none.
        owner: Name of the type that it is a member of, where that is not its parent.
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
        receiver: Plain form of what stands before the name, "" for nothing.
    """

    kind: str
    owner: int
    receiver: str
    name: str
    line: int


class Variable(NamedTuple):
    """A variable, parameter or field.

    Attributes:
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
        self._family = GRAMMARS[grammar].family
        self._lines = source.split(b"\n")
        self._package = ""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._parents: list[int] = []
        self._docs: dict[int, str] = {}

    def run(self, tree: Tree) -> SourceFacts:
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
                bound = _READERS[self._family](self._text(node).strip())
                imports += [Import(*names, node.start_point[0] + 1) for names in bound]
            elif "name" not in found:
                variables += self._variables(found)
        return SourceFacts(
            [
                one._replace(documentation=self._docs.get(place) or one.documentation)
                for place, one in enumerate(definitions)
            ],
            imports,
            uses,
            variables,
            self._package,
            self._docs.get(-1, ""),
            len(self._lines),
            tree.root_node.has_error,
        )

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _definitions(self, matches: list[Captures]) -> list[Definition]:
        """Return the definitions in order, and note which stands in which."""
        found: dict[tuple[int, int], tuple[str, Node, Captures]] = {}
        for captures in matches:
            if "name" in captures:
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
            text = self._text(node)
            quoted = _STRING.match(text)
            self._docs.setdefault(
                self._owner(node.start_byte), _prose(quoted[2] if quoted else text)
            )
            return
        if "package" in found:
            self._package = self._package or self._text(found["package"][0])
            return
        value = UNKNOWN
        if "type" in found:
            plain = plain_type(self._text(found["type"][0]))
            value = plain if plain == UNKNOWN else f"{plain}()"
        elif "value" in found:
            value = plain_expression(self._text(found["value"][0]))
        for key in ("variable", "parameter", "field"):
            for node in found.get(key, ()):
                name = self._text(node)[:_LONGEST_NAME].replace("this.", "self.")
                if key == "field":
                    name = f"self.{name}"
                yield Variable(self._owner(node.start_byte), name, value)


_MARKS = re.compile(r"^(?:/\*+|//[/!]*|\*+(?!/))\s?|\s*\*+/\s*$|</?[a-zA-Z][^<>]{0,80}>")
_STRING = re.compile(r"""[A-Za-z]{0,2}('''|\"\"\"|'|")(.*)\1\Z""", re.DOTALL)


def _prose(text: str) -> str:
    """Return the first paragraph of *text* on one line."""
    paragraph = text.strip().partition("\n\n")[0][: 4 * _LONGEST_TEXT]
    return " ".join(paragraph.split())[:_LONGEST_TEXT]
