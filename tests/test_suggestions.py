"""Names that are suggested in place of an unknown one."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

import mcpg
from mcpg.text.spelling import Suggester, suggest

NAMES = (
    *("order_cancel", "order_create", "order_items_list", "shipment_status", "refund_issue"),
    *("getUserById", "API-post-search", "csv", "json", "yaml", "table"),
)


@pytest.mark.parametrize(
    ("unknown", "meant"),
    [
        ("cancel_order", "order_cancel"),
        ("cancel_ordr", "order_cancel"),
        ("OrderCancel", "order_cancel"),
        ("order-cancel", "order_cancel"),
        ("ordercancel", "order_cancel"),
        ("statusShipment", "shipment_status"),
        ("by_id_get_user", "getUserById"),
        ("search_post_api", "API-post-search"),
        ("items", "order_items_list"),
        ("list_order", "order_items_list"),
        ("refnud_isue", "refund_issue"),
        ("refund_issue_now", "refund_issue"),
        ("cvs", "csv"),
        ("jsno", "json"),
        ("yml", "yaml"),
        ("tabel", "table"),
        ("GETUSERBYID", "getUserById"),
    ],
)
def test_a_name_like_a_known_one_is_suggested(unknown: str, meant: str) -> None:
    """The order of words, case, separators, typos and missing words do not hide what was meant."""
    assert suggest(unknown, NAMES)[0] == meant


@pytest.mark.parametrize(
    "unknown",
    [
        "",
        "_",
        "::",
        "zebra",
        "create_banana",
        "weather_forecast_daily",
        "get",
        "toml",
        "on",
        "xqzv",
        "order_ship",
        "order_items_rename",
        "refund_order",
        "shipment_summary",
    ],
)
def test_a_name_like_no_other_gets_no_suggestion(unknown: str) -> None:
    """A verb, a letter or all words but one in common are no likeness."""
    known = [name for name in NAMES if not name.startswith("get")]
    assert suggest(unknown, known, 3) == []


def test_words_in_common_alone_are_no_likeness() -> None:
    """Where one word stands for another, the two must be alike, however long the others are."""
    known = ["search_customer_invoices"]
    assert suggest("search_customer_orders", known) == []
    assert suggest("search_customer_invocies", known) == known
    assert suggest("customer_search_invoces", known) == known
    assert suggest("search_all_customer_invoices", known) == known


def test_the_likeliest_comes_first_whatever_the_order() -> None:
    """Suggestions are in the order of their likeness, then of the alphabet, and each once."""
    names = ["tool_b", "tool_a", "tool_c", "tool_bb", "tool_b", "wheel"]
    found = suggest("tool_d", names, 9)
    assert found == suggest("tool_d", reversed(names), 9)
    assert found == ["tool_a", "tool_b", "tool_c"]
    assert suggest("tool_B", names, 2) == ["tool_b", "tool_a"]
    assert suggest("tol_a", ["TOOL-A", "toolA", "tool_a"])[0] == "tool_a"


def test_the_work_is_bounded() -> None:
    """Of endless names, the first 100,000 are compared, and of long ones the beginnings."""
    numbers = count()
    suggester = Suggester(f"tool_{number:06}" for number in numbers)
    assert next(numbers) == 100_000
    assert suggester.suggest("tol_099999") == ["tool_099999"]
    assert suggest("a" * 10**7, ["a" * 100]) == ["a" * 100]


def test_no_other_code_compares_names() -> None:
    """Every suggestion is made by the same function, so that all have one threshold."""
    texts = (one.read_text("utf-8") for one in Path(mcpg.__file__).parent.rglob("*.py"))
    assert not [text for text in texts if "get_close_matches" in text]
