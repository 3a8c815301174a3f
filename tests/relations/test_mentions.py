"""What descriptions say of other tools."""

from __future__ import annotations

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.catalog.catalog import build_catalog
from mcpg.relations.infer import infer
from mcpg.relations.mentions import MentionReader

OWN, OTHER, THIRD = range(3)
READER = MentionReader({"send_parcel": OWN, "find_address": OTHER, "print_label": THIRD})
FIRST, NEXT = [(OTHER, OWN)], [(OWN, OTHER)]


@pytest.mark.parametrize(
    "text",
    [
        "Call after find_address.",
        "Takes the id returned by `find_address`.",
        "Call find_address first.",
        "Requires an id from find_address.",
        "Needs the address that find_address returns.",
        "Before this, call find_address.",
        "Never run it without calling find_address.",
        "If the address is not known, use find_address.",
        "Uses the output of find_address.",
        "The address can be obtained by calling find_address.",
        "## Prerequisites\n- find_address",
        "1. First use print_label to see labels.\n2. Then use find_address to see addresses.",
        "1. Call find_address with a name.\n2. Call this tool with the result.",
    ],
)
def test_what_comes_before(text: str) -> None:
    """What a tool needs, or what is to be called before it, comes first."""
    assert (OTHER, OWN) in READER.read(text, OWN)
    assert (OWN, OTHER) not in READER.read(text, OWN)


@pytest.mark.parametrize(
    "text",
    [
        "Use before find_address.",
        "Pass the id to find_address.",
        "Then call find_address.",
        "First call this tool, then find_address.",
        "Once done, run find_address.",
        "Returns an id for use with find_address.",
        "NEXT STEPS: use find_address with the id.",
        "find_address requires the id that this one returns.",
    ],
)
def test_what_comes_after(text: str) -> None:
    """What takes the result of a tool, or is to be called next, comes after it."""
    assert READER.read(text, OWN) == NEXT


@pytest.mark.parametrize(
    "text",
    [
        "For large parcels use find_address instead.",
        "Similar to find_address.",
        "Unlike find_address, it takes a list.",
        "Faster than find_address.",
        "Equivalent to calling find_address.",
        "If this fails, use find_address.",
        "Do not use this for letters: use find_address.",
        "DO NOT USE FOR:\n- letters (use find_address)",
        "You do not need to call find_address first.",
        "See find_address.",
        "Even if you called find_address, call it again: addresses change.",
        "Use find_address when there are several.",
        "The address has the form that it has as in find_address.",
    ],
)
def test_what_is_no_order(text: str) -> None:
    """Alternatives, comparisons, fallbacks and negated calls are no order."""
    assert READER.read(text, OWN) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Adresse wird von find_address geliefert und ist für den Versand nötig.", FIRST),
        ("Statt find_address für die Pakete, die nicht in der Liste sind.", []),
        ("Usar antes de find_address para que la lista no esté vacía en la página.", NEXT),
        ("À utiliser avant find_address, pour que la liste ne soit pas vide.", NEXT),
        ("在 find_address 之后调用。", FIRST),
    ],
)
def test_other_languages(text: str, expected: list[tuple[int, int]]) -> None:
    """Words of other languages have the same kinds."""
    assert READER.read(text, OWN) == expected


def test_an_arrow_is_an_order_of_its_neighbors() -> None:
    """A chain of arrows orders each name and the next, whoever is described."""
    text = "Workflow: find_address -> send_parcel → print_label"
    assert READER.read(text, OWN) == [(OTHER, OWN), (OWN, THIRD)]
    assert READER.read("find_address() → print_label()", OWN) == [(OTHER, THIRD)]


def test_the_value_of_an_argument_comes_from_what_its_description_names() -> None:
    """A tool that the description of an argument names comes before, but for comparisons."""
    assert READER.read("Name from find_address.", OWN, is_argument=True) == FIRST
    assert READER.read("Use find_address to see all.", OWN, is_argument=True) == FIRST
    assert READER.read("Written as in find_address.", OWN, is_argument=True) == []


def test_what_finds_the_value_of_an_argument_comes_first() -> None:
    """The purpose of a call decides: it finds what an argument is, or goes on with a result."""
    text = "Use find_address to find addresses."
    assert READER.read(text, OWN, needs=frozenset({"address"})) == FIRST
    assert READER.read(text, OWN, needs=frozenset({"weight"})) == NEXT


WORDS = (
    *("first", "then", "before", "after", "not", "unlike", "use", "from", "this", "don't", "ß'"),
    *(",", ".", ":", "(", ")", "->", "1.", "-", "#", "**", "\n", "\ud800", "之后"),
    *("find_address", "send_parcel"),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    """Whatever a description holds, the pairs are of different known tools."""
    for first, then in READER.read(text, OWN):
        assert first != then
        assert {first, then} <= {OWN, OTHER, THIRD}


def test_a_stated_order_is_an_edge() -> None:
    """A stated order leads from the first to the next, never back; an alternative is related."""
    tools = [
        make_tool("scan_disk"),
        make_tool("heat_oven", description="Call after scan_disk."),
        make_tool("boil_water", description="For small amounts use heat_oven instead."),
    ]
    catalog = build_catalog(tools)
    ids = {tool.name: tool.id for tool in catalog.tools}
    relations = infer(catalog).relations
    (step,) = relations.of(ids["scan_disk"]).next_steps
    assert (step.target, step.reason) == (
        ids["heat_oven"],
        "the description there gives this order",
    )
    assert relations.of(ids["heat_oven"]).next_steps == ()
    assert relations.of(ids["boil_water"]).next_steps == ()
    assert ids["heat_oven"] in {edge.target for edge in relations.of(ids["boil_water"]).related}


def test_a_stated_order_counts_in_a_large_server() -> None:
    """However many tools a server has, an order that a description states is an edge."""
    tools = [
        make_tool("scan_disk"),
        make_tool("heat_oven", description="Call after scan_disk."),
        *(make_tool(f"paint_w{number}x") for number in range(80)),
    ]
    found = infer(build_catalog(tools)).relations.of("scan_disk")
    assert [edge.target for edge in found.next_steps] == ["heat_oven"]
