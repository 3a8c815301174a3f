from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.catalog import append_suffix, assign_ids, normalize, source_qualified, tool_id
from mcpg.errors import Code

if TYPE_CHECKING:
    import random

_SAFE = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?\Z")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("  Orders Find/By.Id::Now  ", "orders_find_by_id_now"),
        ("OrderID_7-GET", "orderid_7-get"),
        ("42 answers", "42_answers"),
        ("order-find", "order-find"),
        ("a__b", "a__b"),
        ("a_ b", "a_b"),
        ("__a--", "a"),
        ("café", "caf"),
        ("İd", "d"),
        (" 🧩 / : ", "fallback"),
        ("", "fallback"),
        ("-_-", "fallback"),
    ],
)
def test_normalize(value: str, name: str) -> None:
    """Letters, digits, `_` and `-` stay, in lower case; anything else between them becomes `_`."""
    assert normalize(value, "fallback") == name


def test_long_names_end_in_a_hash_of_the_whole() -> None:
    """A name over 64 characters keeps 55 and says by eight hex digits what it was."""
    assert normalize("a" * 64, "f") == "a" * 64
    assert normalize("a" * 65, "f") == "a" * 55 + "_635361c4"
    assert normalize("b" * 54 + "_" + "c" * 20, "f") == "b" * 54 + "_bcd650b2"


@pytest.mark.parametrize(
    ("source", "name", "qualified"),
    [
        ("Remote:Shop", "Find/Order", "remote_shop_find_order"),
        ("shop", "shop_find_order", "shop_find_order"),
        ("shop", "shop-find", "shop-find"),
        ("shop", "shopping", "shop_shopping"),
        ("🧩", "find", "source_find"),
        ("shop", "🧩", "shop_gateway_tool"),
    ],
)
def test_source_qualified(source: str, name: str, qualified: str) -> None:
    """The source goes in front unless it stands there already."""
    assert source_qualified(source, name, "gateway_tool") == qualified


def test_append_suffix_fits() -> None:
    """A suffix shortens the name rather than be lost, and leaves no hanging separator."""
    assert append_suffix("find", "_2") == "find_2"
    assert append_suffix("x" * 100, "_12") == "x" * 61 + "_12"
    assert append_suffix("x" * 60 + "_yyy", "_12") == "x" * 60 + "_12"


@pytest.mark.parametrize(
    ("source", "name", "reserved", "prefix", "expected"),
    [
        ("shop", "Find", [], False, "find"),
        ("shop", "find", [], True, "shop_find"),
        ("Remote Shop", "find", ["FIND"], False, "remote_shop_find"),
        ("shop", "find", ["shop_find"], True, "shop_find_83ad5d7d"),
        ("shop", "find", ["shop_find", "shop_find_83ad5d7d"], True, "shop_find_83ad5d7d_2"),
        (
            "shop",
            "find",
            ["shop_find", "shop_find_83ad5d7d", "SHOP_find_83ad5d7d_2"],
            False,
            "find",
        ),
        ("shop", "検索", [], False, "shop_gateway_tool_0eb3c0f2"),
        ("shop", "検索", [], True, "shop_gateway_tool_0eb3c0f2"),
        ("shop", "検索", ["shop_gateway_tool_0eb3c0f2"], False, "shop_gateway_tool_0eb3c0f2_2"),
        ("店", "検索", [], False, "source_gateway_tool_9506a463"),
        ("店", "find", [], False, "find"),
        ("店", "find", [], True, "source_find_76e74363"),
        (
            "shop",
            "find",
            ["find", "shop_find", "shop_find_83ad5d7d", "SHOP_find_83ad5d7d_2"],
            False,
            "shop_find_83ad5d7d_3",
        ),
    ],
)
def test_tool_id(source: str, name: str, reserved: list[str], prefix: bool, expected: str) -> None:
    """An id is the name, then source and name, then that with a hash, then with a number.

    Where nothing of the name or of a needed source is kept, it begins with the one with a hash.
    """
    assert tool_id(source, name, reserved, require_source_prefix=prefix) == expected


def test_every_holder_of_a_shared_name_is_qualified() -> None:
    """Where two sources have a name, neither keeps it alone, and each has a diagnostic."""
    tools, noticed = assign_ids(
        [
            make_tool("search", source_id="docs"),
            make_tool("Search", source_id="shop", place="shop.json: tools[0]"),
            make_tool("fetch", source_id="docs"),
        ]
    )
    assert [tool.id for tool in tools] == ["docs_search", "fetch", "shop_search"]
    assert [item.code for item in noticed] == [Code.DUPLICATE_TOOL_ID] * 2
    assert [item.place for item in noticed] == [None, "shop.json: tools[0]"]


def test_a_sole_holder_keeps_its_name() -> None:
    """A qualified name never takes away the plain name of another tool."""
    tools, _ = assign_ids(
        [
            make_tool("search", source_id="docs"),
            make_tool("search", source_id="shop"),
            make_tool("docs_search", source_id="zoo"),
        ]
    )
    assert [(tool.id, tool.source_id) for tool in tools] == [
        ("docs_search", "zoo"),
        ("docs_search_e466791f", "docs"),
        ("shop_search", "shop"),
    ]


def test_reserved_names_are_avoided_in_any_case() -> None:
    """A tool never gets the name of one of the gateway's own."""
    tools, noticed = assign_ids([make_tool("gateway_search", source_id="docs")], ["Gateway_Search"])
    assert [tool.id for tool in tools] == ["docs_gateway_search"]
    assert "taken" in noticed[0].message


def test_namesakes_in_one_source_are_numbered() -> None:
    """Tools that differ only in content are told apart by a hash and numbers."""
    tools, _ = assign_ids([make_tool("go", source_id="s", description=text) for text in "dcba"])
    assert {tool.description: tool.id for tool in tools} == {
        "a": "s_go",
        "b": "s_go_cc4f5c8c",
        "c": "s_go_cc4f5c8c_2",
        "d": "s_go_cc4f5c8c_3",
    }


_FOREIGN = ("検索", "بحث", "поиск", "🧩", "注文", "खोज")


@pytest.mark.parametrize("sources", [("s",), ("s", "店"), ("店", "магазин")])
def test_ids_of_foreign_names_stay_when_a_tool_is_added(sources: tuple[str, ...]) -> None:
    """A tool of whose name or source nothing is kept has one id, whatever stands beside it."""
    tools = [make_tool(name, source_id=one, id="") for one in sources for name in _FOREIGN]
    everyone = {(tool.source_id, tool.name): tool.id for tool in assign_ids(tools)[0]}
    for tool in tools:
        assert assign_ids([tool])[0][0].id == everyone[tool.source_id, tool.name]
        others = [other for other in tools if other is not tool]
        assert all(everyone[one.source_id, one.name] == one.id for one in assign_ids(others)[0])
    assert assign_ids(tools)[1] == ()


def test_ids_of_foreign_sources_stay_when_a_source_is_added() -> None:
    """Of tools that share a name, one of whose source nothing is kept always has a hash."""
    tools = [make_tool("find", source_id=one, id="") for one in ("店", "магазин", "🧩", "s")]
    first = {tool.source_id: tool.id for tool in assign_ids(tools[1:])[0]}
    second = {tool.source_id: tool.id for tool in assign_ids(tools)[0]}
    assert {source: second[source] for source in first} == first
    assert second["s"] == "s_find"


def test_a_tool_called_like_the_fallback_keeps_its_name() -> None:
    """Tools of whose names nothing is kept take no name from one that has it."""
    tools, noticed = assign_ids([make_tool(name, id="") for name in ("gateway_tool", "検索")])
    assert tools[-1].id == "gateway_tool"
    assert noticed == ()


_names = st.text(st.sampled_from("aAb_- é🧩\ud800"), max_size=5) | st.text(max_size=90)


@given(_names)
def test_names_are_safe(value: str) -> None:
    """Every name is of the safe alphabet and at most 64 long; naming again changes nothing."""
    name = normalize(value, "gateway_tool")
    assert _SAFE.match(name)
    assert normalize(name, "gateway_tool") == name


@given(st.lists(st.tuples(_names, _names, st.sampled_from("xy")), max_size=12), st.randoms())
def test_ids_are_unique_safe_and_independent_of_order(
    given_tools: list[tuple[str, str, str]], chance: random.Random
) -> None:
    """Whatever the tools are called, ids are unique and do not depend on their order."""
    tools = [make_tool(n, source_id=s, description=d, id="") for s, n, d in given_tools]
    shuffled = chance.sample(tools, len(tools))
    assigned, noticed = assign_ids(tools, ["a", "source_a"])
    assert (assigned, noticed) == assign_ids(shuffled, ["a", "source_a"])
    ids = [tool.id for tool in assigned]
    assert ids == sorted(set(ids))
    assert all(_SAFE.match(found) for found in ids)
    assert not {"a", "source_a"} & set(ids)
