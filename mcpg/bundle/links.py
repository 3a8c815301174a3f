"""The links in documents: resolved, joined with hints, and as edges.

Edges written out in front matter and links in prose need no place in a list of links: a reader of
the document finds them again, so its text stays unchanged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from mcpg.bundle.codec import ReadDocument
from mcpg.catalog.model import Tool
from mcpg.documents.addresses import path_key
from mcpg.documents.facts import TARGET_KEYS, means_itself, parse_facts, pick_text
from mcpg.documents.front_matter import split_front_matter
from mcpg.documents.markdown import MAX_PARSED, LinkTargets, Reference, read_markdown
from mcpg.documents.model import LineNumbers, Link, ToolDocument
from mcpg.documents.page import fence_after, parse_heading
from mcpg.documents.reader import LINK_KEYS, SPELLINGS
from mcpg.errors import Code, Diagnostic, DocumentError, SourceError, error, info, warning
from mcpg.files import is_file
from mcpg.relations.edges import (
    COVERAGE_FACTORS,
    Edge,
    EdgeKind,
    EdgeOrigin,
    ToolRelations,
    compute_weight,
)
from mcpg.relations.infer import STATED
from mcpg.relations.observed_calls import (
    ObservedCalls,
    ToolNames,
    decode,
    learned_edges,
    list_tool_names,
    merge,
    rename_tools,
)
from mcpg.text.spelling import suggest
from mcpg.values import format_count

if TYPE_CHECKING:
    from mcpg.sources.model import RawFile

_GENERATED = ("Tool Identity", "Execution Contract", "Input Schema", "Output Schema")
# Ids in HTML, Markdown Extra and similar formats, and notes whose blocks have names.
_STATED_ID = re.compile(
    r"\b(?:id|name)=[\"']?([^\"'\s>}]+)|\{[^{}\n]*?#([^\"'\s>}]+)|(?:^|[ \t])\^([\w-]+)[ \t]*$",
    re.MULTILINE,
)
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]*>(.{1,300}?)</h\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ANYWHERE = ("", "top")
# Fragments of programs that show a file name beside its headings: lines, words, footnotes.
_NO_HEADING = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?\Z|:~:|fn(?:ref)?[:-]?\d+\Z")
_BY_GITHUB = "user-content-"
_MOST_HEADINGS_SUGGESTED = 50  # no more warnings of a kind are shown


class Headings:
    """Judges links to headings.

    Programs make different anchors of one heading. So only letters and digits are compared.
    """

    def __init__(self, items: Iterable[ReadDocument]) -> None:
        """Take the documents to which links may lead."""
        self._items = {item.document.uri: item for item in items}
        self._plain: dict[str, frozenset[str]] = {}
        self._known: dict[str, dict[str, str] | None] = {}
        self._left = _MOST_HEADINGS_SUGGESTED

    def fault(self, reference: Reference, uri: str) -> str:
        """Return the fault of the heading in a *reference* to *uri*, "" for none."""
        fragment = unquote(reference.target.partition("#")[2])
        if reference.is_wiki:
            # Headings below headings: the last counts.
            fragment = fragment.rpartition("#")[2]
        key = _anchor_key(fragment.removeprefix(_BY_GITHUB))
        if key in _ANYWHERE or _NO_HEADING.match(fragment):
            return ""
        # Most links are right, and lines are read much faster than Markdown.
        keys = {key, key.rstrip("0123456789")}  # programs number equal headings
        if not keys.isdisjoint(self._collect_plain_keys(uri)):
            return ""
        anchors = self._collect_anchors(uri)
        if anchors is None or not keys.isdisjoint(anchors):
            return ""
        self._left -= 1
        near = suggest(fragment, anchors.values()) if self._left >= 0 else ()
        advice = f"; did you mean '#{near[0]}'?" if near else ""
        return f"names no heading of {self._items[uri].place!r}{advice}"

    def _collect_plain_keys(self, uri: str) -> frozenset[str]:
        """Return the keys of the headings of a document that have a line of their own."""
        if uri not in self._plain:
            titles: list[str] = []
            for text in self._texts(uri):
                fence = ""
                for line in text[:MAX_PARSED].splitlines():
                    fence = fence_after(line, fence)
                    level, title = (0, "") if fence else parse_heading(line)
                    titles += [title] if level else []
            self._plain[uri] = frozenset(map(_anchor_key, titles))
        return self._plain[uri]

    def _collect_anchors(self, uri: str) -> dict[str, str] | None:
        """Return the possible fragments, by their folded spelling; `None` if unknown."""
        if uri not in self._known:
            texts = self._texts(uri)
            anchors = [*map(_slug, _GENERATED)]
            is_known = bool(texts) and all(len(text) <= MAX_PARSED for text in texts)
            for text in texts if is_known else ():
                anchors += filter(None, chain.from_iterable(_STATED_ID.findall(text)))
                anchors += (_slug(_TAG.sub("", title)) for _, title in _HTML_HEADING.findall(text))
                anchors += map(_slug, read_markdown(text).headings)
            self._known[uri] = {_anchor_key(one): one for one in anchors} if is_known else None
        return self._known[uri]

    def _texts(self, uri: str) -> list[str]:
        """Return the texts that are written of a document, none if it is not at hand."""
        item = self._items.get(uri)
        return [one.source.content for one in (item, *item.about)] if item else []


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.casefold()).strip().replace(" ", "-")


def _anchor_key(fragment: str) -> str:
    return "".join(filter(str.isalnum, normalize("NFKC", fragment).casefold()))


Suggest = Callable[[str], str]
"""Returns advice on an unknown name, such as a similar name; "" for none."""


def resolve_links(
    item: ReadDocument, targets: LinkTargets, suggest: Suggest = lambda _: ""
) -> tuple[ToolDocument, list[Diagnostic]]:
    """Put the URI of the target document into each link of the document of *item*.

    A link with an unknown target stays as it is, with a diagnostic; of two to the same document
    the first stays. A link to the document itself is left out.
    """
    document = item.document
    links: dict[tuple[EdgeKind, str], Link] = {}
    diagnostics: list[Diagnostic] = []
    places: dict[tuple[EdgeKind, str], str] | None = None
    for link in document.links:
        uri = targets.resolve(link.target, document.path)
        if uri is None and means_itself(link.target):
            continue
        if uri is None:
            name = link.target[:_LONGEST_SHOWN]
            message = f"unknown document {name!r}; use a tool id, URI or path{suggest(name)}"
            if places is None:
                places = _find_link_places(item)
            place = places.get((link.kind, link.target)) or item.find_place(link.target)
            diagnostics.append(warning(Code.RELATION_UNRESOLVED, message, place))
        resolved = replace(link, target=uri or link.target)
        links.setdefault((link.kind, resolved.target), resolved)
    return replace(document, links=tuple(links.values())), diagnostics


def _find_link_places(item: ReadDocument) -> dict[tuple[EdgeKind, str], str]:
    found: dict[tuple[EdgeKind, str], str] = {}
    for one in (item, *item.about):
        content = one.source.content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            front = split_front_matter(content.removeprefix("\ufeff"), one.place)
        except DocumentError:
            continue
        lines = LineNumbers(front.text, one.place, front.text_line)
        keys = ((kind, key) for kind, stated in LINK_KEYS.items() for key in SPELLINGS[stated])
        for kind, key in keys:
            value = front.values.get(key)
            for position, entry in enumerate(value if isinstance(value, list) else [value]):
                name = pick_text(entry, TARGET_KEYS)
                found.setdefault((kind, name), lines.at(key, position))
    return found


class NameSuggester:
    """Suggests the document that an unknown target may be a misspelling of.

    *tools* returns the ids of tools with similar names; *pages* are documents of no tool.
    """

    def __init__(
        self, tools: Callable[[str], Sequence[str]], pages: Iterable[ToolDocument]
    ) -> None:
        self._tools = tools
        self._pages = [*islice((page.path for page in pages), _MOST_COMPARED)]
        self._left = _MOST_SUGGESTED

    def __call__(self, target: str) -> str:
        """Return a question that names the nearest documents, "" if none is near."""
        self._left -= 1
        if self._left < 0:
            return ""
        written = unquote(target.partition("#")[0])
        name = _file_name(written.rstrip("/"))
        near = [*self._tools(name.removesuffix(".md"))]
        near += suggest(written, self._pages)
        near += [page for page in self._pages if _file_name(page).casefold() == name.casefold()]
        shown = " or ".join(map(repr, dict.fromkeys(near[:_MOST_SHOWN])))
        return f"; did you mean {shown}?" if shown else ""


def joined_links(first: Iterable[Link], then: Iterable[Link]) -> tuple[Link, ...]:
    """Join links, by kind; of two of one kind to one document the first counts."""
    links: dict[tuple[EdgeKind, str], Link] = {}
    for link in (*first, *then):
        links.setdefault((link.kind, link.target), link)
    return tuple(sorted(links.values(), key=lambda link: list(EdgeKind).index(link.kind)))


def with_asserted(
    document: ToolDocument,
    edges: Mapping[EdgeKind, Iterable[Edge]],
    addresses: Mapping[str, tuple[str, str]],
) -> ToolDocument:
    """Put the edges of hints before the links of *document*, unless its author has them already.

    Its links are resolved; *addresses* are path and URI of every tool, by id.
    """
    links: list[Link] = []
    for kind in EdgeKind:
        present = [link for link in document.links if link.kind is kind]
        authored = {link.target for link in present if link.origin is EdgeOrigin.AUTHORED}
        asserted = (addresses[edge.target][1] for edge in edges[kind])
        missing = [uri for uri in asserted if uri not in authored]
        links += (Link(kind, uri, reason=STATED) for uri in missing)
        links += (link for link in present if link.target not in missing)
    return replace(document, links=tuple(links)) if set(links) != set(document.links) else document


def read_relations(
    document: ToolDocument, tool_id: str, by_uri: Mapping[str, str]
) -> ToolRelations:
    """Return the relations in *document*, its links resolved, as those of its tool.

    *by_uri* has the ids of tools by the URIs of their documents, "" for pages.
    """
    edges: dict[EdgeKind, list[Edge]] = {kind: [] for kind in EdgeKind}
    for link in document.links:
        target = by_uri.get(link.target, "")
        if target not in {"", tool_id}:
            evidence = (link.weight, link.reason, link.origin, link.fields, link.coverage)
            edges[link.kind].append(Edge(link.kind, tool_id, target, *evidence))
    related, next_steps = edges[EdgeKind.RELATED], edges[EdgeKind.NEXT_STEP]
    return ToolRelations(document.groups, tuple(related), tuple(next_steps))


PROSE_WEIGHT = 0.5
"""Weight of an edge that a link in prose makes: it is not declared as a relation."""

PROSE_REASON = "its text links to it"
"""The reason of an edge that a link in prose makes."""

_LOCAL_NAME = re.compile(r"[^#/:]*\Z")
MEMBER = "memberof"
"""The meaning of predicates of membership; others mean an edge of some kind."""

_KINDS: Mapping[str, EdgeKind | str] = {
    "relatedto": EdgeKind.RELATED,
    "related": EdgeKind.RELATED,
    "nextstep": EdgeKind.NEXT_STEP,
    "next": EdgeKind.NEXT_STEP,
    MEMBER: MEMBER,
}
_LONGEST_SHOWN = 200
_MOST_SHOWN = 2
_MOST_SUGGESTED = 20
_MOST_COMPARED = 2_000
LINK_MARKS = ("](", "[[", "]:")
"""Every text with a link has one of these."""

_PAGE = (".md", ".markdown", ".mdx")
_TEXT = (".txt", ".text")
# Files that notes show by a wiki link of its own.
_SHOWN_FILES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".bmp", ".pdf", ".canvas"),
    *(".mp3", ".mp4", ".wav", ".webm", ".ogg", ".mov"),
)
_TOOL_SCHEME = "tool:"
_QUALIFIED = re.compile(r"[\w.-]+::[\w.-]+")


@dataclass(slots=True)
class StatedRelations:
    """The relations in documents, by the URI of the document that they are about."""

    links: defaultdict[str, list[Link]] = field(default_factory=lambda: defaultdict(list))
    groups: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    diagnostics: list[Diagnostic] = field(default_factory=list)


def stated_edges(
    by_tool: Mapping[str, ReadDocument],
    pages: Iterable[ReadDocument],
    targets: LinkTargets,
    others: Iterable[str] = (),
    suggest: Suggest = lambda _: "",
) -> StatedRelations:
    """Gather the relations in documents and pages.

    Links may also lead to *others*, which are not documents.
    """
    stated = StatedRelations()
    pages = list(pages)
    names = {_file_name(page.document.path) for page in pages}
    names.update(_file_name(path) for path in others)
    named: set[str] | None = None
    headings = Headings((*by_tool.values(), *pages))
    for item in (*by_tool.values(), *pages):
        for end in _take_statements(item.document, targets, stated):
            name = end[:_LONGEST_SHOWN]
            message = (
                f"unknown document {name!r} in a statement; use a tool id, URI or path"
                f"{suggest(name)}"
            )
            place = item.find_place(end)
            stated.diagnostics.append(warning(Code.RELATION_UNRESOLVED, message, place))
        for reference in _take_references(item, targets, names, stated, headings):
            if reference.is_wiki and named is None:
                named = set(_things((*by_tool.values(), *pages)))
            if not reference.is_wiki or path_key(reference.target) not in (named or ()):
                written = unquote(reference.target.removesuffix(reference.suffix))
                if not reference.is_wiki and is_file(Path(item.place).parent / written):
                    fault, report = "leads to a file that is not among the sources", info
                else:
                    name = reference.target[:_LONGEST_SHOWN].removeprefix(_TOOL_SCHEME)
                    fault, report = f"does not match any document{suggest(name)}", warning
                stated.diagnostics.append(_report_link(reference, item, fault, report))
    return stated


def with_stated(document: ToolDocument, stated: StatedRelations) -> ToolDocument:
    """Return *document* with the *stated* relations; those of its own lists come first."""
    uri = document.uri
    if uri not in stated.links and uri not in stated.groups:
        return document
    authored = [link for link in document.links if link.origin is EdgeOrigin.AUTHORED]
    known = {link.target for link in authored}
    for link in stated.links.get(uri, ()):
        is_repeated = link.reason == PROSE_REASON and link.target in known
        if link.target != uri and not is_repeated:
            authored.append(link)
            known.add(link.target)
    groups = dict.fromkeys((*document.groups, *stated.groups.get(uri, ())))
    # Derived links come last, and those of the author are there already.
    return replace(document, links=joined_links(authored, document.links), groups=tuple(groups))


def parse_predicate(predicate: str) -> EdgeKind | str:
    """Return the kind of edge that a statement with *predicate* is, or `MEMBER`."""
    return _KINDS.get(_plain_name(predicate), EdgeKind.RELATED)


def _plain_name(predicate: str) -> str:
    name = _LOCAL_NAME.search(predicate.rstrip("#/:"))
    return (name.group() if name else "").replace("_", "").replace("-", "").casefold()


def _take_statements(
    document: ToolDocument, targets: LinkTargets, stated: StatedRelations
) -> Iterator[str]:
    """Add the written-out edges of *document* to *stated*; return unresolved ends.

    An end that is a path or `source::name` means a document, and any other may be a thing.
    """
    for statement in parse_facts(document.further).statements if document.further else ():
        subject: str | None = document.uri
        if not means_itself(statement.subject):
            subject = targets.resolve(statement.subject, document.path)
        # The statement of a page itself is in the graph.
        if subject is not None and targets.by_uri[subject]:
            kind, other = parse_predicate(statement.predicate), statement.object
            is_itself = means_itself(other)
            target = document.uri if is_itself else targets.resolve(other, document.path)
            if not isinstance(kind, EdgeKind):
                stated.groups[subject].append(other)
            elif target is not None:
                is_known = _plain_name(statement.predicate) in _KINDS
                default = "" if is_known else f"stated as {statement.predicate!r}"
                link = Link(kind, target, reason=statement.reason or default)
                stated.links[subject].append(link)
        for end in (statement.subject, statement.object):
            is_path = end.partition("#")[0].casefold().endswith(_PAGE) and "://" not in end
            is_name = is_path or _QUALIFIED.fullmatch(end)
            if is_name and targets.resolve(end, document.path) is None:
                yield end


def _take_references(
    item: ReadDocument,
    targets: LinkTargets,
    names: set[str],
    stated: StatedRelations,
    headings: Headings,
) -> Iterator[Reference]:
    """Put the links in the prose of *item* into *stated*; return the unresolved ones."""
    document = item.document
    if not any(mark in document.body for mark in LINK_MARKS):
        return
    for reference in read_markdown(document.body).references:
        meant = list(meanings(reference))
        found = (targets.resolve(one, document.path) for one in meant)
        uri = next(filter(None, found), None)
        if uri is not None:
            link = Link(EdgeKind.RELATED, uri, PROSE_WEIGHT, PROSE_REASON)
            stated.links[document.uri].append(link)
        uri = document.uri if reference.target.startswith("#") else uri
        # All of the target of a wiki link may be a name, in which `#` is a character.
        name = path_key(reference.target.strip())
        is_name = reference.is_wiki and any(name in words for words in targets.by_words)
        fault = headings.fault(reference, uri) if uri and not is_name else ""
        if fault:
            stated.diagnostics.append(_report_link(reference, item, fault, warning))
        elif uri is None and _is_broken(reference, meant, document, names):
            yield reference


def _report_link(
    reference: Reference, item: ReadDocument, fault: str, report: Callable[..., Diagnostic]
) -> Diagnostic:
    target = reference.target[:_LONGEST_SHOWN]
    # A link that was led to another place is found by the name of the file.
    plain = unquote(target)
    words = (f"[[{target}", f"]({target}", target, plain, _file_name(target), _file_name(plain))
    message = f"the link to {target!r} {fault}"
    return report(Code.RELATION_UNRESOLVED, message, item.find_place(*words))


def _things(items: Iterable[ReadDocument]) -> Iterator[str]:
    """Return the names of topics, things, groups and ends of statements in documents."""
    for item in items:
        yield from map(path_key, item.document.groups)
        facts = parse_facts(item.document.further)
        for entity in (*facts.about, *facts.mentions, *facts.authors):
            yield from map(path_key, (entity.label, entity.id))
        for statement in facts.statements:
            yield from map(path_key, (statement.subject, statement.object))


def meanings(reference: Reference) -> Iterator[str]:
    """Return the possible meanings of a link; an ordinary one is an address, not a name."""
    written = reference.target.removesuffix(reference.suffix).strip()
    address = unquote(written).strip()
    if reference.is_wiki:
        # A name may have a part that looks like a fragment.
        yield from dict.fromkeys((reference.target.strip(), written))
    elif address.startswith(_TOOL_SCHEME):
        yield address.removeprefix(_TOOL_SCHEME)
    elif "/" in address or address.casefold().endswith((*_PAGE, *_TEXT)):
        # The URI of a document keeps its escapes, and so does a path in the bundle.
        yield from dict.fromkeys((address, written))


def _is_broken(
    reference: Reference, meant: list[str], document: ToolDocument, names: set[str]
) -> bool:
    """Return whether a link leads to a missing document; a wiki link may name a thing."""
    if reference.is_wiki:
        is_name = bool(meant) and bool(meant[0]) and "://" not in meant[0]
        return is_name and not meant[-1].casefold().endswith(_SHOWN_FILES)
    if reference.target.startswith(_TOOL_SCHEME):
        return True
    if not meant or ":" in meant[0]:
        return False
    name = _file_name(meant[0])
    is_known = name in names or name == _file_name(document.path)
    return meant[0].casefold().endswith(_PAGE) and not is_known


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


_SHOWN = 3
_BOTH = "; "  # between observed and inferred evidence


class ObservedEdges(NamedTuple):
    """The edges that observed calls show, by the ids of tools.

    Attributes:
        leaving: Those that leave a tool, the strongest first.
        before: The tools that a tool follows, and does not precede.
    """

    leaving: Mapping[str, Sequence[Edge]]
    before: Mapping[str, AbstractSet[str]]


def observed_edges(
    files: Sequence[RawFile], tools: Iterable[Tool]
) -> tuple[ObservedEdges | None, list[Diagnostic]]:
    """Return the edges that observed calls show, and diagnostics.

    Several files are counted together. A file that is damaged is left out, as are calls of tools
    other than *tools*. The edges are `None` if no file can be used.
    """
    if not files:
        return None, []
    known = ToolNames(tools)
    parts: list[ObservedCalls] = []
    noticed: list[Diagnostic] = []
    for file in files:
        try:
            read = decode(file.text, file.place)
        except SourceError as fault:
            message = f"{fault.message}: it is left out"
            noticed.append(error(Code.OBSERVED_INVALID, message, fault.place))
            continue
        noticed += _report_unknown_tools(read, known, file.place)
        parts.append(rename_tools(read, known))
    if not parts:
        return None, noticed
    leaving: defaultdict[str, list[Edge]] = defaultdict(list)
    for one in learned_edges(merge(parts)):
        leaving[one.edge.source].append(one.edge)
    pairs = {
        (edge.source, edge.target)
        for edges in leaving.values()
        for edge in edges
        if edge.kind is EdgeKind.NEXT_STEP
    }
    before: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        if (target, source) not in pairs:
            before[target].add(source)
    return ObservedEdges(leaving, before), noticed


def _report_unknown_tools(
    observed: ObservedCalls, known: ToolNames, place: str
) -> list[Diagnostic]:
    names = list_tool_names(observed)
    unknown = sorted(name for name in names if known(name) is None)
    if not unknown:
        return []
    shown = ", ".join(repr(name[:80]) for name in unknown[:_SHOWN])
    more = ", ..." if len(unknown) > _SHOWN else ""
    message = f"{format_count(len(unknown), 'observed tool')} of no source: {shown}{more}"
    # Tools come and go; a file without any known tool is likely another's.
    report = warning if len(unknown) == len(names) else info
    return [report(Code.OBSERVED_TOOL_UNKNOWN, message, place)]


def with_observed(
    document: ToolDocument, found: ObservedEdges, addresses: Mapping[str, tuple[str, str]]
) -> ToolDocument:
    """Return *document*, its links resolved, with new observed edges instead of its earlier ones.

    Links of an author stay as they are. An edge that is also inferred has the greater weight and
    both reasons. An inferred next step is left out if calls show the reverse order.
    """
    authored, others = [], {}
    for link in document.links:
        if link.origin is EdgeOrigin.AUTHORED:
            authored.append(link)
        elif link.origin is not EdgeOrigin.OBSERVED:
            others[link.kind, link.target] = link
        elif reason := link.reason.partition(_BOTH)[2]:
            # Documents have one weight for both, so the inferred part is known by its upper bound.
            origin = EdgeOrigin.SCHEMA if link.fields else EdgeOrigin.INFERRED
            part = COVERAGE_FACTORS[link.coverage] if link.coverage else 1.0
            weight = min(link.weight, compute_weight(link.kind, origin, part))
            other = replace(link, weight=weight, reason=reason, origin=origin)
            others[link.kind, link.target] = other
    for earlier in found.before.get(document.tool.id, ()):
        key = EdgeKind.NEXT_STEP, addresses[earlier][1]
        if key in others and others[key].origin is EdgeOrigin.INFERRED:
            del others[key]
    observed: list[Link] = []
    for edge in found.leaving.get(document.tool.id, ()):
        uri = addresses[edge.target][1]
        inferred = others.pop((edge.kind, uri), None) or Link(edge.kind, uri, edge.weight)
        reason = f"{edge.reason}{_BOTH}{inferred.reason}" if inferred.reason else edge.reason
        weight = max(inferred.weight, edge.weight)
        observed.append(replace(inferred, weight=weight, reason=reason, origin=EdgeOrigin.OBSERVED))
    links = joined_links([*authored, *observed], others.values())
    return document if links == document.links else replace(document, links=links)
