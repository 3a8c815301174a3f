"""Edges that documents state outside their lists of links: written out, or by a link in prose.

They need no place in a list, for whoever reads the documents finds them again; so no text changes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcpg.bundle.linking import joined_links
from mcpg.diagnostics import Code, Diagnostic, info
from mcpg.documents import Link
from mcpg.documents.facts import facts_of, means_itself
from mcpg.documents.markdown import read_markdown
from mcpg.relations import EdgeKind, EdgeOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcpg.bundle.reading import ReadDocument
    from mcpg.documents import ToolDocument
    from mcpg.documents.facts import Statement
    from mcpg.documents.markdown import Reference
    from mcpg.documents.targets import Targets

PROSE_WEIGHT = 0.5
"""Weight of an edge that a link in prose makes: said, but not said to be a relation."""

_PROSE_REASON = "its text links to it"
_LOCAL_NAME = re.compile(r"[^#/:]*\Z")
_KINDS = {
    "relatedto": EdgeKind.RELATED,
    "related": EdgeKind.RELATED,
    "nextstep": EdgeKind.NEXT_STEP,
    "next": EdgeKind.NEXT_STEP,
}
_MEMBER = "memberof"
LINK_MARKS = ("](", "[[", "]:")
"""One of these stands in every text that holds a link."""

_PAGE = (".md", ".markdown")


@dataclass(slots=True)
class Stated:
    """What documents state, by the URI of the document that it is said of.

    Attributes:
        links: Edges to other tools, and to pages.
        groups: Groups that a tool is said to belong to.
        diagnostics: What was noticed.
    """

    links: defaultdict[str, list[Link]] = field(default_factory=lambda: defaultdict(list))
    groups: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    diagnostics: list[Diagnostic] = field(default_factory=list)


def stated_edges(
    by_tool: Mapping[str, ReadDocument], pages: Iterable[ReadDocument], targets: Targets
) -> Stated:
    """Gather what documents and pages state.

    Args:
        by_tool: The document of each tool that has one, by tool id.
        pages: Documents of no tool, whose statements count as well.
        targets: What a statement or a link can mean.
    """
    stated = Stated()
    pages = list(pages)
    names = {_file_name(page.document.path) for page in pages}
    for item in (*by_tool.values(), *pages):
        _take_statements(item.document, targets, stated)
        _take_references(item, targets, names, stated)
    return stated


def with_stated(document: ToolDocument, stated: Stated) -> ToolDocument:
    """Return *document* with what is stated of it; what its own lists say comes first."""
    uri = document.uri
    if uri not in stated.links and uri not in stated.groups:
        return document
    authored = [link for link in document.links if link.origin is EdgeOrigin.AUTHORED]
    inferred = [link for link in document.links if link.origin is EdgeOrigin.INFERRED]
    known = {link.target for link in authored}
    for link in stated.links.get(uri, ()):
        is_repeated = link.reason == _PROSE_REASON and link.target in known
        if link.target != uri and not is_repeated:
            authored.append(link)
            known.add(link.target)
    groups = dict.fromkeys((*document.groups, *stated.groups.get(uri, ())))
    return replace(document, links=joined_links(authored, inferred), groups=tuple(groups))


def _take_statements(document: ToolDocument, targets: Targets, stated: Stated) -> None:
    """Take the edges that *document* writes out between tools, or from a tool to a group."""
    for statement in facts_of(document.further).statements if document.further else ():
        subject: str | None = document.uri
        if not means_itself(statement.subject):
            subject = targets.resolve(statement.subject, document.path)
        # Of a page the statement itself stands in the graph.
        if subject is not None and targets.by_uri[subject]:
            _take_statement(statement, subject, document, targets, stated)


def _take_statement(
    statement: Statement, subject: str, document: ToolDocument, targets: Targets, stated: Stated
) -> None:
    name = _LOCAL_NAME.search(statement.predicate.rstrip("#/:"))
    plain = (name.group() if name else "").replace("_", "").replace("-", "").casefold()
    if plain == _MEMBER:
        stated.groups[subject].append(statement.object)
        return
    is_itself = means_itself(statement.object)
    target = document.uri if is_itself else targets.resolve(statement.object, document.path)
    if target is not None:
        kind = _KINDS.get(plain, EdgeKind.RELATED)
        told = "" if plain in _KINDS else f"stated as {statement.predicate!r}"
        link = Link(kind, target, reason=statement.reason or told)
        stated.links[subject].append(link)


def _take_references(item: ReadDocument, targets: Targets, names: set[str], stated: Stated) -> None:
    """Take the links between documents in the prose of one."""
    document = item.document
    if not any(mark in document.body for mark in LINK_MARKS):
        return
    for reference in read_markdown(document.body).references:
        meant = list(meanings(reference))
        found = (targets.resolve(one, document.path) for one in meant)
        uri = next(filter(None, found), None)
        if uri is not None:
            link = Link(EdgeKind.RELATED, uri, PROSE_WEIGHT, _PROSE_REASON)
            stated.links[document.uri].append(link)
        elif _is_broken(reference, meant, document, names):
            stated.diagnostics.append(_dangling(reference, item))


def meanings(reference: Reference) -> Iterator[str]:
    """Give what a link can lead to; an ordinary one leads to an address, not to a name."""
    written = reference.target.removesuffix(reference.suffix).strip()
    address = unquote(written).strip()
    if reference.is_wiki:
        yield written
    elif "/" in address or address.casefold().endswith(_PAGE):
        # The URI of a document keeps its escapes, and a path in the bundle as well.
        yield from dict.fromkeys((address, written))


def _is_broken(
    reference: Reference, meant: list[str], document: ToolDocument, names: set[str]
) -> bool:
    """Tell whether a link leads to a document that is not there; a wiki link may name a thing."""
    if reference.is_wiki or not meant or ":" in meant[0]:
        return False
    name = _file_name(meant[0])
    is_known = name in names or name == _file_name(document.path)
    return meant[0].casefold().endswith(_PAGE) and not is_known


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _dangling(reference: Reference, item: ReadDocument) -> Diagnostic:
    message = f"the link to {reference.target!r} leads to no document here"
    # A link that was led to another place is found by the name of the file.
    place = item.place_of(reference.target, _file_name(reference.target))
    return info(Code.RELATION_UNRESOLVED, message, place)
