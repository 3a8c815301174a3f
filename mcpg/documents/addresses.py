"""URIs and paths of documents of tools, and how they are compared."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from re import Match
from urllib.parse import quote

from mcpg.catalog.model import Tool
from mcpg.text.words import normalize_unicode, strip_accents

BASE = "urn:mcpg:"
"""The beginning of the IRIs of tools, labels, sources and the scheme of groups by default."""

LABELS = f"{BASE}id/"
"""The beginning of the IRI of a thing that is known only by its label."""

# Characters that RFC 3987 allows in no IRI, and a `%` that escapes nothing.
_FORBIDDEN = re.compile(
    '[\x00-\x20\x7f-\xa0<>"{}|\\\\^`\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\uffff'
    "\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]|%(?![0-9A-Fa-f]{2})"
)
_BRACKET = re.compile(r"[\[\]#]")
_DROPPED = re.compile(r"[^\w\s-]|_")
_SPACE = re.compile(r"[\s-]+")
_DIGITS = 8


def label_iri(label: str) -> str:
    """Return the IRI of the thing that is called *label*."""
    return f"{LABELS}{slug(label)}"


def escape_iri(iri: str) -> str:
    """Return *iri* with invalid characters percent-encoded; a valid one stays as it is."""
    if iri.isascii() and iri.isprintable() and "#" not in iri and _FORBIDDEN.search(iri) is None:
        return _BRACKET.sub(_percent_encode, iri) if "[" in iri or "]" in iri else iri
    address, mark, fragment = _FORBIDDEN.sub(_percent_encode, iri).partition("#")
    return (
        f"{_BRACKET.sub(_percent_encode, address)}{mark}{_BRACKET.sub(_percent_encode, fragment)}"
    )


def slug(label: str) -> str:
    """Return *label* as a part of an IRI: lower case, no accents, hyphens for spaces.

    Letters of any script stay, and so do the marks that make others of them, as in Cyrillic. If
    characters are dropped that distinguish a label, such as `C++` from `C`, eight hexadecimal
    digits of its SHA-256 are added.
    """
    kept, dropped = _DROPPED.subn("", strip_accents(label.strip().casefold()))
    words = normalize_unicode("NFC", _SPACE.sub("-", kept).strip("-"))
    if words and not dropped:
        return escape_iri(words)
    return escape_iri(f"{words}-{digest(label)}".strip("-"))


def digest(text: str) -> str:
    """Return eight hexadecimal digits of the SHA-256 of *text*."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _percent_encode(found: Match[str]) -> str:
    return quote(found.group(), safe="", errors="replace")


BASE_URI = "https://managedcode.com/mcpgateway/knowledge/"
"""The beginning of the canonical URI of every tool, as in the .NET gateway."""

MAX_SEGMENT = 120
"""Longest name of a file (without `.md`) or folder, in bytes."""

# A scheme of one letter is a Windows drive.
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[^\s\x00-\x1f\x7f]+")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9_~-]+")  # most names, which are never escaped
_CUT_ESCAPE = re.compile(r"%[0-9A-F]?\Z")


def is_absolute(uri: str) -> bool:
    """Return whether *uri* is valid in a bundle as the URI of a document."""
    return _ABSOLUTE.fullmatch(uri) is not None


def tool_uri(source_id: str, name: str, copy: int = 1) -> str:
    """Return the canonical URI of a tool's document; *copy* counts tools of one name, from 1."""
    address = f"{BASE_URI}tools/{_escape(source_id)}/{_escape(name)}/"
    return address if copy == 1 else f"{address}{copy}/"


def tool_path(source_id: str, name: str, copy: int = 1) -> str:
    """Return the relative path of a tool's document, valid on every operating system.

    An ordinary name is written as by the .NET gateway. A name that some file system would refuse or
    change is replaced by a readable prefix, `_` and eight hex digits of its SHA-256. *copy* counts
    the tools that share a path, from 1.
    """
    folder = f"tools/{_segment(source_id)}"
    if copy == 1:
        return f"{folder}/{_segment(name)}.md"
    return f"{folder}/{_segment(name, as_folder=True)}/{copy}.md"


def uris_for(tools: Iterable[Tool]) -> dict[str, tuple[str, str]]:
    """Return every tool's path and URI, by tool id, no two alike.

    Paths that differ only in case count as the same. The numbers of copies follow the order of
    source, name and id, so they do not depend on the order of *tools*.
    """
    paths: Counter[str] = Counter()
    uris: Counter[str] = Counter()
    addresses: dict[str, tuple[str, str]] = {}
    for tool in sorted(tools, key=lambda tool: (tool.source_id, tool.name, tool.id)):
        path, uri = tool_path(tool.source_id, tool.name), tool_uri(tool.source_id, tool.name)
        copies = paths[path.casefold()] = paths[path.casefold()] + 1
        if copies > 1:
            path = tool_path(tool.source_id, tool.name, copies)
        copies = uris[uri] = uris[uri] + 1
        if copies > 1:
            uri = tool_uri(tool.source_id, tool.name, copies)
        addresses[tool.id] = path, uri
    return addresses


def _escape(text: str) -> str:
    """Percent-encode *text* as .NET's `Uri.EscapeDataString` does; never give `.` or `..`."""
    if _PLAIN.fullmatch(text):
        return text
    escaped = quote(text, safe="", errors="replace")
    return escaped if escaped.strip(".") else escaped.replace(".", "%2E")


def _segment(text: str, *, as_folder: bool = False) -> str:
    escaped = _escape(text)
    if escaped.startswith("."):
        # A hidden file would be skipped when its folder is read.
        escaped = f"%2E{escaped[1:]}"
    # A folder `x.md` would take the place of the document of a tool named `x`.
    is_shadow = as_folder and escaped.lower().endswith(".md")
    is_unsafe = is_shadow or escaped.endswith(".") or _DEVICE.match(escaped)
    if escaped and len(escaped) <= MAX_SEGMENT and not is_unsafe:
        return escaped
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    prefix = _CUT_ESCAPE.sub("", escaped[: MAX_SEGMENT - 1 - len(digest)])
    return f"{prefix.replace('.', '_')}_{digest}"


def normal_path(path: str) -> str:
    """Bring a relative path to the form that bundles use.

    Backslashes become slashes; leading slashes, repeated slashes and `.` segments go.
    """
    segments = path.replace("\\", "/").split("/")
    return "/".join([segment for segment in segments if segment.strip() not in {"", "."}])


def path_key(path: str) -> str:
    """Return the form under which two paths are one file on any operating system."""
    return normalize_unicode("NFC", path).casefold()
