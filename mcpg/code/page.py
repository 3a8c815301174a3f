"""Pages of source files: Markdown-LD documents that are of no tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from mcpg.catalog.model import SourceDocument
from mcpg.code.model import CodeEdge, CodeEdgeKind, CodeFile, Symbol, SymbolKind
from mcpg.json_types import JsonObject

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
