"""Counts of observed calls: summed, written, read, forgotten."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import DAY, START, observed_of

from mcpg.errors import SourceError
from mcpg.relations.observed_calls import (
    NOTHING,
    LearnedFile,
    ObservedCalls,
    PairCounts,
    ToolCounts,
    decode,
    encode,
    list_tool_names,
    merge,
    rename_tools,
    since,
    turn,
    without_tools,
)

TOOLS = st.sampled_from(["a", "b", "c", "d!", "b!", "e"])
SESSIONS = st.lists(st.lists(TOOLS, min_size=1, max_size=8), max_size=8)


@given(SESSIONS, SESSIONS)
def test_two_lots_of_sessions_count_as_one(first: list[list[str]], second: list[list[str]]) -> None:
    """Learning from one trace and then another gives what both give at once, in either order."""
    later = START + 5 * DAY
    both = merge([observed_of(first), observed_of(second, start=later)])
    assert both == merge([observed_of(second, start=later), observed_of(first)])
    sessions = dict(both.sessions)
    assert sum(sessions.values()) == len(first) + len(second)
    assert encode(merge([both, NOTHING])) == encode(both)


@given(SESSIONS)
def test_a_file_holds_all_counts(sessions: list[list[str]]) -> None:
    """What is written is read back, and written again the same."""
    observed = observed_of(sessions)
    text = encode(observed)
    assert decode(text, "file") == observed
    assert encode(decode(text, "file")) == text


@given(st.permutations([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]))
def test_the_order_of_sessions_changes_no_byte(sessions: list[tuple[str, str]]) -> None:
    """A file is sorted, so that the same counts give the same bytes."""
    expected = merge([observed_of([pair]) for pair in sorted(sessions)])
    assert encode(merge([observed_of([pair]) for pair in sessions])) == encode(expected)


def test_a_file_shows_names_as_they_are_written() -> None:
    """A person who looks through a file reads names of any script."""
    assert '["größe_ändern","保存"]' in encode(observed_of([["größe_ändern", "保存"]]))


def test_a_file_holds_names_days_and_numbers_alone() -> None:
    """No id of a session, no time of the day and no argument is stored."""
    text = encode(observed_of([["a", "b"], ["a", "b!"]]))
    assert [json.loads(line) for line in text.splitlines()] == [
        {"schema": "mcpg/observed/1", "sessions": {"2026-05-28": 2}},
        {"tool": "a", "days": {"2026-05-28": [2, 2, 2, 0]}},
        {"tool": "b", "days": {"2026-05-28": [2, 1, 2, 1]}},
        {"pair": ["a", "b"], "days": {"2026-05-28": [1, 1, 1, 1, 0, 0, 0]}},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"schema":"mcpg/observed/2","sessions":{}}',
        '{"schema":"mcpg/observed/1"}',
        '{"schema":"mcpg/observed/1","sessions":[]}',
        '{"schema":"mcpg/observed/1","sessions":{"2026-13-01":1}}',
        '{"schema":"mcpg/observed/1","sessions":{"2026-01-01":-1}}',
        '{"schema":"mcpg/observed/1","sessions":{"2026-01-01":true}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":"","days":{}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":"\\ud800","days":{}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":"a","days":{"":[1,1,1]}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":"a","days":{"":[1,1,1,1e9]}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"pair":["b","a"],"days":{}}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"pair":["a","a"],"days":{}}',
        '{"schema":"mcpg/observed/1","sessions":{}}' + '\n{"tool":"a","days":{}}' * 2,
        '{"schema":"mcpg/observed/1","sessions":{}}' + '\n{"pair":["a","b"],"days":{}}' * 2,
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"file":"abc","bytes":1}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"other":1}',
        '{"schema":"mcpg/observed/1","sessions":{}}\n' + "[" * 5000,
        '{"schema":"mcpg/observed/1","sessions":{}}\n{"tool":"a","days":{"":[1,1,1,' + "9" * 9000,
    ],
)
def test_a_damaged_file_is_refused(text: str) -> None:
    """Nothing else than what mcpg writes is taken for counts, and the error names the line."""
    with pytest.raises(SourceError, match="observed file"):
        decode(text, "some.jsonl")


def test_a_tool_is_forgotten_whole() -> None:
    """Neither its own counts nor any pair with it stay."""
    kept = without_tools(observed_of([["a", "b", "c"]]), {"b"})
    assert list_tool_names(kept) == {"a", "c"}
    assert [*kept.pairs] == [("a", "c")]


def test_sessions_before_a_day_are_forgotten() -> None:
    """What happened on that day and later stays, and what has no day."""
    old, new = observed_of([["a", "b"]]), observed_of([["b", "c"]], start=START + 9 * DAY)
    undated = ObservedCalls({"": 1}, {"a": {"": ToolCounts(1, 1, 1, 0)}})
    kept = since(merge([old, new, undated]), "2026-05-29")
    assert kept == merge([new, undated])


def test_renaming_joins_counts_and_drops_what_has_no_name() -> None:
    """Two names of one tool are counted together, whichever stands first in a pair."""
    observed = observed_of([["a", "z"], ["b", "z"], ["z", "unknown"]])
    names = {"a": "z2", "b": "z2", "z": "a1"}
    found = rename_tools(observed, names.get)
    assert found.pairs == {("a1", "z2"): {"2026-05-28": PairCounts(2, backward=2, backward_next=2)}}
    assert found.tools["z2"] == {"2026-05-28": ToolCounts(2, 2, 2, 0)}
    assert "unknown" not in list_tool_names(found)


def test_turning_twice_changes_nothing() -> None:
    """Seen from the other tool and back, counts are the same."""
    counts = PairCounts(9, 1, 2, 3, 4, 5, 6)
    assert turn(turn(counts)) == counts
    assert turn(counts).forward == counts.backward


def test_known_traces_are_written_and_joined() -> None:
    """The digests of files that were read survive the file and the sum."""
    one, other = LearnedFile("0" * 64, 1), LearnedFile("f" * 64, 2)
    both = merge([ObservedCalls(files=frozenset([one])), ObservedCalls(files=frozenset([other]))])
    assert decode(encode(both), "file").files == {one, other}
