"""Matches ranked by a model from the command line, against a real server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from loopback import answer, chat, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

KEY = "sk-Marker0123456789abcdef"
QUERY = "status of an order"


@pytest.mark.usefixtures("graph")
def test_a_model_ranks_what_a_search_found(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is the model's, explanations have the places before, and no key is shown."""
    plain = run("search", QUERY, "--format", "json").json["matches"]
    with serving(answer(chat("[2, 1]"))) as server:
        monkeypatch.setenv("MCPG_LLM_URL", server.url)
        monkeypatch.setenv("MCPG_LLM_MODEL", "small")
        monkeypatch.setenv("MCPG_LLM_API_KEY", KEY)
        ranked = run("search", QUERY, "--rerank", "--format", "json")
        explained = run("explain", QUERY, "--rerank", "-v")
        assert run("search", QUERY).code == 0
        assert len(server.asked) == 4
        sent = server.asked[0].body["messages"]
    assert [one["toolId"] for one in ranked.json["matches"][:2]] == [
        plain[1]["toolId"],
        plain[0]["toolId"],
    ]
    assert ranked.json["matches"][0]["score"] == plain[1]["score"]
    assert "places before: 2, 1" in explained.out
    assert json.loads(sent[1]["content"])["request"] == QUERY
    assert KEY not in ranked.out + ranked.err + explained.out + explained.err


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("reply", ["no idea", "[99]", '["x"]', "[0]", "[-1]"])
def test_an_answer_that_is_no_order_is_a_warning(
    reply: str, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a model writes beside a list of numbers changes nothing."""
    plain = run("search", QUERY, "--format", "ids").out
    with serving(answer(chat(reply))) as server:
        monkeypatch.setenv("MCPG_LLM_URL", server.url)
        monkeypatch.setenv("MCPG_LLM_MODEL", "small")
        ranked = run("search", QUERY, "--rerank", "--format", "ids")
    assert ranked.out == plain
    assert "rerank_failed" in ranked.err
