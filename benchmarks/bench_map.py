"""The map of a catalogue in Chromium: how long it takes to stand, and how long its frames last.

    python benchmarks/bench_map.py [--sizes 250,1000,2000]

The catalogues are made, and written as a map by `mcpg graph export`. The browser has a window of
1280 by 900 pixels and no graphics card. It needs `chromium` and `chromedriver`.

Columns: milliseconds from the opened page until the map stands, then the median and the 95th
percentile of the frames, in milliseconds, during 40 steps of zooming, of dragging, and of pointing
from node to node.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from typing import TYPE_CHECKING

import catalogues
import measuring
from measuring import percentile, program, row, run

sys.path.insert(0, str(measuring.HERE.parent / "tests"))

import browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEPS = 40
CONTROL = 2  # the modifier of Chromium's protocol
BUSY = "return document.getElementById('graph-canvas')?.getAttribute('aria-busy') !== 'false'"
WATCH = """
window.frames_ = [];
window.isWatching = true;
let last = performance.now();
(function frame() {
  const now = performance.now();
  frames_.push(now - last);
  last = now;
  if (isWatching) requestAnimationFrame(frame);
})();
"""
WATCHED = "isWatching = false; return frames_.slice(2)"


def exported(count: int, folder: Path) -> Path:
    """Write the map of *count* made tools."""
    tools, page = folder / "tools.json", folder / f"map-{count}.html"
    tools.write_text(json.dumps({"tools": catalogues.make_tools(count)}), "utf-8")
    run([*program(), "graph", "export", "-b", str(tools), "-o", str(page)])
    return page


def standing(chrome: browser.Browser, page: Path) -> float:
    """Open *page* and return the milliseconds until its map stands."""
    start = time.perf_counter()
    chrome.open(page.as_uri())
    while chrome.run(BUSY):
        time.sleep(0.01)
    return 1000 * (time.perf_counter() - start)


def gestures(left: float, top: float) -> Iterator[list[dict[str, object]]]:
    """Return the events of a zoom in and out, a drag, and a walk of the pointer."""
    zoom = {"type": "mouseWheel", "deltaX": 0, "modifiers": CONTROL, "x": left, "y": top}
    yield [zoom | {"deltaY": -40 if step < STEPS / 2 else 40} for step in range(STEPS)]
    held = {"button": "left", "buttons": 1, "clickCount": 1}
    places = [{"x": left + 3 * step, "y": top + step} for step in range(STEPS)]
    yield [
        {"type": "mousePressed"} | held | places[0],
        *({"type": "mouseMoved"} | held | place for place in places),
        {"type": "mouseReleased"} | held | places[-1],
    ]
    yield [{"type": "mouseMoved"} | place for place in places]


def frames(chrome: browser.Browser, events: list[dict[str, object]]) -> tuple[float, float]:
    """Return the median and the 95th percentile of the frames during *events*."""
    chrome.run(WATCH)
    for event in events:
        chrome.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    times = chrome.run(WATCHED)
    return percentile(times, 0.5), percentile(times, 0.95)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="250,1000,2000")
    sizes = [int(one) for one in parser.parse_args().sizes.split(",")]
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if driver is None or chromium is None:
        print("chromium and chromedriver are not here")
        return
    print(
        row(
            "tools",
            "stands",
            *(f"{one} {p}" for one in ("zoom", "drag", "point") for p in (50, 95)),
        )
    )
    with (
        measuring.workshop(None) as folder,
        browser.started(chromium, driver, folder / "profile") as chrome,
    ):
        for count in sizes:
            stands = standing(chrome, exported(count, folder))
            chrome.run("document.getElementById('graph-canvas').scrollIntoView()")
            spans = [frames(chrome, events) for events in gestures(420, 320)]
            print(row(f"{count:,}", stands, *(one for span in spans for one in span)))


if __name__ == "__main__":
    main()
