"""`mcpg graph search` and `mcpg graph schema`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sparqlserver import serving

from mcpg.graph.cache import FEWEST_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"

pytestmark = pytest.mark.usefixtures("graph")

OTHER = """
@prefix schema: <https://schema.org/> .
<urn:y:lost> a schema:Article ; schema:name "Lost \\u001b[31m shipment" .
"""


def test_matches_come_with_what_speaks_for_them(run: Callable[..., Run]) -> None:
    """Each match has its values; scores are said to be no probabilities."""
    done = run("graph", "search", "shipment")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(" 1  ")
    assert "shipment_status" in done.out
    assert "[shipment]" in done.out
    assert ", no probability\n" in done.out
    assert re.match(r" 1  shipment_\w+  0\.\d\d\n", done.out)
    assert "SELECT" not in done.out


def test_the_queries_are_shown_when_asked(run: Callable[..., Run]) -> None:
    """What was asked stands below the answer."""
    done = run("graph", "search", "shipment", "--explain")

    assert "SELECT DISTINCT ?node ?predicate ?text" in done.out
    assert "SELECT DISTINCT ?node ?predicate ?related" in done.out


def test_what_comes_with_matches_says_by_which_edge(run: Callable[..., Run]) -> None:
    """Related tools and next steps stand apart, each with its edge and the match it leads from."""
    done = run("graph", "search", "refund order", "-n", "2", "-b", str(EXAMPLES))

    assert "\nrelated\n" in done.out
    assert "kb:relatedTo of Refund a payment\n" in done.out
    assert "\nnext\n" in done.out
    assert "kb:nextStep of " in done.out
    assert " more\n" in done.out


def test_json_has_everything(run: Callable[..., Run]) -> None:
    """Programs read roles, scores, evidence, queries and flags."""
    found = run("graph", "search", "shipment", "--format", "json").json
    first = found["matches"][0]

    assert found["schema"] == "mcpg/graph-search/1"
    assert (found["usedSchemaSearch"], found["usedSchemaFallback"]) == (True, False)
    assert (found["isFederated"], found["diagnostics"]) == (False, [])
    assert (first["role"], first["scoreKind"]) == ("primary", "coverage")
    assert first["evidence"][0]["terms"] == ["shipment"]
    assert first["evidence"][0]["sources"][0]["label"] == "shop"
    assert "SELECT" in found["generatedSparql"]


def test_a_misspelt_word_falls_back(run: Callable[..., Run]) -> None:
    """An ordinary search repairs it, and says so; its scores are probabilities."""
    assert "scores: as in `mcpg search`\n" in run("graph", "search", "shipmnt").out
    found = run("graph", "search", "shipmnt", "--format", "json").json

    assert found["usedSchemaFallback"]
    assert [one["code"] for one in found["diagnostics"]] == ["graph_schema_fallback"]
    assert found["matches"][0]["toolId"] == "shipment_status"


@pytest.mark.parametrize("mode", ["schema-aware", "token-distance"])
def test_nothing_is_a_match_too(run: Callable[..., Run], mode: str) -> None:
    """A query that finds nothing is a finding, and no error."""
    done = run("graph", "search", "ццц", "--mode", mode)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("no match: try other words")


def test_disabled_tools_are_found_when_asked(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of the graph with them does not answer for the graph without, nor conversely."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MCPG_CACHE_DIR", str(tmp_path / "cache"))
    tools = [{"name": f"tool_{n}", "inputSchema": {}} for n in range(FEWEST_DOCUMENTS + 1)]
    Path("many.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    Path("many.hints.yaml").write_text(
        "tools: {tool_7: {enabledByDefault: false}}\n", encoding="utf-8"
    )
    assert run("bundle", "many.json", "many.hints.yaml", "-o", "many.mdld").code == 0

    for _ in range(2):
        for flags, wanted in (((), False), (("--include-disabled",), True)):
            found = run(
                *("graph", "search", "tool_7", "--mode", "schema-aware"),
                *("-b", "many.mdld", "--format", "json", *flags),
            )
            assert ("tool_7" in {one["toolId"] for one in found.json["matches"]}) is wanted


def test_another_graph_is_asked(run: Callable[..., Run]) -> None:
    """Its matches stand beside ours, and nothing in them reaches the terminal."""
    with serving(OTHER) as endpoint:
        done = run("graph", "search", "shipment", "--federate", "--endpoint", endpoint.url)

    assert done.code == 0
    assert "urn:y:lost" in done.out
    assert f"at {endpoint.url}" in done.out
    assert "shipment_status" in done.out
    assert "\x1b" not in done.out


def test_an_outage_of_all_endpoints_is_an_error(run: Callable[..., Run]) -> None:
    """It does not count as a search without a match."""
    with serving(manner="failing") as endpoint:
        arguments = ("--federate", "--no-local", "--endpoint", endpoint.url)
        done = run("graph", "search", "shipment", *arguments)

    assert (done.code, done.out) == (2, "")
    assert "graph_search_failed" in done.err
    assert "no match" not in done.err
    assert "status 500" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--endpoint", "https://x.example/"), "only a federated search"),
        (("--no-local",), "only a federated search"),
        (("--federate", "--no-local"), "nothing to search"),
        (("--federate", "--mode", "token-distance"), "distances"),
    ],
)
def test_options_that_disagree_are_refused(
    run: Callable[..., Run], arguments: tuple[str, ...], told: str
) -> None:
    """It is not guessed what was meant."""
    done = run("graph", "search", "shipment", *arguments)

    assert done.code == 2
    assert told in done.err


def test_the_schema_is_told(run: Callable[..., Run]) -> None:
    """Prefixes, classes, predicates, and what a search reads."""
    done = run("graph", "schema")

    assert (done.code, done.err) == (0, "")
    for told in ("prefixes", "mcpg:Tool", "kb:memberOf", "expansion", "at most"):
        assert told in done.out


def test_the_schema_is_told_to_programs(run: Callable[..., Run]) -> None:
    """The same as JSON, with whole IRIs beside the short names."""
    found = run("graph", "schema", "--format", "json").json
    names = {one["name"]: one for one in found["predicates"]}

    assert found["schema"] == "mcpg/graph-schema/1"
    assert names["schema:name"]["iri"] == "https://schema.org/name"
    assert found["prefixes"]["kb"].startswith("urn:managedcode:")
    assert {one["role"] for one in found["search"]["expansions"]} == {"related", "next"}
    assert found["search"]["relatedLimit"] == 6
