"""Write a tool's document as Markdown-LD text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

from mcpg.caching.build_cache import ResultKind
from mcpg.catalog.json_text import MAX_DEPTH, is_deeper
from mcpg.catalog.model import NO_HINTS, SourceDocument, Tool
from mcpg.documents import front_matter, page, reader
from mcpg.documents.addresses import is_absolute, tool_uri
from mcpg.documents.facts import GENERATED_KEY, extras_for, state_generated
from mcpg.documents.front_matter_edits import write_authored_lines
from mcpg.documents.model import (
    GENERATED_TAG,
    ToolDocument,
    decode_content,
    encode_record,
    make_tags,
)
from mcpg.errors import DocumentError
from mcpg.text.json_values import JsonObject, JsonValue

# Values of a record occur in front matter four times at most, each time with six characters
# for one at most, and each time beside a key.
_MOST_FRONT = 32


class DocumentDraft(NamedTuple):
    """The content of the text of a document, except its relations.

    Attributes:
        head: The front matter above groups and links.
        tail: The front matter below them.
        extras: The members of the `mcpg` key except `relations`; "" without any.
        markdown: The text below the front matter.
    """

    head: str
    tail: str
    extras: str
    markdown: str


def _encode_draft(draft: DocumentDraft) -> bytes:
    lengths = " ".join(str(len(part)) for part in draft[:-1])
    return "".join((lengths, "\n", *draft)).encode("utf-8", "surrogatepass")


def _decode_draft(data: bytes) -> DocumentDraft:
    lengths, _, text = data.decode("utf-8", "surrogatepass").partition("\n")
    ends = [*accumulate(map(int, lengths.split(" ")), initial=0), len(text)]
    return DocumentDraft(*(text[start:end] for start, end in pairwise(ends)))


def _draft_content(content: bytes) -> bytes | None:
    try:
        return _encode_draft(draft_document(decode_content(content)))
    except DocumentError:
        return None  # who writes the document is to see why


DRAFTED = ResultKind("drafted", _encode_draft, _decode_draft, _draft_content)
"""The drafts of documents, by their content; see `encode_content`."""


def write_document(document: ToolDocument, draft: DocumentDraft | None = None) -> str:
    """Write *document* in the .NET gateway's layout, so that reading it gives an equal one.

    Values without a place in that layout go into sections and one front-matter key that the .NET
    gateway ignores. Equal documents give equal texts, with LF line ends. The links of *document*
    have the order related, then next steps, and none is repeated; its body is as `parse_document`
    gives it (else blank lines around it are lost). A *draft* is of it, or of it without groups and
    links.

    Raises:
        DocumentError: The tool's texts and relations are too long for front matter, or nest too
            deeply.
    """
    text = _complete_draft(document, draft or draft_document(document))
    if text is None:  # the description would be in the front matter three times
        text = _complete_draft(document, draft_document(document, reader.EXCERPT_LENGTH))
    if text is None:
        raise DocumentError(
            f"the tool {document.tool.name[:80]!r} needs front matter longer than"
            f" {front_matter.MAX_FRONT_MATTER} characters",
            place=document.path,
            remedy="shorten its description, annotations, _meta, hints or relations",
        )
    return text


def draft_document(document: ToolDocument, cut: int | None = None) -> DocumentDraft:
    """Write the parts of *document* that its groups and links have no part in.

    Its front matter has *cut* characters of the description, or all.
    """
    tool = document.tool
    lines = [f"{key}: {front_matter.quote_scalar(text)}" for key, text in _texts(tool, cut).items()]
    lines += _list_lines("tags", make_tags(tool))
    head = "".join(f"{line}\n" for line in lines)
    tail = ""
    if document.uri != tool_uri(tool.source_id, tool.name):
        tail = f"canonical_url: {front_matter.quote_scalar(document.uri)}\n"
    if document.further or document.written:
        authored = write_authored_lines(document.further, document.written)
        tail += authored.removesuffix("\n") + "\n"
    markdown = _markdown(document)
    if len(head) + len(tail) > front_matter.MAX_FRONT_MATTER:
        return DocumentDraft(head, tail, "", markdown)
    marked = state_generated(tool.generated)
    front = head + tail
    if marked:
        listed = "".join(_member_lines(GENERATED_KEY, marked))
        front += f"{front_matter.EXTRAS_KEY}:\n{listed}"
    extras = extras_for(tool, _read_back(document, front, markdown, cut))
    if extras and is_deeper([{front_matter.EXTRAS_KEY: extras}], MAX_DEPTH):
        raise DocumentError(
            f"the tool {tool.name[:80]!r} has values that nest too deeply for front matter"
            f" of {MAX_DEPTH} levels",
            place=document.path,
            remedy="flatten its annotations and _meta",
        )
    stated = (line for key, value in extras.items() for line in _member_lines(key, value))
    return DocumentDraft(head, tail, "".join(stated), markdown)


def _complete_draft(document: ToolDocument, draft: DocumentDraft) -> str | None:
    lines = [*_list_lines(reader.GROUPS_KEY, document.groups)]
    for kind, key in reader.LINK_KEYS.items():
        lines += _list_lines(key, (link.target for link in document.links if link.kind is kind))
    if document.states_relations and not document.groups and not document.links:
        # Without any key the relations would be inferred again.
        lines.append(f"{reader.GROUPS_KEY}: []")
    graph = "".join(f"{line}\n" for line in lines)
    evidence = reader.state_evidence(document.links)
    extras = draft.extras + "".join(
        _member_lines(reader.RELATIONS_KEY, evidence) if evidence else ()
    )
    named = f"{front_matter.EXTRAS_KEY}:\n{extras}" if extras else ""
    front = f"{draft.head}{graph}{draft.tail}{named}"
    return (
        f"---\n{front}---\n{draft.markdown}"
        if len(front) <= front_matter.MAX_FRONT_MATTER
        else None
    )


def can_be_written(document: ToolDocument) -> bool:
    """Return whether `write_document` surely succeeds, without writing; `False` means unknown."""
    tool = document.tool
    nesting: list[JsonValue] = [tool.annotations, tool.meta, document.further]
    is_short = len(encode_record(document)) * _MOST_FRONT <= front_matter.MAX_FRONT_MATTER
    return is_short and not is_deeper(nesting, MAX_DEPTH // 2)


def _read_back(document: ToolDocument, front: str, markdown: str, cut: int | None) -> Tool:
    """Return the tool that would be read from the text of *front* and *markdown*.

    The text is not parsed, unless its front matter has keys of an author, marks generated texts or
    needs a YAML parser, or the description is only in the prose.
    """
    tool = document.tool
    shown = _texts(tool, cut)
    is_told = front_matter.one_line(tool.description) and shown["description"].strip()
    is_marked = tool.generated != NO_HINTS
    if document.further or is_marked or front_matter.needs_yaml(front) or not is_told:
        text = f"---\n{front}---\n{markdown}"
        return reader.tool_without_extras(SourceDocument(reader.UNNAMED, text, document.uri))
    return reader.tool_as_shown(tool, shown["title"], shown["description"])


def _texts(tool: Tool, cut: int | None) -> dict[str, str]:
    description = front_matter.without_breaks(tool.description)[:cut]
    title = front_matter.without_breaks(tool.display_name)
    return {"title": title, "summary": description, "description": description}


def _member_lines(key: str, value: JsonValue) -> Iterator[str]:
    """Write a member; each mapping of a list on its own line, which keeps changes readable."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield f"  {key}:\n"
        yield from (f"    - {front_matter.flow(item)}\n" for item in value)
    else:
        yield f"  {key}: {front_matter.flow(value)}\n"


def _list_lines(key: str, values: Iterable[str]) -> list[str]:
    items = [f"  - {front_matter.quote_scalar(value)}" for value in values]
    return [f"{key}:", *items] if items else []


def _markdown(document: ToolDocument) -> str:
    tool = document.tool
    facts = {"Tool id": tool.id, "Source id": tool.source_id, "Source kind": tool.source_kind}
    identity = [
        f"- {label}: {front_matter.one_line(value)}".rstrip() + "\n"
        for label, value in facts.items()
    ]
    sections = [
        f"# {front_matter.one_line(tool.display_name)}".rstrip() + "\n",
        f"## {page.IDENTITY_HEADING}\n{''.join(identity)}",
        f"## {page.CONTRACT_HEADING}\n{page.descriptor_text(tool)}\n",
    ]
    schemas = {page.INPUT_HEADING: tool.input_schema, page.OUTPUT_HEADING: tool.output_schema}
    for heading, schema in schemas.items():
        if schema is not None:
            text = front_matter.dump_indented(schema)
            fence = page.fence_for(text)
            sections.append(f"## {heading}\n{fence}json\n{text}\n{fence}\n")
    body = page.tidy(document.body)
    if body:
        sections.append(f"## {page.NOTES_HEADING}\n\n{body}\n")
    return "".join(f"\n{section}" for section in sections)


# A schema has no blank line, and none that begins with a back-tick.
_SCHEMA = re.compile(
    rf"^## ({page.INPUT_HEADING}|{page.OUTPUT_HEADING})\n(`{{3,}}json)\n"
    r"((?:[^`\n].*\n)*[^`\n].*)\n(`{3,})$",
    re.MULTILINE,
)


def with_compact_schemas(text: str, tool: Tool, *, is_fresh: bool = False) -> str:
    """Return the generated document *text* of *tool* with each schema on one line, as in a bundle.

    Other readers make a searchable part of each line. A schema that is not as `write_document`
    writes it, and the text of an author, stay as they are. A text is fresh from `write_document`.
    """
    return _with_schemas(
        text, tool, front_matter.dump_indented, front_matter.compact, is_fresh=is_fresh
    )


def with_indented_schemas(text: str, tool: Tool) -> str:
    """Return the document *text* of *tool* in a bundle in the form that folders have."""
    return _with_schemas(text, tool, front_matter.compact, front_matter.dump_indented)


def _with_schemas(
    text: str,
    tool: Tool,
    old: Callable[[JsonObject], str],
    new: Callable[[JsonObject], str],
    *,
    is_fresh: bool = False,
) -> str:
    if not is_fresh and GENERATED_TAG not in text:
        return text
    normal = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    if not is_fresh and GENERATED_TAG not in (
        front_matter.front_matter_text(normal.removeprefix("\ufeff")) or ""
    ):
        return text
    schemas = {page.INPUT_HEADING: tool.input_schema, page.OUTPUT_HEADING: tool.output_schema}

    def respell(found: re.Match[str]) -> str:
        schema = schemas.pop(found[1], None)
        if schema is None or not (is_fresh or found[3] == old(schema)):
            return found[0]
        return f"## {found[1]}\n{found[2]}\n{new(schema)}\n{found[4]}"

    head, mark, notes = normal.partition(f"\n## {page.NOTES_HEADING}\n")
    return _SCHEMA.sub(respell, head) + mark + notes


def addressed_text(document: SourceDocument) -> str:
    """Return the text of *document* with its URI in the front matter if nothing else has it.

    Text without front matter gets some, since a folder may also have other Markdown. A text that
    has a URI, or cannot be read, stays as it is.
    """
    uri = document.canonical_uri
    text = document.content.removeprefix("\ufeff")
    if uri is None:
        return document.content
    try:
        front = front_matter.split_front_matter(text, document.path)
        alone, _ = reader.parse_document(replace(document, canonical_uri=None))
    except DocumentError:
        return document.content
    key = reader.URI_KEYS[0]
    line = f"{key}: {front_matter.quote_scalar(uri)}"
    if front.line == 1:
        return f"---\n{line}\n---\n{text}"
    states_uri = any(is_absolute(str(front.values.get(one, ""))) for one in reader.URI_KEYS)
    if states_uri or alone.uri == uri:
        return document.content
    others = {one: value for one, value in front.values.items() if one not in reader.URI_KEYS}
    wanted: JsonObject = {key: uri, **others}
    lines = text.split("\n")
    lines.insert(front.text_line - 1, line)
    # Front matter without a place for a line, such as a mapping in braces, is rewritten.
    with suppress(DocumentError):
        if front_matter.split_front_matter("\n".join(lines), "").values == wanted:
            return "\n".join(lines)
    written = (one for name, value in wanted.items() for one in front_matter.member(name, value))
    return "\n".join(("---", *written, "---", front.markdown))
