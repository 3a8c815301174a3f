"""The reference of the meta-tools says all that they take and give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mcpg.ask.model import INTENTS
from mcpg.gateway.calls import FaultCode
from mcpg.gateway.serve import ASK, META_TOOLS, PLAN, READ_SKILL, SEARCH
from mcpg.gateway.serve.schemas import INPUTS, OUTPUTS
from mcpg.search.results import MAX_LIMIT
from mcpg.search.scope import MOST_TOOLS
from mcpg.sources.model import SKILL_FILE

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "meta-tools.md"
COMMON = {"advice", "notes", "truncated"}


@pytest.mark.parametrize("name", META_TOOLS)
def test_every_argument_and_member_is_told(name: str) -> None:
    """Arguments and members of a meta-tool stand in its section, and nothing else does."""
    text = PAGE.read_text("utf-8")
    section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
    inputs, outputs = INPUTS[name]["properties"], OUTPUTS.get(name, {}).get("properties", {})
    assert isinstance(inputs, dict)
    assert isinstance(outputs, dict)
    told = re.findall(r"^- `(\w+)`:", section, re.MULTILINE)
    assert told == [*inputs, *(member for member in outputs if member not in COMMON)]
    for argument, schema in inputs.items():
        assert isinstance(schema, dict)
        if "default" in schema:
            row = re.search(rf"^- `{argument}`:.*\(default: `?(\S+?)`?\)$", section, re.MULTILINE)
            assert row is not None
            assert row[1] == str(schema["default"])


def test_every_fault_is_told() -> None:
    """The codes of faults stand in the reference."""
    text = PAGE.read_text("utf-8")
    assert all(f"`{code}`" in text for code in (*FaultCode, *COMMON))


def test_the_file_of_meta_tools_agrees_with_the_program() -> None:
    """The file repeats a few facts of the program; clients learn them only from there."""
    inputs: Any = INPUTS
    assert tuple(inputs) == META_TOOLS
    assert inputs[ASK]["properties"]["intent"]["enum"] == [*INTENTS]
    assert inputs[READ_SKILL]["properties"]["path"]["default"] == SKILL_FILE
    for name in (SEARCH, PLAN):
        properties = inputs[name]["properties"]
        assert properties["contextTools"]["maxItems"] == MOST_TOOLS
        assert properties["limit"]["maximum"] == MAX_LIMIT
