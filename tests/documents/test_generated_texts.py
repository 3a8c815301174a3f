"""Texts that a language model wrote stand where hints do, and the front matter lists them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import make_tool

from mcpg.catalog.model import NO_HINTS, Hints, SourceDocument, Tool, ToolExample
from mcpg.documents.model import ToolDocument, decode_record, encode_record
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document

GENERATED = Hints(
    ("where is it, really", "find parcel"), ("parcel",), examples=(ToolExample("has it shipped"),)
)
TOOL = replace(
    make_tool(aliases=("track, trace",), examples=(ToolExample("follow my order", "ok"),)),
    generated=GENERATED,
)
DOCUMENT = ToolDocument(TOOL, "tools/a.md", "urn:a", states_relations=False)
TEXT = write_document(DOCUMENT)


def read(text: str) -> Tool:
    """Return the tool of a document that has nothing to complain about."""
    document, noticed = parse_document(SourceDocument("tools/a.md", text, "urn:a"))
    assert noticed == ()
    return document.tool


def test_other_readers_find_them_in_the_contract() -> None:
    """They stand behind the author's, and tags, which are facts, have none."""
    assert "\nSearch aliases: track, trace, where is it, really, find parcel\n" in TEXT
    assert "\nSearch keywords: parcel\n" in TEXT
    assert "Input: follow my order\nOutput: ok\nInput: has it shipped\n" in TEXT
    assert '  generated: {"aliases": ["where is it, really", "find parcel"]' in TEXT
    assert "alias:find parcel" not in TEXT
    assert read(TEXT) == TOOL


@pytest.mark.parametrize(
    ("old", "new", "aliases", "generated"),
    [
        (", find parcel", "", ("track, trace",), ("where is it, really",)),
        (", find parcel", ", seek parcel", ("track, trace", "seek parcel"), GENERATED.aliases[:1]),
        (', "find parcel"', "", ("track, trace", "find parcel"), GENERATED.aliases[:1]),
        (", find parcel", ", find parcel, eta", ("track, trace", "eta"), GENERATED.aliases),
    ],
)
def test_a_text_without_a_mark_is_the_author_s(
    old: str, new: str, aliases: tuple[str, ...], generated: tuple[str, ...]
) -> None:
    """One taken out is gone; one edited, added or no longer listed is the author's."""
    assert TEXT.count(old) == 1
    tool = read(TEXT.replace(old, new))
    assert (tool.hints.aliases, tool.generated.aliases) == (aliases, generated)
    assert tool.generated.keywords == GENERATED.keywords


def test_an_edited_example_is_the_author_s() -> None:
    """An example has no mark once its request differs, or it has a response."""
    edited = read(TEXT.replace("Input: has it shipped", "Input: has it left"))
    assert edited.hints.examples[1:] == (ToolExample("has it left"),)
    assert edited.generated.examples == ()
    answered = read(TEXT.replace("Input: has it shipped", "Input: has it shipped\nOutput: yes"))
    assert answered.hints.examples[1:] == (ToolExample("has it shipped", "yes"),)
    assert answered.generated.examples == ()


def test_a_list_of_something_else_marks_nothing() -> None:
    """A mark of another type is passed over, and all texts are the author's."""
    for mark in ("[1]", '{"aliases": "find parcel", "keywords": [1], "tags": ["x"]}', '""'):
        start = TEXT.index("  generated: ")
        text = f"{TEXT[:start]}  generated: {mark}{TEXT[TEXT.index(chr(10), start) :]}"
        assert read(text).generated == NO_HINTS


def test_a_record_keeps_them() -> None:
    """An index has them, and says nothing of tools without."""
    assert decode_record(encode_record(DOCUMENT))[0] == DOCUMENT
    bare = replace(DOCUMENT, tool=replace(TOOL, generated=NO_HINTS))
    assert b"generated" not in encode_record(bare)
    assert decode_record(encode_record(bare))[0] == bare
