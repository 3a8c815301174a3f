"""Texts that say themselves what only their bundle says of them: the URI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.documents.frontmatter import split_front_matter
from mcpg.documents.identity import is_absolute
from mcpg.documents.reader import URI_KEYS, parse_document
from mcpg.documents.scalars import member, quoted
from mcpg.errors import DocumentError

if TYPE_CHECKING:
    from mcpg.catalog.model import SourceDocument
    from mcpg.documents.frontmatter import FrontMatter
    from mcpg.jsontypes import JsonObject


def addressed_text(document: SourceDocument) -> str:
    """Return the text of *document* with front matter that states its URI where nothing else does.

    Text without front matter gets some, since a folder may hold other Markdown as well. A text
    that states a URI, or cannot be read, stays as it is.
    """
    uri = document.canonical_uri
    text = document.content.removeprefix("\ufeff")
    if uri is None:
        return document.content
    try:
        front = split_front_matter(text, document.path)
        alone, _ = parse_document(replace(document, canonical_uri=None))
    except DocumentError:
        return document.content
    if front.line == 1:
        return f"---\n{_stated(uri)}\n---\n{text}"
    states_uri = any(is_absolute(str(front.values.get(key, ""))) for key in URI_KEYS)
    return document.content if states_uri or alone.uri == uri else _with_line(text, front, uri)


def _stated(uri: str) -> str:
    return f"{URI_KEYS[0]}: {quoted(uri)}"


def _with_line(text: str, front: FrontMatter, uri: str) -> str:
    """Put a line with *uri* first in the front matter, which is written anew if it takes none."""
    others = {key: value for key, value in front.values.items() if key not in URI_KEYS}
    wanted: JsonObject = {URI_KEYS[0]: uri, **others}
    lines = text.split("\n")
    lines.insert(front.text_line - 1, _stated(uri))
    try:
        if split_front_matter("\n".join(lines), "").values == wanted:
            return "\n".join(lines)
    except DocumentError:
        pass  # such as one mapping in braces
    written = (line for key, value in wanted.items() for line in member(key, value))
    return "\n".join(("---", *written, "---", front.markdown))
