from __future__ import annotations

import base64
import copy
import hashlib
import re
from typing import Any

import pytest
from hostile import hostile

import mcpg
from mcpg.show import MARK
from mcpg.show.explain import feature_colors
from mcpg.show.html import format_signed, meter, stacked_bar
from mcpg.show.reports import build_match_graph, explain_page


def text_of(page: str) -> str:
    """Return the text of *page* without tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def reached_of(explained: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what edges brought in beside the matches."""
    lists = ("prerequisites", "relatedMatches", "nextStepMatches")
    matched = {one["toolId"] for one in explained["matches"]}
    return [one for name in lists for one in explained[name] if one["toolId"] not in matched]


def test_a_page_is_deterministic_and_marked(explained: dict[str, Any]) -> None:
    """The same answer gives the same page, which says what it is."""
    page = explain_page(explained)
    assert page == explain_page(copy.deepcopy(explained))
    assert page.encode().startswith(MARK)
    assert "<title>refund a shipmnt payment · mcpg explain</title>" in page


@pytest.mark.parametrize("kind", ["script", "style"])
def test_the_policy_names_what_is_inline(explained: dict[str, Any], kind: str) -> None:
    """The one script and the one style are allowed by hash, and nothing else is."""
    page = explain_page(explained)
    (content,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#x27;", "'").split("; "))
    assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert not re.search(r' style="| on\w+="', page.replace(content, ""))


def test_a_page_names_no_other_address(explained: dict[str, Any]) -> None:
    """Every link leads to a place on the page itself."""
    links = re.findall(r'(?:href|src)="([^"]*)"', explain_page(explained))
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    anchors = set(re.findall(r' id="([^"]*)"', explain_page(explained)))
    assert {link[1:] for link in links if link.startswith("#")} <= anchors


def test_everything_explained_is_told(explained: dict[str, Any]) -> None:
    """Words, features, terms, inputs of the calibration and stages all stand on the page."""
    told = text_of(explain_page(explained))
    for match in explained["matches"]:
        assert match["toolId"] in told
        assert f"{match['score']:.6f}" in told
        for part in match["contributions"]:
            assert part["feature"] in told
            assert format_signed(part["contribution"]) in told or not part["contribution"]
        for term in match["terms"]:
            assert term["field"] in told
        for one in match["calibration"]["inputs"]:
            assert one["input"] in told
            assert format_signed(one["contribution"]) in told
    for one in reached_of(explained):
        assert one["via"]["reason"].replace("'", "&#x27;") in told
    for stage in explained["stages"]:
        assert stage["name"] in told
        assert f"{stage['durationMs']:.3f} ms" not in told
    assert explained["model"]["provenance"] in told
    assert "typo, 1 edit, similarity 0.77" in told


def test_the_graph_has_a_node_a_tool_and_an_edge_a_reason(explained: dict[str, Any]) -> None:
    """Edges lead from the query to its matches, and on along the edge that brought a tool in."""
    graph = build_match_graph(explained)
    names = [node["label"] for node in graph["nodes"]]
    assert names[0] == "refund a shipmnt payment"
    assert len(names) == len(set(names)) == len(graph["edges"]) + 1
    for one in reached_of(explained):
        (edge,) = [edge for edge in graph["edges"] if names[edge["to"]] == one["toolId"]]
        assert names[edge["from"]] == one["via"]["from"]
        assert (edge["kind"], edge["reason"]) == (one["via"]["edge"], one["via"]["reason"])


def test_browsing_has_a_page(tmp_path: Any) -> None:
    """Without a query there are no scores to explain, and the page shows none."""
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "a", "description": "b"}]}')
    page = explain_page(mcpg.load(tmp_path / "tools.json").explain(None).to_dict())
    told = text_of(page.partition("<main")[2].partition("<footer")[0])
    assert "Every tool by name" in told
    assert "Contributions" not in told
    assert "Score 0.000" not in told


def test_words_that_came_to_nothing_are_told(explained: dict[str, Any]) -> None:
    """Function words, unknown words and literals each say what they are."""
    words = [
        {
            "text": text,
            "stem": text,
            "role": role,
            "origin": "query",
            "weight": 0.2,
            "documentFrequency": 0,
            "repairs": [],
            "related": [],
            "literal": literal,
        }
        for text, role, literal in (
            ("the", "function word", None),
            ("zzqx", "unknown", None),
            ("4711", "literal", "number"),
        )
    ]
    told = text_of(explain_page(explained | {"words": words, "normalizedQuery": "rewritten so"}))
    assert "dropped: a stop word" in told
    assert "unknown: a word that no tool has" in told
    assert "a literal: number" in told
    assert "rewritten so" in told


def test_level_matches_say_why_one_is_first(explained: dict[str, Any]) -> None:
    """Where the fused scores are equal, the page names the rule that decides."""
    data = copy.deepcopy(explained)
    data["matches"][1]["fusedScore"] = data["matches"][0]["fusedScore"]
    assert "the smaller tool id goes first" in explain_page(data)


def test_times_are_told_on_request(explained: dict[str, Any]) -> None:
    """Times differ from run to run, so a report has them only when asked for them."""
    timed = text_of(explain_page(explained, shows_times=True))
    for stage in explained["stages"]:
        assert f"{stage['durationMs']:.3f} ms" in timed


def test_low_confidence_shows(explained: dict[str, Any]) -> None:
    """A best match below the threshold looks unsure, and the diagnostic stands first."""
    data = copy.deepcopy(explained)
    data["matches"][0]["score"] = 0.2
    note = {"code": "low_confidence_results", "severity": "warning", "message": "m", "place": None}
    note["remedy"] = "say more"
    page = explain_page(data | {"diagnostics": [note]})
    assert 'class="verdict low"' in page
    assert "say more" in page
    assert page.index("low_confidence_results") < page.index('id="words"')


def test_a_long_query_is_cut_and_kept(explained: dict[str, Any]) -> None:
    """A heading stays a heading; the whole query can be unfolded."""
    query = "word " * 400
    page = explain_page(explained | {"query": query})
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page)
    assert len(heading) <= 240
    assert query in page


def test_hostile_texts_leave_the_page_whole(explained: dict[str, Any]) -> None:
    """Hostile texts add no element: the page has the scripts it came with."""
    page = explain_page(hostile(explained))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "<iframe" not in page
    page.encode("utf-8")


def test_features_keep_their_colour(explained: dict[str, Any]) -> None:
    """One feature has one colour in all bars; those without a part have none."""
    colors = feature_colors(explained["matches"])
    assert sorted(colors.values()) == list(range(len(colors)))
    assert "exactName" not in colors


def test_bars_show_negative_parts_left_of_zero() -> None:
    """What lowers a score stands left of the line, what raises it right, to one scale."""
    bar = stacked_bar([("a", 2.0), ("b", -1.0), ("c", 1.0)], (-1.0, 3.0), {"a": 0, "b": 1, "c": 2})
    places = re.findall(r'class="(c\d[^"]*)" x="([\d.]+)%" width="([\d.]+)%"', bar)
    assert places == [
        ("c0", "25.000", "50.000"),
        ("c1 less", "0.000", "25.000"),
        ("c2", "75.000", "25.000"),
    ]
    assert 'class="zero" x1="25.000%"' in bar
    assert "a +2.000, b −1.000, c +1.000" in bar


def test_empty_bars_and_meters_are_drawn() -> None:
    """Nothing and too much stay within the frame."""
    assert "Contributions: nothing" in stacked_bar([], (0.0, 0.0), {})
    assert 'width="100.00%"' in meter(7.0, "much")
    assert 'width="0.00%"' in meter(-1.0, "less")


def test_what_is_not_there_is_left_out(explained: dict[str, Any]) -> None:
    """No words in fields, no evidence: no empty frames."""
    data = copy.deepcopy(explained)
    for match in data["matches"]:
        match["terms"] = []
        match["evidence"] = {"terms": [], "missing": [], "fields": []}
    page = explain_page(data)
    assert "Words in fields" not in page
    assert 'class="terms"' not in page


def test_a_cap_and_advice_are_told(explained: dict[str, Any]) -> None:
    """A score that a better match caps says by which; advice stands with the diagnostics."""
    data = copy.deepcopy(explained)
    data["matches"][1]["calibration"]["cappedBy"] = "shipment_status"
    told = text_of(explain_page(data | {"advice": ["add an alias"]}))
    assert "but no score is above that of shipment_status" in told
    assert told.index("add an alias") < told.index("Read as") < told.index("Contributions")


def test_a_filter_is_told_with_what_it_leaves(explained: dict[str, Any]) -> None:
    """Its conditions, and of how many tools how many are left, stand above the result."""
    conditions = {"sources": ["a", "b"], "categories": [], "readOnly": True, "tools": 3, "of": 1200}
    told = text_of(explain_page(explained | {"filter": conditions}))
    assert "source a or b; read-only : leaves 3 of 1,200 tools" in " ".join(told.split())


def test_details_of_stages_are_told_by_their_kind(explained: dict[str, Any]) -> None:
    """Lists of objects become tables, texts and numbers are set, empty things are left out."""
    details = {
        "name": "x",
        "none": None,
        "empty": [],
        "words": ["a", "b"],
        "mixed": [1, {"a": None}],
        "rows": [{"tool": "t", "best": 0.5, "gone": None}, {"tool": "u", "best": 1, "gone": 2}],
    }
    stages = [{"name": "fuse", "durationMs": 0.0, "details": details}]
    told = text_of(explain_page(explained | {"stages": stages}))
    assert "name x words a, b mixed [1, {&quot;a&quot;: null}] fuse: rows" in told
    assert "Tool Best Gone t 0.500 – u 1 2" in told


def test_an_explanation_without_parts_has_a_page(explained: dict[str, Any]) -> None:
    """A part that has nothing to show is left out, and so is its link."""
    page = explain_page(explained | {"stages": [], "words": [], "model": None})
    assert 'href="#stages"' not in page
    assert 'href="#words"' not in page
