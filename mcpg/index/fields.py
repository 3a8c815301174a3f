"""Which text of a tool's document goes into which field of the index."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.model import Hints, Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.jsontypes import JsonObject

FIELDS = (
    "name",
    "title",
    "aliases",
    "keywords",
    "categories",
    "description",
    "parameters",
    "parameter_texts",
    "examples",
    "body",
    "source",
    "headings",
    "topics",
)

OF_PARAMETERS = ("parameters", "parameter_texts")
"""The fields whose texts come from schemas."""

_NUMBERS = {name: number for number, name in enumerate(FIELDS)}


def field_texts(
    document: ToolDocument, *, with_parameters: bool = True
) -> Iterator[tuple[int, str]]:
    """Give (number of the field in `FIELDS`, text) for every text of *document*.

    To walk the schemas takes longest: `with_parameters=False` leaves their fields out.
    """
    tool = document.tool
    parameters = _parameter_texts(tool) if with_parameters else ()
    for name, text in (*_names(tool), *_hint_texts(tool.hints), *parameters):
        if text:
            yield _NUMBERS[name], text
    for name, text in (*_body_texts(document, with_parameters), *_stated_texts(document)):
        yield _NUMBERS[name], text


def _body_texts(document: ToolDocument, with_parameters: bool) -> Iterator[tuple[str, str]]:
    """Give what a person wrote below the front matter, as a reader sees it."""
    if not document.body:
        return
    from mcpg.documents.markdown import read_markdown  # noqa: PLC0415 - few tools have prose

    prose = read_markdown(document.body)
    yield from (("headings", text) for text in prose.headings)
    yield from (("body", text) for text in prose.texts)
    for schema in prose.schemas if with_parameters else ():
        yield from _of_schema(schema)


def _stated_texts(document: ToolDocument) -> Iterator[tuple[str, str]]:
    """Give what the front matter states: topics, things, and groups that are named in words."""
    yield from (("topics", group) for group in document.groups if ":" not in group)
    if not document.further:
        return
    from mcpg.documents.facts import facts_of  # noqa: PLC0415 - few documents state any

    facts = facts_of(document.further)
    yield from (("topics", entity.label) for entity in (*facts.about, *facts.mentions))


def _names(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "name", tool.name
    if tool.display_name != tool.name:
        yield "title", tool.display_name
    yield "source", tool.source_id
    yield "description", tool.description


def _hint_texts(hints: Hints) -> Iterator[tuple[str, str]]:
    for name, values in (
        ("aliases", hints.aliases),
        ("keywords", hints.keywords),
        ("categories", hints.categories),
        ("categories", hints.tags),
        ("categories", hints.data_sources),
    ):
        for value in values:
            yield name, value
    for example in hints.examples:
        yield "examples", example.input
        yield "examples", example.description or ""
        yield "examples", example.output or ""


def _parameter_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """Give argument and result fields; the words of JSON Schema itself are no text."""
    from mcpg.catalog.schema import walk_parameters  # noqa: PLC0415 - a search walks no schema

    yield from _of_schema(tool.input_schema)
    if tool.output_schema is None:
        return
    for field in walk_parameters(tool.output_schema):
        yield "parameter_texts", field.path
        yield "parameter_texts", field.description


def _of_schema(schema: JsonObject) -> Iterator[tuple[str, str]]:
    """Give the arguments that a schema describes."""
    from mcpg.catalog.schema import walk_parameters  # noqa: PLC0415 - as above

    for parameter in walk_parameters(schema):
        yield "parameters", parameter.path
        yield "parameter_texts", parameter.description
        yield "parameter_texts", " ".join(parameter.values)
