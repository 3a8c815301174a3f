"""Bundles of the .NET gateway, bundles for it, and damaged ones, as it was seen to read them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dotnet
import pytest
from builders import make_tool

from mcpg.bundle import assemble, build_bundle
from mcpg.bundle.codec import decode_bundle, encode_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import BASE_URI
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.writer import write_document
from mcpg.errors import BundleError
from mcpg.graph import terms as v
from mcpg.graph.terms import node_iri
from mcpg.graph.triples import make_triples
from mcpg.relations.edges import EdgeKind
from mcpg.sources.model import RawFile, SourceBatch

RECORDED = Path(__file__).parents[1] / "interop"
MEMBER = "memberOf"
KINDS = {"relatedTo": EdgeKind.RELATED, "nextStep": EdgeKind.NEXT_STEP}
PREDICATES = {MEMBER: v.kb.memberOf, "relatedTo": v.kb.relatedTo, "nextStep": v.kb.nextStep}
BAD = [json.loads(line) for line in (RECORDED / "bad.jsonl").read_text("utf-8").splitlines()]
"""Bundles with one thing out of order: their bytes, as Latin-1, and the paths that .NET reads."""

Edges = list[tuple[str, str, str]]


def recorded(file: str) -> Edges:
    """Return the edges that the .NET library was seen to read, addresses below its base."""
    lines = (RECORDED / file).read_text("utf-8").splitlines()
    return [(source, kind, target) for source, kind, target in (line.split("\t") for line in lines)]


def triples(edges: Edges) -> set[tuple[str, str, str]]:
    """Return *edges* as triples of the graph."""
    return {
        (node_iri(_uri(source)), PREDICATES[kind], node_iri(_uri(target)))
        for source, kind, target in edges
    }


def _uri(name: str) -> str:
    return f"{BASE_URI}{name}" if name.startswith("tools/") else name


def test_a_bundle_of_the_gateway_gives_what_it_reads_itself() -> None:
    """All memberships, relations and next steps of 52 tools are read, and nothing is added."""
    edges = recorded("manifests.edges.tsv")
    assert Counter(kind for _, kind, _ in edges) == {MEMBER: 210, "relatedTo": 116, "nextStep": 7}
    text = (RECORDED / "manifests.bundle.json").read_text("utf-8")
    found = assemble(SourceBatch(bundles=(RawFile(text, "manifests.bundle.json"),)))
    read = [one for one in make_triples(found.documents) if one[1] in PREDICATES.values()]
    assert len(found.documents) == 52
    assert set(read) == triples(edges)


def test_the_gateway_reads_every_edge_of_a_bundle_of_ours() -> None:
    """What it was seen to read of a bundle is all that its tools state, by its own rules."""
    edges = recorded("manifests-by-mcpg.edges.tsv")
    assert Counter(kind for _, kind, _ in edges) == {MEMBER: 174, "relatedTo": 90, "nextStep": 28}
    texts = [
        SourceDocument(one.path, write_document(one), one.uri, one.path)
        for one in documents_with(edges)
    ]
    bundle = build_bundle(assemble(SourceBatch(documents=tuple(texts))))
    written = decode_bundle(encode_bundle(bundle), "graph.mdld.json").documents
    found = dotnet.relations(written)
    expected = {
        (dotnet.iri(_uri(source)), PREDICATES[kind], dotnet.iri(_uri(target)))
        for source, kind, target in edges
    }
    assert {one for one in found if one[1] in PREDICATES.values()} == expected


def documents_with(edges: Edges) -> Iterable[ToolDocument]:
    """Return a document of each tool that *edges* name, which states its edges."""
    names = dict.fromkeys(end for edge in edges for end in edge if end.startswith("tools/"))
    for name in names:
        _, source, tool, _ = name.split("/")
        own = [(kind, target) for start, kind, target in edges if start == name]
        yield ToolDocument(
            tool=make_tool(tool, source_id=source, description=f"Does {tool}."),
            path=f"{name.removesuffix('/')}.md",
            uri=_uri(name),
            groups=tuple(target for kind, target in own if kind == MEMBER),
            links=tuple(Link(KINDS[kind], _uri(target)) for kind, target in own if kind in KINDS),
        )


def read(bad: dict[str, Any]) -> tuple[list[str], BundleError | None]:
    """Return the paths in a damaged bundle, or the error that it gives."""
    try:
        found = decode_bundle(bad["bytes"].encode("latin-1"), bad["file"]).documents
    except BundleError as fault:
        return [], fault
    return [one.path for one in found], None


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad["file"])
def test_a_damaged_bundle_is_read_as_there_or_refused_with_a_remedy(bad: dict[str, Any]) -> None:
    """An error names the file and a remedy; without one there are the same documents."""
    paths, fault = read(bad)
    if fault is None:
        # The library refuses some depth of what is no document, and nothing else that is read here.
        assert paths == (bad["paths"] if bad["file"] != "json-deep.json" else paths[:1])
    else:
        assert (fault.place or "").startswith(bad["file"])
        assert fault.message
        assert fault.remedy


def test_a_bundle_of_two_megabytes_is_read() -> None:
    """One document may be as long as that."""
    content = "---\ntitle: Long\n---\n\n" + "Crate 1 stands in aisle 2.\n" * 75_000
    document = {"path": "pages/long.md", "content": content}
    found = decode_bundle(json.dumps({"version": 1, "documents": [document]}), "long.json")
    assert [one.content for one in found.documents] == [content]
