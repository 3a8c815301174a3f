"""Rewritten queries from the command line, against a real server."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from loopback import answer, chat, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loopback import Loopback
    from shop import Run

KEY = "sk-Marker0123456789abcdef"
QUERY = "де моя посилка"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A model that knows one translation, and the settings that name it."""
    with serving(answer(chat("shipment status"))) as loopback:
        monkeypatch.setenv("MCPG_LLM_URL", loopback.url)
        monkeypatch.setenv("MCPG_LLM_MODEL", "small")
        monkeypatch.setenv("MCPG_LLM_API_KEY", KEY)
        yield loopback


@pytest.mark.usefixtures("graph")
def test_a_rewritten_query_is_shown(server: Loopback, run: Callable[..., Run]) -> None:
    """Text has a note, JSON a member, and the key reached the server and nothing else."""
    shown = run("search", QUERY, "--rewrite")
    assert shown.code == 0
    assert "shipment_status" in shown.out.splitlines()[1]
    assert "info[query_normalized]: also searched as “shipment status”" in shown.err
    told = run("search", QUERY, "--rewrite", "--format", "json")
    assert told.json["normalizedQuery"] == "shipment status"
    assert told.json["query"] == QUERY
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in shown.out + shown.err + told.out + told.err


@pytest.mark.usefixtures("graph", "server")
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_an_explanation_tells_both_searches(form: str, run: Callable[..., Run]) -> None:
    """Every form of an explanation has the rewrite and the place it gives a match."""
    shown = run("explain", QUERY, "--rewrite", "--format", form, "--html", "report.html")
    assert shown.code == 0
    assert "shipment status" in shown.out
    assert ("foundBy" if form == "json" else "by the rewrite") in shown.out


@pytest.mark.usefixtures("graph")
def test_without_the_flag_nobody_is_asked(server: Loopback, run: Callable[..., Run]) -> None:
    """An endpoint that is set up is asked only where a search wants it."""
    assert run("search", QUERY, "--format", "json").json["normalizedQuery"] is None
    assert run("search", "where is the shipment", "--rewrite").code == 0
    assert not server.asked


@pytest.mark.usefixtures("graph", "server")
def test_a_server_that_fails_costs_a_warning(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query is searched as it is, and a warning says what the server said, without the key."""
    with serving(answer({"error": {"message": f"no such key: {KEY}"}}, 401)) as refusing:
        monkeypatch.setenv("MCPG_LLM_URL", refusing.url)
        shown = run("search", QUERY, "--rewrite")
    assert shown.code == 0
    assert "warning[query_normalization_failed]" in shown.err
    assert "no such key: ***" in shown.err
    assert KEY not in shown.out + shown.err


@pytest.mark.usefixtures("graph")
def test_a_search_without_a_rewrite_imports_nothing_of_it(run: Callable[..., Run]) -> None:
    """A plain search needs none of the modules that rewrite queries."""
    assert run("list").code == 0
    code = (
        "import sys; from mcpg.cli import main; main(['search', 'shipment status']); "
        "new = ('httpx', 'mcpg.llm', 'mcpg.net'); "
        "found = [n for n in sys.modules if 'mcpg.rewrite' in n or n in new]; "
        "print(*found)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == ""
