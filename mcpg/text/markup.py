"""HTML markup and diagrams, written so that untrusted text cannot become markup.

Notebooks show results as tables without styles, which look like the notebook's tables.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from mcpg.text.safeyaml import escape_unsafe
from mcpg.values import score_text

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


_LONGEST, _MOST_ITEMS = 200, 5
# The members of results that notebooks show as tables, with their columns, and as lists.
_TABLES = {
    "words": ("text", "role", "weight", "repairs", "related"),
    "matches": ("score", "toolId", "sourceId", "description", "contributions"),
    **dict.fromkeys(
        ("prerequisites", "relatedMatches", "nextStepMatches"), ("score", "toolId", "via")
    ),
    "categories": ("name", "score", "tools"),
    "tasks": ("id", "toolId", "dependsOn", "confidence", "rationale"),
    "missing": ("argument", "tasks", "description"),
    "results": ("score", "type", "symbol", "file", "lines", "docs"),
}
_LISTS = ("advice", "suggestions", "diagnostics")
_NUMBERS = ("rankingMode", "intent", "total", "complete", "clean")
# What is shown of an object in a cell.
_TELLING = (
    *("from", "toolId", "word", "feature", "score", "contribution"),
    *("severity", "reason", "message"),
)


def result_html(data: Mapping[str, Any]) -> Markup:
    """Return *data*, what `to_dict` of a result returns, as HTML."""
    title = data.get("goal") or data["query"] or "all tools by name"
    remark = [(f" {name} ", _cell(data[name])) for name in _NUMBERS if name in data]
    parts = [element("p", element("strong", _cell(title)), remark)]
    for name, columns in _TABLES.items():
        rows = data.get(name) or ()
        heads = [head for head in columns if any(head in row for row in rows)]
        cells = [[_cell(row.get(head, ""), head) for head in heads] for row in rows]
        if rows:
            parts.append(_table(name, heads, cells))
    for name in _LISTS:
        if items := data.get(name):
            parts += element("p", name), element("ul", (element("li", _cell(one)) for one in items))
    return join_markup(*parts)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup:
    return element(
        "table",
        element("caption", title),
        element("thead", element("tr", (element("th", head, scope="col") for head in heads))),
        element("tbody", (element("tr", (element("td", one) for one in row)) for row in rows)),
    )


def _cell(value: Any, head: str = "") -> Child:
    if isinstance(value, Mapping):
        names = ("task",) if "task" in value else _TELLING
        return [(_cell(value[name], name), " ") for name in names if name in value]
    if isinstance(value, list):
        return [
            (", " if place else None, _cell(one)) for place, one in enumerate(value[:_MOST_ITEMS])
        ]
    if isinstance(value, float):
        return score_text(value) if 0 <= value <= 1 else f"{value:.2f}"
    text = " ".join(str(value).split())
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return element("code", shown) if head in ("toolId", "symbol") else shown
