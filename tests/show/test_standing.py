from __future__ import annotations

import copy
import re
from typing import Any

from hostile import TEXTS

from mcpg.show.reports import explain_page


def text_of(page: str) -> str:
    """Return the text of the body of *page* without tags."""
    body = page.partition("<main")[2].partition("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_a_tool_that_was_asked_for_has_a_section(stood: dict[str, Any]) -> None:
    """Its rank, who is above it and why, and the change that makes it first."""
    told = text_of(explain_page(stood))
    tool = stood["tool"]
    assert f"Rank {tool['rank']} of {tool['ranked']}" in told
    for rival in tool["above"]:
        assert f"ahead by {rival['gap']:.3f}" in told
        for reason in rival["because"]:
            assert reason.replace("'", "&#x27;") in told
    for word in tool["change"]["hints"]["keywords"]:
        assert f"add the keyword {word}" in told
    assert "then: rank 1" in told
    assert "(bundled and searched again)" in told


def test_no_tool_no_section(explained: dict[str, Any]) -> None:
    """Who did not ask for a tool gets no empty part."""
    assert 'href="#tool"' not in explain_page(explained)
    assert 'href="#tool"' not in explain_page(explained | {"tool": None})


def test_every_case_of_standing_is_told(stood: dict[str, Any]) -> None:
    """Disabled, nowhere, not looked at, nothing to change: each says so."""
    data = copy.deepcopy(stood)
    tool = data["tool"]
    hints = {"keywords": [], "aliases": ["where is it"], "enabledByDefault": True}
    tool["change"] |= {"verified": False, "hints": hints}
    tool |= {"isHidden": True, "missing": []}
    tool["above"][0]["gap"] = -0.25
    told = text_of(explain_page(data))
    assert "none: it is disabled by default" in told
    assert re.search("enable it *, *add the alias where is it", told)
    assert "(not tried on a new bundle)" in told
    assert "behind by 0.250" in told
    assert "Lacks" not in told
    tool |= {"isHidden": False, "rank": None, "change": None, "remark": "nothing lifts it"}
    tool |= {"unmet": ["its source is 'a', not 'b'"]}
    told = text_of(explain_page(data))
    assert "none: the filter leaves it out" in told
    assert "its source is &#x27;a&#x27;, not &#x27;b&#x27;" in told
    tool |= {"unmet": []}
    tool["retrieval"]["isPooled"] = False
    told = text_of(explain_page(data))
    assert f"none among {tool['ranked']}" in told
    assert f"only the first {tool['retrieval']['pool']}" in told
    assert "nothing lifts it" in told
    assert "What would lift it" not in text_of(explain_page(data))
    tool["remark"] = ""
    assert 'class="change"' not in explain_page(data)


def test_the_effect_on_judged_queries_is_told(
    stood: dict[str, Any], evaluated: dict[str, Any]
) -> None:
    """What the change does to other queries stands below it."""
    data = stood | {"tool": stood["tool"] | {"effect": evaluated["baseline"]}}
    told = text_of(explain_page(data))
    assert "Effect on other judged queries" in told
    assert "better, " in told


def test_hostile_texts_leave_the_page_whole(stood: dict[str, Any]) -> None:
    """Names, reasons and words of strangers add no element."""
    data = copy.deepcopy(stood)
    hostile = "".join(TEXTS)
    data["tool"] |= {"toolId": hostile, "missing": list(TEXTS), "remark": hostile}
    data["tool"]["change"]["hints"] = {"keywords": list(TEXTS), "aliases": list(TEXTS)}
    for rival in data["tool"]["above"]:
        rival |= {"toolId": hostile, "because": list(TEXTS)}
        for part in (*rival["features"], *rival["words"]):
            part.update({"feature": hostile, "query": hostile})
    page = explain_page(data)
    assert page.count("<script") == 2
    assert "<img" not in page
    page.encode("utf-8")
