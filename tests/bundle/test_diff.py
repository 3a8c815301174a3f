from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import make_tool

from mcpg.bundle import Bundle, assemble, build_bundle
from mcpg.catalog.model import SourceDocument, Tool, ToolExample
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.writer import write_document
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping
from mcpg.review.diff import FieldDifference, diff_bundles, format_unified_diff
from mcpg.sources import SourceBatch


def bundle(*tools: Tool) -> Bundle:
    """Make the bundle of *tools*."""
    return build_bundle(assemble(SourceBatch(tools=tools)))


def changes(**members: Any) -> dict[str, tuple[str, str]]:
    """Return what changes in a plain tool when it gets *members*."""
    (change,) = diff_bundles(bundle(make_tool()), bundle(make_tool(**members))).changed
    assert change.name == "commerce::shipment_track"
    return {field.name: (field.before, field.after) for field in change.fields}


def test_equal_bundles_do_not_differ() -> None:
    """A bundle does not differ from itself."""
    made = bundle(make_tool("ant"), make_tool("bee"))
    assert diff_bundles(made, made).is_empty
    assert format_unified_diff(made, made) == ""


def test_schemas_on_one_line_or_many_are_no_difference() -> None:
    """Bundles of before had schemas on many lines; changes are shown in lines all the same."""
    assembly = assemble(SourceBatch(tools=(make_tool("ant"), make_tool("bee"))))
    old, new = Bundle(assembly.texts), build_bundle(assembly)
    assert old != new
    assert diff_bundles(old, new).is_empty
    assert format_unified_diff(old, new) == ""
    assert '-{"type":"object","properties":{}}\n' in format_unified_diff(new, old, are_folders=True)
    changed = bundle(make_tool("ant", input_schema={"type": "object", "x": 1}), make_tool("bee"))
    assert '\n+  "x": 1\n' in format_unified_diff(old, changed)


def test_added_and_removed_tools_are_named() -> None:
    """Tools of one side only are named by source and name, sorted."""
    found = diff_bundles(
        bundle(make_tool("ant"), make_tool("bee")), bundle(make_tool("cow"), make_tool("ant"))
    )
    assert (found.added, found.removed, found.changed) == (
        ("commerce::cow",),
        ("commerce::bee",),
        (),
    )
    assert not found.is_empty


def test_fields_are_told_with_both_values() -> None:
    """Each changed field of a tool and its hints is told, cut short."""
    found = changes(
        description="Follows a parcel. " * 20,
        keywords=("parcel", "van"),
        examples=(ToolExample("where is it", "there"), ToolExample("lost?")),
        read_only=True,
        cost_tier="Low",
        output_schema={"type": "object"},
    )
    assert found["description"][0] == ""
    assert found["description"][1].startswith("Follows a parcel. Follows")
    assert len(found["description"][1]) == 80
    assert found["hints.keywords"] == ("", "parcel, van")
    assert found["hints.examples"] == ("", "where is it -> there, lost?")
    assert found["hints.read_only"] == ("", "true")
    assert found["hints.cost_tier"] == ("", "Low")
    assert found["output_schema"] == ("", '{"type": "object"}')


def test_namesakes_are_told_in_the_order_of_their_uris() -> None:
    """Changes of tools with one source and name stand by URI, whatever the hash seed."""
    content = "---\nname: ping\nsource: net\n---\n"
    numbers = range(100, 150)
    old, new = (
        Bundle(
            tuple(
                SourceDocument(f"{folder}/{number}.md", content, f"https://x.org/{number}/")
                for number in numbers
            )
        )
        for folder in ("old", "new")
    )
    told = [change.fields[0].before for change in diff_bundles(old, new).changed]
    assert told == [f"old/{number}.md" for number in numbers]


def test_relations_are_told() -> None:
    """A new edge is a change of the tool that it leaves."""
    properties = {"order_id": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["order_id"]}
    ant, bee = make_tool("ant", output_schema=schema), make_tool("bee")
    found = diff_bundles(bundle(ant, bee), bundle(ant, replace(bee, input_schema=schema)))
    changed = {change.name: change.fields for change in found.changed}
    (step,) = changed["commerce::ant"]
    assert step.name == "relations.nextStep"
    assert step.before == ""
    assert "/bee/ (0." in step.after


@pytest.mark.parametrize(
    "other",
    [
        {"weight": 0.6},
        {"reason": "other"},
        {"origin": EdgeOrigin.OBSERVED},
        {"coverage": Coverage.PARTIAL},
        {"fields": (FieldMapping("id", "order_id", required=False),)},
        {"fields": ()},
    ],
)
def test_each_part_of_an_edge_is_told(other: dict[str, Any]) -> None:
    """Weight, reason, origin, coverage and fields, and whether an argument is required."""
    fields = (FieldMapping("id", "order_id"),)
    link = Link(
        EdgeKind.NEXT_STEP,
        "https://example.org/b/",
        *(0.5, "some", EdgeOrigin.SCHEMA, fields, Coverage.STRICT),
    )
    document = ToolDocument(make_tool("ant"), "tools/ant.md", "https://example.org/a/")
    old, new = (
        Bundle((SourceDocument("tools/ant.md", write_document(replace(document, links=(one,)))),))
        for one in (link, replace(link, **other))
    )
    (change,) = diff_bundles(old, new).changed
    assert [one.name for one in change.fields] == ["relations.nextStep"]


def test_inferred_edges_follow_the_authored_in_one_value() -> None:
    """All edges of one kind are one value, so that their order shows."""
    fillers = [make_tool(f"filler{number}x") for number in range(10)]
    old = bundle(make_tool("refund_a"), *fillers)
    new = bundle(make_tool("refund_a"), make_tool("refund_b"), make_tool("refund_c"), *fillers)
    changed = {change.name: change.fields for change in diff_bundles(old, new).changed}
    names = [field.name for field in changed["commerce::refund_a"]]
    assert names.count("relations.related") == 1


def test_rewording_without_a_change_is_told() -> None:
    """A text that says the same in other words is a change of the text alone."""
    old = Bundle((SourceDocument("a.md", "---\nname: a\n---\n# A\n"),))
    new = Bundle((SourceDocument("a.md", "---\nname:   a\n---\n# A\n"),))
    (change,) = diff_bundles(old, new).changed
    assert change.fields == (FieldDifference("text", "", "written differently"),)


def test_unreadable_documents_are_compared_as_texts() -> None:
    """A document that holds no tool is compared by its path and text."""
    old = Bundle((SourceDocument("a.md", "---\n[\n---\n"),))
    new = Bundle((SourceDocument("a.md", "---\n{\n---\n"),))
    (change,) = diff_bundles(old, new).changed
    assert change.name == "a.md"
    assert [field.name for field in change.fields] == ["text"]


def test_extension_members_are_compared() -> None:
    """A changed calibration is told by name."""
    found = diff_bundles(Bundle((), {"a": 1, "b": 2}), Bundle((), {"a": 1, "b": 3, "c": 0}))
    assert found.extension == ("b", "c")


def test_unified_text_is_what_git_shows() -> None:
    """Changed, new and removed documents are shown line by line, as `git diff` does."""
    old = Bundle((SourceDocument("a.md", "one\ntwo\x0bx\nend"), SourceDocument("b.md", "gone\n")))
    new = Bundle((SourceDocument("a.md", "one\n2\x0bx\nend\n"), SourceDocument("c.md", "new\n")))
    assert format_unified_diff(old, new) == (
        "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n one\n-two\x0bx\n-end\n"
        "\\ No newline at end of file\n+2\x0bx\n+end\n"
        "--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        "--- /dev/null\n+++ b/c.md\n@@ -0,0 +1 @@\n+new\n"
    )
