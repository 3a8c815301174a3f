"""A real browser for tests of pages: Chromium, watched, and axe-core to audit a page with.

Only tests that open a page import this module, for Selenium is imported with it.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

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


# The findings of axe-core that count, each with the elements that it is about.
AUDIT = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.impact} ${one.id}: ${one.help}: ` + one.nodes.slice(0, 5).map(
      (node) => `${node.target.join(" ")} (${node.failureSummary.replace(/\\s+/g, " ")})`
    ).join("; "))),
  (error) => done([String(error)]),
);
"""


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
        ActionChains(self.driver).send_keys(*keys).perform()

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
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


@dataclass(frozen=True)
class Axe:
    """The accessibility checks of axe-core.

    Attributes:
        script: The text of `axe.min.js`.
    """

    script: str

    def audit(self, browser: Browser) -> list[str]:
        """Return the serious and critical findings on the page that *browser* shows.

        The driver runs the script, so the page's Content Security Policy stays as it is.
        """
        browser.driver.execute_script(self.script)
        found: list[str] = browser.driver.execute_async_script(AUDIT)
        return found


@contextmanager
def started(program: str, driver: str, profile: Path) -> Iterator[Browser]:
    """Start the browser *program* by *driver* with an empty folder for its *profile*."""
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield Browser(chrome)
    finally:
        chrome.quit()
