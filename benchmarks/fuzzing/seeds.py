"""The inputs that fuzzing begins with: derived from the examples, and the files in `corpus/`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from mcpg.bundle.assemble import Assembly, assemble
from mcpg.bundle.codec import Bundle, encode_bundle
from mcpg.catalog.model import Tool
from mcpg.documents.model import ToolDocument
from mcpg.engine.loading import compile_assembly
from mcpg.graph.exports import framed_json_ld, json_ld, nquads, rdf_xml, turtle
from mcpg.graph.triples import make_triples
from mcpg.relations.learn import Learner
from mcpg.relations.observed_calls import encode
from mcpg.review.lock import ApprovedTools, approve, lock_changes, lock_text
from mcpg.review.lock_sources import collect_statements
from mcpg.sources.read import read_sources
from mcpg.vectors.file import pack_vectors
from mcpg.vectors.matrix import FLOAT16, FLOAT32, INT8, ToolVectors

from .mutators import write_field

CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = Path(__file__).parents[2] / "examples"
_TOOLS = EXAMPLES / "tools"
_FEW, _SEARCHED = 2, 8


def read_corpus(folder: str) -> list[bytes]:
    """Return the inputs in a folder of the corpus."""
    return [path.read_bytes() for path in sorted((CORPUS / folder).glob("*")) if path.is_file()]


@cache
def _example_tools(count: int = _FEW) -> list[dict[str, Any]]:
    """Return the tools of the examples with the shortest definitions."""
    text = (_TOOLS / "commerce.json").read_text("utf-8")
    tools: list[dict[str, Any]] = json.loads(text)["tools"]
    return sorted(tools, key=lambda one: len(json.dumps(one)))[:count]


def write_sources(folder: Path, count: int = _SEARCHED) -> str:
    """Write a manifest of some tools and the hints for them, and return the path of the folder."""
    tools = _example_tools(count)
    names = {tool["name"] for tool in tools}
    hints = yaml.safe_load((_TOOLS / "commerce.hints.yaml").read_text("utf-8"))["tools"]
    kept = {name: one for name, one in hints.items() if name in names}
    place = folder / "tools"
    place.mkdir(exist_ok=True)
    (place / "commerce.json").write_text(json.dumps({"tools": tools}), "utf-8")
    (place / "commerce.hints.yaml").write_text(yaml.safe_dump({"tools": kept}), "utf-8")
    return str(place)


@cache
def make_assembly() -> Assembly:
    """Return some tools of the examples, assembled with their hints."""
    with TemporaryDirectory() as folder:
        return assemble(read_sources([write_sources(Path(folder), _FEW)]))


def make_manifests() -> Iterator[bytes]:
    """Return a manifest of each dialect."""
    tools = _example_tools()
    plain = [
        {"name": one["name"], "description": one["description"], "parameters": one["inputSchema"]}
        for one in tools
    ]
    dialects: list[Any] = [
        {"tools": tools, "nextCursor": "2"},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
        {"functions": plain},
        [{"functionDeclarations": plain}],
        [{"type": "function", "function": one} for one in plain],
        [{"name": one["name"], "input_schema": one["inputSchema"]} for one in tools],
        {"pages": [{"tools": tools[:1]}, {"tools": tools[1:]}]},
        tools[0],
    ]
    yield from (json.dumps(one).encode() for one in dialects)
    session: list[Any] = [{"jsonrpc": "2.0", "method": "ping", "id": 7}, dialects[1]]
    yield "\n".join(map(json.dumps, session)).encode()
    yield b"event: message\ndata: " + json.dumps(dialects[1]).encode() + b"\n\n"


def make_hints() -> Iterator[bytes]:
    """Return the beginnings of the hints files of the examples."""
    for path in sorted(_TOOLS.glob("*.hints.yaml")):
        tools = list(yaml.safe_load(path.read_text("utf-8"))["tools"].items())[:1]
        yield yaml.safe_dump({"tools": dict(tools)}, allow_unicode=True).encode()


def make_documents() -> Iterator[bytes]:
    """Return the documents of some tools, and a page."""
    yield from (one.content.encode() for one in make_assembly().texts[:_FEW])
    yield (_TOOLS / "runbooks" / "lost-parcel.md").read_bytes()


def make_bundles() -> Iterator[bytes]:
    """Return a bundle of some tools, and one of a single tool."""
    texts = tuple(make_assembly().texts)
    yield encode_bundle(Bundle(texts))
    yield encode_bundle(Bundle(texts[:1]))


def make_indexes() -> Iterator[bytes]:
    """Return the index of some tools."""
    yield compile_assembly(make_assembly())


def make_vectors() -> Iterator[bytes]:
    """Return files of vectors with each kind of numbers."""
    rows = [np.array([0.5, -0.25, 0.125], dtype=np.float32), None]
    vectors = ToolVectors.from_rows(rows, "a provider")
    for kind in (FLOAT16, FLOAT32, INT8):
        yield pack_vectors(vectors, ["ab" * 32, "cd" * 32], bytes(32), kind)


def make_judged() -> Iterator[bytes]:
    """Return judged queries as YAML and as lines."""
    text = (EXAMPLES / "queries.yaml").read_text("utf-8")
    yield "\n".join(text.split("\n")[:12]).encode()
    yield b'{"query": "where is my parcel", "relevant": ["shipment_status"]}\n'
    yield b'{"query": "sing", "relevant": [], "contextTools": ["order_get"], "id": "q2"}\n'


def make_traces() -> Iterator[bytes]:
    """Return logs of calls."""
    lines = (EXAMPLES / "calls.jsonl").read_bytes().split(b"\n")
    yield b"\n".join(lines[:4])
    yield b"\n".join(lines[4:6])


def make_observed() -> Iterator[bytes]:
    """Return what is learned from the calls of the examples."""
    learner = Learner()
    learner.read([str(EXAMPLES / "calls.jsonl")])
    lines = encode(learner.finish().observed).split("\n")
    yield "\n".join(lines[:6]).encode()
    yield "\n".join([lines[0], *lines[-4:]]).encode()


def make_locks() -> Iterator[bytes]:
    """Return the lock of some tools."""
    empty = ApprovedTools()
    stated = collect_statements(make_assembly())
    yield lock_text(approve(empty, lock_changes(empty, stated[:1]))).encode()


def make_skill_files() -> Iterator[bytes]:
    """Return the skills of the examples."""
    yield from (path.read_bytes() for path in sorted((EXAMPLES / "skills").glob("*/SKILL.md")))


def make_catalogs() -> Iterator[bytes]:
    """Return the catalogs of servers of the examples."""
    yield from (path.read_bytes() for path in sorted((EXAMPLES / "catalogs").glob("*.json")))


def make_queries() -> Iterator[bytes]:
    """Return queries of the examples in several languages, and further ones with literals."""
    queries = yaml.safe_load((EXAMPLES / "queries.yaml").read_text("utf-8"))
    yield from (query.encode() for query in list(queries)[: _FEW * 4])


def make_graphs() -> Iterator[bytes]:
    """Return the graph of a tool as Turtle, N-Quads and RDF/XML."""
    triples = [*make_triples(example_documents()[:1])]
    for write in (turtle, nquads, rdf_xml):
        yield "".join(write(triples)).encode()


def make_json_ld() -> Iterator[bytes]:
    """Return the graph of a tool as JSON-LD, flat and framed."""
    triples = [*make_triples(example_documents()[:1])]
    yield from ("".join(write(triples)).encode() for write in (json_ld, framed_json_ld))


def make_indexes_of_code() -> Iterator[bytes]:
    """Return a SCIP index of one file, as the fields of its protocol."""
    symbol = b"scip-test python . . `store`/Store#save()."
    place = b"\x03\x04\x08"
    seen = write_field(1, 2, place) + write_field(2, 2, symbol) + write_field(3, 0, 1)
    local = write_field(1, 2, place) + write_field(2, 2, b"local 1") + write_field(7, 2, place)
    base = write_field(1, 2, b"scip-test python . . `store`/Base#") + write_field(3, 0, 1)
    information = write_field(1, 2, symbol) + write_field(5, 0, 26) + write_field(4, 2, base)
    parts = write_field(2, 2, seen) + write_field(2, 2, local) + write_field(3, 2, information)
    document = write_field(1, 2, b"store.py") + parts
    tool = write_field(1, 2, b"scip-test") + write_field(2, 2, b"1.2")
    yield write_field(1, 2, write_field(2, 2, tool)) + write_field(2, 2, document)


def example_tools() -> tuple[Tool, ...]:
    """Return some tools of the examples."""
    return tuple(one.tool for one in example_documents())


def example_documents() -> tuple[ToolDocument, ...]:
    """Return the documents of some tools of the examples."""
    return tuple(make_assembly().documents)
