"""SCIP indexes: the findings of compilers about names in source files.

Indexers write them for many languages. Edges need only a part, which is decoded: definitions and
references of each document, by symbol, and which types implement which. Unknown fields are passed
over, so that files of other versions of the format can be read.

Source: https://github.com/sourcegraph/scip, `scip.proto`; Protocol Buffers, "Encoding".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from mcpg.code.facts import SourceFacts
from mcpg.code.model import (
    CALLABLE_KINDS,
    SEPARATOR,
    CodeEdge,
    CodeEdgeKind,
    CodeFile,
    Symbol,
    SymbolKind,
)
from mcpg.errors import InputError
from mcpg.files import read_bytes

MOST_BYTES = 256 * 1024 * 1024
"""Largest index that is read."""

SUFFIX = ".scip"

_MOST_VARINT = 70
_DEFINITION, _IMPORT = 1, 2
_LOCAL = "local "
_ONE_LINE = 3
_LONGEST_NAME = 200
_LONGEST_SYMBOL = 4_096


class Occurrence(NamedTuple):
    """An occurrence of a symbol.

    Attributes:
        line: The line, from 1.
        columns: First column and the end, `None` over several lines.
        last_line: Last line of the definition, 0 if unknown.
    """

    symbol: str
    line: int
    columns: tuple[int, int] | None
    is_definition: bool
    is_import: bool
    last_line: int = 0


@dataclass(slots=True)
class ScipDocument:
    """The content of an index for a source file.

    Attributes:
        bases: The symbols that each symbol implements.
    """

    path: str = ""
    occurrences: list[Occurrence] = field(default_factory=list)
    bases: list[tuple[str, str]] = field(default_factory=list)
    kinds: dict[str, SymbolKind] = field(default_factory=dict)


@dataclass(slots=True)
class ScipIndex:
    """An index, with the name and version of its indexer."""

    indexer: str = ""
    documents: list[ScipDocument] = field(default_factory=list)


# Kinds of `SymbolInformation.Kind` that the descriptor of a symbol does not distinguish.
_KINDS = {
    7: SymbolKind.CLASS,
    9: SymbolKind.CONSTRUCTOR,
    11: SymbolKind.ENUM,
    17: SymbolKind.FUNCTION,
    21: SymbolKind.INTERFACE,
    26: SymbolKind.METHOD,
    42: SymbolKind.INTERFACE,
    49: SymbolKind.STRUCT,
    53: SymbolKind.TRAIT,
    54: SymbolKind.TYPE,
    55: SymbolKind.TYPE,
}


def read_index(path: Path) -> ScipIndex:
    """Read the SCIP index at *path*."""
    data = memoryview(read_bytes(path, MOST_BYTES))
    found = ScipIndex()
    try:
        for number, value in _read_fields(data):
            if number == 1 and isinstance(value, memoryview):
                found.indexer = _read_indexer(value)
            elif number == 2 and isinstance(value, memoryview):  # noqa: PLR2004 - of scip.proto
                found.documents.append(_read_document(value))
    except ValueError as fault:
        message = f"no SCIP index, or a part of one: {fault}"
        raise InputError(message, place=str(path), remedy="run the indexer again") from fault
    if not found.documents:
        message = "no SCIP index: it has no documents"
        raise InputError(message, place=str(path), remedy="run the indexer again")
    return found


def _read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the numbers and values of the fields of a message; raises `ValueError` for damage."""
    place, end = 0, len(data)
    while place < end:
        key, place = _read_varint(data, place)
        wire = key & 7
        if wire == 0:
            number, place = _read_varint(data, place)
            yield key >> 3, number
            continue
        if wire == 2:  # noqa: PLR2004 - of the encoding
            size, place = _read_varint(data, place)
        elif wire in {1, 5}:
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"a field of unknown type {wire}")
        if size > end - place:
            raise ValueError("it ends too early")
        if wire == 2:  # noqa: PLR2004 - as above
            yield key >> 3, data[place : place + size]
        place += size


def _read_varint(data: memoryview, place: int) -> tuple[int, int]:
    number = shift = 0
    while shift < _MOST_VARINT and place < len(data):
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the highest bit
            return number, place
        shift += 7
    raise ValueError("a number that does not end")


def _read_text(value: int | memoryview) -> str:
    return str(value, "utf-8", "replace") if isinstance(value, memoryview) else ""


def _read_indexer(data: memoryview) -> str:
    """Return name and version of the tool that the metadata names."""
    tool = next((one for number, one in _read_fields(data) if number == 2), None)  # noqa: PLR2004
    parts = _read_fields(tool) if isinstance(tool, memoryview) else ()
    names = [_read_text(one) for number, one in parts if number in {1, 2}]
    return " ".join(filter(None, names))[:_LONGEST_NAME]


def _read_document(data: memoryview) -> ScipDocument:
    found = ScipDocument()
    for number, value in _read_fields(data):
        if not isinstance(value, memoryview):
            continue
        if number == 1:
            found.path = _read_text(value)
        elif number == 2:  # noqa: PLR2004 - of scip.proto
            one = _read_occurrence(value)
            if one is not None:
                found.occurrences.append(one)
        elif number == 3:  # noqa: PLR2004 - as above
            _read_information(value, found)
    return found


def _read_occurrence(data: memoryview) -> Occurrence | None:
    fields: defaultdict[int, int | memoryview] = defaultdict(int, _read_fields(data))
    symbol, place = _read_text(fields[2]), _read_numbers(fields[1])
    if not 0 < len(symbol) <= _LONGEST_SYMBOL or len(place) < _ONE_LINE:
        return None
    whole = _read_numbers(fields[7])
    roles = fields[3] if isinstance(fields[3], int) else 0
    return Occurrence(
        symbol,
        place[0] + 1,
        (place[1], place[2]) if len(place) == _ONE_LINE else None,
        bool(roles & _DEFINITION),
        bool(roles & _IMPORT),
        whole[2] + 1 if len(whole) > _ONE_LINE else 0,
    )


def _read_numbers(value: int | memoryview) -> list[int]:
    numbers, place = [], 0
    while isinstance(value, memoryview) and place < len(value):
        number, place = _read_varint(value, place)
        numbers.append(number)
    return numbers


def _read_information(data: memoryview, found: ScipDocument) -> None:
    """Note the kind of a symbol, and the symbols that it implements."""
    symbol, bases = "", []
    for number, value in _read_fields(data):
        if number == 1:
            symbol = _read_text(value)
        elif number == 5 and isinstance(value, int) and value in _KINDS:  # noqa: PLR2004
            found.kinds[symbol] = _KINDS[value]
        elif number == 4 and isinstance(value, memoryview):  # noqa: PLR2004 - as above
            parts = dict(_read_fields(value))
            if parts.get(3):
                bases.append(_read_text(parts.get(1, 0)))
    found.bases += [(symbol, base) for base in bases]


# A descriptor is a name, in backticks if it has other signs, and a suffix for its kind.
_DESCRIPTOR = re.compile(r"(?:`((?:[^`]|``)*)`|([\w+$-]+))(\([\w+$-]*\)\.|[/#.:!])")
_MODULE = "__init__"


def read_descriptors(symbol: str) -> list[tuple[str, str]]:
    """Return names and suffixes of the descriptors of a *symbol*.

    There are none for parameters, and for symbols without a name.
    """
    # Scheme, manager, name and version come before them; a space within one is doubled.
    parts = re.split(r"(?<! ) (?! )", symbol, maxsplit=4)
    text = parts[-1] if len(parts) > 4 else ""  # noqa: PLR2004 - as above
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        match = _DESCRIPTOR.match(text, place)
        if match is None:
            return []
        quoted, plain, suffix = match.groups()
        name = plain if quoted is None else quoted.replace("``", "`")
        found.append((name, "()" if suffix.startswith("(") else suffix))
        place = match.end()
    return found


def use_indexes(
    files: Sequence[CodeFile],
    facts: Mapping[str, tuple[str, SourceFacts]],
    texts: Mapping[str, str],
    indexed: Mapping[str, tuple[ScipDocument, str]],
) -> list[CodeFile]:
    """Return *files* with the edges of their documents in indexes instead of those by syntax.

    *facts* has grammar and facts of each file, by path, *texts* the text of each indexed file, and
    *indexed* the document of each file that an index describes as it is, with the indexer.
    """
    known = {file.path: file for file in files}
    ids: dict[str, str] = {}
    whole: dict[str, CodeFile] = {}
    for path, (document, indexer) in indexed.items():
        own: dict[str, str] = {}
        file = _add_symbols(known[path], document, texts[path].split("\n"), own)
        whole[path] = replace(file, indexer=indexer)
        for symbol, target in own.items():
            # The symbols of functions within functions belong only to their file.
            ids.setdefault(f"{path}\0{symbol}" if symbol.startswith(_LOCAL) else symbol, target)
    targets = _Targets(ids, whole.values())
    return [
        _link_file(whole[file.path], facts[file.path][1], texts[file.path], indexed, targets)
        if file.path in whole
        else file
        for file in files
    ]


class _Targets:
    """The targets of the symbols of indexes.

    Attributes:
        ids: The ids of our symbols and files, by the symbol in an index.
    """

    def __init__(self, ids: Mapping[str, str], files: Iterable[CodeFile]) -> None:
        self.ids = ids
        self._types = {
            file.symbol_id(one): f"{file.path}{SEPARATOR}{one.parent}"
            for file in files
            for one in file.symbols
            if one.kind in CALLABLE_KINDS and one.parent
        }

    def find(self, symbol: str, path: str, text: str) -> str | None:
        """Return the target of a *symbol* that is written as *text* in a file, `None` for none."""
        target = self.ids.get(f"{path}\0{symbol}" if symbol.startswith(_LOCAL) else symbol)
        around = self._types.get(target or "")
        # A constructor that is written as its type is called by that.
        return around if around and _short_name(around) == text else target


def _add_symbols(
    file: CodeFile, document: ScipDocument, lines: Sequence[str], ids: dict[str, str]
) -> CodeFile:
    """Return *file* with the definitions that syntax does not show, and note the ids of all."""
    by_name: defaultdict[str, _Namesakes] = defaultdict(_Namesakes)
    for symbol in sorted(file.symbols, key=lambda symbol: symbol.first_line):
        by_name[symbol.short_name].add(symbol)
    added: dict[str, Symbol] = {}
    known: set[str] = set()
    # A parameter may have the name of its function, and be on the same line.
    for one in sorted(document.occurrences, key=lambda one: one.symbol.startswith(_LOCAL)):
        if not one.is_definition or one.symbol in ids or one.line > len(lines):
            continue
        parts = [] if one.symbol.startswith(_LOCAL) else read_descriptors(one.symbol)
        if parts and (parts[-1][1] == "/" or parts[-1] == (_MODULE, ":")):
            ids[one.symbol] = file.path
            continue
        stated = parts[-1][0] if parts else ""
        named = by_name.get(_text_at(one, lines)) or by_name.get(stated)
        found = named.find(one) if named else None
        if found is None and parts and parts[-1][1] != ":":
            found = _make_symbol(one, parts, document, lines)
            found = added.setdefault(found.name, found)
        if found is not None and (parts or found.name not in known):
            ids[one.symbol] = file.symbol_id(found)
            known.add(found.name)
    taken = {symbol.name for symbol in file.symbols}
    further = (symbol for symbol in added.values() if symbol.name not in taken)
    symbols = sorted((*file.symbols, *further), key=lambda symbol: symbol.first_line)
    return replace(file, symbols=tuple(symbols))


class _Namesakes:
    """The definitions of one name in a file, by line."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._symbols: list[Symbol] = []
        self._outer: list[int] = []

    def add(self, symbol: Symbol) -> None:
        """Add a definition that begins no earlier than the others."""
        place = len(self._symbols) - 1
        is_first = place < 0 or self._starts[place] < symbol.first_line
        if not is_first and self._symbols[place].last_line >= symbol.last_line:
            return
        while place >= 0 and self._symbols[place].last_line <= symbol.last_line:
            place = self._outer[place]
        self._starts.append(symbol.first_line)
        self._symbols.append(symbol)
        self._outer.append(place)

    def find(self, one: Occurrence) -> Symbol | None:
        """Return the definition by syntax that a definition in an index is."""
        place = bisect_right(self._starts, one.line) - 1
        if one.symbol.startswith(_LOCAL):
            # A variable of a function may have the name of the function.
            is_same = place >= 0 and self._starts[place] == one.line
            return self._symbols[place] if is_same else None
        while place >= 0 and self._symbols[place].last_line < one.line:
            place = self._outer[place]
        return self._symbols[place] if place >= 0 else None


def _text_at(one: Occurrence, lines: Sequence[str]) -> str:
    """Return the text of an occurrence, "" if columns may count something else."""
    line = lines[one.line - 1] if one.line <= len(lines) else ""
    return line[slice(*one.columns)] if one.columns and line.isascii() else ""


def _make_symbol(
    one: Occurrence, parts: Sequence[tuple[str, str]], document: ScipDocument, lines: Sequence[str]
) -> Symbol:
    """Return the symbol of a definition that syntax does not show, such as a field."""
    name = ".".join(name for name, suffix in parts if suffix != "/")
    is_member = len(parts) > 1 and parts[-2][1] == "#"
    kind = {
        "#": SymbolKind.TYPE,
        "()": SymbolKind.METHOD if is_member else SymbolKind.FUNCTION,
    }.get(parts[-1][1], SymbolKind.FIELD if is_member else SymbolKind.VARIABLE)
    last = min(max(one.line, one.last_line), len(lines))
    signature = " ".join(lines[one.line - 1].split())[:_LONGEST_NAME]
    return Symbol(name, document.kinds.get(one.symbol, kind), one.line, last, signature)


def _link_file(
    file: CodeFile,
    facts: SourceFacts,
    text: str,
    indexed: Mapping[str, tuple[ScipDocument, str]],
    targets: _Targets,
) -> CodeFile:
    """Return *file* with the edges of its document, and those by syntax that it does not decide."""
    document, lines = indexed[file.path][0], text.split("\n")
    sources = _list_sources(file, len(lines))
    uses: defaultdict[tuple[int, str], set[CodeEdgeKind]] = defaultdict(set)
    for use in facts.uses:
        uses[use.line, use.name].add(_EDGE_KINDS.get(use.kind, CodeEdgeKind.REFERENCES))
    imports = {one.line for one in facts.imports}
    edges: defaultdict[tuple[CodeEdgeKind, str, str], set[int]] = defaultdict(set)
    decided: set[tuple[int, str]] = set()
    for one in document.occurrences:
        text_at = _text_at(one, lines)
        target = targets.find(one.symbol, file.path, text_at)
        decided |= {(one.line, text_at), (one.line, _short_name(target or one.symbol))}
        if one.is_definition or target is None or one.line > len(lines):
            continue
        if one.is_import or one.line in imports or target in indexed:
            edges[CodeEdgeKind.IMPORTS, "", target].add(one.line)
            continue
        name = text_at or target.rpartition(".")[2]
        kinds = uses.get((one.line, name), set()) - {CodeEdgeKind.REFERENCES}
        for kind in kinds or {CodeEdgeKind.REFERENCES}:
            edges[kind, sources[one.line], target].add(one.line)
    firsts = {one.name: one.first_line for one in file.symbols}
    for symbol, base in document.bases:
        source, target = targets.ids.get(symbol, ""), targets.ids.get(base)
        name = source.removeprefix(f"{file.path}::")
        if target is None or name == source or not symbol.endswith("#"):
            continue
        if (CodeEdgeKind.INHERITS, name, target) not in edges:
            edges[CodeEdgeKind.INHERITS, name, target].add(firsts[name])
    exact = (CodeEdge(*key, tuple(sorted(edges[key]))) for key in sorted(edges))
    return replace(file, edges=(*exact, *_keep_undecided(file.edges, indexed, decided)))


def _keep_undecided(
    edges: Iterable[CodeEdge], indexed: Collection[str], decided: Collection[tuple[int, str]]
) -> Iterator[CodeEdge]:
    """Yield the *edges* by syntax that an index has nothing about.

    They lead to files that no index describes, or are in places without a name in the index, such
    as names from an import of all names: these are guesses.
    """
    for edge in edges:
        if edge.is_external or edge.target.partition(SEPARATOR)[0] not in indexed:
            yield edge
        elif edge.kind is not CodeEdgeKind.IMPORTS:
            name = _short_name(edge.target)
            lines = tuple(line for line in edge.lines if (line, name) not in decided)
            if lines:
                yield replace(edge, lines=lines, is_guess=True)


def _short_name(symbol: str) -> str:
    """Return the last name of the id of a symbol, here or in an index."""
    parts = re.findall(r"[\w$]+", re.sub(r"#\d+\Z", "", symbol))
    return parts[-1] if parts else ""


def _list_sources(file: CodeFile, lines: int) -> list[str]:
    """Return the name of the innermost symbol around each line, from 1 on; "" for none."""
    sources, free = [""] * (lines + 1), list(range(lines + 2))
    by_size = sorted(file.symbols, key=lambda one: one.first_line - one.last_line)
    for one in by_size[::-1]:
        line = one.first_line
        while line <= min(one.last_line, lines):
            if free[line] == line:
                sources[line], free[line] = one.name, line + 1
            # Lines that have a source are skipped in steps that become longer.
            free[line] = free[min(free[line], lines + 1)]
            line = free[line]
    return sources


_EDGE_KINDS = {
    "calls": CodeEdgeKind.CALLS,
    "creates": CodeEdgeKind.CALLS,
    "inherits": CodeEdgeKind.INHERITS,
}
