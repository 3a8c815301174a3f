"""Headings of documents, which links may name behind `#`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize
from urllib.parse import unquote

from mcpg.bundle.codec import ReadDocument
from mcpg.documents.markdown import MAX_PARSED, Reference, read_markdown
from mcpg.documents.page import fence_after, parse_heading
from mcpg.suggestions import suggest

_GENERATED = ("Tool Identity", "Execution Contract", "Input Schema", "Output Schema")
# As HTML, Markdown Extra and its kin state them, and notes whose blocks have names.
_STATED_ID = re.compile(
    r"\b(?:id|name)=[\"']?([^\"'\s>}]+)|\{[^{}\n]*?#([^\"'\s>}]+)|(?:^|[ \t])\^([\w-]+)[ \t]*$",
    re.MULTILINE,
)
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]*>(.{1,300}?)</h\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ANYWHERE = ("", "top")
# What programs that show a file name beside its headings: lines of its text, words, footnotes.
_NO_HEADING = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?\Z|:~:|fn(?:ref)?[:-]?\d+\Z")
_BY_GITHUB = "user-content-"
_MOST_HEADINGS_SUGGESTED = 50  # no more warnings of a kind are shown


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
        self._plain: dict[str, frozenset[str]] = {}
        self._known: dict[str, _Anchors | None] = {}
        self._left = _MOST_HEADINGS_SUGGESTED

    def fault(self, reference: Reference, uri: str) -> str:
        """Return what is wrong with the heading that *reference* names, "" for nothing.

        Args:
            reference: A link.
            uri: The document to which it leads.
        """
        fragment = unquote(reference.target.partition("#")[2])
        if reference.is_wiki:
            # Headings below headings, of which the last is meant.
            fragment = fragment.rpartition("#")[2]
        key = _anchor_key(fragment.removeprefix(_BY_GITHUB))
        if key in _ANYWHERE or _NO_HEADING.match(fragment):
            return ""
        # Most links are right, and lines are read much faster than Markdown.
        if _is_among(key, self._collect_plain_keys(uri)):
            return ""
        anchors = self._collect_anchors(uri)
        if anchors is None or _is_among(key, anchors.by_key):
            return ""
        self._left -= 1
        near = suggest(fragment, anchors.by_key.values()) if self._left >= 0 else ()
        advice = f"; did you mean '#{near[0]}'?" if near else ""
        return f"names no heading of {anchors.path!r}{advice}"

    def _collect_plain_keys(self, uri: str) -> frozenset[str]:
        """Return the keys of the headings of a document that have a line of their own."""
        if uri not in self._plain:
            self._plain[uri] = frozenset(
                key for text in self._texts(uri) for key in map(_anchor_key, _plain_headings(text))
            )
        return self._plain[uri]

    def _collect_anchors(self, uri: str) -> _Anchors | None:
        """Return the anchors of a document, `None` where they are not known."""
        if uri not in self._known:
            texts = self._texts(uri)
            is_known = bool(texts) and all(len(text) <= MAX_PARSED for text in texts)
            self._known[uri] = (
                _Anchors(
                    self._items[uri].place, {_anchor_key(one): one for one in _anchors_in(texts)}
                )
                if is_known
                else None
            )
        return self._known[uri]

    def _texts(self, uri: str) -> list[str]:
        """Return the texts that are written of a document, none where it is not at hand."""
        item = self._items.get(uri)
        return [one.source.content for one in (item, *item.about)] if item else []


def _plain_headings(text: str) -> Iterator[str]:
    fence = ""
    for line in text[:MAX_PARSED].splitlines():
        fence = fence_after(line, fence)
        level, title = (0, "") if fence else parse_heading(line)
        if level:
            yield title


def _anchors_in(texts: Iterable[str]) -> Iterator[str]:
    yield from map(_slug, _GENERATED)
    for text in texts:
        for found in _STATED_ID.findall(text):
            yield from filter(None, found)
        yield from (_slug(_TAG.sub("", title)) for _, title in _HTML_HEADING.findall(text))
        yield from map(_slug, read_markdown(text).headings)


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.casefold()).strip().replace(" ", "-")


def _is_among(key: str, keys: Collection[str]) -> bool:
    # Programs count what is headed alike.
    return key in keys or key.rstrip("0123456789") in keys


def _anchor_key(fragment: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKC", fragment).casefold()))
