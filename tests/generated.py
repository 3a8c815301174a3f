"""Strategies that make tools and documents of every kind, nasty ones included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from mcpg.catalog.model import NO_HINTS, Hints, SourceKind, Tier, Tool, ToolExample
from mcpg.catalog.view import unique
from mcpg.documents.addresses import tool_uri
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.page import tidy
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping

NASTY = (
    "Tags: x",
    "Usage examples:\nInput: a\nDescription: b",
    "one\n## Input Schema\n```json\n{}\n```\n",
    "## Author Notes",
    "---\ntitle: no\n---",
    "```",
    "~~~~ python",
    "a, b",
    '"quoted" \\ back\\ud83d slash',
    "key: value # comment",
    "- item",
    "true",
    "null",
    "1.0",
    "\ufeff\x00\x1b[31m\x85\u2028\u2029\ufffe\U0001f600\U0010ffff",
    " edge ",
    "\t",
    "a\r\nb\rc\n\nd",
    "alias:x",
    "mcp-gateway-tool",
    "<<",
    "&anchor *alias !!tag",
    "%YAML 1.1",
    "x" * 1100,
)

texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.lists(st.sampled_from(NASTY), max_size=3).map("\n".join),
)
shown = texts.filter(lambda text: text.strip())
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)
lists = st.lists(texts, max_size=3).map(tuple)
generated = st.builds(
    Hints,
    aliases=lists,
    keywords=lists,
    examples=st.lists(st.builds(ToolExample, shown), max_size=3).map(tuple),
)
flags = st.none() | st.booleans()
tiers = st.none() | st.sampled_from(list(Tier))
hints = st.builds(
    Hints,
    aliases=lists,
    keywords=lists,
    categories=lists,
    tags=lists,
    data_sources=lists,
    examples=st.lists(
        st.builds(ToolExample, shown, st.none() | texts, st.none() | texts), max_size=2
    ).map(tuple),
    read_only=flags,
    idempotent=flags,
    destructive=flags,
    open_world=flags,
    cost_tier=tiers,
    latency_tier=tiers,
    enabled_by_default=flags,
)
schemas = objects | st.builds(
    lambda properties, required: {
        "type": "object",
        "properties": properties,
        "required": required,
    },
    st.dictionaries(texts, objects | json_values, max_size=2),
    st.lists(texts, max_size=2),
)
tools = st.builds(
    Tool,
    id=texts,
    source_id=texts,
    name=shown,
    title=st.none() | texts,
    description=texts,
    input_schema=schemas,
    output_schema=st.none() | objects,
    annotations=objects | st.builds(lambda title: {"title": title}, texts),
    meta=objects,
    hints=hints,
    source_kind=st.sampled_from(list(SourceKind)),
    generated=st.just(NO_HINTS) | generated,
)
targets = shown.map(str.strip)
TOPICS = [
    "RDF",
    {"label": "Cache", "sameAs": ["https://example.com/cache"], "type": "System"},
    {"subject": "document", "predicate": "ex:requires", "object": "urn:x", "reason": "first"},
]
further = st.dictionaries(
    st.sampled_from(["owner", "team-name", "x1", "<<", "no", "clé: «»", "k" * 1100]),
    json_values,
    max_size=3,
) | st.fixed_dictionaries(
    {},
    optional={
        "about": st.lists(st.sampled_from(TOPICS[:2]), max_size=2),
        "entityHints": st.sampled_from(TOPICS[:2]),
        "graph_edges": st.just(TOPICS[2:]),
        "rdf_prefixes": st.just({"ex": "https://example.com/"}),
        "rdf_properties": st.just({"ex:level": [1, "two"]}),
    },
)


mappings = st.builds(FieldMapping, shown, shown, st.booleans())


@st.composite
def documents(draw: st.DrawFn) -> ToolDocument:
    """Make a document in canonical form."""
    tool = draw(tools)
    links = [
        Link(
            kind,
            target,
            draw(st.floats(0, 1, exclude_min=True)),
            draw(texts),
            draw(st.sampled_from(list(EdgeOrigin))),
            tuple(draw(st.lists(mappings, max_size=2, unique=True))),
            draw(st.none() | st.sampled_from(list(Coverage))),
        )
        for kind in EdgeKind
        for target in draw(st.lists(targets, max_size=3, unique=True))
    ]
    groups = tuple(draw(st.lists(targets, max_size=3, unique=True)))
    return ToolDocument(
        tool=tool,
        path="tools/a/b.md",
        uri=draw(st.sampled_from([tool_uri(tool.source_id, tool.name), "urn:other"])),
        groups=groups,
        links=tuple(links),
        body=tidy(draw(texts)),
        states_relations=bool(groups or links) or draw(st.booleans()),
        further=draw(further),
    )


def canonical(document: ToolDocument) -> ToolDocument:
    """Give *document* with hints as catalogues have them, without repeats."""
    hints = document.tool.hints
    lists = {
        name: unique(getattr(hints, name))
        for name, slot in Hints.__dataclass_fields__.items()
        if slot.default == () and name != "examples"
    }
    return replace(document, tool=replace(document.tool, hints=replace(hints, **lists)))
