"""Mistakes of authors: each is reported with file and line, whatever command reads the folder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

# In five documents; `<<` marks a mistake and what is said of it, and is taken out before.
DOCUMENTS = {
    "invoice_refund.md": """---
sumary: Ask the bookkeeper first.<<did you mean 'summary'
graph_realted: [invoice_search]<<did you mean 'graph_related'
tags: money, bank<<write a list, [money, bank]
date_published: 2026-02-30<<not a date
rdf_types: ["exx:Runbook"]<<did you mean 'ex'
rdf_prefixes: {ex: "https://shop.example/vocab/"}
rdf_properties:
  ex:level: {value: abc, datatype: xsd:integer}<<not an xsd:integer
  shop:owner: Ops<<declare it in `rdf_prefixes`
graph_next_steps: [shipment_creat]<<unknown document 'shipment_creat'
about: [{label: Law, sameAs: "https://law.example/a b"}]<<it has a blank
---

Read [[invoice_serch]] first, <<the link to 'invoice_serch'
and [the rest](rest.md).<<the link to 'rest.md'
""",
    "hold.md": """---
name: invoice_hold
source: shop
summary: Hold an invoice.
cost_tier: cheap<<'cost_tier' has the wrong type
---

### Tool Identity<<write `## Tool Identity`

- Tool id: hold

## Input Schema

```json
{"type": "object",
 "properties": {"id": {"type": "string"},}}<<the schema in this section
```
""",
    "late.md": """---
tool: invoice_refnd<<did you mean 'invoice_refund'
entry_type: tech_artcle<<did you mean 'tech_article'
graph_related:
  - {target: invoice_search, weigth: 0.4}<<did you mean 'weight'
---

Words.

```text<<not closed
More.
""",
    "open.md": """---<<not closed
title: A page
tool: false

It never ends.
""",
    "shipment_status.md": """# Shipments<<called like the tool 'shipment_status'

Words about shipments.
""",
}
MARK = re.compile(r"<<(.*)$", re.MULTILINE)
PLANTED = [
    (name, number, found[1])
    for name, text in DOCUMENTS.items()
    for number, line in enumerate(text.split("\n"), start=1)
    if (found := MARK.search(line))
]


@pytest.fixture
def authored(sources: Path) -> Path:
    """The folder of the shop with the documents of an author beside it."""
    pages = sources.parent / "pages"
    pages.mkdir()
    for name, text in DOCUMENTS.items():
        (pages / name).write_text(MARK.sub("", text), "utf-8")
    return pages


def missed(report: str) -> list[tuple[str, int, str]]:
    """Return the planted mistakes that no line of *report* tells with file and line."""
    lines = report.splitlines()
    return [
        (name, number, says)
        for name, number, says in PLANTED
        if not any(f"{name}:{number}" in line and says in line for line in lines)
    ]


@pytest.mark.usefixtures("authored")
@pytest.mark.parametrize(
    "command",
    [
        ("bundle", "tools", "pages", "-o", "graph.mdld"),
        ("generate", "tools", "pages", "-o", "written"),
        ("graph", "validate", "-b", "tools", "-b", "pages"),
    ],
    ids=["bundle", "generate", "graph validate"],
)
def test_each_of_twenty_mistakes_is_reported(run: Callable[..., Run], command: list[str]) -> None:
    """File, line and what is wrong; in text without --verbose, in JSON, and held by --strict."""
    assert len(PLANTED) == 20
    done = run(*command)
    data = run(*command, "--format", "json").json
    # What a shape finds as well is one of the findings of a validation.
    found = [*data["diagnostics"], *data.get("findings", ())]
    told = "\n".join(f"{one['message']} ({one['place']})" for one in found)

    assert missed(done.err + done.out) == []
    assert missed(told) == []
    assert {one["remedy"] is not None for one in data["diagnostics"]} == {True}
    assert run(*command, "--strict").code == 1


def test_a_bundle_is_checked_when_it_is_validated_and_not_when_it_is_searched(
    run: Callable[..., Run], sources: Path
) -> None:
    """The build has told its author; who searches cannot correct it."""
    text = "---\nname: pick\nsource: s\nsumary: x\nsummary: Pick from a shelf.\n---\nText.\n"
    (sources / "pick.md").write_text(text, "utf-8")
    assert "did you mean 'summary'" in run("bundle", str(sources), "-o", "graph.mdld").err
    checked = run("graph", "validate", "-b", "graph.mdld", "--format", "json").json
    (place,) = (one["place"] for one in checked["diagnostics"] if one["code"] == "key_unknown")

    assert place.startswith("graph.mdld: documents[0]:")
    assert "summary" not in run("search", "shelf", "-b", "graph.mdld").err


def test_documents_without_mistakes_are_told_nothing(
    run: Callable[..., Run], sources: Path
) -> None:
    """What may be said in many ways is no mistake."""
    text = """---
title: Return a parcel
name: parcel_return
source: shop
owner: {team: Logistics, since: 2019}
level: 3
keywords: back
about: [Law, {label: Chargeback, id: "urn:x:chargeback"}]
author: Doe, Jane
entry_type: guide
graph_groups: ["domain:parcel", "Returns, all of them"]
rdf_types: ["schema:HowTo"]
rdf_properties:
  schema:version: 1.10
  schema:keywords: [{value: zurück, lang: de}, {value: "2026-01-31", datatype: xsd:date}]
  schema:url: {id: "https://shop.example/return"}
graph_edges:
  - {subject: document, predicate: next_step, object: invoice_refund}
---

See [[invoice_refund|refunds]], [[Chargeback]] and [that](https://shop.example/x.md).

## How

A fence:

```json
{"properties": 1, "note": "no schema
```
"""
    (sources / "parcel_return.md").write_text(text.replace('"no schema', '"none"}'), "utf-8")
    (sources / "README.md").write_text("# Notes\n\n---\n\ntitle: none\n", "utf-8")
    (sources / "notes.txt").write_text("---------\nNote: text\n", "utf-8")
    done = run("bundle", str(sources), "-o", "graph.mdld", "--strict", "--format", "json")

    assert done.code == 0, done.err
    assert json.loads(done.out)["diagnostics"] == []


@pytest.mark.parametrize("mark", ["- ", "  "])
def test_a_misspelt_predicate_is_told_once(
    run: Callable[..., Run], sources: Path, mark: str
) -> None:
    """Where the mistake itself is reported, its effect on the bundle is not."""
    text = (
        "---\ntool: shipment_status\nrdf_properties:\n"
        f'{mark}predicat: schema:version\n  value: "1"\n  datatype: xsd:string\n---\nx\n'
    )
    (sources / "about.md").write_text(text, "utf-8")
    done = run("bundle", "tools", "-o", "graph.mdld", "--format", "json").json
    told = [one for one in done["diagnostics"] if one["severity"] != "info"]
    assert [one["code"] for one in told] == ["key_unknown"]
    assert "did you mean 'predicate'?" in told[0]["message"]


def test_an_address_of_two_documents_is_told_with_its_line(
    run: Callable[..., Run], sources: Path
) -> None:
    """The one that gives way is named with the line on which it states the address."""
    for name in ("alpha", "beta"):
        text = f"---\nname: {name}\ncanonical_url: https://shop.example/a\n---\nx\n"
        (sources / f"{name}.md").write_text(text, "utf-8")
    done = run("bundle", "tools", "-o", "graph.mdld", "--format", "json").json
    (place,) = [one["place"] for one in done["diagnostics"] if "is taken" in one["message"]]
    assert place == "tools/beta.md:3"


def test_a_link_to_a_tool_becomes_an_edge(run: Callable[..., Run], sources: Path) -> None:
    """`tool:NAME` in prose relates the two tools, which the graph tells."""
    text = "---\ntool: shipment_status\n---\nFirst [find it](tool:invoice_search).\n"
    (sources / "about.md").write_text(text, "utf-8")
    run("bundle", "tools", "-o", "graph.mdld")
    question = (
        "SELECT ?s { ?s ?related ?t . ?t schema:name ?name "
        "FILTER(STRENDS(STR(?s), 'shipment_status/') && STRENDS(STR(?t), 'invoice_search/')) }"
    )
    assert run("graph", "sparql", question, "--format", "json").json["results"]["bindings"]
