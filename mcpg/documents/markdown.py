"""Markdown of authors: headings, text, JSON Schemas in fences; links read, resolved, rewritten."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcpg.catalog.model import Tool
from mcpg.documents.addresses import BASE_URI, normal_path, path_key
from mcpg.documents.model import ToolDocument
from mcpg.json_types import JsonObject

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


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


class Prose:
    """What a body holds, in order.

    Attributes:
        headings: Texts of its headings.
        texts: Texts of its paragraphs, items, table cells and code, none blank.
        schemas: JSON Schemas that stand in fences.
        references: Links to other places.
    """

    def __init__(self) -> None:
        self.headings: list[str] = []
        self.texts: list[str] = []
        self.schemas: list[JsonObject] = []
        self.references: list[Reference] = []


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
            text = "".join(map(_render_token, children)).strip()
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


def _render_token(token: Token) -> str:
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
            shown += _render_token(token)


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
    from mcpg.documents.page import json_object  # noqa: PLC0415 - prose without schemas needs none
    from mcpg.errors import InputError  # noqa: PLC0415 - as above

    try:
        found = json_object(text, "")
    except InputError:
        return None
    is_object = found.get("type") == "object" or "$schema" in found
    return found if is_object or isinstance(found.get("properties"), dict) else None


_SUFFIXES = (".md", ".markdown", ".mdx", ".txt", ".text")
_IDS = (0, 1)
_PATHS = 2


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """The documents that a link can reach, by everything an author may call them.

    Attributes:
        by_uri: Tool ids by canonical URI, "" for that of a page.
        by_words: URIs by kind of name: tool id, `source::name`, path, raw name, label; of pages
            names, then paths. A name that several documents bear stands for none, so its URI is
            `None`.
    """

    by_uri: Mapping[str, str]
    by_words: Sequence[Mapping[str, str | None]]

    def resolve(self, target: str, path: str) -> str | None:
        """Return the URI that *target* means in the document at *path*, `None` if no one's.

        The first that answers: a URI, a tool id, `source::name`, a path from the top or from the
        document's own folder, a raw name, a label; the last two only where they are unique. A path
        may be percent-encoded, be an address below `BASE_URI`, and have a query and a fragment,
        which an id may have as well.
        """
        spelt = (target, f"{target}/", target.rstrip("/"))
        direct = next((uri for uri in spelt if uri in self.by_uri), None)
        return direct or self._find_named(target, path) or self._loosely(target, path)

    def with_paths(self, paths: Mapping[str, str]) -> LinkTargets:
        """Return targets that further *paths*, each with its URI, lead to as well."""
        words = list(self.by_words)
        words[_PATHS] = {**paths, **words[_PATHS]}
        return LinkTargets(self.by_uri, words)

    def _find_named(self, target: str, path: str, kinds: Collection[int] = ()) -> str | None:
        """Return what *target* names, of the names of some *kinds* if there are any."""
        keys = list(dict.fromkeys(_target_keys(target, path)))
        all_words = [self.by_words[kind] for kind in kinds] if kinds else self.by_words
        meant = (words.get(key) for words in all_words for key in keys)
        return next(filter(None, meant), None)

    def _loosely(self, target: str, path: str) -> str | None:
        """Return what *target* means as a path or id that is written as a link may be."""
        if target.startswith(BASE_URI):
            # The address that the .NET library gives the document at this path.
            path = ""
            target = target.removeprefix(BASE_URI)
        elif "://" in target:
            return None
        whole = target.partition("#")[0]
        for bare in dict.fromkeys((target, whole, whole.partition("?")[0])):
            kinds = (_PATHS, len(self.by_words) - 1) if _is_path(bare) else _IDS
            for written in dict.fromkeys((bare, unquote(bare))):
                found = self._find_named(written, path, kinds) if written.strip("/") else None
                if found is not None:
                    return found
        return None


class _LazyMappings(Sequence[Mapping[str, "str | None"]]):
    """Mappings that are made when they are first read: in most catalogues no link has to be."""

    def __init__(self, make: Callable[[], Sequence[Mapping[str, str | None]]]) -> None:
        self._make = make

    @cached_property
    def _mappings(self) -> Sequence[Mapping[str, str | None]]:
        return self._make()

    def __len__(self) -> int:
        return len(self._mappings)

    def __getitem__(self, place: Any) -> Any:
        return self._mappings[place]


def collect_targets(tools: Iterable[Tool], addresses: Mapping[str, tuple[str, str]]) -> LinkTargets:
    """Gather what *tools* are called, each at its path and URI in *addresses*, by tool id."""
    held = tuple(tools)
    by_uri = {addresses[tool.id][1]: tool.id for tool in held}
    return LinkTargets(by_uri, _LazyMappings(partial(_index_names, held, addresses)))


def _index_names(
    tools: Iterable[Tool], addresses: Mapping[str, tuple[str, str]]
) -> Sequence[Mapping[str, str | None]]:
    by_words: list[dict[str, str | None]] = [{}, {}, {}, {}, {}]
    for tool in tools:
        path, uri = addresses[tool.id]
        names = (tool.id, f"{tool.source_id}::{tool.name}", path, tool.name, tool.display_name)
        for words, name in zip(by_words, names, strict=True):
            key = path_key(name.strip())
            words[key] = uri if key and words.get(key, uri) == uri else None
    return by_words


def with_pages(targets: LinkTargets, pages: Collection[ToolDocument]) -> LinkTargets:
    """Return *targets* and *pages*, which what is no name of a tool may mean.

    A page is called by its URI, its path, the name of its file, or its title; the last two only
    where they are unique.
    """
    addresses = {page.uri: "" for page in pages}
    names: dict[str, str | None] = {}
    for page in pages:
        for key in {path_key(one.strip()) for one in (page.tool.name, page.tool.display_name)}:
            names[key] = page.uri if key and names.get(key, page.uri) == page.uri else None
    paths = {path_key(page.path): page.uri for page in pages}
    by_uri = {**addresses, **targets.by_uri} if addresses else targets.by_uri
    return LinkTargets(by_uri, _LazyMappings(lambda: (*targets.by_words, names, paths)))


def _target_keys(target: str, path: str) -> Iterator[str]:
    yield path_key(target.strip())
    relative = target.strip().replace("\\", "/")
    # What climbs above the top from there leads nowhere, and does not lead down again.
    folders = ("",) if relative.startswith("/") else ("", posixpath.dirname(path))
    for folder in folders:
        joined = posixpath.join(folder, relative.lstrip("/"))
        normal = normal_path(posixpath.normpath(joined))
        yield path_key(normal)
        yield from (path_key(normal + suffix) for suffix in _SUFFIXES)


def _is_path(target: str) -> bool:
    return "/" in target or "\\" in target or target.casefold().endswith(_SUFFIXES)


_ADDRESS = re.compile(
    r"(\]\([ \t]*(?:\n[ \t]*)?|^[ \t>]*\[[^\[\]\n]+\]:[ \t]*(?:\n[ \t]*)?)"
    r"(<[^<>\n]*>|(?:[^\s()<>\\]|\\.|\([^\s()\\]*\))+)",
    re.MULTILINE,
)
_WIKI_LINK = re.compile(r"\[\[([^\[\]\n|\\]+)((?:\\?\|[^\[\]\n]*)?)\]\]")


def retarget(body: str, targets: Mapping[Reference, str]) -> str:
    """Return *body* with other targets for links.

    Args:
        body: A person's Markdown.
        targets: The new target of each link that changes, the link as `read_markdown` gives it.
    """
    addresses = {link.target: new for link, new in targets.items() if not link.is_wiki}
    wiki = {link.target: new for link, new in targets.items() if link.is_wiki}

    def address(match: re.Match[str]) -> str:
        new = addresses.get(written_address(match[2]))
        return match[0] if new is None else f"{match[1]}{_bracket_address(new)}"

    def retarget_line(line: str) -> str:
        # In a table a bare bar would end the cell.
        bar = "\\|" if "|" in _WIKI_LINK.sub("", line) else "|"
        return _WIKI_LINK.sub(lambda match: _retarget_match(match, wiki, bar), line)

    code = code_lines(body)
    lines = enumerate(body.split("\n"))
    runs = groupby(lines, key=lambda line: line[0] in code)
    parts = ((is_code, "\n".join(text for _, text in run)) for is_code, run in runs)
    return "\n".join(
        text if is_code else "\n".join(map(retarget_line, _ADDRESS.sub(address, text).split("\n")))
        for is_code, text in parts
    )


def _retarget_match(match: re.Match[str], targets: Mapping[str, str], bar: str) -> str:
    name = match[1].strip()
    return f"[[{targets[name]}{match[2] or bar + name}]]" if name in targets else match[0]


def _bracket_address(address: str) -> str:
    return f"<{address}>" if any(mark in address for mark in " ()") else address
