"""The texts of a bundle as every reader takes them.

A document stays as its author wrote it, unless another reader would reject the bundle for it, take
several nodes for one, or resolve no relation. Then its front matter is rewritten, and the author's
own lines are kept beside it, which are what this package reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from mcpg.bundle.addresses import DocumentAddresses, relates, states_targets
from mcpg.bundle.codec import ReadDocument
from mcpg.bundle.texts import hold_texts
from mcpg.catalog.model import SourceDocument
from mcpg.code.page import is_code_page
from mcpg.documents import dotnet
from mcpg.documents.addresses import BASE_URI
from mcpg.documents.apart import distinct_ids, named_nodes, with_ids
from mcpg.documents.front_matter import EXTRAS_KEY, FrontMatter, split_front_matter
from mcpg.documents.model import LineNumbers, ToolDocument
from mcpg.documents.portable import names_rdf, portable_values
from mcpg.documents.reader import URI_KEYS
from mcpg.documents.rewritten import is_disputed, is_hidden, rewritten_text
from mcpg.errors import Code, Diagnostic, DocumentError, warning
from mcpg.json_types import JsonObject

# Groups that are made of what tools have in common, each an address of its own.
_GENERATED = ("domain:", "source-domain:", "category:")


def portable_texts(
    texts: Sequence[SourceDocument],
    documents: Iterable[ToolDocument],
    pages: Iterable[ToolDocument],
) -> Sequence[SourceDocument]:
    """Return *texts* as every reader takes them.

    Args:
        texts: The texts of a bundle.
        documents: The documents of its tools, links resolved, those of prose included.
        pages: Its documents of no tool, likewise.
    """
    found = {document.path: document for document in (*documents, *pages)}
    portable = _PortableWriter(list(found.values()))
    changed: dict[str, SourceDocument] = {}
    for text in texts:
        document = found.get(text.path)
        made = text if document is None else portable.make_portable(text, document)
        if made is not text:
            changed[text.path] = made
    return hold_texts(changed.get(text.path, text) for text in texts) if changed else texts


def rewritten_pieces(documents: Iterable[ReadDocument]) -> Iterator[Diagnostic]:
    """Return what bundles have otherwise than *documents*, since other readers would reject it."""
    for read in documents:
        for item in (read, *read.about):
            if names_rdf(item.document.further):
                content = item.source.content.replace("\r\n", "\n").replace("\r", "\n")
                front = split_front_matter(content.removeprefix("\ufeff"), item.place)
                lines = LineNumbers(front.text, item.place, front.text_line)
                for change in portable_values(front.values)[1]:
                    place = lines.at(*change.path)
                    yield warning(Code.DOCUMENT_REWRITTEN, change.message, place)


class _PortableWriter:
    """Makes texts of a bundle portable.

    Args:
        documents: What they say.
    """

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self._documents = documents
        self._ids = _distinct_ids(documents)

    @cached_property
    def _addresses(self) -> DocumentAddresses:
        return DocumentAddresses(self._documents)

    def make_portable(self, text: SourceDocument, document: ToolDocument) -> SourceDocument:
        """Return *text*, which says *document*, as every reader takes it."""
        uri = text.canonical_uri
        has_uri = uri is None or uri.startswith(BASE_URI) or dotnet.is_uri(uri)
        if has_uri and (is_code_page(text) or not self._may_change(text.content, document)):
            return text
        content = text.content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            front = split_front_matter(content.removeprefix("\ufeff"), document.path)
        except DocumentError:
            return text  # longer than any that can be read, since it was written
        stated = front.values
        if not has_uri:
            # Where other readers find none that they take, they make one of the path.
            stated = _with_uri(stated, str(uri))
            text = replace(text, canonical_uri=None)
        addressed = with_ids(self._addresses.values(stated, document), self._ids)
        try:
            return _with_values(text, content, front, portable_values(addressed)[0])
        except DocumentError:  # too long with addresses, without which it is read all the same
            return _with_values(text, content, front, portable_values(stated)[0])

    def _may_change(self, content: str, document: ToolDocument) -> bool:
        if states_targets(content, document) or names_rdf(document.further):
            return True
        if document.written and is_disputed(document.written):
            return True
        if not self._ids:
            return False
        stated = (one.name for one in named_nodes(document.further))
        targets = (link.target for link in document.links)
        return any(name in self._ids for name in (*document.groups, *stated, *targets))


def _distinct_ids(documents: Sequence[ToolDocument]) -> Mapping[str, str]:
    """Return identifiers for groups, things and topics; a target that nobody bears has none."""
    groups = {group for document in documents for group in document.groups}
    stated = [
        one for document in documents if document.further for one in named_nodes(document.further)
    ]
    names = {(group, True) for group in groups}
    names.update((one.name, one.is_concept) for one in stated if not one.is_target)
    own = {name for name, _ in names}
    if all(name.startswith(_GENERATED) and name == name.casefold() for name in own):
        return {}
    targets = {link.target for document in documents for link in document.links}
    targets.update(one.name for one in stated if one.is_target)
    uris = {document.uri for document in documents}
    return distinct_ids(names, uris | (targets - own))


def _with_values(
    text: SourceDocument, content: str, front: FrontMatter, values: JsonObject
) -> SourceDocument:
    """Return *text*, which is *content* with the front matter *front*, with other *values*.

    Raises:
        DocumentError: The front matter would be too long.
    """
    if values == front.values and not _is_misread(content, front):
        return text
    if not isinstance(values.get(EXTRAS_KEY, {}), dict):
        values = {key: value for key, value in values.items() if key != EXTRAS_KEY}
    return replace(text, content=rewritten_text(content, values))


def _with_uri(values: JsonObject, uri: str) -> JsonObject:
    """Return front matter that states the address of its document."""
    if any(values.get(key) == uri for key in URI_KEYS):
        return values
    others = {key: value for key, value in values.items() if key not in URI_KEYS}
    return {URI_KEYS[0]: uri, **others}


def _is_misread(content: str, front: FrontMatter) -> bool:
    """Return whether other readers refuse, or miss, front matter of which nothing changes."""
    return is_disputed(front.text) or (relates(front.values) and is_hidden(content))
