"""The report of `explain`: one query, its answer, and how that came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.reports.assets import asset, drawing_library
from mcpg.reports.graph import graph_of, graph_section
from mcpg.reports.markup import Markup, element, joined
from mcpg.reports.matches import matches_section
from mcpg.reports.page import Section, page
from mcpg.reports.parts import bdi, cut, facts, meter, notices, number, table
from mcpg.reports.stages import stages_section
from mcpg.reports.standing import standing_section

if TYPE_CHECKING:
    from collections.abc import Mapping


_SHORT = 60
_LONG = 240


def explain_page(data: Mapping[str, Any], *, shows_times: bool = False) -> str:
    """Give the report on an explanation as HTML text.

    Args:
        data: An object of the schema `mcpg/explain/1`.
        shows_times: Whether to tell how long each stage took, which is never the same twice.
    """
    graph = graph_of(data)
    sections = [
        *_noticed(data),
        *standing_section(data.get("tool")),
        *_words(data),
        Section(
            "graph",
            "Graph",
            graph_section(graph),
            "What the query matched, and what the edges of the graph brought in. Choose a tool for "
            "its edges and their reasons.",
        ),
        *matches_section(data),
        *stages_section(data, shows_times=shows_times),
        *_model(data),
    ]
    title = f"{cut(data['query'], _SHORT) or 'every tool'} · mcpg explain"
    return page(
        "explain",
        title,
        _head(data),
        sections,
        data=graph,
        scripts=[drawing_library(), asset("graph.js")],
    )


def _whole(query: str) -> Markup | None:
    if len(query) <= _LONG:
        return None
    return element(
        "details", element("summary", "The whole query"), element("p", query, dir="auto")
    )


def _head(data: Mapping[str, Any]) -> Markup:
    query = data["query"]
    return element(
        "div",
        element("p", "The query" if query else "No query", class_="kicker"),
        element("h1", cut(query, _LONG) or "Every tool by name", dir="auto"),
        _whole(query),
        _verdict(data),
        facts(
            [
                ("Rewritten", _told(data.get("normalizedQuery"))),
                ("Strategy", data["strategy"]),
                ("Ranked by", data["rankingMode"]),
                ("Function words", data.get("language")),
                ("Matches", str(len(data["matches"]))),
                ("Related", str(len(data["relatedMatches"]))),
                ("Next steps", str(len(data["nextStepMatches"]))),
            ]
        ),
        class_="head",
    )


def _told(text: str | None) -> Markup | None:
    return bdi(text) if text else None


def _verdict(data: Mapping[str, Any]) -> Markup | None:
    """Say in one line what the answer is and how sure it is."""
    if not data["query"]:
        return None
    if not data["matches"]:
        return element("p", "No tool matches.", class_="verdict low")
    best = data["matches"][0]
    score = best["score"]
    sure = "low" if score < LOW_CONFIDENCE else "sure"
    return element(
        "p",
        element("span", number(score), class_="big"),
        meter(score, f"Score {number(score)} of 1", "meter wide"),
        element("span", "best match ", element("a", bdi(best["toolId"]), href="#match-1")),
        class_=f"verdict {sure}",
    )


def _noticed(data: Mapping[str, Any]) -> list[Section]:
    items, advice = data["diagnostics"], data["advice"]
    if not items and not advice:
        return []
    content = joined(
        notices(items) if items else None,
        element("ul", [element("li", one, dir="auto") for one in advice], class_="advice"),
    )
    lead = "What the search noticed, and what can be done about it."
    return [Section("diagnostics", "Diagnostics", content, lead)]


def _model(data: Mapping[str, Any]) -> list[Section]:
    model = data["model"]
    if model is None:
        return []
    rows = [("Name", bdi(model["name"])), ("Fitted by", bdi(model["provenance"]))]
    lead = "Where the weights and the calibration come from."
    return [Section("model", "Model", facts(rows), lead)]


def _words(data: Mapping[str, Any]) -> list[Section]:
    words = data.get("words") or []
    if not words:
        return []
    rows = [
        (
            bdi(word["text"], "term"),
            _became(word),
            word["origin"],
            str(word["documentFrequency"]) if word["repairs"] else "–",
            _share(word["weight"]) if word["weight"] else "–",
        )
        for word in words
    ]
    columns = ("Word", "What it became", "From", "In tools", "Share of the query")
    content = table("What became of each word", columns, rows, numeric="---n-")
    lead = (
        "Function words are dropped; unknown words are looked for among the catalogue's own. "
        "Rare words weigh more."
    )
    return [Section("words", "What the query became", content, lead)]


def _share(weight: float) -> Markup:
    label = f"{weight:.0%}"
    return element("span", meter(weight, label), element("span", label), class_="share")


def _became(word: Mapping[str, Any]) -> Markup | str:
    if word["role"] == "function word":
        return element("span", "dropped: a function word", class_="dim")
    if not word["repairs"]:
        told = "a code or number" if word["role"] == "literal" else "a word"
        return element("span", f"unknown: {told} that no tool has", class_="missing")
    return element("ul", [element("li", _repair(one)) for one in word["repairs"]], class_="plain")


def _repair(repair: Mapping[str, Any]) -> Markup:
    if repair["kind"] == "exact":
        return joined("kept as ", bdi(repair["word"], "term"))
    distance = repair["distance"]
    edits = f", {distance} edit{'s' if distance != 1 else ''}" if distance else ""
    return joined(
        "→ ",
        bdi(repair["word"], "term"),
        element(
            "span",
            f" {repair['kind']}{edits}, credit {number(repair['similarity'], 2)}",
            class_="dim",
        ),
    )
