"""Merge documents that are not a tool's own: pages beside the tools, and texts about a tool.

An author's links are relative to the author's own file. The bundle has the text at another path,
perhaps merged with other texts. So links become addresses that are valid in the whole bundle, and a
text stays as it is only if it means the same there.
"""

from __future__ import annotations

import itertools
import json
import posixpath
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mcpg.bundle.codec import ReadDocument, path_fault
from mcpg.bundle.links import (
    LINK_MARKS,
    NameSuggester,
    Suggest,
    joined_links,
    meanings,
    resolve_links,
)
from mcpg.bundle.metadata import is_generated
from mcpg.catalog.catalog import Catalog, assign_ids, content_key
from mcpg.catalog.model import NO_HINTS, Hints, SourceDocument, Tool
from mcpg.documents import markdown
from mcpg.documents.addresses import normal_path, path_key, tool_uri, uris_for
from mcpg.documents.facts import TARGET_KEYS, pick_text
from mcpg.documents.front_matter import one_line, split_front_matter
from mcpg.documents.front_matter_edits import write_authored_lines, written_lines
from mcpg.documents.model import LineNumbers, ToolDocument
from mcpg.documents.reader import NAMING_KEYS, TOOL_KEY, parse_document
from mcpg.errors import Code, Diagnostic, DocumentError, info, warning
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import likeliest


@dataclass(frozen=True, slots=True)
class DocumentGroups:
    """Documents by kind.

    Attributes:
        tools: Tools of manifests that no document describes or is about.
        read: The documents of tools, each with those that are about the same tool.
        pages: Documents of no tool.
        superseded: Tools of manifests that a document replaces.
    """

    tools: tuple[Tool, ...]
    read: tuple[ReadDocument, ...]
    pages: tuple[ReadDocument, ...]
    superseded: tuple[Tool, ...]
    diagnostics: tuple[Diagnostic, ...]


def sort_documents(
    tools: Sequence[Tool],
    read: Sequence[ReadDocument],
    reserved: Collection[str] = (),
    *,
    hosted: bool = False,
) -> DocumentGroups:
    """Separate documents of tools, documents about a tool, and pages.

    A document is about a tool when its key `tool` names one, or when it names none itself and its
    URI is that of a tool's document, or its file is named like exactly one other tool; a
    tool of its own source comes first. It is a page when its key `tool` is `false` or names no
    tool. A document that names its tool replaces the manifest's entry of the same source and name.

    If documents are *hosted*, they were made for these tools: then a document that names another
    tool is about that of its URI, or, if a person wrote it, about the only tool there is.
    """
    if not read:
        return DocumentGroups(tuple(tools), (), (), (), ())
    claiming = [item for item in read if _claim(item) is None]
    adopted = _find_adopting_tools(claiming, tools, hosted=hosted)
    own = [item for item in claiming if id(item) not in adopted]
    unnamed = [item for item in own if not item.is_bundled and names_no_tool(item)]
    named = _without(own, unnamed)
    described = {item.document.tool.key: item for item in named}
    superseded = [tool for tool in tools if tool.key in described]
    others = [tool for tool in tools if tool.key not in described]
    of_files = _ToolNames(_first_of_equals(others, named))
    called = ((item, of_files.find_namesake(item.document.tool)) for item in unnamed)
    owners = {id(item): tool for item, tool in called if tool is not None}
    # A document that is about no other tool is a tool, which a key may mean.
    documents = [item for item in own if id(item) not in owners]
    first = _first_of_equals(others, documents)
    names = _ToolNames(first)
    claims = ((item, _claim(item)) for item in read)
    claimed = ((item, names.find_claimed(claim, reserved)) for item, claim in claims if claim)
    owners |= {id(item): tool for item, tool in claimed if tool is not None}
    for number, tool in adopted.items():
        owners[number] = described[tool.key].document.tool if tool.key in described else tool
    about: defaultdict[int, list[ReadDocument]] = defaultdict(list)
    for item in read:
        if id(item) in owners:
            about[id(first[id(owners[id(item)])])].append(item)
    noticed = [one for item in read for one in _report_use(item, owners.get(id(item)), names)]
    noticed += _report_misnamed([item for item in unnamed if id(item) not in owners], others)
    for tool in superseded:
        source = described[tool.key].source
        message = f"the document {source.path!r} replaces the manifest's tool {tool.name!r}"
        place = tool.place or source.place or None
        noticed.append(info(Code.DOCUMENT_SUPERSEDES, message, place))
    paired = ((item, first[id(item.document.tool)]) for item in documents)
    # A document that repeats a tool which has pages is left out.
    joined = (
        _with_pages_about(item, about[id(tool)]) if id(tool) in about else item
        for item, tool in paired
        if id(tool) not in about or tool is item.document.tool
    )
    made = (_make_document(tool, about[id(tool)]) for tool in others if id(tool) in about)
    return DocumentGroups(
        tuple(tool for tool in others if id(first[id(tool)]) not in about),
        (*joined, *made),
        tuple(item for item in _without(read, claiming) if id(item) not in owners),
        tuple(superseded),
        tuple(noticed),
    )


def _without(read: Iterable[ReadDocument], some: Iterable[ReadDocument]) -> list[ReadDocument]:
    left_out = set(map(id, some))
    return [item for item in read if id(item) not in left_out]


def _find_adopting_tools(
    documents: Iterable[ReadDocument], tools: Sequence[Tool], *, hosted: bool
) -> dict[int, Tool]:
    """Find the tools of documents that match none by name, by identity of the document."""
    by_uri = {tool_uri(*tool.key): tool for tool in tools}
    keys = {tool.key for tool in tools}
    found: dict[int, Tool] = {}
    for item in documents:
        about = item.document.tool
        tool = by_uri.get(item.document.uri)
        is_own = tool is not None and tool.key == about.key
        if is_own or not (hosted or (not item.is_bundled and names_no_tool(item))):
            continue
        names_another = hosted and about.key not in keys
        if tool is not None and (names_another or names_no_tool(item)):
            found[id(item)] = tool
        elif names_another and len(tools) == 1 and not is_generated(item.source.content):
            found[id(item)] = tools[0]
    return found


def names_no_tool(item: ReadDocument) -> bool:
    """Return whether nothing in the text of a document names a tool or describes its arguments."""
    content = item.source.content.removeprefix("\ufeff")
    if TOOL_KEY in item.document.further or is_generated(content):
        return False
    front = split_front_matter(content, item.source.path).values
    bare = Tool("", "", "x")
    has_schema = item.document.tool.input_schema != bare.input_schema
    return not has_schema and NAMING_KEYS.isdisjoint(front)


def _claim(item: ReadDocument) -> str | None:
    """Return the tool in the key of a document, "" for none, `None` without the key."""
    further = item.document.further
    if TOOL_KEY not in further:
        return None
    value = further[TOOL_KEY]
    return value.strip() if isinstance(value, str) else ""


def _first_of_equals(tools: Iterable[Tool], read: Iterable[ReadDocument]) -> dict[int, Tool]:
    """Return for each tool, by identity, the first with the same content."""
    groups: defaultdict[tuple[str, str], list[Tool]] = defaultdict(list)
    for tool in (*tools, *(item.document.tool for item in read)):
        groups[tool.key].append(tool)
    first: dict[int, Tool] = {}
    for group in groups.values():
        seen: dict[str, Tool] = {}
        for tool in group:
            content = content_key(tool) if len(group) > 1 else ""
            first[id(tool)] = seen.setdefault(content, tool)
    return first


class _ToolNames:
    def __init__(self, first: Mapping[int, Tool]) -> None:
        tools = self._tools = [tool for number, tool in first.items() if number == id(tool)]
        self._by_name: defaultdict[str, list[Tool]] = defaultdict(list)
        self._by_key: defaultdict[str, list[Tool]] = defaultdict(list)
        self._by_id: dict[str, Tool] | None = None
        self._left = _MOST_COMPARED
        for tool in tools:
            self._by_name[tool.name].append(tool)
            for key in {tool.id, f"{tool.source_id}::{tool.name}", tool.name} - {""}:
                self._by_key[key].append(tool)

    def find_namesake(self, nameless: Tool) -> Tool | None:
        """Return the single tool with the name of *nameless*; of several, its source's."""
        found = self._by_name.get(nameless.name, [])
        own = [tool for tool in found if tool.source_id == nameless.source_id] or found
        return own[0] if len(own) == 1 else None

    def find_claimed(self, claim: str, reserved: Collection[str]) -> Tool | None:
        """Return the single tool that *claim* names, `None` for none or several."""
        found = self._by_key.get(claim, [])
        if len(found) == 1:
            return found[0]
        if self._by_id is None:
            tools = {(*tool.key, content_key(tool)): tool for tool in self._tools}
            assigned, _ = assign_ids(self._tools, reserved)
            self._by_id = {tool.id: tools[*tool.key, content_key(tool)] for tool in assigned}
        return self._by_id.get(claim)

    def advice(self, claim: str) -> str:
        """Return the remedy for *claim*, which names no tool; "" if that is open."""
        if claim.casefold() in _NO_TOOL:
            return "; did you mean `tool: false`?"
        if len(self._by_key.get(claim, ())) > 1:
            return f": write `source::{claim[:_LONGEST_SHOWN]}`"
        self._left -= 1
        near = likeliest(claim, self._by_key) if self._left >= 0 else None
        return f"; did you mean {near!r}?" if near else ""


def _with_pages_about(item: ReadDocument, pages: Sequence[ReadDocument]) -> ReadDocument:
    """Return the document of a tool with the *pages* about it; their hints become the tool's."""
    tool = item.document.tool
    tools = [*(page.document.tool for page in reversed(pages)), tool]
    hints = Hints.merge(*(one.hints for one in tools))
    generated = Hints.merge(*(one.generated for one in tools))
    # A page with only empty lists declares that its tool has no relations.
    states_relations = item.document.states_relations or any(
        about.states_relations and not (about.links or about.groups)
        for about in (page.document for page in pages)
    )
    document = replace(
        item.document,
        tool=replace(tool, hints=hints, generated=generated),
        states_relations=states_relations,
    )
    return replace(item, document=document, about=tuple(pages), keeps_text=False)


def _make_document(tool: Tool, pages: Sequence[ReadDocument]) -> ReadDocument:
    """Return the document of a tool that has none yet, in the place of the first of *pages*."""
    page = pages[0].document
    uri = tool_uri(*tool.key) if page.uri == tool_uri(*page.tool.key) else page.uri
    # Relations in the page are added to the inferred ones.
    document = ToolDocument(tool, page.path, uri, states_relations=False)
    return _with_pages_about(ReadDocument(pages[0].source, document), pages)


def _report_use(item: ReadDocument, owner: Tool | None, names: _ToolNames) -> Iterator[Diagnostic]:
    claim = _claim(item)
    if owner is not None:
        message = (
            f"this document is about the tool {owner.name!r} of {owner.source_id!r}, and joins it"
        )
        yield info(Code.DOCUMENT_ATTACHED, message, item.document.tool.place or None)
    elif claim:
        message = (
            f"{claim[:_LONGEST_SHOWN]!r} does not match exactly one tool; this document is ignored"
            f" in searches{names.advice(claim)}"
        )
        place = item.place
        with suppress(DocumentError):
            front = split_front_matter(item.source.content.removeprefix("\ufeff"), place)
            place = LineNumbers(front.text, place, front.text_line).at(TOOL_KEY)
        yield warning(Code.DOCUMENT_UNMAPPED, message, place)


def _report_misnamed(
    unnamed: Sequence[ReadDocument], tools: Sequence[Tool]
) -> Iterator[Diagnostic]:
    names = {tool.name for tool in tools}
    for item in unnamed[:_MOST_COMPARED]:
        name = item.document.tool.name
        near = None if name in names else likeliest(name, names)
        if near:
            message = (
                f"this document is a tool of its own, {name[:_LONGEST_SHOWN]!r}; did you mean the"
                f" tool {near!r}? Name that by the key `tool`, or give the document a `name`"
            )
            yield warning(Code.DOCUMENT_UNMAPPED, message, f"{item.place}:1")


_MOST_COMPARED = 100
_LONGEST_SHOWN = 200
_NO_TOOL = frozenset({"false", "no", "none", "null", "n/a", "-", "off", "page"})


_STATEMENT_KEYS = ("graph_edges", "graphEdges")
_STATED_ENDS = ("subject", "object", "target")


@dataclass(frozen=True, slots=True)
class DocumentPlaces:
    """The places of documents, and the names that lead to them.

    Attributes:
        addresses: Path and URI of every tool, by id.
        kept: What links mean in the bundle.
        written: What links mean where they were written: former paths also work.
        namesakes: Names that several tools have.
        suggest: Suggests the document that an unknown target may be a misspelling of.
    """

    addresses: Mapping[str, tuple[str, str]]
    kept: markdown.LinkTargets
    written: markdown.LinkTargets
    namesakes: Collection[str]
    source_id: str | None
    suggest: Suggest


def _settle(
    by_tool: Mapping[str, ReadDocument], places: DocumentPlaces
) -> tuple[dict[str, ReadDocument], list[Diagnostic]]:
    """Join the documents of each tool into one, valid wherever the bundle is read.

    They are in order of their paths, with links as in the bundle; diagnostics come with them.
    """
    settled: dict[str, ReadDocument] = {}
    diagnostics: list[Diagnostic] = []
    for tool_id in sorted(by_tool, key=places.addresses.__getitem__):
        item = by_tool[tool_id]
        document, found = _merged_document(item, places.addresses[tool_id], places)
        keeps = item.keeps_text and _reads_back(item, document, places)
        settled[tool_id] = replace(item, document=document, keeps_text=keeps)
        diagnostics += found
    return settled, diagnostics


def _merged_document(
    item: ReadDocument, address: tuple[str, str], places: DocumentPlaces
) -> tuple[ToolDocument, list[Diagnostic]]:
    path, uri = address
    document, diagnostics = _move_document(item, path, places)
    pages: list[ToolDocument] = []
    for page in item.about:
        prose = replace(page.document, body=_prose(page.document))
        about, found = _move_document(replace(page, document=prose), path, places)
        pages.append(about)
        diagnostics += found
    if pages:
        parts = (document, *pages)
        further = _merge_keys(document.further, [page.further for page in pages])
        written = ""
        if any(part.written for part in parts):
            texts = [write_authored_lines(part.further, part.written) for part in parts]
            written = written_lines(further, texts)
        document = replace(
            document,
            groups=tuple(dict.fromkeys(group for part in parts for group in part.groups)),
            links=joined_links(document.links, (link for page in pages for link in page.links)),
            body="\n\n".join(part.body for part in parts if part.body),
            further=further,
            written=written,
        )
    return replace(document, path=path, uri=uri), diagnostics


def _prose(about: ToolDocument) -> str:
    """Return the prose of a document about a tool: title, description, text."""
    title = f"# {one_line(about.tool.title)}" if about.tool.title else ""
    is_headed = title == one_line(about.body.partition("\n")[0])
    lead = "" if about.tool.description in about.body else about.tool.description
    return "\n\n".join(filter(None, ("" if is_headed else title, lead, about.body)))


def _merge_keys(first: JsonObject, further: Iterable[JsonObject]) -> JsonObject:
    """Join front-matter keys: lists are concatenated, else the first value counts."""
    merged = dict(first)
    lists: dict[str, list[JsonValue]] = {}
    for key, value in (item for members in further for item in members.items()):
        if key == TOOL_KEY:
            continue
        held = merged.setdefault(key, value)
        if isinstance(held, list) and isinstance(value, list):
            lists.setdefault(key, list(held)).extend(value)
    for key, items in lists.items():
        # Values that are equal as JSON have one text; lists and mappings cannot be keys themselves.
        known: dict[str, JsonValue] = {}
        for one in items:
            known.setdefault(json.dumps(one, sort_keys=True), one)
        merged[key] = list(known.values())
    return merged


def _reads_back(item: ReadDocument, document: ToolDocument, places: DocumentPlaces) -> bool:
    """Return whether the text of *item* reads as *document* in the bundle."""
    if item.document.tool.name in places.namesakes and names_no_tool(item):
        # In a folder of documents, it would be about one of the others.
        return False
    is_moved = document.path != item.document.path or places.written is not places.kept
    if not is_moved and item.document.tool.source_id != places.source_id:
        return True
    text = SourceDocument(document.path, item.source.content, document.uri)
    try:
        again, _ = parse_document(text)
    except DocumentError:
        return False
    return resolve_links(replace(item, document=again), places.kept)[0] == document


def _move_document(
    item: ReadDocument, path: str, places: DocumentPlaces
) -> tuple[ToolDocument, list[Diagnostic]]:
    document, diagnostics = resolve_links(item, places.written, places.suggest)
    if document.path == path and places.written is places.kept:
        return document, diagnostics
    move = _MovedText(document.path, path, places)
    links = tuple(
        replace(link, target=move.target([link.target]) or link.target) for link in document.links
    )
    body, further = move.prose(document.body), move.statements(document.further)
    written = document.written
    if written and further is not document.further:
        written = written_lines(further, [written])
    moved = replace(document, links=links, body=body, further=further, written=written)
    return moved, diagnostics


@dataclass(frozen=True, slots=True)
class _MovedText:
    old: str
    new: str
    places: DocumentPlaces

    def target(self, meant: list[str]) -> str | None:
        """Return a target that means in the bundle what *meant* means here, `None` for the same."""
        uri = self._first(meant, self.places.written, self.old)
        if not meant or uri == self._first(meant, self.places.kept, self.new):
            return None
        return uri or "/" + normal_path(
            posixpath.normpath(posixpath.join(posixpath.dirname(self.old), meant[0]))
        )

    def prose(self, body: str) -> str:
        if not any(mark in body for mark in LINK_MARKS):
            return body
        targets: dict[markdown.Reference, str] = {}
        for reference in dict.fromkeys(markdown.read_markdown(body).references):
            target = self.target(list(meanings(reference)))
            if target is not None:
                targets[reference] = target + reference.suffix
        return markdown.retarget(body, targets) if targets else body

    def statements(self, further: JsonObject) -> JsonObject:
        def move(item: JsonValue) -> JsonValue:
            if isinstance(item, list):
                return [move(one) for one in item]
            if not isinstance(item, dict):
                return item
            return item | {key: move_end(item[key]) for key in _STATED_ENDS if key in item}

        def move_end(end: JsonValue) -> JsonValue:
            words = pick_text(end, TARGET_KEYS)
            uri = self.places.written.resolve(words, self.old)
            if uri is None or uri == self.places.kept.resolve(words, self.new):
                return end
            return {**end, TARGET_KEYS[0]: uri} if isinstance(end, dict) else uri

        keys = [key for key in _STATEMENT_KEYS if key in further]
        return {**further, **{key: move(further[key]) for key in keys}} if keys else further

    @staticmethod
    def _first(meant: Iterable[str], targets: markdown.LinkTargets, path: str) -> str | None:
        return next(filter(None, (targets.resolve(one, path) for one in meant)), None)


@dataclass(frozen=True, slots=True)
class LocatedDocuments:
    """Documents in their places: those of tools by tool id, settled, and pages."""

    by_tool: Mapping[str, ReadDocument]
    places: DocumentPlaces
    pages: Sequence[ReadDocument]
    diagnostics: Sequence[Diagnostic]


def locate_documents(
    catalog: Catalog, sorted_: DocumentGroups, source_id: str | None
) -> LocatedDocuments:
    """Give every document its place in the bundle."""
    by_tool, left_out = _find_documents(sorted_.read, catalog.tools)
    addresses, moved = _assign_paths(catalog.tools, by_tool)
    pages = _place_pages(sorted_.pages, addresses.values())
    own_pages = [page.document for page in pages]
    kept = markdown.with_pages(markdown.collect_targets(catalog.tools, addresses), own_pages)
    # Former paths of documents still lead to them, if that is unambiguous.
    uris: defaultdict[str, set[str]] = defaultdict(set)
    for tool_id, item in by_tool.items():
        path, uri = addresses[tool_id]
        for key in (path_key(normal_path(one.document.path)) for one in (item, *item.about)):
            if key != path_key(path):
                uris[key].add(uri)
    former = {key: found.pop() for key, found in uris.items() if len(found) == 1}
    counts = Counter(tool.name for tool in catalog.tools)
    places = DocumentPlaces(
        addresses=addresses,
        kept=kept,
        written=kept.with_paths(former) if former else kept,
        namesakes={name for name, count in counts.items() if count > 1},
        source_id=source_id,
        suggest=NameSuggester(catalog.suggest, own_pages),
    )
    by_tool, unresolved = _settle(by_tool, places)
    return LocatedDocuments(by_tool, places, pages, (*left_out, *moved, *unresolved))


class _UniqueNames:
    """Paths or URIs, all different; *suffix* follows the numbers of numbered ones."""

    def __init__(self, suffix: str, taken: Iterable[str] = ()) -> None:
        self._suffix = suffix
        self._taken = {path_key(text) for text in taken}
        self._numbers: dict[str, Iterator[int]] = {}

    def take(self, wanted: Iterable[str], standard: str, joint: str = "") -> str:
        """Return the first that is free: of *wanted*, *standard*, or *standard* with a number."""
        for text in itertools.chain(wanted, (standard,)):
            if self._is_taken_now(text):
                return text
        # Taken texts stay taken: a number that was tried once need not be tried again.
        numbers = self._numbers.setdefault(path_key(standard), itertools.count(2))
        stem = standard.removesuffix(self._suffix) if joint else standard
        numbered = (f"{stem}{joint}{number}{self._suffix}" for number in numbers)
        return next(filter(self._is_taken_now, numbered))

    def _is_taken_now(self, text: str) -> bool:
        key = path_key(text)
        was_free = key not in self._taken
        self._taken.add(key)
        return was_free


def _find_documents(
    read: Iterable[ReadDocument], tools: Sequence[Tool]
) -> tuple[dict[str, ReadDocument], list[Diagnostic]]:
    """Find the document of each tool that has one, by tool id.

    A document whose tool the catalog left out, as a repeat of another, is also left out, with a
    diagnostic when its words are other ones.
    """
    counts = Counter(tool.key for tool in tools)

    def key(tool: Tool) -> tuple[str, str, str]:
        """Return the common key of a tool and its document, whatever hints others add."""
        is_one = counts[tool.key] <= 1
        return *tool.key, "" if is_one else content_key(
            replace(tool, hints=Hints(), generated=NO_HINTS)
        )

    described = {key(tool): tool.id for tool in tools}
    places = {(*key(tool), tool.place): tool.id for tool in tools}
    found: dict[str, ReadDocument] = {}
    left_out: list[tuple[ReadDocument, str]] = []
    for item in read:
        content = key(item.document.tool)
        owner = places.get((*content, item.document.tool.place))
        if owner is None or found.setdefault(owner, item) is not item:
            left_out.append((item, owner or described[content]))
    noticed: list[Diagnostic] = []
    for item, owner in left_out:
        kept, tool = found.get(owner), item.document.tool
        said = item.document.body, item.document.further
        if said != ((kept.document.body, kept.document.further) if kept else ("", {})):
            message = (
                f"this document describes the tool {tool.name!r} of {tool.source_id!r} as"
                f" {kept.place if kept else 'a manifest'} does, but its text differs and is left"
                f" out: join the texts, or name the tool only by the key `tool`"
            )
            noticed.append(warning(Code.TEXT_LEFT_OUT, message, item.place))
    return found, noticed


def _assign_paths(
    tools: Sequence[Tool], read: Mapping[str, ReadDocument]
) -> tuple[dict[str, tuple[str, str]], list[Diagnostic]]:
    """Return every tool a path and a URI, by tool id.

    A document keeps its own, any other tool gets the standard ones. If two would share one, the
    later in order of tool id gives way, with a diagnostic when it is a document.
    """
    standard = uris_for(tools)
    paths, uris = _UniqueNames(".md"), _UniqueNames("/")
    addresses: dict[str, tuple[str, str]] = {}
    diagnostics: list[Diagnostic] = []
    for tool in sorted(tools, key=lambda tool: (tool.id not in read, tool.id)):
        usual = standard[tool.id]
        if tool.id not in read:
            addresses[tool.id] = paths.take((), usual[0], "-"), uris.take((), usual[1])
            continue
        own = read[tool.id].document
        wanted = normal_path(own.path), own.uri
        path = paths.take([] if path_fault(wanted[0]) else [wanted[0]], usual[0], "-")
        uri = uris.take([wanted[1]], usual[1])
        addresses[tool.id] = (path, uri)
        if wanted != (path, uri):
            pairs = zip(("path", "URI"), wanted, (path, uri), strict=True)
            changes = [
                f"its {what} {old!r} is taken or unsafe; using {new!r}"
                for what, old, new in pairs
                if old != new
            ]
            # A path has no line.
            place = read[tool.id].find_place(wanted[1]) if wanted[1] != uri else tool.place
            diagnostics.append(warning(Code.DOCUMENT_INVALID, "; ".join(changes), place or None))
    return addresses, diagnostics


def _place_pages(
    pages: Iterable[ReadDocument], addresses: Iterable[tuple[str, str]]
) -> list[ReadDocument]:
    """Return *pages* each a path and a URI that no tool and no other page has, in order of paths.

    A page stays in its folder, so that its relative links still work. A page that moves is read
    again: its text stays, and it gets the name that readers of the bundle will see.
    """
    taken = list(addresses)
    paths = _UniqueNames(".md", (path for path, _ in taken))
    uris = _UniqueNames("/", (uri for _, uri in taken))
    placed: list[ReadDocument] = []
    for page in sorted(pages, key=lambda page: (page.document.path, page.source.content)):
        path, uri = normal_path(page.document.path), page.document.uri
        path = paths.take((), "pages/page.md" if path_fault(path) else path, "-")
        uri = uris.take([uri], f"{uri.rstrip('/')}/page/")
        source = replace(page.source, path=path, canonical_uri=uri)
        document = page.document
        if (path, uri) != (document.path, document.uri) or TOOL_KEY in document.further:
            document = parse_document(source)[0]
        document = replace(document, is_page=True)
        placed.append(replace(page, source=source, document=document))
    return sorted(placed, key=lambda page: page.document.path)
