"""Hints that a server states of its own tools are text, unless its source is trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.hints import MOST_WORDS, claimed_texts, claimed_words, read_claims
from mcpg.catalog.manifest import read_manifest
from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.errors import Code
from mcpg.text import split_words

if TYPE_CHECKING:
    from mcpg.catalog.manifest import ManifestTools

CLAIMED = {
    "searchAliases": ["where is it"],
    "x": {"searchKeywords": ["parcel", "ETA"], "categories": ["shipping"]},
    "tags": ["mail"],
    "dataSources": ["carriers"],
    "examples": [{"input": "find it", "output": "here"}],
    "costTier": "low",
    "enabledByDefault": False,
}


def read(value: Any, **options: bool) -> ManifestTools:
    """Read a manifest."""
    return read_manifest(json.dumps(value), "m.json", default_source="s", **options)


def one(entry: dict[str, Any], **options: bool) -> Tool:
    """Read a manifest of one tool."""
    (tool,) = read({"tools": [{"name": "a", **entry}]}, **options).tools
    return tool


@pytest.mark.parametrize("member", ["_meta", "annotations"])
def test_lists_of_a_server_are_claims(member: str) -> None:
    """Its lists are no hints; its single values are."""
    stated = CLAIMED if member == "_meta" else {**CLAIMED, **CLAIMED["x"]}  # type: ignore[dict-item]
    tool = one({member: stated})
    assert tool.hints == Hints(cost_tier=tool.hints.cost_tier, enabled_by_default=False)
    assert tool.hints.cost_tier == "Low"
    claims = read_claims(tool)
    assert (claims.aliases, claims.keywords) == (("where is it",), ("parcel", "ETA"))
    assert (claims.categories, claims.tags) == (("shipping",), ("mail",))
    assert claims.examples == (ToolExample("find it", "here"),)
    assert claims.cost_tier is None


@pytest.mark.parametrize("member", ["_meta", "annotations"])
def test_a_trusted_source_has_no_claims(member: str) -> None:
    """What a trusted server states are hints, and no claims beside."""
    tool = one({member: CLAIMED}, trust_hints=True)
    assert tool.hints.aliases == ("where is it",)
    assert read_claims(tool) == Hints()


def test_hints_that_the_operator_repeats_are_no_claims() -> None:
    """What a manifest's own hints say, in any case, is the operator's."""
    tool = one({"_meta": {"keywords": ["Parcel", "eta"]}, "hints": {"keywords": ["parcel"]}})
    assert tool.hints.keywords == ("parcel",)
    assert read_claims(tool).keywords == ("eta",)


@pytest.mark.parametrize("beside", [{"keywords": ["x"]}, {"hints": {"keywords": ["x"]}}])
def test_a_response_has_no_hints_beside_the_name(beside: dict[str, Any]) -> None:
    """In a file they are the operator's; in the response of a server they are ignored, and told."""
    tools = {"tools": [{"name": "a", **beside}]}
    assert read(tools).tools[0].hints.keywords == ("x",)
    for found in (
        read({"jsonrpc": "2.0", "id": 1, "result": tools}),
        read(tools, is_response=True),
    ):
        assert found.tools[0].hints == Hints()
        (noticed,) = found.diagnostics
        assert (noticed.code, noticed.severity) == (Code.HINT_UNTRUSTED, "info")
        assert "tools[0]" in (noticed.place or "")
    trusted = read(tools, is_response=True, trust_hints=True)
    assert (trusted.tools[0].hints.keywords, trusted.diagnostics) == (("x",), ())


def test_claims_are_bounded_and_counted() -> None:
    """Of more words than are searched the first are kept, and the others are reported."""
    words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(100)]
    tool = one({"_meta": {"tags": words, "keywords": words[:3]}})
    found = claimed_words(read_claims(tool))
    assert found.text.split() == words[:MOST_WORDS]
    assert (found.kept, found.total) == (MOST_WORDS, len(words))
    (noticed,) = build_catalog([tool]).diagnostics
    assert (noticed.code, noticed.severity) == (Code.HINT_UNTRUSTED, "warning")
    assert "'a'" in noticed.message
    assert f"{MOST_WORDS} are searched" in noticed.message
    assert "100 words" in noticed.message
    assert not build_catalog([one({"_meta": {"tags": words[:MOST_WORDS]}})]).diagnostics


_LISTS = st.lists(st.text(max_size=20) | st.integers(), max_size=30)


@given(st.dictionaries(st.sampled_from(["tags", "aliases", "examples", "keywords"]), _LISTS))
def test_any_claims_are_bounded(meta: dict[str, Any]) -> None:
    """No claims have more words searched than are allowed, nor a word that nobody states."""
    claims = read_claims(Tool("a", "s", "a", meta=meta))
    found = claimed_words(claims)
    kept = split_words(found.text)
    assert len(set(kept)) == found.kept <= min(MOST_WORDS, found.total)
    assert set(kept) <= {word for text in claimed_texts(claims) for word in split_words(text)}


def test_a_word_without_end_is_left_out() -> None:
    """A text without spaces that has more words than are searched is no way around the bound."""
    endless = "".join(f"Word{chr(97 + number % 26) * (1 + number // 26)}" for number in range(999))
    found = claimed_words(read_claims(one({"_meta": {"tags": [endless, "short"]}})))
    assert (found.text, found.kept) == ("short", 1)
