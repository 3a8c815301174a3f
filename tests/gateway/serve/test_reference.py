"""The reference of the meta-tools says all that they take and give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcpg.gateway.calls import FaultCode
from mcpg.gateway.serve import META_TOOLS
from mcpg.gateway.serve.schemas import INPUTS, OUTPUTS

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
