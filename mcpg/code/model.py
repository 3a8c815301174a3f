"""Symbols of source code, the edges between them, and the files that they stand in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from mcpg.catalog.model import SourceDocument
from mcpg.text.json_values import JsonObject

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


ENTRY_TYPE = "source-code"
"""The `entry_type` of pages of source files."""

_FOLDER = "code"
_URI = "https://managedcode.com/mcpgateway/knowledge/code/"
_MARK = f'entry_type: "{ENTRY_TYPE}"\n'
_LONGEST_FRONT = 4096
_FENCE = "```"
_SYMBOLS, _EDGES = "Symbols", "Edges"
_SYMBOL_KINDS = {kind.value: kind for kind in SymbolKind}
_EDGE_KINDS = {kind.value: kind for kind in CodeEdgeKind}


def write_page(file: CodeFile) -> SourceDocument:
    """Return the page of *file*; equal files give equal texts."""
    place = "/".join(filter(None, (file.repository, file.branch, file.path)))
    uri = f"{_URI}{quote(place)}/"
    return SourceDocument(f"{_FOLDER}/{_plain(place)}.md", "".join(_parts(file, uri)), uri)


def _plain(path: str) -> str:
    """Return *path* without characters that a path of a bundle must not have."""
    segments = (quote(segment, safe=" !$&'()+,;=@[]{}~") for segment in path.split("/"))
    return "/".join(segments)


def _parts(file: CodeFile, uri: str) -> Iterator[str]:
    facts = {"language": file.language, "repository": file.repository, "branch": file.branch}
    yield f"---\ntitle: {_json(file.path)}\ntool: false\n{_MARK}canonical_url: {_json(uri)}\n"
    if file.repository:
        yield f"source_project: {_json(file.repository)}\n"
    yield f"code: {_json({'path': file.path, **facts, 'lines': file.lines})}\n---\n"
    yield f"\n# {_json(file.path)[1:-1]}\n"
    yield from _section(_SYMBOLS, [_symbol_json(one) for one in file.symbols])
    yield from _section(_EDGES, [_edge_json(one) for one in file.edges])


def _section(heading: str, records: list[JsonObject]) -> Iterator[str]:
    if records:
        yield f"\n## {heading}\n\n{_FENCE}jsonl\n"
        yield from (f"{_json(record)}\n" for record in records)
        yield f"{_FENCE}\n"


def _json(value: object) -> str:
    # Escapes keep line separators and control characters of untrusted names out of YAML.
    return json.dumps(value, ensure_ascii=True)


def _symbol_json(symbol: Symbol) -> JsonObject:
    record: JsonObject = {
        "symbol": symbol.name,
        "kind": symbol.kind.value,
        "lines": [symbol.first_line, symbol.last_line],
    }
    if symbol.signature:
        record["signature"] = symbol.signature
    if symbol.documentation:
        record["documentation"] = symbol.documentation
    return record


def _edge_json(edge: CodeEdge) -> JsonObject:
    record: JsonObject = {"edge": edge.kind.value, "from": edge.source, "to": edge.target}
    if edge.lines:
        record["lines"] = list(edge.lines)
    if edge.weight != 1:
        record["weight"] = edge.weight
    if edge.is_external:
        record["external"] = True
    return record


def is_code_page(document: SourceDocument) -> bool:
    """Return whether *document* is the page of a source file, without parsing it."""
    return _MARK in document.content[:_LONGEST_FRONT]


def read_page(document: SourceDocument) -> CodeFile | None:
    """Read a page that `write_page` wrote; records that are damaged are passed over.

    Returns:
        The file; `None` if *document* is no page of a source file.
    """
    if not is_code_page(document):
        return None
    front, _, body = document.content.partition("\n---\n")
    line = next((line for line in front.split("\n") if line.startswith("code: ")), "")
    return read_body(_parse_json(line.removeprefix("code: ")), body)


def read_body(facts: object, body: str) -> CodeFile | None:
    """Read a page whose front matter is parsed already.

    Args:
        facts: The value of the key `code` of its front matter.
        body: The text below the front matter.

    Returns:
        The file; `None` if *facts* are none of a source file.
    """
    if not isinstance(facts, dict) or not _text(facts, "path"):
        return None
    records = list(_records(body))
    return CodeFile(
        path=_text(facts, "path"),
        language=_text(facts, "language"),
        repository=_text(facts, "repository"),
        branch=_text(facts, "branch"),
        lines=_number(facts.get("lines")),
        symbols=tuple(filter(None, (_symbol(one) for one in records if "symbol" in one))),
        edges=tuple(filter(None, (_edge(one) for one in records if "edge" in one))),
    )


def _records(body: str) -> Iterator[JsonObject]:
    lines = [line for line in body.split("\n") if line.startswith("{")]
    # Parsing all lines at once takes a third of the time, if none is damaged.
    whole = _parse_json(f"[{','.join(lines)}]")
    found = (
        whole if isinstance(whole, list) and len(whole) == len(lines) else map(_parse_json, lines)
    )
    return (one for one in found if isinstance(one, dict))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple([item for item in value if type(item) is int]) if isinstance(value, list) else ()


def _symbol(record: JsonObject) -> Symbol | None:
    lines = _numbers(record.get("lines"))
    kind, name = _SYMBOL_KINDS.get(_text(record, "kind")), _text(record, "symbol")
    if not name or kind is None or not lines:
        return None
    signature, documentation = _text(record, "signature"), _text(record, "documentation")
    return Symbol(name, kind, lines[0], lines[-1], signature, documentation)


def _edge(record: JsonObject) -> CodeEdge | None:
    kind, target = _EDGE_KINDS.get(_text(record, "edge")), _text(record, "to")
    weight = record.get("weight", 1.0)
    if not target or kind is None:
        return None
    return CodeEdge(
        kind,
        _text(record, "from"),
        target,
        _numbers(record.get("lines")),
        float(weight) if isinstance(weight, int | float) else 1.0,
        record.get("external") is True,
    )
