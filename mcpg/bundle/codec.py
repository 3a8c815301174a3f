"""The bundle file as bytes: one JSON object that the .NET gateway reads as it stands."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg import __version__
from mcpg.bundle.checks import checked_document, sorted_by_path
from mcpg.bundle.parsing import parse_object, too_big
from mcpg.catalog.model import SourceDocument
from mcpg.errors import BundleError
from mcpg.files import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.jsontypes import JsonObject, JsonValue

VERSION = 1
"""The version of the bundle format that is written and read."""

RANKING = "ranking"
"""Name of the member of the `mcpg` object that carries a fitted model."""

_GENERATOR, _HASH = "generatorVersion", "contentHash"
_REBUILD = "rebuild it with `mcpg bundle`"
_NOT_A_BUNDLE = "name a file that `mcpg bundle` wrote"


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle file holds.

    Attributes:
        documents: The documents, sorted by path.
        extension: Further members of the `mcpg` object, such as a ranking.
        generator: Version of mcpg that wrote the file, `None` when another program did or when
            it has not been written yet; not part of a bundle's identity.
    """

    documents: tuple[SourceDocument, ...] = ()
    extension: JsonObject = field(default_factory=dict)
    generator: str | None = field(default=None, compare=False)

    @property
    def content_hash(self) -> str:
        """The name of the content; see `content_hash`."""
        return content_hash(self.documents)

    @property
    def ranking(self) -> JsonValue:
        """The fitted model that it carries, as it stands there; `None` for none."""
        return self.extension.get(RANKING)


def content_hash(documents: Iterable[SourceDocument]) -> str:
    """Name the content of *documents*: `sha256:` and 64 lower-case hexadecimal digits.

    The digest is taken over the UTF-8 bytes of the JSON array of the documents, sorted by path, in
    the form in which a bundle writes each, joined by commas without white space.
    """
    ordered = sorted(documents, key=lambda document: document.path)
    return _digest([_document_line(document) for document in ordered])


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
    documents = sorted_by_path(checked, "documents")
    lines = [_document_line(document) for document in documents]
    body = "\n" + ",\n".join(lines) + "\n" if lines else ""
    extension = _extension_json(bundle.extension | {_GENERATOR: __version__, _HASH: _digest(lines)})
    text = f'{{"version":{VERSION},"documents":[{body}],"mcpg":{extension}}}\n'
    data = _utf8(text)
    if len(data) > MAX_BYTES:
        raise too_big("the bundle")
    return data


def decode_bundle(data: bytes | str, place: str) -> Bundle:
    """Read a bundle from the content of a file.

    Member names are matched without regard to case, unknown members are ignored, and paths are
    brought to their normal form.

    Args:
        data: The whole content of the file.
        place: The file, for messages.

    Raises:
        BundleError: Anything is wrong with it; nothing is ever read in part.
    """
    members = _by_lower_name(parse_object(data, place))
    _check_version(members, place)
    documents = sorted_by_path(_documents(members, place), place)
    extension = _extension(members, place)
    generator = extension.pop(_GENERATOR, None)
    _check_hash(extension.pop(_HASH, None), documents, place)
    return Bundle(documents, extension, generator if isinstance(generator, str) else None)


def _document_line(document: SourceDocument) -> str:
    members: JsonObject = {
        "path": document.path,
        "content": document.content,
        "canonicalUri": document.canonical_uri,
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def _extension_json(members: JsonObject) -> str:
    try:
        return json.dumps(
            members, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as fault:
        raise BundleError(
            f"the bundle's extension cannot be written as JSON: {fault}",
            place="mcpg",
            remedy="put only objects, arrays, texts, finite numbers, booleans and null there",
        ) from fault


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        raise BundleError(
            "the bundle's extension holds half of a surrogate pair",
            place="mcpg",
            remedy="repair the text",
        ) from fault


def _digest(lines: list[str]) -> str:
    text = f"[{','.join(lines)}]"
    # A lone surrogate has no UTF-8; such a document is refused before it is written.
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def _by_lower_name(members: JsonObject) -> JsonObject:
    return {name.lower(): value for name, value in members.items()}


def _refuse(place: str, message: str, remedy: str = _REBUILD) -> BundleError:
    return BundleError(message, place=place, remedy=remedy)


def _check_version(members: JsonObject, place: str) -> None:
    version = members.get("version")
    if version is None:
        raise _refuse(place, "has no 'version', so it is no bundle", _NOT_A_BUNDLE)
    if isinstance(version, str) and re.fullmatch("[0-9]{1,9}", version):
        # The .NET gateway reads a number in quotes as a number.
        version = int(version)
    if isinstance(version, bool) or not isinstance(version, int):
        raise _refuse(place, "has a 'version' that is no whole number", _NOT_A_BUNDLE)
    if version > VERSION:
        found = f"is a bundle of version {version}; this mcpg reads version {VERSION}"
        raise _refuse(place, found, f"update mcpg, or {_REBUILD}")
    if version < VERSION:
        raise _refuse(place, f"is a bundle of version {version}, which was never used")


def _documents(members: JsonObject, place: str) -> list[SourceDocument]:
    if "documents" not in members:
        raise _refuse(place, "has no 'documents'")
    documents = members["documents"]
    if documents is None:
        raise _refuse(place, "has 'documents' that are null")
    if not isinstance(documents, list):
        raise _refuse(place, "has 'documents' that are no array")
    return [_document(item, f"{place}: documents[{at}]") for at, item in enumerate(documents)]


def _document(item: JsonValue, place: str) -> SourceDocument:
    if not isinstance(item, dict):
        raise _refuse(place, "is a document that is no object")
    members = _by_lower_name(item)
    document = SourceDocument(
        path=_text(members, "path", place) or "",
        content=_text(members, "content", place) or "",
        canonical_uri=_text(members, "canonicalUri", place),
        place=place,
    )
    return checked_document(document, place)


def _text(members: JsonObject, name: str, place: str) -> str | None:
    value = members.get(name.lower())
    if value is not None and not isinstance(value, str):
        raise _refuse(place, f"is a document with a {name!r} that is no text")
    return value


def _extension(members: JsonObject, place: str) -> JsonObject:
    extension = members.get("mcpg")
    if extension is None:
        return {}
    if not isinstance(extension, dict):
        raise _refuse(place, "has an 'mcpg' member that is no object")
    return dict(extension)


def _check_hash(stated: JsonValue, documents: tuple[SourceDocument, ...], place: str) -> None:
    if stated is not None and stated != content_hash(documents):
        found = "is damaged or was edited: its documents do not match its content hash"
        raise _refuse(place, found, f"change the sources instead, then {_REBUILD}")
