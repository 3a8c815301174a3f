"""What results show of themselves: as text, as HTML in a notebook, and as JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders import make_engine, make_tool

import mcpg
from mcpg.engine import Engine

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert('x')</script><img src=x onerror=y>\x1b[31m\u202e"
VOID = {"img", "br", "input", "link", "meta"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, with their bundle."""
    copy = tmp_path_factory.mktemp("hosts")
    shutil.copytree(ROOT / "examples", copy, dirs_exist_ok=True)
    run("bundle", "tools", "-o", "graph.mdld", folder=copy)
    return copy


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    """The engine of the examples."""
    return mcpg.load(folder / "graph.mdld")


def run(*words: str, folder: Path) -> str:
    """Run the command line in *folder* and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "mcpg", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def without_times(value: Any) -> Any:
    """Return a JSON value without the times that stages took."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key != "durationMs"}
    return [without_times(part) for part in value] if isinstance(value, list) else value


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("search", "shipmnt status"),
        ("explain", "shipmnt status"),
        ("plan", "refund a lost parcel"),
        ("route", "refund the customer"),
        ("ask", "what runs before refund_issue?"),
    ],
)
def test_to_dict_is_what_the_command_line_prints(
    folder: Path, engine: Engine, command: str, words: str
) -> None:
    """Every member and every number is the same, in the same order."""
    method = getattr(engine, command)
    printed = json.loads(run(command, words, "--format", "json", folder=folder))
    printed.pop("time", None)
    held = without_times(method(words).to_dict())
    bundle = [" -b graph.mdld", ""]
    assert json.dumps(held).replace(*bundle) == json.dumps(without_times(printed)).replace(*bundle)


@pytest.mark.untraced
def test_an_explained_tool_is_what_the_command_line_prints(folder: Path, engine: Engine) -> None:
    """The member `tool` stands where a tool was asked about."""
    words = ("explain", "undo a payment", "--tool", "refund_issue", "--format", "json")
    printed = json.loads(run(*words, folder=folder))
    held = engine.explain("undo a payment", tool="refund_issue").to_dict()
    assert without_times(held) == without_times(printed)


def test_a_listed_tool_is_what_the_command_line_prints(folder: Path, engine: Engine) -> None:
    """A tool writes itself as `mcpg list` does."""
    printed = json.loads(run("list", "--format", "json", folder=folder))
    assert [tool.to_dict() for tool in engine.tools] == printed["tools"]


def test_parts_write_themselves() -> None:
    """Matches, tasks, answers and diagnostics have `to_dict` as well, which JSON can hold."""
    small = make_engine(make_tool("order_list"), make_tool("order_cancel"))
    result, plan, answer = small.search("zzqx"), small.plan("cancel an order"), small.ask("order")
    parts = (*result.diagnostics, *plan.tasks, *answer.results, *small.search("order").matches)
    assert len(parts) > 3
    assert all(json.loads(json.dumps(part.to_dict())) == part.to_dict() for part in parts)


def results(engine: Engine, words: str) -> list[Any]:
    """Return a result of each kind."""
    return [
        engine.search(words),
        engine.explain(words),
        engine.plan(words),
        engine.ask(words),
        engine.route(words),
    ]


def test_representations_say_something(engine: Engine) -> None:
    """They have the kind, the query, and the best of what was found, in a line."""
    shown = [repr(one) for one in results(engine, "refund a payment")]
    names = ("SearchResult", "Explanation", "Plan", "AskResult", "RouteResult")
    for name, text in zip(names, shown, strict=True):
        assert text.startswith(f"<{name}")
        assert "refund a payment" in text
        assert len(text.splitlines()) == 1
        assert len(text) < 300
    assert "refund_issue 0." in shown[0]
    assert repr(engine) == f"<Engine: {len(engine.tools)} tools>"
    tool = engine.search("refund a payment").matches[0].descriptor
    assert repr(tool) == "Tool('refund_issue', source_id='commerce', name='refund_issue')"


def test_representations_of_nothing() -> None:
    """A result that found nothing says so, and one that has no query too."""
    empty = make_engine()
    assert repr(empty) == "<Engine: 0 tools>"
    assert repr(empty.search("x")) == "<SearchResult 'x': no match>"
    assert "no task" in repr(empty.plan("x"))
    assert "no category" in repr(empty.route(None))
    assert "0 results" in repr(empty.ask("x"))


class Elements(HTMLParser):
    """Reads elements and text, and sees that all are closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element, which has no attribute that does anything."""
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"scope"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """See that it is the last that was opened."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.text += data


def test_notebooks_show_tables(engine: Engine) -> None:
    """Each result is a table with the tools that it found."""
    for result in results(engine, "refund a payment"):
        page = Elements(result._repr_html_())
        assert {"table", "caption", "th", "code"} <= page.tags
        assert "refund_issue" in page.text


def test_text_of_others_is_no_markup() -> None:
    """Names, descriptions and queries cannot become elements, nor hide or reorder text."""
    hostile = make_engine(
        make_tool("pay", title=HOSTILE, description=f"{HOSTILE} pays an order. {'long ' * 200}"),
        make_tool("refund", source_id=f"{HOSTILE}", description=f"Refund an order {HOSTILE}"),
    )
    for result in results(hostile, f"pay or refund an order {HOSTILE}"):
        page = Elements(result._repr_html_())
        assert page.tags <= {
            *("p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"),
            *("code", "ul", "li"),
        }
        assert not {"\x1b", "\u202e"} & set(page.text)


def test_nothing_found_is_shown() -> None:
    """A result without matches is HTML as well, and says what was noticed."""
    for result in results(make_engine(make_tool("pay")), "zzqx"):
        assert "zzqx" in Elements(result._repr_html_()).text
