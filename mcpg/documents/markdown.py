"""Markdown of authors: headings, text, JSON Schemas in fences; links read, resolved, rewritten."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain, groupby, takewhile
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcpg.catalog.model import SourceKind, Tool
from mcpg.documents.addresses import BASE_URI, normal_path, path_key
from mcpg.documents.checks import quote_cut, suggestion
from mcpg.documents.model import ToolDocument
from mcpg.documents.page import (
    CONTRACT_HEADING,
    CONTRACT_LABELS,
    IDENTITY_HEADING,
    IDENTITY_LABELS,
    INPUT_HEADING,
    OUTPUT_HEADING,
    fence_after,
    json_object,
    parse_heading,
    parse_row,
)
from mcpg.errors import Code, Diagnostic, InputError, warning
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import likeliest

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


MAX_PARSED = 256 * 1024
"""How much of a body is parsed, in characters; the rest is treated as plain text."""

_LONGEST_WIKI_LINK = 500
_WIKI = "wikilink"
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 4_096, 1_024


@dataclass(frozen=True, slots=True)
class Reference:
    """A link in the text: its target as written, and the shown text, "" for none."""

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
    """The parts of a body, in order; texts come from paragraphs, items, table cells and code."""

    headings: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    schemas: list[JsonObject] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def read_markdown(body: str) -> Prose:
    """Read *body* as CommonMark with tables and `[[wiki links]]`; HTML in it is ignored.

    A fence with a JSON Schema of an object is a schema, not a text. The result is shared by all
    callers: treat it as read-only.
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
            schema = _schema(token.content)
            if schema is not None:
                prose.schemas.append(schema)
            elif token.content.strip():
                prose.texts.append(token.content.strip())
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


def _schema(text: str) -> JsonObject | None:
    """Read *text* as the JSON Schema of an object, `None` when it is anything else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json_object(text, "")
    except InputError:
        return None
    is_object = found.get("type") == "object" or "$schema" in found
    return found if is_object or isinstance(found.get("properties"), dict) else None


_SUFFIXES = (".md", ".markdown", ".mdx", ".txt", ".text")
_IDS = (0, 1)
_PATHS = 2


@dataclass(frozen=True)
class LinkTargets:
    """The documents that a link can reach, by everything an author may call them.

    Tool ids are by canonical URI, "" for a page's; other names are gathered when they are first
    needed: in most catalogs no link has to be resolved.
    """

    by_uri: Mapping[str, str]
    make_words: Callable[[], Sequence[Mapping[str, str | None]]]

    @cached_property
    def by_words(self) -> Sequence[Mapping[str, str | None]]:
        """URIs by kind of name: id, `source::name`, path, raw name, label; of pages names, paths.

        A name that several documents share is ambiguous, so its URI is `None`.
        """
        return self.make_words()

    def resolve(self, target: str, path: str) -> str | None:
        """Return the URI that *target* means in the document at *path*, `None` if unknown.

        The first that answers: a URI, a tool id, `source::name`, a path from the top or from the
        document's own folder, a raw name, a label; the last two only if they are unique. A path
        may be percent-encoded, be an address below `BASE_URI`, and have a query and a fragment,
        which an id may also have.
        """
        spelt = (target, f"{target}/", target.rstrip("/"))
        direct = next((uri for uri in spelt if uri in self.by_uri), None)
        return direct or self._find_named(target, path) or self._loosely(target, path)

    def with_paths(self, paths: Mapping[str, str]) -> LinkTargets:
        """Return targets with further *paths*, each with its URI."""
        words = list(self.by_words)
        words[_PATHS] = {**paths, **words[_PATHS]}
        return LinkTargets(self.by_uri, lambda: words)

    def _find_named(self, target: str, path: str, kinds: Collection[int] = ()) -> str | None:
        """Return the document that *target* names, by names of some *kinds* if there are any."""
        keys = [path_key(target.strip())]
        relative = target.strip().replace("\\", "/")
        # A path that climbs above the top leads nowhere, and does not lead down again.
        for folder in ("",) if relative.startswith("/") else ("", posixpath.dirname(path)):
            joined = posixpath.join(folder, relative.lstrip("/"))
            normal = normal_path(posixpath.normpath(joined))
            keys += (path_key(normal + suffix) for suffix in ("", *_SUFFIXES))
        all_words = [self.by_words[kind] for kind in kinds] if kinds else self.by_words
        meant = (words.get(key) for words in all_words for key in dict.fromkeys(keys))
        return next(filter(None, meant), None)

    def _loosely(self, target: str, path: str) -> str | None:
        """Return the meaning of *target* as a path or id, written as in a link."""
        if target.startswith(BASE_URI):
            # The address that the .NET library gives the document at this path.
            path = ""
            target = target.removeprefix(BASE_URI)
        elif "://" in target:
            return None
        whole = target.partition("#")[0]
        for bare in dict.fromkeys((target, whole, whole.partition("?")[0])):
            is_path = "/" in bare or "\\" in bare or bare.casefold().endswith(_SUFFIXES)
            kinds = (_PATHS, len(self.by_words) - 1) if is_path else _IDS
            for written in dict.fromkeys((bare, unquote(bare))):
                found = self._find_named(written, path, kinds) if written.strip("/") else None
                if found is not None:
                    return found
        return None


def collect_targets(tools: Iterable[Tool], addresses: Mapping[str, tuple[str, str]]) -> LinkTargets:
    """Gather the names of *tools*, each at its path and URI in *addresses*, by tool id."""
    held = tuple(tools)

    def index_names() -> Sequence[Mapping[str, str | None]]:
        by_words: list[dict[str, str | None]] = [{}, {}, {}, {}, {}]
        for tool in held:
            path, uri = addresses[tool.id]
            names = (tool.id, f"{tool.source_id}::{tool.name}", path, tool.name, tool.display_name)
            for words, name in zip(by_words, names, strict=True):
                key = path_key(name.strip())
                words[key] = uri if key and words.get(key, uri) == uri else None
        return by_words

    return LinkTargets({addresses[tool.id][1]: tool.id for tool in held}, index_names)


def with_pages(targets: LinkTargets, pages: Collection[ToolDocument]) -> LinkTargets:
    """Return *targets* with *pages*, which links may name if no tool has the name.

    A page is called by its URI, its path, the name of its file, or its title; the last two only
    if they are unique.
    """
    addresses = {page.uri: "" for page in pages}
    names: dict[str, str | None] = {}
    for page in pages:
        for key in {path_key(one.strip()) for one in (page.tool.name, page.tool.display_name)}:
            names[key] = page.uri if key and names.get(key, page.uri) == page.uri else None
    paths = {path_key(page.path): page.uri for page in pages}
    by_uri = {**addresses, **targets.by_uri} if addresses else targets.by_uri
    return LinkTargets(by_uri, lambda: (*targets.by_words, names, paths))


_ADDRESS = re.compile(
    r"(\]\([ \t]*(?:\n[ \t]*)?|^[ \t>]*\[[^\[\]\n]+\]:[ \t]*(?:\n[ \t]*)?)"
    r"(<[^<>\n]*>|(?:[^\s()<>\\]|\\.|\([^\s()\\]*\))+)",
    re.MULTILINE,
)
_WIKI_LINK = re.compile(r"\[\[([^\[\]\n|\\]+)((?:\\?\|[^\[\]\n]*)?)\]\]")


def retarget(body: str, targets: Mapping[Reference, str]) -> str:
    """Return *body* with other targets for links, each as `read_markdown` gives it."""
    from markdown_it.common.utils import unescapeAll  # noqa: PLC0415 - as above

    addresses = {link.target: new for link, new in targets.items() if not link.is_wiki}
    wiki = {link.target: new for link, new in targets.items() if link.is_wiki}

    def retarget_address(match: re.Match[str]) -> str:
        raw = match[2][1:-1] if match[2].startswith("<") else match[2]
        new = addresses.get(_parser().normalizeLink(unescapeAll(raw)))
        if new is not None and any(mark in new for mark in " ()"):
            new = f"<{new}>"
        return match[0] if new is None else f"{match[1]}{new}"

    def retarget_line(line: str) -> str:
        # In a table a bare bar would end the cell.
        bar = "\\|" if "|" in _WIKI_LINK.sub("", line) else "|"

        def retarget_wiki_link(match: re.Match[str]) -> str:
            name = match[1].strip()
            return f"[[{wiki[name]}{match[2] or bar + name}]]" if name in wiki else match[0]

        return _WIKI_LINK.sub(retarget_wiki_link, line)

    tokens = _parser().parse(body[:MAX_PARSED])
    spans = [token.map for token in tokens if token.type in {"fence", "code_block"}]
    code = {number for span in spans if span for number in range(*span)}
    lines = enumerate(body.split("\n"))
    runs = groupby(lines, key=lambda line: line[0] in code)
    parts = ((is_code, "\n".join(text for _, text in run)) for is_code, run in runs)
    return "\n".join(
        text
        if is_code
        else "\n".join(map(retarget_line, _ADDRESS.sub(retarget_address, text).split("\n")))
        for is_code, text in parts
    )


_SECTIONS = (IDENTITY_HEADING, CONTRACT_HEADING, INPUT_HEADING, OUTPUT_HEADING)
_BY_NAME = {heading.casefold(): heading for heading in _SECTIONS}
_LABELLED_SECTIONS = (IDENTITY_HEADING, CONTRACT_HEADING)
_LEVEL = 2
_LABEL = re.compile(r"(?:[-*] +)?([A-Za-z][A-Za-z ]{1,40}):(?: |\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_STRONG = re.compile(r"[ \t]*(\*\*|__)(.+?):?\1:?[ \t]*\Z")
_JSON_FENCE = re.compile(
    r"[ \t]*(?:`{3,}|~{3,})[ \t]*json(?:schema|-schema)?[ \t]*\Z", re.IGNORECASE
)
_SCHEMA = re.compile(r'"(?:properties|\$schema|required)"\s*:|"type"\s*:\s*"object"')


@dataclass(frozen=True, slots=True)
class _MarkdownLine:
    """A line of Markdown, its fence, "" outside, and whether it is the mark of the fence."""

    text: str
    fence: str
    is_mark: bool


def check_page(
    markdown: str, first_line: int, place: str, *, is_prose: bool
) -> Iterator[Diagnostic]:
    """Report probable mistakes of the author of *markdown*, with the line of each.

    It begins on the *first_line* of the document at *place*; if all of it *is_prose*, so is a
    section with the heading of a generated one.
    """
    lines: list[_MarkdownLine] = []
    fence = ""
    for text in markdown.split("\n"):
        before, fence = fence, fence_after(text, fence)
        lines.append(_MarkdownLine(text, before or fence, before != fence))
    found = chain(
        _open_blocks(lines),
        _broken_schemas(lines, is_prose=is_prose),
        () if is_prose else _sections(lines),
    )
    for message, number in found:
        yield warning(Code.DOCUMENT_INVALID, message, f"{place}:{first_line + number}")


def _open_blocks(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[str, int]]:
    """Report a fence in which another one opens, or the document ends, and an open comment."""
    opened = None
    for number, line in enumerate(lines):
        if line.is_mark:
            opened = number if opened is None else None
        elif opened is not None and fence_after(line.text, "").startswith(line.fence):
            yield "this code fence is not closed before the next one opens", opened
            break
    else:
        if opened is not None:
            yield "this code fence is not closed: all that follows is code", opened
    # Only at the beginning of a line does a comment hide more than the rest of its paragraph.
    opened = None

    for number, line in enumerate(lines):
        if not line.fence and "--" in line.text:
            if opened is None and line.text.lstrip().startswith("<!--"):
                opened = number
            if opened is not None and "-->" in line.text:
                opened = None
    if opened is not None:
        yield "this comment is not closed: all that follows is hidden", opened


def _broken_schemas(lines: Sequence[_MarkdownLine], *, is_prose: bool) -> Iterator[tuple[str, int]]:
    """Report fences of JSON that are meant as schemas but invalid; sections report their own."""
    section = ""
    for number, line in enumerate(lines):
        if not line.fence:
            level, title = parse_heading(line.text)
            if 0 < level <= _LEVEL:
                section = title.casefold() if level == _LEVEL and not is_prose else ""
        elif line.is_mark and _JSON_FENCE.match(line.text) and section not in _BY_NAME:
            below = (lines[at] for at in range(number + 1, len(lines)))
            text = "\n".join(one.text for one in takewhile(lambda one: not one.is_mark, below))
            if text.lstrip().startswith("{") and _SCHEMA.search(text):
                try:
                    json_object(text, "")
                except InputError as fault:
                    message = f"the JSON Schema in this fence is ignored: {fault.message}"
                    yield message, number + parse_row(fault)


def _sections(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[str, int]]:
    """Report sections with nearly the heading of a generated one, or without its content."""
    found: Counter[str] = Counter()
    for number, level, title, how in _headings(lines):
        exact = _BY_NAME.get(title.casefold())
        name = exact or (_nearest(title, _SECTIONS) if len(title) <= _LONGEST else None)
        if name is None:
            if title.casefold() == _NOTES:
                return
            continue
        # The lines below, up to the next heading.
        others = (lines[at] for at in range(number + 1, len(lines)))
        below = [*takewhile(lambda one: one.fence or not parse_heading(one.text)[0], others)]
        holds = _holds_its_own(name, below)
        if exact and level == _LEVEL and not how:
            found[name] += 1
            if found[name] > 1:
                yield f"a second section {name!r} is prose: a document is of one tool", number
            elif not holds:
                wanted = {
                    IDENTITY_HEADING: "no line such as `- Tool id: NAME`",
                    CONTRACT_HEADING: "no line such as `Tool name: NAME`",
                }.get(name, "no JSON in a code fence")
                yield f"the section {name!r} has {wanted}, so it is prose", number
            elif name == IDENTITY_HEADING:
                yield from _labels(below, number + 1)
        elif holds or (
            level == _LEVEL
            and not how
            and name in _LABELLED_SECTIONS
            and title.casefold() != f"{name.casefold()}s"
        ):
            yield f"{quote_cut(title)} is not a section{how}: write `## {name}`", number


_LONGEST = 40
_MOST_LABELS_REMEMBERED = 1_000
_NOTES = "author notes"


def _headings(lines: Sequence[_MarkdownLine]) -> Iterator[tuple[int, int, str, str]]:
    """Return number, level and text of whatever is, or looks like, a heading; and why not."""
    for number, line in enumerate(lines):
        if line.fence or not line.text.strip():
            continue
        level, title = parse_heading(line.text)
        if level:
            yield number, level, title, "" if level == _LEVEL else f" at level {level}"
        elif number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1].text):
            yield number, _LEVEL, line.text.strip(), " with an underline"
        elif len(line.text) <= _LONGEST and (strong := _STRONG.match(line.text)):
            yield number, 0, strong[2].strip(), " as strong text"
        elif line.text.lstrip().startswith("#"):
            yield number, 0, line.text.strip("# \t"), " without a blank after its marks"


def _holds_its_own(name: str, below: Sequence[_MarkdownLine]) -> bool:
    if name not in _LABELLED_SECTIONS:
        return any(line.is_mark for line in below)
    known = IDENTITY_LABELS if name == IDENTITY_HEADING else CONTRACT_LABELS
    labels = (_LABEL.match(line.text) for line in below if not line.fence)
    return any(label is not None and _nearest(label[1], known) for label in labels)


_nearest = lru_cache(_MOST_LABELS_REMEMBERED)(likeliest)


def _labels(below: Sequence[_MarkdownLine], first: int) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(below, start=first):
        label = _LABEL.match(line.text)
        if label is None:
            continue
        value = line.text[label.end() :].strip()
        if label[1] not in IDENTITY_LABELS:
            advice = suggestion(label[1], IDENTITY_LABELS)
            if advice:
                yield f"the label {quote_cut(label[1])} is unknown{advice}", number
        elif not value:
            yield f"{quote_cut(label[1])} has no value", number
        elif label[1] == IDENTITY_LABELS[-1] and value.lower() not in _KINDS:
            advice = suggestion(value, _SOURCE_KINDS) or f"; write {', '.join(_SOURCE_KINDS)}"
            yield f"the source kind {quote_cut(value)} is unknown{advice}", number


_SOURCE_KINDS = tuple(kind.value for kind in SourceKind)
_KINDS = frozenset(map(str.lower, _SOURCE_KINDS))
