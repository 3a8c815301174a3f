"""The IRI of each node: the same for the same document, on every machine."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcpg.graph.vocabulary import PREFIXES
from mcpg.text.folding import normalized, strip_accents

if TYPE_CHECKING:
    from re import Match

BASE = "urn:managedcode:markdown-ld-kb:/"
"""What the IRI of a thing known by a label alone begins with, as in the .NET library."""

SOURCES = "urn:mcpg:source:"
"""What the IRI of a source begins with."""

# A scheme, and either no host or one with nothing odd in it: no `[`, no port that is no number.
_ABSOLUTE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?:(?!//)\S|//(?:[^\s/?#\[\]@]*@)?[^\s/?#\[\]@:]*(?::[0-9]*)?(?=[/?#]|\Z))"
)
# What RFC 3987 allows in no IRI, and a `%` that escapes nothing.
_FORBIDDEN = re.compile(
    '[\x00-\x20\x7f-\xa0<>"{}|\\\\^`\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\uffff'
    "\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]|%(?![0-9A-Fa-f]{2})"
)
_BRACKET = re.compile(r"[\[\]#]")
_DROPPED = re.compile(r"[^\w\s-]|_")
_SPACE = re.compile(r"[\s-]+")
_DIGITS = 8


def node_iri(name: str) -> str:
    """Give the IRI of what a document calls *name*.

    An absolute IRI stands for itself, with what no IRI may hold percent-encoded, and one that
    begins with a prefix of `PREFIXES`, such as `schema:Thing`, for what it abbreviates. Any other
    text is a label: its node stands below `BASE`.
    """
    if _ABSOLUTE.match(name) is None:
        return f"{BASE}id/{slug(name)}"
    scheme, _, rest = name.partition(":")
    is_short = scheme in PREFIXES and not rest.startswith("//")
    return escaped(f"{PREFIXES[scheme]}{rest}" if is_short else name)


def escaped(iri: str) -> str:
    """Give *iri* with what no IRI may hold percent-encoded; a valid one stays as it is."""
    if iri.isascii() and iri.isprintable() and "#" not in iri and _FORBIDDEN.search(iri) is None:
        return _BRACKET.sub(_encoded, iri) if "[" in iri or "]" in iri else iri
    address, mark, fragment = _FORBIDDEN.sub(_encoded, iri).partition("#")
    return f"{_BRACKET.sub(_encoded, address)}{mark}{_BRACKET.sub(_encoded, fragment)}"


def slug(label: str) -> str:
    """Give *label* as a part of an IRI: lower case, no accents, hyphens for spaces.

    Letters of any script stay, and so do the marks that make others of them, as in Cyrillic. A
    label that differs from another in what is dropped, such as `C++`
    from `C`, keeps eight hexadecimal digits of its SHA-256.
    """
    kept, dropped = _DROPPED.subn("", strip_accents(label.strip().casefold()))
    words = normalized("NFC", _SPACE.sub("-", kept).strip("-"))
    if words and not dropped:
        return escaped(words)
    return escaped(f"{words}-{digest(label)}".strip("-"))


def part_iri(owner: str, kind: str, name: str) -> str:
    """Give the IRI of the part *name*, of a *kind* such as `parameter`, of the node *owner*."""
    mark = "/" if "#" in owner else "#"
    return f"{owner}{mark}{kind}/{quote(name, safe='', errors='replace')}"


def source_iri(source_id: str) -> str:
    """Give the IRI of the source that tools call *source_id*."""
    return f"{SOURCES}{quote(source_id, safe='', errors='replace')}"


def digest(text: str) -> str:
    """Give eight hexadecimal digits that tell *text* from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _encoded(found: Match[str]) -> str:
    return quote(found.group(), safe="", errors="replace")
