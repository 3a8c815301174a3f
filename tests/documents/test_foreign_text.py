from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.catalog.model import SourceDocument
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.errors import DocumentError

FRONT = (
    "title: Track it",
    'title: "a\\u0007b"',
    "name: 'x '",
    "description: |\n  one\n  two",
    "summary: [1, 2]",
    "tags: [a, 'alias:b', 'source:c', mcp-gateway-tool, 3, {x: y}]",
    "graph_groups: [a, ' b ', a]",
    "graphRelated: [urn:a, {id: b, weight: 0.5}, urn:a]",
    "graph_next_steps: urn:a",
    "mcpg: {description: 'one\n\n  two', relations: [{edge: related, target: b, reason: r}]}",
    "mcpg: {title: '', aliases: ['', ' x'], examples: [{input: ''}]}",
    "canonical_url: urn:here",
    "examples: [a, {input: b, output: ' c '}]",
    "inputSchema: {a: 1}",
    "a: [",
    "---",
)
LINES = (
    "# Title",
    "#",
    "## Tool Identity",
    "- Tool id: x",
    "- Source id: ",
    "## Execution Contract",
    "Tool name: y",
    "Display name: Z",
    "Description: one",
    "two",
    "Search aliases: p, q, P",
    "Usage examples:",
    "Input: i",
    "Output: o",
    "## Input Schema",
    "## input schema ##",
    "## Output Schema",
    "```json",
    "```",
    "~~~",
    '{"a": "```"}',
    "{",
    "## Author Notes",
    "### Deep",
    "  prose  ",
    "\t",
    "",
    "\x00\x85\u2028",
)


@st.composite
def foreign_texts(draw: st.DrawFn) -> str:
    """Make a text of the things that people and programs write."""
    front = draw(st.lists(st.sampled_from(FRONT), max_size=4, unique=True))
    lines = draw(st.lists(st.sampled_from(LINES), max_size=12))
    head = ["---", *front, "---"] if draw(st.booleans()) else []
    return draw(st.sampled_from(["\n", "\r\n"])).join([*head, *lines])


def read(text: str) -> ToolDocument:
    """Parse *text*, whatever there is to complain about."""
    return parse_document(SourceDocument("docs/track.md", text))[0]


@given(foreign_texts() | st.text())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_refused_or_survives_rewriting(text: str) -> None:
    """No text breaks the reader, and what was understood once is understood for good."""
    try:
        document = read(text)
    except DocumentError:
        return
    written = write_document(document)
    assert read(written) == document
    assert write_document(read(written)) == written
