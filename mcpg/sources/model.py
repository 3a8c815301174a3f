"""Sources: the kind of a file by its content, the reading of its text, and the results."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import Enum, auto
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Any

from mcpg.catalog.hints import is_generated_name, read_hint_rules
from mcpg.catalog.json_text import parse_json_documents
from mcpg.catalog.manifest import read_manifest
from mcpg.catalog.model import HintRule, SourceDocument, SourceKind, Tool
from mcpg.errors import Diagnostic, InputError, NotFoundError, SourceError, UsageError
from mcpg.files import MAX_BYTES, read_bytes
from mcpg.sources.client_config import is_client_configuration
from mcpg.sources.listing_formats import is_catalog, read_catalog
from mcpg.sources.openapi import read_openapi
from mcpg.sources.server_entries import mentions_servers
from mcpg.text.spelling import suggest


@dataclass(frozen=True, slots=True)
class RawFile:
    """The text of a file, not yet parsed: of a bundle, of an RDF graph, or of observed calls.

    Attributes:
        place: Its path, for messages; its extension decides the format of a graph.
    """

    text: str
    place: str


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source that could not be read.

    Attributes:
        names: Source ids that its tools have, or may have.
        is_named: Whether its tools have no other source id than *names*.
    """

    place: str
    names: frozenset[str] = frozenset()
    is_named: bool = False
    kind: SourceKind | None = None


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """All that was read from one or more sources.

    Attributes:
        graphs: RDF graphs, not yet parsed: `mcpg.graph.jsonld` makes documents of them.
        passed_over: Markdown files of folders that are not documents, without their texts.
        sources: How many files, modules and servers were read, with those that failed.
    """

    tools: tuple[Tool, ...] = ()
    rules: tuple[HintRule, ...] = ()
    documents: tuple[SourceDocument, ...] = ()
    bundles: tuple[RawFile, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: tuple[FailedSource, ...] = ()
    observed: tuple[RawFile, ...] = ()
    graphs: tuple[RawFile, ...] = ()
    passed_over: tuple[SourceDocument, ...] = ()
    sources: int = field(default=0, compare=False)

    @classmethod
    def join(cls, parts: Iterable[SourceBatch]) -> SourceBatch:
        batches = tuple(parts)
        joined = {
            one.name: tuple(item for batch in batches for item in getattr(batch, one.name))
            for one in fields(cls)
            if one.name != "sources"
        }
        return cls(**joined, sources=sum(batch.sources for batch in batches))


PYTHON = "python:"
"""The prefix of a source that is a Python module."""

CODE = "code:"
"""The prefix of a source that is a folder or file of source code."""

SKILLS, SKILL_FILE = "skills:", "SKILL.md"
"""The prefix of a source that is a folder of skills, and the file that makes a skill."""

_MARKDOWN = (".md", ".markdown", ".mdx")
_TEXT = (".txt", ".text")
_JSON = (".json", ".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_OPEN = (*_MARKDOWN, *_TEXT, *_JSON, *_YAML, ".mdld")
_GRAPHS = (".ttl", ".turtle", ".nt", ".nq", ".trig", ".n3", ".rdf", ".owl", ".jsonld")
_HINTS = tuple(f"hints{end}" for end in (*_YAML, ".json"))

_FRONT_MATTER = re.compile(r"---[ \t\r]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)")
# Front matter that does not end, or that is below blank lines, begins with a key at least.
_FRONT_KEY = re.compile(
    r"(?:[ \t\r]*\n)*---[ \t\r]*\n(?:[ \t\r]*\n|#[^\n]*\n){0,20}[A-Za-z_][\w.-]*[ \t]*:"
)
_TOOL_IDENTITY = re.compile(r"^## Tool Identity[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Mistaken forms of a line of three hyphens: other numbers, dashes, TOML's mark, a fence.
_ODD_FENCE = re.compile(
    r"[ \t]*(?:-{2,}|[\u2010-\u2015]+|\+{3,}|;{3,}|`{3,} ?ya?ml|---[^\n]*)[ \t\r]*\Z"
)
_KEY_LINE = re.compile(r"[\"']?([A-Za-z_][\w.-]{0,60})[\"']?[ \t]*[:=](?:[ \t\r]|\Z)")
_FRONT_KEYS = re.compile(
    r"(?:title|name|tool|id|source|summary|description|tags|keywords|aliases|about|authors?"
    r"|canonical_url|date_published|(?:graph|rdf)_[a-z_]+)\Z"
)
_OF_A_DOCUMENT = re.compile(
    r"(?:[#*_ \t]*(?:tool identity|execution contract)[#*_: \t]*|(?:[-*] +)?tool id:.*)\r?\Z",
    re.IGNORECASE,
)
_MOST_FRONT_LINES = 100
_LONGEST_LINE = 200
_HINTS_YAML = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|---[ \t\r]*\n)*tools[ \t]*:")
_BUNDLE = re.compile(
    r'\s*\{\s*"(?:version"\s*:\s*-?\d+\s*,\s*"documents|documents)"', re.IGNORECASE
)
_OBSERVED = re.compile(r'\s*\{\s*"schema"\s*:\s*"mcpg/observed/')
_OPENAPI = re.compile(r'\s*\{\s*"(?:openapi|swagger)"\s*:')
_OPENAPI_YAML = re.compile(r"""^["']?(?:openapi|swagger)["']?[ \t]*:""", re.MULTILINE)
_JSON_LD = re.compile(r'\s*(?:\[\s*)?\{\s*"@(?:context|graph|id|type)"\s*:')
_RDF = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:@(?:prefix|base)\s|(?i:prefix|base)\s+[\w.-]*:?\s*<"
    r"|<[A-Za-z][^<>\s]*>\s+(?:<[^<>\s]*>|a)\s|<\?xml[^>]*>(?:\s|<![^>]*>)*<rdf:RDF|<rdf:RDF)"
)
_MANIFEST = re.compile(
    r'\s*(?:\[|\{\s*"(?:tools"(?!\s*:\s*\{)|(?:jsonrpc|result|functions|nextCursor|name|type)"))'
)
_TOOLS = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:tools|jsonrpc|result|functions|nextCursor)"')
_JSON_START = re.compile(r"\s*(?:[\[{]|(?:event|data|id):)")
_REMEDY = (
    "use a tools/list response, an OpenAPI document, a tool document, an RDF graph or a"
    " *.hints.yaml file"
)
_OPENAPI_KEYS = frozenset({"openapi", "swagger"})
_TOML = ".toml"
_BUNDLE_KEYS = frozenset({"version", "documents", "mcpg"})
_JSON_LD_KEYS = frozenset({"@context", "@graph", "@id"})


class FileKind(Enum):
    """The kinds of source files."""

    MANIFEST = auto()
    CATALOG = auto()
    DOCUMENT = auto()
    HINTS = auto()
    BUNDLE = auto()
    OPENAPI = auto()
    CLIENT = auto()
    OBSERVED = auto()
    GRAPH = auto()


_BEGINNINGS = (
    (_OBSERVED, FileKind.OBSERVED),
    (_BUNDLE, FileKind.BUNDLE),
    (_OPENAPI, FileKind.OPENAPI),
    (_JSON_LD, FileKind.GRAPH),
    (_TOOLS, FileKind.MANIFEST),
)


_BY_NAME = {_GRAPHS: FileKind.GRAPH, _MARKDOWN: FileKind.DOCUMENT, _YAML: FileKind.HINTS}


def may_be_source(name: str) -> bool:
    """Return whether a file of this name, found in a folder, is worth opening."""
    lower = name.casefold()
    return lower.endswith(_OPEN) or _is_hints_name(lower)


def kind_in_folder(name: str, text: str, place: str) -> FileKind | None:
    """Return the kind of a file found in a folder; `None` for Markdown that is not a document."""
    lower = name.casefold()
    if _is_hints_name(lower):
        return FileKind.HINTS
    if lower.endswith(_YAML):
        return FileKind.OPENAPI if _is_openapi(text) else None
    if lower.endswith(_JSON) or (lower.endswith(".mdld") and _JSON_START.match(text)):
        return _json_kind(text)
    if _is_document(text):
        return FileKind.DOCUMENT
    if lower.endswith(".mdld"):
        message = "is neither a bundle nor a tool document; it may be truncated"
        raise SourceError(message, place=place, remedy="build it again, or remove it")
    return None


def kind_of_named(name: str, text: str, place: str) -> FileKind:
    """Return the kind of a file that the user named."""
    lower = name.casefold()
    if "\0" in text or not (text.strip() or _is_hints_name(lower)):
        message = "contains null characters, so it is not text" if "\0" in text else "is empty"
        raise SourceError(message, place=place, remedy=_REMEDY)
    if _is_hints_name(lower):
        return FileKind.HINTS
    kind = None
    if lower.endswith(_YAML) and _is_openapi(text):
        kind = FileKind.OPENAPI
    elif lower.endswith((*_YAML, _TOML)) and mentions_servers(text, lower):
        kind = FileKind.CLIENT
    named = (kind for ends, kind in _BY_NAME.items() if lower.endswith(ends))
    kind = kind or next(named, None) or _kind_by_text(lower, text)
    if kind is None:
        message = "is neither JSON nor a Markdown-LD document nor an RDF graph nor a hints file"
        raise SourceError(message, place=place, remedy=_REMEDY)
    return kind


def _kind_by_text(lower: str, text: str) -> FileKind | None:
    if lower.endswith((*_JSON, ".jsonc")) or _JSON_START.match(text):
        kind = _json_kind(text)
        is_other = kind is FileKind.CATALOG or _MANIFEST.match(text) or _OBSERVED.match(text)
        return FileKind.CLIENT if not is_other and is_client_configuration(text) else kind
    if lower.endswith(".mdld") or _is_document(text):
        return FileKind.DOCUMENT
    marks = {
        _HINTS_YAML.match: FileKind.HINTS,
        _OPENAPI_YAML.search: FileKind.OPENAPI,
        _RDF.match: FileKind.GRAPH,
    }
    return next((kind for mark, kind in marks.items() if mark(text)), None)


def _is_hints_name(lower: str) -> bool:
    return lower in _HINTS or lower.endswith(tuple(f".{end}" for end in _HINTS))


def _is_document(text: str) -> bool:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _FRONT_MATTER.match(text) or _FRONT_KEY.match(text):
        return True
    # Within a fence a document is only shown.
    return _TOOL_IDENTITY.search(text) is not None and any(
        _TOOL_IDENTITY.match(line) for _, line in _lines_outside_fences(text)
    )


_LIKE = "looks like a tool's document, and is ignored:"


def likeness(name: str, text: str) -> tuple[str, int] | None:
    """Return why Markdown that is not a document may be meant as one, and the line's number.

    `None` for a file of another kind, or without the look of a document.
    """
    if not name.casefold().endswith(_MARKDOWN):
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return "is empty, and is ignored", 1
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    below = lines[first + 1 : first + _MOST_FRONT_LINES]
    # The keys below it, before any other text.
    front = takewhile(
        lambda line: _KEY_LINE.match(line) or not line.strip() or line[:1] in " \t-#", below
    )
    keys = [key[1] for key in map(_KEY_LINE.match, front) if key]
    if _ODD_FENCE.match(lines[first]) and keys:
        reason = "its front matter must begin with a line of exactly three hyphens"
        return f"{_LIKE} {reason}", first + 1
    key = _KEY_LINE.match(lines[first])
    ends = [line.rstrip() for line in lines[first : first + _MOST_FRONT_LINES]]
    if key and "---" in ends and any(map(_FRONT_KEYS.match, (key[1], *keys))):
        return f"{_LIKE} its front matter must begin with a line of three hyphens", first + 1
    for number, line in _lines_outside_fences(text):
        if len(line) <= _LONGEST_LINE and _OF_A_DOCUMENT.match(line):
            reason = "it has neither front matter nor a line that reads `## Tool Identity`"
            return f"{_LIKE} {reason}", number
    return None


def _lines_outside_fences(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines of *text* outside of fences, with their numbers from 1."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        mark = _FENCE.match(line)
        if not fence and mark is None:
            yield number, line
        elif not fence and mark is not None:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""


def _is_openapi(text: str) -> bool:
    if text.lstrip().startswith("{"):
        return _json_kind(text) is FileKind.OPENAPI
    return bool(_OPENAPI_YAML.search(text))


def _json_kind(text: str) -> FileKind:
    """Return the kind of a JSON text, parsing it only if its first member leaves that open."""
    for beginning, kind in _BEGINNINGS:
        if beginning.match(text):
            return kind
    if is_catalog(text):
        return FileKind.CATALOG
    keys: set[str] = set()
    if not _MANIFEST.match(text) and text.lstrip().startswith("{"):
        with suppress(SourceError):
            value = parse_json_documents(text, "")[0]
            keys = {key.casefold() for key in value} if isinstance(value, dict) else set()
    if keys & _JSON_LD_KEYS:
        return FileKind.GRAPH
    if "documents" in keys or ("version" in keys and keys <= _BUNDLE_KEYS):
        return FileKind.BUNDLE
    return FileKind.OPENAPI if keys & _OPENAPI_KEYS else FileKind.MANIFEST


def missing_source(argument: str) -> NotFoundError:
    """Make the error for a source that is not there, with the likeliest thing that was meant."""
    remedy = "check the path"
    if "://" in argument:
        remedy = "files are not fetched: save it first; a server is named as https://HOST/PATH"
    else:
        path = Path(argument)
        with suppress(OSError, ValueError):
            close = suggest(path.name, sorted(entry.name for entry in path.parent.iterdir()))
            if close:
                remedy = f"did you mean {(path.parent / close[0]).as_posix()!r}?"
    return NotFoundError("no such file or folder", place=argument or "''", remedy=remedy)


def as_list(arguments: Any) -> list[Any]:
    """Return *arguments*, which are read more than once, as a list; a single value is an error."""
    if isinstance(arguments, str | bytes | Mapping) or not isinstance(arguments, Iterable):
        message = f"the sources are of type {type(arguments).__name__}"
        raise UsageError(message, place="SOURCE", remedy="use a list, also for one source")
    return [*arguments]


_UNPARSED = {
    FileKind.BUNDLE: "bundles",
    FileKind.GRAPH: "graphs",
    FileKind.OBSERVED: "observed",
}
LOCAL_SOURCE = "local"
"""Source id of tools that come from no file with a name."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one source.

    Attributes:
        path: Path of a document, relative to the folder that was named.
        stem_names_source: Whether the file's name can serve as source id.
    """

    text: str
    place: str
    path: str
    source_id: str | None = None
    stem_names_source: bool = True
    trust_hints: bool = False

    def read_as(self, kind: FileKind) -> SourceBatch:
        text, place = self.text, self.place
        match kind:
            case FileKind.MANIFEST | FileKind.OPENAPI:
                stem = PurePath(self.path).stem.strip() if self.stem_names_source else ""
                given: dict[str, Any] = {
                    "default_source": stem or LOCAL_SOURCE,
                    "source_id": self.source_id,
                }
                if kind is FileKind.OPENAPI:
                    found = read_openapi(text, place, **given)
                else:
                    found = read_manifest(text, place, trust_hints=self.trust_hints, **given)
                return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)
            case FileKind.CATALOG:
                pages, noticed = read_catalog(text, place, path=self.path, source_id=self.source_id)
                return SourceBatch(documents=pages, diagnostics=noticed)
            case FileKind.HINTS:
                written = is_generated_name(PurePath(self.path).name)
                rules, noticed = read_hint_rules(text, place, is_generated=written)
                return SourceBatch(rules=rules, diagnostics=noticed)
            case FileKind.BUNDLE | FileKind.GRAPH | FileKind.OBSERVED:
                unparsed: dict[str, Any] = {_UNPARSED[kind]: (RawFile(text, place),)}
                return SourceBatch(**unparsed)
            case _:
                content = text.replace("\r\n", "\n").replace("\r", "\n")
                return SourceBatch(documents=(SourceDocument(self.path, content, place=place),))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_text(path: Path, place: str) -> str:
    """Read the text of the file at *path*."""
    try:
        data = read_bytes(path, MAX_BYTES)
    except InputError as fault:
        raise SourceError(fault.message, place=place, remedy=fault.remedy) from fault
    return decode(data, place)


def decode(data: bytes, place: str) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark."""
    if len(data) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES:,} bytes"
        raise SourceError(message, place=place, remedy="split it into smaller files")
    mark, encoding = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as fault:
        offset = fault.start + len(mark)
        message = f"is not {encoding.upper()} text: byte 0x{data[offset]:02x} at offset {offset}"
        raise SourceError(message, place=place, remedy="save it as UTF-8") from None


@dataclass(frozen=True, slots=True)
class ServerListing:
    """The result of querying one server.

    Attributes:
        has_answered: Whether it listed its tools, even if it has none.
        name: Its own name, "" for none; values of its configuration are hidden.
        protocol: The version of the protocol that it speaks, "" if it did not answer.
        noise: The first line on its standard output that was not a message, and their number.
    """

    batch: SourceBatch
    seconds: float
    has_answered: bool
    name: str = ""
    version: str = ""
    protocol: str = ""
    noise: tuple[str, int] = ("", 0)
