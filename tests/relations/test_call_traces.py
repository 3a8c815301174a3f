"""Traces: lines of calls as people write them, OpenTelemetry exports, and lines that are no use."""

from __future__ import annotations

import gzip
import io
import json
import os
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import START, calls_of, lines_of, observed_of

from mcpg.errors import SourceError
from mcpg.relations.learn import CallReader, Learner, Tally, decompress_stream, learn, parse_seconds
from mcpg.relations.observed_calls import (
    NOTHING,
    ObservedCalls,
    PairCounts,
    encode,
    list_tool_names,
)
from mcpg.relations.sessions import SessionCounter

if TYPE_CHECKING:
    from collections.abc import Callable

AT = "2026-05-28T20:26:40"
AB = [["a", "b"]]


def read(data: bytes) -> tuple[ObservedCalls, Tally]:
    """Read the lines of a trace."""
    counter = SessionCounter()
    reader = CallReader(counter)
    reader.read(decompress_stream(io.BytesIO(data), "trace"), "trace")
    return counter.finish(), reader.tally


def pair_of(*lines: Any) -> PairCounts:
    """Return the counts of the tools `a` and `b` in a trace of *lines*."""
    observed, _ = read(lines_of(lines))
    return next(iter(observed.pairs.get(("a", "b"), {}).values()), PairCounts())


FORWARD = PairCounts(1, 1, 1)


@pytest.mark.parametrize(
    ("session", "tool", "time"),
    [
        ("session", "tool", "time"),
        ("session_id", "tool_id", "timestamp"),
        ("sessionId", "toolId", "startTime"),
        ("trace_id", "tool_name", "ts"),
        ("traceId", "toolName", "started_at"),
        ("conversation-id", "name", "start"),
        ("mcp.session.id", "gen_ai.tool.name", "start_time_unix_nano"),
        ("thread_id", "TOOL", "Date"),
    ],
)
def test_common_names_are_known(session: str, tool: str, time: str) -> None:
    """Logs of other programs need no conversion."""
    first = {session: "s", tool: "a", time: f"{AT}Z"}
    second = {session: "s", tool: "b", time: "2026-05-28T20:26:50Z"}
    assert pair_of(second, first) == FORWARD


def test_the_id_of_a_tool_goes_before_its_name() -> None:
    """A line that has both names the tool by its id, and a server qualifies a name."""
    first = {"session": 1, "name": "x", "tool_id": "a"}
    observed, _ = read(lines_of([first, {"session": 1, "name": "b", "server": "git"}]))
    assert {*observed.tools} == {"a", "git::b"}


@pytest.mark.parametrize(
    "value",
    [
        f"{AT}Z",
        f"{AT}+00:00",
        f"{AT}.000000",
        "2026-05-28T22:26:40+02:00",
        "20260528T202640Z",
        1780000000,
        1780000000.0,
        1780000000000,
        1780000000000000,
        1780000000000000000,
        "1780000000",
        "1780000000.0",
        "1780000000000000000",
    ],
)
def test_times_are_read_in_every_common_form(value: object) -> None:
    """ISO 8601, and seconds to nanoseconds since 1970, as numbers or as texts."""
    assert parse_seconds(value) == 1_780_000_000.0


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, "", "soon", [], {}, 0, -1, 1e999, float("nan"), "9" * 5000, "1e999"),
        *("9999-12-31T23:59:59Z", "1970-01-01", "0001-01-01T00:00:00+23:59"),
        *(10**40, 10**400, "9" * 400),
    ],
)
def test_times_that_make_no_sense_are_none(value: object) -> None:
    """A clock of 1970 or of the year 9999 says nothing about when something was."""
    assert parse_seconds(value) is None


@pytest.mark.parametrize(
    ("members", "succeeded"),
    [
        ({}, True),
        ({"success": True}, True),
        ({"success": False}, False),
        ({"success": "false"}, False),
        ({"success": 0}, False),
        ({"ok": "yes"}, True),
        ({"is_error": True}, False),
        ({"isError": False}, True),
        ({"error": None}, True),
        ({"error": "timed out"}, False),
        ({"status": "OK"}, True),
        ({"status": "error"}, False),
        ({"status": 200}, True),
        ({"status": 503}, False),
        ({"status": 503.0}, False),
        ({"status": "200"}, True),
        ({"status": "201 Created"}, True),
        ({"status": "503 Service Unavailable"}, False),
        ({"status": "finished"}, True),
        ({"status": "rejected"}, False),
        ({"outcome": "success"}, True),
        ({"outcome": "tool_failed"}, False),
        ({"status": "ok", "error": "x"}, False),
    ],
)
def test_what_failed_is_known_in_every_common_form(
    members: dict[str, Any], succeeded: bool
) -> None:
    """A call is a success unless something says that it failed."""
    observed, tally = read(lines_of([{"session": "s", "tool": "a"} | members]))
    assert observed.tools["a"][""].succeeded == succeeded
    assert tally.failures == (not succeeded)


@pytest.mark.parametrize(
    "took",
    [
        {"duration": 60},
        {"duration_ms": 60_000},
        {"end": "2026-05-28T20:27:40.500Z"},
        {"elapsed": 60.0},
    ],
)
def test_how_long_a_call_took_is_known_in_every_common_form(took: dict[str, Any]) -> None:
    """While a call runs, no other follows it."""
    first = {"session": "s", "tool": "a", "time": f"{AT}.500Z"} | took
    during = {"session": "s", "tool": "b", "time": "2026-05-28T20:27:00.000Z"}
    assert pair_of(first, during) == PairCounts(together=1)
    after = {"session": "s", "tool": "b", "time": "2026-05-28T20:28:00.000Z"}
    assert pair_of(first, after) == FORWARD


def test_times_in_whole_seconds_prove_no_overlap() -> None:
    """A start that was cut to the second may have been up to one second later."""
    first = {"session": "s", "tool": "a", "time": 1780000000, "duration": 0.9}
    assert pair_of(first, {"session": "s", "tool": "b", "time": 1780000000}) == FORWARD


def test_a_call_that_ends_before_it_begins_takes_no_time() -> None:
    """A clock that was set back during a call is reported."""
    call = {"session": "s", "tool": "a", "start": AT, "end": "2026-05-28T20:00:00"}
    backwards = {"session": "s", "tool": "b", "start": AT, "duration": -(10**400)}
    _, tally = read(lines_of([call, backwards]))
    assert (tally.negative, tally.calls) == (2, 2)


def test_lines_that_cannot_be_used_are_counted() -> None:
    """Whatever is wrong with a line, the others count."""
    good = lines_of(calls_of(AB))
    bad = [
        *(b"{", b"[1]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"a":1} {"b":2}'),
        *(b'{"tool":"\\ud800","session":"s"}', b'{"tool":"","session":"s"}'),
        *(b'{"tool":{"name":"x"},"session":"s"}', b'{"tool":["x"],"session":"s"}', b"{}"),
        *(b'{"tool":"a"}', b'{"tool":"a","session":""}', b'{"tool":"a","session":[]}'),
        *(b"", b"   ", b'{"tool":"' + b"x" * 600 + b'","session":"s"}'),
        b'{"tool":"a","session":"n","time":' + b"9" * 5000 + b"}",
    ]
    observed, tally = read(good + b"\n".join(bad) + b"\n" + lines_of(calls_of(AB, prefix="t")))
    assert (tally.broken, tally.nameless, tally.sessionless) == (8, 6, 3)
    assert tally.calls == 4
    assert observed.sessions == {"2026-05-28": 2}


def test_a_line_without_an_end_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines beyond a bound are not held, and what follows them counts."""
    monkeypatch.setattr("mcpg.relations.learn.LONGEST_LINE", 1000)
    long = b'{"tool":"' + b"x" * 5000 + b'"}\n'
    observed, tally = read(long + lines_of(calls_of(AB)) + b"y" * 3000)
    assert (tally.too_long, tally.calls) == (2, 2)
    assert observed == observed_of(AB)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    """Nothing in a trace is an error."""
    read(data)
    read(b'{"tool":"a","session":"s",' + data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=10,
    )
)
def test_any_value_of_any_member_is_read(value: object) -> None:
    """A member may hold anything, also in a span."""
    for name in (
        "tool",
        "session",
        "time",
        "duration",
        "end",
        "success",
        "status",
        "error",
        "server",
    ):
        read(lines_of([{"tool": "a", "session": "s", name: value}]))
    for name in ("traceId", "startTimeUnixNano", "status", "attributes"):
        span = span_of("a", 0, "t") | {name: value}
        read(lines_of([{"resourceSpans": [{"scopeSpans": [{"spans": [span, value]}]}]}]))
    read(lines_of([{"resourceSpans": value}]))


def attribute(key: str, value: str) -> dict[str, Any]:
    """Return an attribute as OTLP has it."""
    return {"key": key, "value": {"stringValue": value}}


def span_of(
    tool: str, after: int, trace: str, *more: dict[str, Any], **members: Any
) -> dict[str, Any]:
    """Return the span of a call that our gateway reports."""
    start = 1_780_000_000_000_000_000 + after * 1_000_000_000
    return {
        "traceId": trace,
        "spanId": f"{after:016x}",
        "name": "mcpg.invoke",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000_000),
        "attributes": [
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", tool),
            attribute("mcpg.invoke.source_id", "shop"),
            *more,
        ],
        "status": {},
    } | members


def export(*spans: dict[str, Any]) -> bytes:
    """Return an export as the collector's file exporter writes it, one line."""
    return lines_of([{"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [*spans]}]}]}])


def test_spans_of_calls_are_read() -> None:
    """An OpenTelemetry export is a trace; its spans stand in the order of their ends."""
    other = span_of("a", 5, "t") | {"attributes": [], "name": "mcpg.search"}
    chat = span_of("x", 6, "t")
    chat["attributes"][0]["value"]["stringValue"] = "chat"
    observed, tally = read(export(span_of("b", 9, "t"), other, chat) + export(span_of("a", 1, "t")))
    assert observed.pairs == {("shop::a", "shop::b"): {"2026-05-28": FORWARD}}
    assert (tally.lines, tally.spans, tally.calls) == (2, 4, 2)


def test_the_session_of_a_span_goes_before_its_trace() -> None:
    """Each call of a server may be a trace of its own."""
    session = attribute("mcp.session.id", "s")
    observed, _ = read(export(span_of("a", 1, "t", session), span_of("b", 9, "u", session)))
    assert len(observed.pairs) == 1
    apart, _ = read(export(span_of("a", 1, "t"), span_of("b", 9, "u")))
    assert apart.pairs == {}


def test_attributes_with_common_names_are_about_something_else() -> None:
    """What a span is called, when it was and how it ended stands in places of their own."""
    more = [attribute(name, "x") for name in ("tool", "start", "end", "status", "failed", "error")]
    span = span_of("a", 1, "t", *more, attribute("mcp.session.id", ""))
    observed, tally = read(export(span))
    assert (list_tool_names(observed), tally.timeless, tally.failures) == ({"shop::a"}, 0, 0)
    failing = export(span_of("a", 1, "t", attribute("ok", "yes"), status={"code": 2}))
    assert read(failing)[1].failures == 1


def test_a_session_that_is_empty_is_looked_for_under_the_other_names() -> None:
    """A client may state the member always, and fill it at times."""
    empty = [{"session_id": empty, "trace_id": "t"} for empty in (None, "", "0" * 32, [])]
    for calls in zip(*[[{"tool": tool} | one for one in empty] for tool in "ab"], strict=True):
        assert pair_of(*calls) == FORWARD


@pytest.mark.parametrize(
    "failing",
    [
        {"status": {"code": 2}},
        {"status": {"code": "STATUS_CODE_ERROR", "message": "secret"}},
        {"more": attribute("error.type", "timed_out")},
        {"more": attribute("mcpg.invoke.outcome", "tool_failed")},
    ],
)
def test_failed_spans_are_failed_calls(failing: dict[str, Any]) -> None:
    """The status of a span, the type of an error or an outcome says that a call failed."""
    more = [failing.pop("more")] if "more" in failing else []
    observed, tally = read(export(span_of("a", 1, "t", *more, **failing)))
    assert tally.failures == 1
    assert "secret" not in encode(observed)


def test_old_exports_are_read() -> None:
    """Scopes were called instrumentation libraries."""
    line = {"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [span_of("a", 1, "t")]}]}]}
    assert read(lines_of([line]))[1].calls == 1


def test_compressed_traces_are_read() -> None:
    """By their content, whatever they are called, in one part or several."""
    lines = lines_of(calls_of([["a", "b"], ["b", "c"]]))
    parts = gzip.compress(lines[:200]) + gzip.compress(lines[200:])
    assert read(parts)[0] == read(lines)[0]


@pytest.mark.parametrize("damage", [slice(None, -9), slice(None, 60)])
def test_a_compressed_trace_that_is_cut_off_counts_up_to_there(damage: slice) -> None:
    """It may still be written; that is reported."""
    lines = lines_of(calls_of([["a", "b"]] * 50))
    _, tally = read(gzip.compress(lines)[damage])
    assert tally.cut == 1


def test_unknown_tools_are_counted_and_named() -> None:
    """Tools that the catalogue does not have prove nothing, and what they are between is near."""
    learner = Learner(NOTHING, lambda name, _: name if name in "abc" else None)
    learner.read_stream(io.BytesIO(lines_of(calls_of([["a", "fax", "b"]] * 3 + [["a", "telex"]]))))
    lesson = learner.finish()
    assert lesson.observed.pairs["a", "b"] == {"2026-05-28": PairCounts(3, 3, 3)}
    assert [one.message for one in lesson.diagnostics] == [
        "skipped 4 calls of tools that are not in the catalog: 'fax' (3), 'telex' (1)"
    ]


class TestWhatIsNew:
    """Files are learned from once."""

    def test_a_file_counts_once(self, tmp_path: Path) -> None:
        """The same bytes under any name are known, in one run and in the next."""
        for name in ("one.jsonl", "two.jsonl"):
            (tmp_path / name).write_bytes(lines_of(calls_of(AB)))
        first = learn([str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")])
        assert first.observed.sessions == {"2026-05-28": 1}
        assert first.skipped == (str(tmp_path / "two.jsonl"),)
        again = learn([str(tmp_path / "two.jsonl")], first.observed)
        assert again.observed == first.observed
        assert [one.code for one in again.diagnostics] == ["trace_known"]

    def test_a_file_that_has_grown_counts_from_there(self, tmp_path: Path) -> None:
        """A log that is still written is learned from day by day."""
        path, calls = tmp_path / "calls.jsonl", calls_of([["a", "b"], ["b", "c"], ["c", "a"]])
        before = NOTHING
        for end in range(0, len(calls) + 1, 2):
            path.write_bytes(lines_of(calls[:end]))
            before = learn([str(path)], before).observed
        path.rename(tmp_path / "calls.jsonl.1")
        assert learn([str(tmp_path / "calls.jsonl.1")], before).observed == before
        whole = learn([str(tmp_path / "calls.jsonl.1")]).observed
        assert whole.files < before.files
        assert encode(replace(before, files=whole.files)) == encode(whole)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_a_file_and_a_grown_copy_count_once_in_any_order(
        self, tmp_path: Path, pack: Callable[[bytes], bytes]
    ) -> None:
        """An older copy of a log is known once the log was learned from, in one run or in two."""
        calls = calls_of([["a", "b"], ["b", "c"], ["c", "a"]])
        old, _, new = paths = [str(tmp_path / name) for name in ("old", "middle", "new")]
        for end, path in enumerate(paths, start=1):
            Path(path).write_bytes(pack(lines_of(calls[: 2 * end])))
        found = {encode(learn(order).observed) for order in permutations(paths)}
        assert found == {encode(learn(paths).observed)}
        assert learn(paths).observed.sessions == learn([new]).observed.sessions
        later = learn([new], learn([old]).observed).observed
        assert learn([old], later).observed == later
        for order in permutations(paths):
            assert learn(order, later).observed.sessions == later.sessions

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_a_line_that_is_still_written_counts_when_it_is_whole(
        self, tmp_path: Path, pack: Callable[[bytes], bytes]
    ) -> None:
        """Exporters write in blocks, which end within a line."""
        path, lines = tmp_path / "calls.jsonl", lines_of(calls_of([["a", "b"], ["b", "c"]]))
        for end in range(0, len(lines), 37):
            path.write_bytes(pack(lines[:end]))
            before = learn([str(path)]).observed
            assert learn([str(path)], before).observed == before
            path.write_bytes(pack(lines))
            calls = [one.calls for one in learn([str(path)], before).observed.tools["b"].values()]
            assert sum(calls) == 2

    def test_an_empty_file_was_not_learned_from_before(self, tmp_path: Path) -> None:
        """Nothing is reported of it, though every file begins with its contents."""
        empty, other = tmp_path / "calls.jsonl", tmp_path / "other.jsonl"
        empty.write_bytes(b"")
        other.write_bytes(lines_of(calls_of(AB)))
        assert learn([str(empty)]).diagnostics == ()
        assert learn([str(other), str(empty)]).diagnostics == ()

    def test_a_file_that_begins_otherwise_is_another(self, tmp_path: Path) -> None:
        """Size and name say nothing."""
        path = tmp_path / "calls.jsonl"
        path.write_bytes(lines_of(calls_of(AB)))
        before = learn([str(path)]).observed
        path.write_bytes(lines_of(calls_of(AB, prefix="t")))
        assert learn([str(path)], before).observed.sessions == {"2026-05-28": 2}

    def test_one_trace_and_then_another_are_both(self, tmp_path: Path) -> None:
        """Learning from two files one after the other gives the bytes of learning from both."""
        one, other = str(tmp_path / "one"), str(tmp_path / "other")
        (tmp_path / "one").write_bytes(lines_of(calls_of([["a", "b"], ["a", "c!"]])))
        (tmp_path / "other").write_bytes(lines_of(calls_of([["b", "a"]], prefix="t")))
        apart = learn([other], learn([one]).observed).observed
        assert encode(apart) == encode(learn([one, other]).observed)
        assert encode(apart) == encode(learn([one], learn([other]).observed).observed)

    def test_a_session_goes_on_in_the_next_file(self, tmp_path: Path) -> None:
        """Files that a recorder has rotated are read together as one."""
        calls = calls_of(AB)
        for name, part in (("calls.jsonl.1", calls[:1]), ("calls.jsonl", calls[1:])):
            (tmp_path / name).write_bytes(lines_of(part))
        lesson = learn([str(tmp_path / "calls.jsonl.1"), str(tmp_path / "calls.jsonl")])
        assert lesson.observed.pairs == observed_of(AB).pairs

    def test_a_compressed_file_is_known_by_its_contents(self, tmp_path: Path) -> None:
        """A log counts once, also when it is compressed later, or at another level."""
        lines = lines_of(calls_of(AB))
        (tmp_path / "calls.jsonl").write_bytes(lines)
        known = learn([str(tmp_path / "calls.jsonl")]).observed
        for level in (1, 9):
            path = tmp_path / f"calls.{level}.gz"
            path.write_bytes(gzip.compress(lines, level))
            assert learn([str(path)], known).observed == known
        path.write_bytes(gzip.compress(lines)[:-9])
        assert learn([str(path)]).observed == known

    def test_a_compressed_file_that_has_grown_counts_from_there(self, tmp_path: Path) -> None:
        """Also where it was cut off before."""
        path = tmp_path / "calls.gz"
        one, other = (lines_of(calls_of(AB, prefix=name)) for name in "st")
        path.write_bytes(gzip.compress(one))
        before = learn([str(path)]).observed
        path.write_bytes(gzip.compress(one) + gzip.compress(other))
        grown = learn([str(path)], before).observed
        assert grown.pairs == learn([str(path)]).observed.pairs
        assert grown.sessions == {"2026-05-28": 2}

    @pytest.mark.parametrize("name", ["missing.jsonl", ".", "null\0"])
    def test_what_is_no_file_is_an_error(self, tmp_path: Path, name: str) -> None:
        """The error names the path."""
        with pytest.raises(SourceError, match="cannot be read"):
            learn([f"{tmp_path}/{name}"])

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_a_pipe_is_sent_to_standard_input(self, tmp_path: Path) -> None:
        """Its bytes cannot be read twice, and nobody may write to it."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SourceError, match="is a pipe or a device"):
            learn([str(tmp_path / "pipe")])


def test_repairs_and_bounds_are_reported() -> None:
    """Each kind of trouble is one diagnostic with its number."""
    calls = [
        {"session": "s", "tool": "a", "time": START + 60},
        {"session": "s", "tool": "b", "time": START, "duration": 5.0},
        {"session": "s", "tool": "c", "time": START + 1, "duration": -4},
        {"session": "s", "tool": "d", "time": "yesterday"},
    ]
    learner = Learner()
    learner.read_stream(io.BytesIO(lines_of([*calls, calls[0]]) + b"{\n"))
    assert [(one.code, one.message) for one in learner.finish().diagnostics] == [
        ("trace_skipped", "skipped 1 line: not a JSON object"),
        ("trace_repaired", "1 call: no valid time, so the order of the lines counts"),
        ("trace_repaired", "1 call: an end before the start, so no time between them"),
        ("trace_repaired", "1 call: earlier than the call before, so sorted by time"),
        ("trace_repaired", "1 call: the same as another one, so counted once"),
        ("trace_repaired", "2 calls: at the same time as another one, so in no order"),
    ]


def test_counts_are_json() -> None:
    """The counts of a file can be read by other programs."""
    assert json.loads(encode(observed_of(AB)).splitlines()[0])["sessions"] == {"2026-05-28": 1}
