"""HTML: blocks, bars, and the page of every report, closed to the network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from mcpg import __version__
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.show import MARK
from mcpg.show import blocks as model
from mcpg.text.markup import Child, Markup, element, embed_json, join_markup, verbatim
from mcpg.values import format_count

_WIDTH, _HEIGHT = 460.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 72.0, 16.0, 14.0, 52.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SMALLEST, _LARGEST = 4.0, 11.0
_APART = 62.0
_HIGH, _RIGHTMOST = 0.9, 0.97

# A place in a chart: two shares in [0, 1].
_Place = tuple[float, float]


def reliability_diagram(bins: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw for each bin of scores the share of right answers, against the mean score.

    On the diagonal, a score is the probability of being right (DeGroot and Fienberg 1983, The
    comparison and evaluation of forecasters). The area of a mark grows with the number of queries.
    The *bins* have `low`, `high`, `meanScore`, `precision` and `count`, as in the JSON of `eval`.
    """
    shown = [one for one in bins if one["precision"] is not None and one["count"]]
    most = max((one["count"] for one in shown), default=1)
    places = [(one["meanScore"], one["precision"]) for one in shown]
    marks = []
    for one, place in zip(shown, places, strict=True):
        size = _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(one["count"] / most)
        queries = format_count(one["count"], "query", "queries")
        text = (
            f"Scores {one['low']:.2f} to {one['high']:.2f}: {queries}, mean score "
            f"{one['meanScore']:.3f}, right {one['precision']:.3f}"
        )
        marks.append(_dot(place, size, "mark", text))
    gaps = [_line(place, (place[0], place[0]), "gap") for place in places]
    return _chart(
        f"Reliability diagram: share of right answers by score, in {len(shown)} bins",
        ("Mean score of the bin", "Share of right answers"),
        places,
        below=[_line((0, 0), (1, 1), "ideal"), *gaps],
        above=marks,
    )


def coverage_curve(curve: Sequence[Mapping[str, Any]], low: float) -> Markup:
    """Draw the share of right answers among answers with at least a threshold's score.

    Thresholds are beside the curve, as many as fit; below *low* a search reports low confidence.
    The points have `threshold`, `coverage` and `precision`, as in the JSON of `eval`.
    """
    shown = [one for one in curve if one["precision"] is not None]
    places = [(one["coverage"], one["precision"]) for one in shown]
    marks, notes = [], []
    last: tuple[float, float] | None = None
    for one, place in zip(shown, places, strict=True):
        text = (
            f"Threshold {one['threshold']:.2f}: {one['coverage']:.1%} answered, "
            f"{one['precision']:.1%} right"
        )
        is_low = math.isclose(one["threshold"], low)
        class_ = "mark default" if is_low else "mark"
        marks.append(_dot(place, 7.0 if is_low else 3.5, class_, text))
        left, top = _project(place)
        if last is None or math.hypot(left - last[0], top - last[1]) >= _APART:
            last = left, top
            top += 22 if place[1] > _HIGH else -12
            anchor = "end" if place[0] > _RIGHTMOST else "middle"
            name = f"{one['threshold']:g}"
            notes.append(element("text", name, x=left, y=top, text_anchor=anchor, class_="note"))
    return _chart(
        "Precision by coverage, for thresholds of the score from 0 to 1",
        ("Coverage: share of queries that are answered", "Precision: share of right answers"),
        places,
        above=[*marks, *notes],
    )


def _project(place: _Place) -> tuple[float, float]:
    """Return the distances of *place* from the left and the upper edge of a drawing."""
    left = round(_LEFT + place[0] * (_WIDTH - _LEFT - _RIGHT), 2)
    return left, round(_TOP + (1 - place[1]) * (_HEIGHT - _TOP - _BOTTOM), 2)


def _dot(place: _Place, size: float, class_: str, title: str) -> Markup:
    (left, top), label = _project(place), element("title", title)
    return element("circle", label, cx=left, cy=top, r=round(size, 2), class_=class_)


def _line(start: _Place, end: _Place, class_: str) -> Markup:
    (x1, y1), (x2, y2) = _project(start), _project(end)
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def _chart(
    label: str,
    axes: tuple[str, str],
    curve: Sequence[_Place],
    *,
    below: Sequence[Markup] = (),
    above: Sequence[Markup] = (),
) -> Markup:
    parts: list[Markup] = []
    for value in _TICKS:
        (left, bottom), (edge, top) = _project((value, 0)), _project((0, value))
        name, middle = f"{value:g}", {"text_anchor": "middle"}
        parts += [
            _line((value, 0), (value, 1), "grid"),
            _line((0, value), (1, value), "grid"),
            element("text", name, x=left, y=bottom + 18, **middle),
            element("text", name, x=edge - 8, y=top + 4, text_anchor="end"),
        ]
    middle = {"text_anchor": "middle", "class_": "axis"}
    center, half = _project((0.5, 0.5))
    turned = f"translate(14 {half:g}) rotate(-90)"
    places = " ".join(f"{left:g},{top:g}" for left, top in map(_project, curve))
    return element(
        "svg",
        parts,
        element("text", axes[0], x=center, y=_HEIGHT - 8, **middle),
        element("text", axes[1], **middle, transform=turned),
        below,
        element("polyline", points=places, class_="curve") if curve else None,
        above,
        class_="chart",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_label=label,
    )


# Parts of every report: styles, scripts, and the drawing library.  The library is D3: twelve of its
# modules from the npm registry; `assets/vendor/vendored.json` has their names, versions and hashes.
# They draw SVG, so that every node is an element of the page: it takes the focus, has a name for
# screen readers, follows the theme and prints sharp.

_FOLDER = files("mcpg.show") / "assets"
_VENDOR = _FOLDER / "vendor"
_FORCES = ("d3-quadtree", "d3-force")


@cache
def asset(name: str) -> str:
    """Return the text of the file *name* of this package."""
    return (_FOLDER / name).read_text("utf-8")


def read_vendored_files() -> list[dict[str, Any]]:
    """Return the record of each vendored file, in the order of execution."""
    records: list[dict[str, Any]] = json.loads((_VENDOR / "vendored.json").read_text("utf-8"))
    return records


@cache
def drawing_library(*, has_forces: bool = False) -> str:
    """Return the vendored modules as one script, with their license.

    The modules that place nodes by forces are only included with *has_forces*.
    """
    licence = (_VENDOR / "D3-LICENSE.txt").read_text("utf-8")
    records = [one for one in read_vendored_files() if has_forces or one["package"] not in _FORCES]
    modules = [(_VENDOR / record["file"]).read_text("utf-8") for record in records]
    return "\n".join([f"/*\n{licence}*/", *modules])


_GENERATOR = f"mcpg {__version__}"
_FOOTER = f"Made by {_GENERATOR}. This file needs no network."


def page(
    kind: str,
    title: str,
    head: Markup,
    sections: Sequence[model.Section],
    *,
    data: Any,
    scripts: Sequence[str],
    is_framed: bool = False,
) -> str:
    """Return a report, made by the command *kind*, as the text of an HTML file.

    *head* is above the *sections*. The *scripts*, trusted JavaScript, run in order after the page's
    own and draw *data*, a JSON value. With *is_framed*, within another page, it has no banner or
    footer.
    """
    style, script = asset("report.css"), "\n".join([asset("page.js"), *scripts])
    # Allowed are the two inline texts by their hashes, the empty icon, and nothing else.
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in (script, style)]
    allowed = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    policy = (
        f"default-src 'none'; script-src {allowed[0]}; style-src {allowed[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    body = join_markup(
        None if is_framed else _open_page(kind, sections),
        element("main", head, map(_render_section, sections), id="main", tabindex="-1"),
        None if is_framed else element("footer", element("p", _FOOTER)),
        embed_json(data, "report-data"),
        verbatim("script", script),
    )
    top = join_markup(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=_GENERATOR),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        verbatim("style", style),
    )
    opening = f'{MARK.decode()}"{kind}">\n'
    return f"{opening}<head>{top}</head>\n<body>\n{body}\n</body>\n</html>\n"


def _open_page(kind: str, sections: Sequence[model.Section]) -> Markup:
    links = [element("li", element("a", one.title, href=f"#{one.identity}")) for one in sections]
    themes = [
        element("option", name, value=name.lower(), selected=name == "Auto")
        for name in ("Auto", "Light", "Dark")
    ]
    return join_markup(
        element("a", "Skip to the report", class_="skip", href="#main"),
        element(
            "header",
            element("span", "mcpg ", element("b", kind), class_="brand"),
            element("nav", element("ul", links), aria_label="Sections"),
            element("label", "Theme ", element("select", themes, id="theme", autocomplete="off")),
            class_="banner",
        ),
    )


def page_head(kicker: str, title: str, *parts: Child) -> Markup:
    """Return the head above the sections: *kicker*, *title*, and *parts* below it."""
    above = element("p", kicker, class_="kicker"), element("h1", title, dir="auto")
    return element("div", *above, *parts, class_="head")


def verdict(name: str, value: float, *remarks: Child) -> Markup:
    """Return a score or confidence, in [0, 1], in one line with its *remarks*."""
    return element(
        "p",
        element("span", number(value), class_="big"),
        meter(value, f"{name} {number(value)} of 1", "meter wide"),
        element("span", *remarks),
        class_=f"verdict {'low' if value < LOW_CONFIDENCE else 'sure'}",
    )


def _render_section(section: model.Section) -> Markup:
    heading = f"{section.identity}-title"
    return element(
        "section",
        element("h2", section.title, id=heading),
        element("p", section.lead, class_="lead") if section.lead else None,
        render_blocks(section.blocks),
        id=section.identity,
        aria_labelledby=heading,
    )


COLORS = 10
"""Number of colors in the style sheet for the parts of a bar."""

_LONG = 320
_CLASSES = {"red": "bad", "green": "good", "yellow": "missing"}


def render_blocks(blocks: Iterable[model.Block]) -> Markup:
    """Return *blocks* as HTML. All text passes through `element`, which escapes it."""
    return join_markup(map(_render_block, blocks))


def _render_block(block: model.Block) -> Markup:
    match block:
        case model.Paragraph():
            shown = element("p", inline(block.content), class_="ahead")
        case model.FactList():
            shown = facts((_capitalise(name), inline(value)) for name, value in block.rows)
        case model.Bullets():
            items = [element("li", inline(item), dir="auto") for item in block.items]
            shown = element("ul", items, class_="advice")
        case model.Source():
            shown = element("pre", block.text, tabindex="0")
        case model.Notices():
            shown = element("ul", map(_render_notice, block.items), class_="notices")
        case model.Details():
            summary = element("summary", inline(block.summary))
            # Side by side, each table under its title.
            titles = [
                element("h4", one.title) if isinstance(one, model.Table) else None
                for one in block.blocks
            ]
            parts = zip(titles, map(_render_block, block.blocks), strict=True)
            content = element("div", [element("div", *one) for one in parts], class_="columns")
            shown = element("details", summary, content, open=block.is_open)
        case model.Entries():
            cards = [_render_card(one, f"{block.prefix}-{one.rank}") for one in block.items]
            shown = element("ol", cards, class_="cards")
        case model.Section():
            heading = element("h3", block.title, class_="plain")
            shown = join_markup(heading, render_blocks(block.blocks))
        case model.Chart():
            shown = _CHARTS[block.kind](*block.arguments)
        case _:
            shown = _render_table(block)
    return shown


def inline(content: model.Inline) -> Markup:
    """Return *content* as HTML; text of others changes no direction around it."""
    match content:
        case str():
            return join_markup(content)
        case model.CodeSpan():
            return bdi(content.text, "term") if content.text else Markup()
        case model.Figure() | model.Score():
            form = getattr(content, "form", ".3f").replace(".6f", ".3f")
            return Markup(format(content.value, form).replace("-", "−"))
        case model.Bar():
            return meter(content.share, f"{content.share:.0%}")
        case model.Styled():
            name = "b" if content.style == "bold" else "span"
            class_ = _CLASSES.get(content.style, content.style)
            return element(name, inline(content.content), class_=class_)
        case _:
            return join_markup(map(inline, content))


def _capitalise(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _render_card(entry: model.ToolEntry, anchor: str) -> Markup:
    score, name = entry.score, f"{anchor}-title"
    titles = element(
        "div",
        element("h3", bdi(entry.name), id=name),
        element("p", bdi(entry.origin), class_="dim") if entry.origin else None,
        element("p", inline(entry.figures), class_="dim"),
        class_="name",
    )
    drawn = None
    if score is not None:
        shown = element("span", number(score), class_="big", title=f"{score:.6f}")
        drawn = element("div", shown, meter(score, f"Score {number(score)} of 1"), class_="score")
    rank = element("span", str(entry.rank), class_="rank", aria_hidden="true")
    about = entry.about.text if isinstance(entry.about, model.CodeSpan) else ""
    article = element(
        "article",
        element("header", rank, titles, drawn),
        element("p", cut(about, _LONG), dir="auto", class_="description") if about else None,
        render_blocks(entry.blocks),
        class_="card",
        aria_labelledby=name,
    )
    return element("li", article, id=anchor)


def bdi(text: str, class_: str | None = None) -> Markup:
    """Write *text* so that its direction changes nothing around it."""
    return element("bdi", text, class_=class_)


def cut(text: str, length: int) -> str:
    """Shorten *text* to at most *length* characters, marking the cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def number(value: float) -> str:
    """Write *value* with three decimals."""
    return f"{value:.3f}"


def format_signed(value: float) -> str:
    """Write *value* with three decimals and its sign, a real minus."""
    return f"{value:+.3f}".replace("-", "−")


def _render_table(table: model.Table) -> Markup:
    """Write a table in a scrolling frame; the first cell of a row is its heading."""
    kinds = ["num" if column.is_number else None for column in table.columns]
    heads = [
        element("th", _capitalise(column.head), scope="col", class_=kind)
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    rows = []
    for first, *rest in table.cells:
        heading = element("th", inline(first), scope="row", class_=kinds[0])
        cells = zip(rest, kinds[1:], strict=True)
        rows.append(
            element("tr", heading, [element("td", inline(cell), class_=one) for cell, one in cells])
        )
    content = element("thead", element("tr", heads)), element("tbody", rows)
    return frame_table(table.title, *content)


def frame_table(title: str, *content: Markup) -> Markup:
    """Write a table called *title* in a frame that scrolls, and takes the focus for that."""
    table = element("table", element("caption", title), *content)
    return element("div", table, class_="frame", tabindex="0", role="region", aria_label=title)


def facts(rows: Iterable[tuple[str, Child]]) -> Markup:
    """Write names and values side by side, without those that have no value."""
    parts = [
        element("div", element("dt", name), element("dd", value)) for name, value in rows if value
    ]
    return element("dl", parts, class_="facts")


def _render_notice(item: Mapping[str, Any]) -> Markup:
    remedy = item.get("remedy")
    return element(
        "li",
        element("b", item["severity"], class_="severity"),
        " ",
        element("code", item["code"]),
        element("span", item["message"], dir="auto", class_="message"),
        element("small", bdi(item["place"])) if item["place"] else None,
        element("span", remedy, dir="auto", class_="remedy") if remedy else None,
        class_=f"notice {item['severity']}",
    )


def meter(share: float, label: str, class_: str = "meter") -> Markup:
    """Draw *share*, in [0, 1], as the filled part of a bar."""
    share = min(1.0, max(0.0, share))
    return element(
        "svg",
        element("rect", class_="track", width="100%", height="100%", rx=3),
        element("rect", class_="fill", width=f"{share:.2%}", height="100%", rx=3),
        class_=class_,
        role="img",
        aria_label=label,
    )


def stacked_bar(
    parts: Sequence[tuple[str, float]], span: tuple[float, float], colors: Mapping[str, int]
) -> Markup:
    """Draw named *parts* in a row: negative ones left of zero, others right of it.

    *span* has the smallest and the largest sum of bars in this group, low <= 0 <= high; *colors*
    the number of the color of each name.
    """
    low, high = span
    width = (high - low) or 1.0
    left = right = -low / width
    pieces = []
    for name, size in parts:
        share = abs(size) / width
        if size < 0:
            start = left = left - share
        else:
            start, right = right, right + share
        title = element("title", f"{name} {format_signed(size)}")
        class_ = f"c{colors[name] % COLORS}" + (" less" if size < 0 else "")
        place = {"x": f"{start:.3%}", "width": f"{share:.3%}"}
        pieces.append(element("rect", title, class_=class_, **place, height="100%"))
    text = ", ".join(f"{name} {format_signed(size)}" for name, size in parts) or "nothing"
    zero = f"{-low / width:.3%}"
    axis = element("line", class_="zero", x1=zero, x2=zero, y1="0", y2="100%") if low < 0 else None
    label = f"Contributions: {text}"
    return element("svg", pieces, axis, class_="stack", role="img", aria_label=label)


def legend(colors: Mapping[str, int]) -> Markup:
    """Show the meaning of the colors."""
    items = []
    for name, color in colors.items():
        rect = element("rect", width="100%", height="100%", rx=2, class_=f"c{color % COLORS}")
        items.append(element("li", element("svg", rect, class_="swatch", aria_hidden="true"), name))
    return element("ul", items, class_="legend", aria_label="Colors of the contributions")


def evidence(found: Mapping[str, Sequence[str]]) -> Markup:
    """Draw the words of the query that a match has, and those that it lacks."""
    words = [
        element("li", bdi(term), class_=kind)
        for kind, terms in (("found", found["terms"]), ("missing", found["missing"]))
        for term in terms
    ]
    if not words:
        return Markup()
    return element("ul", words, class_="terms", aria_label="Words of the query")


_CHARTS: Mapping[str, Callable[..., Markup]] = {
    "evidence": evidence,
    "joined": join_markup,
    "legend": legend,
    "stacked_bar": stacked_bar,
}
