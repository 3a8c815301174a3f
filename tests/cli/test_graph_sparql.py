from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from sparqlserver import serving

from mcpg.cli.output import Color, Output
from mcpg.graph.query_command import write_answer
from mcpg.graph.sparql_worker import SparqlAnswer, shorten_iri

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")

IDS = "SELECT ?id { ?tool mcpg:toolId ?id } ORDER BY ?id"
FOLLOWING = "CONSTRUCT { ?s kb:nextStep ?o } WHERE { ?s kb:nextStep ?o }"


def test_rows_come_as_a_table(run: Callable[..., Run]) -> None:
    """Columns have the names of the variables, and IRIs their prefixes."""
    done = run(
        "graph",
        "sparql",
        "SELECT ?id ?type { ?tool a ?type ; mcpg:toolId ?id } ORDER BY ?id ?type LIMIT 2",
    )
    assert (done.code, done.err) == (0, "")
    head, first, _ = done.out.splitlines()
    assert head.split() == ["id", "type"]
    assert first.split()[1] == "schema:Article"


def test_the_tools_are_those_that_list_lists(run: Callable[..., Run]) -> None:
    """What the graph holds is the catalogue."""
    listed = {tool["toolId"] for tool in run("list", "--format", "json").json["tools"]}
    rows = run("graph", "sparql", IDS, "--format", "json").json["results"]["bindings"]
    assert {row["id"]["value"] for row in rows} == listed


def test_a_query_may_stand_in_a_file_or_come_by_pipe(run: Callable[..., Run], folder: Path) -> None:
    """A name of a file stands for the query in it, and - for standard input."""
    (folder / "ids.rq").write_text(IDS, "utf-8")
    written = run("graph", "sparql", IDS, "--format", "csv").out
    assert written.startswith("id\r\n")
    assert run("graph", "sparql", "ids.rq", "--format", "csv").out == written
    assert run("graph", "sparql", "-", "--format", "csv", stdin=IDS.encode()).out == written

    (folder / "broken.rq").write_bytes(b"SELECT \xff")
    refused = run("graph", "sparql", "broken.rq")
    assert (refused.code, refused.out) == (2, "")
    assert "broken.rq: byte 7" in refused.err


def test_triples_come_as_turtle(run: Callable[..., Run]) -> None:
    """CONSTRUCT writes Turtle that others read."""
    done = run("graph", "sparql", FOLLOWING)
    store = pyoxigraph.Store()
    store.load(done.out.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    assert len(store) > 0
    assert "kb:nextStep" in done.out


def test_a_truth_is_a_word_or_json(run: Callable[..., Run]) -> None:
    """ASK prints true or false."""
    assert run("graph", "sparql", "ASK { ?s ?p ?o }").out == "true\n"
    assert run("graph", "sparql", "ASK { ?s a <a:b> }", "--format", "csv").out == "false\n"
    assert run("graph", "sparql", "ASK {}", "--format", "json").json["boolean"] is True


@pytest.mark.parametrize(("query", "form"), [(FOLLOWING, "csv"), (IDS, "ttl"), ("ASK {}", "ttl")])
def test_a_format_that_cannot_hold_the_answer_is_refused(
    run: Callable[..., Run], query: str, form: str
) -> None:
    """Rows are no Turtle, and triples no table."""
    refused = run("graph", "sparql", query, "--format", form)
    assert (refused.code, refused.out) == (2, "")
    assert "which" in refused.err


def test_updates_and_mistakes_are_usage_errors(run: Callable[..., Run]) -> None:
    """What would change the graph, and what is no SPARQL, exits with 2."""
    refused = run("graph", "sparql", "DELETE WHERE { ?s ?p ?o }")
    assert (refused.code, refused.out) == (2, "")
    assert "the graph is read-only" in refused.err
    assert run("graph", "sparql", "SELECT").code == 2


def test_what_is_cut_is_said(run: Callable[..., Run]) -> None:
    """More rows than were asked for are left out, with a warning."""
    done = run("graph", "sparql", IDS, "-n", "1", "--format", "csv")
    assert len(done.out.splitlines()) == 2
    assert "warning[graph_results_cut]" in done.err


def test_a_query_that_never_ends_is_ended(run: Callable[..., Run]) -> None:
    """The time limit is the user's."""
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    done = run("graph", "sparql", endless, "--timeout", "0.5")
    assert done.code == 2
    assert "timed out after 0.5 seconds" in done.err


def test_an_endpoint_is_asked_when_it_is_allowed(run: Callable[..., Run]) -> None:
    """Without --allow-service nobody is asked."""
    with serving("<a:a> <a:weighs> 3 .") as other:
        query = f"SELECT ?w {{ SERVICE <{other.url}> {{ ?s <a:weighs> ?w }} }}"
        refused = run("graph", "sparql", query)
        assert refused.code == 2
        assert other.asked == []
        done = run("graph", "sparql", query, "--allow-service", other.url, "--format", "csv")
        assert done.out.split() == ["w", "3"]
        assert run("graph", "sparql", query, "--allow-service", "http://far.example/").code == 2


def test_what_a_terminal_would_obey_is_made_visible(run: Callable[..., Run]) -> None:
    """Control characters of an answer do not reach the screen as they are."""
    done = run("graph", "sparql", "SELECT ('\\u001b[31mred' AS ?x) {}")
    assert "\x1b" not in done.out
    assert "red" in done.out


def test_a_table_on_a_terminal_has_its_colours_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The heading is bold; what an answer holds is shown, not obeyed."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    row = {"id": {"type": "literal", "value": "\x1b[31mred"}}

    write_answer(SparqlAnswer("select", ("id",), (row,)), None, Output(color=Color.ALWAYS))

    head, rule, first = terminal.getvalue().splitlines()
    assert head.startswith("\x1b[1mid")
    assert set(rule) == {"─"}
    assert "red" in first
    assert "\x1b" not in first


def test_a_name_that_the_vocabulary_lacks_is_told(run: Callable[..., Run]) -> None:
    """A query that matches nothing because of a wrong name says which was probably meant."""
    done = run("graph", "sparql", "SELECT ?t { ?t mcpg:nextStep ?u }")
    assert done.code == 0
    assert "the vocabulary has no mcpg:nextStep: did you mean kb:nextStep?" in done.err


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("form", ["csv", "table", "json"])
def test_no_value_steers_a_terminal(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """On a terminal every format shows control characters as escapes; CSV in a pipe is as it is."""
    query = 'SELECT (CONCAT("a", "\\u001b[31m\\u009b") AS ?x) {}'
    piped = run("graph", "sparql", query, "--format", form)
    assert ("\x9b" in piped.out) == (form == "csv")
    monkeypatch.setattr("mcpg.cli.output.is_terminal", lambda _stream: True)
    shown = run("graph", "sparql", query, "--format", form, "--color", "never")
    assert shown.out.replace("\n", "").replace("\t", "").isprintable()
    assert "9b" in shown.out


def test_the_memory_of_a_query_can_be_set(run: Callable[..., Run], folder: Path) -> None:
    """The option, the variable and the file all bound it; the error states the bound."""
    rows = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l"
    query = f"SELECT * {{ {rows} }} ORDER BY ?l ?a ?d ?g"
    call = ("graph", "sparql", query, "--timeout", "60")
    size = str(64 << 20)
    (folder / "mcpg.toml").write_text(f"[limits]\nquery_memory_bytes = {size}\n", encoding="utf-8")
    for done in (run(*call), run(*call, "--max-memory", size)):
        assert done.code == 2
        assert "needs more than 0.062 GiB of memory" in done.err
        assert "--max-memory" in done.err
    (folder / "mcpg.toml").write_text("[limits]\nquery_memory_bytes = 0\n", encoding="utf-8")
    assert "'limits.query_memory_bytes' is 0" in run(*call).err


LONG = "SELECT ?p ?r { ?t mcpg:parameter ?p ; mcpg:relation ?r } ORDER BY ?p ?r LIMIT 3"


def test_no_iri_is_cut_in_a_pipe(run: Callable[..., Run]) -> None:
    """Each row holds its values whole, however long they are."""
    found = run("graph", "sparql", LONG, "--format", "json").json["results"]["bindings"]
    _, *rows = run("graph", "sparql", LONG).out.splitlines()

    assert [row.split() for row in rows] == [[one[name]["value"] for name in "pr"] for one in found]


@pytest.mark.parametrize("is_wide", [True, False])
def test_a_wide_table_cuts_nothing_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, *, is_wide: bool
) -> None:
    """`--wide` writes rows as long as they are; without it they fit the terminal."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    iri = f"https://shop.example/{'a' * 100}"
    row = {name: {"type": "uri", "value": iri} for name in "pr"}

    write_answer(SparqlAnswer("select", ("p", "r"), (row,)), None, Output(), is_wide=is_wide)

    assert (f"{iri}  {iri}" in terminal.getvalue()) == is_wide


def test_prefixes_shorten_what_they_can() -> None:
    """A local name may have digits, hyphens and dots, and no slash."""
    assert shorten_iri("https://schema.org/x-1.b") == "schema:x-1.b"
    assert shorten_iri("https://schema.org/a/b") == "https://schema.org/a/b"
    assert shorten_iri("https://schema.org/a.") == "https://schema.org/a."
