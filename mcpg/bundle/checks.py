"""What a document of a bundle must satisfy, on the way in and on the way out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.documents.identity import is_absolute
from mcpg.documents.paths import normal_path, path_key
from mcpg.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import SourceDocument

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_REMEDY = "correct the document and build the bundle again"


def path_fault(path: str) -> str | None:
    """Say what keeps a normal *path* from being safe in any folder, `None` when nothing does."""
    if not path:
        return "has a blank path"
    if _CONTROL.search(path):
        return "has a path with a control character"
    if _has_lone_surrogate(path):
        return _surrogate_fault(path)
    segments = path.split("/")
    if any(segment.strip() == ".." for segment in segments):
        return f"has a path that climbs out of its folder: {path!r}"
    if any(_DRIVE.match(segment) for segment in segments):
        return f"has a path that names a drive: {path!r}"
    return None


def checked_document(document: SourceDocument, place: str) -> SourceDocument:
    """Give *document* in normal form: path, line ends, and a blank URI as `None`.

    Args:
        document: The document as given.
        place: Where it stands, for messages.

    Raises:
        BundleError: Its path, content or URI cannot stand in a bundle.
    """
    normal = replace(
        document,
        path=normal_path(document.path),
        content=document.content.replace("\r\n", "\n").replace("\r", "\n"),
        canonical_uri=(document.canonical_uri or "").strip() or None,
    )
    fault = path_fault(normal.path) or _content_fault(normal) or _uri_fault(normal)
    if fault:
        raise BundleError(fault, place=place, remedy=_REMEDY)
    return normal


def sorted_by_path(documents: Iterable[SourceDocument], place: str) -> tuple[SourceDocument, ...]:
    """Sort *documents* by path.

    Raises:
        BundleError: Two of them have one path, compared without regard to case.
    """
    ordered = sorted(documents, key=lambda document: document.path)
    seen: dict[str, str] = {}
    for document in ordered:
        first = seen.setdefault(path_key(document.path), document.path)
        if first is not document.path:
            raise BundleError(
                f"has two documents with one path: {first!r} and {document.path!r}",
                place=place,
                remedy="give every document a path of its own (case does not tell them apart)",
            )
    return tuple(ordered)


def _content_fault(document: SourceDocument) -> str | None:
    if not document.content.strip():
        return f"has a blank content: {document.path!r}"
    texts = (document.content, document.canonical_uri or "")
    if any(map(_has_lone_surrogate, texts)):
        return _surrogate_fault(document.path)
    return None


def _uri_fault(document: SourceDocument) -> str | None:
    uri = document.canonical_uri
    if uri is not None and not is_absolute(uri):
        return f"has a canonical URI that is not absolute: {uri!r}"
    return None


def _surrogate_fault(path: str) -> str:
    return f"holds half of a surrogate pair, which is no Unicode: {path!r}"


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
