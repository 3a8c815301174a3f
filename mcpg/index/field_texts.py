"""The texts of a tool's document, by field of the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcpg.catalog.model import NO_HINTS, Tool, walk_parameters
from mcpg.index.recipe import FIELDS
from mcpg.text.json_values import JsonObject

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument

_NUMBERS = {name: number for number, name in enumerate(FIELDS)}


def field_texts(
    document: ToolDocument, *, with_parameters: bool = True
) -> Iterator[tuple[int, str]]:
    """Return (number of the field in `FIELDS`, text) for every text of *document*.

    To walk the schemas takes longest: `with_parameters=False` leaves their fields out.
    """
    tool = document.tool
    found = [*_tool_texts(tool)]
    if with_parameters:
        # The words of JSON Schema itself are not text.
        found += _of_schema(tool.input_schema)
        for field in walk_parameters(tool.output_schema) if tool.output_schema is not None else ():
            found += (("parameter_texts", field.path), ("parameter_texts", field.description))
    for name, text in found:
        if text:
            yield _NUMBERS[name], text
    for name, text in [*_document_texts(document, with_parameters)]:
        yield _NUMBERS[name], text


def _document_texts(document: ToolDocument, with_parameters: bool) -> Iterator[tuple[str, str]]:
    """Yield the prose, and the topics, things and groups of the front matter in words."""
    if document.body:
        from mcpg.documents.markdown import read_markdown  # noqa: PLC0415 - few tools have prose

        prose = read_markdown(document.body)
        yield from (("headings", text) for text in prose.headings)
        yield from (("body", text) for text in prose.texts)
        for schema in prose.schemas if with_parameters else ():
            yield from _of_schema(schema)
    yield from (("topics", group) for group in document.groups if ":" not in group)
    if document.further:
        from mcpg.documents.facts import parse_facts  # noqa: PLC0415 - few documents have any

        facts = parse_facts(document.further)
        yield from (("topics", entity.label) for entity in (*facts.about, *facts.mentions))


def _tool_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "name", tool.name
    if tool.display_name != tool.name:
        yield "title", tool.display_name
    yield "source", tool.source_id
    yield "description", tool.description
    hints = tool.hints
    yield from (("aliases", alias) for alias in hints.aliases)
    yield from (("keywords", keyword) for keyword in hints.keywords)
    yield from (
        ("categories", one) for one in (*hints.categories, *hints.tags, *hints.data_sources)
    )
    for example in hints.examples:
        yield "examples", example.input
        yield "examples", example.description or ""
        yield "examples", example.output or ""
    if tool.meta or tool.annotations:
        from mcpg.catalog.hints import claimed_words, read_claims  # noqa: PLC0415 - few tools have

        yield "claims", claimed_words(read_claims(tool)).text
    if tool.generated is not NO_HINTS:
        from mcpg.catalog.hints import generated_text  # noqa: PLC0415 - few tools have

        yield "generated", generated_text(tool.generated)


def _of_schema(schema: JsonObject) -> Iterator[tuple[str, str]]:
    for parameter in walk_parameters(schema):
        yield "parameters", parameter.path
        yield "parameter_texts", parameter.description
        yield "parameter_texts", " ".join(parameter.values)
