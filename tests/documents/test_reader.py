from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from builders import make_tool

from mcpg.catalog.model import Hints, SourceDocument, SourceKind, Tier, ToolExample
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.errors import Code, DocumentError
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping

if TYPE_CHECKING:
    from mcpg.errors import Diagnostic

DOTNET = """\
---
title: "Track shipment"
summary: "Give the status of a parcel. Read only: never"
description: "Give the status of a parcel. Read only: never"
tags:
  - "mcp-gateway-tool"
  - "source:Commerce Hub"
  - "kind:HttpMcp"
  - "argument:number"
  - "alias:where is my parcel, please"
  - "keyword:parcel"
  - "category:shipping"
  - "tag:alias:odd"
  - "data-source:carriers"
  - "read-only:True"
  - "idempotent:true"
  - "destructive:False"
  - "open-world:false"
  - "cost-tier:Low"
  - "latency-tier:high"
  - "enabled:False"
graph_groups:
  - "domain:parcel"
graph_related:
  - "https://managedcode.com/mcpgateway/knowledge/tools/Commerce%20Hub/order_get/"
graph_next_steps:
  - "https://managedcode.com/mcpgateway/knowledge/tools/Commerce%20Hub/order_cancel/"
---

# Track shipment

## Tool Identity
- Tool id: shipment_track
- Source id: Commerce Hub
- Source kind: HttpMcp

## Execution Contract
Tool name: Shipment.Track
Display name: Track shipment
Description: Give the status of a parcel.
Read only: never
Search aliases: where is my parcel, please
Search keywords: parcel
Categories: shipping
Tags: alias:odd
Data sources: carriers
Read only: True
Idempotent: True
Destructive: False
Open world: False
Cost tier: Low
Latency tier: High
Enabled by default: False
Required arguments: number
Parameter number: Tracking number. Type string.
Usage examples:
Description: when waiting
Input: find my parcel
Output: on its way
or lost
Input: status of 1Z

## Input Schema
```json
{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}
```
"""

WAITING = "https://managedcode.com/mcpgateway/knowledge/tools/Commerce%20Hub"


def read(
    text: str, path: str = "docs/shipment_track.md", **options: str
) -> tuple[ToolDocument, tuple[Diagnostic, ...]]:
    """Parse *text* as the document at *path*."""
    return parse_document(SourceDocument(path, text), **options)


def quietly(text: str, path: str = "docs/shipment_track.md", **options: str) -> ToolDocument:
    """Parse *text*, which must have nothing to complain about."""
    document, found = read(text, path, **options)
    assert found == ()
    return document


class TestDotNet:
    """Documents as the .NET gateway writes them, without a key of ours."""

    def test_every_fact_is_read(self) -> None:
        """Tags, identity, contract and schema give back the whole tool."""
        document = quietly(DOTNET)
        tool = document.tool
        assert (tool.id, tool.source_id) == ("shipment_track", "Commerce Hub")
        assert (tool.name, tool.title) == ("Shipment.Track", "Track shipment")
        assert tool.source_kind is SourceKind.HTTP_MCP
        assert tool.required_arguments == ("number",)
        assert tool.hints == Hints(
            aliases=("where is my parcel, please",),
            keywords=("parcel",),
            categories=("shipping",),
            tags=("alias:odd",),
            data_sources=("carriers",),
            examples=(
                ToolExample("find my parcel", "on its way\nor lost", "when waiting"),
                ToolExample("status of 1Z"),
            ),
            read_only=True,
            idempotent=True,
            destructive=False,
            open_world=False,
            cost_tier=Tier.LOW,
            latency_tier=Tier.HIGH,
            enabled_by_default=False,
        )

    def test_relations_are_what_an_author_wrote(self) -> None:
        """Groups and links are read as stated, with full weight."""
        document = quietly(DOTNET)
        assert document.groups == ("domain:parcel",)
        assert document.links == (
            Link(EdgeKind.RELATED, f"{WAITING}/order_get/"),
            Link(EdgeKind.NEXT_STEP, f"{WAITING}/order_cancel/"),
        )
        assert document.uri == f"{WAITING}/Shipment.Track/"
        assert document.body == ""

    def test_line_breaks_of_a_description_come_from_the_contract(self) -> None:
        """The front matter has lost them; the contract, word for word the same, has them."""
        description = quietly(DOTNET).tool.description
        assert description == "Give the status of a parcel.\nRead only: never"

    def test_an_edited_description_counts(self) -> None:
        """When contract and front matter differ, the front matter is right."""
        edited = DOTNET.replace('description: "Give', 'description: "Tell')
        expected = "Tell the status of a parcel. Read only: never"
        assert quietly(edited).tool.description == expected

    def test_it_becomes_ours_without_loss(self) -> None:
        """What the sections lose stands in our own keys, so the document is the same once read."""
        document = quietly(DOTNET)
        text = write_document(document)

        assert '  description: "Give the status of a parcel.\\nRead only: never"\n' in text
        assert quietly(text) == document
        assert write_document(quietly(text)) == text

    def test_windows_line_ends_and_a_byte_order_mark_do_not_matter(self) -> None:
        """The text may come from any editor."""
        assert quietly("\ufeff" + DOTNET.replace("\n", "\r\n")) == quietly(DOTNET)

    def test_without_tags_the_contract_gives_the_hints(self) -> None:
        """The labelled lines alone say as much as their commas allow."""
        before, _, rest = DOTNET.partition("tags:\n")
        document = quietly(before + rest.partition("graph_groups")[2].join(("graph_groups", "")))
        hints = document.tool.hints
        assert hints.aliases == ("where is my parcel", "please")
        assert (hints.cost_tier, hints.idempotent) == (Tier.LOW, True)
        assert hints.enabled_by_default is False


class TestByHand:
    """Documents as people write them."""

    def test_a_heading_and_prose_make_a_tool(self) -> None:
        """Name, title and description come from the file, the heading and the first paragraph."""
        text = "# Track a shipment\n\n> note\n\n## Usage\nAsk for it.\n"
        document = quietly(text, "commerce/shipment_track.md")
        assert document.tool.name == "shipment_track"
        assert document.tool.source_id == "commerce"
        assert document.tool.title == "Track a shipment"
        assert document.tool.description == "> note"
        assert document.tool.id == ""
        assert document.body == "> note\n\n## Usage\nAsk for it."
        assert document.states_relations is False

    @pytest.mark.parametrize(
        ("groups", "related", "following"),
        [
            ("graph_groups", "graph_related", "graph_next_steps"),
            ("graphGroups", "graphRelated", "graphNextSteps"),
        ],
    )
    def test_graph_keys_have_two_spellings(self, groups: str, related: str, following: str) -> None:
        """Items are texts or maps; targets that are no URI stand as given."""
        text = f"""\
---
{groups}:
  - Graph Operations
  - {{label: Reliability, type: Group}}
  - Graph Operations
{related}:
  - https://example.com/a/
  - {{target: "commerce::order_get", weight: 0.5, reason: same parcel, origin: inferred}}
  - {{label: Cancel an order}}
  - {{id: order_get, name: Get an order}}
{following}: order_cancel
---
Prose.
"""
        document = quietly(text)
        assert document.groups == ("Graph Operations", "Reliability")
        assert document.links == (
            Link(EdgeKind.RELATED, "https://example.com/a/"),
            Link(
                EdgeKind.RELATED,
                "commerce::order_get",
                0.5,
                "same parcel",
                EdgeOrigin.INFERRED,
            ),
            Link(EdgeKind.RELATED, "Cancel an order"),
            Link(EdgeKind.RELATED, "order_get"),
            Link(EdgeKind.NEXT_STEP, "order_cancel"),
        )
        assert document.states_relations is True

    def test_friendly_keys_say_what_a_manifest_would(self) -> None:
        """Everything about a tool can be said in the front matter."""
        text = """\
---
name: shipment.track
server: commerce
toolId: track
title: Track
summary: In short
description: At length
sourceKind: stdiomcp
tags: [post, "keyword:parcel", 2024]
aliases: [where, follow]
keywords: shipment
Category: shipping
dataSources: [carriers]
examples: [{input: find it, description: when waiting}, and now]
hints: {costTier: low}
annotations: {readOnlyHint: true, searchAliases: [pakket]}
_meta: {owner: team}
enabledByDefault: false
inputSchema: {type: object, properties: {number: {type: string}}}
outputSchema: {type: object}
canonicalUrl: https://example.com/track/
---
"""
        document = quietly(text)
        tool = document.tool
        assert (tool.id, tool.source_id, tool.name) == ("track", "commerce", "shipment.track")
        assert (tool.title, tool.description) == ("Track", "At length")
        assert tool.source_kind is SourceKind.STDIO_MCP
        assert tool.input_schema["properties"] == {"number": {"type": "string"}}
        assert tool.output_schema == {"type": "object"}
        assert tool.annotations == {"readOnlyHint": True, "searchAliases": ["pakket"]}
        assert tool.meta == {"owner": "team"}
        assert document.uri == "https://example.com/track/"
        assert tool.hints == Hints(
            aliases=("where", "follow", "pakket"),
            keywords=("shipment", "parcel"),
            categories=("shipping",),
            tags=("post", "2024"),
            data_sources=("carriers",),
            examples=(ToolExample("find it", None, "when waiting"), ToolExample("and now")),
            read_only=True,
            cost_tier=Tier.LOW,
            enabled_by_default=False,
        )
        assert quietly(write_document(document)) == document

    def test_the_summary_serves_where_there_is_no_description(self) -> None:
        """A summary is a description; a description is not looked for in the prose then."""
        assert quietly("---\nsummary: In short\n---\nProse.\n").tool.description == "In short"

    @pytest.mark.parametrize("blank", ['""', '"  "', ""])
    def test_a_blank_description_says_nothing(self, blank: str) -> None:
        """The summary, else the first paragraph, describes a tool whose description is blank."""
        front = f"---\ndescription: {blank}\n"
        assert quietly(f"{front}summary: In short\n---\nProse.\n").tool.description == "In short"
        assert quietly(f"{front}---\n# A\n\nProse.\n").tool.description == "Prose."

    def test_front_matter_may_stand_below_blank_lines(self) -> None:
        """Blank lines above the front matter change nothing but the places in messages."""
        text = "---\nname: found\ngraph_related: [1]\n---\n\nProse.\n"
        document, (fault,) = read(f"\n \n{text}")
        above, _ = read(text)
        assert (document.tool, document.body) == (above.tool, above.body)
        assert fault.place == "docs/shipment_track.md:5"
        assert quietly("\n---\n\nA rule, and prose.\n").tool.description == "---"

    def test_the_contract_serves_where_there_is_no_front_matter(self) -> None:
        """Labelled lines are enough, with or without bullets."""
        text = "## Execution Contract\n- Tool name: track\n- Description: Find it.\n"
        tool = quietly(text).tool
        assert (tool.name, tool.description) == ("track", "Find it.")

    def test_a_shorter_contract_does_not_shorten_a_description(self) -> None:
        """The front matter's description stands when the contract ends before it."""
        text = "---\ndescription: a b c\n---\n## Execution Contract\nDescription: a\nb\n"
        assert quietly(text).tool.description == "a b c"

    def test_only_paragraphs_of_prose_describe(self) -> None:
        """Headings, code, tables and markup are no description."""
        text = "# T\n\n## H\n\n```\ncode\n```\n\n| a |\n\n<b>\n\nReal.\n\nMore.\n"
        assert quietly(text).tool.description == "Real."

    def test_a_title_that_repeats_the_name_is_none(self) -> None:
        """A heading that is the file's own name adds nothing."""
        assert quietly("# shipment_track\n").tool.title is None

    def test_a_heading_beside_a_title_is_prose(self) -> None:
        """A first heading that is not what the tool is called stays in the text."""
        for front, body in (
            ("title: Ant", "# Of ants\n\nText."),
            ("title: Of ants", "Text."),
            ("name: Of ants\ntitle: Ant", "Text."),
            ("tool: bee", "# Of ants\n\nText."),
        ):
            document, _ = read(f"---\n{front}\n---\n\n# Of ants\n\nText.\n")
            assert document.body == body, front

    def test_the_first_heading_of_any_level_is_the_title(self) -> None:
        """A document that opens with prose keeps its first heading in the body."""
        document = quietly("Prose.\n\n### Track it ###\n")
        assert document.tool.title == "Track it"
        assert document.body == "Prose.\n\n### Track it ###"

    def test_escapes_in_a_file_name_are_undone(self) -> None:
        """A file named after a tool as the layout names it gives the tool's raw name."""
        tool = quietly("Prose.\n", "tools/my%20server/a%2Fb.md").tool
        assert (tool.source_id, tool.name) == ("my server", "a/b")

    @pytest.mark.parametrize(
        ("path", "options", "expected"),
        [
            ("x.md", {}, "local"),
            ("tools/x.md", {}, "local"),
            ("docs/commerce/x.md", {}, "commerce"),
            ("docs/commerce/x.md", {"source_id": "given"}, "given"),
        ],
    )
    def test_the_source_is_given_or_the_folder(
        self, path: str, options: dict[str, str], expected: str
    ) -> None:
        """A document that names no source takes the caller's, else its folder's, else `local`."""
        assert quietly("Prose.\n", path, **options).tool.source_id == expected
        stated = quietly("---\nsource: own\n---\nProse.\n", path, **options)
        assert stated.tool.source_id == "own"

    def test_a_file_without_extension_is_named_after_itself(self) -> None:
        """The whole file name serves where there is no extension."""
        assert quietly("Prose.\n", "docs/track").tool.name == "track"

    def test_the_caller_decides_the_uri(self) -> None:
        """A bundle's canonical URI is right whatever the text says."""
        source = SourceDocument("a.md", "---\ncanonical_url: urn:x\n---\nProse.\n", "urn:given")
        assert parse_document(source)[0].uri == "urn:given"


class TestBody:
    """What a person wrote outside the generated sections."""

    def test_prose_is_kept_in_order_around_generated_sections(self) -> None:
        """Text before, between, after and inside schema sections is a person's."""
        text = """\
# T
intro

## Tool Identity
- Tool id: x

## Usage
one

## Input Schema
before
```json
{"type": "object"}
```
after

# Another
two
"""
        document = quietly(text)
        assert document.body == "intro\n\n## Usage\none\n\nbefore\n\nafter\n\n# Another\ntwo"
        assert document.tool.input_schema == {"type": "object"}
        assert quietly(write_document(document)) == document

    def test_headings_inside_fences_are_code(self) -> None:
        """A fence hides everything up to a fence at least as long."""
        text = (
            "Prose.\n\n````md\n## Input Schema\n```json\n{}\n```\n````\n\n~~~\n## Tool Identity\n"
        )
        document = quietly(text)
        assert document.body == text.rstrip()
        assert "properties" in document.tool.input_schema

    def test_sections_that_only_look_generated_are_prose(self) -> None:
        """Without labelled lines or a fence, and the second time, a section is a person's."""
        text = (
            "## Execution Contract\nWe promise.\n\n## Input Schema\nA number.\n\n"
            "## Output Schema\n```json\n{}\n```\n## Output Schema\n```json\n[]\n```"
        )
        document = quietly(text)
        assert document.body == (
            "## Execution Contract\nWe promise.\n\n## Input Schema\nA number.\n\n"
            "## Output Schema\n```json\n[]\n```"
        )
        assert document.tool.output_schema == {}

    def test_an_edit_after_the_last_section_is_kept(self) -> None:
        """A person may add a section to a generated document."""
        document = quietly(f"{DOTNET}\n## Usage\nAsk first.\n")
        assert document.body == "## Usage\nAsk first."
        assert quietly(write_document(document)).body == document.body

    def test_lines_between_generated_values_are_kept(self) -> None:
        """What no label begins, and no value goes on with, is prose in any generated section."""
        text = (
            DOTNET.replace("- Source kind", "- Owner: carriers\n- Source kind")
            .replace("Enabled by default", "Never at night.\nInput: a number.\nEnabled by default")
            .replace("Tracking number", "Tracking\n\nnumber")
            .replace("status of 1Z\n", "status of 1Z\n\nAsk first.\n\n### Costs\nTags: none.\n")
            .replace('{"type":"string"}', '{"type":"string","description":"Tracking\\n\\nnumber"}')
        )
        document = quietly(text)
        assert document.body == (
            "- Owner: carriers\n\nNever at night.\nInput: a number.\n\n\n"
            "Ask first.\n\n### Costs\nTags: none."
        )
        assert document.tool.hints == quietly(DOTNET).tool.hints
        assert document.tool.description == quietly(DOTNET).tool.description
        assert quietly(write_document(document)) == document

    def test_a_label_that_states_nothing_is_prose(self) -> None:
        """A repeated label keeps its line, as does a heading of examples with more beside it."""
        further = "Display name: Another\nUsage examples: see the wiki\n"
        text = DOTNET.replace("Enabled by default", f"{further}Enabled by default")
        document = quietly(text)
        assert document.body == further.strip()
        assert document.tool == quietly(DOTNET).tool
        assert quietly(write_document(document)) == document

    def test_labels_may_have_any_bullet(self) -> None:
        """A list with asterisks states what one with hyphens does, also of an example."""
        text = (
            "# A\n\n## Tool Identity\n* Source id: x\n\n## Execution Contract\n-  Tool name: a\n"
            "* Description: Does.\n* Usage examples:\n* Input: one\n* Output: two\n"
        )
        tool = quietly(text).tool
        assert (tool.source_id, tool.name, tool.description) == ("x", "a", "Does.")
        assert tool.hints.examples == (ToolExample("one", "two"),)

    def test_an_open_fence_ends_with_the_document(self) -> None:
        """A schema whose fence is not closed is read to the end."""
        assert quietly('## Input Schema\n```json\n{"a": 1}\n').tool.input_schema == {"a": 1}


class TestOurKey:
    """The `mcpg` key wins over the rest, but never over a person's later edit of a text."""

    FRONT = '---\ndescription: "{shown}"\nmcpg:\n  description: "a\\nb"\n---\n'

    def test_raw_text_wins_over_what_people_see(self) -> None:
        """The lossless description is taken when the shown one is its copy."""
        assert quietly(self.FRONT.format(shown="a b")).tool.description == "a\nb"

    def test_an_edited_description_wins(self) -> None:
        """A person who edits the shown description is heard."""
        assert quietly(self.FRONT.format(shown="c")).tool.description == "c"

    def test_other_members_win(self) -> None:
        """Each member replaces what the rest of the document says."""
        text = (
            "---\nname: shown\ntags: [a]\ntitle: T\nmcpg: {name: real, tags: [b], title: null,\n"
            "  source: s, future: 1, cost_tier: Low, read_only: null}\n---\n"
        )
        tool = quietly(text).tool
        assert (tool.name, tool.source_id, tool.title) == ("real", "s", None)
        assert tool.hints == Hints(tags=("b",), cost_tier=Tier.LOW)

    @pytest.mark.parametrize(
        "member",
        [
            "name: ''",
            "name: 1",
            "title: []",
            "aliases: a",
            "aliases: [1]",
            "examples: {}",
            "examples: [{output: x}]",
            "read_only: 'yes'",
            "cost_tier: Huge",
            "annotations: []",
        ],
    )
    def test_members_of_the_wrong_type_are_reported(self, member: str) -> None:
        """A damaged member is ignored, and the diagnostic names it."""
        document, (found,) = read(f"---\nmcpg: {{{member}}}\n---\nProse.\n")
        assert found.code is Code.DOCUMENT_INVALID
        assert f"mcpg.{member.partition(':')[0]}" in found.message
        assert document.tool.name == "shipment_track"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('title: "Find it"', 'title: "Look up"'),
            ("Display name: Find it", "Display name: Look up"),
            ("# Find it\n", "# Look up\n"),
        ],
    )
    def test_an_edited_title_wins(self, old: str, new: str) -> None:
        """A title that a person changes in a generated document counts, wherever it is changed."""
        tool = make_tool("find", annotations={"title": "Find it"})
        text = write_document(ToolDocument(tool, "a.md", "urn:a"))
        assert "title: null" in text
        assert quietly(text).tool.title is None
        assert text.count(old) == 1
        assert quietly(text.replace(old, new)).tool.title == "Look up"

    def test_an_edited_tag_wins(self) -> None:
        """A hint that a person changes in the tags of a generated document counts."""
        tool = make_tool("find", enabled_by_default=True, aliases=(" odd\n",), keywords=("a",))
        text = write_document(ToolDocument(tool, "a.md", "urn:a"))
        assert quietly(text).tool.hints == tool.hints
        off = quietly(text.replace('"enabled:true"', '"enabled:false"')).tool
        assert not off.enabled
        assert off.hints.aliases == tool.hints.aliases
        more = quietly(
            text.replace('  - "keyword:a"\n', '  - "keyword:a"\n  - "alias:seek"\n')
        ).tool
        assert more.hints.aliases == ("odd", "seek")
        assert more.enabled

    def test_it_must_be_a_mapping(self) -> None:
        """Anything else under the key is reported and ignored."""
        _, (found,) = read("---\nmcpg: 1\n---\nProse.\n")
        assert (found.code, found.place) == (Code.DOCUMENT_INVALID, "docs/shipment_track.md:2")

    def test_evidence_of_links_that_are_gone_is_ignored(self) -> None:
        """The lists of targets decide which links there are."""
        evidence = "mcpg: {relations: [{edge: related, target: urn:b}]}"
        text = f"---\ngraph_related: [urn:a]\n{evidence}\n---\n"
        assert quietly(text).links == (Link(EdgeKind.RELATED, "urn:a"),)


class TestDamage:
    """Input that cannot be used, wholly or in part."""

    @pytest.mark.parametrize(
        ("text", "place", "message"),
        [
            ("", "docs/a.md", "empty"),
            (" \n\t\n", "docs/a.md", "empty"),
            ("---\ntitle: x\n", "docs/a.md:1", "is not closed"),
            ("\n\n---\ntitle: x\n", "docs/a.md:3", "is not closed"),
            ("\n---\ntitle: [\n---\n", "docs/a.md:4", "invalid YAML"),
            ("---\n- a\n---\n", "docs/a.md:2", "not a mapping"),
            ("---\na: 1\nb: [\n---\n", "docs/a.md:4", "invalid YAML"),
            ("---\na: &x 1\n---\n", "docs/a.md:2", "anchors"),
            ("---\na: !!python/object:os.system x\n---\n", "docs/a.md:2", "tag"),
            (f"---\na: {'x' * 300_000}\n---\n", "docs/a.md:1", "longer than"),
        ],
    )
    def test_a_damaged_document_is_refused(self, text: str, place: str, message: str) -> None:
        """The error names the document, the line and the cause."""
        with pytest.raises(DocumentError, match=message) as caught:
            read(text, "docs/a.md")
        assert caught.value.place == place

    def test_a_document_must_name_its_tool(self) -> None:
        """Without any name there is no tool."""
        with pytest.raises(DocumentError, match="nothing names the tool"):
            read("Prose.\n", "")

    def test_places_name_the_file_that_was_read(self) -> None:
        """Messages name the place of the text where one is known."""
        with pytest.raises(DocumentError) as caught:
            parse_document(SourceDocument("a.md", "", place="in/a.md"))
        assert caught.value.place == "in/a.md"

    @pytest.mark.parametrize(
        ("line", "where"),
        [
            ("graph_related: [1]", "graph_related[0] names no tool"),
            ("graphRelated: [urn:a, {type: x}]", "graphRelated[1] names no tool"),
            ("graph_next_steps: [' ']", "graph_next_steps[0] names no tool"),
            ("graph_next_steps: [[urn:a]]", "graph_next_steps[0] names no tool"),
            ("graph_groups: [a, null]", "graph_groups[1] names no group"),
            ("graph_related: [{id: a, weight: 2}]", "graph_related[0] has a weight"),
            ("graph_related: [{id: a, weight: true}]", "graph_related[0] has a weight"),
            ("graph_related: [{id: a, reason: 2}]", "graph_related[0] has a reason"),
            ("graph_related: [{id: a, origin: me}]", "graph_related[0] has an origin"),
            ("graph_related: [{id: a, origin: []}]", "graph_related[0] has an origin"),
            ("mcpg: {relations: 1}", "mcpg.relations is not a list"),
            ("mcpg: {relations: [1]}", "mcpg.relations[0] has no mapping"),
            (
                "graph_related: [a]\nmcpg: {relations: [{edge: related, target: a, weight: 0}]}",
                "mcpg.relations[0] has a weight",
            ),
        ],
    )
    def test_a_bad_graph_item_is_skipped_and_named(self, line: str, where: str) -> None:
        """The diagnostic names key and index; the rest of the document is used."""
        document, (found,) = read(f"---\n{line}\n---\nProse.\n")
        assert found.code is Code.RELATION_INVALID
        assert found.place == f"docs/shipment_track.md:{2 + line.count(chr(10))}"
        assert where in found.message
        assert document.tool.name == "shipment_track"

    @pytest.mark.parametrize(
        "line", ["keywords: [a, true]", "examples: [{output: x}]", "readOnly: never", "aliases: {}"]
    )
    def test_a_hint_of_a_wrong_kind_is_reported(self, line: str) -> None:
        """A hint that cannot be used is named with its line; the rest of the document is used."""
        document, (found,) = read(f"---\nname: x\n{line}\n---\nProse.\n")
        assert (found.code, found.place) == (Code.DOCUMENT_INVALID, "docs/shipment_track.md:3")
        assert repr(line.partition(":")[0]) in found.message
        assert document.tool.name == "x"

    @pytest.mark.parametrize(
        ("said", "links"),
        [
            ("weight: 0", []),
            ("weight: -1", []),
            ("weight: 5", [(1.0, "why", EdgeOrigin.INFERRED)]),
            ("weight: heavy", [(1.0, "why", EdgeOrigin.INFERRED)]),
        ],
    )
    @pytest.mark.parametrize("place", ["graph_related", "mcpg"])
    def test_an_impossible_weight_does_not_make_the_strongest_link(
        self, said: str, links: list[object], place: str
    ) -> None:
        """Without weight there is no link; whatever else a link says stays said."""
        item = f"target: a, {said}, reason: why, origin: inferred"
        front = {
            "graph_related": f"graph_related: [{{{item}}}]",
            "mcpg": f"graph_related: [a]\nmcpg: {{relations: [{{edge: related, {item}}}]}}",
        }[place]
        document, (found,) = read(f"---\n{front}\n---\nProse.\n")
        assert [(one.weight, one.reason, one.origin) for one in document.links] == links
        assert found.code is Code.RELATION_INVALID

    def test_every_fault_of_a_link_is_named(self) -> None:
        """A link with several faults keeps what is sound, and each fault is reported."""
        item = "{target: a, weight: 0.5, reason: 1, origin: me}"
        document, found = read(f"---\ngraph_related: [{item}]\n---\nProse.\n")
        assert document.links == (Link(EdgeKind.RELATED, "a", 0.5),)
        assert len(found) == len(("reason", "origin"))

    def test_a_link_says_which_fields_fill_which_arguments(self) -> None:
        """Coverage and fields of a link are read; an argument is required unless it says not."""
        fields = "[{given: 'orders[].id', argument: id}, {given: a, argument: b, required: false}]"
        item = f"{{target: a, origin: schema, coverage: strict, fields: {fields}}}"
        (link,) = quietly(f"---\ngraph_next_steps: [{item}]\n---\nProse.\n").links
        assert link.coverage is Coverage.STRICT
        assert link.fields == (
            FieldMapping("orders[].id", "id"),
            FieldMapping("a", "b", required=False),
        )

    @pytest.mark.parametrize(
        ("said", "kept"),
        [
            ("coverage: whole", 0),
            ("coverage: [strict]", 0),
            ("fields: order_id", 0),
            ("fields: [1, {given: a, argument: b}]", 1),
            ("fields: [{given: a}]", 0),
            ("fields: [{given: a, argument: ''}]", 0),
            ("fields: [{given: a, argument: b, required: maybe}]", 0),
            (f"fields: [{', '.join(f'{{given: a, argument: b{n}}}' for n in range(300))}]", 256),
        ],
    )
    def test_impossible_fields_are_reported(self, said: str, kept: int) -> None:
        """What is no mapping or no coverage is reported and left out; the link stays."""
        document, (found,) = read(f"---\ngraph_related: [{{target: a, {said}}}]\n---\nProse.\n")
        (link,) = document.links
        assert (link.coverage, len(link.fields)) == (None, kept)
        assert found.code is Code.RELATION_INVALID

    def test_front_matter_may_be_empty(self) -> None:
        """Two fences with nothing, or a comment, between them say nothing."""
        empty, commented = quietly("---\n---\nProse.\n"), quietly("---\n# none\n---\nProse.\n")
        assert replace(commented, written="") == empty
        assert empty.body == "Prose."

    def test_an_example_needs_an_input(self) -> None:
        """Lines under the examples that ask nothing are no example."""
        text = (
            "## Execution Contract\nTool name: x\nUsage examples:\nlost\n"
            "Output: y\n\nInput: a\nOther: b\n"
        )
        examples = quietly(text).tool.hints.examples
        assert examples == (ToolExample("a\nOther: b", "y"),)

    def test_an_empty_graph_key_states_that_there_are_none(self) -> None:
        """A key without a value is a statement, not a fault."""
        document = quietly("---\ngraph_related:\n---\nProse.\n")
        assert (document.links, document.states_relations) == ((), True)

    @pytest.mark.parametrize("json", ["{", "[1]", "{} {}", "NaN", "[" * 2000, '{"a": 1e999}'])
    def test_a_broken_schema_stays_in_the_body(self, json: str) -> None:
        """The tool is used without it, nothing of the text is lost, the diagnostic has the line."""
        section = f"## Input Schema\n```json\n{json}\n```"
        document, (found,) = read(f"# T\n\n{section}\n")
        assert found.code is Code.DOCUMENT_INVALID
        assert found.place == "docs/shipment_track.md:5"
        assert document.body == section
        assert document.tool.input_schema == {"type": "object", "properties": {}}

    def test_half_characters_in_a_schema_are_repaired(self) -> None:
        """Text that no file could hold is replaced."""
        tool = quietly('## Input Schema\n```json\n{"a": "\\ud800"}\n```\n').tool
        assert tool.input_schema == {"a": "\ufffd"}

    def test_a_canonical_url_must_be_absolute(self) -> None:
        """A relative address is reported, and the URI follows from the name."""
        document, (found,) = read("---\nname: x\ncanonicalUrl: a/b\n---\nProse.\n", "docs/a.md")
        assert (found.code, found.place) == (Code.DOCUMENT_INVALID, "docs/a.md:3")
        assert document.uri.endswith("/tools/docs/x/")

    def test_unknown_words_say_nothing(self) -> None:
        """Tags with values that are no flag, tier or kind are ignored."""
        text = "---\ntags: ['read-only:maybe', 'cost-tier:huge', 'kind:Odd', 'enabled:x']\n---\nX\n"
        tool = quietly(text).tool
        assert tool.hints == Hints()
        assert tool.source_kind is SourceKind.LOCAL
