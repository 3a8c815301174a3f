from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

pytestmark = pytest.mark.usefixtures("graph")


def test_a_report_is_written_beside_the_answer(folder: Path, run: Callable[..., Run]) -> None:
    """The answer is what it is without a report; the report is a page about it."""
    plain = run("explain", "shipment", "--format", "json")
    told = run("explain", "shipment", "--format", "json", "--html", "new/report.html")
    assert told.code == 0
    assert told.json["matches"] == plain.json["matches"]
    page = (folder / "new/report.html").read_bytes()
    assert f"wrote new/report.html: {len(page):,} bytes" in told.err
    assert b"shipment_status" in page
    assert b"\r" not in page


def test_a_report_replaces_a_report(folder: Path, run: Callable[..., Run]) -> None:
    """A report of before and an empty file make room; what is another's stays."""
    file = folder / "report.html"
    file.touch()
    assert run("explain", "shipment", "--html", "report.html").code == 0
    before = file.read_bytes()
    assert run("explain", "invoice", "--html", "report.html").code == 0
    assert file.read_bytes() != before
    file.write_text("<!doctype html>\n<title>mine</title>")
    refused = run("explain", "invoice", "--html", "report.html")
    assert refused.code == 2
    assert refused.out == ""
    assert "report.html: the file exists and is not a report of mcpg" in refused.err
    assert "hint: name another file" in refused.err
    assert "mine" in file.read_text()


def test_a_place_that_cannot_be_written_is_named(folder: Path, run: Callable[..., Run]) -> None:
    """A folder, and a file in the way of one, are errors that say what to do."""
    (folder / "file").write_text("x")
    for place, remedy in (("tools", "name a file inside it"), ("file/x.html", "choose another")):
        refused = run("explain", "shipment", "--html", place)
        assert refused.code == 2
        assert f"error: {place}: cannot be written" in refused.err
        assert remedy in refused.err


def test_a_file_that_cannot_be_checked_is_not_replaced(
    folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose file it is must be seen before it is replaced."""
    (folder / "report.html").write_text("somebody else's")

    opened = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "report.html":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, *arguments, **options)

    monkeypatch.setattr("pathlib.Path.open", refuse)
    refused = run("explain", "shipment", "--html", "report.html")
    assert refused.code == 2
    assert "cannot be checked before it is overwritten: permission denied" in refused.err


def test_standard_output_takes_no_report(run: Callable[..., Run]) -> None:
    """The answer goes there already."""
    refused = run("explain", "shipment", "--html", "-")
    assert refused.code == 2
    assert "--html: standard output cannot take both" in refused.err


def test_an_evaluation_has_a_report(folder: Path, run: Callable[..., Run]) -> None:
    """The report stands beside the answer; a foreign file is refused before any search."""
    (folder / "queries.jsonl").write_text('{"query": "parcel", "relevant": ["shipment_status"]}')
    plain = run("eval", "queries.jsonl")
    told = run("eval", "queries.jsonl", "--html", "report.html")
    assert (told.code, told.out) == (plain.code, plain.out)
    assert "1 query answered from 4 tools" in (folder / "report.html").read_text("utf-8")
    (folder / "report.html").write_text("mine")
    refused = run("eval", "queries.jsonl", "--html", "report.html")
    assert refused.code == 2
    assert refused.out == ""
    assert "is not a report of mcpg" in refused.err
    assert run("eval", "queries.jsonl", "--html", "report.html", "--force").code == 0
    assert "mine" not in (folder / "report.html").read_text("utf-8")


def test_a_gate_that_fails_leaves_its_report(folder: Path, run: Callable[..., Run]) -> None:
    """The report is there when it is needed most."""
    (folder / "queries.jsonl").write_text('{"query": "zzxq", "relevant": ["shipment_status"]}')
    failed = run("eval", "queries.jsonl", "--min", "hit@1=1", "--html", "report.html")
    assert failed.code == 1
    assert "1 of 1 gates fail" in (folder / "report.html").read_text("utf-8")
