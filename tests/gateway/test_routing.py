"""Routing: categories first, and within them what serves the request and fits the hints."""

from __future__ import annotations

import subprocess
import sys
from math import prod
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_engine, make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import Hints, Tier, Tool, ToolExample
from mcpg.errors import UsageError
from mcpg.gateway import RouteWeights
from mcpg.route import candidate_limit, list_adjustments, tool_categories
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.engine import Engine
    from mcpg.gateway import RoutedCategory, RouteResult

READS = {"read_only": True, "cost_tier": Tier.LOW}
NONSENSE = "wqx zzv blorpnak"
LONG = "x" * 20_000
HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "a\x00b",
    LONG,
    "\udc80",
    "  ",
    "Großes",
    "GROSSES",
    "日本語",
    "ops",
)
NAMES = ("invoice_get", "invoice_pay", "parcel_track", "parcel_send", "ticket_close")
TOOLS = st.lists(
    st.builds(
        lambda name, number, categories, read_only, cost, enabled: make_tool(
            f"{name}_{number}",
            description=name.replace("_", " "),
            categories=tuple(categories),
            read_only=read_only,
            cost_tier=cost,
            enabled_by_default=enabled,
        ),
        st.sampled_from(NAMES),
        st.integers(0, 99),
        st.lists(st.sampled_from(HOSTILE), max_size=4),
        st.sampled_from((None, True, False)),
        st.sampled_from((None, *Tier)),
        st.sampled_from((None, True, False)),
    ),
    max_size=8,
    unique_by=lambda tool: tool.id,
)


def incidents() -> Engine:
    """Make an engine of tools about incidents, deployments and papers."""
    return make_engine(
        make_tool(
            "incident_lookup",
            description="Tell the state of an incident.",
            categories=("operations",),
            idempotent=True,
            **READS,
        ),
        make_tool(
            "incident_acknowledge",
            description="Acknowledge an incident.",
            categories=("operations",),
            read_only=False,
        ),
        make_tool(
            "deployment_lookup",
            description="Tell the state of a deployment.",
            categories=("deployments",),
            **READS,
        ),
        make_tool("runbook_search", description="Find runbooks.", data_sources=("wiki",)),
        make_tool(
            "incident_bridge",
            description="Open a bridge for an incident.",
            categories=("operations",),
            read_only=False,
            destructive=True,
            enabled_by_default=False,
        ),
    )


def names(category: RoutedCategory) -> list[str]:
    """Return the ids of the tools that *category* shows."""
    return [one.match.tool_id for one in category.matches]


def categories(result: RouteResult) -> list[str]:
    """Return the names of the categories."""
    return [category.name for category in result.categories]


def test_the_category_of_the_wanted_tool_is_first() -> None:
    """A category scores as the noisy-or of its tools, and the best is first."""
    result = incidents().route("state of an incident")
    assert categories(result)[0] == "operations"
    assert names(result.categories[0])[0] == "incident_lookup"
    assert result.suggested_matches[0].match.tool_id == "incident_lookup"
    for one in result.categories:
        assert one.found == len(one.matches)
        expected = 1 - prod(1 - tool.score for tool in one.matches)
        assert one.score == pytest.approx(expected, abs=1e-6)


def test_many_tools_of_a_kind_make_their_category_likely() -> None:
    """Twins that share the probability of a request are together as likely as one alone."""
    kinds = ("bar", "line", "pie", "area", "radar", "funnel", "sankey", "treemap")
    charts = [
        make_tool(f"make_{kind}_chart", description=f"Make a {kind} chart.", source_id="charts")
        for kind in kinds
    ]
    others = [make_tool(f"note_{n}", description="Keep a note.", source_id="n") for n in range(8)]
    result = make_engine(*charts, *others).route("make a chart")
    assert categories(result)[0] == "charts"
    assert result.categories[0].score > 2 * result.categories[0].matches[0].score


def test_as_many_are_shown_as_are_asked_for() -> None:
    """Both limits hold, and how many tools of a category were found is told."""
    result = incidents().route("state of the incident", max_categories=2, max_tools=1)
    assert len(result.categories) == 2
    assert all(len(category.matches) == 1 for category in result.categories)
    assert result.categories[0].found == 2


@pytest.mark.parametrize("wrong", [{"max_categories": 0}, {"max_tools": 0}, {"max_tools": -3}])
def test_at_least_one_is_asked_for(wrong: dict[str, int]) -> None:
    """To ask for nothing is a mistake."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        incidents().route("incident", **wrong)


def test_what_the_engine_refuses_is_refused() -> None:
    """Options of the search mean what they mean there."""
    with pytest.raises(UsageError):
        incidents().route("incident", strategy="guess")
    with pytest.raises(UsageError):
        incidents().route("incident", min_score=2)


def test_too_many_are_cut() -> None:
    """Twenty categories and fifty tools are the most, however many are asked for."""
    tools = [make_tool(f"t{n}", description="pay", categories=(f"c{n:02}",)) for n in range(30)]
    result = make_engine(*tools).route("pay", max_categories=10**9, max_tools=10**9)
    assert len(result.categories) == 20


@pytest.mark.parametrize(
    ("asked", "limit"), [((1, 1), 12), ((2, 2), 24), ((1, 5), 20), ((5, 3), 50), ((20, 50), 50)]
)
def test_more_tools_are_looked_at_than_are_shown(asked: tuple[int, int], limit: int) -> None:
    """Four for each that may be shown, at least three to a category, at most fifty."""
    assert candidate_limit(*asked) == limit


def test_disabled_tools_come_when_asked_for() -> None:
    """A tool that is off by default is left out, or comes without what enabled tools get."""
    query = "open a bridge for the incident"
    assert "incident_bridge" not in str(incidents().route(query))
    result = incidents().route(query, include_disabled=True, prefer_read_only=False)
    first = result.suggested_matches[0]
    assert first.match.tool_id == "incident_bridge"
    assert "enabled" not in [part.name for part in first.adjustments]


def test_context_counts() -> None:
    """What is known beside the query helps to find the tool."""
    result = incidents().route(None, context="which runbooks are there")
    assert result.suggested_matches[0].match.tool_id == "runbook_search"


@pytest.mark.parametrize(
    ("hints", "source", "expected"),
    [
        ({"categories": ("a", "b"), "data_sources": ("c",)}, "s", ("a", "b")),
        ({"data_sources": ("c",)}, "s", ("c",)),
        ({}, "s", ("s",)),
        ({}, " ", ("general",)),
    ],
)
def test_a_tool_belongs_where_it_says(
    hints: dict[str, Any], source: str, expected: tuple[str, ...]
) -> None:
    """Categories, else data sources, else the source, else the one for all others."""
    assert tool_categories(Hints(**hints), source) == expected


@pytest.mark.parametrize(
    ("hints", "preferred", "expected"),
    [
        ({}, "none", ["enabled"]),
        ({"enabled_by_default": False}, "none", []),
        ({"read_only": True}, "none", ["enabled"]),
        ({"read_only": True}, "read-only", ["enabled", "preferReadOnly.readOnly"]),
        ({"read_only": False}, "read-only", ["enabled", "preferReadOnly.writing"]),
        ({"read_only": True}, "write", ["enabled", "preferWrite.readOnly"]),
        (
            {"read_only": False, "destructive": True},
            "write",
            ["enabled", "preferWrite.writing", "preferWrite.destructive"],
        ),
        ({"destructive": False}, "write", ["enabled", "preferWrite.notDestructive"]),
        ({"destructive": True}, "read-only", ["enabled"]),
        (
            {
                "idempotent": True,
                "cost_tier": Tier.LOW,
                "latency_tier": Tier.HIGH,
                "categories": ("a",),
                "examples": (ToolExample("x"),),
            },
            "none",
            ["enabled", "idempotent", "cost.low", "latency.high", "categorised", "examples"],
        ),
    ],
)
def test_hints_adjust_for_what_they_say(
    hints: dict[str, Any], preferred: str, expected: list[str]
) -> None:
    """What nobody said adjusts nothing."""
    assert list(list_adjustments(Hints(**hints), preferred)) == expected


def test_a_score_is_the_sum_of_what_it_is_made_of() -> None:
    """Each adjustment is a share of the calibrated score, and all together are the score."""
    result = incidents().route("incident", prefer_read_only=True)
    assert any(one.adjustments for one in result.suggested_matches)
    for one in result.suggested_matches:
        assert all(part.value == part.weight * one.match.score for part in one.adjustments)
        total = one.match.score + sum(part.value for part in one.adjustments)
        assert one.score == pytest.approx(min(1.0, max(0.0, total)))


def test_hints_order_tools_that_serve_alike() -> None:
    """Of two tools that fit, the one of the preferred kind is first, either way."""
    twins = make_engine(
        make_tool("alpha", description="Look after the invoice.", read_only=True),
        make_tool("omega", description="Look after the invoice.", read_only=False),
    )
    first = {
        said: twins.route("invoice", prefer_read_only=said).suggested_matches[0].match.tool_id
        for said in (True, False)
    }
    assert first == {True: "alpha", False: "omega"}


def test_hints_make_no_unwanted_tool_look_wanted() -> None:
    """Nonsense stays doubtful, and its diagnostic is told, however good the hints."""
    best = {**READS, "latency_tier": Tier.LOW, "idempotent": True, "examples": (ToolExample("x"),)}
    tools = [
        make_tool(f"t{n}", description="sell wqx", categories=("c",), **best) for n in range(9)
    ]
    result = make_engine(*tools).route(NONSENSE, prefer_read_only=True)
    assert all(category.score < 0.35 for category in result.categories)
    assert "low_confidence_results" in [one.code for one in result.diagnostics]


def test_a_preference_is_looked_for_only_when_nothing_is_said() -> None:
    """The catalogue is asked unless a caller says what to prefer, or that nothing is."""
    tools = [
        make_tool(f"{verb}_{thing}", read_only=verb == "show")
        for verb in ("show", "void")
        for thing in ("invoice", "order", "parcel", "ticket", "letter", "contract")
    ]
    engine = make_engine(*tools)
    assert engine.route("void invoice").preference.name == "write"
    assert engine.route("void invoice", prefer_read_only=True).preference.name == "read-only"
    left = engine.route("void invoice", derives_preference=False).preference
    assert (left.name, left.is_asked) == ("none", True)


def test_a_host_may_weigh_otherwise() -> None:
    """Weights of a host take the place of those that ship."""
    weights = RouteWeights.of(dict.fromkeys(("enabled", "cost.low", "categorised"), 0.0))
    result = incidents().route("deployment", weights=weights)
    assert result.suggested_matches[0].adjustments == ()
    assert result.weights is weights


def test_a_tool_stands_in_each_of_its_categories() -> None:
    """But a category is left out that shows nothing that a better one does not show."""
    engine = make_engine(
        make_tool("pay", description="Pay the invoice.", categories=("a", "b", "z")),
        make_tool("void", description="Void the invoice.", categories=("b",)),
        make_tool("bake", description="Bake invoice bread.", categories=("c",)),
    )
    result = engine.route("pay invoice")
    shown = {category.name: names(category) for category in result.categories}
    assert shown == {"b": ["pay", "void"], "c": ["bake"]}
    offered = [one.match.tool_id for one in result.suggested_matches]
    assert sorted(offered) == ["bake", "pay", "void"]


def test_categories_that_differ_in_case_are_one() -> None:
    """The name is that of the best tool."""
    engine = make_engine(
        make_tool("pay", description="Pay the invoice.", categories=("STRASSE",)),
        make_tool("void", description="Void it.", categories=("Straße", "strasse")),
    )
    (category,) = engine.route("pay void").categories
    assert sorted(names(category)) == ["pay", "void"]


def test_level_categories_stand_in_order_of_name() -> None:
    """Nothing but the name decides between categories whose tools score alike."""
    tools = [
        make_tool(f"t{n}", description="Pay.", categories=(name,))
        for n, name in enumerate(("zebra", "ape", "Monkey"))
    ]
    assert categories(make_engine(*tools).route("pay")) == ["ape", "Monkey", "zebra"]


def test_without_a_query_tools_stand_by_name() -> None:
    """Browsing has no scores, so the categories are told by name, and nothing is preferred."""
    result = incidents().route(None)
    assert (result.ranking_mode, result.preference.name) == ("browse", "none")
    assert categories(result) == ["deployments", "operations", "wiki"]
    assert names(result.categories[1]) == ["incident_acknowledge", "incident_lookup"]
    assert {category.score for category in result.categories} == {0.0}


def test_no_tools_make_no_categories() -> None:
    """An empty catalogue is answered with nothing."""
    result = make_engine().route("incident")
    assert (result.categories, result.suggested_matches, result.ranking_mode) == ((), (), "empty")


@pytest.mark.parametrize("place", range(0, 100, 4))
def test_a_damaged_index_changes_no_routing(place: int, tmp_path: Path) -> None:
    """Wherever a byte is wrong, what is read for routing is made anew, as for a search."""
    tools = [
        make_tool(f"{verb}_{thing}", categories=(thing,), read_only=verb == "show")
        for verb in ("show", "void")
        for thing in ("invoice", "order", "parcel", "ticket", "letter", "contract")
    ]
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=tuple(tools)))))
    right = mcpg.load(path).route("void the invoice").to_dict()
    engine = mcpg.load(path)
    index = tmp_path / "graph.mdld.idx"
    with index.open("r+b") as file:
        file.seek(index.stat().st_size * place // 100)
        file.write(b"\xaa\x55\xaa\x55")
    assert engine.route("void the invoice").to_dict() == right
    assert mcpg.load(path).route("void the invoice").to_dict() == right


def test_routing_needs_no_sdk() -> None:
    """Nothing of what only running servers need is imported, nor what makes terminals pretty."""
    code = (
        "import sys; from mcpg.show.json import result_json; "
        "from mcpg.route import route; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"anyio", "mcp", "httpx", "numpy", "rich", "typer", "rdflib", "yaml", "opentelemetry"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.untraced
def test_thousands_of_categories_are_no_trouble() -> None:
    """Neither thousands of tools with their own, nor one tool with thousands."""
    tools = [make_tool(f"pay_{n}", categories=(f"c{n}",)) for n in range(2_000)]
    tools.append(make_tool("pay", categories=tuple(f"k{n}" for n in range(5_000))))
    result = make_engine(*tools).route("pay", max_categories=20)
    assert len(result.categories) == 20
    assert len({name for category in result.categories for name in names(category)}) == 20


@settings(max_examples=40, deadline=None)
@given(
    tools=TOOLS,
    query=st.sampled_from((*NAMES, "pay the parcel", NONSENSE, "", "\x1b[2J\udc80")),
    prefer=st.sampled_from((None, True, False)),
    most=st.tuples(st.integers(1, 25), st.integers(1, 6)),
    include_disabled=st.booleans(),
)
def test_what_holds_of_every_routing(
    tools: list[Tool],
    query: str,
    prefer: bool | None,
    most: tuple[int, int],
    include_disabled: bool,
) -> None:
    """Limits hold, a tool is once in a category, scores never rise, sums are sums."""
    engine = make_engine(*tools)
    asked = {"prefer_read_only": prefer, "include_disabled": include_disabled}
    result = engine.route(query, max_categories=most[0], max_tools=most[1], **asked)
    assert len(result.categories) <= min(20, most[0])
    tops = [category.score for category in result.categories]
    assert tops == sorted(tops, reverse=True)
    for category in result.categories:
        shown = names(category)
        assert 1 <= len(shown) == len(set(shown)) <= most[1] <= max(most[1], category.found)
        scores = [one.score for one in category.matches]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
    offered = [one.match.tool_id for one in result.suggested_matches]
    assert len(offered) == len(set(offered))
    assert set(offered) == {name for category in result.categories for name in names(category)}
    for one in result.suggested_matches:
        total = one.match.score + sum(part.value for part in one.adjustments)
        assert one.score == pytest.approx(min(1.0, max(0.0, total)))
    again = engine.route(query, max_categories=most[0], max_tools=most[1], **asked)
    assert again.to_dict() == result.to_dict()
