from __future__ import annotations

from builders import make_tool

from mcpg.catalog.model import Tier, ToolExample
from mcpg.documents.page import descriptor_text


def test_a_bare_tool_says_its_name_and_that_it_is_enabled() -> None:
    """Lines without a value are left out, except whether the tool is enabled."""
    assert descriptor_text(make_tool("ping")) == "Tool name: ping\nEnabled by default: True"


def test_every_fact_has_its_line_in_order() -> None:
    """Labels, their order and their values are those of the .NET gateway."""
    tool = make_tool(
        title="Track",
        description="Where is it?",
        aliases=("where", "follow"),
        keywords=("parcel",),
        categories=("shipping",),
        tags=("post",),
        data_sources=("carriers",),
        read_only=True,
        idempotent=True,
        destructive=False,
        open_world=False,
        cost_tier=Tier.LOW,
        latency_tier=Tier.HIGH,
        enabled_by_default=False,
        examples=(ToolExample("find it", "on its way", "when waiting"), ToolExample("and now")),
        input_schema={
            "type": "object",
            "properties": {
                "number": {"type": "string", "description": "Tracking number"},
                "carrier": {"type": ["string", "null"], "enum": ["ups", 1, "dhl"]},
                "deep": {"description": "Ask more?", "type": "boolean"},
                "any": True,
            },
            "required": ["number", "Number", 3],
        },
    )
    assert descriptor_text(tool).split("\n") == [
        "Tool name: shipment_track",
        "Display name: Track",
        "Description: Where is it?",
        "Search aliases: where, follow",
        "Search keywords: parcel",
        "Categories: shipping",
        "Tags: post",
        "Data sources: carriers",
        "Read only: True",
        "Idempotent: True",
        "Destructive: False",
        "Open world: False",
        "Cost tier: Low",
        "Latency tier: High",
        "Enabled by default: False",
        "Required arguments: number",
        "Parameter number: Tracking number. Type string.",
        "Parameter carrier: Typical values: ups, dhl.",
        "Parameter deep: Ask more? Type boolean.",
        "Parameter any:",
        "Usage examples:",
        "Description: when waiting",
        "Input: find it",
        "Output: on its way",
        "Input: and now",
    ]


def test_a_schema_without_properties_stands_raw() -> None:
    """When no properties can be listed, the schema itself is the last thing known."""
    tool = make_tool(input_schema={"type": "object", "oneOf": [{"title": "ä"}]})
    last = descriptor_text(tool).split("\n")[-1]
    assert last == 'Input schema: {"type":"object","oneOf":[{"title":"ä"}]}'


def test_one_label_is_one_line() -> None:
    """Line breaks and control characters in a value cannot make a line of their own."""
    tool = make_tool("a\nTags: x", description="b\r\nInput: y\x1b\u2028z")
    assert descriptor_text(tool).split("\n") == [
        "Tool name: a Tags: x",
        "Description: b Input: y  z",
        "Enabled by default: True",
    ]


def test_the_title_of_annotations_is_a_display_name() -> None:
    """The annotations' title is shown when the tool has none of its own."""
    tool = make_tool(annotations={"title": "Track it"})
    assert "Display name: Track it" in descriptor_text(tool).split("\n")


def test_nothing_is_cut_off() -> None:
    """A long description stands whole."""
    assert "x" * 100_000 in descriptor_text(make_tool(description="x" * 100_000))
