"""Every page that a command writes, audited by axe-core in a real browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser import Axe, Browser

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
WAYS = {
    "explain": ("explain", "shipmnt refund", "--html", "{}"),
    "why-not": ("explain", "send label to buyer", "--tool", "shipment_create", "--html", "{}"),
    "eval": ("eval", "queries.yaml", "--html", "{}"),
    "plan": ("plan", "refund order 4711", "--format", "html"),
    "map": ("graph", "export", "-o", "{}"),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of the examples, by what they show."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    written = {}
    for name, words in WAYS.items():
        written[name] = folder / f"{name}.html"
        named = [word.format(written[name]) for word in words]
        done = subprocess.run(
            [sys.executable, "-m", "mcpg", *named, "-b", "tools", "-q"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        if not written[name].exists():
            written[name].write_bytes(done.stdout)
    return written


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_no_serious_finding(
    browser: Browser, axe: Axe, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    """No page has a serious or critical accessibility fault, at a desk or on a phone."""
    browser.prefer(scheme)
    browser.resize(width)
    browser.open(pages[name].as_uri())

    assert "mcpg" in browser.driver.title
    assert axe.audit(browser) == []
    assert browser.complaints() == []


def test_a_fault_is_found(browser: Browser, axe: Axe, pages: dict[str, Path]) -> None:
    """A button without a name, put into a page, is a critical finding."""
    browser.open(pages["map"].as_uri())
    browser.run("document.querySelector('main').append(document.createElement('button'))")

    assert [one.split(":")[0] for one in axe.audit(browser)] == ["critical button-name"]
