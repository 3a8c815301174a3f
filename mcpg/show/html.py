"""HTML: blocks, bars, and the page that every report stands on, closed to the network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from importlib.resources import files
from typing import Any

from mcpg import __version__
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


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a chart: two shares in [0, 1]."""

    x: float
    y: float

    @property
    def from_left(self) -> float:
        """Distance from the left edge, in units of the drawing."""
        return round(_LEFT + self.x * (_WIDTH - _LEFT - _RIGHT), 2)

    @property
    def from_top(self) -> float:
        """Distance from the upper edge, in units of the drawing."""
        return round(_TOP + (1 - self.y) * (_HEIGHT - _TOP - _BOTTOM), 2)


def reliability_diagram(bins: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw for each bin of scores how many of its answers were right, against what it claimed.

    On the diagonal a score is the probability that it says it is (DeGroot and Fienberg 1983, The
    comparison and evaluation of forecasters). The area of a mark grows with the number of queries.

    Args:
        bins: Objects with `low`, `high`, `meanScore`, `precision` and `count`, as `eval` has them.
    """
    shown = [one for one in bins if one["precision"] is not None and one["count"]]
    most = max((one["count"] for one in shown), default=1)
    return _chart(
        f"Reliability diagram: share of right answers by score, in {len(shown)} bins",
        ("Mean score of the bin", "Share of right answers"),
        [
            _line(Point(0, 0), Point(1, 1), "ideal"),
            [_line(_place(one), Point(one["meanScore"], one["meanScore"]), "gap") for one in shown],
            _path([_place(one) for one in shown]),
            [_mark(one, most) for one in shown],
        ],
    )


def coverage_curve(curve: Sequence[Mapping[str, Any]], low: float) -> Markup:
    """Draw how many answers are right among those that score at least as high as a threshold.

    Args:
        curve: Objects with `threshold`, `coverage` and `precision`, as `eval` has them.
        low: The threshold below which a search says that it is not sure.
    """
    shown = [one for one in curve if one["precision"] is not None]
    points = [Point(one["coverage"], one["precision"]) for one in shown]
    return _chart(
        "Precision by coverage, for thresholds of the score from 0 to 1",
        ("Coverage: share of queries that are answered", "Precision: share of right answers"),
        [
            _path(points),
            [_step(one, point, low) for one, point in zip(shown, points, strict=True)],
            list(_labels(shown, points)),
        ],
    )


def _place(one: Mapping[str, Any]) -> Point:
    return Point(one["meanScore"], one["precision"])


def _mark(one: Mapping[str, Any], most: int) -> Markup:
    size = _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(one["count"] / most)
    queries = format_count(one["count"], "query", "queries")
    text = (
        f"Scores {one['low']:.2f} to {one['high']:.2f}: {queries}, mean score "
        f"{one['meanScore']:.3f}, right {one['precision']:.3f}"
    )
    return _dot(_place(one), size, "mark", text)


def _step(one: Mapping[str, Any], point: Point, low: float) -> Markup:
    text = (
        f"Threshold {one['threshold']:.2f}: {one['coverage']:.1%} answered, "
        f"{one['precision']:.1%} of them right"
    )
    is_low = math.isclose(one["threshold"], low)
    return _dot(point, 7.0 if is_low else 3.5, "mark default" if is_low else "mark", text)


def _labels(shown: Sequence[Mapping[str, Any]], points: Sequence[Point]) -> Iterator[Markup]:
    """Name thresholds beside the curve, as many as keep apart."""
    last: Point | None = None
    for one, point in zip(shown, points, strict=True):
        if (
            last is None
            or math.hypot(point.from_left - last.from_left, point.from_top - last.from_top)
            >= _APART
        ):
            last = point
            yield element(
                "text",
                f"{one['threshold']:g}",
                x=point.from_left,
                y=point.from_top + (22 if point.y > _HIGH else -12),
                text_anchor="end" if point.x > _RIGHTMOST else "middle",
                class_="note",
            )


def _dot(point: Point, size: float, class_: str, title: str) -> Markup:
    return element(
        "circle",
        element("title", title),
        cx=point.from_left,
        cy=point.from_top,
        r=round(size, 2),
        class_=class_,
    )


def _line(start: Point, end: Point, class_: str) -> Markup:
    return element(
        "line",
        x1=start.from_left,
        y1=start.from_top,
        x2=end.from_left,
        y2=end.from_top,
        class_=class_,
    )


def _path(points: Sequence[Point]) -> Markup | None:
    if not points:
        return None
    places = " ".join(f"{point.from_left:g},{point.from_top:g}" for point in points)
    return element("polyline", points=places, class_="curve")


def _chart(label: str, axes: tuple[str, str], content: list[Any]) -> Markup:
    across, up = axes
    middle = Point(0.5, 0.5)
    return element(
        "svg",
        [_tick(value) for value in _TICKS],
        element(
            "text", across, x=middle.from_left, y=_HEIGHT - 8, text_anchor="middle", class_="axis"
        ),
        element(
            "text",
            up,
            text_anchor="middle",
            class_="axis",
            transform=f"translate(14 {middle.from_top:g}) rotate(-90)",
        ),
        content,
        class_="chart",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_label=label,
    )


def _tick(value: float) -> list[Markup]:
    across, up = Point(value, 0), Point(0, value)
    return [
        _line(across, Point(value, 1), "grid"),
        _line(up, Point(1, value), "grid"),
        element(
            "text", f"{value:g}", x=across.from_left, y=across.from_top + 18, text_anchor="middle"
        ),
        element("text", f"{value:g}", x=up.from_left - 8, y=up.from_top + 4, text_anchor="end"),
    ]


# What is written into every report: styles, scripts, and the drawing library.
#
# The library is D3: twelve of its modules, as published on the npm registry, whose names, versions
# and hashes stand in `assets/vendor/vendored.json`. They draw SVG, so that every node is an
# element of the page: it takes the focus, has a name for screen readers, follows the theme and
# prints sharp.


_FOLDER = files("mcpg.show") / "assets"
_VENDOR = _FOLDER / "vendor"
_FORCES = ("d3-quadtree", "d3-force")


@cache
def asset(name: str) -> str:
    """Return the text of the file *name* of this package."""
    return (_FOLDER / name).read_text("utf-8")


def read_vendored_files() -> list[dict[str, Any]]:
    """Return the record of each vendored file, in the order in which they are to be run."""
    records: list[dict[str, Any]] = json.loads((_VENDOR / "vendored.json").read_text("utf-8"))
    return records


@cache
def drawing_library(*, has_forces: bool = False) -> str:
    """Return the vendored modules as one script, with their licence.

    Args:
        has_forces: Whether to include those that place nodes by forces between them.
    """
    licence = (_VENDOR / "D3-LICENSE.txt").read_text("utf-8")
    records = [one for one in read_vendored_files() if has_forces or one["package"] not in _FORCES]
    modules = [(_VENDOR / record["file"]).read_text("utf-8") for record in records]
    return "\n".join([f"/*\n{licence}*/", *modules])


GENERATOR = f"mcpg {__version__}"
_FOOTER = f"Made by {GENERATOR}. This file needs no network."
_DATA = "report-data"


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
    """Return a report as the text of an HTML file.

    Args:
        kind: The command that made it.
        title: Title of the window.
        head: What stands above the sections.
        sections: The parts, in order.
        data: What the scripts draw, a JSON value.
        scripts: Trusted JavaScript, run in order after the page's own.
        is_framed: Whether it is shown within another page, without a banner and a footer.
    """
    style, script = asset("report.css"), "\n".join([asset("page.js"), *scripts])
    body = join_markup(
        None if is_framed else _opening(kind, sections),
        element("main", head, map(_section, sections), id="main", tabindex="-1"),
        None if is_framed else element("footer", element("p", _FOOTER)),
        embed_json(data, _DATA),
        verbatim("script", script),
    )
    top = join_markup(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=GENERATOR),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        verbatim("style", style),
    )
    opening = f'{MARK.decode()}"{kind}">\n'
    return f"{opening}<head>{top}</head>\n<body>\n{body}\n</body>\n</html>\n"


def _policy(style: str, script: str) -> str:
    """Allow the two inline texts by their hashes, the empty icon, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _opening(kind: str, sections: Sequence[model.Section]) -> Markup:
    skip = element("a", "Skip to the report", class_="skip", href="#main")
    return join_markup(skip, _banner(kind, sections))


def _banner(kind: str, sections: Sequence[model.Section]) -> Markup:
    links = [element("li", element("a", one.title, href=f"#{one.identity}")) for one in sections]
    themes = [
        element("option", name, value=name.lower(), selected=name == "Auto")
        for name in ("Auto", "Light", "Dark")
    ]
    return element(
        "header",
        element("span", "mcpg ", element("b", kind), class_="brand"),
        element("nav", element("ul", links), aria_label="Sections"),
        element("label", "Theme ", element("select", themes, id="theme", autocomplete="off")),
        class_="banner",
    )


def _section(section: model.Section) -> Markup:
    heading = f"{section.identity}-title"
    return element(
        "section",
        element("h2", section.title, id=heading),
        element("p", section.lead, class_="lead") if section.lead else None,
        render_blocks(section.blocks),
        id=section.identity,
        aria_labelledby=heading,
    )


# Blocks


COLORS = 10
"""Number of colours that the style sheet has for the parts of a bar."""

_LONG = 320
_CLASSES = {"red": "bad", "green": "good", "yellow": "missing"}


def render_blocks(blocks: Iterable[model.Block]) -> Markup:
    """Return *blocks* as HTML. All text passes through `element`, which escapes it."""
    return join_markup(map(_block, blocks))


@singledispatch
def _block(block: model.Block) -> Markup:
    raise TypeError(type(block).__name__)


@_block.register(model.Paragraph)
def _paragraph(block: model.Paragraph) -> Markup:
    return element("p", inline(block.content), class_="ahead")


@_block.register(model.FactList)
def _facts(block: model.FactList) -> Markup:
    return facts((_capitalise(name), inline(value)) for name, value in block.rows)


@_block.register(model.Bullets)
def _bullets(block: model.Bullets) -> Markup:
    items = [element("li", inline(item), dir="auto") for item in block.items]
    return element("ul", items, class_="advice")


@_block.register(model.Source)
def _source(block: model.Source) -> Markup:
    return element("pre", block.text, tabindex="0")


@_block.register(model.Notices)
def _notices(block: model.Notices) -> Markup:
    return element("ul", map(_notice, block.items), class_="notices")


@_block.register(model.Details)
def _details(block: model.Details) -> Markup:
    parts = [element("div", _render_titled(one)) for one in block.blocks]
    content = element("div", parts, class_="columns")
    return element(
        "details", element("summary", inline(block.summary)), content, open=block.is_open
    )


@_block.register(model.Entries)
def _entries(block: model.Entries) -> Markup:
    cards = [_card(one, f"{block.prefix}-{one.rank}") for one in block.items]
    return element("ol", cards, class_="cards")


@_block.register(model.Section)
def _render_nested(block: model.Section) -> Markup:
    return join_markup(element("h3", block.title, class_="plain"), render_blocks(block.blocks))


@_block.register(model.Chart)
def _draw_chart(block: model.Chart) -> Markup:
    return _CHARTS[block.kind](*block.arguments)


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


def _render_titled(block: model.Block) -> Markup:
    """Return a block that is one of several side by side, under its title."""
    title = element("h4", block.title) if isinstance(block, model.Table) else None
    return join_markup(title, _block(block))


def _capitalise(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _card(entry: model.ToolEntry, anchor: str) -> Markup:
    score = entry.score
    header = element(
        "header",
        element("span", str(entry.rank), class_="rank", aria_hidden="true"),
        element(
            "div",
            element("h3", bdi(entry.name), id=f"{anchor}-title"),
            element("p", bdi(entry.origin), class_="dim") if entry.origin else None,
            element("p", inline(entry.figures), class_="dim"),
            class_="name",
        ),
        None
        if score is None
        else element(
            "div",
            element("span", number(score), class_="big", title=f"{score:.6f}"),
            meter(score, f"Score {number(score)} of 1"),
            class_="score",
        ),
    )
    about = entry.about.text if isinstance(entry.about, model.CodeSpan) else ""
    description = element("p", cut(about, _LONG), dir="auto", class_="description")
    article = element(
        "article",
        header,
        description if about else None,
        render_blocks(entry.blocks),
        class_="card",
        aria_labelledby=f"{anchor}-title",
    )
    return element("li", article, id=anchor)


def bdi(text: str, class_: str | None = None) -> Markup:
    """Write *text* so that its direction changes nothing around it."""
    return element("bdi", text, class_=class_)


def cut(text: str, length: int) -> str:
    """Shorten *text* to at most *length* characters, marking the cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def number(value: float, decimals: int = 3) -> str:
    """Write *value* with a fixed number of decimals."""
    return f"{value:.{decimals}f}"


def format_signed(value: float, decimals: int = 3) -> str:
    """Write *value* with its sign, and a real minus."""
    return f"{value:+.{decimals}f}".replace("-", "−")


@_block.register(model.Table)
def _table(table: model.Table) -> Markup:
    """Write a table that scrolls in a frame of its own; the first cell of a row is its heading."""
    kinds = ["num" if column.is_number else None for column in table.columns]
    heads = [
        element("th", _capitalise(column.head), scope="col", class_=kind)
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    rows = [
        element(
            "tr",
            [
                element("td", inline(cell), class_=kind)
                if place
                else element("th", inline(cell), scope="row", class_=kind)
                for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
            ],
        )
        for row in table.cells
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", table.title),
            element("thead", element("tr", heads)),
            element("tbody", rows),
        ),
        class_="frame",
        tabindex="0",
        role="region",
        aria_label=table.title,
    )


def facts(rows: Iterable[tuple[str, Child]]) -> Markup:
    """Write names and values side by side, without those that have no value."""
    parts = [
        element("div", element("dt", name), element("dd", value)) for name, value in rows if value
    ]
    return element("dl", parts, class_="facts")


def _notice(item: Mapping[str, Any]) -> Markup:
    return element(
        "li",
        element("b", item["severity"], class_="severity"),
        " ",
        element("code", item["code"]),
        element("span", item["message"], dir="auto", class_="message"),
        element("small", bdi(item["place"])) if item["place"] else None,
        element("span", item["remedy"], dir="auto", class_="remedy")
        if item.get("remedy")
        else None,
        class_=f"notice {item['severity']}",
    )


# Bars


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
    """Draw named *parts* one after the other: the negative left of zero, the others right of it.

    Args:
        parts: Names and sizes.
        span: The smallest and the largest sum that bars of this group reach; low <= 0 <= high.
        colors: Number of the colour of each name.
    """
    low, high = span
    width = (high - low) or 1.0
    reach = {True: -low / width, False: -low / width}
    pieces = []
    for name, size in parts:
        share = abs(size) / width
        negative = size < 0
        start = reach[negative] - share if negative else reach[negative]
        reach[negative] += -share if negative else share
        pieces.append(_piece(name, size, start, share, colors[name]))
    text = ", ".join(f"{name} {format_signed(size)}" for name, size in parts) or "nothing"
    zero = f"{-low / width:.3%}"
    axis = element("line", class_="zero", x1=zero, x2=zero, y1="0", y2="100%") if low < 0 else None
    return element(
        "svg", pieces, axis, class_="stack", role="img", aria_label=f"Contributions: {text}"
    )


def _piece(name: str, size: float, start: float, share: float, color: int) -> Markup:
    return element(
        "rect",
        element("title", f"{name} {format_signed(size)}"),
        class_=f"c{color % COLORS}" + (" less" if size < 0 else ""),
        x=f"{start:.3%}",
        width=f"{share:.3%}",
        height="100%",
    )


def legend(colors: Mapping[str, int]) -> Markup:
    """Show which colour stands for what."""
    return element(
        "ul",
        [element("li", swatch(color), name) for name, color in colors.items()],
        class_="legend",
        aria_label="Colours of the contributions",
    )


def swatch(color: int) -> Markup:
    """Draw one colour of a legend."""
    return element(
        "svg",
        element("rect", width="100%", height="100%", rx=2, class_=f"c{color % COLORS}"),
        class_="swatch",
        aria_hidden="true",
    )


def evidence(found: Mapping[str, Sequence[str]]) -> Markup:
    """Draw the words of the query that a match has, and those that it lacks."""
    words = [
        element("li", bdi(term), class_=kind)
        for kind, terms in (("found", found["terms"]), ("missing", found["missing"]))
        for term in terms
    ]
    return (
        element("ul", words, class_="terms", aria_label="Words of the query")
        if words
        else join_markup()
    )


_CHARTS: Mapping[str, Callable[..., Markup]] = {
    one.__name__: one
    for one in (evidence, legend, stacked_bar, reliability_diagram, coverage_curve)
} | {"joined": join_markup}
