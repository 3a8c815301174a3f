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


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_reader_takes_what_it_is_given(target: Target, tmp_path: Path) -> None:
    """Every input is read or refused; some are read."""
    with Runner(target, tmp_path) as runner:
        run_mutations(runner, round(EXECUTIONS * min(max(target.share, 0.25), 1)))
    assert [fault.trace for fault in runner.faults.values()] == []
    assert runner.accepted
