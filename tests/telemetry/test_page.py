"""The pages of telemetry say what the code tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from builders import make_tool

import mcpg.telemetry
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.search.observer import KINDS, OperationKind
from mcpg.sources import SourceBatch

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/telemetry.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/how-to/telemetry.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return what stands below the heading *title*, to the next of its height."""
    marks = title.partition(" ")[0]
    after = PAGE.partition(f"\n{title}\n")[2]
    return re.split(rf"^#{{1,{len(marks)}}} ", after, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows whose first is code."""
    lines = re.findall(r"^\| `.*\|$", text, re.MULTILINE)
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def names(kind: OperationKind) -> set[str]:
    """Return the names of all attributes of *kind*."""
    return {*kind.attributes.values(), *kind.constants}


def test_every_span_has_a_section_with_its_attributes() -> None:
    """The reference has each span and each of its attributes, and no other."""
    spans = section("## Spans")
    assert re.findall(r"^### `(.*)`$", spans, re.MULTILINE) == [kind.span for kind in KINDS]
    for kind in KINDS:
        listed = [row[0] for row in rows(section(f"### `{kind.span}`"))]
        assert len(listed) == len(set(listed))
        assert set(listed) == names(kind)


def test_every_metric_has_a_row() -> None:
    """The reference has each metric with its kind, unit and attributes, and no other."""
    listed = {row[0]: row for row in rows(section("## Metrics"))}
    metrics = {metric.name: (kind, metric) for kind in KINDS for metric in kind.metrics}
    assert listed.keys() == metrics.keys()
    above = ""
    for name, (_, sort, unit, _, attributes) in listed.items():
        kind, metric = metrics[name]
        above = above if attributes == "as above" else attributes
        assert (sort, unit) == ("histogram" if metric.unit == "s" else "counter", metric.unit)
        told = set(re.findall(r"mcpg[\w.]+", above))
        assert told == {kind.attributes[one] for one in kind.dimensions}


def test_names_of_the_other_gateway_have_theirs_here() -> None:
    """What the table and the rule above it say leads to names that there are."""
    known = {name for kind in KINDS for name in names(kind)}
    known |= {metric.name for kind in KINDS for metric in kind.metrics}
    known |= {kind.span for kind in KINDS}
    here = [row[-1] for row in rows(section("## Beside the .NET gateway"))]
    found = {name for cell in here for name in re.findall(r"mcpg\.[\w.]+", cell)}
    assert found <= known


def test_the_package_offers_what_it_says() -> None:
    """Every public name can be had, and no other."""
    assert all(getattr(mcpg.telemetry, name) is not None for name in mcpg.telemetry.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        mcpg.telemetry.no_such_name  # noqa: B018


def test_an_observer_as_the_guide_shows_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of Python that load a bundle run as they stand."""
    monkeypatch.chdir(tmp_path)
    tools = (make_tool("parcel_track", description="Tell where a parcel is."),)
    write_bundle(tmp_path / "graph.mdld", build_bundle(assemble(SourceBatch(tools=tools))))
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    loading = [block for block in blocks if "mcpg.load" in block]
    assert len(loading) == 2
    (tmp_path / "graph.mdld.idx").unlink(missing_ok=True)
    for block in reversed(loading):
        names: dict[str, Any] = {"__name__": "guide"}
        exec(compile(block, "guide", "exec"), names)
        assert names["engine"].search("parcel").matches
    assert capsys.readouterr().out == "an index of 1 tools\ngraph: 1 matches\n"
