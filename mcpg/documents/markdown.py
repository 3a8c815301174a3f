"""Markdown of authors: headings, text, links, and JSON Schemas in fences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from mcpg.documents.page import json_object
from mcpg.errors import InputError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    from mcpg.json_types import JsonObject

MAX_PARSED = 256 * 1024
"""How much of a body is parsed, in characters; what follows is taken as plain text."""

_LONGEST_WIKI_LINK = 500
_WIKI = "wikilink"
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 4_096, 1_024


@dataclass(frozen=True, slots=True)
class Reference:
    """A link in the text.

    Attributes:
        target: What it leads to, as written.
        label: The text that is shown, "" for none.
        is_wiki: Whether it is written `[[target|label]]`.
    """

    target: str
    label: str
    is_wiki: bool

    @property
    def suffix(self) -> str:
        """The query and fragment of an address, the fragment of a wiki link."""
        bare = self.target.partition("#")[0]
        return self.target[len(bare if self.is_wiki else bare.partition("?")[0]) :]


@dataclass(slots=True)
class Prose:
    """What a body holds, in order.

    Attributes:
        headings: Texts of its headings.
        texts: Texts of its paragraphs, items, table cells and code, none blank.
        schemas: JSON Schemas that stand in fences.
        references: Links to other places.
    """

    headings: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    schemas: list[JsonObject] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def read_markdown(body: str) -> Prose:
    """Read *body* as CommonMark with tables and `[[wiki links]]`; HTML in it is passed over.

    A fence whose content is a JSON Schema of an object is no text but a schema. What is read is
    shared by all who ask: treat it as read-only.
    """
    return _remembered(body) if len(body) <= _LONGEST_REMEMBERED else _read(body)


def _read(body: str) -> Prose:
    prose = Prose()
    in_heading = False
    for token in _parser().parse(body[:MAX_PARSED]):
        if token.type in {"heading_open", "heading_close"}:
            in_heading = token.type == "heading_open"
        elif token.type == "inline":
            into = prose.headings if in_heading else prose.texts
            children = token.children or []
            prose.references += _references(children)
            text = "".join(map(_shown, children)).strip()
            if text:
                into.append(text)
        elif token.type in {"fence", "code_block"}:
            _take_code(token, prose)
    if len(body) > MAX_PARSED:
        prose.texts.append(body[MAX_PARSED:])
    return prose


# A body is read for its links, and again for its words.
_remembered = lru_cache(_MOST_REMEMBERED)(_read)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - generated documents have no prose

    parser = MarkdownIt("commonmark").enable("table")
    parser.inline.ruler.before("link", _WIKI, _wiki_link)
    return parser


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """Take `[[target|label]]` at the parser's position as one token."""
    if not state.src.startswith("[[", state.pos):
        return False
    start = state.pos + 2
    end = state.src.find("]]", start, start + _LONGEST_WIKI_LINK)
    target, _, label = state.src[start : max(start, end)].replace("\\|", "|").partition("|")
    if not target.strip() or any(mark in target + label for mark in "[]\n"):
        return False
    if not silent:
        token = state.push(_WIKI, "", 0)
        token.meta = {"target": target.strip()}
        token.content = label.strip() or target.strip()
    state.pos = end + 2
    return True


def written_address(raw: str) -> str:
    """Return the target of a reference whose address is written *raw*, perhaps in `<>`."""
    from markdown_it.common.utils import unescapeAll  # noqa: PLC0415 - as above

    plain = raw[1:-1] if raw.startswith("<") else raw
    return _parser().normalizeLink(unescapeAll(plain))


def code_lines(body: str) -> set[int]:
    """Return the numbers, from 0, of the lines of *body* that are code."""
    tokens = _parser().parse(body[:MAX_PARSED])
    spans = [token.map for token in tokens if token.type in {"fence", "code_block"}]
    return {number for span in spans if span for number in range(*span)}


def _shown(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    return "" if token.type == "html_inline" else token.content


def _references(children: Iterable[Token]) -> Iterator[Reference]:
    open_target, shown = "", ""
    for token in children:
        if token.type == "link_open":
            open_target, shown = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if open_target:
                yield Reference(open_target, shown.strip(), is_wiki=False)
            open_target = ""
        elif token.type == _WIKI:
            yield Reference(token.meta["target"], token.content, is_wiki=True)
        else:
            shown += _shown(token)


def _take_code(token: Token, prose: Prose) -> None:
    schema = _schema(token.content)
    if schema is not None:
        prose.schemas.append(schema)
    elif token.content.strip():
        prose.texts.append(token.content.strip())


def _schema(text: str) -> JsonObject | None:
    """Read *text* as the JSON Schema of an object, `None` when it is anything else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json_object(text, "")
    except InputError:
        return None
    is_object = value.get("type") == "object" or "$schema" in value
    return value if is_object or isinstance(value.get("properties"), dict) else None
