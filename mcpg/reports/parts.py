"""The small parts that reports are made of: tables, meters, stacked bars, notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpg.reports.markup import Markup, element

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcpg.reports.markup import Child

COLORS = 10
"""Number of colours that the style sheet has for the parts of a bar."""


def bdi(text: str, class_: str | None = None) -> Markup:
    """Write *text* so that its direction changes nothing around it."""
    return element("bdi", text, class_=class_)


def cut(text: str, length: int) -> str:
    """Shorten *text* to at most *length* characters, marking the cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def number(value: float, decimals: int = 3) -> str:
    """Write *value* with a fixed number of decimals."""
    return f"{value:.{decimals}f}"


def signed(value: float, decimals: int = 3) -> str:
    """Write *value* with its sign, and a real minus."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def times(factor: float) -> str:
    """Write *factor* as what something is multiplied by."""
    return f"× {factor:g}".replace("-", "−")


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[Child]], *, numeric: str = ""
) -> Markup:
    """Write a table that scrolls in a frame of its own where it is too wide.

    Args:
        caption: What the table is, for those who do not see its surroundings.
        columns: Headings.
        rows: Cells; the first of a row is its heading.
        numeric: One character a column, `n` where it holds numbers.
    """
    kinds = [("num" if kind == "n" else None) for kind in numeric.ljust(len(columns))]
    head = [
        element("th", name, scope="col", class_=kind)
        for name, kind in zip(columns, kinds, strict=True)
    ]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=kinds[0]),
            [
                element("td", cell, class_=kind)
                for cell, kind in zip(row[1:], kinds[1:], strict=True)
            ],
        )
        for row in rows
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", head)),
            element("tbody", body),
        ),
        class_="frame",
        tabindex="0",
        role="region",
        aria_label=caption,
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
    told = ", ".join(f"{name} {signed(size)}" for name, size in parts) or "nothing"
    zero = f"{-low / width:.3%}"
    axis = element("line", class_="zero", x1=zero, x2=zero, y1="0", y2="100%") if low < 0 else None
    return element(
        "svg", pieces, axis, class_="stack", role="img", aria_label=f"Contributions: {told}"
    )


def _piece(name: str, size: float, start: float, share: float, color: int) -> Markup:
    return element(
        "rect",
        element("title", f"{name} {signed(size)}"),
        class_=f"c{color % COLORS}" + (" less" if size < 0 else ""),
        x=f"{start:.3%}",
        width=f"{share:.3%}",
        height="100%",
    )


def legend(colors: Mapping[str, int]) -> Markup:
    """Say which colour stands for what."""
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


def notices(items: Iterable[Mapping[str, Any]]) -> Markup:
    """Write diagnostics as JSON has them, each with its weight."""
    return element(
        "ul",
        [
            element(
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
            for item in items
        ],
        class_="notices",
    )


def facts(rows: Iterable[tuple[str, Child]]) -> Markup:
    """Write names and values side by side."""
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", value))
            for name, value in rows
            if value is not None
        ],
        class_="facts",
    )
