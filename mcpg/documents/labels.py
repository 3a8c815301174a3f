"""Labels of things as parts of IRIs, in every script."""

from __future__ import annotations

import hashlib
import re
from re import Match
from urllib.parse import quote

from mcpg.text.words import normalize_unicode, strip_accents

BASE = "urn:mcpg:"
"""What the IRIs of tools, labels, sources and the scheme of groups begin with by default."""

LABELS = f"{BASE}id/"
"""What the IRI of a thing begins with that is known by its label alone."""

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


def label_iri(label: str) -> str:
    """Return the IRI of the thing that is called *label*."""
    return f"{LABELS}{slug(label)}"


def escape_iri(iri: str) -> str:
    """Return *iri* with what no IRI may hold percent-encoded; a valid one stays as it is."""
    if iri.isascii() and iri.isprintable() and "#" not in iri and _FORBIDDEN.search(iri) is None:
        return _BRACKET.sub(_percent_encode, iri) if "[" in iri or "]" in iri else iri
    address, mark, fragment = _FORBIDDEN.sub(_percent_encode, iri).partition("#")
    return (
        f"{_BRACKET.sub(_percent_encode, address)}{mark}{_BRACKET.sub(_percent_encode, fragment)}"
    )


def slug(label: str) -> str:
    """Return *label* as a part of an IRI: lower case, no accents, hyphens for spaces.

    Letters of any script stay, and so do the marks that make others of them, as in Cyrillic. A
    label that differs from another in what is dropped, such as `C++`
    from `C`, keeps eight hexadecimal digits of its SHA-256.
    """
    kept, dropped = _DROPPED.subn("", strip_accents(label.strip().casefold()))
    words = normalize_unicode("NFC", _SPACE.sub("-", kept).strip("-"))
    if words and not dropped:
        return escape_iri(words)
    return escape_iri(f"{words}-{digest(label)}".strip("-"))


def digest(text: str) -> str:
    """Return eight hexadecimal digits that tell *text* from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _percent_encode(found: Match[str]) -> str:
    return quote(found.group(), safe="", errors="replace")
