"""The final document of a tool: what its author wrote, or what the package writes for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mcpg.bundle.linking import joined_links, relations_of, with_asserted
from mcpg.bundle.stated import with_stated
from mcpg.catalog.model import SourceDocument
from mcpg.diagnostics import Code, Diagnostic, error
from mcpg.documents import can_be_written, document_for, write_document
from mcpg.documents.records import encode_record
from mcpg.errors import DocumentError
from mcpg.memo import Kind, Memo
from mcpg.relations import EdgeKind, Relations, ToolRelations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.bundle.reading import ReadDocument
    from mcpg.bundle.stated import Stated
    from mcpg.catalog.model import Tool
    from mcpg.documents import ToolDocument
    from mcpg.documents.targets import Targets
    from mcpg.relations import Edge


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a document has to be seen with.

    Attributes:
        addresses: Path and URI of every tool, by id.
        targets: What links can reach.
        authored: What hints assert, by tool id and kind, then by target.
        inferred: The relations of tools whose document states none.
        stated: What documents state outside their lists of links.
        memo: What is known of documents that were written before.
        texts: Whether the texts of documents are needed.
    """

    addresses: Mapping[str, tuple[str, str]]
    targets: Targets
    authored: Mapping[tuple[str, EdgeKind], Mapping[str, Edge]]
    inferred: Relations
    stated: Stated
    memo: Memo
    texts: bool


_WRITTEN: Kind[str] = Kind(
    "written",
    lambda text: text.encode("utf-8", "surrogatepass"),
    lambda data: data.decode("utf-8", "surrogatepass"),
)


@dataclass(frozen=True, slots=True)
class Finished:
    """A document ready for the bundle.

    Attributes:
        document: What it says, links resolved to URIs.
        text: How it says it.
        relations: Its groups and links, as edges between tools.
    """

    document: ToolDocument
    text: SourceDocument
    relations: ToolRelations


def finish(
    tool: Tool, read: ReadDocument | None, around: Surroundings
) -> tuple[Finished | None, list[Diagnostic]]:
    """Make the final document of *tool*.

    Args:
        tool: The tool as the catalogue has it, hints and id included.
        read: The document that it was read from, settled; `None` for one of a manifest.
        around: What it is seen with.

    Returns:
        The document, `None` when the tool cannot be written as one, and what was noticed.
    """
    if read is None:
        made = document_for(tool, around.inferred.of(tool.id), around.addresses)
        # Said once that there are no relations, nobody has to look for them again.
        document = replace(made, states_relations=True)
        is_kept = False
    else:
        document = _completed(tool, read.document, around)
        is_kept = read.keeps_text and _says_the_same(read.document, document)
    try:
        content = read.source.content if read and is_kept else _written(document, around)
    except DocumentError as fault:
        return None, [_unwritable(fault, tool)]
    text = SourceDocument(document.path, content, document.uri, tool.place)
    document = with_stated(document, around.stated)
    return Finished(document, text, _relations(document, around)), []


def _written(document: ToolDocument, around: Surroundings) -> str:
    """Write *document*, unless nobody needs its text and it is sure to have one."""
    if not around.texts and can_be_written(document):
        return ""
    return around.memo.recall(
        _WRITTEN, partial(encode_record, document), partial(write_document, document)
    )


def _completed(tool: Tool, said: ToolDocument, around: Surroundings) -> ToolDocument:
    """Give the document as it shall be: the tool of the catalogue, the relations that it lacks."""
    if not said.states_relations:
        made = document_for(tool, around.inferred.of(tool.id), around.addresses)
        return replace(_joined(said, made), body=said.body, further=said.further)
    path, uri = around.addresses[tool.id]
    asserted = {kind: around.authored[tool.id, kind].values() for kind in EdgeKind}
    return with_asserted(replace(said, tool=tool, path=path, uri=uri), asserted, around.addresses)


def _joined(said: ToolDocument, made: ToolDocument) -> ToolDocument:
    """Put what a document about the tool says of relations before what is inferred."""
    if not (said.links or said.groups):
        return made
    groups = dict.fromkeys((*said.groups, *made.groups))
    return replace(made, links=joined_links(said.links, made.links), groups=tuple(groups))


def _says_the_same(said: ToolDocument, document: ToolDocument) -> bool:
    # A document that states no id gets the same one wherever it is read with the same others.
    tool = document.tool if said.tool.id else replace(document.tool, id="")
    relations = (said.groups, said.links) == (document.groups, document.links)
    return relations and said.tool == tool


def _relations(document: ToolDocument, around: Surroundings) -> ToolRelations:
    return relations_of(document, document.tool.id, around.targets)


def _unwritable(fault: DocumentError, tool: Tool) -> Diagnostic:
    advice = f"; {fault.remedy}" if fault.remedy else ""
    message = f"the tool is left out: {fault.message}{advice}"
    return error(Code.DOCUMENT_INVALID, message, tool.place or tool.id)
