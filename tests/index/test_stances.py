"""What tools say of themselves, read from an index at once."""

from __future__ import annotations

import pytest
from builders import make_engine, make_tool

from mcpg.gateway.routing import preference
from mcpg.gateway.routing.preference import READS, UNSAID, WRITES
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError

TOOLS = [make_tool("a", read_only=True), make_tool("b", read_only=False), make_tool("c")]


def test_each_tool_says_what_it_says() -> None:
    """In the order of ids: one that reads, one that writes, one that does not say."""
    assert tuple(preference.read_only_flags(make_engine(*TOOLS).index)) == (READS, WRITES, UNSAID)


def test_a_damaged_record_is_told() -> None:
    """A record is compared with its checksum before it is believed."""
    data = bytearray(make_engine(*TOOLS).index.data)
    at = data.find(b'"read_only":true')
    data[at : at + 16] = b'"read_only":null'
    with pytest.raises(StaleIndexError):
        preference.read_only_flags(Index(data))
