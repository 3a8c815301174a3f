"""Headings of documents, which links may name behind `#`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import unquote

from mcpg.bundle.codec import ReadDocument
from mcpg.documents.markdown import MAX_PARSED, Reference, read_markdown

_GENERATED = ("Tool Identity", "Execution Contract", "Input Schema", "Output Schema")
_STATED_ID = re.compile(r"(?:\b(?:id|name)=[\"']?|\{#)([^\"'\s>}]+)")
_ANYWHERE = ("", "top")


@dataclass(frozen=True, slots=True)
class _Anchors:
    """What a link to a document may name.

    Attributes:
        path: The document.
        by_key: What is written behind `#`, by what all spellings of it have in common.
    """

    path: str
    by_key: dict[str, str]


class Headings:
    """Judges links to headings.

    Programs make different anchors of one heading. So only letters and digits are compared.
    """

    def __init__(self, items: Iterable[ReadDocument]) -> None:
        """Take the documents to which links may lead."""
        self._items = {item.document.uri: item for item in items}
        self._known: dict[str, _Anchors | None] = {}

    def fault(self, reference: Reference, uri: str) -> str:
        """Return what is wrong with the heading that *reference* names, "" for nothing.

        Args:
            reference: A link.
            uri: The document to which it leads.
        """
        fragment = unquote(reference.target.partition("#")[2])
        anchors = self._of(uri) if _key(fragment) not in _ANYWHERE else None
        # Browsers look for words behind `:~:`.
        if anchors is None or fragment.startswith(":~:"):
            return ""
        key = _key(fragment)
        if key in anchors.by_key or key.rstrip("0123456789") in anchors.by_key:
            return ""
        near = get_close_matches(key, anchors.by_key, 1)
        advice = f"; did you mean '#{anchors.by_key[near[0]]}'?" if near else ""
        return f"names no heading of {anchors.path!r}{advice}"

    def _of(self, uri: str) -> _Anchors | None:
        """Return the anchors of a document, `None` where they are not known."""
        if uri not in self._known:
            item = self._items.get(uri)
            texts = [one.source.content for one in (item, *item.about)] if item else []
            is_known = item is not None and all(len(text) <= MAX_PARSED for text in texts)
            self._known[uri] = (
                _Anchors(item.place, {_key(one): one for one in _anchors_in(texts)})
                if item is not None and is_known
                else None
            )
        return self._known[uri]


def _anchors_in(texts: Iterable[str]) -> Iterator[str]:
    yield from map(_slug, _GENERATED)
    for text in texts:
        yield from _STATED_ID.findall(text)
        yield from map(_slug, read_markdown(text).headings)


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.casefold()).strip().replace(" ", "-")


def _key(fragment: str) -> str:
    return "".join(filter(str.isalnum, fragment.casefold()))
