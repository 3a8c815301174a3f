from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from builders import make_tool
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpg.caching.build_cache import StoredBuildCache
from mcpg.catalog.catalog import Assertion, Catalog, build_catalog
from mcpg.relations.edges import Coverage, Edge, EdgeKind, EdgeOrigin, FieldMapping, Relations
from mcpg.relations.infer import STATED, infer
from mcpg.relations.server_relations import AffinityIndex, choose_affordable, explain_alone
from mcpg.relations.vocabulary import build_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.caching.build_cache import ResultKind
    from mcpg.catalog.model import Tool


def schema(*names: str, **kinds: str) -> dict[str, Any]:
    """Make a schema that requires string fields *names* and fields of given *kinds*."""
    fields = dict.fromkeys(names, "string") | kinds
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def related(*tools: Tool, assertions: tuple[Assertion, ...] = ()) -> Relations:
    """Relate *tools*, whose ids stand as they are."""
    ordered = tuple(sorted(tools, key=lambda tool: tool.id))
    return infer(Catalog(ordered, assertions)).relations


def targets(edges: tuple[Edge, ...]) -> list[str]:
    """Return the ids that *edges* reach."""
    return [edge.target for edge in edges]


SHOP = (
    make_tool("order_search", output_schema=schema("order_id")),
    make_tool("order_get", input_schema=schema("order_id"), output_schema=schema("invoice_id")),
    make_tool("order_cancel", input_schema=schema("order_id")),
    make_tool("invoice_get", input_schema=schema("invoice_id")),
    make_tool("invoice_send", input_schema=schema("invoice_id")),
    make_tool("weather_forecast", source_id="weather", input_schema=schema("city")),
)


class TestRelated:
    """Related tools."""

    def test_rare_terms_weigh_more(self) -> None:
        """Sharing a rare term makes a stronger edge than sharing a common one."""
        names = ["order_ant", "order_bee", "order_cat", "invoice_dog", "invoice_fox", "stock_gnu"]
        tools = [make_tool(name) for name in names]
        found = related(*tools, make_tool("refund_order"), make_tool("refund_eel"))
        edges = found.of("refund_order").related
        assert edges[0].target == "refund_eel"
        assert edges[0].weight > edges[1].weight
        assert edges[0].reason == "shares 'refund'"

    def test_no_more_than_five(self) -> None:
        """Five related tools are kept, ties by tool id."""
        words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
        tools = [make_tool(f"refund_{word}") for word in words]
        fillers = [make_tool(f"filler{number}x") for number in range(14)]
        found = related(*tools, *fillers)
        assert targets(found.of("refund_ant").related) == [
            "refund_bee",
            "refund_cat",
            "refund_dog",
            "refund_eel",
            "refund_fox",
        ]

    def test_what_all_tools_of_a_server_share_relates_none(self) -> None:
        """A term that every tool of a server holds tells only the server."""
        git = [
            make_tool(f"git_{word}", source_id="git")
            for word in ["ant", "bee", "cat", "dog", "eel"]
        ]
        fillers = [make_tool(f"filler{number}x", source_id="other") for number in range(12)]
        assert related(*git, *fillers).of("git_ant").related == ()

    def test_nothing_shared_gives_no_edge(self) -> None:
        """Tools without a common term are not related, though one server offers them."""
        assert related(make_tool("ant"), make_tool("bee")).of("ant").related == ()

    def test_several_terms_are_told(self) -> None:
        """The reason names up to three shared terms, the most telling first."""
        found = related(
            make_tool("pull_request_merge_queue"),
            make_tool("pull_request_merge_now"),
            *(make_tool(word) for word in ["bee", "cat", "dog", "eel"]),
        )
        reason = found.of("pull_request_merge_queue").related[0].reason
        assert reason == "shares 'merge', 'pull' and 'request'"

    def test_the_rarest_term_is_told_first(self) -> None:
        """Of terms that tools share the rarer is told first, whatever the alphabet."""
        found = related(
            make_tool("apple_zebra_one"),
            make_tool("apple_zebra_two"),
            *(make_tool(f"apple_{word}") for word in ["bee", "cat", "dog", "eel"]),
            *(make_tool(f"filler{number}x") for number in range(12)),
        )
        reason = found.of("apple_zebra_one").related[0].reason
        assert reason == "shares 'zebra' and 'apple'"

    def test_common_words_of_prose_relate_none(self) -> None:
        """Descriptions with `etc` in common have nothing in common; a name with a word has."""
        texts = {"ant": "Feed the ant, etc.", "bee": "Wake the bee, etc.", "cat": "Pet the cat."}
        others = [make_tool(f"filler{number}x") for number in range(6)]
        tools = [make_tool(name, description=text) for name, text in texts.items()]
        found = related(*tools, *others)
        assert found.of("ant").related == ()
        named = related(make_tool("etc_ant"), make_tool("etc_bee"), *others)
        assert named.of("etc_ant").related[0].reason == "shares 'etc'"

    @pytest.mark.parametrize(("mentions", "is_related"), [(1, True), (2, False)])
    def test_what_is_shared_by_chance_relates_none(self, mentions: int, is_related: bool) -> None:
        """A name that the descriptions of several tools of a small server mention relates none."""
        found = related(
            make_tool("ant"),
            *(make_tool(f"bee{number}x", description="Feeds ants.") for number in range(mentions)),
            make_tool("cat"),
        )
        assert bool(found.of("ant").related) == is_related

    def test_the_largest_groups_are_left_out(self) -> None:
        """A tool looks at 256 holders of its terms at most, those of the rarest first."""
        weights = []
        for holders in (254, 255):
            found = related(
                make_tool("ant_order"),
                make_tool("order_get_ant"),
                *(make_tool(f"order_f{number}x") for number in range(holders - 2)),
                *(make_tool(f"g{number}x") for number in range(600 - holders)),
            )
            weights.append(found.of("ant_order").related[0].weight)
        assert weights[0] > weights[1]


class TestNextSteps:
    """Next steps."""

    def test_data_that_flows_is_told(self) -> None:
        """An output field that is a required argument elsewhere makes a next step."""
        step = related(*SHOP).of("order_get").next_steps[0]
        assert step.target in {"invoice_get", "invoice_send"}
        assert step.reason == "its output field 'invoice_id' is a required argument there"
        assert step.origin is EdgeOrigin.SCHEMA
        assert step.fields == (FieldMapping("invoice_id", "invoice_id"),)
        assert step.coverage is Coverage.STRICT
        assert 0 < step.weight <= 0.7

    def test_one_inspects_what_was_found_and_acts_on_it(self) -> None:
        """Discovery leads to inspection and inspection to action, on the same subject."""
        tools = [make_tool(f"{verb}_order") for verb in ("search", "get", "cancel", "send")]
        found = related(*tools, *(make_tool(word) for word in ["ant", "bee", "cat", "dog", "eel"]))
        step = found.of("search_order").next_steps[0]
        assert (step.target, step.reason) == (
            "get_order",
            "inspects what this one finds: shares 'order'",
        )
        step = found.of("get_order").next_steps[0]
        assert (step.target, step.reason) == (
            "send_order",
            "acts on what this one inspects: shares 'order'",
        )
        assert found.of("send_order").next_steps == ()

    @pytest.mark.parametrize(("holders", "flows"), [(62, True), (63, False)])
    def test_what_most_tools_need_does_not_flow(self, holders: int, flows: bool) -> None:
        """A field flows up to the share of tools that hold it at which its name says nothing."""
        found = related(
            make_tool("ant", output_schema=schema("order_id")),
            *(make_tool(f"f{n:02}x", input_schema=schema("order_id")) for n in range(holders - 1)),
            *(make_tool(f"g{number}x") for number in range(99 - holders)),
        )
        assert targets(found.of("ant").next_steps) == [f"f{n:02}x" for n in range(5)] * flows

    def test_what_was_given_is_not_found(self) -> None:
        """A field that a tool itself requires does not flow from it."""
        found = related(
            make_tool("ant", input_schema=schema("order_id"), output_schema=schema("order_id")),
            make_tool("bee", input_schema=schema("order_id")),
        )
        assert found.of("ant").next_steps == ()

    def test_types_must_fit(self) -> None:
        """A field of another type is not taken for the argument."""
        found = related(
            make_tool("ant", output_schema=schema(order_id="string")),
            make_tool("bee", input_schema=schema(order_id="integer")),
        )
        assert found.of("ant").next_steps == ()

    def test_owner_qualifies_a_bare_name(self) -> None:
        """The `id` within `orders` is an `order_id` to other tools."""
        orders = {"type": "array", "items": {"properties": {"id": {"type": "string"}}}}
        found = related(
            make_tool("ant", output_schema={"type": "object", "properties": {"orders": orders}}),
            make_tool("bee", input_schema=schema("order_id"), source_id="other"),
            make_tool("cat", input_schema=schema("user_id"), source_id="other"),
        )
        (step,) = found.of("ant").next_steps
        assert step.target == "bee"
        assert step.reason == "its output field 'id' fills the required argument 'order_id' there"

    def test_own_name_goes_before_a_qualified_one(self) -> None:
        """A field that bears the argument's name is told rather than one that may mean it."""
        found = related(
            make_tool("create_order", output_schema=schema("id", "order_id")),
            make_tool("bee", input_schema=schema("order_id"), source_id="other"),
        )
        (step,) = found.of("create_order").next_steps
        assert step.reason == "its output field 'order_id' is a required argument there"

    def test_tool_name_qualifies_a_bare_name(self) -> None:
        """The `id` that an order tool gives is an `order_id` to other tools."""
        found = related(
            make_tool("create_order", output_schema=schema("id")),
            make_tool("bee", input_schema=schema("order_id"), source_id="other"),
        )
        assert targets(found.of("create_order").next_steps) == ["bee"]
        found = related(
            make_tool("create_pull_request", output_schema=schema("number")),
            make_tool("bee", input_schema=schema("pull_request_number"), source_id="other"),
        )
        assert targets(found.of("create_pull_request").next_steps) == ["bee"]

    def test_bare_names_mean_nothing_between_servers(self) -> None:
        """A field of one word does not flow to a tool of another server that shares no term."""
        ant = make_tool("ant", output_schema=schema("message"))
        fillers = [make_tool(f"filler{number}x") for number in range(8)]
        abroad = make_tool("bee", input_schema=schema("message"), source_id="other")
        assert related(ant, abroad, *fillers).of("ant").next_steps == ()
        at_home = make_tool("bee", input_schema=schema("message"))
        assert targets(related(ant, at_home, *fillers).of("ant").next_steps) == ["bee"]

    def test_common_names_count_little(self) -> None:
        """A name that many tools use weighs less than a rare one, or nothing."""
        many = [make_tool(f"t{number}x", input_schema=schema("page_id")) for number in range(20)]
        found = related(
            make_tool("ant", output_schema=schema("page_id", "order_id")),
            make_tool("bee", input_schema=schema("order_id")),
            *many,
        )
        first, *others = found.of("ant").next_steps
        assert first.target == "bee"
        assert all(step.weight < first.weight / 2 for step in others)

    def test_a_need_met_in_full_counts_more(self) -> None:
        """A tool whose every required argument is there comes before one that lacks some."""
        found = related(
            make_tool("ant", output_schema=schema("order_id")),
            make_tool("bee", input_schema=schema("order_id", "reason_code")),
            make_tool("cat", input_schema=schema("order_id")),
        )
        assert targets(found.of("ant").next_steps) == ["cat", "bee"]

    def test_several_fields_are_told(self) -> None:
        """The reason names all fields that flow, up to three."""
        found = related(
            make_tool("ant", output_schema=schema("order_id", "user_id")),
            make_tool("bee", input_schema=schema("order_id", "user_id")),
            make_tool("cat", input_schema=schema("orderIds", "user_id")),
        )
        first, second = found.of("ant").next_steps
        assert first.reason == (
            "its output fields 'order_id' and 'user_id' are required arguments there"
        )
        assert second.target == "cat"
        assert second.reason == (
            "its output fields 'order_id' and 'user_id' "
            "fill the required arguments 'orderIds' and 'user_id' there"
        )

    def test_no_more_than_five(self) -> None:
        """Five next steps are kept, ties by tool id."""
        users = [make_tool(f"u{letter}", input_schema=schema("order_id")) for letter in "abcdef"]
        found = related(make_tool("ant", output_schema=schema("order_id")), *users)
        assert targets(found.of("ant").next_steps) == ["ua", "ub", "uc", "ud", "ue"]


ORDERS = (
    make_tool("list_orders"),
    make_tool("create_order", input_schema=schema("customer")),
    make_tool("get_order", input_schema=schema("order_id")),
    make_tool("update_order", input_schema=schema("order_id")),
    make_tool("delete_order", input_schema=schema("order_id")),
    make_tool("list_invoices"),
    make_tool("get_invoice", input_schema=schema("invoice_id")),
    make_tool("send_invoice", input_schema=schema("invoice_id")),
)


class TestWorkflow:
    """What follows what within one server, without any output schema."""

    def test_what_finds_leads_to_what_asks_which_one(self) -> None:
        """A list of orders leads to the tools that take one order, and to none for invoices."""
        steps = targets(related(*ORDERS).of("list_orders").next_steps)
        assert set(steps) == {"get_order", "update_order", "delete_order"}

    def test_what_was_read_is_changed_and_never_made(self) -> None:
        """After reading comes changing or removing; the same thing is not created again."""
        steps = targets(related(*ORDERS).of("get_order").next_steps)
        assert set(steps) == {"update_order", "delete_order"}

    def test_an_entity_is_made_then_read_then_changed(self) -> None:
        """A tool that creates a thing leads to those that read and change it, and is inferred."""
        steps = related(*ORDERS).of("create_order").next_steps
        assert targets(steps) == ["get_order", "update_order"]
        assert {step.origin for step in steps} == {EdgeOrigin.INFERRED}
        assert [step.reason for step in steps] == [
            "sequence on one 'order': create, then read",
            "sequence on one 'order': create, then change",
        ]

    def test_a_tool_that_little_tells_of_has_a_neighbour(self) -> None:
        """In a server of five tools, one that shares no word has the likeliest one beside it."""
        found = related(*ORDERS, make_tool("ping", input_schema=schema("host")))
        (edge,) = found.of("ping").related
        assert edge.weight < 0.2
        assert found.of("ping").next_steps == ()

    def test_why_a_tool_is_alone_is_told(self) -> None:
        """The reason names what no other tool is named for, and the likeliest next step."""
        reason = explain_alone([*ORDERS, make_tool("get_weather")], "get_weather")
        assert reason.startswith("no other tool of its server is named for 'weather' or takes it;")
        assert "below 0.75" in reason
        assert explain_alone([make_tool("ant")], "ant") == "its server has no other tool"

    def test_an_argument_may_name_a_part_of_the_entity(self) -> None:
        """A `pull_number` tells which pull request is read."""
        lists = make_tool("list_pull_requests", input_schema=schema("owner"))
        reads = make_tool("get_pull_request", input_schema=schema("owner", "pull_number"))
        (edge,) = related(lists, reads).of("list_pull_requests").next_steps
        assert edge.reason.startswith("sequence on one")

    def test_removing_leads_nowhere(self) -> None:
        """Nothing is done with a thing that was deleted."""
        assert related(*ORDERS).of("delete_order").next_steps == ()


class TestGenericFields:
    """Fields that say nothing."""

    def test_what_most_tools_of_a_server_give_does_not_flow(self) -> None:
        """A one-word field that every result holds proves no flow."""
        givers = [make_tool(f"g{n}x", output_schema=schema("content")) for n in range(5)]
        taker = make_tool("bee", input_schema=schema("content"))
        assert related(*givers, taker).of("g0x").next_steps == ()
        assert targets(related(givers[0], taker).of("g0x").next_steps) == ["bee"]

    def test_what_a_tool_was_given_does_not_flow(self) -> None:
        """A field of a result that repeats an argument under its owner is nothing found."""
        zone = {"type": "object", "properties": {"source": schema("zone")}}
        echo = make_tool("ant", input_schema=schema("source_zone"), output_schema=zone)
        clock = make_tool("bee", input_schema=schema("zone"))
        assert related(echo, clock).of("ant").next_steps == ()
        finder = make_tool("ant", input_schema=schema("city"), output_schema=zone)
        assert targets(related(finder, clock).of("ant").next_steps) == ["bee"]

    def test_the_step_that_gives_the_id_is_not_skipped(self) -> None:
        """Where a further tool gives what is lacking, that one comes first."""
        bases = make_tool("ant", output_schema=schema("base_id"))
        tables = make_tool("bee", input_schema=schema("base_id"), output_schema=schema("table_id"))
        rows = make_tool("cat", input_schema=schema("base_id", "table_id"))
        assert targets(related(bases, tables, rows).of("ant").next_steps) == ["bee"]


class TestBetweenServers:
    """Tools of two servers."""

    def test_words_relate_none(self) -> None:
        """Tools of two servers have nothing in common by their names and descriptions."""
        found = related(
            make_tool("find_branch", source_id="git", description="Finds a branch."),
            make_tool("get_branch", source_id="hub", description="Shows a branch."),
        )
        assert found.of("find_branch").related == found.of("find_branch").next_steps == ()

    def test_fields_that_flow_stand_beside_the_steps_of_a_server(self) -> None:
        """Next steps in other servers, two at most, take no room of those in the own server."""
        giver = make_tool("ant", output_schema=schema("order_id", "stamp_id"))
        own = [make_tool(f"own{n}x", input_schema=schema("order_id")) for n in range(5)]
        others = [
            make_tool(f"a{n}x", source_id="post", input_schema=schema("stamp_id")) for n in range(3)
        ]
        steps = targets(related(giver, *own, *others).of("ant").next_steps)
        assert {*steps} == {"a0x", "a1x", *(tool.id for tool in own)}

    def test_a_field_of_many_servers_proves_little(self) -> None:
        """The more servers give or require a field, the weaker is an edge between two of them."""
        giver = make_tool("ant", output_schema=schema("order_id"))
        takers = [
            make_tool(f"t{n}x", source_id=f"s{n}", input_schema=schema("order_id"))
            for n in range(8)
        ]
        weights = [
            [step.weight for step in related(giver, *takers[:count]).of("ant").next_steps]
            for count in (1, 2, 8)
        ]
        assert weights[0][0] > weights[1][0]
        assert weights[2] == []

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.sampled_from(["order", "weather", "tide", "get"]), min_size=1, max_size=4))
    def test_other_servers_change_no_edge_of_a_server(self, words: list[str]) -> None:
        """Groups and edges of a server are the same, to the weight, whatever else there is."""
        alone = related(*SHOP)
        others = [
            make_tool(f"{word}_{n}x", source_id="other", description="Searches an order.")
            for n, word in enumerate(words * 20)
        ]
        among = related(*SHOP, *others)
        assert {one: among.of(one) for one in alone.by_tool} == alone.by_tool

    def test_an_unrelated_tool_changes_no_edge_of_its_server(self) -> None:
        """One more tool that shares nothing leaves the weights of the others as they are."""
        before, after = related(*ORDERS[1:]), related(*ORDERS[1:], make_tool("ping"))
        assert {one: after.of(one) for one in before.by_tool} == before.by_tool

    def test_a_name_that_is_one_word_stays_one(self) -> None:
        """GitHub in running text is neither git nor hub."""
        words = build_vocabulary([make_tool("ant", description="Searches GitHub for code.")])
        assert "github" in words.words.values()
        assert "hub" not in words.words.values()


class TestAuthored:
    """What authors assert."""

    def test_authored_edges_come_first_and_whole(self) -> None:
        """No cap cuts what an author said, whose order stands, with weight 1."""
        names = [f"t{letter}x" for letter in "fedcba"]
        said = tuple(Assertion("related", "ant", name, "hints.yaml:1") for name in names)
        found = related(make_tool("ant"), *map(make_tool, names), assertions=said)
        edges = found.of("ant").related
        assert targets(edges) == names
        assert {(edge.weight, edge.reason, edge.origin) for edge in edges} == {
            (1.0, STATED, EdgeOrigin.AUTHORED)
        }

    def test_inferred_edges_fill_the_room(self) -> None:
        """Inferred edges follow up to the cap, and an authored pair is not repeated."""
        said = (
            Assertion("related", "order_get", "order_cancel", ""),
            Assertion("nextStep", "order_get", "weather_forecast", ""),
        )
        found = related(*SHOP, assertions=said).of("order_get")
        assert found.related[0].target == "order_cancel"
        assert found.related[0].origin is EdgeOrigin.AUTHORED
        assert len(targets(found.related)) == len(set(targets(found.related))) <= 5
        assert found.next_steps[0].target == "weather_forecast"
        assert [edge.origin for edge in found.next_steps[1:]] == [EdgeOrigin.SCHEMA] * 2

    @pytest.mark.parametrize("count", range(6))
    def test_authored_edges_take_their_room(self, count: int) -> None:
        """With the authored ones there are five related tools and five next steps at most."""
        names = [f"refund_{letter}x" for letter in "abcdefghij"]
        tools = [
            make_tool(name, input_schema=schema("order_id"), output_schema=schema("refund_id"))
            for name in names
        ]
        giver = make_tool("refund_zx", output_schema=schema("order_id"))
        fillers = [make_tool(f"filler{number}x") for number in range(24)]
        said = tuple(
            Assertion(kind, giver.id, name, "")
            for kind in ("related", "nextStep")
            for name in names[-count:] * bool(count)
        )
        found = related(giver, *tools, *fillers, assertions=said).of(giver.id)
        for edges, cap in ((found.related, 5), (found.next_steps, 5)):
            origins = [edge.origin for edge in edges]
            assert origins.count(EdgeOrigin.AUTHORED) == count
            assert len(origins) == max(count, cap)
            assert len(set(targets(edges))) == len(edges)

    def test_impossible_pairs_are_left_out(self) -> None:
        """A tool is no relation of itself or of one that is not there; repeats count once."""
        said = (
            Assertion("related", "ant", "ant", ""),
            Assertion("related", "ant", "ghost", ""),
            Assertion("related", "ant", "bee", ""),
            Assertion("related", "ant", "bee", ""),
        )
        found = related(make_tool("ant"), make_tool("bee"), assertions=said)
        assert targets(found.of("ant").related) == ["bee"]


NAMES = st.lists(
    st.sampled_from(["order", "refund", "get", "list", "user", "mail", "id", "große", "注文検索"]),
    min_size=1,
    max_size=3,
).map("_".join)
TOOLS = st.lists(
    st.builds(
        make_tool,
        NAMES,
        source_id=st.sampled_from(["a", "b"]),
        description=st.sampled_from(["", "Finds an order.", "Sends mail to a user."]),
        input_schema=st.sampled_from([schema("order_id"), schema("id"), {}]),
        output_schema=st.sampled_from([None, schema("order_id"), schema("id")]),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(TOOLS, st.randoms(use_true_random=False))
def test_relations_do_not_depend_on_order(tools: list[Tool], shuffler: random.Random) -> None:
    """The same tools in any order have the same relations, and every edge keeps the contract."""
    shuffled = list(tools)
    shuffler.shuffle(shuffled)
    first, second = (infer(build_catalog(one)).relations for one in (tools, shuffled))
    assert first == second
    ids = set(first.by_tool)
    for tool_id, found in first.by_tool.items():
        assert len(found.related) <= 5
        assert len(found.next_steps) <= 5 + 2
        for edge in (*found.related, *found.next_steps):
            assert edge.source == tool_id != edge.target
            assert edge.target in ids
            assert 0 < edge.weight <= 1
            assert edge.reason


def test_unknown_tool_has_no_relations() -> None:
    """Nothing is known about a tool that is not in the catalogue."""
    assert related(make_tool("ant")).of("ghost").related == ()
    assert related().by_tool == {}


def test_hash_seed_does_not_show() -> None:
    """Every process finds the same relations, whatever its hash seed."""
    program = (
        "from builders import make_tool\n"
        "from mcpg.catalog.catalog import build_catalog\n"
        "from mcpg.relations.infer import infer\n"
        "words = 'order refund user mail ant bee'.split()\n"
        "tools = [make_tool(f'{a}_{b}', keywords=(a, b)) for a in words for b in words]\n"
        "print(sorted(infer(build_catalog(tools)).relations.by_tool.items()))\n"
    )
    path = os.pathsep.join(sys.path)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4321")
    }
    assert len(outputs) == 1
    assert "shares" in outputs.pop()


def test_work_is_linear() -> None:
    """However large the groups, no tool looks at more than the budget of others."""
    words = ["order", "refund", "user", "mail", "invoice", "parcel"]
    shuffler = random.Random(7)
    rare = ["".join(letters) for letters in product("bdfgkl", repeat=4)]
    tools = [
        make_tool("_".join((*shuffler.sample(words, 2), rare[number // 5])), id=f"t{number:04}")
        for number in range(3_000)
    ]
    index = AffinityIndex(tools)
    looked_at = [
        sum(index.sizes[term] for term in choose_affordable(terms, index.sizes))
        for terms in index.vocabulary.terms
    ]
    assert max(index.vocabulary.holders.values()) > 256 >= max(index.sizes.values())
    assert 0 < max(looked_at) <= 256


def test_what_is_known_from_an_earlier_run_changes_nothing() -> None:
    """Relations are the same with and without a cache, be it new, full or damaged."""
    catalog = Catalog(tuple(sorted(SHOP, key=lambda tool: tool.id)))
    expected, made = infer(catalog), StoredBuildCache()
    assert infer(catalog, made) == expected
    assert infer(catalog, made.make_next()) == expected
    assert infer(catalog, Damaged()) == expected


class Damaged(StoredBuildCache):
    """A cache that holds nothing that can be read."""

    def recall(
        self, kind: ResultKind[Any], given: Callable[[], bytes], work: Callable[[], Any]
    ) -> Any:
        """Return the result of *work*, which must state all it depends on, where decoding fails."""
        assert given()
        with pytest.raises((ValueError, TypeError, KeyError, IndexError, AttributeError)):
            kind.decode(b"\xff")
        return work()


def test_edge_kinds_are_kept_apart() -> None:
    """Related edges and next steps bear their own kind."""
    found = related(*SHOP).of("order_get")
    assert {edge.kind for edge in found.related} == {EdgeKind.RELATED}
    assert {edge.kind for edge in found.next_steps} == {EdgeKind.NEXT_STEP}
