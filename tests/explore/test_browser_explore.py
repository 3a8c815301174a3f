"""The page in a real browser: by typing, by clicking, by keyboard alone, on a phone."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from exploring import mcpg_run, opened, serving, started_command

import mcpg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser import Axe, Browser
    from exploring import Served

DEADLINE = 30
ENTER, LEFT, DOWN, RIGHT, TAB = "\ue007", "\ue012", "\ue015", "\ue014", "\ue004"
"""Keys as WebDriver names them (section 17.4.2)."""
MATCHES = "[...document.querySelectorAll('#matches [role=option]')]"
IDS = (
    f"return {MATCHES}.filter((one) => !one.closest('[role=group]'))"
    ".map((one) => one.querySelector('.id bdi').textContent)"
)
MISSPELT = "shipmnt refund order details"


class Visit:
    """The page as somebody uses it."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser = browser
        browser.open("about:blank")  # else only the fragment would change
        browser.open(address)
        self.until("return document.querySelector('#catalogue').textContent")

    def until(self, script: str, wanted: Any = None) -> Any:
        """Return what *script* returns once that is true, or *wanted*."""
        end = time.monotonic() + DEADLINE
        found = None
        while time.monotonic() < end:
            found = self.browser.run(script)
            if found if wanted is None else found == wanted:
                return found
            time.sleep(0.05)
        pytest.fail(f"{script} gives {found!r}, not {wanted!r}")

    def text(self, selector: str) -> str:
        """Return the text of the first element that *selector* chooses, "" without one."""
        return str(
            self.browser.run(f"return document.querySelector({selector!r})?.textContent ?? ''")
        )

    def has(self, selector: str, part: str) -> None:
        """Wait until the element that *selector* chooses has *part* in its text."""
        script = (
            f"return (document.querySelector({selector!r})?.textContent ?? '').includes({part!r})"
        )
        self.until(script)

    def click(self, selector: str) -> None:
        """Click what *selector* chooses, once it is there."""
        self.until(f"return Boolean(document.querySelector({selector!r}))")
        self.browser.run(f"document.querySelector({selector!r}).click()")

    def type(self, selector: str, text: str) -> None:
        """Put *text* into a field in place of what it has, key by key."""
        self.browser.run(
            f"const f = document.querySelector({selector!r}); f.value = ''; f.focus();"
            "f.dispatchEvent(new Event('input', { bubbles: true }))"
        )
        self.browser.press(*text)

    def ask(self, query: str) -> None:
        """Type *query* and wait for its matches."""
        self.type("#query", query)
        self.first(mcpg.load("graph.mdld").search(query).matches)

    def first(self, matches: Any) -> None:
        """Wait until these are the matches."""
        self.until(IDS, [one.tool_id for one in matches])


@pytest.fixture
def visit(browser: Browser, page: Served) -> Iterator[Visit]:
    """A visit, after which the browser must have nothing to complain of."""
    visit = Visit(browser, page.server.address)
    yield visit
    assert browser.complaints() == []
    assert page.faults == []
    host = f"http://127.0.0.1:{page.port}/"
    assert all(one.startswith((host, "data:,", "about:")) for one in browser.requests())


def test_matches_appear_as_one_types(visit: Visit) -> None:
    """The matches are those of a search, with a count that is announced."""
    visit.ask("where is my parcel")
    visit.has("#status[role=status]", "5 matches, best score 0.85")
    visit.has("#detail-name", "shipment_status")
    visit.ask("cancel a meetng")
    visit.has("#reading", "meetng → meeting")
    assert "token" not in visit.browser.driver.current_url
    assert "#" not in visit.browser.driver.current_url


def test_every_state_has_words(visit: Visit) -> None:
    """No query, no match and low confidence are each told."""
    visit.first(mcpg.load("graph.mdld").search(None).matches)
    visit.type("#query", "qqqqq")
    visit.has("#nothing", "No tool matches.")
    visit.has("#status", "No match")
    visit.has("#reading", "qqqqq in no tool")
    visit.ask("weather tomorrow zzz")
    visit.has("#status.low", "low confidence")


def test_why_shows_what_the_score_is_the_sum_of(visit: Visit) -> None:
    """The table of a match holds every feature that contributes, as the explanation has it."""
    visit.ask(MISSPELT)
    (match,) = mcpg.load("graph.mdld").explain(MISSPELT, limit=1).matches
    visit.has("#panel h3", f"Fused score {match.fused_score:.2f}")
    shown = visit.browser.run(
        "return document.querySelector('#panel table').querySelectorAll('tbody tr').length"
    )
    assert shown == sum(1 for part in match.contributions if part.contribution)


def test_why_not_and_its_change(visit: Visit) -> None:
    """A tool that is picked by a part of its name is compared, and the smallest change tried."""
    visit.ask(MISSPELT)
    visit.type("#another", "voice")
    visit.until("return document.querySelectorAll('#others [role=option]').length", 1)
    visit.browser.press(ENTER)
    visit.has("#detail-name", "invoice_get")
    visit.has("#panel .change", "Then: rank 1")
    standing = mcpg.load("graph.mdld").explain(MISSPELT, tool="invoice_get").tool
    visit.has("#panel .big", f"Rank {standing.rank}")

    visit.click("#panel .change button")
    visit.has(".tried .big", "Rank 1")
    visit.has(".tried tr.own", "invoice_get")


def test_a_hint_is_tried_saved_and_bundled(visit: Visit, folder: Path) -> None:
    """The rank that a tried hint promises is the rank after it is saved and bundled."""
    query = "give me the paperwork"
    visit.ask(query)
    visit.type("#another", "invoice_get")
    visit.until("return document.querySelectorAll('#others [role=option]').length", 1)
    visit.click("#others [role=option]")
    visit.click("#tab-hints")
    visit.type("#hint-keywords", "paperwork")
    visit.has(".tried .big", "Rank 1")
    visit.has(".tried + .actions, .actions", "hints/explore.hints.yaml")

    visit.click(".actions .primary")
    visit.has("#saving .diff", '+    keywords: ["paperwork"]')
    file = folder / "hints" / "explore.hints.yaml"
    assert not file.exists()
    visit.click("#saving .primary")
    visit.has(".saved", "mcpg bundle")
    assert file.read_text("utf-8") == 'tools:\n  invoice_get:\n    keywords: ["paperwork"]\n'

    assert mcpg_run("bundle", "tools", str(file), "-o", "graph.mdld", "-q") == 0
    visit.has("#told", "Loaded again")
    visit.first(mcpg.load("graph.mdld").search(query).matches)
    assert visit.browser.run(IDS)[0] == "invoice_get"


def test_a_generated_text_is_reviewed_and_promoted(visit: Visit, folder: Path) -> None:
    """A generated text shows what is wrong with it, and is promoted into the author's hints."""
    (folder / "texts.generated.hints.json").write_text(
        json.dumps(
            {
                "tools": {
                    "invoice_get": {"aliases": ["zebra papers"], "examples": ["cancel an order"]},
                    "order_get": {"aliases": ["zebra papers"]},
                }
            }
        ),
        "utf-8",
    )
    sources = ("tools", "texts.generated.hints.json")
    assert mcpg_run("bundle", *sources, "-o", "graph.mdld", "-q") == 0
    visit.has("#told", "Loaded again")
    visit.ask("zebra papers")
    visit.type("#another", "invoice_get")
    visit.until("return document.querySelectorAll('#others [role=option]').length", 1)
    visit.click("#others [role=option]")
    visit.click("#tab-hints")
    visit.click(".generated summary")
    visit.has(".generated table", "shared with order_get")
    visit.has(".generated table", "order_cancel is first")

    visit.click(".generated tbody button")
    visit.has(".tried .big", "Rank 1")
    visit.click(".actions .primary")
    visit.has("#saving .diff", '+    aliases: ["zebra papers"]')


def rebuilt(visit: Visit, folder: Path, keyword: str) -> None:
    """Build the bundle anew with other hints, and wait until what has the focus is made anew."""
    (folder / "more.hints.yaml").write_text(
        f"tools:\n  invoice_get: {{keywords: [{keyword}]}}\n", "utf-8"
    )
    visit.browser.run("document.activeElement.dataset.old = ''")
    assert mcpg_run("bundle", "tools", "more.hints.yaml", "-o", "graph.mdld", "-q") == 0
    visit.until("return document.querySelector('[data-old]') === null")


def test_a_reload_keeps_the_focus_and_the_text_cursor(visit: Visit, folder: Path) -> None:
    """Keys that follow a reload of the bundle reach the field that is typed into."""
    visit.ask("where is my parcel")
    visit.click("#tab-hints")
    visit.type("#hint-keywords", "zera")
    visit.browser.press(LEFT, LEFT)
    rebuilt(visit, folder, "paperwork")
    visit.browser.press("b")
    visit.until("return document.querySelector('#hint-keywords').value", "zebra")
    assert visit.browser.run("return document.activeElement.id") == "hint-keywords"

    visit.click("#right")
    visit.has("#right", "✓")
    visit.click("[data-view=judged]")
    visit.has("#judged", "where is my parcel")
    visit.browser.run("document.querySelector('#judged .plain-link').focus()")
    rebuilt(visit, folder, "paper")
    assert visit.browser.run("return document.activeElement.textContent") == "where is my parcel"


def test_a_save_of_what_changed_meanwhile_is_shown_again(visit: Visit, folder: Path) -> None:
    """When the file changes after its changes were shown, they are shown anew and nothing lost."""
    file = folder / "hints" / "explore.hints.yaml"
    visit.ask("where is my parcel")
    visit.click("#tab-hints")
    visit.type("#hint-aliases", "parcel radar")
    visit.click(".actions .primary:not(:disabled)")
    visit.has("#saving .diff", "parcel radar")
    file.parent.mkdir()
    file.write_text("# mine\ntools:\n  order_get: {tags: [x]}\n", "utf-8")
    visit.click("#saving .primary")
    visit.has("#saving [role=alert]", "has changed")
    assert "radar" not in file.read_text("utf-8")
    visit.has("#saving .diff", "# mine")
    visit.click("#saving .primary:not(:disabled)")
    visit.has(".saved", "Saved")
    assert file.read_text("utf-8").startswith("# mine\ntools:\n  order_get: {tags: [x]}\n")
    assert "parcel radar" in file.read_text("utf-8")
    # Chromium logs the refusal itself.
    (logged,) = visit.browser.driver.get_log("browser")
    assert "409" in logged["message"]


def test_judged_queries_are_collected_and_measured(visit: Visit, capsys: Any) -> None:
    """A click writes a judged query, another takes it back, and `mcpg eval` reads the file."""
    visit.ask("where is my parcel")
    visit.click("#right")
    visit.has("#matches", "✓ right")
    visit.ask("weather tomorrow zzz")
    visit.click("#none-right")
    visit.has("#none-right", "✓")
    lines = Path("judged.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"query": "where is my parcel", "relevant": ["shipment_status"]},
        {"query": "weather tomorrow zzz", "relevant": []},
    ]
    capsys.readouterr()
    assert mcpg_run("eval", "judged.jsonl", "-b", "graph.mdld", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["rank"] for one in report["perQuery"]] == [1, None]

    visit.click("[data-view=judged]")
    visit.has("#judged", "1 of 1")
    visit.click("#judged tbody tr button[aria-label]")
    visit.until("return document.querySelectorAll('#judged tbody tr').length", 1)


def test_a_trial_tells_what_it_does_to_judged_queries(visit: Visit) -> None:
    """Beside the ranking stands how many judged queries get better or worse."""
    visit.ask("where is my parcel")
    visit.click("#right")
    visit.has("#matches", "✓ right")
    visit.ask("every scan of the parcel so far")
    visit.has("#detail-name", "shipment_events")
    visit.click("#tab-hints")
    visit.type("#hint-aliases", "where is my parcel")
    visit.has(".tried", "Of 1 judged query: 0 better, 1 worse, nDCG@5 1.00 to 0.63")


def test_by_keyboard_alone(visit: Visit) -> None:
    """From the query to a saved hint and back without a pointer; the focus is never lost."""
    browser = visit.browser
    active = "return document.activeElement.id"
    assert visit.until(active) == "query"
    browser.press(*MISSPELT)
    visit.first(mcpg.load("graph.mdld").search(MISSPELT).matches)
    browser.press(DOWN)
    second = browser.run(IDS)[1]
    visit.has("#detail-name", second)
    assert browser.run(
        "return document.querySelector('#query').getAttribute('aria-activedescendant')"
    )
    assert browser.run(active) == "query"
    browser.press(ENTER)
    visit.until(active, "tab-why")
    browser.press(RIGHT)
    visit.until(active, "tab-why-not")
    visit.has("#panel", "Rank 2")
    browser.press(RIGHT)
    visit.until(active, "tab-hints")
    browser.press(TAB, TAB)
    visit.until(active, "hint-aliases")
    browser.press(*MISSPELT)
    visit.has(".tried .big", "Rank 1")
    visit.until("return !document.querySelector('.actions .primary').disabled")
    browser.run("document.querySelector('.actions .primary').focus()")
    browser.press(ENTER)
    visit.until("return document.querySelector('#saving').open")
    browser.press(ENTER)
    visit.has(".saved", "Saved")
    assert browser.run("return document.activeElement.textContent").startswith("Save to")


def test_what_is_typed_outlives_a_look_elsewhere(visit: Visit) -> None:
    """Hints that are typed stay with their tool; the query stays when the page is loaded again."""
    visit.ask("where is my parcel")
    visit.click("#tab-hints")
    visit.type("#hint-keywords", "zebra")
    visit.click("#matches [role=option]:nth-child(2)")
    visit.has("#detail-name", "pickup_point_search")
    assert visit.browser.run("return document.querySelector('#hint-keywords').value") == ""
    visit.click("#matches [role=option]")
    visit.has("#tab-hints", "edited")
    assert visit.browser.run("return document.querySelector('#hint-keywords').value") == "zebra"
    visit.browser.driver.refresh()
    visit.first(mcpg.load("graph.mdld").search("where is my parcel").matches)
    assert visit.browser.driver.title == "where is my parcel · mcpg explore"


def test_a_search_that_fails_is_told_and_forgotten(
    browser: Browser, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that fails is reported; a tool can be picked still, and the next one works."""
    visit = Visit(browser, page.server.address)
    answers = page.server.explorer.answers
    real = answers["explain"]

    def fail(body: dict[str, Any]) -> Any:
        if body["query"] == "boom" and "tool" not in body:
            raise ZeroDivisionError
        return real(body)

    monkeypatch.setattr(page.server.explorer, "answers", {**answers, "explain": fail})
    visit.type("#query", "boom")
    visit.has("#nothing .notice", "failed unexpectedly: ZeroDivisionError")
    visit.type("#another", "invoice_get")
    visit.until("return document.querySelectorAll('#others [role=option]').length", 1)
    visit.browser.press(ENTER)
    visit.has("#detail-name", "invoice_get")
    visit.has("#panel", "Not found")
    visit.ask("where is my parcel")
    assert {type(one) for one in page.faults} == {ZeroDivisionError}


def test_late_answers_are_dropped(visit: Visit) -> None:
    """However fast one types, the matches are those of the query that stands there."""
    visit.browser.run(
        "const real = fetch; window.fetch = async (...given) => {"
        "  const answer = await real(...given);"
        "  const { query } = JSON.parse(given[1].body);"
        "  if (query === 'refund') await new Promise((done) => setTimeout(done, 1500));"
        "  return answer; }"
    )
    visit.type("#query", "refund")
    time.sleep(0.4)
    visit.ask("where is my parcel")
    time.sleep(1.5)
    visit.first(mcpg.load("graph.mdld").search("where is my parcel").matches)


def test_two_tabs_at_once(visit: Visit, browser: Browser, page: Served) -> None:
    """Two tabs hold two queries, and a judgement in one is known to the other."""
    visit.ask("where is my parcel")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    try:
        second = Visit(browser, page.server.address)
        second.ask("cancel the order")
        second.click("#right")
        second.has("#matches", "✓ right")
    finally:
        browser.driver.close()
        browser.driver.switch_to.window(first)
    visit.first(mcpg.load("graph.mdld").search("where is my parcel").matches)
    visit.click("[data-view=judged]")
    visit.has("#judged", "cancel the order")


def test_a_server_that_is_gone_is_told(browser: Browser, folder: Path) -> None:
    """Ctrl-C ends the command quietly; the page says that it is gone, and keeps what it shows."""
    with started_command(folder, "where", "is", "my", "parcel") as (process, address):
        visit = Visit(browser, address)
        visit.first(mcpg.load("graph.mdld").search("where is my parcel").matches)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0
        assert process.stderr.read() == ""
        visit.has("#fault .notice", "is not running")
        assert browser.run(IDS)[0] == "shipment_status"


def test_a_filter_that_fits_no_tool_is_explained(browser: Browser, folder: Path) -> None:
    """What is noticed about a search stands above its matches, the doubt about them but once."""
    with started_command(folder, "refund", "--source", "nope") as (_, address):
        visit = Visit(browser, address)
        visit.has("#reading .notice.warning", "no source is called 'nope'")
    with started_command(folder, "weather on the moon") as (_, address):
        visit = Visit(browser, address)
        visit.has("#status", "low confidence")
        assert browser.count("#reading .notice") == 0


def test_without_the_token_the_page_asks_for_its_address(browser: Browser, page: Served) -> None:
    """Who opens the bare address is told to open the one that was printed."""
    browser.open("about:blank")
    browser.run("try { sessionStorage.clear() } catch {}")
    browser.driver.switch_to.new_window("tab")
    try:
        browser.open(f"http://127.0.0.1:{page.port}/")
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and not browser.count("#fault .notice"):
            time.sleep(0.05)
        assert "open the address that it prints" in browser.run(
            "return document.querySelector('#fault').textContent"
        )
    finally:
        browser.driver.close()
        browser.driver.switch_to.window(browser.driver.window_handles[0])


HOSTILE = {
    "server": "<img src=x onerror=alert(1)>",
    "tools": [
        {
            "name": "evil",
            "title": "</bdi><script>alert(1)</script>",
            "description": "\u202egnp.exe <b>bold</b> \x1b[31m javascript:alert(1) zebra " * 3,
            "hints": {"aliases": ["<svg onload=alert(1)>"], "keywords": ["zebra"]},
        },
        {"name": "x" * 200, "description": "zebra " + "y" * 5000},
    ],
}


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_texts_stay_texts(browser: Browser, folder: Path, width: int) -> None:
    """Whatever a catalogue says, it is shown as text, steers nothing and breaks no layout."""
    source = folder / "evil.json"
    source.write_text(json.dumps(HOSTILE), "utf-8")
    browser.resize(width)
    for page in serving(opened(folder, "evil.json", "zebra <img src=x onerror=alert(1)>")):
        visit = Visit(browser, page.server.address)
        visit.until("return document.querySelectorAll('#matches [role=option]').length", 2)
        for tab in ("why", "hints"):
            visit.click(f"#tab-{tab}")
        visit.click("[data-view=map]")
        visit.until("return document.querySelectorAll('#map iframe').length", 1)
        visit.click("[data-view=search]")
        assert browser.count("main script, main img, main b > b") == 0
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        assert "\u202e" not in browser.run("return document.body.innerText")
        assert browser.complaints() == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "dark")])
def test_no_serious_finding(
    visit: Visit, axe: Axe, browser: Browser, width: int, scheme: str
) -> None:
    """In every view, at a desk and on a phone, axe-core finds nothing serious."""
    browser.prefer(scheme)
    browser.resize(width)
    visit.ask(MISSPELT)
    assert axe.audit(browser) == []
    visit.click("#right")
    visit.browser.run(f"{MATCHES}[1].click()")
    visit.click("#tab-why-not")
    visit.has("#panel", "Rank 2")
    assert axe.audit(browser) == []
    visit.click("#tab-hints")
    visit.type("#hint-aliases", MISSPELT)
    visit.has(".tried .big", "Rank 1")
    assert axe.audit(browser) == []
    visit.click(".actions .primary")
    visit.until("return document.querySelector('#saving').open")
    assert axe.audit(browser) == []
    visit.click("#saving .actions button:last-child")
    visit.click("[data-view=judged]")
    visit.has("#judged", "1 of 1")
    assert axe.audit(browser) == []


def test_a_phone_shows_everything(visit: Visit) -> None:
    """At 360 pixels nothing is cut off or scrolls sideways, and buttons can be touched."""
    browser = visit.browser
    browser.resize(360, 740)
    visit.ask(MISSPELT)
    for step in ("#tab-hints", "[data-view=judged]", "[data-view=map]", "[data-view=search]"):
        visit.click(step)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    small = browser.run(
        "return [...document.querySelectorAll('button, select, input, [role=option]')]"
        ".filter((one) => one.offsetParent && one.getBoundingClientRect().height < 24)"
        ".map((one) => one.outerHTML)"
    )
    assert small == []


def test_the_map_is_shown_apart(visit: Visit) -> None:
    """The map is drawn in a frame that has no part in the page, its token or its answers."""
    visit.ask("where is my parcel")
    visit.click("[data-view=map]")
    frame = visit.browser.driver.find_element("css selector", "#map iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    visit.browser.driver.switch_to.frame(frame)
    try:
        visit.until("return document.querySelectorAll('#graph-canvas svg').length > 0")
        assert visit.browser.run("return origin") == "null"
    finally:
        visit.browser.driver.switch_to.default_content()
