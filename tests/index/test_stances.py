"""What tools say of themselves, read from an index at once."""

from __future__ import annotations

import pytest
from builders import make_engine, make_tool

from mcpg.index import Index
from mcpg.index.layout import READS, UNSAID, WRITES, StaleIndexError

TOOLS = [make_tool("a", read_only=True), make_tool("b", read_only=False), make_tool("c")]


def test_each_tool_says_what_it_says() -> None:
    """In the order of ids: one that reads, one that writes, one that does not say."""
    assert tuple(make_engine(*TOOLS).index.read_only_flags()) == (READS, WRITES, UNSAID)


def test_a_damaged_section_is_told() -> None:
    """The flags are compared with their checksum before they are believed."""
    index = make_engine(*TOOLS).index
    data = bytearray(index.data)
    at = data.find(bytes(index.section("tools.read_only")) + bytes(5))
    data[at] = UNSAID
    with pytest.raises(StaleIndexError):
        Index(data).read_only_flags()
