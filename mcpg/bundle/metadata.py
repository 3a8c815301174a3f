"""The members of bundles beside their documents, and those that a new bundle keeps."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import Any

from mcpg.bundle.codec import Bundle, ReadDocument, read_documents
from mcpg.caching.build_cache import NO_BUILD_CACHE
from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.definitions import Key, is_same_definition
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.documents.model import ToolDocument
from mcpg.errors import Code, Diagnostic, warning
from mcpg.text.json_values import JsonObject, JsonValue

_MOST_PLAIN = 32 * 1024 * 1024
_PER_BLOCK = 256 * 1024
_FASTEST = 1


def hold_texts(texts: Iterable[SourceDocument]) -> Sequence[SourceDocument]:
    """Return *texts* as a tuple, or compressed if they have more than 32 million characters."""
    remaining = iter(texts)
    plain: list[SourceDocument] = []
    length = 0
    for text in remaining:
        plain.append(text)
        length += len(text.content)
        if length > _MOST_PLAIN:
            # Texts are released once they are read.
            plain.reverse()
            popped = (plain.pop() for _ in range(len(plain)))
            return CompressedTexts(chain(popped, remaining))
    return tuple(plain)


class CompressedTexts(Sequence[SourceDocument]):
    """Texts in compressed blocks; each is decompressed when it is read."""

    def __init__(self, texts: Iterable[SourceDocument]) -> None:
        self._bare: list[SourceDocument] = []
        self._blocks: list[tuple[bytes, tuple[int, ...]]] = []
        block: list[str] = []
        length = 0
        for text in texts:
            self._bare.append(replace(text, content=""))
            block.append(text.content)
            length += len(text.content)
            if length >= _PER_BLOCK:
                self._add(block)
                block, length = [], 0
        self._add(block)
        self._starts = [*accumulate((len(ends) for _, ends in self._blocks), initial=0)]

    def _add(self, block: list[str]) -> None:
        data = "".join(block).encode("utf-8", "surrogatepass")
        self._blocks.append((zlib.compress(data, _FASTEST), tuple(accumulate(map(len, block)))))

    def _contents(self, block: int) -> Iterator[str]:
        packed, ends = self._blocks[block]
        text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
        return (text[start:end] for start, end in pairwise((0, *ends)))

    def __iter__(self) -> Iterator[SourceDocument]:
        contents = chain.from_iterable(map(self._contents, range(len(self._blocks))))
        for bare, content in zip(self._bare, contents, strict=True):
            yield SourceDocument(bare.path, content, bare.canonical_uri, bare.place)

    def __len__(self) -> int:
        return len(self._bare)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        block = bisect_right(self._starts, at) - 1
        content = [*self._contents(block)][at - self._starts[block]]
        return replace(self._bare[at], content=content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


Definitions = Mapping[Key, tuple[Tool, ...]]
"""Tools as their servers define them, by identity; none if no definition is known."""

DEFINITIONS = "definitions"
"""Name of the member of the `mcpg` object that lists them."""

_MARKS = ("## Tool Identity", "## Execution Contract")

# The .NET gateway reads no JSON of more than 64 levels, and these are within three others.
_MOST_LEVELS = 60
_AS_TEXT = "definition"


def is_generated(text: str) -> bool:
    """Return whether the *text* of a document has the generated layout."""
    return any(mark in text for mark in _MARKS)


def definitions_beside(
    read: Iterable[ReadDocument],
    tools: Sequence[Tool],
    superseded: Iterable[Tool],
    bundles: Iterable[Bundle],
) -> Definitions:
    """Return the definitions of tools whose documents, *read*, may differ from them.

    The *tools* are of manifests and servers, and documents replace those *superseded*. Definitions
    in *bundles* count for tools that no source has now.
    """
    given = {tool.key for tool in tools}
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for bundle in bundles:
        for key, carried in carried_definitions(bundle).items():
            if key not in given:
                found[key] += carried
    for tool in superseded:
        found[tool.key].append(tool)
    for item in read:
        key = item.document.tool.key
        if key not in given and key not in found and not is_generated(item.source.content):
            found[key] = []
    return {key: tuple(one) for key, one in found.items()}


def definitions_in(bundle: Bundle, documents: Iterable[ToolDocument]) -> Definitions:
    """Return the definitions of the tools of *bundle*, which has *documents*."""
    carried = carried_definitions(bundle)
    texts = {source.path: source.content for source in bundle.documents}
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for document in documents:
        known = found[document.tool.key]
        if document.tool.key not in carried and is_generated(texts.get(document.path, "")):
            known.append(document.tool)
    return {key: tuple(known) for key, known in (found | carried).items()}


def collect_definitions(documents: Iterable[ToolDocument], beside: Definitions) -> Definitions:
    """Return the definitions of the tools of *documents*; those *beside* them come first."""
    found: defaultdict[Key, list[Tool]] = defaultdict(list)
    for document in documents:
        if document.tool.key not in beside:
            found[document.tool.key].append(document.tool)
    return {key: tuple(known) for key, known in (found | dict(beside)).items()}


def encode_definitions(
    definitions: Definitions, documents: Iterable[ToolDocument], texts: Mapping[str, str]
) -> list[JsonValue]:
    """Return the *definitions* to put into a bundle: those that its documents don't repeat.

    The *texts* of the documents are by path.
    """
    needed: dict[Key, tuple[Tool, ...]] = {}
    for document in documents if definitions else ():
        key, text = document.tool.key, texts.get(document.path, "")
        if key not in definitions:
            continue
        known, repeats = definitions[key], is_generated(text)
        is_repeated = len(known) == 1 and is_same_definition(known[0], document.tool)
        # A text that only a person wrote has no definition of the server's.
        if (known and not (repeats and is_repeated)) or (not known and repeats):
            needed[key] = known
    entries: list[JsonValue] = []
    for (source_id, name), known in sorted(needed.items()):
        named: JsonObject = {"source": source_id, "name": name}
        entries += [named | _entry_members(tool) for tool in known] or [named]
    return entries


def _entry_members(tool: Tool) -> JsonObject:
    """Return a definition, as a text in JSON if it nests too deeply for other readers."""
    members: JsonObject = {
        "title": tool.title or None,
        "description": tool.description or None,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations or None,
    }
    members = {name: one for name, one in members.items() if one is not None}
    if not is_deeper([members], _MOST_LEVELS):
        return members
    return {_AS_TEXT: json.dumps(members, ensure_ascii=False, separators=(",", ":"))}


def carried_definitions(bundle: Bundle) -> dict[Key, list[Tool]]:
    """Return the definitions in *bundle*; invalid ones are ignored."""
    stated = bundle.extension.get(DEFINITIONS)
    found: dict[Key, list[Tool]] = {}
    for one in stated if isinstance(stated, list) else ():
        entry = _read_entry(one)
        if entry is None or is_deeper([entry], MAX_DEPTH):
            continue
        source_id, name = entry.get("source"), entry.get("name")
        if isinstance(source_id, str) and isinstance(name, str):
            known = found.setdefault((source_id, name), [])
            known += [_read_tool(source_id, name, entry)] if "inputSchema" in entry else []
    return found


def _read_entry(entry: JsonValue) -> JsonObject | None:
    if not isinstance(entry, dict) or _AS_TEXT not in entry:
        return entry if isinstance(entry, dict) else None
    try:
        members = json.loads(str(entry[_AS_TEXT]))
    except (ValueError, RecursionError):
        return None
    return {**members, **entry} if isinstance(members, dict) else None


def _read_tool(source_id: str, name: str, entry: JsonObject) -> Tool:
    title, description = entry.get("title"), entry.get("description")
    schema, output = entry.get("inputSchema"), entry.get("outputSchema")
    annotations = entry.get("annotations")
    return Tool(
        id="",
        source_id=source_id,
        name=name,
        title=title if isinstance(title, str) else None,
        description=description if isinstance(description, str) else "",
        input_schema=schema if isinstance(schema, dict) else {},
        output_schema=output if isinstance(output, dict) else None,
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def read_ranking(bundles: Iterable[Bundle]) -> tuple[JsonValue, list[Diagnostic]]:
    """Return the ranking that *bundles* carry; different ones cancel each other."""
    carried = [bundle.ranking for bundle in bundles if bundle.ranking is not None]
    if all(one == carried[0] for one in carried):
        return next(iter(carried), None), []
    message = "the bundles carry different rankings, and the shipped one is used"
    return None, [warning(Code.RANKING_IGNORED, message)]


def still_stale(
    bundles: Sequence[Bundle],
    documents: Iterable[SourceDocument],
    tools: Iterable[Tool],
    source_id: str | None,
) -> frozenset[Key]:
    """Return source id and name of the tools that *bundles* mark as stale and nothing else has.

    Else are the *documents* that are of no bundle, and the *tools* of manifests and servers.
    """
    if not any(bundle.stale for bundle in bundles):
        return frozenset()
    stale: set[Key] = set()
    fresh = {tool.key for tool in (*tools, *_read_tools(documents, source_id))}
    for bundle in bundles:
        for tool in _read_tools(bundle.documents, source_id):
            marked = stale if tool.id in bundle.stale else fresh
            marked.add(tool.key)
    return frozenset(stale - fresh)


def _read_tools(documents: Iterable[SourceDocument], source_id: str | None) -> tuple[Tool, ...]:
    """Return the tools of *documents* under the ids that they have among themselves."""
    read, _ = read_documents(documents, (), source_id, NO_BUILD_CACHE)
    own = (item.document.tool for item in read if not item.document.is_page)
    return build_catalog(list(own), ()).tools
