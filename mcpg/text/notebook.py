"""Results as HTML for notebooks: pure functions from the JSON objects of `to_dict` to markup.

Tables have no styles of their own, so that they look like those of the notebook. All text is
escaped by `mcpg.text.markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcpg.text.markup import Child, Markup, element, join_markup
from mcpg.values import format_count, score_text

Json = Mapping[str, Any]

_LONGEST = 200
_CONTRIBUTIONS = 3


def search_html(data: Json) -> Markup:
    """Return *data*, what `SearchResult.to_dict` returns, as HTML."""
    title = data["query"] or "all tools by name"
    return join_markup(_heading(title, data["rankingMode"]), *_list_results(data), _notices(data))


def explanation_html(data: Json) -> Markup:
    """Return *data*, what `Explanation.to_dict` returns, as HTML."""
    words = [
        (word["text"], word["role"], score_text(word["weight"]), ", ".join(_read_as(word)))
        for word in data["words"]
    ]
    reasons = [
        (rank, _code(match["toolId"]), score_text(match["score"]), _contributions(match))
        for rank, match in enumerate(data["matches"], start=1)
        if "contributions" in match
    ]
    return join_markup(
        _heading(data["query"] or "all tools by name", data["rankingMode"]),
        _table("Words", ("word", "role", "weight", "read as"), words),
        _table("Ranking", ("#", "tool", "score", "largest contributions"), reasons),
        *_list_results(data),
        _list("Advice", data["advice"]),
        _notices(data),
    )


def plan_html(data: Json) -> Markup:
    """Return *data*, what `Plan.to_dict` returns, as HTML."""
    tasks = [
        (
            task["id"],
            _code(task["toolId"]),
            ", ".join(one["task"] for one in task["dependsOn"]),
            score_text(task["confidence"]),
            task["rationale"],
        )
        for task in data["tasks"]
    ]
    missing = [
        f"{one['argument']} ({', '.join(one['tasks'])}) {one['description']}".strip()
        for one in data["missing"]
    ]
    return join_markup(
        _heading(data["goal"], f"confidence {score_text(data['confidence'])}"),
        _table("Tasks", ("task", "tool", "after", "confidence", "why"), tasks),
        _list("Missing arguments", missing),
        _notices(data),
    )


def ask_html(data: Json) -> Markup:
    """Return *data*, what `AskResult.to_dict` returns, as HTML."""
    results = [
        (
            score_text(one["score"]),
            one["type"],
            _code(one["symbol"]),
            ":".join(filter(None, (one["file"], one.get("lines", "")))),
            _cut(one.get("docs", "")),
        )
        for one in data["results"]
    ]
    title = f"{data['intent']}, {len(results)} of {format_count(data['total'], 'result')}"
    return join_markup(
        _heading(data["query"], title),
        _table("Results", ("score", "type", "symbol", "place", "description"), results),
        _list("Next", data["suggestions"]),
        _notices(data),
    )


def route_html(data: Json) -> Markup:
    """Return *data*, what `RouteResult.to_dict` returns, as HTML."""
    rows = [
        (
            one["name"],
            score_text(one["score"]),
            [(_code(tool["toolId"]), " ", score_text(tool["score"]), " ") for tool in one["tools"]],
        )
        for one in data["categories"]
    ]
    return join_markup(
        _heading(data["query"] or "all tools by name", data["rankingMode"]),
        _table("Categories", ("category", "score", "tools"), rows),
        _notices(data),
    )


def _list_results(data: Json) -> Iterable[Markup]:
    """Yield the lists of a search: the matches, and what edges of the graph add."""
    rows = [
        (rank, score_text(one["score"]), _code(one["toolId"]), one["sourceId"], _about(one))
        for rank, one in enumerate(data["matches"], start=1)
    ]
    yield _table("Matches", ("#", "score", "tool", "source", "description"), rows)
    for title, name in (
        ("Prerequisites", "prerequisites"),
        ("Related", "relatedMatches"),
        ("Next steps", "nextStepMatches"),
    ):
        reached = [
            (
                score_text(one["score"]),
                _code(one["toolId"]),
                one["via"]["from"],
                one["via"]["reason"],
            )
            for one in data[name]
        ]
        yield _table(title, ("score", "tool", "of", "why"), reached)


def _heading(title: str, remark: str) -> Markup:
    return element("p", element("strong", _cut(title)), f" ({remark})")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Child | float]]) -> Markup:
    """Return a table, nothing where it has no rows."""
    if not rows:
        return join_markup()
    return element(
        "table",
        element("caption", title),
        element("thead", element("tr", (element("th", head, scope="col") for head in heads))),
        element("tbody", (element("tr", map(_cell, row)) for row in rows)),
    )


def _cell(content: Child | float) -> Markup:
    return element("td", str(content) if isinstance(content, float | int) else content)


def _list(title: str, items: Sequence[str]) -> Markup:
    if not items:
        return join_markup()
    return join_markup(element("p", title), element("ul", (element("li", one) for one in items)))


def _notices(data: Json) -> Markup:
    items = [f"{one['severity']}: {one['message']}" for one in data["diagnostics"]]
    return _list("Diagnostics", items)


def _contributions(match: Json) -> str:
    parts = match["contributions"][:_CONTRIBUTIONS]
    return ", ".join(f"{one['feature']} {one['contribution']:.2f}" for one in parts)


def _read_as(word: Json) -> Iterable[str]:
    for one in (*word["repairs"], *word["related"]):
        yield str(one["word"])


def _about(match: Json) -> str:
    return _cut(" ".join(str(match["description"]).split()))


def _code(text: str) -> Markup:
    return element("code", _cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
