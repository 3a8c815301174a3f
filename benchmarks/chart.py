"""Bars as an SVG picture, readable on light and on dark pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDTH, LEFT, BAR, GAP = 720, 190, 16, 26
COLORS = ("#2f6fde", "#8fa3b8", "#a9b7c6", "#c3ccd6", "#d7dde4")
STYLE = "text{font:13px system-ui,sans-serif;fill:#808890}.group{font-weight:600}"


def draw_bars(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Return a picture with a bar from 0 to 1 for each figure, by group and then by name."""
    parts: list[str] = []
    top = 34
    for group, figures in groups.items():
        parts.append(f'<text class="group" x="8" y="{top + 12}">{escape(group)}</text>')
        top += BAR + 6
        for color, (name, figure) in zip(COLORS, figures.items(), strict=False):
            width = round((WIDTH - LEFT - 60) * figure)
            parts += [
                f'<text x="{LEFT - 8}" y="{top + 12}" text-anchor="end">{escape(name)}</text>',
                f'<rect x="{LEFT}" y="{top}" width="{width}" height="{BAR}" fill="{color}"/>',
                f'<text x="{LEFT + width + 6}" y="{top + 12}">{figure:.2f}</text>',
            ]
            top += BAR + 4
        top += GAP - BAR
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<text class="group" x="8" y="18">{escape(title)}</text>'
    )
    return "\n".join((head, *parts, "</svg>\n"))
