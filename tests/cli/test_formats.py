"""Lists in the forms that programs read: the same words on every command."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shop import CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

# Each command, the member of its JSON that is the list, and what identifies a member of that.
LISTS = {
    "search": (["search", "invoice shipment"], "matches", "toolId"),
    "list": (["list"], "tools", "toolId"),
    "explain": (["explain", "invoice shipment"], "matches", "toolId"),
    "route": (["route", "invoice shipment"], "suggestedMatches", "toolId"),
    "plan": (["plan", "make a label of a shipment and search an invoice"], "tasks", "toolId"),
    "ask": (["ask", "find the invoice of a shipment"], "results", "symbol"),
    "graph search": (["graph", "search", "invoice shipment"], "matches", "node"),
    "graph schema": (["graph", "schema"], "predicates", "name"),
    "cache": (["cache"], "files", "path"),
    "doctor": (["doctor", "--no-sources"], "checks", "name"),
    "eval": (["eval", "queries.yaml"], "perQuery", "id"),
    "diff": (["diff", "tools/shop.json"], "tools", "toolId"),
    "learn": (["learn", "calls.jsonl"], "edges", "source"),
    "graph validate": (["graph", "validate", "--shapes", "house.ttl"], "findings", "focusNode"),
    "validate": (["validate", "dated.md", "--reader", "dotnet"], "findings", "place"),
}
SHOWN = {"graph search": "toolId", "graph validate": "place"}
TIMES = re.compile(r'[\d.]+ ms|"durationMs": [\d.]+')
EMPTY = {
    "search": ["search", "qqqq"],
    "list": ["list", "--category", "none"],
    "route": ["route", "qqqq"],
    "plan": ["plan", "qqqq"],
    "ask": ["ask", "qqqq"],
    "graph search": ["graph", "search", "qqqq"],
}
EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
SHAPES = """\
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix mcpg: <urn:mcpg:vocab:> .
@prefix schema: <https://schema.org/> .
[] a sh:NodeShape ; sh:targetClass mcpg:Tool ; sh:property [
  sh:path schema:keywords ; sh:minCount 1 ; sh:severity sh:Warning ] .
"""


@pytest.fixture(autouse=True)
def inputs(graph: Path) -> None:
    """What the commands read beside the bundle."""
    (graph.parent / "queries.yaml").write_text("parcel: shipment_status\nlabel: [x]\n", "utf-8")
    (graph.parent / "house.ttl").write_text(SHAPES, "utf-8")
    (graph.parent / "dated.md").write_text("---\ndate_published: May 4\n---\n# A\n", "utf-8")
    (graph.parent / "calls.jsonl").write_text(CALLS, "utf-8")
    (graph.parent / "graph.mdld.vec").unlink(missing_ok=True)


@pytest.mark.parametrize("name", LISTS)
class TestList:
    """A list says the same in every form."""

    def test_a_line_of_jsonl_is_a_member_of_json(self, name: str, run: Callable[..., Run]) -> None:
        """`jsonl` has one object a line, and nothing else."""
        command, members, _ = LISTS[name]
        whole = run(*command, "--format", "json")
        lines = run(*command, "--format", "jsonl")
        expected = [json.dumps(one, ensure_ascii=False) for one in whole.json[members]]
        assert TIMES.sub("", lines.out).splitlines() == [TIMES.sub("", one) for one in expected]
        assert lines.code == whole.code == 0

    def test_ids_are_alone_on_their_lines(self, name: str, run: Callable[..., Run]) -> None:
        """`ids` can be read by a shell loop."""
        command, members, identity = LISTS[name]
        expected = [one[identity] for one in run(*command, "--format", "json").json[members]]
        assert expected
        assert run(*command, "--format", "ids").out.splitlines() == expected

    def test_csv_has_a_heading_and_a_row_each(self, name: str, run: Callable[..., Run]) -> None:
        """`csv` has the scalar members under their names in JSON."""
        command, members, identity = LISTS[name]
        expected = run(*command, "--format", "json").json[members]
        rows = list(csv.DictReader(io.StringIO(run(*command, "--format", "csv").out)))
        assert [row[identity] for row in rows] == [one[identity] for one in expected]
        for row, one in zip(rows, expected, strict=True):
            # A member that does not apply to a result is an empty cell.
            assert not any(row[key] for key in row.keys() - one.keys())
            texts = [key for key in row if isinstance(one.get(key), str)]
            assert [TIMES.sub("", row[key]) for key in texts] == [
                TIMES.sub("", one[key]) for key in texts
            ]

    def test_markdown_is_a_table(self, name: str, run: Callable[..., Run]) -> None:
        """`markdown` has a heading, a rule, and a row for each; `md` means the same."""
        command, members, identity = LISTS[name]
        if name in {"diff", "eval", "explain"}:  # a report for a pull request
            return
        expected = run(*command, "--format", "json").json[members]
        table = run(*command, "--format", "markdown")
        head, rule, *rows = table.out.splitlines()
        assert set(rule) <= set("|-: ")
        assert head.count("|") == rule.count("|")
        for row, one in zip(rows, expected, strict=True):
            assert f"`{one.get(SHOWN.get(name), one[identity])}`" in row
        again = run(*command, "--format", "md").out
        assert TIMES.sub("", again) == TIMES.sub("", table.out)


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_found_is_an_exit_code(name: str, run: Callable[..., Run]) -> None:
    """An empty list has the exit code 1 and a note, whatever the form."""
    for form in ("jsonl", "ids", "text"):
        result = run(*EMPTY[name], "--format", form)
        assert (result.code, result.out) == (1, "")
        assert result.err
    assert run(*EMPTY[name], "--format", "json").code == 1
    assert run(*EMPTY[name], "--format", "csv").out.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "ids", "json"])
def test_a_hopeless_answer_is_none(form: str, run: Callable[..., Run]) -> None:
    """Where `ask` shows nothing, because all scores are too low, it has found nothing."""
    result = run("ask", "walrus dreams", "-b", str(EXAMPLES), "--format", form)
    assert result.code == 1
    assert "2 results with a score below 0.01: see them with --limit" in result.err
    assert result.json["results"] == [] if form == "json" else result.out == ""


def test_nothing_found_is_told_with_routes(run: Callable[..., Run]) -> None:
    """`explain --route` without a match has the note of `explain`."""
    plain, routed = run("explain", "qqqq"), run("explain", "qqqq", "--route")
    assert (routed.code, routed.err) == (1, plain.err)


def test_rows_of_sparql_are_a_list(run: Callable[..., Run]) -> None:
    """Rows have the same forms as other lists, and the W3C's two; the old names still hold."""
    asked = ["graph", "sparql", "SELECT ?id { ?tool mcpg:toolId ?id } ORDER BY ?id"]
    bindings = run(*asked, "--format", "json").json["results"]["bindings"]
    ids = [one["id"]["value"] for one in bindings]
    lines = run(*asked, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == bindings
    assert run(*asked, "--format", "ids").out.splitlines() == ids
    assert (
        run(*asked).out.splitlines() == ["id", *ids] == run(*asked, "--format", "table").out.split()
    )
    assert run(*asked, "--format", "markdown").out.splitlines()[2:] == [
        f"| `{one}` |" for one in ids
    ]
    described = ["graph", "sparql", "CONSTRUCT { ?s ?p ?o } WHERE { ?s mcpg:toolId ?o ; ?p ?o }"]
    assert run(*described).out == run(*described, "--format", "ttl").out
    refused = run(*described, "--format", "ids")
    assert refused.code == 2
    assert "use turtle" in refused.err


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_text_of_others_is_no_formula(sign: str, folder: Path, run: Callable[..., Run]) -> None:
    """A spreadsheet that opens `csv` computes nothing that a description holds."""
    tool = {"name": "x", "description": f"{sign}1+1", "inputSchema": {}}
    (folder / "x.json").write_text(json.dumps({"server": "s", "tools": [tool]}), "utf-8")
    (row,) = csv.DictReader(io.StringIO(run("list", "-b", "x.json", "--format", "csv").out))
    assert row["description"] == f"'{sign}1+1"


def test_text_of_others_stays_in_its_cell(folder: Path, run: Callable[..., Run]) -> None:
    """A description with line ends, quotes, pipes and escapes breaks no form."""
    hostile = 'a "b", c\nd | e \x1b[2J `f` \u202e'
    tool = {"name": "x", "description": hostile}
    (folder / "x.json").write_text(json.dumps({"server": "s", "tools": [tool]}), "utf-8")
    for form in ("jsonl", "csv", "ids", "markdown"):
        out = run("list", "-b", "x.json", "--format", form).out
        assert not {"\x1b", "\u202e"} & set(out)
        if form == "csv":
            (row,) = csv.DictReader(io.StringIO(out))
            assert row["description"].startswith('a "b", c\nd | e ')
        if form == "jsonl":
            assert json.loads(out)["description"] == hostile
        if form == "markdown":
            assert len(out.splitlines()) == 3


def test_a_wrong_form_is_told_the_words_of_the_help(run: Callable[..., Run]) -> None:
    """Synonyms are accepted, and not advertised."""
    refused = run("search", "x", "--format", "xml").err
    assert "use text, json, jsonl, csv, ids or markdown\n" in refused
    assert "did you mean markdown?" in run("show", "x", "--format", "mdd").err
