"""Documents that are not a tool's own: pages beside the tools, and texts about one of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.bundle.reading import ReadDocument
from mcpg.catalog.model import Hints, Tool
from mcpg.catalog.naming import assign_ids, content_key
from mcpg.diagnostics import Code, Diagnostic, info, warning
from mcpg.documents import ToolDocument, tool_uri
from mcpg.documents.frontmatter import split_front_matter
from mcpg.documents.reader import NAMING_KEYS, TOOL_KEY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_GENERATED = ("## Tool Identity", "## Execution Contract")


@dataclass(frozen=True, slots=True)
class Sorted:
    """Documents by what they are.

    Attributes:
        tools: Tools of manifests that no document describes or is about.
        read: The documents of tools, each with those that are about the same tool.
        pages: Documents of no tool.
        diagnostics: What was noticed.
    """

    tools: tuple[Tool, ...]
    read: tuple[ReadDocument, ...]
    pages: tuple[ReadDocument, ...]
    diagnostics: tuple[Diagnostic, ...]


def sort_documents(
    tools: Sequence[Tool], read: Sequence[ReadDocument], reserved: Collection[str] = ()
) -> Sorted:
    """Tell apart documents of tools, documents about a tool, and pages.

    A document is about a tool when its key `tool` names one, or when it names none itself and its
    file is called like exactly one tool of the others; of several, the one of its own source. It
    is a page when its key `tool` is `false` or names nothing that is there. A document that names
    its tool stands for the manifest's entry of the same source and name.

    Args:
        tools: The tools of manifests.
        read: All documents.
        reserved: Ids that no tool may get, in any case.
    """
    own = [item for item in read if _claim(item) is None]
    unnamed = [item for item in own if not item.is_bundled and names_no_tool(item)]
    named = _without(own, unnamed)
    described = {_key(item.document.tool): item for item in named}
    superseded = [tool for tool in tools if _key(tool) in described]
    others = [tool for tool in tools if _key(tool) not in described]
    owners = _called_like(unnamed, _Names(_first_of_equals(others, named)))
    # A document that is about no other tool is a tool, which a key may mean.
    documents = [item for item in own if id(item) not in owners]
    first = _first_of_equals(others, documents)
    owners |= _claimed(read, _Names(first), reserved)
    about: defaultdict[int, list[ReadDocument]] = defaultdict(list)
    for item in read:
        if id(item) in owners:
            about[id(first[id(owners[id(item)])])].append(item)
    described_first = (
        _first_document(tool, about[id(tool)]) for tool in others if id(tool) in about
    )
    return Sorted(
        tuple(tool for tool in others if id(first[id(tool)]) not in about),
        (*_with_pages(documents, first, about), *described_first),
        tuple(item for item in _without(read, own) if id(item) not in owners),
        (
            *(one for item in read for one in _noticed(item, owners.get(id(item)))),
            *(_superseded(tool, described[_key(tool)]) for tool in superseded),
        ),
    )


def _without(read: Iterable[ReadDocument], some: Iterable[ReadDocument]) -> list[ReadDocument]:
    left_out = set(map(id, some))
    return [item for item in read if id(item) not in left_out]


def _called_like(unnamed: Iterable[ReadDocument], names: _Names) -> dict[int, Tool]:
    """Find the tools that have the names of files, by identity of the document."""
    found = ((item, names.called_like(item.document.tool)) for item in unnamed)
    return {id(item): tool for item, tool in found if tool is not None}


def _claimed(
    read: Iterable[ReadDocument], names: _Names, reserved: Collection[str]
) -> dict[int, Tool]:
    """Find the tools that keys of documents name, by identity of the document."""
    claims = ((item, _claim(item)) for item in read)
    found = ((item, names.meant(claim, reserved)) for item, claim in claims if claim)
    return {id(item): tool for item, tool in found if tool is not None}


def names_no_tool(item: ReadDocument) -> bool:
    """Return whether nothing in the text of a document names a tool or describes its arguments."""
    content = item.source.content.removeprefix("\ufeff")
    if TOOL_KEY in item.document.further or any(mark in content for mark in _GENERATED):
        return False
    front = split_front_matter(content, item.source.path).values
    bare = Tool("", "", "x")
    has_schema = item.document.tool.input_schema != bare.input_schema
    return not has_schema and NAMING_KEYS.isdisjoint(front)


def _key(tool: Tool) -> tuple[str, str]:
    return tool.source_id, tool.name


def _claim(item: ReadDocument) -> str | None:
    """Give the tool that a document says it is about, "" for none, `None` without the key."""
    further = item.document.further
    if TOOL_KEY not in further:
        return None
    value = further[TOOL_KEY]
    return value.strip() if isinstance(value, str) else ""


def _first_of_equals(tools: Iterable[Tool], read: Iterable[ReadDocument]) -> dict[int, Tool]:
    """Return for each tool, by identity, the first that says the same."""
    groups: defaultdict[tuple[str, str], list[Tool]] = defaultdict(list)
    for tool in (*tools, *(item.document.tool for item in read)):
        groups[_key(tool)].append(tool)
    first: dict[int, Tool] = {}
    for group in groups.values():
        seen: dict[str, Tool] = {}
        for tool in group:
            content = content_key(tool) if len(group) > 1 else ""
            first[id(tool)] = seen.setdefault(content, tool)
    return first


class _Names:
    """What tools are called, for documents about them."""

    def __init__(self, first: Mapping[int, Tool]) -> None:
        tools = self._tools = [tool for number, tool in first.items() if number == id(tool)]
        self._by_name: defaultdict[str, list[Tool]] = defaultdict(list)
        self._by_key: defaultdict[str, list[Tool]] = defaultdict(list)
        self._by_id: dict[str, Tool] | None = None
        for tool in tools:
            self._by_name[tool.name].append(tool)
            for key in {tool.id, f"{tool.source_id}::{tool.name}", tool.name} - {""}:
                self._by_key[key].append(tool)

    def called_like(self, nameless: Tool) -> Tool | None:
        """Give the one tool that has the name of *nameless*; of several, the one of its source."""
        found = self._by_name.get(nameless.name, [])
        of_its_source = [tool for tool in found if tool.source_id == nameless.source_id]
        return _only(of_its_source or found)

    def meant(self, claim: str, reserved: Collection[str]) -> Tool | None:
        """Give the one tool that *claim* names, `None` for none or several."""
        return _only(self._by_key.get(claim, [])) or self._with_id(claim, reserved)

    def _with_id(self, claim: str, reserved: Collection[str]) -> Tool | None:
        if self._by_id is None:
            tools = {(*_key(tool), content_key(tool)): tool for tool in self._tools}
            assigned, _ = assign_ids(self._tools, reserved)
            self._by_id = {tool.id: tools[*_key(tool), content_key(tool)] for tool in assigned}
        return self._by_id.get(claim)


def _only(tools: Sequence[Tool]) -> Tool | None:
    return tools[0] if len(tools) == 1 else None


def _with_pages(
    documents: Iterable[ReadDocument],
    first: Mapping[int, Tool],
    about: Mapping[int, Sequence[ReadDocument]],
) -> Iterator[ReadDocument]:
    """Return each of *documents* with those about its tool, but none that repeats such a tool."""
    for item in documents:
        tool = item.document.tool
        owner = first[id(tool)]
        pages = about.get(id(owner), ())
        if not pages or owner is tool:
            yield _joined(item, pages) if pages else item


def _joined(item: ReadDocument, pages: Sequence[ReadDocument]) -> ReadDocument:
    """Return the document of a tool with those that are about it; their hints become the tool's."""
    tool = item.document.tool
    hints = Hints.merge(*(page.document.tool.hints for page in reversed(pages)), tool.hints)
    states_relations = item.document.states_relations or any(map(_says_none, pages))
    document = replace(
        item.document, tool=replace(tool, hints=hints), states_relations=states_relations
    )
    return replace(item, document=document, about=tuple(pages), keeps_text=False)


def _says_none(page: ReadDocument) -> bool:
    """Return whether a page says, by empty lists alone, that its tool has no relations."""
    about = page.document
    return about.states_relations and not (about.links or about.groups)


def _first_document(tool: Tool, pages: Sequence[ReadDocument]) -> ReadDocument:
    """Return the document of a tool that has none yet, where the first of *pages* stands."""
    page = pages[0].document
    standard = tool_uri(page.tool.source_id, page.tool.name)
    uri = tool_uri(tool.source_id, tool.name) if page.uri == standard else page.uri
    # Relations that the page states are added to what is inferred.
    document = ToolDocument(tool, page.path, uri, states_relations=False)
    return _joined(ReadDocument(pages[0].source, document), pages)


def _noticed(item: ReadDocument, owner: Tool | None) -> Iterator[Diagnostic]:
    place = item.document.tool.place or None
    claim = _claim(item)
    if owner is not None:
        message = (
            f"this document is about the tool {owner.name!r} of {owner.source_id!r}, and joins it"
        )
        yield info(Code.DOCUMENT_ATTACHED, message, place)
    elif claim:
        message = f"no single tool here is called {claim!r}, so this document cannot be found"
        yield warning(Code.DOCUMENT_UNMAPPED, message, place)


def _superseded(tool: Tool, item: ReadDocument) -> Diagnostic:
    source = item.source
    message = f"the document {source.path!r} stands for the manifest's tool {tool.name!r}"
    return info(Code.DOCUMENT_SUPERSEDES, message, tool.place or source.place or None)
