"""Requests whose words no tool has."""

from __future__ import annotations

import sys
from math import fsum
from typing import TYPE_CHECKING

import pytest
from builders import ids, make_engine, make_tool

from mcpg.search import array_scores
from mcpg.search.model import FEATURES
from mcpg.search.retrieval import ARRAYS

if TYPE_CHECKING:
    from mcpg.search.trace import MatchExplanation

ENGINE = make_engine(
    make_tool("browser_click", description="Perform click on an element of a web page."),
    make_tool("browser_navigate", description="Navigate to a URL in the browser."),
    make_tool("browser_resize", description="Resize the browser window."),
    make_tool("create_pull_request", description="Create a new pull request.", source_id="git"),
    make_tool("create_milestone", description="Create a new milestone.", source_id="git"),
    make_tool("abrir_pagina", description="Abre una página en el navegador.", source_id="es"),
)


def find_meaning(match: MatchExplanation) -> float:
    """Return what meaning adds to the score of *match*."""
    return fsum(one.contribution for one in match.contributions if one.feature == "meaning")


def test_meaning_orders_what_words_leave_open() -> None:
    """Of tools with the same words of the request, the nearest in meaning comes first."""
    request = "visit in the browser"
    first, second, *_ = ENGINE.explain(request).matches

    assert ids(ENGINE.search(request).matches)[0] == first.tool_id == "browser_navigate"
    assert 1 >= first.nearness > second.nearness
    assert first.fused_score - find_meaning(first) < second.fused_score - find_meaning(second)


@pytest.mark.parametrize(
    "request_text", ["browser", "create milestone", "browser resize window", "create_milestone"]
)
def test_nothing_is_open_where_a_tool_has_all_words(request_text: str) -> None:
    """Where words decide, meaning adds nothing to any tool."""
    for match in ENGINE.explain(request_text).matches:
        assert match.nearness == find_meaning(match) == 0


def test_a_long_request_says_what_it_means() -> None:
    """Beyond a dozen words, nearness adds nothing."""
    words = "visit website photo email banana guitar river mountain soup pencil violin lamp"

    assert any(map(find_meaning, ENGINE.explain(f"browser {words[:30]}").matches))
    assert not any(map(find_meaning, ENGINE.explain(f"browser {words}").matches))


def test_without_the_lexicon_there_is_no_meaning() -> None:
    """The table is part of the lexicon."""
    found = ENGINE.explain("visit some website with the browser", lexicon=False).matches

    assert found
    assert all(match.nearness == find_meaning(match) == 0 for match in found)


def test_a_tool_in_another_language_has_no_vector() -> None:
    """A description that is not in English is neither near nor far."""
    tools = {match.tool_id: match.nearness for match in ENGINE.explain("abrir un website").matches}

    assert tools["abrir_pagina"] == 0


def test_arrays_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of whole numbers are the same by numpy, to the last bit."""
    requests = ["visit a website", "open a pr in git", "make the window larger"]
    monkeypatch.setattr(ARRAYS, "_imported", [])
    plain = [ENGINE.explain(one).matches for one in requests]
    monkeypatch.setattr(ARRAYS, "_imported", [array_scores])

    assert [ENGINE.explain(one).matches for one in requests] == plain
    assert "numpy" in sys.modules


def test_contributions_hold_what_meaning_adds() -> None:
    """The contributions of a match, meaning among them, sum to its fused score."""
    for match in ENGINE.explain("visit a website with a browser").matches:
        names = [one.feature for one in match.contributions]
        assert sorted(names) == sorted(FEATURES)
        assert fsum(one.contribution for one in match.contributions) == pytest.approx(
            match.fused_score, abs=1e-9
        )
