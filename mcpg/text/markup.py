"""HTML markup and diagrams, written so that untrusted text cannot become markup.

Notebooks show results by pure functions from the JSON objects of `to_dict` to tables without
styles, which look like the notebook's tables.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from mcpg.text.safeyaml import escape_unsafe
from mcpg.values import format_count, score_text

Child: TypeAlias = str | Iterable["Child"] | None
Attribute: TypeAlias = str | float | bool | None

_VOID = frozenset({"input", "link", "meta"})
# In a script element, only `</script` and `<!--` mean anything to the parser of HTML; the two
# separators end a line for old parsers of JavaScript.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Write an element.

    Args:
        name: Its tag.
        children: Its content: markup unchanged, other text escaped, nested iterables in order,
            `None` left out.
        attributes: By name, with `_` for `-`; a final `_` is dropped (`class_`); `None` and `False`
            are left out, `True` is an attribute without a value.
    """
    given = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        given += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            text = value if isinstance(value, str) else f"{value:g}"
            given += f'="{html.escape(escape_unsafe(text))}"'
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join_markup(*children)}</{name}>")


def join_markup(*children: Child) -> Markup:
    """Write *children* in order."""
    return Markup("".join(map(_child, children)))


def verbatim(name: str, content: str, **attributes: Attribute) -> Markup:
    """Write an element with trusted *content*, unescaped."""
    return element(name, Markup(content), **attributes)


def embed_json(value: Any, identity: str) -> Markup:
    """Write the JSON *value* into a block of data that scripts find by *identity*.

    Characters that hide, reorder or steer become visible escapes, as everywhere on the page.
    """
    text = json.dumps(escape_unsafe_json(value), ensure_ascii=False, separators=(",", ":"))
    return verbatim("script", text.translate(_ESCAPES), type="application/json", id=identity)


def escape_unsafe_json(value: Any) -> Any:
    """Return the JSON *value* with unsafe characters in its texts made visible."""
    if isinstance(value, str):
        return escape_unsafe(value)
    if isinstance(value, dict):
        return {escape_unsafe(key): escape_unsafe_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [escape_unsafe_json(part) for part in value]
    return value


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(escape_unsafe(child))
    return "".join(map(_child, child))


# Safe on a screen, but not characters of XML, which Graphviz also writes.
NO_XML = {0xFFFE: "\\u{fffe}", 0xFFFF: "\\u{ffff}"}


def escape_visibly(text: str) -> str:
    """Write characters that are unsafe in *text*, or invalid in XML, as visible escapes."""
    return escape_unsafe(text).translate(NO_XML)


def on_one_line(text: str, longest: int) -> str:
    """Return *text* as `shown`, on one line, and cut to *longest* characters."""
    line = " ".join(escape_visibly(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# Graphviz refuses a text of more than 16,384 bytes.
_LONGEST_DOT = 1000


def quoted_dot(text: str) -> str:
    """Return *text* as a quoted string of DOT, cut where it is too long for one."""
    # Graphviz reads HTML entities in texts, and its own escapes after a backslash.
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})
    return f'"{on_one_line(text, _LONGEST_DOT).translate(escapes)}"'


_LONGEST_LABEL = 120
# Everything but letters, digits and harmless signs is written as the number of its character, and
# so are signs that would make a label a list or a heading, or emphasize a part of it.
_SPECIAL = re.compile(r"[^\w .,:;/()=!?'-]|(?<!\w)-|\.(?= )|_(?=_)")


def mermaid_label(text: str) -> str:
    """Return *text* as the inside of a quoted label of Mermaid, cut where it is long."""
    line = on_one_line(text, _LONGEST_LABEL)
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", line) or "#32;"


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
        (
            word["text"],
            word["role"],
            score_text(word["weight"]),
            ", ".join(str(one["word"]) for one in (*word["repairs"], *word["related"])),
        )
        for word in data["words"]
    ]
    reasons = [
        (
            rank,
            _code(match["toolId"]),
            score_text(match["score"]),
            ", ".join(
                f"{one['feature']} {one['contribution']:.2f}"
                for one in match["contributions"][:_CONTRIBUTIONS]
            ),
        )
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
        _heading(
            data["goal"],
            f"complete {score_text(data['complete'])}, clean {score_text(data['clean'])}",
        ),
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
    rows = [
        (
            rank,
            score_text(one["score"]),
            _code(one["toolId"]),
            one["sourceId"],
            _cut(" ".join(str(one["description"]).split())),
        )
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
    cells = ((str(one) if isinstance(one, float | int) else one for one in row) for row in rows)
    return element(
        "table",
        element("caption", title),
        element("thead", element("tr", (element("th", head, scope="col") for head in heads))),
        element("tbody", (element("tr", (element("td", one) for one in row)) for row in cells)),
    )


def _list(title: str, items: Sequence[str]) -> Markup:
    if not items:
        return join_markup()
    return join_markup(element("p", title), element("ul", (element("li", one) for one in items)))


def _notices(data: Json) -> Markup:
    items = [f"{one['severity']}: {one['message']}" for one in data["diagnostics"]]
    return _list("Diagnostics", items)


def _code(text: str) -> Markup:
    return element("code", _cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
