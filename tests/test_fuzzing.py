"""The harness of `benchmarks/fuzz.py` runs, and what it has found stays mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.fuzzing.running import Runner, run_mutations
from benchmarks.fuzzing.targets import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fuzzing.model import Target

EXECUTIONS = 200


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_each_reader_takes_what_it_is_given(target: Target, tmp_path: Path) -> None:
    """Every input is read or refused; some are read."""
    with Runner(target, tmp_path) as runner:
        run_mutations(runner, round(EXECUTIONS * min(max(target.share, 0.25), 1)))
    assert [fault.trace for fault in runner.faults.values()] == []
    assert runner.accepted


@pytest.mark.parametrize(
    ("name", "data"),
    [
        # The escape was kept when the document was written, and lost when it was written again.
        ("document", b'---\nname: lost\nowner: "\\u0441"\n---\n\n# Lost\n\nA text.\n'),
        # The lines of a key without a name moved below all others.
        ("document", b"---\nname: ab\n? ''\n: x\nb: {}\n---\n\n# A\n\nText.\n"),
        # The part of a goal before each piece was counted anew: 26 s.
        ("queries", b"\x0e" + b"? $a:" * 4000),
        # Blanks before JSON were tried in each of two places: 15 s.
        ("source", b"\x00" + b" " * 60_000 + b'{"name": "a"}'),
    ],
)
def test_a_fault_stays_mended(name: str, data: bytes, tmp_path: Path) -> None:
    """What fuzzing has found is read without a fault."""
    target = next(one for one in TARGETS if one.name == name)
    with Runner(target, tmp_path) as runner:
        assert runner.run(data) is None
