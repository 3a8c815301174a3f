"""The bundle file: JSON that the .NET gateway reads, checked on the way in and out."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter

from mcpg import __version__
from mcpg.caching.build_cache import BuildCache, ResultKind
from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import is_absolute, normal_path, path_key
from mcpg.documents.front_matter_edits import authored_text
from mcpg.documents.model import ToolDocument, decode_record, encode_record
from mcpg.documents.reader import check_document, parse_document
from mcpg.documents.writer import with_indented_schemas
from mcpg.errors import BundleError, Code, Diagnostic, DocumentError, error
from mcpg.files import MAX_BYTES
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import json_reason
from mcpg.values import format_count

_REBUILD = "rebuild it with `mcpg bundle`"
_NOT_A_BUNDLE = "name a file that `mcpg bundle` wrote"
_CUT_SHORT = ("ends early: the file is truncated", f"copy it again, or {_REBUILD}")


def parse_object(data: bytes | str, place: str) -> JsonObject:
    """Parse *data*, the whole content of the file at *place*, as one JSON object."""
    if len(data) > MAX_BYTES:
        raise too_big(place)
    try:
        text = data.decode() if isinstance(data, bytes) else data
    except UnicodeDecodeError as fault:
        if fault.reason == "unexpected end of data":
            raise _refuse(place, *_CUT_SHORT) from fault
        line = fault.object.count(b"\n", 0, fault.start) + 1
        found = f"is not UTF-8 text: byte {fault.start} (in line {line}) is broken"
        raise _refuse(place, found) from fault
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise _refuse(place, "is empty")
    value = _parse(text, place)
    if not isinstance(value, dict):
        found = "is JSON null, not a bundle" if value is None else "is JSON, but not an object"
        raise _refuse(place, found, _NOT_A_BUNDLE)
    return value


def too_big(place: str) -> BundleError:
    """Make the error for a bundle of more than `MAX_BYTES`."""
    found = f"is bigger than {MAX_BYTES // 1024**3} GB"
    return _refuse(place, found, "bundle fewer sources into one file")


def _parse(text: str, place: str) -> object:
    try:
        return json.loads(text, parse_constant=int)  # which refuses NaN and Infinity
    except json.JSONDecodeError as fault:
        where, whole = f"{place}:{fault.lineno}:{fault.colno}", fault.doc.rstrip()
        # Truncated JSON gets a message of its own.
        in_last_token = fault.pos >= len(whole) - len("false") and not whole.endswith("}")
        is_open = fault.pos >= len(whole) or fault.msg.startswith("Unterminated string")
        if whole.lstrip().startswith("{") and (in_last_token or is_open):
            raise _refuse(where, *_CUT_SHORT) from fault
        message = f"invalid JSON: {json_reason(fault)[0]}"
        raise _refuse(where, message, _NOT_A_BUNDLE) from fault
    except RecursionError as fault:
        raise _refuse(place, "is nested too deeply") from fault
    except ValueError as fault:
        raise _refuse(place, "invalid JSON: a number is not finite, or too long") from fault


_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def path_fault(path: str) -> str | None:
    """Return the reason why a normal *path* is unsafe in some folder, `None` for none."""
    if not path:
        return "has a blank path"
    if _CONTROL.search(path):
        return "has a path with a control character"
    if _has_lone_surrogate(path):
        return _LONE_SURROGATE.format(path)
    segments = path.split("/")
    if ".." in path and any(segment.strip() == ".." for segment in segments):
        return f"has a path that climbs out of its folder: {path!r}"
    if ":" in path and any(_DRIVE.match(segment) for segment in segments):
        return f"has a path that names a drive: {path!r}"
    return None


def checked_document(document: SourceDocument, place: str) -> SourceDocument:
    """Return *document* in normal form: path, line ends, and a blank URI as `None`."""
    content = document.content
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    uri = (document.canonical_uri or "").strip() or None
    normal = SourceDocument(normal_path(document.path), content, uri, document.place)
    fault = path_fault(normal.path)
    if fault is None and (not content or content.isspace()):
        fault = f"has a blank content: {normal.path!r}"
    elif fault is None and any(map(_has_lone_surrogate, (content, uri or ""))):
        fault = _LONE_SURROGATE.format(normal.path)
    elif fault is None and uri is not None and not is_absolute(uri):
        fault = f"has a canonical URI that is not absolute: {uri!r}"
    if fault:
        raise _refuse(place, fault, "correct the document and build the bundle again")
    return normal


def sorted_by_path(documents: Iterable[SourceDocument], place: str) -> tuple[SourceDocument, ...]:
    """Sort *documents* by path."""
    ordered = sorted(documents, key=lambda document: document.path)
    seen: dict[str, str] = {}
    for document in ordered:
        first = seen.setdefault(path_key(document.path), document.path)
        if first is not document.path:
            found = f"has two documents with one path: {first!r} and {document.path!r}"
            remedy = "give every document a path of its own (they must differ in more than case)"
            raise _refuse(place, found, remedy)
    return tuple(ordered)


_LONE_SURROGATE = "contains a lone surrogate, which is not valid Unicode: {!r}"


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


VERSION = 1
"""The version of the bundle format that is written and read."""

RANKING = "ranking"
"""Name of the member of the `mcpg` object that carries a fitted model."""

STALE = "stale"
"""Name of the member of the `mcpg` object that lists the ids of tools whose source failed when the
bundle was built."""

_GENERATOR, _HASH = "generatorVersion", "contentHash"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a bundle file.

    Attributes:
        documents: The documents, sorted by path.
        extension: Further members of the `mcpg` object, such as a ranking.
        generator: Version of mcpg that wrote the file, `None` when another program did or when
            it has not been written yet; not part of a bundle's identity.
    """

    documents: Sequence[SourceDocument] = ()
    extension: JsonObject = field(default_factory=dict)
    generator: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<Bundle: {format_count(len(self.documents), 'document')}>"

    @property
    def content_hash(self) -> str:
        """The name of the content; see `content_hash`."""
        return content_hash(self.documents)

    @property
    def ranking(self) -> JsonValue:
        """The fitted model in the bundle, as it is; `None` for none."""
        return self.extension.get(RANKING)

    @property
    def stale(self) -> tuple[str, ...]:
        """Ids of the tools whose source failed when the bundle was built."""
        stated = self.extension.get(STALE)
        items = stated if isinstance(stated, list) else ()
        return tuple(one for one in items if isinstance(one, str))


def content_hash(documents: Iterable[SourceDocument]) -> str:
    """Name the content of *documents*: `sha256:` and 64 lower-case hexadecimal digits.

    The digest is taken over the UTF-8 bytes of the JSON array of the documents, sorted by path, in
    the form in which a bundle writes each, joined by commas without white space.
    """
    digest = hashlib.sha256(b"[")
    for at, document in enumerate(sorted(documents, key=lambda document: document.path)):
        digest.update((b"," if at else b"") + _document_line(document))
    digest.update(b"]")
    return f"sha256:{digest.hexdigest()}"


def encode_bundle(bundle: Bundle) -> bytes:
    """Write *bundle* as bytes: UTF-8 without BOM, LF, one document a line, a final newline.

    Equal bundles give equal bytes, whatever the order of their documents and members.

    Raises:
        BundleError: A document or the whole would be refused when read back, or the extension is
            no JSON.
    """
    checked = [
        checked_document(document, document.place or f"documents[{position}]")
        for position, document in enumerate(bundle.documents)
    ]
    ordered = Bundle(sorted_by_path(checked, "documents"), bundle.extension)
    return b"".join(Encoding(ordered))


class Encoding:
    """The bytes that `encode_bundle` returns, in parts, which are never all in memory.

    The documents of *bundle* are in normal form and sorted by path, and no two have one path. How
    many bytes there are (`size`), their SHA-256 (`key`) and the name of the content
    (`content_hash`) are known when the last part is made.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self.size, self.key = 0, b""
        self.content_hash = ""

    def __iter__(self) -> Iterator[bytes]:
        """Return the parts; some may have been returned before a `BundleError`."""
        whole, self.size = hashlib.sha256(), 0
        for part in self._parts():
            self.size += len(part)
            if self.size > MAX_BYTES:
                raise too_big("the bundle")
            whole.update(part)
            self.key = whole.digest()
            yield part

    def _parts(self) -> Iterator[bytes]:
        digest = hashlib.sha256(b"[")
        before, after = f'{{"version":{VERSION},"documents":['.encode(), b""
        for position, document in enumerate(self._bundle.documents):
            place = document.place or f"documents[{position}]"
            line = _document_line(checked_document(document, place))
            digest.update((b"," if position else b"") + line)
            yield (before or b",") + b"\n" + line
            before, after = b"", b"\n"
        digest.update(b"]")
        self.content_hash = f"sha256:{digest.hexdigest()}"
        members = self._bundle.extension | {_GENERATOR: __version__, _HASH: self.content_hash}
        yield before + after + b'],"mcpg":' + _encode_extension(members) + b"}\n"


def decode_bundle(data: bytes | str, place: str) -> Bundle:
    """Read a bundle from the content of a file; *place* is its name for messages.

    Member names are matched without regard to case, unknown members are ignored, and paths are
    brought to their normal form.

    Raises:
        BundleError: Anything is wrong with it; nothing is ever read in part.
    """
    members = {name.lower(): value for name, value in parse_object(data, place).items()}
    _check_version(members, place)
    documents = sorted_by_path(_read_items(members, place), place)
    stated_extension = members.get("mcpg")
    if not isinstance(stated_extension, dict | None):
        raise _refuse(place, "has an 'mcpg' member that is not an object")
    extension = dict(stated_extension or {})
    generator = extension.pop(_GENERATOR, None)
    stated = extension.pop(_HASH, None)
    if stated is not None and stated != content_hash(documents):
        found = "is damaged or was edited: its documents do not match its content hash"
        raise _refuse(place, found, f"change the sources instead, then {_REBUILD}")
    return Bundle(documents, extension, generator if isinstance(generator, str) else None)


def _document_line(document: SourceDocument) -> bytes:
    members: JsonObject = {
        "path": document.path,
        "content": document.content,
        "canonicalUri": document.canonical_uri,
    }
    # A lone surrogate has no UTF-8; such a document is refused before it is written.
    return _LINE.encode(members).encode(errors="surrogatepass")


_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encode_extension(members: JsonObject) -> bytes:
    try:
        text = json.dumps(
            members, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as fault:
        found = f"the bundle's extension cannot be written as JSON: {fault}"
        remedy = "put only objects, arrays, texts, finite numbers, booleans and null there"
        raise _refuse("mcpg", found, remedy) from fault
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        found = "the bundle's extension contains a lone surrogate"
        raise _refuse("mcpg", found, "repair the text") from fault


def _refuse(place: str, message: str, remedy: str = _REBUILD) -> BundleError:
    return BundleError(message, place=place, remedy=remedy)


def _check_version(members: JsonObject, place: str) -> None:
    version = members.get("version")
    if version is None:
        raise _refuse(place, "has no 'version', so it is not a bundle", _NOT_A_BUNDLE)
    if isinstance(version, str) and re.fullmatch("[0-9]{1,9}", version):
        # The .NET gateway reads a number in quotes as a number.
        version = int(version)
    if isinstance(version, bool) or not isinstance(version, int):
        raise _refuse(place, "has a 'version' that is not an integer", _NOT_A_BUNDLE)
    if version > VERSION:
        found = f"is a bundle of version {version}; this mcpg reads version {VERSION}"
        raise _refuse(place, found, f"update mcpg, or {_REBUILD}")
    if version < VERSION:
        raise _refuse(place, f"is a bundle of version {version}, which was never used")


def _read_items(members: JsonObject, place: str) -> Iterator[SourceDocument]:
    if "documents" not in members:
        raise _refuse(place, "has no 'documents'")
    documents = members["documents"]
    if not isinstance(documents, list):
        kind = "null" if documents is None else "not an array"
        raise _refuse(place, f"has 'documents' that are {kind}")
    for at, item in enumerate(documents):
        where = f"{place}: documents[{at}]"
        if not isinstance(item, dict):
            raise _refuse(where, "is a document that is not an object")
        stated = {name.lower(): value for name, value in item.items()}
        texts: list[str | None] = []
        for name in ("path", "content", "canonicalUri"):
            value = stated.get(name.lower())
            if not isinstance(value, str | None):
                raise _refuse(where, f"is a document with a {name!r} that is not a string")
            texts.append(value)
        path, content, uri = texts
        yield checked_document(SourceDocument(path or "", content or "", uri, where), where)


Parsed = tuple["ToolDocument", tuple[Diagnostic, ...]]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as it was read, and its parsed content.

    Attributes:
        is_bundled: Whether it is of a bundle, in which documents about a tool are joined already.
        keeps_text: Whether the text can stay as it is; not if it was joined with another.
        about: Further documents that are about the same tool.
    """

    source: SourceDocument
    document: ToolDocument
    is_bundled: bool = False
    keeps_text: bool = True
    about: tuple[ReadDocument, ...] = ()

    @property
    def place(self) -> str:
        """The file of the text, for messages."""
        return self.source.place or self.source.path

    def find_place(self, *words: str) -> str:
        """Return `file:line` of the first line with one of *words*, the file if none has."""
        for one in words:
            for item in (self, *self.about):
                text = item.source.content
                at = text.find(one)
                if at >= 0:
                    return f"{item.place}:{text.count(chr(10), 0, at) + 1}"
        return self.place


def _encode(parsed: Parsed) -> bytes | None:
    # Diagnostics name the place of the document, which is not part of its content.
    document, diagnostics = parsed
    return None if diagnostics else encode_record(document)


def _parse_given(given: bytes) -> bytes | None:
    path, content, uri, source_id, is_checked = json.loads(given)
    source = SourceDocument(path, content, uri)
    try:
        return _encode(parse_document(source, source_id=source_id, is_checked=is_checked))
    except DocumentError:
        return None  # who reads the document is to see why


_PARSED: ResultKind[Parsed] = ResultKind(
    "parsed", _encode, lambda data: (decode_record(data)[0], ()), _parse_given
)


def read_documents(
    sources: Iterable[SourceDocument],
    bundled: Collection[SourceDocument],
    source_id: str | None,
    memo: BuildCache,
) -> tuple[list[ReadDocument], list[Diagnostic]]:
    """Parse documents, *sources* of their own and *bundled* ones, for a server that may be named.

    Probable mistakes of authors are reported for documents of their own; for those of a bundle its
    build has reported them, see `mistakes_in`. A document that cannot be read is reported, and the
    others go on; a document that occurs twice with the same path and content counts once.
    """
    read: list[ReadDocument] = []
    diagnostics: list[Diagnostic] = []
    of_bundles = set(bundled)
    ordered = sorted(
        [*sources, *bundled],
        key=lambda one: (one.path, one.content, one.canonical_uri or "~", one.place),
    )
    firsts = [next(same) for _, same in groupby(ordered, attrgetter("path", "content"))]
    distinct = [(as_authored(source), source in of_bundles) for source in firsts]
    given = (
        _encode_parser_input(source, source_id, not is_bundled) for source, is_bundled in distinct
    )
    memo.ahead([_PARSED], given)
    copies = Counter(source.path for source, _ in distinct)
    seen: set[tuple[str, str]] = set()
    for source, is_bundled in distinct:
        try:
            document, found = memo.recall(
                _PARSED,
                partial(_encode_parser_input, source, source_id, not is_bundled),
                partial(parse_document, source, source_id=source_id, is_checked=not is_bundled),
            )
        except DocumentError as fault:
            advice = f"; {fault.remedy}" if fault.remedy else ""
            message = f"the document is left out: {fault.message}{advice}"
            diagnostics.append(
                error(Code.DOCUMENT_INVALID, message, fault.place or source.place or source.path)
            )
            continue
        if copies[source.path] > 1:
            # Bundles and folders have the same document in two forms.
            copy = source.path, with_indented_schemas(source.content, document.tool)
            if copy in seen:
                continue
            seen.add(copy)
        tool = replace(document.tool, place=source.place or source.path)
        document = replace(document, tool=tool)
        read.append(ReadDocument(source, document, is_bundled))
        diagnostics += found
    return read, diagnostics


def mistakes_in(bundle: Bundle) -> Iterator[Diagnostic]:
    """Report probable mistakes of the authors of the documents of *bundle*.

    Documents that cannot be read are skipped.
    """
    for source in bundle.documents:
        with suppress(DocumentError):
            yield from check_document(as_authored(source))


def as_authored(source: SourceDocument) -> SourceDocument:
    """Return a document as its author wrote it, which in a bundle may be rewritten."""
    content = authored_text(source.content)
    return source if content is source.content else replace(source, content=content)


def _encode_parser_input(source: SourceDocument, source_id: str | None, is_checked: bool) -> bytes:
    members = source.path, source.content, source.canonical_uri, source_id, is_checked
    return json.dumps(members).encode()
