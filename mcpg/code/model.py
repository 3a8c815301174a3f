"""Symbols of source code, the edges between them, and their files."""

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
"""The separator between the path of a file and the qualified name of a symbol in an id."""


class SymbolKind(StrEnum):
    """The kind of a symbol."""

    CLASS = "class"
    CONSTANT = "constant"
    CONSTRUCTOR = "constructor"
    ENUM = "enum"
    FIELD = "field"
    FILE = "file"
    FUNCTION = "function"
    INTERFACE = "interface"
    METHOD = "method"
    MODULE = "module"
    STRUCT = "struct"
    TRAIT = "trait"
    TYPE = "type"
    VARIABLE = "variable"


CALLABLE_KINDS = frozenset({SymbolKind.CONSTRUCTOR, SymbolKind.FUNCTION, SymbolKind.METHOD})
"""The kinds of symbols that are called."""

TYPE_KINDS = frozenset(SymbolKind) - {
    *CALLABLE_KINDS,
    SymbolKind.CONSTANT,
    SymbolKind.FIELD,
    SymbolKind.FILE,
    SymbolKind.MODULE,
    SymbolKind.VARIABLE,
}
"""The kinds of symbols that have members."""


KINDS_BY_WORD = {
    "class": frozenset({SymbolKind.CLASS, SymbolKind.STRUCT}),
    "constant": frozenset({SymbolKind.CONSTANT}),
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
ways, and few people distinguish methods from functions."""


class CodeEdgeKind(StrEnum):
    """The kind of an edge of a code graph."""

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
        source: Qualified name of the symbol that it leaves, "" for the file itself.
        target: `path::qualified name` of a symbol, the path of a file, or the name of something
            outside the code.
        is_guess: Whether only a name supports it, and no scope, import or type; or only syntax,
            if an index of the code has nothing.
        is_external: Whether the target is outside the code.
    """

    kind: CodeEdgeKind
    source: str
    target: str
    lines: tuple[int, ...] = ()
    is_external: bool = False
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class CodeFile:
    """The symbols and edges of one source file.

    Attributes:
        path: Its path in the repository, with `/`.
        branch: Branch that was read, "" if unknown.
        edges: The edges that leave it, without those of definition, which follow from the names.
        indexer: Name and version of the indexer whose SCIP index has the edges, "" for none.
        is_newer: Whether the file is newer than an index that describes it, which is not used.
    """

    path: str
    language: str
    repository: str
    branch: str
    lines: int
    symbols: tuple[Symbol, ...] = ()
    edges: tuple[CodeEdge, ...] = ()
    indexer: str = ""
    is_newer: bool = False

    def symbol_id(self, symbol: Symbol) -> str:
        return f"{self.path}{SEPARATOR}{symbol.name}"


ENTRY_TYPE = "source-code"
"""The `entry_type` of pages of source files."""

_FOLDER = "code"
_URI = "https://managedcode.com/mcpgateway/knowledge/code/"
_MARK = f'entry_type: "{ENTRY_TYPE}"\n'
_LONGEST_FRONT = 4096
_FENCE = "```"
_DEFAULTS: JsonObject = {
    "signature": "",
    "documentation": "",
    "lines": [],
    "external": False,
    "guess": False,
}
"""The defaults of members that records leave out."""

_SYMBOL_KINDS = {kind.value: kind for kind in SymbolKind}
_EDGE_KINDS = {kind.value: kind for kind in CodeEdgeKind}


def write_page(file: CodeFile) -> SourceDocument:
    """Return the page of *file*; equal files give equal texts."""
    place = _join_place(file.repository, file.branch, file.path)
    uri = page_uri(file.repository, file.branch, file.path)
    facts: JsonObject = {"path": file.path, "language": file.language}
    facts |= {"repository": file.repository, "branch": file.branch, "lines": file.lines}
    facts |= {"indexer": file.indexer} if file.indexer else {}
    facts |= {"newerThanIndex": True} if file.is_newer else {}
    symbols: list[JsonObject] = [
        {
            "symbol": one.name,
            "kind": one.kind.value,
            "lines": [one.first_line, one.last_line],
            "signature": one.signature,
            "documentation": one.documentation,
        }
        for one in file.symbols
    ]
    edges: list[JsonObject] = [
        {
            "edge": one.kind.value,
            "from": one.source,
            "to": one.target,
            "lines": list(one.lines),
            "external": one.is_external,
            "guess": one.is_guess,
        }
        for one in file.edges
    ]
    # A path such as `[[...slug]]/page.tsx` is not a link.
    heading = _json(file.path)[1:-1].replace("[", "\\[")
    text = "".join(
        (
            f"---\ntitle: {_json(file.path)}\ntool: false\n{_MARK}canonical_url: {_json(uri)}\n",
            f"source_project: {_json(file.repository)}\n" if file.repository else "",
            f"code: {_json(facts)}\n---\n",
            f"\n# {heading}\n",
            *_write_section("Symbols", symbols),
            *_write_section("Edges", edges),
        )
    )
    # Without characters that a path of a bundle must not have.
    path = quote(place, safe="/ !$&'()+,;=@[]{}~")
    return SourceDocument(f"{_FOLDER}/{path}.md", text, uri)


def page_uri(repository: str, branch: str, path: str) -> str:
    """Return the URI of the page of the file at *path*."""
    return f"{_URI}{quote(_join_place(repository, branch, path))}/"


def _join_place(*parts: str) -> str:
    return "/".join(filter(None, parts))


def _write_section(heading: str, records: list[JsonObject]) -> Iterator[str]:
    if records:
        yield f"\n## {heading}\n\n{_FENCE}jsonl\n"
        for record in records:
            kept = {key: one for key, one in record.items() if one != _DEFAULTS.get(key, _MARK)}
            yield f"{_json(kept)}\n"
        yield f"{_FENCE}\n"


def _json(value: object) -> str:
    # Escapes keep line separators and control characters of untrusted names out of YAML.
    return json.dumps(value, ensure_ascii=True)


def is_code_page(document: SourceDocument) -> bool:
    """Return whether *document* is the page of a source file, without parsing it."""
    return _MARK in document.content[:_LONGEST_FRONT]


def read_page(document: SourceDocument) -> CodeFile | None:
    """Read the output of `write_page`, `None` for another page; damaged records are left out."""
    if not is_code_page(document):
        return None
    front, _, body = document.content.partition("\n---\n")
    line = next((line for line in front.split("\n") if line.startswith("code: ")), "")
    return read_body(_parse_json(line.removeprefix("code: ")), body)


def read_body(facts: object, body: str) -> CodeFile | None:
    """Read a page by *facts*, the member `code` of its front matter, and the text below that."""
    if not isinstance(facts, dict) or not _text(facts, "path"):
        return None
    lines = [line for line in body.split("\n") if line.startswith("{")]
    # Parsing all lines at once takes a third of the time, if none is damaged.
    whole = _parse_json(f"[{','.join(lines)}]")
    if not isinstance(whole, list) or len(whole) != len(lines):
        whole = map(_parse_json, lines)
    records = [one for one in whole if isinstance(one, dict)]
    count = facts.get("lines")
    return CodeFile(
        path=_text(facts, "path"),
        language=_text(facts, "language"),
        repository=_text(facts, "repository"),
        branch=_text(facts, "branch"),
        lines=count if isinstance(count, int) else 0,
        symbols=tuple(filter(None, (_read_symbol(one) for one in records if "symbol" in one))),
        edges=tuple(filter(None, (_read_edge(one) for one in records if "edge" in one))),
        indexer=_text(facts, "indexer"),
        is_newer=facts.get("newerThanIndex") is True,
    )


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple([item for item in value if type(item) is int]) if isinstance(value, list) else ()


def _read_symbol(record: JsonObject) -> Symbol | None:
    lines = _numbers(record.get("lines"))
    kind, name = _SYMBOL_KINDS.get(_text(record, "kind")), _text(record, "symbol")
    if not name or kind is None or not lines:
        return None
    signature, documentation = _text(record, "signature"), _text(record, "documentation")
    return Symbol(name, kind, lines[0], lines[-1], signature, documentation)


def _read_edge(record: JsonObject) -> CodeEdge | None:
    kind, target = _EDGE_KINDS.get(_text(record, "edge")), _text(record, "to")
    if not target or kind is None:
        return None
    return CodeEdge(
        kind,
        _text(record, "from"),
        target,
        _numbers(record.get("lines")),
        record.get("external") is True,
        record.get("guess") is True,
    )
