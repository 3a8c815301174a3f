from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.hints import hints_from, hints_of_tool, unusable_keys
from mcpg.catalog.model import Hints, Tier, ToolExample

_FIELD_KEYS = {
    "aliases": "SearchAliases searchAliases search_aliases aliases",
    "keywords": "SearchKeywords searchKeywords search_keywords keywords",
    "categories": "Categories categories Category category",
    "tags": "Tags tags",
    "data_sources": "DataSources dataSources data_sources DataSource dataSource data_source",
}
_BOOLEAN_KEYS = {
    "read_only": "ReadOnly readOnly read_only ReadOnlyHint readOnlyHint read_only_hint",
    "idempotent": "Idempotent idempotent IdempotentHint idempotentHint idempotent_hint",
    "destructive": "Destructive destructive DestructiveHint destructiveHint destructive_hint",
    "open_world": "OpenWorld openWorld open_world OpenWorldHint openWorldHint open_world_hint",
    "enabled_by_default": "EnabledByDefault enabledByDefault enabled_by_default "
    "DefaultEnabled defaultEnabled default_enabled",
}
_TIER_KEYS = {
    "cost_tier": "CostTier costTier cost_tier",
    "latency_tier": "LatencyTier latencyTier latency_tier",
}


def _spelled(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(field, key) for field, keys in table.items() for key in keys.split()]


@pytest.mark.parametrize(("field", "key"), _spelled(_FIELD_KEYS))
def test_list_keys(field: str, key: str) -> None:
    """Each spelling holds one text or number or an array; other items are passed over."""
    assert getattr(hints_from({key: " x "}), field) == ("x",)
    assert getattr(hints_from({key: ["a", 1, "A", "", True, "b"]}), field) == ("a", "1", "b")
    assert getattr(hints_from({key: {"no": 1}}), field) == ()


@pytest.mark.parametrize(("field", "key"), _spelled(_BOOLEAN_KEYS))
def test_boolean_keys(field: str, key: str) -> None:
    """Each spelling holds a boolean or the word."""
    assert getattr(hints_from({key: False}), field) is False
    assert getattr(hints_from({key: " TRUE "}), field) is True
    assert getattr(hints_from({key: "maybe"}), field) is None
    assert getattr(hints_from({key: 1}), field) is None


@pytest.mark.parametrize(("field", "key"), _spelled(_TIER_KEYS))
def test_tier_keys(field: str, key: str) -> None:
    """Each spelling holds a tier in any case."""
    assert getattr(hints_from({key: "hIGH"}), field) is Tier.HIGH
    assert getattr(hints_from({key: "huge"}), field) is None
    assert getattr(hints_from({key: 3}), field) is None


@pytest.mark.parametrize("key", ["UsageExamples", "usageExamples", "usage_examples", "examples"])
def test_examples(key: str) -> None:
    """Examples are texts or objects in several spellings; those without input are dropped."""
    value = [
        "where is it",
        " ",
        {"Input": "a", "Output": "b", "Description": "c"},
        {"request": "a", "response": "b", "label": "c"},
        {"output": "lost"},
        {"input": "d", "output": 7},
        5,
    ]
    assert hints_from({key: value}).examples == (
        ToolExample("where is it"),
        ToolExample("a", "b", "c"),
        ToolExample("d"),
    )
    assert hints_from({key: {"input": "one"}}).examples == (ToolExample("one"),)
    assert hints_from({key: [1]}).examples == ()


def test_the_first_usable_key_counts() -> None:
    """Of several spellings the first in the gateway's order counts, but null and junk do not."""
    assert hints_from({"aliases": ["b"], "SearchAliases": ["a"]}).aliases == ("a",)
    assert hints_from({"aliases": ["b"], "SearchAliases": None}).aliases == ("b",)
    assert hints_from({"readOnly": "junk", "readOnlyHint": True}).read_only is True
    assert hints_from({"aliases": ["b"], "SearchAliases": []}).aliases == ()


def test_precedence_of_places() -> None:
    """Entry, then its `hints`, typed annotations, custom annotations, then `_meta`."""
    hints = hints_of_tool(
        {"name": "x", "aliases": "entry", "hints": {"aliases": "nested", "openWorld": True}},
        {"readOnlyHint": True, "readOnly": False, "aliases": "noted", "openWorldHint": False},
        {
            "aliases": "meta",
            "costTier": "low",
            "zoo": {"aliases": "zoo", "latencyTier": "high", "costTier": "high"},
            "managedCodeMcpGateway": {"aliases": "gateway"},
            "mcpg": {"aliases": "ours", "latencyTier": "medium"},
        },
    )
    assert hints.aliases == ("entry", "nested", "noted", "meta", "ours", "gateway", "zoo")
    assert hints.read_only is True
    assert hints.open_world is True
    assert hints.cost_tier is Tier.LOW
    assert hints.latency_tier is Tier.MEDIUM


def test_unusable_keys_are_named() -> None:
    """Keys of hints with values of a wrong kind can be told to the author."""
    mapping: dict[str, Any] = {"aliases": {}, "costTier": "huge", "tags": ["a"], "readOnly": None}
    assert list(unusable_keys(mapping)) == ["aliases", "costTier"]


@pytest.mark.parametrize("item", [None, True, {}, [{}]])
def test_unusable_items_are_named(item: Any) -> None:
    """A list with an item of a wrong kind is told to the author; its other items count."""
    mapping = {"Keywords": ["error", item, 500], "examples": ["ask", {"output": "no input"}]}
    assert list(unusable_keys(mapping)) == ["Keywords", "examples"]
    hints = hints_of_tool(mapping, {}, {})
    assert hints.keywords == ("error", "500")
    assert [one.input for one in hints.examples] == ["ask"]


@pytest.mark.parametrize(("key", "field"), [("Aliases", "aliases"), ("Keywords", "keywords")])
def test_numbers_are_texts_and_keys_may_be_capitals(key: str, field: str) -> None:
    """What YAML reads as a number is a word all the same, alone or in a list."""
    assert getattr(hints_of_tool({key: [500, "error", 1.5]}, {}, {}), field) == (
        "500",
        "error",
        "1.5",
    )
    assert getattr(hints_of_tool({key: 500}, {}, {}), field) == ("500",)


_texts = st.lists(st.text("aA b", max_size=3), max_size=4)
_mappings = st.fixed_dictionaries(
    {},
    optional={
        "aliases": _texts,
        "tags": _texts,
        "examples": _texts,
        "readOnly": st.booleans(),
        "costTier": st.sampled_from(["low", "x"]),
    },
)


@given(_mappings, _mappings)
def test_merge_is_idempotent(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Merging hints with themselves, or with nothing, changes nothing."""
    merged = Hints.merge(hints_from(first), hints_from(second))
    assert Hints.merge(merged, merged) == merged
    assert Hints.merge(merged, Hints()) == Hints.merge(Hints(), merged) == merged
    assert Hints.merge(merged, hints_from(second)) == merged


@given(
    st.dictionaries(
        st.sampled_from(["aliases", "examples", "readOnly", "costTier", "hints"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["input", "output"]), inner)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_json_is_tolerated(mapping: dict[str, Any]) -> None:
    """No value makes the reading of hints fail."""
    assert isinstance(hints_of_tool(mapping, mapping, mapping), Hints)
