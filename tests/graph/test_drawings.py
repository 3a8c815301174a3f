from __future__ import annotations

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import igraph
import pytest
from builders import make_tool
from generated import NASTY, documents
from hypothesis import HealthCheck, given, settings

from mcpg.documents.model import ToolDocument
from mcpg.graph.exports import dot, graphml, mermaid
from mcpg.graph.schema import Network, build_network
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

wide = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TRICKY = (
    *("end", "subgraph", 'a"b', "`code`", "**bold**", "#quot;", "&amp;", "<b>b</b>", "a|b"),
    *("%%{init: {}}%%", "{a}", "[b]", "(c)", "1. list", "- list", "__u__", "click n0", "\\N"),
    *("日本語 🎉", "\u202eleft", "x" * 500),
)
# What stands between two quotation marks of a Mermaid label: nothing that its grammar knows.
LABEL = re.compile(r"(?:[\w .,:;/()=!?'-]|#\d+;)+\Z")


def drawn(*given: ToolDocument) -> Network:
    """Return the network of documents."""
    return build_network(make_triples(given))


@pytest.fixture
def tricky() -> Network:
    """A network in which every text is hard to write."""
    names = [name for name in (*TRICKY, *NASTY) if name.strip()]
    return drawn(
        *(
            ToolDocument(make_tool(name, id=name, description=name), "a.md", f"urn:{n}", (name,))
            for n, name in enumerate(names)
        )
    )


def test_nodes_are_tools_groups_and_things(rich: ToolDocument) -> None:
    """What only describes a tool is no node of its own, and an edge carries its statement."""
    network = drawn(rich)
    kinds = {node.label: node.kind for node in network.nodes}
    (tool,) = (one for one in network.nodes if one.kind == "tool")

    assert kinds["shipment_track"] == "tool"
    assert kinds["Finance Team"] == "group"
    assert kinds["Parcels"] == "thing"
    assert (tool.title, tool.source) == ("Track a shipment", "commerce")
    names = [edge.name for edge in network.edges]
    assert [names.count(name) for name in ("related", "nextSteps", "groups")] == [2, 1, 3]
    (edge,) = (one for one in network.edges if one.reason)
    assert (edge.weight, edge.reason, edge.origin) == (0.25, "both \\ pay", "authored")


def test_a_catalogue_is_drawn_edge_by_edge(shop: Mapping[str, ToolDocument]) -> None:
    """Every link and every membership is an edge, and nothing else is."""
    network = drawn(*shop.values())
    links = sum(len(document.links) for document in shop.values())
    groups = sum(len(document.groups) for document in shop.values())

    assert links > 0
    assert len(network.edges) == links + groups
    assert sum(node.kind == "tool" for node in network.nodes) == len(shop)


def test_graphml_is_read_by_igraph(tricky: Network, rich: ToolDocument, tmp_path: Path) -> None:
    """A reader of GraphML finds all nodes, edges and attributes."""
    for network in (tricky, drawn(rich)):
        file = tmp_path / "graph.graphml"
        file.write_text("".join(graphml(network)), "utf-8")
        read = igraph.Graph.Read_GraphML(str(file))

        assert (read.vcount(), read.ecount()) == (len(network.nodes), len(network.edges))
        assert read.vs["iri"] == [node.iri for node in network.nodes]
        assert read.es["weight"] == [edge.weight for edge in network.edges]
        assert read.is_directed()


def test_dot_is_drawn_by_graphviz(tricky: Network, rich: ToolDocument) -> None:
    """Graphviz accepts every text and draws each node and edge."""
    program = shutil.which("dot")
    if program is None:
        reason = "needs Graphviz (Debian: apt install graphviz)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    for network in (tricky, drawn(rich)):
        done = subprocess.run(
            [program, "-Tsvg"],
            input="".join(dot(network)).encode(),
            capture_output=True,
            check=True,
        )
        root = ET.fromstring(done.stdout)
        assert done.stderr == b""
        groups = [one.get("class") for one in root.iter("{http://www.w3.org/2000/svg}g")]
        assert groups.count("node") == len(network.nodes)
        assert groups.count("edge") == len(network.edges)


def test_a_label_of_mermaid_holds_nothing_of_its_grammar(tricky: Network) -> None:
    """Signs that Mermaid, or Markdown within it, might read are written as numbers."""
    lines = "".join(mermaid(tricky)).splitlines()

    assert lines[0] == "flowchart LR"
    assert len(lines) == 1 + len(tricky.nodes) + len(tricky.edges)
    for label in labels(lines):
        assert LABEL.match(label), label
        assert not re.match(r"[-+*#]? |\d+\. ", label), label


def test_mermaid_reads_its_flowcharts(tricky: Network, rich: ToolDocument) -> None:
    """The parser of Mermaid itself accepts every label and finds all nodes and edges."""
    modules, node = os.environ.get("MERMAID_MODULES"), shutil.which("node")
    if modules is None or node is None:
        pytest.skip("needs node, and MERMAID_MODULES to name a node_modules of mermaid and jsdom")
    for network in (tricky, drawn(rich)):
        done = subprocess.run(
            [node, str(Path(__file__).with_name("read_mermaid.mjs")), modules],
            input="".join(mermaid(network)).encode(),
            capture_output=True,
            check=True,
        )
        assert done.stdout.split() == [
            str(len(network.nodes)).encode(),
            str(len(network.edges)).encode(),
        ]


@wide
@given(documents())
def test_any_document_can_be_drawn(document: ToolDocument) -> None:
    """No text of a document breaks out of its place."""
    network = drawn(document)
    root = ET.fromstring("".join(graphml(network)))
    lines = "".join(mermaid(network)).splitlines()
    strings = "".join(dot(network)).replace("\\\\", "").replace('\\"', "")

    assert len(list(root.iter("{http://graphml.graphdrawing.org/xmlns}edge"))) == len(network.edges)
    assert all(map(LABEL.match, labels(lines)))
    assert len(lines) == 1 + len(network.nodes) + len(network.edges)
    assert strings.count('"') == 4 * (len(network.nodes) + len(network.edges))


def labels(lines: Iterable[str]) -> list[str]:
    """Return what stands in quotation marks."""
    return [found for line in lines for found in re.findall(r'"(.*?)"', line)]
