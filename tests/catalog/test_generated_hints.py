"""Texts that a language model wrote stay apart from the hints of people."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import make_tool

from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.definitions import definition_digest
from mcpg.catalog.hints import (
    MOST_GENERATED_WORDS,
    generated_text,
    is_generated_name,
    read_hint_rules,
)
from mcpg.catalog.model import MOST_GENERATED, NO_HINTS, Hints, Tool, ToolExample
from mcpg.errors import Code, Diagnostic

FILE = """\
generated: {by: mcpg enrich, prompt: 1}
tools:
  "commerce::shipment_track":
    aliases: [where is my parcel, "two\\tlines\\n here"]
    keywords: [parcel]
    examples: [{input: "any news of my order", output: "no"}, "has it shipped"]
    generated: {definition: DIGEST, prompt: 1, model: small, date: 2026-11-28}
"""


def read(text: str, *tools: Tool) -> tuple[tuple[Tool, ...], tuple[Diagnostic, ...]]:
    """Return the tools of a catalogue with a file of generated texts, and what was noticed."""
    rules, noticed = read_hint_rules(text, "a.generated.hints.yaml", is_generated=True)
    catalog = build_catalog(tools, rules)
    return catalog.tools, (*noticed, *catalog.diagnostics)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("github.generated.hints.yaml", True),
        ("a.b.generated.hints.yml", True),
        ("GENERATED.Hints.json", True),
        ("generated.yaml", False),
        ("regenerated.hints.yaml", False),
        ("github.hints.yaml", False),
        ("generated.hints.yaml.bak", False),
    ],
)
def test_a_name_tells_who_wrote_a_file(name: str, expected: bool) -> None:
    """`generated` before `.hints` marks a file, in any case, whatever stands before it."""
    assert is_generated_name(name) is expected


def test_texts_go_to_a_member_of_their_own() -> None:
    """Each is one line; of an example only the request counts, and hints stay as they are."""
    tool = make_tool(keywords=("tracking",))
    (found,), noticed = read(FILE.replace("DIGEST", definition_digest(tool)[:16]), tool)
    assert found.hints == tool.hints
    assert found.generated == Hints(
        aliases=("where is my parcel", "two lines here"),
        keywords=("parcel",),
        examples=(ToolExample("any news of my order"), ToolExample("has it shipped")),
    )
    assert noticed == ()


def test_a_text_of_a_person_wins() -> None:
    """What a person wrote as well, in any case, is the person's alone."""
    own = make_tool(aliases=("Where is my parcel",), examples=(ToolExample("Has it shipped", "y"),))
    (found,), _ = read(FILE, own)
    assert found.hints == own.hints
    assert found.generated.aliases == ("two lines here",)
    assert found.generated.examples == (ToolExample("any news of my order"),)


def test_only_three_lists_count() -> None:
    """A model neither relates tools nor says how they behave; such members are reported."""
    text = "tools: {a: {aliases: [b], related: [c], readOnlyHint: true, tags: [d]}}"
    rules, noticed = read_hint_rules(text, "x.generated.hints.yaml", is_generated=True)
    assert [(one.hints, one.related) for one in rules] == [(Hints(aliases=("b",)), ())]
    assert [one.code for one in noticed] == [Code.HINT_INVALID] * 3


def test_stale_texts_rank_and_are_reported() -> None:
    """Texts for another definition, or for one that nobody names, are kept."""
    (found,), (noticed,) = read(FILE, make_tool())
    assert found.generated != NO_HINTS
    assert (noticed.code, noticed.place) == (Code.GENERATED_STALE, "a.generated.hints.yaml")
    assert "shipment_track" in noticed.message
    unstamped = FILE.replace("definition: DIGEST, ", "")
    (found,), (noticed,) = read(unstamped, make_tool())
    assert found.generated != NO_HINTS
    assert "1 entry of generated texts without a digest" in noticed.message


def test_a_partly_enriched_server_is_reported() -> None:
    """Its other tools fall behind; a server without any text does not."""
    tool = make_tool()
    stamped = FILE.replace("DIGEST", definition_digest(tool))
    others = make_tool("order_cancel"), replace(make_tool("mail_send"), source_id="mail")
    _, (noticed,) = read(stamped, tool, *others)
    assert (noticed.code, noticed.place) == (Code.GENERATED_PARTLY, "commerce")
    assert noticed.message.startswith("1 of 2 tools of 'commerce'")
    assert noticed.message.endswith("order_cancel")


def test_a_digest_follows_what_a_model_is_shown() -> None:
    """The description belongs to it, and what is never shown does not."""
    tool = make_tool()
    hidden = replace(tool, meta={"a": 1}, annotations={"readOnlyHint": True}, place="x")
    assert definition_digest(hidden) == definition_digest(tool)
    assert definition_digest(replace(tool, description="Track.")) != definition_digest(tool)


def test_lists_are_bounded() -> None:
    """A file of many texts is no way to fill an index."""
    many = ", ".join(f"w{number}" for number in range(200))
    (found,), _ = read(f"tools: {{shipment_track: {{keywords: [{many}]}}}}", make_tool())
    assert len(found.generated.keywords) == MOST_GENERATED
    (found,), _ = read(f"tools: {{'*': {{examples: [{'word ' * 500}]}}}}", make_tool())
    assert len(generated_text(found.generated).split()) == MOST_GENERATED_WORDS
