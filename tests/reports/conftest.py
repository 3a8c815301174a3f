"""Reports of real searches, and a real browser to look at them in."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mcpg
from mcpg.evaluation.judged import read_judged
from mcpg.evaluation.report import compare, evaluate, judge, parse_bounds, report_json
from mcpg.gateway.explanation_json import explain_json, rank_explanation_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

ROOT = Path(__file__).parent.parent.parent
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
# Runs before any script of a page, and notes what must not happen.
WATCH = """
window.noticed = [];
addEventListener("securitypolicyviolation", (event) => {
  window.noticed.push(`${event.violatedDirective}: ${event.blockedURI}`);
});
addEventListener("error", (event) => window.noticed.push(String(event.message)), true);
for (const name of ["alert", "confirm", "prompt", "print", "open"]) {
  window[name] = () => window.noticed.push(name);
}
"""


@pytest.fixture(scope="session")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `explain` says on a misspelt query to the examples, as JSON has it."""
    tools = tmp_path_factory.mktemp("explained") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    return explain_json(mcpg.load(tools).explain("shipmnt refund"))


@pytest.fixture(scope="session")
def stood(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `explain --tool` says of a tool that is not first."""
    tools = tmp_path_factory.mktemp("stood") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    found = mcpg.load(tools).explain("send label to buyer", tool="shipment_create")
    assert found.tool is not None
    return explain_json(found) | {"tool": rank_explanation_json(found.tool)}


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `eval` says on the examples, compared with a ranking without the best match."""
    tools = tmp_path_factory.mktemp("evaluated") / "tools"
    shutil.copytree(ROOT / "examples/tools", tools)
    report = evaluate(mcpg.load(tools), read_judged(ROOT / "examples/queries.yaml"))
    before = [
        replace(one, matches=one.matches[place % 2 :]) for place, one in enumerate(report.outcomes)
    ]
    report = replace(report, baseline=compare(before, report.outcomes))
    bounds = [*parse_bounds("min", "ndcg@5=0.999"), *parse_bounds("max-drop", "0.5")]
    report = replace(report, gates=judge(report, tuple(bounds)))
    return report_json(report)


@dataclass
class Browser:
    """Chromium, watched."""

    driver: Chrome

    def open(self, address: str) -> None:
        """Load *address* and forget what was recorded before."""
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(address)

    def run(self, script: str) -> Any:
        """Return what *script* returns."""
        return self.driver.execute_script(script)

    def count(self, selector: str) -> int:
        """Count the elements that *selector* chooses."""
        return int(self.run(f"return document.querySelectorAll({selector!r}).length"))

    def resize(self, width: int, height: int = 900) -> None:
        """Return the page another size, and time to draw itself anew."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Two frames: one in which the page hears of it, one in which it draws.
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)));"
        )

    def prefer(self, scheme: str) -> None:
        """Prefer the colours of *scheme*, `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def press(self, *keys: str) -> None:
        """Press *keys*, one after the other, where the focus is."""
        from selenium.webdriver import ActionChains  # noqa: PLC0415 - the browser is optional

        ActionChains(self.driver).send_keys(*keys).perform()

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
        import json  # noqa: PLC0415

        events = [
            json.loads(one["message"])["message"] for one in self.driver.get_log("performance")
        ]
        return [
            one["params"]["request"]["url"]
            for one in events
            if one["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Return what the page did that it must not do: errors, violations, dialogs."""
        logged = [one["message"] for one in self.driver.get_log("browser")]
        return [*self.run("return window.noticed"), *logged]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests; without one they are skipped at a desk and fail in CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        reason = "needs chromium and chromedriver (Debian: apt install chromium chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver  # noqa: PLC0415 - the browser is optional
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        started.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield Browser(started)
    finally:
        started.quit()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser as a person with a wide screen and no wishes has it."""
    chromium.prefer("light")
    chromium.open("about:blank")
    chromium.resize(1280)
    return chromium
