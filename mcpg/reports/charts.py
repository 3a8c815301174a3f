"""Charts of calibration, as SVG that needs no script: every mark has its numbers in its title."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpg.text.markup import Markup, element
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
