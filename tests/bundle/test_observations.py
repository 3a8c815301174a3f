"""Observed calls among the sources of a bundle: edges in its documents, and what is not known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from traces import observed_of

from mcpg.bundle import assemble, build_bundle, encode_bundle
from mcpg.relations.edges import Edge, EdgeKind, EdgeOrigin
from mcpg.relations.observed_calls import encode
from mcpg.review.diff import compare_catalogues
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcpg.bundle import Assembly

NAMES = ("parcel_send", "mail_read", "stock_count", "user_ban")
HINTS = """\
tools:
  parcel_send:
    related: [user_ban]
    next_steps: [stock_count]
"""
SENT_THEN_READ = [["parcel_send", "mail_read"]] * 4


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a file into a folder of sources, which has a manifest."""
    tools = [{"name": name, "description": name.replace("_", " ")} for name in NAMES]
    (tmp_path / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}))

    def write(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, "utf-8")
        return str(tmp_path)

    return write


def observed(assembly: Assembly) -> list[Edge]:
    """Return the edges that were observed."""
    relations = assembly.relations.by_tool.values()
    edges = (edge for one in relations for edge in (*one.related, *one.next_steps))
    return [edge for edge in edges if edge.origin is EdgeOrigin.OBSERVED]


def test_observed_calls_make_edges(write: Callable[..., str]) -> None:
    """A file of them is a source, known by its content."""
    folder = write("seen.jsonl", encode(observed_of(SENT_THEN_READ)))
    assembly = assemble(read_sources([folder]))
    (edge,) = observed(assembly)
    assert (edge.kind, edge.source, edge.target) == (
        EdgeKind.NEXT_STEP,
        "parcel_send",
        "mail_read",
    )
    assert edge.reason.startswith("followed it in 4 of 4 sessions")
    assert not assembly.diagnostics


def test_files_are_counted_together(write: Callable[..., str]) -> None:
    """Two files make the bundle that one file with both makes."""
    write("one.jsonl", encode(observed_of([["shop::parcel_send", "mail_read"]] * 2)))
    folder = write("two.jsonl", encode(observed_of([["parcel_send", "mail_read"]] * 2)))
    (edge,) = observed(assemble(read_sources([folder])))
    assert edge.reason.startswith("followed it in 4 of 4 sessions")


def test_what_an_author_states_stays(write: Callable[..., str]) -> None:
    """An observed edge neither replaces nor displaces one of an author."""
    write("shop.hints.yaml", HINTS)
    sessions = [["parcel_send", "stock_count"], ["parcel_send", "mail_read"]] * 4
    folder = write("seen.jsonl", encode(observed_of(sessions)))
    relations = assemble(read_sources([folder])).relations.of("parcel_send")
    assert [(edge.target, edge.origin) for edge in relations.next_steps[:2]] == [
        ("stock_count", EdgeOrigin.AUTHORED),
        ("mail_read", EdgeOrigin.OBSERVED),
    ]
    assert relations.next_steps[0].weight == 1
    assert relations.related[0].target == "user_ban"


def test_a_bundle_keeps_what_was_observed(write: Callable[..., str], tmp_path: Path) -> None:
    """Without the file, the edges in a bundle stay; with another file, they are replaced."""
    folder = write("seen.jsonl", encode(observed_of(SENT_THEN_READ)))
    first = assemble(read_sources([folder]))
    data = encode_bundle(build_bundle(first))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/graph.mdld").write_bytes(data)
    again = assemble(read_sources([tmp_path / "out"]))
    assert encode_bundle(build_bundle(again)) == data
    assert observed(again) == observed(first)
    (tmp_path / "out/new.jsonl").write_text(encode(observed_of([["mail_read", "user_ban"]] * 3)))
    newer = assemble(read_sources([tmp_path / "out"]))
    assert [(edge.source, edge.target) for edge in observed(newer)] == [("mail_read", "user_ban")]


def test_an_inferred_edge_is_confirmed(write: Callable[..., str], tmp_path: Path) -> None:
    """Of an edge that is inferred and observed, both reasons and the greater weight count."""
    tools: list[dict[str, Any]] = [
        {"name": "shipment_search", "description": "Search shipments of a buyer."},
        {"name": "shipment_get", "description": "Get one shipment."},
    ]
    (tmp_path / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}))
    plain = assemble(read_sources([tmp_path])).relations.of("shipment_search").next_steps
    (inferred,) = [edge for edge in plain if edge.target == "shipment_get"]
    folder = write("seen.jsonl", encode(observed_of([["shipment_search", "shipment_get"]])))
    (edge,) = observed(assemble(read_sources([folder])))
    assert edge.reason == f"followed it in 1 of 1 session; {inferred.reason}"
    assert edge.weight >= inferred.weight


def test_what_calls_show_beats_what_was_inferred(write: Callable[..., str], tmp_path: Path) -> None:
    """An inferred next step is left out where the calls show the other order."""
    tools = [
        {"name": "parcel_label", "description": "Label it. Then call parcel_weigh."},
        {"name": "parcel_weigh", "description": "Weigh it."},
    ]
    (tmp_path / "desk.json").write_text(json.dumps({"server": "desk", "tools": tools}))
    before = assemble(read_sources([tmp_path])).relations
    assert [edge.target for edge in before.of("parcel_label").next_steps] == ["parcel_weigh"]
    folder = write("seen.jsonl", encode(observed_of([["parcel_weigh", "parcel_label"]] * 4)))
    after = assemble(read_sources([folder])).relations
    assert after.of("parcel_label").next_steps == ()
    assert [edge.target for edge in after.of("parcel_weigh").next_steps] == ["parcel_label"]


def test_a_comparison_reports_what_calls_show(write: Callable[..., str], tmp_path: Path) -> None:
    """An edge that was inferred is gone, and new as an observed one."""
    tools = [
        {"name": "parcel_label", "description": "Label it. Then call parcel_weigh."},
        {"name": "parcel_weigh", "description": "Weigh it."},
    ]
    (tmp_path / "desk.json").write_text(json.dumps({"server": "desk", "tools": tools}))
    before = assemble(read_sources([tmp_path])).documents
    folder = write("seen.jsonl", encode(observed_of([["parcel_label", "parcel_weigh"]] * 4)))
    after = assemble(read_sources([folder])).documents
    by_id = ({one.tool.id: one for one in documents} for documents in (before, after))
    (changed,) = compare_catalogues(*by_id).changed
    assert {(one.target, one.is_added, one.origin) for one in changed.relations} == {
        ("parcel_weigh", True, "observed"),
        ("parcel_weigh", False, "inferred"),
    }


FLOW: list[dict[str, Any]] = [
    {
        "name": "order_search",
        "description": "Search orders of a buyer.",
        "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    {
        "name": "parcel_weigh",
        "description": "Weigh the parcel.",
        "inputSchema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    },
]


def test_what_was_inferred_outlives_what_was_observed(
    write: Callable[..., str], tmp_path: Path
) -> None:
    """A bundle built again with the same counts keeps fields; with others, the inferred edge."""
    (tmp_path / "flow.json").write_text(json.dumps({"server": "flow", "tools": FLOW}))
    (plain,) = assemble(read_sources([tmp_path])).relations.of("order_search").next_steps
    assert plain.fields
    seen = encode(observed_of([["order_search", "parcel_weigh"]] * 3))
    data = encode_bundle(build_bundle(assemble(read_sources([write("seen.jsonl", seen)]))))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/graph.mdld").write_bytes(data)
    (tmp_path / "out/seen.jsonl").write_text(seen)
    assert encode_bundle(build_bundle(assemble(read_sources([tmp_path / "out"])))) == data
    (tmp_path / "out/seen.jsonl").write_text(encode(observed_of([["mail_read", "user_ban"]] * 3)))
    (kept,) = assemble(read_sources([tmp_path / "out"])).relations.of("order_search").next_steps
    assert (kept.origin, kept.reason) == (plain.origin, plain.reason)
    assert (kept.fields, kept.coverage) == (plain.fields, plain.coverage)
    assert plain.weight <= kept.weight <= 0.7


def test_tools_of_no_source_are_left_out(write: Callable[..., str]) -> None:
    """Tools come and go, so that is no warning; a file of which nothing is known is one."""
    sessions = [*SENT_THEN_READ, ["fax_send", "mail_read"]]
    folder = write("seen.jsonl", encode(observed_of(sessions)))
    assembly = assemble(read_sources([folder]))
    assert [(one.code, one.severity) for one in assembly.diagnostics] == [
        ("observed_tool_unknown", "info")
    ]
    assert "1 observed tool of no source: 'fax_send'" in assembly.diagnostics[0].message
    write("seen.jsonl", encode(observed_of([["a", "b"], ["c", "d"]])))
    (diagnostic,) = assemble(read_sources([folder])).diagnostics
    assert diagnostic.severity == "warning"
    assert "4 observed tools of no source: 'a', 'b', 'c', ..." in diagnostic.message


def test_a_damaged_file_is_left_out(write: Callable[..., str]) -> None:
    """The bundle is made without it, with an error that names the line."""
    text = encode(observed_of(SENT_THEN_READ)).replace('"days"', '"nights"', 1)
    folder = write("seen.jsonl", text)
    assembly = assemble(read_sources([folder]))
    assert observed(assembly) == []
    assert len(assembly.catalog.tools) == len(NAMES)
    (diagnostic,) = assembly.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("observed_invalid", "error")
    assert str(diagnostic.place).endswith("seen.jsonl:2")
