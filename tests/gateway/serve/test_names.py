from __future__ import annotations

from mcpg.catalog.catalog import build_catalog, normalize
from mcpg.catalog.model import Tool
from mcpg.gateway.serve import META_TOOLS


def test_tools_never_take_the_name_of_a_meta_tool() -> None:
    """A tool that is called like a meta-tool gets another id, whatever case its name is in."""
    tools = [Tool("", "shop", name.upper()) for name in META_TOOLS]
    catalog = build_catalog(tools, reserved=META_TOOLS)
    assert len(catalog.tools) == len(META_TOOLS)
    assert not {tool.id for tool in catalog.tools} & set(META_TOOLS)


def test_names_are_ids() -> None:
    """A meta-tool's name is an id as tools have them, so that every client accepts it."""
    assert all(normalize(name, "") == name for name in META_TOOLS)
