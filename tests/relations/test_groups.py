from __future__ import annotations

from typing import TYPE_CHECKING

from builders import make_tool

from mcpg.relations.server_relations import name_groups
from mcpg.relations.vocabulary import build_vocabulary

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool


def groups(*tools: Tool) -> list[tuple[str, ...]]:
    """Return the groups of each tool."""
    vocabulary = build_vocabulary(tools)
    return [name_groups(tool, position, vocabulary) for position, tool in enumerate(tools)]


def test_groups_name_domain_source_and_category() -> None:
    """A shared term makes a domain and a source domain; each category makes its own group."""
    first, _ = groups(
        make_tool("invoice_get", categories=("Billing", "billing", "Back office")),
        make_tool("invoice_list"),
    )
    assert first == (
        "domain:invoice",
        "source-domain:commerce:invoice",
        "category:billing",
        "category:back-office",
    )


def test_term_of_one_tool_groups_only_the_otherwise_groupless() -> None:
    """A term that nobody shares makes a group only where the tool has no shared one."""
    first, second, third = groups(
        make_tool("invoice_pdf"), make_tool("invoice_mail"), make_tool("weather")
    )
    assert first == second == ("domain:invoice", "source-domain:commerce:invoice")
    assert third == ("domain:weather", "source-domain:commerce:weather")


def test_description_groups_only_the_nameless() -> None:
    """Words of a description make groups only where nothing else names the subject."""
    nameless, named = groups(
        make_tool("run", description="Starts a pipeline."),
        make_tool("pipeline_start", description="Starts it; see the dashboard."),
    )
    assert set(nameless) == {
        "domain:pipeline",
        "domain:start",
        "source-domain:commerce:pipeline",
        "source-domain:commerce:start",
    }
    assert set(named) == set(nameless)


def test_group_ids_hold_no_character_that_parts_them() -> None:
    """White space, colons and the like become one dash; a category of nothing else is dropped."""
    (found,) = groups(make_tool("weather", source_id="My Server: EU", categories=("a:b  c", ":::")))
    assert found == ("domain:weather", "source-domain:my-server-eu:weather", "category:a-b-c")


def test_source_of_nothing_makes_no_source_domain() -> None:
    """A source id that leaves nothing to write makes no source domain."""
    assert groups(make_tool("weather", source_id="::")) == [("domain:weather",)]
